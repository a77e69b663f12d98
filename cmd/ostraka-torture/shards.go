package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"ostraka/torture"
	"ostraka/torture/nodeproc"
)

// shardsCommand kills every node of three replicated shards behind a router.
func shardsCommand() *cobra.Command {
	var dir string
	var short bool
	cmd := &cobra.Command{
		Use:   "shards",
		Short: "Three shards of three nodes behind a router: kill every node once, then every shard",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SilenceUsage, cmd.SilenceErrors = true, true
			self, err := os.Executable()
			if err != nil {
				return err
			}
			if dir == "" {
				if dir, err = os.MkdirTemp("", "ostraka-shards-"); err != nil {
					return err
				}
			}
			begin := time.Now()
			problems, err := torture.RunShards(cmd.Context(), torture.ShardOptions{Dir: dir, Command: []string{self}, Env: []string{nodeproc.Env + "=1"}, Short: short,
				Log: func(format string, args ...any) {
					fmt.Fprintf(cmd.ErrOrStderr(), "%6.1fs %s\n", time.Since(begin).Seconds(), fmt.Sprintf(format, args...))
				}})
			if err != nil {
				return fmt.Errorf("%w (see %s)", err, dir)
			}
			for _, p := range problems {
				fmt.Fprintln(cmd.OutOrStdout(), p)
			}
			if len(problems) > 0 {
				return fmt.Errorf("%d problems; data and logs are in %s", len(problems), dir)
			}
			fmt.Fprintln(cmd.OutOrStdout(), "nothing was seen that is not allowed")
			return os.RemoveAll(dir)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "where data and logs are kept (default: a new temporary directory)")
	cmd.Flags().BoolVar(&short, "short", false, "kill one node of each shard and one shard only")
	return cmd
}
