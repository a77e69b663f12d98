package node

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"ostraka/docstore"
	"ostraka/engine"
)

// countDocs counts the documents of sharded collections in a shard's state.
func countDocs(t *testing.T, v engine.View) int {
	t.Helper()
	list, err := docstore.Collections(v.Catalog())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range list {
		if strings.HasPrefix(c.Name(), "ostraka:") {
			continue
		}
		docs, _, err := docstore.ReadFrom(bounded(t), &docstore.State{View: v}, c.Name(), docstore.JSON{}, docstore.Part{}, 1<<30, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		n += len(docs)
	}
	return n
}

// countCopies counts the documents in the shards that a node hosts.
func countCopies(t *testing.T, n *Node) (total int) {
	t.Helper()
	for _, h := range n.hostedShards() {
		v, err := h.shard.View(bounded(t), postgresDB)
		if err != nil {
			t.Fatal(err)
		}
		total += countDocs(t, v)
		v.Close()
	}
	return total
}

// The merge grid: every command with every sort, skip, take and filter gives over
// three shards what one server gives.
func TestMergeGrid(t *testing.T) {
	d := freshDemo(t, 1)
	c := dial(t, d.Nodes[0])
	for _, s := range []string{"one", "two", "three"} {
		c.do(fmt.Sprintf("SELECT shard_create('%s')", s))
	}
	c.do("SELECT doc.create_collection('c', shard_key => 'k'); ")
	c.do("SELECT chunk_rebalance()")
	c.do("SELECT doc.create_collection('p')")
	seed := uint64(7)
	r := rand.New(rand.NewPCG(seed, 1))
	vals := []string{"null", "1", "2", "-3.5", `"a"`, `"B"`, "true", "false", `{"$date": "2024-01-01T00:00:00Z"}`, `[1, 2]`, `{"x": 1}`}
	keys := []string{`"eu"`, `"us"`, "5", "5.0", `"5"`, "null", "true", "7", `"ä"`}
	var docs []string
	for i := range 60 {
		doc := fmt.Sprintf(`{"_id": %d, "n": %d, "v": %s`, i, r.IntN(20), vals[r.IntN(len(vals))])
		if k := r.IntN(len(keys) + 1); k < len(keys) {
			doc += `, "k": ` + keys[k]
		}
		docs = append(docs, doc+"}")
	}
	for _, coll := range []string{"c", "p"} {
		c.do(fmt.Sprintf("SELECT doc.insert_many('%s', '[%s]')", coll, strings.Join(docs, ",")))
	}
	filters := []string{`{}`, `{"k": "eu"}`, `{"k": 5}`, `{"k": null}`, `{"k": {"$in": ["us", 7]}}`, `{"n": {"$gt": 5}}`, `{"v": {"$gte": 1}}`, `{"$or": [{"k": "eu"}, {"n": 3}]}`, `{"n": 99}`}
	sorts := []string{`null`, `'{"n": 1}'`, `'{"v": -1}'`, `'[["v", 1], ["n", -1]]'`, `'{"k": 1}'`}
	same := func(sql string) {
		t.Helper()
		want := c.rows(strings.ReplaceAll(sql, "COLL", "'p'"))
		c.want(strings.ReplaceAll(sql, "COLL", "'c'"), want)
	}
	for _, f := range filters {
		for _, s := range sorts {
			for _, skip := range []int{0, 5} {
				for _, take := range []string{"null", "0", "5"} {
					if s == "null" && (skip > 0 || take != "null") {
						same(fmt.Sprintf(`SELECT count(*) FROM doc.find(COLL, '%s', %s, %d, %s) d`, f, s, skip, take))
						continue
					}
					order := ""
					if s == "null" {
						order = " ORDER BY d"
					}
					same(fmt.Sprintf(`SELECT d::text FROM doc.find(COLL, '%s', %s, %d, %s) d%s`, f, s, skip, take, order))
				}
			}
			if s != "null" {
				same(fmt.Sprintf(`SELECT doc.find_one(COLL, '%s', %s, 1)`, f, s))
			}
		}
		same(fmt.Sprintf(`SELECT doc.count(COLL, '%s'), doc.count(COLL, '%s', 3, 4)`, f, f))
		same(fmt.Sprintf(`SELECT * FROM doc.distinct(COLL, 'v', '%s')`, f))
		for _, p := range []string{`{"$group": {"_id": "$k", "s": {"$sum": "$n"}, "a": {"$avg": "$n"}, "lo": {"$min": "$v"}, "hi": {"$max": "$v"}, "c": {"$sum": 1}}}, {"$sort": {"_id": 1}}`,
			`{"$sort": {"n": 1}}, {"$skip": 3}, {"$limit": 4}`, `{"$group": {"_id": null, "all": {"$push": "$n"}, "f": {"$first": "$v"}}}`, `{"$count": "n"}`,
			`{"$sortByCount": "$n"}`, `{"$skip": 2}, {"$limit": 3}`, `{"$unwind": "$v"}, {"$group": {"_id": "$v", "c": {"$sum": 1}}}, {"$sort": {"_id": 1}}`,
			`{"$lookup": {"from": "p", "localField": "n", "foreignField": "_id", "as": "x"}}, {"$sort": {"_id": 1}}, {"$limit": 3}`} {
			same(fmt.Sprintf(`SELECT d::text FROM doc.aggregate(COLL, '[{"$match": %s}, %s]') d`, f, p))
		}
	}
	for i, f := range filters {
		same(fmt.Sprintf(`SELECT doc.update(COLL, '%s', '{"$set": {"u": %d}, "$inc": {"m": 1}}')`, f, i))
		same(fmt.Sprintf(`SELECT doc.update_one(COLL, '%s', '{"$set": {"w": %d}}', sort => '{"n": -1}')`, f, i))
		same(fmt.Sprintf(`SELECT doc.find_one_and_update(COLL, '%s', '{"$inc": {"m": 1}}', sort => '{"v": 1}', return_new => true)`, f))
		same(fmt.Sprintf(`SELECT doc.delete_one(COLL, '%s', sort => '{"n": 1}')`, f))
		same(`SELECT string_agg(d::text, ' ' ORDER BY d) FROM doc.find(COLL) d`)
	}
	for _, f := range filters[1:] {
		same(fmt.Sprintf(`SELECT doc.delete(COLL, '%s')`, f))
		same(`SELECT string_agg(d::text, ' ' ORDER BY d) FROM doc.find(COLL) d`)
	}
}
