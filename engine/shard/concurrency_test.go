package shard

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"sync"
	"testing"
	"time"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func isolation(i engine.Isolation) func(*engine.TxnOptions) {
	return func(o *engine.TxnOptions) { o.Isolation = i }
}

// scanOne finds a row the way an UPDATE does: by a scan with references.
func scanOne(tx *Txn, r *catalog.Relation, key int64) (ref engine.RowRef, row []sqltypes.Datum, found bool, err error) {
	row = make([]sqltypes.Datum, len(r.Columns))
	var cols []int16
	for i := range r.Columns {
		cols = append(cols, int16(i+1))
	}
	ref, found, err = tx.Get(context.Background(), r, nil, ints(key), cols, row)
	return ref, row, found, err
}

// addTo is UPDATE t SET n = n + by WHERE a = key, as the executor does it.
func addTo(tx *Txn, r *catalog.Relation, key, by int64) error {
	ctx := context.Background()
	ref, row, found, err := scanOne(tx, r, key)
	if err != nil || !found {
		return err
	}
	out, err := tx.LockRow(ctx, r, &ref, engine.LockNoKeyUpdate, engine.WaitBlock, row)
	if err != nil {
		return err
	}
	if out != engine.Locked && out != engine.Changed {
		return fmt.Errorf("outcome %d", out)
	}
	next := append([]sqltypes.Datum(nil), row...)
	next[1].I += by
	_, err = tx.Update(ctx, &engine.WriteTarget{Rel: r}, ref, row, next)
	return err
}

func counterTable(t testing.TB, s *Shard, n int) *catalog.Relation {
	r := createTable(t, s, testTable{name: "c", cols: []*catalog.Column{column("a", 23), column("n", 20)}, pk: []int16{1}})
	tx := begin(t, s)
	for i := range n {
		insert(t, tx, r, ints(int64(i), 0)...)
	}
	commit(t, tx)
	return r
}

func value(t testing.TB, s *Shard, r *catalog.Relation, key int64) int64 {
	t.Helper()
	dst := make([]sqltypes.Datum, 1)
	found, stale, err := s.GetNewest(context.Background(), s.Catalog(testDB), r, nil, ints(key), []int16{2}, dst)
	if err != nil || stale || !found {
		t.Fatal(found, stale, err)
	}
	return dst[0].I
}

// 32 clients that increment one row at READ COMMITTED get no error, and the sum is right.
func TestHotRow(t *testing.T) {
	s, _ := testEngine(t)
	r := counterTable(t, s, 1)
	const clients, each = 32, 40
	var wg sync.WaitGroup
	for range clients {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range each {
				tx := begin(t, s)
				if err := addTo(tx, r, 0, 1); err != nil {
					t.Error(err)
				}
				if _, err := tx.Commit(context.Background()); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	if got := value(t, s, r, 0); got != clients*each {
		t.Fatalf("%d increments, want %d", got, clients*each)
	}
}

// Transfers between accounts keep the sum, at every isolation level; readers
// always see it whole. Serialization failures and deadlocks are retried.
func TestBank(t *testing.T) {
	for _, level := range []engine.Isolation{engine.ReadCommitted, engine.RepeatableRead, engine.Serializable} {
		s, _ := testEngine(t)
		const accounts = 6
		r := counterTable(t, s, accounts)
		var wg sync.WaitGroup
		stop := make(chan struct{})
		var readers sync.WaitGroup
		readers.Add(1)
		go func() {
			defer readers.Done()
			for {
				select {
				case <-stop:
					return
				default:
				}
				v, err := s.View(context.Background(), testDB)
				if err != nil {
					t.Error(err)
					return
				}
				if got := sum(t, v, r); got != 0 {
					t.Errorf("level %d: sum %d", level, got)
				}
				v.Close()
			}
		}()
		for g := range 8 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				rnd := rand.New(rand.NewSource(int64(g)))
				for done := 0; done < 60; {
					tx := begin(t, s, isolation(level))
					from, to, n := rnd.Int63n(accounts), rnd.Int63n(accounts), rnd.Int63n(100)
					err := addTo(tx, r, from, -n)
					if err == nil {
						err = tx.StartStatement(context.Background())
					}
					if err == nil {
						err = addTo(tx, r, to, n)
					}
					if err == nil && rnd.Intn(10) > 0 {
						_, err = tx.Commit(context.Background())
					}
					tx.Rollback()
					switch code := pgerror.CodeOf(err); {
					case err == nil:
						done++
					case code == pgerror.TRDeadlockDetected, level != engine.ReadCommitted && code == pgerror.TRSerializationFailure:
					default:
						t.Error(err)
						return
					}
				}
			}()
		}
		wg.Wait()
		close(stop)
		readers.Wait()
		if got := sum(t, openView(t, s), r); got != 0 {
			t.Fatalf("level %d: sum %d", level, got)
		}
	}
}

