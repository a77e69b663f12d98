package exec

import (
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// setCall is a call of a set-returning function (or of an ordinary one, which
// then yields one row).
type setCall struct {
	x     *Execution
	call  *expr.Call
	args  []*expr.Program
	whole *expr.Program // ordinary function
	inv   sqltypes.Call
	buf   []sqltypes.Datum
	src   sqltypes.RowSource
	one   []sqltypes.Datum
	width int
	ended bool
}

func (x *Execution) newSetCall(c *expr.Call, width int) (*setCall, error) {
	s := &setCall{x: x, call: c, width: width}
	var err error
	if !c.Proc.RetSet {
		s.whole, err = x.compile(c)
		return s, err
	}
	if c.Proc.Set == nil {
		return nil, pgerror.NotSupported("function %s", c.Proc.Name)
	}
	if s.args, err = x.compileAll(c.Args); err != nil {
		return nil, err
	}
	types := make([]sqltypes.ColumnType, len(c.Args))
	for i, a := range c.Args {
		types[i] = a.Type()
	}
	s.inv = sqltypes.Call{Env: x.env, Proc: c.Proc, ArgTypes: types, RetType: c.Typ, Collation: c.Collation, VariadicArray: c.VariadicArray, RetFields: c.RetFields}
	s.buf = make([]sqltypes.Datum, len(c.Args))
	return s, nil
}

// start evaluates the arguments over a row and begins.
func (s *setCall) start(row []sqltypes.Datum) error {
	s.end()
	s.src, s.one, s.ended = nil, nil, false
	if s.whole != nil {
		d, err := s.whole.Row(row, &s.x.params, s.x.env)
		if err != nil {
			return err
		}
		if s.width <= 1 && !s.givesRow() {
			s.one = []sqltypes.Datum{d}
			return nil
		}
		s.one = expr.RecordFields(d, s.width)
		return nil
	}
	null := false
	for i, a := range s.args {
		d, err := a.Row(row, &s.x.params, s.x.env)
		if err != nil {
			return err
		}
		s.buf[i] = d
		null = null || d.Null
	}
	if null && s.call.Proc.Strict {
		s.ended = true
		return nil
	}
	src, err := s.call.Proc.Set(&s.inv, s.buf)
	s.src = src
	return err
}

// end lets a source that holds something (a snapshot, say) free it.
func (s *setCall) end() {
	if c, ok := s.src.(interface{ Close() }); ok {
		c.Close()
	}
	s.src = nil
}

// givesRow reports whether the call's value is a row, even one of a single column.
func (s *setCall) givesRow() bool {
	oid := s.call.Typ.OID
	t := s.x.typ(oid)
	return len(s.call.RetFields) > 0 || t != nil && t.TypType == 'c' && s.width == len(t.Fields)
}

// next returns the next row, false at the end.
func (s *setCall) next() ([]sqltypes.Datum, bool, error) {
	if s.ended {
		return nil, false, nil
	}
	if s.src == nil {
		s.ended = true
		return s.one, s.one != nil, nil
	}
	row, ok, err := s.src.Next()
	if !ok {
		s.ended = true
	}
	return row, ok, err
}

// functionScanOp is a function in FROM; several go in lockstep (ROWS FROM).
type functionScanOp struct {
	x          *Execution
	calls      []*setCall
	counts     []int
	ordinality bool
	filter     *expr.Program
	ord        int64
	row        []sqltypes.Datum
	out        *batch
	room       int // rows that out's vectors have room for
	sel        []uint16
	rejected
	done bool
}

// firstRoom: most functions in FROM return few rows.
const firstRoom = 16

// widen gives the vectors room for n rows.
func (o *functionScanOp) widen(n int) {
	o.room = min(n, expr.BatchSize)
	for _, c := range o.out.Cols {
		c.Ensure(o.room)
	}
}

func (x *Execution) buildFunctionScan(p *planner.FunctionScan) (built, error) {
	kinds := x.outKinds(p)
	o := &functionScanOp{x: x, counts: p.ColCounts, ordinality: p.Ordinality, row: make([]sqltypes.Datum, len(kinds)), out: &batch{}, room: firstRoom}
	for _, k := range kinds {
		v := &expr.Vec{}
		v.Reset(k)
		o.out.Cols = append(o.out.Cols, v)
	}
	for i, c := range p.Calls {
		s, err := x.newSetCall(c, p.ColCounts[i])
		if err != nil {
			return built{}, err
		}
		o.calls = append(o.calls, s)
	}
	var err error
	o.filter, err = x.compile(p.Filter)
	return built{op: o, kinds: kinds}, err
}

func (o *functionScanOp) open() error {
	o.ord, o.done = 0, false
	for _, c := range o.calls {
		if err := c.start(nil); err != nil {
			return err
		}
	}
	return nil
}
func (o *functionScanOp) close() {
	for _, c := range o.calls {
		c.end()
	}
}

func (o *functionScanOp) next() (*batch, error) {
	for !o.done {
		if err := o.x.cancelled(); err != nil {
			return nil, err
		}
		o.out.reset()
		o.widen(o.room)
		for !o.out.Full() {
			if o.out.N >= o.room {
				o.widen(4 * o.room)
			}
			any := false
			at := 0
			for i, c := range o.calls {
				row, ok, err := c.next()
				if err != nil {
					return nil, err
				}
				any = any || ok
				for k := range o.counts[i] {
					if ok && k < len(row) {
						o.row[at] = row[k]
					} else {
						o.row[at] = sqltypes.Null
					}
					at++
				}
			}
			if !any {
				o.done = true
				break
			}
			o.ord++
			if o.ordinality {
				o.row[at] = sqltypes.Int(o.ord)
			}
			o.out.Append(o.row)
		}
		if o.out.N == 0 {
			return nil, nil
		}
		if o.filter == nil {
			return o.out, nil
		}
		ok, err := applyFilter(o.x, o.filter, o.out, &o.sel, &o.rejected)
		if err != nil {
			return nil, err
		}
		if ok {
			return o.out, nil
		}
	}
	return nil, nil
}

// projectSetOp expands set-returning calls of a target list in lockstep.
type projectSetOp struct {
	x       *Execution
	in      operator
	progs   []*expr.Program // ordinary expressions
	sets    []*setCall      // nil: ordinary
	cur     *batch
	sel     []uint16
	pos     int
	running bool
	inRow   []sqltypes.Datum
	row     []sqltypes.Datum
	plain   []sqltypes.Datum
	out     *batch
}

func (x *Execution) buildProjectSet(p *planner.ProjectSet) (built, error) {
	in, err := x.build(p.Input, nil)
	if err != nil {
		return built{}, err
	}
	kinds := x.exprKinds(p.Exprs)
	n := len(kinds)
	o := &projectSetOp{x: x, in: in.op, progs: make([]*expr.Program, n), sets: make([]*setCall, n),
		inRow: make([]sqltypes.Datum, len(in.kinds)), row: make([]sqltypes.Datum, n), plain: make([]sqltypes.Datum, n), out: ownBatch(kinds, nil, 0)}
	for i, e := range p.Exprs {
		if c, ok := e.(*expr.Call); ok && c.Proc.RetSet {
			if o.sets[i], err = x.newSetCall(c, 1); err != nil {
				return built{}, err
			}
			continue
		}
		if o.progs[i], err = x.compile(e); err != nil {
			return built{}, err
		}
	}
	return built{op: o, kinds: kinds}, nil
}

func (o *projectSetOp) open() error { o.cur, o.running = nil, false; return o.in.open() }

func (o *projectSetOp) close() {
	for _, s := range o.sets {
		if s != nil {
			s.end()
		}
	}
	o.in.close()
}

func (o *projectSetOp) next() (*batch, error) {
	o.out.reset()
	for !o.out.Full() {
		if o.cur == nil {
			b, err := o.in.next()
			if err != nil {
				return nil, err
			}
			if b == nil {
				break
			}
			o.cur, o.sel, o.pos = b, b.Selection(), 0
		}
		if o.pos >= len(o.sel) {
			o.cur = nil
			continue
		}
		if err := o.x.cancelled(); err != nil {
			return nil, err
		}
		if !o.running {
			o.cur.Row(int(o.sel[o.pos]), o.inRow)
			for i := range o.row {
				var err error
				if o.sets[i] != nil {
					err = o.sets[i].start(o.inRow)
				} else {
					o.plain[i], err = o.progs[i].Row(o.inRow, &o.x.params, o.x.env)
				}
				if err != nil {
					return nil, err
				}
			}
			o.running = true
		}
		for o.running && !o.out.Full() {
			any := false
			for i, s := range o.sets {
				if s == nil {
					o.row[i] = o.plain[i]
					continue
				}
				r, ok, err := s.next()
				if err != nil {
					return nil, err
				}
				o.row[i] = sqltypes.Null
				if ok {
					any = true
					if o.row[i], err = s.value(r); err != nil {
						return nil, err
					}
				}
			}
			if !any {
				o.running = false
				o.pos++
				break
			}
			o.out.Append(o.row)
		}
	}
	if o.out.N == 0 {
		return nil, nil
	}
	return o.out, nil
}

// value is a row of the function as one value: its only column, or a record of
// its output columns.
func (s *setCall) value(row []sqltypes.Datum) (sqltypes.Datum, error) {
	types, err := s.outTypes()
	if src, ok := s.src.(interface{ RowTypes() []*sqltypes.Type }); ok && len(types) == 0 && err == nil {
		types = src.RowTypes()
	}
	if err != nil || len(types) != len(row) {
		if len(row) == 1 {
			return row[0], nil
		}
		return sqltypes.Null, pgerror.NotSupported("function %s in a select list", s.call.Proc.Name)
	}
	return sqltypes.MakeRecord(types, row), nil
}

// outTypes are the types of the columns of a function that returns rows of
// several; nil for one that returns a scalar type.
func (s *setCall) outTypes() ([]*sqltypes.Type, error) {
	p := s.call.Proc
	var out []*sqltypes.Type
	for i, m := range p.ArgModes {
		if (m == 'o' || m == 'b' || m == 't') && i < len(p.AllArgTypes) {
			t := s.x.typ(p.AllArgTypes[i])
			if t == nil {
				return nil, pgerror.NotSupported("function %s in a select list", p.Name)
			}
			out = append(out, t)
		}
	}
	if len(out) == 1 {
		return nil, nil
	}
	if t := s.x.typ(s.call.Typ.OID); out == nil && t != nil {
		for _, f := range t.Fields {
			out = append(out, f.Type)
		}
	}
	return out, nil
}
