package builtin

import (
	"strings"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// quoteLiteral writes s as a string constant; with a backslash it becomes E'…'.
func quoteLiteral(s string) string {
	quoted := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.ContainsRune(s, '\\') {
		return "E" + strings.ReplaceAll(quoted, `\`, `\\`)
	}
	return quoted
}

// parseIdent splits a qualified identifier as SQL would read it.
func parseIdent(_ *Call, args []Datum) (Datum, error) {
	s, strict := args[0].S, args[1].Bool()
	bad := func() *pgerror.Error {
		return pgerror.New(pgerror.InvalidParameterValue, "string is not a valid identifier: \"%s\"", s)
	}
	space := func(i int) int {
		for i < len(s) && strings.IndexByte(" \t\n\r\f", s[i]) >= 0 {
			i++
		}
		return i
	}
	var parts []Datum
	afterDot := false
	for i := space(0); ; {
		start := i
		switch {
		case i < len(s) && s[i] == '"':
			var b strings.Builder
			for i++; ; i++ {
				end := strings.IndexByte(s[i:], '"')
				if end < 0 {
					return fail(bad().WithDetail("String has unclosed double quotes."))
				}
				b.WriteString(s[i : i+end])
				i += end
				if i+1 >= len(s) || s[i+1] != '"' {
					i++
					break
				}
				b.WriteByte('"')
				i++
			}
			if b.Len() == 0 {
				return fail(bad().WithDetail("Quoted identifier must not be empty."))
			}
			parts = append(parts, sqltypes.Text(b.String()))
		case i < len(s) && identStart(s[i]):
			for i < len(s) && (identStart(s[i]) || s[i] >= '0' && s[i] <= '9' || s[i] == '$') {
				i++
			}
			parts = append(parts, sqltypes.Text(strings.Map(func(r rune) rune {
				if r < 0x80 {
					return rune(asciiLower(byte(r)))
				}
				return r
			}, s[start:i])))
		case i < len(s) && s[i] == '.':
			return fail(bad().WithDetail("No valid identifier before \".\"."))
		case afterDot:
			return fail(bad().WithDetail("No valid identifier after \".\"."))
		default:
			return fail(bad())
		}
		i = space(i)
		switch {
		case i < len(s) && s[i] == '.':
			afterDot = true
			i = space(i + 1)
		case i == len(s), !strict:
			return makeArray(sqltypes.OIDText, parts)
		default:
			return fail(bad())
		}
	}
}

func identStart(c byte) bool {
	return c == '_' || c >= 0x80 || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func init() {
	literal := func(_ *Call, a []Datum) (Datum, error) { return text(quoteLiteral(a[0].S)) }
	anyLiteral := func(c *Call, a []Datum) (Datum, error) {
		return text(quoteLiteral(castText(c, c.ArgTypes[0].OID, a[0])))
	}
	scalarTable{
		"quote_ident":   func(_ *Call, a []Datum) (Datum, error) { return text(sqltypes.QuoteIdent(a[0].S)) },
		"quote_literal": literal, "quote_literal(anyelement)": anyLiteral,
		"quote_nullable": func(c *Call, a []Datum) (Datum, error) {
			if a[0].Null {
				return text("NULL")
			}
			return literal(c, a)
		},
		"quote_nullable(anyelement)": func(c *Call, a []Datum) (Datum, error) {
			if a[0].Null {
				return text("NULL")
			}
			return anyLiteral(c, a)
		},
		"parse_ident": parseIdent,
	}.register()
}
