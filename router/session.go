package router

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"sync/atomic"
	"time"

	"ostraka/pgfront/wire"
	"ostraka/sqltypes/pgerror"
)

// Bounds of a session.
const (
	maxMessage    = 256 << 20 // bytes of one message and of what is buffered up to a Sync
	maxStatements = 10000     // prepared statements
	maxSettings   = 1000      // entries of the settings log
)

// session is one client. Everything but active and end belongs to its goroutine.
type session struct {
	r   *Router
	id  identity
	in  *wire.Reader
	out *wire.Out

	track *track // nil: none
	lane  *lane  // nil: the session is its goroutine's alone

	pid, secret int32
	active      atomic.Pointer[upstream] // what a cancel request is for

	primary, replica *upstream // opened when first needed, nil until then and after a failure
	status           byte      // of the last ReadyForQuery
	block            *upstream // of the open transaction block
	pinned           bool      // everything goes to the primary's session, which has state of its own

	settings []setting // session state that every upstream session must have, in order
	seq      int
	pending  []state // changed in the open block
	stmts    map[string]*statement

	behind    bool      // the primary was used after position was taken
	position  string    // what the replica must have reached
	lastWrite time.Time // for primaries without positions

	pipe pipeline

	doc     docState
	portals map[string]*docPortal
	mute    bool // ReadyForQuery is told later, for several statements
	failed  bool // an error was told since mute was set
}

// setting is an entry of the settings log.
type setting struct {
	seq   int
	name  string // of the parameter; "" others
	text  string
	value string
}

// statement is a prepared statement, by either protocol or SQL.
type statement struct {
	parse  []byte // body of Parse; nil: sql
	sql    string // PREPARE …
	script *script
	on     [2]*upstream // the upstream sessions that have it
	oids   []uint32     // of parameters, as far as known
	here   bool         // the router describes it itself
	rows   []byte       // RowDescription of the first server; nil: it has no rows
}

func newSession(r *Router, id identity, out *wire.Out) *session {
	s := &session{r: r, id: id, out: out, status: wire.StatusIdle, stmts: map[string]*statement{}}
	if r.sharding != nil {
		s.doc.pools = r.enter(id)
	}
	return s
}

// end makes the session's goroutine end; safe from any goroutine.
func (s *session) end() {
	if s.in != nil {
		s.in.Wake()
	}
	if s.lane != nil {
		s.lane.wake()
	}
	if u := s.active.Load(); u != nil {
		u.Abort()
	}
	if c := s.doc.cancel.Load(); c != nil {
		(*c)(errCanceled)
	}
}

func (s *session) close() {
	if s.r.sharding != nil {
		s.closePortals()
		s.dropPart()
		s.r.leave(s.doc.pools)
	}
	for _, u := range []*upstream{s.primary, s.replica} {
		if u != nil {
			u.Close()
		}
	}
}

// serve runs the session until the client leaves (nil) or it must end.
func (s *session) serve() error {
	for {
		if s.lane != nil && s.atRest() {
			if err := s.ride(); err != nil {
				return err
			}
		}
		if d := s.r.cfg.IdleTimeout; d > 0 {
			if err := s.in.SetDeadline(d, func() error { return errIdle }); err != nil {
				return err
			}
		}
		kind, body, err := s.in.Next()
		if err != nil {
			var pe *pgerror.Error
			if errors.As(err, &pe) || !errors.Is(err, io.EOF) {
				return err
			}
			return nil
		}
		switch kind {
		case 'Q':
			err = s.simple(body)
		case 'P', 'B', 'D', 'E', 'C':
			err = s.buffer(kind, body)
		case 'H', 'S':
			err = s.segment(kind == 'S')
		case 'F':
			err = s.call(kind, body, &script{})
		case 'X':
			return nil
		case 'd', 'c', 'f': // left over from a COPY that failed
		}
		if err == nil {
			err = s.out.Err()
		}
		if err != nil {
			return err
		}
	}
}

// errIdle ends a client that has said nothing for too long.
var errIdle = func() error {
	e := pgerror.New(pgerror.IdleSessionTimeout, "terminating connection due to idle-session timeout")
	e.Severity = "FATAL"
	return e
}()

// simple routes a query string: if any statement in it may write, all go to the primary.
func (s *session) simple(body []byte) error {
	s.r.stats.requests.Add(1)
	text, _, _ := bytes.Cut(body, []byte{0})
	sc := analyse(string(text))
	if s.r.sharding != nil {
		s.pipe.reset()
		if handled, err := s.simpleSharded(body, sc); handled || err != nil {
			return err
		}
	}
	return s.call('Q', body, sc)
}

