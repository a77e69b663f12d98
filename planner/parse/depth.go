package parse

// The C parser writes its tree recursively on a C stack and does not check its
// depth, so that a statement like 1+1+1+… of a few hundred kilobytes would end
// the process. tooDeep estimates, from above and without a parse, how deep a
// tree the text can make.
const (
	depthCheckFrom = 8 << 10 // shorter texts cannot be deep enough
	maxDepth       = 11000   // PostgreSQL's default max_stack_depth gives up at about 7,000 operands
)

// tooDeep reports whether the tokens that can nest — those between two list
// separators, at all open bracket levels together, plus set operations and joins —
// are more than maxDepth.
func tooDeep(sql string) bool {
	if len(sql) < depthCheckFrom {
		return false
	}
	var levels []int // tokens of each open bracket level since its last separator
	cur, open, chain := 0, 0, 0
	for i := 0; i < len(sql); {
		c := sql[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v':
			i++
			continue
		case c == '-' && i+1 < len(sql) && sql[i+1] == '-':
			for i < len(sql) && sql[i] != '\n' {
				i++
			}
			continue
		case c == '/' && i+1 < len(sql) && sql[i+1] == '*':
			i = skipComment(sql, i)
			continue
		case c == '\'' || c == '"':
			i = skipQuoted(sql, i, c)
			cur++
		case c == '$' && dollarTag(sql, i) > 0:
			i = skipDollar(sql, i)
			cur++
		case c == '(' || c == '[':
			levels = append(levels, cur)
			open += cur + 1
			cur = 0
			i++
		case c == ')' || c == ']':
			if n := len(levels); n > 0 {
				cur = levels[n-1] + 1
				open -= levels[n-1] + 1
				levels = levels[:n-1]
			}
			i++
		case c == ',':
			cur = 0
			i++
		case c == ';' && len(levels) == 0:
			cur, chain = 0, 0
			i++
		case isWordByte(c):
			start := i
			for i < len(sql) && isWordByte(sql[i]) {
				i++
			}
			switch w := sql[start:i]; {
			case foldEq(w, "and") || foldEq(w, "or"):
				cur = 0 // lists, not chains
			case foldEq(w, "union") || foldEq(w, "intersect") || foldEq(w, "except") || foldEq(w, "join") || foldEq(w, "case"):
				chain++
				cur = 0
			case foldEq(w, "then") || foldEq(w, "when"):
				cur = 0 // CASE itself is counted in chain
			default:
				cur++
			}
		default:
			cur++
			i++
		}
		if open+cur+chain*4 > maxDepth {
			return true
		}
	}
	return false
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c >= 0x80
}

func foldEq(w, lower string) bool {
	if len(w) != len(lower) {
		return false
	}
	for i := 0; i < len(w); i++ {
		if w[i]|0x20 != lower[i] {
			return false
		}
	}
	return true
}

func skipComment(s string, i int) int {
	depth := 0
	for i < len(s) {
		switch {
		case i+1 < len(s) && s[i] == '/' && s[i+1] == '*':
			depth++
			i += 2
		case i+1 < len(s) && s[i] == '*' && s[i+1] == '/':
			depth--
			i += 2
			if depth == 0 {
				return i
			}
		default:
			i++
		}
	}
	return i
}

func skipQuoted(s string, i int, q byte) int {
	esc := q == '\'' && i > 0 && s[i-1]|0x20 == 'e' && (i < 2 || !isWordByte(s[i-2]))
	for i++; i < len(s); i++ {
		if esc && s[i] == '\\' {
			i++
			continue
		}
		if s[i] == q {
			if i+1 < len(s) && s[i+1] == q {
				i++
				continue
			}
			return i + 1
		}
	}
	return i
}

// dollarTag returns the length of a dollar quote's opening ("$x$") at i, or 0.
func dollarTag(s string, i int) int {
	for j := i + 1; j < len(s); j++ {
		c := s[j]
		if c == '$' {
			return j - i + 1
		}
		if !isWordByte(c) || j == i+1 && c >= '0' && c <= '9' {
			return 0
		}
	}
	return 0
}

func skipDollar(s string, i int) int {
	n := dollarTag(s, i)
	tag := s[i : i+n]
	for i += n; i+n <= len(s); i++ {
		if s[i] == '$' && s[i:i+n] == tag {
			return i + n
		}
	}
	return len(s)
}
