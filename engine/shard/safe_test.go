package shard

import (
	"context"
	"testing"
	"time"

	"ostraka/engine"
)

// A deferrable reader waits for those who could spoil its snapshot, and takes another
// one when they have.
func TestDeferrable(t *testing.T) {
	ctx := context.Background()
	for _, spoiled := range []bool{false, true} {
		s, _ := testEngine(t)
		r := counterTable(t, s, 2)
		pivot := begin(t, s, isolation(engine.Serializable))
		sum(t, pivot, r)
		if err := addTo(pivot, r, 0, 10); err != nil {
			t.Fatal(err)
		}
		if spoiled { // pivot has read what this one overwrites, before the snapshot
			first := begin(t, s, isolation(engine.Serializable))
			if err := addTo(first, r, 1, 1); err != nil {
				t.Fatal(err)
			}
			commit(t, first)
		}
		tx, err := s.Begin(ctx, engine.TxnOptions{Database: testDB, Isolation: engine.Serializable, ReadOnly: true, Deferrable: true})
		if err != nil {
			t.Fatal(err)
		}
		reader := tx.(*Txn)
		started := make(chan error)
		go func() { started <- reader.StartStatement(ctx) }()
		n := 2
		if spoiled {
			n = 3
		}
		waitTracked(t, s, n)
		select {
		case err := <-started:
			t.Fatal("the reader did not wait", err)
		default:
		}
		commit(t, pivot)
		if err := <-started; err != nil {
			t.Fatal(err)
		}
		want := int64(0)
		if spoiled {
			want = 11
		}
		if got := sum(t, reader, r); got != want {
			t.Errorf("spoiled %v: the reader sees %d, want %d", spoiled, got, want)
		}
		commit(t, reader)
	}
}

// waitTracked waits until n serializable transactions are known.
func waitTracked(t testing.TB, s *Shard, n int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); s.term.Load().ssi.Size() < n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nobody came")
		}
	}
}
