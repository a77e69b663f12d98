package raft_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"ostraka/engine/commitlog"
	"ostraka/engine/commitlog/logtest"
	"ostraka/raft"
)

// nothing is an applier that only counts.
type nothing struct {
	*logtest.Recorder
	mu sync.Mutex
	st commitlog.AppliedState
}

func (n *nothing) ApplyBatch(entries []commitlog.Entry, last commitlog.Position, term uint64, config []byte) ([]error, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.st.Position, n.st.Term = last, term
	if config != nil {
		n.st.Config, n.st.ConfigIndex = config, last.Index
	}
	return make([]error, len(entries)), nil
}

func (n *nothing) Applied() commitlog.AppliedState {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.st
}

func (n *nothing) Durable() commitlog.AppliedState { return n.Applied() }

func BenchmarkPropose(b *testing.B) {
	for _, nodes := range []int{1, 3} {
		var groups []*raft.Group
		for i := range nodes {
			h, err := raft.OpenHost(raft.HostConfig{NodeID: fmt.Sprint(i + 1), Dir: b.TempDir(), ListenAddr: "127.0.0.1:0"})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { h.Close() })
			g, err := h.OpenGroup(raft.GroupConfig{Applier: &nothing{Recorder: logtest.NewRecorder()}})
			if err != nil {
				b.Fatal(err)
			}
			groups = append(groups, g)
			if i == 0 {
				err = g.Bootstrap(b.Context())
			} else {
				_, err = groups[0].AddLearner(b.Context(), fmt.Sprint(i+1), h.Addr())
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		if _, err := groups[0].ChangeMembership(b.Context(), ids(1, nodes)); err != nil {
			b.Fatal(err)
		}
		g := groups[0]
		for _, clients := range []int{1, 8, 32, 128} {
			b.Run(fmt.Sprintf("nodes=%d/clients=%d", nodes, clients), func(b *testing.B) {
				payload := make([]byte, 200)
				term := g.Leadership().Term
				b.ReportAllocs()
				var left atomic.Int64
				left.Store(int64(b.N))
				var wg sync.WaitGroup
				for range clients {
					wg.Go(func() {
						for left.Add(-1) >= 0 {
							if _, err := g.Propose(context.Background(), term, payload); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "proposals/s")
			})
		}
	}
}

func BenchmarkReadBarrier(b *testing.B) {
	h, err := raft.OpenHost(raft.HostConfig{NodeID: "1", Dir: b.TempDir(), ListenAddr: "127.0.0.1:0"})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	g, err := h.OpenGroup(raft.GroupConfig{Applier: &nothing{Recorder: logtest.NewRecorder()}})
	if err != nil {
		b.Fatal(err)
	}
	if err := g.Bootstrap(b.Context()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := g.ReadBarrier(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
