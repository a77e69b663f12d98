package session

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/pgfront/settings"
	"ostraka/pgfront/wire"
	"ostraka/planner"
	"ostraka/planner/parse"
	"ostraka/sqltypes/pgerror"
)

// What a session has that a session on another node cannot see or replace.
const (
	stateTemp     = "t" // temporary tables
	stateAdvisory = "a" // advisory locks
	stateCursor   = "c" // cursors that outlive transactions
	stateSequence = "q" // what currval and lastval remember
)

// leads reports whether this node executes writes itself.
func (s *Session) leads() bool {
	return s.deps.Forwarder == nil || s.deps.Engine.Log().Leadership().IsLeader
}

// goesUpstream decides that a statement runs on the leader instead of here.
func (s *Session) goesUpstream(stmt *planner.Statement) bool {
	if s.deps.Forwarder == nil {
		return false
	}
	t := &s.tx
	if t.remote {
		return stmt.Class == planner.ClassRead || stmt.Class == planner.ClassWrite || stmt.AST.GetConstraintsSetStmt() != nil || s.remoteCursor(stmt.AST)
	}
	if t.txn != nil {
		return false
	}
	if s.leads() {
		// What only an upstream session has is still there, or its loss ends this session.
		return s.pinned() && (stmt.Class == planner.ClassRead || stmt.Class == planner.ClassWrite)
	}
	if s.upstreamHas(stateCursor) && stmt.AST.GetDeclareCursorStmt() == nil && s.remoteCursor(stmt.AST) {
		return true
	}
	if t.readOnly && t.isolation != engine.Serializable {
		return false
	}
	if stmt.AST.GetConstraintsSetStmt() != nil {
		return t.state == txBlock
	}
	if stmt.Class != planner.ClassRead && stmt.Class != planner.ClassWrite {
		return false
	}
	if stmt.Class == planner.ClassRead && t.isolation != engine.Serializable && s.seriesOnly(stmt.AST) {
		t.nodeLocal = true
		return false
	}
	if stmt.Class == planner.ClassWrite || t.state == txBlock || t.isolation == engine.Serializable || s.conf.readLevel == readOnLeader {
		return true
	}
	if s.upstreamHas(stateTemp) || s.upstreamHas(stateSequence) && asksSequences(stmt.AST) {
		return true
	}
	return !s.caughtUp()
}

// seriesOnly reports a query that reads time series, which are where they were
// written, and no other relation.
func (s *Session) seriesOnly(n *pg.Node) bool {
	look := parse.CatalogLookups{Ctx: s.planContext(s.catalog(), "", nil)}
	some, all := false, true
	parse.Walk(n, func(n *pg.Node) bool {
		if r := n.GetRangeVar(); r != nil {
			rel := look.Relation(r.Schemaname, r.Relname)
			all = all && rel != nil && (rel.TimeSeries || rel.Rollup != nil)
			some = true
		}
		return all
	})
	return some && all
}

// upstreamHas reports state that only the upstream session has.
func (s *Session) upstreamHas(state string) bool {
	return s.up != nil && strings.Contains(s.up.conn.State(), state)
}

// asksSequences reports a call of currval or lastval, which are the memory of the session that called nextval.
func asksSequences(n *pg.Node) bool {
	found := false
	parse.Walk(n, func(n *pg.Node) bool {
		if f := n.GetFuncCall(); f != nil && len(f.Funcname) > 0 {
			name := f.Funcname[len(f.Funcname)-1].GetString_().GetSval()
			found = found || name == "currval" || name == "lastval"
		}
		return !found
	})
	return found
}

// lostLead reports that a statement found, before anything ran, that this node no longer leads.
func (s *Session) lostLead(err error) bool {
	return err != nil && s.deps.Forwarder != nil && s.tx.txn == nil && !s.tx.remote && s.tx.dead == nil &&
		errors.Is(err, engine.ErrNotLeader) && pgerror.CodeOf(err) == pgerror.ReadOnlySqlTransaction
}

// lostLeadExtended is lostLead where the client's messages cannot be sent again: the client must.
func (s *Session) lostLeadExtended(err error) error {
	if !s.lostLead(err) {
		return err
	}
	return pgerror.Wrap(err, pgerror.TRSerializationFailure, "could not serialize access because the leadership of the shard has changed").
		WithHint("The transaction might succeed if retried.")
}

// localize plans a statement here that was prepared upstream, when it no longer goes there.
func (s *Session) localize(p *prepared) error {
	if !p.remote || p.stmt == nil || s.up != nil && s.up.dirty && s.up.parsed[p.name] == p || s.goesUpstream(p.stmt) {
		return nil
	}
	fixed := p.fixed
	p.fixed = false
	err := s.analyzeFresh(p)
	p.fixed = fixed
	if err == nil {
		p.remote = false
	}
	return err
}

