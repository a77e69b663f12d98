package node

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
)

// Chunks move while a client writes, and the mover is stopped once at every one of
// its steps: in the end every document is there exactly once, as it was last written.
func TestChunkMovesUnderLoad(t *testing.T) {
	d := freshDemo(t, 1)
	n := d.Nodes[0]
	c := dial(t, n)
	c.do("SELECT shard_create('one'); ")
	c.do("SELECT shard_create('two')")
	c.do("SELECT doc.create_collection('c', shard_key => 'k')")
	c.do("SELECT doc.create_index('c', '{\"v\": 1}')")
	c.do(`SELECT doc.insert_many('c', (SELECT jsonb_agg(jsonb_build_object('_id', i, 'k', i, 'v', 0)) FROM generate_series(1, 300) i))`)

	var mu sync.Mutex
	seen := map[string]bool{}
	n.mover.Halt = func(step string) error {
		mu.Lock()
		defer mu.Unlock()
		if seen[step] {
			return nil
		}
		seen[step] = true
		return errors.New("stopped before: " + step)
	}
	stop := make(chan struct{})
	model := map[int]int{}
	for i := 1; i <= 300; i++ {
		model[i] = 0
	}
	var wg sync.WaitGroup
	w := dial(t, n)
	wg.Add(1)
	writes := 0
	go func() {
		defer wg.Done()
		r := rand.New(rand.NewPCG(1, 2))
		ctx := context.Background()
		for v := 1; ; v++ {
			select {
			case <-stop:
				return
			default:
			}
			id := 1 + r.IntN(400)
			var sql string
			_, have := model[id]
			switch {
			case !have:
				sql = fmt.Sprintf(`SELECT doc.insert('c', '{"_id": %d, "k": %d, "v": %d}')`, id, id, v)
			case r.IntN(4) == 0:
				sql = fmt.Sprintf(`SELECT doc.delete('c', '{"k": %d}')`, id)
			default:
				sql = fmt.Sprintf(`SELECT doc.update('c', '{"_id": %d, "k": %d}', '{"$set": {"v": %d}}')`, id, id, v)
			}
			if _, err := w.Exec(ctx, sql); err != nil {
				t.Errorf("%s: %v", sql, err)
				return
			}
			writes++
			if strings.Contains(sql, "doc.delete") {
				delete(model, id)
			} else {
				model[id] = v
			}
		}
	}()
	for _, sql := range []string{"SELECT chunk_rebalance()", "SELECT chunk_move(array(SELECT chunk FROM ostraka.chunk_map WHERE shard = 'one' LIMIT 40), 'two')",
		"SELECT chunk_move(array(SELECT generate_series(0, 100)), 'home')", "SELECT chunk_rebalance()"} {
		c.do(sql)
	}
	close(stop)
	wg.Wait()
	for _, step := range []string{"copy", "page", "catch up", "switch", "give", "take", "publish", "clean", "erase", "finish", "leftovers"} {
		if !seen[step] {
			t.Errorf("the mover was never stopped before %q", step)
		}
	}
	if writes < 20 {
		t.Errorf("only %d writes", writes)
	}
	c.want("SELECT doc.count('c')", fmt.Sprint(len(model)))
	got := c.rows(`SELECT string_agg((d->>'_id') || '=' || (d->>'v'), ',' ORDER BY (d->>'_id')::int) FROM doc.find('c') d`)
	var want []string
	for i := 1; i <= 400; i++ {
		if v, ok := model[i]; ok {
			want = append(want, fmt.Sprintf("%d=%d", i, v))
		}
	}
	if got != strings.Join(want, ",") {
		t.Errorf("documents differ:\n got %s\nwant %s", got, strings.Join(want, ","))
	}
	c.want("SELECT count(*) FROM ostraka.chunk_moves", "0")
	c.want("SELECT shard, count(*) FROM ostraka.chunk_map GROUP BY 1 ORDER BY 1", "one|128 two|128")
	// No copies are left where the chunks are not.
	if total := countCopies(t, n); total != len(model) {
		t.Errorf("%d copies of %d documents", total, len(model))
	}
}

// Chunks without a document move between shards that other nodes lead.
func TestEmptyChunksMove(t *testing.T) {
	d := freshDemo(t, 3)
	c := dial(t, d.Nodes[0])
	c.do("SELECT shard_create('one', array['2'])")
	c.do("SELECT shard_create('two', array['3'])")
	c.do("SELECT doc.create_collection('c', shard_key => 'k')")
	c.written("SELECT chunk_rebalance()")
	c.written("SELECT chunk_move((SELECT array_agg(chunk) FROM ostraka.chunk_map WHERE shard = 'one'), 'two')")
	c.want("SELECT shard, count(*) FROM ostraka.chunk_map GROUP BY 1", "two|256")
}

