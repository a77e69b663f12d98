package shardrouter

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"ostraka/docstore"
	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/peer"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// poolSize bounds the sessions to one shard unless the pool was given another
// size; further requests wait. maxIdle are kept open between requests.
const (
	poolSize = 64
	maxIdle  = 16
)

// SessionPool is a shard that is reached through PostgreSQL sessions, which the
// functions ostraka.shard_read and shard_write serve. A session that timed out or
// broke is closed, never given out again; its place is free at once.
type SessionPool struct {
	// dial opens a session on the server that leads the shard now.
	dial func(ctx context.Context) (*pgconn.PgConn, error)
	// gone is told that a session broke: what is known about the leader may be wrong.
	gone func()
	slot chan struct{}

	mu     sync.Mutex
	idle   []*pgconn.PgConn // guarded by mu
	closed bool             // guarded by mu
}

var _ Backend = (*SessionPool)(nil)

// NewSessionPool makes a pool; nothing is opened yet.
func NewSessionPool(dial func(ctx context.Context) (*pgconn.PgConn, error), gone func()) *SessionPool {
	return NewSessionPoolOf(poolSize, dial, gone)
}

// NewSessionPoolOf makes a pool of at most size sessions.
func NewSessionPoolOf(size int, dial func(ctx context.Context) (*pgconn.PgConn, error), gone func()) *SessionPool {
	return &SessionPool{dial: dial, gone: gone, slot: make(chan struct{}, size)}
}

// Open is how many sessions there are: in use, and idle.
func (p *SessionPool) Open() (used, idle int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.slot), len(p.idle)
}

// Close closes idle sessions; those in use are closed when they are given back.
func (p *SessionPool) Close() { p.empty(true) }

// Forget closes the idle sessions: the shard's leader has changed.
func (p *SessionPool) Forget() { p.empty(false) }

func (p *SessionPool) empty(forGood bool) {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, p.closed || forGood
	p.mu.Unlock()
	for _, c := range idle {
		closeSession(c)
	}
}

func closeSession(c *pgconn.PgConn) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // without waiting for the other end
	_ = c.Close(ctx)
}