// remoteCursor reports FETCH, MOVE and CLOSE of a cursor that the upstream session has.
func (s *Session) remoteCursor(n *pg.Node) bool {
	name := ""
	switch v := n.Node.(type) {
	case *pg.Node_FetchStmt:
		name = v.FetchStmt.Portalname
	case *pg.Node_ClosePortalStmt:
		name = v.ClosePortalStmt.Portalname
	case *pg.Node_DeclareCursorStmt:
		return true
	default:
		return false
	}
	return s.portals[name] == nil
}

// blockGoesUpstream reports that the block's statements run on the leader.
func (s *Session) blockGoesUpstream() bool {
	if s.tx.remote {
		return true
	}
	if s.deps.Forwarder == nil || s.tx.txn != nil || s.tx.dead != nil || s.leads() && !s.pinned() || s.tx.readOnly && s.tx.isolation != engine.Serializable {
		return false
	}
	return s.openBlock() == nil
}

// reportPosition tells a peer how far this session has written or can have read:
// the session there must not read an older state of its own replica next.
func (s *Session) reportPosition() {
	if s.client.Peer {
		s.ownWrite.note(s.deps.Engine.Applied())
		if s.ownWrite.reported.Less(s.ownWrite.pos) {
			s.ownWrite.reported = s.ownWrite.pos
			s.out.ParameterStatus("ostraka.position", s.ownWrite.pos.String())
		}
		if now := s.ownState(); now != s.ownWrite.state {
			s.ownWrite.state = now
			s.out.ParameterStatus("ostraka.state", now)
		}
	}
}

// ownState is what a session that forwards to this one must know it has.
func (s *Session) ownState() string {
	state := ""
	if s.tempOID != 0 {
		state += stateTemp
	}
	if s.advisory.held > 0 {
		state += stateAdvisory
	}
	for _, p := range s.portals {
		if p.held {
			state += stateCursor
			break
		}
	}
	if s.seqs.hasLast || len(s.seqs.values) > 0 {
		state += stateSequence
	}
	return state
}

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

