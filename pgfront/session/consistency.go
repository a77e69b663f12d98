package session

import (
	"context"
	"errors"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/engine/commitlog"
	"ostraka/planner"
	"ostraka/sqltypes/pgerror"
)

// ownPosition is the newest position of this session's own writes, and of what it
// was shown by the leader.
type ownPosition struct {
	pos      commitlog.Position
	reported commitlog.Position
	state    string // the state that was reported to a peer
}

// note remembers a write's position; an older one changes nothing.
func (o *ownPosition) note(pos commitlog.Position) {
	if o.pos.Less(pos) {
		o.pos = pos
	}
}

// Levels of ostraka.read_consistency as hot paths test them (docs/promises.md says what each may return).
const (
	readLocal        = 0
	readBounded      = 'b'
	readOnLeader     = 'L'
	readLinearizable = 'z'
)

// caughtUp waits until the local replica has this session's own writes; false when it takes too long.
func (s *Session) caughtUp() bool { return s.reaches(s.ownWrite.pos) }

// reaches waits for a position as long as ostraka.own_writes_timeout says.
func (s *Session) reaches(pos commitlog.Position) bool {
	if !s.deps.Engine.Applied().Less(pos) {
		return true
	}
	ctx, cancel := context.WithTimeout(s.env.Ctx, s.conf.ownWrites)
	defer cancel()
	return s.deps.Engine.WaitApplied(ctx, pos) == nil
}

// awaitOwn lets the catalogue catch up with what the session must see before a
// statement is classified: its own writes, and ostraka.min_position.
func (s *Session) awaitOwn() {
	if s.deps.Forwarder == nil || s.tx.txn != nil || s.tx.remote {
		return
	}
	if !s.leads() {
		s.caughtUp()
	}
	s.reaches(s.conf.minPosition)
}

// awaitState waits until the local replica is as new as the session asks for; an
// error when it does not get there. It runs before the statement takes its
// snapshot; in a transaction that has one already, nothing newer would be seen.
func (s *Session) awaitState(class planner.Class) error {
	if class != planner.ClassRead && class != planner.ClassWrite {
		return nil
	}
	if s.conf.minPosition != (commitlog.Position{}) {
		if err := s.awaitPosition(s.conf.minPosition); err != nil {
			return err
		}
	}
	if s.tx.txn != nil && s.tx.isolation != engine.ReadCommitted {
		return nil
	}
	switch s.conf.readLevel {
	case readLinearizable:
		return engine.Confirm(s.env.Ctx, s.deps.Engine)
	case readBounded:
		return engine.Unconfirmed(s.env.Ctx, s.deps.Engine.WaitFresh(s.env.Ctx, s.conf.maxStaleness))
	}
	return nil
}

// standsStill is the error of reading from a replica that is in no membership any more.
func (s *Session) standsStill() error {
	if s.deps.Member == nil {
		return nil
	}
	return s.deps.Member()
}

// frozen refuses a plan that reads what such a replica holds: not the catalogue, by
// which the node can be looked into, nor time series, which are its own.
func (s *Session) frozen(plan *planner.Plan) error {
	if len(plan.Relations) == 0 {
		return nil
	}
	err := s.standsStill()
	if err == nil {
		return nil
	}
	cat := s.catalog()
	for _, r := range plan.Relations {
		if rel := cat.Relation(r.OID); r.OID >= catalog.FirstUserOID && (rel == nil || rel.TimeSeriesSpec() == nil) {
			return err
		}
	}
	return nil
}

// awaitPosition waits at most ostraka.position_timeout for a position.
func (s *Session) awaitPosition(pos commitlog.Position) error {
	if !s.deps.Engine.Applied().Less(pos) {
		return nil
	}
	ctx, cancel := context.WithTimeout(s.env.Ctx, s.conf.positionTimeout)
	defer cancel()
	err := s.deps.Engine.WaitApplied(ctx, pos)
	if err == nil || s.env.Ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return pgerror.New(pgerror.CannotConnectNow, "this node has not reached position %s within %v", pos, s.conf.positionTimeout).
		WithDetail("It has applied %s.", s.deps.Engine.Applied()).
		WithHint("Ask another node, or raise ostraka.position_timeout.")
}

// position is what SHOW ostraka.position answers: everything this session has
// written or can have read. Where statements ran on the leader, it is asked.
func (s *Session) position() commitlog.Position {
	pos := s.deps.Engine.Applied()
	if pos.Less(s.ownWrite.pos) {
		pos = s.ownWrite.pos
	}
	u := s.up
	if u == nil || u.dirty || s.tx.state == txFailed || s.tx.dead != nil || u.conn.Stale() {
		return pos
	}
	err := s.runUpstream("SHOW ostraka.position", func(kind byte, body []byte) error {
		if kind == 'D' && len(body) > 6 {
			if there, err := commitlog.ParsePosition(string(body[6:])); err == nil && pos.Less(there) {
				pos = there
			}
		}
		return nil
	})
	if err != nil && s.tx.remote {
		s.tx.dead = err
	}
	return pos
}
