package raft_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"ostraka/engine/commitlog"
	"ostraka/engine/commitlog/logtest"
	"ostraka/raft"
)

// TestLeaderWaitsForItsDisk: the leader sends entries while it syncs them, but
// until they are on its own disk nothing is acknowledged, and no follower applies
// them, although a majority has them.
func TestLeaderWaitsForItsDisk(t *testing.T) {
	var disk sync.RWMutex // held: syncs of the leader's log wait
	slow := errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileSyncData && strings.HasSuffix(op.Path, ".seg") {
			disk.RLock()
			defer disk.RUnlock()
		}
		return nil
	}))
	ctx := t.Context()
	var groups []*raft.Group
	var states []*logtest.Recorder
	for i := range 3 {
		cfg := raft.HostConfig{NodeID: fmt.Sprint(i + 1)}
		if i == 0 {
			cfg.FS = slow
		}
		h := openHost(t, cfg)
		r := logtest.NewRecorder()
		g, err := h.OpenGroup(raft.GroupConfig{Applier: r})
		if err != nil {
			t.Fatal(err)
		}
		if groups, states = append(groups, g), append(states, r); i == 0 {
			err = g.Bootstrap(ctx)
		} else {
			_, err = groups[0].AddLearner(ctx, cfg.NodeID, h.Addr())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := groups[0].ChangeMembership(ctx, ids(1, 3)); err != nil {
		t.Fatal(err)
	}
	term := groups[0].Leadership().Term
	pos, err := groups[0].Propose(ctx, term, []byte("first"))
	if err != nil {
		t.Fatal(err)
	}
	disk.Lock()
	done := make(chan error, 1)
	go func() {
		_, err := groups[0].Propose(context.Background(), term, []byte("second"))
		done <- err
	}()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		m := groups[0].Metrics()
		if m.Commit > pos.Index { // a majority and the leader's own word
			break
		}
		if time.Now().After(deadline) {
			disk.Unlock()
			t.Fatalf("not replicated: %+v", m)
		}
	}
	hold := time.After(fastTimers.Heartbeat)
	for held := true; held; {
		select {
		case err := <-done:
			t.Errorf("acknowledged before it was on the leader's disk (%v)", err)
			held = false
		case <-hold:
			held = false
		}
	}
	for i, r := range states {
		if n := len(r.Records()); n > 1 {
			t.Errorf("node %d has applied %d", i+1, n)
		}
	}
	disk.Unlock()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for i, r := range states {
		if err := r.WaitApplied(ctx, commitlog.Position{Index: pos.Index + 1}); err != nil {
			t.Errorf("node %d: %v", i+1, err)
		}
	}
}
