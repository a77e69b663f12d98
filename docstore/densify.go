package docstore

import (
	"context"
	"slices"
	"strconv"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// maxDensified bounds the documents that $densify makes.
const maxDensified = 500000

// densify is $densify: it makes the documents that are missing in a sequence of
// numbers or dates.
type densify struct {
	path  *Path
	parts []*Path
	step  JSON
	unit  JSON // of dates; zero: numbers
	// lo and hi are explicit bounds, hi not included; zero: those of the documents, of
	// each partition or, with full, of all.
	lo, hi JSON
	full   bool
}

func makeDensify(arg JSON, _ int) (stage, error) {
	if arg.Kind() != sqltypes.JSONObject {
		return nil, invalid("$densify needs an object")
	}
	d := &densify{}
	var rng JSON
	for _, p := range arg.Pairs() {
		var err error
		switch p.Key {
		case "field":
			if p.Value.Kind() != sqltypes.JSONString {
				return nil, invalid("field of $densify must be a path")
			}
			d.path, err = ParsePath(p.Value.Str())
		case "partitionByFields":
			d.parts, err = pathList("partitionByFields", p.Value)
		case "range":
			rng = p.Value
		default:
			err = invalid("unknown argument %q of $densify", p.Key)
		}
		if err != nil {
			return nil, err
		}
	}
	if d.path == nil || rng.IsZero() || rng.Kind() != sqltypes.JSONObject {
		return nil, invalid("$densify needs field and range")
	}
	return gathered(d.run), d.compileRange(rng)
}

func pathList(what string, v JSON) ([]*Path, error) {
	if v.Kind() != sqltypes.JSONArray {
		return nil, invalid("%s must be an array of paths", what)
	}
	var out []*Path
	for _, e := range v.Elems() {
		if e.Kind() != sqltypes.JSONString {
			return nil, invalid("%s must be an array of paths", what)
		}
		p, err := ParsePath(e.Str())
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

func (d *densify) compileRange(rng JSON) error {
	var bounds JSON
	for _, p := range rng.Pairs() {
		switch p.Key {
		case "step":
			if p.Value.Kind() != sqltypes.JSONNumber || sqltypes.NumericSign(p.Value.Number()) <= 0 {
				return invalid("step of $densify must be a positive number")
			}
			d.step = p.Value
		case "unit":
			if _, err := unitOf("$densify", p.Value); err != nil {
				return err
			}
			d.unit = p.Value
		case "bounds":
			bounds = p.Value
		default:
			return invalid("unknown argument %q of range", p.Key)
		}
	}
	if d.step.IsZero() || bounds.IsZero() {
		return invalid("range of $densify needs step and bounds")
	}
	if !d.unit.IsZero() {
		if _, err := wholeNumber("step of $densify with a unit", d.step); err != nil {
			return err
		}
	}
	switch {
	case bounds.Kind() == sqltypes.JSONString && bounds.Str() == "full":
		d.full = true
	case bounds.Kind() == sqltypes.JSONString && bounds.Str() == "partition":
		if len(d.parts) == 0 {
			return invalid("bounds \"partition\" of $densify need partitionByFields")
		}
	case bounds.Kind() == sqltypes.JSONArray && bounds.Len() == 2:
		d.lo, d.hi = bounds.Index(0), bounds.Index(1)
		for _, v := range []JSON{d.lo, d.hi} {
			if err := d.check(v); err != nil {
				return err
			}
		}
		if Compare(d.lo, d.hi) > 0 {
			return invalid("the bounds of $densify must ascend")
		}
	default:
		return invalid(`bounds of $densify are "full", "partition" or [from, to]`)
	}
	return nil
}

// check refuses what is neither a number nor, with a unit, a date.
func (d *densify) check(v JSON) error {
	want, name := ClassNumber, "numbers"
	if !d.unit.IsZero() {
		want, name = ClassDate, "dates"
	}
	if ClassOf(v) != want {
		return invalid("$densify needs %s, not %s", name, shown(v))
	}
	return nil
}

// at is step number n after from.
func (d *densify) at(from JSON, n int64) (JSON, error) {
	by, err := sqltypes.NumericMul(d.step.Number(), sqltypes.NumericInt(n))
	if err != nil {
		return JSON{}, err
	}
	if !d.unit.IsZero() {
		return dateAdd(1)(nil, []JSON{from, d.unit, sqltypes.JSONNumberOf(by)})
	}
	v, err := sqltypes.NumericAdd(from.Number(), by)
	return sqltypes.JSONNumberOf(v), err
}

func (d *densify) run(ctx context.Context, _ *runner, in Cursor) ([]JSON, error) {
	docs, err := collect(ctx, in)
	if err != nil {
		return nil, err
	}
	type item struct {
		v   JSON
		doc JSON
	}
	parts := map[string][]item{}
	var names []string
	var out []JSON
	lo, hi := JSON{}, JSON{}
	for _, doc := range docs {
		v, ok := d.path.Get(doc)
		if !ok || isNull(v) {
			out = append(out, doc)
			continue
		}
		if err := d.check(v); err != nil {
			return nil, err
		}
		var key []byte
		for _, p := range d.parts {
			x, _ := p.Get(doc)
			key = AppendKey(key, x)
		}
		if _, known := parts[string(key)]; !known {
			names = append(names, string(key))
		}
		parts[string(key)] = append(parts[string(key)], item{v, doc})
		if lo.IsZero() || Compare(v, lo) < 0 {
			lo = v
		}
		if hi.IsZero() || Compare(v, hi) > 0 {
			hi = v
		}
	}
	slices.Sort(names)
	made := 0
	for _, name := range names {
		list := parts[name]
		slices.SortStableFunc(list, func(a, b item) int { return Compare(a.v, b.v) })
		from, to, included := lo, hi, true
		switch {
		case !d.lo.IsZero():
			from, to, included = d.lo, d.hi, false
		case !d.full:
			from, to = list[0].v, list[len(list)-1].v
		}
		at := 0
		for n := int64(0); ; n++ {
			v, err := d.at(from, n)
			if err != nil {
				return nil, err
			}
			if c := Compare(v, to); c > 0 || c == 0 && !included {
				break
			}
			for ; at < len(list) && Compare(list[at].v, v) < 0; at++ {
				out = append(out, list[at].doc)
			}
			if at < len(list) && Compare(list[at].v, v) == 0 {
				continue // it and its like come before the next value
			}
			if made++; made > maxDensified {
				return nil, pgerror.New(pgerror.ProgramLimitExceeded, "$densify would make more than %d documents", maxDensified)
			}
			if made%1024 == 0 && ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			doc := addField(sqltypes.JSONObjectOf(nil), d.path, 0, v)
			for _, p := range d.parts {
				if x, ok := p.Get(list[0].doc); ok {
					doc = addField(doc, p, 0, x)
				}
			}
			out = append(out, doc)
		}
		for ; at < len(list); at++ {
			out = append(out, list[at].doc)
		}
	}
	return out, nil
}

// desugarFill makes $setWindowFields (methods) and $addFields (values) of $fill.
func desugarFill(arg JSON) ([]JSON, error) {
	if arg.Kind() != sqltypes.JSONObject {
		return nil, invalid("$fill needs an object")
	}
	var by, sort, output JSON
	for _, p := range arg.Pairs() {
		switch p.Key {
		case "partitionBy":
			by = p.Value
		case "partitionByFields":
			list, err := pathList("partitionByFields", p.Value)
			if err != nil {
				return nil, err
			}
			var pairs []sqltypes.JSONPair
			for i, path := range list {
				pairs = append(pairs, sqltypes.JSONPair{Key: "p" + strconv.Itoa(i), Value: sqltypes.JSONStringOf("$" + path.Text)})
			}
			by = sqltypes.JSONObjectOf(pairs)
		case "sortBy":
			sort = p.Value
		case "output":
			output = p.Value
		default:
			return nil, invalid("unknown argument %q of $fill", p.Key)
		}
	}
	if output.IsZero() || output.Kind() != sqltypes.JSONObject || output.Len() == 0 {
		return nil, invalid("$fill needs output")
	}
	var windows, values []sqltypes.JSONPair
	for _, p := range output.Pairs() {
		field := sqltypes.JSONStringOf("$" + p.Key)
		if p.Value.Kind() != sqltypes.JSONObject || p.Value.Len() != 1 {
			return nil, invalid("the output %q of $fill is a value or a method", p.Key)
		}
		switch v := p.Value.Value(0); p.Value.Key(0) {
		case "value":
			values = append(values, sqltypes.JSONPair{Key: p.Key, Value: obj("$ifNull", sqltypes.JSONArrayOf([]JSON{field, v}))})
		case "method":
			op := map[string]string{"locf": "$locf", "linear": "$linearFill"}[textOf(v)]
			if op == "" {
				return nil, invalid(`a method of $fill is "locf" or "linear"`)
			}
			if sort.IsZero() {
				return nil, invalid("the methods of $fill need sortBy")
			}
			windows = append(windows, sqltypes.JSONPair{Key: p.Key, Value: obj(op, field)})
		default:
			return nil, invalid("the output %q of $fill is a value or a method", p.Key)
		}
	}
	var out []JSON
	if len(windows) > 0 {
		pairs := []sqltypes.JSONPair{{Key: "sortBy", Value: sort}, {Key: "output", Value: sqltypes.JSONObjectOf(windows)}}
		if !by.IsZero() {
			pairs = append(pairs, sqltypes.JSONPair{Key: "partitionBy", Value: by})
		}
		out = append(out, obj("$setWindowFields", sqltypes.JSONObjectOf(pairs)))
	}
	if len(values) > 0 {
		out = append(out, obj("$addFields", sqltypes.JSONObjectOf(values)))
	}
	return out, nil
}
