package cache

import (
	"unicode/utf8"
)

// class of a literal: what type it has before any context.
type class byte

const (
	classInt4    class = 'i'
	classInt8    class = 'l'
	classNumeric class = 'n'
	classString  class = 's'
)

// literal is one constant of a statement's text.
type literal struct {
	start, end int32 // in the text, quotes included
	class      class
	escaped    bool // a string with doubled quotes inside
}

// Limits past which a statement is not worth caching, or not safe to.
const (
	maxText     = 16 << 10
	maxLiterals = 200
)

// byte classes of the lexer
const (
	bOther = iota
	bSpace
	bWord
	bDigit
	bQuote
	bDouble
	bStop // gives up: parameters, dollar quotes, backslashes
	bHigh
)

var byteClass = func() (t [256]byte) {
	for i := range t {
		switch c := byte(i); {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v':
			t[i] = bSpace
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_':
			t[i] = bWord
		case c >= '0' && c <= '9':
			t[i] = bDigit
		case c == '\'':
			t[i] = bQuote
		case c == '"':
			t[i] = bDouble
		case c == '$' || c == '\\' || c == 0:
			t[i] = bStop
		case c >= 0x80:
			t[i] = bHigh
		}
	}
	return t
}()

// TextKey appends to key[:0] what an ordinary statement's text is without its literals:
// two texts with the same key have the same syntax tree but for constants of the same
// type. ok is false for statements out of the ordinary. sql is not kept.
func TextKey(sql string, key []byte) (_ []byte, ok bool) {
	var room [16]literal
	key, _, ok = scan(sql, key, room[:0])
	return key, ok
}

// scan writes the key of sql into key — the text with every literal replaced by
// its class — and the literals into lits. It allocates nothing when both have
// room. ok is false for anything out of the ordinary: other statements than
// SELECT, INSERT, UPDATE and DELETE, comments, E” and other prefixed strings,
// $…, backslashes, several statements, numbers at the edge of their type.
func scan(sql string, key []byte, lits []literal) (_ []byte, _ []literal, ok bool) {
	key, lits = key[:0], lits[:0]
	n := len(sql)
	if n > maxText || !starts(sql) {
		return key, lits, false
	}
	high, lastString := false, false
	from := 0 // start of the text not yet copied
	for i := 0; i < n; {
		c := sql[i]
		switch byteClass[c] {
		case bSpace:
			i++
			continue
		case bWord:
			for i++; i < n; i++ {
				k := byteClass[sql[i]]
				if k == bHigh {
					high = true
				} else if k != bWord && k != bDigit {
					break
				}
			}
			if i < n && (sql[i] == '$' || sql[i] == '\'' || sql[i] == '&') {
				return key, lits, false // E'…', U&'…', B'…', a$b
			}
		case bHigh:
			high = true
			i++
		case bDigit:
			l, end, fine := number(sql, i)
			if !fine || len(lits) == maxLiterals {
				return key, lits, false
			}
			key = append(append(key, sql[from:i]...), 0, byte(l.class))
			lits = append(lits, l)
			i, from = end, end
		case bQuote:
			if lastString || len(lits) == maxLiterals {
				return key, lits, false // 'a' 'b' may be one string
			}
			l := literal{start: int32(i), class: classString}
			j := i + 1
			for {
				if j >= n {
					return key, lits, false
				}
				d := sql[j]
				if d == '\'' {
					if j+1 < n && sql[j+1] == '\'' {
						l.escaped = true
						j += 2
						continue
					}
					break
				}
				switch byteClass[d] {
				case bStop:
					if d != '$' {
						return key, lits, false
					}
				case bHigh:
					high = true
				}
				j++
			}
			l.end = int32(j + 1)
			key = append(append(key, sql[from:i]...), 0, byte(classString))
			lits = append(lits, l)
			i = j + 1
			from = i
			lastString = true
			continue
		case bDouble:
			for i++; i < n && sql[i] != '"'; i++ {
				if byteClass[sql[i]] == bHigh {
					high = true
				} else if sql[i] == 0 {
					return key, lits, false
				}
			}
			i++
		case bStop:
			return key, lits, false
		default:
			switch c {
			case '-':
				if i+1 < n && sql[i+1] == '-' {
					return key, lits, false
				}
			case '/':
				if i+1 < n && sql[i+1] == '*' {
					return key, lits, false
				}
			case '.':
				if i+1 < n && byteClass[sql[i+1]] == bDigit {
					l, end, fine := number(sql, i)
					if !fine || len(lits) == maxLiterals {
						return key, lits, false
					}
					key = append(append(key, sql[from:i]...), 0, byte(l.class))
					lits = append(lits, l)
					i, from = end, end
					lastString = false
					continue
				}
			case ';':
				for j := i + 1; j < n; j++ {
					if byteClass[sql[j]] != bSpace {
						return key, lits, false
					}
				}
				key = append(key, sql[from:i]...)
				return key, lits, !high || utf8.ValidString(sql)
			}
			i++
		}
		lastString = false
	}
	key = append(key, sql[from:]...)
	return key, lits, !high || utf8.ValidString(sql)
}

// starts reports whether the first word is SELECT, INSERT, UPDATE or DELETE.
func starts(s string) bool {
	i := 0
	for i < len(s) && byteClass[s[i]] == bSpace {
		i++
	}
	if len(s) < i+7 {
		return false
	}
	var w [6]byte
	for k := range w {
		w[k] = s[i+k] | 0x20
	}
	switch w {
	case [6]byte{'s', 'e', 'l', 'e', 'c', 't'}, [6]byte{'i', 'n', 's', 'e', 'r', 't'}, [6]byte{'u', 'p', 'd', 'a', 't', 'e'}, [6]byte{'d', 'e', 'l', 'e', 't', 'e'}:
		return byteClass[s[i+6]] != bWord
	}
	return false
}

// number reads a numeric literal as PostgreSQL's scanner does.
func number(s string, i int) (l literal, end int, ok bool) {
	n := len(s)
	l.start = int32(i)
	l.class = classInt4
	j := i
	for j < n && s[j] >= '0' && s[j] <= '9' {
		j++
	}
	digits := s[i:j]
	if j < n && s[j] == '.' {
		if j+1 < n && s[j+1] == '.' {
			return l, 0, false
		}
		l.class = classNumeric
		for j++; j < n && s[j] >= '0' && s[j] <= '9'; j++ {
		}
	}
	if j < n && s[j]|0x20 == 'e' {
		k := j + 1
		if k < n && (s[k] == '+' || s[k] == '-') {
			k++
		}
		if k >= n || s[k] < '0' || s[k] > '9' {
			return l, 0, false
		}
		for k < n && s[k] >= '0' && s[k] <= '9' {
			k++
		}
		j, l.class = k, classNumeric
	}
	if j < n {
		if k := byteClass[s[j]]; k == bWord || k == bHigh || s[j] == '$' || s[j] == '.' {
			return l, 0, false
		}
	}
	l.end = int32(j)
	if l.class == classInt4 {
		for len(digits) > 1 && digits[0] == '0' {
			digits = digits[1:]
		}
		switch {
		case len(digits) < 10:
		case len(digits) == 10 && digits < "2147483648":
		case len(digits) < 19:
			// At the edges the sign decides about the type.
			if digits == "2147483648" {
				return l, 0, false
			}
			l.class = classInt8
		case len(digits) == 19 && digits < "9223372036854775808":
			l.class = classInt8
		case digits == "9223372036854775808":
			return l, 0, false
		default:
			l.class = classNumeric
		}
	}
	return l, j, true
}
