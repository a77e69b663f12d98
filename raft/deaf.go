package raft

import (
	"sync"
	"time"
)

// heard remembers when other nodes last reached this one, by their pings. A
// leader whose own calls work but whom nobody can call ("deaf") would lead on
// for ever, while whatever is forwarded to it hangs; it steps down instead.
type heard struct {
	mu sync.Mutex
	at map[string]time.Time // guarded by mu
}

func newHeard() *heard { return &heard{at: map[string]time.Time{}} }

func (h *heard) from(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at[id] = time.Now()
}

// since counts the ids heard of after t.
func (h *heard) since(t time.Time, ids []string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, id := range ids {
		if h.at[id].After(t) {
			n++
		}
	}
	return n
}

// deafness watches one term of leadership.
type deafness struct {
	term  uint64
	since time.Time // when a quorum was first found silent; zero if it is not
}

// silence is how long a leader goes without being reached by a quorum, and
// confirm how long it must then see that itself: a node that was paused finds
// old times first and the waiting pings right after.
func (t Timers) silence() time.Duration { return 6 * t.Heartbeat }
func (t Timers) confirm() time.Duration { return 2 * t.Heartbeat }

// deaf reports whether this leader of term should hand over because no quorum
// of voters has reached it for a while.
func (g *Group) deaf(d *deafness, term uint64, now time.Time) bool {
	if d.term != term {
		*d = deafness{term: term}
	}
	voters := g.voters()
	established := time.Unix(0, g.led.Load())
	if len(voters) < 2 || now.Sub(established) < g.timers.silence() {
		d.since = time.Time{}
		return false
	}
	reached := g.host.heard.since(now.Add(-g.timers.silence()), voters) + 1 // and itself
	if reached >= len(voters)/2+1 {
		d.since = time.Time{}
		return false
	}
	if d.since.IsZero() {
		d.since = now
	}
	return now.Sub(d.since) >= g.timers.confirm()
}

// stepDownDeaf hands leadership to a follower that answers.
func (g *Group) stepDownDeaf() {
	if !g.admin.TryLock() {
		return // a membership change or transfer is under way
	}
	defer g.admin.Unlock()
	ctx, cancel := g.context(2 * g.timers.Election)
	defer cancel()
	candidates := map[string]bool{}
	term := g.raft.CurrentTerm()
	for _, id := range g.voters() {
		if id != g.self && time.Since(g.peers.Progress(id, term).LastContact) < g.timers.silence() {
			candidates[id] = true
		}
	}
	heir := g.mostAdvanced(candidates)
	if heir == "" {
		return // nobody answers either: the lease takes leadership away
	}
	g.log.Warn("no quorum can reach this leader; handing leadership over", "to", heir)
	if err := g.transfer(ctx, heir); err != nil {
		g.log.Warn("handing leadership over", "to", heir, "error", err)
	}
}
