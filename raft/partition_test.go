package raft_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"ostraka/engine/commitlog"
	"ostraka/raft"
	"ostraka/raft/transport"
)

// TestPartition cuts five nodes 3|2, with the leader on either side.
func TestPartition(t *testing.T) {
	for _, side := range []string{"leader in the majority", "leader in the minority"} {
		t.Run(side, func(t *testing.T) {
			c := newCluster(t, 5, clusterOptions{})
			lead := c.leader()
			var rest []string
			for _, n := range c.followers(lead) {
				rest = append(rest, n.id)
			}
			major, minor := append(rest[:2:2], lead.id), rest[2:]
			if side == "leader in the minority" {
				major, minor = rest[:3], append(rest[3:], lead.id)
			}
			term := lead.group.Leadership().Term
			c.faults.Partition(major, minor)

			// What the minority is asked meanwhile must not appear later.
			ctx, cancel := context.WithTimeout(c.ctx, 10*time.Second)
			defer cancel()
			for _, id := range minor {
				_, err := c.nodes[id].group.Propose(ctx, term, []byte("minority"))
				if err == nil {
					t.Fatalf("node %s of the minority acknowledged a proposal", id)
				}
				if !errors.Is(err, commitlog.ErrNotAppended) && !errors.Is(err, commitlog.ErrAmbiguous) {
					t.Errorf("node %s: %v", id, err)
				}
			}
			l := c.load(4, major...)
			c.leader(major...)
			l.more(50)
			for _, id := range minor {
				short, cancel := context.WithTimeout(c.ctx, 3*fastTimers.Heartbeat)
				if p, err := c.nodes[id].group.ReadBarrier(short); err == nil {
					t.Errorf("read barrier in the minority gave %v", p)
				} else if !errors.Is(err, raft.ErrNoQuorum) {
					t.Errorf("read barrier in the minority: %v", err)
				}
				cancel()
				c.eventually("the minority's node "+id+" does not lead", func() bool { return !c.nodes[id].group.Leadership().IsLeader })
			}
			l.more(50)
			if c.faults.Hits() == 0 {
				t.Fatal("the partition never took effect")
			}
			c.faults.Heal()
			l.more(20)
			l.finish()
			held := c.converge()
			l.verify(held)
			if slices.Contains(held, "minority") {
				t.Error("a proposal of the minority appeared")
			}
		})
	}
}

func others(all []*node, except string) (out []string) {
	for _, n := range all {
		if n.id != except {
			out = append(out, n.id)
		}
	}
	return out
}

// TestDeafFollower: its incoming requests are dropped, its own pass.
func TestDeafFollower(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 5, clusterOptions{timers: calmTimers})
	lead := c.leader()
	term := lead.group.Leadership().Term
	deaf := c.followers(lead)[0]
	l := c.load(4)
	l.more(20)
	for id := range c.nodes {
		if id != deaf.id {
			c.faults.Set(transport.Edge{From: id, To: deaf.id, Rule: transport.Rule{DropRequests: true}})
		}
	}
	hits := c.faults.Hits()
	for range 8 {
		time.Sleep(calmTimers.Heartbeat)
		l.more(10)
	}
	if c.faults.Hits() == hits {
		t.Fatal("nothing was dropped")
	}
	if s := lead.group.Leadership(); !s.IsLeader || s.Term != term {
		t.Errorf("the leader of term %d has %+v", term, s)
	}
	c.faults.Heal()
	l.finish()
	if n := len(l.notAdded) + len(l.ambiguous); n > 0 {
		t.Errorf("%d proposals failed", n)
	}
	l.verify(c.converge())
}

// TestReplyLoss: a node's requests land, the replies to them do not come back.
func TestReplyLoss(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 5, clusterOptions{timers: calmTimers})
	lead := c.leader()
	term := lead.group.Leadership().Term
	odd := c.followers(lead)[0]
	l := c.load(4)
	l.more(20)
	for id := range c.nodes {
		if id != odd.id {
			c.faults.Set(
				transport.Edge{From: odd.id, To: id, Rule: transport.Rule{DropReplies: true}},
				// and it hears nobody, so that it campaigns
				transport.Edge{From: id, To: odd.id, Rule: transport.Rule{DropRequests: true}},
			)
		}
	}
	hits := c.faults.Hits()
	for range 10 {
		time.Sleep(calmTimers.Heartbeat)
		l.more(10)
	}
	if c.faults.Hits() == hits {
		t.Fatal("nothing was dropped")
	}
	for _, n := range c.followers(odd) {
		if m := n.group.Metrics(); m.Term != term || m.Leader != lead.id {
			t.Errorf("node %s: term %d, leader %s; were %d and %s", n.id, m.Term, m.Leader, term, lead.id)
		}
	}
	c.faults.Heal()
	l.finish()
	if n := len(l.notAdded) + len(l.ambiguous); n > 0 {
		t.Errorf("%d proposals failed", n)
	}
	l.verify(c.converge())
}

// TestDeafLeader: nobody can call the leader, so it hands leadership over.
func TestDeafLeader(t *testing.T) {
	c := newCluster(t, 3, clusterOptions{})
	lead := c.leader()
	l := c.load(4)
	l.more(20)
	rest := others(c.followers(lead), lead.id)
	for _, id := range rest {
		c.faults.Set(transport.Edge{From: id, To: lead.id, Rule: transport.Rule{DropRequests: true}})
	}
	ctx, cancel := context.WithTimeout(c.ctx, 2*fastTimers.Heartbeat)
	defer cancel()
	if _, err := c.nodes[rest[0]].group.ReadBarrier(ctx); !errors.Is(err, raft.ErrNoQuorum) {
		t.Errorf("read barrier through a deaf leader: %v", err)
	}
	heir := c.leader(rest...)
	if _, err := heir.group.ReadBarrier(c.ctx); err != nil {
		t.Error(err)
	}
	l.more(20)
	c.faults.Heal()
	l.finish()
	l.verify(c.converge())
}

// TestDisturbedNetwork delays, duplicates and reorders everything.
func TestDisturbedNetwork(t *testing.T) {
	c := newCluster(t, 3, clusterOptions{timers: raft.Timers{Heartbeat: 200 * time.Millisecond, RPC: 400 * time.Millisecond}, trailingEntries: 64})
	rule := transport.Rule{Delay: time.Millisecond, Jitter: 4 * time.Millisecond, Duplicate: 0.2, Reorder: 0.05}
	var edges []transport.Edge
	for a := range c.nodes {
		for b := range c.nodes {
			if a != b {
				edges = append(edges, transport.Edge{From: a, To: b, Rule: rule})
			}
		}
	}
	c.faults.Set(edges...)
	l := c.load(8)
	for range 3 {
		l.more(200)
		lead := c.leader()
		c.nodes[lead.id].state.Flush()
	}
	if c.faults.Hits() < 100 {
		t.Fatalf("only %d faults", c.faults.Hits())
	}
	c.faults.Heal()
	l.finish()
	l.verify(c.converge())
}
