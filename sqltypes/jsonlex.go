package sqltypes

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"ostraka/sqltypes/pgerror"
)

type jsonToken uint8

const (
	jsonEnd jsonToken = iota
	jsonStringTok
	jsonNumberTok
	jsonTrueTok
	jsonFalseTok
	jsonNullTok
	jsonPunct // one of {}[],: in lexer.punct
)

// maxJSONDepth bounds nesting, where PostgreSQL runs into its stack depth limit.
const maxJSONDepth = 10000

// jsonLexer reads JSON text token by token and makes PostgreSQL's errors.
type jsonLexer struct {
	s         string
	unescape  bool // strings are wanted as values, so escapes must be translatable
	tok       jsonToken
	punct     byte
	start     int // of the token
	end       int // after the token
	line      int
	lineStart int
	str       string // value of a string token
}

func newJSONLexer(s string, unescape bool) *jsonLexer {
	return &jsonLexer{s: s, unescape: unescape, line: 1}
}

// fail is the 22P02 "invalid input syntax for type json" with its DETAIL and CONTEXT.
func (l *jsonLexer) fail(detail string, args ...any) error {
	e := pgerror.New(pgerror.InvalidTextRepresentation, "invalid input syntax for type json").WithDetail(detail, args...)
	e.Where = l.context()
	return e
}

func (l *jsonLexer) failUnicode(detail string) error {
	e := pgerror.New(pgerror.UntranslatableCharacter, "unsupported Unicode escape sequence").WithDetail("%s", detail)
	e.Where = l.context()
	return e
}

// context shows the line up to the end of the token, at most 50 bytes of it.
func (l *jsonLexer) context() string {
	from, end := l.lineStart, min(l.end, len(l.s))
	for end-from >= 50 {
		_, n := utf8.DecodeRuneInString(l.s[from:])
		from += n
	}
	if from-l.lineStart <= 3 {
		from = l.lineStart
	}
	prefix, suffix := "", ""
	if from > l.lineStart {
		prefix = "..."
	}
	if l.tok != jsonEnd && end < len(l.s) && l.s[end] != '\n' && l.s[end] != '\r' {
		suffix = "..."
	}
	return fmt.Sprintf("JSON data, line %d: %s%s%s", l.line, prefix, l.s[from:end], suffix)
}

func jsonWordChar(c byte) bool {
	return isAlpha(c) || isDigit(c) || c == '_' || c >= 0x80
}

// next reads one token.
func (l *jsonLexer) next() error {
	i := l.end
	for i < len(l.s) {
		c := l.s[i]
		if c == '\n' {
			l.line++
			l.lineStart = i + 1
		} else if c != ' ' && c != '\t' && c != '\r' {
			break
		}
		i++
	}
	l.start = i
	if i >= len(l.s) {
		l.tok, l.end = jsonEnd, i
		return nil
	}
	switch c := l.s[i]; c {
	case '{', '}', '[', ']', ',', ':':
		l.tok, l.punct, l.end = jsonPunct, c, i+1
		return nil
	case '"':
		return l.lexString()
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return l.lexNumber()
	}
	for i < len(l.s) && jsonWordChar(l.s[i]) {
		i++
	}
	l.tok = jsonPunct
	if i == l.start {
		l.end = i + 1
		return l.fail("Token \"%s\" is invalid.", l.token())
	}
	l.end = i
	switch l.s[l.start:i] {
	case "true":
		l.tok = jsonTrueTok
	case "false":
		l.tok = jsonFalseTok
	case "null":
		l.tok = jsonNullTok
	default:
		return l.fail("Token \"%s\" is invalid.", l.token())
	}
	return nil
}

func (l *jsonLexer) token() string { return l.s[l.start:min(l.end, len(l.s))] }

func (l *jsonLexer) lexNumber() error {
	s, i := l.s, l.start
	bad := false
	if s[i] == '-' {
		i++
	}
	digits := func() bool {
		from := i
		for i < len(s) && isDigit(s[i]) {
			i++
		}
		return i > from
	}
	if i < len(s) && s[i] == '0' {
		i++
	} else if !digits() {
		bad = true
	}
	if !bad && i < len(s) && s[i] == '.' {
		i++
		bad = !digits()
	}
	if !bad && i < len(s) && s[i]|0x20 == 'e' {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		bad = !digits()
	}
	for i < len(s) && jsonWordChar(s[i]) {
		bad = true
		i++
	}
	l.tok, l.end = jsonNumberTok, i
	if bad {
		l.tok = jsonPunct
		return l.fail("Token \"%s\" is invalid.", l.token())
	}
	return nil
}

