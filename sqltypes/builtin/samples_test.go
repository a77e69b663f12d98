package builtin

import (
	"hash/fnv"
	"math/rand"

	"ostraka/sqltypes"
)

// samples are literals of each type, chosen for their edges.
var samples = map[string][]string{
	"bool":           {"t", "f"},
	"int2":           {"0", "1", "-1", "7", "32767", "-32768", "100"},
	"int4":           {"0", "1", "-1", "2", "3", "10", "-7", "31", "33", "2147483647", "-2147483648", "65"},
	"int8":           {"0", "1", "-1", "5", "-12", "1000000", "9223372036854775807", "-9223372036854775808", "4294967296"},
	"numeric":        {"0", "1", "-1", "2.5", "-2.5", "0.5", "3.14159", "1.10", "100", "-99.9999", "123456789012345678901234567890.123", "1e-20", "12345678.9", "NaN", "Infinity", "-Infinity", "0.00"},
	"float4":         {"0", "1", "-1.5", "2.5", "3.4e38", "1e-45", "NaN", "Infinity", "-Infinity", "123456.7"},
	"float8":         {"0", "-0", "1", "-1", "0.5", "2.5", "-2.5", "1.7976931348623157e308", "5e-324", "NaN", "Infinity", "-Infinity", "30", "45", "90", "0.1", "3.141592653589793", "1e10", "60"},
	"money":          {"$0.00", "$1.50", "-$2.25", "$123,456.78", "$92233720368547758.07"},
	"oid":            {"0", "23", "4294967295"},
	"xid":            {"3", "7"},
	"xid8":           {"3", "7"},
	"cid":            {"0", "5"},
	"tid":            {"(0,1)", "(5,2)"},
	"pg_lsn":         {"0/0", "16/B374D848", "FFFFFFFF/FFFFFFFF"},
	"char":           {"a", "", "Z"},
	"name":           {"abc", "Foo bar", ""},
	"text":           {"", "a", "abc", "Hello World", "xyzzy", "  trim  ", "ab", "a%b_c", "l", "naïve 日本語", "1", "O'Reilly \\ x"},
	"varchar":        {"", "abc", "x y"},
	"bpchar":         {"", "abc  ", "x y", "abc"},
	"bytea":          {`\x`, `\x00`, `\xdeadbeef`, `\x616263`, `\xff00ff`},
	"bit":            {"", "1", "0", "10110", "01101", "11111111"},
	"varbit":         {"", "1", "0011", "10110"},
	"uuid":           {"00000000-0000-0000-0000-000000000000", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "ffffffff-ffff-ffff-ffff-ffffffffffff"},
	"date":           {"2000-01-01", "1999-12-31", "2024-02-29", "infinity", "-infinity", "0044-03-15 BC", "2023-07-04"},
	"time":           {"00:00:00", "12:34:56.789", "23:59:59.999999", "24:00:00"},
	"timetz":         {"00:00:00+00", "12:34:56.789-05", "23:59:59+14"},
	"timestamp":      {"2000-01-01 00:00:00", "2024-02-29 12:34:56.789012", "1969-07-20 20:17:40", "infinity", "-infinity", "2023-03-12 02:30:00", "0044-03-15 01:02:03 BC", "2001-02-16 20:38:40"},
	"timestamptz":    {"2000-01-01 00:00:00+00", "2024-02-29 12:34:56.789012+02", "infinity", "-infinity", "2023-11-05 01:30:00-04", "1883-11-18 12:00:00+00", "2023-07-04 08:00:00-07"},
	"interval":       {"0", "1 day", "-1 day", "1 month", "1 year 2 months 3 days 04:05:06.789", "-3 months 12 days -01:00:00", "30 days", "35 hours", "00:00:01.5", "100 years", "15 minutes"},
	"json":           {"null", "1", `"x"`, "[]", "{}", `{"a": 1, "b": [1, 2, {"c": null}]}`, `[1, "two", null, {"k": "v"}]`, `{"a": {"b": {"c": "deep"}}, "n": null}`, "true"},
	"jsonb":          {"null", "1", `"x"`, "[]", "{}", `{"a": 1, "b": [1, 2, {"c": null}]}`, `[1, "two", null, {"k": "v"}]`, `{"a": {"b": {"c": "deep"}}, "n": null}`, "true", "1.50", `{"a": 2}`, `["a", "b"]`},
	"jsonpath":       {"$", "$.a", "$.b[*]", "$[*]", "lax $.a.b.c", "strict $.x", "$.b[*] ? (@ > 1)", "$.**", "$.a == 1", "exists($.a)", "$[0]", "$.b.size()", "$.*.type()"},
	"inet":           {"192.168.1.5/24", "10.0.0.1", "::1", "2001:db8::1/32", "192.168.1.0/25", "0.0.0.0/0"},
	"cidr":           {"192.168.1.0/24", "10.0.0.0/8", "2001:db8::/32"},
	"macaddr":        {"08:00:2b:01:02:03", "00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff"},
	"macaddr8":       {"08:00:2b:01:02:03:04:05", "00:00:00:ff:fe:00:00:00"},
	"int4range":      {"empty", "[1,5)", "[3,8)", "(,)", "(,3)", "[5,)", "[1,2)", "[10,20)"},
	"int8range":      {"empty", "[1,5)", "(,3)"},
	"numrange":       {"empty", "[1.5,5.0]", "(1.5,3)", "(,)", "[5.0,7)", "(3,)"},
	"daterange":      {"empty", "[2000-01-01,2000-02-01)", "(,2000-01-15)"},
	"tsrange":        {"empty", "[2000-01-01 00:00:00,2000-01-02 00:00:00)"},
	"tstzrange":      {"empty", "[2000-01-01 00:00:00+00,2000-01-02 00:00:00+00]"},
	"int4multirange": {"{}", "{[1,5)}", "{[1,3),[5,8)}", "{(,)}", "{(,2),[10,)}"},
	"nummultirange":  {"{}", "{[1.5,5.0]}", "{(,1),(3,)}"},
	"_int4":          {"{}", "{1,2,3}", "{NULL,2}", "{{1,2},{3,4}}", "[0:2]={7,8,9}", "{3,1}", "{2}"},
	"_int8":          {"{}", "{1,2}"},
	"_text":          {"{}", "{a,b,c}", "{NULL,b}", "{{a,b},{c,d}}", `{"x y",""}`, "{b}", "{a,0}"},
	"_numeric":       {"{}", "{1.5,2}"},
	"_float8":        {"{}", "{0.5,1}"},
	"oidvector":      {"", "23 25"},
	"int2vector":     {"1 2"},
	"point":          {"(0,0)", "(1,2)", "(-3.5,1e-7)", "(5,5)", "(NaN,1)", "(Infinity,-1)", "(1e300,-1e300)"},
	"box":            {"(1,1),(0,0)", "(3,4),(-1,2)", "(0.5,0.5),(0.5,0.5)", "(5,5),(1,1)", "(Infinity,2),(1,NaN)"},
	"lseg":           {"[(0,0),(1,1)]", "[(0,1),(1,0)]", "[(2,2),(2,5)]", "[(-1,3),(4,3)]", "[(1,1),(1,1)]"},
	"line":           {"{1,-1,0}", "{0,-1,3}", "{-1,0,2}", "{2,3,-5}", "{NaN,NaN,NaN}"},
	"path":           {"[(0,0),(1,1),(2,0)]", "((0,0),(4,0),(4,4),(0,4))", "[(1,2)]", "((1,1))", "[(3,0),(3,9)]"},
	"polygon":        {"((0,0),(4,0),(4,4),(0,4))", "((1,1),(2,1),(1.5,2))", "((4,4),(0,4),(0,0),(4,0))", "((10,10))", "((0,0),(2,4),(4,0),(2,1))"},
	"circle":         {"<(0,0),1>", "<(1,2),0>", "<(5,5),10>", "<(-3,0.5),2.25>", "<(3,3),NaN>"},
}

