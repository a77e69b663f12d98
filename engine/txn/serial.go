package txn

import (
	"slices"
	"sync"

	"ostraka/engine/commitlog"
	"ostraka/sqltypes/pgerror"
)

// Tracker keeps serializable transactions from mixing in a way that no serial order
// explains. It is serializable snapshot isolation (Cahill, Röhm, Fekete; Ports and
// Grittner for PostgreSQL), on the leader, where all serializable transactions of a
// shard run.
//
// Every transaction reads one snapshot, a prefix of the log, and changes no row that
// another one has changed since. What can go wrong then always has the same shape:
// T1 has read what T2 overwrote, T2 has read what T3 overwrote, each pair at the same
// time, and T3 is the first of the whole cycle to commit (T1 may be T3); if T1 only
// reads, T3 has committed before T1's snapshot. So it is enough that of every such
// three one is aborted. The tracker notes the edges "has read what … overwrote", when
// the later of read and write happens (both are told to it before they take effect,
// under one mutex), and looks for the shape whenever an edge is added and whenever a
// transaction is about to commit: the last of these three events finds it.
//
// Which commit was first, the log decides. Two numbers enclose the place in it: one
// drawn before the entry is proposed (prepare), one after it is applied (commit). "T3
// first" is assumed unless they rule it out, so a doubt costs an abort, never an anomaly.
//
// A transaction is forgotten when it has committed before every running one has taken
// its snapshot; that it was the T3 of others is kept as a number (firstOut).
//
// Serializable transactions of another term do not meet: those of an older one have
// ended, and what they committed is in every snapshot of the new one.
type Tracker struct {
	mu     sync.Mutex
	seq    uint64 // the last number drawn; guarded by mu, as everything below and in Serial
	txs    []*Serial
	size   int // reads and writes remembered
	prefix func(key string) int
}

// maxTracked and maxTrackedKeys bound what is remembered for the sake of an old
// transaction; when it is more, the oldest running one is aborted.
const (
	maxTracked     = 1 << 14
	maxTrackedKeys = 4 << 20
)

// NewTracker makes an empty tracker. prefix is the length of the part of a key that
// names its table or index.
func NewTracker(prefix func(key string) int) *Tracker { return &Tracker{prefix: prefix} }

type serialState uint8

const (
	running   serialState = iota
	doomed                // running, and bound to fail at its next step
	prepared              // its entry is on its way, perhaps for ever
	committed             // applied, or ended without effects
	aborted
)

// Serial is a serializable transaction. Its methods are called by the transaction's goroutine.
type Serial struct {
	t        *Tracker
	readOnly bool // as declared, or at its end for having written nothing
	state    serialState
	reads    readSet
	writes   writeSet
	snap     commitlog.Position
	// Numbers: low was drawn before the snapshot was taken, high after it, prepare
	// before the entry was proposed (0: not yet), commit after it was applied.
	low, high, prepare, commit uint64
	pos                        commitlog.Position // of its entry, if known
	known                      bool
	in, out                    []*Serial // edges: those who have read what we wrote, those who wrote what we have read
	// firstOut is the least prepare of those in out that have been forgotten; 0: none.
	firstOut uint64
	reason   string
	done     chan struct{} // closed when it has ended or will not be known
}

// Start begins tracking, before the snapshot is taken.
func (t *Tracker) Start(readOnly bool) *Serial {
	x := &Serial{t: t, readOnly: readOnly, done: make(chan struct{})}
	x.reads.prefix, x.writes.prefix = t.prefix, t.prefix
	t.mu.Lock()
	defer t.mu.Unlock()
	x.low, x.high = t.seq, t.seq
	t.txs = append(t.txs, x)
	return x
}

// Opened tells the snapshot.
func (x *Serial) Opened(snap commitlog.Position) {
	x.t.mu.Lock()
	defer x.t.mu.Unlock()
	x.snap, x.high = snap, x.t.seq
}

