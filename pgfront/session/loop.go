package session

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"ostraka/pgfront/wire"
	"ostraka/sqltypes/pgerror"
)

// Serve sends the session's greeting and handles messages until the client
// leaves, the session is terminated or breaks. It closes nothing but the session.
func (s *Session) Serve() (err error) {
	defer s.close()
	defer func() {
		if r := recover(); r != nil {
			err = s.panicked(r)
		}
	}()
	s.tx.settingsReady = true
	for _, r := range s.set.AllReports() {
		s.out.ParameterStatus(r.Name, r.Value)
	}
	s.out.BackendKeyData(s.pid, s.secret)
	s.out.ReadyForQuery(wire.StatusIdle)
	for {
		if !s.in.Buffered() {
			if err := s.idle(); err != nil {
				return s.finish(err)
			}
		}
		kind, body, err := s.in.Next()
		if err != nil {
			var pe *pgerror.Error
			if !errors.As(err, &pe) || pe.Severity == "FATAL" {
				return s.finish(err)
			}
			// a message that was too large, and skipped
			if kind != 'Q' {
				s.failExtended(err)
			} else {
				s.fail(err)
				s.ready()
			}
			continue
		}
		if kind == 'X' {
			s.out.Flush()
			return nil
		}
		if err := s.handle(kind, body); err != nil {
			return s.finish(err)
		}
		if s.out.Err() != nil {
			return s.out.Err()
		}
	}
}

// idle is called before a read that may block: what was written goes out, and the timeouts of waiting apply.
func (s *Session) idle() error {
	if err := s.flushUpstream(); err != nil {
		return err
	}
	s.out.Flush()
	if s.out.Err() != nil {
		return s.out.Err()
	}
	switch {
	case s.tx.state == txBlock || s.tx.state == txFailed:
		return s.in.SetDeadline(s.conf.idleInTxn, func() error { return errIdleInTxn })
	case s.tx.state == txNone:
		return s.in.SetDeadline(s.conf.idle, func() error { return errIdleSession })
	}
	return s.in.SetDeadline(0, nil)
}

// woken runs when another goroutine woke a read: the session may have to end, or notifications wait.
func (s *Session) woken() error {
	s.mu.Lock()
	ended := s.ended
	s.mu.Unlock()
	if ended != nil {
		return ended
	}
	if s.tx.state == txNone && !s.inQuery && !s.skip {
		s.notify.deliver()
		s.out.Flush()
		return s.out.Err()
	}
	return nil
}

// finish says goodbye to the client where that makes sense.
func (s *Session) finish(err error) error {
	var pe *pgerror.Error
	if errors.As(err, &pe) {
		c := *pe
		c.Severity = "FATAL"
		s.out.Abort()
		s.out.ErrorResponse(&c)
		s.out.Flush()
		return err
	}
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}

