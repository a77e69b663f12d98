package txn

import (
	"sort"
	"sync"

	"ostraka/engine/commitlog"
)

// maxReads is how many points and ranges a transaction remembers before it
// coarsens them to whole tables and indexes.
const maxReads = 4096

// ReadSet is what a serializable transaction has read: keys, absent ones too,
// and key ranges. One goroutine at a time.
type ReadSet struct {
	points map[string]struct{}
	ranges []keyRange
	// Prefix returns the length of the storage prefix of a key, for coarsening.
	Prefix func(key string) int
	coarse map[string]struct{} // prefixes read as a whole
}

type keyRange struct{ lo, hi string }

// Point notes that a key was looked up.
func (r *ReadSet) Point(key string) {
	if len(r.coarse) > 0 {
		if _, ok := r.coarse[key[:r.Prefix(key)]]; ok {
			return
		}
	}
	if r.points == nil {
		r.points = map[string]struct{}{}
	}
	r.points[key] = struct{}{}
	r.bound()
}

// Range notes that [lo, hi) was scanned.
func (r *ReadSet) Range(lo, hi string) {
	if n := len(r.ranges); n > 0 && r.ranges[n-1] == (keyRange{lo, hi}) {
		return
	}
	r.ranges = append(r.ranges, keyRange{lo, hi})
	r.bound()
}

func (r *ReadSet) bound() {
	if len(r.points)+len(r.ranges) <= maxReads {
		return
	}
	if r.coarse == nil {
		r.coarse = map[string]struct{}{}
	}
	for k := range r.points {
		r.coarse[k[:r.Prefix(k)]] = struct{}{}
	}
	for _, g := range r.ranges {
		r.coarse[g.lo[:r.Prefix(g.lo)]] = struct{}{}
	}
	r.points, r.ranges = nil, nil
}

// Empty reports whether nothing was read.
func (r *ReadSet) Empty() bool { return len(r.points)+len(r.ranges)+len(r.coarse) == 0 }

// Contains reports whether the key was read, alone or within a range.
func (r *ReadSet) Contains(key string) bool { return r.touches([]string{key}) }

// touches reports whether one of the sorted write keys was read.
func (r *ReadSet) touches(writes []string) bool {
	for _, g := range r.ranges {
		i := sort.SearchStrings(writes, g.lo)
		if i < len(writes) && writes[i] < g.hi {
			return true
		}
	}
	if len(r.points) > 0 || len(r.coarse) > 0 {
		for _, w := range writes {
			if _, ok := r.points[w]; ok {
				return true
			}
			if len(r.coarse) > 0 {
				if _, ok := r.coarse[w[:r.Prefix(w)]]; ok {
					return true
				}
			}
		}
	}
	return false
}

// Tracker validates serializable transactions against each other (optimistic,
// backward): at commit a transaction fails if another serializable one, which
// registered before and is not in its snapshot, wrote what it has read, phantoms
// included. The serial order is that of registration; Register makes the log's
// order agree with it wherever that matters.
//
// Read-only transactions need no validation: their snapshot is a prefix of the log.
type Tracker struct {
	mu     sync.Mutex
	commit []*Commit // guarded by mu; in order of registration, not older than the oldest snapshot
	active map[*ReadSet]commitlog.Position
}

// Commit is a registered commit.
type Commit struct {
	writes []string
	reads  *ReadSet
	done   chan struct{} // closed when resolved
	pos    commitlog.Position
	state  commitState // guarded by Tracker.mu
}

type commitState uint8

const (
	inFlight commitState = iota
	applied
	failed
	unknown // outcome unknown: counts as applied after everything
)

// NewTracker makes an empty tracker.
func NewTracker() *Tracker { return &Tracker{active: map[*ReadSet]commitlog.Position{}} }

// Begin starts tracking a transaction that reads at snap.
func (t *Tracker) Begin(r *ReadSet, snap commitlog.Position) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.active[r] = snap
}

// End stops tracking it and forgets commits that no snapshot can conflict with.
func (t *Tracker) End(r *ReadSet) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.active, r)
	t.prune()
}

func (t *Tracker) prune() {
	oldest, any := commitlog.Position{}, false
	for _, p := range t.active {
		if !any || p.Less(oldest) {
			oldest, any = p, true
		}
	}
	rest := t.commit[:0]
	for _, c := range t.commit {
		if c.state == inFlight || c.state == unknown || c.state == applied && any && oldest.Less(c.pos) {
			rest = append(rest, c)
		}
	}
	clear(t.commit[len(rest):])
	t.commit = rest
}

// Register validates a transaction that read r at snap and is about to write the
// sorted keys. ok false: it must abort. wait not nil: the outcome of another
// commit decides; call Register again once it is closed.
func (t *Tracker) Register(r *ReadSet, snap commitlog.Position, writes []string) (c *Commit, wait <-chan struct{}, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range t.commit {
		if x.state == failed || x.state == applied && !snap.Less(x.pos) {
			continue
		}
		if r.touches(x.writes) {
			if x.state == inFlight {
				return nil, x.done, true
			}
			return nil, nil, false
		}
		// x goes before us in the serial order because it read what we overwrite;
		// its entry must do so in the log as well, or a reader between the two
		// would see us and not it.
		if x.state == inFlight && x.reads.touches(writes) {
			return nil, x.done, true
		}
	}
	c = &Commit{writes: writes, reads: r, done: make(chan struct{})}
	t.commit = append(t.commit, c)
	return c, nil, true
}

// Crossed reports whether one who has read r at snap and now writes key crosses
// with a commit it does not see: each has read what the other wrote. Such a one
// cannot commit any more.
func (t *Tracker) Crossed(r *ReadSet, snap commitlog.Position, key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range t.commit {
		if x.state == applied && snap.Less(x.pos) && x.reads.Contains(key) && r.touches(x.writes) {
			return true
		}
	}
	return false
}

// ReadAndWritten reports whether a commit that a reader at snap does not see has
// both read and written a key.
func (t *Tracker) ReadAndWritten(snap commitlog.Position, key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range t.commit {
		if x.state == failed || x.state == applied && !snap.Less(x.pos) {
			continue
		}
		if i := sort.SearchStrings(x.writes, key); i < len(x.writes) && x.writes[i] == key && x.reads.Contains(key) {
			return true
		}
	}
	return false
}

// Resolve says how a registered commit ended.
func (t *Tracker) Resolve(c *Commit, pos commitlog.Position, ok, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case ok:
		c.state, c.pos = applied, pos
	case known:
		c.state = failed
	default:
		c.state = unknown
	}
	close(c.done)
	t.prune()
}

// Size is the number of commits it remembers.
func (t *Tracker) Size() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.commit)
}
