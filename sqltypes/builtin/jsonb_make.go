package builtin

import (
	"ostraka/sqltypes"
)

// jsonbOf turns a value of any type into jsonb.
func jsonbOf(c *Call, typ sqltypes.OID, d Datum, names []string) (sqltypes.JSON, error) {
	if d.Null {
		return sqltypes.ParseJSONB("null")
	}
	t := sqltypes.LookupType(c.Env, typ)
	cat := jsonCategoryOf(t)
	switch cat {
	case jsonBool:
		return sqltypes.JSONBoolOf(d.Bool()), nil
	case jsonNumeric:
		return numberOf(t, d)
	case jsonDate, jsonTimestamp, jsonTimestamptz:
		return sqltypes.JSONStringOf((&jsonWriter{c: c}).isoText(cat, t, d)), nil
	case jsonText:
		return sqltypes.ParseJSONB(d.S)
	case jsonBytes:
		return sqltypes.JSONOf(d), nil
	case jsonArray:
		a := sqltypes.OpenArray(d)
		elems := a.Elements()
		if a.Len() == 0 {
			return sqltypes.JSONArrayOf(nil), nil
		}
		return jsonbDimension(c, a, 0, &elems)
	case jsonComposite:
		r := sqltypes.OpenRecord(d)
		name := fieldNames(t, r, names)
		pairs := make([]sqltypes.JSONPair, r.Len())
		for i := range pairs {
			v, err := jsonbOf(c, r.TypeOID(i), r.At(i), nil)
			if err != nil {
				return v, err
			}
			pairs[i] = sqltypes.JSONPair{Key: name(i), Value: v}
		}
		return sqltypes.JSONObjectOf(pairs), nil
	}
	return sqltypes.JSONStringOf(outText(c, typ, d)), nil
}

// numberOf is a number of any type as JSON, exactly as its text form has it.
func numberOf(t *sqltypes.Type, d Datum) (sqltypes.JSON, error) {
	for t.Base != nil {
		t = t.Base
	}
	switch t.Kind {
	case sqltypes.KInt:
		return sqltypes.JSONNumberOf(sqltypes.NumericInt(d.I)), nil
	case sqltypes.KNumeric:
		return sqltypes.JSONNumberOf(d), nil
	}
	n, err := sqltypes.ParseNumeric(string(t.Out(nil, nil, d)))
	if err != nil {
		return sqltypes.JSON{}, err
	}
	return sqltypes.JSONNumberOf(n), nil
}

func jsonbDimension(c *Call, a sqltypes.Array, dim int, elems *[]Datum) (sqltypes.JSON, error) {
	out := make([]sqltypes.JSON, a.Dim(dim).Len)
	for i := range out {
		var err error
		if dim+1 < a.NDim() {
			out[i], err = jsonbDimension(c, a, dim+1, elems)
		} else {
			out[i], err = jsonbOf(c, a.Elem, (*elems)[0], nil)
			*elems = (*elems)[1:]
		}
		if err != nil {
			return sqltypes.JSON{}, err
		}
	}
	return sqltypes.JSONArrayOf(out), nil
}

func toJSONB(c *Call, args []Datum) (Datum, error) {
	j, err := jsonbOf(c, c.ArgTypes[0].OID, args[0], recordNames(c, 0))
	return j.Datum(), err
}

func init() { scalarTable{"to_jsonb": toJSONB}.register() }
