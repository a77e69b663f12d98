package pgregex

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"ostraka/sqltypes/pgerror"
)

func find(t *testing.T, pattern, flags, text string) []int {
	t.Helper()
	f, err := ParseFlags(flags)
	if err != nil {
		t.Fatal(err)
	}
	re, err := Compile(pattern, f, true)
	if err != nil {
		t.Fatalf("%s: %v", pattern, err)
	}
	loc, err := re.Find(context.Background(), text, 0)
	if err != nil {
		t.Fatalf("%s: %v", pattern, err)
	}
	return loc
}

// What PostgreSQL finds is tested by package builtin's recorded calls; here are
// the cases that its collation "C" does not show.
func TestUnicodeLetters(t *testing.T) {
	for _, c := range []struct {
		pattern, flags, text string
		want                 []int
	}{
		{`\w+`, "", "«naïve»", []int{2, 8}},
		{"É", "i", "é", []int{0, 2}},
		{`\mé`, "", "a é", []int{2, 4}},
		{`[[:upper:]]`, "", "aÉ", []int{1, 3}},
		{`^.$`, "", "日", []int{0, 3}},
	} {
		if got := find(t, c.pattern, c.flags, c.text); !slices.Equal(got, c.want) {
			t.Errorf("%s on %s: %v, want %v", c.pattern, c.text, got, c.want)
		}
	}
}

// Expressions that make backtracking matchers exponential end soon: they match,
// do not match, or are refused.
func TestHardExpressions(t *testing.T) {
	text := strings.Repeat("a", 30000)
	for _, pattern := range []string{
		`(a*)*b`, `(a|aa)+$`, `^(a?){50}a{50}$`, `(?:a+)+b`, `(.*)(.*)(.*)(.*)x`, `(x+x+)+y`, `((a{1,20}){1,20})b`,
		`(?=a*b)a`, `(?<=b)a`, `(a+)\1b`,
	} {
		re, err := Compile(pattern, Flags{}, false)
		if err != nil {
			t.Fatal(err)
		}
		small := text
		if strings.ContainsAny(pattern, `=\`) {
			small = text[:300]
		}
		if _, err := re.Find(context.Background(), small, 0); err != nil && pgerror.CodeOf(err) != pgerror.StatementTooComplex {
			t.Errorf("%s: %v", pattern, err)
		}
	}
	if _, err := Compile(`((a{255}){255}){255}`, Flags{}, false); pgerror.CodeOf(err) != pgerror.InvalidRegularExpression {
		t.Errorf("huge expression: %v", err)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	re, err := Compile("b", Flags{}, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := re.Find(ctx, strings.Repeat("a", 200000), 0); pgerror.CodeOf(err) != pgerror.QueryCanceled {
		t.Fatal(err)
	}
}

func FuzzFind(f *testing.F) {
	for _, s := range []string{`(a|b)*c`, `a*?b`, `[[:alpha:]-z]`, `\y(\w)\1\y`, `(?<!x)y{2,3}?`, `***=x`, `(?i)a`} {
		f.Add(s, "abc aabb xyyy", "")
	}
	f.Fuzz(func(t *testing.T, pattern, text, flags string) {
		if len(pattern) > 200 || len(text) > 500 {
			return
		}
		fl, err := ParseFlags(flags)
		if err != nil {
			return
		}
		re, err := Compile(pattern, fl, true)
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		loc, err := re.Find(ctx, text, 0)
		if err != nil {
			return
		}
		for i := 0; i+1 < len(loc); i += 2 {
			if loc[i] > loc[i+1] || loc[i+1] > len(text) || i > 0 && loc[i] >= 0 && re.tree.flags&backrefs == 0 && (loc[i] < loc[0] || loc[i+1] > loc[1]) {
				t.Fatalf("%q on %q: %v", pattern, text, loc)
			}
		}
	})
}
