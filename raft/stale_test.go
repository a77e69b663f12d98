package raft_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ostraka/engine/commitlog"
	"ostraka/raft"
	"ostraka/raft/transport"
)

// TestReadsNeverStale disturbs a cluster at random while it is written to, and
// asks every node for read barriers: each must reach what had been acknowledged
// anywhere before it was asked for.
func TestReadsNeverStale(t *testing.T) {
	c := newCluster(t, 3, clusterOptions{timers: raft.Timers{Heartbeat: 100 * time.Millisecond, RPC: 300 * time.Millisecond}})
	rng := rand.New(rand.NewPCG(3, 3))
	var acked atomic.Uint64 // index of the newest acknowledged write
	var reads, lost atomic.Int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	groups := make([]*raft.Group, 0, 3)
	for _, id := range ids(1, 3) {
		groups = append(groups, c.nodes[id].group)
	}
	for range 2 {
		wg.Go(func() { // writers
			for !stop.Load() {
				for _, g := range groups {
					l := g.Leadership()
					if !l.IsLeader {
						continue
					}
					pos, err := g.Propose(c.ctx, l.Term, []byte("w"))
					if err != nil {
						continue
					}
					for old := acked.Load(); pos.Index > old && !acked.CompareAndSwap(old, pos.Index); old = acked.Load() {
					}
				}
				time.Sleep(200 * time.Microsecond)
			}
		})
	}
	for _, g := range groups {
		wg.Go(func() { // readers
			for !stop.Load() {
				time.Sleep(100 * time.Microsecond)
				before := commitlog.Position{Index: acked.Load()}
				ctx, cancel := context.WithTimeout(c.ctx, 50*time.Millisecond)
				b, err := g.ReadBarrier(ctx)
				cancel()
				if err != nil {
					lost.Add(1)
					continue
				}
				reads.Add(1)
				if b.Less(before) {
					t.Errorf("node %s: barrier %v, %v was acknowledged before", g.Metrics().NodeID, b, before)
					stop.Store(true)
				}
			}
		})
	}
	names := ids(1, 3)
	for range 24 {
		if stop.Load() {
			break
		}
		lead := c.leader().id
		switch rng.IntN(5) {
		case 0: // the leader alone
			var rest []string
			for _, n := range names {
				if n != lead {
					rest = append(rest, n)
				}
			}
			c.faults.Partition([]string{lead}, rest)
		case 1: // the leader's calls to one follower get slow, to the other are cut
			for _, n := range names {
				if n != lead {
					rule := transport.Rule{Delay: 90 * time.Millisecond, Jitter: 100 * time.Millisecond}
					if rng.IntN(2) == 0 {
						rule = transport.Rule{DropRequests: true}
					}
					c.faults.Set(transport.Edge{From: lead, To: n, Rule: rule})
				}
			}
		case 2: // replies to the leader are lost
			for _, n := range names {
				if n != lead {
					c.faults.Set(transport.Edge{From: lead, To: n, Rule: transport.Rule{DropReplies: true}})
				}
			}
		case 3: // a transfer, which ends the lease
			ctx, cancel := context.WithTimeout(c.ctx, time.Second)
			c.nodes[lead].group.TransferLeadership(ctx, "")
			cancel()
		case 4: // everything is delayed, doubled and out of order
			for _, a := range names {
				for _, b := range names {
					if a != b {
						c.faults.Set(transport.Edge{From: a, To: b, Rule: transport.Rule{Jitter: 20 * time.Millisecond, Duplicate: 0.3, Reorder: 0.1}})
					}
				}
			}
		}
		time.Sleep(time.Duration(50+rng.IntN(300)) * time.Millisecond)
		c.faults.Heal()
		time.Sleep(time.Duration(rng.IntN(100)) * time.Millisecond)
	}
	stop.Store(true)
	wg.Wait()
	c.converge()
	t.Logf("%d reads, %d unanswered, %d faults, newest write %d", reads.Load(), lost.Load(), c.faults.Hits(), acked.Load())
	if reads.Load() < 100 || lost.Load() == 0 {
		t.Error("too few reads, or none that the faults prevented")
	}
}

