package logtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"ostraka/engine/commitlog"
)

// Fixture is one replica's log, new and empty, with stable storage that outlives
// a Log: Open, Close, Open again is a restart.
type Fixture struct {
	// Open opens the log over the storage and drives ap. The log must come to
	// lead by itself.
	Open func(t *testing.T, ap commitlog.Applier) commitlog.Log
	// MaxPayload is the largest payload the log accepts.
	MaxPayload int
}

// Run runs the suite; setup is called once per test.
func Run(t *testing.T, setup func(t *testing.T) Fixture) {
	tests := []struct {
		name string
		run  func(*testing.T, Fixture)
	}{
		{"Order", testOrder},
		{"GroupCommit", testGroupCommit},
		{"StaleTerm", testStaleTerm},
		{"Guard", testGuard},
		{"TooLarge", testTooLarge},
		{"Cancelled", testCancelled},
		{"ReadBarrier", testReadBarrier},
		{"Restart", testRestart},
		{"CrashBehindTruncation", testCrashBehindTruncation},
		{"Close", testClose},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.run(t, setup(t)) })
	}
}

const patience = 20 * time.Second

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// AwaitLeader waits until l leads and returns the term.
func AwaitLeader(ctx context.Context, t testing.TB, l commitlog.Log) uint64 {
	t.Helper()
	for {
		changed := l.LeadershipChanged()
		if s := l.Leadership(); s.IsLeader {
			return s.Term
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("no leadership: %+v", l.Leadership())
		}
	}
}

func open(t *testing.T, f Fixture, r *Recorder) (context.Context, commitlog.Log, uint64) {
	t.Helper()
	ctx := testContext(t)
	l := f.Open(t, r)
	t.Cleanup(func() { l.Close() })
	return ctx, l, AwaitLeader(ctx, t, l)
}

// verify compares what was applied with want, in order.
func verify(t *testing.T, r *Recorder, want []string) {
	t.Helper()
	if err := r.Violation(); err != nil {
		t.Error(err)
	}
	got := r.Records()
	if len(got) != len(want) {
		t.Fatalf("%d payloads applied, want %d", len(got), len(want))
	}
	for i := range want {
		if string(got[i].Payload) != want[i] {
			t.Fatalf("payload %d is %q, want %q", i, got[i].Payload, want[i])
		}
	}
}

func testOrder(t *testing.T, f Fixture) {
	r := NewRecorder()
	ctx, l, term := open(t, f, r)
	var want []string
	var before commitlog.Position
	for i := range 50 {
		p := fmt.Sprintf("p%d", i)
		pos, err := l.Propose(ctx, term, []byte(p))
		if err != nil {
			t.Fatal(err)
		}
		if !before.Less(pos) {
			t.Fatalf("position %v after %v", pos, before)
		}
		before = pos
		want = append(want, p)
		recs := r.Records()
		if got := recs[len(recs)-1]; string(got.Payload) != p || got.Position != pos {
			t.Fatalf("acknowledged %q at %v, applied last is %q at %v", p, pos, got.Payload, got.Position)
		}
	}
	verify(t, r, want)
}