// call relays one message that is answered up to ReadyForQuery.
func (s *session) call(kind byte, body []byte, sc *script) error {
	s.pipe.reset()
	u, err := s.acquire(kind == 'Q' && s.reads(sc))
	if err == nil {
		err = s.ensureAll(u, sc)
	}
	if err != nil {
		return s.tell(err, true)
	}
	if u.unnamed = nil; kind == 'Q' {
		delete(s.stmts, "")
	}
	if err := u.Send(kind, body); err != nil {
		return s.lost(u, err, sc, true)
	}
	if err := u.Flush(); err != nil {
		return s.lost(u, err, sc, true)
	}
	return s.called(u, sc, s.relay(u, nil, true, result{}))
}

// called ends a call that was answered.
func (s *session) called(u *upstream, sc *script, res result) error {
	if res.err != nil {
		return s.lost(u, res.err, sc, true)
	}
	if err := s.after(u, sc, res); err != nil {
		return err
	}
	if !s.mute {
		s.out.Flush()
	}
	if sc.listen && !res.failed {
		return s.tunnel(u)
	}
	return nil
}

// reads reports that a script only reads, prepared statements it executes included.
func (s *session) reads(sc *script) bool {
	if !sc.read {
		return false
	}
	for _, name := range sc.executes {
		st := s.stmts[name]
		if st == nil || !st.script.read || len(st.script.executes) > 0 {
			return false
		}
	}
	return true
}

// acquire chooses the upstream session for what comes next and brings it up to date.
func (s *session) acquire(read bool) (*upstream, error) {
	if s.block != nil {
		s.active.Store(s.block)
		return s.block, nil
	}
	if s.replica != nil && s.replica.stale() && s.replica.Broken() {
		s.drop(s.replica, nil)
	}
	if read && !s.pinned && len(s.r.replicas) > 0 {
		u := s.replica
		if u == nil {
			u = s.openReplica()
		}
		if u != nil && s.freshen(u) {
			s.r.stats.replica.Add(1)
			s.active.Store(u)
			return u, nil
		}
	}
	s.r.stats.primary.Add(1)
	u := s.primary
	if u != nil && u.stale() && u.Broken() {
		s.drop(u, nil)
		if s.pinned {
			return nil, ended(u.server, "was closed")
		}
		u = nil
	}
	if u == nil {
		var err error
		if u, err = s.r.primary.open(context.Background(), s.id, s.r.cfg.dialTimeout()); err != nil {
			return nil, err
		}
		s.adopt(u)
	}
	s.active.Store(u)
	if err := s.apply(u); err != nil {
		var ue *upstreamError
		if !errors.As(err, &ue) {
			s.drop(u, err)
			err = pgerror.Wrap(err, pgerror.ConnectionFailure, "connection to server %s was lost", u.server.name)
		}
		return nil, err
	}
	return u, nil
}

// openReplica opens a session on the next replica that answers; nil: none does.
func (s *session) openReplica() *upstream {
	n := uint64(len(s.r.replicas))
	for range n {
		srv := s.r.replicas[s.r.turn.Add(1)%n]
		u, err := srv.open(context.Background(), s.id, s.r.cfg.dialTimeout())
		if err != nil {
			s.r.log.Debug("replica_refused", "server", srv.name, "error", err)
			continue
		}
		u.replica = true
		s.adopt(u)
		return u
	}
	return nil
}

// adopt makes u one of the session's two.
func (s *session) adopt(u *upstream) {
	if s.track != nil {
		_ = u.Replace(func(c net.Conn) (net.Conn, error) { // over TLS it stays what it is
			k, err := s.track.loop.Adopt(c)
			if err != nil {
				return nil, err
			}
			u.sock = k
			return k, nil
		})
	}
	u.SetTimeout(s.r.cfg.RequestTimeout)
	if u.replica {
		s.replica = u
	} else {
		s.primary = u
	}
}

// drop gives an upstream session up; it is never used again. A server that was silent
// is left alone for a while; one that has ended a single session may have had its
// reasons, and opening the next one tells whether it works.
func (s *session) drop(u *upstream, cause error) {
	u.Abort()
	if errors.Is(cause, os.ErrDeadlineExceeded) {
		u.server.failed(time.Now())
	}
	s.active.CompareAndSwap(u, nil)
	if u.replica {
		s.replica = nil
		s.behind = true // another replica may be behind this one
	} else {
		s.primary = nil
	}
	if s.block == u {
		s.block = nil
		if s.r.sharding != nil {
			s.blockOver()
			s.doc.hidden = false
		}
	}
}

