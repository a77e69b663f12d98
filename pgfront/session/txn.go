package session

import (
	"context"
	"time"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/exec"
	"ostraka/pgfront/settings"
	"ostraka/planner"
	"ostraka/sqltypes/pgerror"
)

var errContextCanceled = context.Canceled

// txState is where a session stands with respect to transactions (PostgreSQL's TBLOCK states, fewer).
type txState uint8

const (
	// txNone: between transactions.
	txNone txState = iota
	// txImplicit: a transaction that a statement started; it ends with the
	// statement, the query string or at Sync.
	txImplicit
	// txBlock: after BEGIN.
	txBlock
	// txFailed: a block in which a statement failed.
	txFailed
)

// txn is the session's transaction.
type txn struct {
	state txState
	// several: the implicit transaction spans the statements of one query string.
	several bool
	// txn is nil until a statement needs one; in txFailed without savepoints too.
	txn engine.Txn
	// dead: the engine's transaction is over (class 40) although the block goes on.
	dead       error
	saves      []savepoint
	isolation  engine.Isolation
	isoName    string
	readOnly   bool
	deferrable bool
	// began are the characteristics before SET TRANSACTION or BEGIN's options.
	began characteristics
	// deferred is the executor's queue of deferred checks.
	deferred *exec.Deferred
	// queried: a statement has taken a snapshot; the isolation level is fixed.
	queried bool
	// nodeLocal: began with a statement over time series, which needs no leader.
	nodeLocal bool
	// remote: the block runs in the upstream session.
	remote bool
	// part is what the transaction does on another shard; it began at savepoint depth partLevel.
	part          Participant
	partLevel     int
	settingsReady bool
}

type savepoint struct {
	name     string
	id       engine.SavepointID
	mark     settings.Mark
	readOnly bool
	listens  int
	checks   int // deferred checks queued before it
}

// startTransaction begins an implicit transaction unless there is one.
func (s *Session) startTransaction() {
	if s.tx.state != txNone {
		return
	}
	s.openTransaction(txImplicit)
}

func (s *Session) openTransaction(state txState) {
	t := &s.tx
	ready := t.settingsReady
	*t = txn{state: state, saves: t.saves[:0], settingsReady: ready, isoName: "read committed"}
	if v := s.conf.isolation; v != "" {
		t.isolation, t.isoName = isolationOf(v), v
	}
	t.readOnly, t.deferrable = s.conf.readOnly, s.conf.deferrable
	t.began = t.characteristics()
	s.env.TxnTime = s.clk
	s.set.Begin()
	s.mu.Lock()
	s.act.xactStart = pgEpoch.Add(time.Duration(s.clk) * time.Microsecond)
	s.mu.Unlock()
}

func isolationOf(name string) engine.Isolation {
	switch name {
	case "repeatable read":
		return engine.RepeatableRead
	case "serializable":
		return engine.Serializable
	}
	return engine.ReadCommitted
}

// Txn is the engine's transaction of the running statement, nil if it needs none.
func (s *Session) Txn() engine.Txn { return s.tx.txn }

// beginTxn makes sure that there is an engine transaction.
func (s *Session) beginTxn() error {
	t := &s.tx
	if t.dead != nil {
		return t.dead
	}
	if t.txn != nil {
		return nil
	}
	if err := s.inPeerTerm(); err != nil {
		return err
	}
	local := t.nodeLocal || t.readOnly && t.isolation != engine.Serializable && !s.leads()
	tx, err := s.deps.Engine.Begin(s.env.Ctx, engine.TxnOptions{Database: s.client.Database, Isolation: t.isolation, ReadOnly: t.readOnly && s.tempOID == 0,
		Deferrable: t.deferrable, Local: local, LockTimeout: s.conf.lockTimeout, PID: s.pid, Sender: s.client.PeerPID, Async: s.conf.asyncCommit})
	if err != nil {
		return err
	}
	t.txn = tx
	s.mu.Lock()
	s.act.txn = tx
	s.mu.Unlock()
	return nil
}

