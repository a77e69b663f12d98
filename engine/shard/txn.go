package shard

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/engine/commitlog"
	"ostraka/engine/effects"
	"ostraka/engine/storage"
	"ostraka/engine/txn"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Txn implements engine.Txn. It embeds the view of its current statement.
type Txn struct {
	view
	opts  engine.TxnOptions
	term  *term // nil: Local
	owner txn.Owner
	xid   atomic.Uint64
	// told: the id was asked for, so it has an outcome even if there are no effects.
	told bool
	// token is the client's name for the transaction, nil: none; once: nothing else may have committed under it.
	token atomic.Pointer[string]
	once  bool

	writes txn.Buffer
	// stmt is what the statement sees of writes: the buffer as it was when the
	// statement began; nil while it has written nothing yet.
	stmt *txn.Buffer
	// stmtSeq is the number of the last write before the statement.
	stmtSeq uint32

	base     *catalog.Catalog // committed catalogue under cat
	ddl      []catalog.Change
	made     []uint64   // storage ids the transaction allocated: nothing committed is under them
	dropped  []uint64   // storage ids whose content goes at commit
	trims    []byteSpan // of feeds, deleted at commit before the writes
	noFeeds  []uint64   // storage ids whose feeds are deleted at commit
	feedSeq  uint32     // additions to feeds so far
	notes    []note
	noteSet  map[note]struct{}
	seqs     []pendingSequence // effects on sequences
	oneSeq   [1]pendingSequence
	moves    []move
	marks    []savepoint
	nextMark engine.SavepointID
	rels     []checkedRel
	fewRels  [4]checkedRel // backs rels while there are few
	stream   *stream       // nil while the transaction is small
	staged   bool          // the entry uses what was staged, or drops it
	scans    []*scanner    // open ones, see park.go
	done     bool
	failed   error // of a catalogue change; answered by everything that follows
	// outer is the snapshot of the statement that a nested one interrupts, closed the
	// one that the end of the transaction closed.
	outer, closed *storage.Snapshot
	// safe: the snapshot is one that no serializable transaction can spoil.
	safe bool
}

// checkedRel remembers that a relation is locked and its descriptor current.
type checkedRel struct {
	rel  *catalog.Relation
	tbl  *storage.Table
	key  string // of the relation's lock
	mode engine.RelLock
	// alone: nobody else can reach the relation (made by this transaction, or
	// locked ACCESS EXCLUSIVE), so keys need no locks.
	alone bool
	// fresh: the rows' storage id is new, so no committed row exists.
	fresh bool
	// claims counts keys claimed one by one; bulk is what follows them.
	claims int
	bulk   []*bulkKeys
}

type note struct{ channel, payload string }

// move is a row whose key the transaction changed.
type move struct {
	from string
	xid  uint64
	to   string
}

type savepoint struct {
	id                         engine.SavepointID
	writes                     *txn.Buffer
	locks, ddl, dropped, notes int
	trims, noFeeds             int
	moves                      int
	rels                       []checkedRel
}

var _ engine.Txn = (*Txn)(nil)

// Begin implements engine.Engine.
func (s *Shard) Begin(ctx context.Context, opts engine.TxnOptions) (engine.Txn, error) {
	t := &Txn{opts: opts}
	t.view.s = s
	t.owner.PID = opts.PID
	if opts.Local {
		t.opts.ReadOnly = true
	} else {
		var err error
		if t.term, err = s.leading(ctx); err != nil {
			return nil, err
		}
	}
	if s.Catalog(opts.Database) == nil {
		return nil, errNoDatabase()
	}
	return t, nil
}

// checked finds what is known about a relation.
func (t *Txn) checked(oid sqltypes.OID) *checkedRel {
	for i := range t.rels {
		if t.rels[i].rel.OID == oid {
			return &t.rels[i]
		}
	}
	return nil
}

func dataPrefixLen(key string) int {
	if len(key) == 0 || key[0] < 0x10 || key[0] > 0x18 {
		return len(key)
	}
	return min(len(key), 1+int(key[0]-0x10))
}

func (t *Txn) Options() engine.TxnOptions { return t.opts }

func (t *Txn) XidIfAssigned() uint64 { return t.xid.Load() }

// SetToken implements engine.Txn.
func (t *Txn) SetToken(token string, once bool) {
	t.token.Store(&token)
	t.once = once
}

// Xid implements engine.Txn.
func (t *Txn) Xid(ctx context.Context) (uint64, error) {
	x, err := t.assignXid(ctx)
	t.told = err == nil && !t.opts.ReadOnly
	return x, err
}

func (t *Txn) assignXid(ctx context.Context) (uint64, error) {
	if x := t.xid.Load(); x != 0 {
		return x, nil
	}
	if err := t.live(); err != nil {
		return 0, err
	}
	if t.term == nil {
		return 0, errReadOnly()
	}
	x, err := t.term.nextXid(ctx)
	if err != nil {
		return 0, err
	}
	t.xid.Store(x)
	t.owner.Xid.Store(x)
	t.term.active.add(t, x)
	return x, nil
}

