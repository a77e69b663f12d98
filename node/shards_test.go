package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ostraka/peer"
)

// freshDemo is a cluster of a test's own.
func freshDemo(t *testing.T, nodes int, change ...func(*Config)) *Demo {
	t.Helper()
	if testing.Short() {
		t.Skip("starts nodes; runs without -short")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	all := func(c *Config) {
		for _, f := range change {
			f(c)
		}
	}
	d, err := StartDemo(ctx, DemoConfig{Nodes: nodes, Dir: t.TempDir(), Heartbeat: testHeartbeat(), LogLevel: "error", change: all})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// A shard is a group of its own on the nodes it was given; every node shows it,
// a restarted node hosts it again, and a dropped one is gone everywhere.
func TestShardLife(t *testing.T) {
	d := freshDemo(t, 3)
	c := dial(t, d.Nodes[1])
	c.do("SELECT shard_create('one')")
	c.do("SELECT shard_create('two', array['3', '1', '2'])")
	c.want("SELECT shard_id, name, kind, state, nodes, chunks FROM ostraka.shards ORDER BY 1",
		"0|home|home|active|{1,2,3}|256 1|one|group|active|{1,2,3}|0 2|two|group|active|{3,1,2}|0")
	for _, n := range d.Nodes {
		wait(t, "three voters of each group on node "+n.ID(), func(context.Context) error {
			for id := range int32(2) {
				h := n.hostedShard(id + 1)
				if h == nil {
					return fmt.Errorf("shard %d is not hosted", id+1)
				}
				if m := h.group.Metrics(); voters(m) != 3 || m.Leader == "" {
					return fmt.Errorf("shard %d has %d voters, leader %q", id+1, voters(m), m.Leader)
				}
			}
			return nil
		})
	}
	for _, bad := range []struct{ sql, code string }{
		{"SELECT shard_create('one')", "42710"}, {"SELECT shard_create('home')", "42602"}, {"SELECT shard_create('x', array['9'])", "22023"},
		{"SELECT shard_create('x', array[1, 1]::int8[])", "22023"}, {"SELECT shard_drop('none')", "42704"}, {"SELECT shard_drop('home')", "55000"},
		{"BEGIN; SELECT shard_drop('one')", "25001"},
	} {
		c.fails(bad.sql, bad.code)
		c.do("ROLLBACK")
	}

	restarted := d.Nodes[2]
	cfg := restarted.cfg
	cfg.Listen, cfg.RaftAddr, cfg.HTTP = restarted.front.addr(), restarted.RaftAddr(), ""
	if err := restarted.Close(); err != nil {
		t.Fatal(err)
	}
	n, err := Start(bounded(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	d.Nodes[2] = n
	wait(t, "the restarted node to host both shards", func(context.Context) error {
		if len(n.hostedShards()) != 2 {
			return fmt.Errorf("%d shards", len(n.hostedShards()))
		}
		return nil
	})

	c.do("SELECT shard_drop('one')")
	for _, n := range d.Nodes {
		wait(t, "shard one to go", func(context.Context) error {
			if n.hostedShard(1) != nil {
				return fmt.Errorf("node %s hosts it", n.ID())
			}
			return nil
		})
	}
	c.want("SELECT name FROM ostraka.shards ORDER BY shard_id", "home two")
}

// A session that names a shard runs there, on the group's leader for writes, and
// only a peer with the cluster's secret may open one.
func TestShardSession(t *testing.T) {
	d := freshDemo(t, 3, calm)
	dial(t, d.Nodes[0]).do("SELECT shard_create('one')")
	served := 0
	wait(t, "a leader of the shard", func(ctx context.Context) error {
		for _, n := range d.Nodes {
			if h := n.hostedShard(1); h != nil && h.group.Leadership().IsLeader {
				return nil
			}
		}
		return errors.New("none")
	})
	for _, n := range d.Nodes {
		c, err := peer.Connect(bounded(t), peer.Options{Addr: n.advertised(), User: "postgres", Database: "postgres", Node: "1", Shard: "1", Secret: d.Nodes[0].secret, Now: time.Now()})
		if sqlState(err) == "57P03" {
			continue // it does not lead the shard, and never forwards for a peer
		}
		if err != nil {
			t.Fatal(err)
		}
		served++
		sql := fmt.Sprintf("CREATE TABLE t%s (a int); INSERT INTO t%s VALUES (1)", n.ID(), n.ID())
		if _, err := c.Exec(bounded(t), sql).ReadAll(); err != nil {
			t.Errorf("node %s: %v", n.ID(), err)
		}
		_ = c.Close(bounded(t))
	}
	if served != 1 {
		t.Errorf("%d nodes served sessions of the shard", served)
	}
	dial(t, d.Nodes[0]).want("SELECT count(*) FROM pg_class WHERE relname IN ('t1', 't2', 't3')", "0")
	_, err := peer.Connect(bounded(t), peer.Options{Addr: d.Nodes[0].advertised(), User: "postgres", Database: "postgres", Node: "1", Shard: "1",
		Secret: []byte(strings.Repeat("x", 32)), Now: time.Now()})
	if err == nil {
		t.Error("a session with a wrong secret was opened")
	}
}
