package main

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestPatientMonitor: the program starts anew once, with its arguments and its environment, and its runtime is patient then.
func TestPatientMonitor(t *testing.T) {
	if os.Getenv("OSTRAKA_TEST_MONITOR") != "" {
		if err := patientMonitor(); err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString("DEBUG " + os.Getenv("GODEBUG") + "\n")
		return
	}
	for _, given := range []string{"", "gctrace=0", "schedtrace=1000000000"} {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestPatientMonitor$")
		cmd.Env = append(os.Environ(), "OSTRAKA_TEST_MONITOR=1", "GODEBUG="+given)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%q: %v", given, err)
		}
		want := "DEBUG " + strings.TrimPrefix(given+","+patience, ",")
		if strings.Contains(given, "schedtrace") {
			want = "DEBUG " + given
		}
		var got []string
		for in := bufio.NewScanner(strings.NewReader(string(out))); in.Scan(); {
			if strings.HasPrefix(in.Text(), "DEBUG") {
				got = append(got, in.Text())
			}
		}
		if len(got) != 1 || got[0] != want {
			t.Errorf("GODEBUG=%q: %q, want %q", given, got, want)
		}
	}
}

// TestDiskReads: what was read from storage is known and does not shrink.
func TestDiskReads(t *testing.T) {
	a, err := diskReads()
	if err != nil {
		t.Fatal(err)
	}
	b, err := diskReads()
	if err != nil || b < a {
		t.Errorf("%d, then %d, %v", a, b, err)
	}
}
