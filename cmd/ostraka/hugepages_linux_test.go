package main

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestHugePages: a large mapping of memory is advised, a small one, a file and a stack are not.
func TestHugePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage/enabled"); err != nil {
		t.Skip("a kernel without huge pages")
	}
	large, err := unix.Mmap(-1, 0, 2*hugeMin, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(large) }()
	if err := adviseOnce(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var from, to uintptr
	advised := 0
	for in := bufio.NewScanner(f); in.Scan(); {
		line := in.Text()
		if a, b, ok := anonymous(line); ok {
			from, to = a, b
		} else if strings.HasPrefix(line, "VmFlags:") {
			if has := strings.Contains(line+" ", " hg "); has && to-from < hugeMin && from%arenaAlign != 0 {
				t.Errorf("a mapping of %d bytes is advised", to-from)
			} else if has {
				advised++
			}
			from, to = 0, 0
		}
	}
	if advised == 0 {
		t.Error("no mapping is advised")
	}
	for line, want := range map[string]bool{
		"7f0000000000-7f0004000000 rw-p 00000000 00:00 0 ":                  true,
		"7f0000000000-7f0004000000 rw-p 00000000 00:00 0 [anon: Go: heap]":  true,
		"7f0000000000-7f0004000000 rw-p 00000000 00:00 0 [stack]":           false,
		"7f0000000000-7f0004000000 r--p 00000000 00:00 0 ":                  false,
		"7f0000000000-7f0004000000 rw-p 00000000 08:01 1234 /lib/something": false,
		"": false,
	} {
		if _, _, ok := anonymous(line); ok != want {
			t.Errorf("%q: %t", line, ok)
		}
	}
}
