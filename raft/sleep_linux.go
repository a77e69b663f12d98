package raft

import (
	"time"

	"golang.org/x/sys/unix"
)

// kernelSlept is CLOCK_BOOTTIME less CLOCK_MONOTONIC. It does not see a virtual
// machine that was stopped from outside: no clock of its own does (see
// HostConfig.NoReadLease).
func kernelSlept() (time.Duration, bool) {
	var before, boot, after unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &before) != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil ||
		unix.ClockGettime(unix.CLOCK_MONOTONIC, &after) != nil || after.Nano()-before.Nano() > int64(sleepNoise/2) {
		return 0, false
	}
	return time.Duration(boot.Nano() - before.Nano()), true
}
