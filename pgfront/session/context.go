package session

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"ostraka/sqltypes/pgerror"
)

// stmtContext is the context that statements run under. It is made once and
// reused until it is cancelled: starting a statement allocates nothing. A context
// that was cancelled is replaced, so whoever still holds it stays cancelled.
type stmtContext struct {
	done  chan struct{}
	mu    sync.Mutex
	err   error // guarded by mu; context.Canceled after cancel
	cause error // guarded by mu
	after map[*func()]func()
	fired atomic.Bool
}

func newStmtContext() *stmtContext { return &stmtContext{done: make(chan struct{})} }

func (c *stmtContext) Deadline() (time.Time, bool) { return time.Time{}, false }
func (c *stmtContext) Done() <-chan struct{}       { return c.done }
func (c *stmtContext) Value(any) any               { return nil }

func (c *stmtContext) Err() error {
	if !c.fired.Load() {
		return nil
	}
	return context.Canceled
}

// AfterFunc lets derived contexts follow without a goroutine (see context.AfterFunc).
func (c *stmtContext) AfterFunc(f func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		go f()
		return func() bool { return false }
	}
	if c.after == nil {
		c.after = map[*func()]func(){}
	}
	key := &f
	c.after[key] = f
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, ok := c.after[key]
		delete(c.after, key)
		return ok
	}
}

// cancel ends the context; the first cause counts.
func (c *stmtContext) cancel(cause error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err, c.cause = context.Canceled, cause
	c.fired.Store(true)
	close(c.done)
	after := c.after
	c.after = nil
	c.mu.Unlock()
	for _, f := range after {
		go f()
	}
}

func (c *stmtContext) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// Causes of cancellation as the client is told them.
var (
	errCanceledByUser   = pgerror.New(pgerror.QueryCanceled, "canceling statement due to user request")
	errStatementTimeout = pgerror.New(pgerror.QueryCanceled, "canceling statement due to statement timeout")
	errTerminated       = fatal(pgerror.New(pgerror.AdminShutdown, "terminating connection due to administrator command"))
	errMissed           = fatal(pgerror.New(pgerror.AdminShutdown, "terminating connection because its node fell behind and took its state from another one: notifications may have been missed"))
	errIdleInTxn        = fatal(pgerror.New(pgerror.IdleInTransactionSessionTimeout, "terminating connection due to idle-in-transaction timeout"))
	errIdleSession      = fatal(pgerror.New(pgerror.IdleSessionTimeout, "terminating connection due to idle-session timeout"))
)

func fatal(e *pgerror.Error) *pgerror.Error {
	e.Severity = "FATAL"
	return e
}
