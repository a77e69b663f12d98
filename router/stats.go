package router

import (
	"log/slog"
	"sync/atomic"
	"time"
)

// stats counts what clients have asked since the start.
type stats struct {
	requests, errors    atomic.Int64 // query strings and pipelines; those that ended in an error
	primary, replica    atomic.Int64 // of them passed on to a server as they are
	looped              atomic.Int64 // of requests, those that event loops have served
	targeted, scattered atomic.Int64 // document commands that one server answered, or several
}

// logStats logs the counters once in a while.
func (r *Router) logStats() {
	if r.cfg.StatsInterval <= 0 {
		return
	}
	tick := time.NewTicker(r.cfg.StatsInterval)
	defer tick.Stop()
	was := int64(0)
	for {
		select {
		case <-r.done:
			return
		case <-tick.C:
		}
		now := r.stats.requests.Load()
		r.mu.Lock()
		clients := len(r.sessions)
		r.mu.Unlock()
		args := []any{slog.Int64("requests", now), slog.Float64("per_second", float64(now-was)/r.cfg.StatsInterval.Seconds()),
			slog.Int64("errors", r.stats.errors.Load()), slog.Int("clients", clients),
			slog.Int64("primary", r.stats.primary.Load()), slog.Int64("replica", r.stats.replica.Load()),
			slog.Int64("looped", r.stats.looped.Load())}
		if r.sharding != nil {
			used, idle := r.sharding.open()
			args = append(args, slog.Int64("targeted", r.stats.targeted.Load()), slog.Int64("scattered", r.stats.scattered.Load()),
				slog.Int("pool_used", used), slog.Int("pool_idle", idle))
		}
		r.log.Info("stats", args...)
		was = now
	}
}

// open counts pooled sessions.
func (sh *sharding) open() (used, idle int) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, p := range sh.pools {
		p.mu.Lock()
		for _, x := range p.pools {
			u, i := x.Open()
			used, idle = used+u, idle+i
		}
		p.mu.Unlock()
	}
	return used, idle
}
