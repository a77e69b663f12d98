package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The log is a row of segment files, each a header and frames:
//
//	header  "OSTSLOG1", segment number (8 bytes, little endian)
//	frame   length of the payload (4), CRC-32C of the payload (4), payload
//	payload uvarint sequence number, uvarint offset up to which the segment was
//	        known to be on disk when the frame was made, operations (batch.go)
//
// A segment ends where memory was handed to the flush; it is deleted when the
// flush is on disk. The offset in the frames tells a torn tail, which is cut, from
// damage to what had been acknowledged, which is an error.

var (
	errShortRecord = errors.New("time series: a record of the log is cut short")
	castagnoli     = crc32.MakeTable(crc32.Castagnoli)
)

const (
	walMagic      = "OSTSLOG1"
	walHeader     = len(walMagic) + 8
	frameHeader   = 8
	maxFrame      = 1 << 30
	walPrefix     = "log-"
	walNameDigits = 10
)

// wal is the log's newest segment.
type wal struct {
	fs  vfs.FS
	dir string

	mu     sync.Mutex // guards what follows: appending
	file   vfs.File
	number uint64
	size   atomic.Int64 // bytes written to the segment
	buf    []byte

	smu    sync.Mutex   // held while syncing: one fsync for all who wait
	synced atomic.Int64 // bytes of the segment on disk
	done   uint64       // guarded by smu: segments below are on disk as a whole
	// failed is the first error of the file; nothing is written after it.
	failed atomic.Pointer[error]
}

func walName(n uint64) string { return fmt.Sprintf("%s%0*d", walPrefix, walNameDigits, n) }

