package logstore

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	hraft "github.com/hashicorp/raft"
	"pgregory.net/rapid"
)

func entry(index, term uint64, data string) *hraft.Log {
	return &hraft.Log{Index: index, Term: term, Type: hraft.LogCommand, Data: []byte(data), AppendedAt: time.Unix(1, 2)}
}

func openDB(t testing.TB, fs vfs.FS) *DB {
	t.Helper()
	d, err := Open("log", Options{FS: fs, Fatal: func(err error) { t.Errorf("fatal: %v", err) }})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func openLog(t testing.TB, d *DB, group uint32) *Store {
	t.Helper()
	s, err := d.Log(group, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAgainstModel runs random operations against a map, with reopening.
func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		fs := vfs.NewMem()
		d := openDB(t, fs)
		defer func() { d.Close() }()
		other := openLog(t, d, 8)
		if err := other.StoreLog(entry(5, 1, "other")); err != nil {
			rt.Fatal(err)
		}
		s, err := d.Log(7, rapid.SampledFrom([]int{1, 500, 1 << 20}).Draw(rt, "cache"))
		if err != nil {
			rt.Fatal(err)
		}
		var model, gone []*hraft.Log // gone: a truncated prefix, which may be back after opening
		term := uint64(1)
		check := func() {
			first, _ := s.FirstIndex()
			last, _ := s.LastIndex()
			if len(model) == 0 {
				if first != 0 || last != 0 || s.Bytes() != 0 {
					rt.Fatalf("empty log is %d..%d of %d bytes", first, last, s.Bytes())
				}
				return
			}
			if first != model[0].Index || last != model[len(model)-1].Index {
				rt.Fatalf("log is %d..%d, want %d..%d", first, last, model[0].Index, model[len(model)-1].Index)
			}
			for _, want := range model {
				var got hraft.Log
				if err := s.GetLog(want.Index, &got); err != nil {
					rt.Fatal(err)
				}
				if got.Term != want.Term || got.Type != want.Type || !bytes.Equal(got.Data, want.Data) || !bytes.Equal(got.Extensions, want.Extensions) || !got.AppendedAt.Equal(want.AppendedAt) {
					rt.Fatalf("got %+v, want %+v", got, want)
				}
			}
			var l hraft.Log
			for _, out := range []uint64{first - 1, last + 1} {
				if err := s.GetLog(out, &l); err != hraft.ErrLogNotFound {
					rt.Fatalf("entry %d: %v", out, err)
				}
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(rt *rapid.T) {
				next := uint64(rapid.IntRange(1, 50).Draw(rt, "start"))
				if len(model) > 0 {
					next = model[len(model)-1].Index + 1
				}
				term += uint64(rapid.IntRange(0, 2).Draw(rt, "term"))
				var batch []*hraft.Log
				for i := range rapid.IntRange(1, 4).Draw(rt, "n") {
					l := entry(next+uint64(i), term, rapid.StringN(0, 40, -1).Draw(rt, "data"))
					l.Type = hraft.LogType(rapid.IntRange(0, 5).Draw(rt, "type"))
					if rapid.Bool().Draw(rt, "ext") {
						l.Extensions = []byte("ext")
					}
					batch = append(batch, l)
				}
				if err := s.StoreLogs(batch); err != nil {
					rt.Fatal(err)
				}
				model = append(model, batch...)
			},
			"gap": func(rt *rapid.T) {
				if len(model) == 0 {
					rt.Skip()
				}
				if err := s.StoreLog(entry(model[len(model)-1].Index+2, term, "")); err == nil {
					rt.Fatal("a gap was accepted")
				}
			},
			"prefix": func(rt *rapid.T) {
				if len(model) == 0 {
					rt.Skip()
				}
				n := rapid.IntRange(1, len(model)).Draw(rt, "n")
				if err := s.DeleteRange(0, model[n-1].Index); err != nil {
					rt.Fatal(err)
				}
				gone, model = append(gone, model[:n]...), model[n:]
				if len(model) == 0 {
					gone = nil
				}
			},
			"suffix": func(rt *rapid.T) {
				if len(model) == 0 {
					rt.Skip()
				}
				n := rapid.IntRange(0, len(model)-1).Draw(rt, "n")
				if err := s.DeleteRange(model[n].Index, model[len(model)-1].Index); err != nil {
					rt.Fatal(err)
				}
				model = model[:n]
				if n == 0 {
					gone = nil
				}
			},
			"reopen": func(rt *rapid.T) {
				if err := d.Close(); err != nil {
					rt.Fatal(err)
				}
				d = openDB(t, fs)
				s = openLog(t, d, 7)
				if first, _ := s.FirstIndex(); len(model) > 0 && first < model[0].Index {
					back := int(model[0].Index - first)
					if back > len(gone) {
						rt.Fatalf("log begins at %d", first)
					}
					model = append(slices.Clone(gone[len(gone)-back:]), model...)
					gone = gone[:len(gone)-back]
				}
			},
			"": func(*rapid.T) { check() },
		})
		if n, _ := openLog(t, d, 8).LastIndex(); n != 5 {
			rt.Fatalf("the other group ends at %d", n)
		}
	})
}

