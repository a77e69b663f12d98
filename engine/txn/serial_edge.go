package txn

import "slices"

// sees reports whether w is in x's snapshot for certain.
func (x *Serial) sees(w *Serial) bool {
	return w.state == committed && (w.commit <= x.low || w.known && !x.snap.Less(w.pos))
}

// before reports whether r has ended before x's snapshot was taken, for certain.
func (r *Serial) before(x *Serial) bool { return x.sees(r) }

// possible reports whether x may be, or come to be, committed.
func (x *Serial) possible() bool {
	return x.state == running || x.state == prepared || x.state == committed
}

// notBefore reports that x has not committed for certain before what has drawn prepare.
func (x *Serial) notBefore(prepare uint64) bool { return x.state != committed || prepare <= x.commit }

// edge notes that r has read what w overwrote, without seeing it. self is the one that
// acts. When this completes the dangerous shape, the pivot (the one in the middle) is
// aborted, or who reads, if the pivot cannot be any more. An error is for self.
func (t *Tracker) edge(r, w, self *Serial) error {
	if !r.possible() || !w.possible() || slices.Contains(r.out, w) {
		return nil
	}
	switch {
	case t.middleWrites(r, w):
		switch {
		case self == w:
			w.doom("Canceled on identification as a pivot, during write.")
			return w.alive()
		case w.state == running:
			w.doom("Canceled on identification as a pivot, with conflict out to old committed transaction.")
			return nil
		}
		r.doom("Canceled on conflict out to pivot, during read.")
		return r.alive()
	case t.middleReads(r, w):
		if self == w { // it is prepared, so it does not act
			w.doom("Canceled on identification as a pivot, during write.")
			return w.alive()
		}
		r.doom("Canceled on identification as a pivot, during conflict out checking.")
		return r.alive()
	}
	r.out, w.in = append(r.out, w), append(w.in, r)
	return nil
}

// middleWrites looks for r → w → T3 with T3 first to commit.
func (t *Tracker) middleWrites(r, w *Serial) bool {
	first := func(prepare uint64) bool {
		return prepare != 0 && r.notBefore(prepare) && w.notBefore(prepare) && (!r.readOnly || prepare <= r.high)
	}
	if first(w.firstOut) {
		return true
	}
	return slices.ContainsFunc(w.out, func(t3 *Serial) bool { return t3.possible() && first(t3.prepare) })
}

// middleReads looks for T1 → r → w with w first to commit.
func (t *Tracker) middleReads(r, w *Serial) bool {
	if w.prepare == 0 || !w.possible() || r.readOnly || !r.notBefore(w.prepare) {
		return false
	}
	return slices.ContainsFunc(r.in, func(t1 *Serial) bool {
		return t1.possible() && t1.notBefore(w.prepare) && (!t1.readOnly || w.prepare <= t1.high)
	})
}

// keepOut remembers of a neighbour that has drawn its prepare all that will matter of it.
func (x *Serial) keepOut(o *Serial) {
	if o.prepare != 0 && o.possible() && (x.firstOut == 0 || o.prepare < x.firstOut) {
		x.firstOut = o.prepare
	}
}

// grow counts what is remembered, and bounds it.
func (t *Tracker) grow(n int) {
	t.size += n
	if t.size <= maxTrackedKeys && len(t.txs) <= maxTracked {
		return
	}
	var oldest *Serial
	for _, x := range t.txs {
		if x.state == running && (oldest == nil || x.low < oldest.low) {
			oldest = x
		}
	}
	if oldest != nil {
		oldest.doom("Too much has been committed since the snapshot was taken.")
		t.prune()
	}
}

// prune forgets who committed before every running one took its snapshot. Nobody who
// is still to act has, or will have, an edge to or from one of those; as the T3 of
// somebody it is kept in firstOut, as a T1 it has committed too early to matter.
func (t *Tracker) prune() {
	oldest, any := uint64(0), false
	for _, x := range t.txs {
		if x.state == running && (!any || x.low < oldest) {
			oldest, any = x.low, true
		}
	}
	for i := 0; i < len(t.txs); {
		if x := t.txs[i]; x.state == committed && (!any || x.commit <= oldest) {
			t.remove(x)
			continue
		}
		i++
	}
}

// remove takes x out, with its edges.
func (t *Tracker) remove(x *Serial) {
	i := slices.Index(t.txs, x)
	if i < 0 {
		return
	}
	t.txs = slices.Delete(t.txs, i, i+1)
	t.size -= x.reads.size() + x.writes.size()
	for _, r := range x.in {
		r.keepOut(x)
		r.out = without(r.out, x)
	}
	for _, w := range x.out {
		x.keepOut(w)
		w.in = without(w.in, x)
	}
	x.in, x.out = nil, nil
}

func without(list []*Serial, x *Serial) []*Serial {
	if i := slices.Index(list, x); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}
