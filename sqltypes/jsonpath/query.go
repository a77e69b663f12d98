package jsonpath

import (
	"context"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func (p *Path) evaluator(ctx context.Context, target, vars sqltypes.JSON) (*evaluator, error) {
	if !vars.IsZero() && vars.Kind() != sqltypes.JSONObject {
		return nil, pgerror.New(pgerror.InvalidParameterValue, "\"vars\" argument is not an object").
			WithDetail("Jsonpath parameters should be encoded as key-value pairs of \"vars\" object.")
	}
	return &evaluator{ctx: ctx, vars: vars, root: target, current: target, lax: p.lax, ignore: p.lax, size: -1, ids: 0}, nil
}

// Query returns the items that the path gives over target. vars is an object or
// the zero JSON; silent turns the errors of class 22 into "nothing" (failed).
func (p *Path) Query(ctx context.Context, target, vars sqltypes.JSON, silent bool) (items []sqltypes.JSON, failed bool, err error) {
	x, err := p.evaluator(ctx, target, vars)
	if err != nil {
		return nil, false, err
	}
	var all found
	_, err = x.item(p.root, target, &all, p.lax)
	if err != nil && silent && !isHard(err) {
		return nil, true, nil
	}
	return all.items, false, plain(err)
}

// Exists reports whether the path gives an item; failed as in Query.
func (p *Path) Exists(ctx context.Context, target, vars sqltypes.JSON, silent bool) (ok, failed bool, err error) {
	if !p.lax { // an error anywhere counts
		items, failed, err := p.Query(ctx, target, vars, silent)
		return len(items) > 0, failed, err
	}
	x, err := p.evaluator(ctx, target, vars)
	if err != nil {
		return false, false, err
	}
	ok, err = x.item(p.root, target, nil, true)
	if err != nil && silent && !isHard(err) {
		return false, true, nil
	}
	return ok, false, plain(err)
}

// Match is the truth of a path that is a predicate; NULL for unknown.
func (p *Path) Match(ctx context.Context, target, vars sqltypes.JSON, silent bool) (sqltypes.Datum, error) {
	items, failed, err := p.Query(ctx, target, vars, silent)
	if err != nil || failed {
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
