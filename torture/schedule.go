package torture

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// Kind is a kind of fault.
type Kind string

// Kinds of fault.
const (
	Kill       Kind = "kill"       // kill -9; what was not synced is lost
	KillAll    Kind = "killall"    // all nodes at once
	Pause      Kind = "pause"      // SIGSTOP
	Partition  Kind = "partition"  // two sides that hear nothing of each other
	Asymmetric Kind = "asymmetric" // links cut in one direction
	SlowLink   Kind = "slowlink"   // delays on all links of some nodes
	SlowDisk   Kind = "slowdisk"   // syncs that take long
	Clock      Kind = "clock"      // the wall clock jumps
	Membership Kind = "membership" // a voter leaves and comes back
	Rolling    Kind = "rolling"    // nodes are restarted in turn
)

// Kinds is every kind of fault.
var Kinds = []Kind{Kill, KillAll, Pause, Partition, Asymmetric, SlowLink, SlowDisk, Clock, Membership, Rolling}

// ParseKinds reads a list of kinds; "all" is every kind, "none" the empty list.
func ParseKinds(list string) ([]Kind, error) {
	switch list {
	case "", "all":
		return Kinds, nil
	case "none":
		return nil, nil
	}
	var out []Kind
next:
	for _, word := range strings.Split(list, ",") {
		for _, k := range Kinds {
			if string(k) == strings.TrimSpace(word) {
				out = append(out, k)
				continue next
			}
		}
		return nil, fmt.Errorf("unknown fault %q; there are %v", word, Kinds)
	}
	return out, nil
}

// Role says which nodes a fault concerns; it is resolved when the fault begins.
type Role string

// Roles.
const (
	Leader   Role = "leader"
	Follower Role = "follower" // one of them
	Minority Role = "minority" // as many nodes as may fail, the leader not among them
	WithLead Role = "minority with the leader"
	Majority Role = "majority"
)

// Fault is one planned fault.
type Fault struct {
	Kind Kind
	Role Role
	At   time.Duration // after the load has begun
	For  time.Duration
	// Pick decides among the nodes that the role fits.
	Pick uint64
	// Amount is the delay of a link or a disk, or how far the clock jumps.
	Amount time.Duration
	// Flag is the kind's variant: connections break too (partition, asymmetric),
	// the nodes hear but are not heard (asymmetric).
	Flag bool
}

func (f Fault) String() string {
	s := fmt.Sprintf("%6.1fs %-10s of %s for %.1fs", f.At.Seconds(), f.Kind, f.Role, f.For.Seconds())
	if f.Amount != 0 {
		s += fmt.Sprintf(", %v", f.Amount)
	}
	if f.Flag {
		switch f.Kind {
		case Partition:
			s += ", connections broken"
		case Asymmetric:
			s += ", heard by no one"
		}
	} else if f.Kind == Asymmetric {
		s += ", deaf"
	}
	return s
}

// Schedule plans faults for a run of the given length: every kind once in a random
// order, then again, with time to recover between them; now and then two at once.
// It depends on its arguments only.
func Schedule(seed uint64, length time.Duration, kinds []Kind) []Fault {
	if len(kinds) == 0 {
		return nil
	}
	rng := rand.New(rand.NewPCG(seed, 0x70727475))
	var bag []Kind
	draw := func() Kind {
		if len(bag) == 0 {
			bag = append(bag, kinds...)
			rng.Shuffle(len(bag), func(i, j int) { bag[i], bag[j] = bag[j], bag[i] })
		}
		k := bag[0]
		bag = bag[1:]
		return k
	}
	between := func(a, b float64) time.Duration {
		return time.Duration((a + rng.Float64()*(b-a)) * float64(time.Second))
	}
	var out []Fault
	for at := between(0.5, 1.5); ; {
		f := plan(draw(), rng, between)
		f.At = at
		if at+f.For > length && len(out) > 0 {
			return out
		}
		out = append(out, f)
		end := at + f.For
		if alone(f.Kind) || rng.IntN(4) > 0 {
			at = end + between(1.5, 4)
			continue
		}
		// A second one begins while the first lasts.
		if g := plan(kinds[rng.IntN(len(kinds))], rng, between); !alone(g.Kind) && g.Kind != f.Kind {
			g.At = at + f.For/3
			out = append(out, g)
			end = max(end, g.At+g.For)
		}
		at = end + between(1.5, 4)
	}
}

// alone: faults that are steps of their own and take as long as they take.
func alone(k Kind) bool { return k == KillAll || k == Membership || k == Rolling }

func plan(k Kind, rng *rand.Rand, between func(a, b float64) time.Duration) Fault {
	pick := func(roles ...Role) Role { return roles[rng.IntN(len(roles))] }
	f := Fault{Kind: k, Pick: rng.Uint64(), Flag: rng.IntN(2) == 0}
	switch k {
	case Kill:
		f.Role, f.For = pick(Leader, Leader, Follower, Minority, Majority), between(0.2, 4)
	case KillAll:
		f.Role, f.For = "all", between(0.1, 1)
	case Pause:
		f.Role, f.For = pick(Leader, Leader, Follower, Minority, Majority), between(0.5, 6)
	case Partition:
		f.Role, f.For = pick(Leader, WithLead, Minority, Follower), between(2, 7)
	case Asymmetric:
		f.Role, f.For = pick(Leader, Leader, Follower, Minority), between(2, 7)
	case SlowLink:
		f.Role, f.For, f.Amount = pick(Leader, Follower, Minority), between(2, 6), between(0.01, 0.3)
	case SlowDisk:
		f.Role, f.For, f.Amount = pick(Leader, Follower, Minority, Majority), between(2, 6), between(0.02, 0.4)
	case Clock:
		f.Role, f.For = pick(Leader, Follower, Minority), between(2, 6)
		f.Amount = []time.Duration{-time.Hour, -time.Minute, -time.Second, time.Second, time.Minute, time.Hour, 48 * time.Hour}[rng.IntN(7)]
	case Membership:
		f.Role, f.For = pick(Leader, Follower), between(1, 4)
	case Rolling:
		f.Role, f.For = "all", between(3, 5)
	}
	return f
}
