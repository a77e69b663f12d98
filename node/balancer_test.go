package node

import (
	"context"
	"fmt"
	"testing"
)

// TestBalancer: off, it moves nothing; on, it evens the map out a few chunks at a time,
// also when a shard is added later, and every document stays where it is found.
func TestBalancer(t *testing.T) {
	d := freshDemo(t, 1)
	c := dial(t, d.Nodes[0])
	c.do("SELECT shard_create('one')")
	c.do("SELECT doc.create_collection('c', shard_key => 'k')")
	for i := range 60 {
		c.do(fmt.Sprintf(`SELECT doc.insert('c', '{"_id": %d, "k": "key %d"}')`, i, i))
	}
	c.want("SELECT enabled, state, chunks_to_move FROM ostraka.chunk_balancer", "f|off|256")
	even := func(want string) {
		t.Helper()
		wait(t, "an even map", func(ctx context.Context) error {
			var got string
			err := c.QueryRow(ctx, `SELECT (SELECT state FROM ostraka.chunk_balancer) || ' ' || string_agg(chunks::text, ' ' ORDER BY shard_id) FROM ostraka.shards`).Scan(&got)
			if err == nil && got != want {
				err = fmt.Errorf("%s", got)
			}
			return err
		})
		c.want("SELECT doc.count('c', '{}')", "60")
	}
	c.want("SELECT chunk_balancer(true, 64, 0.0)", `{"enabled": true}`)
	even("balanced 0 256")
	c.do("SELECT shard_create('two')")
	even("balanced 0 128 128")
	c.do("SELECT chunk_balancer(false)")
	c.do("SELECT chunk_move(0, 'home')")
	c.want("SELECT enabled, state, chunks_to_move > 0 FROM ostraka.chunk_balancer", "f|off|t")
	for _, bad := range []string{"SELECT chunk_balancer(true, 0, 1)", "SELECT chunk_balancer(true, 1, -1)"} {
		c.fails(bad, "22023")
	}
}
