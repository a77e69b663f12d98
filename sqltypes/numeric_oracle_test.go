package sqltypes

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"ostraka/sqltypes/pgerror"
)

// errText is an error as pgOracleConn.query shows it.
func errText(err error) string {
	var e *pgerror.Error
	if errors.As(err, &e) {
		s := string(e.Code) + " " + e.Message
		if e.Detail != "" {
			s += "|" + e.Detail
		}
		return s
	}
	return err.Error()
}

func randNumeric(r *rand.Rand) string {
	switch r.IntN(14) {
	case 0:
		return "NaN"
	case 1:
		return "Infinity"
	case 2:
		return "-Infinity"
	case 3:
		return "0"
	case 4:
		return fmt.Sprintf("%d", r.IntN(200)-100)
	}
	digits := func(n int) string {
		var b strings.Builder
		for i := 0; i < n; i++ {
			b.WriteByte(byte('0' + r.IntN(10)))
		}
		return b.String()
	}
	s := digits(r.IntN(1+[]int{3, 10, 25, 45}[r.IntN(4)])) + "."
	if r.IntN(2) == 0 {
		s += strings.Repeat("0", r.IntN(9))
	}
	s += digits(1 + r.IntN([]int{2, 8, 30}[r.IntN(3)]))
	if r.IntN(3) == 0 {
		s = "-" + s
	}
	if r.IntN(8) == 0 {
		s += fmt.Sprintf("e%d", r.IntN(40)-20)
	}
	return s
}

func TestNumericAgainstOracle(t *testing.T) {
	o := pgOracle(t)
	r := rand.New(rand.NewPCG(1, 2))
	type op struct {
		sql string
		f   func(a, b Datum) (Datum, error)
	}
	ops := []op{
		{"$1::numeric + $2::numeric", NumericAdd}, {"$1::numeric - $2::numeric", NumericSub},
		{"$1::numeric * $2::numeric", NumericMul}, {"$1::numeric / $2::numeric", NumericDiv},
		{"$1::numeric % $2::numeric", NumericMod}, {"div($1::numeric, $2::numeric)", NumericDivTrunc},
		{"gcd($1::numeric, $2::numeric)", NumericGCD}, {"lcm($1::numeric, $2::numeric)", NumericLCM},
		{"power($1::numeric, $2::numeric)", NumericPower}, {"log($1::numeric, $2::numeric)", NumericLog},
	}
	un := []op{
		{"sqrt($1::numeric)", func(a, _ Datum) (Datum, error) { return NumericSqrt(a) }},
		{"exp($1::numeric)", func(a, _ Datum) (Datum, error) { return NumericExp(a) }},
		{"ln($1::numeric)", func(a, _ Datum) (Datum, error) { return NumericLn(a) }},
		{"ceil($1::numeric)", func(a, _ Datum) (Datum, error) { return NumericCeil(a) }},
		{"floor($1::numeric)", func(a, _ Datum) (Datum, error) { return NumericFloor(a) }},
		{"round($1::numeric,2)", func(a, _ Datum) (Datum, error) { return NumericRound(a, 2) }},
		{"round($1::numeric,-2)", func(a, _ Datum) (Datum, error) { return NumericRound(a, -2) }},
		{"trunc($1::numeric,1)", func(a, _ Datum) (Datum, error) { return NumericTrunc(a, 1) }},
		{"trim_scale($1::numeric)", func(a, _ Datum) (Datum, error) { return NumericTrimScale(a), nil }},
		{"$1::numeric::numeric(10,3)", func(a, _ Datum) (Datum, error) { return ApplyNumericTypMod(a, NumericTypMod(10, 3)) }},
		{"$1::numeric::numeric(3,-2)", func(a, _ Datum) (Datum, error) { return ApplyNumericTypMod(a, NumericTypMod(3, -2)) }},
		{"$1::numeric::int4::numeric", func(a, _ Datum) (Datum, error) { v, err := NumericToInt(a, 32); return Int(v), err }},
	}
	bad := 0
	for i := 0; i < 1200 && bad < 25; i++ {
		as, bs := randNumeric(r), randNumeric(r)
		a, err := ParseNumeric(as)
		if err != nil {
			t.Fatal(as, err)
		}
		b, _ := ParseNumeric(bs)
		check := func(sql string, params []string, d Datum, err error) {
			want := o.one("select "+sql, params...)
			got := ""
			if err != nil {
				got = errText(err)
			} else {
				got = NumericString(d)
			}
			if got != want {
				bad++
				t.Errorf("%s %v\n got %.150s\nwant %.150s", sql, params, got, want)
			}
		}
		p := ops[i%len(ops)]
		if strings.HasPrefix(p.sql, "power") && len(bs) > 12 {
			bs = bs[:6]
			if b, err = ParseNumeric(bs); err != nil {
				continue
			}
		}
		d, err := p.f(a, b)
		check(p.sql, []string{as, bs}, d, err)
		u := un[i%len(un)]
		d, err = u.f(a, b)
		check(u.sql, []string{as}, d, err)
		c := "0"
		if n := NumericCmp(a, b); n < 0 {
			c = "-1"
		} else if n > 0 {
			c = "1"
		}
		if want := o.one("select numeric_cmp($1::numeric,$2::numeric)", as, bs); want != c {
			t.Errorf("cmp %s %s got %s want %s", as, bs, c, want)
		}
		// Binary form.
		got := fmt.Sprintf("\\x%x", sendNumeric(nil, nil, a))
		if want := o.one("select numeric_send($1::numeric)", as); want != got {
			t.Errorf("send %s got %s want %s", as, got, want)
		}
		back, err := recvNumeric(nil, sendNumeric(nil, nil, a), -1)
		if err != nil || NumericString(back) != NumericString(a) {
			t.Errorf("recv %s: %v %v", as, NumericString(back), err)
		}
	}
}