// freshen brings a replica's session to what this session has set, written and
// seen; false: it cannot be used now.
func (s *session) freshen(u *upstream) bool {
	if s.behind && !s.locate() {
		return false
	}
	err := s.apply(u)
	if err == nil && s.position != "" && u.position != s.position {
		if _, err = u.query("SET ostraka.min_position = '" + s.position + "'"); err == nil {
			u.position = s.position
		}
	}
	if err != nil {
		var ue *upstreamError
		if !errors.As(err, &ue) {
			s.drop(u, err)
		}
		return false
	}
	return true
}

// locate finds the position that covers all this session has done on the primary; false: reads stay there.
func (s *session) locate() bool {
	srv := s.r.primary
	if srv.kind.Load() == kindOther {
		if time.Since(s.lastWrite) < s.r.cfg.ReplicaLag {
			return false
		}
		s.behind = false
		return true
	}
	if s.primary == nil {
		if s.lastWrite.IsZero() && s.position == "" {
			s.behind = false // nothing was written or read there
			return true
		}
		return false
	}
	pos, err := s.primary.query("SHOW ostraka.position")
	var ue *upstreamError
	switch {
	case errors.As(err, &ue):
		if bytes.Contains(ue.body, []byte("C42704\x00")) {
			srv.kind.Store(kindOther)
		}
		return false
	case err != nil:
		s.drop(s.primary, err)
		return false
	}
	srv.kind.Store(kindOstraka)
	s.position, s.behind = pos, false
	return true
}

// apply runs on u what the session has set and closed elsewhere since u was last used.
func (s *session) apply(u *upstream) error {
	for _, e := range s.settings {
		if e.seq <= u.settings {
			continue
		}
		if _, err := u.query(e.text); err != nil {
			return err
		}
		u.settings = e.seq
		if e.name == "*" {
			u.position = "" // reset with everything else
		}
	}
	if len(u.closes) == 0 {
		return nil
	}
	for _, name := range u.closes {
		if err := u.Send('C', append([]byte("S"+name), 0)); err != nil {
			return err
		}
	}
	u.closes = nil
	if err := u.Send('S', nil); err != nil {
		return err
	}
	_, err := u.answer()
	return err
}

// ensureAll makes the prepared statements that a script executes known to u.
func (s *session) ensureAll(u *upstream, sc *script) error {
	for _, name := range sc.executes {
		if err := s.ensure(u, name); err != nil {
			return err
		}
	}
	return nil
}

func side(u *upstream) int {
	if u.replica {
		return 1
	}
	return 0
}

// ensure prepares a statement on u that was prepared on the other side only.
func (s *session) ensure(u *upstream, name string) error {
	st := s.stmts[name]
	if st == nil || st.on[side(u)] == u && (name != "" || u.unnamed == st) || s.status == wire.StatusFailed {
		return nil
	}
	var err error
	if st.parse == nil {
		_, err = u.query(st.sql)
	} else if err = u.Send('P', st.parse); err == nil {
		if err = u.Send('S', nil); err == nil {
			_, err = u.answer()
		}
	}
	var ue *upstreamError
	if err != nil && !errors.As(err, &ue) {
		return s.gone(u, err, &script{read: true})
	}
	if err == nil {
		st.on[side(u)] = u
		if name == "" {
			u.unnamed = st
		}
	} else if s.block == u {
		s.status = wire.StatusFailed // the server's block has failed too
	}
	return err
}

// after takes note of what a script that was answered has changed.
func (s *session) after(u *upstream, sc *script, res result) error {
	s.settle(u, res)
	if res.failed {
		return nil
	}
	if sc.rollbackTo && len(s.pending) > 0 {
		s.pinned = true
	}
	s.pinned = s.pinned || sc.pin
	if !sc.read && !u.replica {
		s.lastWrite = time.Now()
	}
	for _, c := range sc.states {
		if err := s.note(u, c); err != nil {
			return err
		}
	}
	if s.r.sharding != nil {
		s.stepped(sc)
	}
	return nil
}

// settle takes over the transaction state.
func (s *session) settle(u *upstream, res result) {
	s.status = res.status
	if !u.replica {
		s.behind = true
		if s.block != nil {
			s.lastWrite = time.Now()
		}
	}
	if res.status != wire.StatusIdle {
		s.block = u
		return
	}
	if s.block != nil {
		for _, c := range s.pending {
			if res.tag == "COMMIT" {
				s.record(u, c)
			}
		}
		s.pending = nil
	}
	s.block = nil
	if s.r.sharding != nil {
		s.blockOver()
	}
}

