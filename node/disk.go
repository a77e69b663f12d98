package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"ostraka/engine/storage"
	"ostraka/raft"
	"ostraka/sqltypes/pgerror"
)

// diskGuard keeps a node away from a full disk, on which nothing could be repaired
// any more. Room is set aside in the file reserve of the data directory. When less
// than the reserve is free beside it, the file is removed (which gives flushes and
// the truncation of the log the room they need), writes are refused with 53100, and
// leaderships go to nodes that have room. Reads go on. When three times the reserve
// is free the file is made anew and writes are accepted again.
//
// A follower goes on writing what the leader commits: if that uses up the room as
// well, the log's own error ends the process by name.
type diskGuard struct {
	n       *Node
	reserve uint64 // bytes; 0: no check
	full    atomic.Bool
	free    atomic.Uint64 // bytes, at the last look
	damaged atomic.Bool   // a file of the state is

	mu     sync.Mutex // one look at a time
	asked  time.Time  // when leaderships were last handed over; guarded by mu
	warned bool       // that the disk cannot be measured; guarded by mu
}

const (
	// diskInterval is how often the free space is looked at.
	diskInterval = time.Second
	// diskFactor times the reserve is to be free for writes to be accepted again.
	diskFactor = 3
	// diskShare: the reserve is at most this part of the file system.
	diskShare = 20
	// handOverInterval is how long a node without room waits before it tries again
	// to find one with room that will lead.
	handOverInterval = 5 * time.Second
)

// diskInfo is what nodes tell each other about their disks.
type diskInfo struct {
	Full    bool `json:"full"`
	Damaged bool `json:"damaged"` // something stored there could not be read
}

// open sets the room aside unless there is not enough of it.
func (d *diskGuard) open(n *Node) error {
	d.n = n
	if n.cfg.FS != nil && n.cfg.disk == nil || n.cfg.DiskReserve == 0 {
		return nil
	}
	u, err := d.usage()
	if err != nil {
		return fmt.Errorf("data directory: free space: %w", err)
	}
	d.reserve = min(uint64(n.cfg.DiskReserve), u.TotalBytes/diskShare)
	had, err := os.Stat(d.path())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if u.AvailBytes < diskFactor*d.reserve {
			return nil // the first look decides
		}
	case err != nil:
		return fmt.Errorf("data directory: %w", err)
	case uint64(had.Size()) == d.reserve:
		return nil
	}
	return d.setAside()
}

func (d *diskGuard) path() string { return d.n.dir.path("reserve") }

func (d *diskGuard) usage() (storage.DiskUsage, error) {
	if f := d.n.cfg.disk; f != nil {
		return f()
	}
	return storage.DefaultFS.GetDiskUsage(d.n.cfg.DataDir)
}

// setAside makes the file that holds the room.
func (d *diskGuard) setAside() error {
	err := storage.Allocate(d.path(), int64(d.reserve))
	if err != nil {
		return fmt.Errorf("data directory: setting %d bytes aside (--disk-reserve): %w", d.reserve, errors.Join(err, d.giveUp()))
	}
	return nil
}

// giveUp removes it.
func (d *diskGuard) giveUp() error {
	if err := os.Remove(d.path()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// run looks at the disk until the node stops.
func (d *diskGuard) run() {
	defer d.n.wg.Done()
	tick := time.NewTicker(diskInterval)
	defer tick.Stop()
	for {
		d.look()
		if (d.full.Load() || d.damaged.Load()) && d.asks() {
			d.n.leaveLeadership(d.n.ctx)
		}
		select {
		case <-d.n.ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// asks reports that it is time to hand leadership over, again.
func (d *diskGuard) asks() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.asked) < handOverInterval {
		return false
	}
	d.asked = time.Now()
	return true
}

// look compares the free space with the reserve.
func (d *diskGuard) look() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.reserve == 0 {
		return
	}
	u, err := d.usage()
	if err != nil {
		if !d.warned {
			d.n.log.Warn("the free space of the data directory is not known", "error", err)
		}
		d.warned = true
		return
	}
	d.warned = false
	d.free.Store(u.AvailBytes)
	switch full := d.full.Load(); {
	case !full && u.AvailBytes < d.reserve:
		d.n.log.Error("the disk is nearly full: writes are refused", "free_bytes", u.AvailBytes, "reserve_bytes", d.reserve)
		if err := d.giveUp(); err != nil {
			d.n.log.Error("the reserve was not given up", "error", err)
		}
		d.full.Store(true)
		d.asked = time.Time{}
		d.refuse(errDiskFull(d.n.cfg.NodeID, u.AvailBytes, d.reserve))
	case full && u.AvailBytes >= diskFactor*d.reserve:
		if err := d.setAside(); err != nil {
			d.n.log.Warn("writes are still refused", "error", err)
			return
		}
		d.n.log.Info("the disk has room again: writes are accepted", "free_bytes", u.AvailBytes)
		d.full.Store(false)
		d.refuse(nil)
	}
}

func (d *diskGuard) refuse(err error) {
	d.n.groupsMu.Lock() // openShard asks the home shard with it held
	defer d.n.groupsMu.Unlock()
	d.n.shard.Refuse(err)
	for _, h := range d.n.groups {
		h.shard.Refuse(err)
	}
}

func errDiskFull(node string, free, reserve uint64) error {
	return pgerror.New(pgerror.DiskFull, "could not write: the disk of node %s is nearly full", node).
		WithDetail("%d bytes are free; the reserve (--disk-reserve) is %d bytes.", free, reserve).
		WithHint("Free space on that disk until %d bytes are available; the node then accepts writes by itself. Reads are not affected.", diskFactor*reserve)
}

// leaveLeadership hands what this node leads to voters that have room.
func (n *Node) leaveLeadership(ctx context.Context) {
	groups := []*raft.Group{n.group}
	for _, h := range n.hostedShards() {
		groups = append(groups, h.group)
	}
	for _, g := range groups {
		m := g.Metrics()
		if m.State != "Leader" {
			continue
		}
		for _, x := range m.Members {
			if x.ID == n.cfg.NodeID || !x.Voter || x.Progress == nil || time.Since(x.Progress.LastContact) > 4*n.cfg.Heartbeat {
				continue
			}
			if n.tryHandOver(ctx, g, x) {
				break
			}
		}
	}
}

// tryHandOver makes a member lead unless its disk is not better.
func (n *Node) tryHandOver(ctx context.Context, g *raft.Group, to raft.Member) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var info diskInfo
	err := n.host.Call(ctx, to.ID, to.Addr, "disk", struct{}{}, &info)
	if err == nil && (info.Full || info.Damaged) {
		return false
	}
	if err == nil {
		err = g.TransferLeadership(ctx, to.ID)
	}
	if err != nil {
		n.log.Warn("leadership was not handed over", "to", to.ID, "error", err)
		return false
	}
	n.log.Info("leadership was handed over, because of this node's disk", "to", to.ID)
	return true
}
