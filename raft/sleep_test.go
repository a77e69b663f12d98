package raft

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestSleepWatch: noise is no sleep, a sleep spoils what is older than its being noticed.
func TestSleepWatch(t *testing.T) {
	var slept time.Duration
	known := true
	w := newSleepWatch(func() (time.Duration, bool) { return slept, known })
	before := time.Now()
	if !w.awakeSince(before) {
		t.Error("a sleep without one")
	}
	slept += sleepNoise
	if !w.awakeSince(before) {
		t.Error("noise is a sleep")
	}
	slept += time.Second
	for range 2 {
		if w.awakeSince(before) {
			t.Error("a sleep was not noticed")
		}
	}
	if !w.awakeSince(time.Now().Add(time.Nanosecond)) {
		t.Error("what came after a sleep does not count")
	}
	if known = false; w.awakeSince(time.Now().Add(time.Hour)) {
		t.Error("awake for all that one knows")
	}
}

// TestKernelSlept: /proc/uptime counts sleep, and so do we.
func TestKernelSlept(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("Linux's clocks")
	}
	var d time.Duration
	ok := false
	for range 1000 { // a loaded machine may interrupt each attempt
		if d, ok = kernelSlept(); ok {
			break
		}
	}
	if !ok {
		t.Fatal("it cannot be told")
	}
	if d < -sleepNoise {
		t.Errorf("slept for %v", d)
	}
	up, err := os.ReadFile("/proc/uptime")
	if err != nil {
		t.Skip(err)
	}
	uptime, err := time.ParseDuration(strings.Fields(string(up))[0] + "s")
	if err != nil {
		t.Fatal(err)
	}
	if d > uptime {
		t.Errorf("slept for %v of %v", d, uptime)
	}
}
