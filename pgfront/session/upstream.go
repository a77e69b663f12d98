package session

import (
	"strconv"
	"strings"

	"ostraka/pgfront/wire"
	"ostraka/sqltypes/pgerror"
)

// relayed is an error whose ErrorResponse has been relayed to the client already.
type relayed struct{ code pgerror.Code }

func (r *relayed) Error() string { return "relayed error " + string(r.code) }

// upstream is the session's session on the leader.
type upstream struct {
	conn Upstream
	// expect are the answers outstanding to extended-protocol messages.
	expect []expectation
	// dirty: something was sent since the last Sync.
	dirty bool
	// ran: something was executed since the last Sync.
	ran bool
	// parsed are the statements that the other session has, by name.
	parsed   map[string]*prepared
	settings map[string]string
	version  uint64
	encoding wire.Encoding   // client_encoding there: texts are sent in it
	tried    map[string]bool // settings that were ever sent
}

// send sends a message, with all that was sent before it.
func (u *upstream) send(kind byte, body []byte) error {
	if err := u.conn.Send(kind, body); err != nil {
		return err
	}
	return u.conn.Flush()
}

// query is the body of a Query message.
func (u *upstream) query(sql string) ([]byte, error) {
	b, err := u.encoding.EncodeFrom([]byte(sql), 0)
	return append(b, 0), err
}

// expectation is the answer to one forwarded message: frames up to one of the
// final types, relayed unless silent.
type expectation struct {
	final  string
	silent bool
	// parse is the client's statement that the message prepares: it does not exist if the answer is not its final one.
	parse *prepared
	// runs: the message executes something, so a lost answer is an unknown outcome.
	runs bool
}

// openUpstream makes sure that there is an upstream session with the session's settings.
func (s *Session) openUpstream() error {
	if s.tx.dead != nil {
		return s.tx.dead
	}
	if s.tempOID != 0 || s.lostAdvisory() {
		return errStateLost() // tables that this node had as the leader
	}
	if u := s.up; u != nil && !s.tx.remote && !u.dirty && u.conn.Stale() {
		pinned := s.pinned()
		s.closeUpstream()
		if pinned {
			return errStateLost()
		}
	}
	if s.up == nil {
		app, _ := s.set.Get("application_name")
		conn, err := s.deps.Forwarder.Open(s.env.Ctx, Identity{SessionUser: s.client.Role.Name, Role: s.role.Name, Database: s.client.DatabaseName,
			Application: app, PID: s.pid, Node: s.deps.NodeName})
		if err != nil {
			return err
		}
		s.up = &upstream{conn: conn, parsed: map[string]*prepared{}, settings: map[string]string{}, tried: map[string]bool{}}
	}
	return s.syncSettings()
}

// closeUpstream ends the upstream session.
func (s *Session) closeUpstream() {
	if s.up != nil {
		s.up.conn.Close()
		s.up = nil
		s.noteUpstreamAdvisory()
	}
}

// lostUpstream turns a broken upstream connection into what the client must know.
func (s *Session) lostUpstream(err error) error {
	inBlock, pinned, name := s.tx.remote, s.pinned(), s.upstreamTransaction()
	s.closeUpstream()
	s.tx.remote = false
	if pinned {
		return errStateLost()
	}
	if inBlock && (s.tx.state == txBlock || s.tx.several) {
		s.tx.dead = pgerror.Wrap(err, pgerror.TRSerializationFailure, "the node that executed the transaction was lost").WithHint("The transaction might succeed if retried.")
		return s.tx.dead
	}
	return errLostOutcome(err, name)
}

// pinned reports that the upstream session cannot be replaced by another one.
func (s *Session) pinned() bool { return s.upstreamHas(stateTemp) || s.upstreamHas(stateAdvisory) }

func errStateLost() error {
	return fatal(pgerror.New(pgerror.AdminShutdown, "terminating connection because the node that had its temporary tables or advisory locks no longer leads"))
}

// abandon is lostUpstream while answers are outstanding. Where none of them, and
// nothing before them in the transaction, executes anything, nothing has happened.
func (s *Session) abandon(outstanding []expectation, err error) error {
	s.unprepare(outstanding)
	ran := s.tx.remote && s.up.ran
	for _, e := range outstanding {
		ran = ran || e.runs
	}
	lost := s.lostUpstream(err)
	if !ran && s.tx.state != txBlock {
		return pgerror.Wrap(err, pgerror.CannotConnectNow, "the node that was to execute the statement was lost before it ran")
	}
	return lost
}

// unprepare forgets the client's statements whose Parse was not answered.
func (s *Session) unprepare(outstanding []expectation) {
	for _, e := range outstanding {
		if e.parse != nil && s.stmts[e.parse.name] == e.parse {
			delete(s.stmts, e.parse.name)
		}
	}
}

