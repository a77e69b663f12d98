package router

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/docstore"
	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/pgfront/wire"
	"ostraka/shardrouter"
	"ostraka/sqltypes/pgerror"
)

// docState is the part of a session that is about documents of several shards.
// The block of the first server (session.block) is the session's own transaction;
// part is what it has on another one.
type docState struct {
	pools *poolSet
	part  shardrouter.Participant
	// level is how many savepoints there were when part began, lost why it is gone.
	level int
	lost  error
	saves []string // savepoints of the block

	wrote     bool // the block may have written on the first server
	readOnly  bool
	isolation engine.Isolation
	hidden    bool // the block is the router's own, around statements that came together

	now    time.Time
	asked  atomic.Int64
	cancel atomic.Pointer[context.CancelCauseFunc] // ends the running command
}

// errCanceled is the cause of a command that the client has cancelled.
var errCanceled = pgerror.New(pgerror.QueryCanceled, "canceling statement due to user request")

// errStatementTimeout is the cause of one that took too long.
var errStatementTimeout = pgerror.New(pgerror.QueryCanceled, "canceling statement due to statement timeout")

// plainSession is the session as routing sees it.
type plainSession struct{ s *session }

var _ shardrouter.PlainSession = plainSession{}

func (p plainSession) Participant() shardrouter.Participant { return p.s.doc.part }
func (p plainSession) Enlist(x shardrouter.Participant) {
	p.s.doc.part, p.s.doc.level = x, len(p.s.doc.saves)
}
func (p plainSession) HasWritten() bool            { return p.s.doc.wrote }
func (p plainSession) ReadOnly() bool              { return p.s.block != nil && p.s.doc.readOnly }
func (p plainSession) Isolation() engine.Isolation { return p.s.doc.isolation }
func (p plainSession) InBlock() bool               { return p.s.block != nil }
func (p plainSession) Now() time.Time              { return p.s.doc.now }
func (p plainSession) Shards() *catalog.Shards     { return p.s.doc.pools.Shards() }
func (p plainSession) Refresh(ctx context.Context, version uint64) {
	p.s.doc.pools.Refresh(ctx, version)
}

func (p plainSession) Backend(id int32, read bool) (shardrouter.Backend, error) {
	p.s.doc.asked.Add(1)
	return p.s.doc.pools.Backend(id, read)
}

// RunHome executes a request in the block on the first server.
func (p plainSession) RunHome(_ context.Context, req *shardrouter.Request) (docstore.Result, error) {
	s, u := p.s, p.s.block
	s.doc.asked.Add(1)
	s.r.sharding.requests[0].Add(1)
	sql, err := req.SQL()
	if err != nil {
		return docstore.Result{}, err
	}
	if writes, err := req.Writes(); err == nil && writes {
		s.doc.wrote = true
	}
	rows, err := u.extended(extendedQuery{sql: sql, formats: []int16{1}, params: [][]byte{req.Encode()}, results: []int16{1}})
	if err != nil {
		return docstore.Result{}, s.upstreamFailed(u, err)
	}
	vals := make([][]byte, len(rows))
	for i, r := range rows {
		vals[i] = r[0]
	}
	return shardrouter.DecodeAnswer(vals)
}

// upstreamFailed makes an error of a query of the router's own. A server's refusal in
// a block has failed the block.
func (s *session) upstreamFailed(u *upstream, err error) error {
	var ue *upstreamError
	if !errors.As(err, &ue) {
		return s.gone(u, err, &script{})
	}
	if s.block == u {
		s.status = wire.StatusFailed
	}
	return ue.error()
}

// concerned reports that a statement may need several servers.
func (s *session) concerned(sc *script) bool {
	if s.r.sharding == nil {
		return false
	}
	return sc.docs != nil && sc.docs.concerns(s.r.sharding.route) || s.executed(sc) != nil
}

// executed is the prepared statement with documents of several shards that a statement
// of SQL executes, nil: none.
func (s *session) executed(sc *script) *statement {
	if len(sc.states) > 0 { // DEALLOCATE
		return nil
	}
	for _, name := range sc.executes {
		if st := s.stmts[name]; st != nil && st.script.docs != nil && st.script.docs.concerns(s.r.sharding.route) {
			return st
		}
	}
	return nil
}

