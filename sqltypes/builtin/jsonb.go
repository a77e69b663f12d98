package builtin

import (
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// jsonbGet makes the operators of jsonb that find a part.
func jsonbGet(asText bool, find func(j sqltypes.JSON, arg Datum) (sqltypes.JSON, bool)) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) {
		j, ok := find(sqltypes.JSONOf(args[0]), args[1])
		if !ok {
			return isNull()
		}
		if asText {
			return j.AsText(), nil
		}
		return j.Datum(), nil
	}
}

func lookupField(j sqltypes.JSON, arg Datum) (sqltypes.JSON, bool) {
	if j.Kind() != sqltypes.JSONObject {
		return sqltypes.JSON{}, false
	}
	return j.Lookup(arg.S)
}

// lookupElem takes a scalar for an array of one element, as PostgreSQL stores it.
func lookupElem(j sqltypes.JSON, arg Datum) (sqltypes.JSON, bool) {
	if !j.IsContainer() && (arg.I == 0 || arg.I == -1) {
		return j, true
	}
	return j.Elem(int(arg.I))
}

func lookupPath(j sqltypes.JSON, arg Datum) (sqltypes.JSON, bool) {
	steps, ok := pathSteps(arg)
	if !ok {
		return sqltypes.JSON{}, false
	}
	return j.Path(steps)
}

func jsonbResult(j sqltypes.JSON, err error) (Datum, error) {
	if err != nil {
		return null, err
	}
	return j.Datum(), nil
}

// existsKeys makes ?| and ?&: NULL elements do not count.
func existsKeys(all bool) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) {
		j := sqltypes.JSONOf(args[0])
		for _, k := range sqltypes.OpenArray(args[1]).Elements() {
			if !k.Null && sqltypes.JSONExists(j, k.S) != all {
				return boolean(!all)
			}
		}
		return boolean(all)
	}
}

func jsonbLength(_ *Call, args []Datum) (Datum, error) {
	switch j := sqltypes.JSONOf(args[0]); {
	case j.Kind() == sqltypes.JSONObject:
		return fail(notJSON("cannot get array length of a non-array"))
	case !j.IsContainer():
		return fail(notJSON("cannot get array length of a scalar"))
	default:
		return integer(int64(j.Len()))
	}
}

func jsonbDeleteKeys(_ *Call, args []Datum) (Datum, error) {
	var keys []string
	a := sqltypes.OpenArray(args[1])
	if a.NDim() > 1 {
		return arrayError(pgerror.ArraySubscriptError, "wrong number of array subscripts")
	}
	for _, k := range a.Elements() {
		if !k.Null {
			keys = append(keys, k.S)
		}
	}
	if len(keys) == 0 && sqltypes.JSONOf(args[0]).IsContainer() {
		return args[0], nil
	}
	return jsonbResult(sqltypes.JSONDeleteKey(sqltypes.JSONOf(args[0]), keys...))
}

// editPath gives a path's steps to an editing function.
func editPath(d Datum) ([]Datum, *pgerror.Error) {
	a := sqltypes.OpenArray(d)
	if a.NDim() > 1 {
		return nil, pgerror.New(pgerror.ArraySubscriptError, "wrong number of array subscripts")
	}
	return a.Elements(), nil
}

func jsonbSet(_ *Call, args []Datum) (Datum, error) {
	path, bad := editPath(args[1])
	if bad != nil {
		return fail(bad)
	}
	return jsonbResult(sqltypes.JSONSet(sqltypes.JSONOf(args[0]), path, sqltypes.JSONOf(args[2]), args[3].Bool()))
}

// jsonbSetLax is jsonb_set_lax, which says what a NULL new value means.
func jsonbSetLax(c *Call, args []Datum) (Datum, error) {
	if args[0].Null || args[1].Null || args[3].Null {
		return isNull()
	}
	if args[4].Null {
		return fail(notJSON("null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \"raise_exception\""))
	}
	if !args[2].Null {
		return jsonbSet(c, args)
	}
	switch args[4].S {
	case "raise_exception":
		return fail(pgerror.New(pgerror.NullValueNotAllowed, "JSON value must not be null").
			WithDetail("Exception was raised because null_value_treatment is \"raise_exception\".").
			WithHint("To avoid, either change the null_value_treatment argument or ensure that an SQL NULL is not passed."))
	case "use_json_null":
		jsonNull, err := sqltypes.ParseJSONB("null")
		if err != nil {
			return null, err
		}
		return jsonbSet(c, []Datum{args[0], args[1], jsonNull.Datum(), args[3]})
	case "delete_key":
		return jsonbDeletePath(c, args)
	case "return_target":
		return args[0], nil
	}
	return fail(notJSON("null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \"raise_exception\""))
}