// live answers why the transaction cannot go on.
func (t *Txn) live() error {
	if t.done {
		return errFinished()
	}
	if t.term != nil && t.term.ended.Load() {
		return errTermOver()
	}
	return t.failed
}

// StartStatement implements engine.Txn.
func (t *Txn) StartStatement(ctx context.Context) error {
	if err := t.live(); err != nil {
		return err
	}
	t.stmt, t.stmtSeq = nil, t.writes.Seq()
	if t.opts.Deferrable && t.opts.ReadOnly && t.opts.Isolation == engine.Serializable && t.term != nil && t.snap == nil {
		if err := t.waitSafe(ctx); err != nil {
			return err
		}
	}
	if t.opts.Isolation == engine.ReadCommitted && t.snap != nil {
		if t.st != t.s.cur.Load() || t.s.opts.Now().Sub(t.at) > time.Minute {
			if t.snap == t.outer {
				t.view.snap = nil // the outer statement goes on with it
			} else {
				t.view.Close()
			}
		}
	}
	return nil
}

// NestStatement implements engine.Txn.
func (t *Txn) NestStatement() func() {
	t.freeze()
	stmt, seq := t.stmt, t.stmtSeq
	t.stmt, t.stmtSeq = nil, t.writes.Seq()
	return func() { t.stmt, t.stmtSeq = stmt, seq }
}

// NestFresh implements engine.Txn.
func (t *Txn) NestFresh() func() {
	end := t.NestStatement()
	saved, base, ddl, outer := t.view, t.base, len(t.ddl), t.outer
	t.outer = t.snap
	if t.opts.Isolation == engine.ReadCommitted && t.snap != nil && t.st != t.s.cur.Load() {
		t.view.snap = nil
	}
	return func() {
		t.outer = outer
		switch {
		case t.done:
			if saved.snap != nil && saved.snap != t.closed {
				saved.Close()
			}
		case saved.snap != nil && t.snap != saved.snap:
			t.view.Close()
			t.view, t.base = saved, base
			if len(t.ddl) != ddl {
				t.overlay()
			}
		}
		end()
	}
}

// ensure opens the statement's snapshot.
func (t *Txn) ensure() error {
	if err := t.live(); err != nil {
		return err
	}
	if t.snap != nil {
		return nil
	}
	if t.reads == nil && t.term != nil && t.opts.Isolation == engine.Serializable && !t.safe {
		t.reads = t.term.ssi.Start(t.opts.ReadOnly)
	}
	t.view.open()
	if t.reads != nil {
		t.reads.Opened(t.st.applied.Position)
	}
	cat := t.st.cats.Database(t.opts.Database)
	if cat == nil {
		t.view.Close()
		return errNoDatabase()
	}
	if cat != t.base || t.cat == nil {
		t.base = cat
		t.overlay()
	}
	return nil
}

// overlay puts the transaction's own DDL over the committed catalogue.
func (t *Txn) overlay() {
	t.cat = t.base
	if len(t.ddl) > 0 {
		t.cat = t.base.With(t.ddl)
	}
}

// see makes the view show the own writes that the statement may see.
func (t *Txn) see() {
	t.buf = &t.writes
	if t.stmt != nil {
		t.buf = t.stmt
	}
}

// Catalog implements engine.View.
func (t *Txn) Catalog() *catalog.Catalog {
	if t.ensure() != nil {
		if t.cat != nil {
			return t.cat
		}
		return t.s.Catalog(t.opts.Database)
	}
	return t.cat
}

func (t *Txn) Position() commitlog.Position {
	if t.ensure() != nil {
		return t.s.Applied()
	}
	return t.st.applied.Position
}

func (t *Txn) EstimateBytes(rel *catalog.Relation, ix *catalog.Index) int64 {
	if t.ensure() != nil {
		return 0
	}
	return t.view.EstimateBytes(rel, ix)
}

func (t *Txn) Get(ctx context.Context, rel *catalog.Relation, ix *catalog.Index, key []sqltypes.Datum, cols []int16, dst []sqltypes.Datum) (engine.RowRef, bool, error) {
	if err := t.ensure(); err != nil {
		return engine.RowRef{}, false, err
	}
	t.see()
	return t.view.Get(ctx, rel, ix, key, cols, dst)
}

func (t *Txn) Scan(ctx context.Context, spec engine.ScanSpec) (engine.Scanner, error) {
	if err := t.ensure(); err != nil {
		return nil, err
	}
	t.see()
	if spec.Own {
		t.buf = &t.writes
	}
	sc, err := t.view.Scan(ctx, spec)
	if s, ok := sc.(*scanner); ok && err == nil {
		t.watch(s)
	}
	return sc, err
}

// ScanNewest implements engine.Txn.
func (t *Txn) ScanNewest(ctx context.Context, spec engine.ScanSpec) (engine.Scanner, error) {
	if err := t.ensure(); err != nil {
		return nil, err
	}
	v := &view{s: t.s, cat: t.cat, reads: t.reads, newest: true}
	v.open()
	var buf *txn.Buffer
	if t.writes.Len() > 0 {
		buf = t.writes.Copy()
	}
	sc, err := newScanner(ctx, v, buf, spec)
	v.Close() // the scanner's iterators keep the state
	if err != nil {
		return nil, err
	}
	return sc, nil
}

