package raft

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"ostraka/raft/logstore"
	"ostraka/raft/transport"
)

// Host is a node: one Raft port, one log database, any number of groups.
type Host struct {
	cfg     HostConfig
	db      *logstore.DB
	mux     *transport.Mux
	control *transport.Control
	heard   *heard
	sleep   *sleepWatch
	nudging sync.Map // nudgeKey → *atomic.Bool

	mu     sync.Mutex
	groups map[uint32]*Group // guarded by mu
	closed bool              // guarded by mu

	failOnce sync.Once
	stop     chan struct{}
	wg       sync.WaitGroup
}

// OpenHost opens the log database and the Raft port.
func OpenHost(cfg HostConfig) (*Host, error) {
	quietMetrics()
	if n, err := strconv.ParseUint(cfg.NodeID, 10, 64); err != nil || n == 0 {
		return nil, fmt.Errorf("raft: node id %q is not a positive decimal number", cfg.NodeID)
	}
	if cfg.FS == nil {
		cfg.FS = vfs.Default
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Fatal == nil {
		log := cfg.Logger
		cfg.Fatal = func(err error) {
			log.Error("the node cannot go on", "error", err)
			os.Exit(1)
		}
	}
	cfg.Timers = cfg.Timers.withDefaults()
	h := &Host{cfg: cfg, heard: newHeard(), sleep: newSleepWatch(cfg.Slept), groups: map[uint32]*Group{}, stop: make(chan struct{})}
	var err error
	h.db, err = logstore.Open(cfg.FS.PathJoin(cfg.Dir, "raftlog"), logstore.Options{FS: cfg.FS, Logger: cfg.Logger, Fatal: h.fatal})
	if err != nil {
		return nil, err
	}
	ln := cfg.Listener
	if ln == nil {
		if ln, err = net.Listen("tcp", cfg.ListenAddr); err != nil {
			return nil, errors.Join(fmt.Errorf("raft port: %w", err), h.db.Close())
		}
	}
	h.mux, err = transport.NewMux(ln, transport.MuxConfig{
		NodeID:    cfg.NodeID,
		Advertise: cfg.Advertise,
		Secret:    cfg.Secret,
		Cluster:   cfg.Cluster,
		TLS:       cfg.TLS,
		Logger:    cfg.Logger,
	})
	if err != nil {
		return nil, errors.Join(err, ln.Close(), h.db.Close())
	}
	h.control = transport.NewControl(h.mux, cfg.Faults, h.serve)
	h.wg.Add(1)
	go h.runPing()
	return h, nil
}

// NodeID is the node's name.
func (h *Host) NodeID() string { return h.cfg.NodeID }

// Addr is the advertised Raft address.
func (h *Host) Addr() string { return h.mux.Addr() }

// SyncTime is how long a sync of the log usually takes, 0 if there was none since it was
// last asked.
func (h *Host) SyncTime() time.Duration { return h.db.SyncTime() }

// fatal reports the first error that the node cannot survive.
func (h *Host) fatal(err error) {
	h.failOnce.Do(func() { h.cfg.Fatal(err) })
}

// Close closes the groups, the port and the log database.
func (h *Host) Close() error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil
	}
	h.closed = true
	groups := make([]*Group, 0, len(h.groups))
	for _, g := range h.groups {
		groups = append(groups, g)
	}
	h.mu.Unlock()
	close(h.stop)
	var errs []error
	for _, g := range groups {
		errs = append(errs, g.Close())
	}
	h.control.Close()
	errs = append(errs, h.mux.Close())
	h.wg.Wait()
	errs = append(errs, h.db.Close())
	return errors.Join(errs...)
}

func (h *Host) register(g *Group) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return errors.New("the raft host is closed")
	}
	h.groups[g.cfg.ID] = g
	return nil
}

func (h *Host) unregister(g *Group) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.groups[g.cfg.ID] == g {
		delete(h.groups, g.cfg.ID)
	}
}

// enter returns a group for the time of one call; leave with g.wg.Done.
func (h *Host) enter(id uint32) (*Group, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.groups[id]
	if g == nil {
		return nil, fmt.Errorf("node %s does not host group %d", h.cfg.NodeID, id)
	}
	g.wg.Add(1)
	return g, nil
}