// TestDeposedLeader parks replies of followers so that their late arrival makes
// the old leader believe that it still has a quorum, then cuts it off. When
// another leader has acknowledged a write, the old one must not answer a read
// without it, although raft there still says "leader" (and raft's VerifyLeader
// would agree).
func TestDeposedLeader(t *testing.T) {
	h := 100 * time.Millisecond
	c := newCluster(t, 3, clusterOptions{timers: raft.Timers{Heartbeat: h, Lease: h, RPC: 10 * h}})
	happened := 0
	for trial := 0; trial < 60 && happened < 3; trial++ {
		old := c.leader()
		rest := others(c.followers(old), old.id)
		for _, id := range rest {
			c.faults.Set(transport.Edge{From: old.id, To: id, Rule: transport.Rule{ReplyDelay: h / 3, ReplyJitter: 3 * h / 2}})
		}
		time.Sleep(3 * h)
		if !old.group.Leadership().IsLeader {
			c.faults.Heal()
			continue
		}
		for _, id := range rest { // replies that are parked still arrive
			c.faults.Set(
				transport.Edge{From: old.id, To: id, Rule: transport.Rule{DropRequests: true}},
				transport.Edge{From: id, To: old.id, Rule: transport.Rule{DropRequests: true, DropReplies: true}},
			)
		}
		l := c.leader(rest...)
		pos, err := l.group.Propose(c.ctx, l.group.Leadership().Term, []byte("w"))
		if err == nil && old.group.Leadership().IsLeader {
			happened++
			ctx, cancel := context.WithTimeout(c.ctx, h/3)
			if b, err := old.group.ReadBarrier(ctx); err == nil && b.Less(pos) {
				t.Errorf("trial %d: the deposed leader gives barrier %v, %v has been acknowledged", trial, b, pos)
			}
			cancel()
		}
		c.faults.Heal()
		for { // the deposed leader's own proposals have an unknown outcome
			l := c.leader()
			if _, err := l.group.Propose(c.ctx, l.group.Leadership().Term, []byte("on")); err == nil {
				break
			}
		}
	}
	if happened == 0 {
		t.Error("the old leader never outlived its successor's first write")
	}
	t.Logf("it happened %d times", happened)
}

// TestLeaseEndsWithSleep: a leader that slept takes no answer from before for one
// that is young, although its steady clock says so.
func TestLeaseEndsWithSleep(t *testing.T) {
	var slept atomic.Int64
	h := 2 * time.Second
	c := newCluster(t, 3, clusterOptions{timers: raft.Timers{Heartbeat: h}, slept: func() (time.Duration, bool) { return time.Duration(slept.Load()), true }})
	c.propose("w")
	lead := c.leader()
	read := func() error {
		ctx, cancel := context.WithTimeout(c.ctx, h/20)
		defer cancel()
		_, err := lead.group.ReadBarrier(ctx)
		return err
	}
	c.eventually("a read by the lease", func() bool { return read() == nil })
	for id := range c.nodes {
		for other := range c.nodes {
			if id != other {
				c.faults.Set(transport.Edge{From: id, To: other, Rule: transport.Rule{DropRequests: true, DropReplies: true}})
			}
		}
	}
	if err := read(); err != nil {
		t.Errorf("a read by the lease, cut off: %v", err)
	}
	slept.Add(int64(time.Minute))
	if err := read(); err == nil {
		t.Error("a lease outlived a minute of sleep")
	}
	c.faults.Heal()
	c.eventually("a read after the network has healed", func() bool { return read() == nil })
}

// TestNoReadLease: without leases a leader that was cut off answers nothing, from the
// first moment on, whatever its clocks say.
func TestNoReadLease(t *testing.T) {
	h := 2 * time.Second
	c := newCluster(t, 3, clusterOptions{timers: raft.Timers{Heartbeat: h}, noReadLease: true})
	c.propose("w")
	lead := c.leader()
	c.eventually("a read", func() bool {
		_, err := lead.group.ReadBarrier(c.ctx)
		return err == nil
	})
	c.faults.Partition([]string{lead.id}, others(c.followers(lead), lead.id))
	ctx, cancel := context.WithTimeout(c.ctx, h/4)
	defer cancel()
	if _, err := lead.group.ReadBarrier(ctx); err == nil {
		t.Error("a leader that was cut off answers a read")
	}
	c.faults.Heal()
	c.eventually("a read after the network has healed", func() bool {
		_, err := c.leader().group.ReadBarrier(c.ctx)
		return err == nil
	})
}
