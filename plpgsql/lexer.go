package plpgsql

import (
	"strings"
	"unicode/utf8"

	"ostraka/sqltypes/pgerror"
)

// tokenKind tells tokens apart as far as the language needs it.
type tokenKind uint8

const (
	tokEOF    tokenKind = iota
	tokWord             // an identifier or keyword, folded to lower case
	tokQuoted           // "identifier"
	tokString           // a string constant of any kind; val is its value
	tokNumber
	tokParam  // $1
	tokSymbol // punctuation; := .. << >> are one token each
)

// token is one token; [start, end) is its place in the text.
type token struct {
	kind       tokenKind
	val        string
	start, end int
}

// is reports a keyword or symbol.
func (t token) is(s string) bool { return (t.kind == tokWord || t.kind == tokSymbol) && t.val == s }

// name reports whether the token can be an identifier.
func (t token) name() bool { return t.kind == tokWord || t.kind == tokQuoted }

// lexer cuts a text into tokens on demand, with any number of tokens of look-ahead.
type lexer struct {
	src    string
	at     int
	queued []token
}

// next returns the next token.
func (l *lexer) next() (token, error) {
	if len(l.queued) > 0 {
		t := l.queued[0]
		l.queued = l.queued[1:]
		return t, nil
	}
	return l.scan()
}

// peek looks n tokens ahead, 0 being the next.
func (l *lexer) peek(n int) (token, error) {
	for len(l.queued) <= n {
		t, err := l.scan()
		if err != nil {
			return t, err
		}
		l.queued = append(l.queued, t)
	}
	return l.queued[n], nil
}

// push puts a token back.
func (l *lexer) push(t token) { l.queued = append([]token{t}, l.queued...) }

// line is the 1-based number of the line of a place.
func (l *lexer) line(at int) int { return strings.Count(l.src[:min(at, len(l.src))], "\n") + 1 }

// syntaxError is PostgreSQL's message for an unexpected token.
func (l *lexer) syntaxError(t token) *pgerror.Error {
	if t.kind == tokEOF {
		return l.errorAt(t, pgerror.SyntaxError, "syntax error at end of input")
	}
	return l.errorAt(t, pgerror.SyntaxError, "syntax error at or near \"%s\"", l.src[t.start:t.end])
}

