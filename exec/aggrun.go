package exec

import (
	"math"
	"strings"

	"ostraka/engine"
	"ostraka/expr"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// runAgg is an aggregate that takes a stretch of the rows of one time series at
// once: rows [from, to) of a column, all of one group.
type runAgg interface {
	aggFn
	stepRun(g int32, c *engine.SeriesColumn, t []int64, from, to int) error
}

// notNull counts the values of a stretch that are not NULL.
func notNull(c *engine.SeriesColumn, from, to int) int64 {
	if c.I64 == nil && c.F64 == nil && c.Str == nil {
		return 0
	}
	n := int64(to - from)
	if c.Null != nil {
		for _, null := range c.Null[from:to] {
			if null {
				n--
			}
		}
	}
	return n
}

func (c *countAgg) stepRun(g int32, col *engine.SeriesColumn, _ []int64, from, to int) error {
	if c.star {
		c.n[g] += int64(to - from)
	} else {
		c.n[g] += notNull(col, from, to)
	}
	return nil
}

func (c *sumIntAgg) stepRun(g int32, col *engine.SeriesColumn, _ []int64, from, to int) error {
	if col.I64 == nil {
		return nil
	}
	s := &c.s[g]
	if col.Null == nil {
		t := int64(0)
		for _, x := range col.I64[from:to] {
			t += x
		}
		s.sum += t
		s.n += int64(to - from)
		return nil
	}
	for i := from; i < to; i++ {
		if !col.Null[i] {
			s.sum += col.I64[i]
			s.n++
		}
	}
	return nil
}

func (c *numericAgg) stepRun(g int32, col *engine.SeriesColumn, _ []int64, from, to int) error {
	if col.I64 == nil {
		return nil
	}
	c.set = true
	s := &c.s[g]
	hi, lo := s.hi, s.lo
	n := int64(0)
	for i := from; i < to; i++ {
		if col.Null != nil && col.Null[i] {
			continue
		}
		x := col.I64[i]
		sum := lo + uint64(x)
		hi += x>>63 + carry(sum, uint64(x))
		lo = sum
		n++
	}
	s.hi, s.lo = hi, lo
	s.n += n
	return nil
}

func (c *floatAgg) stepRun(g int32, col *engine.SeriesColumn, _ []int64, from, to int) error {
	if col.F64 == nil {
		return nil
	}
	s := &c.s[g]
	if col.Null == nil && !c.single {
		sum := s.sum
		for _, x := range col.F64[from:to] {
			sum += x
		}
		if !math.IsInf(sum, 0) && sum == sum {
			s.sum = sum
			s.n += int64(to - from)
			return nil
		}
	}
	for i := from; i < to; i++ {
		if col.Null != nil && col.Null[i] {
			continue
		}
		x := col.F64[i]
		t, ok := c.plus(s.sum, x)
		if !ok {
			return sqltypes.FloatOverflow()
		}
		s.sum = t
		s.n++
	}
	return nil
}

func (c *minMaxIntAgg) stepRun(g int32, col *engine.SeriesColumn, _ []int64, from, to int) error {
	if col.I64 == nil {
		return nil
	}
	s := &c.s[g]
	v, set := s.v, s.set
	for i := from; i < to; i++ {
		if col.Null != nil && col.Null[i] {
			continue
		}
		x := col.I64[i]
		if !set || c.sign > 0 && x < v || c.sign < 0 && x > v {
			v, set = x, true
		}
	}
	s.v, s.set = v, set
	return nil
}

// minMaxFloatAgg is min (sign 1) and max (-1) of floats: NaN is above all numbers.
type minMaxFloatAgg struct {
	sign int
	s    []minMaxFloat
}

type minMaxFloat struct {
	v   float64
	set bool
}

func (c *minMaxFloatAgg) resize(n int) { c.s = extend(c.s, n) }
func (c *minMaxFloatAgg) reset()       { c.s = c.s[:0] }
func (c *minMaxFloatAgg) bytes() int64 { return int64(cap(c.s)) * 16 }
func (c *minMaxFloatAgg) final(g int, _ []sqltypes.Datum) (sqltypes.Datum, error) {
	if !c.s[g].set {
		return sqltypes.Null, nil
	}
	return sqltypes.Float(c.s[g].v), nil
}

// better reports that x replaces v.
func (c *minMaxFloatAgg) better(x, v float64) bool {
	if c.sign > 0 {
		return x < v || v != v && x == x
	}
	return x > v || x != x && v == v
}

func (c *minMaxFloatAgg) step(args []*expr.Vec, sel []uint16, ids []int32) error {
	v := args[0]
	for _, i := range sel {
		if v.Null.Get(int(i)) {
			continue
		}
		s := &c.s[group(ids, i)]
		if x := v.F64[i]; !s.set || c.better(x, s.v) {
			s.v, s.set = x, true
		}
	}
	return nil
}

func (c *minMaxFloatAgg) stepRun(g int32, col *engine.SeriesColumn, _ []int64, from, to int) error {
	if col.F64 == nil {
		return nil
	}
	s := &c.s[g]
	v, set := s.v, s.set
	for i := from; i < to; i++ {
		if col.Null != nil && col.Null[i] {
			continue
		}
		if x := col.F64[i]; !set || c.better(x, v) {
			v, set = x, true
		}
	}
	s.v, s.set = v, set
	return nil
}

// edgeAgg is first(value, time) and last(value, time) over runs, where times ascend:
// the value, or NULL, at the least or greatest time; of equal times the first met.
type edgeAgg struct {
	last  bool
	s     []edgeState
	extra int64
}

type edgeState struct {
	t   int64
	v   sqltypes.Datum
	set bool
}

func (c *edgeAgg) resize(n int) { c.s = extend(c.s, n) }
func (c *edgeAgg) reset()       { c.s, c.extra = c.s[:0], 0 }
func (c *edgeAgg) bytes() int64 { return int64(cap(c.s))*48 + c.extra }
func (c *edgeAgg) final(g int, _ []sqltypes.Datum) (sqltypes.Datum, error) {
	if !c.s[g].set {
		return sqltypes.Null, nil
	}
	return c.s[g].v, nil
}

func (c *edgeAgg) step([]*expr.Vec, []uint16, []int32) error {
	return pgerror.New(pgerror.InternalError, "first and last of runs are given rows")
}

func (c *edgeAgg) stepRun(g int32, col *engine.SeriesColumn, t []int64, from, to int) error {
	s := &c.s[g]
	at := from
	if c.last {
		at = to - 1
	}
	if s.set && (t[at] == s.t || t[at] > s.t != c.last) {
		return nil
	}
	v := sqltypes.Null
	if col.Null == nil || !col.Null[at] {
		switch {
		case col.F64 != nil:
			v = sqltypes.Float(col.F64[at])
		case col.I64 != nil:
			v = sqltypes.Int(col.I64[at])
		case col.Str != nil:
			v = sqltypes.Text(strings.Clone(col.Str[at]))
		}
	}
	c.extra += int64(len(v.S)) - int64(len(s.v.S))
	s.t, s.v, s.set = t[at], v, true
	return nil
}
