package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ostraka/engine/commitlog"
	"ostraka/peer"
)

// flip changes one bit in the middle of the largest table file of a node's state.
func flip(t *testing.T, dir string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "shard-0", "state-*", "*.sst"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	var largest string
	var size int64
	for _, name := range names {
		if st, err := os.Stat(name); err != nil {
			t.Fatal(err)
		} else if st.Size() > size {
			largest, size = name, st.Size()
		}
	}
	b, err := os.ReadFile(largest)
	if err == nil {
		b[size/2] ^= 4
		err = os.WriteFile(largest, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// restart starts a node that was closed again, at the same replication address.
func (c disturbed) restart(i int, change func(*Config)) (*Node, error) {
	cfg := c.Nodes[i].cfg
	cfg.RaftAddr = c.Nodes[i].RaftAddr()
	if change != nil {
		change(&cfg)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	n, err := Start(ctx, cfg)
	if err == nil {
		c.Nodes[i] = n
	}
	return n, err
}

// TestRebuild: a flipped bit in the state of a node is named and refused, on its own reads, as a leader and
// as the source of a checkpoint; --rebuild takes the state from the others.
func TestRebuild(t *testing.T) {
	c := faultyCluster(t, 3, calm)
	cl := dial(t, c.leader())
	cl.do("CREATE TABLE big (id int PRIMARY KEY, v text); INSERT INTO big SELECT g, repeat(md5(g::text), 10) FROM generate_series(1, 20000) g")
	const sum = "SELECT count(*), sum(length(v)) FROM big"
	c.everywhere(sum, "20000|6400000")
	c.transfer(c.Nodes[2])
	if err := c.Nodes[2].Close(); err != nil {
		t.Fatal(err)
	}
	dir := c.Nodes[2].cfg.DataDir
	flip(t, dir)
	n, err := c.restart(2, nil)
	if err != nil {
		t.Fatal(err)
	}
	wait(t, "the node", n.waitReady)
	pe := dial(t, n).fails(sum, "XX001")
	if !strings.Contains(pe.Detail, ".sst") && !strings.Contains(pe.Detail, "checksum") || !strings.Contains(pe.Hint, "--rebuild") {
		t.Errorf("%+v", pe)
	}
	if err := n.group.TransferLeadership(bounded(t), n.ID()); err != nil {
		t.Log(err)
	}
	wait(t, "the damaged node not to lead", func(context.Context) error {
		if l := c.leader(); l == n {
			return fmt.Errorf("node %s leads", l.ID())
		}
		return nil
	})
	if _, err := n.shard.Applier().Checkpoint(bounded(t), filepath.Join(t.TempDir(), "cp")); err == nil || !strings.Contains(err.Error(), ".sst is damaged") {
		t.Errorf("a checkpoint of a damaged state: %v", err)
	}
	if got := dial(t, c.leader()).rows("SELECT ostraka_checksum()"); !strings.Contains(got, `"equal": false`) {
		t.Errorf("the replicas are equal: %s", got)
	}
	term := n.group.Metrics().Term
	if err := n.Close(); err != nil {
		t.Log(err)
	}

	if _, err := c.restart(2, func(c *Config) { c.Rebuild, c.Join = true, nil }); err == nil || !strings.Contains(err.Error(), "--join") {
		t.Errorf("without members to ask: %v", err)
	}
	n, err = c.restart(2, func(cfg *Config) { cfg.Rebuild, cfg.Join = true, []string{c.Nodes[0].RaftAddr()} })
	if err != nil {
		t.Fatal(err)
	}
	wait(t, "the node to be a voter again", func(context.Context) error {
		if m, ok := member(n.group.Metrics(), n.ID()); !ok || !m.Voter {
			return fmt.Errorf("%+v", m)
		}
		return n.Ready()
	})
	if m := n.group.Metrics(); m.Term < term || len(m.Members) != 3 {
		t.Errorf("term %d, was %d; %d members", m.Term, term, len(m.Members))
	}
	dial(t, n).want(sum, "20000|6400000")
	c.same()
	if kept, _ := filepath.Glob(filepath.Join(dir, "damaged-*", "shard-0")); len(kept) != 1 {
		t.Errorf("set aside: %v", kept)
	}
	// A cluster of one has nobody to ask.
	a := alone(t, t.TempDir(), nil)
	cfg := a.cfg
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.Rebuild, cfg.Join = true, []string{a.RaftAddr()}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if n, err := Start(ctx, cfg); err == nil {
		_ = n.Close()
		t.Error("the only node gave up its state")
	}
	if _, err := os.Stat(filepath.Join(cfg.DataDir, "shard-0")); err != nil {
		t.Error(err)
	}
}

// shardSums are the checksums of a shard's replicas at the leader's newest position.
func (c disturbed) shardSums(id int32) (sums []string, err error) {
	var at commitlog.Position
	for _, n := range c.Nodes {
		if h := n.hostedShard(id); h != nil && h.group.Leadership().IsLeader {
			if at, err = h.group.ReadBarrier(bounded(c.t)); err != nil {
				return nil, err
			}
		}
	}
	for _, n := range c.Nodes {
		h := n.hostedShard(id)
		if h == nil {
			return nil, fmt.Errorf("node %s does not host shard %d", n.ID(), id)
		}
		if m := h.group.Metrics(); voters(m) != len(c.Nodes) || m.State == "Learner" {
			return nil, fmt.Errorf("node %s: %s, %d voters", n.ID(), m.State, voters(m))
		}
		f, err := h.shard.Freeze(bounded(c.t), at)
		if err != nil {
			return nil, err
		}
		sum, records, err := f.Checksum(bounded(c.t))
		f.Close()
		if err != nil {
			return nil, err
		}
		sums = append(sums, fmt.Sprint(sum, records))
	}
	return sums, nil
}

// onShard runs SQL in a session of a shard, on the node that leads it.
func (c disturbed) onShard(id int32, sql string) {
	c.t.Helper()
	wait(c.t, "the shard's leader", func(ctx context.Context) error {
		for _, n := range c.Nodes {
			if h := n.hostedShard(id); h == nil || !h.group.Leadership().IsLeader {
				continue
			}
			conn, err := peer.Connect(ctx, peer.Options{Addr: n.advertised(), User: "postgres", Database: "postgres", Node: "1", Shard: fmt.Sprint(id), Secret: c.Nodes[0].secret, Now: time.Now()})
			if err != nil {
				return err
			}
			defer conn.Close(ctx)
			_, err = conn.Exec(ctx, sql).ReadAll()
			return err
		}
		return errors.New("none leads")
	})
}

// TestRebuildShards: a node that hosts other shards than the home shard gets all of
// them back, also when the member it asks does not host one; a shard without another
// replica is not given up.
func TestRebuildShards(t *testing.T) {
	c := faultyCluster(t, 4, calm)
	cl := dial(t, c.leader())
	cl.do("CREATE TABLE home (id int); INSERT INTO home SELECT generate_series(1, 1000)")
	cl.do("SELECT shard_create('all', array['1', '2', '3', '4'])")
	cl.do("SELECT shard_create('three', array['2', '3', '4'])")
	for id := range int32(2) {
		c.onShard(id+1, "CREATE TABLE IF NOT EXISTS t (id int, v text); INSERT INTO t SELECT g, repeat(md5(g::text), 5) FROM generate_series(1, 2000) g")
	}
	wait(t, "shard three on three nodes", func(context.Context) error {
		for _, n := range c.Nodes[1:] {
			if h := n.hostedShard(2); h == nil || voters(h.group.Metrics()) != 3 {
				return fmt.Errorf("node %s", n.ID())
			}
		}
		return nil
	})
	var before []string
	wait(t, "equal replicas", func(context.Context) (err error) {
		before, err = c.shardSums(1)
		return err
	})
	if err := c.Nodes[3].Close(); err != nil {
		t.Fatal(err)
	}
	dir := c.Nodes[3].cfg.DataDir
	// Nothing of the state is left, of either shard.
	for _, s := range []string{"shard-0", "shard-1"} {
		states, _ := filepath.Glob(filepath.Join(dir, s, "state-*", "MANIFEST-*"))
		for _, f := range states {
			if err := os.WriteFile(f, []byte("broken"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n, err := c.restart(3, nil); err == nil {
		t.Error("a node without a state started")
		_ = n.Close()
	}
	// Node 1 does not host shard three.
	n, err := c.restart(3, func(cfg *Config) { cfg.Rebuild, cfg.Join = true, []string{c.Nodes[0].RaftAddr()} })
	if err != nil {
		t.Fatal(err)
	}
	var after []string
	wait(t, "the node to host the shards again", func(context.Context) (err error) {
		if after, err = c.shardSums(1); err != nil {
			return err
		}
		if h := n.hostedShard(2); h == nil || voters(h.group.Metrics()) != 3 || h.group.Metrics().State == "Learner" {
			return errors.New("shard three is not there")
		}
		return nil
	})
	for i, s := range after {
		if s != before[0] {
			t.Errorf("shard one on node %d: %s, was %s", i+1, s, before[0])
		}
	}
	c.onShard(2, "INSERT INTO t SELECT 1, 'after'")
	dial(t, n).soon("SELECT count(*) FROM home", "1000")
	c.same()
	if kept, _ := filepath.Glob(filepath.Join(dir, "damaged-*", "shard-*")); len(kept) != 3 {
		t.Errorf("set aside: %v", kept)
	}

	cl = dial(t, c.leader())
	cl.do("SELECT shard_create('mine', array['4'])")
	c.onShard(3, "CREATE TABLE t (id int)")
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := c.restart(3, func(cfg *Config) { cfg.Rebuild, cfg.Join = true, []string{c.Nodes[0].RaftAddr()} }); err == nil {
		_ = n.Close()
		t.Error("the only replica of a shard was given up")
	} else if !strings.Contains(err.Error(), "no other member hosts shard 3") {
		t.Error(err)
	}
	if _, err := c.restart(3, func(cfg *Config) { cfg.Rebuild = false }); err != nil {
		t.Fatal(err)
	}
	c.onShard(3, "INSERT INTO t VALUES (1)")
}

// TestRebuildLog: a flipped bit in the middle of a node's log keeps it from starting,
// with the segment named, and --rebuild takes everything from the others.
func TestRebuildLog(t *testing.T) {
	c := faultyCluster(t, 3, calm)
	cl := dial(t, c.leader())
	cl.do("CREATE TABLE log (id int, v text)")
	for i := range 200 {
		cl.do(fmt.Sprintf("INSERT INTO log VALUES (%d, repeat('v', 500))", i))
	}
	c.everywhere("SELECT count(*) FROM log", "200")
	n := c.Nodes[2]
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	segments, err := filepath.Glob(filepath.Join(n.cfg.DataDir, "log", "raftlog", "group-0", "*.seg"))
	if err != nil || len(segments) == 0 {
		t.Fatal(segments, err)
	}
	seg := segments[len(segments)-1]
	b, err := os.ReadFile(seg)
	if err != nil {
		t.Fatal(err)
	}
	used := len(strings.TrimRight(string(b), "\x00"))
	b[used/2] ^= 16
	if err := os.WriteFile(seg, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := c.restart(2, nil); err == nil {
		_ = n.Close()
		t.Fatal("a node with a damaged log started")
	} else if !strings.Contains(err.Error(), filepath.Base(seg)) || !strings.Contains(err.Error(), "damaged after offset") {
		t.Errorf("the damage is not named: %v", err)
	}
	cl.do("INSERT INTO log VALUES (200, 'meanwhile')")
	n, err = c.restart(2, func(cfg *Config) { cfg.Rebuild, cfg.Join = true, []string{c.Nodes[0].RaftAddr()} })
	if err != nil {
		t.Fatal(err)
	}
	wait(t, "the node to be a voter again", func(context.Context) error {
		if m, ok := member(n.group.Metrics(), n.ID()); !ok || !m.Voter {
			return fmt.Errorf("%+v", m)
		}
		return n.Ready()
	})
	dial(t, n).soon("SELECT count(*) FROM log", "201")
	c.same()
}
