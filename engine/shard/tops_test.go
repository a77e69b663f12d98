package shard

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/engine/commitlog"
	"ostraka/sqltypes/pgerror"
)

// TestAscendingKeyRace: clients insert the same ascending keys, roll some back and delete
// others. A key is in the table once, whoever looked into the store and who did not.
func TestAscendingKeyRace(t *testing.T) {
	s, l := testEngine(t)
	r := createTable(t, s, testTable{name: "t", cols: []*catalog.Column{column("a", 23), column("b", 23)}, pk: []int16{1}})
	wt := &engine.WriteTarget{Rel: r}
	ctx := context.Background()
	const clients, rounds = 8, 3
	var live, free atomic.Int64
	for round := range int64(rounds) {
		var wg sync.WaitGroup
		for g := range clients {
			wg.Add(1)
			go func() {
				defer wg.Done()
				rnd := rand.New(rand.NewPCG(uint64(round), uint64(g)))
				for k := range int64(60) {
					tx := begin(t, s)
					ref, _, err := tx.Insert(ctx, wt, ints(round*50+k, int64(g)), nil)
					switch {
					case pgerror.CodeOf(err) == pgerror.UniqueViolation || err == nil && rnd.IntN(4) == 0:
						tx.Rollback()
						continue
					case err != nil:
						t.Error(err)
						tx.Rollback()
						return
					}
					commit(t, tx)
					live.Add(1)
					if rnd.IntN(3) == 0 {
						tx = begin(t, s)
						if err := tx.Delete(ctx, wt, engine.RowRef{Key: ref.Key, Xid: ref.Xid}, ints(round*50+k, int64(g))); err != nil {
							t.Error(err)
						}
						commit(t, tx)
						live.Add(-1)
					}
				}
			}()
		}
		wg.Wait()
		if tp := s.term.Load().tops.table(r.StorageID); tp.known {
			free.Add(1)
		}
		if n := len(rows(t, openView(t, s), engine.ScanSpec{Rel: r})); int64(n) != live.Load() {
			t.Fatalf("round %d: %d rows, %d were inserted", round, n, live.Load())
		}
		// The next term does not know what this one has claimed.
		l.SetLeadership(commitlog.Leadership{Term: uint64(2*round + 2), LeaderID: "other"})
		l.SetLeadership(commitlog.Leadership{Term: uint64(2*round + 3), IsLeader: true})
		waitTerm(t, s, uint64(2*round+3))
	}
	if free.Load() != rounds {
		t.Errorf("the bound was known in %d of %d rounds", free.Load(), rounds)
	}
}
