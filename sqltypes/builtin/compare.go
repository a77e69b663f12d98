package builtin

import (
	"cmp"
	"math"
	"strings"

	"ostraka/sqltypes"
)

func compareInt(a, b Datum) int { return cmp.Compare(a.I, b.I) }

// compareFloat is PostgreSQL's order of floats: NaN equals NaN and is above
// everything else; -0 equals 0.
func compareFloat(a, b Datum) int { return cmpFloat(a.Float(), b.Float()) }

func cmpFloat(x, y float64) int {
	switch {
	case math.IsNaN(x):
		if math.IsNaN(y) {
			return 0
		}
		return 1
	case math.IsNaN(y), x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// compareBytes is the order of text under the default (code point) collation,
// and of bytea and uuid.
func compareBytes(a, b Datum) int { return strings.Compare(a.S, b.S) }

// compareChar orders "char" as unsigned bytes.
func compareChar(a, b Datum) int { return cmp.Compare(uint8(a.I), uint8(b.I)) }

// compareBpchar ignores trailing blanks.
func compareBpchar(a, b Datum) int {
	return strings.Compare(strings.TrimRight(a.S, " "), strings.TrimRight(b.S, " "))
}

func init() {
	compareOps("bool*", compareInt, nil)
	compareOps("oid*", compareInt, nil)
	compareOps("char*", compareChar, nil)
	compareOps("float4*", compareFloat, nil)
	compareOps("float8*", compareFloat, nil)
	compareOps("float48*", compareFloat, nil)
	compareOps("float84*", compareFloat, nil)
	compareOps("bpchar*", compareBpchar, nil)
	compareOps("name*", compareBytes, nil)
	compareOps("name*text", compareBytes, nil)
	compareOps("text*name", compareBytes, nil)
	compareOps("text_*", compareBytes, map[string]string{"eq": "texteq", "ne": "textne"})
	compareOps("bytea*", compareBytes, nil)
	compareOps("uuid_*", compareBytes, nil)
	compareOps("cash_*", compareInt, nil)
	equal := func(_ *Call, a []Datum) (Datum, error) { return boolean(a[0].I == a[1].I) }
	unequal := func(_ *Call, a []Datum) (Datum, error) { return boolean(a[0].I != a[1].I) }
	scalarTable{"xideq": equal, "xidneq": unequal, "cideq": equal}.register()

	pattern := func(suffix string, compare func(a, b Datum) int) {
		for op, test := range map[string]func(int) bool{
			"lt": func(c int) bool { return c < 0 }, "le": func(c int) bool { return c <= 0 },
			"gt": func(c int) bool { return c > 0 }, "ge": func(c int) bool { return c >= 0 },
		} {
			sqltypes.RegisterScalar(suffix+op, func(_ *Call, args []Datum) (Datum, error) {
				return boolean(test(compare(args[0], args[1])))
			})
		}
	}
	pattern("text_pattern_", compareBytes)
	pattern("bpchar_pattern_", compareBpchar)

	scalarTable{
		"btboolcmp": compareProc(compareInt), "btcharcmp": compareProc(func(a, b Datum) int { return int(uint8(a.I)) - int(uint8(b.I)) }),
		"btint2cmp": func(_ *Call, a []Datum) (Datum, error) { return integer(a[0].I - a[1].I) },
		"btint4cmp": compareProc(compareInt), "btint8cmp": compareProc(compareInt),
		"btint24cmp": compareProc(compareInt), "btint42cmp": compareProc(compareInt),
		"btint28cmp": compareProc(compareInt), "btint82cmp": compareProc(compareInt),
		"btint48cmp": compareProc(compareInt), "btint84cmp": compareProc(compareInt),
		"btoidcmp": compareProc(compareInt), "cash_cmp": compareProc(compareInt),
		"btfloat4cmp": compareProc(compareFloat), "btfloat8cmp": compareProc(compareFloat),
		"btfloat48cmp": compareProc(compareFloat), "btfloat84cmp": compareProc(compareFloat),
		"bttextcmp": compareProc(compareBytes), "btnamecmp": compareProc(compareBytes),
		"btnametextcmp": compareProc(compareBytes), "bttextnamecmp": compareProc(compareBytes),
		"bttext_pattern_cmp": compareProc(compareBytes), "btbpchar_pattern_cmp": compareProc(compareBpchar),
		"bpcharcmp": compareProc(compareBpchar), "byteacmp": compareProc(compareBytes), "uuid_cmp": compareProc(compareBytes),

		"oidlarger": larger(compareInt), "oidsmaller": smaller(compareInt),
		"cashlarger": larger(compareInt), "cashsmaller": smaller(compareInt),
		"float4larger": larger(compareFloat), "float4smaller": smaller(compareFloat),
		"float8larger": larger(compareFloat), "float8smaller": smaller(compareFloat),
		"text_larger": larger(compareBytes), "text_smaller": smaller(compareBytes),
		// Of two equal values that differ in padding these take the first.
		"bpchar_larger": func(_ *Call, a []Datum) (Datum, error) {
			if compareBpchar(a[0], a[1]) >= 0 {
				return a[0], nil
			}
			return a[1], nil
		},
		"bpchar_smaller": func(_ *Call, a []Datum) (Datum, error) {
			if compareBpchar(a[0], a[1]) <= 0 {
				return a[0], nil
			}
			return a[1], nil
		},
	}.register()
}
