package lineproto

import (
	"bytes"
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// plain reads all of in; ok: all of it is plain.
func plain(in []byte, unit int64) (out []Point, ok bool) {
	r := NewPlain(in, unit)
	for {
		var p Point
		if p.Series, ok = r.Series(); !ok || p.Series == nil {
			return out, ok
		}
		for last := false; !last; {
			var f Field
			if last, ok = r.Field(&f); !ok {
				return nil, false
			}
			p.Fields = append(p.Fields, f)
		}
		if p.Time, p.Timed, ok = r.Time(); !ok {
			return nil, false
		}
		out = append(out, p)
	}
}

// samePoints compares what Plain has read with what Parser reads.
func samePoints(t interface{ Fatalf(string, ...any) }, in []byte, unit int64) {
	got, ok := plain(in, unit)
	if !ok {
		return
	}
	r := NewParser(in, unit)
	for i := range got {
		var p Point
		more, err := r.Next(&p)
		if err != nil && (err.Reason == "missing measurement" || err.Reason == "missing tag key" || err.Reason == "missing tag value" ||
			err.Reason == "invalid tag format" || err.Reason == "duplicate tags" || err.Reason == "missing fields") {
			return // in the text of the series, which Plain leaves alone
		}
		if bytes.ContainsAny(got[i].Series, "\n\r\\\t\x00") {
			return
		}
		g := got[i]
		if !more || err != nil || !bytes.Equal(p.Series, g.Series) || len(p.Fields) != len(g.Fields) || p.Time != g.Time || p.Timed != g.Timed {
			t.Fatalf("%q: line %d: plain %s, parser %s, %v", in, i+1, show(&g), show(&p), err)
		}
		for k, f := range p.Fields {
			h := g.Fields[k]
			if !bytes.Equal(f.Key, h.Key) || f.Kind != h.Kind || math.Float64bits(f.F) != math.Float64bits(h.F) || f.I != h.I || !bytes.Equal(f.S, h.S) {
				t.Fatalf("%q: line %d, field %q: plain %v, parser %v", in, i+1, f.Key, h, f)
			}
		}
	}
}

func TestPlain(t *testing.T) {
	for _, c := range []struct {
		in string
		ok bool
	}{
		{"m,a=b v=1 5\nm,a=b v=-2.50,n=-3i,ok=t,s=\"x y\"\n", true},
		{"m v=1 -7\r\nm v=1e5 9223372036854775807\n\nm v=.5", true},
		{"m v=0.1234567890123456789 1", true},
		{"m v=-0 1", true},
		{"m v=1 9223372036854775808", false},
		{"m v=1 99999999999999999999", false},
		{`m,a=b v="x\"y" 1`, false},
		{`m v\=1=2 1`, false},
		{"m  v=1", false},
		{"m v=1  2", false},
		{"m v=1 2 ", false},
		{"m v= 2", false},
		{"m v=x 2", false},
		{"m v=1,", false},
		{"m v", false},
		{"# x y=1", false},
		{"m v=1 -", false},
		{`m v="a`, false},
	} {
		_, ok := plain([]byte(c.in), 1)
		if ok != c.ok {
			t.Errorf("%q: %v", c.in, ok)
		}
		samePoints(t, []byte(c.in), 1)
	}
}

// TestPlainNumbers: every float is read as strconv reads it.
func TestPlainNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.OneOf(rapid.Float64(), rapid.Custom(func(t *rapid.T) float64 {
			return float64(rapid.Int64Range(-1e15, 1e15).Draw(t, "i")) / math.Pow10(rapid.IntRange(0, 15).Draw(t, "e"))
		})).Draw(t, "v")
		prec := rapid.IntRange(-1, 20).Draw(t, "prec")
		in := append([]byte("m v="), strconv.FormatFloat(v, rapid.SampledFrom([]byte("fge")).Draw(t, "fmt"), prec, 64)...)
		samePoints(t, in, 1)
	})
}

// FuzzPlain: what Plain takes, Parser takes alike.
func FuzzPlain(f *testing.F) {
	for _, s := range []string{"cpu,host=a usage=0.5,n=3i 42\n", "m v=\"a b\" 1\nm v=2", "m v=1 \r\n", "m v=1.\n", "m v=+1", "m v=\r1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) { samePoints(t, []byte(in), Millisecond) })
}

func BenchmarkPlain(b *testing.B) {
	var in []byte
	for i := range 1000 {
		in = append(in, "cpu,host=host-1234,dc=eu usage="...)
		in = append(strconv.AppendInt(in, int64(i), 10), ".25,n=7i 1700000000000000000\n"...)
	}
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		r := NewPlain(in, 1)
		var f Field
		for {
			text, ok := r.Series()
			if text == nil && ok {
				break
			}
			for last := false; !last; {
				if last, ok = r.Field(&f); !ok {
					b.Fatal("not plain")
				}
			}
			if _, _, ok := r.Time(); !ok {
				b.Fatal("not plain")
			}
		}
	}
}
