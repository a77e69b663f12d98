package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"ostraka/docstore"
	"ostraka/engine/catalog"
)

// change is what a watcher is told of a change.
type change struct {
	Token string
	Op    string
	ID    int
	Doc   struct{ N int }
}

// follow reads changes, a portion at a time, wherever poll asks, until there are
// none any more after stop was closed.
func follow(t *testing.T, token string, stop <-chan struct{}, poll func(sql string) ([]change, error)) (all []change) {
	t.Helper()
	quiet := 0 // how often there was nothing since
	for i := 0; quiet < 6; i++ {
		got, err := poll(fmt.Sprintf("SELECT * FROM doc.watch('watched', '%s', take => %d, max_await => %d)", token, 1+i%9, 20*(i%4)))
		var pe *pgconn.PgError
		switch {
		case err == nil:
		case !errors.As(err, &pe) || pe.Code[:2] == "08" || pe.Code[:2] == "57" || pe.Code == "40001":
			continue // of a node that is down, or lost its leader: ask again with the same token
		default:
			t.Error(err)
			return all
		}
		quiet++
		for _, c := range got {
			token = c.Token
			if c.Op != "none" {
				all = append(all, c)
				quiet = 0
			}
		}
		select {
		case <-stop:
		default:
			quiet = 0
		}
	}
	return all
}

// complete checks that the changes of every document are an insert and updates that
// each add one to n, without a hole or a repetition, up to its state in the end.
func complete(t *testing.T, all []change, final map[int]int) {
	t.Helper()
	n := map[int]int{}
	for i, c := range all {
		was, have := n[c.ID]
		switch {
		case c.Op == "insert" && !have && c.Doc.N == 0, c.Op == "update" && have && c.Doc.N == was+1:
			n[c.ID] = c.Doc.N
		default:
			t.Fatalf("change %d of %d: %+v after n = %d (there: %v)", i, len(all), c, was, have)
		}
	}
	for id, want := range final {
		if n[id] != want {
			t.Errorf("document %d ended with n = %d, its changes with %d", id, want, n[id])
		}
	}
	if len(n) != len(final) {
		t.Errorf("changes of %d documents, there are %d", len(n), len(final))
	}
}

func pollOn(ctx context.Context, c *pgx.Conn, sql string) ([]change, error) {
	rows, err := c.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) (c change, err error) {
		var text string
		if err = r.Scan(&text); err == nil {
			err = json.Unmarshal([]byte(text), &c)
		}
		return c, err
	})
}

func finalState(ctx context.Context, c *pgx.Conn) (map[int]int, error) {
	rows, err := c.Query(ctx, "SELECT (d->>'_id')::int, (d->>'n')::int FROM doc.find('watched') d")
	if err != nil {
		return nil, err
	}
	out := map[int]int{}
	var id, n int
	_, err = pgx.ForEachRow(rows, []any{&id, &n}, func() error { out[id] = n; return nil })
	return out, err
}

// TestWatchFailover: whoever watches documents, asking one node after the other,
// sees every change once although leaders are killed meanwhile.
func TestWatchFailover(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes; runs without -short")
	}
	c := newCluster(t, 3)
	mustExec(t, c.nodes[0], "SELECT doc.create_collection('watched'); SELECT doc.record_changes('watched')")
	token, err := query[string](bounded(t), c.nodes[0], "SELECT d->>'token' FROM doc.watch('watched') d")
	if err != nil {
		t.Fatal(err)
	}
	var acked atomic.Int64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			_, err := query[string](ctx, c.nodes[i%3], fmt.Sprintf(
				`SELECT doc.update_one('watched', '{"_id": %d}', '{"$inc": {"n": 1}, "$setOnInsert": {"n0": 0}}')::text`, i%7))
			if err == nil && i < 40 {
				_, _ = query[string](ctx, c.nodes[i%3], fmt.Sprintf(`SELECT doc.insert('watched', '{"_id": %d, "n": 0}')::text`, i%7)) // the second time it is there
			}
			cancel()
			if err == nil {
				acked.Add(1)
			}
		}
	}()
	result := make(chan []change, 1)
	go func() {
		i := 0
		result <- follow(t, token, stopped, func(sql string) ([]change, error) {
			i++
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			conn, err := pgx.Connect(ctx, c.nodes[i%3].dsn())
			if err != nil {
				return nil, err
			}
			defer conn.Close(context.Background())
			return pollOn(ctx, conn, sql)
		})
	}()
	for round := range 2 {
		before := acked.Load()
		wait(t, "writes", func(context.Context) error {
			if acked.Load() < before+30 {
				return errors.New("too few yet")
			}
			return nil
		})
		leader := c.leader()
		leader.kill()
		killed := acked.Load()
		wait(t, fmt.Sprintf("writes after kill %d", round), func(context.Context) error {
			if acked.Load() < killed+10 {
				return errors.New("too few yet")
			}
			return nil
		})
		leader.start()
	}
	close(stop)
	<-stopped
	all := <-result
	conn, err := pgx.Connect(bounded(t), c.leader().dsn())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	final, err := finalState(bounded(t), conn)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d changes, %d acknowledged statements", len(all), acked.Load())
	complete(t, all, final)
}

