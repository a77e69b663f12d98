package shard

import (
	"context"
	"sync"
	"time"
)

// freshness is how new the applied state is known to be: a read barrier that was
// begun at a moment, and has been applied, proves that everything acknowledged
// before that moment is there. Only this node's clock is used. One barrier serves
// all who wait.
type freshness struct {
	mu     sync.Mutex
	asOf   instant       // when the newest barrier that is applied was begun; guarded by mu
	flight chan struct{} // not nil while a barrier is under way, closed at its end; guarded by mu
	err    error         // of the last barrier; guarded by mu
}

// instant is a moment on both clocks of a node. Ages are told by the steady one,
// which never jumps, but may stand still while the machine sleeps; the wall clock
// only ever makes something older: where it has jumped, either way, nothing known
// from before the jump is fresh.
type instant struct {
	steady, wall time.Time
}

func (s *Shard) instant() instant {
	return instant{steady: time.Now(), wall: s.opts.Now().Round(0)}
}

// within reports that at most max has passed from a to b, or that a is the later one.
func (a instant) within(max time.Duration, b instant) bool {
	if a.steady.IsZero() {
		return false
	}
	age := b.steady.Sub(a.steady)
	if age <= 0 {
		return true
	}
	wall := b.wall.Sub(a.wall)
	return age <= max && wall >= 0 && wall <= max
}

// freshTimeout bounds the wait for the position of a barrier; the barrier itself
// waits as long as the log finds reasonable.
const freshTimeout = 10 * time.Second

// WaitFresh implements engine.Engine.
func (s *Shard) WaitFresh(ctx context.Context, max time.Duration) error {
	f := &s.fresh
	now := s.instant()
	var own chan struct{} // the barrier that was begun after the call, or is new enough at its end
	for {
		f.mu.Lock()
		if f.asOf.within(max, now) {
			f.mu.Unlock()
			return nil
		}
		if own != nil && f.flight != own {
			err := f.err
			f.mu.Unlock()
			if err != nil {
				return err
			}
			own = nil
			continue
		}
		wait := f.flight
		if wait == nil {
			wait = make(chan struct{})
			f.flight, own = wait, wait
			s.background(func() { s.refresh(wait) })
		}
		f.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.stop.Done():
			return errTermOver()
		}
	}
}

// refresh runs one barrier.
func (s *Shard) refresh(done chan struct{}) {
	begun := s.instant()
	pos, err := s.Log().ReadBarrier(s.stop)
	if err == nil {
		ctx, cancel := context.WithTimeout(s.stop, freshTimeout)
		defer cancel()
		err = s.WaitApplied(ctx, pos)
	}
	f := &s.fresh
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err = err; err == nil {
		f.asOf = begun
	}
	f.flight = nil
	close(done)
}
