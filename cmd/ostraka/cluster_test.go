package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"ostraka/node"
)

// TestClusterCommands: the subcommands print what a node's functions answer, and its errors.
func TestClusterCommands(t *testing.T) {
	cfg := node.DefaultConfig()
	cfg.DataDir, cfg.NoInit, cfg.HTTP, cfg.LogLevel = t.TempDir(), true, "", "error"
	cfg.Listen, cfg.RaftAddr, cfg.CacheBytes = "127.0.0.1:0", "127.0.0.1:0", 16<<20
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	n, err := node.Start(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}()
	run := func(args ...string) (string, error) {
		var out bytes.Buffer
		cmd := clusterCommand()
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		cmd.SilenceUsage = true
		cmd.SetArgs(append(args, "--dsn", n.DSN()))
		err := cmd.ExecuteContext(ctx)
		return out.String(), err
	}
	for _, c := range []struct{ args, want, err string }{
		{"init", `"initialised"`, ""},
		{"init", "", "initialised already"},
		{"status", "voter", ""},
		{"metrics", `"Leader"`, ""},
		{"change-membership 77", "", "77"},
		{"change-membership", "", "requires at least 1 arg"},
		{"change-membership 1", `"membership"`, ""},
		{"add-learner 2", "", "accepts 2 arg"},
	} {
		out, err := run(strings.Fields(c.args)...)
		if c.err == "" && (err != nil || !strings.Contains(out, c.want)) {
			t.Errorf("%s: %q, %v", c.args, out, err)
		}
		if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: got %v, want %q", c.args, err, c.err)
		}
	}
}
