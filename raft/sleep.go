package raft

import (
	"sync"
	"time"
)

// sleepWatch notices that the machine has slept. Durations are told by the clock
// that time.Now carries, which stands still then, while the other nodes' go on: a
// lease that was good before the sleep looks good after it.
type sleepWatch struct {
	// slept is how long the machine has slept since it was started; ok is false if
	// that cannot be told at the moment.
	slept func() (d time.Duration, ok bool)

	mu   sync.Mutex
	last time.Duration // guarded by mu
	woke time.Time     // when the newest sleep was noticed; guarded by mu
}

// sleepNoise is by how much readings of two clocks, one after the other, differ
// without a sleep. A lease has more room than that.
const sleepNoise = 2 * time.Millisecond

func newSleepWatch(slept func() (time.Duration, bool)) *sleepWatch {
	if slept == nil {
		slept = kernelSlept
	}
	w := &sleepWatch{slept: slept}
	w.last, _ = slept()
	return w
}

// awakeSince reports that the machine has not slept since t, of which the caller
// has told how long ago it is.
func (w *sleepWatch) awakeSince(t time.Time) bool {
	d, ok := w.slept()
	if !ok {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if d > w.last+sleepNoise {
		w.last, w.woke = d, time.Now()
	}
	return t.After(w.woke)
}