// grammars lists values for functions whose text arguments have a grammar, by
// function name and argument number.
var grammars = map[string]map[int][]string{
	"date_part":             {0: dateFields},
	"extract":               {0: dateFields},
	"date_trunc":            {0: dateFields, 2: {"UTC", "Europe/Berlin", "nowhere"}},
	"timezone":              {0: {"UTC", "Europe/Berlin", "EST", "+05:30", "nowhere", "America/New_York"}},
	"to_char":               {1: {"YYYY-MM-DD HH24:MI:SS.MS", "FMDay, DD Mon YYYY", "Q WW IW ID J CC", "999,999.99", "FM0009.90", "S999", "9.99EEEE", "RN", "HH12:MI:SS AM", "TZ OF", "999V99", "PR999", "L99"}},
	"to_date":               {0: {"2024-02-29", "29 Feb 2024", "20240229", "garbage"}, 1: {"YYYY-MM-DD", "DD Mon YYYY", "YYYYMMDD"}},
	"to_timestamp":          {0: {"2024-02-29 12:34:56", "29 Feb 2024", "garbage", "1:02 PM"}, 1: {"YYYY-MM-DD HH24:MI:SS", "DD Mon YYYY", "HH:MI AM"}},
	"to_number":             {0: {"12,454.8-", "1.5", "abc", "-42"}, 1: {"99G999D9S", "9.9", "S99", "999"}},
	"encode":                {1: {"hex", "base64", "escape", "what"}},
	"decode":                {0: {"6162", "YWJj", "a\\000b", "zz!", "616"}, 1: {"hex", "base64", "escape", "what"}},
	"normalize":             {1: {"NFC", "NFD", "NFKC", "NFKD", "bad"}},
	"is_normalized":         {1: {"NFC", "NFD", "NFKC", "NFKD", "bad"}},
	"regexp_replace":        {0: regexTexts, 1: regexes, 2: {"X", "<\\1>", "[\\&]"}, 3: {"g", "", "i", "gi", "q"}, 5: {"", "i"}},
	"regexp_match":          {0: regexTexts, 1: regexes, 2: {"", "i", "n", "x", "bad"}},
	"regexp_matches":        {0: regexTexts, 1: regexes, 2: {"g", "gi", "z"}},
	"regexp_like":           {0: regexTexts, 1: regexes, 2: {"", "i"}},
	"regexp_count":          {0: regexTexts, 1: regexes, 2: {"1", "3"}, 3: {"", "i"}},
	"regexp_instr":          {0: regexTexts, 1: regexes, 2: {"1", "3"}, 3: {"1", "2"}, 4: {"0", "1"}, 5: {"", "i"}, 6: {"0", "1"}},
	"regexp_substr":         {0: regexTexts, 1: regexes, 2: {"1", "3"}, 3: {"1", "2"}, 4: {"", "i"}, 5: {"0", "1"}},
	"regexp_split_to_array": {0: regexTexts, 1: regexes, 2: {"", "i", "g"}},
	"regexp_split_to_table": {0: regexTexts, 1: regexes, 2: {"", "i"}},
	"textregexeq":           {0: regexTexts, 1: regexes}, "textregexne": {0: regexTexts, 1: regexes},
	"texticregexeq": {0: regexTexts, 1: regexes}, "nameregexeq": {1: regexes}, "bpcharregexeq": {1: regexes},
	"textlike": {1: likes}, "textnlike": {1: likes}, "texticlike": {1: likes}, "bpcharlike": {1: likes}, "namelike": {1: likes},
	"bytealike":        {1: {`\x25`, `\x5f5f5f`, `\x6125`}},
	"generate_series":  {},
	"pg_size_bytes":    {0: {"1kB", "1.5 GB", "10", "-3 MB", "x", "1 XB", "5 TB"}},
	"parse_ident":      {0: {"a.b.c", `"A b".c`, "Foo", "1x", "a.", ".b", "a b", ""}},
	"convert_from":     {1: {"UTF8", "LATIN1", "WIN1252", "bogus"}},
	"convert_to":       {1: {"UTF8", "LATIN1", "bogus"}},
	"unistr":           {0: {`d\0061t\+000061`, `\u0441\u043B`, `\x`, "plain", `\\`}},
	"make_date":        {0: {"2024", "0", "-44"}, 1: {"2", "13", "1"}, 2: {"29", "30", "1"}},
	"make_time":        {0: {"8", "24", "-1"}, 1: {"15", "61"}, 2: {"23.5", "60", "0"}},
	"make_timestamp":   {0: {"2024", "-1"}, 1: {"2", "7"}, 2: {"29", "15"}, 3: {"8", "0"}, 4: {"15", "59"}, 5: {"23.5", "60"}},
	"make_timestamptz": {0: {"2024"}, 1: {"2", "7"}, 2: {"29", "15"}, 3: {"8", "0"}, 4: {"15", "59"}, 5: {"23.5", "60"}, 6: {"Europe/Berlin", "nowhere", "+3"}},
	"make_interval":    {0: {"1", "0"}, 1: {"2", "-3"}, 2: {"1"}, 3: {"10"}, 4: {"5"}, 5: {"90"}, 6: {"1.5", "0"}},
	"format_type":      {0: {"23", "1043", "1700", "1015", "0", "1114"}, 1: {"-1", "14", "0", "5"}},
	"repeat":           {1: {"0", "3", "-1", "2147483647"}},
	"lpad":             {1: {"0", "3", "8", "-1", "2147483647"}}, "rpad": {1: {"0", "3", "8", "-1"}},
	"array_fill":         {1: {"{}", "{3}", "{2,2}", "{NULL}", "{{1}}", "{-1}"}, 2: {"{}", "{5}", "{1,2}"}},
	"jsonb_set_lax":      {4: {"raise_exception", "use_json_null", "delete_key", "return_target", "x"}},
	"range_constructor3": {},
	"int4range":          {2: {"[)", "[]", "()", "(]", "x"}}, "numrange": {2: {"[)", "[]", "()", "(]"}},
	"int8range": {2: {"[)", "[]"}}, "daterange": {2: {"[)", "[]"}}, "tsrange": {2: {"[)", "[]"}}, "tstzrange": {2: {"[)", "[]"}},
	"substring":           {1: {"1", "2", "-1", "0", "b.", "(o)(.)"}, 2: {"2", "0", "-1", "2147483647", "#"}},
	"like_escape":         {0: likes, 1: {"#", "", "ab", "\\"}},
	"similar_to_escape":   {0: {"a%", "_b|c", "#%x", "[a-c]+"}, 1: {"#", "", "\\"}},
	"pg_sleep":            {0: {"0"}},
	"split_part":          {1: {"", "l", " ", "zz"}, 2: {"1", "2", "-1", "0", "5"}},
	"pg_char_to_encoding": {0: {"UTF8", "latin1", "x"}}, "pg_encoding_to_char": {0: {"6", "0", "99"}},
	"string_to_array": {1: {"", " ", "l"}}, "string_to_table": {1: {"", " ", "l"}},
	"translate": {1: {"abc", "lo", ""}, 2: {"xy", "", "1234"}},
	"age":       {0: finiteTimes, 1: finiteTimes},
	"interval":  {1: {"2147418112", "2147418114", "-1"}},
	"date_bin":  {0: {"15 minutes", "1 day", "0", "1 month", "-1 hour", "7 days 00:00:01"}},
}

