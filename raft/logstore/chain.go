package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
	hraft "github.com/hashicorp/raft"
)

// Log opens the log of a group and verifies every record of it: checksum and
// that indexes follow each other. cacheBytes bounds the memory kept for recent
// entries. A torn tail is cut; it returns a *CorruptError for other damage.
func (d *DB) Log(group uint32, cacheBytes int) (*Store, error) {
	s := &Store{
		db:      d,
		group:   group,
		dir:     d.opts.FS.PathJoin(d.path, groupDir(group)),
		cache:   cache{budget: cacheBytes},
		anchors: map[uint64]*hraft.Log{},
		nextSeq: 1,
		kick:    make(chan struct{}, 1),
		stop:    make(chan struct{}),
	}
	if err := s.open(); err != nil {
		s.closeFiles()
		return nil, err
	}
	s.durable.Store(s.last)
	s.written.Store(s.last)
	s.wg.Add(1)
	go s.runSyncer()
	d.mu.Lock()
	d.stores = append(d.stores, s)
	d.mu.Unlock()
	return s, nil
}

func groupDir(group uint32) string { return fmt.Sprintf("group-%d", group) }

// segments lists the segments in the directory, oldest first.
func (s *Store) segments() ([]uint64, error) {
	names, err := s.db.opts.FS.List(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("raft log %s: %w", s.dir, err)
	}
	var seqs []uint64
	for _, n := range names {
		digits, ok := strings.CutSuffix(n, ".seg")
		if seq, err := strconv.ParseUint(digits, 16, 64); ok && err == nil {
			seqs = append(seqs, seq)
		} else if strings.HasSuffix(n, ".tmp") { // the process ended while it was made
			if err := s.db.opts.FS.Remove(s.path(n)); err != nil {
				return nil, fmt.Errorf("raft log %s: %w", s.dir, err)
			}
		}
	}
	slices.Sort(seqs)
	return seqs, nil
}

func (s *Store) path(name string) string { return s.db.opts.FS.PathJoin(s.dir, name) }

// open reads the chain from the newest segment back, then its records.
func (s *Store) open() error {
	seqs, err := s.segments()
	if err != nil || len(seqs) == 0 {
		return err
	}
	s.nextSeq = seqs[len(seqs)-1] + 1
	live := map[uint64]bool{}
	for seq := seqs[len(seqs)-1]; seq != 0; {
		g := &segment{seq: seq, path: s.path(segmentName(seq))}
		head, found, err := readHeader(s.db.opts.FS, g.path)
		if err != nil {
			return fmt.Errorf("raft log %s: %w", g.path, err)
		}
		if !found {
			break // removed with the entries in it
		}
		if err := g.parseHeader(head, s.group); err != nil {
			return s.corrupt(g.path, 0, err.Error())
		}
		if g.prevSeq >= seq {
			return s.corrupt(g.path, 0, fmt.Sprintf("it follows segment %d", g.prevSeq))
		}
		live[seq] = true
		s.chain = append(s.chain, g)
		seq = g.prevSeq
	}
	slices.Reverse(s.chain)
	for i, g := range s.chain {
		end := int64(-1)
		if i+1 < len(s.chain) {
			end = s.chain[i+1].prevEnd
		}
		if err := s.load(g, end); err != nil {
			return err
		}
	}
	for _, seq := range seqs {
		if !live[seq] { // the log was cut below it
			if err := s.db.opts.FS.Remove(s.path(segmentName(seq))); err != nil {
				return fmt.Errorf("raft log %s: %w", s.dir, err)
			}
		}
	}
	return nil
}

// load reads the records of a segment up to end, or up to its torn tail when end is -1.
func (s *Store) load(g *segment, end int64) error {
	data, err := readFile(s.db.opts.FS, g.path)
	if err != nil {
		return fmt.Errorf("raft log %s: %w", g.path, err)
	}
	if g.f, err = s.db.opts.FS.Open(g.path, vfs.RandomReadsOption); err != nil {
		return fmt.Errorf("raft log %s: %w", g.path, err)
	}
	if end > int64(len(data)) {
		return s.corrupt(g.path, s.last+1, fmt.Sprintf("the segment ends at %d, records to %d are due", len(data), end))
	}
	limit := int64(len(data))
	if end >= 0 {
		limit = end
	}
	g.end, g.filled = segmentHeader, int64(len(data))
	for g.end < limit {
		r, err := parseRecord(data[g.end:limit], g.seq, g.end)
		if err != nil {
			later := int64(-1)
			if end < 0 {
				later = proven(data, g.seq, g.end)
			}
			if end < 0 && later < 0 {
				break // a torn tail
			}
			if later >= 0 {
				err = fmt.Errorf("%w, and the record at %d says that this one was synced", err, later)
			}
			return s.damaged(g, err)
		}
		if err := s.replay(g, r); err != nil {
			return err
		}
		g.end += int64(r.size)
	}
	return nil
}

// damaged is the error of a record that cannot be read.
func (s *Store) damaged(g *segment, err error) error {
	return s.corrupt(g.path, s.last+1, fmt.Sprintf("damaged after offset %d: %v; restore the node's data directory or remove it and let the node join anew", g.end, err))
}

func (s *Store) replay(g *segment, r parsed) error {
	l := new(hraft.Log)
	if err := decodeLog(r.index, r.body, l); err != nil {
		return s.damaged(g, err)
	}
	switch {
	case r.kind == kindAnchor:
		s.anchors[r.index] = l
		s.cache.clear()
	case r.kind != kindEntry:
		return s.damaged(g, fmt.Errorf("record of unknown kind %d", r.kind))
	default:
		if s.last != 0 && r.index != s.last+1 {
			return s.corrupt(g.path, s.last+1, fmt.Sprintf("missing; the next record is %d", r.index))
		}
		delete(s.anchors, r.index)
		s.appended(l, place{g, g.end, uint32(r.size)})
		g.last = r.index
	}
	return nil
}