func TestStable(t *testing.T) {
	fs := vfs.NewMem()
	d := openDB(t, fs)
	s := d.Stable(3)
	if _, err := s.Get([]byte("k")); err == nil || err.Error() != "not found" {
		t.Errorf("missing key: %v", err)
	}
	if _, err := s.GetUint64([]byte("k")); err == nil || err.Error() != "not found" {
		t.Errorf("missing number: %v", err)
	}
	if err := errors.Join(s.SetUint64([]byte("n"), 42), s.Set([]byte("k"), []byte("v")), d.Close()); err != nil {
		t.Fatal(err)
	}
	d = openDB(t, fs)
	defer d.Close()
	if n, err := d.Stable(3).GetUint64([]byte("n")); n != 42 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if v, err := d.Stable(3).Get([]byte("k")); string(v) != "v" || err != nil {
		t.Errorf("%q, %v", v, err)
	}
	if _, err := d.Stable(4).Get([]byte("k")); err == nil {
		t.Error("groups share stable records")
	}
}

func TestRepair(t *testing.T) {
	tests := []struct {
		name                string
		first, last, term   uint64 // of the log
		index, stateTerm    uint64 // of the state
		wantFirst, wantLast uint64
		gap                 bool
	}{
		{"empty log", 0, 0, 0, 9, 1, 0, 0, false},
		{"log ahead", 5, 20, 2, 10, 2, 5, 20, false},
		{"log begins right after the state", 11, 20, 2, 10, 2, 11, 20, false},
		{"log ends at the state", 5, 10, 2, 10, 2, 5, 10, false},
		{"log behind the state", 5, 9, 2, 10, 2, 0, 0, false},
		{"another branch", 5, 20, 2, 10, 3, 0, 0, false},
		{"entries missing", 12, 20, 2, 10, 2, 12, 20, true},
		{"empty state, whole log", 1, 20, 2, 0, 0, 1, 20, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := openDB(t, vfs.NewMem())
			defer d.Close()
			s := openLog(t, d, 0)
			for i := tt.first; i <= tt.last && i > 0; i++ {
				if err := s.StoreLog(entry(i, tt.term, "x")); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Repair(tt.index, tt.stateTerm); errors.Is(err, ErrGap) != tt.gap || !tt.gap && err != nil {
				t.Fatal(err)
			}
			first, _ := s.FirstIndex()
			last, _ := s.LastIndex()
			if first != tt.wantFirst || last != tt.wantLast {
				t.Errorf("log is %d..%d, want %d..%d", first, last, tt.wantFirst, tt.wantLast)
			}
		})
	}
}

