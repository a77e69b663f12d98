package shard

import (
	"slices"

	"ostraka/engine/storage"
)

// A wait for a lock may be long, and an open iterator keeps the files and memory of
// the moment it was made from being freed, whatever was merged or deleted since. So a
// transaction that has waited a while closes the iterators of its scanners, and opens
// them again in its snapshot, where they were, before it goes on.

// watch lets a scanner take part; it is called by the transaction's goroutine, as all of this.
func (t *Txn) watch(s *scanner) {
	if t.term == nil {
		return // takes no locks
	}
	if t.owner.Pause == nil {
		t.owner.Pause = t.pause
	}
	s.txn, s.from = t, t.snap
	t.scans = append(t.scans, s)
}

// unwatch forgets a scanner that is closed.
func (t *Txn) unwatch(s *scanner) {
	if i := slices.Index(t.scans, s); i >= 0 {
		t.scans = slices.Delete(t.scans, i, i+1)
	}
}

// pause closes what can be opened again; resume opens it.
func (t *Txn) pause() (resume func()) {
	var parked []*scanner
	for _, s := range t.scans {
		if s.park(t.snap) {
			parked = append(parked, s)
		}
	}
	return func() {
		for _, s := range parked {
			s.unpark()
		}
	}
}

// park closes the iterators, if open is the snapshot they read.
func (s *scanner) park(open *storage.Snapshot) bool {
	if s.st == nil || s.done || s.busy || s.it == nil || open == nil || s.from != open || s.it.Error() != nil {
		return false
	}
	s.mark = nil
	if s.it.Valid() {
		s.mark = append([]byte{}, s.it.Key()...)
	}
	err := s.it.Close()
	if s.rows != nil {
		err = firstError(err, s.rows.Close())
	}
	s.it, s.rows, s.broken = nil, nil, err
	return true
}

// unpark opens the iterators where they were. An error is the next batch's.
func (s *scanner) unpark() {
	if s.st == nil {
		return
	}
	err := s.openIterators(s.from)
	if s.broken = firstError(s.broken, err); s.broken != nil {
		return
	}
	if len(s.spans) > 1 && s.span > 0 {
		sp := s.spanAt(s.span - 1)
		s.it.SetBounds(sp.lo, sp.hi)
	}
	switch {
	case s.mark == nil:
	case s.spec.Reverse:
		s.it.SeekLT(append(s.mark, 0))
	default:
		s.it.SeekGE(s.mark)
	}
	s.mark = nil
}

// openIterators opens the iterators over all spans in a snapshot.
func (s *scanner) openIterators(snap *storage.Snapshot) (err error) {
	lo, hi := s.spans[0].lo, s.spans[len(s.spans)-1].hi
	if s.it, err = storage.NewSnapshotIter(s.ctx, snap, lo, hi); err == nil && s.ix != nil {
		lo, hi := storage.DataRange(s.spec.Rel.StorageID)
		s.rows, err = storage.NewSnapshotIter(s.ctx, snap, lo, hi)
	}
	return err
}
