package node

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"ostraka/raft"
)

// scrape reads a node's /metrics: value by name with labels.
func scrape(t *testing.T, n *Node) map[string]float64 {
	t.Helper()
	r, err := http.Get("http://" + n.http.l.Addr().String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, line := range strings.Split(string(body), "\n") {
		if name, v, ok := strings.Cut(line, " "); ok && !strings.HasPrefix(line, "#") {
			if out[name], err = strconv.ParseFloat(v, 64); err != nil {
				t.Errorf("%q: %v", line, err)
			}
		}
	}
	return out
}

// TestReplicationMetrics: raft_metrics(), ostraka.members and /metrics tell state, term,
// leader, positions and membership on every node, and on the leader how far each
// follower is: one that is cut off falls behind and was heard of longer ago, and
// catches up.
func TestReplicationMetrics(t *testing.T) {
	c := faultyCluster(t, 3)
	lead, away := c.leader(), c.follower()
	cl := dial(t, lead)
	cl.do("CREATE TABLE met (v int)")
	c.everywhere("SELECT count(*) FROM met", "0")
	metrics := func(n *Node) (m raft.Metrics) {
		t.Helper()
		if err := json.Unmarshal([]byte(dial(t, n).rows("SELECT raft_metrics()")), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	of := func(m raft.Metrics, id string) *raft.MemberProgress {
		for _, x := range m.Members {
			if x.ID == id {
				return x.Progress
			}
		}
		return nil
	}
	for _, n := range c.Nodes {
		m := metrics(n)
		if m.NodeID != n.ID() || m.Leader != lead.ID() || m.Term == 0 || m.LastLog == 0 || m.Applied == 0 || m.Commit == 0 || len(m.Members) != 3 ||
			(m.State == "Leader") != (n == lead) || m.LastContact.IsZero() != (n == lead) {
			t.Errorf("node %s: %+v", n.ID(), m)
		}
		for _, x := range m.Members {
			if !x.Voter || x.Addr == "" || (x.Progress != nil) != (n == lead && x.ID != n.ID()) {
				t.Errorf("node %s about %s: %+v", n.ID(), x.ID, x)
			}
		}
		s := scrape(t, n)
		state := map[bool]string{true: "Leader", false: "Follower"}[n == lead]
		if s[`ostraka_raft_leader_info{group="0",state="`+state+`"}`] != 1 || s[`ostraka_raft_term_count{group="0"}`] != float64(m.Term) ||
			s[`ostraka_raft_applied_index_count{group="0"}`] < float64(m.Applied) || s["ostraka_node_ready_info"] != 1 {
			t.Errorf("node %s exposes %v", n.ID(), s)
		}
	}
	c.cut(away)
	for range 5 {
		cl.written("INSERT INTO met VALUES (1)")
	}
	lag, contact := `ostraka_raft_member_lag_entries{group="0",member="`+away.ID()+`"}`, `ostraka_raft_member_last_contact_seconds{group="0",member="`+away.ID()+`"}`
	match := `ostraka_raft_member_match_index_count{group="0",member="` + away.ID() + `"}`
	wait(t, "the leader to miss the follower", func(context.Context) error {
		m := metrics(lead)
		p, s := of(m, away.ID()), scrape(t, lead)
		row := cl.rows("SELECT lag >= 5 AND last_contact > 0.3 AND match_index > 0 FROM ostraka.members WHERE node_id = '" + away.ID() + "'")
		if p == nil || p.Lag < 5 || p.Match+p.Lag != m.LastLog || s[lag] < 5 || s[contact] < 0.3 || s[match] != float64(p.Match) || row != "t" {
			return fmt.Errorf("%+v, exposed %v %v %v, in the view %s", p, s[lag], s[contact], s[match], row)
		}
		return nil
	})
	wait(t, "the follower not to be ready", func(context.Context) error {
		if away.Ready() == nil || scrape(t, away)["ostraka_node_ready_info"] != 0 {
			return fmt.Errorf("it is")
		}
		return nil
	})
	c.net.Heal()
	wait(t, "the follower to catch up", func(context.Context) error {
		lead = c.leader()
		p, s := of(metrics(lead), away.ID()), scrape(t, lead)
		if lead != away && (p == nil || p.Lag != 0 || s[lag] != 0) {
			return fmt.Errorf("%+v, exposed %v", p, s[lag])
		}
		return away.Ready()
	})
	c.everywhere("SELECT count(*) FROM met", "5")
}
