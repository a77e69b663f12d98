package raft_test

import (
	"testing"

	"go.uber.org/goleak"

	"ostraka/engine/commitlog"
	"ostraka/engine/commitlog/logtest"
	"ostraka/raft"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hostedGroup closes its host too.
type hostedGroup struct {
	*raft.Group
	host *raft.Host
}

func (g hostedGroup) Close() error { return g.host.Close() }

func TestConformance(t *testing.T) {
	logtest.Run(t, func(t *testing.T) logtest.Fixture {
		dir := t.TempDir()
		first := true
		return logtest.Fixture{
			MaxPayload: 1<<20 + 64<<10,
			Open: func(t *testing.T, ap commitlog.Applier) commitlog.Log {
				h, err := raft.OpenHost(raft.HostConfig{
					NodeID:     "1",
					Dir:        dir,
					ListenAddr: "127.0.0.1:0",
					Timers:     fastTimers,
					Fatal:      func(err error) { t.Errorf("fatal: %v", err) },
				})
				if err != nil {
					t.Fatal(err)
				}
				g, err := h.OpenGroup(raft.GroupConfig{ID: 0, Applier: ap, TrailingEntries: 8})
				if err != nil {
					t.Fatal(err)
				}
				if first {
					first = false
					if err := g.Bootstrap(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				return hostedGroup{g, h}
			},
		}
	})
}
