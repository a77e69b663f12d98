package docstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

// TestNewestUnderWrites: short finds by _id and by an index see every document that was
// acknowledged before they began, as it is or newer, and no document that does not
// match, while documents are changed, deleted and made again.
func TestNewestUnderWrites(t *testing.T) {
	s := newStore(t)
	s.index("c", `{"fields": "v"}`)
	const docs, values = 40, 30 // so that few have the same
	for i := range docs {
		s.insert("c", fmt.Sprintf(`{"_id": %d, "v": "value %d", "n": 0}`, i, i%values))
	}
	ctx := context.Background()
	var acked [docs]atomic.Int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	number := func(d JSON, field string) int64 {
		v, _ := d.Lookup(field)
		n, err := sqltypes.NumericToInt64(v.Number())
		if err != nil {
			t.Error(err)
		}
		return n
	}
	for g := range 2 {
		wg.Go(func() { // each has its own documents
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for n := int64(1); n < 1500; n++ {
				i := r.IntN(docs/2)*2 + g
				tx, err := s.eng.Begin(ctx, engine.TxnOptions{Database: catalog.PostgresDB})
				if err != nil {
					t.Error(err)
					return
				}
				if err = tx.StartStatement(ctx); err == nil {
					st := &State{View: tx, Txn: tx, Now: s.now, Owner: catalog.BootstrapRole}
					_, err = Run(ctx, st, &Command{Op: OpReplaceOne, Collection: "c", Take: -1, Filter: parse(t, fmt.Sprintf(`{"_id": %d}`, i)),
						Update: parse(t, fmt.Sprintf(`{"v": "value %d", "n": %d}`, r.IntN(values), n))})
				}
				if err == nil {
					_, err = tx.Commit(ctx)
				}
				tx.Rollback()
				if err != nil {
					t.Error(err)
					return
				}
				acked[i].Store(n)
			}
			stop.Store(true)
		})
	}
	var short atomic.Int64
	for g := range 3 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 2))
			for !stop.Load() {
				cat := s.eng.Catalog(catalog.PostgresDB)
				c, err := Lookup(cat, "c")
				if err != nil || c == nil {
					t.Error(err)
					return
				}
				i := r.IntN(docs)
				filter := fmt.Sprintf(`{"_id": %d}`, i)
				value := ""
				if r.IntN(2) == 0 {
					value = fmt.Sprintf("value %d", r.IntN(values))
					filter = fmt.Sprintf(`{"v": %q}`, value)
				}
				before := acked[i].Load()
				found, done, err := FindNewest(ctx, s.eng, cat, c, &State{Now: s.now}, &Command{Op: OpFind, Collection: "c", Filter: parse(t, filter), Take: -1})
				if err != nil {
					t.Errorf("%s: %v", filter, err)
					return
				}
				if !done {
					continue
				}
				short.Add(1)
				seen := map[int64]bool{}
				for _, d := range found {
					id := number(d, "_id")
					if v, _ := d.Lookup("v"); value != "" && v.Str() != value {
						t.Errorf("%s found %s", filter, d)
						return
					}
					if seen[id] {
						t.Errorf("%s found document %d twice", filter, id)
					}
					seen[id] = true
					if value == "" && number(d, "n") < before {
						t.Errorf("%s found %s after %d was acknowledged", filter, d, before)
						return
					}
				}
				if value == "" && len(found) != 1 {
					t.Errorf("%s found %d documents", filter, len(found))
					return
				}
			}
		})
	}
	wg.Wait()
	if short.Load() < 1000 {
		t.Errorf("only %d short finds", short.Load())
	}
}
