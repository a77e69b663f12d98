package exec

import (
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// gapFillOp adds buckets without rows between the rows of sorted groups.
type gapFillOp struct {
	x      *Execution
	p      *planner.GapFill
	in     operator
	bound  []*expr.Program // arguments of the bucket function
	starts []gapBound
	ends   []gapBound
	fills  []*gapFill
	keys   *hashKeys
	groups []int
	width  int // input columns

	call        *sqltypes.Call
	args        []sqltypes.Datum
	first, last int64 // buckets: the first one, and where they end
	src         *batch
	sel         []uint16
	row, prev   []sqltypes.Datum // the row that comes next, the one that was handed out last of this group
	have        bool
	started     bool  // prev is of the group at hand
	expect      int64 // next bucket of the group
	ended       bool
	groupVecs   []*expr.Vec
	rowKey      []*expr.Vec
	out         *batch
	buf         []sqltypes.Datum
}

type gapBound struct {
	value *expr.Program
	plus  bool
}

// gapFill is one column of locf or interpolate and what it remembers of the group.
type gapFill struct {
	kind                 byte
	typ                  sqltypes.Kind
	value, before, after *expr.Program
	skip                 *expr.Program
	skipNull             bool
	last, next           gapPoint
	lookedBefore         bool
	lookedAfter          bool
}

type gapPoint struct {
	ok bool
	t  int64
	v  sqltypes.Datum
}

func (x *Execution) buildGapFill(p *planner.GapFill) (built, error) {
	in, err := x.build(p.Input, nil)
	if err != nil {
		return built{}, err
	}
	o := &gapFillOp{x: x, p: p, in: in.op, width: len(in.kinds), groups: p.Groups}
	if o.bound, err = x.compileAll(p.Call.Args); err != nil {
		return built{}, err
	}
	for _, l := range []struct {
		from []planner.GapBound
		to   *[]gapBound
	}{{p.Start, &o.starts}, {p.Finish, &o.ends}} {
		for _, b := range l.from {
			v, err := x.compile(b.Value)
			if err != nil {
				return built{}, err
			}
			*l.to = append(*l.to, gapBound{v, b.Plus})
		}
	}
	kinds := append([]sqltypes.Kind(nil), in.kinds...)
	for _, f := range p.Fills {
		g := &gapFill{kind: f.Kind, typ: x.kind(f.Value.Type())}
		for _, e := range []struct {
			from expr.Expr
			to   **expr.Program
		}{{f.Value, &g.value}, {f.Before, &g.before}, {f.After, &g.after}, {f.SkipNull, &g.skip}} {
			if *e.to, err = x.compile(e.from); err != nil {
				return built{}, err
			}
		}
		o.fills = append(o.fills, g)
		kinds = append(kinds, g.typ)
	}
	var types []sqltypes.ColumnType
	cols := p.Input.Out()
	for _, c := range p.Groups {
		types = append(types, cols[c].Type)
		o.rowKey = append(o.rowKey, expr.NewVec(in.kinds[c]))
		o.groupVecs = append(o.groupVecs, expr.NewVec(in.kinds[c]))
	}
	if o.keys, err = x.newHashKeys(types); err != nil {
		return built{}, err
	}
	o.out = ownBatch(kinds, nil, 0)
	o.row, o.prev = make([]sqltypes.Datum, o.width), make([]sqltypes.Datum, o.width)
	o.buf = make([]sqltypes.Datum, len(kinds))
	return built{op: o, kinds: kinds}, nil
}

func (o *gapFillOp) open() error {
	o.src, o.sel, o.have, o.started, o.ended = nil, nil, false, false, false
	o.call = &sqltypes.Call{Env: o.x.env, Proc: o.p.Call.Proc, RetType: o.p.Call.Type()}
	o.args = o.args[:0]
	for i, p := range o.bound {
		d, err := o.x.scalar(p)
		if err != nil {
			return err
		}
		if d.Null && i != 1 {
			return pgerror.New(pgerror.InvalidParameterValue, "invalid time_bucket_gapfill argument: bucket_width cannot be NULL")
		}
		o.args = append(o.args, d)
	}
	for _, f := range o.fills {
		if f.skip != nil {
			d, err := o.x.scalar(f.skip)
			if err != nil {
				return err
			}
			f.skipNull = d.True()
		}
	}
	start, ok, err := o.limit(o.starts, true)
	if err != nil || !ok {
		return orMissing(err, "start")
	}
	if o.last, ok, err = o.limit(o.ends, false); err != nil || !ok {
		return orMissing(err, "finish")
	}
	if o.first, err = o.bucketOf(start); err != nil {
		return err
	}
	return o.in.open()
}

func orMissing(err error, what string) error {
	if err != nil {
		return err
	}
	return pgerror.New(pgerror.InvalidParameterValue, "missing time_bucket_gapfill argument: could not infer %s from WHERE clause", what).
		WithHint("Specify start and finish as arguments or in the WHERE clause.")
}

// limit is the latest, or the earliest, of bounds that are not NULL.
func (o *gapFillOp) limit(list []gapBound, latest bool) (out int64, ok bool, err error) {
	for _, b := range list {
		d, err := o.x.scalar(b.value)
		if err != nil {
			return 0, false, err
		}
		if d.Null {
			continue
		}
		if sqltypes.TimestampIsInf(d.I) {
			return 0, false, pgerror.New(pgerror.InvalidParameterValue, "invalid time_bucket_gapfill argument: start and finish must be finite")
		}
		v := d.I
		if b.plus {
			v++
		}
		if !ok || latest && v > out || !latest && v < out {
			out, ok = v, true
		}
	}
	return out, ok, nil
}

func (o *gapFillOp) bucketOf(t int64) (int64, error) {
	o.args[1] = sqltypes.Int(t)
	d, err := o.call.Proc.Fn(o.call, o.args)
	return d.I, err
}

func (o *gapFillOp) after(bucket int64) (int64, error) {
	o.args[1] = sqltypes.Int(bucket)
	d, err := o.call.Proc.NextBucket(o.call, o.args)
	if err == nil && d.I <= bucket {
		err = pgerror.New(pgerror.DatetimeFieldOverflow, "timestamp out of range")
	}
	return d.I, err
}

func (o *gapFillOp) close() { o.in.close() }

// fetch makes the next input row the one that comes next.
func (o *gapFillOp) fetch() error {
	for len(o.sel) == 0 {
		b, err := o.in.next()
		if err != nil {
			return err
		}
		if b == nil {
			o.have, o.ended = false, true
			return nil
		}
		o.src, o.sel = b, b.Selection()
	}
	o.src.Row(int(o.sel[0]), o.row)
	o.sel, o.have = o.sel[1:], true
	return nil
}

func (o *gapFillOp) next() (*batch, error) {
	if err := o.x.cancelled(); err != nil {
		return nil, err
	}
	o.out.reset()
	for !o.out.Full() {
		more, err := o.step()
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
	}
	if o.out.N == 0 {
		return nil, nil
	}
	return o.out, nil
}

// step hands out one row, of the input or added; false at the end.
func (o *gapFillOp) step() (bool, error) {
	if !o.have && !o.ended {
		if err := o.fetch(); err != nil {
			return false, err
		}
		if o.ended && !o.started && len(o.groups) == 0 { // no rows at all: one group
			o.begin()
		}
	}
	if o.started && (!o.have || !o.sameGroup()) {
		if o.expect < o.last {
			return true, o.gap(nil)
		}
		o.started = false
	}
	if !o.have {
		return false, nil
	}
	if !o.started {
		o.begin()
	}
	bucket := o.row[o.p.Bucket]
	if o.expect < o.last && (bucket.Null || o.expect < bucket.I) {
		if bucket.Null {
			return true, o.gap(nil)
		}
		return true, o.gap(&bucket)
	}
	copy(o.buf, o.row)
	for i, f := range o.fills {
		v, err := f.value.Row(o.row, &o.x.params, o.x.env)
		if err != nil {
			return false, err
		}
		switch {
		case bucket.Null:
		case f.kind == 'l' && v.Null && f.skipNull:
			if v, err = o.carried(f); err != nil {
				return false, err
			}
		default:
			f.last = gapPoint{ok: true, t: bucket.I, v: v}
		}
		f.next = gapPoint{}
		o.buf[o.width+i] = v
	}
	switch {
	case bucket.Null || bucket.I < o.expect:
	case bucket.I >= o.last:
		o.expect = o.last
	default:
		var err error
		if o.expect, err = o.after(bucket.I); err != nil {
			return false, err
		}
	}
	o.out.Append(o.buf)
	o.have = false
	return true, nil
}

// begin starts the group of the row that comes next.
func (o *gapFillOp) begin() {
	o.started, o.expect = true, o.first
	copy(o.prev, o.row)
	if !o.have {
		for i := range o.prev {
			o.prev[i] = sqltypes.Null
		}
	}
	for i := range o.prev {
		group := false
		for _, g := range o.groups {
			group = group || g == i
		}
		if !group {
			o.prev[i] = sqltypes.Null
		}
	}
	for k, g := range o.groups {
		o.groupVecs[k].Reset(o.groupVecs[k].Kind)
		o.groupVecs[k].Set(0, o.row[g])
	}
	for _, f := range o.fills {
		f.last, f.next, f.lookedBefore, f.lookedAfter = gapPoint{}, gapPoint{}, false, false
	}
}

func (o *gapFillOp) sameGroup() bool {
	for k, g := range o.groups {
		o.rowKey[k].Reset(o.rowKey[k].Kind)
		o.rowKey[k].Set(0, o.row[g])
	}
	return o.keys.equal(o.groupVecs, 0, o.rowKey, 0)
}

// gap adds the bucket that is expected. next is the bucket of the group's next
// row, nil when there is none.
func (o *gapFillOp) gap(next *sqltypes.Datum) error {
	copy(o.buf, o.prev)
	o.buf[o.p.Bucket] = sqltypes.Int(o.expect)
	for i, f := range o.fills {
		var v sqltypes.Datum
		var err error
		if f.kind == 'l' {
			v, err = o.carried(f)
		} else {
			v, err = o.between(f, next)
		}
		if err != nil {
			return err
		}
		o.buf[o.width+i] = v
	}
	o.out.Append(o.buf)
	var err error
	o.expect, err = o.after(o.expect)
	return err
}

// carried is the last value of the group, or what stands before its first one.
func (o *gapFillOp) carried(f *gapFill) (sqltypes.Datum, error) {
	if !f.last.ok {
		f.last = gapPoint{ok: true, v: sqltypes.Null}
		if f.before != nil {
			v, err := f.before.Row(o.prev, &o.x.params, o.x.env)
			if err != nil {
				return v, err
			}
			f.last.v = v
		}
	}
	return f.last.v, nil
}

// between interpolates between the values on both sides of the expected bucket.
func (o *gapFillOp) between(f *gapFill, next *sqltypes.Datum) (sqltypes.Datum, error) {
	var err error
	if !f.last.ok && !f.lookedBefore && f.before != nil {
		f.lookedBefore = true
		if f.last, err = o.point(f.before); err != nil {
			return sqltypes.Null, err
		}
	}
	if !f.next.ok {
		switch {
		case next != nil:
			v, err := f.value.Row(o.row, &o.x.params, o.x.env)
			if err != nil {
				return v, err
			}
			f.next = gapPoint{ok: true, t: next.I, v: v}
		case f.after != nil && !f.lookedAfter:
			f.lookedAfter = true
			if f.next, err = o.point(f.after); err != nil {
				return sqltypes.Null, err
			}
		}
	}
	a, b := f.last, f.next
	if !a.ok || !b.ok || a.v.Null || b.v.Null || b.t <= a.t {
		return sqltypes.Null, nil
	}
	return f.interpolate(a, b, o.expect), nil
}

// interpolate is the value at t on the line from a to b.
func (f *gapFill) interpolate(a, b gapPoint, t int64) sqltypes.Datum {
	number := func(d sqltypes.Datum) float64 {
		if f.typ == sqltypes.KFloat {
			return d.Float()
		}
		return float64(d.I)
	}
	left, right := float64(t)-float64(a.t), float64(b.t)-float64(t)
	v := (number(a.v)*right + number(b.v)*left) / (left + right)
	if f.typ == sqltypes.KFloat {
		return sqltypes.Float(v)
	}
	return sqltypes.Int(int64(v))
}

// point reads a record of time and value.
func (o *gapFillOp) point(p *expr.Program) (gapPoint, error) {
	d, err := p.Row(o.prev, &o.x.params, o.x.env)
	if err != nil || d.Null {
		return gapPoint{}, err
	}
	r := sqltypes.OpenRecord(d)
	if r.Len() != 2 {
		return gapPoint{}, pgerror.New(pgerror.InvalidParameterValue, "interpolate RECORD arguments must have 2 elements")
	}
	cols := o.p.Input.Out()
	if r.TypeOID(0) != cols[o.p.Bucket].Type.OID {
		return gapPoint{}, pgerror.New(pgerror.InvalidParameterValue, "first argument of interpolate returned record must match used timestamp datatype")
	}
	for _, f := range o.p.Fills {
		if f.Kind == 'i' && r.TypeOID(1) == f.Value.Type().OID {
			t := r.At(0)
			return gapPoint{ok: !t.Null, t: t.I, v: r.At(1)}, nil
		}
	}
	return gapPoint{}, pgerror.New(pgerror.InvalidParameterValue, "second argument of interpolate returned record must match used interpolate datatype")
}
