package expr

import (
	"math"
	"strings"

	"ostraka/sqltypes"
)

// Comparison kernels. One loop serves all six operators: it computes -1, 0 or 1
// and looks up whether the operator accepts that.

type accept [3]uint8 // less, equal, greater

var operatorsByName = map[string]accept{
	"eq": {0, 1, 0}, "ne": {1, 0, 1}, "lt": {1, 0, 0}, "le": {1, 1, 0}, "gt": {0, 0, 1}, "ge": {0, 1, 1},
}

func init() {
	for op, acc := range operatorsByName {
		for _, t := range []string{"int2", "int24", "int28", "int4", "int42", "int48", "int8", "int82", "int84",
			"date_", "timestamp_", "timestamptz_", "time_", "bool", "oid", "cash_"} {
			addCompare(t+op, acc, compareInts)
		}
		for _, t := range []string{"float8", "float4", "float48", "float84"} {
			addCompare(t+op, acc, compareFloats)
		}
		addCompare("numeric_"+op, acc, compareNumerics)
		addCompare("date_"+op+"_timestamp", acc, compareDateTime)
		addCompare("timestamp_"+op+"_date", acc, compareTimeDate)
		for _, t := range []string{"text_", "bytea", "uuid_"} {
			addCompare(t+op, acc, compareStrings)
		}
	}
	addCompare("texteq", operatorsByName["eq"], compareStrings)
	addCompare("textne", operatorsByName["ne"], compareStrings)
}

type compareKind uint8

const (
	compareInts compareKind = iota
	compareFloats
	compareNumerics
	compareStrings
	// A date with a timestamp, and the other way round.
	compareDateTime
	compareTimeDate
)

func addCompare(src string, acc accept, kind compareKind) {
	repr := [...]sqltypes.Kind{sqltypes.KInt, sqltypes.KFloat, sqltypes.KNumeric, sqltypes.KBytes, sqltypes.KInt, sqltypes.KInt}[kind]
	addKernel(src, 2, func(c *compiler, e *Call, args []node, generic *mapNode) node {
		if c.kind(e.Args[0]) != repr {
			return nil
		}
		n := &compareNode{a: args[0], b: args[1], acc: acc, kind: kind, generic: generic}
		// A constant on the left changes sides, so that the fast paths see it on the right.
		if _, ok := n.a.(constant); ok {
			n.a, n.b, n.swapped = n.b, n.a, true
			n.acc[0], n.acc[2] = acc[2], acc[0]
			switch kind {
			case compareDateTime:
				n.kind = compareTimeDate
			case compareTimeDate:
				n.kind = compareDateTime
			}
		}
		return n
	})
}

// compareNode compares two values of one representation.
type compareNode struct {
	a, b    node
	acc     accept
	kind    compareKind
	swapped bool
	generic *mapNode
	out     scratch
	al      aligner
}

func (n *compareNode) row(s *state, row []sqltypes.Datum) (sqltypes.Datum, error) {
	x, err := n.a.row(s, row)
	if err != nil {
		return x, err
	}
	y, err := n.b.row(s, row)
	if err != nil {
		return y, err
	}
	if x.Null || y.Null {
		return sqltypes.Null, nil
	}
	var c int
	switch n.kind {
	case compareInts:
		c = int(b2i(x.I > y.I) - b2i(x.I < y.I))
	case compareDateTime, compareTimeDate:
		return n.callFn(s, x, y)
	case compareFloats:
		c = cmpFloat(x.Float(), y.Float())
	case compareNumerics:
		if x.S != "" || y.S != "" || x.Aux != y.Aux {
			return n.callFn(s, x, y)
		}
		c = int(b2i(x.I > y.I) - b2i(x.I < y.I))
	default:
		c = strings.Compare(x.S, y.S)
	}
	return sqltypes.Int(int64(n.acc[c+1])), nil
}

func (n *compareNode) callFn(s *state, x, y sqltypes.Datum) (sqltypes.Datum, error) {
	if n.swapped {
		x, y = y, x
	}
	n.generic.buf[0], n.generic.buf[1] = x, y
	return n.generic.fn(s, n.generic.buf)
}

