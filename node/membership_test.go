package node

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// alone starts one node in a directory of the test.
func alone(t *testing.T, dir string, change func(*Config)) *Node {
	t.Helper()
	cfg := DefaultConfig()
	cfg.DataDir = dir
	cfg.Listen, cfg.RaftAddr, cfg.HTTP = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	cfg.CacheBytes, cfg.LogLevel, cfg.Heartbeat = 64<<20, "error", testHeartbeat()
	if change != nil {
		change(&cfg)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	n, err := Start(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// TestForeignNode: a node with data of another cluster is refused by name, although it knows the secret, and neither cluster is harmed.
func TestForeignNode(t *testing.T) {
	if testing.Short() {
		t.Skip("starts two nodes; runs without -short")
	}
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("0123456789abcdef0123456789abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := alone(t, filepath.Join(dir, "a"), func(c *Config) { c.SecretFile = secret })
	b := alone(t, filepath.Join(dir, "b"), func(c *Config) { c.SecretFile, c.NodeID = secret, "2" })
	if a.ident.ID() == "" || a.ident.ID() == b.ident.ID() {
		t.Fatalf("clusters %q and %q", a.ident.ID(), b.ident.ID())
	}
	pe := dial(t, a).fails("SELECT raft_add_learner('2', '"+b.RaftAddr()+"')", "55000")
	if !strings.Contains(pe.Message, a.ident.ID()) || !strings.Contains(pe.Message, b.ident.ID()) {
		t.Errorf("the clusters are not named: %q", pe.Message)
	}
	err := b.host.Call(bounded(t), "", a.RaftAddr(), "join", joinCall{"2", b.RaftAddr()}, nil)
	if err == nil || !strings.Contains(err.Error(), a.ident.ID()) {
		t.Errorf("joining: %v", err)
	}
	for _, n := range []*Node{a, b} {
		dial(t, n).want("SELECT count(*) FROM ostraka.members", "1")
	}
	// A node without data adopts the cluster that adds it, and keeps it.
	c := alone(t, filepath.Join(dir, "c"), func(c *Config) { c.SecretFile, c.NodeID, c.NoInit = secret, "3", true })
	dial(t, a).do("SELECT raft_add_learner('3', '" + c.RaftAddr() + "')")
	if got := c.ident.ID(); got != a.ident.ID() {
		t.Errorf("cluster %q", got)
	}
	if stored, err := os.ReadFile(filepath.Join(dir, "c", "cluster.id")); err != nil || strings.TrimSpace(string(stored)) != a.ident.ID() {
		t.Errorf("stored %q, %v", stored, err)
	}
}

// TestAuditLog: calls that change the cluster are recorded with who made them, refused ones too, across restarts and within bounds.
func TestAuditLog(t *testing.T) {
	dir := t.TempDir()
	n := alone(t, dir, nil)
	cl := dial(t, n)
	cl.do("CREATE ROLE visitor")
	cl.do("SELECT raft_change_membership(ARRAY['1'])")
	cl.fails("SELECT raft_change_membership(ARRAY['1', '77'])", "22023")
	cl.do("SET ROLE visitor")
	cl.fails("SELECT raft_transfer_leadership('1')", "42501")
	cl.do("RESET ROLE; SELECT raft_metrics()")
	const log = "SELECT usename, role, function, arguments, coalesce(error, 'ok') LIKE 'ok' FROM ostraka.audit_log ORDER BY at"
	want := `postgres|postgres|raft_change_membership|["{1}"]|t postgres|postgres|raft_change_membership|["{1,77}"]|t ` +
		`postgres|postgres|raft_change_membership|["{1,77}"]|f postgres|visitor|raft_transfer_leadership|["1"]|f`
	cl.want(log, want)
	a, err := openAuditLog(filepath.Join(dir, "audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	if got := a.records(); len(got) != 4 || got[3].Role != "visitor" || got[3].Client == "" {
		t.Fatalf("read again: %+v", got)
	}
	big := strings.Repeat("x", 400<<10)
	for i := 0; i < 30; i++ {
		if err := a.add(auditRecord{Function: big}); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"audit.log", "audit.log.1"} {
		if st, err := os.Stat(filepath.Join(dir, f)); err != nil || st.Size() > maxAuditBytes {
			t.Errorf("%s: %v %v", f, st, err)
		}
	}
}
