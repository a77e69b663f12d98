package exec

import (
	"ostraka/expr"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// aggFn holds the states of one aggregate for the groups of a grouping set.
type aggFn interface {
	// resize makes states for groups up to n.
	resize(n int)
	// step adds the rows sel of the argument vectors; ids[row] is the group, nil: all group 0.
	step(args []*expr.Vec, sel []uint16, ids []int32) error
	final(g int, direct []sqltypes.Datum) (sqltypes.Datum, error)
	reset()
	bytes() int64
}

// newAggFn chooses typed states for the common aggregates, the aggregate's own
// states otherwise, and puts DISTINCT and ORDER BY in front of them.
func (x *Execution) newAggFn(a *expr.Agg) (aggFn, error) {
	fn, ordered := x.typedAgg(a)
	if fn == nil {
		g, err := x.newGenericAgg(a)
		if err != nil {
			return nil, err
		}
		fn, ordered = g, true
	}
	switch {
	case a.Proc.Agg != nil && a.Proc.Agg.OrderedSet, len(a.ArgSorts) > 0, a.Distinct && ordered:
		return x.newCollectAgg(a, fn)
	case a.Distinct:
		return x.newDistinctAgg(a, fn)
	}
	return fn, nil
}

// typedAgg returns nil when there are no typed states. ordered: the result
// depends on the order of the rows.
func (x *Execution) typedAgg(a *expr.Agg) (fn aggFn, ordered bool) {
	p := a.Proc
	if p.Namespace != sqltypes.NamespaceCatalog || p.Kind != 'a' {
		return nil, false
	}
	arg := sqltypes.OID(0)
	if len(p.ArgTypes) > 0 {
		arg = p.ArgTypes[0]
	}
	switch p.Name {
	case "count":
		if len(p.ArgTypes) <= 1 {
			return &countAgg{star: len(p.ArgTypes) == 0 || a.Star}, false
		}
	case "sum":
		switch arg {
		case sqltypes.OIDInt2, sqltypes.OIDInt4:
			return &sumIntAgg{}, false
		case sqltypes.OIDInt8, sqltypes.OIDNumeric:
			return &numericAgg{}, false
		case sqltypes.OIDFloat8, sqltypes.OIDFloat4:
			return &floatAgg{single: arg == sqltypes.OIDFloat4}, true
		}
	case "avg":
		switch arg {
		case sqltypes.OIDInt2, sqltypes.OIDInt4, sqltypes.OIDInt8, sqltypes.OIDNumeric:
			return &numericAgg{avg: true}, false
		case sqltypes.OIDFloat8, sqltypes.OIDFloat4:
			return &floatAgg{avg: true}, true
		}
	case "min", "max":
		if len(a.Args) != 1 {
			return nil, false
		}
		t := x.typ(a.Args[0].Type().OID)
		if t == nil || t.Compare == nil || t.IsArray {
			return nil, false
		}
		sign := 1
		if p.Name == "max" {
			sign = -1
		}
		switch classOf(t) {
		case keyInt:
			return &minMaxIntAgg{sign: sign}, false
		case keyFloat:
			return &minMaxFloatAgg{sign: sign}, false
		}
		return &minMaxAgg{typ: t, sign: sign}, false
	}
	return nil, false
}

// countAgg is count(*) and count(x).
type countAgg struct {
	star bool
	n    []int64
}

func (c *countAgg) resize(n int) { c.n = extend(c.n, n) }
func (c *countAgg) reset()       { c.n = c.n[:0] }
func (c *countAgg) bytes() int64 { return int64(cap(c.n)) * 8 }
func (c *countAgg) final(g int, _ []sqltypes.Datum) (sqltypes.Datum, error) {
	return sqltypes.Int(c.n[g]), nil
}

func (c *countAgg) step(args []*expr.Vec, sel []uint16, ids []int32) error {
	if c.star || args[0].Null == nil {
		if ids == nil {
			c.n[0] += int64(len(sel))
			return nil
		}
		for _, i := range sel {
			c.n[ids[i]]++
		}
		return nil
	}
	for _, i := range sel {
		if !args[0].Null.Get(int(i)) {
			c.n[group(ids, i)]++
		}
	}
	return nil
}

func group(ids []int32, i uint16) int32 {
	if ids == nil {
		return 0
	}
	return ids[i]
}

// extend lengthens s to n with zero values.
func extend[T any](s []T, n int) []T {
	if n <= len(s) {
		return s
	}
	if n <= cap(s) {
		old := len(s)
		s = s[:n]
		clear(s[old:])
		return s
	}
	t := make([]T, n, max(n, 2*cap(s), 16))
	copy(t, s)
	return t
}

// sumIntAgg is sum(int2), sum(int4): a bigint.
type sumIntAgg struct{ s []sumInt }

type sumInt struct {
	sum int64
	n   int64
}

func (c *sumIntAgg) resize(n int) { c.s = extend(c.s, n) }
func (c *sumIntAgg) reset()       { c.s = c.s[:0] }
func (c *sumIntAgg) bytes() int64 { return int64(cap(c.s)) * 16 }
func (c *sumIntAgg) final(g int, _ []sqltypes.Datum) (sqltypes.Datum, error) {
	if c.s[g].n == 0 {
		return sqltypes.Null, nil
	}
	return sqltypes.Int(c.s[g].sum), nil
}

func (c *sumIntAgg) step(args []*expr.Vec, sel []uint16, ids []int32) error {
	v := args[0]
	if v.Null == nil {
		if ids == nil {
			t := int64(0)
			for _, i := range sel {
				t += v.I64[i]
			}
			c.s[0].sum += t
			c.s[0].n += int64(len(sel))
			return nil
		}
		for _, i := range sel {
			s := &c.s[ids[i]]
			s.sum += v.I64[i]
			s.n++
		}
		return nil
	}
	for _, i := range sel {
		if !v.Null.Get(int(i)) {
			s := &c.s[group(ids, i)]
			s.sum += v.I64[i]
			s.n++
		}
	}
	return nil
}

// numericAgg is sum and avg with a numeric result: 128 bits at one scale per
// group, and an exact sum of any size for what does not fit that.
type numericAgg struct {
	avg   bool
	scale int32
	set   bool
	s     []sum128
	slow  map[int]*sqltypes.NumericSum
}

type sum128 struct {
	n  int64 // all rows
	hi int64
	lo uint64
}

func (c *numericAgg) resize(n int) { c.s = extend(c.s, n) }
func (c *numericAgg) reset()       { c.s, c.slow, c.set = c.s[:0], nil, false }
func (c *numericAgg) bytes() int64 { return int64(cap(c.s))*24 + int64(len(c.slow))*128 }

func (c *numericAgg) final(g int, _ []sqltypes.Datum) (sqltypes.Datum, error) {
	s := &c.s[g]
	if s.n == 0 {
		return sqltypes.Null, nil
	}
	sum := sqltypes.NumericFromInt128(s.hi, s.lo, c.scale)
	if slow := c.slow[g]; slow != nil {
		d, err := slow.Sum()
		if err != nil {
			return d, err
		}
		if slow.N == s.n {
			sum = d
		} else if sum, err = sqltypes.NumericAdd(sum, d); err != nil {
			return sum, err
		}
	}
	if !c.avg {
		return sum, nil
	}
	return sqltypes.NumericDiv(sum, sqltypes.Datum{I: s.n})
}

func (c *numericAgg) step(args []*expr.Vec, sel []uint16, ids []int32) error {
	v := args[0]
	scale := int32(0)
	fast := true
	if v.Kind == sqltypes.KNumeric {
		if v.Scale >= 0 {
			scale = v.Scale
		}
		fast = !v.Wide && (!c.set || scale == c.scale)
	}
	if !fast {
		for _, i := range sel {
			if v.Null.Get(int(i)) {
				continue
			}
			g := group(ids, i)
			c.s[g].n++
			c.exact(g).Add(v.Datum(int(i)))
		}
		return nil
	}
	if v.Null != nil && v.Scale < 0 && v.Kind == sqltypes.KNumeric {
		return nil // nothing but NULLs
	}
	c.scale, c.set = scale, true
	xs := v.I64
	if ids == nil {
		s := &c.s[0]
		n := int64(0)
		for _, i := range sel {
			if v.Null != nil && v.Null.Get(int(i)) {
				continue
			}
			x := xs[i]
			lo := s.lo + uint64(x)
			s.hi += x>>63 + carry(lo, uint64(x))
			s.lo = lo
			n++
		}
		s.n += n
		return nil
	}
	if v.Null == nil {
		for _, i := range sel {
			s := &c.s[ids[i]]
			x := xs[i]
			lo := s.lo + uint64(x)
			s.hi += x>>63 + carry(lo, uint64(x))
			s.lo = lo
			s.n++
		}
		return nil
	}
	for _, i := range sel {
		if v.Null.Get(int(i)) {
			continue
		}
		s := &c.s[ids[i]]
		x := xs[i]
		lo := s.lo + uint64(x)
		s.hi += x>>63 + carry(lo, uint64(x))
		s.lo = lo
		s.n++
	}
	return nil
}

// carry is the carry of an unsigned addition whose sum and one operand are given.
func carry(sum, operand uint64) int64 {
	var c int64
	if sum < operand {
		c = 1
	}
	return c
}

// floatAgg is sum and avg of floats, added in the order of the rows as PostgreSQL does.
type floatAgg struct {
	avg, single bool
	s           []sumFloat
}

type sumFloat struct {
	sum float64
	n   int64
}

// plus adds x to a sum; false: two finite numbers have no finite sum.
func (c *floatAgg) plus(sum, x float64) (t float64, ok bool) {
	t = sum + x
	if c.single {
		t = float64(float32(t))
	}
	return t, finite(t) || !finite(x) || !finite(sum)
}

// finite is false of NaN and the infinities.
func finite(x float64) bool { return x-x == 0 }

func (c *floatAgg) resize(n int) { c.s = extend(c.s, n) }
func (c *floatAgg) reset()       { c.s = c.s[:0] }
func (c *floatAgg) bytes() int64 { return int64(cap(c.s)) * 16 }
func (c *floatAgg) final(g int, _ []sqltypes.Datum) (sqltypes.Datum, error) {
	s := c.s[g]
	if s.n == 0 {
		return sqltypes.Null, nil
	}
	if c.avg {
		return sqltypes.Float(s.sum / float64(s.n)), nil
	}
	return sqltypes.Float(s.sum), nil
}

func (c *floatAgg) step(args []*expr.Vec, sel []uint16, ids []int32) error {
	v := args[0]
	for _, i := range sel {
		if v.Null.Get(int(i)) {
			continue
		}
		s := &c.s[group(ids, i)]
		x := v.F64[i]
		t, ok := c.plus(s.sum, x)
		if !ok {
			return sqltypes.FloatOverflow()
		}
		s.sum = t
		s.n++
	}
	return nil
}

// minMaxIntAgg is min (sign 1) and max (-1) of types that are integers inside.
type minMaxIntAgg struct {
	sign int
	s    []minMaxInt
}

type minMaxInt struct {
	v   int64
	set bool
}

func (c *minMaxIntAgg) resize(n int) { c.s = extend(c.s, n) }
func (c *minMaxIntAgg) reset()       { c.s = c.s[:0] }
func (c *minMaxIntAgg) bytes() int64 { return int64(cap(c.s)) * 16 }
func (c *minMaxIntAgg) final(g int, _ []sqltypes.Datum) (sqltypes.Datum, error) {
	if !c.s[g].set {
		return sqltypes.Null, nil
	}
	return sqltypes.Int(c.s[g].v), nil
}

func (c *minMaxIntAgg) step(args []*expr.Vec, sel []uint16, ids []int32) error {
	v := args[0]
	isMin := c.sign > 0
	for _, i := range sel {
		if v.Null.Get(int(i)) {
			continue
		}
		s := &c.s[group(ids, i)]
		if x := v.I64[i]; !s.set || (x < s.v) == isMin && x != s.v {
			s.v, s.set = x, true
		}
	}
	return nil
}

// minMaxAgg is min and max by the type's order.
type minMaxAgg struct {
	typ   *sqltypes.Type
	sign  int
	s     []sqltypes.Datum
	set   []bool
	extra int64
}

func (c *minMaxAgg) resize(n int) { c.s, c.set = extend(c.s, n), extend(c.set, n) }
func (c *minMaxAgg) reset()       { c.s, c.set, c.extra = c.s[:0], c.set[:0], 0 }
func (c *minMaxAgg) bytes() int64 { return int64(cap(c.s))*33 + c.extra }
func (c *minMaxAgg) final(g int, _ []sqltypes.Datum) (sqltypes.Datum, error) {
	if !c.set[g] {
		return sqltypes.Null, nil
	}
	return c.s[g], nil
}

func (c *minMaxAgg) step(args []*expr.Vec, sel []uint16, ids []int32) error {
	v := args[0]
	for _, i := range sel {
		if v.Null.Get(int(i)) {
			continue
		}
		g := group(ids, i)
		d := v.Datum(int(i))
		if !c.set[g] || c.typ.Compare(d, c.s[g])*c.sign < 0 {
			c.extra += int64(len(d.S)) - int64(len(c.s[g].S))
			c.s[g], c.set[g] = d, true
		}
	}
	return nil
}

// genericAgg runs an aggregate through its own states.
type genericAgg struct {
	x        *Execution
	agg      *sqltypes.Aggregate
	call     sqltypes.Call
	nargs    int
	states   []sqltypes.AggState
	buf      []sqltypes.Datum
	stepped  int64
	skipNull bool
}

func (x *Execution) newGenericAgg(a *expr.Agg) (*genericAgg, error) {
	if a.Proc.Agg == nil || a.Proc.Agg.New == nil {
		if isHypothetical(a) {
			return &genericAgg{x: x}, nil // never stepped, see collectAgg
		}
		return nil, pgerror.NotSupported("aggregate function %s", a.Proc.Name)
	}
	g := &genericAgg{x: x, agg: a.Proc.Agg, nargs: aggArgs(a), skipNull: a.Proc.Agg.SkipNull}
	types := make([]sqltypes.ColumnType, 0, len(a.Direct)+len(a.Args))
	for _, e := range a.Direct {
		types = append(types, e.Type())
	}
	for _, e := range a.Args[:g.nargs] {
		types = append(types, e.Type())
	}
	g.call = sqltypes.Call{Env: x.env, Proc: a.Proc, ArgTypes: types, RetType: a.Typ, Collation: a.Collation, VariadicArray: a.VariadicArray, RecordNames: a.Names}
	g.buf = make([]sqltypes.Datum, g.nargs)
	return g, nil
}

// aggArgs is the number of arguments the aggregate itself takes; what follows in
// Args only serves ORDER BY.
func aggArgs(a *expr.Agg) int {
	if a.Proc.Agg != nil && a.Proc.Agg.OrderedSet || a.Proc.Variadic != 0 {
		return len(a.Args)
	}
	return min(len(a.Args), len(a.Proc.ArgTypes))
}

func (g *genericAgg) resize(n int) {
	for g.agg != nil && len(g.states) < n {
		g.states = append(g.states, g.agg.New(&g.call))
	}
}
func (g *genericAgg) reset()       { g.states, g.stepped = g.states[:0], 0 }
func (g *genericAgg) bytes() int64 { return int64(cap(g.states))*80 + g.stepped }
func (g *genericAgg) final(i int, direct []sqltypes.Datum) (sqltypes.Datum, error) {
	return g.states[i].Final(&g.call, direct)
}

func (g *genericAgg) step(args []*expr.Vec, sel []uint16, ids []int32) error {
	g.call.Env = g.x.env
rows:
	for _, i := range sel {
		for k := range g.nargs {
			d := args[k].Datum(int(i))
			if d.Null && g.skipNull {
				continue rows
			}
			g.buf[k] = d
			g.stepped += int64(len(d.S))
		}
		if err := g.states[group(ids, i)].Step(&g.call, g.buf); err != nil {
			return err
		}
	}
	return nil
}
