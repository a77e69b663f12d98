package raft

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"log/slog"
	"net"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"ostraka/engine/commitlog"
	"ostraka/raft/transport"
)

// Timers are Raft's time-outs. They must be the same on all nodes of a cluster:
// the read lease of a leader counts on its followers' HeartbeatTimeout.
type Timers struct {
	// Heartbeat: a follower without contact for so long (to twice that, at
	// random) campaigns. Leaders send every tenth of it. Default 500 ms.
	Heartbeat time.Duration
	// Election: how long a candidate waits before it tries again; at least
	// Heartbeat. Default 500 ms.
	Election time.Duration
	// Lease: a leader without a quorum's replies for so long steps down; at most
	// Heartbeat. Default four fifths of Heartbeat: below it the old leader is
	// usually gone before a new one is elected, and a short value makes pauses of
	// a busy machine, which no follower minds, end a leadership. No read relies on it.
	Lease time.Duration
	// Commit: an idle leader sends its commit index at least so often. Default 50 ms.
	Commit time.Duration
	// RPC bounds one call between nodes; a checkpoint gets more by its size.
	// Default 3 s, but at least six heartbeats.
	RPC time.Duration
	// Nudge: how long after a commit an otherwise idle leader tells its followers
	// the commit index. Default 1 ms.
	Nudge time.Duration
}

func (t Timers) withDefaults() Timers {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&t.Heartbeat, 500*time.Millisecond)
	def(&t.Election, t.Heartbeat)
	def(&t.Lease, t.Heartbeat*4/5)
	def(&t.Commit, 50*time.Millisecond)
	def(&t.RPC, max(3*time.Second, 6*t.Heartbeat))
	def(&t.Nudge, time.Millisecond)
	return t
}

// HostConfig configures a node.
type HostConfig struct {
	// NodeID is the node's name in every group: a decimal number as text.
	NodeID string
	// Dir holds the log database and the staging directories.
	Dir string
	// FS is the file system; nil means vfs.Default. Appliers must use the same.
	FS vfs.FS
	// Listener is the Raft port. Nil means listening on ListenAddr.
	Listener   net.Listener
	ListenAddr string
	// Advertise is the address peers dial; "" means the listener's address.
	Advertise string
	// Secret is the cluster's join secret; empty means peers are not asked for one.
	Secret []byte
	// Cluster tells nodes of different clusters apart; see transport.MuxConfig.
	Cluster transport.Cluster
	// TLS protects the port; see transport.MuxConfig.
	TLS    *tls.Config
	Timers Timers
	Logger *slog.Logger
	// Fatal is called when the node cannot go on: the log cannot be written, or
	// an applier failed. It should end the process. Default: log and os.Exit(1).
	Fatal func(error)
	// Faults, if not nil, allows faults to be injected, here and by control calls.
	Faults *transport.Faults
	// Slept is how long the machine has slept since it was started, false where that
	// cannot be told; leases end with a sleep. Nil: the kernel's clocks.
	Slept func() (time.Duration, bool)
	// NoReadLease: read barriers ask a quorum every time and never rely on a clock.
	// For machines that can be stopped from outside while they run, which none of
	// their clocks shows (virtual machines that are suspended or moved).
	NoReadLease bool
	// Serve answers the calls that peers make with Host.Call; nil refuses them. It
	// must return soon after ctx ends.
	Serve func(ctx context.Context, from, op string, body json.RawMessage) (any, error)
}

// GroupConfig configures a group on a Host.
type GroupConfig struct {
	// ID of the group: 0 is the home shard.
	ID      uint32
	Applier commitlog.Applier
	// StagingDir is where checkpoints are made and received; it is emptied at
	// open. It must be on the applier's file system. "" means Dir/staging-ID of
	// the host.
	StagingDir string
	// MaxPayload is the largest proposal in bytes; beyond it Propose returns
	// ErrTooLarge. Default 1 MiB + 64 KiB.
	MaxPayload int
	// EntryBytes: proposals are put into one entry up to so many bytes. A single
	// proposal may be larger. Default 1 MiB.
	EntryBytes int
	// QueueBytes bounds waiting proposals; beyond it Propose waits. Default 64 MiB.
	QueueBytes int
	// InFlight is the number of entries proposed but not committed. Default 1:
	// with a log that syncs on raft's main goroutine more only makes smaller entries.
	InFlight int
	// TrailingEntries and TrailingBytes bound the part of the log that is kept
	// although the state no longer needs it, so that a follower who was away for
	// a while is served from the log. Defaults 16384 and 64 MiB.
	TrailingEntries uint64
	TrailingBytes   uint64
	// CacheBytes bounds recent entries kept in memory. Default 16 MiB.
	CacheBytes int
	// CheckpointKeep is how long a checkpoint made for a follower is kept for the
	// next attempt. Default 30 s.
	CheckpointKeep time.Duration
}

func (c GroupConfig) withDefaults() GroupConfig {
	if c.MaxPayload == 0 {
		c.MaxPayload = 1<<20 + 64<<10
	}
	if c.EntryBytes == 0 {
		c.EntryBytes = 1 << 20
	}
	if c.QueueBytes == 0 {
		c.QueueBytes = 64 << 20
	}
	if c.InFlight == 0 {
		c.InFlight = 1
	}
	if c.TrailingEntries == 0 {
		c.TrailingEntries = 16384
	}
	if c.TrailingBytes == 0 {
		c.TrailingBytes = 64 << 20
	}
	if c.CacheBytes == 0 {
		c.CacheBytes = 16 << 20
	}
	return c
}
