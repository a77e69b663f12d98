package sqltypes

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Values and errors recorded from PostgreSQL 15.
func TestJSON(t *testing.T) {
	checkInOut(t, testEnv(), []inOut{
		{"jsonb", `{"bb":1,"a":2,"ccc":3,"":4, "a":5}`, `{"": 4, "a": 5, "bb": 1, "ccc": 3}`, ""},
		{"jsonb", `[1.10, 1e5, -0.0, 12345678901234567890, "é\u00e9\ud83d\ude00\n"]`, `[1.10, 100000, 0.0, 12345678901234567890, "éé😀\n"]`, ""},
		{"jsonb", `[[[]],{},null,true]`, `[[[]], {}, null, true]`, ""}, {"json", ` [1 ,2]`, ` [1 ,2]`, ""},
		{"jsonb", `[1,]`, "invalid input syntax for type json", "22P02"}, {"jsonb", `"\u0000"`, "unsupported Unicode escape sequence", "22P05"},
		{"json", `{"a":1,}`, "invalid input syntax for type json", "22P02"},
	})
	_, err := ParseJSONB("{\"a\":1,\n\n  \"b\":oops}")
	if got := jsonErr(err); got != `22P02 invalid input syntax for type json|Token "oops" is invalid.|JSON data, line 3:   "b":oops...` {
		t.Error(got)
	}
	if err := ValidateJSON(strings.Repeat("[", 1<<20)); err == nil {
		t.Error("no bound on depth")
	}
}

func genJSON(depth int) *rapid.Generator[JSON] {
	return rapid.Custom(func(t *rapid.T) JSON {
		switch k := rapid.IntRange(0, 6).Draw(t, "kind"); {
		case k == 0:
			return JSONNullValue
		case k == 1:
			return JSONBoolOf(rapid.Bool().Draw(t, "bool"))
		case k == 2:
			return JSONNumberOf(drawNumeric(t, "number"))
		case k == 3 || depth == 0:
			return JSONStringOf(rapid.StringOf(rapid.RuneFrom([]rune("aé\"\\\n\x01😀"))).Draw(t, "string"))
		case k == 4:
			return JSONArrayOf(rapid.SliceOfN(genJSON(depth-1), 0, 4).Draw(t, "array"))
		default:
			keys := rapid.SliceOfN(rapid.StringMatching(`[a-c]{0,3}`), 0, 5).Draw(t, "keys")
			var pairs []JSONPair
			for _, k := range keys {
				pairs = append(pairs, JSONPair{k, genJSON(depth-1).Draw(t, "value")})
			}
			return JSONObjectOf(pairs)
		}
	})
}

func TestJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := genJSON(3).Draw(t, "json")
		back, err := ParseJSONB(j.String())
		if err != nil || back != j {
			t.Fatalf("%s: %v, %s", j, err, back)
		}
		if CompareJSON(j, back) != 0 || HashJSON(j) != HashJSON(back) || !JSONContains(j, back) {
			t.Fatal("not equal to itself")
		}
		for _, p := range j.Pairs() {
			if v, ok := j.Lookup(p.Key); !ok || v != p.Value {
				t.Fatalf("lookup %q in %s", p.Key, j)
			}
		}
	})
	// Containers past 64 KiB use wide offsets.
	big := "[" + strings.Repeat(`{"k":"`+strings.Repeat("x", 1000)+`"},`, 100) + `1]`
	j, err := ParseJSONB(big)
	if err != nil || j.Len() != 101 || j.Index(99).Value(0).Str() != strings.Repeat("x", 1000) {
		t.Fatal(err)
	}
	if back, _ := ParseJSONB(j.String()); back != j {
		t.Fatal("wide containers")
	}
}

func FuzzParseJSONB(f *testing.F) {
	for _, s := range jsonSamples {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if ValidText(s) != nil {
			return
		}
		j, err := ParseJSONB(s)
		if err != nil {
			return
		}
		if err := ValidateJSON(s); err != nil {
			t.Fatalf("%q: jsonb takes what json refuses: %v", s, err)
		}
		if back, err := ParseJSONB(j.String()); err != nil || back != j {
			t.Fatalf("%q: %v", s, err)
		}
	})
}

func BenchmarkJSONB(b *testing.B) {
	doc := `{"name":"Some Body","age":42,"address":{"city":"Athens","zip":"12345","street":"Long street 5"},"tags":["a","b","c"],"preferences":{"notifications":{"push":true,"mail":false}},"balance":1234.56,"active":true}`
	j, err := ParseJSONB(doc)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = ParseJSONB(doc)
		}
	})
	b.Run("lookup", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			a, _ := j.Lookup("address")
			c, _ := a.Lookup("city")
			if c.Str() != "Athens" {
				b.Fatal()
			}
		}
	})
}

// LookupNear finds what Lookup finds, wherever it is told to look first.
func TestLookupNear(t *testing.T) {
	for _, text := range []string{`{}`, `{"a":1}`, `{"b":1,"a":{"c":2},"long":"x","longer":null}`, `[1,2]`, `"s"`, `null`} {
		j, err := ParseJSONB(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"a", "b", "long", "longer", "", "c", "missing"} {
			for near := -1; near < 6; near++ {
				want, found := j.Lookup(key)
				got, at, ok := j.LookupNear(key, near)
				if ok != found || got != want || ok && j.Key(at) != key {
					t.Errorf("%s of %s near %d: %v at %d, %t", key, text, near, got, at, ok)
				}
			}
		}
	}
}
