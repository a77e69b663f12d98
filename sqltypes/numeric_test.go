package sqltypes

import (
	"testing"

	"pgregory.net/rapid"
)

func num(t testing.TB, s string) Datum {
	t.Helper()
	d, err := ParseNumeric(s)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return d
}

// Results recorded from PostgreSQL 15.
func TestNumericArithmetic(t *testing.T) {
	bin := map[string]func(a, b Datum) (Datum, error){
		"+": NumericAdd, "-": NumericSub, "*": NumericMul, "/": NumericDiv, "%": NumericMod, "div": NumericDivTrunc,
		"^": NumericPower, "log": NumericLog,
	}
	for _, c := range []struct{ a, op, b, want string }{
		{"1", "/", "3.0", "0.33333333333333333333"}, {"10", "/", "3.0", "3.3333333333333333"},
		{"100000000000", "/", "3", "33333333333.33333333"}, {"1e-10", "/", "3", "0.0000000000333333333333333333"},
		{"2.0", "/", "7777777777777", "0.00000000000025714285714288285714"}, {"0", "/", "5", "0.00000000000000000000"},
		{"1.5", "/", "0.0001", "15000.0000000000000000"}, {"5.5", "%", "2", "1.5"}, {"-5.5", "%", "2", "-1.5"},
		{"1e20", "%", "7", "2"}, {"-7.5", "div", "2", "-3"}, {"1e30", "div", "7", "142857142857142857142857142857"},
		{"1.1", "*", "1.10", "1.210"}, {"1.5", "+", "1.25", "2.75"}, {"Infinity", "-", "Infinity", "NaN"}, {"Infinity", "*", "0", "NaN"},
		{"5", "/", "Infinity", "0"}, {"2", "^", "0.5", "1.4142135623730950"}, {"0.5", "^", "100", "0.0000000000000000"},
		{"2", "^", "100", "1267650600228229401496703205376.0000000000000000"}, {"1.5", "^", "-10.5", "0.01415929988433321"},
		{"1.1", "log", "5", "16.886317030755086"}, {"9223372036854775807", "+", "1", "9223372036854775808"},
	} {
		d, err := bin[c.op](num(t, c.a), num(t, c.b))
		if err != nil {
			t.Errorf("%s %s %s: %v", c.a, c.op, c.b, err)
		} else if got := NumericString(d); got != c.want {
			t.Errorf("%s %s %s = %s, want %s", c.a, c.op, c.b, got, c.want)
		}
	}
	checkInOut(t, testEnv(), []inOut{
		{"numeric", " inf ", "Infinity", ""}, {"numeric", "00012.300", "12.300", ""}, {"numeric", "1.50e1", "15.0", ""},
		{"numeric", "-0.00", "0.00", ""}, {"numeric", "5.", "5", ""}, {"numeric", "1_000", `invalid input syntax for type numeric: "1_000"`, "22P02"},
		{"numeric", "1e131072", "value overflows numeric format", "22003"}, {"numeric", "1e-16384", "value overflows numeric format", "22003"},
		{"numeric", "123456789012345678901234567890.12345", "123456789012345678901234567890.12345", ""},
	})
	if _, err := ApplyNumericTypMod(num(t, "12345.678"), NumericTypMod(5, 2)); errText(err) !=
		"22003 numeric field overflow|A field with precision 5, scale 2 must round to an absolute value less than 10^3." {
		t.Error(err)
	}
}

func drawNumeric(t *rapid.T, label string) Datum {
	s := rapid.StringMatching(`-?[0-9]{1,25}(\.[0-9]{0,20})?`).Draw(t, label)
	d, err := ParseNumeric(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The three magnitudes (64 bits, 128 bits, math/big) must agree with one another.
func TestNumericProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawNumeric(t, "a"), drawNumeric(t, "b")
		sum, _ := NumericAdd(a, b)
		back, _ := NumericSub(sum, b)
		if NumericCmp(back, a) != 0 || NumericHash(back) != NumericHash(a) {
			t.Fatalf("(a+b)-b = %s", NumericString(back))
		}
		p, _ := NumericMul(a, b)
		q, _ := NumericMul(b, a)
		if NumericCmp(p, q) != 0 {
			t.Fatal("a*b != b*a")
		}
		var s NumericSum
		s.Add(a)
		s.Add(b)
		if total, _ := s.Sum(); NumericString(total) != NumericString(sum) {
			t.Fatalf("sum %s, add %s", NumericString(total), NumericString(sum))
		}
		s.Remove(b)
		if total, _ := s.Sum(); NumericCmp(total, a) != 0 {
			t.Fatal("remove")
		}
		bin := sendNumeric(nil, nil, a)
		if d, err := recvNumeric(nil, bin, -1); err != nil || d != a {
			t.Fatalf("binary: %v %v", d, err)
		}
		if d, err := ParseNumeric(NumericString(a)); err != nil || d != a {
			t.Fatalf("text: %v %v", d, err)
		}
	})
}

func TestNumericSmallDoesNotAllocate(t *testing.T) {
	a, b := num(t, "12345.67"), num(t, "0.0825")
	if n := testing.AllocsPerRun(100, func() {
		p, _ := NumericMul(a, b)
		s, _ := NumericAdd(p, a)
		if NumericCmp(s, a) < 0 {
			t.Fail()
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzParseNumeric(f *testing.F) {
	for _, s := range []string{"1", "-1.5e10", "NaN", "1e-5", ".", "1e99999", "0e99999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseNumeric(s)
		if err != nil {
			return
		}
		if e, err := ParseNumeric(NumericString(d)); err != nil || NumericCmp(d, e) != 0 {
			t.Fatalf("%q: %v", s, err)
		}
	})
}

var sinkDatum Datum

func BenchmarkNumeric(b *testing.B) {
	x, y := num(b, "12345.67"), num(b, "0.0825")
	b.Run("add", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sinkDatum, _ = NumericAdd(x, y)
		}
	})
	b.Run("mul", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sinkDatum, _ = NumericMul(x, y)
		}
	})
	b.Run("div", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sinkDatum, _ = NumericDiv(x, y)
		}
	})
	b.Run("sum", func(b *testing.B) {
		b.ReportAllocs()
		var s NumericSum
		for b.Loop() {
			s.Add(x)
		}
		sinkDatum, _ = s.Sum()
	})
}
