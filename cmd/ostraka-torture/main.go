// Command ostraka-torture proves the promises of docs/promises.md: it runs a
// cluster of processes on this machine, disturbs it by a seeded schedule while
// clients work, and checks what they saw. It exits with 1 when something was seen
// that is not allowed, or when a planned fault did not occur.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ostraka/torture"
	"ostraka/torture/nodeproc"
	"ostraka/torture/workload"
)

func main() {
	if os.Getenv(nodeproc.Env) != "" {
		os.Exit(nodeproc.Main())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "ostraka-torture:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var (
		opts      torture.Options
		faults    string
		workloads []string
		runs      int
		keep      bool
		list      bool
	)
	cmd := &cobra.Command{
		Use:   "ostraka-torture",
		Short: "Disturb a cluster by a seeded schedule and check what its clients see",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SilenceUsage, cmd.SilenceErrors = true, true
			var err error
			if opts.Faults, err = torture.ParseKinds(faults); err != nil {
				return err
			}
			if opts.Workloads, err = workload.Select(workloads); err != nil {
				return err
			}
			if list {
				for _, f := range torture.Schedule(opts.Seed, opts.Length, opts.Faults) {
					fmt.Fprintln(cmd.OutOrStdout(), f)
				}
				return nil
			}
			self, err := os.Executable()
			if err != nil {
				return err
			}
			opts.Command, opts.Env = []string{self}, []string{nodeproc.Env + "=1"}
			base := opts.Dir
			if base == "" {
				if base, err = os.MkdirTemp("", "ostraka-torture-"); err != nil {
					return err
				}
			}
			for range runs {
				if err := one(cmd, opts, filepath.Join(base, fmt.Sprintf("seed-%d", opts.Seed)), keep); err != nil {
					return err
				}
				opts.Seed++
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.Uint64Var(&opts.Seed, "seed", uint64(time.Now().Unix()), "decides the schedule and what clients ask for")
	f.IntVar(&runs, "runs", 1, "runs, each with the next seed; the first that fails ends the command")
	f.DurationVar(&opts.Length, "for", time.Minute, "how long a run's load lasts")
	f.IntVar(&opts.Nodes, "nodes", 3, "nodes of the cluster")
	f.IntVar(&opts.Clients, "clients", 0, "clients of each workload (default: one per node)")
	f.StringVar(&faults, "faults", "all", "faults, separated by commas: "+strings.Join(kinds(), ", ")+"; or all, or none")
	f.StringSliceVar(&workloads, "workloads", nil, "workloads, by the beginnings of their names (default: all)")
	f.StringVar(&opts.Dir, "dir", "", "where data, logs and histories are kept (default: a new temporary directory)")
	f.BoolVar(&keep, "keep", false, "keep the directory of a run that passed")
	f.DurationVar(&opts.Heartbeat, "heartbeat", 500*time.Millisecond, "replication heartbeat time-out of the nodes")
	f.BoolVar(&list, "list", false, "print the schedule of the seed and do nothing")
	cmd.AddCommand(shardsCommand())
	return cmd
}

func kinds() []string {
	var out []string
	for _, k := range torture.Kinds {
		out = append(out, string(k))
	}
	return out
}

func one(cmd *cobra.Command, opts torture.Options, dir string, keep bool) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	opts.Dir = dir
	begin := time.Now()
	opts.Log = func(format string, args ...any) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%6.1fs %s\n", time.Since(begin).Seconds(), fmt.Sprintf(format, args...))
	}
	rep, err := torture.Run(cmd.Context(), opts)
	if err != nil {
		return fmt.Errorf("seed %d: %w (see %s)", opts.Seed, err, dir)
	}
	rep.Print(cmd.OutOrStdout())
	if n := len(rep.Problems()); n > 0 {
		return fmt.Errorf("seed %d failed with %d problems; data, logs and histories are in %s", opts.Seed, n, dir)
	}
	if keep {
		return nil
	}
	return os.RemoveAll(dir)
}
