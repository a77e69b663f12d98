package builtin

import (
	"strings"

	"ostraka/sqltypes/pgerror"
)

func badParameter(name string, value int64) *pgerror.Error {
	return pgerror.New(pgerror.InvalidParameterValue, "invalid value for parameter \"%s\": %d", name, value)
}

// replaceMatches replaces match number n (0: every one), looking from character
// start (1-based) on.
func replaceMatches(c *Call, s, pattern, replacement, flags string, start, n int64, global bool) (Datum, error) {
	k, err := compileRegex(c, pattern, flags, false)
	if err != nil {
		return null, err
	}
	if global {
		n = 1
		if k.parsed.Global {
			n = 0
		}
	}
	var out strings.Builder
	copied, seen := 0, int64(0)
	err = eachMatch(c, k.re, s, startOffset(s, start), false, func(loc []int) bool {
		if seen++; n > 0 && seen != n {
			return true
		}
		out.WriteString(s[copied:loc[0]])
		appendReplacement(&out, s, replacement, loc)
		copied = loc[1]
		return n == 0 && out.Len() <= maxAlloc
	})
	if err != nil {
		return null, err
	}
	out.WriteString(s[copied:])
	return text(out.String())
}

// appendReplacement writes the replacement: \1 … \9 are captures, \& the whole.
func appendReplacement(out *strings.Builder, s, replacement string, loc []int) {
	for {
		before, after, found := strings.Cut(replacement, `\`)
		out.WriteString(before)
		if !found {
			return
		}
		replacement = after
		if after == "" {
			out.WriteByte('\\')
			return
		}
		switch ch := after[0]; {
		case ch >= '1' && ch <= '9':
			if n := int(ch - '0'); n < len(loc)/2 && loc[2*n] >= 0 {
				out.WriteString(s[loc[2*n]:loc[2*n+1]])
			}
		case ch == '&':
			out.WriteString(s[loc[0]:loc[1]])
		case ch == '\\':
			out.WriteByte('\\')
		default:
			out.WriteByte('\\')
			continue
		}
		replacement = after[1:]
	}
}

func regexpReplace(c *Call, args []Datum) (Datum, error) {
	flags := flagsArg(args, 3)
	if flags != "" && flags[0] >= '0' && flags[0] <= '9' {
		return fail(pgerror.New(pgerror.InvalidParameterValue, "invalid regular expression option: \"%c\"", flags[0]).
			WithHint("If you meant to use regexp_replace() with a start parameter, cast the fourth argument to integer explicitly."))
	}
	return replaceMatches(c, args[0].S, args[1].S, args[2].S, flags, 1, 1, true)
}

// regexpReplaceFrom is regexp_replace(text, pattern, replacement, start [, n [, flags]]).
func regexpReplaceFrom(c *Call, args []Datum) (Datum, error) {
	start, n := args[3].I, int64(1)
	if start <= 0 {
		return fail(badParameter("start", start))
	}
	if len(args) > 4 {
		if n = args[4].I; n < 0 {
			return fail(badParameter("n", n))
		}
	}
	return replaceMatches(c, args[0].S, args[1].S, args[2].S, flagsArg(args, 5), start, n, len(args) < 5)
}

func init() {
	scalarTable{
		"textregexreplace_noopt": regexpReplace, "textregexreplace": regexpReplace,
		"textregexreplace_extended": regexpReplaceFrom, "textregexreplace_extended_no_flags": regexpReplaceFrom,
		"textregexreplace_extended_no_n": regexpReplaceFrom,
	}.register()
}