var (
	finiteTimes = []string{"2000-01-01 00:00:00", "2024-02-29 12:34:56.789012", "1969-07-20 20:17:40", "2023-03-31 02:30:00", "0044-03-15 01:02:03 BC"}
	dateFields  = []string{"year", "month", "day", "hour", "minute", "second", "milliseconds", "microseconds", "epoch", "dow", "isodow", "doy", "week", "isoyear", "quarter", "decade", "century", "millennium", "julian", "timezone", "timezone_hour", "timezone_m", "bogus"}
	regexTexts  = []string{"", "foobarbequebaz", "Hello World", "aaa bbb", "line1\nline2", "a.b*c", "abcabc", "日本語", "foo123bar45"}
	regexes     = []string{"ba.", "(b[^b]+)(b[^b]+)", "a+", "", "^l.*$", "o\\s*W", "[[:digit:]]+", "\\d{2}", "(a|b)*c", "x*", "(", "h", "\\mb", "\\.", "b{2,1}", "(?i)HELLO", "a*?b", "^(?:foo|bar)+$", "[a-c]{3}", "(?=b)b", "(.)\\1", "\\y\\w+\\y", "***=a.b", "[^[:alpha:]]", "b$|e1$"}
	likes       = []string{"%", "_", "a%", "%b%", "abc", "H%o%d", "___", "a\\%b\\_c", "%\\", "", "%日%", "%c", "_b_"}
)