func sum(t testing.TB, v engine.View, r *catalog.Relation) (total int64) {
	for _, line := range rows(t, v, engine.ScanSpec{Rel: r, Cols: []int16{2}}) {
		var n int64
		if _, err := fmt.Sscan(line, &n); err != nil {
			t.Error(err)
		}
		total += n
	}
	return total
}

// Of all who insert one key, exactly one succeeds.
func TestUniqueRace(t *testing.T) {
	s, _ := testEngine(t)
	r := createTable(t, s, testTable{name: "t", cols: []*catalog.Column{column("a", 23), column("b", 23)}, pk: []int16{1},
		other: []*catalog.Index{{Name: "t_b_key", Unique: true, Keys: keys(2)}}})
	const keys, clients = 20, 8
	var mu sync.Mutex
	won := map[int64]int{}
	var wg sync.WaitGroup
	for g := range clients {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for k := range int64(keys) {
				tx := begin(t, s)
				_, c, err := tx.Insert(context.Background(), &engine.WriteTarget{Rel: r}, ints(k*clients+int64(g), k), nil)
				if err == nil && c == nil {
					if g == 3 {
						tx.Rollback()
						continue
					}
					commit(t, tx)
					mu.Lock()
					won[k]++
					mu.Unlock()
					continue
				}
				if pgerror.CodeOf(err) != pgerror.UniqueViolation {
					t.Error(err)
				}
				tx.Rollback()
			}
		}()
	}
	wg.Wait()
	for k := range int64(keys) {
		if won[k] != 1 {
			t.Errorf("key %d inserted %d times", k, won[k])
		}
	}
	if n := len(rows(t, openView(t, s), engine.ScanSpec{Rel: r})); n != keys {
		t.Errorf("%d rows", n)
	}
}

// waitBlocked waits until somebody waits for a lock.
func waitBlocked(t testing.TB, s *Shard) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		for _, l := range s.Locks() {
			if !l.Granted {
				return
			}
		}
		if time.Now().After(end) {
			t.Fatal("nobody waits")
		}
	}
}

func TestRereadAndIsolation(t *testing.T) {
	for _, level := range []engine.Isolation{engine.ReadCommitted, engine.RepeatableRead} {
		for _, del := range []bool{false, true} {
			s, _ := testEngine(t)
			r := counterTable(t, s, 1)
			first := begin(t, s)
			if err := addTo(first, r, 0, 5); err != nil {
				t.Fatal(err)
			}
			if del {
				if _, _, _, err := scanOne(first, r, 0); err != nil {
					t.Fatal(err)
				}
				// a second statement deletes it
				if err := first.StartStatement(context.Background()); err != nil {
					t.Fatal(err)
				}
				ref, row, _, err := scanOne(first, r, 0)
				if err != nil {
					t.Fatal(err)
				}
				if err := first.Delete(context.Background(), &engine.WriteTarget{Rel: r}, ref, row); err != nil {
					t.Fatal(err)
				}
			}
			second := begin(t, s, isolation(level))
			ref, row, _, err := scanOne(second, r, 0)
			if err != nil {
				t.Fatal(err)
			}
			type result struct {
				out engine.LockOutcome
				err error
			}
			res := make(chan result)
			go func() {
				out, err := second.LockRow(context.Background(), r, &ref, engine.LockUpdate, engine.WaitBlock, row)
				res <- result{out, err}
			}()
			waitBlocked(t, s)
			commit(t, first)
			got := <-res
			switch {
			case level == engine.RepeatableRead:
				want := "could not serialize access due to concurrent update (SQLSTATE 40001)"
				if del {
					want = "could not serialize access due to concurrent delete (SQLSTATE 40001)"
				}
				if got.err == nil || got.err.Error() != want {
					t.Fatal(got)
				}
			case del:
				if got.err != nil || got.out != engine.Gone {
					t.Fatal(got)
				}
			case got.err != nil || got.out != engine.Changed || row[1].I != 5:
				t.Fatal(got, row)
			}
			second.Rollback()
		}
	}
}

// Who waits for a row whose key changes finds it under the new one.
func TestKeyChangeRedirect(t *testing.T) {
	s, _ := testEngine(t)
	r := counterTable(t, s, 1)
	ctx := context.Background()
	first := begin(t, s)
	ref, row, _, err := scanOne(first, r, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.LockRow(ctx, r, &ref, engine.LockUpdate, engine.WaitBlock, row); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Update(ctx, &engine.WriteTarget{Rel: r}, ref, row, ints(9, 1)); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		second := begin(t, s)
		err := addTo(second, r, 0, 10)
		if err == nil {
			_, err = second.Commit(ctx)
		}
		done <- err
	}()
	waitBlocked(t, s)
	commit(t, first)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	expect(t, rows(t, openView(t, s), engine.ScanSpec{Rel: r}), "9 11")
}