// Close is Rollback: a transaction is a View too.
func (t *Txn) Close() { t.Rollback() }

// Savepoint implements engine.Txn.
func (t *Txn) Savepoint() engine.SavepointID {
	t.nextMark++
	t.marks = append(t.marks, savepoint{id: t.nextMark, writes: t.writes.Copy(), locks: t.owner.Mark(), ddl: len(t.ddl),
		dropped: len(t.dropped), trims: len(t.trims), noFeeds: len(t.noFeeds), notes: len(t.notes), moves: len(t.moves), rels: slices.Clone(t.rels)})
	return t.nextMark
}

func (t *Txn) mark(id engine.SavepointID) int {
	for i := range t.marks {
		if t.marks[i].id == id {
			return i
		}
	}
	return -1
}

// RollbackTo implements engine.Txn.
func (t *Txn) RollbackTo(id engine.SavepointID) error {
	if t.done {
		return errFinished()
	}
	if t.term != nil && t.term.ended.Load() {
		return errTermOver()
	}
	i := t.mark(id)
	if i < 0 {
		return pgerror.New(pgerror.SEInvalidSpecification, "savepoint does not exist")
	}
	m := &t.marks[i]
	t.failed = nil
	t.marks = t.marks[:i+1]
	if t.stream != nil && t.writes.Seq() != m.writes.Seq() {
		t.stream.broken = true
	}
	t.writes.Restore(m.writes)
	t.stmt = nil
	if t.term != nil {
		t.term.locks.ReleaseTo(&t.owner, m.locks)
	}
	if len(t.ddl) > m.ddl {
		t.ddl = t.ddl[:m.ddl:m.ddl]
		if t.base != nil {
			t.overlay()
		}
	}
	t.dropped, t.moves = t.dropped[:m.dropped:m.dropped], t.moves[:m.moves:m.moves]
	t.trims, t.noFeeds = t.trims[:m.trims:m.trims], t.noFeeds[:m.noFeeds:m.noFeeds]
	for _, n := range t.notes[m.notes:] {
		delete(t.noteSet, n)
	}
	t.notes = t.notes[:m.notes]
	t.rels = slices.Clone(m.rels)
	return nil
}

// Release implements engine.Txn.
func (t *Txn) Release(id engine.SavepointID) {
	if i := t.mark(id); i >= 0 {
		t.marks = t.marks[:i]
	}
}

// Notify implements engine.Txn.
func (t *Txn) Notify(channel, payload string) error {
	if err := t.writable(); err != nil {
		return err
	}
	n := note{channel, payload}
	if _, dup := t.noteSet[n]; dup {
		return nil
	}
	if t.noteSet == nil {
		t.noteSet = map[note]struct{}{}
	}
	t.noteSet[n] = struct{}{}
	t.notes = append(t.notes, n)
	return nil
}

// BulkLoad does nothing: large transactions are noticed by their size.
func (t *Txn) BulkLoad() {}

func (t *Txn) MemoryUsed() int64 { return t.writes.Memory() }

// writable answers why the transaction may not write. ReadOnly is checked by the
// session, which knows what PostgreSQL allows in a read-only transaction
// (temporary tables, nextval is not); here only what can never work is refused.
func (t *Txn) writable() error {
	if err := t.live(); err != nil {
		return err
	}
	if t.term == nil {
		return errReadOnly()
	}
	return t.s.Refused()
}

// Rollback implements engine.Txn.
func (t *Txn) Rollback() {
	if t.done {
		return
	}
	t.logSequencesAnyway()
	t.finish()
}

// finish releases everything.
func (t *Txn) finish() {
	t.end()
	if t.term != nil {
		t.term.active.remove(t.xid.Load())
		t.term.locks.ReleaseTo(&t.owner, 0)
	}
}

// end releases everything but the locks.
func (t *Txn) end() {
	if t.done {
		return
	}
	t.done = true
	t.closed = t.snap
	t.view.Close()
	if t.reads != nil {
		t.reads.Abort() // does nothing after Finish
	}
	if t.stream != nil {
		if t.staged {
			t.stream.cancel()
		} else {
			t.stream.drop()
		}
	}
	t.writes, t.stmt, t.marks, t.buf = txn.Buffer{}, nil, nil, nil
}

// logSequencesAnyway proposes what setval did in a transaction that rolls back:
// it is not undone.
func (t *Txn) logSequencesAnyway() {
	if t.term == nil || t.term.ended.Load() {
		return
	}
	var w *effects.Writer
	for _, p := range t.seqs {
		if p.set {
			if w == nil {
				w = effects.NewWriter(nil, 0)
			}
			w.Sequence(p.id, p.state)
		}
	}
	if w == nil {
		return
	}
	s, term := t.s, t.term
	s.background(func() {
		if _, err := s.Log().Propose(s.stop, term.id, w.Bytes()); err != nil {
			s.log.Warn("logging setval of an aborted transaction", "error", err)
		}
	})
}