// listSegments returns the segment numbers in the directory, ascending.
func listSegments(fs vfs.FS, dir string) ([]uint64, error) {
	names, err := fs.List(dir)
	if err != nil {
		return nil, err
	}
	var out []uint64
	for _, n := range names {
		if rest, ok := strings.CutPrefix(n, walPrefix); ok {
			if v, err := strconv.ParseUint(rest, 10, 64); err == nil {
				out = append(out, v)
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

// start opens segment n for appending; the segment before it, if any, is on disk.
func (w *wal) start(n uint64) error {
	f, err := w.fs.Create(w.fs.PathJoin(w.dir, walName(n)), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	head := binary.LittleEndian.AppendUint64([]byte(walMagic), n)
	if _, err = f.Write(head); err == nil {
		err = f.Sync()
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	d, err := w.fs.OpenDir(w.dir)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if err = errors.Join(d.Sync(), d.Close()); err != nil {
		return errors.Join(err, f.Close())
	}
	w.file, w.number = f, n
	w.size.Store(int64(len(head)))
	w.synced.Store(int64(len(head)))
	return nil
}

// mark is a place in the log.
type mark struct {
	segment uint64
	offset  int64
}

// append writes one record and returns the place after it.
func (w *wal) append(seq uint64, parts ...[]byte) (mark, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e := w.failed.Load(); e != nil {
		return mark{}, *e
	}
	b := append(w.buf[:0], 0, 0, 0, 0, 0, 0, 0, 0)
	b = binary.AppendUvarint(b, seq)
	b = binary.AppendUvarint(b, uint64(w.synced.Load()))
	for _, p := range parts {
		b = append(b, p...)
	}
	if cap(b) <= 4<<20 {
		w.buf = b
	}
	binary.LittleEndian.PutUint32(b, uint32(len(b)-frameHeader))
	binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(b[frameHeader:], castagnoli))
	if _, err := w.file.Write(b); err != nil {
		return mark{}, w.fail(err)
	}
	w.size.Add(int64(len(b)))
	return mark{w.number, w.size.Load()}, nil
}

func (w *wal) fail(err error) error {
	err = fmt.Errorf("time-series log %s: %w", w.fs.PathJoin(w.dir, walName(w.number)), err)
	w.failed.CompareAndSwap(nil, &err)
	return *w.failed.Load()
}

// sync returns when everything before m is on disk.
func (w *wal) sync(m mark) error {
	w.smu.Lock()
	defer w.smu.Unlock()
	if e := w.failed.Load(); e != nil {
		return *e
	}
	if m.segment < w.done || m.segment == w.number && m.offset <= w.synced.Load() {
		return nil
	}
	upto := w.size.Load()
	if err := w.file.Sync(); err != nil {
		return w.fail(err)
	}
	w.synced.Store(upto)
	return nil
}

// rotate begins a new segment and returns its number.
func (w *wal) rotate() (uint64, error) {
	w.smu.Lock()
	defer w.smu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if e := w.failed.Load(); e != nil {
		return 0, *e
	}
	if err := w.file.Sync(); err != nil {
		return 0, w.fail(err)
	}
	old := w.file
	if err := w.start(w.number + 1); err != nil {
		return 0, w.fail(err)
	}
	w.done = w.number
	return w.number, old.Close()
}

// removeBelow deletes segments before n.
func (w *wal) removeBelow(n uint64) error {
	list, err := listSegments(w.fs, w.dir)
	if err != nil {
		return err
	}
	for _, s := range list {
		if s < n {
			if err := w.fs.Remove(w.fs.PathJoin(w.dir, walName(s))); err != nil {
				return err
			}
		}
	}
	return nil
}

// bytes is the size of the newest segment.
func (w *wal) bytes() int64 { return w.size.Load() }

func (w *wal) close() error {
	if w.file == nil {
		return nil
	}
	err := w.failed.Load()
	if err == nil {
		if e := w.file.Sync(); e != nil {
			return errors.Join(e, w.file.Close())
		}
	}
	return w.file.Close()
}

// replay reads a segment. last: it is the newest one, whose tail may be torn.
func replay(fs vfs.FS, dir string, n uint64, last bool, apply func(seq uint64, ops []byte) error) error {
	path := fs.PathJoin(dir, walName(n))
	f, err := fs.Open(path)
	if err != nil {
		return err
	}
	b, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("time-series log %s: %w", path, err)
	}
	if len(b) < walHeader {
		if last {
			return nil // the file was being made
		}
		return fmt.Errorf("time-series log %s: %w: no header", path, ErrDamaged)
	}
	if !bytes.HasPrefix(b, []byte(walMagic)) || binary.LittleEndian.Uint64(b[len(walMagic):]) != n {
		if last && allZero(b) {
			return nil
		}
		return fmt.Errorf("time-series log %s: %w: wrong header", path, ErrDamaged)
	}
	for at := walHeader; at < len(b); {
		payload, ok := frameAt(b, at)
		if !ok {
			if bad := damaged(b, at, last); bad {
				return fmt.Errorf("time-series log %s: %w at offset %d of %d", path, ErrDamaged, at, len(b))
			}
			return nil
		}
		at += frameHeader + len(payload)
		seq, k := binary.Uvarint(payload)
		_, k2 := binary.Uvarint(payload[max(k, 0):])
		if k <= 0 || k2 <= 0 {
			return fmt.Errorf("time-series log %s: %w at offset %d", path, ErrDamaged, at)
		}
		if err := apply(seq, payload[k+k2:]); err != nil {
			return fmt.Errorf("time-series log %s, record before offset %d: %w", path, at, err)
		}
	}
	return nil
}

func allZero(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

// frameAt returns the payload of a whole and undamaged frame.
func frameAt(b []byte, at int) ([]byte, bool) {
	if at+frameHeader > len(b) {
		return nil, false
	}
	n := int(binary.LittleEndian.Uint32(b[at:]))
	if n < 2 || n > maxFrame || at+frameHeader+n > len(b) {
		return nil, false
	}
	p := b[at+frameHeader : at+frameHeader+n]
	return p, crc32.Checksum(p, castagnoli) == binary.LittleEndian.Uint32(b[at+4:])
}

// damaged tells whether what is wrong at offset at had been on disk: a later frame
// says so. In a segment that is not the newest everything had.
func damaged(b []byte, at int, last bool) bool {
	if !last {
		return true
	}
	for i := at + 1; i+frameHeader < len(b); i++ {
		p, ok := frameAt(b, i)
		if !ok {
			continue
		}
		_, k := binary.Uvarint(p)
		if k <= 0 {
			continue
		}
		if synced, k := binary.Uvarint(p[k:]); k > 0 && int64(synced) > int64(at) {
			return true
		}
		i += frameHeader + len(p) - 1
	}
	return false
}