// discardUpstream runs a DISCARD in the upstream session too, if there is one.
func (s *Session) discardUpstream(sql string) error {
	if s.up == nil || !s.tx.remote && s.up.conn.Stale() {
		return nil
	}
	return s.runUpstream(sql, nil)
}

func (s *Session) relayError(body []byte) error {
	e := decodeError(body)
	if e.Severity != "" || e.Code == pgerror.QueryCanceled && s.env.Ctx.Err() != nil {
		return e // the session there ended, or the client is told this session's reason
	}
	s.out.Abort()
	s.out.Raw('E', body)
	return &relayed{code: e.Code}
}

// queue sends one extended-protocol message and notes what it will be answered.
func (s *Session) queue(kind byte, body []byte, e expectation) error {
	if err := s.up.conn.Send(kind, body); err != nil {
		return s.abandon(s.up.expect, err)
	}
	s.up.dirty = true
	s.up.ran = s.up.ran || e.runs
	s.up.expect = append(s.up.expect, e)
	if len(s.up.expect) >= 256 {
		return s.drainUpstream()
	}
	return nil
}

// drainUpstream waits for and relays the answers that are outstanding. An error
// among them is returned as *relayed.
func (s *Session) drainUpstream() error {
	u := s.up
	if u == nil || len(u.expect) == 0 {
		return nil
	}
	if err := u.send('H', nil); err != nil {
		return s.abandon(u.expect, err)
	}
	expect := u.expect
	u.expect = u.expect[:0]
	for i, e := range expect {
		for done := false; !done; {
			kind, body, err := u.conn.Receive(s.env.Ctx)
			if err != nil {
				return s.abandon(expect[i:], err)
			}
			switch kind {
			case 'S', 'K', 'A':
				continue
			case 'E':
				if x := decodeError(body); x.Severity != "" {
					return s.abandon(expect[i:], x)
				}
				u.parsed = map[string]*prepared{} // a Parse among them may not have happened
				s.unprepare(expect[i:])
				return s.relayError(body)
			case 'G':
				s.out.Raw(kind, body)
				if err := s.pumpCopy(); err != nil {
					return err
				}
				continue
			}
			if !e.silent || kind == 'N' {
				s.out.Raw(kind, body)
			}
			done = strings.IndexByte(e.final, kind) >= 0
		}
	}
	return s.out.Err()
}

// flushUpstream drains before the session waits for the client; errors are the client's.
func (s *Session) flushUpstream() error {
	if s.up == nil || len(s.up.expect) == 0 {
		return nil
	}
	if err := s.drainUpstream(); err != nil {
		s.fail(err)
		s.skip = true
	}
	return s.fatalEnd()
}

// syncUpstream ends the upstream session's series of messages. When something
// failed here, the implicit transaction there must fail too: executing a portal
// that does not exist does that.
func (s *Session) syncUpstream(failed bool) error {
	u := s.up
	if u == nil || !u.dirty {
		return nil
	}
	u.dirty, u.ran = false, false
	u.expect = u.expect[:0]
	if failed && s.tx.state != txBlock {
		if err := u.conn.Send('E', []byte("\x01ostraka abort\x00\x00\x00\x00\x00")); err != nil {
			return s.lostUpstream(err)
		}
	}
	if err := u.send('S', nil); err != nil {
		return s.lostUpstream(err)
	}
	var result error
	for {
		kind, body, err := u.conn.Receive(s.env.Ctx)
		if err != nil {
			return s.lostUpstream(err)
		}
		switch kind {
		case 'Z':
			if s.tx.state == txImplicit {
				s.tx.remote = false
			}
			s.notePosition()
			return result
		case 'E':
			if e := decodeError(body); e.Severity != "" {
				return s.lostUpstream(e)
			}
			if !failed {
				result = s.relayError(body) // a deferred constraint, or the commit itself
			}
		case 'N':
			s.out.Raw(kind, body)
		}
	}
}

// decodeError reads an ErrorResponse; Severity is set when it ends the session.
func decodeError(body []byte) *pgerror.Error {
	e := &pgerror.Error{Code: pgerror.InternalError}
	for len(body) > 0 && body[0] != 0 {
		kind := body[0]
		end := 1
		for end < len(body) && body[end] != 0 {
			end++
		}
		v := string(body[1:end])
		if end < len(body) {
			end++
		}
		body = body[end:]
		switch kind {
		case 'V':
			if v == "FATAL" || v == "PANIC" {
				e.Severity = v
			}
		case 'P':
			e.Position, _ = strconv.Atoi(v)
		case 'C':
			e.Code = pgerror.Code(v)
		case 'M':
			e.Message = v
		case 'D':
			e.Detail = v
		case 'H':
			e.Hint = v
		case 'W':
			e.Where = v
		case 's':
			e.Schema = v
		case 't':
			e.Table = v
		case 'c':
			e.Column = v
		case 'd':
			e.DataType = v
		case 'n':
			e.Constraint = v
		}
	}
	return e
}