// bindings are the concrete types that stand for the polymorphic ones.
var bindings = []map[string]string{
	{"elem": "int4", "array": "_int4", "range": "int4range", "multi": "int4multirange"},
	{"elem": "text", "array": "_text"},
	{"elem": "numeric", "array": "_numeric", "range": "numrange", "multi": "nummultirange"},
}

func concrete(oid sqltypes.OID, b map[string]string) string {
	switch oid {
	case sqltypes.OIDAnyelement, sqltypes.OIDAnycompatible, sqltypes.OIDAnynonarray, sqltypes.OIDAnycompatiblenonarray:
		return b["elem"]
	case sqltypes.OIDAnyarray, sqltypes.OIDAnycompatiblearray:
		return b["array"]
	case sqltypes.OIDAnyrange, sqltypes.OIDAnycompatiblerange:
		return b["range"]
	case sqltypes.OIDAnymultirange, sqltypes.OIDAnycompatiblemultirange:
		return b["multi"]
	}
	if t := sqltypes.TypeByOID(oid); t != nil {
		return t.Name
	}
	return ""
}

// sampleCalls makes calls of every implemented function whose argument types
// have samples: all combinations if they are few, else a fixed random choice.
func sampleCalls() []oracleCall {
	var calls []oracleCall
	for _, p := range sqltypes.AllProcs() {
		if p.Kind != 'f' || p.Namespace != 11 || p.Fn == nil && p.Set == nil || p.Volatility == sqltypes.Volatile || len(p.ArgTypes) == 0 || skipped[p.Name] || p.Name == "age" && len(p.ArgTypes) == 1 {
			continue
		}
		seen := map[string]bool{}
		for _, b := range bindings {
			types := make([]string, len(p.ArgTypes))
			key, ok := "", true
			for i, oid := range p.ArgTypes {
				types[i] = concrete(oid, b)
				key += types[i] + ","
				ok = ok && samples[types[i]] != nil
			}
			if !ok || seen[key] {
				continue
			}
			seen[key] = true
			calls = append(calls, combine(p, types)...)
		}
	}
	return calls
}

