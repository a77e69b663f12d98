package shard

import (
	"context"
	"fmt"
	"math/rand"
	randv2 "math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/engine/commitlog"
	"ostraka/engine/commitlog/memlog"
	"ostraka/engine/storage"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// dump lists everything in the state, for comparing replicas.
func dump(t testing.TB, s *Shard) map[string]string {
	t.Helper()
	it, err := s.cur.Load().db.NewIter(context.Background(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	out := map[string]string{}
	for ok := it.First(); ok; ok = it.Next() {
		out[string(it.Key())] = string(it.Value())
	}
	return out
}

func same(t testing.TB, a, b map[string]string) {
	t.Helper()
	for k, v := range a {
		if b[k] != v {
			t.Fatalf("key %q: %q and %q", k, v, b[k])
		}
	}
	if len(a) != len(b) {
		t.Fatalf("%d and %d keys", len(a), len(b))
	}
}

// workload changes everything that can be changed.
func workload(t testing.TB, s *Shard, seed int64) {
	ctx := context.Background()
	name := fmt.Sprintf("w%d", seed)
	r := createTable(t, s, testTable{name: name, cols: []*catalog.Column{column("a", 23), column("b", 25)}, pk: []int16{1},
		other: []*catalog.Index{{Name: name + "_b", Keys: keys(2)}}})
	rnd := rand.New(rand.NewSource(seed))
	for range 60 {
		tx := begin(t, s)
		for range rnd.Intn(4) + 1 {
			if err := tx.StartStatement(ctx); err != nil {
				t.Fatal(err)
			}
			key := rnd.Int63n(30)
			ref, row, found, err := scanOne(tx, r, key)
			if err != nil {
				t.Fatal(err)
			}
			wt := &engine.WriteTarget{Rel: r}
			text := sqltypes.Text(fmt.Sprint("v", rnd.Intn(20)))
			switch {
			case !found:
				_, _, err = tx.Insert(ctx, wt, []sqltypes.Datum{sqltypes.Int(key), text}, nil)
			case rnd.Intn(3) == 0:
				err = tx.Delete(ctx, wt, ref, row)
			default:
				_, err = tx.Update(ctx, wt, ref, row, []sqltypes.Datum{row[0], text})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if rnd.Intn(6) == 0 {
			tx.Rollback()
		} else {
			commit(t, tx)
		}
	}
	checkIndexes(t, s, r)
}

// checkIndexes compares what every index shows with the table.
func checkIndexes(t testing.TB, s *Shard, r *catalog.Relation) {
	t.Helper()
	v := openView(t, s)
	want := map[string]int{}
	for _, l := range rows(t, v, engine.ScanSpec{Rel: r}) {
		want[l]++
	}
	for _, ix := range r.Indexes {
		got := rows(t, v, engine.ScanSpec{Rel: r, Index: ix})
		n := 0
		for _, c := range want {
			n += c
		}
		if len(got) != n {
			t.Fatalf("index %s shows %d rows of %d", ix.Name, len(got), n)
		}
		for _, l := range got {
			if want[l] == 0 {
				t.Fatalf("index %s shows %q", ix.Name, l)
			}
		}
	}
}

// A replica that applies the same entries, in other batches and some twice, has
// the same state.
func TestReplay(t *testing.T) {
	s, err := Open(Options{Dir: "a", FS: storage.MemFS(), FlushInterval: -1, StageThreshold: 2000})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l := memlog.New(s.Applier())
	l.Keep()
	s.AttachLog(l)
	if _, err := s.leading(context.Background()); err != nil {
		t.Fatal(err)
	}
	workload(t, s, 1)
	bulk(t, s, "big", 300)
	l.NextTerm()
	waitTerm(t, s, 2)
	workload(t, s, 2)
	entries := l.Entries()

	other, err := Open(Options{Dir: "b", FS: storage.MemFS(), FlushInterval: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	ap := other.Applier()
	rnd := rand.New(rand.NewSource(1))
	for i := 0; i < len(entries); {
		n := min(rnd.Intn(5)+1, len(entries)-i)
		from := max(0, i-rnd.Intn(3))
		last := entries[i+n-1]
		if _, err := ap.ApplyBatch(entries[from:i+n], last.Position, last.Term, nil); err != nil {
			t.Fatal(err)
		}
		i += n
	}
	same(t, dump(t, s), dump(t, other))
	r := other.Catalog(testDB).RelationByName(catalog.SchemaPublic, "w1")
	expect(t, rows(t, openView(t, other), engine.ScanSpec{Rel: r}), rows(t, openView(t, s), engine.ScanSpec{Rel: s.Catalog(testDB).Relation(r.OID)})...)
}

func waitTerm(t testing.TB, s *Shard, id uint64) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if term := s.term.Load(); term != nil && term.id == id {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the term never started")
		}
	}
}

// bulk inserts n rows of 100 bytes in one transaction.
func bulk(t testing.TB, s *Shard, name string, n int) *catalog.Relation {
	r := createTable(t, s, testTable{name: name, cols: []*catalog.Column{column("a", 23), column("b", 25)}, pk: []int16{1}})
	tx := begin(t, s)
	tx.BulkLoad()
	for i := range n {
		insert(t, tx, r, sqltypes.Int(int64(i)), sqltypes.Text(fmt.Sprintf("%0100d", i)))
	}
	commit(t, tx)
	return r
}

// After a power loss the state is that of some earlier position, and replaying
// the log from there gives the state before.
func TestCrash(t *testing.T) {
	for seed := range int64(6) {
		fs := vfs.NewCrashableMem()
		s, err := Open(Options{Dir: "a", FS: fs, FlushInterval: -1, MemTableSize: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		l := memlog.New(s.Applier())
		l.Keep()
		s.AttachLog(l)
		if _, err := s.leading(context.Background()); err != nil {
			t.Fatal(err)
		}
		workload(t, s, seed)
		changed := s.Applier().DurableChanged()
		s.flushNow()
		<-changed
		durable := s.Applier().Durable().Position
		workload(t, s, seed+100)
		want := dump(t, s)
		crashed := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: int(seed) * 20, RNG: newRNG(seed)})
		entries := l.Entries()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := Open(Options{Dir: "a", FS: crashed, FlushInterval: -1})
		if err != nil {
			t.Fatal(err)
		}
		at := again.Applied()
		if at.Less(durable) {
			t.Fatalf("state at %v, durable was %v", at, durable)
		}
		for _, e := range entries {
			if at.Less(e.Position) {
				if _, err := again.Applier().ApplyBatch([]commitlog.Entry{e}, e.Position, e.Term, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		same(t, want, dump(t, again))
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLargeTransaction(t *testing.T) {
	s, l, err := OpenMem()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.opts.StageThreshold, s.opts.MaxTxnBytes, s.opts.SpillBytes, s.opts.SpillDir = 4000, 200000, 20000, t.TempDir()
	l.Keep()
	r := bulk(t, s, "big", 500)
	if n := len(l.Entries()); n < 10 {
		t.Fatalf("%d entries", n)
	}
	small := func() {
		t.Helper()
		for _, e := range l.Entries()[1:] {
			if len(e.Payload) > 4200 {
				t.Fatalf("entry of %d bytes", len(e.Payload))
			}
		}
	}
	small()
	if n := len(rows(t, openView(t, s), engine.ScanSpec{Rel: r})); n != 500 {
		t.Fatalf("%d rows", n)
	}
	noStaged := func() {
		t.Helper()
		lo, hi := storage.StagedRange(0)
		for k := range dump(t, s) {
			if k >= string(lo) && k < string(hi) {
				t.Fatalf("staged key %q left", k)
			}
		}
	}
	noStaged()

	// A value larger than a chunk goes in parts.
	tx0 := begin(t, s)
	long := strings.Repeat("0123456789", 3000)
	insert(t, tx0, r, sqltypes.Int(-1), sqltypes.Text(long))
	commit(t, tx0)
	expect(t, rows(t, openView(t, s), engine.ScanSpec{Rel: r, RowHint: 1, Spans: []engine.Span{{Hi: ints(0)}}}), "-1 "+long)
	small()
	tx0 = begin(t, s)
	ref, row, _, err := scanOne(tx0, r, -1)
	if err != nil {
		t.Fatal(err)
	}
	if err := tx0.Delete(context.Background(), &engine.WriteTarget{Rel: r}, ref, row); err != nil {
		t.Fatal(err)
	}
	commit(t, tx0)

	// Over the maximum: 54000, and what was staged goes away.
	tx := begin(t, s)
	for i := 1000; ; i++ {
		_, _, err = tx.Insert(context.Background(), &engine.WriteTarget{Rel: r}, []sqltypes.Datum{sqltypes.Int(int64(i)), sqltypes.Text("x")}, nil)
		if err != nil {
			break
		}
	}
	if pgerror.CodeOf(err) != pgerror.ProgramLimitExceeded {
		t.Fatal(err)
	}
	tx.Rollback()
	waitNoStaged(t, s)
	if n := len(rows(t, openView(t, s), engine.ScanSpec{Rel: r})); n != 500 {
		t.Fatalf("%d rows", n)
	}

	// Rolling back what was staged ahead leaves the rest.
	tx = begin(t, s)
	for i := range 100 {
		insert(t, tx, r, sqltypes.Int(int64(1000+i)), sqltypes.Text("x"))
	}
	mark := tx.Savepoint()
	for i := range 600 {
		insert(t, tx, r, sqltypes.Int(int64(2000+i)), sqltypes.Text("x"))
	}
	if err := tx.RollbackTo(mark); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		insert(t, tx, r, sqltypes.Int(int64(1000-1-i)), sqltypes.Text("x"))
	}
	commit(t, tx)
	noStaged()
	if n := len(rows(t, openView(t, s), engine.ScanSpec{Rel: r})); n != 700 {
		t.Fatalf("%d rows", n)
	}

	// A failure on the way leaves nothing visible, and the next term cleans up.
	n := 0
	l.SetFault(func([]byte) error {
		if n++; n > 3 {
			return commitlog.ErrNotAppended
		}
		return nil
	})
	tx = begin(t, s)
	err = nil
	for i := 0; i < 500 && err == nil; i++ {
		_, _, err = tx.Insert(context.Background(), &engine.WriteTarget{Rel: r}, []sqltypes.Datum{sqltypes.Int(int64(2000 + i)), sqltypes.Text("x")}, nil)
	}
	if err == nil {
		_, err = tx.Commit(context.Background())
	}
	tx.Rollback()
	if pgerror.CodeOf(err) != pgerror.TRSerializationFailure {
		t.Fatal(err)
	}
	l.SetFault(nil)
	l.NextTerm()
	waitTerm(t, s, 2)
	noStaged()
	if n := len(rows(t, openView(t, s), engine.ScanSpec{Rel: r})); n != 700 {
		t.Fatalf("%d rows", n)
	}
}

// waitNoStaged waits until nothing staged is left.
func waitNoStaged(t *testing.T, s *Shard) {
	t.Helper()
	lo, hi := storage.StagedRange(0)
	for deadline := time.Now().Add(10 * time.Second); ; runtime.Gosched() {
		it, err := s.cur.Load().db.NewIter(context.Background(), lo, hi)
		if err != nil {
			t.Fatal(err)
		}
		some := it.First()
		if err := it.Close(); err != nil {
			t.Fatal(err)
		}
		if !some {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("staged chunks are left")
		}
	}
}

func TestLeadershipChange(t *testing.T) {
	s, l := testEngine(t)
	r := counterTable(t, s, 2)
	ctx := context.Background()
	tx, waiting := begin(t, s), begin(t, s)
	if err := addTo(tx, r, 0, 1); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- addTo(waiting, r, 0, 1) }()
	waitBlocked(t, s)
	l.SetLeadership(commitlog.Leadership{Term: 2, LeaderID: "other"})
	if err := <-done; pgerror.CodeOf(err) != pgerror.TRSerializationFailure {
		t.Fatal(err)
	}
	if _, err := tx.Commit(ctx); pgerror.CodeOf(err) != pgerror.TRSerializationFailure {
		t.Fatal(err)
	}
	waiting.Rollback()
	if _, err := s.Begin(ctx, engine.TxnOptions{Database: testDB}); pgerror.CodeOf(err) != pgerror.ReadOnlySqlTransaction {
		t.Fatal(err)
	}
	local := begin(t, s, func(o *engine.TxnOptions) { o.Local = true })
	expect(t, rows(t, local, engine.ScanSpec{Rel: r}), "0 0", "1 0")
	if _, _, err := local.Insert(ctx, &engine.WriteTarget{Rel: r}, ints(3, 3), nil); pgerror.CodeOf(err) != pgerror.ReadOnlySqlTransaction {
		t.Fatal(err)
	}
	local.Rollback()
	xid := tx.XidIfAssigned()
	l.SetLeadership(commitlog.Leadership{Term: 3, IsLeader: true})
	waitTerm(t, s, 3)
	tx = begin(t, s)
	if err := addTo(tx, r, 0, 1); err != nil {
		t.Fatal(err)
	}
	commit(t, tx)
	if tx.XidIfAssigned() <= xid {
		t.Fatalf("xid %d after %d", tx.XidIfAssigned(), xid)
	}
}

// A commit of unknown outcome keeps its locks until the entry shows up.
func TestAmbiguous(t *testing.T) {
	s, l := testEngine(t)
	r := counterTable(t, s, 1)
	var late []byte
	l.SetFault(func(p []byte) error {
		late = append([]byte(nil), p...)
		return commitlog.ErrNotAppended
	})
	tx := begin(t, s)
	if err := addTo(tx, r, 0, 1); err != nil {
		t.Fatal(err)
	}
	// The log answers "unknown" and holds the entry back.
	s.clogMu.Lock()
	s.clog = ambiguousLog{l}
	s.clogMu.Unlock()
	if _, err := tx.Commit(context.Background()); pgerror.CodeOf(err) != pgerror.TRStatementCompletionUnknown {
		t.Fatal(err)
	} else if ask := fmt.Sprintf("pg_xact_status('%d')", tx.XidIfAssigned()); !strings.Contains(err.(*pgerror.Error).Hint, ask) {
		t.Errorf("hint %q", err.(*pgerror.Error).Hint)
	}
	s.clogMu.Lock()
	s.clog = l
	s.clogMu.Unlock()
	l.SetFault(nil)
	status := func(want engine.TxnStatus) {
		t.Helper()
		if st, err := s.TransactionStatus(context.Background(), tx.XidIfAssigned()); err != nil || st != want {
			t.Errorf("status %v, want %v, %v", st, want, err)
		}
	}
	status(engine.TxnInProgress)
	done := make(chan error)
	go func() {
		other := begin(t, s)
		err := addTo(other, r, 0, 10)
		if err == nil {
			_, err = other.Commit(context.Background())
		}
		done <- err
	}()
	waitBlocked(t, s)
	if _, err := l.Propose(context.Background(), 1, late); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := value(t, s, r, 0); got != 11 {
		t.Fatal(got)
	}
	status(engine.TxnCommitted)
}

type ambiguousLog struct{ *memlog.Log }

func (l ambiguousLog) Propose(ctx context.Context, term uint64, payload []byte) (commitlog.Position, error) {
	if _, err := l.Log.Propose(ctx, term, payload); err != nil {
		return commitlog.Position{}, commitlog.ErrAmbiguous
	}
	return commitlog.Position{}, commitlog.ErrAmbiguous
}

func TestCheckpointRestore(t *testing.T) {
	fs := storage.MemFS()
	open := func(dir string) (*Shard, *memlog.Log) {
		s, err := Open(Options{Dir: dir, FS: fs, FlushInterval: -1})
		if err != nil {
			t.Fatal(err)
		}
		l := memlog.New(s.Applier())
		s.AttachLog(l)
		if _, err := s.leading(context.Background()); err != nil {
			t.Fatal(err)
		}
		return s, l
	}
	a, _ := open("a")
	defer a.Close()
	r := bulk(t, a, "t", 50)
	st, err := a.Applier().Checkpoint(context.Background(), "copy")
	if err != nil || st.Position != a.Applied() {
		t.Fatal(st, err)
	}
	want := dump(t, a)
	bulk(t, a, "later", 5)

	b, _ := open("b")
	bulk(t, b, "other", 10)
	v := openView(t, b)
	sc, err := v.Scan(context.Background(), engine.ScanSpec{Rel: b.Catalog(testDB).RelationByName(catalog.SchemaPublic, "other"), Cols: []int16{1}, RowHint: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Applier().Restore(context.Background(), "copy"); err != nil {
		t.Fatal(err)
	}
	if _, err := sc.Next(nil); pgerror.CodeOf(err) != pgerror.SnapshotTooOld {
		t.Fatal(err)
	}
	if _, err := v.Scan(context.Background(), engine.ScanSpec{Rel: r}); pgerror.CodeOf(err) != pgerror.SnapshotTooOld {
		t.Fatal(err)
	}
	sc.Close()
	v.Close()
	same(t, want, dump(t, b))
	if got := b.Applier().Applied(); got.Position != st.Position {
		t.Fatal(got)
	}
	if n := len(rows(t, openView(t, b), engine.ScanSpec{Rel: b.Catalog(testDB).Relation(r.OID)})); n != 50 {
		t.Fatal(n)
	}
	_ = b.cur.Load().db
}

// Savepoints: whatever is rolled back to, the transaction sees and commits the model.
func TestSavepoints(t *testing.T) {
	ctx := context.Background()
	for seed := range int64(20) {
		s, _ := testEngine(t)
		if seed%2 == 1 {
			s.opts.SpillBytes, s.opts.SpillDir = 400, t.TempDir()
		}
		r := counterTable(t, s, 5)
		model := map[int64]int64{0: 0, 1: 0, 2: 0, 3: 0, 4: 0}
		type mark struct {
			id    engine.SavepointID
			model map[int64]int64
			locks int
		}
		var marks []mark
		clone := func() map[int64]int64 {
			m := map[int64]int64{}
			for k, v := range model {
				m[k] = v
			}
			return m
		}
		rnd := rand.New(rand.NewSource(seed))
		tx := begin(t, s)
		for range 80 {
			if err := tx.StartStatement(ctx); err != nil {
				t.Fatal(err)
			}
			switch rnd.Intn(6) {
			case 0:
				marks = append(marks, mark{tx.Savepoint(), clone(), tx.owner.Mark()})
			case 1:
				if len(marks) > 0 {
					i := rnd.Intn(len(marks))
					if err := tx.RollbackTo(marks[i].id); err != nil {
						t.Fatal(err)
					}
					if tx.owner.Mark() != marks[i].locks {
						t.Fatalf("%d locks, want %d", tx.owner.Mark(), marks[i].locks)
					}
					model = marks[i].model
					marks = marks[:i+1]
					marks[i].model = clone()
				}
			case 2:
				if len(marks) > 0 {
					i := rnd.Intn(len(marks))
					tx.Release(marks[i].id)
					marks = marks[:i]
				}
			default:
				key := rnd.Int63n(12)
				ref, row, found, err := scanOne(tx, r, key)
				if err != nil {
					t.Fatal(err)
				}
				if v, has := model[key]; has != found || found && row[1].I != v {
					t.Fatalf("key %d: found %v %v, model %v %d", key, found, row, has, v)
				}
				wt := &engine.WriteTarget{Rel: r}
				n := rnd.Int63n(100)
				switch {
				case !found:
					_, _, err = tx.Insert(ctx, wt, ints(key, n), nil)
					model[key] = n
				case rnd.Intn(2) == 0:
					err = tx.Delete(ctx, wt, ref, row)
					delete(model, key)
				default:
					_, err = tx.Update(ctx, wt, ref, row, ints(key, n))
					model[key] = n
				}
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		commit(t, tx)
		var want []string
		for k := range int64(12) {
			if v, ok := model[k]; ok {
				want = append(want, fmt.Sprintf("%d %d", k, v))
			}
		}
		expect(t, rows(t, openView(t, s), engine.ScanSpec{Rel: r}), want...)
	}
}

func newRNG(seed int64) *randv2.Rand { return randv2.New(randv2.NewPCG(uint64(seed), 1)) }
