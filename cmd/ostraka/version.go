package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"ostraka/node"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			fmt.Fprintln(cmd.OutOrStdout(), "ostraka", version())
		},
	}
}

func version() string {
	return fmt.Sprintf("%s (%s %s/%s)", node.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
