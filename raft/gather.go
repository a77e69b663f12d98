package raft

import "time"

// gather decides whether an entry is worth waiting for. An entry costs the same
// few system calls and fsyncs on every node whatever its size, and clients come
// in rounds: those whose transactions have just been acknowledged propose again
// soon. An entry begun at once would leave with the half that came meanwhile, and
// the halves would take turns for ever. So after an entry has landed, the next
// one waits until as many proposals are there as the last entry and the queue
// held together; not longer than patience, which grows with waits that were met
// and shrinks, soon to nothing, with those that were in vain.
//
// The owner locks.
type gather struct {
	waiting  bool
	want     int // proposals that end the wait
	since    time.Time
	patience time.Duration // longest wait
	flight   time.Duration // moving average of an entry's way to its answer
	skip     int           // entries until waiting is tried again
}

const (
	// minPatience: shorter waits are not worth a timer.
	minPatience = 40 * time.Microsecond
	// maxPatience bounds what a wait can add to a transaction.
	maxPatience = 2 * time.Millisecond
	// retryAfter is how many entries pass before waiting is tried again.
	retryAfter = 32
)

// landed notes an entry of n proposals that took so long while queued others
// came, and returns how long the next entry may wait; 0: not at all.
func (g *gather) landed(n, queued int, took time.Duration, now time.Time) time.Duration {
	if g.flight == 0 {
		g.flight = took
	}
	g.flight += (took - g.flight) / 8
	if n+queued < 2 || n == 0 {
		return 0
	}
	if g.patience < minPatience {
		if g.skip > 0 {
			g.skip--
			return 0
		}
		g.patience = max(g.flight, minPatience)
	}
	g.patience = min(g.patience, maxPatience, 2*g.flight)
	g.waiting, g.want, g.since = true, n+queued, now
	return g.patience
}

// met ends a wait that brought what was wanted.
func (g *gather) met(now time.Time) {
	g.waiting = false
	g.patience = max(g.patience, 2*now.Sub(g.since))
}

// missed ends a wait that did not bring all.
func (g *gather) missed(queued int) {
	g.waiting = false
	switch {
	case queued == 0: // nobody has waited
	case queued >= g.want*3/4: // nearly all came: a little more would have done
		g.patience += g.patience / 4
	default:
		if g.patience /= 2; g.patience < minPatience {
			g.patience, g.skip = 0, retryAfter
		}
	}
}
