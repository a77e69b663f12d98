package raft_test

import (
	"time"

	"ostraka/raft"
)

// fastTimers make elections quick, calmTimers keep a leader that nobody disturbs. A
// machine that is busy stops a process for longer than it should be away, and the race
// detector makes everything several times as slow.
var (
	fastTimers = raft.Timers{Heartbeat: slower(200 * time.Millisecond)}
	calmTimers = raft.Timers{Heartbeat: slower(time.Second)}
)

// patience bounds waiting for what must happen; it is seldom used up.
var patience = slower(30 * time.Second)

func slower(d time.Duration) time.Duration {
	if raceDetector {
		return 4 * d
	}
	return d
}
