package node

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestShardBlackHole: a shard that takes requests and never answers. Keyed requests to
// another shard are answered meanwhile; one that needs it ends in an error after the
// request timeout, time after time, and leaves the pool as it was; a write that was on
// its way says that its outcome is unknown. Once it answers again everything goes on.
func TestShardBlackHole(t *testing.T) {
	c := faultyCluster(t, 3)
	front := c.leader()
	hole := c.others(front)[0]
	var rest []string
	for _, n := range c.others(hole) {
		rest = append(rest, "'"+n.ID()+"'")
	}
	cl := dial(t, front)
	cl.do("SELECT shard_create('one', array[" + strings.Join(rest, ", ") + "])")
	cl.do("SELECT shard_create('two', array['" + hole.ID() + "'])")
	cl.do("SELECT doc.create_collection('c', shard_key => 'k')")
	cl.written("SELECT chunk_rebalance()")
	cl.do(`SELECT doc.insert_many('c', (SELECT jsonb_agg(jsonb_build_object('_id', i, 'k', i)) FROM generate_series(1, 60) i))`)
	cl.want("SELECT doc.count('c')", "60")
	alive, dead := "", ""
	for i := 1; i <= 60 && (alive == "" || dead == ""); i++ {
		if strings.Contains(cl.rows(fmt.Sprintf(`SELECT * FROM doc.explain('c', '{"k": %d}')`, i)), "Shards: one") {
			alive = fmt.Sprint(i)
		} else {
			dead = fmt.Sprint(i)
		}
	}
	update := func(key string) string {
		return fmt.Sprintf(`SELECT doc.update('c', '{"k": %s}', '{"$inc": {"v": 1}}') ->> 'modified'`, key)
	}
	cl.want(update(dead), "1") // a session that writes is open
	cl.do("SET ostraka.request_timeout = 1000")
	cl.do("SET statement_timeout = 0")

	c.cut(hole)
	ended := func(sql, code string) {
		t.Helper()
		begun := time.Now()
		e := cl.fails(sql, code)
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("%s took %v", sql, took)
		}
		if e != nil && !strings.Contains(e.Message, `"two"`) {
			t.Errorf("%s does not name the shard: %s", sql, e.Message)
		}
	}
	ended(update(dead), "08007")
	for range 4 {
		ended("SELECT doc.count('c')", "08006")
		cl.want(fmt.Sprintf(`SELECT doc.count('c', '{"k": %s}')`, alive), "1")
		cl.want(update(alive), "1")
	}
	ended(fmt.Sprintf(`SELECT doc.find_one('c', '{"k": %s}')`, dead), "08006")
	front.cluster.mu.Lock()
	p := front.cluster.pools[2]
	front.cluster.mu.Unlock()
	if used, _ := p.Open(); used != 0 {
		t.Errorf("%d sessions of the pool are still in use", used)
	}

	c.net.Heal()
	begun := time.Now()
	wait(t, "the shard to answer again", func(ctx context.Context) error {
		var n string
		if err := cl.QueryRow(ctx, "SELECT doc.count('c')::text").Scan(&n); err != nil || n != "60" {
			return fmt.Errorf("%s documents: %v", n, err)
		}
		return nil
	})
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("it answered after %v", took)
	}
	// The write whose outcome was unknown has been made once or not at all.
	if v := cl.rows(fmt.Sprintf(`SELECT doc.find_one('c', '{"k": %s}') ->> 'v'`, dead)); v != "1" && v != "2" {
		t.Errorf("the counter is %s", v)
	}
}