// statement gets what one statement reads from. A read outside of a block takes a
// snapshot of its own, which release closes; everything else runs in the transaction.
func (s *Session) statement(class planner.Class) (run Run, release func(), err error) {
	t := &s.tx
	run = Run{Env: &s.env, WorkMem: s.conf.workMem, TempDir: s.deps.Limits.TempDir}
	if t.dead != nil {
		return run, nil, t.dead
	}
	if class == planner.ClassRead && t.txn == nil && t.state == txImplicit && t.isolation != engine.Serializable {
		v, err := s.deps.Engine.View(s.env.Ctx, s.client.Database)
		if err != nil {
			return run, nil, err
		}
		run.View = v
		s.reading = v
		return run, func() {
			if s.reading == v {
				s.reading = nil
			}
			v.Close()
		}, nil
	}
	if class == planner.ClassNodeWrite && t.txn == nil {
		t.nodeLocal = true
	}
	if class.Writes() {
		if err := s.spoolOpenPortals(); err != nil {
			return run, nil, err
		}
	}
	if err := s.beginTxn(); err != nil {
		return run, nil, err
	}
	if t.isolation == engine.ReadCommitted {
		if err := s.spoolOpenPortals(); err != nil {
			return run, nil, err
		}
	}
	if err := t.txn.StartStatement(s.env.Ctx); err != nil {
		return run, nil, err
	}
	t.queried = true
	s.fillRun(&run)
	return run, nothing, nil
}

func nothing() {}

// fillRun makes a run read and write through the transaction.
func (s *Session) fillRun(run *Run) {
	t := &s.tx
	run.View, run.Txn = t.txn, t.txn
	if s.conf.transactionID != "" {
		t.txn.SetToken(s.conf.transactionID, true)
	}
	if t.deferred == nil {
		if _, ok := s.deps.Exec.(DeferredRunner); ok {
			t.deferred = &exec.Deferred{}
		}
	}
	run.Deferred = t.deferred
}

// lockRelations takes the locks that a plan needs and reports whether the
// catalogue changed meanwhile, so that the statement must be planned again.
func (s *Session) lockRelations(plan *planner.Plan) error {
	if s.tx.txn == nil {
		return nil
	}
	for _, l := range plan.Relations {
		if err := s.tx.txn.LockRelation(s.env.Ctx, l.OID, l.Mode, engine.WaitBlock); err != nil {
			return err
		}
	}
	return nil
}

// commitTransaction ends the transaction durably. On an error it is rolled back.
func (s *Session) commitTransaction() error {
	t := &s.tx
	if t.state == txNone {
		return nil
	}
	err := t.dead
	if t.txn != nil || err == nil {
		err = s.holdCursors()
	}
	if err == nil {
		err = s.listenCommit()
	}
	if err == nil && t.remote {
		err = s.endRemote("COMMIT")
	}
	if err == nil {
		err = s.commitParticipant()
	}
	if err == nil && t.txn != nil {
		if err = s.inPeerTerm(); err == nil {
			err = s.runDeferred(true)
		}
		if err == nil {
			s.closePortals(func(p *portal) bool { return !p.held })
			err = s.beforeCommit()
		}
		if err == nil {
			before := t.txn.Catalog()
			s.nameTransaction()
			pos, cerr := t.txn.Commit(s.env.Ctx)
			if err = cerr; err == nil {
				s.ownWrite.note(pos)
				s.catalogMoved(before)
			}
		}
		if err != nil {
			t.txn.Rollback()
		}
		t.txn = nil
	}
	if err != nil {
		s.rollbackTransaction()
		return err
	}
	s.set.Commit()
	s.endTransaction(true)
	return nil
}

// rollbackTransaction ends the transaction and undoes it.
func (s *Session) rollbackTransaction() {
	if s.tx.state == txNone {
		return
	}
	if s.tx.remote {
		if s.tx.state == txImplicit && !s.tx.several {
			s.tx.remote = false // Sync ends it
		} else if err := s.endRemote("ROLLBACK"); err != nil {
			s.closeUpstream()
		}
	}
	s.dropParticipant()
	if s.tx.txn != nil {
		s.closePortals(func(p *portal) bool { return !p.held })
		s.tx.txn.Rollback()
		s.tx.txn = nil
	}
	s.set.Rollback()
	s.notify.rollback(0)
	s.endTransaction(false)
}

