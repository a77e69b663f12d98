package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"ostraka/node"
)

func startCommand() *cobra.Command {
	cfg := node.DefaultConfig()
	cmd := &cobra.Command{
		Use:   "start",
		Short: "Start a node",
		Long: "Start a node. Without options: a single node, data in ./ostraka-data,\n" +
			"PostgreSQL protocol on 127.0.0.1:5433, superuser and database postgres.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := loadConfig(cmd, &cfg); err != nil {
				return err
			}
			if show, _ := cmd.Flags().GetBool("print-config"); show {
				return printConfig(cmd, &cfg)
			}
			if cfg.PatientMonitor {
				if err := patientMonitor(); err != nil {
					fmt.Fprintln(cmd.ErrOrStderr(), "ostraka:", err)
				}
			}
			tuneCollector()
			if cfg.HugePages {
				go adviseHugePages(cmd.Context())
			}
			n, err := node.Start(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			go watchDisk(cmd.Context(), n.SyncTime)
			say := func(state string) {
				fmt.Fprintf(cmd.OutOrStdout(), "ostraka node %s %s: psql %q\n", cfg.NodeID, state, n.DSN())
			}
			if err := n.Ready(); err != nil {
				say(fmt.Sprintf("listens but is not ready yet (%v)", err))
				go func() {
					if n.WaitReady(cmd.Context()) == nil {
						say("is ready")
					}
				}()
			} else {
				say("is ready")
			}
			return n.Wait(cmd.Context())
		},
	}
	configFlags(cmd, &cfg)
	return cmd
}
