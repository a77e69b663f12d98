package node

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestClusterFunctions: what the cluster functions answer and refuse, on the leader and on a follower.
func TestClusterFunctions(t *testing.T) {
	c := demoCluster(t)
	dial(t, c.leader()).do("CREATE ROLE nobody_special; CREATE ROLE operators; CREATE ROLE operator; GRANT ostraka_admin TO operators; GRANT operators TO operator")
	for _, n := range []*Node{c.leader(), c.follower()} {
		cl := dial(t, n)
		cl.soon("SELECT count(*) FROM pg_roles WHERE rolname = 'operator'", "1")
		for sql, code := range map[string]string{
			"SELECT raft_init()":                                        "55000",
			"SELECT raft_add_learner(9)":                                "42883",
			"SELECT raft_add_learner()":                                 "42883",
			"SELECT raft_change_membership('{}'::text[])":               "22023",
			"SELECT raft_change_membership(ARRAY['1','77'])":            "22023",
			"SELECT raft_change_membership(ARRAY['1',NULL])":            "22004",
			"SELECT raft_transfer_leadership('77')":                     "22023",
			"SET ROLE nobody_special; SELECT raft_init()":               "42501",
			"RESET ROLE; SELECT raft_change_membership('{}'::bigint[])": "22023",
		} {
			_, err := cl.PgConn().Exec(bounded(t), "RESET ROLE; "+sql).ReadAll()
			if err == nil || !strings.Contains(err.Error(), "SQLSTATE "+code) {
				t.Errorf("node %s: %s: got %v, want %s", n.ID(), sql, err, code)
			}
		}
		cl.do("SET ROLE nobody_special")
		cl.fails("SELECT raft_change_membership(ARRAY['1'])", "42501")
		cl.do("SET ROLE operator")
		cl.fails("SELECT raft_change_membership('{}'::text[])", "22023")
		cl.do("RESET ROLE")
		cl.want("SELECT raft_metrics()->>'state'", map[bool]string{true: "Leader", false: "Follower"}[n == c.leader()])
		cl.want("SELECT raft_metrics()->>'leader'", c.leader().ID())
		cl.want("SELECT count(*), count(*) FILTER (WHERE suffrage = 'voter') FROM ostraka.members", "3|3")
	}
	dial(t, c.leader()).want("SELECT count(*) FILTER (WHERE match_index > 0) >= 2 FROM ostraka.members", "t")
	cl := dial(t, c.follower())
	cl.want("SELECT count(match_index) FROM ostraka.members", "0") // only a leader knows
	cl.want("SELECT jsonb_array_length(raft_change_membership(ARRAY[1, 2, 3])->'membership')", "3")
}

// TestReady: /health and /ready of each node.
func TestReady(t *testing.T) {
	c := demoCluster(t)
	for _, n := range c.Nodes {
		for path, want := range map[string]string{"/health": "ok", "/ready": "ready"} {
			r, err := http.Get("http://" + n.http.l.Addr().String() + path)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(r.Body)
			_ = r.Body.Close()
			if err != nil || r.StatusCode != 200 || strings.TrimSpace(string(body)) != want {
				t.Errorf("node %s %s: %d %q %v", n.ID(), path, r.StatusCode, body, err)
			}
		}
	}
}

// TestPeerParameters: only who has the cluster's secret may assert a role, and the parameters are no settings.
func TestPeerParameters(t *testing.T) {
	c := demoCluster(t)
	dsn := c.Nodes[0].DSN() + "&ostraka.peer_node=2&ostraka.peer_time=1&ostraka.peer_token=deadbeef"
	if conn, err := pgx.Connect(bounded(t), dsn); err == nil {
		_ = conn.Close(bounded(t))
		t.Error("who claims to be a node is let in without proof")
	} else if sqlState(err) != "28000" {
		t.Errorf("a false node gets %v", err)
	}
	cl := dial(t, c.Nodes[0])
	cl.want("SELECT count(*) FROM pg_settings WHERE name ~ 'peer_'", "0")
	cl.fails("SHOW ostraka.peer_token", "42704")
	cl.do("CREATE TABLE peerp (i int); INSERT INTO peerp VALUES (1)")
	if s := cl.PgConn().ParameterStatus("ostraka.position"); s != "" {
		t.Errorf("a client is told positions: %s", s)
	}
}

// TestInert: a node without a cluster refuses writes by name, is not ready, and becomes a cluster by raft_init().
func TestInert(t *testing.T) {
	cfg := DefaultConfig()
	cfg.DataDir, cfg.NoInit, cfg.HTTP, cfg.LogLevel = t.TempDir(), true, "127.0.0.1:0", "error"
	cfg.Listen, cfg.RaftAddr, cfg.CacheBytes = "127.0.0.1:0", "127.0.0.1:0", 16<<20
	n, err := Start(bounded(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	ready := func() int {
		r, err := http.Get("http://" + n.http.l.Addr().String() + "/ready")
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		return r.StatusCode
	}
	cl := dial(t, n)
	cl.want("SELECT raft_metrics()->>'leader'", "")
	cl.fails("CREATE TABLE early (i int)", "57P03")
	if got := ready(); got != http.StatusServiceUnavailable {
		t.Errorf("/ready before: %d", got)
	}
	cl.want("SELECT raft_init()->>'status'", "initialised")
	cl.fails("SELECT raft_init()", "55000")
	cl.do("CREATE TABLE early (i int); INSERT INTO early VALUES (1)")
	dial(t, n).want("SELECT count(*) FROM early", "1")
	if got := ready(); got != http.StatusOK {
		t.Errorf("/ready after: %d", got)
	}
}
