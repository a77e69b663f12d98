package shard

import (
	"context"
	"math/rand"
	"testing"

	"ostraka/engine"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// TestBulkKeys inserts many rows in one transaction beside others: keys stay
// unique against the table, the transaction itself and concurrent writers.
func TestBulkKeys(t *testing.T) {
	s, _ := testEngine(t)
	r := bulk(t, s, "b", 1000) // keys 0 … 999
	ctx := context.Background()
	put := func(tx engine.Txn, key int) error {
		_, _, err := tx.Insert(ctx, &engine.WriteTarget{Rel: r}, []sqltypes.Datum{sqltypes.Int(int64(key)), sqltypes.Text("x")}, nil)
		return err
	}
	dup := func(err error) {
		t.Helper()
		if pgerror.CodeOf(err) != pgerror.UniqueViolation {
			t.Fatalf("got %v", err)
		}
	}
	for _, sorted := range []bool{true, false} {
		tx := begin(t, s)
		keys := rand.New(rand.NewSource(1)).Perm(3000)
		for i, k := range keys {
			if sorted {
				k = i
			}
			if err := put(tx, 10000+2*k); err != nil {
				t.Fatal(err)
			}
		}
		dup(put(tx, 500))
		dup(put(tx, 10000+2*77))
		if err := put(tx, 10001); err != nil {
			t.Fatal(err)
		}
		// Another transaction takes a free key and commits it.
		other := begin(t, s)
		if err := put(other, 10003); err != nil {
			t.Fatal(err)
		}
		// One that wants a key of ours waits until we are gone.
		waiter, done := begin(t, s), make(chan error, 1)
		go func() { done <- put(waiter, 10000) }()
		commit(t, other)
		dup(put(tx, 10003))
		if err := put(tx, 10005); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-done:
			t.Fatalf("did not wait: %v", err)
		default:
		}
		if sorted {
			tx.Rollback()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		} else {
			commit(t, tx)
			dup(<-done)
		}
		waiter.Rollback()
		clean := begin(t, s)
		if sorted {
			ref, row, _, err := scanOne(clean, r, 10003)
			if err != nil {
				t.Fatal(err)
			}
			if err := clean.Delete(ctx, &engine.WriteTarget{Rel: r}, ref, row); err != nil {
				t.Fatal(err)
			}
		}
		commit(t, clean)
	}
	if n := len(rows(t, openView(t, s), engine.ScanSpec{Rel: r})); n != 1000+3000+3 {
		t.Fatalf("%d rows", n)
	}
}
