package shard

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"ostraka/engine"
	"ostraka/engine/txn"
	"ostraka/sqltypes"
)

// advisoryOwners are the sessions that hold advisory locks, in the leader's lock
// table: they end with the term.
type advisoryOwners struct {
	mu sync.Mutex
	m  map[advisorySession]*advisoryOwner // guarded by mu
}

type advisorySession struct {
	node string
	pid  int32
}

// advisoryOwner is one session. Its mutex is held across waits: a session does
// one thing at a time.
type advisoryOwner struct {
	mu     sync.Mutex
	owner  txn.Owner
	counts map[advisoryHold]int // guarded by mu; session locks nest
}

type advisoryHold struct {
	key  string
	mode uint8
}

func (t *term) advisoryOwner(s engine.AdvisoryOwner) *advisoryOwner {
	a := &t.advisory
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.m == nil {
		a.m = map[advisorySession]*advisoryOwner{}
	}
	k := advisorySession{s.Node, s.PID}
	o := a.m[k]
	if o == nil {
		o = &advisoryOwner{counts: map[advisoryHold]int{}}
		o.owner.PID = s.PID
		a.m[k] = o
	}
	return o
}

func advisoryKey(k engine.AdvisoryKey) string {
	kind := byte(1)
	if k.TwoInts {
		kind = 2
	}
	return txn.AdvisoryKey(uint32(k.Database), k.Hi, k.Lo, kind)
}

func advisoryMode(exclusive bool) uint8 {
	if exclusive {
		return txn.AdvisoryExclusive
	}
	return txn.AdvisoryShared
}

// AdvisoryLock implements engine.Engine.
func (s *Shard) AdvisoryLock(ctx context.Context, who engine.AdvisoryOwner, key engine.AdvisoryKey, exclusive, wait bool) (bool, error) {
	t, err := s.leading(ctx)
	if err != nil {
		return false, err
	}
	k, mode := advisoryKey(key), advisoryMode(exclusive)
	if who.Txn != nil {
		tx, ok := who.Txn.(*Txn)
		if !ok {
			return false, fmt.Errorf("shard: advisory lock of a transaction of type %T", who.Txn)
		}
		if err := tx.writable(); err != nil {
			return false, err
		}
		err := tx.term.locks.Acquire(ctx, &tx.owner, txn.ClassAdvisory, k, mode, txn.Wait{No: !wait, Timeout: tx.opts.LockTimeout})
		if errors.Is(err, txn.ErrNotAvailable) {
			return false, nil
		}
		return err == nil, lockError(err)
	}
	o := t.advisoryOwner(who)
	o.mu.Lock()
	defer o.mu.Unlock()
	h := advisoryHold{k, mode}
	if o.counts[h] == 0 {
		err := t.locks.Acquire(ctx, &o.owner, txn.ClassAdvisory, k, mode, txn.Wait{No: !wait})
		if errors.Is(err, txn.ErrNotAvailable) {
			return false, nil
		}
		if err != nil {
			return false, lockError(err)
		}
	}
	o.counts[h]++
	return true, nil
}

// AdvisoryUnlock implements engine.Engine.
func (s *Shard) AdvisoryUnlock(ctx context.Context, who engine.AdvisoryOwner, key engine.AdvisoryKey, exclusive bool) (bool, error) {
	t, err := s.leading(ctx)
	if err != nil {
		return false, err
	}
	o := t.advisoryOwner(who)
	o.mu.Lock()
	defer o.mu.Unlock()
	h := advisoryHold{advisoryKey(key), advisoryMode(exclusive)}
	switch n := o.counts[h]; n {
	case 0:
		return false, nil
	case 1:
		delete(o.counts, h)
		t.locks.Release(&o.owner, h.key, h.mode)
	default:
		o.counts[h] = n - 1
	}
	return true, nil
}

// AdvisoryUnlockAll implements engine.Engine.
func (s *Shard) AdvisoryUnlockAll(ctx context.Context, who engine.AdvisoryOwner) error {
	t := s.term.Load()
	if t == nil {
		return nil
	}
	o := t.advisoryOwner(who)
	o.mu.Lock()
	defer o.mu.Unlock()
	t.locks.ReleaseTo(&o.owner, 0)
	clear(o.counts)
	t.advisory.mu.Lock()
	delete(t.advisory.m, advisorySession{who.Node, who.PID})
	t.advisory.mu.Unlock()
	return nil
}

// Locks implements engine.Engine.
func (s *Shard) Locks() []engine.LockInfo {
	lt := s.lockTable()
	if lt == nil {
		return nil
	}
	held := lt.Snapshot()
	out := make([]engine.LockInfo, len(held))
	for i, h := range held {
		l := engine.LockInfo{Key: h.Key, Mode: txn.ModeName(h.Class, h.Mode), Granted: h.Granted, PID: h.PID, Xid: h.Xid, Since: h.Since}
		switch h.Class {
		case txn.ClassRelation:
			db, rel := txn.SplitRelationKey(h.Key)
			l.Type, l.Database, l.Relation = "relation", sqltypes.OID(db), sqltypes.OID(rel)
		case txn.ClassAdvisory:
			db, hi, lo, kind := txn.SplitAdvisoryKey(h.Key)
			l.Type, l.Database = "advisory", sqltypes.OID(db)
			l.Advisory = engine.AdvisoryKey{Database: l.Database, Hi: hi, Lo: lo, TwoInts: kind == 2}
		default:
			l.Type = "tuple"
		}
		out[i] = l
	}
	return out
}