func jsonbInsert(_ *Call, args []Datum) (Datum, error) {
	path, bad := editPath(args[1])
	if bad != nil {
		return fail(bad)
	}
	return jsonbResult(sqltypes.JSONInsert(sqltypes.JSONOf(args[0]), path, sqltypes.JSONOf(args[2]), args[3].Bool()))
}

func jsonbDeletePath(_ *Call, args []Datum) (Datum, error) {
	path, bad := editPath(args[1])
	if bad != nil {
		return fail(bad)
	}
	return jsonbResult(sqltypes.JSONDeletePath(sqltypes.JSONOf(args[0]), path))
}

func compareJSON(a, b Datum) int { return sqltypes.CompareJSON(sqltypes.JSONOf(a), sqltypes.JSONOf(b)) }

func init() {
	compareOps("jsonb_*", compareJSON, nil)
	scalarTable{
		"jsonb_cmp":          compareProc(compareJSON),
		"jsonb_object_field": jsonbGet(false, lookupField), "jsonb_object_field_text": jsonbGet(true, lookupField),
		"jsonb_array_element": jsonbGet(false, lookupElem), "jsonb_array_element_text": jsonbGet(true, lookupElem),
		"jsonb_extract_path": jsonbGet(false, lookupPath), "jsonb_extract_path_text": jsonbGet(true, lookupPath),
		"jsonb_contains": func(_ *Call, a []Datum) (Datum, error) {
			return boolean(sqltypes.JSONContains(sqltypes.JSONOf(a[0]), sqltypes.JSONOf(a[1])))
		},
		"jsonb_contained": func(_ *Call, a []Datum) (Datum, error) {
			return boolean(sqltypes.JSONContains(sqltypes.JSONOf(a[1]), sqltypes.JSONOf(a[0])))
		},
		"jsonb_exists": func(_ *Call, a []Datum) (Datum, error) {
			return boolean(sqltypes.JSONExists(sqltypes.JSONOf(a[0]), a[1].S))
		},
		"jsonb_exists_any": existsKeys(false), "jsonb_exists_all": existsKeys(true),
		"jsonb_concat": func(_ *Call, a []Datum) (Datum, error) {
			return jsonbResult(sqltypes.JSONConcat(sqltypes.JSONOf(a[0]), sqltypes.JSONOf(a[1])))
		},
		"jsonb_delete": func(_ *Call, a []Datum) (Datum, error) {
			return jsonbResult(sqltypes.JSONDeleteKey(sqltypes.JSONOf(a[0]), a[1].S))
		},
		"jsonb_delete_idx": func(_ *Call, a []Datum) (Datum, error) {
			return jsonbResult(sqltypes.JSONDeleteIndex(sqltypes.JSONOf(a[0]), int(a[1].I)))
		},
		"jsonb_delete_array": jsonbDeleteKeys, "jsonb_delete_path": jsonbDeletePath,
		"jsonb_set": jsonbSet, "jsonb_set_lax": jsonbSetLax, "jsonb_insert": jsonbInsert,
		"jsonb_strip_nulls": func(_ *Call, a []Datum) (Datum, error) {
			return sqltypes.JSONStripNulls(sqltypes.JSONOf(a[0])).Datum(), nil
		},
		"jsonb_pretty": func(_ *Call, a []Datum) (Datum, error) {
			return sqltypes.Bytes(sqltypes.JSONOf(a[0]).AppendPretty(nil, 0)), nil
		},
		"jsonb_typeof":       func(_ *Call, a []Datum) (Datum, error) { return text(sqltypes.JSONOf(a[0]).Kind().String()) },
		"jsonb_array_length": jsonbLength,
	}.register()
}
