package exec

import (
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// spool keeps the rows of an operator as they are asked for, in memory or, past
// work_mem, in a file, so that several readers can go over them.
type spool struct {
	x       *Execution
	in      operator
	kinds   []sqltypes.Kind
	visible int
	mem     budget
	rows    *store
	file    *spillFile // complete input, when it did not fit
	started bool
	done    bool
	used    need
	scratch []*expr.Vec
}

func (x *Execution) newSpool(in built, used need) *spool {
	s := &spool{x: x, in: in.op, visible: len(in.kinds), mem: budget{x: x}}
	s.kinds = append(append([]sqltypes.Kind{}, in.kinds...), refKinds(len(in.slots))...)
	if used != nil {
		s.used = used.copy(len(s.kinds))
		for i := s.visible; i < len(s.kinds); i++ {
			s.used[i] = true
		}
	}
	x.onClose = append(x.onClose, s.reset)
	return s
}

func (s *spool) reset() {
	s.mem.release()
	if s.file != nil {
		s.file.remove()
		s.file = nil
	}
	if s.started {
		s.in.close()
	}
	s.rows, s.started, s.done = nil, false, false
}

// more reads one batch of the input; false at its end.
func (s *spool) more() (bool, error) {
	if s.done {
		return false, nil
	}
	if !s.started {
		s.started = true
		s.rows = newStore(s.kinds, s.used)
		if err := s.in.open(); err != nil {
			return false, err
		}
	}
	b, err := s.in.next()
	if err != nil {
		return false, err
	}
	if b == nil {
		s.done = true
		s.in.close()
		return false, nil
	}
	if err := s.x.cancelled(); err != nil {
		return false, err
	}
	s.scratch = b.all(s.scratch)
	if err := s.mem.grow(s.rows.append(s.scratch, b.Selection())); err != nil {
		return false, err
	}
	if s.mem.over() {
		return true, s.toFile()
	}
	return true, nil
}

// toFile moves the rows and the rest of the input into a file.
func (s *spool) toFile() error {
	f, err := s.x.spills.create()
	if err != nil {
		return err
	}
	var b batch
	for at := 0; at < s.rows.n; at += expr.BatchSize {
		n := min(expr.BatchSize, s.rows.n-at)
		s.rows.slice(at, n, len(s.kinds), &b)
		if err := f.write(b.Cols, expr.All(n)); err != nil {
			return err
		}
	}
	s.rows = nil
	s.mem.release()
	for {
		in, err := s.in.next()
		if err != nil {
			return err
		}
		if in == nil {
			break
		}
		if err := s.x.cancelled(); err != nil {
			return err
		}
		s.scratch = in.all(s.scratch)
		if err := f.write(s.scratch, in.Selection()); err != nil {
			return err
		}
	}
	s.done = true
	s.in.close()
	s.file = f
	return f.finish()
}

// reader is one pass over a spool.
type spoolReader struct {
	s    *spool
	at   int
	read int64 // rows handed out
	view store // own slices of the shared vectors
	file *spillReader
	in   expr.Batch
	out  batch
}

func (r *spoolReader) rewind() { r.at, r.read, r.file = 0, 0, nil }

func (r *spoolReader) next() (*batch, error) {
	for {
		if r.s.file != nil {
			return r.nextFromFile()
		}
		if r.s.rows != nil && r.at < r.s.rows.n {
			n := min(expr.BatchSize, r.s.rows.n-r.at)
			if len(r.view.cols) != len(r.s.rows.cols) {
				r.view.view = nil
			}
			r.view.cols = r.s.rows.cols
			r.view.slice(r.at, n, r.s.visible, &r.out)
			r.at += n
			return &r.out, nil
		}
		ok, err := r.s.more()
		if err != nil || !ok {
			return nil, err
		}
	}
}

func (r *spoolReader) nextFromFile() (*batch, error) {
	if r.file == nil {
		var err error
		if r.file, err = r.s.file.reader(); err != nil {
			return nil, err
		}
		// The first rows may have been handed out from memory before the file was written.
		for skip := r.at; skip > 0; {
			n, err := r.file.read(&r.in)
			if err != nil || n == 0 {
				return nil, err
			}
			if skip < n {
				return r.fromFile(skip), nil
			}
			skip -= n
		}
	}
	n, err := r.file.read(&r.in)
	if err != nil || n == 0 {
		return nil, err
	}
	return r.fromFile(0), nil
}

func (r *spoolReader) fromFile(skip int) *batch {
	r.out.N, r.out.Sel = r.in.N, nil
	if skip > 0 {
		r.out.Sel = expr.All(r.in.N)[skip:]
	}
	r.out.Cols, r.out.refs = r.in.Cols[:r.s.visible], r.in.Cols[r.s.visible:]
	return &r.out
}

// materializeOp keeps its input's rows for rescans. The rows are void when an
// outer parameter that the input reads has changed.
type materializeOp struct {
	s    *spool
	r    spoolReader
	deps depWatch
}

func (x *Execution) buildMaterialize(p *planner.Materialize, used need) (built, error) {
	in, err := x.build(p.Input, used)
	if err != nil {
		return built{}, err
	}
	o := &materializeOp{s: x.newSpool(in, used), deps: newDepWatch(x, paramsOf(p.Input))}
	o.r.s = o.s
	return built{op: o, kinds: in.kinds, slots: in.slots}, nil
}

func (o *materializeOp) open() error {
	if o.deps.changed() {
		o.s.reset()
	}
	o.r.rewind()
	return nil
}
func (o *materializeOp) next() (*batch, error) { return o.r.next() }
func (o *materializeOp) close()                {}

// depWatch notices that execution parameters have changed.
type depWatch struct {
	x    *Execution
	ids  []int
	vals []sqltypes.Datum
	set  bool
}

func newDepWatch(x *Execution, ids []int) depWatch {
	return depWatch{x: x, ids: ids, vals: make([]sqltypes.Datum, len(ids))}
}

// changed reports whether a value differs from that at the last call; true the first time.
func (d *depWatch) changed() bool {
	ch := !d.set
	d.set = true
	for i, id := range d.ids {
		if v := d.x.params.Exec[id]; v != d.vals[i] {
			d.vals[i], ch = v, true
		}
	}
	return ch
}
