package expr

import (
	"math"
	"strings"

	"ostraka/sqltypes"
)

// Kernels of casts between numbers, of date arithmetic, extract and LIKE.

func init() {
	same := func(res, x *Vec, sel []uint16) bool { copy(res.I64, x.I64); return true }
	sameOne := func(a sqltypes.Datum) (sqltypes.Datum, bool) { return a, true }
	for _, src := range []string{"i2toi4", "int48", "int28"} {
		addUnary(src, sqltypes.KInt, sameOne, same)
	}
	for src, w := range map[string]int{"i4toi2": 2, "int82": 2, "int84": 4} {
		lo, hi := intRange(w)
		addUnary(src, sqltypes.KInt, func(a sqltypes.Datum) (sqltypes.Datum, bool) {
			return a, a.I >= lo && a.I <= hi
		}, nil)
	}
	for _, src := range []string{"i2tod", "i4tod", "i8tod", "i2tof", "i4tof", "i8tof"} {
		single := strings.HasSuffix(src, "tof")
		conv := func(v int64) float64 {
			if single {
				return float64(float32(v))
			}
			return float64(v)
		}
		addUnary(src, sqltypes.KFloat, func(a sqltypes.Datum) (sqltypes.Datum, bool) {
			return sqltypes.Float(conv(a.I)), true
		}, func(res, x *Vec, sel []uint16) bool {
			for _, i := range sel {
				res.F64[i] = conv(x.I64[i])
			}
			return true
		})
	}
	addUnary("ftod", sqltypes.KFloat, sameOne, func(res, x *Vec, sel []uint16) bool { copy(res.F64, x.F64); return true })
	for _, src := range []string{"int2_numeric", "int4_numeric", "int8_numeric"} {
		addUnary(src, sqltypes.KNumeric, func(a sqltypes.Datum) (sqltypes.Datum, bool) {
			return sqltypes.Datum{I: a.I}, true
		}, func(res, x *Vec, sel []uint16) bool {
			copy(res.I64, x.I64)
			res.Scale = 0
			return true
		})
	}
	addKernel("numeric", 2, numericTypmod)
	addKernel("extract_date", 2, extractDate)
	addKernel("textlike", 2, like)
	addKernel("date_pli", 2, dateShift(1))
	addKernel("date_mii", 2, dateShift(-1))
}

// numericTypmod enforces numeric(precision, scale) where no digit is lost.
func numericTypmod(_ *compiler, e *Call, args []node, generic *mapNode) node {
	k, ok := e.Args[1].(*Const)
	if !ok || k.Val.Null || k.Val.I < 4 {
		return nil
	}
	mod := k.Val.I - 4
	precision, scale := int32(mod>>16&0xFFFF), int32(mod&0x7FF)
	limit, ok := pow10(precision)
	if !ok || scale >= 1024 {
		return nil
	}
	n := &binNode{a: args[0], b: args[1], generic: generic, kind: sqltypes.KNumeric}
	n.one = func(a, _ sqltypes.Datum) (sqltypes.Datum, bool) {
		if a.S != "" || a.Aux > scale {
			return a, false
		}
		f, ok := pow10(scale - a.Aux)
		if !ok {
			return a, false
		}
		v, ok := mulOK(a.I, f)
		return sqltypes.Datum{I: v, Aux: scale}, ok && v < limit && v > -limit
	}
	n.run = func(res, x, _ *Vec, sel []uint16) bool {
		if x.Wide || x.Scale > scale || x.Scale < 0 {
			return false
		}
		f, ok := pow10(scale - x.Scale)
		if !ok {
			return false
		}
		res.Scale = scale
		for _, i := range sel {
			v, ok := mulOK(x.I64[i], f)
			if (!ok || v >= limit || v <= -limit) && !res.ignored(i) {
				return false
			}
			res.I64[i] = v
		}
		return true
	}
	return n
}

