package raft

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	hraft "github.com/hashicorp/raft"

	"ostraka/engine/commitlog"
)

// slow makes a batcher whose entries are applied after a while.
func slow(t *testing.T, took time.Duration, sent func(proposals int)) *batcher {
	var b *batcher
	b = newBatcher(GroupConfig{}.withDefaults(), func(data []byte, _ time.Duration) hraft.ApplyFuture {
		n := 0
		if err := decodeEntry(data, func(uint64, []byte) { n++ }); err != nil {
			t.Error(err)
		}
		sent(n)
		time.AfterFunc(took, func() { b.applied(data, 1, make([]error, n)) })
		return nil // nobody asks
	}, func(uint64) bool { return true })
	return b
}

// gathering runs clients that propose, are answered and pause, in virtual time,
// and returns how many proposals and entries there were in a second.
func gathering(t *testing.T, clients int, flight time.Duration, pause func(client, round int) time.Duration) (proposals, entries int) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		b := slow(t, flight, func(n int) {
			mu.Lock()
			defer mu.Unlock()
			entries++
			proposals += n
		})
		end := time.Now().Add(time.Second)
		var wg sync.WaitGroup
		for c := range clients {
			wg.Go(func() {
				for round := 0; time.Now().Before(end); round++ {
					if _, err := b.propose(context.Background(), 1, []byte("x")); err != nil {
						t.Error(err)
					}
					time.Sleep(pause(c, round))
				}
			})
		}
		wg.Wait()
		b.shut(time.Second)
	})
	return proposals, entries
}

// TestEntriesGather: clients that take turns in halves come together in one
// entry, and a lone client and clients that stay away do not make others wait.
func TestEntriesGather(t *testing.T) {
	const ms = time.Millisecond
	every := func(d time.Duration) func(int, int) time.Duration {
		return func(c, _ int) time.Duration { return d + time.Duration(c)*10*time.Microsecond }
	}
	tests := []struct {
		name      string
		clients   int
		pause     func(client, round int) time.Duration
		batch     float64 // at least
		proposals int     // at least, in a second of entries of a millisecond
	}{
		{"one client", 1, every(ms / 10), 1, 900},
		{"two clients", 2, every(ms / 10), 1.9, 1700},
		{"eight clients", 8, every(ms / 10), 7.5, 6500},
		{"thirty-two clients", 32, every(ms / 4), 30, 19000},
		{"clients that think for long", 8, every(20 * ms), 1, 350},
		{"one client of eight thinks for long", 8, func(c, _ int) time.Duration {
			if c == 0 {
				return 30 * ms
			}
			return ms / 10
		}, 6.5, 5500},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n, entries := gathering(t, tt.clients, ms, tt.pause)
			if batch := float64(n) / float64(entries); batch < tt.batch || n < tt.proposals {
				t.Errorf("%d proposals in %d entries (%.1f each); want at least %d and %.1f", n, entries, batch, tt.proposals, tt.batch)
			}
		})
	}
}

// TestGatherEndsWithClose: proposals that wait for company when the batcher is
// shut are answered.
func TestGatherEndsWithClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := slow(t, time.Millisecond, func(int) {})
		b.mu.Lock()
		b.gather = gather{waiting: true, want: 2, patience: time.Hour}
		b.mu.Unlock()
		done := make(chan error)
		go func() {
			_, err := b.propose(context.Background(), 1, nil)
			done <- err
		}()
		synctest.Wait()
		b.shut(time.Second)
		if err := <-done; !errors.Is(err, commitlog.ErrNotAppended) {
			t.Errorf("answer %v, want not appended", err)
		}
	})
}
