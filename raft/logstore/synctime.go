package logstore

import (
	"sync/atomic"
	"time"
)

// syncTimes remembers how long syncs take.
type syncTimes struct {
	usual atomic.Int64 // moving average, ns
	fresh atomic.Bool  // there was one since the last question
}

func (s *syncTimes) took(d time.Duration) {
	// Two groups that sync at once may lose one of their figures: it is an average.
	usual := s.usual.Load()
	s.usual.Store(usual + (int64(d)-usual)/8)
	s.fresh.Store(true)
}

// SyncTime is how long a sync of a log usually takes, 0 if there was none since it was
// last asked.
func (d *DB) SyncTime() time.Duration {
	if !d.syncTimes.fresh.Swap(false) {
		return 0
	}
	return time.Duration(d.syncTimes.usual.Load())
}