func (l *jsonLexer) lexString() error {
	s := l.s
	i := l.start + 1
	l.tok = jsonPunct // until it is complete
	// Plain text up to the closing quote needs no copy.
	for i < len(s) && s[i] >= 0x20 && s[i] != '"' && s[i] != '\\' {
		i++
	}
	if i < len(s) && s[i] == '"' {
		l.str, l.end, l.tok = s[l.start+1:i], i+1, jsonStringTok
		return nil
	}
	var b strings.Builder
	b.WriteString(s[l.start+1 : i])
	high := rune(-1)
	for {
		if i >= len(s) {
			l.end = i
			return l.fail("Token \"%s\" is invalid.", l.token())
		}
		c := s[i]
		if c == '"' {
			break
		}
		if c < 0x20 {
			l.end = i
			return l.fail("Character with value 0x%02x must be escaped.", c)
		}
		if c != '\\' {
			_, n := utf8.DecodeRuneInString(s[i:])
			if high >= 0 {
				l.end = i + n
				return l.fail("Unicode low surrogate must follow a high surrogate.")
			}
			b.WriteString(s[i : i+n])
			i += n
			continue
		}
		i++
		if i >= len(s) {
			l.end = i
			return l.fail("Token \"%s\" is invalid.", l.token())
		}
		if s[i] == 'u' {
			r := rune(0)
			for k := 1; k <= 4; k++ {
				if i+k >= len(s) {
					l.end = i + k
					return l.fail("Token \"%s\" is invalid.", l.token())
				}
				d := digitOf(s[i+k])
				if d > 15 {
					_, n := utf8.DecodeRuneInString(s[i+k:])
					l.end = i + k + n
					return l.fail("\"\\u\" must be followed by four hexadecimal digits.")
				}
				r = r<<4 | rune(d)
			}
			i += 5
			if !l.unescape {
				continue
			}
			l.end = i
			switch {
			case r >= 0xD800 && r <= 0xDBFF:
				if high >= 0 {
					return l.fail("Unicode high surrogate must not follow a high surrogate.")
				}
				high = r
				continue
			case r >= 0xDC00 && r <= 0xDFFF:
				if high < 0 {
					return l.fail("Unicode low surrogate must follow a high surrogate.")
				}
				r = 0x10000 + (high-0xD800)<<10 + (r - 0xDC00)
				high = -1
			case high >= 0:
				return l.fail("Unicode low surrogate must follow a high surrogate.")
			}
			if r == 0 {
				return l.failUnicode("\\u0000 cannot be converted to text.")
			}
			b.WriteRune(r)
			continue
		}
		if high >= 0 {
			l.end = i
			return l.fail("Unicode low surrogate must follow a high surrogate.")
		}
		switch c := s[i]; c {
		case '"', '\\', '/':
			b.WriteByte(c)
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		default:
			_, n := utf8.DecodeRuneInString(s[i:])
			l.start, l.end = i, i+n
			return l.fail("Escape sequence \"\\%s\" is invalid.", l.token())
		}
		i++
	}
	if high >= 0 {
		l.end = i + 1
		return l.fail("Unicode low surrogate must follow a high surrogate.")
	}
	l.str, l.end, l.tok = b.String(), i+1, jsonStringTok
	return nil
}

// unexpected is the error of a token out of place.
func (l *jsonLexer) unexpected(expected string) error {
	if l.tok == jsonEnd {
		return l.fail("The input string ended unexpectedly.")
	}
	return l.fail("Expected %s, but found \"%s\".", expected, l.token())
}

func (l *jsonLexer) is(p byte) bool { return l.tok == jsonPunct && l.punct == p }

// depthError is PostgreSQL's answer to nesting without end.
func jsonDepthError() error {
	return pgerror.New(pgerror.StatementTooComplex, "stack depth limit exceeded").
		WithHint("JSON is nested deeper than %s levels.", strconv.Itoa(maxJSONDepth))
}
