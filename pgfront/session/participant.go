package session

import (
	"ostraka/engine"
	"ostraka/engine/commitlog"
	"ostraka/planner"
	"ostraka/shardrouter"
	"ostraka/sqltypes/pgerror"
)

// Participant is the part of the session's transaction that is on another shard.
// There is at most one, and then nothing may be written on the session's own
// shard: COMMIT of both is refused (two-phase commit would come here).
type Participant = shardrouter.Participant

// Participant is the other shard's part of the running transaction, nil without one.
func (s *Session) Participant() Participant { return s.tx.part }

// Enlist makes p a part of the transaction. The caller has made sure that it is
// a block (InBlock) without a participant.
func (s *Session) Enlist(p Participant) { s.tx.part, s.tx.partLevel = p, len(s.tx.saves) }

// HasWritten reports that the transaction has written on the session's own shard.
func (s *Session) HasWritten() bool { return s.tx.txn != nil && s.tx.txn.XidIfAssigned() != 0 }

// ReadOnly reports a read-only transaction.
func (s *Session) ReadOnly() bool { return s.tx.readOnly }

// Isolation is the transaction's level.
func (s *Session) Isolation() engine.Isolation { return s.tx.isolation }

// ReplicaReads is how the running statement may read this node's replicas of other
// shards: as ostraka.read_consistency says, where it is not part of a transaction.
// What runs for another node's session does not know what that one has seen.
func (s *Session) ReplicaReads() shardrouter.ReplicaReads {
	r := shardrouter.ReplicaReads{Seen: &s.shardsSeen}
	level := s.conf.readLevel
	r.May = (level == readLocal || level == readBounded) && s.tx.txn == nil && !s.inBlock() && !s.client.Peer &&
		s.tx.isolation != engine.Serializable && s.conf.minPosition == (commitlog.Position{})
	if level == readBounded {
		r.Staleness = s.conf.maxStaleness
	}
	return r
}

// TopLevel reports that the running statement is one call of a function and
// nothing else, so that what it does need not be undone by what follows.
func (s *Session) TopLevel() bool { return s.topLevel && !s.inBlock() }

// ServesShard reports whether the session may be asked as a shard, and whether it is shard 0.
func (s *Session) ServesShard() (may, home bool) {
	return s.client.Peer || s.auth.Super && s.role.Super, s.deps.Shard == 0
}

func isTopLevel(plan *planner.Plan) bool {
	if len(plan.CTEs) > 0 {
		return false
	}
	switch n := plan.Root.(type) {
	case *planner.FunctionScan:
		return len(n.Calls) == 1
	case *planner.Project:
		if f, ok := n.Input.(*planner.FunctionScan); ok {
			return len(f.Calls) == 1 && f.Calls[0].Proc.Writes
		}
		_, ok := n.Input.(*planner.Result)
		return ok && len(n.Exprs) == 1
	case *planner.ProjectSet:
		_, ok := n.Input.(*planner.Result)
		return ok && len(n.Exprs) == 1
	}
	return false
}

// commitParticipant commits the other shard's part, before the own transaction,
// which has nothing to commit then.
func (s *Session) commitParticipant() error {
	t := &s.tx
	if t.part == nil {
		return nil
	}
	if s.HasWritten() {
		return pgerror.NotSupported("a transaction that writes on two shards").
			WithHint("Write on the home shard and on another shard in transactions of their own.")
	}
	p := t.part
	t.part = nil
	return p.Commit(s.env.Ctx)
}

func (s *Session) dropParticipant() {
	if p := s.tx.part; p != nil {
		s.tx.part = nil
		p.Rollback()
	}
}

// rollbackParticipant undoes what was done after savepoint i.
func (s *Session) rollbackParticipant(i int) error {
	switch {
	case s.tx.part == nil:
		return nil
	case i < s.tx.partLevel:
		s.dropParticipant()
		return nil
	}
	return s.tx.part.RollbackTo(s.env.Ctx, i)
}
