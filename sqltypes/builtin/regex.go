package builtin

import (
	"context"
	"strings"
	"unicode/utf8"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
	"ostraka/sqltypes/pgregex"
)

// regexCache is the compiled expression of a call site.
type regexCache struct {
	pattern, flags string
	fold           bool
	re             *pgregex.Regexp
	parsed         pgregex.Flags
}

// compileRegex compiles a pattern, or takes it from the call's cache.
func compileRegex(c *Call, pattern, flags string, fold bool) (*regexCache, error) {
	if k, ok := c.Cache.(*regexCache); ok && k.pattern == pattern && k.flags == flags && k.fold == fold {
		return k, nil
	}
	parsed, err := pgregex.ParseFlags(flags)
	if err != nil {
		return nil, err
	}
	if fold {
		parsed = parsed.Fold()
	}
	re, err := pgregex.Compile(pattern, parsed, c.Collation != collationC)
	if err != nil {
		return nil, err
	}
	k := &regexCache{pattern: pattern, flags: flags, fold: fold, re: re, parsed: parsed}
	c.Cache = k
	return k, nil
}

func callContext(c *Call) context.Context {
	if c.Env == nil {
		return nil
	}
	return c.Env.Ctx
}

// regexMatch makes the operators ~ ~* !~ !~*.
func regexMatch(not, fold bool) sqltypes.ScalarFunc {
	return func(c *Call, args []Datum) (Datum, error) {
		k, err := compileRegex(c, args[1].S, "", fold)
		if err != nil {
			return null, err
		}
		ok, err := k.re.Match(callContext(c), args[0].S)
		return sqltypes.Bool(ok != not), err
	}
}

// noGlobal compiles for a function that finds one match: flag g is refused.
func noGlobal(c *Call, name, pattern, flags string) (*regexCache, error) {
	parsed, err := pgregex.ParseFlags(flags)
	if err != nil {
		return nil, err
	}
	if parsed.Global {
		return nil, pgerror.New(pgerror.InvalidParameterValue, "%s does not support the \"global\" option", name)
	}
	return compileRegex(c, pattern, flags, false)
}

// flagsArg is the optional flags argument number i.
func flagsArg(args []Datum, i int) string {
	if i < len(args) {
		return args[i].S
	}
	return ""
}

// regexSubstring is substring(text from pattern): the first parentheses or the whole match.
func regexSubstring(c *Call, args []Datum) (Datum, error) {
	k, err := compileRegex(c, args[1].S, "", false)
	if err != nil {
		return null, err
	}
	loc, err := k.re.Find(callContext(c), args[0].S, 0)
	if err != nil || loc == nil {
		return null, err
	}
	if len(loc) > 2 {
		return group(args[0].S, loc, 1), nil
	}
	return group(args[0].S, loc, 0), nil
}

// group is capture n of a match, NULL when it took no part.
func group(s string, loc []int, n int) Datum {
	if loc[2*n] < 0 {
		return null
	}
	return sqltypes.Text(s[loc[2*n]:loc[2*n+1]])
}

// eachMatch calls f with the matches in order until it returns false. With
// skipEmpty those are left out that are empty and at the start or end of the text
// or just after a match, as splitting wants it.
func eachMatch(c *Call, re *pgregex.Regexp, s string, from int, skipEmpty bool, f func(loc []int) bool) error {
	previous := 0
	for from <= len(s) {
		loc, err := re.Find(callContext(c), s, from)
		if err != nil || loc == nil {
			return err
		}
		if !skipEmpty || loc[0] < len(s) && loc[1] > previous {
			if !f(loc) {
				return nil
			}
		}
		previous = loc[1]
		from = loc[1]
		if loc[0] == loc[1] {
			if from == len(s) {
				return nil
			}
			_, width := utf8.DecodeRuneInString(s[from:])
			from += width
		}
	}
	return nil
}

// matchArray is the text[] of a match: its captures, or the whole without any.
func matchArray(s string, loc []int) (Datum, error) {
	var out []Datum
	for n := 1; n < len(loc)/2; n++ {
		out = append(out, group(s, loc, n))
	}
	if out == nil {
		out = []Datum{group(s, loc, 0)}
	}
	return makeArray(sqltypes.OIDText, out)
}

func regexpMatch(c *Call, args []Datum) (Datum, error) {
	k, err := compileRegex(c, args[1].S, flagsArg(args, 2), false)
	if err != nil {
		return null, err
	}
	if k.parsed.Global {
		return fail(pgerror.New(pgerror.InvalidParameterValue, "regexp_match() does not support the \"global\" option").
			WithHint("Use the regexp_matches function instead."))
	}
	loc, err := k.re.Find(callContext(c), args[0].S, 0)
	if err != nil || loc == nil {
		return null, err
	}
	return matchArray(args[0].S, loc)
}

func regexpMatches(c *Call, args []Datum) (sqltypes.RowSource, error) {
	k, err := compileRegex(c, args[1].S, flagsArg(args, 2), false)
	if err != nil {
		return nil, err
	}
	var out []Datum
	s := strings.Clone(args[0].S)
	err = eachMatch(c, k.re, s, 0, false, func(loc []int) bool {
		d, _ := matchArray(s, loc)
		out = append(out, d)
		return k.parsed.Global
	})
	if err != nil {
		return nil, err
	}
	return oneColumn(out)
}

// splitByRegex cuts a text at the matches.
func splitByRegex(c *Call, name string, args []Datum) ([]Datum, error) {
	k, err := noGlobal(c, name, args[1].S, flagsArg(args, 2))
	if err != nil {
		return nil, err
	}
	var out []Datum
	s, at := args[0].S, 0
	err = eachMatch(c, k.re, s, 0, true, func(loc []int) bool {
		out = append(out, sqltypes.Text(s[at:loc[0]]))
		at = loc[1]
		return true
	})
	return append(out, sqltypes.Text(s[at:])), err
}

func splitToArray(c *Call, args []Datum) (Datum, error) {
	parts, err := splitByRegex(c, "regexp_split_to_array()", args)
	if err != nil {
		return null, err
	}
	return makeArray(sqltypes.OIDText, parts)
}

func splitToTable(c *Call, args []Datum) (sqltypes.RowSource, error) {
	parts, err := splitByRegex(c, "regexp_split_to_table()", args)
	if err != nil {
		return nil, err
	}
	return oneColumn(parts)
}

func init() {
	for _, t := range []string{"text", "name"} {
		scalarTable{
			t + "regexeq": regexMatch(false, false), t + "regexne": regexMatch(true, false),
			t + "icregexeq": regexMatch(false, true), t + "icregexne": regexMatch(true, true),
		}.register()
	}
	scalarTable{
		"textregexsubstr": regexSubstring,
		"regexp_match":    regexpMatch, "regexp_match_no_flags": regexpMatch,
		"regexp_split_to_array": splitToArray, "regexp_split_to_array_no_flags": splitToArray,
	}.register()
	setTable{
		"regexp_matches": regexpMatches, "regexp_matches_no_flags": regexpMatches,
		"regexp_split_to_table": splitToTable, "regexp_split_to_table_no_flags": splitToTable,
	}.register()
}