// roll begins the next segment: what is in the log now counts, and nothing behind
// it in the current one. It is durable on return.
func (s *Store) roll() error {
	if err := s.Sync(); err != nil {
		return err
	}
	s.syncMu.Lock()
	defer s.syncMu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	var prev uint64
	var end int64
	if n := len(s.chain); n > 0 {
		prev, end = s.chain[n-1].seq, s.chain[n-1].end
	}
	return s.begin(prev, end)
}

// begin makes a segment that follows end in segment prev, with the anchors that
// still count. mu and syncMu are held.
func (s *Store) begin(prev uint64, end int64) error {
	fsys := s.db.opts.FS
	g := &segment{seq: s.nextSeq, prevSeq: prev, prevEnd: end}
	g.path = s.path(segmentName(g.seq))
	if g.seq == 1 {
		if err := fsys.MkdirAll(s.dir, 0o755); err != nil {
			return err
		}
		if err := syncDir(fsys, s.db.path); err != nil {
			return err
		}
	}
	buf := g.header(s.group)
	for _, l := range s.anchors {
		buf = appendRecord(buf, g.seq, int64(len(buf)), 0, kindAnchor, l.Index, func(b []byte) []byte { return appendLog(b, l) })
	}
	g.end = int64(len(buf))
	buf = fill(buf, 0, 0)
	g.filled = int64(len(buf))
	tmp := g.path + ".tmp"
	f, err := fsys.Create(tmp, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(buf)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	// The name comes with the contents, so that a segment without a good header is damaged.
	if err := fsys.Rename(tmp, g.path); err != nil {
		return err
	}
	if err := syncDir(fsys, s.dir); err != nil {
		return err
	}
	if g.f, err = fsys.OpenReadWrite(g.path, vfs.WriteCategoryUnspecified); err != nil {
		return err
	}
	s.nextSeq++
	s.chain = append(s.chain, g)
	s.cur = g
	s.synced.Store(g.end)
	return nil
}

// DeleteRange deletes entries lo..hi, which must be a prefix or a suffix of the
// log. Removing a suffix is durable on return; a prefix may be back, in part,
// when the log is opened again.
func (s *Store) DeleteRange(lo, hi uint64) error {
	if err := s.Sync(); err != nil {
		return err
	}
	s.syncMu.Lock()
	defer s.syncMu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	lo, hi = max(lo, s.first), min(hi, s.last)
	if s.first == 0 || lo > hi {
		return nil
	}
	if lo != s.first && hi != s.last {
		return fmt.Errorf("raft log %s: group %d: delete %d..%d inside %d..%d", s.dir, s.group, lo, hi, s.first, s.last)
	}
	cut := s.places[lo-s.first]
	for _, p := range s.places[lo-s.first : hi-s.first+1] {
		s.bytes -= uint64(p.size)
	}
	for i := range s.anchors {
		if i >= lo && i <= hi {
			delete(s.anchors, i)
		}
	}
	switch {
	case lo == s.first && hi == s.last:
		s.first, s.last, s.places = 0, 0, nil
		s.durable.Store(0)
		s.written.Store(0)
		s.cache.clear()
		return s.db.write(func() error { return s.cutTo(nil, 0) })
	case lo == s.first:
		s.places = s.places[hi-lo+1:]
		s.first = hi + 1
		s.cache.truncatePrefix(hi)
		return s.db.write(s.dropOld)
	default:
		s.places = s.places[:lo-s.first]
		s.last = lo - 1
		s.cache.truncateSuffix(lo)
		s.durable.Store(s.last)
		s.written.Store(s.last)
		return s.db.write(func() error { return s.cutTo(cut.seg, cut.off) })
	}
}

// cutTo goes on in a new segment behind off of g, nil: behind nothing, and removes
// what is cut off. mu and syncMu are held.
func (s *Store) cutTo(g *segment, off int64) error {
	old := s.chain
	keep := 0
	var prev uint64
	if g != nil {
		keep = slices.Index(old, g) + 1
		prev = g.seq
		g.end, g.last = off, s.last
	}
	s.chain = slices.Clone(old[:keep])
	if err := s.begin(prev, off); err != nil {
		return err
	}
	for _, x := range old[keep:] {
		if err := s.remove(x); err != nil {
			return err
		}
	}
	return nil
}

// dropOld removes segments whose entries are all gone from the log. The anchors in
// them stand in the newest one too. mu is held.
func (s *Store) dropOld() error {
	for len(s.chain) > 1 && s.chain[0] != s.cur && s.chain[0].last < s.first {
		if err := s.remove(s.chain[0]); err != nil {
			return err
		}
		s.chain = s.chain[1:]
	}
	return nil
}

func (s *Store) remove(g *segment) error {
	return errors.Join(g.f.Close(), s.db.opts.FS.Remove(g.path))
}

// Close syncs the log and closes its files. The database does it too.
func (s *Store) Close() error {
	var err error
	s.closing.Do(func() {
		err = s.Sync()
		close(s.stop)
		s.wg.Wait()
		err = errors.Join(err, s.closeFiles())
		s.db.mu.Lock()
		defer s.db.mu.Unlock()
		s.db.stores = slices.DeleteFunc(s.db.stores, func(x *Store) bool { return x == s })
	})
	return err
}

func (s *Store) closeFiles() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, g := range s.chain {
		if g.f != nil {
			errs = append(errs, g.f.Close())
		}
	}
	s.chain, s.cur = nil, nil
	return errors.Join(errs...)
}
