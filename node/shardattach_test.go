package node

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// A server elsewhere becomes a shard like the others.
func TestAttachedShard(t *testing.T) {
	far, d := freshDemo(t, 1), freshDemo(t, 1)
	c := dial(t, d.Nodes[0])
	c.do("SELECT shard_create('one')")
	c.do(fmt.Sprintf("SELECT shard_attach('far', '%s')", far.Nodes[0].DSN()))
	c.do("SELECT doc.create_collection('c', shard_key => 'k')")
	c.do(`SELECT doc.insert_many('c', (SELECT jsonb_agg(jsonb_build_object('_id', i, 'k', i)) FROM generate_series(1, 100) i))`)
	c.do("SELECT chunk_rebalance()")
	c.want("SELECT shard, count(*) FROM ostraka.chunk_map GROUP BY 1 ORDER BY 1", "far|128 one|128")
	c.want("SELECT doc.count('c')", "100")
	c.want(`SELECT doc.update('c', '{}', '{"$set": {"x": 1}}')->>'modified'`, "100")
	c.do("BEGIN")
	c.do(`SELECT doc.update('c', '{"k": 5}', '{"$set": {"x": 2}}')`)
	c.do("SAVEPOINT s")
	c.do(`SELECT doc.delete('c', '{"k": 5}')`)
	c.do("ROLLBACK TO s")
	c.do("COMMIT")
	c.want(`SELECT doc.find_one('c', '{"k": 5}')->>'x'`, "2")
	c.fails(fmt.Sprintf("SELECT shard_attach('far', '%s')", far.Nodes[0].DSN()), "42710")
	c.fails(fmt.Sprintf("SELECT shard_attach('again', '%s')", far.Nodes[0].DSN()), "42710")
	c.fails(fmt.Sprintf("SELECT shard_attach('self', '%s')", d.Nodes[0].DSN()), "55000") // it has shards
	own := freshDemo(t, 1)
	dial(t, own.Nodes[0]).fails(fmt.Sprintf("SELECT shard_attach('self', '%s')", own.Nodes[0].DSN()), "22023")
	c.fails("SELECT shard_attach('none', 'postgres://postgres@127.0.0.1:1/postgres')", "08001")
	c.fails("SELECT shard_drop('far')", "2BP01")
}

// When the node that leads a shard is lost, requests go on with the new leader.
func TestShardLeaderLost(t *testing.T) {
	d := shardedDemo(t, 3)
	c := dial(t, d.Nodes[0])
	c.do(`SELECT doc.insert_many('c', (SELECT jsonb_agg(jsonb_build_object('_id', i, 'region', i)) FROM generate_series(1, 100) i))`)
	c.want("SELECT doc.count('c')", "100")
	if err := d.Nodes[2].Close(); err != nil {
		t.Fatal(err)
	}
	d.Nodes = d.Nodes[:2]
	wait(t, "reads and writes on every shard", func(ctx context.Context) error {
		var n int
		if err := c.QueryRow(ctx, "SELECT doc.count('c')").Scan(&n); err != nil || n != 100 {
			return errors.Join(err, fmt.Errorf("%d documents", n))
		}
		_, err := c.Exec(ctx, `SELECT doc.update('c', '{}', '{"$inc": {"x": 1}}')`)
		return err
	})
}
