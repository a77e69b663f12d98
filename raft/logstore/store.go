package logstore

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	hraft "github.com/hashicorp/raft"
)

// Store is the log of one group: a chain of segments. It implements raft.LogStore.
type Store struct {
	db    *DB
	group uint32
	dir   string

	mu      sync.RWMutex
	first   uint64                // index of the oldest entry, 0 when empty; guarded by mu
	last    uint64                // index of the newest entry, 0 when empty; guarded by mu
	places  []place               // of first..last; guarded by mu
	bytes   uint64                // sum of the records' sizes; guarded by mu
	cache   cache                 // guarded by mu
	anchors map[uint64]*hraft.Log // entries replaced by Anchor; guarded by mu
	chain   []*segment            // oldest first; guarded by mu
	cur     *segment              // the segment appended to, nil before the first append; guarded by mu
	nextSeq uint64                // guarded by mu

	buf []byte // of the appender

	// Lazy syncing, see lazy.go.
	lazy    func() bool
	kick    chan struct{} // buffered 1
	stop    chan struct{}
	closing sync.Once
	wg      sync.WaitGroup
	syncMu  sync.Mutex    // taken before mu
	synced  atomic.Int64  // bytes of cur on stable storage; written with syncMu held
	durable atomic.Uint64 // newest index on stable storage
	written atomic.Uint64 // newest index written
}

// place is where the record of an entry is.
type place struct {
	seg  *segment
	off  int64
	size uint32
}

// segmentBytes is the size at which a segment is followed by the next one.
const segmentBytes = 16 << 20

func (s *Store) corrupt(path string, index uint64, reason string) error {
	return &CorruptError{Path: path, Group: s.group, Index: index, Reason: reason}
}

// FirstIndex is the index of the oldest entry, 0 when the log is empty.
func (s *Store) FirstIndex() (uint64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.first, nil
}

// LastIndex is the index of the newest entry, 0 when the log is empty.
func (s *Store) LastIndex() (uint64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.last, nil
}

// GetLog reads an entry, raft.ErrLogNotFound if the log does not have it.
// A damaged record is fatal.
func (s *Store) GetLog(index uint64, l *hraft.Log) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.first == 0 || index < s.first || index > s.last {
		return hraft.ErrLogNotFound
	}
	if c := s.cache.get(index); c != nil {
		*l = *c
		return nil
	}
	if a := s.anchors[index]; a != nil {
		*l = *a
		return nil
	}
	p := s.places[index-s.first]
	data := make([]byte, p.size)
	_, err := p.seg.f.ReadAt(data, p.off)
	if err == nil {
		var r parsed
		if r, err = parseRecord(data, p.seg.seq, p.off); err == nil {
			err = decodeLog(index, r.body, l)
		}
	}
	if err != nil {
		err = s.corrupt(p.seg.path, index, err.Error())
		s.db.fail(err)
	}
	return err
}

// StoreLog stores one entry durably.
func (s *Store) StoreLog(l *hraft.Log) error { return s.StoreLogs([]*hraft.Log{l}) }

// StoreLogs stores entries in one write, which is synced before it returns unless
// they may be lazy. They must follow the last stored entry. An error means the log
// is lost to this process.
func (s *Store) StoreLogs(logs []*hraft.Log) error {
	if len(logs) == 0 {
		return nil
	}
	last, _ := s.LastIndex() // only this goroutine moves it
	if last == 0 {
		last = logs[0].Index - 1
	}
	for i, l := range logs {
		if l.Index != last+1+uint64(i) {
			return fmt.Errorf("raft log %s: group %d: append of index %d where %d is due", s.dir, s.group, l.Index, last+1+uint64(i))
		}
	}
	if s.cur == nil || s.cur.end >= segmentBytes {
		if err := s.db.write(s.roll); err != nil {
			return err
		}
	}
	synced := s.synced.Load()
	g := s.cur
	buf, off := s.buf[:0], g.end
	sizes := make([]uint32, len(logs))
	for i, l := range logs {
		begin := len(buf)
		buf = appendRecord(buf, g.seq, off+int64(begin), synced, kindEntry, l.Index, func(b []byte) []byte { return appendLog(b, l) })
		sizes[i] = uint32(len(buf) - begin)
	}
	n := len(buf)
	buf = fill(buf, off, g.filled)
	err := s.db.write(func() error {
		_, err := g.f.WriteAt(buf, off)
		return err
	})
	if cap(buf) <= 4<<20 {
		s.buf = buf
	}
	if err != nil {
		return err
	}
	lazy := s.mayBeLazy(logs)
	s.mu.Lock()
	g.filled = max(g.filled, off+int64(len(buf)))
	for i, l := range logs {
		s.appended(l, place{g, g.end, sizes[i]})
		g.end += int64(sizes[i])
	}
	g.last = s.last
	s.mu.Unlock()
	if g.end != off+int64(n) {
		panic("logstore: records and buffer differ")
	}
	s.written.Store(logs[len(logs)-1].Index)
	if lazy {
		s.wakeSyncer()
		return nil
	}
	return s.Sync()
}

