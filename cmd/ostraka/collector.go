package main

import (
	"bufio"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

const (
	// gcPercent: a node's own heap is small beside its caches, most of which are not
	// in it, so that collecting less often costs little memory and saves a tenth of
	// the processor time of short transactions.
	gcPercent = 300
	// gcShare of the machine's memory is where collecting becomes eager again.
	gcShare = 0.6
)

// tuneCollector sets what the environment (GOGC, GOMEMLIMIT) leaves open.
func tuneCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		if n := machineMemory(); n > 0 {
			debug.SetMemoryLimit(int64(gcShare * float64(n)))
		}
	}
}

// machineMemory is the memory of the machine, or of the control group when that is
// less, in bytes; 0: not known.
func machineMemory() int64 {
	total := int64(0)
	if f, err := os.Open("/proc/meminfo"); err == nil {
		defer f.Close()
		for in := bufio.NewScanner(f); in.Scan(); {
			if w := strings.Fields(in.Text()); len(w) >= 2 && w[0] == "MemTotal:" {
				n, _ := strconv.ParseInt(w[1], 10, 64)
				total = n << 10
			}
		}
	}
	if b, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && (total == 0 || n < total) {
			total = n
		}
	}
	return total
}
