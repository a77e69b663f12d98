package sqltypes

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestArraySetSliceAgainstOracle(t *testing.T) {
	o := pgOracle(t)
	o.exec("create temp table at(a int[])")
	r := rand.New(rand.NewPCG(41, 42))
	typ, elem := TypeByOID(OIDInt4Array), TypeByOID(OIDInt4)
	arrays := []string{"{}", "{1,2,3}", "[0:2]={7,8,9}", "{{1,2},{3,4}}", "[5:6]={1,NULL}"}
	bound := func() (string, int64, bool) {
		if r.IntN(4) == 0 {
			return "", 0, false
		}
		v := int64(r.IntN(8) - 2)
		return fmt.Sprint(v), v, true
	}
	for range 400 {
		as, ss := arrays[r.IntN(len(arrays))], []string{"{10,20,30,40,50,60}", "{10,20}", "{{5,6},{7,NULL}}", "{}"}[r.IntN(4)]
		sub, slices := "", []ArraySlice(nil)
		for range 1 + r.IntN(2) {
			lt, lv, lok := bound()
			ut, uv, uok := bound()
			sub += "[" + lt + ":" + ut + "]"
			slices = append(slices, ArraySlice{lv, uv, lok, uok})
		}
		a, err := typ.In(nil, as, -1)
		if err != nil {
			t.Fatal(err)
		}
		s, _ := typ.In(nil, ss, -1)
		got := ""
		if d, err := ArraySetSlice(elem, OpenArray(a), slices, OpenArray(s)); err != nil {
			got = errText(err)
		} else {
			got = string(typ.Out(nil, nil, d))
		}
		o.exec("truncate at; insert into at values('" + as + "')")
		if want := o.one("update at set a"+sub+" = $1::int[] returning a", ss); got != want {
			t.Errorf("%s%s = %s\n got %s\nwant %s", as, sub, ss, got, want)
		}
	}
}