// A shard that is gone makes merges fail by name; requests for other shards go on.
func TestShardFailure(t *testing.T) {
	d := freshDemo(t, 3)
	c := dial(t, d.Nodes[0])
	c.do("SELECT shard_create('one', array['1', '2'])")
	c.do("SELECT shard_create('two', array['3'])")
	c.do("SELECT doc.create_collection('c', shard_key => 'k')")
	c.do("SELECT chunk_rebalance()")
	c.do(`SELECT doc.insert_many('c', (SELECT jsonb_agg(jsonb_build_object('_id', i, 'k', i)) FROM generate_series(1, 60) i))`)
	c.want("SELECT doc.count('c')", "60")
	alive, dead := "", ""
	for i := 1; i <= 60 && (alive == "" || dead == ""); i++ {
		if strings.Contains(c.rows(fmt.Sprintf(`SELECT * FROM doc.explain('c', '{"k": %d}')`, i)), "Shards: one") {
			alive = fmt.Sprint(i)
		} else {
			dead = fmt.Sprint(i)
		}
	}
	if err := d.Nodes[2].Close(); err != nil {
		t.Fatal(err)
	}
	d.Nodes = d.Nodes[:2]
	c.do("SET ostraka.request_timeout = 1000")
	begun := time.Now()
	for range 4 {
		e := c.fails("SELECT doc.count('c')", "08006")
		if e != nil && !strings.Contains(e.Message, `"two"`) {
			t.Errorf("the error does not name the shard: %s", e.Message)
		}
	}
	if took := time.Since(begun); took > 40*time.Second {
		t.Errorf("four errors took %v", took)
	}
	for _, sql := range []string{"SELECT * FROM doc.find('c')", "SELECT doc.find_one('c', '{\"x\": 1}')", "SELECT * FROM doc.aggregate('c', '[{\"$count\": \"n\"}]')",
		"SELECT doc.create_index('c', '{\"v\": 1}')"} {
		c.fails(sql, "08006")
	}
	c.fails(fmt.Sprintf(`SELECT doc.count('c', '{"k": %s}')`, dead), "08006")
	c.want(fmt.Sprintf(`SELECT doc.count('c', '{"k": %s}')`, alive), "1")
	c.do(fmt.Sprintf(`SELECT doc.update('c', '{"k": %s}', '{"$set": {"v": 1}}')`, alive))
}

// A move is given up while it copies: nothing has moved, nothing is left behind, and
// who waits for it is told; past the switch it can only be completed.
func TestCancelChunkMove(t *testing.T) {
	d := freshDemo(t, 1)
	n := d.Nodes[0]
	c := dial(t, n)
	c.do("SELECT shard_create('one'); ")
	c.do("SELECT doc.create_collection('c', shard_key => 'k')")
	c.do(`SELECT doc.insert_many('c', (SELECT jsonb_agg(jsonb_build_object('_id', i, 'k', i)) FROM generate_series(1, 300) i))`)
	reached, goOn := make(chan string, 10), make(chan struct{})
	n.mover.Halt = func(step string) error {
		if step == "catch up" || step == "clean" {
			reached <- step
			<-goOn
		}
		return nil
	}
	moved := make(chan error, 1)
	w := dial(t, n)
	move := func() {
		go func() {
			_, err := w.Exec(context.Background(), "SELECT chunk_rebalance()")
			moved <- err
		}()
	}
	move()
	<-reached
	c.do(`SELECT doc.insert('c', '{"_id": "new", "k": 1}')`)
	var id int
	if err := c.QueryRow(bounded(t), "SELECT move_id FROM ostraka.chunk_moves").Scan(&id); err != nil {
		t.Fatal(err)
	}
	cancelled := make(chan error, 1)
	go func() {
		_, err := dial(t, n).Exec(context.Background(), fmt.Sprintf("SELECT chunk_move_cancel(%d)", id))
		cancelled <- err
	}()
	wait(t, "the cancelling", func(ctx context.Context) error {
		var state string
		if err := c.QueryRow(ctx, "SELECT state FROM ostraka.chunk_moves").Scan(&state); err != nil || state != "cancelling" {
			return fmt.Errorf("%s %v", state, err)
		}
		return nil
	})
	close(goOn)
	if err := <-moved; err == nil || !strings.Contains(err.Error(), "57014") {
		t.Errorf("the move: %v", err)
	}
	if err := <-cancelled; err != nil {
		t.Errorf("the cancel: %v", err)
	}
	c.want("SELECT count(*) FROM ostraka.chunk_moves", "0")
	c.want("SELECT shard, count(*) FROM ostraka.chunk_map GROUP BY 1", "home|256")
	c.want("SELECT doc.count('c')", "301")
	if total := countCopies(t, n); total != 0 {
		t.Errorf("%d copies were left on the target", total)
	}
	// Past the switch.
	goOn = make(chan struct{})
	for len(reached) > 0 {
		<-reached
	}
	move()
	for step := range reached {
		if step == "clean" {
			break
		}
		goOn <- struct{}{}
	}
	if err := c.QueryRow(bounded(t), "SELECT move_id FROM ostraka.chunk_moves").Scan(&id); err != nil {
		t.Fatal(err)
	}
	c.fails(fmt.Sprintf("SELECT chunk_move_cancel(%d)", id), "55000")
	close(goOn)
	if err := <-moved; err != nil {
		t.Error(err)
	}
	c.fails(fmt.Sprintf("SELECT chunk_move_cancel(%d)", id), "42704")
	c.want("SELECT doc.count('c')", "301")
}
