package builtin

import (
	"unicode/utf8"

	"ostraka/sqltypes"
)

// findNth finds match number n from character start on.
func findNth(c *Call, name, s, pattern, flags string, start, n int64) ([]int, error) {
	k, err := noGlobal(c, name, pattern, flags)
	if err != nil {
		return nil, err
	}
	var found []int
	err = eachMatch(c, k.re, s, startOffset(s, start), false, func(loc []int) bool {
		if n--; n == 0 {
			found = loc
		}
		return n > 0
	})
	return found, err
}

// startOffset is the byte offset of character start (1-based), past the end
// when the text is shorter.
func startOffset(s string, start int64) int {
	if start-1 > int64(utf8.RuneCountInString(s)) {
		return len(s) + 1
	}
	return charOffset(s, start-1)
}

// subMatch is the number of the asked parentheses; without any, 1 is the whole match.
func subMatch(loc []int, sub int64) int64 {
	if len(loc) == 2 && sub == 1 {
		return 0
	}
	return sub
}

// argOr is the integer argument number i, or a default.
func argOr(args []Datum, i int, otherwise int64) int64 {
	if i < len(args) {
		return args[i].I
	}
	return otherwise
}

func regexpLike(c *Call, args []Datum) (Datum, error) {
	k, err := noGlobal(c, "regexp_like()", args[1].S, flagsArg(args, 2))
	if err != nil {
		return null, err
	}
	ok, err := k.re.Match(callContext(c), args[0].S)
	return sqltypes.Bool(ok), err
}

func regexpCount(c *Call, args []Datum) (Datum, error) {
	start := argOr(args, 2, 1)
	if start <= 0 {
		return fail(badParameter("start", start))
	}
	k, err := noGlobal(c, "regexp_count()", args[1].S, flagsArg(args, 3))
	if err != nil {
		return null, err
	}
	n := int64(0)
	err = eachMatch(c, k.re, args[0].S, startOffset(args[0].S, start), false, func([]int) bool { n++; return true })
	return sqltypes.Int(n), err
}

// regexpInstr is regexp_instr(text, pattern, start, n, endoption, flags, subexpr).
func regexpInstr(c *Call, args []Datum) (Datum, error) {
	start, n, after, sub := argOr(args, 2, 1), argOr(args, 3, 1), argOr(args, 4, 0), argOr(args, 6, 0)
	switch {
	case start <= 0:
		return fail(badParameter("start", start))
	case n <= 0:
		return fail(badParameter("n", n))
	case after != 0 && after != 1:
		return fail(badParameter("endoption", after))
	case sub < 0:
		return fail(badParameter("subexpr", sub))
	}
	s := args[0].S
	loc, err := findNth(c, "regexp_instr()", s, args[1].S, flagsArg(args, 5), start, n)
	if err != nil {
		return null, err
	}
	sub = subMatch(loc, sub)
	if loc == nil || sub >= int64(len(loc)/2) || loc[2*sub] < 0 {
		return integer(0)
	}
	return integer(int64(utf8.RuneCountInString(s[:loc[2*sub+after]])) + 1)
}

// regexpSubstr is regexp_substr(text, pattern, start, n, flags, subexpr).
func regexpSubstr(c *Call, args []Datum) (Datum, error) {
	start, n, sub := argOr(args, 2, 1), argOr(args, 3, 1), argOr(args, 5, 0)
	switch {
	case start <= 0:
		return fail(badParameter("start", start))
	case n <= 0:
		return fail(badParameter("n", n))
	case sub < 0:
		return fail(badParameter("subexpr", sub))
	}
	loc, err := findNth(c, "regexp_substr()", args[0].S, args[1].S, flagsArg(args, 4), start, n)
	if err != nil {
		return null, err
	}
	sub = subMatch(loc, sub)
	if loc == nil || sub >= int64(len(loc)/2) {
		return isNull()
	}
	return group(args[0].S, loc, int(sub)), nil
}

func init() {
	scalarTable{
		"regexp_like": regexpLike, "regexp_like_no_flags": regexpLike,
		"regexp_count": regexpCount, "regexp_count_no_flags": regexpCount, "regexp_count_no_start": regexpCount,
		"regexp_instr": regexpInstr, "regexp_instr_no_endoption": regexpInstr, "regexp_instr_no_flags": regexpInstr,
		"regexp_instr_no_n": regexpInstr, "regexp_instr_no_start": regexpInstr, "regexp_instr_no_subexpr": regexpInstr,
		"regexp_substr": regexpSubstr, "regexp_substr_no_flags": regexpSubstr, "regexp_substr_no_n": regexpSubstr,
		"regexp_substr_no_start": regexpSubstr, "regexp_substr_no_subexpr": regexpSubstr,
	}.register()
}
