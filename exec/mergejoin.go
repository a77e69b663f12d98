package exec

import (
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// mergeJoinOp joins two inputs sorted on the keys. The right rows that share a
// key are kept in a group while the left rows with that key go by.
type mergeJoinOp struct {
	x           *Execution
	kind        planner.JoinKind
	left, right built
	lkeys       *keyEval
	rkeys       *keyEval
	orders      []*sortOrder
	out         *joinOut
	mem         budget
	rkinds      []sqltypes.Kind
	rused       need

	cur     *batch // left
	lvecs   []*expr.Vec
	sel     []uint16
	pos     int
	rcur    *batch
	rvecs   []*expr.Vec
	rsel    []uint16
	rpos    int
	rdone   bool
	group   *store // right rows of one key, keys at the end
	gkeys   []*expr.Vec
	gseen   expr.Bitmap
	gpos    int
	pairing bool
	// skipped right rows to be padded (right and full joins).
	skipped *store
	stage   int // 0 joining, 1 rest of the right side, 2 done
	scratch []*expr.Vec
	buf     []int32
}

func (x *Execution) buildMergeJoin(p *planner.MergeJoin, used need) (built, error) {
	lw, rw := len(p.Left.Out()), len(p.Right.Out())
	all, lused, rused := joinColumns(used, lw, rw, p.Kind, p.Cond)
	lused.add(p.LeftKeys...)
	rused.add(p.RightKeys...)
	o := &mergeJoinOp{x: x, kind: p.Kind, mem: budget{x: x}}
	var err error
	if o.left, err = x.build(p.Left, lused); err != nil {
		return built{}, err
	}
	if o.right, err = x.build(p.Right, rused); err != nil {
		return built{}, err
	}
	if o.lkeys, err = x.newKeyEval(p.LeftKeys); err != nil {
		return built{}, err
	}
	if o.rkeys, err = x.newKeyEval(p.RightKeys); err != nil {
		return built{}, err
	}
	for i, e := range p.LeftKeys {
		k := planner.SortKey{Expr: e}
		if i < len(p.Keys) {
			k.Desc, k.NullsFirst, k.Lt = p.Keys[i].Desc, p.Keys[i].NullsFirst, p.Keys[i].Lt
		}
		ord, err := x.newSortOrder(k)
		if err != nil {
			return built{}, err
		}
		o.orders = append(o.orders, ord)
	}
	if o.out, err = x.newJoinOut(p.Kind, o.left, o.right, all, p.Cond); err != nil {
		return built{}, err
	}
	o.rkinds = append(append([]sqltypes.Kind{}, o.right.kinds...), refKinds(len(o.right.slots))...)
	o.rkinds = append(o.rkinds, x.exprKinds(p.RightKeys)...)
	o.rused = rused.copy(len(o.rkinds))
	for i := rw; i < len(o.rkinds); i++ {
		o.rused[i] = true
	}
	return o.out.built(o), nil
}

func (o *mergeJoinOp) open() error {
	o.mem.release()
	o.cur, o.rcur, o.rdone, o.pairing, o.stage = nil, nil, false, false, 0
	o.group, o.skipped = newStore(o.rkinds, o.rused), newStore(o.rkinds, o.rused)
	o.gkeys = nil
	o.out.lidx, o.out.ridx = o.out.lidx[:0], o.out.ridx[:0]
	if err := o.left.op.open(); err != nil {
		return err
	}
	return o.right.op.open()
}

func (o *mergeJoinOp) close() {
	o.left.op.close()
	o.right.op.close()
	o.group, o.skipped, o.cur, o.rcur = nil, nil, nil, nil
	o.mem.release()
}

func (o *mergeJoinOp) padsRight() bool {
	return o.kind == planner.JoinRight || o.kind == planner.JoinFull
}

// right makes sure there is a current right row; false at the end.
func (o *mergeJoinOp) rightRow() (bool, error) {
	for !o.rdone && (o.rcur == nil || o.rpos >= len(o.rsel)) {
		b, err := o.right.op.next()
		if err != nil {
			return false, err
		}
		if b == nil {
			o.rdone = true
			break
		}
		if err := o.x.cancelled(); err != nil {
			return false, err
		}
		o.rcur, o.rsel, o.rpos = b, b.Selection(), 0
		if o.rvecs, err = o.rkeys.eval(b); err != nil {
			return false, err
		}
	}
	return !o.rdone, nil
}

// take moves the current right row into s.
func (o *mergeJoinOp) take(s *store) error {
	o.scratch = append(o.rcur.all(o.scratch), o.rvecs...)
	err := o.mem.grow(s.append(o.scratch, o.rsel[o.rpos:o.rpos+1]))
	o.rpos++
	return err
}

func (o *mergeJoinOp) compare(a []*expr.Vec, i int, b []*expr.Vec, j int) int {
	for k, ord := range o.orders {
		if c := ord.compare(a[k], i, b[k], j); c != 0 {
			return c
		}
	}
	return 0
}

// retire forgets the group; rows of it that never matched are padded later.
func (o *mergeJoinOp) retire() error {
	if o.padsRight() {
		for r := range o.group.n {
			if !o.gseen.Get(r) {
				row := make([]sqltypes.Datum, len(o.group.cols))
				o.group.row(r, row)
				if err := o.mem.grow(o.skipped.appendRow(row)); err != nil {
					return err
				}
			}
		}
	}
	o.mem.release()
	o.group.clear()
	o.gkeys = nil
	return nil
}

// seek brings the group to the key of left row i; false: no right row has it.
func (o *mergeJoinOp) seek(i int) (bool, error) {
	if anyNull(o.lvecs, i) {
		return false, nil
	}
	if o.gkeys != nil {
		c := o.compare(o.gkeys, 0, o.lvecs, i)
		if c == 0 {
			return true, nil
		}
		if c > 0 {
			return false, nil
		}
		if err := o.retire(); err != nil {
			return false, err
		}
	}
	for {
		ok, err := o.rightRow()
		if err != nil || !ok {
			return false, err
		}
		r := int(o.rsel[o.rpos])
		c := 0
		if anyNull(o.rvecs, r) {
			c = -1
			if o.compare(o.rvecs, r, o.lvecs, i) > 0 {
				return false, nil // NULLs sort last: nothing more can match
			}
		} else {
			c = o.compare(o.rvecs, r, o.lvecs, i)
		}
		if c > 0 {
			return false, nil
		}
		if c == 0 {
			break
		}
		if o.padsRight() {
			if err := o.take(o.skipped); err != nil {
				return false, err
			}
			if o.skipped.n >= expr.BatchSize {
				return false, nil
			}
		} else {
			o.rpos++
		}
	}
	nkey := len(o.rkinds) - len(o.orders)
	for {
		if err := o.take(o.group); err != nil {
			return false, err
		}
		o.gkeys = o.group.cols[nkey:]
		ok, err := o.rightRow()
		if err != nil {
			return false, err
		}
		if !ok || anyNull(o.rvecs, int(o.rsel[o.rpos])) || o.compare(o.gkeys, 0, o.rvecs, int(o.rsel[o.rpos])) != 0 {
			break
		}
	}
	if o.padsRight() {
		o.gseen = make(expr.Bitmap, (o.group.n+64)>>6)
	}
	return true, nil
}

func (o *mergeJoinOp) next() (*batch, error) {
	for o.stage == 0 {
		if o.cur == nil {
			b, err := o.left.op.next()
			if err != nil {
				return nil, err
			}
			if b == nil {
				o.stage = 1
				break
			}
			if err := o.x.cancelled(); err != nil {
				return nil, err
			}
			o.cur, o.sel, o.pos = b, b.Selection(), 0
			if o.lvecs, err = o.lkeys.eval(b); err != nil {
				return nil, err
			}
			o.out.begin(b)
		}
		if b := o.padSkipped(expr.BatchSize); b != nil {
			return b, nil
		}
		b, err := o.advance()
		if err != nil || b != nil {
			return b, err
		}
		if o.pos < len(o.sel) {
			continue
		}
		cur := o.cur
		o.cur = nil
		if b := o.out.rest(cur, o.sel); b != nil {
			return b, nil
		}
	}
	return o.restRight()
}

// advance pairs left rows with their groups until a batch is full, the group
// changes or the left batch ends.
func (o *mergeJoinOp) advance() (*batch, error) {
	for o.pos < len(o.sel) {
		i := o.sel[o.pos]
		if !o.pairing {
			if len(o.out.lidx) > 0 && (o.gkeys == nil || anyNull(o.lvecs, int(i)) || o.compare(o.gkeys, 0, o.lvecs, int(i)) != 0) {
				return o.emit() // the queued pairs refer to the group
			}
			ok, err := o.seek(int(i))
			if err != nil {
				return nil, err
			}
			if !ok {
				if o.skipped.n >= expr.BatchSize {
					return nil, nil
				}
				o.pos++
				continue
			}
			o.pairing, o.gpos = true, 0
		}
		for o.gpos < o.group.n {
			if o.out.full() {
				return o.emit()
			}
			o.out.add(i, int32(o.gpos))
			o.gpos++
		}
		o.pairing = false
		o.pos++
	}
	return o.emit()
}

func (o *mergeJoinOp) emit() (*batch, error) {
	var seen expr.Bitmap
	if o.padsRight() {
		seen = o.gseen
	}
	return o.out.emit(o.group, seen)
}

// padSkipped yields right rows without partner once there are at least min.
func (o *mergeJoinOp) padSkipped(min int) *batch {
	if o.skipped.n == 0 || o.skipped.n < min || len(o.out.lidx) > 0 {
		return nil
	}
	o.buf = o.buf[:0]
	n := o.skipped.n
	if n > expr.BatchSize {
		n = expr.BatchSize
	}
	for r := range n {
		o.buf = append(o.buf, int32(r))
	}
	b := o.out.rightRows(o.skipped, o.buf)
	if n == o.skipped.n {
		o.skipped = newStore(o.rkinds, o.rused)
		return b
	}
	rest := newStore(o.rkinds, o.rused)
	row := make([]sqltypes.Datum, len(o.rkinds))
	for r := n; r < o.skipped.n; r++ {
		o.skipped.row(r, row)
		rest.appendRow(row)
	}
	o.skipped = rest
	return b
}

// restRight pads what is left of the right side.
func (o *mergeJoinOp) restRight() (*batch, error) {
	if !o.padsRight() || o.stage == 2 {
		return nil, nil
	}
	if o.gkeys != nil {
		if err := o.retire(); err != nil {
			return nil, err
		}
	}
	for o.skipped.n < expr.BatchSize {
		ok, err := o.rightRow()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if err := o.take(o.skipped); err != nil {
			return nil, err
		}
	}
	if b := o.padSkipped(1); b != nil {
		return b, nil
	}
	o.stage = 2
	return nil, nil
}
