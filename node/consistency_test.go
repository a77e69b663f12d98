package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"ostraka/raft/transport"
)

// disturbed is a cluster of its own in this process whose network can be disturbed.
type disturbed struct {
	three
	net *transport.Faults
}

// faultyCluster starts nodes; its timers are those of the shared cluster.
func faultyCluster(t *testing.T, nodes int, change ...func(*Config)) disturbed {
	t.Helper()
	if testing.Short() {
		t.Skip("starts several nodes; runs without -short")
	}
	t.Parallel() // such a test waits for time-outs more than it works
	dir, err := os.MkdirTemp("", "ostraka-faults-")
	if err != nil {
		t.Fatal(err)
	}
	net := transport.NewFaults(1)
	all := func(c *Config) {
		for _, f := range change {
			f(c)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	d, err := StartDemo(ctx, DemoConfig{Nodes: nodes, Dir: dir, Heartbeat: testHeartbeat(), LogLevel: "error", faults: net, change: all})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		net.Heal()
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		_ = os.RemoveAll(dir)
	})
	return disturbed{three{d, t}, net}
}

// cut separates some nodes from the rest, both ways.
func (c disturbed) cut(some ...*Node) {
	in := map[string]bool{}
	var a, b []string
	for _, n := range some {
		in[n.ID()] = true
		a = append(a, n.ID())
	}
	for _, n := range c.Nodes {
		if !in[n.ID()] {
			b = append(b, n.ID())
		}
	}
	c.net.Partition(a, b)
}

// others are all nodes but the given one.
func (c disturbed) others(not *Node) (out []*Node) {
	for _, n := range c.Nodes {
		if n != not {
			out = append(out, n)
		}
	}
	return out
}

// leaderAmong waits until one of some nodes leads.
func (c disturbed) leaderAmong(some []*Node) *Node {
	c.t.Helper()
	var found *Node
	wait(c.t, "a new leader", func(context.Context) error {
		for _, n := range some {
			if m := n.group.Metrics(); m.State == "Leader" && m.Ready {
				found = n
				return nil
			}
		}
		return fmt.Errorf("none of %d nodes leads", len(some))
	})
	return found
}

// TestReadConsistency: what each level of ostraka.read_consistency returns on a follower that gets
// the log late, and on a leader that was cut off.
func TestReadConsistency(t *testing.T) {
	c := faultyCluster(t, 3)
	old := c.leader()
	writer := dial(t, old)
	writer.do("CREATE TABLE rc (v int); INSERT INTO rc VALUES (1)")
	c.everywhere("SELECT v FROM rc", "1")
	lag := c.follower()
	local, fresh, strong, up := dial(t, lag), dial(t, lag), dial(t, lag), dial(t, lag)
	for cl, level := range map[*client]string{local: "local", fresh: "bounded", strong: "linearizable", up: "leader"} {
		cl.do("SET ostraka.read_consistency = " + level)
		cl.want("SHOW ostraka.read_consistency", level)
	}
	fresh.do("SET ostraka.max_staleness = '150ms'")
	// Appended entries reach the follower late; its own questions to the leader pass.
	c.net.Set(transport.Edge{From: old.ID(), To: lag.ID(), Rule: transport.Rule{Delay: 350 * time.Millisecond}})
	hits := c.net.Hits()
	for i := 2; i < 4; i++ {
		writer.do(fmt.Sprintf("UPDATE rc SET v = %d", i))
		begin := time.Now()
		strong.want("SELECT v FROM rc", fmt.Sprint(i))
		up.want("SELECT v FROM rc", fmt.Sprint(i))
		strong.do("BEGIN READ ONLY")
		strong.want("SELECT v FROM rc", fmt.Sprint(i))
		if i == 2 {
			writer.do("UPDATE rc SET v = 20")
			strong.want("SELECT v FROM rc", "20") // READ COMMITTED: each statement is current
			writer.do("UPDATE rc SET v = 2")
		}
		strong.do("COMMIT")
		if d := 160*time.Millisecond - time.Since(begin); d > 0 {
			<-time.After(d)
		}
		fresh.want("SELECT v FROM rc", fmt.Sprint(i))
	}
	if c.net.Hits() == hits {
		t.Error("no message was delayed")
	}
	c.net.Heal()

	// The old leader, cut off: local reads go on, what must be current is refused.
	c.transfer(old)
	stale := dial(t, old)
	stale.do("SET ostraka.read_consistency = bounded")
	stale.want("SELECT v FROM rc", "3")
	stale.do("SET ostraka.read_consistency = local")
	c.cut(old)
	leader := c.leaderAmong(c.others(old))
	now := dial(t, leader)
	now.do("UPDATE rc SET v = 100")
	stale.want("SELECT v FROM rc", "3")
	stale.do("SET ostraka.read_consistency = linearizable")
	if pe := stale.fails("SELECT v FROM rc", "57P03"); !strings.Contains(pe.Message, "current") {
		t.Errorf("message %q", pe.Message)
	}
	if pe := stale.fails("BEGIN READ ONLY; SELECT v FROM rc", "57P03"); pe.Detail == "" {
		t.Error("no detail")
	}
	stale.do("ROLLBACK; SET ostraka.read_consistency = bounded; SET ostraka.max_staleness = 100")
	stale.fails("SELECT v FROM rc", "57P03")
	stale.do("SET ostraka.max_staleness = '1h'") // the age of its last proof
	stale.want("SELECT v FROM rc", "3")
	stale.do("SET ostraka.read_consistency = local")
	stale.want("SELECT v FROM rc", "3")
	now.do("SET ostraka.read_consistency = linearizable")
	now.want("SELECT v FROM rc", "100")
	c.net.Heal()
	stale.soon("SELECT v FROM rc", "100")
}

