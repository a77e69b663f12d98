package sqltypes

import "testing"

func TestFormatType(t *testing.T) {
	for _, c := range []struct {
		oid    OID
		typmod int32
		want   string
	}{
		{OIDInt4, -1, "integer"}, {OIDInt4Array, -1, "integer[]"}, {OIDVarchar, 14, "character varying(10)"},
		{OIDVarcharArray, 14, "character varying(10)[]"}, {OIDTimestamp, 3, "timestamp(3) without time zone"},
		{OIDTimestamptz, -1, "timestamp with time zone"}, {OIDNumericArray, 655366, "numeric(10,2)[]"},
		{OIDBpchar, -1, "bpchar"}, {OIDBpchar, 5, "character(1)"}, {OIDBit, -1, `"bit"`}, {OIDBit, 3, "bit(3)"},
		{OIDInt2vector, -1, "int2vector"}, {OIDInt2vectorArray, -1, "int2vector[]"}, {OIDChar, -1, `"char"`},
		{OIDCharArray, -1, `"char"[]`}, {OIDInterval, 268500991, "interval second"}, {999999, -1, "???"}, {0, -1, "-"},
		{OIDPgClass, -1, "pg_class"}, {OIDNumeric, NumericTypMod(3, -2), "numeric(3,-2)"},
	} {
		if got := FormatType(c.oid, c.typmod); got != c.want {
			t.Errorf("FormatType(%d, %d) = %q, want %q", c.oid, c.typmod, got, c.want)
		}
	}
}

func TestBasicTypes(t *testing.T) {
	checkInOut(t, testEnv(), []inOut{
		{"int4", " 12 ", "12", ""}, {"int4", "-0", "0", ""}, {"int4", "x", `invalid input syntax for type integer: "x"`, "22P02"},
		{"int4", "", `invalid input syntax for type integer: ""`, "22P02"},
		{"int4", "99999999999", `value "99999999999" is out of range for type integer`, "22003"},
		{"int2", "-32768", "-32768", ""}, {"int8", "-9223372036854775808", "-9223372036854775808", ""},
		{"oid", "-1", "4294967295", ""}, {"oid", "4294967296", `value "4294967296" is out of range for type oid`, "22003"},
		{"bool", "tr", "t", ""}, {"bool", "of", "f", ""}, {"bool", "o", `invalid input syntax for type boolean: "o"`, "22P02"},
		{"xid", "abc", "0", ""}, {"xid8", "-1", "18446744073709551615", ""},
		{"float8", "1e15", "1e+15", ""}, {"float8", "1e14", "100000000000000", ""}, {"float8", "1e-5", "1e-05", ""},
		{"float8", "0.0001", "0.0001", ""}, {"float8", "-0", "-0", ""}, {"float8", "0x1F", "31", ""}, {"float8", " +inf ", "Infinity", ""},
		{"float8", "1e400", `"1e400" is out of range for type double precision`, "22003"},
		{"float8", "1e-400", `"1e-400" is out of range for type double precision`, "22003"},
		{"float4", "1234567", "1.234567e+06", ""}, {"float4", "1e5", "100000", ""}, {"float4", "1e50", `"1e50" is out of range for type real`, "22003"},
		{"float8", "infi", `invalid input syntax for type double precision: "infi"`, "22P02"},
		{"char", `\101`, "A", ""}, {"char", "é", `\303`, ""}, {"bpchar", "ab  ", "ab  ", ""},
		{"_int4", "{1,2,NULL}", "{1,2,NULL}", ""}, {"_int4", "[0:1][2:3]={{1,2},{3,4}}", "[0:1][2:3]={{1,2},{3,4}}", ""},
		{"_text", `{a, "b c" ,"",null,"null",\"x}`, `{a,"b c","",NULL,"null","\"x"}`, ""},
		{"_int4", "{1,{2}}", `malformed array literal: "{1,{2}}"`, "22P02"},
		{"int2vector", " 1 2  3", "1 2 3", ""}, {"oidvector", "", "", ""},
		{"regtype", "23", "integer", ""}, {"regclass", "-", "-", ""},
	})
}
