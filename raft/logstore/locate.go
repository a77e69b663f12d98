package logstore

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// explain adds to an error of pebble.Open the file and offset of a damaged WAL
// record, which pebble itself does not name.
func explain(fs vfs.FS, dir string, err error) error {
	if !errors.Is(err, pebble.ErrCorruption) && !errors.Is(err, record.ErrInvalidChunk) && !errors.Is(err, record.ErrZeroedChunk) && !errors.Is(err, record.ErrUnexpectedEOF) {
		return fmt.Errorf("raft log %s: %w", dir, err)
	}
	place := ""
	names, _ := fs.List(dir)
	slices.Sort(names)
	for _, name := range names {
		num, perr := strconv.ParseUint(strings.TrimSuffix(name, ".log"), 10, 64)
		if perr != nil || !strings.HasSuffix(name, ".log") {
			continue
		}
		if off, bad := damaged(fs, fs.PathJoin(dir, name), num); bad {
			place = fmt.Sprintf(" in %s after offset %d", fs.PathJoin(dir, name), off)
			break
		}
	}
	return fmt.Errorf("raft log %s is damaged%s; this node's replicas must be rebuilt from their peers: %w", dir, place, err)
}

// damaged reads a WAL to its first unreadable record.
func damaged(fs vfs.FS, path string, num uint64) (offset int64, bad bool) {
	f, err := fs.Open(path, vfs.SequentialReadsOption)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	r := newReader(record.NewReader, f, num)
	for {
		offset = r.Offset()
		rec, err := r.Next()
		if err == nil {
			_, err = io.Copy(io.Discard, rec)
		}
		if err == io.EOF {
			return 0, false
		}
		if err != nil {
			return offset, true
		}
	}
}

// newReader calls make with a file number, whose type pebble does not export.
func newReader[N ~uint64](make func(io.Reader, N) *record.Reader, f io.Reader, num uint64) *record.Reader {
	return make(f, N(num))
}