// errorAt is an error with its place in the body.
func (l *lexer) errorAt(t token, code pgerror.Code, format string, args ...any) *pgerror.Error {
	e := pgerror.New(code, format, args...)
	e.InternalQuery = l.src
	e.InternalPosition = utf8.RuneCountInString(l.src[:min(t.start, len(l.src))]) + 1
	return e
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'
}
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func startsWord(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
func inWord(c byte) bool { return startsWord(c) || isDigit(c) || c == '$' }

// blanks skips white space and comments.
func (l *lexer) blanks() error {
	s := l.src
	for l.at < len(s) {
		switch {
		case isSpace(s[l.at]):
			l.at++
		case strings.HasPrefix(s[l.at:], "--"):
			for l.at < len(s) && s[l.at] != '\n' {
				l.at++
			}
		case strings.HasPrefix(s[l.at:], "/*"):
			start, depth := l.at, 0
			for {
				switch {
				case l.at >= len(s):
					return l.errorAt(token{start: start}, pgerror.SyntaxError, "unterminated /* comment at or near \"%s\"", s[start:])
				case strings.HasPrefix(s[l.at:], "/*"):
					depth++
					l.at += 2
				case strings.HasPrefix(s[l.at:], "*/"):
					depth--
					l.at += 2
				default:
					l.at++
				}
				if depth == 0 {
					break
				}
			}
		default:
			return nil
		}
	}
	return nil
}

func (l *lexer) scan() (token, error) {
	if err := l.blanks(); err != nil {
		return token{}, err
	}
	s, start := l.src, l.at
	tok := func(kind tokenKind, val string, end int) (token, error) {
		l.at = end
		return token{kind, val, start, end}, nil
	}
	if start >= len(s) {
		return tok(tokEOF, "", start)
	}
	c := s[start]
	switch {
	case c == '\'':
		return l.quoted(start, start, false)
	case (c == 'e' || c == 'E') && start+1 < len(s) && s[start+1] == '\'':
		return l.quoted(start, start+1, true)
	case (c == 'b' || c == 'B' || c == 'x' || c == 'X' || c == 'n' || c == 'N') && start+1 < len(s) && s[start+1] == '\'':
		return l.quoted(start, start+1, false)
	case (c == 'u' || c == 'U') && strings.HasPrefix(s[start+1:], "&'"):
		return l.quoted(start, start+2, false)
	case (c == 'u' || c == 'U') && strings.HasPrefix(s[start+1:], "&\""):
		return l.quotedName(start, start+2)
	case c == '"':
		return l.quotedName(start, start)
	case c == '$':
		i := start + 1
		for i < len(s) && isDigit(s[i]) {
			i++
		}
		if i > start+1 {
			return tok(tokParam, s[start:i], i)
		}
		for i < len(s) && inWord(s[i]) && s[i] != '$' {
			i++
		}
		if i < len(s) && s[i] == '$' {
			tag := s[start : i+1]
			end := strings.Index(s[i+1:], tag)
			if end < 0 {
				return token{}, l.errorAt(token{start: start}, pgerror.SyntaxError, "unterminated dollar-quoted string at or near \"%s\"", s[start:])
			}
			return tok(tokString, s[i+1:i+1+end], i+1+end+len(tag))
		}
		return tok(tokSymbol, "$", start+1)
	case startsWord(c):
		i := start
		for i < len(s) && inWord(s[i]) {
			i++
		}
		return tok(tokWord, fold(s[start:i]), i)
	case isDigit(c) || c == '.' && start+1 < len(s) && isDigit(s[start+1]):
		i := start
		for i < len(s) && isDigit(s[i]) {
			i++
		}
		if i < len(s) && s[i] == '.' && !strings.HasPrefix(s[i:], "..") {
			i++
			for i < len(s) && isDigit(s[i]) {
				i++
			}
		}
		if i+1 < len(s) && (s[i] == 'e' || s[i] == 'E') && (isDigit(s[i+1]) || i+2 < len(s) && (s[i+1] == '-' || s[i+1] == '+') && isDigit(s[i+2])) {
			i += 2
			for i < len(s) && isDigit(s[i]) {
				i++
			}
		}
		return tok(tokNumber, s[start:i], i)
	}
	for _, two := range []string{":=", "..", "<<", ">>", "::"} {
		if strings.HasPrefix(s[start:], two) {
			return tok(tokSymbol, two, start+2)
		}
	}
	_, n := utf8.DecodeRuneInString(s[start:])
	return tok(tokSymbol, s[start:start+n], start+n)
}

// fold is how an unquoted identifier is folded: ASCII letters only.
func fold(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= 'A' && s[i] <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if b[i] >= 'A' && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

// quoted scans a string constant whose quote stands at open.
func (l *lexer) quoted(start, open int, escapes bool) (token, error) {
	s := l.src
	var val strings.Builder
	for i := open + 1; i < len(s); i++ {
		switch {
		case s[i] == '\'':
			if i+1 < len(s) && s[i+1] == '\'' {
				val.WriteByte('\'')
				i++
				continue
			}
			l.at = i + 1
			return token{tokString, val.String(), start, i + 1}, nil
		case escapes && s[i] == '\\' && i+1 < len(s):
			i++
			val.WriteByte(unescape(s[i]))
		default:
			val.WriteByte(s[i])
		}
	}
	return token{}, l.errorAt(token{start: start}, pgerror.SyntaxError, "unterminated quoted string at or near \"%s\"", s[start:])
}

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	}
	return c
}

func (l *lexer) quotedName(start, open int) (token, error) {
	s := l.src
	var val strings.Builder
	for i := open + 1; i < len(s); i++ {
		if s[i] != '"' {
			val.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == '"' {
			val.WriteByte('"')
			i++
			continue
		}
		l.at = i + 1
		return token{tokQuoted, val.String(), start, i + 1}, nil
	}
	return token{}, l.errorAt(token{start: start}, pgerror.SyntaxError, "unterminated quoted identifier at or near \"%s\"", s[start:])
}
