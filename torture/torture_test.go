package torture

import (
	"context"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"ostraka/torture/nodeproc"
	"ostraka/torture/workload"
)

// TestMain lets this test binary be a node.
func TestMain(m *testing.M) {
	if os.Getenv(nodeproc.Env) != "" {
		os.Exit(nodeproc.Main())
	}
	os.Exit(m.Run())
}

// runHere runs with this test binary as the node's program.
func runHere(t *testing.T, opts Options, env ...string) *Report {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes; runs without -short")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	opts.Dir = t.TempDir()
	opts.Command, opts.Env = []string{self}, append(env, nodeproc.Env+"=1")
	opts.Log = t.Logf
	if opts.Nodes == 0 {
		opts.Nodes = 3
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	rep, err := Run(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	rep.Print(&b)
	t.Log(b.String())
	return rep
}

// TestTorture is the short form of the command: every workload, and a kill, a
// pause, a partition and a cut in one direction, all of the leader.
func TestTorture(t *testing.T) {
	second := time.Second
	rep := runHere(t, Options{Seed: 1, Length: 22 * second, Workloads: workload.All(), Plan: []Fault{
		{Kind: Kill, Role: Leader, At: 2 * second, For: second},
		{Kind: Partition, Role: Leader, At: 6 * second, For: 2 * second, Flag: true},
		{Kind: Pause, Role: Leader, At: 11 * second, For: 2 * second},
		{Kind: Asymmetric, Role: Leader, At: 16 * second, For: 2 * second},
		{Kind: KillAll, Role: "all", At: 20 * second, For: second / 10},
	}})
	for _, p := range rep.Problems() {
		t.Error(p)
	}
}

// TestScheduleIsASeeds: a seed gives one schedule, another seed another, and
// every kind of fault comes before any comes twice.
func TestScheduleIsASeeds(t *testing.T) {
	a, b, c := Schedule(7, 5*time.Minute, Kinds), Schedule(7, 5*time.Minute, Kinds), Schedule(8, 5*time.Minute, Kinds)
	if !reflect.DeepEqual(a, b) {
		t.Error("one seed gave two schedules")
	}
	if reflect.DeepEqual(a, c) {
		t.Error("two seeds gave one schedule")
	}
	seen := map[Kind]bool{}
	for _, f := range a {
		seen[f.Kind] = true
		if f.For <= 0 || f.At+f.For > 6*time.Minute {
			t.Errorf("fault %v", f)
		}
	}
	if len(seen) != len(Kinds) {
		t.Errorf("%d of %d kinds are planned in five minutes", len(seen), len(Kinds))
	}
}
