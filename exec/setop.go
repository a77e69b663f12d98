package exec

import (
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// setOp is INTERSECT and EXCEPT, with or without ALL, by counting rows by value.
type setOp struct {
	x           *Execution
	left, right operator
	except, all bool
	keys        *hashKeys
	kinds       []sqltypes.Kind
	mem         budget
	groups      *groupTable
	nl, nr      []int64
	loaded      bool
	at          int
	rest        int64 // copies of group at still to yield
	out         *batch
	rows        []int32
}

func (x *Execution) buildSetOp(p *planner.SetOp) (built, error) {
	left, err := x.build(p.Left, nil)
	if err != nil {
		return built{}, err
	}
	right, err := x.build(p.Right, nil)
	if err != nil {
		return built{}, err
	}
	keys, err := x.newHashKeys(columnTypes(p.Columns))
	if err != nil {
		return built{}, err
	}
	kinds := x.outKinds(p)
	return built{op: &setOp{x: x, left: left.op, right: right.op, except: p.Except, all: p.All, keys: keys, kinds: kinds,
		mem: budget{x: x}, out: ownBatch(kinds, nil, 0)}, kinds: kinds}, nil
}

func columnTypes(cols []planner.Column) []sqltypes.ColumnType {
	out := make([]sqltypes.ColumnType, len(cols))
	for i, c := range cols {
		out[i] = c.Type
	}
	return out
}

func (o *setOp) open() error {
	o.mem.release()
	o.groups, o.nl, o.nr, o.loaded, o.at, o.rest = newGroupTable(o.keys, o.kinds), nil, nil, false, 0, 0
	return nil
}

func (o *setOp) close() {
	o.left.close()
	o.right.close()
	o.groups, o.nl, o.nr = nil, nil, nil
	o.mem.release()
}

func (o *setOp) load(in operator, isLeft bool) error {
	if err := in.open(); err != nil {
		return err
	}
	defer in.close()
	before := o.groups.bytes()
	for {
		b, err := in.next()
		if err != nil || b == nil {
			return err
		}
		if err := o.x.cancelled(); err != nil {
			return err
		}
		sel := b.Selection()
		o.groups.lookup(b.Cols, sel, o.groups.ids, !isLeft)
		for len(o.nl) < o.groups.n() {
			o.nl, o.nr = append(o.nl, 0), append(o.nr, 0)
		}
		for _, i := range sel {
			if g := o.groups.ids[i]; g >= 0 {
				if isLeft {
					o.nl[g]++
				} else {
					o.nr[g]++
				}
			}
		}
		after := o.groups.bytes()
		if err := o.mem.grow(after - before); err != nil {
			return err
		}
		before = after
	}
}

// copies is how often group g appears in the result.
func (o *setOp) copies(g int) int64 {
	l, r := o.nl[g], o.nr[g]
	switch {
	case o.except && o.all:
		return max(l-r, 0)
	case o.except && r > 0 || !o.except && r == 0:
		return 0
	case o.all:
		return min(l, r)
	}
	return 1
}

func (o *setOp) next() (*batch, error) {
	if !o.loaded {
		o.loaded = true
		if err := o.load(o.left, true); err != nil {
			return nil, err
		}
		if err := o.load(o.right, false); err != nil {
			return nil, err
		}
		if o.groups.n() > 0 {
			o.rest = o.copies(0)
		}
	}
	o.rows = o.rows[:0]
	for o.at < o.groups.n() && len(o.rows) < expr.BatchSize {
		if o.rest == 0 {
			if o.at++; o.at < o.groups.n() {
				o.rest = o.copies(o.at)
			}
			continue
		}
		o.rows = append(o.rows, int32(o.at))
		o.rest--
	}
	if len(o.rows) == 0 {
		return nil, nil
	}
	o.out.reset()
	o.groups.store.gather(o.out.Cols, 0, o.rows)
	o.out.N = len(o.rows)
	return o.out, nil
}

// uniqueOp drops rows equal to the one before on some columns.
type uniqueOp struct {
	x    *Execution
	in   operator
	cols []int
	keys *hashKeys
	last *store
	kind []sqltypes.Kind
	out  batch
	sel  []uint16
}

func (x *Execution) buildUnique(p *planner.Unique) (built, error) {
	in, err := x.build(p.Input, nil)
	if err != nil {
		return built{}, err
	}
	o := &uniqueOp{x: x, in: in.op, cols: p.Cols}
	cols := p.Input.Out()
	var types []sqltypes.ColumnType
	for _, c := range p.Cols {
		types = append(types, cols[c].Type)
		o.kind = append(o.kind, in.kinds[c])
	}
	if o.keys, err = x.newHashKeys(types); err != nil {
		return built{}, err
	}
	in.op = o
	return in, nil
}

func (o *uniqueOp) open() error { o.last = nil; return o.in.open() }
func (o *uniqueOp) close()      { o.in.close() }

func (o *uniqueOp) next() (*batch, error) {
	vecs := make([]*expr.Vec, len(o.cols))
	for {
		b, err := o.in.next()
		if err != nil || b == nil {
			return nil, err
		}
		for k, c := range o.cols {
			vecs[k] = b.Cols[c]
		}
		o.sel = o.sel[:0]
		prev := -1
		for _, i := range b.Selection() {
			switch {
			case prev >= 0:
				if o.keys.equal(vecs, prev, vecs, int(i)) {
					continue
				}
			case o.last != nil && o.keys.equal(o.last.cols, 0, vecs, int(i)):
				continue
			}
			prev = int(i)
			o.sel = append(o.sel, i)
		}
		if len(o.sel) == 0 {
			continue
		}
		o.last = newStore(o.kind, nil)
		o.last.append(vecs, o.sel[len(o.sel)-1:])
		o.out = *b
		o.out.Sel = o.sel
		return &o.out, nil
	}
}
