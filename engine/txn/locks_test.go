package txn

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"strings"
	"sync"
	"testing"
	"time"

	"ostraka/sqltypes/pgerror"
)

func TestConflictTables(t *testing.T) {
	// Rows as PostgreSQL's documentation prints them: x conflicts, . does not.
	tables := map[Class][]string{
		ClassRow: {"...x", "..xx", ".xxx", "xxxx"},
		ClassRelation: {".......x", "......xx", "....xxxx", "...xxxxx", "..xx.xxx",
			"..xxxxxx", ".xxxxxxx", "xxxxxxxx"},
		ClassAdvisory: {".x", "xx"},
	}
	for class, rows := range tables {
		for i, row := range rows {
			for j, c := range row {
				tab := NewTable(0)
				a, b := new(Owner), new(Owner)
				if err := tab.Acquire(context.Background(), a, class, "k", uint8(i+1), Wait{}); err != nil {
					t.Fatal(err)
				}
				err := tab.Acquire(context.Background(), b, class, "k", uint8(j+1), Wait{No: true})
				if got := errors.Is(err, ErrNotAvailable); got != (c == 'x') {
					t.Errorf("class %d: %s beside %s: %v", class, ModeName(class, uint8(j+1)), ModeName(class, uint8(i+1)), err)
				}
				tab.ReleaseTo(b, 0)
				tab.ReleaseTo(a, 0)
				if n := tab.count.Load(); n != 0 {
					t.Errorf("%d entries left", n)
				}
			}
		}
	}
}

// waitFor polls a condition that another goroutine is about to make true.
func waitFor(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never happened: %s", what)
		}
	}
}

