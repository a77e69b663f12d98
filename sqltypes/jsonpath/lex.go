package jsonpath

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"ostraka/sqltypes/pgerror"
)

// token is a lexical element. Punctuation and operators have their own text as
// kind; "id", "str", "num" and "var" carry a value; "" is the end.
type token struct {
	kind  string
	value string
	at    int // byte offset, for errors
}

type lexer struct {
	src string
	at  int
}

const special = `?%$.[]{}()|&!=<>@#,*:-+/"`

func syntaxError(near string) error {
	if near == "" {
		return pgerror.New(pgerror.SyntaxError, "syntax error at end of jsonpath input")
	}
	return pgerror.New(pgerror.SyntaxError, "syntax error at or near \"%s\" of jsonpath input", near)
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }

func (l *lexer) next() (token, error) {
	for l.at < len(l.src) {
		switch {
		case isSpace(l.src[l.at]):
			l.at++
			continue
		case strings.HasPrefix(l.src[l.at:], "/*"):
			end := strings.Index(l.src[l.at+2:], "*/")
			if end < 0 {
				return token{}, pgerror.New(pgerror.SyntaxError, "unexpected end of comment at end of jsonpath input")
			}
			l.at += end + 4
			continue
		}
		break
	}
	start := l.at
	if start >= len(l.src) {
		return token{at: start}, nil
	}
	rest := l.src[start:]
	for _, op := range []string{"**", "||", "&&", "==", "!=", "<>", "<=", ">="} {
		if strings.HasPrefix(rest, op) {
			l.at += 2
			if op == "<>" {
				op = "!="
			}
			return token{kind: op, at: start}, nil
		}
	}
	c := rest[0]
	switch {
	case c == '"':
		l.at++
		s, err := l.quoted()
		return token{kind: "str", value: s, at: start}, err
	case c == '$':
		l.at++
		if l.at < len(l.src) && l.src[l.at] == '"' {
			l.at++
			s, err := l.quoted()
			return token{kind: "var", value: s, at: start}, err
		}
		if name, err := l.word(); name != "" || err != nil {
			return token{kind: "var", value: name, at: start}, err
		}
		return token{kind: "$", at: start}, nil
	case c >= '0' && c <= '9', c == '.' && len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9':
		return l.number()
	case strings.IndexByte(special, c) >= 0:
		l.at++
		if c == '=' {
			return token{kind: "==", at: start}, nil
		}
		return token{kind: rest[:1], at: start}, nil
	}
	name, err := l.word()
	return token{kind: "id", value: name, at: start}, err
}

// word reads an unquoted name, which may hold escapes.
func (l *lexer) word() (string, error) {
	var out strings.Builder
	for l.at < len(l.src) {
		c := l.src[l.at]
		if isSpace(c) || strings.IndexByte(special, c) >= 0 {
			break
		}
		if c == '\\' {
			r, err := l.escape()
			if err != nil {
				return "", err
			}
			out.WriteString(r)
			continue
		}
		out.WriteByte(c)
		l.at++
	}
	return out.String(), nil
}

func (l *lexer) quoted() (string, error) {
	var out strings.Builder
	for l.at < len(l.src) {
		switch c := l.src[l.at]; c {
		case '"':
			l.at++
			return out.String(), nil
		case '\\':
			r, err := l.escape()
			if err != nil {
				return "", err
			}
			out.WriteString(r)
		default:
			out.WriteByte(c)
			l.at++
		}
	}
	return "", pgerror.New(pgerror.SyntaxError, "unterminated quoted string at end of jsonpath input")
}

// escape reads a backslash sequence.
func (l *lexer) escape() (string, error) {
	l.at++
	if l.at >= len(l.src) {
		return "", pgerror.New(pgerror.SyntaxError, "unexpected end after backslash at end of jsonpath input")
	}
	c := l.src[l.at]
	l.at++
	if i := strings.IndexByte("bfnrtv", c); i >= 0 {
		return "\b\f\n\r\t\v"[i : i+1], nil
	}
	switch c {
	case 'x':
		v, ok := l.hex(2)
		if !ok || v == 0 {
			return "", pgerror.New(pgerror.SyntaxError, "invalid hexadecimal character sequence at or near \"\\x\" of jsonpath input")
		}
		return string(v), nil
	case 'u':
		return l.unicodeEscape()
	}
	_, size := utf8.DecodeRuneInString(l.src[l.at-1:])
	l.at += size - 1
	return l.src[l.at-size : l.at], nil
}