// TestPosition: a position carried to another connection makes it see what the first one wrote or
// read, wherever it is; one that does not come is an error after a bounded time.
func TestPosition(t *testing.T) {
	c := faultyCluster(t, 3)
	l := c.leader()
	lag := c.follower()
	writer := dial(t, c.others(l)[1]) // forwards
	writer.do("CREATE TABLE pos (v int)")
	c.everywhere("SELECT count(*) FROM pos", "0")
	reader := dial(t, lag)
	c.net.Set(transport.Edge{From: l.ID(), To: lag.ID(), Rule: transport.Rule{Delay: 300 * time.Millisecond}})
	for i := 1; i < 4; i++ {
		writer.do("INSERT INTO pos VALUES (1)")
		at := writer.rows("SHOW ostraka.position")
		reader.do("SET ostraka.min_position = '" + at + "'")
		reader.want("SELECT count(*) FROM pos", fmt.Sprint(i))
		reader.want("SELECT count(*) FROM pos WHERE v = 1", fmt.Sprint(i))
	}
	writer.do(fmt.Sprintf("CREATE TABLE pos%d (v int)", 2))
	reader.do("SET ostraka.min_position = '" + writer.rows("SELECT current_setting('ostraka.position')") + "'")
	reader.want("SELECT count(*) FROM pos2", "0") // the catalogue too
	if c.net.Hits() == 0 {
		t.Error("no message was delayed")
	}
	c.net.Heal()
	reader.do("SET ostraka.position_timeout = '200ms'; SET ostraka.min_position = '0/99999999'")
	if pe := reader.fails("SELECT count(*) FROM pos", "57P03"); !strings.Contains(pe.Message, "0/99999999 within 200ms") {
		t.Errorf("message %q", pe.Message)
	}
	reader.fails("INSERT INTO pos VALUES (1)", "57P03")
	reader.do("RESET ostraka.min_position")
	reader.want("SELECT count(*) FROM pos", "3")
	reader.fails("SET ostraka.min_position = 'yesterday'", "22023")
	reader.fails("SET ostraka.position = '0/1'", "55P02")
	// What was read on the leader counts as well.
	reader.do("SET ostraka.read_consistency = leader")
	reader.want("SELECT count(*) FROM pos", "3")
	if at := reader.rows("SHOW ostraka.position"); !strings.HasPrefix(at, "0/") {
		t.Errorf("position %q", at)
	}
}

// TestForwardCutOff: a statement that was sent to a leader which then is cut off ends with an unknown
// outcome as soon as another leads, and the session goes on.
func TestForwardCutOff(t *testing.T) {
	c := faultyCluster(t, 3)
	old := c.leader()
	cl := dial(t, c.follower())
	holder := dial(t, old)
	cl.do("CREATE TABLE co (v int)")
	holder.do("BEGIN; LOCK TABLE co IN ACCESS EXCLUSIVE MODE")
	failed := make(chan error, 1)
	ctx := bounded(t)
	go func() {
		_, err := cl.PgConn().Exec(ctx, "INSERT INTO co VALUES (1)").ReadAll()
		failed <- err
	}()
	dial(t, old).soon("SELECT count(*) FROM pg_locks WHERE NOT granted", "1")
	begin := time.Now()
	c.cut(old)
	err := <-failed
	if code := sqlState(err); code != "08007" {
		t.Errorf("the statement that waited on the leader: %v", err)
	}
	if d, most := time.Since(begin), (maxGone+3)*testHeartbeat()+2*time.Second; d > most {
		t.Errorf("it took %v, at most %v was due", d, most)
	}
	c.leaderAmong(c.others(old))
	cl.written("INSERT INTO co VALUES (2)")
	c.net.Heal()
	c.everywhere("SELECT string_agg(v::text, ',') FROM co", "2")
}

// sqlState is an error's SQLSTATE.
func sqlState(err error) string {
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return pe.Code
	}
	return fmt.Sprint(err)
}
