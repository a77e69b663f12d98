package exec

import (
	"ostraka/engine"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// bucketCond is a comparison of the bucket of a row's time with a value, which
// bounds the time itself.
type bucketCond struct {
	attr  int16
	op    string
	call  *expr.Call
	args  []*expr.Program // of the bucket function; nil for the time
	value *expr.Program
}

// bucket recognises time_bucket(…, time) op value.
func (s *seriesConds) bucket(p *planner.Scan, e expr.Expr, time int16) (bool, error) {
	n, ok := e.(*expr.Call)
	if !ok || len(n.Args) != 2 || !rowless(n) || flipped[n.Op] == "" {
		return false, nil
	}
	op, value := n.Op, n.Args[1]
	c, ok := n.Args[0].(*expr.Call)
	if !ok || c.Proc.NextBucket == nil {
		op, value = flipped[op], n.Args[0]
		if c, ok = n.Args[1].(*expr.Call); !ok || c.Proc.NextBucket == nil {
			return false, nil
		}
	}
	col, ok := c.Args[1].(*expr.Col)
	if !ok || col.Idx >= len(p.Attrs) || p.Attrs[col.Idx] != time || !constant(value) || value.Type().OID != c.Type().OID || col.Typ.OID != value.Type().OID {
		return false, nil
	}
	b := bucketCond{attr: time, op: op, call: c}
	for i, a := range c.Args {
		if i == 1 {
			b.args = append(b.args, nil)
			continue
		}
		if !constant(a) {
			return false, nil
		}
		prog, err := s.x.compile(a)
		if err != nil {
			return false, err
		}
		b.args = append(b.args, prog)
	}
	var err error
	b.value, err = s.x.compile(value)
	s.buckets = append(s.buckets, b)
	return true, err
}

// fill adds the bounds; with fixed buckets they are exactly what the condition says.
func (b *bucketCond) fill(x *Execution, spec *engine.ScanSpec) (none bool, err error) {
	v, err := x.scalar(b.value)
	if err != nil || v.Null {
		return v.Null, err
	}
	args := make([]sqltypes.Datum, len(b.args))
	for i, p := range b.args {
		if p == nil {
			args[i] = v
		} else if args[i], err = x.scalar(p); err != nil || args[i].Null {
			return args[i].Null, err
		}
	}
	if !b.fixed() {
		return false, nil
	}
	call := &sqltypes.Call{Env: x.env, Proc: b.call.Proc, RetType: b.call.Typ}
	start, err := call.Proc.Fn(call, args)
	if err != nil {
		return false, err
	}
	bound := func(op byte, d sqltypes.Datum) {
		spec.Conds = append(spec.Conds, engine.Cond{Attr: b.attr, Op: op, Values: []sqltypes.Datum{d}})
	}
	aligned := start.I == v.I
	if b.op == "=" {
		if !aligned {
			return true, nil
		}
		bound('g', v)
	}
	if aligned && (b.op == "<" || b.op == ">=") {
		bound(map[string]byte{"<": '<', ">=": 'g'}[b.op], v)
		return false, nil
	}
	args[1] = start
	next, err := call.Proc.NextBucket(call, args)
	lower := b.op == ">" || b.op == ">="
	switch {
	case err != nil && v.I > 0: // after all times
		return lower || b.op == "=", nil
	case err != nil: // before all times
		return !lower, nil
	case lower:
		bound('g', next)
	default:
		bound('<', next)
	}
	return false, nil
}

// fixed: a bucket is the times from its start to the next one's. By the wall clock of
// a zone, at the end of summer time, one may start after some of its times.
func (b *bucketCond) fixed() bool { return b.call.Proc.Buckets != nil }

// rollupCond is a condition that the store of a continuous aggregate answers.
type rollupCond struct {
	call *expr.Call
	args []*expr.Program
}

func (s *seriesConds) rollup(c *expr.Call) error {
	args, err := s.x.compileAll(c.Args[:2])
	s.rollups = append(s.rollups, rollupCond{call: c, args: args})
	return err
}

func (r *rollupCond) fill(x *Execution, spec *engine.ScanSpec) error {
	var v [2]sqltypes.Datum
	for i, p := range r.args {
		d, err := x.scalar(p)
		if err != nil {
			return err
		}
		v[i] = d
	}
	time := spec.Rel.TS.Time
	if r.call.Proc.Rollup == 'b' {
		spec.Conds = append(spec.Conds, engine.Cond{Attr: time, Op: 'g', Values: v[:1]}, engine.Cond{Attr: time, Op: '<', Values: v[1:]})
		return nil
	}
	spec.Conds = append(spec.Conds, engine.Cond{Attr: time, Op: r.call.Proc.Rollup, Values: v[:]})
	return nil
}

// rowFilter is a scan's filter without what the store answers by itself.
func rowFilter(p *planner.Scan) expr.Expr {
	if p.Rel.TimeSeriesSpec() == nil || p.Filter == nil {
		return p.Filter
	}
	var rest []expr.Expr
	for _, e := range conjunction(p.Filter) {
		if c, ok := e.(*expr.Call); ok && c.Proc.Rollup != 0 {
			continue
		}
		rest = append(rest, e)
	}
	switch len(rest) {
	case 0:
		return nil
	case 1:
		return rest[0]
	}
	return &expr.And{T: expr.T{Typ: sqltypes.ColumnType{OID: sqltypes.OIDBool, TypMod: -1}}, Args: rest}
}
