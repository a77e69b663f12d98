package node

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSecretIsKept: a node that was let into a cluster with --secret-file keeps the
// secret, and a member without one is refused by name instead of making its own,
// with which no other member would talk to it.
func TestSecretIsKept(t *testing.T) {
	if testing.Short() {
		t.Skip("starts two nodes; runs without -short")
	}
	root := t.TempDir()
	dir := filepath.Join(root, "b")
	secret := filepath.Join(root, "a", secretName)
	a := alone(t, filepath.Join(root, "a"), nil)
	b := alone(t, dir, func(c *Config) { c.NodeID, c.SecretFile, c.Join = "2", secret, []string{a.RaftAddr()} })
	wait(t, "joining", b.waitReady)
	dial(t, a).soon("SELECT count(*) FROM ostraka.members WHERE suffrage = 'voter'", "2")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = alone(t, dir, func(c *Config) { c.NodeID, c.RaftAddr = "2", b.RaftAddr() })
	dial(t, a).do("CREATE TABLE kept (v int); INSERT INTO kept VALUES (1)") // a majority is both
	dial(t, b).soon("SELECT count(*) FROM kept", "1")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, secretName)); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"": "lacks its join secret", filepath.Join(root, "nowhere"): "secret file"} {
		cfg := b.cfg
		cfg.SecretFile = file
		if n, err := Start(context.Background(), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("secret file %q: %v", file, err)
			if n != nil {
				_ = n.Close()
			}
		}
	}
	b = alone(t, dir, func(c *Config) { c.NodeID, c.RaftAddr, c.SecretFile = "2", b.RaftAddr(), secret })
	if got, err := readSecret(filepath.Join(dir, secretName)); err != nil || string(got) != string(a.secret) {
		t.Errorf("kept secret: %v", err)
	}
}
