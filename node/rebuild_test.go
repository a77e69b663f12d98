package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
	c := faultyCluster(t, 3)
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
