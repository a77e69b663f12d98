package disk

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestPowerCut: what was not synced is not in the file system below; readers of
// the same file see it all the same.
func TestPowerCut(t *testing.T) {
	base := vfs.NewMem()
	fs := New(base)
	below := func(name string) string {
		f, err := base.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		b := make([]byte, 100)
		n, _ := f.ReadAt(b, 0)
		return string(b[:n])
	}
	a, err := fs.Create("a", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = a.Write([]byte("one"))
	_ = a.Sync()
	_, _ = a.Write([]byte("two"))
	if got := below("a"); got != "one" || fs.Unsynced() != 3 {
		t.Errorf("below: %q, %d bytes held", got, fs.Unsynced())
	}
	b, err := fs.OpenReadWrite("b", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = b.WriteAt([]byte("abcdef"), 0)
	_ = b.SyncData()
	_, _ = b.WriteAt([]byte("XY"), 2)
	_, _ = b.WriteAt([]byte("gh"), 6)
	buf := make([]byte, 8)
	if n, err := b.ReadAt(buf, 0); n != 8 || err != nil || string(buf) != "abXYefgh" || below("b") != "abcdef" {
		t.Errorf("%d %v %q, below %q", n, err, buf, below("b"))
	}
	_ = b.Sync()
	if below("b") != "abXYefgh" {
		t.Errorf("below %q", below("b"))
	}
}