// dateShift is date ± integer.
func dateShift(sign int64) func(*compiler, *Call, []node, *mapNode) node {
	one := func(a, b int64) (int64, bool) {
		r := a + sign*b
		return r, a != math.MaxInt32 && a != math.MinInt32 && r > -2000000 && r < 100000000
	}
	return func(_ *compiler, _ *Call, args []node, generic *mapNode) node {
		n := &binNode{a: args[0], b: args[1], generic: generic, kind: sqltypes.KInt}
		n.one = func(a, b sqltypes.Datum) (sqltypes.Datum, bool) {
			r, ok := one(a.I, b.I)
			return sqltypes.Int(r), ok
		}
		n.run = func(res, x, y *Vec, sel []uint16) bool {
			for _, i := range sel {
				r, ok := one(x.I64[i], y.I64[i])
				if !ok && !res.ignored(i) {
					return false
				}
				res.I64[i] = r
			}
			return true
		}
		return n
	}
}

// extractDate is EXTRACT(year|month|day FROM date) with a constant field.
func extractDate(_ *compiler, e *Call, args []node, generic *mapNode) node {
	k, ok := e.Args[0].(*Const)
	if !ok || k.Val.Null {
		return nil
	}
	var part func(days int64) int64
	switch k.Val.S {
	case "year":
		part = func(d int64) int64 {
			y, _, _ := civil(d)
			if y <= 0 {
				y--
			}
			return y
		}
	case "month":
		part = func(d int64) int64 { _, m, _ := civil(d); return m }
	case "day":
		part = func(d int64) int64 { _, _, x := civil(d); return x }
	default:
		return nil
	}
	n := &binNode{a: args[0], b: args[1], generic: generic, kind: sqltypes.KNumeric}
	n.one = func(_, b sqltypes.Datum) (sqltypes.Datum, bool) {
		if b.I == math.MaxInt32 || b.I == math.MinInt32 {
			return b, false
		}
		return sqltypes.Datum{I: part(b.I)}, true
	}
	n.run = func(res, _, y *Vec, sel []uint16) bool {
		res.Scale = 0
		for _, i := range sel {
			d := y.I64[i]
			if (d == math.MaxInt32 || d == math.MinInt32) && !res.ignored(i) {
				return false
			}
			res.I64[i] = part(d)
		}
		return true
	}
	return n
}

// civil is the proleptic Gregorian date (astronomical year) of days since 2000-01-01.
func civil(days int64) (y, m, d int64) {
	z := days + 730425 + 0 // days since 0000-03-01
	era := z / 146097
	if z < 0 {
		era = (z - 146096) / 146097
	}
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	d = doy - (153*mp+2)/5 + 1
	m = mp + 3
	if m > 12 {
		m -= 12
	}
	y = yoe + era*400
	if m <= 2 {
		y++
	}
	return
}

// like is LIKE with a constant pattern that has wildcards only as % at its ends.
func like(_ *compiler, e *Call, args []node, generic *mapNode) node {
	k, ok := e.Args[1].(*Const)
	if !ok || k.Val.Null || strings.ContainsAny(k.Val.S, `_\`) {
		return nil
	}
	p := k.Val.S
	open, end := strings.HasPrefix(p, "%"), strings.HasSuffix(p, "%")
	body := strings.Trim(p, "%")
	if strings.Contains(body, "%") {
		return nil
	}
	var match func(s string) bool
	switch {
	case body == "" && open:
		match = func(string) bool { return true }
	case open && end:
		match = func(s string) bool { return strings.Contains(s, body) }
	case open:
		match = func(s string) bool { return strings.HasSuffix(s, body) }
	case end:
		match = func(s string) bool { return strings.HasPrefix(s, body) }
	default:
		match = func(s string) bool { return s == body }
	}
	n := &binNode{a: args[0], b: args[1], generic: generic, kind: sqltypes.KInt}
	n.one = func(a, _ sqltypes.Datum) (sqltypes.Datum, bool) { return sqltypes.Bool(match(a.S)), true }
	n.run = func(res, x, _ *Vec, sel []uint16) bool {
		for _, i := range sel {
			res.I64[i] = b2i(match(x.Str[i]))
		}
		return true
	}
	return n
}
