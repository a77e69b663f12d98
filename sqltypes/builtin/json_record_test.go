package builtin

import (
	"testing"

	"ostraka/sqltypes"
)

// Functions that return records need the caller's column definitions, which the
// recorded calls do not have; the expectations are PostgreSQL 15's.
func TestJSONToRecord(t *testing.T) {
	env := oracleEnv(t)
	field := func(name string, typ sqltypes.OID) sqltypes.Field {
		return sqltypes.Field{Name: name, Type: sqltypes.TypeByOID(typ), ColumnType: sqltypes.ColumnType{OID: typ, TypMod: -1}}
	}
	fields := []sqltypes.Field{field("a", sqltypes.OIDInt4), field("b", sqltypes.OIDText), field("c", sqltypes.OIDInt4Array), field("d", sqltypes.OIDJsonb)}
	for _, c := range []struct{ in, want string }{
		{`{"a": 1, "b": [1, 2], "c": [[1,2],[3,4]], "d": {"x": 1}}`, `(1,"[1, 2]","{{1,2},{3,4}}","{""x"": 1}")`},
		{`{"b": "text", "c": "{5,6}", "a": "7"}`, `(7,text,"{5,6}",)`},
		{`{"a": null, "z": 1}`, `(,,,)`},
		{`{"a": "x"}`, `!22P02 invalid input syntax for type integer: "x"`},
		{`{"c": 5}`, `!22P02 expected JSON array`},
		{`{"c": [[1],[2,3]]}`, `!22P02 malformed JSON array`},
		{`[1]`, `!22023 cannot call json_to_record on an array`},
	} {
		p := sqltypes.ProcsByName("json_to_record")[0]
		call := &Call{Env: env, Proc: p, ArgTypes: []sqltypes.ColumnType{{OID: sqltypes.OIDJson}}, RetFields: fields}
		d, err := p.Fn(call, []Datum{sqltypes.Text(c.in)})
		got := ""
		if err != nil {
			got = outcomeError(err)
		} else {
			got = outText(call, sqltypes.OIDRecord, d)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.in, got, c.want)
		}
	}
	p := sqltypes.ProcsByName("jsonb_to_recordset")[0]
	in, err := sqltypes.ParseJSONB(`[{"a": 1}, {"a": 2, "b": "x"}]`)
	if err != nil {
		t.Fatal(err)
	}
	call := &Call{Env: env, Proc: p, ArgTypes: []sqltypes.ColumnType{{OID: sqltypes.OIDJsonb}}, RetFields: fields}
	rows, err := p.Set(call, []Datum{in.Datum()})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for row, ok, err := rows.Next(); ok; row, ok, err = rows.Next() {
		if n++; err != nil || len(row) != 4 || row[0].I != int64(n) {
			t.Fatalf("row %d: %v %v", n, row, err)
		}
	}
	if n != 2 {
		t.Fatalf("%d rows", n)
	}
}

// Every key under which something is registered names a function of
// PostgreSQL's: a misspelt one would silently do nothing.
func TestRegisteredKeys(t *testing.T) {
	if unknown := sqltypes.UnknownRegistrations(); len(unknown) > 0 {
		t.Errorf("registered under keys that no function has: %v", unknown)
	}
}
