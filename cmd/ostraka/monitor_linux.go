package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The Go runtime has a monitor thread (sysmon). It looks every 20 µs for goroutines
// that sit in a system call, to give their processor to others, and backs off to 10 ms
// while it finds none; but whenever the process has been idle for a moment it begins
// with 20 µs again. A node that waits for its disk or its peers several thousand times
// a second therefore never lets it back off: on a follower half of all wake-ups were the
// monitor's. A runtime that traces its scheduler keeps the back-off, so a node has it
// trace, once in as long as can be said.

// patience is the trace's interval in ms, the largest there is. On a machine that has
// been up for longer than that (25 days) the runtime writes a line ("SCHED …") to
// standard error when the node starts and once in each such interval.
const patience = "schedtrace=2147483647"

// patientMonitor makes the process start anew, with the same number, arguments and
// files, unless its runtime is patient already or has been told otherwise (GODEBUG).
func patientMonitor() error {
	debug := os.Getenv("GODEBUG")
	add := patience
	if strings.Contains(debug, "schedtrace=") {
		return nil
	}
	if _, err := diskReads(); err != nil {
		return nil // it could not be woken: see watchDisk
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("starting anew with a patient runtime monitor: %w", err)
	}
	if debug != "" {
		add = debug + "," + patience
	}
	if err := os.Setenv("GODEBUG", add); err != nil {
		return err
	}
	err = unix.Exec(program, os.Args, os.Environ())
	return fmt.Errorf("starting anew with a patient runtime monitor: %s: %w", program, errors.Join(err, os.Setenv("GODEBUG", debug)))
}

const (
	// diskInterval is how often the disk is looked at.
	diskInterval = 100 * time.Millisecond
	// readBytes from the disk in that time, or syncs that take slowSync, are worth a
	// monitor that is awake.
	readBytes = 256 << 10
	slowSync  = time.Millisecond
	// wakeTime in a system call, longer than the longest back-off twice, wakes it.
	wakeTime = 25 * time.Millisecond
)

// watchDisk wakes the monitor while the process waits for a slow disk, so that others get
// the processors of goroutines that wait. Once awake the monitor stays it for as long as
// it finds such goroutines. syncTime is the usual length of a sync of the log, 0 when
// there was none lately.
func watchDisk(ctx context.Context, syncTime func() time.Duration) {
	if !strings.Contains(os.Getenv("GODEBUG"), patience) {
		return
	}
	tick := time.NewTicker(diskInterval)
	defer tick.Stop()
	last := int64(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		reads, err := diskReads()
		if err != nil {
			return // it could be read when the process started: /proc is gone
		}
		if reads-last >= readBytes || syncTime() >= slowSync {
			nap := unix.NsecToTimespec(wakeTime.Nanoseconds())
			_ = unix.Nanosleep(&nap, nil) // a signal may end it: the next look comes soon
		}
		last = reads
	}
}

// diskReads is how many bytes this process has had read from storage.
func diskReads() (int64, error) {
	b, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0, err
	}
	_, rest, found := bytes.Cut(b, []byte("\nread_bytes: "))
	if !found {
		return 0, fmt.Errorf("/proc/self/io: no read_bytes")
	}
	digits, _, _ := bytes.Cut(rest, []byte("\n"))
	return strconv.ParseInt(string(digits), 10, 64)
}
