package builtin

import "ostraka/sqltypes"

func jsonbPart(j sqltypes.JSON, asText bool) Datum {
	if asText {
		return j.AsText()
	}
	return j.Datum()
}

func jsonbEach(name string, asText bool) sqltypes.SetFunc {
	return func(_ *Call, args []Datum) (sqltypes.RowSource, error) {
		j := sqltypes.JSONOf(args[0])
		if j.Kind() != sqltypes.JSONObject {
			return nil, notJSON("cannot call %s on a non-object", name)
		}
		t := &tableOf{}
		for i := range j.Len() {
			t.rows = append(t.rows, []Datum{sqltypes.Text(j.Key(i)), jsonbPart(j.Value(i), asText)})
		}
		return t, nil
	}
}

func jsonbElements(asText bool) sqltypes.SetFunc {
	return func(_ *Call, args []Datum) (sqltypes.RowSource, error) {
		j := sqltypes.JSONOf(args[0])
		switch {
		case j.Kind() == sqltypes.JSONObject:
			return nil, notJSON("cannot extract elements from an object")
		case !j.IsContainer():
			return nil, notJSON("cannot extract elements from a scalar")
		}
		out := make([]Datum, j.Len())
		for i := range out {
			out[i] = jsonbPart(j.Index(i), asText)
		}
		return oneColumn(out)
	}
}

func jsonbKeys(_ *Call, args []Datum) (sqltypes.RowSource, error) {
	j := sqltypes.JSONOf(args[0])
	switch {
	case j.Kind() == sqltypes.JSONArray:
		return nil, notJSON("cannot call %s on an array", "jsonb_object_keys")
	case !j.IsContainer():
		return nil, notJSON("cannot call %s on a scalar", "jsonb_object_keys")
	}
	out := make([]Datum, j.Len())
	for i := range out {
		out[i] = sqltypes.Text(j.Key(i))
	}
	return oneColumn(out)
}

func init() {
	setTable{
		"jsonb_each": jsonbEach("jsonb_each", false), "jsonb_each_text": jsonbEach("jsonb_each_text", true),
		"jsonb_array_elements": jsonbElements(false), "jsonb_array_elements_text": jsonbElements(true),
		"jsonb_object_keys": jsonbKeys,
	}.register()
}