// Point notes that a key is being looked up. An error is the transaction's end.
func (x *Serial) Point(key string) error {
	if x.reads.whole(key) {
		return x.check()
	}
	x.t.mu.Lock()
	defer x.t.mu.Unlock()
	if err := x.alive(); err != nil {
		return err
	}
	before := x.reads.size()
	x.reads.addPoint(key)
	return x.read(before, func(w *writeSet) bool { return w.has(key) })
}

// Range notes that [lo, hi) is being scanned, all under one storage prefix.
func (x *Serial) Range(lo, hi string) error {
	if x.reads.whole(lo) {
		return x.check()
	}
	x.t.mu.Lock()
	defer x.t.mu.Unlock()
	if err := x.alive(); err != nil {
		return err
	}
	before := x.reads.size()
	x.reads.addRange(lo, hi)
	return x.read(before, func(w *writeSet) bool { return w.within(lo, hi) })
}

// read adds the edges to those who have written what has just been noted.
func (x *Serial) read(before int, touched func(w *writeSet) bool) error {
	if x.reads.full() {
		all := x.reads.coarsen()
		touched = func(w *writeSet) bool { return slices.ContainsFunc(all, w.hasPrefix) }
	}
	x.t.grow(x.reads.size() - before)
	for i := 0; i < len(x.t.txs); i++ {
		w := x.t.txs[i]
		if w != x && w.writes.size() > 0 && !x.sees(w) && touched(&w.writes) {
			if err := x.t.edge(x, w, x); err != nil {
				return err
			}
		}
	}
	return x.alive()
}

// Overtaken reports whether one that the snapshot does not have, and that may have
// committed, has written a key.
func (x *Serial) Overtaken(key string) bool {
	x.t.mu.Lock()
	defer x.t.mu.Unlock()
	return x.overtaken(func(w *writeSet) bool { return w.has(key) })
}

// NewestRange is Range for reading the newest state, as checks of constraints do. If
// another one's writes are there that the snapshot does not have, the transaction
// cannot commit.
func (x *Serial) NewestRange(lo, hi string) error {
	if err := x.Range(lo, hi); err != nil {
		return err
	}
	x.t.mu.Lock()
	defer x.t.mu.Unlock()
	if x.overtaken(func(w *writeSet) bool { return w.within(lo, hi) }) {
		x.doom(overtakenReason)
	}
	return nil
}

const overtakenReason = "Canceled on conflict out to a transaction that committed first."

// Fail dooms the transaction for having read what another one committed after its snapshot.
func (x *Serial) Fail() error {
	x.t.mu.Lock()
	defer x.t.mu.Unlock()
	x.doom(overtakenReason)
	return x.alive()
}

// Duplicate notes that a key to be written was found in the newest state. If it is
// another one's that the snapshot does not have, the transaction cannot commit.
// An error is due in place of the one about the key.
func (x *Serial) Duplicate(key string) error {
	if err := x.Write(key); err != nil {
		return err
	}
	x.t.mu.Lock()
	defer x.t.mu.Unlock()
	if x.overtaken(func(w *writeSet) bool { return w.has(key) }) {
		x.doom(overtakenReason)
	}
	return nil
}

// overtaken reports whether one that the snapshot does not have, and that may have committed, has written.
func (x *Serial) overtaken(touched func(w *writeSet) bool) bool {
	for _, w := range x.t.txs {
		if w != x && (w.state == committed || w.state == prepared) && !x.sees(w) && touched(&w.writes) {
			return true
		}
	}
	return false
}

// Write notes that a key is about to be written. An error is the transaction's end.
func (x *Serial) Write(key string) error {
	return x.write(func() { x.writes.add(key) }, func(r *readSet) bool { return r.has(key) })
}

// WritePrefix notes that all that begins with a storage prefix goes.
func (x *Serial) WritePrefix(p string) error {
	return x.write(func() { x.writes.addPrefix(p) }, func(r *readSet) bool { return r.hasPrefix(p) })
}

func (x *Serial) write(note func(), touched func(r *readSet) bool) error {
	x.t.mu.Lock()
	defer x.t.mu.Unlock()
	if err := x.alive(); err != nil {
		return err
	}
	before := x.writes.size()
	note()
	x.t.grow(x.writes.size() - before)
	for i := 0; i < len(x.t.txs); i++ {
		r := x.t.txs[i]
		if r != x && !r.before(x) && touched(&r.reads) {
			if err := x.t.edge(r, x, x); err != nil {
				return err
			}
		}
	}
	return x.alive()
}

