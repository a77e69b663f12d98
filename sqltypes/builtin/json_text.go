package builtin

import (
	"strings"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// pathSteps are the steps of a text[] path; a NULL among them finds nothing.
func pathSteps(d Datum) (steps []string, ok bool) {
	for _, e := range sqltypes.OpenArray(d).Elements() {
		if e.Null {
			return nil, false
		}
		steps = append(steps, e.S)
	}
	return steps, true
}

// jsonGet makes the operators of json that find a part; asText: as ->> gives it.
func jsonGet(asText bool, find func(s string, arg Datum) (string, bool, error)) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) {
		raw, ok, err := find(args[0].S, args[1])
		if err != nil || !ok {
			return null, err
		}
		if asText {
			return sqltypes.JSONTextAsText(raw)
		}
		return text(raw)
	}
}

func findField(s string, arg Datum) (string, bool, error) { return sqltypes.JSONTextField(s, arg.S) }
func findElem(s string, arg Datum) (string, bool, error)  { return sqltypes.JSONTextElem(s, int(arg.I)) }
func findPath(s string, arg Datum) (string, bool, error) {
	steps, ok := pathSteps(arg)
	if !ok {
		return "", false, nil
	}
	return sqltypes.JSONTextPath(s, steps)
}

func notJSON(format string, args ...any) *pgerror.Error {
	return pgerror.New(pgerror.InvalidParameterValue, format, args...)
}

func isJSONScalar(k sqltypes.JSONKind) bool { return k < sqltypes.JSONArray }

func jsonArrayLength(_ *Call, args []Datum) (Datum, error) {
	switch k := sqltypes.JSONTextKind(args[0].S); {
	case k == sqltypes.JSONObject:
		return fail(notJSON("cannot get array length of a non-array"))
	case isJSONScalar(k):
		return fail(notJSON("cannot get array length of a scalar"))
	}
	n := int64(0)
	err := sqltypes.JSONTextEach(args[0].S, func(_, _ string) { n++ })
	return sqltypes.Int(n), err
}

// jsonEach is json_each and json_each_text.
func jsonEach(asText bool) sqltypes.SetFunc {
	return func(_ *Call, args []Datum) (sqltypes.RowSource, error) {
		switch k := sqltypes.JSONTextKind(args[0].S); {
		case k == sqltypes.JSONArray:
			return nil, notJSON("cannot deconstruct an array as an object")
		case isJSONScalar(k):
			return nil, notJSON("cannot deconstruct a scalar")
		}
		t := &tableOf{}
		var failed error
		err := sqltypes.JSONTextEach(args[0].S, func(key, raw string) {
			v, err := jsonPart(raw, asText)
			if err != nil {
				failed = err
			}
			t.rows = append(t.rows, []Datum{sqltypes.Text(key), v})
		})
		if err == nil {
			err = failed
		}
		return t, err
	}
}

func jsonPart(raw string, asText bool) (Datum, error) {
	if asText {
		return sqltypes.JSONTextAsText(raw)
	}
	return sqltypes.Text(raw), nil
}

func jsonElements(name string, asText bool) sqltypes.SetFunc {
	return func(_ *Call, args []Datum) (sqltypes.RowSource, error) {
		switch k := sqltypes.JSONTextKind(args[0].S); {
		case k == sqltypes.JSONObject:
			return nil, notJSON("cannot call %s on a non-array", name)
		case isJSONScalar(k):
			return nil, notJSON("cannot call %s on a scalar", name)
		}
		var out []Datum
		var failed error
		err := sqltypes.JSONTextEach(args[0].S, func(_, raw string) {
			v, err := jsonPart(raw, asText)
			if err != nil {
				failed = err
			}
			out = append(out, v)
		})
		if err == nil {
			err = failed
		}
		if err != nil {
			return nil, err
		}
		return oneColumn(out)
	}
}

func jsonKeys(_ *Call, args []Datum) (sqltypes.RowSource, error) {
	switch k := sqltypes.JSONTextKind(args[0].S); {
	case k == sqltypes.JSONArray:
		return nil, notJSON("cannot call %s on an array", "json_object_keys")
	case isJSONScalar(k):
		return nil, notJSON("cannot call %s on a scalar", "json_object_keys")
	}
	var out []Datum
	if err := sqltypes.JSONTextEach(args[0].S, func(key, _ string) { out = append(out, sqltypes.Text(key)) }); err != nil {
		return nil, err
	}
	return oneColumn(out)
}

// stripNulls writes a json text without the object members that are null.
func stripNulls(dst []byte, s string) ([]byte, error) {
	s = strings.Trim(s, " \t\n\r")
	kind := sqltypes.JSONTextKind(s)
	if isJSONScalar(kind) {
		if kind != sqltypes.JSONString {
			return append(dst, s...), nil
		}
		d, err := sqltypes.JSONTextAsText(s)
		return sqltypes.AppendJSONString(dst, d.S), err
	}
	open, end := byte('['), byte(']')
	if kind == sqltypes.JSONObject {
		open, end = '{', '}'
	}
	dst = append(dst, open)
	some := false
	var failed error
	err := sqltypes.JSONTextEach(s, func(key, raw string) {
		if kind == sqltypes.JSONObject && sqltypes.JSONTextKind(raw) == sqltypes.JSONNull {
			return
		}
		if some {
			dst = append(dst, ',')
		}
		some = true
		if kind == sqltypes.JSONObject {
			dst = append(sqltypes.AppendJSONString(dst, key), ':')
		}
		var e error
		if dst, e = stripNulls(dst, raw); e != nil {
			failed = e
		}
	})
	if err == nil {
		err = failed
	}
	return append(dst, end), err
}

func init() {
	scalarTable{
		"json_object_field": jsonGet(false, findField), "json_object_field_text": jsonGet(true, findField),
		"json_array_element": jsonGet(false, findElem), "json_array_element_text": jsonGet(true, findElem),
		"json_extract_path": jsonGet(false, findPath), "json_extract_path_text": jsonGet(true, findPath),
		"json_array_length": jsonArrayLength,
		"json_typeof":       func(_ *Call, a []Datum) (Datum, error) { return text(sqltypes.JSONTextKind(a[0].S).String()) },
		"json_strip_nulls": func(_ *Call, a []Datum) (Datum, error) {
			b, err := stripNulls(nil, a[0].S)
			return sqltypes.Bytes(b), err
		},
	}.register()
	setTable{
		"json_each": jsonEach(false), "json_each_text": jsonEach(true), "json_object_keys": jsonKeys,
		"json_array_elements":      jsonElements("json_array_elements", false),
		"json_array_elements_text": jsonElements("json_array_elements_text", true),
	}.register()
}
