package exec

import (
	"slices"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// spanMaker computes the key spans of a scan when it starts.
type spanMaker struct {
	x      *Execution
	keys   []catalog.IndexKey
	types  []*sqltypes.Type
	ranges []rangeProgs
}

type rangeProgs struct {
	r            *planner.KeyRange
	eq           []*expr.Program
	lower, upper *expr.Program
}

func (x *Execution) newSpanMaker(rel *catalog.Relation, ix *catalog.Index, ranges []planner.KeyRange) (*spanMaker, error) {
	if ix == nil {
		ix = clusteredIndex(rel)
	}
	if ix == nil {
		return nil, pgerror.New(pgerror.InternalError, "relation \"%s\" has no key to scan by", rel.Name)
	}
	m := &spanMaker{x: x, keys: ix.Keys}
	for _, k := range ix.Keys {
		t := x.typ(k.Type.OID)
		if t == nil && k.Attr > 0 {
			t = x.typ(rel.Columns[k.Attr-1].Type.OID)
		}
		m.types = append(m.types, t)
	}
	for i := range ranges {
		r := &ranges[i]
		p := rangeProgs{r: r}
		var err error
		if p.eq, err = x.compileAll(r.Eq); err != nil {
			return nil, err
		}
		if p.lower, err = x.compile(r.Lower); err != nil {
			return nil, err
		}
		if p.upper, err = x.compile(r.Upper); err != nil {
			return nil, err
		}
		m.ranges = append(m.ranges, p)
	}
	return m, nil
}

// clusteredIndex is the index that is the table itself, nil with hidden row ids.
func clusteredIndex(rel *catalog.Relation) *catalog.Index {
	for _, ix := range rel.Indexes {
		if ix.Clustered {
			return ix
		}
	}
	return nil
}

// spans evaluates the bounds; no span means that no row can match.
func (m *spanMaker) spans() ([]engine.Span, error) {
	var out []engine.Span
	for i := range m.ranges {
		var err error
		if out, err = m.addRange(out, &m.ranges[i]); err != nil {
			return nil, err
		}
	}
	if len(out) > 1 {
		out = m.merge(out)
	}
	return out, nil
}

func (m *spanMaker) addRange(out []engine.Span, p *rangeProgs) ([]engine.Span, error) {
	r := p.r
	eq := make([]sqltypes.Datum, len(p.eq))
	var elems []sqltypes.Datum
	for i, e := range p.eq {
		if i < len(r.EqNull) && r.EqNull[i] {
			eq[i] = sqltypes.Null
			continue
		}
		d, err := m.x.scalar(e)
		if err != nil || d.Null {
			return out, err
		}
		if r.AnyArray == i && isArrayKey(r, p) {
			elems = sqltypes.OpenArray(d).Elements()
			if len(elems) == 0 {
				return out, nil
			}
			continue
		}
		eq[i] = d
	}
	lo, hi := engine.Span{}, engine.Span{}
	lo.LoInc, hi.HiInc = true, true
	col := len(eq)
	desc := col < len(m.keys) && m.keys[col].Desc
	lower, upper, lowerInc, upperInc := p.lower, p.upper, r.LowerInc, r.UpperInc
	if desc {
		lower, upper, lowerInc, upperInc = upper, lower, upperInc, lowerInc
	}
	var first, last []sqltypes.Datum
	if lower != nil {
		d, err := m.x.scalar(lower)
		if err != nil || d.Null {
			return out, err
		}
		first, lo.LoInc = []sqltypes.Datum{d}, lowerInc
	}
	if upper != nil {
		d, err := m.x.scalar(upper)
		if err != nil || d.Null {
			return out, err
		}
		last, hi.HiInc = []sqltypes.Datum{d}, upperInc
	}
	// A comparison is never true of NULL: leave the NULLs' end of the range out.
	if (lower != nil) != (upper != nil) && col < len(m.keys) {
		if nullsFirst := m.keys[col].NullsFirst; nullsFirst && lower == nil {
			first, lo.LoInc = []sqltypes.Datum{sqltypes.Null}, false
		} else if !nullsFirst && upper == nil {
			last, hi.HiInc = []sqltypes.Datum{sqltypes.Null}, false
		}
	}
	emit := func() {
		s := engine.Span{LoInc: lo.LoInc, HiInc: hi.HiInc}
		if len(eq)+len(first) > 0 {
			s.Lo = append(slices.Clone(eq), first...)
		}
		if len(eq)+len(last) > 0 {
			s.Hi = append(slices.Clone(eq), last...)
		}
		out = append(out, s)
	}
	if elems == nil {
		emit()
		return out, nil
	}
	for _, e := range elems {
		if !e.Null {
			eq[r.AnyArray] = e
			emit()
		}
	}
	return out, nil
}

// isArrayKey tells a range with an array from the zero value of AnyArray.
func isArrayKey(r *planner.KeyRange, p *rangeProgs) bool {
	t := p.eq[r.AnyArray]
	if t == nil {
		return false
	}
	ct := sqltypes.TypeByOID(r.Eq[r.AnyArray].Type().OID)
	return ct == nil || ct.IsArray
}

// edge is one end of a span: a key prefix and whether the end lies before (-1) or
// after (1) all keys that begin with it.
type edge struct {
	vals []sqltypes.Datum
	side int
}

func loEdge(s engine.Span) edge {
	if s.LoInc || len(s.Lo) == 0 {
		return edge{s.Lo, -1}
	}
	return edge{s.Lo, 1}
}

func hiEdge(s engine.Span) edge {
	if s.HiInc || len(s.Hi) == 0 {
		return edge{s.Hi, 1}
	}
	return edge{s.Hi, -1}
}

// compare orders edges in key order.
func (m *spanMaker) compare(a, b edge) int {
	for i := 0; i < len(a.vals) && i < len(b.vals); i++ {
		if c := m.compareKey(i, a.vals[i], b.vals[i]); c != 0 {
			return c
		}
	}
	switch {
	case len(a.vals) < len(b.vals):
		return a.side
	case len(a.vals) > len(b.vals):
		return -b.side
	}
	return a.side - b.side
}

func (m *spanMaker) compareKey(i int, a, b sqltypes.Datum) int {
	k := m.keys[i]
	if a.Null || b.Null {
		if a.Null && b.Null {
			return 0
		}
		if a.Null == k.NullsFirst {
			return -1
		}
		return 1
	}
	c := m.types[i].Compare(a, b)
	if k.Desc {
		return -c
	}
	return c
}

// merge sorts the spans in key order and joins those that overlap.
func (m *spanMaker) merge(in []engine.Span) []engine.Span {
	slices.SortStableFunc(in, func(a, b engine.Span) int { return m.compare(loEdge(a), loEdge(b)) })
	out := in[:0]
	for _, s := range in {
		if m.compare(loEdge(s), hiEdge(s)) >= 0 {
			continue // empty
		}
		if n := len(out); n > 0 && m.compare(loEdge(s), hiEdge(out[n-1])) < 0 {
			if m.compare(hiEdge(s), hiEdge(out[n-1])) > 0 {
				out[n-1].Hi, out[n-1].HiInc = s.Hi, s.HiInc
			}
			continue
		}
		out = append(out, s)
	}
	return out
}
