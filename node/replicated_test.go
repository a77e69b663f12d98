package node

import (
	"fmt"
	"testing"
	"time"

	"ostraka/raft/transport"
)

// TestReplicasAreEqual: what clocks, chance and every node's own state decide is decided
// once: after such writes through every node all replicas hold the same.
func TestReplicasAreEqual(t *testing.T) {
	c := faultyCluster(t, 3, calm)
	dial(t, c.leader()).do(`CREATE ROLE keeper LOGIN; CREATE TABLE chance (id bigserial PRIMARY KEY, at timestamptz DEFAULT clock_timestamp(), began timestamptz DEFAULT now(),
		r float8 DEFAULT random(), u uuid DEFAULT gen_random_uuid(), pid int DEFAULT pg_backend_pid(), x text DEFAULT pg_current_xact_id()::text); GRANT ALL ON chance, chance_id_seq TO keeper`)
	for i, n := range c.Nodes {
		cl := dial(t, n)
		cl.soon("SELECT count(*) FROM pg_roles WHERE rolname = 'keeper'", "1")
		cl.do("SET ROLE keeper; INSERT INTO chance SELECT FROM generate_series(1, 200)")
		cl.do("UPDATE chance SET r = r + random(), at = clock_timestamp() WHERE id % 3 = 0; DELETE FROM chance WHERE id IN (SELECT id FROM chance ORDER BY random() LIMIT 40)")
		cl.do("WITH moved AS (DELETE FROM chance WHERE id % 7 = 0 RETURNING u) INSERT INTO chance (u, r) SELECT u, random() FROM moved")
		cl.do(fmt.Sprintf("RESET ROLE; CREATE TABLE chance%d AS SELECT *, random() AS more FROM chance; CREATE INDEX ON chance%d (more)", i, i))
		c.same()
	}
	want := dial(t, c.leader()).rows("SELECT count(*), sum(r), max(at), count(DISTINCT u) FROM chance")
	c.everywhere("SELECT count(*), sum(r), max(at), count(DISTINCT u) FROM chance", want)
}

// TestDocumentsReplicated: every command that changes documents does so on all nodes,
// whichever node it was given to.
func TestDocumentsReplicated(t *testing.T) {
	c := faultyCluster(t, 3, calm)
	for _, n := range c.Nodes {
		cl := dial(t, n)
		count := func(want int) {
			t.Helper()
			c.everywhere("SELECT doc.count('reps')", fmt.Sprint(want))
			c.same()
		}
		cl.do(`SELECT doc.create_collection('reps')`)
		cl.do(`SELECT doc.insert('reps', '{"n": 1}')`) // makes its own _id
		cl.do(`SELECT doc.insert_many('reps', '[{"_id": 2, "n": 2}, {"_id": 3, "n": 3}, {"_id": 4, "n": 4}]')`)
		count(4)
		cl.do(`SELECT doc.create_index('reps', '{"n": 1}', "unique" => true)`)
		cl.do(`SELECT doc.update('reps', '{"n": {"$gt": 1}}', '{"$inc": {"n": 10}, "$currentDate": {"at": true}}')`)
		cl.do(`SELECT doc.update_one('reps', '{"_id": 2}', '{"$set": {"v": "x"}}')`)
		cl.do(`SELECT doc.update_one('reps', '{"_id": 9}', '{"$set": {"n": 9}}', upsert => true)`)
		cl.do(`SELECT doc.replace_one('reps', '{"_id": 3}', '{"n": 33}')`)
		cl.do(`SELECT doc.find_one_and_update('reps', '{"_id": 4}', '{"$set": {"n": 44}}')`)
		count(5)
		c.everywhere(`SELECT string_agg(d ->> 'n', ',' ORDER BY (d ->> 'n')::int) FROM doc.find('reps') d`, "1,9,12,33,44")
		cl.do(`SELECT doc.delete_one('reps', '{"n": 1}')`)
		cl.do(`SELECT doc.delete('reps', '{"n": {"$gte": 33}}')`)
		count(2)
		cl.do(`SELECT doc.drop_index('reps', 'n_1')`)
		cl.do(`SELECT doc.drop_collection('reps')`)
		count(0)
	}
}

// TestRefusedBeforeTheLog: what cannot be parsed, bound or run is refused by the node
// that was asked, and nothing of it is in the log.
func TestRefusedBeforeTheLog(t *testing.T) {
	c := faultyCluster(t, 3, calm)
	dial(t, c.leader()).do("CREATE TABLE refused (n int CHECK (n > 0))")
	c.everywhere("SELECT count(*) FROM refused", "0")
	clients := make([]*client, len(c.Nodes))
	for i, n := range c.Nodes {
		clients[i] = dial(t, n)
		clients[i].want("SELECT count(*) FROM refused", "0") // whatever sessions need is there
		clients[i].fails("INSERT INTO refused VALUES (0)", "23514")
	}
	before := c.leader().group.Metrics()
	for _, cl := range clients {
		cl.fails("INSERTE INTO refused VALUES (1)", "42601")
		cl.fails("INSERT INTO refused VALUES (1); SELEC", "42601") // all of the string is parsed first
		cl.fails("INSERT INTO nowhere VALUES (1)", "42P01")
		cl.fails("INSERT INTO refused VALUES (0)", "23514")
		cl.fails("SELECT doc.update('refused', '{}', '{\"$none\": {\"a\": 1}}')", "0A000")
		cl.want("SELECT count(*) FROM refused", "0")
	}
	if now := c.leader().group.Metrics(); now.Term == before.Term && now.LastLog != before.LastLog {
		t.Errorf("the log had %d entries, has %d", before.LastLog, now.LastLog)
	}
	// Without a leader too.
	c.cut(c.Nodes[0])
	c.cut(c.Nodes[0], c.Nodes[1])
	clients[0].fails("INSERTE INTO refused VALUES (1)", "42601")
}

// TestRoundTrips: a write costs one round trip to a majority, a read none, also
// when nobody leads.
func TestRoundTrips(t *testing.T) {
	c := faultyCluster(t, 3, calm)
	l := c.leader()
	w, r := dial(t, l), dial(t, c.follower())
	w.do("CREATE TABLE trips (n int); INSERT INTO trips VALUES (1)")
	c.everywhere("SELECT count(*) FROM trips", "1")
	const delay = 150 * time.Millisecond
	for _, a := range c.Nodes {
		for _, b := range c.Nodes {
			if a != b {
				c.net.Set(transport.Edge{From: a.ID(), To: b.ID(), Rule: transport.Rule{Delay: delay}})
			}
		}
	}
	// A loaded machine makes single ones slow: the best of some shows what they cost.
	best := func(f func()) time.Duration {
		shortest := time.Hour
		for range 7 {
			begin := time.Now()
			f()
			shortest = min(shortest, time.Since(begin))
		}
		return shortest
	}
	write := best(func() { w.do("INSERT INTO trips VALUES (1)") })
	read := best(func() { r.rows("SELECT count(*) FROM trips") })
	t.Logf("a write takes %v, a read %v", write, read)
	if write < delay || write > 2*delay {
		t.Errorf("a write takes %v with %v between the nodes", write, delay)
	}
	if read > delay/3 {
		t.Errorf("a read takes %v with %v between the nodes", read, delay)
	}
	c.net.Heal()
	c.cut(c.Nodes[0])
	c.cut(c.Nodes[0], c.Nodes[1])
	c.cut(c.Nodes[2])
	if read = best(func() { r.rows("SELECT count(*) FROM trips") }); read > delay/3 {
		t.Errorf("a read without a leader takes %v", read)
	}
}
