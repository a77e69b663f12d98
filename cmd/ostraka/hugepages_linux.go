package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// hugeMin is the smallest mapping that is advised: memory tables, caches and the
	// heap are larger, stacks of threads smaller.
	hugeMin = 16 << 20
	// Arenas of malloc, which have the block cache, begin at multiples of arenaAlign and grow.
	arenaAlign = 64 << 20
	arenaMin   = 2 << 20
	// hugeEvery is how often new mappings are looked for.
	hugeEvery = 250 * time.Millisecond
	// heapShare of the machine's memory, but at most heapMost, is advised before the
	// heap has grown into it.
	heapShare = 8
	heapMost  = 2 << 30
)

// adviseHugePages lets the kernel back large memory of this process with huge pages
// until ctx ends. Looking up a row touches a dozen places of a memory table, and with
// small pages each of them misses the translation buffer; in a virtual machine that
// costs a fifth of a short transaction. Where the kernel's setting is "always" this
// changes nothing, where it is "never" it has no effect.
func adviseHugePages(ctx context.Context) {
	growHeap(machineMemory() / heapShare)
	tick := time.NewTicker(hugeEvery)
	defer tick.Stop()
	for {
		if err := adviseOnce(); err != nil {
			return // no /proc, or a kernel without huge pages: nothing to be had
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// growHeap maps n bytes for the heap in one piece and has them advised while nobody has
// touched them. By itself the heap grows in small pieces, which are full of small
// pages before anybody can advise them.
func growHeap(n int64) {
	if n <= 0 {
		return
	}
	room := make([]byte, min(n, heapMost)) // not touched: it costs addresses alone
	_ = adviseOnce()
	runtime.KeepAlive(room)
	debug.FreeOSMemory()
}

// adviseOnce advises the mappings that there are now.
func adviseOnce() error {
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return err
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		from, to, ok := anonymous(in.Text())
		switch {
		case !ok:
			continue
		case from%arenaAlign == 0 && to-from >= arenaMin && to-from < arenaAlign:
			to = from + arenaAlign // with what the arena has reserved
		case to-from < hugeMin:
			continue
		}
		// EINVAL: the kernel has none; ENOMEM: the mapping has gone meanwhile.
		if _, _, e := unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_HUGEPAGE); e == unix.EINVAL {
			return e
		}
	}
	return nil
}

// anonymous reads a line of /proc/self/maps; false if it is not a private, writable
// mapping of memory alone.
func anonymous(line string) (from, to uintptr, ok bool) {
	w := strings.Fields(line)
	if len(w) < 5 || w[1] != "rw-p" || w[4] != "0" || len(w) > 5 && w[5] != "[heap]" && !strings.HasPrefix(w[5], "[anon") {
		return 0, 0, false
	}
	if _, err := fmt.Sscanf(w[0], "%x-%x", &from, &to); err != nil {
		return 0, 0, false
	}
	return from, to, true
}