func (n *compareNode) vec(s *state, b *Batch, sel []uint16) (*Vec, error) {
	x, err := n.a.vec(s, b, sel)
	if err != nil {
		return nil, err
	}
	y, err := n.b.vec(s, b, sel)
	if err != nil {
		return nil, err
	}
	res := n.out.get(sqltypes.KInt)
	res.eitherNull(x, y, b.N)
	acc := n.acc
	switch n.kind {
	case compareFloats:
		for _, i := range sel {
			res.I64[i] = int64(acc[cmpFloat(x.F64[i], y.F64[i])+1])
		}
	case compareStrings:
		for _, i := range sel {
			res.I64[i] = int64(acc[strings.Compare(x.Str[i], y.Str[i])+1])
		}
	default:
		xs, ys := x.I64, y.I64
		if n.kind != compareInts {
			var ok bool
			if xs, ys, ok = n.common(x, y, sel); !ok {
				return n.wide(s, res, x, y, sel)
			}
		}
		for _, i := range sel {
			a, b := xs[i], ys[i]
			res.I64[i] = int64(acc[1+b2i(a > b)-b2i(a < b)])
		}
	}
	return res, nil
}

// common brings both sides to one representation as integers.
func (n *compareNode) common(x, y *Vec, sel []uint16) (xs, ys []int64, ok bool) {
	switch n.kind {
	case compareDateTime:
		xs, ok = n.al.times(x, sel)
		return xs, y.I64, ok
	case compareTimeDate:
		ys, ok = n.al.times(y, sel)
		return x.I64, ys, ok
	}
	xs, ys, _, ok = n.al.align(x, y, sel)
	return xs, ys, ok
}

const (
	dayMicros = 24 * 60 * 60 * 1000000
	// Dates between these are timestamps too; both are a little inside PostgreSQL's limits.
	minTimeDate, maxTimeDate = -2450000, 106700000
)

// times turns dates into timestamps; false when one is infinite or has none.
func (al *aligner) times(v *Vec, sel []uint16) ([]int64, bool) {
	if al.tmp == nil {
		al.tmp = make([]int64, BatchSize)
	}
	bad := int64(0)
	for _, i := range sel {
		d := v.I64[i]
		bad |= b2i(d < minTimeDate || d > maxTimeDate)
		al.tmp[i] = d * dayMicros
	}
	return al.tmp, bad == 0
}

func (n *compareNode) wide(s *state, res, x, y *Vec, sel []uint16) (*Vec, error) {
	res.Reset(sqltypes.KInt)
	if n.swapped {
		x, y = y, x
	}
	n.generic.vecs[0], n.generic.vecs[1] = x, y
	return res, n.generic.apply(s, res, sel)
}

func (n *compareNode) filter(s *state, b *Batch, sel, out []uint16) ([]uint16, error) {
	x, err := n.a.vec(s, b, sel)
	if err != nil {
		return out, err
	}
	if k, ok := n.b.(constant); ok {
		d, err := k.value(s)
		if err != nil || d.Null {
			return out, err
		}
		if res, ok := n.filterConst(x, d, sel, out); ok {
			return dropNulls(res, x.Null, nil), nil
		}
	}
	y, err := n.b.vec(s, b, sel)
	if err != nil {
		return out, err
	}
	acc := n.acc
	k := 0
	res := out[:len(sel)]
	switch n.kind {
	case compareFloats:
		for _, i := range sel {
			res[k] = i
			k += int(acc[cmpFloat(x.F64[i], y.F64[i])+1])
		}
	case compareStrings:
		switch acc {
		case operatorsByName["eq"]:
			for _, i := range sel {
				res[k] = i
				k += int(b2i(x.Str[i] == y.Str[i]))
			}
		default:
			for _, i := range sel {
				res[k] = i
				k += int(acc[strings.Compare(x.Str[i], y.Str[i])+1])
			}
		}
	default:
		xs, ys := x.I64, y.I64
		if n.kind != compareInts {
			var ok bool
			if xs, ys, ok = n.common(x, y, sel); !ok {
				v, err := n.wide(s, n.out.get(sqltypes.KInt), x, y, sel)
				if err != nil {
					return out, err
				}
				return appendTrue(v, sel, out), nil
			}
		}
		for _, i := range sel {
			a, b := xs[i], ys[i]
			res[k] = i
			k += int(acc[1+b2i(a > b)-b2i(a < b)])
		}
	}
	return dropNulls(res[:k], x.Null, y.Null), nil
}

