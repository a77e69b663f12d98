package expr

import (
	"math"

	"ostraka/sqltypes"
)

// Kernels of real and double precision arithmetic. A result that is suddenly
// infinite, or zero, or a zero divisor, sends the batch to the function itself,
// which raises PostgreSQL's errors.

func init() {
	for _, name := range []string{"float8", "float48", "float84", "float4"} {
		single := name == "float4"
		addFloat(name+"pl", single, func(a, b float64) float64 { return a + b }, func(res, x, y []float64, sel []uint16) {
			for _, i := range sel {
				res[i] = x[i] + y[i]
			}
		}, false)
		addFloat(name+"mi", single, func(a, b float64) float64 { return a - b }, func(res, x, y []float64, sel []uint16) {
			for _, i := range sel {
				res[i] = x[i] - y[i]
			}
		}, false)
		addFloat(name+"mul", single, func(a, b float64) float64 { return a * b }, func(res, x, y []float64, sel []uint16) {
			for _, i := range sel {
				res[i] = x[i] * y[i]
			}
		}, true)
		addFloat(name+"div", single, func(a, b float64) float64 { return a / b }, func(res, x, y []float64, sel []uint16) {
			for _, i := range sel {
				res[i] = x[i] / y[i]
			}
		}, true)
	}
}

// addFloat registers a kernel; zero tells that a zero result needs a closer look (underflow).
func addFloat(src string, single bool, one func(a, b float64) float64, loop func(res, x, y []float64, sel []uint16), zero bool) {
	ok := func(r float64) bool { return !math.IsInf(r, 0) && r == r && (!zero || r != 0) }
	addKernel(src, 2, func(_ *compiler, _ *Call, args []node, generic *mapNode) node {
		n := &binNode{a: args[0], b: args[1], generic: generic, kind: sqltypes.KFloat}
		n.one = func(a, b sqltypes.Datum) (sqltypes.Datum, bool) {
			r := one(a.Float(), b.Float())
			if single {
				r = float64(float32(r))
			}
			return sqltypes.Float(r), ok(r)
		}
		n.run = func(res, x, y *Vec, sel []uint16) bool {
			loop(res.F64, x.F64, y.F64, sel)
			if single {
				for _, i := range sel {
					res.F64[i] = float64(float32(res.F64[i]))
				}
			}
			for _, i := range sel {
				if !ok(res.F64[i]) && !res.ignored(i) {
					return false
				}
			}
			return true
		}
		return n
	})
}
