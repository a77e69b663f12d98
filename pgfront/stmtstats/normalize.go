package stmtstats

import (
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"
)

// Normalize gives the text of a statement with its constants replaced by
// parameters, and the identity of all statements that differ only in constants,
// white space, comments and the case of words. Numbers that are no constants
// (lengths of types, positions in ORDER BY) stay. A statement that has no plan
// keeps its text; constant is false then.
func Normalize(sql string, constants bool) (text string, id int64) {
	n := normalizer{sql: strings.TrimRight(strings.TrimSpace(sql), "; \t\r\n"), constants: constants}
	if constants {
		n.next = maxParam(n.sql) + 1
	}
	n.run()
	if n.out.Len() == 0 {
		return n.sql, int64(n.hash.Sum64())
	}
	n.out.WriteString(n.sql[n.copied:])
	return n.out.String(), int64(n.hash.Sum64())
}

type normalizer struct {
	sql       string
	constants bool
	out       strings.Builder
	copied    int // sql[:copied] is in out
	next      int // number of the next parameter
	hash      xxh3.Hasher
	prev      string // the token before, a word in lower case
	typeArgs  bool   // inside the parentheses of a type name
	typeName  bool   // after :: or CAST … AS
	by        bool   // in a list of ORDER BY or GROUP BY that has had numbers and directions only
}

// notOperand are words after which a minus sign is no subtraction.
var notOperand = map[string]bool{"select": true, "where": true, "and": true, "or": true, "not": true, "when": true, "then": true, "else": true,
	"limit": true, "offset": true, "in": true, "by": true, "set": true, "returning": true, "having": true, "on": true, "values": true, "between": true,
	"like": true, "is": true, "from": true, "as": true, "case": true, "distinct": true, "all": true, "using": true}

// endsOperand reports whether what comes after a token can be an operator with two sides.
func endsOperand(tok string) bool {
	if tok == "" || notOperand[tok] {
		return false
	}
	c := tok[len(tok)-1]
	return c == ')' || c == ']' || c == '"' || c == '?' || isWord(c)
}

func (n *normalizer) run() {
	for i := 0; i < len(n.sql); {
		start, c := i, n.sql[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v':
			i++
			continue
		case c == '-' && strings.HasPrefix(n.sql[i:], "--"):
			if k := strings.IndexByte(n.sql[i:], '\n'); k >= 0 {
				i += k + 1
			} else {
				i = len(n.sql)
			}
			continue
		case c == '/' && strings.HasPrefix(n.sql[i:], "/*"):
			i = skipComment(n.sql, i)
			continue
		case c == '\'':
			i = skipString(n.sql, i, false)
			n.constant(start, i)
			continue
		case (c == 'e' || c == 'E') && i+1 < len(n.sql) && n.sql[i+1] == '\'':
			i = skipString(n.sql, i+1, true)
			n.constant(start, i)
			continue
		case strings.IndexByte("bBxXnN", c) >= 0 && i+1 < len(n.sql) && n.sql[i+1] == '\'':
			i = skipString(n.sql, i+1, false)
			n.constant(start, i)
			continue
		case c == '$':
			if end := dollarQuoted(n.sql, i); end > 0 {
				i = end
				n.constant(start, i)
				continue
			}
			for i++; i < len(n.sql) && isDigit(n.sql[i]); i++ {
			}
			n.token("?")
			continue
		case isDigit(c) || c == '.' && i+1 < len(n.sql) && isDigit(n.sql[i+1]):
			i = skipNumber(n.sql, i)
			n.number(start, i)
			continue
		case c == '-' && i+1 < len(n.sql) && (isDigit(n.sql[i+1]) || n.sql[i+1] == '.') && !endsOperand(n.prev):
			i = skipNumber(n.sql, i+1)
			n.number(start, i)
			continue
		case c == '"':
			for i++; i < len(n.sql) && n.sql[i] != '"'; i++ {
			}
			i = min(i+1, len(n.sql))
			n.token(n.sql[start:i])
			continue
		case isWord(c):
			for i++; i < len(n.sql) && (isWord(n.sql[i]) || n.sql[i] == '$'); i++ {
			}
			n.word(start, i)
			continue
		case c == ':' && strings.HasPrefix(n.sql[i:], "::"):
			i += 2
			n.typeName = true
			n.token("::")
			continue
		}
		i++
		n.punctuation(c)
	}
}

