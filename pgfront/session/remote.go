package session

import (
	"errors"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
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