// filterConst compares with one value.
func (n *compareNode) filterConst(x *Vec, d sqltypes.Datum, sel, out []uint16) ([]uint16, bool) {
	res := out[:len(sel)]
	k := 0
	switch n.kind {
	case compareStrings:
		c := d.S
		switch n.acc {
		case operatorsByName["eq"]:
			for _, i := range sel {
				res[k] = i
				k += int(b2i(x.Str[i] == c))
			}
		case operatorsByName["ne"]:
			for _, i := range sel {
				res[k] = i
				k += int(b2i(x.Str[i] != c))
			}
		default:
			for _, i := range sel {
				res[k] = i
				k += int(n.acc[strings.Compare(x.Str[i], c)+1])
			}
		}
		return res[:k], true
	case compareFloats:
		return nil, false
	case compareNumerics:
		if x.Wide || d.S != "" || x.Scale < 0 {
			return nil, false
		}
		if d.Aux != x.Scale {
			f, ok := pow10(x.Scale - d.Aux)
			if !ok {
				return nil, false
			}
			if d.I, ok = mulOK(d.I, f); !ok {
				return nil, false
			}
		}
	}
	c, acc := d.I, n.acc
	switch n.kind {
	case compareTimeDate:
		if c < minTimeDate || c > maxTimeDate {
			return nil, false
		}
		c *= dayMicros
	case compareDateTime: // compare days: date < time means date < the first day not before it
		if c == math.MinInt64 || c == math.MaxInt64 {
			return nil, false
		}
		day := c / dayMicros
		if c%dayMicros < 0 {
			day--
		}
		if day*dayMicros != c {
			switch acc {
			case operatorsByName["eq"]:
				return res[:0], true
			case operatorsByName["ne"]:
				return append(res[:0], sel...), true
			case operatorsByName["lt"]:
				acc = operatorsByName["le"]
			case operatorsByName["ge"]:
				acc = operatorsByName["gt"]
			}
		}
		c = day
	}
	// x op c as lo ≤ x ≤ hi, perhaps negated.
	lo, hi, not := int64(math.MinInt64), int64(math.MaxInt64), int64(0)
	switch acc {
	case operatorsByName["eq"]:
		lo, hi = c, c
	case operatorsByName["ne"]:
		lo, hi, not = c, c, 1
	case operatorsByName["lt"]:
		if c == math.MinInt64 {
			return res[:0], true
		}
		hi = c - 1
	case operatorsByName["le"]:
		hi = c
	case operatorsByName["gt"]:
		if c == math.MaxInt64 {
			return res[:0], true
		}
		lo = c + 1
	case operatorsByName["ge"]:
		lo = c
	}
	span := uint64(hi) - uint64(lo)
	xs := x.I64
	for _, i := range sel {
		res[k] = i
		k += int(b2i(uint64(xs[i])-uint64(lo) <= span) ^ not)
	}
	return res[:k], true
}

// dropNulls removes, in place, the rows that are NULL in either bitmap.
func dropNulls(sel []uint16, a, b Bitmap) []uint16 {
	if a == nil && b == nil {
		return sel
	}
	k := 0
	for _, i := range sel {
		if !a.Get(int(i)) && !b.Get(int(i)) {
			sel[k] = i
			k++
		}
	}
	return sel[:k]
}

// cmpFloat orders NaN above everything and equal to itself, as PostgreSQL does.
func cmpFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	}
	return int(b2i(a != a) - b2i(b != b))
}
