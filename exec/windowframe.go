package exec

import (
	"ostraka/expr"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// frame is the window frame of one row: [from,to) without what EXCLUDE removes.
type frame struct {
	from, to int
	// Excluded rows [xfrom,xto), of which keep (≥ 0) stays.
	xfrom, xto int
	keep       int
	buf        [3]span
}

type span struct{ from, to int }

// parts are the pieces of the frame, ascending; some may be empty.
func (f *frame) parts() []span {
	if f.xfrom >= f.xto {
		f.buf[0] = span{f.from, f.to}
		return f.buf[:1]
	}
	f.buf[0] = span{f.from, min(f.to, max(f.xfrom, f.from))}
	n := 1
	if f.keep >= f.from && f.keep < f.to && f.keep >= 0 {
		f.buf[n] = span{f.keep, f.keep + 1}
		n++
	}
	f.buf[n] = span{max(f.from, min(f.xto, f.to)), f.to}
	return f.buf[:n+1]
}

// frameOffset evaluates and checks a frame bound's offset.
func (o *windowOp) frameOffset(p *expr.Program, which string, mode byte) (sqltypes.Datum, error) {
	if p == nil {
		return sqltypes.Null, nil
	}
	d, err := o.x.scalar(p)
	if err != nil {
		return d, err
	}
	if d.Null {
		return d, pgerror.New(pgerror.NullValueNotAllowed, "frame %s offset must not be null", which)
	}
	if mode != 'R' && d.I < 0 {
		return d, pgerror.New(pgerror.InvalidPrecedingOrFollowingSize, "frame %s offset must not be negative", which)
	}
	return d, nil
}

// eachFrame calls f with the frame of each row of the partition, in order.
func (p *partition) eachFrame(f func(r int, fr *frame) error) error {
	def := &p.o.p.Frame
	mode := def.Mode
	if mode == 0 {
		mode = 'R'
	}
	startOff, err := p.o.frameOffset(p.o.start, "starting", mode)
	if err != nil {
		return err
	}
	endOff, err := p.o.frameOffset(p.o.end, "ending", mode)
	if err != nil {
		return err
	}
	rng := &rangeFrame{p: p, head: p.from, tail: p.from}
	var fr frame
	for r := p.from; r < p.to; r++ {
		if (r-p.from)&1023 == 1023 {
			if err := p.o.x.cancelled(); err != nil {
				return err
			}
		}
		pf, pt := p.peers(r)
		switch def.Start.Kind {
		case 'u', 0:
			fr.from = p.from
		case 'c':
			fr.from = r
			if mode != 'W' {
				fr.from = pf
			}
		default:
			if fr.from, err = p.offsetBound(rng, r, mode, def.Start.Kind, startOff, true); err != nil {
				return err
			}
		}
		switch def.End.Kind {
		case 'U':
			fr.to = p.to
		case 'c', 0:
			fr.to = r + 1
			if mode != 'W' {
				fr.to = pt
			}
		default:
			if fr.to, err = p.offsetBound(rng, r, mode, def.End.Kind, endOff, false); err != nil {
				return err
			}
		}
		fr.from, fr.to = max(fr.from, p.from), min(fr.to, p.to)
		if fr.to < fr.from {
			fr.to = fr.from
		}
		fr.xfrom, fr.xto, fr.keep = 0, 0, -1
		switch def.Exclude {
		case 'c':
			fr.xfrom, fr.xto = r, r+1
		case 'g':
			fr.xfrom, fr.xto = pf, pt
		case 't':
			fr.xfrom, fr.xto, fr.keep = pf, pt, r
		}
		if err := f(r, &fr); err != nil {
			return err
		}
	}
	return nil
}

// offsetBound is the first row of the frame (start), or the row after its last,
// for a bound with an offset.
func (p *partition) offsetBound(rng *rangeFrame, r int, mode, kind byte, off sqltypes.Datum, start bool) (int, error) {
	switch mode {
	case 'W':
		n := min(off.I, int64(p.to-p.from)+1)
		if kind == 'p' {
			n = -n
		}
		at := int(int64(r) + n)
		if !start {
			at++
		}
		return min(max(at, p.from), p.to), nil
	case 'G':
		n := min(off.I, int64(len(p.groups)))
		if kind == 'p' {
			n = -n
		}
		g := p.groupOf[r-p.from] + int(n)
		if !start {
			g++
		}
		g = min(max(g, 0), len(p.groups)-1)
		return p.groups[g], nil
	}
	if start {
		return rng.first(r, kind, off)
	}
	return rng.last(r, kind, off)
}

// rangeFrame finds the bounds of RANGE frames with offsets by the type's in_range
// function; both bounds only move forward.
type rangeFrame struct {
	p          *partition
	head, tail int
	call       sqltypes.Call
	args       [5]sqltypes.Datum
}

// inRange asks whether the row's key is on the right side of base ± offset.
func (f *rangeFrame) inRange(row, base int, off sqltypes.Datum, sub, less bool) (bool, error) {
	o := f.p.o
	proc := o.p.Frame.InRange
	if proc == nil || proc.Fn == nil {
		return false, pgerror.NotSupported("RANGE with offset for this type")
	}
	v := o.rows.cols[o.order[0]]
	if f.call.Proc == nil {
		key := o.p.OrderBy[0].Expr.Type()
		f.call.Env, f.call.Proc, f.call.Collation = o.x.env, proc, key.Collation
		for _, oid := range proc.ArgTypes {
			f.call.ArgTypes = append(f.call.ArgTypes, sqltypes.ColumnType{OID: oid, TypMod: -1})
		}
		f.call.RetType = sqltypes.ColumnType{OID: proc.RetType, TypMod: -1}
	}
	f.args = [5]sqltypes.Datum{v.Datum(row), v.Datum(base), off, sqltypes.Bool(sub), sqltypes.Bool(less)}
	d, err := proc.Fn(&f.call, f.args[:])
	return d.True(), err
}

func (f *rangeFrame) null(row int) bool {
	return f.p.o.rows.cols[f.p.o.order[0]].Null.Get(row)
}

// first moves the head to the first row of the frame of row r.
func (f *rangeFrame) first(r int, kind byte, off sqltypes.Datum) (int, error) {
	ord := f.p.o.p.OrderBy[0]
	sub, less := kind == 'p', false
	if ord.Desc {
		sub, less = !sub, true
	}
	for ; f.head < f.p.to; f.head++ {
		hn, cn := f.null(f.head), f.null(r)
		if hn || cn {
			if ord.NullsFirst && (!hn || cn) || !ord.NullsFirst && (hn || !cn) {
				break
			}
			continue
		}
		ok, err := f.inRange(f.head, r, off, sub, less)
		if err != nil {
			return 0, err
		}
		if ok {
			break
		}
	}
	return f.head, nil
}

// last moves the tail to the first row after the frame of row r.
func (f *rangeFrame) last(r int, kind byte, off sqltypes.Datum) (int, error) {
	ord := f.p.o.p.OrderBy[0]
	sub, less := kind == 'p', true
	if ord.Desc {
		sub, less = !sub, false
	}
	for ; f.tail < f.p.to; f.tail++ {
		tn, cn := f.null(f.tail), f.null(r)
		if tn || cn {
			if ord.NullsFirst && !tn && cn || !ord.NullsFirst && tn && !cn {
				break
			}
			continue
		}
		ok, err := f.inRange(f.tail, r, off, sub, less)
		if err != nil {
			return 0, err
		}
		if !ok {
			break
		}
	}
	return f.tail, nil
}

// remover is an aggregate state from which rows can be taken out again exactly.
type remover interface {
	remove(args []*expr.Vec, sel []uint16)
}

// aggregate computes an aggregate over the frames: by adding rows while frames
// only grow, by adding and removing where the state allows it, else anew.
func (p *partition) aggregate(f *windowFunc, out *expr.Vec) error {
	st := &frameAgg{p: p, f: f, base: -1}
	rm, _ := f.agg.(remover)
	st.clear()
	var cur frame
	cur.from, cur.to = p.from, p.from
	have := false
	var last sqltypes.Datum
	return p.eachFrame(func(r int, fr *frame) error {
		excl := fr.xfrom < fr.xto
		switch {
		case excl:
			st.clear()
			for _, s := range fr.parts() {
				if err := st.add(s.from, s.to); err != nil {
					return err
				}
			}
			cur.from, cur.to, have = -1, -1, false
		case have && fr.from == cur.from && fr.to == cur.to:
			out.Set(r, last)
			return nil
		case cur.from >= 0 && fr.from == cur.from && fr.to >= cur.to:
			if err := st.add(cur.to, fr.to); err != nil {
				return err
			}
		case rm != nil && cur.from >= 0 && fr.from >= cur.from && fr.to >= cur.to && fr.from <= cur.to:
			if err := st.add(cur.to, fr.to); err != nil {
				return err
			}
			st.take(rm, cur.from, fr.from)
		default:
			st.clear()
			if err := st.add(fr.from, fr.to); err != nil {
				return err
			}
		}
		if !excl {
			cur.from, cur.to = fr.from, fr.to
		}
		d, err := f.agg.final(0, nil)
		if err != nil {
			return err
		}
		last, have = d, !excl
		out.Set(r, d)
		return nil
	})
}

// frameAgg feeds rows of the store to an aggregate state, 1,024-row chunks at a time.
type frameAgg struct {
	p    *partition
	f    *windowFunc
	base int // first row of the chunk that vecs show
	vecs []*expr.Vec
	sel  []uint16
}

func (a *frameAgg) clear() {
	a.f.agg.reset()
	a.f.agg.resize(1)
}

// chunk shows the arguments of the chunk with the row and selects [from,to) of it.
func (a *frameAgg) chunk(from, to int) (sel []uint16, next int) {
	base := from &^ (expr.BatchSize - 1)
	rows := a.p.o.rows
	if base != a.base {
		a.base = base
		if a.vecs == nil {
			for range a.f.args {
				a.vecs = append(a.vecs, &expr.Vec{})
			}
		}
		for i, c := range a.f.args {
			sliceVec(a.vecs[i], rows.cols[c], base, min(expr.BatchSize, rows.n-base))
		}
	}
	next = min(to, base+expr.BatchSize)
	sel = expr.All(next - base)[from-base:]
	if a.f.filter >= 0 {
		v := rows.cols[a.f.filter]
		a.sel = a.sel[:0]
		for _, i := range sel {
			if r := base + int(i); v.I64[r] != 0 && !v.Null.Get(r) {
				a.sel = append(a.sel, i)
			}
		}
		sel = a.sel
	}
	return sel, next
}

func (a *frameAgg) add(from, to int) error {
	for from < to {
		sel, next := a.chunk(from, to)
		if len(sel) > 0 {
			if err := a.f.agg.step(a.vecs, sel, nil); err != nil {
				return err
			}
		}
		from = next
	}
	return nil
}

func (a *frameAgg) take(rm remover, from, to int) {
	for from < to {
		sel, next := a.chunk(from, to)
		rm.remove(a.vecs, sel)
		from = next
	}
}

func (c *countAgg) remove(args []*expr.Vec, sel []uint16) {
	for _, i := range sel {
		if c.star || !args[0].Null.Get(int(i)) {
			c.n[0]--
		}
	}
}

func (c *sumIntAgg) remove(args []*expr.Vec, sel []uint16) {
	for _, i := range sel {
		if !args[0].Null.Get(int(i)) {
			c.s[0].sum -= args[0].I64[i]
			c.s[0].n--
		}
	}
}

func (c *numericAgg) remove(args []*expr.Vec, sel []uint16) {
	v := args[0]
	s := &c.s[0]
	scale := int32(0)
	if v.Kind == sqltypes.KNumeric && v.Scale >= 0 {
		scale = v.Scale
	}
	fast := !v.Wide && c.set && scale == c.scale
	for _, i := range sel {
		if v.Null.Get(int(i)) {
			continue
		}
		s.n--
		if !fast {
			c.slow[0].Remove(v.Datum(int(i)))
			continue
		}
		x := v.I64[i]
		lo := s.lo - uint64(x)
		var borrow int64
		if s.lo < uint64(x) {
			borrow = 1
		}
		s.hi -= x>>63 + borrow
		s.lo = lo
	}
}
