package session

import (
	"context"
	"sync/atomic"

	"ostraka/engine"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

type sessionFunc = func(s *Session, c *sqltypes.Call, args []sqltypes.Datum) (sqltypes.Datum, error)

// registerAdvisory registers the advisory lock functions: every combination of
// wait or try, session or transaction, exclusive or shared, one key or two.
func registerAdvisory(reg func(string, sessionFunc)) {
	for _, try := range []bool{false, true} {
		for _, xact := range []bool{false, true} {
			for _, shared := range []bool{false, true} {
				name := "pg_"
				if try {
					name += "try_"
				}
				name += "advisory_"
				if xact {
					name += "xact_"
				}
				name += "lock"
				if shared {
					name += "_shared"
				}
				f := func(s *Session, _ *sqltypes.Call, args []sqltypes.Datum) (sqltypes.Datum, error) {
					got, err := s.advisoryLock(args, xact, !shared, !try)
					if try {
						return sqltypes.Bool(got), err
					}
					return sqltypes.Text(""), err
				}
				reg(name+"_int8", f)
				reg(name+"_int4", f)
			}
		}
	}
	for _, shared := range []bool{false, true} {
		name, mode := "pg_advisory_unlock", "ExclusiveLock"
		if shared {
			name, mode = "pg_advisory_unlock_shared", "ShareLock"
		}
		f := func(s *Session, _ *sqltypes.Call, args []sqltypes.Datum) (sqltypes.Datum, error) {
			ok, err := s.deps.Engine.AdvisoryUnlock(s.env.Ctx, s.advisoryOwner(nil), s.advisoryKey(args), !shared)
			if ok {
				s.countAdvisory(s.advisory.held - 1)
			}
			if err == nil && !ok {
				s.warn(pgerror.Warning, "you don't own a lock of type %s", mode)
			}
			return sqltypes.Bool(ok), err
		}
		reg(name+"_int8", f)
		reg(name+"_int4", f)
	}
	reg("pg_advisory_unlock_all", func(s *Session, _ *sqltypes.Call, _ []sqltypes.Datum) (sqltypes.Datum, error) {
		s.countAdvisory(0)
		return sqltypes.Text(""), s.deps.Engine.AdvisoryUnlockAll(s.env.Ctx, s.advisoryOwner(nil))
	})
}

// advisoryState is what a session knows of its own session-level advisory locks.
type advisoryState struct {
	used bool // it may be known to the engine as an owner
	held int  // locks held in this node's engine
	// lost tells, to any goroutine, whether the locks are gone with the leadership in
	// which they were taken, here or in the upstream session; nil: none are held.
	lost atomic.Pointer[func() bool]
}

// countAdvisory notes how many session-level locks are held in this node's engine.
func (s *Session) countAdvisory(n int) {
	if s.advisory.held = n; n <= 0 && !s.upstreamHas(stateAdvisory) {
		s.advisory.held = 0
		s.advisory.lost.Store(nil)
	}
}

// noteUpstreamAdvisory notes whether the upstream session holds locks.
func (s *Session) noteUpstreamAdvisory() {
	switch has, known := s.upstreamHas(stateAdvisory), s.advisory.lost.Load() != nil; {
	case has && !known:
		lost := s.up.conn.Moved
		s.advisory.lost.Store(&lost)
	case !has && known && s.advisory.held == 0:
		s.advisory.lost.Store(nil)
	}
}

// lostAdvisory reports that the session believes to hold locks which are gone.
// Safe from any goroutine.
func (s *Session) lostAdvisory() bool {
	lost := s.advisory.lost.Load()
	return lost != nil && (*lost)()
}

func (s *Session) advisoryOwner(txn engine.Txn) engine.AdvisoryOwner {
	return engine.AdvisoryOwner{Node: s.deps.NodeName, PID: s.pid, Txn: txn}
}

func (s *Session) advisoryKey(args []sqltypes.Datum) engine.AdvisoryKey {
	k := engine.AdvisoryKey{Database: s.client.Database}
	if len(args) == 2 {
		k.Hi, k.Lo, k.TwoInts = uint32(int32(args[0].I)), uint32(int32(args[1].I)), true
	} else {
		k.Hi, k.Lo = uint32(uint64(args[0].I)>>32), uint32(args[0].I)
	}
	return k
}

func (s *Session) advisoryLock(args []sqltypes.Datum, xact, exclusive, wait bool) (bool, error) {
	var txn engine.Txn
	if xact {
		if err := s.beginTxn(); err != nil {
			return false, err
		}
		txn = s.tx.txn
	} else {
		s.advisory.used = true
	}
	log := s.deps.Engine.Log()
	before := log.Leadership()
	s.wait("Lock", "advisory")
	got, err := s.deps.Engine.AdvisoryLock(s.env.Ctx, s.advisoryOwner(txn), s.advisoryKey(args), exclusive, wait)
	s.wait("", "")
	if got && !xact {
		s.countAdvisory(s.advisory.held + 1)
		if s.advisory.lost.Load() == nil {
			lost := func() bool { l := log.Leadership(); return !l.IsLeader || l.Term != before.Term }
			s.advisory.lost.Store(&lost)
		}
	}
	return got, err
}

// unlockAllAdvisory drops what the session holds, at its end or by DISCARD ALL.
func (s *Session) unlockAllAdvisory() {
	if !s.advisory.used {
		return
	}
	s.advisory.used = false
	s.countAdvisory(0)
	if err := s.deps.Engine.AdvisoryUnlockAll(context.Background(), s.advisoryOwner(nil)); err != nil {
		s.deps.Logger.Warn("advisory_unlock_failed", "pid", s.pid, "error", err)
	}
}