// skipped are functions whose result is the server's own business.
var skipped = map[string]bool{
	"pg_column_size": true, "pg_sleep": true, "generate_series": true, "current_setting": true, "set_config": true,
	"pg_collation_for": true,
	// Only the sign of these means something.
	"bttextcmp": true, "btnamecmp": true, "btnametextcmp": true, "bttextnamecmp": true, "bttext_pattern_cmp": true,
	"btbpchar_pattern_cmp": true, "bpcharcmp": true, "byteacmp": true, "uuid_cmp": true, "btarraycmp": true, "btoidvectorcmp": true, "network_cmp": true, "bitcmp": true, "varbitcmp": true,
	"current_schemas": true, // the session's
}

func combine(p *sqltypes.Proc, types []string) []oracleCall {
	values := make([][]string, len(types))
	total := 1
	for i, t := range types {
		values[i] = samples[t]
		if s := grammars[p.Name][i]; s != nil && (t == "text" || t == "int4" || t == "_int4" || t == "interval" || t == "float8" || t == "oid" || t == "name" || t == "bytea" || t == "timestamp" || t == "timestamptz") {
			values[i] = s
		}
		total *= len(values[i])
	}
	limit := 14
	if grammars[p.Name] != nil {
		limit = 60
	}
	h := fnv.New64()
	h.Write([]byte(p.Src + p.Name))
	rng := rand.New(rand.NewSource(int64(h.Sum64())))
	pick := func(n int) oracleCall {
		c := oracleCall{name: p.Name, types: types, args: make([]*string, len(types))}
		for i := range types {
			v := values[i][n%len(values[i])]
			n /= len(values[i])
			c.args[i] = &v
		}
		return c
	}
	var calls []oracleCall
	if total <= limit {
		for n := 0; n < total; n++ {
			calls = append(calls, pick(n))
		}
		return calls
	}
	for n := 0; n < limit; n++ {
		calls = append(calls, pick(rng.Intn(total)))
	}
	return calls
}