// forgetSettings notes that a rollback there may have undone settings.
func (u *upstream) forgetSettings() {
	for name := range u.tried {
		u.settings[name] = "\x00"
	}
	u.version = 0
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

// syncSettings tells the upstream session what this one has set.
func (s *Session) syncSettings() error {
	u := s.up
	if u.version == s.set.Version+1 {
		return nil
	}
	var sb strings.Builder
	now := map[string]string{}
	s.set.Changed(func(name, val string) { now[name] = val })
	if s.auth.OID != s.client.Role.OID {
		now["session_authorization"] = s.auth.Name
	}
	if v, _ := s.set.Get("role"); v != "" && v != "none" {
		now["role"] = v
	}
	tell := func(name string) {
		val, ok := now[name]
		was, had := u.settings[name]
		switch {
		case ok && (!had || was != val) && ownSetting(name): // what a SELECT waits for must not be in its own way
			sb.WriteString("SET " + name + " = " + quoteLiteral(val) + ";")
		case ok && (!had || was != val):
			sb.WriteString("SELECT pg_catalog.set_config(" + quoteLiteral(name) + ", " + quoteLiteral(val) + ", false);")
		case ok || !had:
			return
		case name == "session_authorization":
			sb.WriteString("RESET SESSION AUTHORIZATION;")
		case name == "role":
			sb.WriteString("SET ROLE NONE;")
		default:
			sb.WriteString("RESET " + name + ";")
		}
		u.tried[name] = true
		if name == "session_authorization" {
			delete(u.settings, "role") // it sets the role to none
		}
	}
	for _, all := range []map[string]string{now, u.settings} {
		for name := range all {
			if ownSetting(name) {
				tell(name)
			}
		}
	}
	// Who acts comes last: it decides what may be set. It comes first when the right to set has to come back.
	who := []string{"session_authorization", "role"}
	back := u.settings["session_authorization"] != now["session_authorization"] && now["session_authorization"] == "" || now["role"] == ""
	if back {
		tell(who[0])
		tell(who[1])
	}
	for name := range now {
		if name != who[0] && name != who[1] && !ownSetting(name) {
			tell(name)
		}
	}
	for name := range u.settings {
		if _, ok := now[name]; !ok && !ownSetting(name) && name != who[0] && name != who[1] {
			tell(name)
		}
	}
	if !back {
		tell(who[0])
		tell(who[1])
	}
	if sb.Len() > 0 {
		if err := s.runUpstream(sb.String(), nil); err != nil {
			return err
		}
	}
	u.settings, u.version, u.encoding = now, s.set.Version+1, s.conf.encoding
	return nil
}

// ownSetting reports one of Ostraka's parameters; all of them are plain words.
func ownSetting(name string) bool {
	return strings.HasPrefix(name, "ostraka.") && settings.Lookup(name) != nil
}

func quoteLiteral(v string) string {
	q := "'" + strings.ReplaceAll(v, "'", "''") + "'"
	if strings.Contains(v, `\`) {
		q = " E" + strings.ReplaceAll(q, `\`, `\\`)
	}
	return q
}

// openBlock starts the session's transaction in the upstream session.
func (s *Session) openBlock() error {
	if err := s.openUpstream(); err != nil {
		return err
	}
	sql := "BEGIN ISOLATION LEVEL " + strings.ToUpper(s.tx.isoName)
	if s.tx.readOnly {
		sql += ", READ ONLY"
	} else {
		sql += ", READ WRITE"
	}
	if s.tx.deferrable {
		sql += ", DEFERRABLE"
	}
	if err := s.runUpstream(sql, nil); err != nil {
		return err
	}
	s.tx.remote, s.tx.queried = true, true
	return nil
}

// endRemote ends the upstream transaction.
func (s *Session) endRemote(sql string) error {
	if !s.tx.remote || s.up == nil {
		return nil
	}
	s.tx.remote = false
	err := s.runUpstream(sql, nil)
	if sql != "COMMIT" && s.up != nil {
		s.up.forgetSettings() // SETs in the block were undone there
	}
	return err
}

// remoteControl runs a statement of transaction control upstream.
func (s *Session) remoteControl(sql string) error {
	if s.up == nil {
		return s.tx.dead
	}
	return s.runUpstream(sql, nil)
}

// runUpstream sends a simple query and waits for its end. With relay, frames go
// to the client; without, rows and tags are dropped and an error is returned as such.
func (s *Session) runUpstream(sql string, relay func(kind byte, body []byte) error) error {
	if err := s.drainUpstream(); err != nil {
		return err
	}
	u := s.up
	body, err := u.query(sql)
	if err != nil {
		return err
	}
	if err := u.conn.Send('Q', body); err != nil {
		return s.lostUpstream(err)
	}
	if err := u.conn.Flush(); err != nil {
		return s.lostUpstream(err)
	}
	var failed error
	for {
		kind, body, err := u.conn.Receive(s.env.Ctx)
		if err != nil {
			return s.lostUpstream(err)
		}
		switch kind {
		case 'Z':
			s.notePosition()
			return failed
		case 'S', 'K', 'A':
		case 'E':
			if e := decodeError(body); e.Severity != "" {
				return s.lostUpstream(e)
			} else if relay == nil {
				failed = e
			} else {
				failed = s.relayError(body)
			}
		case 'G':
			if relay != nil {
				s.out.Raw(kind, body)
			}
			if err := s.pumpCopy(); err != nil {
				return err
			}
		case 'N':
			s.out.Raw(kind, body)
		default:
			if relay != nil {
				if err := relay(kind, body); err != nil {
					return err
				}
			}
		}
	}
}

func (s *Session) notePosition() {
	s.ownWrite.note(s.up.conn.Position())
	s.noteUpstreamAdvisory()
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

// pumpCopy carries the client's COPY data upstream until its end.
func (s *Session) pumpCopy() error {
	s.out.Flush()
	for {
		kind, body, err := s.in.Next()
		if err != nil {
			return err
		}
		switch kind {
		case 'd', 'c', 'f':
		case 'H', 'S':
			continue
		default:
			kind, body = 'f', append([]byte(sprintf("unexpected message type 0x%02X during COPY from stdin", kind)), 0)
		}
		if err := s.up.conn.Send(kind, body); err != nil {
			return s.lostUpstream(err)
		}
		if kind != 'd' {
			if err := s.up.conn.Flush(); err != nil {
				return s.lostUpstream(err)
			}
			return nil
		}
	}
}

// relaySimple runs one statement of a query string upstream.
func (s *Session) relaySimple(p *prepared) error {
	if err := s.openUpstream(); err != nil {
		return err
	}
	if !s.tx.remote && (s.tx.state == txBlock || s.tx.several) {
		if err := s.openBlock(); err != nil {
			return err
		}
	}
	if ex := p.stmt.AST.GetExecuteStmt(); ex != nil {
		if q := s.stmts[ex.Name]; q != nil && s.up.parsed[ex.Name] != q {
			if err := s.prepareUpstream(q, ex.Name); err != nil {
				return err
			}
		}
	}
	// Blanks keep error positions right when the statement is not the first of its string.
	sql := strings.Repeat(" ", utf8.RuneCountInString(p.text[:p.stmt.Location])) + p.stmt.Text
	err := s.runUpstream(sql, func(kind byte, body []byte) error {
		s.out.Raw(kind, body)
		return s.out.Err()
	})
	if plantedRetry && pgerror.CodeOf(err) == pgerror.TransactionResolutionUnknown && s.tx.state != txBlock {
		return s.relaySimple(p)
	}
	return err
}

// prepareUpstream makes a statement known that EXECUTE is about to name.
func (s *Session) prepareUpstream(q *prepared, name string) error {
	if !q.fromSQL {
		if err := s.reparse(q, name); err != nil {
			return err
		}
		return s.drainUpstream()
	}
	if err := s.queue('C', append([]byte("S"+name), 0), expectation{final: "3", silent: true}); err != nil {
		return err
	}
	if err := s.runUpstream(q.stmt.Text, nil); err != nil {
		return err
	}
	s.up.parsed[name] = q
	return nil
}

// reparse prepares a statement upstream that was prepared here, or before the upstream session was.
func (s *Session) reparse(q *prepared, name string) error {
	text, err := s.up.query(q.text)
	if err != nil {
		return err
	}
	body := append([]byte(name), 0)
	body = append(body, text...)
	types := q.declared
	if !q.remote {
		types = q.params
	}
	body = append(body, byte(len(types)>>8), byte(len(types)))
	for _, t := range types {
		body = append(body, byte(t>>24), byte(t>>16), byte(t>>8), byte(t))
	}
	if name != "" { // closing what is not there is no error, and what is there after errors is not known
		if err := s.queue('C', append([]byte("S"+name), 0), expectation{final: "3", silent: true}); err != nil {
			return err
		}
	}
	s.up.parsed[name] = q
	return s.queue('P', body, expectation{final: "1", silent: true})
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

// enterRemote makes extended-protocol messages go upstream from now on in this transaction.
func (s *Session) enterRemote() error {
	if err := s.openUpstream(); err != nil {
		return err
	}
	if s.tx.state == txBlock && !s.tx.remote {
		return s.openBlock()
	}
	s.tx.remote = true
	return nil
}

func (s *Session) remoteParse(p *prepared, body []byte) error {
	if p.name != "" && s.stmts[p.name] != nil {
		return duplicateStatement(p.name)
	}
	block := s.tx.state == txBlock
	if block {
		if err := s.enterRemote(); err != nil {
			return err
		}
	} else if err := s.openUpstream(); err != nil {
		return err
	}
	p.remote = true
	if p.name != "" {
		if err := s.queue('C', append([]byte("S"+p.name), 0), expectation{final: "3", silent: true}); err != nil {
			return err
		}
	}
	s.up.parsed[p.name] = p
	return s.queue('P', body, expectation{final: "1", parse: p})
}

func (s *Session) remoteBind(p *prepared, portalName string, body []byte) error {
	if err := s.enterRemote(); err != nil {
		return err
	}
	if s.up.parsed[p.name] != p {
		if err := s.reparse(p, p.name); err != nil {
			return err
		}
	}
	po := &portal{s: s, name: portalName, p: p, remote: true}
	if err := s.addPortal(po); err != nil {
		return err
	}
	return s.queue('B', body, expectation{final: "2"})
}

func (s *Session) remoteDescribe(body []byte) error {
	if err := s.openUpstream(); err != nil {
		return err
	}
	if body[0] == 'S' {
		name := string(body[1 : len(body)-1])
		if p := s.stmts[name]; p != nil && s.up.parsed[name] != p {
			if err := s.reparse(p, name); err != nil {
				return err
			}
		}
	}
	return s.queue('D', body, expectation{final: "Tn"})
}

func (s *Session) remoteExecute(po *portal, body []byte) error {
	if s.up == nil {
		return noPortal([]byte(po.name))
	}
	return s.queue('E', body, expectation{final: "CIs", runs: true})
}

func (s *Session) remoteClose(body []byte) error {
	if s.up == nil || !s.tx.remote && !s.up.dirty && s.up.conn.Stale() {
		s.out.CloseComplete()
		return nil
	}
	if body[0] == 'S' {
		delete(s.up.parsed, string(body[1:len(body)-1]))
	}
	return s.queue('C', body, expectation{final: "3"})
}

// drainUpstream waits for and relays the answers that are outstanding. An error
// among them is returned as *relayed.
func (s *Session) drainUpstream() error {
	u := s.up
	if u == nil || len(u.expect) == 0 {
		return nil
	}
	if err := u.conn.Send('H', nil); err != nil {
		return s.abandon(u.expect, err)
	}
	if err := u.conn.Flush(); err != nil {
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
	if err := u.conn.Send('S', nil); err != nil {
		return s.lostUpstream(err)
	}
	if err := u.conn.Flush(); err != nil {
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
