package node

import (
	"fmt"
	"testing"
)

// shardedDemo is a cluster with three shards that own all chunks, and the
// collection c with the shard key region.
func shardedDemo(t *testing.T, nodes int) *Demo {
	t.Helper()
	d := freshDemo(t, nodes)
	c := dial(t, d.Nodes[0])
	for _, s := range []string{"one", "two", "three"} {
		c.do(fmt.Sprintf("SELECT shard_create('%s')", s))
	}
	c.do("SELECT doc.create_collection('c', shard_key => 'region')")
	c.do("SELECT chunk_rebalance()")
	return d
}

// Documents go to the shards of their chunks, and every command finds them.
func TestShardedCommands(t *testing.T) {
	d := shardedDemo(t, 3)
	c := dial(t, d.Nodes[1])
	c.want("SELECT shard, count(*) FROM ostraka.chunk_map GROUP BY 1 ORDER BY 1", "one|86 three|85 two|85")
	c.want("SELECT * FROM ostraka.collections", "c|region|{one,two,three}|1")
	c.do(`SELECT doc.insert_many('c', (SELECT jsonb_agg(jsonb_build_object('_id', i, 'region', 'r' || i % 20, 'n', i)) FROM generate_series(1, 200) i))`)
	c.want("SELECT doc.count('c')", "200")
	c.want(`SELECT doc.count('c', '{"region": "r3"}')`, "10")
	c.want(`SELECT doc.count('c', '{"region": {"$in": ["r3", "r4"]}}')`, "20")
	c.want(`SELECT string_agg(d->>'_id', ',') FROM doc.find('c', sort => '{"n": -1}', skip => 5, take => 5) d`, "195,194,193,192,191")
	c.want(`SELECT doc.find_one('c', '{"n": 77}')->>'region'`, "r17")
	c.want(`SELECT count(*) FROM doc.distinct('c', 'region')`, "20")
	c.want(`SELECT doc.update('c', '{"n": {"$gt": 100}}', '{"$set": {"big": true}}')->>'modified'`, "100")
	c.want(`SELECT doc.update_one('c', '{"big": true}', '{"$set": {"big": false}}')->>'modified'`, "1")
	c.want(`SELECT doc.count('c', '{"big": true}')`, "99")
	c.want(`SELECT doc.delete('c', '{"region": "r3"}')`, "10")
	c.want(`SELECT doc.delete_one('c', '{"n": {"$gte": 1}}', sort => '{"n": 1}')`, "1")
	c.want(`SELECT doc.count('c', '{"n": 1}')`, "0")
	c.want(`SELECT d->>'s' FROM doc.aggregate('c', '[{"$group": {"_id": null, "s": {"$avg": "$n"}}}]') d`,
		c.rows(`SELECT (d->>'s') FROM (SELECT jsonb_build_object('s', trim_scale(avg((d->>'n')::numeric))) d FROM doc.find('c') d) x`))
	c.want(`SELECT d->>'n' FROM doc.aggregate('c', '[{"$sort": {"n": -1}}, {"$skip": 2}, {"$limit": 2}]') d`, "198 197")
	t.Log(c.rows(`SELECT * FROM doc.explain('c', '{"region": "r4"}', sort => '{"n": 1}')`))
	t.Log(c.rows(`SELECT * FROM doc.explain('c', sort => '{"n": 1}', take => 3)`))

	c.do("BEGIN")
	c.do(`SELECT doc.insert('c', '{"_id": 1000, "region": "r4"}')`)
	c.want(`SELECT doc.count('c', '{"region": "r4"}')`, "11")
	c.do("SAVEPOINT s")
	c.do(`SELECT doc.insert('c', '{"_id": 1001, "region": "r4"}')`)
	c.do("ROLLBACK TO s")
	c.do("COMMIT")
	c.want(`SELECT doc.count('c', '{"region": "r4"}')`, "11")
	c.do("BEGIN")
	c.do(`SELECT doc.insert('c', '{"_id": 1002, "region": "r4"}')`)
	c.do("ROLLBACK")
	c.want(`SELECT doc.count('c', '{"region": "r4"}')`, "11")
	c.do("BEGIN")
	c.do(`SELECT doc.insert('c', '{"_id": 1003, "region": "r4"}')`)
	c.fails(`SELECT doc.count('c')`, "0A000")
	c.do("ROLLBACK")
	c.do("CREATE TABLE home (a int)")
	c.do("BEGIN")
	c.do("INSERT INTO home VALUES (1)")
	c.fails(`SELECT doc.insert('c', '{"_id": 1004, "region": "r4"}')`, "0A000")
	c.do("ROLLBACK")
	c.do("BEGIN")
	c.do(`SELECT doc.insert('c', '{"_id": 1005, "region": "r4"}')`)
	c.do("INSERT INTO home VALUES (1)")
	c.fails(`COMMIT`, "0A000")
	c.want(`SELECT count(*) FROM home`, "0")
	c.want(`SELECT doc.count('c', '{"region": "r4"}')`, "11")
	c.fails(`SELECT doc.update('c', '{"_id": 1000}', '{"$set": {"region": "r5"}}')`, "0A000")
	c.fails(`SELECT doc.create_index('c', '{"n": 1}', "unique" => true)`, "0A000")
	c.do(`SELECT doc.create_index('c', '{"n": 1}')`)
	c.fails(`SELECT doc.insert('c', jsonb_build_object('region', 'x' || i)) FROM generate_series(1, 20) i`, "0A000")
	c.want(`SELECT doc.count('c', '{"region": {"$regex": "^x"}}')`, "0")
	c.want(`SELECT doc.update_one('c', '{"region": "new"}', '{"$set": {"n": -1}}', upsert => true)->>'upserted'`, "1")
	c.want(`SELECT doc.count('c', '{"region": "new", "n": -1}')`, "1")
	c.want(`SELECT doc.update_one('c', '{"n": -2}', '{"$set": {"region": "r9"}}', upsert => true)->>'upserted'`, "1")
	c.want(`SELECT doc.count('c', '{"region": "r9", "n": -2}')`, "1")
	c.fails(`SELECT doc.update_one('c', '{"region": "none"}', '{"$set": {"region": "r9"}}', upsert => true)`, "0A000")
	c.fails(`SELECT doc.insert('c', '{"region": [1]}')`, "22023")
	c.fails(`SELECT doc.insert('c', '{"_id": 1000, "region": "r4"}')`, "23505")
	c.fails(`SELECT doc.insert('ostraka:changes', '{}')`, "42939")
	c.do("BEGIN")
	c.want(`SELECT count(*) FROM doc.find_for_update('c', '{"region": "r9"}')`, "11")
	c.do("COMMIT")
	c.do("CREATE ROLE nobody LOGIN")
	c.do("SET ROLE nobody")
	c.fails(`SELECT doc.count('c')`, "42501")
	c.fails(`SELECT doc.insert('c', '{"region": "r4"}')`, "42501")
	c.fails(`SELECT * FROM ostraka.shard_read('x')`, "42501")
	c.do("RESET ROLE")
	c.do(`SELECT doc.drop_collection('c')`)
	c.want(`SELECT doc.count('c')`, "0")
}
