package raft_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	hraft "github.com/hashicorp/raft"

	"ostraka/engine/commitlog/logtest"
	"ostraka/raft"
	"ostraka/raft/logstore"
	"ostraka/raft/transport"
)

// kept is what a stopped node has on disk.
type kept struct {
	term, voteTerm uint64
	vote           string
	first, last    uint64
	entries        string // terms and types of all entries
}

func keptBy(t *testing.T, n *node) (k kept) {
	t.Helper()
	db, err := logstore.Open(filepath.Join(n.dir, "raftlog"), logstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := db.Stable(0)
	if k.term, err = s.Number("CurrentTerm"); err != nil {
		t.Fatal(err)
	}
	if k.voteTerm, err = s.Number("LastVoteTerm"); err != nil {
		t.Fatal(err)
	}
	if v, err := s.Get([]byte("LastVoteCand")); err == nil {
		k.vote = string(v)
	}
	log, err := db.Log(0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	k.first, _ = log.FirstIndex()
	k.last, _ = log.LastIndex()
	var b strings.Builder
	for i := k.first; i <= k.last && i > 0; i++ {
		var l hraft.Log
		if err := log.GetLog(i, &l); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%d:%d:%d:%x ", i, l.Term, l.Type, l.Data)
	}
	k.entries = b.String()
	return k
}

// TestRestartKeeps: a node that comes back has its id, term, vote and log, and is a
// member again without anybody's help.
func TestRestartKeeps(t *testing.T) {
	c := newCluster(t, 3, clusterOptions{})
	l := c.load(4)
	l.more(50)
	// Some terms, so that votes were given.
	for range 2 {
		lead := c.leader()
		if err := lead.group.TransferLeadership(c.ctx, c.followers(lead)[0].id); err != nil {
			t.Fatal(err)
		}
		l.more(20)
	}
	l.finish()
	held := c.converge()
	before := map[string]kept{}
	for _, id := range ids(1, 3) {
		c.crash(c.nodes[id])
	}
	for _, id := range ids(1, 3) {
		before[id] = keptBy(t, c.nodes[id])
		if k := before[id]; k.term < 3 || k.last == 0 {
			t.Fatalf("node %s: %+v: the test shows nothing", id, k)
		}
	}
	// Each comes back alone, so that nothing moves, and has what it had.
	c.faults.Partition([]string{"1"}, []string{"2"}, []string{"3"})
	for _, id := range ids(1, 3) {
		n := c.nodes[id]
		c.start(n)
		m := n.group.Metrics()
		if m.Term != before[id].term || m.LastLog != before[id].last || len(m.Members) != 3 {
			t.Errorf("node %s has term %d, log to %d, %d members; had %+v", id, m.Term, m.LastLog, len(m.Members), before[id])
		}
		c.crash(n)
		if k := keptBy(t, n); k != before[id] {
			t.Errorf("node %s had %+v, has %+v", id, before[id], k)
		}
	}
	c.faults.Heal()
	for _, id := range ids(1, 3) {
		c.start(c.nodes[id])
	}
	c.propose("after")
	now := c.converge()
	l.verify(now)
	if len(now) < len(held) || !slices.Equal(now[:len(held)], held) {
		t.Error("what was applied is not what was applied before")
	}
	for _, id := range ids(1, 3) {
		c.crash(c.nodes[id])
		if k := keptBy(t, c.nodes[id]); k.term < before[id].term || k.voteTerm < before[id].voteTerm || !strings.HasPrefix(k.entries, before[id].entries) {
			t.Errorf("node %s went back: had %+v, has %+v", id, before[id], k)
		}
	}
}

// TestHalfBootstrap: a process that ended in the middle of a bootstrap can do it again.
func TestHalfBootstrap(t *testing.T) {
	for _, s := range []struct {
		name       string
		term, vote uint64
		again      bool
	}{{"term only", 1, 0, true}, {"a vote", 1, 1, false}, {"a later term", 2, 0, false}} {
		t.Run(s.name, func(t *testing.T) {
			dir := t.TempDir()
			db, err := logstore.Open(filepath.Join(dir, "raftlog"), logstore.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Stable(0).SetUint64([]byte("CurrentTerm"), s.term); err != nil {
				t.Fatal(err)
			}
			if err := db.Stable(0).SetUint64([]byte("LastVoteTerm"), s.vote); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			h := openHost(t, raft.HostConfig{NodeID: "1", Dir: dir})
			g, err := h.OpenGroup(raft.GroupConfig{Applier: logtest.NewRecorder()})
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Bootstrap(t.Context()); (err == nil) != s.again {
				t.Errorf("bootstrap: %v", err)
			}
		})
	}
}

// TestMembershipInterrupted: a change of several steps whose leader is cut off in the
// middle leaves a membership that works, and is completed by asking again, through
// any node.
func TestMembershipInterrupted(t *testing.T) {
	c := newCluster(t, 3, clusterOptions{})
	for _, id := range ids(4, 5) {
		if _, err := c.nodes["1"].group.AddLearner(c.ctx, id, c.add(id).addr); err != nil {
			t.Fatal(err)
		}
	}
	l := c.load(2)
	l.more(20)
	lead := c.leader()
	stay := others(c.followers(lead), lead.id)[0]
	want := []string{stay, "4", "5"}
	slices.Sort(want)
	// Node 5 hears nobody, so that the change stops when 4 has a vote and 5 has none.
	for _, id := range ids(1, 4) {
		c.faults.Set(transport.Edge{From: id, To: "5", Rule: transport.Rule{DropRequests: true}})
	}
	change := make(chan error, 1)
	go func() {
		_, err := lead.group.ChangeMembership(c.ctx, want)
		change <- err
	}()
	c.eventually("node 4 votes", func() bool {
		return slices.Contains(strings.Fields(memberList(lead.group.Metrics())), "4")
	})
	l.more(20)
	if got := memberList(lead.group.Metrics()); got != "1 2 3 4 5?" {
		t.Errorf("in the middle: members %s", got)
	}
	c.stop(lead)
	if err := <-change; err == nil {
		t.Error("the interrupted call says it is done")
	}
	next := c.leader()
	if got := memberList(next.group.Metrics()); got != "1 2 3 4 5?" {
		t.Errorf("after the leader's end: members %s", got)
	}
	l.more(20)
	c.faults.Heal()
	if _, err := c.nodes[stay].group.ChangeMembership(c.ctx, want); err != nil {
		t.Fatal(err)
	}
	if got := memberList(c.leader(want...).group.Metrics()); got != strings.Join(want, " ") {
		t.Errorf("in the end: members %s, want %v", got, want)
	}
	l.more(20)
	l.finish()
	for _, id := range ids(1, 3) {
		if id != stay {
			c.stop(c.nodes[id])
		}
	}
	l.verify(c.converge())
}
