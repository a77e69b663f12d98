package builtin

import (
	"strings"
	"unicode/utf8"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// similarPattern turns a pattern of SIMILAR TO into a regular expression.
// escape "" means that there is no escape character. Parts between
// escape-double-quotes become the one capture that substring … similar wants.
func similarPattern(pattern, escape string) (string, *pgerror.Error) {
	if utf8.RuneCountInString(escape) > 1 {
		return "", pgerror.New(pgerror.InvalidEscapeSequence, "invalid escape string").
			WithHint("Escape string must be empty or one character.")
	}
	var out strings.Builder
	out.WriteString("^(?:")
	escaped, inClass, quotes := false, false, 0
	for _, r := range pattern {
		ch := string(r)
		switch {
		case escaped && r == '"' && !inClass:
			switch quotes {
			case 0:
				out.WriteString("){1,1}?(")
			case 1:
				out.WriteString("){1,1}(?:")
			default:
				return "", pgerror.New(pgerror.InvalidUseOfEscapeCharacter, "SQL regular expression may not contain more than two escape-double-quote separators")
			}
			quotes++
			escaped = false
		case escaped:
			out.WriteString(`\` + ch)
			escaped = false
		case escape != "" && ch == escape:
			escaped = true
		case inClass:
			if r == '\\' {
				out.WriteByte('\\')
			}
			out.WriteString(ch)
			inClass = r != ']'
		case r == '[':
			out.WriteByte('[')
			inClass = true
		case r == '%':
			out.WriteString(".*")
		case r == '_':
			out.WriteByte('.')
		case r == '(':
			out.WriteString("(?:")
		case strings.ContainsRune(`\.^$`, r):
			out.WriteString(`\` + ch)
		default:
			out.WriteString(ch)
		}
	}
	out.WriteString(")$")
	return out.String(), nil
}

func similarEscape(_ *Call, args []Datum) (Datum, error) {
	if args[0].Null {
		return isNull()
	}
	escape := `\`
	if len(args) > 1 && !args[1].Null {
		escape = args[1].S
	}
	s, err := similarPattern(args[0].S, escape)
	if err != nil {
		return fail(err)
	}
	return text(s)
}

// similarSubstring is substring(text similar pattern escape e), written in SQL there.
func similarSubstring(c *Call, args []Datum) (Datum, error) {
	pattern, err := similarPattern(args[1].S, args[2].S)
	if err != nil {
		return fail(err)
	}
	return regexSubstring(c, []Datum{args[0], sqltypes.Text(pattern)})
}

func init() {
	scalarTable{
		"similar_escape": similarEscape, "similar_to_escape_1": similarEscape, "similar_to_escape_2": similarEscape,
		"substring(text,text,text)": similarSubstring,
	}.register()
}
