package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	hraft "github.com/hashicorp/raft"
)

// newest returns the newest file of dir with a suffix.
func newest(t *testing.T, fs vfs.FS, dir, suffix string) (string, []byte) {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	var name string
	for _, n := range names {
		if strings.HasSuffix(n, suffix) && n > name {
			name = n
		}
	}
	name = dir + "/" + name
	body, err := readFile(fs, name)
	if err != nil {
		t.Fatal(err)
	}
	return name, body
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

// TestTornTail: a log that ends in the middle of a record is cut there, goes on,
// and what was torn never comes back.
func TestTornTail(t *testing.T) {
	for _, cut := range []int{1, 7, 100, 2999, 3500} {
		for _, zeros := range []bool{false, true} {
			fs := crashed(t, 100)
			name, body := newest(t, fs, "log/group-0", ".seg")
			body = bytes.TrimRight(body, "\x00")
			if zeros {
				clear(body[len(body)-cut:])
			} else {
				body = body[:len(body)-cut]
			}
			writeFile(t, fs, name, body)
			want := uint64(100 - 1 - cut/3050)
			for term := uint64(2); term < 5; term++ {
				d := openDB(t, fs)
				s := openLog(t, d, 0)
				last, _ := s.LastIndex()
				if last != want {
					t.Fatalf("cut by %d bytes: log ends at %d, want %d", cut, last, want)
				}
				if err := s.StoreLog(entry(last+1, term, strings.Repeat("x", 3000))); err != nil {
					t.Error(err)
				}
				if got, _ := s.Term(last + 1); got != term {
					t.Errorf("entry %d is of term %d, want %d", last+1, got, term)
				}
				want = last + 1
				d.Close()
			}
		}
	}
}

// TestTornInside: of a write of several entries a part in the middle is missing;
// entries behind it must not count, now or when the gap is filled again.
func TestTornInside(t *testing.T) {
	fs := vfs.NewCrashableMem()
	d := openDB(t, fs)
	s := openLog(t, d, 0)
	if err := s.StoreLog(entry(1, 1, "synced")); err != nil {
		t.Fatal(err)
	}
	var batch []*hraft.Log
	for i := uint64(2); i < 8; i++ {
		batch = append(batch, entry(i, 1, strings.Repeat("x", 5000)))
	}
	if err := s.StoreLogs(batch); err != nil {
		t.Fatal(err)
	}
	d.Close()
	name, body := newest(t, fs, "log/group-0", ".seg")
	clear(body[8<<10 : 12<<10])
	writeFile(t, fs, name, body)
	for want := uint64(2); want < 5; want++ {
		d = openDB(t, fs)
		s = openLog(t, d, 0)
		if last, _ := s.LastIndex(); last != want {
			t.Fatalf("log ends at %d, want %d", last, want)
		}
		if err := s.StoreLog(entry(want+1, 2, strings.Repeat("x", 5000))); err != nil {
			t.Fatal(err)
		}
		d.Close()
	}
}

// TestCorruptMiddle: any flipped bit before the last synced write is refused, and named.
func TestCorruptMiddle(t *testing.T) {
	fs := crashed(t, 8)
	name, whole := newest(t, fs, "log/group-0", ".seg")
	end := len(bytes.TrimRight(whole, "\x00")) - 3033 // the last record proves those before it
	for at := 0; at < end; at++ {
		if at > 120 && at%97 != 0 && at < end-50 {
			continue
		}
		body := bytes.Clone(whole)
		body[at] ^= 1 << (at % 8)
		writeFile(t, fs, name, body)
		d := openDB(t, fs)
		_, err := d.Log(0, 1<<20)
		d.Close()
		var ce *CorruptError
		if !errors.As(err, &ce) || !strings.Contains(err.Error(), name) {
			t.Fatalf("byte %d of %d: %v", at, end, err)
		}
	}
}

// TestCorruptSealed: a segment that another follows is never cut.
func TestCorruptSealed(t *testing.T) {
	fs := crashed(t, 8)
	d := openDB(t, fs)
	if err := openLog(t, d, 0).StoreLog(entry(9, 1, "in the next segment")); err != nil {
		t.Fatal(err)
	}
	d.Close()
	names, _ := fs.List("log/group-0")
	slices.Sort(names)
	if len(names) != 2 {
		t.Fatalf("segments: %v", names)
	}
	name := "log/group-0/" + names[0]
	whole, err := readFile(fs, name)
	if err != nil {
		t.Fatal(err)
	}
	end := len(bytes.TrimRight(whole, "\x00"))
	for _, damage := range []func(b []byte) []byte{
		func(b []byte) []byte { b[end-1] ^= 1; return b },
		func(b []byte) []byte { return b[:end-1] },
		func(b []byte) []byte { clear(b[end-3000:]); return b },
		func(b []byte) []byte { return nil },
	} {
		writeFile(t, fs, name, damage(bytes.Clone(whole)))
		d := openDB(t, fs)
		_, err := d.Log(0, 1<<20)
		d.Close()
		var ce *CorruptError
		if !errors.As(err, &ce) {
			t.Errorf("damaged sealed segment: %v", err)
		}
	}
}

// TestCorruptStable: damage of the database of stable records is refused.
func TestCorruptStable(t *testing.T) {
	fs := vfs.NewCrashableMem()
	d := openDB(t, fs)
	for i := range uint64(4) {
		if err := d.Stable(0).SetUint64([]byte("CurrentTerm"), i); err != nil {
			t.Fatal(err)
		}
	}
	clone := fs.CrashClone(vfs.CrashCloneCfg{})
	d.Close()
	name, body := newest(t, clone, "log", ".log")
	for _, at := range []int{0, 4, 5, 6, 8, 15, 30} {
		damagedBody := bytes.Clone(body)
		damagedBody[at] ^= 0x55
		writeFile(t, clone, name, damagedBody)
		d, err := Open("log", Options{FS: clone})
		if err == nil {
			d.Close()
			t.Fatalf("byte %d: a damaged log was opened", at)
		}
		if !strings.Contains(err.Error(), name+" after offset") {
			t.Errorf("byte %d: error does not name the place: %v", at, err)
		}
	}
}

// TestCorruptRecord: records that are whole but cannot be what was written.
func TestCorruptRecord(t *testing.T) {
	body := func(l *hraft.Log) func([]byte) []byte { return func(b []byte) []byte { return appendLog(b, l) } }
	tests := []struct {
		name   string
		record func(seq uint64, off int64) []byte
		want   string
	}{
		{"index missing", func(seq uint64, off int64) []byte {
			return appendRecord(nil, seq, off, off, kindEntry, 3, body(entry(3, 1, "")))
		}, "index 2: missing; the next record is 3"},
		{"index twice", func(seq uint64, off int64) []byte {
			return appendRecord(nil, seq, off, off, kindEntry, 1, body(entry(1, 1, "")))
		}, "index 2: missing; the next record is 1"},
		{"kind", func(seq uint64, off int64) []byte {
			return appendRecord(nil, seq, off, off, 9, 2, body(entry(2, 1, "")))
		}, "index 2: damaged after offset"},
		{"short", func(seq uint64, off int64) []byte {
			return appendRecord(nil, seq, off, off, kindEntry, 2, func(b []byte) []byte { return b })
		}, "index 2: damaged after offset"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fs := vfs.NewMem()
			d := openDB(t, fs)
			s := openLog(t, d, 7)
			if err := s.StoreLog(entry(1, 1, "x")); err != nil {
				t.Fatal(err)
			}
			if _, err := s.cur.f.WriteAt(tt.record(s.cur.seq, s.cur.end), s.cur.end); err != nil {
				t.Fatal(err)
			}
			d.Close()
			d = openDB(t, fs)
			defer d.Close()
			_, err := d.Log(7, 1<<20)
			var ce *CorruptError
			if !errors.As(err, &ce) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestMovedRecord: a record found at another place is not one.
func TestMovedRecord(t *testing.T) {
	rec := appendRecord(nil, 3, 100, 0, kindEntry, 1, func(b []byte) []byte { return append(b, "body"...) })
	if _, err := parseRecord(rec, 3, 100); err != nil {
		t.Error(err)
	}
	for _, at := range []struct {
		seq uint64
		off int64
	}{{4, 100}, {3, 101}} {
		if _, err := parseRecord(rec, at.seq, at.off); err == nil {
			t.Errorf("accepted at %+v", at)
		}
	}
}

// TestForeignFormat: a log of another version is refused by name.
func TestForeignFormat(t *testing.T) {
	fs := crashed(t, 2)
	name, body := newest(t, fs, "log/group-0", ".seg")
	body[4] = 3
	writeFile(t, fs, name, body)
	d := openDB(t, fs)
	if _, err := d.Log(0, 1<<20); err == nil || !strings.Contains(err.Error(), "format 3 is not known") {
		t.Errorf("another format: %v", err)
	}
	d.Close()
}

// TestWriteError: a failed sync is reported once, named, and nothing is ever
// acknowledged after it.
func TestWriteError(t *testing.T) {
	var broken atomic.Bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && (strings.HasSuffix(op.Path, ".log") || strings.HasSuffix(op.Path, ".seg")) {
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

func FuzzParseRecord(f *testing.F) {
	f.Add(appendRecord(nil, 1, 48, 48, kindEntry, 2, func(b []byte) []byte { return appendLog(b, entry(2, 3, "data")) }))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, value []byte) {
		var l hraft.Log
		if r, err := parseRecord(value, 1, 48); err == nil {
			decodeLog(r.index, r.body, &l)
		} else if len(value) > recordHeader {
			decodeLog(2, value[recordHeader:], &l) // and past the checksum
		}
		proven(value, 1, 0)
		new(segment).parseHeader(value, 1)
	})
}
