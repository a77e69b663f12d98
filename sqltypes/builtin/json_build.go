package builtin

import (
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func oddArguments(function string) *pgerror.Error {
	return pgerror.New(pgerror.InvalidParameterValue, "argument list must have even number of elements").
		WithHint("The arguments of %s() must consist of alternating keys and values.", function)
}

func buildJSONArray(c *Call, args []Datum) (Datum, error) {
	w := jsonWriter{c: c, dst: []byte("[")}
	if len(args) > 0 {
		values, typeOf, ok, err := variadicValues(c, args, 0)
		if err != nil || !ok {
			return null, err
		}
		for i, v := range values {
			if i > 0 {
				w.dst = append(w.dst, ", "...)
			}
			if err := w.value(typeOf(i), v, recordNames(c, i), false); err != nil {
				return null, err
			}
		}
	}
	return sqltypes.Bytes(append(w.dst, ']')), nil
}

func buildJSONObject(c *Call, args []Datum) (Datum, error) {
	w := jsonWriter{c: c, dst: []byte("{")}
	if len(args) > 0 {
		values, typeOf, ok, err := variadicValues(c, args, 0)
		if err != nil || !ok {
			return null, err
		}
		if len(values)%2 != 0 {
			return fail(oddArguments("json_build_object"))
		}
		for i := 0; i < len(values); i += 2 {
			if i > 0 {
				w.dst = append(w.dst, ", "...)
			}
			if values[i].Null {
				return fail(pgerror.New(pgerror.InvalidParameterValue, "argument %d cannot be null", i+1).
					WithHint("Object keys should be text."))
			}
			if err := w.key(typeOf(i), values[i]); err != nil {
				return null, err
			}
			w.dst = append(w.dst, " : "...)
			if err := w.value(typeOf(i+1), values[i+1], recordNames(c, i+1), false); err != nil {
				return null, err
			}
		}
	}
	return sqltypes.Bytes(append(w.dst, '}')), nil
}

func buildJSONBArray(c *Call, args []Datum) (Datum, error) {
	var elems []sqltypes.JSON
	if len(args) > 0 {
		values, typeOf, ok, err := variadicValues(c, args, 0)
		if err != nil || !ok {
			return null, err
		}
		for i, v := range values {
			j, err := jsonbOf(c, typeOf(i), v, recordNames(c, i))
			if err != nil {
				return null, err
			}
			elems = append(elems, j)
		}
	}
	return sqltypes.JSONArrayOf(elems).Datum(), nil
}

func buildJSONBObject(c *Call, args []Datum) (Datum, error) {
	var pairs []sqltypes.JSONPair
	if len(args) > 0 {
		values, typeOf, ok, err := variadicValues(c, args, 0)
		if err != nil || !ok {
			return null, err
		}
		if len(values)%2 != 0 {
			return fail(oddArguments("jsonb_build_object"))
		}
		for i := 0; i < len(values); i += 2 {
			if values[i].Null {
				return fail(pgerror.New(pgerror.InvalidParameterValue, "argument %d: key must not be null", i+1))
			}
			key, err := jsonKey(c, typeOf(i), values[i])
			if err != nil {
				return null, err
			}
			j, err := jsonbOf(c, typeOf(i+1), values[i+1], recordNames(c, i+1))
			if err != nil {
				return null, err
			}
			pairs = append(pairs, sqltypes.JSONPair{Key: key, Value: j})
		}
	}
	return sqltypes.JSONObjectOf(pairs).Datum(), nil
}

// textPairs reads the arguments of json_object and jsonb_object: one array of
// alternating or paired keys and values, or two arrays.
func textPairs(args []Datum) (keys, values []Datum, err *pgerror.Error) {
	bad := func(message string) *pgerror.Error { return pgerror.New(pgerror.ArraySubscriptError, "%s", message) }
	a := sqltypes.OpenArray(args[0])
	if len(args) > 1 {
		b := sqltypes.OpenArray(args[1])
		switch {
		case a.NDim() > 1 || a.NDim() != b.NDim():
			return nil, nil, bad("wrong number of array subscripts")
		case a.Len() != b.Len():
			return nil, nil, bad("mismatched array dimensions")
		}
		return a.Elements(), b.Elements(), nil
	}
	switch a.NDim() {
	case 0:
		return nil, nil, nil
	case 1:
		if a.Len()%2 != 0 {
			return nil, nil, bad("array must have even number of elements")
		}
	case 2:
		if a.Dim(1).Len != 2 {
			return nil, nil, bad("array must have two columns")
		}
	default:
		return nil, nil, bad("wrong number of array subscripts")
	}
	for i, e := range a.Elements() {
		if i%2 == 0 {
			keys = append(keys, e)
		} else {
			values = append(values, e)
		}
	}
	return keys, values, nil
}

func nullKey() *pgerror.Error {
	return pgerror.New(pgerror.NullValueNotAllowed, "null value not allowed for object key")
}

func jsonObject(_ *Call, args []Datum) (Datum, error) {
	keys, values, err := textPairs(args)
	if err != nil {
		return fail(err)
	}
	out := []byte("{")
	for i, k := range keys {
		if k.Null {
			return fail(nullKey())
		}
		if i > 0 {
			out = append(out, ", "...)
		}
		out = append(sqltypes.AppendJSONString(out, k.S), " : "...)
		if values[i].Null {
			out = append(out, "null"...)
		} else {
			out = sqltypes.AppendJSONString(out, values[i].S)
		}
	}
	return sqltypes.Bytes(append(out, '}')), nil
}

func jsonbObject(c *Call, args []Datum) (Datum, error) {
	keys, values, err := textPairs(args)
	if err != nil {
		return fail(err)
	}
	pairs := make([]sqltypes.JSONPair, len(keys))
	for i, k := range keys {
		if k.Null {
			return fail(nullKey())
		}
		v, err := jsonbOf(c, sqltypes.OIDText, values[i], nil)
		if err != nil {
			return null, err
		}
		pairs[i] = sqltypes.JSONPair{Key: k.S, Value: v}
	}
	return sqltypes.JSONObjectOf(pairs).Datum(), nil
}

func init() {
	scalarTable{
		"json_build_array": buildJSONArray, "json_build_array_noargs": buildJSONArray,
		"json_build_object": buildJSONObject, "json_build_object_noargs": buildJSONObject,
		"jsonb_build_array": buildJSONBArray, "jsonb_build_array_noargs": buildJSONBArray,
		"jsonb_build_object": buildJSONBObject, "jsonb_build_object_noargs": buildJSONBObject,
		"json_object": jsonObject, "json_object_two_arg": jsonObject,
		"jsonb_object": jsonbObject, "jsonb_object_two_arg": jsonbObject,
	}.register()
}
