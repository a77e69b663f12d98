// Command ostraka is the database: the server and its tools in one binary.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := rootCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "ostraka:", err)
		os.Exit(1)
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "ostraka",
		Short: "A distributed database that any PostgreSQL client can talk to",
		Long: "Ostraka is a distributed database that any PostgreSQL client can talk to:\n" +
			"replicated SQL, sharded document collections and node-local time series in one binary.",
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetVersionTemplate("ostraka {{.Version}}\n")
	root.AddCommand(startCommand(), demoCommand(), routerCommand(), clusterCommand(), sqltestCommand(), versionCommand())
	return root
}
