package node

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestSeriesKeyUpdate: a row cannot be moved onto another, which would be lost.
func TestSeriesKeyUpdate(t *testing.T) {
	c := demoCluster(t)
	cl := dial(t, c.Nodes[0])
	cl.do("SET timezone = 'UTC'; DROP TABLE IF EXISTS ku; CREATE TABLE ku (time timestamptz NOT NULL, host text, v float8) WITH (timeseries, tags = 'host')")
	cl.do("INSERT INTO ku VALUES ('2026-01-01 00:00+00', 'a', 1), ('2026-01-01 00:10+00', 'a', 2), ('2026-01-01 00:00+00', 'b', 3)")
	for _, sql := range []string{
		"UPDATE ku SET time = '2026-01-01 00:10+00' WHERE v = 1",
		"UPDATE ku SET host = 'b' WHERE v = 1",
		"UPDATE ku SET time = '2026-02-01 00:00+00' WHERE host = 'a'", // the second meets the first
		"INSERT INTO ku VALUES ('2026-01-01 00:00+00', 'a', 9) ON CONFLICT (time, host) DO UPDATE SET host = 'b'",
	} {
		if e := cl.fails(sql, "23505"); !strings.Contains(e.Message, "duplicate key value violates unique constraint \"ku_host_time_key\"") || !strings.Contains(e.Detail, "Key (host, \"time\")=(") {
			t.Errorf("%s: %s, %s", sql, e.Message, e.Detail)
		}
	}
	cl.want("SELECT string_agg(v::text, ',' ORDER BY v) FROM ku", "1,2,3")
	cl.do("BEGIN; DELETE FROM ku WHERE v = 2; UPDATE ku SET time = '2026-01-01 00:10+00' WHERE v = 1; COMMIT")
	cl.want("SELECT string_agg(v::text, ',' ORDER BY v) FROM ku", "1,3")
	cl.do("UPDATE ku SET time = time, v = v + 1")
	cl.want("SELECT string_agg(v::text, ',' ORDER BY v) FROM ku", "2,4")
}

// TestSeriesWhere: answers over HTTP say which node's rows they are about, and that
// others may have more.
func TestSeriesWhere(t *testing.T) {
	ask := func(base string) (http.Header, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(bounded(t), "GET", base+"/api/v1/query?query=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.Header, string(b)
	}
	n := alone(t, t.TempDir(), nil)
	h, body := ask("http://" + n.http.l.Addr().String())
	if h.Get("X-Ostraka-Node") != n.cfg.NodeID || h.Get("X-Ostraka-Scope") != "node" || strings.Contains(body, "infos") {
		t.Errorf("a single node: %v %s", h, body)
	}
	c := demoCluster(t)
	for _, n := range c.Nodes {
		h, body := ask("http://" + n.http.l.Addr().String())
		if h.Get("X-Ostraka-Node") != n.cfg.NodeID || !strings.Contains(body, "rows of node "+n.cfg.NodeID+" only") {
			t.Errorf("node %s: %v %s", n.cfg.NodeID, h, body)
		}
	}
}
