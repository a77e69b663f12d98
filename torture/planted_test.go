//go:build planted

package torture

import (
	"testing"
	"time"

	"ostraka/torture/check"
	"ostraka/torture/workload"
)

// TestPlanted shows that the checkers find what they are there for: a build with
// the tag planted has faults that an environment variable turns on, one at a time,
// and without it none of them is found.
func TestPlanted(t *testing.T) {
	s := time.Second
	powerCuts := []Fault{{Kind: KillAll, Role: "all", At: 3 * s, For: s / 10}, {Kind: KillAll, Role: "all", At: 9 * s, For: s / 10}}
	// The leader is so slow to answer that a kill finds many a statement committed
	// and not answered, and not so slow that it would lose its followers before.
	var slowKills []Fault
	for at := s; at < 22*s; at += 5 * s {
		slowKills = append(slowKills, Fault{Kind: SlowLink, Role: Leader, At: at, For: 3 * s, Amount: 120 * time.Millisecond}, Fault{Kind: Kill, Role: Leader, At: at + 2*s, For: s})
	}
	slowLinks := []Fault{{Kind: SlowLink, Role: Leader, At: 1 * s, For: 5 * s, Amount: 100 * time.Millisecond}, {Kind: Partition, Role: Leader, At: 8 * s, For: 4 * s}}
	for _, p := range []struct {
		name      string
		workloads []string
		plan      []Fault
		found     []check.Kind // any of them
	}{
		{"ack-before-fsync", []string{"set@local", "append@read committed", "register"}, powerCuts, []check.Kind{check.LostWrite, check.NotLinearizable}},
		{"apply-twice", []string{"monotonic@local", "append@serializable/local", "bank@read committed"}, slowLinks, []check.Kind{check.AppliedTwice, check.LostWrite, check.WrongTotal, check.Incompatible}},
		{"local-read", []string{"register", "set@linearizable"}, slowLinks, []check.Kind{check.NotLinearizable, check.StaleRead}},
		{"retry-after-send", []string{"set@local", "set@bounded", "monotonic@local"}, slowKills, []check.Kind{check.AppliedTwice}},
	} {
		workloads, err := workload.Select(p.workloads)
		if err != nil {
			t.Fatal(err)
		}
		for _, planted := range []string{p.name, "none"} {
			t.Run(p.name+"/"+planted, func(t *testing.T) {
				rep := runHere(t, Options{Seed: 3, Length: 15 * s, Clients: 12, Workloads: workloads, Plan: p.plan}, "OSTRAKA_PLANTED="+planted)
				if planted == "none" {
					for _, problem := range rep.Problems() {
						t.Error(problem)
					}
					return
				}
				for _, w := range rep.Results {
					for _, a := range w.Anomalies {
						for _, k := range p.found {
							if a.Kind == k {
								return
							}
						}
					}
				}
				t.Errorf("the planted fault was not found")
			})
		}
	}
}
