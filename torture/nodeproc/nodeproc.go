// Package nodeproc is a node's process as the torture runs it: an ordinary node,
// configured by the environment, on a disk that loses what was not synced and a
// wall clock that can jump. Commands come on standard input, one a line, and are
// answered on standard output with the counters as JSON:
//
//	disk 50ms   every sync of the databases takes at least that long (0s: heals)
//	clock 1h    the wall clock is that far ahead
//	stat        only the counters
//
// The process ends when its standard input does.
package nodeproc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"ostraka/node"
	"ostraka/torture/cluster"
	"ostraka/torture/disk"
)

// Env is set in the environment of a process that is to be a node; see Main.
const Env = "OSTRAKA_TORTURE_NODE"

// Main runs a node until it is told to end and returns the exit status.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "node:", err)
		return 1
	}
	return 0
}

func run(ctx context.Context, in io.Reader, out io.Writer) error {
	cfg := node.DefaultConfig()
	if err := fromEnvironment(&cfg); err != nil {
		return err
	}
	f := faults{fs: disk.Default()}
	cfg.FS, cfg.Now = f.fs, f.now
	go func() {
		f.serve(in, out)
		os.Exit(3) // whoever started it is gone
	}()
	n, err := node.Start(ctx, cfg)
	if err != nil {
		return err
	}
	return n.Wait(ctx)
}

func fromEnvironment(cfg *node.Config) error {
	var errs []error
	for _, o := range cfg.Options() {
		v, ok := os.LookupEnv(o.Env())
		if !ok {
			continue
		}
		var err error
		switch p := o.Value.(type) {
		case *string:
			*p = v
		case *[]string:
			*p = strings.Split(v, ",")
		case *bool:
			*p, err = strconv.ParseBool(v)
		case *int:
			*p, err = strconv.Atoi(v)
		case *int64:
			*p, err = strconv.ParseInt(v, 10, 64)
		case *time.Duration:
			*p, err = time.ParseDuration(v)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", o.Env(), err))
		}
	}
	return errors.Join(errs...)
}

// faults are the process's own: its disk and its clock.
type faults struct {
	fs     *disk.FS
	offset atomic.Int64
	reads  atomic.Int64 // of a clock that had jumped
}

func (f *faults) now() time.Time {
	d := f.offset.Load()
	if d != 0 {
		f.reads.Add(1)
	}
	return time.Now().Add(time.Duration(d))
}

func (f *faults) serve(in io.Reader, out io.Writer) {
	enc := json.NewEncoder(out)
	commands := int64(0)
	for lines := bufio.NewScanner(in); lines.Scan(); {
		word, arg, _ := strings.Cut(lines.Text(), " ")
		d, err := time.ParseDuration(arg)
		switch {
		case word == "disk" && err == nil:
			f.fs.SetDelay(d)
		case word == "clock" && err == nil:
			f.offset.Store(int64(d))
		}
		commands++
		if enc.Encode(cluster.Stat{SlowSyncs: f.fs.Slow(), ClockReads: f.reads.Load(), Lost: f.fs.Unsynced(), Commands: commands}) != nil {
			return
		}
	}
}
