package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	hraft "github.com/hashicorp/raft"
)

// Store is the log of one group; it implements raft.LogStore.
type Store struct {
	db    *DB
	group uint32

	mu    sync.RWMutex
	first uint64   // index of the oldest entry, 0 when empty; guarded by mu
	last  uint64   // index of the newest entry, 0 when empty; guarded by mu
	sizes []uint32 // record sizes of first..last; guarded by mu
	bytes uint64   // sum of sizes; guarded by mu
	cache cache    // guarded by mu
}

// Log opens the log of a group and verifies every record of it: checksum,
// version, and that indexes follow each other. cacheBytes bounds the memory
// kept for recent entries. It returns a *CorruptError for a damaged record.
func (d *DB) Log(group uint32, cacheBytes int) (*Store, error) {
	s := &Store{db: d, group: group, cache: cache{budget: cacheBytes}}
	lower, upper := groupBounds(group)
	it, err := d.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, fmt.Errorf("raft log %s: group %d: %w", d.path, group, err)
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		key := it.Key()
		if len(key) != 13 {
			return nil, s.corrupt(0, fmt.Sprintf("key of %d bytes", len(key)))
		}
		index := binary.BigEndian.Uint64(key[5:])
		if s.last != 0 && index != s.last+1 {
			return nil, s.corrupt(s.last+1, fmt.Sprintf("missing; the next record is %d", index))
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return nil, s.corrupt(index, err.Error())
		}
		l := new(hraft.Log)
		if err := decodeRecord(key, index, value, l); err != nil {
			return nil, s.corrupt(index, err.Error())
		}
		s.appended(l, len(value))
	}
	if err := it.Error(); err != nil {
		return nil, s.corrupt(s.last+1, err.Error())
	}
	return s, nil
}

func decodeRecord(key []byte, index uint64, value []byte, l *hraft.Log) error {
	body, err := unseal(key, value)
	if err != nil {
		return err
	}
	return decodeLog(index, body, l)
}

func (s *Store) corrupt(index uint64, reason string) error {
	return &CorruptError{Path: s.db.path, Group: s.group, Index: index, Reason: reason}
}

// appended notes a stored entry. The caller holds mu or owns s.
func (s *Store) appended(l *hraft.Log, recordLen int) {
	if s.first == 0 {
		s.first = l.Index
	}
	s.last = l.Index
	s.sizes = append(s.sizes, uint32(recordLen))
	s.bytes += uint64(recordLen)
	s.cache.add(l)
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
	var kb [13]byte
	key := logKey(kb[:], s.group, index)
	value, closer, err := s.db.db.Get(key)
	if err == nil {
		defer closer.Close()
		err = decodeRecord(key, index, value, l)
	}
	if err != nil {
		err = s.corrupt(index, err.Error())
		s.db.fail(err)
	}
	return err
}

// StoreLog stores one entry durably.
func (s *Store) StoreLog(l *hraft.Log) error { return s.StoreLogs([]*hraft.Log{l}) }

// StoreLogs stores entries durably in one write. They must follow the last
// stored entry. An error means the log database is lost to this process.
func (s *Store) StoreLogs(logs []*hraft.Log) error {
	s.mu.RLock()
	next := s.last + 1
	if s.last == 0 && len(logs) > 0 {
		next = logs[0].Index
	}
	s.mu.RUnlock()
	b := s.db.db.NewBatch()
	defer b.Close()
	sizes := make([]int, len(logs))
	var kb [13]byte
	var buf []byte
	for i, l := range logs {
		if l.Index != next+uint64(i) {
			return fmt.Errorf("raft log %s: group %d: append of index %d where %d is due", s.db.path, s.group, l.Index, next+uint64(i))
		}
		key := logKey(kb[:], s.group, l.Index)
		buf = appendLog(buf[:0], l)
		seal(key, buf)
		sizes[i] = len(buf)
		if err := b.Set(key, buf, nil); err != nil {
			return err
		}
	}
	if err := s.db.write(func() error { return b.Commit(logSync) }); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, l := range logs {
		s.appended(l, sizes[i])
	}
	return nil
}

// DeleteRange deletes entries lo..hi, which must be a prefix or a suffix of the
// log. Removing a suffix is durable on return.
func (s *Store) DeleteRange(lo, hi uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	lo, hi = max(lo, s.first), min(hi, s.last)
	if s.first == 0 || lo > hi {
		return nil
	}
	if lo != s.first && hi != s.last {
		return fmt.Errorf("raft log %s: group %d: delete %d..%d inside %d..%d", s.db.path, s.group, lo, hi, s.first, s.last)
	}
	sync := pebble.NoSync
	if hi == s.last {
		sync = pebble.Sync
	}
	from := logKey(nil, s.group, lo)
	_, to := groupBounds(s.group)
	if hi != ^uint64(0) {
		to = logKey(nil, s.group, hi+1)
	}
	if err := s.db.write(func() error { return s.db.db.DeleteRange(from, to, sync) }); err != nil {
		return err
	}
	gone := s.sizes[lo-s.first : hi-s.first+1]
	for _, n := range gone {
		s.bytes -= uint64(n)
	}
	switch {
	case lo == s.first && hi == s.last:
		s.first, s.last, s.sizes = 0, 0, nil
		s.cache.clear()
	case lo == s.first:
		s.sizes = s.sizes[hi-lo+1:]
		s.first = hi + 1
		s.cache.truncatePrefix(hi)
	default:
		s.sizes = s.sizes[:lo-s.first]
		s.last = lo - 1
		s.cache.truncateSuffix(lo)
	}
	return nil
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
	i := len(s.sizes) - 1
	n, b := uint64(1), uint64(s.sizes[i])
	for i > 0 && n < maxEntries && b+uint64(s.sizes[i-1]) <= maxBytes {
		i--
		n++
		b += uint64(s.sizes[i])
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
		return fmt.Errorf("raft log %s: group %d: log is %d..%d, state has applied %d: %w", s.db.path, s.group, first, last, index, ErrGap)
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
	l := &hraft.Log{Index: index, Term: term, Type: hraft.LogNoop}
	key := logKey(nil, s.group, index)
	buf := appendLog(nil, l)
	seal(key, buf)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.db.write(func() error { return s.db.db.Set(key, buf, pebble.Sync) }); err != nil {
		return err
	}
	i := index - s.first
	s.bytes += uint64(len(buf)) - uint64(s.sizes[i])
	s.sizes[i] = uint32(len(buf))
	s.cache.clear()
	return nil
}
