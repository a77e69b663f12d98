package main

import (
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"ostraka/node"
	"ostraka/router"
)

// routerConfig gives a router's settings the names and precedence that a node's have.
type routerConfig struct{ router.Config }

func (c *routerConfig) Options() []node.Option {
	var out []node.Option
	for _, o := range c.Config.Options() {
		out = append(out, node.Option{Name: o.Name, Help: o.Help, Value: o.Value})
	}
	return out
}

func routerCommand() *cobra.Command {
	cfg := routerConfig{router.DefaultConfig()}
	cmd := &cobra.Command{
		Use:   "router",
		Short: "Route clients to a primary and its replicas, or documents to shards",
		Long: "A front end without data before plain servers. With --primary and --replicas what only reads\n" +
			"goes to a replica, everything else to the primary. With --shards and --shard-keys collections\n" +
			"are spread over Ostraka servers that do not know it (docs/router.md).",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := loadConfig(cmd, &cfg); err != nil {
				return err
			}
			if show, _ := cmd.Flags().GetBool("print-config"); show {
				return printConfig(cmd, &cfg)
			}
			cfg.Logger = slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
			cfg.Dedicated = true
			r, err := router.Start(cfg.Config)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "ostraka router is ready on %s\n", r.Addr())
			return r.Wait(cmd.Context())
		},
	}
	configFlags(cmd, &cfg)
	return cmd
}
