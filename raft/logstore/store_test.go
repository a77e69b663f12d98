package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
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
		var model []*hraft.Log
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
				model = model[n:]
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
			},
			"reopen": func(rt *rapid.T) {
				if err := d.Close(); err != nil {
					rt.Fatal(err)
				}
				d = openDB(t, fs)
				s = openLog(t, d, 7)
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

// walFile returns the newest non-empty WAL file.
func walFile(t *testing.T, fs vfs.FS) (string, []byte) {
	t.Helper()
	names, err := fs.List("log")
	if err != nil {
		t.Fatal(err)
	}
	var name string
	var body []byte
	for _, n := range names {
		if strings.HasSuffix(n, ".log") && n > name {
			name = n
		}
	}
	f, err := fs.Open("log/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if body, err = io.ReadAll(f); err != nil {
		t.Fatal(err)
	}
	return "log/" + name, body
}

func writeFile(t *testing.T, fs vfs.FS, name string, body []byte) {
	t.Helper()
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// crashed returns a file system as a power loss leaves it after n synced entries.
func crashed(t *testing.T, n uint64) vfs.FS {
	t.Helper()
	fs := vfs.NewCrashableMem()
	d := openDB(t, fs)
	s := openLog(t, d, 0)
	for i := uint64(1); i <= n; i++ {
		if err := s.StoreLog(entry(i, 1, strings.Repeat(fmt.Sprint(i%10), 3000))); err != nil {
			t.Fatal(err)
		}
	}
	clone := fs.CrashClone(vfs.CrashCloneCfg{})
	d.Close()
	return clone
}

// TestTornTail: a WAL that ends in the middle of a record is cut there.
func TestTornTail(t *testing.T) {
	for _, cut := range []int{1, 7, 100, 2999, 3500} {
		fs := crashed(t, 100)
		name, body := walFile(t, fs)
		body = bytes.TrimRight(body, "\x00")
		writeFile(t, fs, name, body[:len(body)-cut])
		d := openDB(t, fs)
		s := openLog(t, d, 0)
		last, _ := s.LastIndex()
		if want := uint64(100 - 1 - cut/3050); last != want && last != want-1 {
			t.Errorf("cut by %d bytes: log ends at %d, want about %d", cut, last, want)
		}
		if err := s.StoreLog(entry(last+1, 2, "on")); err != nil {
			t.Error(err)
		}
		d.Close()
	}
}

// TestCorruptMiddle: a flipped bit before the tail is refused, and named.
func TestCorruptMiddle(t *testing.T) {
	fs := crashed(t, 100)
	name, body := walFile(t, fs)
	body[len(body)/3] ^= 4
	writeFile(t, fs, name, body)
	d, err := Open("log", Options{FS: fs})
	if err == nil {
		d.Close()
		t.Fatal("a log with a damaged middle was opened")
	}
	if !strings.Contains(err.Error(), name+" after offset") {
		t.Errorf("error does not name the place: %v", err)
	}
	t.Log(err)
}

// TestCorruptLastBlock: damage in the last block of the WAL, where pebble sees a
// torn tail, is refused as long as a later record proves that it was synced.
func TestCorruptLastBlock(t *testing.T) {
	fs := crashed(t, 4)
	name, body := walFile(t, fs)
	if len(bytes.TrimRight(body, "\x00")) > walBlock {
		t.Fatal("the log does not fit one block")
	}
	for _, at := range []int{0, 4, 5, 6, 8, 15, 100, 3100, 6200} {
		damagedBody := bytes.Clone(body)
		damagedBody[at] ^= 0x55
		writeFile(t, fs, name, damagedBody)
		d, err := Open("log", Options{FS: fs})
		if err == nil {
			d.Close()
			t.Fatalf("byte %d: a damaged log was opened", at)
		}
		if !strings.Contains(err.Error(), name+" after offset") {
			t.Errorf("byte %d: error does not name the place: %v", at, err)
		}
	}
}

// TestCorruptRecord: damage below pebble's own checksums is found at open.
func TestCorruptRecord(t *testing.T) {
	damage := []struct {
		name string
		do   func(d *DB, key []byte)
		want string
	}{
		{"bit", func(d *DB, key []byte) {
			v, c, _ := d.db.Get(key)
			v = bytes.Clone(v)
			c.Close()
			v[len(v)-1] ^= 1
			d.db.Set(key, v, pebble.Sync)
		}, "group 7, index 5: checksum"},
		{"version", func(d *DB, key []byte) { d.db.Set(key, []byte{9, 0, 0, 0, 0, 0}, pebble.Sync) }, "index 5: record version 9"},
		{"short", func(d *DB, key []byte) { d.db.Set(key, []byte{1}, pebble.Sync) }, "index 5: record of 1 bytes"},
		{"missing", func(d *DB, key []byte) { d.db.Delete(key, pebble.Sync) }, "index 5: missing"},
		{"moved", func(d *DB, key []byte) {
			v, c, _ := d.db.Get(logKey(nil, 7, 6))
			v = bytes.Clone(v)
			c.Close()
			d.db.Set(key, v, pebble.Sync)
		}, "index 5: checksum"},
	}
	for _, tt := range damage {
		t.Run(tt.name, func(t *testing.T) {
			d := openDB(t, vfs.NewMem())
			defer d.Close()
			s := openLog(t, d, 7)
			for i := uint64(1); i <= 9; i++ {
				if err := s.StoreLog(entry(i, 1, "x")); err != nil {
					t.Fatal(err)
				}
			}
			tt.do(d, logKey(nil, 7, 5))
			_, err := d.Log(7, 1<<20)
			var ce *CorruptError
			if !errors.As(err, &ce) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestWriteError: a failed sync is reported once, named, and nothing is ever
// acknowledged after it.
func TestWriteError(t *testing.T) {
	var broken atomic.Bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && strings.HasSuffix(op.Path, ".log") {
			return errors.New("input/output error")
		}
		return nil
	}))
	var fatal []error
	d, err := Open("log", Options{FS: fs, Fatal: func(err error) { fatal = append(fatal, err) }})
	if err != nil {
		t.Fatal(err)
	}
	s := openLog(t, d, 0)
	if err := s.StoreLog(entry(1, 1, "x")); err != nil {
		t.Fatal(err)
	}
	broken.Store(true)
	for range 2 {
		if err := s.StoreLog(entry(2, 1, "x")); err == nil {
			t.Fatal("a failed write was acknowledged")
		}
	}
	if err := d.Stable(0).SetUint64([]byte("term"), 2); err == nil {
		t.Fatal("a failed stable write was acknowledged")
	}
	if len(fatal) != 1 || !strings.Contains(fatal[0].Error(), "input/output error") || !strings.Contains(fatal[0].Error(), "raft log log") {
		t.Errorf("fatal: %v", fatal)
	}
	if last, _ := s.LastIndex(); last != 1 {
		t.Errorf("log ends at %d", last)
	}
}

func FuzzDecodeLog(f *testing.F) {
	key := logKey(nil, 1, 2)
	buf := appendLog(nil, entry(2, 3, "data"))
	seal(key, buf)
	f.Add(buf)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, value []byte) {
		var l hraft.Log
		if decodeRecord(key, 2, value, &l) != nil && len(value) > headerLen {
			decodeLog(2, value[headerLen:], &l) // and past the checksum
		}
	})
}