func (p *SessionPool) take(ctx context.Context) (*pgconn.PgConn, error) {
	select {
	case p.slot <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for {
		p.mu.Lock()
		n := len(p.idle)
		if n == 0 {
			p.mu.Unlock()
			break
		}
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		if !c.IsClosed() && !peer.Hungup(c.Conn()) {
			return c, nil
		}
		closeSession(c)
	}
	c, err := p.dial(ctx)
	if err == nil {
		if err = prepare(ctx, c); err != nil {
			closeSession(c)
		}
	}
	if err != nil {
		<-p.slot
		p.gone()
		return nil, err
	}
	return c, nil
}

// prepare makes a new session ready for requests. Its reads have everything that was
// acknowledged before them: whom it was opened to may not lead any more.
func prepare(ctx context.Context, c *pgconn.PgConn) error {
	if _, err := c.Exec(ctx, "SET ostraka.read_consistency = linearizable").ReadAll(); err != nil {
		return err
	}
	for name, sql := range map[string]string{"r": sqlRead, "w": sqlWrite} {
		if _, err := c.Prepare(ctx, name, sql, []uint32{uint32(sqltypes.OIDBytea)}); err != nil {
			return err
		}
	}
	return nil
}

// give takes a session back; a broken one is closed.
func (p *SessionPool) give(c *pgconn.PgConn, sound bool) {
	defer func() { <-p.slot }()
	p.mu.Lock()
	keep := sound && !c.IsClosed() && !p.closed && len(p.idle) < maxIdle && c.TxStatus() == 'I'
	if keep {
		p.idle = append(p.idle, c)
	}
	p.mu.Unlock()
	if !keep {
		closeSession(c)
		if !sound {
			p.gone()
		}
	}
}

// Run implements Backend.
func (p *SessionPool) Run(ctx context.Context, req *Request) (docstore.Result, error) {
	c, err := p.take(ctx)
	if err != nil {
		return docstore.Result{}, notReached(err)
	}
	return run(ctx, c, req, func(sound bool) { p.give(c, sound) })
}

// Begin implements Backend.
func (p *SessionPool) Begin(ctx context.Context, o TxnOptions) (Transaction, error) {
	c, err := p.take(ctx)
	if err != nil {
		return nil, notReached(err)
	}
	sql := "BEGIN ISOLATION LEVEL " + map[engine.Isolation]string{engine.ReadCommitted: "READ COMMITTED", engine.RepeatableRead: "REPEATABLE READ",
		engine.Serializable: "SERIALIZABLE"}[o.Isolation]
	if o.ReadOnly {
		sql += " READ ONLY"
	}
	t := &sessionTxn{p: p, c: c}
	if err := t.exec(ctx, sql); err != nil {
		t.Rollback()
		return nil, err
	}
	return t, nil
}

type sessionTxn struct {
	p      *SessionPool
	c      *pgconn.PgConn
	ended  bool
	broken bool
}

func (t *sessionTxn) exec(ctx context.Context, sql string) error {
	_, err := t.c.Exec(ctx, sql).ReadAll()
	return t.check(err)
}

func (t *sessionTxn) check(err error) error {
	var pe *pgconn.PgError
	if err != nil && !errors.As(err, &pe) {
		t.broken = true
	}
	return fromSession(err, false)
}

func (t *sessionTxn) Run(ctx context.Context, req *Request) (docstore.Result, error) {
	res, err := run(ctx, t.c, req, func(sound bool) { t.broken = t.broken || !sound })
	if err != nil {
		return res, err
	}
	if res.Docs != nil { // the session must be free for the next statement
		docs, err := docstore.ReadAll(res.Docs)
		if err != nil {
			return docstore.Result{}, err
		}
		res.Docs = docstore.Slice(docs)
	}
	return res, nil
}

func (t *sessionTxn) Savepoint(ctx context.Context, level int) error {
	return t.exec(ctx, "SAVEPOINT s"+strconv.Itoa(level))
}
func (t *sessionTxn) RollbackTo(ctx context.Context, level int) error {
	return t.exec(ctx, "ROLLBACK TO SAVEPOINT s"+strconv.Itoa(level))
}
func (t *sessionTxn) Release(ctx context.Context, level int) error {
	return t.exec(ctx, "RELEASE SAVEPOINT s"+strconv.Itoa(level))
}

func (t *sessionTxn) Commit(ctx context.Context) error {
	res, err := t.c.Exec(ctx, "COMMIT").ReadAll()
	if err == nil && len(res) == 1 && res[0].CommandTag.String() != "COMMIT" {
		err = pgerror.New(pgerror.TransactionRollback, "the transaction on the shard was rolled back")
	} else if err != nil {
		var pe *pgconn.PgError
		t.broken = t.broken || !errors.As(err, &pe)
		err = fromSession(err, true)
	}
	t.end()
	return err
}

func (t *sessionTxn) Rollback() {
	if t.ended {
		return
	}
	if !t.broken && !t.c.IsClosed() && t.c.TxStatus() != 'I' {
		// Closing the session rolls back too, without waiting.
		t.broken = true
	}
	t.end()
}

func (t *sessionTxn) end() {
	if !t.ended {
		t.ended = true
		t.p.give(t.c, !t.broken)
	}
}

// run sends one request and reads its answer up to the first document, so that a
// refusal is seen here. done is called once, when the session is free again.
func run(ctx context.Context, c *pgconn.PgConn, req *Request, done func(sound bool)) (docstore.Result, error) {
	writes, err := req.Writes()
	if err != nil {
		done(true)
		return docstore.Result{}, err
	}
	name := "r"
	if writes {
		name = "w"
	}
	rr := c.ExecPrepared(ctx, name, [][]byte{req.Encode()}, []int16{1}, []int16{1})
	cur := &sessionCursor{rr: rr, writes: writes, done: done}
	first, ok, err := cur.Next()
	if err != nil {
		cur.Close()
		return docstore.Result{}, err
	}
	if !ok {
		cur.Close()
		return cur.tail, nil
	}
	cur.pushed, cur.has = first, true
	return docstore.Result{Docs: cur}, nil
}

// sessionCursor streams the documents of an answer.
type sessionCursor struct {
	rr     *pgconn.ResultReader
	writes bool
	done   func(sound bool)
	pushed docstore.JSON
	has    bool
	ended  bool
	err    error
	tail   docstore.Result
}

func (s *sessionCursor) Next() (docstore.JSON, bool, error) {
	if s.has {
		s.has = false
		return s.pushed, true, nil
	}
	if s.ended || s.err != nil {
		return docstore.JSON{}, false, s.err
	}
	for s.rr.NextRow() {
		v := s.rr.Values()
		if len(v) != 1 || len(v[0]) == 0 {
			s.err = errMalformed
			return docstore.JSON{}, false, s.err
		}
		switch row := string(v[0]); row[0] {
		case answerDoc:
			return sqltypes.JSONOf(sqltypes.Text(row[1:])), true, nil
		case answerTail:
			if s.tail, s.err = decodeTail(row); s.err != nil {
				return docstore.JSON{}, false, s.err
			}
		default:
			s.err = errMalformed
			return docstore.JSON{}, false, s.err
		}
	}
	_, err := s.rr.Close()
	s.free(err)
	if err != nil {
		s.err = fromSession(err, s.writes)
	}
	s.ended = true
	return docstore.JSON{}, false, s.err
}

// free gives the session back; after an error that is not the server's it is broken.
func (s *sessionCursor) free(err error) {
	if s.done != nil {
		var pe *pgconn.PgError
		s.done(err == nil || errors.As(err, &pe) && pe.Severity != "FATAL")
		s.done = nil
	}
}

// Close ends the stream; a session that is still sending is closed.
func (s *sessionCursor) Close() {
	if s.done != nil {
		s.done(false)
		s.done = nil
	}
	s.ended, s.has = true, false
}

// notReached is an error from before anything was sent.
func notReached(err error) error {
	var pe *pgerror.Error
	if errors.As(err, &pe) {
		return &unsent{err}
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return &unsent{fromSession(err, false)}
	}
	return &unsent{pgerror.Wrap(err, pgerror.ConnectionFailure, "the shard cannot be reached").WithDetail("%s", err.Error())}
}

// unsent marks an error of a request that has not left.
type unsent struct{ error }

func (e *unsent) Unwrap() error { return e.error }

// fromSession is an error of another server as an error of this one. A write
// that broke off has an unknown outcome.
func fromSession(err error, writes bool) error {
	if err == nil {
		return nil
	}
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return &pgerror.Error{Code: pgerror.Code(pe.Code), Message: pe.Message, Detail: pe.Detail, Hint: pe.Hint, Where: pe.Where,
			Schema: pe.SchemaName, Table: pe.TableName, Column: pe.ColumnName, Constraint: pe.ConstraintName}
	}
	if writes {
		return pgerror.Wrap(err, pgerror.TransactionResolutionUnknown, "the outcome of the write is unknown").
			WithDetail("%s", err.Error()).WithHint("It may or may not have been made; look before you repeat it.")
	}
	return pgerror.Wrap(err, pgerror.ConnectionFailure, "the shard did not answer").WithDetail("%s", err.Error())
}

// Describe names a shard in errors.
func Describe(list *catalog.Shards, id int32) string { return fmt.Sprintf("shard %q", list.Name(id)) }