// Prepare asks whether the transaction may commit; when it may, it counts from now on
// as one that cannot be aborted any more, until Finish.
func (x *Serial) Prepare() error {
	t := x.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := x.alive(); err != nil {
		return err
	}
	for _, near := range x.in {
		if near.state != running && near.state != prepared {
			continue
		}
		for _, far := range near.in {
			if far != x && (far.state != running && far.state != prepared || far.readOnly) {
				continue
			}
			if near.state == prepared {
				x.doom("Canceled on commit attempt with conflict in from prepared pivot.")
				return x.alive()
			}
			near.doom("Canceled on identification as a pivot, during commit attempt.")
			break
		}
	}
	t.seq++
	x.prepare, x.state = t.seq, prepared
	return nil
}

// Finish tells the end: applied at a position, or without effects at no position.
func (x *Serial) Finish(pos commitlog.Position, known bool) {
	x.t.mu.Lock()
	defer x.t.mu.Unlock()
	if x.state == committed || x.state == aborted {
		return
	}
	x.t.seq++
	x.state, x.commit, x.pos, x.known = committed, x.t.seq, pos, known
	x.readOnly = x.readOnly || x.writes.size() == 0
	x.end()
	x.t.prune()
}

// Abort tells that nothing of the transaction remains.
func (x *Serial) Abort() {
	x.t.mu.Lock()
	defer x.t.mu.Unlock()
	if x.state == committed || x.state == aborted {
		return
	}
	x.state = aborted
	x.end()
	x.t.remove(x)
	x.t.prune()
}

// Unknown tells that the outcome is not known, perhaps never: until Finish or Abort
// the transaction counts as one about to commit.
func (x *Serial) Unknown() {
	x.t.mu.Lock()
	defer x.t.mu.Unlock()
	x.end()
}

func (x *Serial) end() {
	select {
	case <-x.done:
	default:
		close(x.done)
	}
}

// Rivals are the running ones that a reader must outwait to know that its snapshot is safe.
func (x *Serial) Rivals() []*Serial {
	x.t.mu.Lock()
	defer x.t.mu.Unlock()
	var all []*Serial
	for _, o := range x.t.txs {
		if o != x && !o.readOnly && (o.state == running || o.state == prepared) {
			all = append(all, o)
		}
	}
	return all
}

// Done is closed when the transaction has ended.
func (x *Serial) Done() <-chan struct{} { return x.done }

// Spoils reports whether an ended rival makes the snapshot of a reader one that no
// serial order has; known is false while its outcome is unknown.
func (x *Serial) Spoils(reader *Serial) (bad, known bool) {
	x.t.mu.Lock()
	defer x.t.mu.Unlock()
	early := func(prepare uint64) bool { return prepare != 0 && prepare <= reader.high }
	bad = early(x.firstOut) || slices.ContainsFunc(x.out, func(o *Serial) bool { return o.possible() && early(o.prepare) })
	return bad && (x.state == prepared || x.state == committed), x.state != prepared
}

// Size is the number of transactions it remembers.
func (t *Tracker) Size() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.txs)
}

func (x *Serial) check() error {
	x.t.mu.Lock()
	defer x.t.mu.Unlock()
	return x.alive()
}

func (x *Serial) alive() error {
	if x.state == doomed || x.state == aborted {
		return ErrDependencies(x.reason)
	}
	return nil
}

func (x *Serial) doom(reason string) {
	if x.state == running {
		x.state, x.reason = doomed, reason
	}
}

// ErrDependencies is the 40001 of a transaction that fits no serial order.
func ErrDependencies(reason string) error {
	return pgerror.New(pgerror.TRSerializationFailure, "could not serialize access due to read/write dependencies among transactions").
		WithDetail("Reason code: %s", reason).
		WithHint("The transaction might succeed if retried.")
}
