package shard

import (
	"context"
	"fmt"
	"testing"

	"ostraka/engine"
	"ostraka/engine/commitlog"
	"ostraka/sqltypes/pgerror"
)

// TestOutcomes: outcomes and names are kept for a bounded number of transactions, and what is too old is unknown, not aborted.
func TestOutcomes(t *testing.T) {
	old := outcomeBlocks
	outcomeBlocks = 2
	t.Cleanup(func() { outcomeBlocks = old })
	s, _ := testEngine(t)
	ctx := context.Background()
	one := func(name string, keep bool) uint64 {
		tx := begin(t, s)
		if name != "" {
			tx.SetToken(name, true)
		}
		xid, err := tx.Xid(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if keep {
			commit(t, tx)
		} else {
			tx.Rollback()
		}
		return xid
	}
	want := func(xid uint64, st engine.TxnStatus) {
		t.Helper()
		if got, err := s.TransactionStatus(ctx, xid); err != nil || got != st {
			t.Fatalf("%d: %v, want %v, %v", xid, got, st, err)
		}
	}
	a, b := one("first", true), one("", false)
	want(a, engine.TxnCommitted)
	want(b, engine.TxnAborted)
	if x, st, err := s.TokenStatus(ctx, "first"); x != a || st != engine.TxnCommitted || err != nil {
		t.Fatal(x, st, err)
	}
	tx := begin(t, s)
	tx.SetToken("first", true)
	if _, err := tx.Xid(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Commit(ctx); pgerror.CodeOf(err) != pgerror.UniqueViolation {
		t.Fatal(err)
	}
	if _, err := s.TransactionStatus(ctx, 1<<40); pgerror.CodeOf(err) != pgerror.InvalidParameterValue {
		t.Fatal(err)
	}
	var last uint64
	for i := 0; i < 3*outcomeBlock; i++ {
		last = one(fmt.Sprint("later", i), i%2 == 0)
	}
	want(last-1, engine.TxnCommitted)
	want(last, engine.TxnAborted)
	want(a, engine.TxnUnknown)
	want(b, engine.TxnUnknown)
	if _, st, err := s.TokenStatus(ctx, "first"); st != engine.TxnUnknown || err != nil {
		t.Fatal(st, err)
	}
	n := 0
	for k := range dump(t, s) {
		if k[0] == 1 && (k[1] == 't' || k[1] == 'u' || k[1] == 'v') {
			n++
		}
	}
	if n > 2*(2+2)*outcomeBlock {
		t.Errorf("%d records are kept", n)
	}
}

// deposedLog is a log that another node leads, of which the shard has not heard:
// barriers are answered by that node.
type deposedLog struct{ commitlog.Log }

func (l deposedLog) Leadership() commitlog.Leadership {
	now := l.Log.Leadership()
	return commitlog.Leadership{Term: now.Term + 1, LeaderID: "other"}
}

// TestOutcomeOfAnotherTerm: a leader that was deposed and has not noticed says of
// nothing that it was aborted, though a barrier succeeds: it may be running where
// the barrier came from.
func TestOutcomeOfAnotherTerm(t *testing.T) {
	s, l := testEngine(t)
	ctx := context.Background()
	tx := begin(t, s)
	xid, err := tx.Xid(ctx)
	if err != nil {
		t.Fatal(err)
	}
	tx.Rollback()
	if st, err := s.TransactionStatus(ctx, xid); err != nil || st != engine.TxnAborted {
		t.Fatal(st, err)
	}
	s.clogMu.Lock()
	s.clog = deposedLog{l}
	s.clogMu.Unlock()
	if st, err := s.TransactionStatus(ctx, xid); pgerror.CodeOf(err) != pgerror.TRSerializationFailure {
		t.Error(st, err)
	}
	if _, st, err := s.TokenStatus(ctx, "0123456789abcdef.1"); pgerror.CodeOf(err) != pgerror.TRSerializationFailure {
		t.Error(st, err)
	}
}