func testGroupCommit(t *testing.T, f Fixture) {
	r := NewRecorder()
	ctx, l, term := open(t, f, r)
	type ack struct {
		pos commitlog.Position
		p   string
	}
	var mu sync.Mutex
	var acks []ack
	var wg sync.WaitGroup
	for c := range 16 {
		wg.Go(func() {
			for i := range 40 {
				p := fmt.Sprintf("%d/%d", c, i)
				pos, err := l.Propose(ctx, term, []byte(p))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				acks = append(acks, ack{pos, p})
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	at := map[string]commitlog.Position{}
	entries := map[commitlog.Position]bool{}
	for _, rec := range r.Records() {
		if _, twice := at[string(rec.Payload)]; twice {
			t.Errorf("%q applied twice", rec.Payload)
		}
		at[string(rec.Payload)] = rec.Position
		entries[rec.Position] = true
	}
	for _, a := range acks {
		if at[a.p] != a.pos {
			t.Errorf("%q acknowledged at %v, applied at %v", a.p, a.pos, at[a.p])
		}
	}
	if err := r.Violation(); err != nil {
		t.Error(err)
	}
	if n := len(entries); n == 16*40 {
		t.Errorf("%d proposals of 16 clients took %d entries: they never shared one", 16*40, n)
	}
}

func testStaleTerm(t *testing.T, f Fixture) {
	r := NewRecorder()
	ctx, l, term := open(t, f, r)
	for _, stale := range []uint64{0, term - 1, term + 1} {
		_, err := l.Propose(ctx, stale, []byte("stale"))
		if !errors.Is(err, commitlog.ErrNotAppended) && !errors.Is(err, commitlog.ErrRefused) {
			t.Errorf("proposal of term %d in term %d: %v", stale, term, err)
		}
	}
	if _, err := l.Propose(ctx, term, []byte("fresh")); err != nil {
		t.Fatal(err)
	}
	verify(t, r, []string{"fresh"})
}

func testGuard(t *testing.T, f Fixture) {
	r := NewRecorder()
	ctx, l, term := open(t, f, r)
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			p := fmt.Sprintf("ok%d", i)
			if i%2 == 0 {
				p = RefusePrefix + p
			}
			_, err := l.Propose(ctx, term, []byte(p))
			if refused := errors.Is(err, commitlog.ErrRefused); refused != (i%2 == 0) || !refused && err != nil {
				t.Errorf("%s: %v", p, err)
			}
		})
	}
	wg.Wait()
	if n := len(r.Records()); n != 20 {
		t.Errorf("%d applied, want 20", n)
	}
}

func testTooLarge(t *testing.T, f Fixture) {
	r := NewRecorder()
	ctx, l, term := open(t, f, r)
	if _, err := l.Propose(ctx, term, make([]byte, f.MaxPayload+1)); !errors.Is(err, commitlog.ErrTooLarge) {
		t.Errorf("payload of %d bytes: %v", f.MaxPayload+1, err)
	}
	big := bytes.Repeat([]byte("x"), f.MaxPayload)
	if _, err := l.Propose(ctx, term, big); err != nil {
		t.Fatal(err)
	}
	verify(t, r, []string{string(big)})
}

func testCancelled(t *testing.T, f Fixture) {
	r := NewRecorder()
	ctx, l, term := open(t, f, r)
	dead, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := l.Propose(dead, term, []byte("dead")); !errors.Is(err, commitlog.ErrNotAppended) || !errors.Is(err, context.Canceled) {
		t.Errorf("proposal under a dead context: %v", err)
	}
	// Whatever a cancelled proposal says must be true.
	var wg sync.WaitGroup
	var mu sync.Mutex
	outcomes := map[string]error{}
	for i := range 200 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, time.Duration(i)*20*time.Microsecond)
			defer cancel()
			p := fmt.Sprintf("c%d", i)
			_, err := l.Propose(ctx, term, []byte(p))
			mu.Lock()
			outcomes[p] = err
			mu.Unlock()
		})
	}
	wg.Wait()
	if _, err := l.Propose(ctx, term, []byte("end")); err != nil {
		t.Fatal(err)
	}
	applied := map[string]bool{}
	for _, rec := range r.Records() {
		applied[string(rec.Payload)] = true
	}
	for p, err := range outcomes {
		switch {
		case err == nil:
			if !applied[p] {
				t.Errorf("%s acknowledged but not applied", p)
			}
		case errors.Is(err, commitlog.ErrNotAppended):
			if applied[p] {
				t.Errorf("%s applied although %v", p, err)
			}
		case errors.Is(err, commitlog.ErrAmbiguous) && errors.Is(err, context.DeadlineExceeded):
		default:
			t.Errorf("%s: %v", p, err)
		}
	}
}

func testReadBarrier(t *testing.T, f Fixture) {
	r := NewRecorder()
	ctx, l, term := open(t, f, r)
	for i := range 20 {
		pos, err := l.Propose(ctx, term, fmt.Appendf(nil, "p%d", i))
		if err != nil {
			t.Fatal(err)
		}
		b, err := l.ReadBarrier(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if b.Less(pos) {
			t.Fatalf("barrier %v misses the write at %v", b, pos)
		}
		if err := r.WaitApplied(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
}

// testRestart restarts with a state that has flushed part of the log.
func testRestart(t *testing.T, f Fixture) {
	r := NewRecorder()
	var want []string
	last := uint64(0)
	for round := range 3 {
		ctx := testContext(t)
		l := f.Open(t, r)
		term := AwaitLeader(ctx, t, l)
		if term <= last {
			t.Fatalf("term %d after a restart, was %d", term, last)
		}
		last = term
		verify(t, r, want)
		for i := range 30 {
			p := fmt.Sprintf("%d/%d", round, i)
			if _, err := l.Propose(ctx, term, []byte(p)); err != nil {
				t.Fatal(err)
			}
			want = append(want, p)
			if i == 10*round {
				r.Flush()
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		r = r.Crash()
	}
	ctx, l, term := open(t, f, r)
	if _, err := l.Propose(ctx, term, []byte("end")); err != nil {
		t.Fatal(err)
	}
	verify(t, r, append(want, "end"))
}

func testCrashBehindTruncation(t *testing.T, f Fixture) {
	r := NewRecorder()
	ctx := testContext(t)
	l := f.Open(t, r)
	term := AwaitLeader(ctx, t, l)
	var want []string
	for i := range 200 {
		p := fmt.Sprintf("p%d", i)
		if _, err := l.Propose(ctx, term, []byte(p)); err != nil {
			t.Fatal(err)
		}
		want = append(want, p)
		if i%20 == 0 {
			l.Truncate(r.Flush())
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	r = r.Crash()
	_, _, _ = open(t, f, r)
	verify(t, r, want)
}

func testClose(t *testing.T, f Fixture) {
	r := NewRecorder()
	ctx, l, term := open(t, f, r)
	changed := l.LeadershipChanged()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
	case <-ctx.Done():
		t.Fatal("LeadershipChanged stays open after Close")
	}
	if l.Leadership().IsLeader {
		t.Error("leads after Close")
	}
	if _, err := l.Propose(ctx, term, []byte("late")); !errors.Is(err, commitlog.ErrNotAppended) {
		t.Errorf("proposal after Close: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	verify(t, r, nil)
}