// unicodeEscape reads what follows \u; a surrogate takes its other half with it.
func (l *lexer) unicodeEscape() (string, error) {
	bad := func() (string, error) {
		return "", pgerror.New(pgerror.SyntaxError, "invalid Unicode escape sequence at or near \"\\u\" of jsonpath input")
	}
	surrogate := func(detail string) (string, error) {
		return "", pgerror.New(pgerror.InvalidTextRepresentation, "invalid input syntax for type jsonpath").WithDetail("%s", detail)
	}
	r, ok := l.unicode()
	if !ok {
		return bad()
	}
	switch {
	case r >= 0xDC00 && r < 0xE000:
		return surrogate("Unicode low surrogate must follow a high surrogate.")
	case r >= 0xD800 && r < 0xDC00:
		if !strings.HasPrefix(l.src[l.at:], `\u`) {
			return surrogate("Unicode low surrogate must follow a high surrogate.")
		}
		l.at += 2
		low, ok := l.unicode()
		switch {
		case !ok:
			return bad()
		case low >= 0xD800 && low < 0xDC00:
			return surrogate("Unicode high surrogate must not follow a high surrogate.")
		case low < 0xDC00 || low >= 0xE000:
			return surrogate("Unicode low surrogate must follow a high surrogate.")
		}
		r = utf16.DecodeRune(r, low)
	case r == 0:
		return "", pgerror.New(pgerror.UntranslatableCharacter, "unsupported Unicode escape sequence").WithDetail("\\u0000 cannot be converted to text.")
	}
	return string(r), nil
}

func (l *lexer) unicode() (rune, bool) {
	if strings.HasPrefix(l.src[l.at:], "{") {
		end := strings.IndexByte(l.src[l.at:], '}')
		if end < 2 || end > 7 {
			return 0, false
		}
		v, err := strconv.ParseUint(l.src[l.at+1:l.at+end], 16, 21)
		l.at += end + 1
		return rune(v), err == nil && v <= utf8.MaxRune
	}
	return l.hex(4)
}

func (l *lexer) hex(n int) (rune, bool) {
	if l.at+n > len(l.src) {
		return 0, false
	}
	v, err := strconv.ParseUint(l.src[l.at:l.at+n], 16, 32)
	l.at += n
	return rune(v), err == nil
}

func (l *lexer) number() (token, error) {
	start := l.at
	digits := func() {
		for l.at < len(l.src) && l.src[l.at] >= '0' && l.src[l.at] <= '9' {
			l.at++
		}
	}
	digits()
	if l.at < len(l.src) && l.src[l.at] == '.' {
		l.at++
		digits()
	}
	if l.at < len(l.src) && l.src[l.at]|0x20 == 'e' {
		save := l.at
		l.at++
		if l.at < len(l.src) && (l.src[l.at] == '+' || l.src[l.at] == '-') {
			l.at++
		}
		if l.at >= len(l.src) || l.src[l.at] < '0' || l.src[l.at] > '9' {
			l.at = save
		}
		digits()
	}
	if l.at < len(l.src) && (identByte(l.src[l.at]) || l.src[l.at] == '\\') {
		return token{}, pgerror.New(pgerror.SyntaxError, "trailing junk after numeric literal at or near \"%s\" of jsonpath input", l.src[start:l.at+1])
	}
	if s := l.src[start:l.at]; len(s) > 1 && s[0] == '0' && s[1] >= '0' && s[1] <= '9' {
		return token{}, pgerror.New(pgerror.SyntaxError, "trailing junk after numeric literal at or near \"%s\" of jsonpath input", s[:2])
	}
	return token{kind: "num", value: l.src[start:l.at], at: start}, nil
}

func identByte(c byte) bool {
	return c == '_' || c >= 0x80 || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
