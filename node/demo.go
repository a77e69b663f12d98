package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"ostraka/raft/transport"
)

// DemoConfig describes a cluster in one process.
type DemoConfig struct {
	Nodes    int
	Dir      string
	BasePort int // PostgreSQL port of the first node; 0: free ports
	// Heartbeat of the Raft groups; 0: the default.
	Heartbeat time.Duration
	LogLevel  string // "" warn
	// faults is the matrix of the network between the nodes (tests).
	faults *transport.Faults
	// change alters a node's configuration (tests).
	change func(*Config)
}

// Demo is a running cluster in one process.
type Demo struct{ Nodes []*Node }

// StartDemo starts nodes 1…n on loopback, the first as a new cluster and the
// others joining it, and returns when all are voters and ready.
func StartDemo(ctx context.Context, dc DemoConfig) (_ *Demo, err error) {
	d := &Demo{}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	for i := range dc.Nodes {
		cfg := DefaultConfig()
		cfg.NodeID = strconv.Itoa(i + 1)
		cfg.DataDir = filepath.Join(dc.Dir, "node-"+cfg.NodeID)
		cfg.Listen, cfg.RaftAddr, cfg.HTTP = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
		if dc.BasePort > 0 {
			cfg.Listen = net.JoinHostPort("127.0.0.1", strconv.Itoa(dc.BasePort+i))
		}
		cfg.CacheBytes, cfg.ColumnBytes = 256<<20, 128<<20
		cfg.LogLevel = "warn"
		if dc.LogLevel != "" {
			cfg.LogLevel = dc.LogLevel
		}
		if dc.Heartbeat > 0 {
			cfg.Heartbeat = dc.Heartbeat
		}
		cfg.faults = dc.faults
		if i > 0 {
			cfg.Join = []string{d.Nodes[0].RaftAddr()}
			cfg.SecretFile = d.Nodes[0].dir.path(secretName)
		}
		if dc.change != nil {
			dc.change(&cfg)
		}
		n, err := Start(ctx, cfg)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", cfg.NodeID, err)
		}
		d.Nodes = append(d.Nodes, n)
		if err := n.waitReady(ctx); err != nil {
			return nil, fmt.Errorf("node %s: %w", cfg.NodeID, err)
		}
	}
	return d, d.waitVoters(ctx)
}

// waitVoters waits until every node is a voter.
func (d *Demo) waitVoters(ctx context.Context) error {
	for voters(d.Nodes[0].group.Metrics()) < len(d.Nodes) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

// Wait blocks until ctx ends or a node fails, then closes all nodes.
func (d *Demo) Wait(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, n := range d.Nodes {
		go func() {
			select {
			case err := <-n.failed:
				cancel(fmt.Errorf("node %s: %w", n.cfg.NodeID, err))
			case <-ctx.Done():
			}
		}()
	}
	<-ctx.Done()
	err := context.Cause(ctx)
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(err, d.Close())
}

// Close stops the nodes, the last one first.
func (d *Demo) Close() error {
	var errs []error
	for i := len(d.Nodes) - 1; i >= 0; i-- {
		errs = append(errs, d.Nodes[i].Close())
	}
	return errors.Join(errs...)
}