func (s *Session) endTransaction(committed bool) {
	if committed {
		s.counters.Commits.Add(1)
	} else {
		s.counters.Rollbacks.Add(1)
	}
	s.closePortals(func(p *portal) bool { return !p.held })
	ready := s.tx.settingsReady
	s.tx = txn{saves: s.tx.saves[:0], settingsReady: ready}
	if committed {
		s.notify.commit()
	}
}

// abortTransaction is what a failing statement does to its transaction.
func (s *Session) abortTransaction(cause error) {
	t := &s.tx
	switch t.state {
	case txImplicit:
		s.rollbackTransaction()
	case txBlock:
		t.state = txFailed
		over := string(pgerror.CodeOf(cause))
		if t.remote && s.up != nil {
			s.up.forgetSettings()
		}
		if over[:2] == "40" && t.txn != nil {
			t.dead = cause
		}
		if len(t.saves) == 0 {
			s.dropParticipant()
			s.closePortals(func(p *portal) bool { return !p.held })
			if t.txn != nil {
				t.txn.Rollback()
				t.txn = nil
			}
			s.set.RollbackTo(0)
			s.notify.rollback(0)
			return
		}
		level := len(t.saves)
		s.closePortals(func(p *portal) bool { return !p.held && p.level >= level })
		sp := t.saves[level-1]
		if t.txn != nil && t.dead == nil {
			if err := t.txn.RollbackTo(sp.id); err != nil {
				t.dead = err
			}
		}
		if err := s.rollbackParticipant(level - 1); err != nil {
			t.dead = err
		}
		s.set.RollbackTo(sp.mark)
		s.notify.rollback(sp.listens)
		s.deferredTruncate(sp.checks)
	}
}

// runDeferred makes the deferred checks that are due; all of them before COMMIT.
func (s *Session) runDeferred(commit bool) error {
	d, ok := s.deps.Exec.(DeferredRunner)
	if !ok || s.tx.txn == nil || s.tx.deferred == nil || s.tx.deferred.Len() == 0 {
		return nil
	}
	run := Run{Env: &s.env, WorkMem: s.conf.workMem, TempDir: s.deps.Limits.TempDir}
	s.fillRun(&run)
	return d.RunDeferred(s.env.Ctx, &run, commit)
}

// deferredMark is the length of the queue of deferred checks.
func (s *Session) deferredMark() int {
	if s.tx.deferred == nil {
		return 0
	}
	return s.tx.deferred.Len()
}

func (s *Session) deferredTruncate(n int) {
	if s.tx.deferred != nil {
		s.tx.deferred.Truncate(n)
	}
}

// inBlock reports a transaction block, the implicit one of a query string included.
func (s *Session) inBlock() bool {
	return s.tx.state == txBlock || s.tx.state == txFailed || s.tx.state == txImplicit && s.tx.several
}

// requireBlock is 25P01 for statements that make no sense outside of a block.
func (s *Session) requireBlock(what string) error {
	if s.inBlock() {
		return nil
	}
	return pgerror.New(pgerror.NoActiveSqlTransaction, "%s can only be used in transaction blocks", what)
}

// preventBlock is 25001 for statements that cannot be undone.
func (s *Session) preventBlock(what string) error {
	if s.inBlock() {
		return pgerror.New(pgerror.ActiveSqlTransaction, "%s cannot run inside a transaction block", what)
	}
	return nil
}

// checkReadOnly is 25006 for a command that a read-only transaction may not run.
func (s *Session) checkReadOnly(command string) error {
	if !s.tx.readOnly {
		return nil
	}
	return pgerror.New(pgerror.ReadOnlySqlTransaction, "cannot execute %s in a read-only transaction", command)
}

// errAborted is every statement's answer in a failed block.
func errAborted() error {
	return pgerror.New(pgerror.InFailedSqlTransaction, "current transaction is aborted, commands ignored until end of transaction block")
}

// catalogMoved drops what depends on the catalogue that a commit changed.
func (s *Session) catalogMoved(before *catalog.Catalog) {
	if now := s.deps.Engine.Catalog(s.client.Database); before == nil || now == nil || now.Version != before.Version {
		s.path.valid = false
	}
}
