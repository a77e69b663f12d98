package node

import (
	"context"
	"strconv"
	"testing"
	"time"

	"ostraka/raft/transport"
)

// TestReadsDoNotGoBack: a session of a lagging follower whose read went to the
// leader, because its own write had not arrived, does not see less afterwards,
// when its write has arrived and what it has read since has not.
func TestReadsDoNotGoBack(t *testing.T) {
	c := faultyCluster(t, 3)
	lead := c.leader()
	var f *Node
	for _, n := range c.Nodes {
		if n != lead {
			f = n
		}
	}
	writer := dial(t, lead)
	writer.do("CREATE TABLE goes_on (id int PRIMARY KEY, n bigint NOT NULL); INSERT INTO goes_on VALUES (1, 0), (2, 0)")
	s := dial(t, f)
	s.soon("SELECT count(*) FROM goes_on", "2")
	s.do("SET ostraka.own_writes_timeout = 1")
	c.net.Set(transport.Edge{From: lead.ID(), To: f.ID(), Rule: transport.Rule{Delay: 60 * time.Millisecond}})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			writer.do("UPDATE goes_on SET n = n + 1 WHERE id = 1")
		}
	}()
	defer func() { stop(); <-done }()
	last := int64(0)
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		s.do("UPDATE goes_on SET n = n + 1 WHERE id = 2")
		for range 40 {
			n, err := strconv.ParseInt(s.rows("SELECT n FROM goes_on WHERE id = 1"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			if n < last {
				t.Fatalf("the session saw %d and then %d", last, n)
			}
			last = n
		}
	}
	if last == 0 || c.net.Hits() == 0 {
		t.Fatal("nothing happened")
	}
}