// command executes one command. end is to be called when its answer has been read.
func (s *session) command(cmd *docstore.Command) (res docstore.Result, end func(error) error, err error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	s.doc.cancel.Store(&cancel)
	var timer *time.Timer
	if d := s.statementTimeout(); d > 0 {
		timer = time.AfterFunc(d, func() { cancel(errStatementTimeout) })
	}
	s.doc.asked.Store(0)
	res, err = s.r.sharding.route.Run(ctx, plainSession{s}, cmd)
	end = func(err error) error {
		s.doc.cancel.Store(nil)
		if timer != nil {
			timer.Stop()
		}
		cause := context.Cause(ctx)
		cancel(nil)
		if err != nil && (cause == errCanceled || cause == errStatementTimeout) && pgerror.CodeOf(err) != pgerror.TransactionResolutionUnknown {
			return cause
		}
		return err
	}
	if s.doc.asked.Load() > 1 {
		s.r.stats.scattered.Add(1)
	} else {
		s.r.stats.targeted.Add(1)
	}
	if err != nil {
		return res, nil, end(err)
	}
	return res, end, nil
}

// statementTimeout is what SET statement_timeout says; 0: none.
func (s *session) statementTimeout() time.Duration {
	for _, e := range s.settings {
		if e.name != "statement_timeout" || e.value == "" {
			continue
		}
		if ms, err := strconv.Atoi(e.value); err == nil {
			return time.Duration(ms) * time.Millisecond
		}
		if d, err := time.ParseDuration(strings.ReplaceAll(strings.ReplaceAll(e.value, " ", ""), "min", "m")); err == nil {
			return d
		}
	}
	return 0
}

// obstacle refuses what a session has set that the sessions on other servers do
// not have.
func (s *session) obstacle() error {
	check := func(name, value string) error {
		value = strings.ToLower(value)
		switch strings.ToLower(name) {
		case "role":
			if value == "none" {
				return nil
			}
		case "session_authorization", "default_transaction_isolation", "default_transaction_read_only", "transaction_isolation", "transaction_read_only", "session characteristics":
		case "client_encoding":
			if value == "utf8" || value == "utf-8" || value == "unicode" {
				return nil
			}
		case "search_path":
			if !docInPath(value) {
				return nil
			}
		default:
			return nil
		}
		return pgerror.NotSupported("documents of several shards while %q is set", name).WithHint("RESET it.")
	}
	for _, e := range s.settings {
		if e.value != "" || e.name == "session characteristics" {
			if err := check(e.name, e.value); err != nil {
				return err
			}
		}
	}
	for name, value := range s.id.params {
		if name == "options" && strings.ContainsAny(value, "=") {
			return pgerror.NotSupported("documents of several shards in a session with startup options")
		}
		if err := check(name, value); err != nil {
			return err
		}
	}
	return nil
}

// before refuses or prepares what a statement means for the other server's part of
// the block. done: the statement is over, its answer is err or the tag.
func (s *session) before(sc *script) (tag string, done bool, err error) {
	d := &s.doc
	if s.r.sharding == nil || s.block == nil || d.part == nil && d.lost == nil {
		return "", false, nil
	}
	if len(sc.txn) == 0 || sc.txn[0].set {
		if !sc.read && !sc.tame && d.part != nil && s.status != wire.StatusFailed {
			return "", false, pgerror.NotSupported("a statement that may write on a second server in one transaction").
				WithHint("Do what is on one server in one transaction.")
		}
		return "", false, nil
	}
	switch sc.txn[0].kind {
	case pg.TransactionStmtKind_TRANS_STMT_COMMIT:
		if s.status == wire.StatusFailed {
			break
		}
		if err = d.lost; err == nil {
			err = d.part.Commit(context.Background())
		}
		d.part, d.lost = nil, nil
		if err != nil {
			return "", true, s.abandon(err)
		}
	case pg.TransactionStmtKind_TRANS_STMT_ROLLBACK:
		s.dropPart()
	case pg.TransactionStmtKind_TRANS_STMT_PREPARE:
		return "", false, pgerror.NotSupported("PREPARE TRANSACTION with documents of another shard")
	}
	return "", false, nil
}