func (n *normalizer) punctuation(c byte) {
	switch c {
	case '(':
		n.typeArgs = n.typeName && isWord(lastByte(n.prev))
		n.by = false
	case ')':
		n.typeArgs = false
		n.by = false
	case ',':
	default:
		n.by = false
	}
	if c != ',' {
		n.typeName = false
	}
	n.token(string(c))
}

func lastByte(s string) byte {
	if s == "" {
		return 0
	}
	return s[len(s)-1]
}

func (n *normalizer) word(start, end int) {
	w := strings.ToLower(n.sql[start:end])
	switch {
	case w == "by":
		n.by = true
		n.token(w)
		return
	case w == "asc" || w == "desc" || w == "nulls" || w == "first" || w == "last":
	case (w == "true" || w == "false" || w == "null") && n.constants && n.prev != "is" && n.prev != "not" && n.prev != "set":
		n.constant(start, end)
		return
	case w == "as":
		n.typeName, n.by = true, false
	default:
		n.by = false
	}
	n.token(w)
}

func (n *normalizer) number(start, end int) {
	if n.typeArgs || n.by && (n.prev == "by" || n.prev == ",") {
		n.token(n.sql[start:end])
		return
	}
	n.constant(start, end)
}

// constant replaces a constant by a parameter.
func (n *normalizer) constant(start, end int) {
	n.typeName, n.by = false, false
	if !n.constants {
		n.token(n.sql[start:end])
		return
	}
	n.out.WriteString(n.sql[n.copied:start])
	n.out.WriteByte('$')
	n.out.WriteString(strconv.Itoa(n.next))
	n.next++
	n.copied = end
	n.token("?")
}

func (n *normalizer) token(t string) {
	_, _ = n.hash.WriteString(t)
	_, _ = n.hash.Write([]byte{0})
	n.prev = t
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80 || isDigit(c)
}

func skipNumber(s string, i int) int {
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case isDigit(c) || c == '.':
		case (c == 'e' || c == 'E') && i+1 < len(s) && (isDigit(s[i+1]) || (s[i+1] == '-' || s[i+1] == '+') && i+2 < len(s) && isDigit(s[i+2])):
			i++
		default:
			return i
		}
	}
	return i
}

// skipString is the end of a string that begins with the quote at i.
func skipString(s string, i int, escapes bool) int {
	for i++; i < len(s); i++ {
		switch {
		case s[i] == '\\' && escapes:
			i++
		case s[i] == '\'' && i+1 < len(s) && s[i+1] == '\'':
			i++
		case s[i] == '\'':
			return i + 1
		}
	}
	return len(s)
}

func skipComment(s string, i int) int {
	depth := 0
	for ; i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], "/*"):
			depth++
			i++
		case strings.HasPrefix(s[i:], "*/"):
			i++
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

// dollarQuoted is the end of a dollar-quoted string at i; 0: it is something else.
func dollarQuoted(s string, i int) int {
	k := i + 1
	for k < len(s) && isWord(s[k]) && !(k == i+1 && isDigit(s[k])) {
		k++
	}
	if k >= len(s) || s[k] != '$' {
		return 0
	}
	tag := s[i : k+1]
	if end := strings.Index(s[k+1:], tag); end >= 0 {
		return k + 1 + end + len(tag)
	}
	return len(s)
}

// maxParam is the highest number of a parameter in a text.
func maxParam(s string) int {
	most := 0
	for i := 0; i < len(s); i++ {
		if s[i] == '$' && i+1 < len(s) && isDigit(s[i+1]) {
			v := 0
			for i++; i < len(s) && isDigit(s[i]) && v < 1<<16; i++ {
				v = v*10 + int(s[i]-'0')
			}
			most = max(most, v)
			i--
		}
	}
	return most
}
