package logstore

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	hraft "github.com/hashicorp/raft"
)

var writeFixture = flag.Bool("write-fixture", false, "write testdata/v2 anew; only when the format gets a new version")

// TestFixture opens a log database written by version 2 of the format, the first with segments.
func TestFixture(t *testing.T) {
	const fixture = "testdata/v2"
	want := []*hraft.Log{
		{Index: 3, Term: 2, Type: hraft.LogConfiguration, Data: []byte("membership")},
		{Index: 4, Term: 2, Type: hraft.LogNoop},
		entry(5, 3, "command"),
		{Index: 6, Term: 3, Type: hraft.LogCommand, Data: []byte("d"), Extensions: []byte("e")},
	}
	if *writeFixture {
		if err := os.RemoveAll(fixture); err != nil {
			t.Fatal(err)
		}
		d, err := Open(fixture, Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := openLog(t, d, 258)
		if err := s.StoreLogs(want); err != nil {
			t.Fatal(err)
		}
		if err := d.Stable(258).SetUint64([]byte("CurrentTerm"), 3); err != nil {
			t.Fatal(err)
		}
		if err := d.db.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		os.Remove(filepath.Join(fixture, "LOCK"))
	}
	dir := filepath.Join(t.TempDir(), "log")
	if ok, err := vfs.Clone(vfs.Default, vfs.Default, fixture, dir); err != nil || !ok {
		t.Fatal(ok, err)
	}
	d, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	s := openLog(t, d, 258)
	first, _ := s.FirstIndex()
	last, _ := s.LastIndex()
	if first != 3 || last != 6 {
		t.Fatalf("log is %d..%d", first, last)
	}
	s.cache.clear()
	for _, w := range want {
		var got hraft.Log
		if err := s.GetLog(w.Index, &got); err != nil {
			t.Fatal(err)
		}
		if got.Term != w.Term || got.Type != w.Type || string(got.Data) != string(w.Data) || string(got.Extensions) != string(w.Extensions) || !got.AppendedAt.Equal(w.AppendedAt) {
			t.Errorf("got %+v, want %+v", got, w)
		}
	}
	if n, err := d.Stable(258).GetUint64([]byte("CurrentTerm")); n != 3 || err != nil {
		t.Errorf("term %d, %v", n, err)
	}
}
