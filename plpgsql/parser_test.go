package plpgsql

import (
	"strings"
	"testing"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// testTypes knows the built-in types by name.
type testTypes struct{}

func (testTypes) TypeName(text string) (sqltypes.ColumnType, error) {
	name := map[string]string{"int": "int4", "integer": "int4", "int[]": "_int4"}[text]
	if name == "" {
		name = text
	}
	if t := sqltypes.TypeByName(name); t != nil {
		return sqltypes.ColumnType{OID: t.OID, TypMod: -1}, nil
	}
	return sqltypes.ColumnType{}, pgerror.New(pgerror.UndefinedObject, "type %q does not exist", text)
}
func (testTypes) ColumnType([]string) (sqltypes.ColumnType, error) {
	return sqltypes.ColumnType{OID: sqltypes.OIDInt4, TypMod: -1}, nil
}
func (testTypes) RowType([]string) (sqltypes.ColumnType, error) {
	return sqltypes.ColumnType{OID: sqltypes.OIDRecord, TypMod: -1}, nil
}
func (testTypes) Type(oid sqltypes.OID) *sqltypes.Type { return sqltypes.TypeByOID(oid) }

func parseBlock(src string) (*Function, error) {
	return Parse(src, Header{Name: "inline_code_block", Signature: "inline_code_block", Kind: 'd', Ret: sqltypes.ColumnType{OID: sqltypes.OIDVoid, TypMod: -1}}, testTypes{})
}

// TestParse cuts the SQL out of function bodies.
func TestParse(t *testing.T) {
	for _, c := range []struct{ src, queries string }{
		{"BEGIN NULL; END", ""},
		{"DECLARE x int := 1 + 2; BEGIN x := x * 2; END;", "SELECT 1 + 2|SELECT x * 2"},
		{"BEGIN FOR i IN 1..f(10) BY 2 LOOP EXIT WHEN i > 3; END LOOP; END", "SELECT 1|SELECT f(10)|SELECT 2|SELECT i > 3"},
		{"DECLARE r record; BEGIN FOR r IN SELECT a, b FROM t LOOP RAISE NOTICE '% %', r.a, 'x;y'; END LOOP; END", "SELECT a, b FROM t|SELECT r.a|SELECT 'x;y'"},
		{"DECLARE x int; BEGIN SELECT a INTO STRICT x FROM t; END", "SELECT a FROM t"},
		{"DECLARE x int; BEGIN INSERT INTO t VALUES ($$;$$) RETURNING a INTO x; END", "INSERT INTO t VALUES ($$;$$) RETURNING a"},
		{"DECLARE a int[]; BEGIN a[1 + 1] := 5; END", "UPDATE x SET a[1 + 1] = (5)"},
		{"DECLARE x int; BEGIN CASE x WHEN 1, 2 THEN NULL; ELSE NULL; END CASE; END", `SELECT x|SELECT "__Case__Variable_2__" IN (1, 2)`},
		{"BEGIN PERFORM f(1, 'it''s'); -- a comment; here\n /* and ; /* there */ */ EXECUTE 'x' || 1 USING 2, 3; END", "SELECT f(1, 'it''s')|SELECT 'x' || 1|SELECT 2|SELECT 3"},
		{"<<l>> BEGIN BEGIN NULL; EXCEPTION WHEN division_by_zero OR SQLSTATE '23505' THEN RAISE; WHEN OTHERS THEN NULL; END; END l", ""},
		{"DECLARE c CURSOR (n int) FOR SELECT n; x int; BEGIN OPEN c(7); FETCH RELATIVE -1 FROM c INTO x; CLOSE c; END", "SELECT n|SELECT 7|SELECT -1"},
	} {
		f, err := parseBlock(c.src)
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		var got []string
		for _, q := range f.Queries {
			got = append(got, strings.Join(strings.Fields(q.Text), " "))
		}
		if s := strings.Join(got, "|"); s != c.queries {
			t.Errorf("%s:\n got %s\nwant %s", c.src, s, c.queries)
		}
	}
}

// TestSyntaxErrors compares messages and SQLSTATEs with PostgreSQL's.
func TestSyntaxErrors(t *testing.T) {
	for _, c := range []struct {
		src, message string
		code         pgerror.Code
	}{
		{"BEGIN x := 1; END", `"x" is not a known variable`, pgerror.SyntaxError},
		{"BEGIN NULL; END l", `end label "l" specified for unlabeled block`, pgerror.SyntaxError},
		{"DECLARE x int; x int; BEGIN NULL; END", `duplicate declaration at or near "x"`, pgerror.SyntaxError},
		{"DECLARE x constant int := 1; BEGIN x := 2; END", `variable "x" is declared CONSTANT`, pgerror.ErrorInAssignment},
		{"BEGIN EXIT; END", "EXIT cannot be used outside a loop, unless it has a label", pgerror.SyntaxError},
		{"BEGIN RAISE NOTICE '%'; END", "too few parameters specified for RAISE", pgerror.SyntaxError},
		{"BEGIN RAISE NOTICE 'x', 1; END", "too many parameters specified for RAISE", pgerror.SyntaxError},
		{"BEGIN RAISE nosuch; END", `unrecognized exception condition "nosuch"`, pgerror.UndefinedObject},
		{"BEGIN IF true NULL; END IF; END", `missing "THEN" at end of SQL expression`, pgerror.SyntaxError},
		{"BEGIN RETURN NEXT 1; END", "cannot use RETURN NEXT in a non-SETOF function", pgerror.DatatypeMismatch},
		{"BEGIN NULL; ", "syntax error at end of input", pgerror.SyntaxError},
		{"BEGIN 'x'; END", `syntax error at or near "'x'"`, pgerror.SyntaxError},
	} {
		_, err := parseBlock(c.src)
		e, ok := err.(*pgerror.Error)
		if !ok || e.Message != c.message || e.Code != c.code {
			t.Errorf("%s: got %v, want %s %s", c.src, err, c.code, c.message)
		}
	}
}

// FuzzParse: no text makes the parser panic.
func FuzzParse(f *testing.F) {
	f.Add("DECLARE a int[]; BEGIN <<l>> FOR x IN 1..2 LOOP a[x] := 'q'; END LOOP; END")
	f.Add("BEGIN FETCH FORWARD 3 FROM c INTO x; GET STACKED DIAGNOSTICS x = message_text; END")
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) < 2000 {
			_, _ = parseBlock(src)
		}
	})
}
