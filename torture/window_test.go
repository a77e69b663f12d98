package torture

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"ostraka/torture/cluster"
)

// TestWindow: a fault lasts as planned when it has met something on every node, and
// longer, provoking it, when it has not; when it never does it did not occur.
func TestWindow(t *testing.T) {
	a, b := &cluster.Node{ID: "a"}, &cluster.Node{ID: "b"}
	s := time.Second
	for _, c := range []struct {
		name     string
		meets    map[*cluster.Node]int // provocations after which the fault has met something; -1: never
		deaf     bool                  // nothing can be provoked
		after    map[*cluster.Node]time.Duration
		cancel   time.Duration
		lasts    time.Duration // at most a little longer
		provoked map[*cluster.Node]int
		occurs   bool
	}{
		{name: "met as planned", meets: map[*cluster.Node]int{a: 0, b: 0}, lasts: 3 * s, provoked: map[*cluster.Node]int{}, occurs: true},
		{name: "one node has met nothing", meets: map[*cluster.Node]int{a: 0, b: 2}, lasts: 3*s + 2*provokeEvery, provoked: map[*cluster.Node]int{b: 2}, occurs: true},
		{name: "no node has", meets: map[*cluster.Node]int{a: 1, b: 1}, lasts: 3*s + 2*provokeEvery, provoked: map[*cluster.Node]int{a: 1, b: 1}, occurs: true},
		{name: "it comes by itself, late", deaf: true, after: map[*cluster.Node]time.Duration{a: s, b: 8 * s}, lasts: 8 * s, provoked: map[*cluster.Node]int{}, occurs: true},
		{name: "never", meets: map[*cluster.Node]int{a: 0, b: -1}, lasts: 13 * s, occurs: false},
		{name: "never, and not to be provoked", deaf: true, after: map[*cluster.Node]time.Duration{a: 100 * s}, lasts: 13 * s, occurs: false},
		{name: "the run ends before", meets: map[*cluster.Node]int{a: 0, b: 0}, cancel: s, lasts: s, occurs: false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if c.cancel > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.cancel)
					defer cancel()
				}
				begin := time.Now()
				provoked := map[*cluster.Node]int{}
				w := window{length: 3 * s, extra: 10 * s, met: func(_ context.Context, x *cluster.Node) (bool, error) {
					if c.deaf {
						return time.Since(begin) >= c.after[x], nil
					}
					return c.meets[x] >= 0 && provoked[x] >= c.meets[x], nil
				}}
				if !c.deaf {
					w.provoke = func(_ context.Context, x *cluster.Node) error {
						provoked[x]++
						return nil
					}
				}
				err := w.stayOpen(ctx, []*cluster.Node{a, b})
				if (err == nil) != c.occurs {
					t.Errorf("it ended with %v", err)
				}
				if d := time.Since(begin); d < c.lasts || d > c.lasts+provokeEvery {
					t.Errorf("it lasted %v, not %v", d, c.lasts)
				}
				if c.provoked != nil && (provoked[a] != c.provoked[a] || provoked[b] != c.provoked[b]) {
					t.Errorf("provoked %d and %d times", provoked[a], provoked[b])
				}
			})
		})
	}
}

// TestWindowSaysWhy: what stands in the way is in the error.
func TestWindowSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := errors.New("its process has ended")
		w := window{extra: time.Second, met: func(context.Context, *cluster.Node) (bool, error) { return true, gone }}
		if err := w.stayOpen(t.Context(), []*cluster.Node{{ID: "a"}}); !errors.Is(err, gone) {
			t.Errorf("%v", err)
		}
	})
}

// TestChoice: a role is that many nodes, the leader where it says so; with fewer
// free ones the fault has to wait.
func TestChoice(t *testing.T) {
	var all []*cluster.Node
	for _, id := range []string{"1", "2", "3", "4", "5"} {
		all = append(all, &cluster.Node{ID: id})
	}
	lead := all[2]
	for _, c := range []struct {
		role Role
		busy []int
		want string
	}{
		{Leader, nil, "3"}, {Leader, []int{2}, ""},
		{Follower, nil, "1"}, {Follower, []int{0, 1}, "4"}, {Follower, []int{0, 1, 3, 4}, ""},
		{Minority, nil, "12"}, {Minority, []int{0}, "24"}, {Minority, []int{0, 1, 3}, ""},
		{WithLead, nil, "31"}, {WithLead, []int{2}, ""}, {WithLead, []int{0, 1, 3, 4}, ""},
		{Majority, nil, "123"}, {Majority, []int{0, 1}, "345"}, {Majority, []int{0, 1, 2}, ""},
		{"all", nil, "12345"}, {"all", []int{4}, ""},
	} {
		got := ""
		for _, x := range choice(Fault{Role: c.role}, lead, all, func(x *cluster.Node) bool { return !slices.Contains(c.busy, slices.Index(all, x)) }) {
			got += x.ID
		}
		if got != c.want {
			t.Errorf("%s with %v busy: %q, not %q", c.role, c.busy, got, c.want)
		}
	}
}

// TestFaultsOfAnIdleCluster: every planned fault occurs although no client does anything
// for it to meet.
func TestFaultsOfAnIdleCluster(t *testing.T) {
	second := time.Second
	rep := runHere(t, Options{Seed: 5, Length: second, Plan: []Fault{
		{Kind: SlowDisk, Role: Follower, For: second / 5, Amount: 20 * time.Millisecond},
		{Kind: SlowDisk, Role: Minority, At: second, For: 1, Amount: 20 * time.Millisecond},
		{Kind: Clock, Role: Follower, At: second, For: 1, Amount: time.Hour},
		{Kind: Pause, Role: Leader, At: 2 * second, For: second},
		{Kind: Asymmetric, Role: Follower, At: 2 * second, For: 1, Flag: true},
		{Kind: SlowLink, Role: Follower, At: 3 * second, For: 1, Amount: 10 * time.Millisecond},
		{Kind: SlowDisk, Role: Majority, At: 4 * second, For: 1, Amount: 20 * time.Millisecond},
		{Kind: Kill, Role: Majority, At: 4 * second, For: second / 5},
	}})
	for _, p := range rep.Problems() {
		t.Error(p)
	}
	if len(rep.Faults) != 8 {
		t.Errorf("%d faults of 8", len(rep.Faults))
	}
}

// TestFaultsOfARunCutShort: what was planned and not begun counts as not having occurred.
func TestFaultsOfARunCutShort(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n := &nemesis{c: &cluster.Cluster{Links: cluster.NewLinks(1)}, log: t.Logf}
	rep := Report{Faults: n.run(ctx, Schedule(1, time.Minute, Kinds))}
	if planned := len(Schedule(1, time.Minute, Kinds)); planned == 0 || len(rep.Problems()) != planned {
		t.Errorf("%d problems, %d faults planned", len(rep.Problems()), planned)
	}
}