// abandon rolls the block on the first server back; it returns the cause.
func (s *session) abandon(cause error) error {
	u := s.block
	if _, err := u.query("ROLLBACK"); err != nil {
		s.drop(u, nil)
	}
	s.settle(u, result{status: wire.StatusIdle, tag: "ROLLBACK"})
	return cause
}

func (s *session) dropPart() {
	if s.doc.part != nil {
		s.doc.part.Rollback()
	}
	s.doc.part, s.doc.lost = nil, nil
}

// stepped takes note of transaction control that the first server has carried out.
func (s *session) stepped(sc *script) {
	d := &s.doc
	for _, t := range sc.txn {
		if t.isolation != "" {
			d.isolation = isolations[strings.ToLower(t.isolation)]
		}
		if t.readOnly != nil {
			d.readOnly = *t.readOnly
		}
		if t.set || s.block == nil {
			continue
		}
		at := len(d.saves) - 1
		for ; at >= 0 && d.saves[at] != t.name; at-- {
		}
		var err error
		switch t.kind {
		case pg.TransactionStmtKind_TRANS_STMT_SAVEPOINT:
			d.saves = append(d.saves, t.name)
			if d.part != nil {
				err = d.part.Savepoint(context.Background(), len(d.saves)-1)
			}
		case pg.TransactionStmtKind_TRANS_STMT_ROLLBACK_TO:
			if at >= 0 {
				d.saves = d.saves[:at+1]
			}
			switch {
			case d.part == nil:
			case at < d.level:
				s.dropPart()
			default:
				err = d.part.RollbackTo(context.Background(), at)
			}
		case pg.TransactionStmtKind_TRANS_STMT_RELEASE:
			if at < 0 {
				break
			}
			d.saves = d.saves[:at]
			if d.part != nil && at >= d.level {
				err = d.part.Release(context.Background(), at)
			} else if d.part != nil {
				d.level = at
			}
		}
		if err != nil {
			s.dropPart()
			d.lost = err
		}
	}
	if s.block != nil && !sc.read && !sc.tame && !sc.control {
		d.wrote = true
	}
}

var isolations = map[string]engine.Isolation{"read uncommitted": engine.ReadCommitted, "read committed": engine.ReadCommitted,
	"repeatable read": engine.RepeatableRead, "serializable": engine.Serializable}

// blockOver forgets what was about the block.
func (s *session) blockOver() {
	s.dropPart()
	d := &s.doc
	d.saves, d.wrote, d.readOnly, d.isolation = d.saves[:0], false, false, engine.ReadCommitted
}

// failBlock makes the first server's block fail after an error of the router's own.
func (s *session) failBlock() {
	u := s.block
	if u == nil || s.status == wire.StatusFailed {
		return
	}
	_, err := u.query(`ROLLBACK TO SAVEPOINT "ostraka: an error"`) // which is not there
	var ue *upstreamError
	if err != nil && !errors.As(err, &ue) {
		s.drop(u, err)
		return
	}
	s.status = wire.StatusFailed
}

// hide begins a block of the router's own.
func (s *session) hide() error {
	u, err := s.acquire(false)
	if err != nil {
		return err
	}
	if _, err := u.query("BEGIN"); err != nil {
		return s.upstreamFailed(u, err)
	}
	s.block, s.status, s.doc.hidden = u, wire.StatusBlock, true
	return nil
}

// unhide ends it: committed, or rolled back when something has failed.
func (s *session) unhide(failed bool) error {
	s.doc.hidden = false
	u := s.block
	if u == nil {
		return nil
	}
	if failed || s.status == wire.StatusFailed {
		s.dropPart()
		_ = s.abandon(nil)
		return nil
	}
	if _, _, err := s.before(&script{txn: []txnStep{{kind: pg.TransactionStmtKind_TRANS_STMT_COMMIT}}}); err != nil {
		return err
	}
	if _, err := u.query("COMMIT"); err != nil {
		var ue *upstreamError
		if !errors.As(err, &ue) {
			return s.gone(u, err, &script{commit: true})
		}
		s.settle(u, result{status: wire.StatusIdle, tag: "ROLLBACK"})
		return ue
	}
	s.settle(u, result{status: wire.StatusIdle, tag: "COMMIT"})
	return nil
}
