package session

import (
	"math"
	"sort"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Options of DECLARE, bits of the syntax tree.
const (
	optBinary   = 1
	optScroll   = 2
	optNoScroll = 4
	optHold     = 32
)

// declareStmt is DECLARE name CURSOR FOR query. The execution starts here: the
// cursor shows what was visible at this moment.
func (s *Session) declareStmt(p *prepared, n *pg.DeclareCursorStmt, outer *portal) error {
	hold := n.Options&optHold != 0
	if !hold && !s.inBlock() {
		return pgerror.New(pgerror.NoActiveSqlTransaction, "DECLARE CURSOR can only be used in transaction blocks")
	}
	q := s.innerStatement(p, n.Query)
	var args []sqltypes.Datum
	if outer != nil {
		args = append(args, outer.args...)
		q.declared = p.params
	}
	q, rels, err := s.compileCursor(p, q, n.Query)
	if err == nil {
		args, err = p.lateArgs(args)
	}
	if err != nil {
		return err
	}
	if err := cursorAllowed(q.plan, n.Options); err != nil {
		return err
	}
	if old := s.portals[n.Portalname]; old != nil {
		return pgerror.New(pgerror.DuplicateCursor, `cursor "%s" already exists`, n.Portalname)
	}
	hidden := hiddenColumns(rels)
	po := &portal{s: s, name: n.Portalname, p: q, plan: q.plan, cols: q.cols[:len(q.cols)-hidden], rels: rels, hidden: hidden, args: args, cursor: true, hold: hold,
		binary: n.Options&optBinary != 0, scroll: n.Options&optScroll != 0}
	if n.Options&(optScroll|optNoScroll) == 0 {
		po.scroll = !q.plan.Class.Writes() && scansBackward(q.plan.Root)
	}
	if err := s.start(po); err != nil {
		return err
	}
	if err := s.addPortal(po); err != nil {
		po.close()
		return err
	}
	return nil
}

func cursorAllowed(plan *planner.Plan, options int32) error {
	for _, c := range plan.CTEs {
		if c.Modifying {
			return pgerror.New(pgerror.FeatureNotSupported, "DECLARE CURSOR must not contain data-modifying statements in WITH")
		}
	}
	locks := writeName(plan)
	if !plan.Class.Writes() || locks == "SELECT" {
		return nil
	}
	clause := locks[len("SELECT "):]
	if options&optHold != 0 {
		return pgerror.New(pgerror.FeatureNotSupported, "DECLARE CURSOR WITH HOLD ... %s is not supported", clause).WithDetail("Holdable cursors must be READ ONLY.")
	}
	if options&optScroll != 0 {
		return pgerror.New(pgerror.FeatureNotSupported, "DECLARE SCROLL CURSOR ... %s is not supported", clause).WithDetail("Scrollable cursors must be READ ONLY.")
	}
	return nil
}

// scansBackward is PostgreSQL's ExecSupportsBackwardScan: plans whose cursors scroll without SCROLL.
func scansBackward(n planner.Node) bool {
	switch v := n.(type) {
	case *planner.Scan, *planner.VirtualScan, *planner.FunctionScan, *planner.Values, *planner.CTEScan, *planner.Sort, *planner.Materialize,
		*planner.Result, *planner.Empty:
		return true
	case *planner.Project:
		return scansBackward(v.Input)
	case *planner.Filter:
		return scansBackward(v.Input)
	case *planner.Limit:
		return scansBackward(v.Input)
	case *planner.Append:
		for _, in := range v.Inputs {
			if !scansBackward(in) {
				return false
			}
		}
		return true
	}
	return false
}

func (s *Session) findCursor(name string) (*portal, error) {
	p := s.portals[name]
	if p == nil || p.p.cols == nil || p.p.plan == nil {
		return nil, pgerror.New(pgerror.InvalidCursorName, `cursor "%s" does not exist`, name)
	}
	return p, nil
}

// fetchStmt is FETCH and MOVE.
func (s *Session) fetchStmt(n *pg.FetchStmt) (*outcome, error) {
	po, err := s.findCursor(n.Portalname)
	if err != nil {
		return nil, err
	}
	if !po.started && po.spool == nil {
		if err := s.start(po); err != nil {
			return nil, err
		}
	}
	if n.Ismove {
		count, err := po.fetch(n.Direction, n.HowMany, true, func(*expr.Batch, int) error { return nil })
		return tagged(sprintf("MOVE %d", count), err)
	}
	o := &outcome{cols: po.cols, run: func(emit rowFunc) (string, error) {
		count, err := po.fetch(n.Direction, n.HowMany, false, emit)
		return sprintf("FETCH %d", count), err
	}}
	if po.binary {
		o.formats = []int16{1}
	}
	return o, nil
}

// fetch moves the cursor as PostgreSQL's PortalRunFetch does and returns the rows passed.
func (p *portal) fetch(dir pg.FetchDirection, count int64, move bool, emit rowFunc) (int64, error) {
	none := func(*expr.Batch, int) error { return nil }
	switch dir {
	case pg.FetchDirection_FETCH_FORWARD:
		if count < 0 {
			return p.backward(neg(count), emit)
		}
		if count == 0 {
			return p.current(move, emit)
		}
		return p.ahead(count, emit)
	case pg.FetchDirection_FETCH_BACKWARD:
		if count < 0 {
			return p.ahead(neg(count), emit)
		}
		if count == 0 {
			return p.current(move, emit)
		}
		return p.backward(count, emit)
	case pg.FetchDirection_FETCH_ABSOLUTE:
		switch {
		case count > 0:
			if count <= p.pos {
				if err := p.rewind(); err != nil {
					return 0, err
				}
			}
			if skip := count - 1 - p.pos; skip > 0 {
				if _, err := p.ahead(skip, none); err != nil {
					return 0, err
				}
			}
			return p.ahead(1, emit)
		case count < 0:
			if _, err := p.ahead(math.MaxInt64, none); err != nil {
				return 0, err
			}
			if back := neg(count) - 1; back > 0 {
				if _, err := p.backward(back, none); err != nil {
					return 0, err
				}
			}
			return p.backward(1, emit)
		}
		return 0, p.rewind()
	}
	switch { // RELATIVE
	case count > 0:
		if count > 1 {
			if _, err := p.ahead(count-1, none); err != nil {
				return 0, err
			}
		}
		return p.ahead(1, emit)
	case count < 0:
		if back := neg(count) - 1; back > 0 {
			if _, err := p.backward(back, none); err != nil {
				return 0, err
			}
		}
		return p.backward(1, emit)
	}
	return p.current(move, emit)
}

func neg(n int64) int64 {
	if n == math.MinInt64 {
		return math.MaxInt64
	}
	return -n
}

func errForwardOnly() error {
	return pgerror.New(pgerror.ObjectNotInPrerequisiteState, "cursor can only scan forward").
		WithHint("Declare it with SCROLL option to enable backward scan.")
}

// current returns the row the cursor stands on again.
func (p *portal) current(move bool, emit rowFunc) (int64, error) {
	onRow := p.pos > 0 && !p.atEnd()
	if move {
		if onRow {
			return 1, nil
		}
		return 0, nil
	}
	if !p.scroll {
		return 0, errForwardOnly()
	}
	if !onRow {
		return 0, nil
	}
	return 1, p.emitRow(p.pos-1, emit)
}

func (p *portal) rewind() error {
	if p.pos > 0 && !p.scroll {
		return errForwardOnly()
	}
	p.pos = 0
	return nil
}

// atEnd reports that the cursor stands after the last row.
func (p *portal) atEnd() bool {
	if p.scroll {
		return p.ended && p.spool != nil && p.pos > p.spool.rows
	}
	return p.past
}

func (p *portal) emitRow(n int64, emit rowFunc) error {
	row, err := p.spool.row(n)
	if err != nil {
		return err
	}
	b := p.one.of(row)
	p.keep(b, 0)
	return emit(b, 0)
}

// ahead passes up to count rows forward.
func (p *portal) ahead(count int64, emit rowFunc) (n int64, err error) {
	if !p.scroll {
		if p.past {
			return 0, nil
		}
		n, done, err := p.forward(count, func(b *expr.Batch, row int) error {
			p.keep(b, row)
			return emit(b, row)
		})
		p.pos += n
		if done {
			p.pos++
			p.past = true
		}
		return n, err
	}
	for n < count {
		ok, err := p.ensure(p.pos + 1)
		if err != nil {
			return n, err
		}
		if !ok {
			p.pos = p.spool.rows + 1
			return n, nil
		}
		if err := p.emitRow(p.pos, emit); err != nil {
			return n, err
		}
		p.pos++
		n++
		if n&1023 == 0 && p.s.ctx.fired.Load() {
			return n, errContextCanceled
		}
	}
	return n, nil
}

// backward passes up to count rows in reverse order.
func (p *portal) backward(count int64, emit rowFunc) (n int64, err error) {
	if !p.scroll {
		return 0, errForwardOnly()
	}
	for n < count {
		if p.pos <= 1 {
			p.pos = 0
			return n, nil
		}
		p.pos--
		if err := p.emitRow(p.pos-1, emit); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// ensure makes the spool of a scrolling cursor hold n rows, if there are so many.
func (p *portal) ensure(n int64) (bool, error) {
	if p.spool == nil {
		p.spool = p.s.newSpool(len(p.cols) + p.hidden)
	}
	for p.spool.rows < n {
		if p.exec == nil {
			return false, nil
		}
		ok, err := p.next()
		if err != nil || !ok {
			return false, err
		}
		if err := p.spool.appendBatch(&p.batch, p.physical()); err != nil {
			return false, err
		}
		p.batchPos++
	}
	return true, nil
}

// closeStmt is CLOSE; "" is ALL.
func (s *Session) closeStmt(n *pg.ClosePortalStmt) error {
	if n.Portalname == "" {
		s.closePortals(func(p *portal) bool { return p.cursor })
		return nil
	}
	p, err := s.findCursor(n.Portalname)
	if err != nil {
		return err
	}
	p.close()
	delete(s.portals, n.Portalname)
	return nil
}

// holdCursors keeps the rows of WITH HOLD cursors before their transaction commits.
func (s *Session) holdCursors() error {
	for _, p := range s.portals {
		if p.cursor && p.hold && !p.held {
			if err := p.fill(); err != nil {
				return err
			}
			p.ended, p.held, p.level = true, true, 0
		}
	}
	return nil
}

// CursorInfo is one row of pg_cursors.
type CursorInfo struct {
	Name, Statement      string
	Hold, Binary, Scroll bool
	Created              int64 // µs since 2000
}

// Cursors lists the open cursors.
func (s *Session) Cursors() []CursorInfo {
	var out []CursorInfo
	for _, p := range s.portals {
		if p.cursor {
			out = append(out, CursorInfo{p.name, p.p.stmt.Text, p.hold, p.binary, p.scroll, micros(p.created)})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}
