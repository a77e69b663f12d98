package jsonpath

import (
	"context"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func (p *Path) evaluator(ctx context.Context, target, vars sqltypes.JSON, zone *Zone) (*evaluator, error) {
	if !vars.IsZero() && vars.Kind() != sqltypes.JSONObject {
		return nil, pgerror.New(pgerror.InvalidParameterValue, "\"vars\" argument is not an object").
			WithDetail("Jsonpath parameters should be encoded as key-value pairs of \"vars\" object.")
	}
	return &evaluator{ctx: ctx, vars: vars, root: of(target), current: of(target), lax: p.lax, ignore: p.lax, size: -1, zone: zone}, nil
}

// Query returns the items that the path gives over target. vars is an object or
// the zero JSON; silent leaves out the errors of class 22: items are then those before it, and failed is true;
// zone is nil but for the functions that may use the time zone.
func (p *Path) Query(ctx context.Context, target, vars sqltypes.JSON, silent bool, zone *Zone) (items []sqltypes.JSON, failed bool, err error) {
	x, err := p.evaluator(ctx, target, vars, zone)
	if err != nil {
		return nil, false, err
	}
	var all found
	_, err = x.item(p.root, of(target), &all, p.lax)
	for _, v := range all.items {
		items = append(items, v.JSON)
	}
	if err != nil && silent && !isHard(err) {
		return items, true, nil
	}
	return items, false, plain(err)
}

// Exists reports whether the path gives an item; failed as in Query.
func (p *Path) Exists(ctx context.Context, target, vars sqltypes.JSON, silent bool, zone *Zone) (ok, failed bool, err error) {
	if !p.lax { // an error anywhere counts
		items, failed, err := p.Query(ctx, target, vars, silent, zone)
		return len(items) > 0 && !failed, failed, err
	}
	x, err := p.evaluator(ctx, target, vars, zone)
	if err != nil {
		return false, false, err
	}
	ok, err = x.item(p.root, of(target), nil, true)
	if err != nil && silent && !isHard(err) {
		return false, true, nil
	}
	return ok, false, plain(err)
}

// Match is the truth of a path that is a predicate; NULL for unknown.
func (p *Path) Match(ctx context.Context, target, vars sqltypes.JSON, silent bool, zone *Zone) (sqltypes.Datum, error) {
	items, _, err := p.Query(ctx, target, vars, silent, zone)
	if err != nil {
		return sqltypes.Null, err
	}
	if len(items) == 1 {
		switch items[0].Kind() {
		case sqltypes.JSONBool:
			return sqltypes.Bool(items[0].Bool()), nil
		case sqltypes.JSONNull:
			return sqltypes.Null, nil
		}
	}
	if silent {
		return sqltypes.Null, nil
	}
	return sqltypes.Null, pgerror.New(pgerror.SingletonSqlJsonItemRequired, "single boolean result is expected")
}

// plain takes the mark off a hard error.
func plain(err error) error {
	if h, ok := err.(hard); ok {
		return h.error
	}
	return err
}
