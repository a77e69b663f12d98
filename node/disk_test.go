package node

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"ostraka/engine/storage"
)

// fakeDisks are the disks of a cluster's nodes, by id, in bytes that are free.
type fakeDisks map[string]*atomic.Uint64

func (f fakeDisks) change(c *Config) {
	free := new(atomic.Uint64)
	free.Store(10 << 30)
	f[c.NodeID] = free
	c.DiskReserve = 1 << 20
	c.disk = func() (storage.DiskUsage, error) {
		return storage.DiskUsage{AvailBytes: free.Load(), TotalBytes: 100 << 30}, nil
	}
}

// TestDiskFull: a node whose disk is nearly full hands leadership over, refuses writes when nobody else has
// room, keeps reading, gives up its reserve, and recovers by itself.
func TestDiskFull(t *testing.T) {
	disks := fakeDisks{}
	c := faultyCluster(t, 3, disks.change, calm)
	old := c.leader()
	open, reader := dial(t, old), dial(t, old)
	open.do("CREATE TABLE df (v int); INSERT INTO df VALUES (1)")
	c.everywhere("SELECT count(*) FROM df", "1")
	reserve := func(n *Node) int64 {
		st, err := os.Stat(n.dir.path("reserve"))
		if err != nil {
			return -1
		}
		return st.Size()
	}
	if got := reserve(old); got != 1<<20 {
		t.Errorf("%d bytes set aside", got)
	}
	open.do("BEGIN; INSERT INTO df VALUES (2)")

	disks[old.ID()].Store(1<<20 - 1)
	wait(t, "the leader to hand over", func(context.Context) error {
		if l := c.leader(); l == old {
			return fmt.Errorf("node %s leads", l.ID())
		}
		return nil
	})
	if got := reserve(old); got != -1 {
		t.Errorf("%d bytes still set aside", got)
	}
	if code := sqlState(second(open.PgConn().Exec(bounded(t), "COMMIT").ReadAll())); code != "53100" && code != "40001" {
		t.Errorf("the open transaction: %s", code)
	}
	// Writes through the full node go to the leader, which has room.
	reader.do("INSERT INTO df VALUES (3)")
	reader.want("SELECT sum(v) FROM df", "4")

	// When no node has room the leader stays and refuses.
	for _, d := range disks {
		d.Store(100)
	}
	wait(t, "all to be full", func(context.Context) error {
		for _, n := range c.Nodes {
			if !n.disk.full.Load() {
				return fmt.Errorf("node %s accepts writes", n.ID())
			}
		}
		return nil
	})
	for i, n := range c.Nodes {
		cl := dial(t, n)
		for _, sql := range []string{"INSERT INTO df VALUES (4)", "CREATE TABLE df2 (v int)", "BEGIN; DELETE FROM df"} {
			pe := cl.fails(sql, "53100")
			if pe.Hint == "" || pe.Detail == "" {
				t.Errorf("node %d: %+v", i, pe)
			}
			cl.do("ROLLBACK")
		}
		cl.want("SELECT sum(v) FROM df", "4")
		if err := n.Ready(); err != nil {
			t.Errorf("node %s is not ready: %v", n.ID(), err)
		}
	}
	if l := c.leader(); l.group.Metrics().State != "Leader" {
		t.Error("no leader stays")
	}

	for _, d := range disks {
		d.Store(2 << 20) // more than the reserve, but not enough to set it aside again
	}
	for _, n := range c.Nodes {
		n.disk.look()
	}
	dial(t, c.Nodes[0]).fails("INSERT INTO df VALUES (4)", "53100")
	for _, d := range disks {
		d.Store(3 << 20)
	}
	wait(t, "all to have room", func(context.Context) error {
		for _, n := range c.Nodes {
			if n.disk.full.Load() || reserve(n) != 1<<20 {
				return fmt.Errorf("node %s refuses writes", n.ID())
			}
		}
		return nil
	})
	for i, n := range c.Nodes {
		dial(t, n).do(fmt.Sprintf("INSERT INTO df VALUES (%d)", 10+i))
	}
	c.everywhere("SELECT sum(v) FROM df", "37")
}

func second[T any](_ T, err error) error { return err }
