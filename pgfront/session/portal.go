package session

import (
	"errors"

	"time"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// portal is a bound statement that runs or may run: the protocol's portals and SQL's cursors.
type portal struct {
	s       *Session
	name    string
	p       *prepared
	plan    *planner.Plan
	args    []sqltypes.Datum
	formats []int16 // result formats as given in Bind
	cols    []planner.Column
	enc     *rowEncoder

	// The source of rows: an execution, or a spool that was filled from it.
	exec     Execution
	release  func()
	batch    expr.Batch
	batchN   int // physical rows in batch; 0: fetch the next one
	batchPos int // next logical row
	spool    *spool
	spoolPos int64
	started  bool
	ended    bool // the execution delivered everything
	affected int64
	tag      string // of a utility statement that has run

	// Cursors.
	cursor  bool
	scroll  bool
	hold    bool
	held    bool  // outlives its transaction: reads from the spool
	pinned  bool  // a loop of a procedure reads from it
	binary  bool  // DECLARE … BINARY
	pos     int64 // 1-based number of the row it stands on; 0 before the first
	past    bool  // a forward-only cursor stands after the last row
	one     datumBatch
	level   int // depth of savepoints when it was opened
	created time.Time
	remote  bool
	// WHERE CURRENT OF: the query's tables, how many columns behind cols identify
	// their rows, and the values of those in the row the cursor passed last.
	rels   []cursorRel
	hidden int
	here   []sqltypes.Datum
	// retries is how often the plan may still be made anew when concurrent DDL has
	// replaced a table that it writes to: the transaction's first statement can be
	// run again as long as it has returned nothing.
	retries int
	// instrument: EXPLAIN ANALYZE wants to know what each node did.
	instrument bool
}

// closePortals closes the portals that match.
func (s *Session) closePortals(match func(*portal) bool) {
	for name, p := range s.portals {
		if match(p) {
			p.close()
			delete(s.portals, name)
			if name == "" && !p.cursor {
				s.spare = p
			}
		}
	}
}

// close frees the execution; the spool goes too.
func (p *portal) close() {
	p.stop()
	if p.spool != nil {
		p.spool.close()
		p.spool = nil
	}
}

// stop ends the execution.
func (p *portal) stop() {
	if p.exec != nil {
		p.exec.Close()
		p.exec = nil
	}
	if p.release != nil {
		p.release()
		p.release = nil
	}
}

// addPortal registers a portal under its name. The unnamed one replaces its predecessor.
func (s *Session) addPortal(p *portal) error {
	if old := s.portals[p.name]; old != nil {
		if p.name != "" {
			return pgerror.New(pgerror.DuplicateCursor, `cursor "%s" already exists`, p.name)
		}
		old.close()
		delete(s.portals, "")
	}
	limit := s.intSetting("ostraka.max_portals")
	if int64(len(s.portals)) >= limit {
		return pgerror.New(pgerror.ConfigurationLimitExceeded, "too many open portals (limit %d)", limit)
	}
	p.level = len(s.tx.saves)
	p.created = s.now()
	s.portals[p.name] = p
	return nil
}

// start begins the plan's execution; it is planned anew if the catalogue moved on.
func (s *Session) start(p *portal) error {
	p.retries = 0
	if !s.tx.queried && len(s.tx.saves) == 0 {
		p.retries = 10
	}
	return s.startWith(p, s.replan)
}

// restart runs the transaction's first statement again from the beginning after
// err, which says that the plan was out of date.
func (p *portal) restart(err error) (again bool) {
	s := p.s
	if p.retries == 0 || p.batchN > 0 || p.spool != nil || !errors.Is(err, engine.ErrStale) || s.tx.txn == nil || s.tx.part != nil {
		return false
	}
	p.retries--
	p.stop()
	s.deferredTruncate(0)
	s.tx.txn.Rollback()
	s.tx.txn = nil
	return s.startWith(p, s.replan) == nil
}

// startWith begins the plan's execution; replan makes it anew for a catalogue that has moved on.
func (s *Session) startWith(p *portal, replan func(*portal, *catalog.Catalog) error) error {
	plan := p.plan
	if s.tx.readOnly && plan.Class.Writes() && !s.writesTemporary(plan) {
		if err := s.checkReadOnly(writeName(plan)); err != nil {
			return err
		}
	}
	if err := s.frozen(plan); err != nil {
		return err
	}
	for try := 0; ; try++ {
		run, release, err := s.statement(plan.Class)
		if err != nil {
			return err
		}
		if run.Txn != nil && len(plan.Relations) > 0 {
			if err := s.lockRelations(plan); err != nil {
				release()
				return err
			}
		}
		cat := run.View.Catalog()
		if run.Txn != nil && len(plan.Relations) > 0 && s.deps.Engine.Catalog(s.client.Database) != cat {
			// Waiting for a lock may have let DDL through: look again with it.
			if err := run.Txn.StartStatement(s.env.Ctx); err != nil {
				release()
				return err
			}
			cat = run.View.Catalog()
		}
		if cat != nil && (cat.Version != plan.CatalogVersion || plan.Role != s.role.OID) && try < 10 {
			release()
			if err := replan(p, cat); err != nil {
				return err
			}
			plan = p.plan
			continue
		}
		if cat != nil {
			if err := planner.Permitted(cat, s.role.OID, s.role.Super, plan.Permissions); err != nil {
				release()
				return err
			}
			if err := planner.Populated(cat, plan.Permissions); err != nil {
				release()
				return err
			}
		}
		run.Instrument = p.instrument
		s.topLevel = isTopLevel(plan)
		exec, err := s.deps.Exec.Start(s.env.Ctx, &run, plan, p.args)
		if err != nil {
			release()
			return err
		}
		p.exec, p.release, p.started = exec, release, true
		return nil
	}
}

// replan makes the portal's plan anew for the catalogue that it will run with.
func (s *Session) replan(p *portal, cat *catalog.Catalog) error {
	if err := s.compile(p.p, cat); err != nil {
		return err
	}
	p.plan = p.p.plan
	if p.enc != nil {
		var err error
		p.enc, err = s.encoder(p.p, p.p.cols, p.formats)
		return err
	}
	return nil
}

// next makes sure that the batch holds an unread row; false at the end.
func (p *portal) next() (bool, error) {
	for {
		if p.batchN > 0 {
			if p.batch.Sel != nil {
				if p.batchPos < len(p.batch.Sel) {
					return true, nil
				}
			} else if p.batchPos < p.batchN {
				return true, nil
			}
		}
		if p.ended {
			return false, nil
		}
		p.batch.Sel = nil
		n, err := p.exec.Next(&p.batch)
		if err != nil {
			if p.restart(err) {
				continue
			}
			return false, err
		}
		p.retries = 0
		p.batchN, p.batchPos = n, 0
		if n == 0 {
			p.ended = true
			p.affected = p.exec.Affected()
			p.stop()
			return false, nil
		}
	}
}

func (p *portal) physical() int {
	if p.batch.Sel != nil {
		return int(p.batch.Sel[p.batchPos])
	}
	return p.batchPos
}

// forward reads up to max rows (0: all) from the portal's place and reports whether it is at the end.
func (p *portal) forward(max int64, emit rowFunc) (n int64, done bool, err error) {
	if p.spool != nil {
		return p.forwardSpool(max, emit)
	}
	for max == 0 || n < max {
		ok, err := p.next()
		if err != nil || !ok {
			return n, true, err
		}
		if err := emit(&p.batch, p.physical()); err != nil {
			return n, false, err
		}
		p.batchPos++
		n++
		if n&1023 == 0 && p.s.ctx.fired.Load() {
			return n, false, errContextCanceled
		}
	}
	return n, false, nil
}

func (p *portal) forwardSpool(max int64, emit rowFunc) (n int64, done bool, err error) {
	var b datumBatch
	for max == 0 || n < max {
		if p.spoolPos >= p.spool.rows {
			return n, true, nil
		}
		row, err := p.spool.row(p.spoolPos)
		if err != nil {
			return n, false, err
		}
		if err := emit(b.of(row), 0); err != nil {
			return n, false, err
		}
		p.spoolPos++
		n++
	}
	return n, false, nil
}

// fill moves the rest of the execution into a spool, so that it no longer depends on a snapshot.
func (p *portal) fill() error {
	if p.spool == nil {
		p.spool = p.s.newSpool(len(p.cols) + p.hidden)
		p.spoolPos = 0
	}
	if p.exec == nil {
		return nil
	}
	for {
		ok, err := p.next()
		if err != nil || !ok {
			return err
		}
		if err := p.spool.appendBatch(&p.batch, p.physical()); err != nil {
			return err
		}
		p.batchPos++
	}
}

func (s *Session) newSpool(cols int) *spool {
	return newSpool(cols, s.deps.Limits.SpoolMemory, s.intSetting("ostraka.max_rows_buffered"), s.deps.Limits.TempDir)
}

// spoolOpenPortals drains portals that read through the transaction before its
// snapshot or its data change: a cursor sees what was there when it was opened.
func (s *Session) spoolOpenPortals() error {
	for _, p := range s.portals {
		if p.exec != nil && p.started && p.release != nil && s.tx.txn != nil && !p.remote {
			if err := p.fill(); err != nil {
				return err
			}
		}
	}
	return nil
}

// datumBatch shows one row of values as a batch.
type datumBatch struct {
	vecs []expr.Vec
	cols []*expr.Vec
	b    expr.Batch
}

func (d *datumBatch) of(row []sqltypes.Datum) *expr.Batch {
	if d.cols == nil {
		d.vecs = make([]expr.Vec, len(row))
		d.cols = make([]*expr.Vec, len(row))
		for i := range d.vecs {
			d.vecs[i] = expr.Vec{Kind: sqltypes.KDatum, Dat: make([]sqltypes.Datum, 1), Null: expr.Bitmap{0}}
			d.cols[i] = &d.vecs[i]
		}
		d.b = expr.Batch{N: 1, Cols: d.cols}
	}
	for i, v := range row {
		d.vecs[i].Dat[0] = v
		if v.Null {
			d.vecs[i].Null.Set(0)
		} else {
			d.vecs[i].Null.Clear(0)
		}
	}
	return &d.b
}

// writeName is how read-only errors call a plan's command.
// writesTemporary reports that a plan changes tables and all of them are temporary
// ones, which a read-only transaction may do.
func (s *Session) writesTemporary(plan *planner.Plan) bool {
	changes := false
	for _, l := range plan.Relations {
		if l.Mode < engine.RowExclusive {
			continue
		}
		if rel := s.catalog().Relation(l.OID); rel == nil || rel.Persistence != 't' {
			return false
		}
		changes = true
	}
	return changes
}

func writeName(plan *planner.Plan) string {
	if plan.Command != "SELECT" {
		return plan.Command
	}
	for _, c := range plan.CTEs {
		switch c.Root.(type) {
		case *planner.Insert:
			return "INSERT"
		case *planner.Update:
			return "UPDATE"
		case *planner.Delete:
			return "DELETE"
		}
	}
	n := plan.Root
	for range 8 {
		switch v := n.(type) {
		case *planner.LockRows:
			return lockName(v)
		case *planner.Limit:
			n = v.Input
		case *planner.Project:
			n = v.Input
		}
	}
	return "SELECT"
}

func lockName(l *planner.LockRows) string {
	if len(l.Marks) > 0 {
		switch l.Marks[0].Mode {
		case engine.LockKeyShare:
			return "SELECT FOR KEY SHARE"
		case engine.LockShare:
			return "SELECT FOR SHARE"
		case engine.LockNoKeyUpdate:
			return "SELECT FOR NO KEY UPDATE"
		}
	}
	return "SELECT FOR UPDATE"
}
