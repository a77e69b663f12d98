package raft_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"ostraka/raft/transport"
)

// TestPowerLoss takes the power from all nodes at one moment, keeps of every
// disk what was synced and a random part of what was not, and starts again: no
// acknowledged proposal may be lost, none may be there twice.
func TestPowerLoss(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	c := newCluster(t, 3, clusterOptions{pebble: true, trailingEntries: 16})
	l := c.load(8)
	for round := range 8 {
		l.more(60 + rng.IntN(200))
		if round%2 == 1 {
			for _, n := range c.nodes {
				if rng.IntN(2) == 0 {
					n.state.Flush()
				}
			}
			l.more(rng.IntN(50))
		}
		// The network dies first, so that no disk is copied at a moment after which
		// its node still answers another.
		var edges []transport.Edge
		for a := range c.nodes {
			for b := range c.nodes {
				edges = append(edges, transport.Edge{From: a, To: b, Rule: transport.Rule{DropRequests: true, DropReplies: true}})
			}
		}
		c.faults.Set(edges...)
		disks := map[string]*vfs.MemFS{}
		for id, n := range c.nodes {
			disks[id] = n.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
		}
		for id, n := range c.nodes {
			c.stop(n)
			n.fs = disks[id]
		}
		c.faults.Heal()
		for _, n := range c.nodes {
			c.start(n)
		}
		l.more(10)
	}
	l.finish()
	l.verify(c.converge())
}

// TestPowerLossOfOne takes the power from one node after the other, among them
// one that is receiving a checkpoint.
func TestPowerLossOfOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	c := newCluster(t, 3, clusterOptions{pebble: true, trailingEntries: 8})
	l := c.load(8)
	for range 8 {
		l.more(30 + rng.IntN(100))
		n := c.nodes[ids(1, 3)[rng.IntN(3)]]
		for id := range c.nodes {
			if id != n.id {
				cut := transport.Rule{DropRequests: true, DropReplies: true}
				c.faults.Set(transport.Edge{From: id, To: n.id, Rule: cut}, transport.Edge{From: n.id, To: id, Rule: cut})
			}
		}
		disk := n.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
		c.stop(n)
		n.fs = disk
		l.more(50)
		for _, x := range c.nodes {
			if x.up {
				x.state.Flush()
			}
		}
		l.more(50) // beyond its log: it needs a checkpoint
		c.faults.Heal()
		c.start(n)
	}
	l.finish()
	l.verify(c.converge())
	restored := 0
	for _, n := range c.nodes {
		if strings.HasPrefix(n.state.(*pebbleState).name, "restored") {
			restored++
		}
	}
	if restored == 0 {
		t.Error("no node ever needed a checkpoint")
	}
}