// fill appends zeros to a write at off that extends a file of size filled, up to
// a multiple of fillBytes.
func fill(buf []byte, off, filled int64) []byte {
	end := off + int64(len(buf))
	if end <= filled {
		return buf
	}
	room := (end+fillBytes-1)/fillBytes*fillBytes - end
	if n := len(buf) + int(room); cap(buf) >= n {
		clear(buf[len(buf):n])
		return buf[:n]
	}
	return append(buf, make([]byte, room)...)
}

// appended notes a stored entry. The caller holds mu or owns s.
func (s *Store) appended(l *hraft.Log, p place) {
	if s.first == 0 {
		s.first = l.Index
	}
	s.last = l.Index
	s.places = append(s.places, p)
	s.bytes += uint64(p.size)
	s.cache.add(l)
}

// Bytes is the size of all records of the log.
func (s *Store) Bytes() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.bytes
}

// TrailingStart returns the lowest index such that the entries from it on are at
// most maxEntries and at most maxBytes (but always the newest entry); 0 when empty.
func (s *Store) TrailingStart(maxEntries, maxBytes uint64) uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.last == 0 {
		return 0
	}
	i := len(s.places) - 1
	n, b := uint64(1), uint64(s.places[i].size)
	for i > 0 && n < maxEntries && b+uint64(s.places[i-1].size) <= maxBytes {
		i--
		n++
		b += uint64(s.places[i].size)
	}
	return s.first + uint64(i)
}

// Term returns the term of an entry, false if the log does not have it.
func (s *Store) Term(index uint64) (uint64, bool) {
	var l hraft.Log
	if err := s.GetLog(index, &l); err != nil {
		return 0, false
	}
	return l.Term, true
}

// ErrGap is returned by Repair when entries between state and log are missing.
var ErrGap = errors.New("the log begins after what the state has applied")

// Repair makes the log fit a state that has applied index in term. Run it at
// start, before raft, and after a state has been replaced by a checkpoint.
//
//   - log ends before index, or its entry at index has another term: none of it
//     is needed or right any more, it is emptied (a crash between the restore of
//     a checkpoint and raft's reset of the log leaves this);
//   - log begins after index+1: entries are lost, ErrGap;
//   - otherwise the log is left as it is.
func (s *Store) Repair(index, term uint64) error {
	first, _ := s.FirstIndex()
	last, _ := s.LastIndex()
	if last == 0 {
		return nil
	}
	if first > index+1 {
		return fmt.Errorf("raft log %s: group %d: log is %d..%d, state has applied %d: %w", s.dir, s.group, first, last, index, ErrGap)
	}
	if last < index {
		return s.DeleteRange(first, last)
	}
	if t, ok := s.Term(index); ok && t != term {
		return s.DeleteRange(first, last)
	}
	return nil
}

// Anchor makes a live log fit a state that a checkpoint has just put at index in
// term, while raft keeps running: raft remembers the old last index, so a suffix
// beyond index stays (the leader overwrites it entry by entry), but if its entry
// at index is of another term it is replaced by a no-op of the right one;
// otherwise the leader's consistency check at index could never pass again.
func (s *Store) Anchor(index, term uint64) error {
	last, _ := s.LastIndex()
	t, ok := s.Term(index)
	if last <= index || !ok || t == term {
		return s.Repair(index, term)
	}
	s.mu.Lock()
	s.anchors[index] = &hraft.Log{Index: index, Term: term, Type: hraft.LogNoop}
	s.cache.clear()
	s.mu.Unlock()
	return s.db.write(s.roll) // the new segment begins with the anchors
}
