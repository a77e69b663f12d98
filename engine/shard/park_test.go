package shard

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/sqltypes"
)

// TestScanParked: scans whose iterators are closed and opened again between any two
// batches give what others give, while others write, with own writes, by keys and
// by an index, in both directions and over several spans.
func TestScanParked(t *testing.T) {
	s, _ := testEngine(t)
	ctx := context.Background()
	r := createTable(t, s, testTable{name: "t", cols: []*catalog.Column{column("a", 23), column("b", 25)}, pk: []int16{1},
		other: []*catalog.Index{{Name: "t_b", Keys: keys(2)}}})
	tx := begin(t, s)
	for i := range int64(100) {
		insert(t, tx, r, sqltypes.Int(2*i), sqltypes.Text(fmt.Sprintf("v%03d", 300-i)))
	}
	commit(t, tx)
	r = openView(t, s).Catalog().Relation(r.OID)
	ix := r.Indexes[slices.IndexFunc(r.Indexes, func(x *catalog.Index) bool { return x.Name == "t_b" })]
	spans := []engine.Span{{Lo: ints(3), LoInc: true, Hi: ints(20), HiInc: true}, {Lo: ints(50), Hi: ints(51)}, {Lo: ints(100), LoInc: true}}
	later := int64(1000)
	for _, own := range []bool{false, true} {
		for _, reverse := range []bool{false, true} {
			for i, spec := range []engine.ScanSpec{{}, {Spans: spans}, {Index: ix}, {Index: ix, Spans: []engine.Span{{Lo: []sqltypes.Datum{sqltypes.Text("v250")}}}}} {
				spec.Rel, spec.Reverse, spec.RowHint, spec.Refs = r, reverse, 1, true
				tx := begin(t, s, func(o *engine.TxnOptions) { o.Isolation = engine.RepeatableRead })
				if own {
					for i := range int64(20) {
						insert(t, tx, r, sqltypes.Int(10*i+1), sqltypes.Text(fmt.Sprintf("v%03d", 205+7*i)))
					}
					if err := tx.StartStatement(ctx); err != nil {
						t.Fatal(err)
					}
				}
				want := rows(t, tx, spec)
				spec.Cols = []int16{1, 2}
				sc, err := tx.Scan(ctx, spec)
				if err != nil {
					t.Fatal(err)
				}
				got := drain(t, tx.Catalog(), spec, &parking{sc, tx})
				if !slices.Equal(got, want) || len(want) < 10 {
					t.Errorf("own %v, reverse %v, spec %d: got %v, want %v", own, reverse, i, got, want)
				}
				if len(tx.scans) != 0 {
					t.Error("a closed scanner is still known")
				}
				tx.Rollback()
				change := begin(t, s) // versions that the next snapshots skip
				later++
				insert(t, change, r, sqltypes.Int(later), sqltypes.Text("later"))
				commit(t, change)
			}
		}
	}
}

// parking closes a scanner's iterators before every batch.
type parking struct {
	engine.Scanner
	tx *Txn
}

func (p *parking) Next(b *expr.Batch) (int, error) {
	resume := p.tx.pause()
	if sc := p.Scanner.(*scanner); !sc.done && sc.it != nil {
		return 0, fmt.Errorf("the iterators stay open")
	}
	resume()
	return p.Scanner.Next(b)
}

// TestScanParksInWait: a transaction that waits for a row has no iterators open after a while, and goes on with its scan.
func TestScanParksInWait(t *testing.T) {
	s, _ := testEngine(t)
	ctx := context.Background()
	r := createTable(t, s, testTable{name: "t", cols: []*catalog.Column{column("a", 23)}, pk: []int16{1}})
	tx := begin(t, s)
	for i := range int64(50) {
		insert(t, tx, r, sqltypes.Int(i))
	}
	commit(t, tx)
	r = openView(t, s).Catalog().Relation(r.OID)
	holder := begin(t, s)
	ref, row, _, err := scanOne(holder, r, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.LockRow(ctx, r, &ref, engine.LockUpdate, engine.WaitBlock, row); err != nil {
		t.Fatal(err)
	}
	waiter := begin(t, s)
	sc, err := waiter.Scan(ctx, engine.ScanSpec{Rel: r, Cols: []int16{1}, Refs: true, RowHint: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer sc.Close()
	var b expr.Batch
	if n, err := sc.Next(&b); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	parked := make(chan struct{})
	pause := waiter.owner.Pause
	waiter.owner.Pause = func() func() {
		resume := pause()
		if sc.(*scanner).it != nil {
			t.Error("an iterator is open in the wait")
		}
		close(parked)
		return resume
	}
	done := make(chan error, 1)
	go func() {
		ref := sc.Refs()[1]
		_, err := waiter.LockRow(ctx, r, &ref, engine.LockUpdate, engine.WaitBlock, ints(1))
		done <- err
	}()
	select {
	case <-parked:
	case <-time.After(20 * time.Second):
		t.Fatal("the wait was never a long one")
	}
	holder.Rollback()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	total := 2
	for {
		n, err := sc.Next(&b)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			break
		}
		total += n
	}
	if total != 50 {
		t.Errorf("%d rows", total)
	}
	sc.Close()
	waiter.Rollback()
}
