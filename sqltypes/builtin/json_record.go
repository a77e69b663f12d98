package builtin

import (
	"strconv"
	"strings"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// rowFields are the columns that a populate or to_record function fills: of the
// column definition list, of the first argument's composite type, or of the record
// that it is.
func rowFields(c *Call, first Datum) ([]sqltypes.Field, error) {
	if len(c.ArgTypes) > 0 && c.ArgTypes[0].OID == sqltypes.OIDRecord && !first.Null {
		fields := fieldsOfRecord(c, sqltypes.OpenRecord(first))
		if len(c.RetFields) > 0 {
			return c.RetFields, sameFields(fields, c.RetFields)
		}
		return fields, nil
	}
	if len(c.RetFields) > 0 {
		return c.RetFields, nil
	}
	if len(c.ArgTypes) > 0 {
		if t := rowType(c); t != nil && len(t.Fields) > 0 {
			return t.Fields, nil
		}
	}
	return nil, pgerror.New(pgerror.FeatureNotSupported, "could not determine row type for result of %s", c.Proc.Name).
		WithHint("Provide a non-null record argument, or call the function in the FROM clause using a column definition list.")
}

// rowType is the first argument's composite type, under its domains.
func rowType(c *Call) *sqltypes.Type {
	t := sqltypes.LookupType(c.Env, c.ArgTypes[0].OID)
	for t != nil && t.Base != nil {
		t = t.Base
	}
	return t
}

// fieldsOfRecord are the fields of an anonymous record: f1, f2 …
func fieldsOfRecord(c *Call, r sqltypes.Record) []sqltypes.Field {
	fields := make([]sqltypes.Field, r.Len())
	for i := range fields {
		t := sqltypes.LookupType(c.Env, r.TypeOID(i))
		fields[i] = sqltypes.Field{Name: "f" + strconv.Itoa(i+1), ColumnType: sqltypes.ColumnType{OID: r.TypeOID(i), TypMod: -1}, Type: t}
	}
	return fields
}

// sameFields checks a record against a column definition list.
func sameFields(got, want []sqltypes.Field) error {
	mismatch := pgerror.New(pgerror.DatatypeMismatch, "function return row and query-specified return row do not match")
	if len(got) != len(want) {
		plural := "s"
		if len(got) == 1 {
			plural = ""
		}
		return mismatch.WithDetail("Returned row contains %d attribute%s, but query expects %d.", len(got), plural, len(want))
	}
	for i, f := range got {
		if f.OID != want[i].OID {
			return mismatch.WithDetail("Returned type %s at ordinal position %d, but query expects %s.", sqltypes.FormatType(f.OID, -1), i+1, sqltypes.FormatType(want[i].OID, -1))
		}
	}
	return nil
}

// checkRow tests a filled row against the first argument's type when it is a domain.
func checkRow(c *Call, at int, row Datum) (Datum, error) {
	if at == 0 {
		return row, nil
	}
	if t := sqltypes.LookupType(c.Env, c.ArgTypes[0].OID); t != nil && t.Base != nil {
		return row, sqltypes.CheckDomain(c.Env, t, row)
	}
	return row, nil
}

// jsonTextOf is a json or jsonb argument as text.
func jsonTextOf(typ sqltypes.OID, d Datum) string {
	if typ == sqltypes.OIDJsonb {
		return sqltypes.JSONOf(d).String()
	}
	return d.S
}

// fillRow converts the members of an object into the fields; a field without a
// member keeps its value in base.
func fillRow(c *Call, fields []sqltypes.Field, base []Datum, object string) ([]Datum, error) {
	switch k := sqltypes.JSONTextKind(object); {
	case k == sqltypes.JSONArray:
		return nil, notJSON("cannot call %s on an array", c.Proc.Name)
	case isJSONScalar(k):
		return nil, notJSON("cannot call %s on a scalar", c.Proc.Name)
	}
	members := map[string]string{}
	if err := sqltypes.JSONTextEach(object, func(key, raw string) { members[key] = raw }); err != nil {
		return nil, err
	}
	row := make([]Datum, len(fields))
	for i, f := range fields {
		raw, ok := members[f.Name]
		if !ok {
			row[i] = null
			if base != nil {
				row[i] = base[i]
			} else if f.Type != nil && f.Type.Base != nil {
				if err := sqltypes.CheckDomain(c.Env, f.Type, null); err != nil {
					return nil, err
				}
			}
			continue
		}
		old := null
		if base != nil {
			old = base[i]
		}
		v, err := valueFromJSON(c, f.ColumnType, old, raw, f.Name)
		if err != nil {
			return nil, err
		}
		row[i] = v
	}
	return row, nil
}

// valueFromJSON converts a JSON text to a type: arrays and objects member by
// member, scalars through the type's input function. A composite keeps what old has
// and raw has not. key is for error hints.
func valueFromJSON(c *Call, typ sqltypes.ColumnType, old Datum, raw, key string) (Datum, error) {
	t, err := elemType(c, typ.OID)
	if err != nil {
		return null, err
	}
	domain, typmod := t, typ.TypMod
	for t.Base != nil {
		t, typmod = t.Base, t.TypMod
	}
	d, err := baseValueFromJSON(c, t, typmod, old, raw, key)
	if err != nil || domain == t {
		return d, err
	}
	return d, sqltypes.CheckDomain(c.Env, domain, d)
}

func baseValueFromJSON(c *Call, t *sqltypes.Type, typmod int32, old Datum, raw, key string) (Datum, error) {
	kind := sqltypes.JSONTextKind(raw)
	switch {
	case kind == sqltypes.JSONNull:
		return isNull()
	case t.OID == sqltypes.OIDJson:
		return text(raw)
	case t.OID == sqltypes.OIDJsonb:
		return jsonbResult(sqltypes.ParseJSONB(raw))
	case kind == sqltypes.JSONString:
		s, err := sqltypes.JSONTextAsText(raw)
		if err != nil {
			return null, err
		}
		return t.In(c.Env, s.S, typmod)
	case t.IsArray && t.Len == -1:
		return arrayFromJSON(c, t, typmod, raw, key)
	case t.TypType == 'c':
		row, err := fillRow(c, t.Fields, baseFields(old, len(t.Fields)), raw)
		if err != nil {
			return null, err
		}
		return recordOf(t.Fields, row), nil
	}
	return t.In(c.Env, strings.Trim(raw, " \t\n\r"), typmod)
}

// recordOf makes a composite value.
func recordOf(fields []sqltypes.Field, row []Datum) Datum {
	types := make([]*sqltypes.Type, len(fields))
	for i, f := range fields {
		types[i] = f.Type
	}
	return sqltypes.MakeRecord(types, row)
}

// arrayFromJSON reads a JSON array, of arrays for several dimensions.
func arrayFromJSON(c *Call, t *sqltypes.Type, typmod int32, raw, key string) (Datum, error) {
	if sqltypes.JSONTextKind(raw) != sqltypes.JSONArray {
		e := pgerror.New(pgerror.InvalidTextRepresentation, "expected JSON array")
		if key != "" {
			e = e.WithHint("See the value of key \"%s\".", key)
		}
		return fail(e)
	}
	elem := t.ElemType
	nested := elem.OID != sqltypes.OIDJson && elem.OID != sqltypes.OIDJsonb
	var dims []sqltypes.ArrayDim
	var elems []Datum
	var walk func(raw string, depth int) error
	walk = func(raw string, depth int) error {
		var parts []string
		if err := sqltypes.JSONTextEach(raw, func(_, v string) { parts = append(parts, v) }); err != nil {
			return err
		}
		if depth == len(dims) {
			dims = append(dims, sqltypes.ArrayDim{Len: int32(len(parts)), Lower: 1})
		} else if int(dims[depth].Len) != len(parts) {
			return malformedArray()
		}
		for _, v := range parts {
			isArray := nested && sqltypes.JSONTextKind(v) == sqltypes.JSONArray
			if isArray != (depth+1 < len(dims)) && len(elems) > 0 {
				return malformedArray()
			}
			if isArray {
				if err := walk(v, depth+1); err != nil {
					return err
				}
				continue
			}
			d, err := valueFromJSON(c, sqltypes.ColumnType{OID: elem.OID, TypMod: typmod}, null, v, "")
			if err != nil {
				return err
			}
			elems = append(elems, d)
		}
		return nil
	}
	if err := walk(raw, 0); err != nil {
		return null, err
	}
	if err := sqltypes.CheckArraySize(dims); err != nil {
		return null, err
	}
	return sqltypes.MakeArray(elem, dims, elems), nil
}

func malformedArray() *pgerror.Error {
	return pgerror.New(pgerror.InvalidTextRepresentation, "malformed JSON array").
		WithDetail("Multidimensional arrays must have sub-arrays with matching dimensions.")
}

// baseFields are the n values of the record that populate functions start from, nil without one.
func baseFields(d Datum, n int) []Datum {
	if d.Null {
		return nil
	}
	v := sqltypes.OpenRecord(d).Values()
	for len(v) < n {
		v = append(v, null)
	}
	return v
}

// populateRecord is json[b]_populate_record(base, json); to_record has no base (at 0).
func populateRecord(at int) sqltypes.ScalarFunc {
	return func(c *Call, args []Datum) (Datum, error) {
		if args[at].Null && (at == 0 || !args[0].Null) {
			return args[0], nil
		}
		fields, err := rowFields(c, args[0])
		if err != nil {
			return null, err
		}
		var base []Datum
		if at > 0 {
			if args[at].Null {
				return isNull()
			}
			base = baseFields(args[0], len(fields))
		}
		row, err := fillRow(c, fields, base, jsonTextOf(c.ArgTypes[at].OID, args[at]))
		if err != nil {
			return null, err
		}
		return checkRow(c, at, recordOf(fields, row))
	}
}

// populateSet is the same for an array of objects, one row each.
func populateSet(at int) sqltypes.SetFunc {
	return func(c *Call, args []Datum) (sqltypes.RowSource, error) {
		t := &tableOf{}
		fields, err := rowFields(c, args[0])
		if err != nil {
			return nil, err
		}
		for _, f := range fields {
			t.types = append(t.types, f.Type)
		}
		if args[at].Null {
			return t, nil
		}
		var base []Datum
		if at > 0 {
			base = baseFields(args[0], len(fields))
		}
		raw := jsonTextOf(c.ArgTypes[at].OID, args[at])
		switch k := sqltypes.JSONTextKind(raw); {
		case k == sqltypes.JSONObject && c.ArgTypes[at].OID == sqltypes.OIDJson:
			return nil, notJSON("cannot call %s on an object", c.Proc.Name)
		case isJSONScalar(k) && c.ArgTypes[at].OID == sqltypes.OIDJson:
			return nil, notJSON("cannot call %s on a scalar", c.Proc.Name)
		case k != sqltypes.JSONArray:
			return nil, notJSON("cannot call %s on a non-array", c.Proc.Name)
		}
		var failed error
		err = sqltypes.JSONTextEach(raw, func(_, v string) {
			if failed != nil {
				return
			}
			if sqltypes.JSONTextKind(v) != sqltypes.JSONObject {
				failed = notJSON("argument of %s must be an array of objects", c.Proc.Name)
				return
			}
			var row []Datum
			if row, failed = fillRow(c, fields, base, v); failed == nil {
				if _, failed = checkRow(c, at, recordOf(fields, row)); failed == nil {
					t.rows = append(t.rows, row)
				}
			}
		})
		if err == nil {
			err = failed
		}
		return t, err
	}
}

func init() {
	for _, p := range []string{"json", "jsonb"} {
		scalarTable{p + "_populate_record": populateRecord(1), p + "_to_record": populateRecord(0)}.register()
		setTable{p + "_populate_recordset": populateSet(1), p + "_to_recordset": populateSet(0)}.register()
	}
}
