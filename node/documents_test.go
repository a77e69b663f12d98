package node

import (
	"testing"
	"time"

	"ostraka/sqltypes/pgerror"
)

// TestDocumentsAndTables: documents and rows change in one transaction, on any
// node, with savepoints, and every replica has them.
func TestDocumentsAndTables(t *testing.T) {
	c := demoCluster(t)
	for i, n := range []*Node{c.leader(), c.follower()} {
		a := dial(t, n)
		a.do("DROP TABLE IF EXISTS doc_rows; CREATE TABLE doc_rows (k int PRIMARY KEY)")
		a.want("SELECT doc.insert('doc_mix', '{\"_id\": 1, \"n\": 1}')", "1")
		a.do("BEGIN; INSERT INTO doc_rows VALUES (1)")
		a.want("SELECT doc.insert('doc_mix', '{\"_id\": 2}')", "2")
		a.want("SELECT doc.count('doc_mix'), (SELECT count(*) FROM doc_rows)", "2|1")
		a.do("ROLLBACK")
		a.want("SELECT doc.count('doc_mix'), (SELECT count(*) FROM doc_rows)", "1|0")
		a.do("BEGIN; INSERT INTO doc_rows VALUES (1); SAVEPOINT s")
		a.do("SELECT doc.update_one('doc_mix', '{\"_id\": 1}', '{\"$inc\": {\"n\": 10}}'); ROLLBACK TO s")
		a.do("SELECT doc.update_one('doc_mix', '{\"_id\": 1}', '{\"$inc\": {\"n\": 1}}'); COMMIT")
		a.want("SELECT doc.find_one('doc_mix', '{}') -> 'n', (SELECT count(*) FROM doc_rows)", "2|1")
		c.everywhere("SELECT d -> 'n' FROM doc.find('doc_mix') d", "2")
		a.fails("SELECT doc.insert('doc_mix', '{\"_id\": 1}')", string(pgerror.UniqueViolation))
		a.fails("BEGIN READ ONLY; SELECT doc.delete('doc_mix', '{}')", string(pgerror.ReadOnlySqlTransaction))
		a.do("ROLLBACK")
		a.want("SELECT doc.drop_collection('doc_mix')", "t")
		_ = i
	}
}

// TestDocumentsLoseNoUpdate: concurrent increments at READ COMMITTED all count,
// as UPDATE's do; a filter is tested again on the newest version.
func TestDocumentsLoseNoUpdate(t *testing.T) {
	c := demoCluster(t)
	n := c.leader()
	a, b, watch := dial(t, n), dial(t, n), dial(t, n)
	a.do("SELECT doc.insert('doc_inc', '{\"_id\": 1, \"n\": 0, \"open\": true}')")
	a.do("BEGIN")
	a.do("SELECT doc.update_one('doc_inc', '{\"_id\": 1}', '{\"$inc\": {\"n\": 1}, \"$set\": {\"open\": false}}')")
	done := make(chan struct{})
	go func() {
		defer close(done)
		watch.soon("SELECT count(*) > 0 FROM pg_locks WHERE NOT granted", "t")
		a.do("COMMIT")
	}()
	b.want("SELECT doc.update('doc_inc', '{\"open\": true}', '{\"$inc\": {\"n\": 100}}') -> 'matched'", "0")
	<-done
	b.want("SELECT doc.update_one('doc_inc', '{\"_id\": 1}', '{\"$inc\": {\"n\": 1}}') -> 'modified'", "1")
	b.want("SELECT doc.find_one('doc_inc') -> 'n'", "2")
	b.do("SELECT doc.drop_collection('doc_inc')")
}

// TestDocumentsExpire: what is older than a TTL index says is deleted on the leader.
func TestDocumentsExpire(t *testing.T) {
	c := demoCluster(t)
	n := c.leader()
	a := dial(t, n)
	a.do(`SELECT doc.insert_many('doc_ttl', '[{"_id": 1, "at": {"$date": "2024-01-01"}}, {"_id": 2, "at": {"$date": "2124-01-01"}}]')`)
	a.do(`SELECT doc.create_index('doc_ttl', '"at"', expire_after => 10)`)
	if err := expireDocuments(t.Context(), c.follower().shard, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := expireDocuments(t.Context(), n.shard, time.Now()); err != nil {
		t.Fatal(err)
	}
	a.want("SELECT d -> '_id' FROM doc.find('doc_ttl') d", "2")
	a.do("SELECT doc.drop_collection('doc_ttl')")
}