func TestWaitUpgradeRollback(t *testing.T) {
	ctx := context.Background()
	tab := NewTable(0)
	a, b := &Owner{PID: 1}, &Owner{PID: 2}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(tab.Acquire(ctx, a, ClassRow, "k", 1, Wait{}))
	mark := a.Mark()
	must(tab.Acquire(ctx, a, ClassRow, "k", 4, Wait{})) // upgrade
	if err := tab.Acquire(ctx, b, ClassRow, "k", 1, Wait{No: true}); !errors.Is(err, ErrNotAvailable) {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- tab.Acquire(ctx, b, ClassRow, "k", 1, Wait{}) }()
	waitFor(t, "b waits", func() bool { return b.waiting.Load() != nil })
	tab.ReleaseTo(a, mark) // back to KEY SHARE
	must(<-done)
	if !tab.Holds(a, ClassRow, "k", 1) || tab.Holds(a, ClassRow, "k", 4) {
		t.Fatal("a should hold KEY SHARE only")
	}
	// An upgrade goes before a stranger that waits already.
	c := &Owner{PID: 3}
	go func() { done <- tab.Acquire(ctx, c, ClassRow, "k", 4, Wait{}) }()
	waitFor(t, "c waits", func() bool { return c.waiting.Load() != nil })
	must(tab.Acquire(ctx, b, ClassRow, "k", 3, Wait{}))
	tab.ReleaseTo(a, 0)
	tab.ReleaseTo(b, 0)
	must(<-done)
	// Timeouts, cancellation and the end of the term.
	if err := tab.Acquire(ctx, a, ClassRow, "k", 1, Wait{Timeout: time.Millisecond}); pgerror.CodeOf(err) != pgerror.LockNotAvailable {
		t.Fatal(err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := tab.Acquire(cancelled, a, ClassRow, "k", 1, Wait{}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	go func() { done <- tab.Acquire(ctx, a, ClassRow, "k", 1, Wait{}) }()
	waitFor(t, "a waits", func() bool { return a.waiting.Load() != nil })
	tab.Close()
	if err := <-done; !errors.Is(err, ErrTermOver) {
		t.Fatal(err)
	}
}

func TestRowLockPassesWaiters(t *testing.T) {
	ctx := context.Background()
	for class, passes := range map[Class]bool{ClassRow: true, ClassAdvisory: false} {
		weak, strong := uint8(2), uint8(4)
		if class == ClassAdvisory {
			weak, strong = AdvisoryShared, AdvisoryExclusive
		}
		tab := NewTable(0)
		a, b, c := &Owner{PID: 1}, &Owner{PID: 2}, &Owner{PID: 3}
		if err := tab.Acquire(ctx, a, class, "k", weak, Wait{}); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- tab.Acquire(ctx, b, class, "k", strong, Wait{}) }()
		waitFor(t, "b waits", func() bool { return b.waiting.Load() != nil })
		err := tab.Acquire(ctx, c, class, "k", weak, Wait{No: true})
		if passes != (err == nil) {
			t.Errorf("class %d: a shared lock beside a shared holder and an exclusive waiter: %v", class, err)
		}
		tab.ReleaseTo(a, 0)
		tab.ReleaseTo(c, 0)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestDeadlock(t *testing.T) {
	ctx := context.Background()
	for n := 2; n <= 4; n++ {
		tab := NewTable(0)
		owners := make([]*Owner, n)
		for i := range owners {
			owners[i] = &Owner{PID: int32(100 + i)}
			owners[i].Xid.Store(uint64(700 + i))
			if err := tab.Acquire(ctx, owners[i], ClassRow, fmt.Sprint("k", i), 4, Wait{}); err != nil {
				t.Fatal(err)
			}
		}
		var wg sync.WaitGroup
		for i := 0; i < n-1; i++ {
			wg.Add(1)
			go func() {
				defer wg.Done()
				if err := tab.Acquire(ctx, owners[i], ClassRow, fmt.Sprint("k", i+1), 4, Wait{}); err != nil {
					t.Error(err)
				}
				tab.ReleaseTo(owners[i], 0)
			}()
			waitFor(t, "it waits", func() bool { return owners[i].waiting.Load() != nil })
		}
		err := tab.Acquire(ctx, owners[n-1], ClassRow, "k0", 4, Wait{})
		var pe *pgerror.Error
		if !errors.As(err, &pe) || pe.Code != pgerror.TRDeadlockDetected || pe.Message != "deadlock detected" {
			t.Fatal(err)
		}
		lines := strings.Split(pe.Detail, "\n")
		want := fmt.Sprintf("Process %d waits for ShareLock on transaction 700; blocked by process 100.", 100+n-1)
		if len(lines) != n || lines[0] != want {
			t.Fatalf("detail %q, want %d lines, the first %q", pe.Detail, n, want)
		}
		tab.ReleaseTo(owners[n-1], 0)
		wg.Wait()
		if c := tab.count.Load(); c != 0 {
			t.Errorf("%d entries left", c)
		}
	}
}

// Owners that take random locks exclude each other, and whatever happens ends.
func TestLocksUnderLoad(t *testing.T) {
	tab := NewTable(0)
	const keys = 5
	var inside [keys]struct {
		sync.Mutex
		modes map[*Owner]uint8
	}
	for i := range inside {
		inside[i].modes = map[*Owner]uint8{}
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r := rand.New(rand.NewSource(int64(g)))
			for range 400 {
				o := &Owner{PID: int32(g)}
				held := map[int]uint8{}
				for range r.Intn(4) + 1 {
					k, m := r.Intn(keys), uint8(r.Intn(4)+1)
					err := tab.Acquire(context.Background(), o, ClassRow, fmt.Sprint(k), m, Wait{No: r.Intn(5) == 0})
					if errors.Is(err, ErrNotAvailable) {
						continue
					}
					if err != nil {
						if pgerror.CodeOf(err) != pgerror.TRDeadlockDetected {
							t.Error(err)
						}
						break
					}
					m = max(m, held[k])
					held[k] = m
					x := &inside[k]
					x.Lock()
					for other, om := range x.modes {
						if other != o && conflicts[ClassRow][m]&(1<<om) != 0 {
							t.Errorf("key %d: modes %d and %d together", k, m, om)
						}
					}
					x.modes[o] = m
					x.Unlock()
				}
				for k := range held {
					inside[k].Lock()
					delete(inside[k].modes, o)
					inside[k].Unlock()
				}
				tab.ReleaseTo(o, 0)
			}
		}()
	}
	wg.Wait()
	if c := tab.count.Load(); c != 0 {
		t.Errorf("%d entries left", c)
	}
}

func TestMaxLocks(t *testing.T) {
	tab := NewTable(3)
	o := new(Owner)
	for i := range 4 {
		err := tab.Acquire(context.Background(), o, ClassRow, fmt.Sprint(i), 4, Wait{})
		if (err != nil) != (i == 3) {
			t.Fatal(i, err)
		}
	}
}

func BenchmarkAcquireRelease(b *testing.B) {
	tab := NewTable(0)
	o := new(Owner)
	b.ReportAllocs()
	for range b.N {
		if err := tab.Acquire(context.Background(), o, ClassRow, "some key of a row", 3, Wait{}); err != nil {
			b.Fatal(err)
		}
		tab.ReleaseTo(o, 0)
	}
}