func TestWaitPolicies(t *testing.T) {
	s, _ := testEngine(t)
	r := counterTable(t, s, 1)
	ctx := context.Background()
	first := begin(t, s)
	if err := addTo(first, r, 0, 5); err != nil {
		t.Fatal(err)
	}
	second := begin(t, s, func(o *engine.TxnOptions) { o.LockTimeout = time.Millisecond })
	ref, row, _, err := scanOne(second, r, 0)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := second.LockRow(ctx, r, &ref, engine.LockUpdate, engine.WaitSkip, row); err != nil || out != engine.Skipped {
		t.Fatal(out, err)
	}
	for wait, want := range map[engine.WaitPolicy]string{
		engine.WaitError: `could not obtain lock on row in relation "c" (SQLSTATE 55P03)`,
		engine.WaitBlock: `canceling statement due to lock timeout (SQLSTATE 55P03)`,
	} {
		if _, err := second.LockRow(ctx, r, &ref, engine.LockUpdate, wait, row); err == nil || err.Error() != want {
			t.Fatal(err)
		}
	}
	if err := second.LockRelation(ctx, r.OID, engine.AccessExclusive, engine.WaitError); err == nil ||
		err.Error() != `could not obtain lock on relation "c" (SQLSTATE 55P03)` {
		t.Fatal(err)
	}
	// KEY SHARE goes beside an update that leaves the key alone.
	if out, err := second.LockRow(ctx, r, &ref, engine.LockKeyShare, engine.WaitError, row); err != nil || out != engine.Locked {
		t.Fatal(out, err)
	}
	second.Rollback()
	first.Rollback()
}

func TestOnConflict(t *testing.T) {
	s, _ := testEngine(t)
	r := counterTable(t, s, 2)
	ctx := context.Background()
	wt := &engine.WriteTarget{Rel: r}
	tx := begin(t, s)
	_, c, err := tx.Insert(ctx, wt, ints(1, 7), []*catalog.Index{})
	if err != nil || c == nil || c.Own || c.Index.OID != r.Indexes[0].OID {
		t.Fatal(c, err)
	}
	if n := tx.owner.Mark(); n != 1 { // the relation's only
		t.Fatalf("%d locks kept", n)
	}
	insert(t, tx, r, ints(5, 0)...)
	_, c, err = tx.Insert(ctx, wt, ints(5, 7), []*catalog.Index{r.Indexes[0]})
	if err != nil || c == nil || !c.Own {
		t.Fatal(c, err)
	}
	if err := tx.StartStatement(ctx); err != nil {
		t.Fatal(err)
	}
	if _, c, err = tx.Insert(ctx, wt, ints(5, 7), []*catalog.Index{}); err != nil || c == nil || c.Own {
		t.Fatal(c, err)
	}
	commit(t, tx)

	// A conflict with a row that the snapshot does not have.
	old := begin(t, s, isolation(engine.RepeatableRead))
	rows(t, old, engine.ScanSpec{Rel: r})
	tx = begin(t, s)
	insert(t, tx, r, ints(6, 0)...)
	commit(t, tx)
	if _, _, err := old.Insert(ctx, wt, ints(6, 1), []*catalog.Index{}); pgerror.CodeOf(err) != pgerror.TRSerializationFailure {
		t.Fatal(err)
	}
	old.Rollback()
}

// Write skew and phantoms are refused at SERIALIZABLE and only there.
func TestSerializable(t *testing.T) {
	ctx := context.Background()
	for _, level := range []engine.Isolation{engine.RepeatableRead, engine.Serializable} {
		s, _ := testEngine(t)
		r := counterTable(t, s, 2)
		a, b := begin(t, s, isolation(level)), begin(t, s, isolation(level))
		reader := begin(t, s, isolation(level))
		for _, tx := range []*Txn{a, b, reader} {
			sum(t, tx, r)
		}
		if err := addTo(a, r, 0, 1); err != nil {
			t.Fatal(err)
		}
		if err := addTo(b, r, 1, 1); err != nil {
			t.Fatal(err)
		}
		commit(t, a)
		_, err := b.Commit(ctx)
		if (err != nil) != (level == engine.Serializable) || err != nil && pgerror.CodeOf(err) != pgerror.TRSerializationFailure {
			t.Fatal(level, err)
		}
		commit(t, reader)

		// Phantom: both count the rows and insert one.
		a, b = begin(t, s, isolation(level)), begin(t, s, isolation(level))
		span := engine.ScanSpec{Rel: r, Spans: []engine.Span{{Lo: ints(10), LoInc: true, Hi: ints(20)}}}
		for i, tx := range []*Txn{a, b} {
			expect(t, rows(t, tx, span))
			insert(t, tx, r, ints(int64(11+i), 0)...)
		}
		commit(t, a)
		_, err = b.Commit(ctx)
		if (err != nil) != (level == engine.Serializable) {
			t.Fatal(level, err)
		}
		// Disjoint ranges do not disturb each other.
		a, b = begin(t, s, isolation(level)), begin(t, s, isolation(level))
		for i, tx := range []*Txn{a, b} {
			k := int64(100 * (i + 1))
			expect(t, rows(t, tx, engine.ScanSpec{Rel: r, Spans: []engine.Span{{Lo: ints(k), LoInc: true, Hi: ints(k + 50)}}}))
			insert(t, tx, r, ints(k, 0)...)
		}
		commit(t, a)
		commit(t, b)
		if n := s.term.Load().ssi.Size(); n != 0 {
			t.Errorf("%d commits remembered without need", n)
		}
	}
}

