package builtin

import (
	"strings"
	"unicode"

	"ostraka/sqltypes"
)

// collationC is the OID of collation "C", under which only ASCII letters have case.
const collationC sqltypes.OID = 950

// changeCase maps letters: all of Unicode under the default collation, as
// PostgreSQL does under C.UTF-8; ASCII only under "C".
func changeCase(c *Call, s string, all func(rune) rune, ascii func(byte) byte) string {
	if c.Collation == collationC || isASCII(s) {
		out := []byte(s)
		for i := range out {
			out[i] = ascii(out[i])
		}
		return string(out)
	}
	return strings.Map(all, s)
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

func asciiLower(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

func asciiUpper(b byte) byte {
	if b >= 'a' && b <= 'z' {
		return b - ('a' - 'A')
	}
	return b
}

func lower(c *Call, args []Datum) (Datum, error) {
	return text(changeCase(c, args[0].S, unicode.ToLower, asciiLower))
}

func upper(c *Call, args []Datum) (Datum, error) {
	return text(changeCase(c, args[0].S, unicode.ToUpper, asciiUpper))
}

func initcap(c *Call, args []Datum) (Datum, error) {
	inWord := false
	step := func(r rune, alnum bool, up, low func(rune) rune) rune {
		if inWord {
			r = low(r)
		} else {
			r = up(r)
		}
		inWord = alnum
		return r
	}
	return text(changeCase(c, args[0].S,
		func(r rune) rune {
			return step(r, unicode.IsLetter(r) || unicode.IsDigit(r), unicode.ToUpper, unicode.ToLower)
		},
		func(b byte) byte {
			alnum := b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
			return byte(step(rune(b), alnum, func(r rune) rune { return rune(asciiUpper(byte(r))) }, func(r rune) rune { return rune(asciiLower(byte(r))) }))
		}))
}

func init() {
	scalarTable{"lower": lower, "upper": upper, "initcap": initcap}.register()
}
