package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"ostraka/node"
)

func demoCommand() *cobra.Command {
	var (
		nodes    int
		dir      string
		basePort int
	)
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run a cluster of several nodes in one process, on loopback",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if nodes < 1 || nodes > 9 {
				return fmt.Errorf("--nodes: %d is not between 1 and 9", nodes)
			}
			tuneCollector()
			go adviseHugePages(cmd.Context())
			if dir == "" {
				if dir, err = os.MkdirTemp("", "ostraka-demo-"); err != nil {
					return err
				}
				defer os.RemoveAll(dir)
			}
			cluster, err := node.StartDemo(cmd.Context(), node.DemoConfig{Nodes: nodes, Dir: filepath.Clean(dir), BasePort: basePort})
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			for i, n := range cluster.Nodes {
				fmt.Fprintf(out, "node %s: psql %q\n", strconv.Itoa(i+1), n.DSN())
			}
			fmt.Fprintln(out, "Press Ctrl-C to stop. Data in", dir)
			return cluster.Wait(cmd.Context())
		},
	}
	cmd.Flags().IntVar(&nodes, "nodes", 3, "number of nodes")
	cmd.Flags().StringVar(&dir, "data-dir", "", "directory of the nodes' data (default: a temporary one, removed at the end)")
	cmd.Flags().IntVar(&basePort, "base-port", 5433, "PostgreSQL port of the first node; the others follow")
	return cmd
}
