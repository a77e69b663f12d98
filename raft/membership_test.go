package raft_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ostraka/raft"
	"ostraka/raft/transport"
)

func memberList(m raft.Metrics) string {
	var out []string
	for _, x := range m.Members {
		s := x.ID
		if !x.Voter {
			s += "?"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func TestMembership(t *testing.T) {
	c := newCluster(t, 1, clusterOptions{})
	one := c.nodes["1"].group
	c.add("2")
	c.add("3")
	if _, err := one.AddLearner(c.ctx, "2", ""); err == nil {
		t.Error("a learner without an address was added")
	}
	if _, err := one.AddLearner(c.ctx, "two", "x:1"); err == nil {
		t.Error("a learner named two was added")
	}
	if _, err := one.ChangeMembership(c.ctx, nil); !errors.Is(err, raft.ErrNoMembers) {
		t.Errorf("empty set: %v", err)
	}
	if _, err := one.ChangeMembership(c.ctx, []string{"1", "7"}); !errors.Is(err, raft.ErrUnknownMember) {
		t.Errorf("unknown member: %v", err)
	}
	if _, err := one.AddLearner(c.ctx, "2", c.nodes["2"].addr); err != nil {
		t.Fatal(err)
	}
	if got := memberList(one.Metrics()); got != "1 2?" {
		t.Errorf("members %s", got)
	}
	c.eventually("node 2 is a learner", func() bool { return c.nodes["2"].group.Metrics().State == "Learner" })
	// A dead learner does not count towards the quorum.
	c.stop(c.nodes["2"])
	c.propose("without the learner")
	c.start(c.nodes["2"])

	// On a follower, calls are forwarded.
	two := c.nodes["2"].group
	c.eventually("node 2 knows the leader", func() bool { return two.Leadership().LeaderID == "1" })
	if _, err := two.AddLearner(c.ctx, "3", c.nodes["3"].addr); err != nil {
		t.Fatal(err)
	}
	if _, err := two.ChangeMembership(c.ctx, []string{"1", "7"}); !errors.Is(err, raft.ErrUnknownMember) {
		t.Errorf("unknown member, forwarded: %v", err)
	}
	pos, err := two.ChangeMembership(c.ctx, []string{"1", "2", "3"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.nodes["1"].state.WaitApplied(c.ctx, pos); err != nil {
		t.Fatal(err)
	}
	if got := memberList(c.leader().group.Metrics()); got != "1 2 3" {
		t.Errorf("members %s", got)
	}
	c.propose("three voters")

	// The leader leaves, from where it is asked.
	l := c.load(4)
	l.more(20)
	old := c.leader()
	var rest []string
	for _, id := range ids(1, 3) {
		if id != old.id {
			rest = append(rest, id)
		}
	}
	if _, err := old.group.ChangeMembership(c.ctx, rest); err != nil {
		t.Fatal(err)
	}
	heir := c.leader(rest...)
	if got := memberList(heir.group.Metrics()); got != strings.Join(rest, " ") {
		t.Errorf("members %s, want %v", got, rest)
	}
	if got := heir.state.Applied().ConfigIndex; got == 0 {
		t.Error("the applier has no membership")
	}
	l.more(20)
	// Again: nothing to do.
	if _, err := heir.group.ChangeMembership(c.ctx, rest); err != nil {
		t.Errorf("completing a complete change: %v", err)
	}
	l.finish()
	c.stop(old)
	l.verify(c.converge())
}

func TestTransferLeadership(t *testing.T) {
	c := newCluster(t, 3, clusterOptions{timers: calmTimers})
	l := c.load(4)
	l.more(20)
	for range 4 {
		lead := c.leader()
		to := c.followers(lead)[0]
		if err := c.followers(lead)[1].group.TransferLeadership(c.ctx, to.id); err != nil {
			t.Fatalf("from %s to %s: %v", lead.id, to.id, err)
		}
		c.leader(to.id)
		if err := to.group.TransferLeadership(c.ctx, to.id); err != nil {
			t.Errorf("transfer to itself: %v", err)
		}
		l.more(20)
	}
	l.finish()
	l.verify(c.converge())
}

// TestLearnerCatchUp adds an empty node after the log has been truncated, under
// load, with transfers broken midway.
func TestLearnerCatchUp(t *testing.T) {
	c := newCluster(t, 3, clusterOptions{trailingEntries: 16})
	l := c.load(4)
	for range 5 {
		l.more(60)
		for _, n := range c.nodes {
			n.state.Flush()
		}
	}
	lead := c.leader()
	c.eventually("the log is truncated", func() bool { return lead.group.Metrics().FirstLog > 20 })
	big := strings.Repeat("x", 256<<10)
	for i := range 20 {
		c.propose(fmt.Sprint(i, big))
	}
	four := c.add("4")
	// Cut the transfer again and again.
	cutter, stop := context.WithCancel(c.ctx)
	done := make(chan int)
	go func() {
		cuts := 0
		for cutter.Err() == nil && cuts < 3 {
			time.Sleep(40 * time.Millisecond)
			before := c.faults.Hits()
			c.faults.Set(transport.Edge{From: lead.id, To: "4", Rule: transport.Rule{DropRequests: true}})
			for cutter.Err() == nil && c.faults.Hits() == before {
				time.Sleep(time.Millisecond)
			}
			cuts++
			c.faults.Set(transport.Edge{From: lead.id, To: "4"})
		}
		done <- cuts
	}()
	_, err := c.leader().group.AddLearner(c.ctx, "4", four.addr)
	stop()
	if cuts := <-done; cuts == 0 {
		t.Error("nothing was cut")
	}
	c.faults.Heal()
	if err != nil {
		t.Fatal(err)
	}
	if four.state.Durable().Position.Index == 0 {
		t.Error("the learner got no checkpoint; the log was not truncated far enough")
	}
	// Another one is served from the checkpoint that was kept for the first,
	// although the log has been truncated up to its end meanwhile.
	for range 3 {
		l.more(40)
		for _, n := range c.nodes {
			n.state.Flush()
		}
	}
	five := c.add("5")
	if _, err := c.leader().group.AddLearner(c.ctx, "5", five.addr); err != nil {
		t.Fatal(err)
	}
	l.more(20)
	l.finish()
	l.verify(c.converge())
	// It keeps what it has got.
	c.crash(four)
	c.start(four)
	l.verify(c.converge())
}

// TestFollowerAway: a follower who was down comes back by the log or by a
// checkpoint, without raft's back-off of many seconds.
func TestFollowerAway(t *testing.T) {
	for _, trailing := range []uint64{8, 100000} {
		t.Run(fmt.Sprintf("trailing %d", trailing), func(t *testing.T) {
			c := newCluster(t, 3, clusterOptions{trailingEntries: trailing})
			c.propose("begin")
			n := c.followers(c.leader())[0]
			c.crash(n)
			l := c.load(4)
			for range 12 {
				l.more(20)
				time.Sleep(fastTimers.Heartbeat)
				for _, x := range c.nodes {
					x.state.Flush()
				}
			}
			c.start(n)
			begin := time.Now()
			pos := c.propose("back")
			if err := n.state.WaitApplied(c.ctx, pos); err != nil {
				t.Fatal(err)
			}
			if d := time.Since(begin); d > min(slower(3*time.Second), 9*time.Second) { // raft would wait for 10 s
				t.Errorf("it took %v to catch up", d)
			}
			l.finish()
			l.verify(c.converge())
		})
	}
}

// TestJoin: empty nodes add themselves, at the same time, through any member.
func TestJoin(t *testing.T) {
	c := newCluster(t, 2, clusterOptions{secret: "s"})
	l := c.load(2)
	l.more(20)
	errs := make(chan error)
	for i, id := range []string{"3", "4", "5"} {
		n, via := c.add(id), c.nodes[ids(1, 2)[i%2]].addr
		go func() {
			_, err := n.host.Join(c.ctx, 0, via)
			errs <- err
		}()
	}
	for range 3 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	c.eventually("five voters", func() bool {
		n := 0
		for _, m := range c.leader().group.Metrics().Members {
			if m.Voter {
				n++
			}
		}
		return n == 5
	})
	if _, err := c.nodes["5"].host.Join(c.ctx, 0, c.nodes["1"].addr); err != nil {
		t.Errorf("joining again: %v", err)
	}
	l.more(20)
	l.finish()
	l.verify(c.converge())
}

// TestTransferKilled: the receiver of a checkpoint ends in the middle of it, then the
// sender does; what was half received is never used, and the data arrives all the same.
func TestTransferKilled(t *testing.T) {
	c := newCluster(t, 3, clusterOptions{trailingEntries: 16})
	l := c.load(2)
	big := strings.Repeat("x", 256<<10)
	for i := range 32 {
		c.propose(fmt.Sprint(i, big))
	}
	for range 3 {
		l.more(40)
		for _, n := range c.nodes {
			n.state.Flush()
		}
	}
	c.eventually("the log is truncated", func() bool { return c.leader().group.Metrics().FirstLog > 20 })
	l.finish()
	four := c.add("4")
	// Slow enough to be met in the middle.
	for _, id := range ids(1, 3) {
		c.faults.Set(transport.Edge{From: id, To: "4", Rule: transport.Rule{Delay: 5 * time.Millisecond}})
	}
	half := func() bool {
		names, _ := filepath.Glob(filepath.Join(four.dir, "staging-0", "in-*"))
		return len(names) > 0
	}
	added := make(chan error, 1)
	go func() {
		for {
			_, err := c.nodes["2"].group.AddLearner(c.ctx, "4", four.addr)
			if err == nil || c.ctx.Err() != nil {
				added <- err
				return
			}
		}
	}()
	c.eventually("a checkpoint is on its way", half)
	c.crash(four)
	if four.state.Applied().Position.Index != 0 {
		t.Fatal("it had arrived already: the test shows nothing")
	}
	c.start(four)
	c.eventually("a checkpoint is on its way again", half)
	lead := c.leader()
	if lead.id != "2" { // who was asked goes on asking
		c.crash(lead)
	}
	if err := <-added; err != nil {
		t.Fatal(err)
	}
	c.faults.Heal()
	if four.state.Durable().Position.Index == 0 {
		t.Error("the learner got no checkpoint")
	}
	if !lead.up {
		c.start(lead)
	}
	l.verify(c.converge())
}