// TestAnchor: a checkpoint at 10 of term 3 over a log whose 10 is of term 2.
func TestAnchor(t *testing.T) {
	fs := vfs.NewMem()
	d := openDB(t, fs)
	s := openLog(t, d, 0)
	for i := uint64(5); i <= 20; i++ {
		if err := s.StoreLog(entry(i, 2, "stale")); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Anchor(10, 3); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		if term, ok := s.Term(10); !ok || term != 3 {
			t.Errorf("term at 10 is %d, %v", term, ok)
		}
		if last, _ := s.LastIndex(); last != 20 {
			t.Errorf("log ends at %d", last)
		}
	}
	check()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = openDB(t, fs)
	defer d.Close()
	s = openLog(t, d, 0)
	check()
	if err := s.DeleteRange(11, 20); err != nil {
		t.Fatal(err)
	}
	if err := s.StoreLog(entry(11, 3, "right")); err != nil {
		t.Fatal(err)
	}
}

func TestTrailingStart(t *testing.T) {
	d := openDB(t, vfs.NewMem())
	defer d.Close()
	s := openLog(t, d, 0)
	if got := s.TrailingStart(5, 1000); got != 0 {
		t.Errorf("empty log: %d", got)
	}
	for i := uint64(1); i <= 100; i++ {
		if err := s.StoreLog(entry(i, 1, strings.Repeat("x", 100))); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ n, b, want uint64 }{{5, 1 << 20, 96}, {1000, 1 << 20, 1}, {1000, 300, 99}, {1000, 1, 100}, {1, 1 << 20, 100}} {
		if got := s.TrailingStart(tt.n, tt.b); got != tt.want {
			t.Errorf("%d entries, %d bytes: %d, want %d", tt.n, tt.b, got, tt.want)
		}
	}
}

// TestLazy: entries are on stable storage when WaitDurable returns, the syncer
// follows by itself, and only commands of a leader are lazy.
func TestLazy(t *testing.T) {
	fs := vfs.NewCrashableMem()
	d := openDB(t, fs)
	defer d.Close()
	s := openLog(t, d, 0)
	leads := true
	s.SetLazy(func() bool { return leads })
	after := func() uint64 {
		t.Helper()
		c := openDB(t, fs.CrashClone(vfs.CrashCloneCfg{}))
		defer c.Close()
		last, _ := openLog(t, c, 0).LastIndex()
		return last
	}
	for i := uint64(1); i <= 20; i++ {
		if err := s.StoreLog(entry(i, 1, "x")); err != nil {
			t.Fatal(err)
		}
		if err := s.WaitDurable(i); err != nil || s.Durable() < i || after() < i {
			t.Fatalf("entry %d: durable %d, on disk %d, %v", i, s.Durable(), after(), err)
		}
	}
	if err := s.StoreLog(entry(21, 1, "x")); err != nil {
		t.Fatal(err)
	}
	for s.Durable() < 21 {
		runtime.Gosched()
	}
	noop := entry(22, 1, "")
	noop.Type = hraft.LogNoop
	if err := s.StoreLogs([]*hraft.Log{noop}); err != nil || after() != 22 {
		t.Errorf("a no-op was lazy: %v", err)
	}
	leads = false
	if err := s.StoreLog(entry(23, 1, "x")); err != nil || after() != 23 {
		t.Errorf("a follower was lazy: %v", err)
	}
}

// TestSegments: logs of many segments are read back, truncation frees the files,
// cuts go back over segments, and a crash in any of it leaves a log.
func TestSegments(t *testing.T) {
	fs := vfs.NewMem()
	d := openDB(t, fs)
	s := openLog(t, d, 0)
	big := strings.Repeat("b", 1<<20)
	for i := uint64(1); i <= 40; i++ {
		if err := s.StoreLog(entry(i, 1, big)); err != nil {
			t.Fatal(err)
		}
	}
	files := func() int {
		names, err := fs.List("log/group-0")
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	if n := files(); n != 3 {
		t.Fatalf("%d segments", n)
	}
	if err := s.DeleteRange(1, 20); err != nil {
		t.Fatal(err)
	}
	if n := files(); n != 2 {
		t.Errorf("%d segments after the first 20 entries are gone", n)
	}
	if err := s.Anchor(30, 2); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteRange(32, 40); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if last, _ := s.LastIndex(); last != 31 {
			t.Fatalf("log ends at %d", last)
		}
		if term, _ := s.Term(30); term != 2 {
			t.Errorf("entry 30 is of term %d", term)
		}
		d.Close()
		d = openDB(t, fs)
		s = openLog(t, d, 0)
	}
	if err := s.DeleteRange(25, 31); err != nil {
		t.Fatal(err)
	}
	for i := uint64(25); i <= 33; i++ {
		if err := s.StoreLog(entry(i, 3, "new")); err != nil {
			t.Fatal(err)
		}
	}
	d.Close()
	d = openDB(t, fs)
	defer d.Close()
	s = openLog(t, d, 0)
	if term, _ := s.Term(30); term != 3 {
		t.Errorf("entry 30 is of term %d after it was overwritten", term)
	}
}

