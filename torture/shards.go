package torture

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"ostraka/router"
	"ostraka/torture/cluster"
)

// ShardOptions of RunShards.
type ShardOptions struct {
	Dir     string
	Command []string // starts a node, see cluster.Options
	Env     []string
	// Short kills one node of each shard instead of every one.
	Short bool
	Log   func(format string, args ...any)
}

// shardRun is three clusters of three nodes, which do not know of each other, behind
// a router that spreads documents over them, under load.
type shardRun struct {
	o        ShardOptions
	clusters []*cluster.Cluster
	dsn      string    // of the router
	names    []string  // of the shards in its errors
	keys     [3]string // a shard key on each shard

	mu       sync.Mutex
	asked    map[string]bool // ids of inserts that may have been made; guarded by mu
	acked    map[string]bool // ids of those that were; guarded by mu
	problems []string        // guarded by mu
}

// RunShards kills every node once, then a whole shard, while clients write: with a
// node gone every shard goes on and the others notice nothing; with a shard gone
// merges name it, other shards go on, and it is used again when it is back. In the
// end every document that was acknowledged is there once, and none that was not asked for.
func RunShards(ctx context.Context, o ShardOptions) (problems []string, err error) {
	r := &shardRun{o: o, asked: map[string]bool{}, acked: map[string]bool{}}
	defer func() {
		for _, c := range r.clusters {
			c.Close()
		}
	}()
	cfg := router.DefaultConfig()
	cfg.Listen, cfg.RequestTimeout, cfg.ConnectTimeout = "127.0.0.1:0", 3*time.Second, time.Second
	cfg.ShardKeys = []string{"docs:k"}
	for i := range 3 {
		c, err := cluster.Start(ctx, cluster.Options{Nodes: 3, Dir: filepath.Join(o.Dir, fmt.Sprintf("shard-%d", i)), Command: o.Command, Env: o.Env, Seed: uint64(i)})
		if err != nil {
			return nil, err
		}
		r.clusters = append(r.clusters, c)
		var hosts []string
		for _, n := range c.Nodes {
			hosts = append(hosts, n.SQL)
		}
		r.names = append(r.names, hosts[0])
		cfg.Shards = append(cfg.Shards, "postgres://postgres@"+strings.Join(hosts, ",")+"/postgres?sslmode=disable")
	}
	o.Log("nine processes run")
	rt, err := router.Start(cfg)
	if err != nil {
		return nil, err
	}
	defer rt.Close()
	r.dsn = "postgres://postgres@" + rt.Addr() + "/postgres?sslmode=disable"
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	load, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r.load(load, w)
		}()
	}
	err = r.disturb(ctx)
	stop()
	wg.Wait()
	if err == nil {
		err = r.check(ctx)
	}
	return r.problems, err
}

func (r *shardRun) problem(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// do runs one statement on a session of its own.
func (r *shardRun) do(ctx context.Context, sql string) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, r.dsn)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	_, err = c.Exec(ctx, sql)
	return err
}

// prepare makes the collection and finds a key on each shard.
func (r *shardRun) prepare(ctx context.Context) error {
	for _, sql := range []string{"SELECT doc.create_collection('docs')", "CREATE TABLE t (id int PRIMARY KEY, n int)", "INSERT INTO t VALUES (1, 0)"} {
		if err := r.do(ctx, sql); err != nil {
			return err
		}
	}
	c, err := pgx.Connect(ctx, r.dsn)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	for k, found := 0, 0; found < 3 && k < 1000; k++ {
		var plan string
		if err := c.QueryRow(ctx, fmt.Sprintf(`SELECT * FROM doc.explain('docs', '{"k": "p%d"}') LIMIT 1`, k)).Scan(&plan); err != nil {
			return err
		}
		for i, name := range r.names {
			if strings.Contains(plan, name) && r.keys[i] == "" {
				r.keys[i] = fmt.Sprintf("p%d", k)
				found++
			}
		}
	}
	for _, k := range r.keys {
		if err := r.do(ctx, fmt.Sprintf(`SELECT doc.insert('docs', '{"_id": %q, "k": %q, "probe": true}')`, k, k)); err != nil {
			return err
		}
	}
	return nil
}

