package shard

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"ostraka/engine/commitlog"
)

// barrierLog counts read barriers, and fails them while cut is set.
type barrierLog struct {
	commitlog.Log
	barriers atomic.Int64
	cut      atomic.Bool
}

var errCut = errors.New("cut off")

func (l *barrierLog) ReadBarrier(ctx context.Context) (commitlog.Position, error) {
	l.barriers.Add(1)
	if l.cut.Load() {
		return commitlog.Position{}, errCut
	}
	return l.Log.ReadBarrier(ctx)
}

// TestFreshWhenClockJumps: what was known to be fresh is not taken for fresh for
// longer because the wall clock has jumped, whichever way: a node that is cut off
// then answers with an error.
func TestFreshWhenClockJumps(t *testing.T) {
	const max = time.Hour // nothing but a jump of the clock makes anything that old here
	ctx := context.Background()
	for _, c := range []struct {
		name         string
		before, then time.Duration // how far the clock is ahead at the barrier, and at the read
		fresh        bool
	}{
		{"steady", 0, 0, true},
		{"ahead and back", 48 * time.Hour, 0, false},
		{"back", 0, -time.Second, false},
		{"ahead", 0, 2 * time.Hour, false},
		{"steady again", time.Minute, time.Minute, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, mem := testEngine(t)
			l := &barrierLog{Log: mem}
			s.clogMu.Lock()
			s.clog = l
			s.clogMu.Unlock()
			base, ahead := time.Now(), c.before
			s.opts.Now = func() time.Time { return base.Add(ahead) }
			if err := s.WaitFresh(ctx, max); err != nil {
				t.Fatal(err)
			}
			first := l.barriers.Load()
			if first != 1 {
				t.Fatalf("%d barriers", first)
			}
			l.cut.Store(true)
			ahead = c.then
			err := s.WaitFresh(ctx, max)
			if c.fresh && (err != nil || l.barriers.Load() != first) {
				t.Errorf("%v after %d barriers", err, l.barriers.Load())
			}
			if !c.fresh && !errors.Is(err, errCut) {
				t.Errorf("%v: it cannot be known to be fresh", err)
			}
			l.cut.Store(false)
			if err := s.WaitFresh(ctx, 0); err != nil {
				t.Error(err)
			}
		})
	}
}
