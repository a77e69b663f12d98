package expr

import (
	"strconv"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

var errNullJSONSubscript = pgerror.New(pgerror.NullValueNotAllowed, "jsonb subscript in assignment must not be null")

// jsonbSubscript compiles j['key'][2]… of jsonb and the assignment to it: path
// steps are text or int4.
func (c *compiler) jsonbSubscript(e *Subscript) (node, error) {
	ops := append([]Expr{e.Arg}, e.Upper...)
	if e.Assign != nil {
		ops = append(ops, e.Assign)
	}
	args, err := c.list(ops)
	if err != nil {
		return nil, err
	}
	x := jsonbSubscripts{whole: make([]bool, len(e.Upper))}
	for i, u := range e.Upper {
		x.whole[i] = u.Type().OID == sqltypes.OIDInt4
	}
	if e.Assign != nil {
		return newMap(c.kind(e), false, args, x.assign), nil
	}
	return newMap(c.kind(e), true, args, x.fetch), nil
}

// jsonbSubscripts: whole[i] says that step i is a number.
type jsonbSubscripts struct{ whole []bool }

func (x jsonbSubscripts) step(i int, d sqltypes.Datum) sqltypes.Datum {
	if x.whole[i] && !d.Null {
		return sqltypes.Text(strconv.FormatInt(d.I, 10))
	}
	return d
}

// fetch goes down as the operator #> does; what is not there is NULL.
func (x jsonbSubscripts) fetch(_ *state, a []sqltypes.Datum) (sqltypes.Datum, error) {
	path := make([]string, len(x.whole))
	for i := range path {
		path[i] = x.step(i, a[1+i]).S
	}
	v, ok := sqltypes.JSONOf(a[0]).Path(path)
	if !ok {
		return sqltypes.Null, nil
	}
	return v.Datum(), nil
}

// assign sets the value at the path; a NULL container starts as an array when the
// first step is a number, else as an object.
func (x jsonbSubscripts) assign(_ *state, a []sqltypes.Datum) (sqltypes.Datum, error) {
	path := make([]sqltypes.Datum, len(x.whole))
	for i := range path {
		path[i] = x.step(i, a[1+i])
		if path[i].Null {
			return sqltypes.Null, errNullJSONSubscript
		}
	}
	var target sqltypes.JSON
	switch {
	case !a[0].Null:
		target = sqltypes.JSONOf(a[0])
	case x.whole[0]:
		target = sqltypes.JSONArrayOf(nil)
	default:
		target = sqltypes.JSONObjectOf(nil)
	}
	value := sqltypes.JSONNullValue
	if v := a[len(a)-1]; !v.Null {
		value = sqltypes.JSONOf(v)
	}
	out, err := sqltypes.JSONAssign(target, path, value)
	if err != nil {
		return sqltypes.Null, err
	}
	return out.Datum(), nil
}