// When both have seen that a key was free, the second is told to try again;
// otherwise that it is a duplicate.
func TestSerializableUnique(t *testing.T) {
	ctx := context.Background()
	for looks := range 4 {
		s, _ := testEngine(t)
		r := counterTable(t, s, 1)
		a, b := begin(t, s, isolation(engine.Serializable)), begin(t, s, isolation(engine.Serializable))
		for i, tx := range []*Txn{a, b} {
			if _, _, _, err := scanOne(tx, r, int64(5*(looks>>i&1))); err != nil {
				t.Fatal(err)
			}
		}
		insert(t, a, r, ints(5, 0)...)
		commit(t, a)
		_, _, err := b.Insert(ctx, &engine.WriteTarget{Rel: r}, ints(5, 0), nil)
		want := pgerror.Code(pgerror.UniqueViolation)
		if looks == 3 {
			want = pgerror.TRSerializationFailure
		}
		if pgerror.CodeOf(err) != want {
			t.Errorf("looks %b: %v", looks, err)
		}
		b.Rollback()
	}
}

// A write that crosses with a commit which read it fails at once.
func TestSerializableCrossing(t *testing.T) {
	s, _ := testEngine(t)
	r := counterTable(t, s, 2)
	a, b := begin(t, s, isolation(engine.Serializable)), begin(t, s, isolation(engine.Serializable))
	sum(t, a, r)
	sum(t, b, r)
	if err := addTo(a, r, 0, 1); err != nil {
		t.Fatal(err)
	}
	commit(t, a)
	if err := addTo(b, r, 1, 1); pgerror.CodeOf(err) != pgerror.TRSerializationFailure {
		t.Fatal(err)
	}
	b.Rollback()
}

// FOR KEY SHARE does not mind a committed change of other columns.
func TestKeyShareOfUpdated(t *testing.T) {
	ctx := context.Background()
	for _, level := range []engine.Isolation{engine.ReadCommitted, engine.RepeatableRead} {
		s, _ := testEngine(t)
		r := counterTable(t, s, 1)
		tx := begin(t, s, isolation(level))
		ref, row, _, err := scanOne(tx, r, 0)
		if err != nil {
			t.Fatal(err)
		}
		other := begin(t, s)
		if err := addTo(other, r, 0, 1); err != nil {
			t.Fatal(err)
		}
		commit(t, other)
		if out, err := tx.LockRow(ctx, r, &ref, engine.LockKeyShare, engine.WaitBlock, row); err != nil || out != engine.Locked {
			t.Error(level, out, err)
		}
		out, err := tx.LockRow(ctx, r, &ref, engine.LockShare, engine.WaitBlock, row)
		if level == engine.ReadCommitted && (err != nil || out != engine.Changed) || level != engine.ReadCommitted && err == nil {
			t.Error(level, out, err)
		}
		tx.Rollback()
	}
}

func TestDeadlockBetweenTransactions(t *testing.T) {
	s, _ := testEngine(t)
	r := counterTable(t, s, 2)
	a := begin(t, s, func(o *engine.TxnOptions) { o.PID = 11 })
	b := begin(t, s, func(o *engine.TxnOptions) { o.PID = 12 })
	if err := errors.Join(addTo(a, r, 0, 1), addTo(b, r, 1, 1)); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- addTo(a, r, 1, 1) }()
	waitBlocked(t, s)
	err := addTo(b, r, 0, 1)
	var pe *pgerror.Error
	if !errors.As(err, &pe) || pe.Code != pgerror.TRDeadlockDetected {
		t.Fatal(err)
	}
	want := fmt.Sprintf("Process 12 waits for ShareLock on transaction %d; blocked by process 11.\nProcess 11 waits for ShareLock on transaction %d; blocked by process 12.",
		a.XidIfAssigned(), b.XidIfAssigned())
	if pe.Detail != want {
		t.Fatalf("got %q, want %q", pe.Detail, want)
	}
	b.Rollback()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	commit(t, a)
}
