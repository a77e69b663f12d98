package builtin

import (
	"math"
	"math/bits"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// intWidth is one of the three integer types: their bounds and the name that
// errors use.
type intWidth struct {
	min, max int64
	name     string
}

var (
	width2 = intWidth{math.MinInt16, math.MaxInt16, "smallint"}
	width4 = intWidth{math.MinInt32, math.MaxInt32, "integer"}
	width8 = intWidth{math.MinInt64, math.MaxInt64, "bigint"}
)

func (w intWidth) outOfRange() *pgerror.Error {
	return pgerror.New(pgerror.NumericValueOutOfRange, "%s out of range", w.name)
}

func divisionByZero() *pgerror.Error {
	return pgerror.New(pgerror.DivisionByZero, "division by zero")
}

// fit returns v as a value of the type.
func (w intWidth) fit(v int64) (Datum, error) {
	if v < w.min || v > w.max {
		return fail(w.outOfRange())
	}
	return integer(v)
}

func (w intWidth) add(_ *Call, args []Datum) (Datum, error) {
	a, b := args[0].I, args[1].I
	sum := a + b
	if (a >= 0) == (b >= 0) && (sum >= 0) != (a >= 0) {
		return fail(w.outOfRange())
	}
	return w.fit(sum)
}

func (w intWidth) sub(_ *Call, args []Datum) (Datum, error) {
	a, b := args[0].I, args[1].I
	diff := a - b
	if (a >= 0) != (b >= 0) && (diff >= 0) != (a >= 0) {
		return fail(w.outOfRange())
	}
	return w.fit(diff)
}

func (w intWidth) mul(_ *Call, args []Datum) (Datum, error) {
	p, ok := mulInt64(args[0].I, args[1].I)
	if !ok {
		return fail(w.outOfRange())
	}
	return w.fit(p)
}

// mulInt64 multiplies; ok is false on overflow.
func mulInt64(a, b int64) (p int64, ok bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	hi, lo := bits.Mul64(absUint(a), absUint(b))
	negative := (a < 0) != (b < 0)
	if hi != 0 || lo > math.MaxInt64+1 || lo == math.MaxInt64+1 && !negative {
		return 0, false
	}
	if negative {
		return -int64(lo), true
	}
	return int64(lo), true
}

func absUint(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

func (w intWidth) div(_ *Call, args []Datum) (Datum, error) {
	a, b := args[0].I, args[1].I
	if b == 0 {
		return fail(divisionByZero())
	}
	if b == -1 {
		if a == math.MinInt64 {
			return fail(w.outOfRange())
		}
		return w.fit(-a)
	}
	return integer(a / b)
}

func (w intWidth) mod(_ *Call, args []Datum) (Datum, error) {
	if args[1].I == 0 {
		return fail(divisionByZero())
	}
	if args[1].I == -1 {
		return integer(0)
	}
	return integer(args[0].I % args[1].I)
}

func (w intWidth) neg(_ *Call, args []Datum) (Datum, error) {
	if args[0].I == w.min {
		return fail(w.outOfRange())
	}
	return integer(-args[0].I)
}

func (w intWidth) abs(c *Call, args []Datum) (Datum, error) {
	if args[0].I < 0 {
		return w.neg(c, args)
	}
	return args[0], nil
}

// shift counts are taken modulo 32 or 64, as the C code's hardware does.
func (w intWidth) shl(_ *Call, args []Datum) (Datum, error) {
	if w == width8 {
		return integer(args[0].I << (uint64(args[1].I) & 63))
	}
	v := int32(args[0].I) << (uint64(args[1].I) & 31)
	if w == width2 {
		return integer(int64(int16(v)))
	}
	return integer(int64(v))
}

func (w intWidth) shr(_ *Call, args []Datum) (Datum, error) {
	if w == width8 {
		return integer(args[0].I >> (uint64(args[1].I) & 63))
	}
	return integer(int64(int32(args[0].I) >> (uint64(args[1].I) & 31)))
}

func (w intWidth) gcd(_ *Call, args []Datum) (Datum, error) {
	g := gcd(absUint(args[0].I), absUint(args[1].I))
	if g > uint64(w.max) {
		return fail(w.outOfRange())
	}
	return integer(int64(g))
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (w intWidth) lcm(_ *Call, args []Datum) (Datum, error) {
	a, b := absUint(args[0].I), absUint(args[1].I)
	if a == 0 || b == 0 {
		return integer(0)
	}
	hi, lo := bits.Mul64(a/gcd(a, b), b)
	if hi != 0 || lo > uint64(w.max) {
		return fail(w.outOfRange())
	}
	return integer(int64(lo))
}

func bitAnd(_ *Call, args []Datum) (Datum, error) { return integer(args[0].I & args[1].I) }
func bitOr(_ *Call, args []Datum) (Datum, error)  { return integer(args[0].I | args[1].I) }
func bitXor(_ *Call, args []Datum) (Datum, error) { return integer(args[0].I ^ args[1].I) }
func bitNot(_ *Call, args []Datum) (Datum, error) { return integer(^args[0].I) }

func init() {
	// Operators between widths compute in the wider one.
	for name, w := range map[string]intWidth{
		"int2": width2, "int4": width4, "int8": width8,
		"int24": width4, "int42": width4, "int28": width8, "int82": width8, "int48": width8, "int84": width8,
	} {
		scalarTable{name + "pl": w.add, name + "mi": w.sub, name + "mul": w.mul, name + "div": w.div}.register()
		compareOps(name+"*", compareInt, nil)
	}
	for name, w := range map[string]intWidth{"int2": width2, "int4": width4, "int8": width8} {
		scalarTable{
			name + "mod": w.mod, name + "um": w.neg, name + "up": first, name + "abs": w.abs,
			name + "and": bitAnd, name + "or": bitOr, name + "xor": bitXor, name + "not": bitNot,
			name + "shl": w.shl, name + "shr": w.shr,
			name + "larger": larger(compareInt), name + "smaller": smaller(compareInt),
		}.register()
	}
	one := sqltypes.Int(1)
	scalarTable{
		"int4gcd": width4.gcd, "int8gcd": width8.gcd, "int4lcm": width4.lcm, "int8lcm": width8.lcm,
		"int4inc": func(c *Call, a []Datum) (Datum, error) { return width4.add(c, []Datum{a[0], one}) },
		"int8inc": func(c *Call, a []Datum) (Datum, error) { return width8.add(c, []Datum{a[0], one}) },
		"int8dec": func(c *Call, a []Datum) (Datum, error) { return width8.sub(c, []Datum{a[0], one}) },
		// Casts.
		"int28": first, "int48": first, "i2toi4": first,
		"int82":  func(_ *Call, a []Datum) (Datum, error) { return width2.fit(a[0].I) },
		"int84":  func(_ *Call, a []Datum) (Datum, error) { return width4.fit(a[0].I) },
		"i4toi2": func(_ *Call, a []Datum) (Datum, error) { return width2.fit(a[0].I) },
		"i8tooid": func(_ *Call, a []Datum) (Datum, error) {
			if a[0].I < 0 || a[0].I > math.MaxUint32 {
				return fail(pgerror.New(pgerror.NumericValueOutOfRange, "OID out of range"))
			}
			return a[0], nil
		},
		"oidtoi8":   first,
		"i4tochar":  intToChar,
		"chartoi4":  func(_ *Call, a []Datum) (Datum, error) { return integer(int64(int8(a[0].I))) },
		"int4_bool": func(_ *Call, a []Datum) (Datum, error) { return boolean(a[0].I != 0) },
		"bool_int4": first,
		"to_hex32":  func(_ *Call, a []Datum) (Datum, error) { return hex(uint64(uint32(a[0].I))) },
		"to_hex64":  func(_ *Call, a []Datum) (Datum, error) { return hex(uint64(a[0].I)) },
	}.register()
}
