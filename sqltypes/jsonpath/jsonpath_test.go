package jsonpath

import (
	"context"
	"testing"
	"time"

	"ostraka/sqltypes"
)

// Normalized forms, as PostgreSQL 15 prints them. What paths give is tested by
// package builtin's recorded calls.
func TestString(t *testing.T) {
	for in, want := range map[string]string{
		`$`:                                 `$`,
		`strict $.a[*]`:                     `strict $."a"[*]`,
		`lax $.a ? (@.b > 1 && @.c == "x")`: `$."a"?(@."b" > 1 && @."c" == "x")`,
		`$.a + 1 * 2`:                       `($."a" + 1 * 2)`,
		`($.a + 1) * 2`:                     `(($."a" + 1) * 2)`,
		`$.**{1 to last}.size()`:            `$.**{1 to last}.size()`,
		`$[0, 2 to last]`:                   `$[0,2 to last]`,
		`exists($.a)`:                       `exists ($."a")`,
		`!($.a == 1)`:                       `!($."a" == 1)`,
		`($.a > 1) is unknown`:              `($."a" > 1) is unknown`,
		`$ ? (@ like_regex "^a" flag "i")`:  `$?(@ like_regex "^a" flag "i")`,
		`-$.a`:                              `(-$."a")`,
		`$x.y`:                              `$"x"."y"`,
	} {
		p, err := Parse(in)
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if got := p.String(); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`$.a[*] ? (@ > 1)`, `strict $.**{2}.b.type()`, `$[1 to last] + -2.5e3`, `$ ? (@ starts with "\u0061")`, `($ == null) is unknown`} {
		f.Add(s)
	}
	target, err := sqltypes.ParseJSONB(`{"a": [1, 2, {"b": "x"}], "c": null}`)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 300 || sqltypes.ValidText(s) != nil {
			return
		}
		p, err := Parse(s)
		if err != nil {
			return
		}
		text := p.String()
		again, err := Parse(text)
		if err != nil {
			t.Fatalf("%q prints as %q: %v", s, text, err)
		}
		if again.String() != text {
			t.Fatalf("%q prints as %q, then as %q", s, text, again.String())
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, _, _ = p.Query(ctx, target, sqltypes.JSON{}, true, nil)
	})
}
