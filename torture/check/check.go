// Package check decides whether a history keeps a promise: one checker per kind
// of workload, pure functions of the history.
//
// A checker returns anomalies; none means that the history is allowed, not that
// the system is right. Operations of unknown outcome are given every benefit of
// the doubt that they deserve, and no more: one whose effect was seen has
// happened.
package check

import (
	"fmt"
	"sort"
	"strings"

	"ostraka/torture/history"
)

// Kind names an anomaly.
type Kind string

// Kinds of anomaly. G… are Adya's phenomena ("Weak Consistency: A Generalized
// Theory", 1999), as Kingsbury and Alvaro's Elle derives them from list appends.
const (
	NotLinearizable Kind = "not-linearizable"  // no order of the operations explains what was read
	LostWrite       Kind = "lost-write"        // acknowledged, and not there at the end
	AppliedTwice    Kind = "applied-twice"     // there more often than it was written
	Resurrected     Kind = "failed-write-seen" // answered as a plain failure, and there
	Phantom         Kind = "never-written"     // read, and nobody wrote it
	StaleRead       Kind = "stale-read"        // an acknowledged write that was not seen where it was promised
	WrongTotal      Kind = "wrong-total"       // money made or lost
	Negative        Kind = "negative-balance"
	WentBack        Kind = "read-went-back"   // a session saw an older state than before
	OwnWriteLost    Kind = "own-write-unseen" // a session did not see what it had written
	LongFork        Kind = "long-fork"        // two reads saw two writes in opposite orders
	Diverged        Kind = "replicas-differ"  // nodes at rest hold different states
	Internal        Kind = "internal"         // a transaction does not see its own writes, or not its own reads
	Incompatible    Kind = "incompatible-order"
	Duplicate       Kind = "duplicate-elements"
	G0              Kind = "G0"
	G1a             Kind = "G1a"
	G1b             Kind = "G1b"
	G1c             Kind = "G1c"
	GSingle         Kind = "G-single"
	GNonadjacent    Kind = "G-nonadjacent"
	G2Item          Kind = "G2-item"
)

// Anomaly is one thing that should not have happened.
type Anomaly struct {
	Kind Kind
	Text string        // what is wrong, in one line
	Ops  []*history.Op // the operations that show it
}

func (a Anomaly) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", a.Kind, a.Text)
	for _, o := range a.Ops {
		fmt.Fprintf(&b, "\n    %v", o)
	}
	return b.String()
}

// Kinds are the kinds in a list of anomalies, sorted, each once.
func Kinds(as []Anomaly) []Kind {
	seen := map[Kind]bool{}
	var out []Kind
	for _, a := range as {
		if !seen[a.Kind] {
			seen[a.Kind] = true
			out = append(out, a.Kind)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i] < out[j] })
	return out
}

// Only keeps the anomalies whose kind is in forbidden.
func Only(as []Anomaly, forbidden map[Kind]bool) []Anomaly {
	var out []Anomaly
	for _, a := range as {
		if forbidden[a.Kind] {
			out = append(out, a)
		}
	}
	return out
}