// note takes in one change of session state that u has made.
func (s *session) note(u *upstream, c state) error {
	switch {
	case c.discard:
		s.pinned, s.settings = false, nil
		s.stmts = map[string]*statement{}
		s.record(u, c)
	case c.prepare != "":
		if len(s.stmts) >= maxStatements {
			return pgerror.New(pgerror.ConfigurationLimitExceeded, "too many prepared statements in one session")
		}
		st := &statement{sql: c.text, script: c.inner}
		st.on[side(u)] = u
		s.stmts[c.prepare] = st
	case c.deallocate == "*":
		for name := range maps.Clone(s.stmts) {
			s.forget(u, name)
		}
	case c.deallocate != "":
		s.forget(u, c.deallocate)
	case s.block != nil:
		if len(s.pending) >= maxSettings {
			s.pinned = true
			return nil
		}
		s.pending = append(s.pending, c)
	default:
		s.record(u, c)
	}
	return nil
}

// forget takes note that a prepared statement was closed on u.
func (s *session) forget(u *upstream, name string) {
	st := s.stmts[name]
	if st == nil {
		return
	}
	delete(s.stmts, name)
	for _, other := range st.on {
		if other != nil && other != u && (other == s.primary || other == s.replica) {
			other.closes = append(other.closes, name)
		}
	}
}

// record appends to the settings log; u has the change already.
func (s *session) record(u *upstream, c state) {
	if c.set == "*" {
		s.settings, u.position = nil, ""
	}
	kept := s.settings[:0]
	for _, e := range s.settings {
		if e.name == "" || e.name != c.set {
			kept = append(kept, e)
		}
	}
	s.settings = kept
	if len(s.settings) >= maxSettings {
		s.pinned = true // the primary's session goes on alone
		if u.replica {
			s.settings = s.settings[1:]
		}
	}
	upToDate := len(s.settings) == 0 || u.settings >= s.settings[len(s.settings)-1].seq
	s.seq++
	s.settings = append(s.settings, setting{seq: s.seq, name: c.set, text: c.text, value: c.value})
	if upToDate || u == s.block {
		u.settings = s.seq
	}
}

// ended is the error of a session whose state on a server is lost.
func ended(srv *server, how string) *pgerror.Error {
	e := pgerror.New(pgerror.ConnectionFailure, "the session on server %s %s", srv.name, how)
	e.Severity = "FATAL"
	return e
}

// gone drops an upstream session that failed within a request and makes the error for the client.
func (s *session) gone(u *upstream, cause error, sc *script) *pgerror.Error {
	inBlock, name, late := s.block == u, u.server.name, errors.Is(cause, os.ErrDeadlineExceeded)
	if late {
		u.Cancel() // on a connection of its own; whether it arrives does not matter
	}
	s.drop(u, cause)
	s.r.log.Warn("server_lost", "server", name, "error", cause)
	why := "closed the connection"
	if late {
		why = "did not answer within " + s.r.cfg.RequestTimeout.String()
	}
	var e *pgerror.Error
	switch {
	case !u.replica && (sc.commit || !inBlock && !s.reads(sc)):
		e = pgerror.Wrap(cause, pgerror.TransactionResolutionUnknown, "server %s %s: whether the transaction was committed is unknown", name, why)
	case late:
		e = pgerror.Wrap(cause, pgerror.QueryCanceled, "canceling statement due to request timeout: server %s %s", name, why)
	default:
		e = pgerror.Wrap(cause, pgerror.ConnectionFailure, "server %s %s", name, why)
	}
	if inBlock || s.pinned && !u.replica {
		e.Severity = "FATAL" // the session's state is lost with it
	}
	s.status = wire.StatusIdle
	return e
}

// lost is gone for a request that was sent: the client is told.
func (s *session) lost(u *upstream, cause error, sc *script, ready bool) error {
	var mine *clientGone
	if errors.As(cause, &mine) {
		u.Cancel()
		return mine.err
	}
	return s.tell(s.gone(u, cause, sc), ready)
}

// tell sends an error of the router's own; with ready the request is over. It
// returns the errors that end the session.
func (s *session) tell(err error, ready bool) error {
	var pe *pgerror.Error
	var ue *upstreamError
	switch {
	case errors.As(err, &ue):
		s.out.Raw('E', ue.body)
	case errors.As(err, &pe) && pe.Severity != "FATAL":
		s.out.ErrorResponse(pe)
	default:
		return err
	}
	s.failed = true
	s.r.stats.errors.Add(1)
	if ready && !s.mute {
		s.out.ReadyForQuery(s.status)
		s.out.Flush()
	}
	return nil
}