// load inserts documents one after the other until ctx ends.
func (r *shardRun) load(ctx context.Context, w int) {
	var c *pgx.Conn
	for i := 0; ctx.Err() == nil; i++ {
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
		var err error
		if c == nil || c.IsClosed() {
			if c, err = pgx.Connect(call, r.dsn); err != nil {
				c = nil
				cancel()
				pause(ctx, 50*time.Millisecond)
				continue
			}
		}
		id := fmt.Sprintf("w%d-%d", w, i)
		r.mu.Lock()
		r.asked[id] = true
		r.mu.Unlock()
		_, err = c.Exec(call, fmt.Sprintf(`SELECT doc.insert('docs', '{"_id": %q, "k": %q, "n": %d}')`, id, id, i))
		cancel()
		if err == nil {
			r.mu.Lock()
			r.acked[id] = true
			r.mu.Unlock()
		}
		pause(ctx, 2*time.Millisecond)
	}
	if c != nil {
		_ = c.Close(context.WithoutCancel(ctx))
	}
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// keyed is a write that only one shard sees.
func (r *shardRun) keyed(shard int) string {
	return fmt.Sprintf(`SELECT doc.update('docs', '{"k": %q, "probe": true}', '{"$inc": {"hits": 1}}')`, r.keys[shard])
}

const counting = "SELECT doc.count('docs')"

// disturb kills nodes, then a shard.
func (r *shardRun) disturb(ctx context.Context) error {
	for i, c := range r.clusters {
		nodes := c.Nodes
		if r.o.Short {
			leader, err := c.Leader(ctx)
			if err != nil {
				return err
			}
			nodes = []*cluster.Node{leader}
		}
		for _, n := range nodes {
			if err := r.withoutNode(ctx, i, n); err != nil {
				return err
			}
		}
	}
	for i := range r.clusters {
		if r.o.Short && i != 1 {
			continue
		}
		if err := r.withoutShard(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// others works on the shards besides one until the function it returns is called;
// nothing of it may fail.
func (r *shardRun) others(ctx context.Context, shard int) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for i := range r.clusters {
		if i == shard {
			continue
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			c, err := pgx.Connect(ctx, r.dsn)
			for n := 0; ctx.Err() == nil; n++ {
				if err == nil {
					_, err = c.Exec(ctx, r.keyed(i))
				}
				if err != nil {
					if ctx.Err() == nil {
						r.problem("shard %d has trouble while shard %d is disturbed: %v", i, shard, err)
					}
					return
				}
				pause(ctx, 5*time.Millisecond)
			}
		}()
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

// withoutNode kills one node: soon everything works, and other shards do all the time.
func (r *shardRun) withoutNode(ctx context.Context, shard int, n *cluster.Node) error {
	r.o.Log("shard %d: node %s is killed", shard, n.ID)
	end := func() {}
	if shard != 0 { // sessions begin on the first server
		end = r.others(ctx, shard)
	}
	if !n.Kill() {
		end()
		return fmt.Errorf("node %s of shard %d could not be killed", n.ID, shard)
	}
	begin := time.Now()
	err := r.works(ctx, 30*time.Second)
	end()
	if err != nil {
		r.problem("without node %s of shard %d: %v", n.ID, shard, err)
	} else {
		r.o.Log("shard %d: everything works after %v", shard, time.Since(begin).Round(time.Millisecond))
	}
	return n.Start(ctx)
}

// works waits until every shard reads and writes, documents and tables.
func (r *shardRun) works(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	all := []string{counting, "UPDATE t SET n = n + 1", `SELECT doc.update('docs', '{"probe": true}', '{"$inc": {"hits": 1}}')`}
	for i := range r.clusters {
		all = append(all, r.keyed(i))
	}
	var last error
	for ctx.Err() == nil {
		last = nil
		for _, sql := range all {
			if err := r.do(ctx, sql); err != nil {
				last = fmt.Errorf("%s: %w", sql, err)
				break
			}
		}
		if last == nil {
			return nil
		}
		pause(ctx, 100*time.Millisecond)
	}
	return fmt.Errorf("not after %v: %w", limit, errors.Join(last, ctx.Err()))
}

// withoutShard kills a whole shard: what needs it fails by its name within the
// time-out, the rest goes on, and it is used again when it is back.
func (r *shardRun) withoutShard(ctx context.Context, shard int) error {
	r.o.Log("shard %d is killed", shard)
	for _, n := range r.clusters[shard].Nodes {
		n.Kill()
	}
	if shard != 0 {
		end := r.others(ctx, shard)
		c, err := pgx.Connect(ctx, r.dsn)
		if err != nil {
			end()
			return err
		}
		for range 4 {
			for _, sql := range []string{counting, r.keyed(shard), "SELECT * FROM doc.find('docs')", `SELECT doc.find_one('docs', '{"none": 1}')`, `SELECT doc.create_index('docs', '{"x": 1}')`} {
				begin := time.Now()
				_, err := c.Exec(ctx, sql)
				switch {
				case err == nil:
					r.problem("%s answers without shard %d", sql, shard)
				case !strings.Contains(err.Error(), r.names[shard]):
					r.problem("%s does not name shard %d: %v", sql, shard, err)
				}
				if d := time.Since(begin); d > 10*time.Second {
					r.problem("%s took %v without shard %d", sql, d, shard)
				}
			}
			if _, err := c.Exec(ctx, "UPDATE t SET n = n + 1"); err != nil {
				r.problem("SQL without shard %d: %v", shard, err)
			}
		}
		_ = c.Close(ctx)
		end()
	}
	var wg sync.WaitGroup
	errs := make([]error, 3)
	for i, n := range r.clusters[shard].Nodes {
		wg.Add(1)
		go func() {
			defer wg.Done()
			errs[i] = n.Start(ctx)
		}()
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	begin := time.Now()
	if err := r.works(ctx, 60*time.Second); err != nil {
		r.problem("after shard %d came back: %v", shard, err)
	}
	r.o.Log("shard %d: everything works %v after its processes did", shard, time.Since(begin).Round(time.Millisecond))
	return nil
}

// check compares the documents with what clients were told.
func (r *shardRun) check(ctx context.Context) error {
	c, err := pgx.Connect(ctx, r.dsn)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	var total int
	if err := c.QueryRow(ctx, counting).Scan(&total); err != nil {
		return err
	}
	rows, err := c.Query(ctx, `SELECT d->>'_id' FROM doc.find('docs', projection => '{"_id": 1}') d`)
	if err != nil {
		return err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, id := range ids {
		if seen[id] {
			r.problem("document %s is there twice", id)
		}
		seen[id] = true
		if !r.asked[id] && !strings.HasPrefix(id, "p") {
			r.problem("document %s was not asked for", id)
		}
	}
	for id := range r.acked {
		if !seen[id] {
			r.problem("document %s was acknowledged and is lost", id)
		}
	}
	if total != len(ids) {
		r.problem("%d documents are counted and %d found", total, len(ids))
	}
	r.o.Log("%d documents, %d acknowledged, %d asked for", len(ids), len(r.acked), len(r.asked))
	if len(r.acked) == 0 {
		r.problem("no document was written")
	}
	return nil
}
