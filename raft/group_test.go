package raft_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"ostraka/engine/commitlog"
	"ostraka/raft"
)

func TestThreeNodes(t *testing.T) {
	c := newCluster(t, 3, clusterOptions{secret: "join", timers: calmTimers})
	l := c.load(8)
	l.more(300)
	l.finish()
	l.verify(c.converge())
	if len(l.ambiguous)+len(l.notAdded) > 0 {
		t.Errorf("%d unknown and %d refused outcomes without a fault", len(l.ambiguous), len(l.notAdded))
	}
	lead := c.leader()
	if m := lead.group.Metrics(); m.State != "Leader" || len(m.Members) != 3 || m.Members[1].Addr == "" {
		t.Errorf("metrics of the leader: %+v", m)
	}
	for _, n := range c.followers(lead) {
		m := n.group.Metrics()
		if m.State != "Follower" || m.Leader != lead.id {
			t.Errorf("metrics of node %s: %+v", n.id, m)
		}
		c.eventually("progress of node "+n.id, func() bool {
			for _, mem := range lead.group.Metrics().Members {
				if mem.ID == n.id {
					return mem.Voter && mem.Progress.Lag == 0 && time.Since(mem.Progress.LastContact) < calmTimers.Heartbeat
				}
			}
			return false
		})
	}
}

// TestFollowerLearnsCommit: an idle follower knows a commit soon, not at the
// next of the leader's idle messages.
func TestFollowerLearnsCommit(t *testing.T) {
	timers := fastTimers
	timers.Commit = 10 * time.Second
	c := newCluster(t, 3, clusterOptions{timers: timers})
	lead := c.leader()
	for i := range 10 {
		pos := c.propose(fmt.Sprint(i))
		begin := time.Now()
		for _, n := range c.followers(lead) {
			if err := n.state.WaitApplied(c.ctx, pos); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(begin); d > 2*time.Second {
			t.Fatalf("followers learned the commit after %v", d)
		}
	}
}

func TestReadBarrierEverywhere(t *testing.T) {
	c := newCluster(t, 3, clusterOptions{})
	for i := range 20 {
		pos := c.propose(fmt.Sprint(i))
		for _, n := range c.nodes {
			b, err := n.group.ReadBarrier(c.ctx)
			if err != nil {
				t.Fatalf("node %s: %v", n.id, err)
			}
			if b.Less(pos) {
				t.Fatalf("node %s: barrier %v misses %v", n.id, b, pos)
			}
			if err := n.state.WaitApplied(c.ctx, b); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestLeaderKill(t *testing.T) {
	c := newCluster(t, 3, clusterOptions{trailingEntries: 64})
	l := c.load(8)
	for range 2 {
		l.more(50)
		lead := c.leader()
		c.crash(lead)
		l.more(50)
		c.start(lead)
	}
	l.more(50)
	l.finish()
	l.verify(c.converge())
}

func TestBootstrapTwice(t *testing.T) {
	c := newCluster(t, 1, clusterOptions{})
	if err := c.nodes["1"].group.Bootstrap(c.ctx); !errors.Is(err, raft.ErrBootstrapped) {
		t.Errorf("second bootstrap: %v", err)
	}
	inert := c.add("9")
	if s := inert.group.Leadership(); s.IsLeader || s.LeaderID != "" {
		t.Errorf("a node that was not added has %+v", s)
	}
	if _, err := inert.group.Propose(c.ctx, 1, []byte("x")); !errors.Is(err, commitlog.ErrNotAppended) {
		t.Errorf("proposal on it: %v", err)
	}
	ctx, cancel := context.WithTimeout(c.ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := inert.group.ReadBarrier(ctx); !errors.Is(err, raft.ErrNoQuorum) {
		t.Errorf("read barrier on it: %v", err)
	}
	if m := inert.group.Metrics(); m.State != "Learner" {
		t.Errorf("state %q", m.State)
	}
}
