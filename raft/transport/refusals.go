package transport

import (
	"log/slog"
	"sync"
	"time"
)

// refusals bounds what strangers at the port can write into the log: a burst of
// lines, then one each refusalEvery, which tells how many were left out.
type refusals struct {
	log *slog.Logger
	now func() time.Time

	mu    sync.Mutex
	lines int       // that may be written now; guarded by mu
	grown time.Time // when lines last grew; guarded by mu
	left  int       // refusals that were not written; guarded by mu
}

const (
	refusalBurst = 20
	refusalEvery = 10 * time.Second
)

func newRefusals(log *slog.Logger, now func() time.Time) *refusals {
	return &refusals{log: log, now: now, lines: refusalBurst, grown: now()}
}

func (r *refusals) note(msg string, args ...any) {
	r.mu.Lock()
	now := r.now()
	if n := int(now.Sub(r.grown) / refusalEvery); n > 0 {
		r.lines, r.grown = min(refusalBurst, r.lines+n), now
	}
	if r.lines == 0 {
		r.left++
		r.mu.Unlock()
		return
	}
	r.lines--
	left := r.left
	r.left = 0
	r.mu.Unlock()
	if left > 0 {
		args = append(args, "not_logged", left)
	}
	r.log.Warn(msg, args...)
}
