package raft_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"ostraka/engine/commitlog"
	"ostraka/engine/commitlog/logtest"
	"ostraka/raft"
	"ostraka/raft/transport"
)

func openHost(t *testing.T, cfg raft.HostConfig) *raft.Host {
	t.Helper()
	cfg.ListenAddr = "127.0.0.1:0"
	cfg.Timers = fastTimers
	if cfg.Dir == "" {
		cfg.Dir = t.TempDir()
	}
	if cfg.Fatal == nil {
		cfg.Fatal = func(err error) { t.Errorf("fatal: %v", err) }
	}
	h, err := raft.OpenHost(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// TestManyGroups: groups share port and log database and nothing else.
func TestManyGroups(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	a, b := openHost(t, raft.HostConfig{NodeID: "1", Secret: []byte("s")}), openHost(t, raft.HostConfig{NodeID: "2", Secret: []byte("s")})
	var wg sync.WaitGroup
	for id := range uint32(4) {
		wg.Go(func() {
			ra, rb := logtest.NewRecorder(), logtest.NewRecorder()
			ga, err := a.OpenGroup(raft.GroupConfig{ID: id, Applier: ra})
			if err != nil {
				t.Error(err)
				return
			}
			gb, err := b.OpenGroup(raft.GroupConfig{ID: id, Applier: rb})
			if err != nil {
				t.Error(err)
				return
			}
			// Groups are led from different nodes.
			lead, follow, host := ga, rb, b
			if id%2 == 1 {
				lead, follow, host = gb, ra, a
			}
			if err := lead.Bootstrap(ctx); err != nil {
				t.Error(err)
				return
			}
			if _, err := lead.AddLearner(ctx, host.NodeID(), host.Addr()); err != nil {
				t.Error(err)
				return
			}
			if _, err := lead.ChangeMembership(ctx, []string{"1", "2"}); err != nil {
				t.Error(err)
				return
			}
			var pos commitlog.Position
			for i := range 20 {
				if pos, err = lead.Propose(ctx, lead.Leadership().Term, fmt.Appendf(nil, "%d/%d", id, i)); err != nil {
					t.Error(err)
					return
				}
			}
			if err := follow.WaitApplied(ctx, pos); err != nil {
				t.Error(err)
				return
			}
			recs := follow.Records()
			if len(recs) != 20 {
				t.Errorf("group %d: %d records", id, len(recs))
			}
			for i, r := range recs {
				if string(r.Payload) != fmt.Sprintf("%d/%d", id, i) {
					t.Errorf("group %d has %q at %d", id, r.Payload, i)
				}
			}
		})
	}
	wg.Wait()
	if _, err := a.OpenGroup(raft.GroupConfig{ID: 0, Applier: logtest.NewRecorder()}); err == nil {
		t.Error("a group was opened twice")
	}
}

// TestFaultsFromOutside sets a node's fault matrix through its port.
func TestFaultsFromOutside(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	f := transport.NewFaults(1)
	a := openHost(t, raft.HostConfig{NodeID: "1", Faults: f})
	b := openHost(t, raft.HostConfig{NodeID: "2"})
	ra, rb := logtest.NewRecorder(), logtest.NewRecorder()
	ga, err := a.OpenGroup(raft.GroupConfig{Applier: ra})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.OpenGroup(raft.GroupConfig{Applier: rb}); err != nil {
		t.Fatal(err)
	}
	if err := ga.Bootstrap(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := ga.AddLearner(ctx, "2", b.Addr()); err != nil {
		t.Fatal(err)
	}
	cut := raft.FaultsCall{Edges: []transport.Edge{{From: "1", To: "2", Rule: transport.Rule{DropRequests: true}}}}
	if _, err := raft.InjectFaults(ctx, b, "1", a.Addr(), cut); err != nil {
		t.Fatal(err)
	}
	pos, err := ga.Propose(ctx, ga.Leadership().Term, []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	short, cancel2 := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel2()
	if err := rb.WaitApplied(short, pos); err == nil {
		t.Error("the cut edge carried an entry")
	}
	r, err := raft.InjectFaults(ctx, b, "1", a.Addr(), raft.FaultsCall{Heal: true})
	if err != nil || r.Hits == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if err := rb.WaitApplied(ctx, pos); err != nil {
		t.Error(err)
	}
	if _, err := raft.InjectFaults(ctx, a, "2", b.Addr(), cut); err == nil {
		t.Error("faults were injected into a node that does not allow it")
	}
}

// TestLogWriteFails: the node ends by name and acknowledges nothing any more.
func TestLogWriteFails(t *testing.T) {
	var broken atomic.Bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && strings.Contains(op.Path, "raftlog") {
			return errors.New("no space left on device")
		}
		return nil
	}))
	fatal := make(chan error, 1)
	h := openHost(t, raft.HostConfig{NodeID: "1", FS: fs, Dir: "d", Fatal: func(err error) { fatal <- err }})
	r := logtest.NewRecorder()
	g, err := h.OpenGroup(raft.GroupConfig{Applier: r})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Bootstrap(t.Context()); err != nil {
		t.Fatal(err)
	}
	term := g.Leadership().Term
	if _, err := g.Propose(t.Context(), term, []byte("good")); err != nil {
		t.Fatal(err)
	}
	broken.Store(true)
	if _, err := g.Propose(t.Context(), term, []byte("bad")); !errors.Is(err, commitlog.ErrAmbiguous) {
		t.Errorf("proposal into a broken log: %v", err)
	}
	if err := <-fatal; !strings.Contains(err.Error(), "no space left on device") || !strings.Contains(err.Error(), "raftlog") {
		t.Errorf("fatal: %v", err)
	}
	if recs := r.Records(); len(recs) != 1 {
		t.Errorf("%d applied", len(recs))
	}
}

// failing is an applier that breaks.
type failing struct {
	*logtest.Recorder
	broken atomic.Bool
}

func (f *failing) ApplyBatch(entries []commitlog.Entry, last commitlog.Position, term uint64, config []byte) ([]error, error) {
	if f.broken.Load() {
		return nil, errors.New("disk on fire")
	}
	return f.Recorder.ApplyBatch(entries, last, term, config)
}

// TestApplierFails: a replica that cannot apply stops, and claims nothing.
func TestApplierFails(t *testing.T) {
	fatal := make(chan error, 1)
	h := openHost(t, raft.HostConfig{NodeID: "1", Fatal: func(err error) { fatal <- err }})
	f := &failing{Recorder: logtest.NewRecorder()}
	g, err := h.OpenGroup(raft.GroupConfig{Applier: f})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Bootstrap(t.Context()); err != nil {
		t.Fatal(err)
	}
	term := g.Leadership().Term
	f.broken.Store(true)
	for range 2 {
		if _, err := g.Propose(t.Context(), term, []byte("x")); !errors.Is(err, commitlog.ErrAmbiguous) && !errors.Is(err, commitlog.ErrNotAppended) {
			t.Errorf("proposal: %v", err)
		}
	}
	if err := <-fatal; !strings.Contains(err.Error(), "disk on fire") {
		t.Errorf("fatal: %v", err)
	}
	f.broken.Store(false)
	if _, err := g.Propose(t.Context(), term, []byte("y")); err == nil {
		t.Error("a stopped replica acknowledged")
	}
	if n := len(f.Records()); n != 0 {
		t.Errorf("%d applied after the failure", n)
	}
}

func TestBadNodeID(t *testing.T) {
	for _, id := range []string{"", "0", "one", "-1", "1.5"} {
		if h, err := raft.OpenHost(raft.HostConfig{NodeID: id, Dir: t.TempDir(), ListenAddr: "127.0.0.1:0"}); err == nil {
			h.Close()
			t.Errorf("node id %q was accepted", id)
		}
	}
}