// TestWatchShards: the changes of a sharded collection come merged, each once and
// those of one document in order, while its chunks move between shards.
func TestWatchShards(t *testing.T) {
	d := freshDemo(t, 1)
	n := d.Nodes[0]
	c := dial(t, n)
	c.do("SELECT shard_create('one')")
	c.do("SELECT doc.create_collection('watched', shard_key => 'k')")
	c.do("SELECT doc.record_changes('watched')")
	var token string
	if err := c.QueryRow(bounded(t), "SELECT d->>'token' FROM doc.watch('watched') d").Scan(&token); err != nil {
		t.Fatal(err)
	}
	c.do("SELECT shard_create('two')") // the token does not know it
	stop, written := make(chan struct{}), make(chan error, 1)
	w, r := dial(t, n), dial(t, n)
	go func() {
		rnd := rand.New(rand.NewPCG(3, 4))
		have := map[int]bool{}
		for {
			select {
			case <-stop:
				written <- nil
				return
			default:
			}
			id := rnd.IntN(60)
			sql := fmt.Sprintf(`SELECT doc.update('watched', '{"_id": %d, "k": %d}', '{"$inc": {"n": 1}}')`, id, id)
			if !have[id] {
				sql = fmt.Sprintf(`SELECT doc.insert('watched', '{"_id": %d, "k": %d, "n": 0}')`, id, id)
				have[id] = true
			}
			if _, err := w.Exec(context.Background(), sql); err != nil {
				written <- fmt.Errorf("%s: %w", sql, err)
				return
			}
		}
	}()
	stopped := make(chan struct{})
	result := make(chan []change, 1)
	go func() {
		result <- follow(t, token, stopped, func(sql string) ([]change, error) {
			return pollOn(bounded(t), r.Conn, sql)
		})
	}()
	for _, sql := range []string{"SELECT chunk_rebalance()", "SELECT chunk_move(array(SELECT chunk FROM ostraka.chunk_map WHERE shard = 'one' LIMIT 60), 'two')",
		"SELECT chunk_move(array(SELECT generate_series(0, 120)), 'home')", "SELECT chunk_rebalance()"} {
		c.do(sql)
	}
	close(stop)
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	close(stopped)
	all := <-result
	final, err := finalState(bounded(t), c.Conn)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d changes", len(all))
	complete(t, all, final)
	c.fails("BEGIN; SELECT * FROM doc.watch('watched')", "25001")
	c.do("ROLLBACK")
	if plan := c.rows("EXPLAIN SELECT * FROM doc.watch('watched')"); !strings.Contains(plan, "watch") {
		t.Error(plan)
	}
}

// Dropping a database drops what its sharded collections have on other shards.
func TestDropDatabaseDropsParts(t *testing.T) {
	d := freshDemo(t, 1)
	n := d.Nodes[0]
	c := dial(t, n)
	c.do("CREATE DATABASE other")
	c.do("SELECT shard_create('one')")
	o := dial(t, n, "database=other")
	for _, x := range []*client{c, o} {
		x.do("SELECT doc.create_collection('parts', shard_key => 'k')")
	}
	c.do("SELECT chunk_rebalance()")
	for _, x := range []*client{c, o} {
		x.do(`SELECT doc.insert_many('parts', (SELECT jsonb_agg(jsonb_build_object('_id', i, 'k', i)) FROM generate_series(1, 40) i))`)
	}
	if err := o.Close(bounded(t)); err != nil {
		t.Fatal(err)
	}
	parts := func() (names []string) {
		n.groupsMu.Lock()
		defer n.groupsMu.Unlock()
		for _, g := range n.groups {
			list, err := docstore.Collections(g.shard.Catalog(catalog.PostgresDB))
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range list {
				if strings.HasPrefix(x.Name(), "parts:") {
					names = append(names, x.Name())
				}
			}
		}
		return names
	}
	if got := parts(); len(got) != 2 {
		t.Fatal(got)
	}
	c.do("DROP DATABASE other")
	wait(t, "the part to go", func(context.Context) error {
		if got := parts(); len(got) != 1 {
			return fmt.Errorf("parts %v", got)
		}
		return nil
	})
	c.want("SELECT doc.count('parts')", "40")
}
