package builtin

import (
	"strconv"
	"strings"
	"unicode/utf16"

	"golang.org/x/text/unicode/norm"

	"ostraka/sqltypes/pgerror"
)

func normalForm(name string) (norm.Form, *pgerror.Error) {
	switch strings.ToUpper(name) {
	case "NFC":
		return norm.NFC, nil
	case "NFD":
		return norm.NFD, nil
	case "NFKC":
		return norm.NFKC, nil
	case "NFKD":
		return norm.NFKD, nil
	}
	return 0, pgerror.New(pgerror.InvalidParameterValue, "invalid normalization form: %s", name)
}

func normalize(_ *Call, args []Datum) (Datum, error) {
	f, err := normalForm(args[1].S)
	if err != nil {
		return fail(err)
	}
	return text(f.String(args[0].S))
}

func isNormalized(_ *Call, args []Datum) (Datum, error) {
	f, err := normalForm(args[1].S)
	if err != nil {
		return fail(err)
	}
	return boolean(f.IsNormalString(args[0].S))
}

// unistr replaces \XXXX, \+XXXXXX, \uXXXX and \UXXXXXXXX by the characters they name.
func unistr(_ *Call, args []Datum) (Datum, error) {
	s := args[0].S
	badPair := func() (Datum, error) {
		return fail(pgerror.New(pgerror.SyntaxError, "invalid Unicode surrogate pair"))
	}
	var out strings.Builder
	high := rune(0)
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			if high != 0 {
				return badPair()
			}
			out.WriteByte(s[i])
			i++
			continue
		}
		if strings.HasPrefix(s[i+1:], `\`) {
			if high != 0 {
				return badPair()
			}
			out.WriteByte('\\')
			i += 2
			continue
		}
		r, n := unicodeEscape(s[i+1:])
		if n == 0 {
			return fail(pgerror.New(pgerror.SyntaxError, "invalid Unicode escape").
				WithHint("Unicode escapes must be \\XXXX, \\+XXXXXX, \\uXXXX, or \\UXXXXXXXX."))
		}
		i += 1 + n
		switch {
		case high != 0:
			if r < 0xDC00 || r > 0xDFFF {
				return badPair()
			}
			out.WriteRune(utf16.DecodeRune(high, r))
			high = 0
		case r >= 0xD800 && r <= 0xDBFF:
			high = r
		case r >= 0xDC00 && r <= 0xDFFF:
			return badPair()
		case r == 0 || r > 0x10FFFF:
			return fail(pgerror.New(pgerror.SyntaxError, "invalid Unicode code point: %04X", r))
		default:
			out.WriteRune(r)
		}
	}
	if high != 0 {
		return badPair()
	}
	return text(out.String())
}

// unicodeEscape reads what follows the backslash; n is its length, 0 when it is malformed.
func unicodeEscape(s string) (r rune, n int) {
	prefix, digits := 0, 4
	switch {
	case strings.HasPrefix(s, "+"):
		prefix, digits = 1, 6
	case strings.HasPrefix(s, "u"):
		prefix = 1
	case strings.HasPrefix(s, "U"):
		prefix, digits = 1, 8
	}
	if len(s) < prefix+digits {
		return 0, 0
	}
	v, err := strconv.ParseUint(s[prefix:prefix+digits], 16, 31)
	if err != nil {
		return 0, 0
	}
	return rune(v), prefix + digits
}

func init() {
	scalarTable{
		"unicode_normalize_func": normalize, "unicode_is_normalized": isNormalized, "unistr": unistr,
	}.register()
}
