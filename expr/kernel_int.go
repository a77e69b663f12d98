package expr

import (
	"math"

	"ostraka/sqltypes"
)

// Kernels of smallint, integer and bigint arithmetic. When a result is out of
// range, or a divisor zero, the function itself runs and raises the error.

func init() {
	widths := map[string]int{"int2": 2, "int24": 4, "int42": 4, "int4": 4, "int28": 8, "int48": 8, "int82": 8, "int84": 8, "int8": 8}
	for name, w := range widths {
		addInt(name+"pl", w, addInts, func(a, b int64) (int64, bool) {
			r := a + b
			return r, (a^r)&(b^r) >= 0
		})
		addInt(name+"mi", w, subInts, func(a, b int64) (int64, bool) {
			r := a - b
			return r, (a^b)&(a^r) >= 0
		})
		addInt(name+"mul", w, mulInts, mulOK)
		addInt(name+"div", w, nil, func(a, b int64) (int64, bool) {
			if b == 0 || b == -1 && a == math.MinInt64 {
				return 0, false
			}
			return a / b, true
		})
	}
	for name, w := range map[string]int{"int2mod": 2, "int4mod": 4, "int8mod": 8} {
		addInt(name, w, nil, func(a, b int64) (int64, bool) {
			if b == 0 {
				return 0, false
			}
			if b == -1 {
				return 0, true
			}
			return a % b, true
		})
	}
	for name, w := range map[string]int{"int2um": 2, "int4um": 4, "int8um": 8} {
		lo, _ := intRange(w)
		addUnary(name, sqltypes.KInt, func(a sqltypes.Datum) (sqltypes.Datum, bool) {
			return sqltypes.Int(-a.I), a.I != lo
		}, func(res, x *Vec, sel []uint16) bool {
			bad := int64(0)
			for _, i := range sel {
				v := x.I64[i]
				res.I64[i] = -v
				bad |= b2i(v == lo)
			}
			return bad == 0
		})
	}
}

func intRange(width int) (lo, hi int64) {
	switch width {
	case 2:
		return math.MinInt16, math.MaxInt16
	case 4:
		return math.MinInt32, math.MaxInt32
	}
	return math.MinInt64, math.MaxInt64
}

// intLoop computes all rows and returns a non-zero value if any overflowed int64.
type intLoop func(res, x, y []int64, sel []uint16) (bad int64)

func addInt(src string, width int, loop intLoop, one func(a, b int64) (int64, bool)) {
	lo, hi := intRange(width)
	span := uint64(hi - lo)
	addKernel(src, 2, func(_ *compiler, _ *Call, args []node, generic *mapNode) node {
		n := &binNode{a: args[0], b: args[1], generic: generic, kind: sqltypes.KInt}
		n.one = func(a, b sqltypes.Datum) (sqltypes.Datum, bool) {
			r, ok := one(a.I, b.I)
			return sqltypes.Int(r), ok && uint64(r-lo) <= span
		}
		n.run = func(res, x, y *Vec, sel []uint16) bool {
			if loop == nil {
				for _, i := range sel {
					r, ok := one(x.I64[i], y.I64[i])
					if (!ok || uint64(r-lo) > span) && !res.ignored(i) {
						return false
					}
					res.I64[i] = r
				}
				return true
			}
			if loop(res.I64, x.I64, y.I64, sel) < 0 {
				return res.Null != nil && retryInts(res, x, y, sel, one, lo, span)
			}
			if width == 8 {
				return true
			}
			bad := int64(0)
			for _, i := range sel {
				bad |= b2i(uint64(res.I64[i]-lo) > span)
			}
			return bad == 0 || res.Null != nil && retryInts(res, x, y, sel, one, lo, span)
		}
		return n
	})
}

// retryInts looks whether all rows that failed are NULL.
func retryInts(res, x, y *Vec, sel []uint16, one func(a, b int64) (int64, bool), lo int64, span uint64) bool {
	for _, i := range sel {
		if r, ok := one(x.I64[i], y.I64[i]); (!ok || uint64(r-lo) > span) && !res.ignored(i) {
			return false
		}
	}
	return true
}

func addInts(res, x, y []int64, sel []uint16) (bad int64) {
	for _, i := range sel {
		a, b := x[i], y[i]
		r := a + b
		res[i] = r
		bad |= (a ^ r) & (b ^ r)
	}
	return bad
}

func subInts(res, x, y []int64, sel []uint16) (bad int64) {
	for _, i := range sel {
		a, b := x[i], y[i]
		r := a - b
		res[i] = r
		bad |= (a ^ b) & (a ^ r)
	}
	return bad
}

func mulInts(res, x, y []int64, sel []uint16) int64 {
	bad := uint64(0)
	for _, i := range sel {
		hi, lo := mul128(x[i], y[i])
		res[i] = int64(lo)
		bad |= uint64(hi) ^ uint64(int64(lo)>>63)
	}
	if bad != 0 {
		return -1
	}
	return 0
}

func addUnary(src string, kind sqltypes.Kind, one func(a sqltypes.Datum) (sqltypes.Datum, bool), run func(res, x *Vec, sel []uint16) bool) {
	addKernel(src, 1, func(_ *compiler, _ *Call, args []node, generic *mapNode) node {
		n := &unNode{a: args[0], generic: generic, kind: kind, one: one, run: run}
		if run == nil {
			n.run = func(res, x *Vec, sel []uint16) bool {
				for _, i := range sel {
					if res.ignored(i) {
						continue
					}
					d, ok := one(x.Datum(int(i)))
					if !ok {
						return false
					}
					res.Set(int(i), d)
				}
				return true
			}
		}
		return n
	})
}
