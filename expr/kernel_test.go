package expr

import (
	"math"
	"math/rand"
	"testing"

	"ostraka/sqltypes"
	_ "ostraka/sqltypes/builtin"
)

// Every kernel must agree with the function it stands for, row by row, on
// values, NULLs and errors.
func TestKernelsAgreeWithFunctions(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	tested := 0
	for _, p := range sqltypes.AllProcs() {
		k := kernels[p.Src]
		if k == nil || p.Fn == nil || len(p.ArgTypes) != k.nargs || p.Kind != 'f' {
			continue
		}
		tested++
		for round := range 30 {
			checkKernel(t, rng, p, k, round)
		}
	}
	if tested < 100 {
		t.Errorf("only %d kernels have a function to compare with", tested)
	}
}

func checkKernel(t *testing.T, rng *rand.Rand, p *sqltypes.Proc, k *kernel, round int) {
	call := &Call{T: T{sqltypes.ColumnType{OID: p.RetType, TypMod: -1}}, Proc: p}
	n := []int{1, 7, 64, 200}[round%4]
	b := &Batch{N: n}
	var env sqltypes.Env
	env.Formats = sqltypes.DefaultFormats()
	for i, at := range p.ArgTypes {
		typ := T{sqltypes.ColumnType{OID: at, TypMod: -1}}
		if p.Src == "extract_date" && i == 0 {
			call.Args = append(call.Args, &Const{T: typ, Val: sqltypes.Text([]string{"year", "month", "day"}[round%3])})
			continue
		}
		if p.Src == "textlike" && i == 1 {
			call.Args = append(call.Args, &Const{T: typ, Val: sqltypes.Text([]string{"a%", "%b", "%a%", "ab", "%"}[round%5])})
			continue
		}
		if p.Src == "numeric" && i == 1 {
			call.Args = append(call.Args, &Const{T: typ, Val: sqltypes.Int(int64([]int{10, 15, 5}[round%3]<<16 | []int{2, 4, 0}[round%3] + 4))})
			continue
		}
		if round%5 == 4 {
			call.Args = append(call.Args, &Const{T: typ, Val: randomDatum(rng, at, round, 1)})
			continue
		}
		v := NewVec(TypeFinder(nil).KindOf(at))
		v.Reset(v.Kind)
		scale := int32(rng.Intn(4))
		for j := range n {
			if rng.Intn(6) == 0 && round%2 == 0 {
				v.SetNull(j)
				continue
			}
			v.Set(j, randomDatum(rng, at, round, scale))
		}
		call.Args = append(call.Args, &Col{T: typ, Idx: len(b.Cols)})
		b.Cols = append(b.Cols, v)
	}
	if rng.Intn(2) == 0 {
		b.Sel = []uint16{}
		for i := range n {
			if rng.Intn(3) > 0 {
				b.Sel = append(b.Sel, uint16(i))
			}
		}
	}
	prog, err := Compile(call, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, gotErr := prog.Eval(b, nil, &env)
	c := compiler{}
	args, _ := c.list(call.Args)
	generic := c.genericCall(call, args)
	st := &state{params: &noParams, env: &env}
	row := make([]sqltypes.Datum, len(b.Cols))
	rowProg, _ := Compile(call, nil)
	var wantErr error
	for _, i := range b.Selection() {
		b.Row(int(i), row)
		want, err := generic.row(st, row)
		one, oneErr := rowProg.Row(row, nil, &env)
		if (err == nil) != (oneErr == nil) || err == nil && one != want {
			t.Fatalf("%s%v: row kernel %v %v, function %v %v", p.Src, row, one, oneErr, want, err)
		}
		if err != nil {
			wantErr = err
			break
		}
		if gotErr == nil {
			if g := got.Datum(int(i)); g != want {
				t.Fatalf("%s%v: kernel %v, function %v", p.Src, row, g, want)
			}
		}
	}
	if (gotErr == nil) != (wantErr == nil) || gotErr != nil && gotErr.Error() != wantErr.Error() {
		t.Fatalf("%s: kernel error %v, function error %v", p.Src, gotErr, wantErr)
	}
	if p.RetType == sqltypes.OIDBool && gotErr == nil {
		sel, err := prog.Filter(b, make([]uint16, 0, BatchSize), nil, &env)
		if err != nil {
			t.Fatal(err)
		}
		k := 0
		for _, i := range b.Selection() {
			if got.Datum(int(i)).True() {
				if k >= len(sel) || sel[k] != i {
					t.Fatalf("%s: filter %v misses row %d", p.Src, sel, i)
				}
				k++
			}
		}
		if k != len(sel) {
			t.Fatalf("%s: filter keeps %d rows, not %d", p.Src, len(sel), k)
		}
	}
}

func randomDatum(rng *rand.Rand, oid sqltypes.OID, round int, scale int32) sqltypes.Datum {
	edge := rng.Intn(40) == 0 && round > 3
	small := int64(rng.Intn(200) - 100)
	pick := func(vals ...int64) sqltypes.Datum {
		if edge {
			return sqltypes.Int(vals[rng.Intn(len(vals))])
		}
		return sqltypes.Int(small)
	}
	switch oid {
	case sqltypes.OIDBool:
		return sqltypes.Int(int64(rng.Intn(2)))
	case sqltypes.OIDInt2:
		return pick(math.MinInt16, math.MaxInt16, 0)
	case sqltypes.OIDInt4:
		return pick(math.MinInt32, math.MaxInt32, 0)
	case sqltypes.OIDDate:
		if edge {
			return pick(math.MinInt32, math.MaxInt32, -800000)
		}
		return sqltypes.Int(small * 300)
	case sqltypes.OIDTimestamp:
		if rng.Intn(2) == 0 {
			return sqltypes.Int(small * 300 * dayMicros)
		}
		return pick(math.MinInt64, math.MaxInt64, 0, 1)
	case sqltypes.OIDInt8, sqltypes.OIDTimestamptz, sqltypes.OIDMoney:
		return pick(math.MinInt64, math.MaxInt64, 0, math.MaxInt32+1)
	case sqltypes.OIDTime, sqltypes.OIDOid:
		return sqltypes.Int(max(small, 0))
	case sqltypes.OIDFloat4, sqltypes.OIDFloat8:
		f := float64(small) / 4
		if edge {
			f = []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.MaxFloat32}[rng.Intn(5)]
		}
		return sqltypes.Float(f)
	case sqltypes.OIDNumeric:
		if edge {
			return sqltypes.NumericScaled(math.MaxInt64-small*small, scale)
		}
		if round%7 == 6 {
			scale = int32(rng.Intn(5))
		}
		return sqltypes.NumericScaled(small*1001, scale)
	case sqltypes.OIDUuid:
		return sqltypes.Text("0123456789abcde" + string(rune('a'+rng.Intn(3))))
	}
	return sqltypes.Text([]string{"", "a", "ab", "b", "abc", "ba", "ä"}[rng.Intn(7)])
}
