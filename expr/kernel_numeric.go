package expr

import (
	"math/bits"

	"ostraka/sqltypes"
)

// Kernels of numeric on scaled int64 vectors. Overflow of int64, or an operand
// in the wide form, sends the batch to the function itself.

func init() {
	addKernel("numeric_add", 2, numericSum(addInts))
	addKernel("numeric_sub", 2, numericSum(subInts))
	addKernel("numeric_mul", 2, func(_ *compiler, _ *Call, args []node, generic *mapNode) node {
		n := &binNode{a: args[0], b: args[1], generic: generic, kind: sqltypes.KNumeric}
		n.run = func(res, x, y *Vec, sel []uint16) bool {
			if x.Wide || y.Wide || x.Scale < 0 || y.Scale < 0 || x.Scale+y.Scale > 16383 {
				return false
			}
			res.Scale = x.Scale + y.Scale
			if mulInts(res.I64, x.I64, y.I64, sel) == 0 {
				return true
			}
			// Perhaps only rows that are NULL overflowed.
			for _, i := range sel {
				if _, ok := mulOK(x.I64[i], y.I64[i]); !ok && !res.ignored(i) {
					return false
				}
			}
			return true
		}
		return n
	})
	addUnary("numeric_uminus", sqltypes.KNumeric, func(a sqltypes.Datum) (sqltypes.Datum, bool) {
		return sqltypes.Datum{I: -a.I, Aux: a.Aux}, a.S == "" && a.I != -a.I || a.I == 0 && a.S == ""
	}, func(res, x *Vec, sel []uint16) bool {
		if x.Wide || x.Scale < 0 {
			return false
		}
		res.Scale = x.Scale
		bad := int64(0)
		for _, i := range sel {
			v := x.I64[i]
			res.I64[i] = -v
			bad |= v & -v
		}
		return bad >= 0
	})
}

// numericSum adds or subtracts after bringing both sides to the larger scale.
func numericSum(loop intLoop) func(*compiler, *Call, []node, *mapNode) node {
	return func(_ *compiler, _ *Call, args []node, generic *mapNode) node {
		n := &binNode{a: args[0], b: args[1], generic: generic, kind: sqltypes.KNumeric}
		al := &aligner{}
		n.run = func(res, x, y *Vec, sel []uint16) bool {
			xs, ys, scale, ok := al.align(x, y, sel)
			if !ok {
				return false
			}
			res.Scale = scale
			return loop(res.I64, xs, ys, sel) >= 0
		}
		return n
	}
}

// aligner brings two numeric vectors to a common scale.
type aligner struct{ tmp []int64 }

func (al *aligner) align(x, y *Vec, sel []uint16) (xs, ys []int64, scale int32, ok bool) {
	if x.Wide || y.Wide {
		return nil, nil, 0, false
	}
	xs, ys = x.I64, y.I64
	switch {
	case x.Scale == y.Scale:
		return xs, ys, max(x.Scale, 0), true
	case x.Scale < y.Scale:
		xs, ok = al.scaleUp(x, y.Scale, sel)
		return xs, ys, y.Scale, ok
	}
	ys, ok = al.scaleUp(y, x.Scale, sel)
	return xs, ys, x.Scale, ok
}

func (al *aligner) scaleUp(v *Vec, scale int32, sel []uint16) ([]int64, bool) {
	if v.Scale < 0 { // all NULL
		return v.I64, true
	}
	f, ok := pow10(scale - v.Scale)
	if !ok {
		return nil, false
	}
	if al.tmp == nil {
		al.tmp = make([]int64, BatchSize)
	}
	bad := uint64(0)
	for _, i := range sel {
		hi, lo := mul128(v.I64[i], f)
		al.tmp[i] = int64(lo)
		bad |= uint64(hi) ^ uint64(int64(lo)>>63)
	}
	return al.tmp, bad == 0
}

// pow10 is 10^k if it fits.
func pow10(k int32) (int64, bool) {
	if k < 0 || int(k) >= len(powersOf10) {
		return 0, false
	}
	return powersOf10[k], true
}

var powersOf10 = func() (p [19]int64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1] * 10
	}
	return
}()

// mul128 is the signed 128-bit product.
func mul128(a, b int64) (hi int64, lo uint64) {
	h, l := bits.Mul64(uint64(a), uint64(b))
	return int64(h) - (a>>63)&b - (b>>63)&a, l
}

// mulOK is the product if it fits 64 bits.
func mulOK(a, b int64) (int64, bool) {
	hi, lo := mul128(a, b)
	return int64(lo), hi == int64(lo)>>63
}