// TestCrashes runs random appends, cuts and truncations and takes the power at
// random moments: what was stored is there, what was cut is not.
func TestCrashes(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		fs := vfs.NewCrashableMem()
		d := openDB(t, fs)
		s := openLog(t, d, 0)
		var model []*hraft.Log
		term := uint64(1)
		for range 60 {
			switch k := rng.IntN(10); {
			case k < 6:
				next := uint64(1)
				if len(model) > 0 {
					next = model[len(model)-1].Index + 1
				}
				var batch []*hraft.Log
				for i := range uint64(1 + rng.IntN(4)) {
					batch = append(batch, entry(next+i, term, strings.Repeat("x", rng.IntN(9000))))
				}
				if err := s.StoreLogs(batch); err != nil {
					t.Fatal(err)
				}
				model = append(model, batch...)
			case k < 7 && len(model) > 0:
				n := rng.IntN(len(model))
				lo := model[n].Index
				if n == 0 {
					lo = 0 // with a truncated prefix that is back
				}
				if err := s.DeleteRange(lo, model[len(model)-1].Index); err != nil {
					t.Fatal(err)
				}
				model = model[:n]
				term++
			case k < 8 && len(model) > 1:
				n := 1 + rng.IntN(len(model)-1)
				if err := s.DeleteRange(0, model[n-1].Index); err != nil {
					t.Fatal(err)
				}
				model = model[n:]
			default:
				clone := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
				d.Close()
				fs = clone
				d = openDB(t, fs)
				s = openLog(t, d, 0)
			}
			var first, last, size uint64
			if size = uint64(len(model)); size > 0 {
				first, last = model[0].Index, model[size-1].Index
			}
			f, _ := s.FirstIndex()
			if l, _ := s.LastIndex(); l != last || f > first || (last == 0) != (f == 0) {
				t.Fatalf("seed %d: log is %d..%d, want %d..%d", seed, f, l, first, last)
			}
			for _, want := range model {
				var got hraft.Log
				if err := s.GetLog(want.Index, &got); err != nil || got.Term != want.Term || !bytes.Equal(got.Data, want.Data) {
					t.Fatalf("seed %d: entry %d: %v, term %d, want %d", seed, want.Index, err, got.Term, want.Term)
				}
			}
		}
		d.Close()
	}
}

// TestDrop: nothing of a dropped group is left, others are untouched.
func TestDrop(t *testing.T) {
	fs := vfs.NewMem()
	d := openDB(t, fs)
	for _, group := range []uint32{1, 2} {
		s := openLog(t, d, group)
		if err := errors.Join(s.StoreLog(entry(1, 1, "x")), d.Stable(group).SetUint64([]byte("n"), 7), s.Close(), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(d.Drop(1), d.Drop(3), d.Close()); err != nil {
		t.Fatal(err)
	}
	d = openDB(t, fs)
	defer d.Close()
	for group, want := range map[uint32]uint64{1: 0, 2: 1} {
		n, _ := d.Stable(group).GetUint64([]byte("n"))
		if last, _ := openLog(t, d, group).LastIndex(); last != want || (n == 7) != (want == 1) {
			t.Errorf("group %d: log ends at %d, stable record %d", group, last, n)
		}
	}
}