// Ops of control calls that concern the node.
const (
	opPing   = "ping"
	opFaults = "faults"
)

// FaultsCall replaces a node's fault matrix (Heal) and sets edges of it.
type FaultsCall struct {
	Heal  bool             `json:"heal"`
	Edges []transport.Edge `json:"edges"`
}

// FaultsReply tells how many faults have happened on the node so far.
type FaultsReply struct {
	Hits uint64 `json:"hits"`
}

// InjectFaults sets the fault matrix of another process's node. That node must
// have been opened with HostConfig.Faults. The matrix does not apply to this call.
func InjectFaults(ctx context.Context, via *Host, id, addr string, call FaultsCall) (FaultsReply, error) {
	var out FaultsReply
	err := via.control.CallPlain(ctx, id, addr, opFaults, 0, call, &out)
	return out, err
}

// nodeOps is the prefix of the ops of Host.Call.
const nodeOps = "node/"

// Call asks another node's HostConfig.Serve. id may be "" when only the address
// is known. An error of the handler comes back as *transport.RemoteError.
func (h *Host) Call(ctx context.Context, id, addr, op string, in, out any) error {
	return h.control.Call(ctx, id, addr, nodeOps+op, 0, in, out)
}

// serve answers control calls.
func (h *Host) serve(ctx context.Context, c transport.Call) (any, error) {
	switch c.Op {
	case opPing:
		h.heard.from(c.From)
		return struct{}{}, nil
	case opFaults:
		var q FaultsCall
		if err := json.Unmarshal(c.Body, &q); err != nil {
			return nil, err
		}
		f := h.cfg.Faults
		if f == nil {
			return nil, errors.New("this node does not allow faults to be injected")
		}
		if q.Heal {
			f.Heal()
		}
		f.Set(q.Edges...)
		return FaultsReply{Hits: f.Hits()}, nil
	}
	if op, ok := strings.CutPrefix(c.Op, nodeOps); ok {
		if h.cfg.Serve == nil {
			return nil, fmt.Errorf("node %s answers no calls of this kind", h.cfg.NodeID)
		}
		return h.cfg.Serve(ctx, c.From, op, c.Body)
	}
	g, err := h.enter(c.Group)
	if err != nil {
		return nil, err
	}
	defer g.wg.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-g.stop:
			cancel()
		case <-done:
		}
	}()
	switch c.Op {
	case opReadIndex:
		return g.serveReadIndex(ctx, c.From, c.Body)
	case opAddLearner, opChange, opTransfer, opJoin, opRemove:
		return g.serveAdmin(ctx, c)
	case opJoinVia:
		return g.serveJoin(ctx, c)
	case opMetrics:
		return g.Metrics(), nil
	}
	return nil, fmt.Errorf("unknown control call %q", c.Op)
}

// runPing lets every peer know that it can be reached from here: see heard.
func (h *Host) runPing() {
	defer h.wg.Done()
	tick := time.NewTicker(h.cfg.Timers.Heartbeat)
	defer tick.Stop()
	var running sync.Map // id → being pinged
	for {
		select {
		case <-tick.C:
		case <-h.stop:
			return
		}
		for id, addr := range h.peers() {
			if _, busy := running.LoadOrStore(id, true); busy {
				continue
			}
			h.wg.Add(1)
			go func() {
				defer h.wg.Done()
				defer running.Delete(id)
				ctx, cancel := context.WithTimeout(context.Background(), 2*h.cfg.Timers.Heartbeat)
				defer cancel()
				h.control.Call(ctx, id, addr, opPing, 0, struct{}{}, nil)
			}()
		}
	}
}

// peers are the other members of all groups.
func (h *Host) peers() map[string]string {
	h.mu.Lock()
	groups := make([]*Group, 0, len(h.groups))
	for _, g := range h.groups {
		groups = append(groups, g)
	}
	h.mu.Unlock()
	out := map[string]string{}
	for _, g := range groups {
		for _, s := range g.servers() {
			if string(s.ID) != h.cfg.NodeID {
				out[string(s.ID)] = string(s.Address)
			}
		}
	}
	return out
}