func (s *Session) panicked(r any) error {
	id := fmt.Sprintf("%08x", s.rng.Uint32())
	s.deps.Logger.Error("session_panic", "id", id, "pid", s.pid, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
	s.out.Abort()
	s.out.ErrorResponse(&pgerror.Error{Severity: "FATAL", Code: pgerror.InternalError, Message: "internal error " + id})
	s.out.Flush()
	return fmt.Errorf("session: panic %s: %v", id, r)
}

// close frees everything the session holds.
func (s *Session) close() {
	defer func() {
		if r := recover(); r != nil {
			s.deps.Logger.Error("session_close_panic", "pid", s.pid, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
		}
	}()
	s.deps.Registry.remove(s)
	s.mu.Lock()
	ctx := s.ctx
	s.mu.Unlock()
	ctx.cancel(errTerminated)
	s.notify.close()
	for _, p := range s.portals {
		p.close()
	}
	s.closeUpstream()
	s.dropParticipant()
	if s.tx.txn != nil {
		s.tx.txn.Rollback()
		s.tx.txn = nil
	}
	s.dropSessionState()
	if s.timer != nil {
		s.timer.Stop()
	}
}

// handle is one message. An error ends the session.
func (s *Session) handle(kind byte, body []byte) error {
	if s.skip && kind != 'S' && kind != 'd' && kind != 'c' && kind != 'f' {
		return nil
	}
	switch kind {
	case 'Q':
		return s.simpleQuery(body)
	case 'P':
		return s.extended(body, s.parseMessage)
	case 'B':
		return s.extended(body, s.bindMessage)
	case 'D':
		return s.extended(body, s.describeMessage)
	case 'E':
		return s.extended(body, s.executeMessage)
	case 'C':
		return s.extended(body, s.closeMessage)
	case 'H':
		if err := s.flushUpstream(); err != nil {
			return err
		}
		s.out.Flush()
		return nil
	case 'S':
		return s.sync()
	case 'F':
		return s.functionCall(body)
	}
	return nil // CopyData, CopyDone, CopyFail outside of COPY are ignored
}

// ready ends a command cycle, unless the session is about to end.
func (s *Session) ready() {
	if s.fatalEnd() != nil {
		return
	}
	s.inQuery = false
	if s.tx.state == txNone {
		s.awaitNotified()
		s.notify.deliver()
	}
	for _, r := range s.set.TakeReports() {
		s.out.ParameterStatus(r.Name, r.Value)
	}
	status := wire.StatusIdle
	switch s.tx.state {
	case txBlock:
		status = wire.StatusBlock
	case txFailed:
		status = wire.StatusFailed
	}
	s.setState(status)
	s.reportPosition()
	s.cycles.Add(1)
	s.out.ReadyForQuery(status)
}

func (s *Session) setState(status byte) {
	state := "idle"
	switch status {
	case wire.StatusBlock:
		state = "idle in transaction"
	case wire.StatusFailed:
		state = "idle in transaction (aborted)"
	}
	s.mu.Lock()
	s.act.state = state
	s.act.stateChange = s.now()
	if status == wire.StatusIdle {
		s.act.xactStart, s.act.txn = time.Time{}, nil
	}
	s.mu.Unlock()
}

// begin starts a statement: its clock, its timeout, its place in pg_stat_activity.
func (s *Session) begin(query string) {
	t := s.now()
	s.began = t
	s.clk = micros(t)
	s.env.StatementTime = s.clk
	s.mu.Lock()
	if s.ctx.fired.Load() {
		s.ctx = newStmtContext()
	}
	ctx := s.ctx
	s.running = true
	if s.ended != nil {
		ctx.cancel(s.ended)
	}
	s.act.state, s.act.queryStart, s.act.stateChange = "active", t, t
	if s.conf.trackActivity {
		s.act.query = query
	}
	s.mu.Unlock()
	s.env.Ctx = ctx
	if d := s.conf.statementTimeout; d > 0 && s.timedCtx == nil {
		s.startTimer(ctx, d)
	}
}

// end ends what begin started.
func (s *Session) end() {
	s.stopTimer()
	s.mu.Lock()
	s.running = false
	s.mu.Unlock()
}

func (s *Session) startTimer(ctx *stmtContext, d time.Duration) {
	s.timedCtx = ctx
	s.timer = time.AfterFunc(d, func() { ctx.cancel(errStatementTimeout) })
}

func (s *Session) stopTimer() {
	if s.timedCtx != nil {
		s.timer.Stop()
		s.timedCtx = nil
	}
}

// fail reports an error of a statement to the client and puts the transaction into its failed state.
func (s *Session) fail(err error) {
	var r *relayed
	if errors.As(err, &r) {
		s.abortTransaction(pgerror.New(r.code, "relayed"))
		return
	}
	e := s.clientError(err)
	s.out.Abort()
	if e.Severity == "FATAL" {
		s.setEnded(e) // finish tells the client
	} else {
		s.out.ErrorResponse(e)
	}
	s.abortTransaction(e)
}

// setEnded makes the session end with err; the first reason counts.
func (s *Session) setEnded(err error) {
	s.mu.Lock()
	if s.ended == nil {
		s.ended = err
	}
	s.mu.Unlock()
}

// clientError makes what the client sees of an error.
func (s *Session) clientError(err error) *pgerror.Error {
	s.mu.Lock()
	ctx := s.ctx
	s.mu.Unlock()
	if ctx.fired.Load() {
		if cause, ok := ctx.why().(*pgerror.Error); ok && isCancel(err) {
			c := *cause
			return &c
		}
	}
	var pe *pgerror.Error
	if errors.As(err, &pe) {
		return pe
	}
	id := fmt.Sprintf("%08x", s.rng.Uint32())
	s.deps.Logger.Error("internal_error", "id", id, "pid", s.pid, "error", err)
	return pgerror.New(pgerror.InternalError, "internal error %s", id)
}

// isCancel reports an error that stems from the statement's context.
func isCancel(err error) bool {
	if errors.Is(err, errContextCanceled) {
		return true
	}
	var pe *pgerror.Error
	return errors.As(err, &pe) && pe.Code == pgerror.QueryCanceled
}

// fatalEnd returns the error that must end the session, if there is one.
func (s *Session) fatalEnd() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// severityRank orders message severities as client_min_messages does.
func severityRank(name string) int {
	switch strings.ToLower(name) {
	case "debug5":
		return 0
	case "debug4":
		return 1
	case "debug3":
		return 2
	case "debug2", "debug":
		return 3
	case "debug1":
		return 4
	case "log":
		return 5
	case "info":
		return 100
	case "notice":
		return 6
	case "warning":
		return 7
	case "error":
		return 8
	}
	return 6
}

// NoticeError sends a message that is no error.
func (s *Session) NoticeError(e *pgerror.Error) {
	if severityRank(e.Severity) >= s.conf.clientMin {
		s.out.NoticeResponse(e)
	}
}

// warn sends a WARNING.
func (s *Session) warn(code pgerror.Code, format string, args ...any) {
	e := pgerror.New(code, format, args...)
	e.Severity = "WARNING"
	s.NoticeError(e)
}
