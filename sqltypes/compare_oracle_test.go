package sqltypes

import (
	"fmt"
	"testing"
)

// TestCompareAgainstOracle checks the btree order of every kind of type on pairs of samples.
func TestCompareAgainstOracle(t *testing.T) {
	o := pgOracle(t)
	env := testEnv()
	for typ, samples := range map[string][]string{
		"float8":         {"NaN", "-0", "0", "1e300", "-Infinity", "Infinity", "-1"},
		"numeric":        {"NaN", "0", "0.00", "1e300", "-Infinity", "Infinity", "-1.10", "-1.1", "123456789012345678901234567890", "1e-20"},
		"bpchar":         {"a", "a  ", "b", "", " "},
		"bytea":          {`\x`, `\x00`, `\xff`, `\x00ff`},
		"oid":            {"0", "4294967295", "2147483648"},
		"xid8":           {"0", "18446744073709551615", "9223372036854775808"},
		"pg_lsn":         {"0/0", "FFFFFFFF/0", "1/1"},
		"char":           {"a", `\377`, "", "b"},
		"date":           {"infinity", "-infinity", "2001-01-01", "0001-01-01 BC"},
		"timestamptz":    {"infinity", "-infinity", "2001-01-01 00:00+01", "2001-01-01 00:00+02"},
		"timetz":         {"00:00+00", "01:00+01", "02:00+00", "23:00-01", "00:00-15"},
		"interval":       {"1 mon", "30 days", "720:00", "1 mon -1 us", "-1 day", "24:00", "1 year", "365 days"},
		"bit varying":    {"1", "10", "", "0", "11", "100000000"},
		"inet":           {"1.2.3.4", "1.2.3.0/24", "1.2.3.4/24", "::1", "1.2.0.0/16", "0.0.0.0/0", "1.2.3.4/8"},
		"macaddr":        {"08:00:2b:01:02:03", "ff:00:00:00:00:00"},
		"int4[]":         {"{}", "{1}", "{1,2}", "{{1,2}}", "{NULL}", "[0:0]={1}", "{2}", "{1,NULL}"},
		"int4range":      {"empty", "[1,2)", "(,)", "[1,)", "(,5)", "[1,5)"},
		"numrange":       {"empty", "[1,2)", "[1,2]", "(1,2]", "(1,2)", "(,2]", "[1,)"},
		"int4multirange": {"{}", "{[1,2)}", "{[1,2),[5,6)}", "{(,1)}"},
		"uuid":           {"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "00000000-0000-0000-0000-000000000000"},
		"money":          {"-1", "$5", "0"},
		"oidvector":      {"", "1", "1 2", "2", "4294967295"},
		"bool":           {"t", "f"},
		"tid":            {"(0,1)", "(1,0)", "(4294967295,1)"},
		"jsonb":          {"null", "1", "[]", "{}", `"a"`, "true", "[1]", `{"a":1}`, `{"b":0}`, "[[]]"},
		"name":           {"a", "B", ""},
	} {
		ty := TypeByName(map[string]string{"bit varying": "varbit", "int4[]": "_int4"}[typ])
		if ty == nil {
			ty = TypeByName(typ)
		}
		sql := typ
		if typ == "char" {
			sql = `"char"`
		}
		for _, a := range samples {
			for _, b := range samples {
				x, err := ty.In(env, a, -1)
				if err != nil {
					t.Fatal(typ, a, err)
				}
				y, err := ty.In(env, b, -1)
				if err != nil {
					t.Fatal(typ, b, err)
				}
				c := ty.Compare(x, y)
				want := o.one(fmt.Sprintf("select ($1::%[1]s > $2::%[1]s)::int - ($1::%[1]s < $2::%[1]s)::int", sql), a, b)
				if fmt.Sprint(c) != want {
					t.Errorf("%s: compare(%s, %s) = %d, want %s", typ, a, b, c, want)
				}
				if c == 0 && ty.Hash(x) != ty.Hash(y) {
					t.Errorf("%s: %s and %s are equal but hash differently", typ, a, b)
				}
			}
		}
	}
}
