package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"pgregory.net/rapid"
)

// What random documents, filters and commands are made of.
var (
	randomKeys   = []string{`"eu"`, `"us"`, `"apac"`, "5", "5.0", `"5"`, "null", "true", "7", "-1", `"ä"`, `""`, "1e3", `{"$date": "2024-05-01T00:00:00Z"}`}
	randomScalar = rapid.SampledFrom([]string{"null", "0", "1", "2", "2.50", "-7", "1e2", "true", "false", `"a"`, `"A"`, `"zz"`, `""`, `{"$date": "2023-01-01T00:00:00Z"}`})
	randomValue  = rapid.OneOf(randomScalar, rapid.Custom(func(t *rapid.T) string {
		if rapid.Bool().Draw(t, "array") {
			return "[" + strings.Join(rapid.SliceOfN(randomScalar, 0, 3).Draw(t, "elements"), ", ") + "]"
		}
		return fmt.Sprintf(`{"x": %s, "y": %s}`, randomScalar.Draw(t, "x"), randomScalar.Draw(t, "y"))
	}))
	randomField = rapid.SampledFrom([]string{"n", "v", "k", "s.x", "_id"})
)

func randomDoc(t *rapid.T, id int) string {
	doc := fmt.Sprintf(`{"_id": %d, "n": %d`, id, rapid.IntRange(0, 6).Draw(t, "n"))
	if k := rapid.IntRange(0, len(randomKeys)).Draw(t, "key"); k < len(randomKeys) {
		doc += `, "k": ` + randomKeys[k]
	}
	for _, f := range []string{"v", "s"} {
		if rapid.IntRange(0, 3).Draw(t, "has") > 0 {
			doc += fmt.Sprintf(`, %q: %s`, f, randomValue.Draw(t, f))
		}
	}
	return doc + "}"
}

func randomFilter(t *rapid.T, depth int) string {
	switch rapid.IntRange(0, 9).Draw(t, "filter") {
	case 0:
		return "{}"
	case 1:
		return fmt.Sprintf(`{"k": %s}`, rapid.SampledFrom(randomKeys).Draw(t, "k"))
	case 2:
		return fmt.Sprintf(`{"k": {"$in": [%s]}}`, strings.Join(rapid.SliceOfN(rapid.SampledFrom(randomKeys), 0, 3).Draw(t, "in"), ", "))
	case 3:
		return fmt.Sprintf(`{"k": {"$eq": %s}, "n": {"$lt": %d}}`, rapid.SampledFrom(randomKeys).Draw(t, "k"), rapid.IntRange(0, 6).Draw(t, "n"))
	case 4, 5:
		return fmt.Sprintf(`{%q: {%q: %s}}`, randomField.Draw(t, "field"), rapid.SampledFrom([]string{"$gt", "$gte", "$lt", "$lte", "$ne", "$eq"}).Draw(t, "op"), randomScalar.Draw(t, "value"))
	case 6:
		return fmt.Sprintf(`{%q: {"$exists": %v}}`, randomField.Draw(t, "field"), rapid.Bool().Draw(t, "exists"))
	case 7:
		if depth < 2 {
			return fmt.Sprintf(`{%q: [%s, %s]}`, rapid.SampledFrom([]string{"$or", "$and", "$nor"}).Draw(t, "logic"), randomFilter(t, depth+1), randomFilter(t, depth+1))
		}
	case 8:
		return fmt.Sprintf(`{"n": {"$mod": [3, %d]}}`, rapid.IntRange(0, 2).Draw(t, "rest"))
	}
	return fmt.Sprintf(`{"n": %d}`, rapid.IntRange(0, 6).Draw(t, "n"))
}

func randomSort(t *rapid.T) string {
	var parts []string
	for range rapid.IntRange(1, 2).Draw(t, "parts") {
		dir := 1
		if rapid.Bool().Draw(t, "down") {
			dir = -1
		}
		parts = append(parts, fmt.Sprintf(`[%q, %d]`, randomField.Draw(t, "by"), dir))
	}
	// An index that gives the order has ties in an order of its own.
	return "[" + strings.Join(append(parts, `["_id", 1]`), ", ") + "]"
}

// randomCommand is SQL over COLL whose answer one server and several have to share.
func randomCommand(t *rapid.T) string {
	f, s := randomFilter(t, 0), randomSort(t)
	skip := rapid.IntRange(0, 6).Draw(t, "skip")
	take := "null"
	if n := rapid.IntRange(-3, 8).Draw(t, "take"); n >= 0 {
		take = fmt.Sprint(n)
	}
	match := fmt.Sprintf(`{"$match": %s}`, f)
	by, acc := randomField.Draw(t, "group"), rapid.SampledFrom([]string{"$sum", "$avg", "$min", "$max", "$first", "$last", "$push", "$addToSet", "$stdDevPop"}).Draw(t, "acc")
	group := fmt.Sprintf(`{"$group": {"_id": %q, "a": {%q: "$n"}, "c": {"$sum": 1}}}, {"$sort": {"_id": 1}}`, "$"+by, acc)
	switch acc { // these depend on the order, which without a sort is an index's or a shard's
	case "$first", "$last", "$push":
		group = `{"$sort": {"_id": 1}}, ` + group
	}
	if acc == "$addToSet" {
		group = fmt.Sprintf(`{"$group": {"_id": %q, "a": {"$addToSet": "$n"}}}, {"$project": {"a": {"$size": "$a"}}}, {"$sort": {"_id": 1}}`, "$"+by)
	}
	switch rapid.IntRange(0, 14).Draw(t, "command") {
	case 0, 1:
		return fmt.Sprintf(`SELECT d::text FROM doc.find(COLL, '%s', '%s', %d, %s) d`, f, s, skip, take)
	case 2:
		return fmt.Sprintf(`SELECT d::text FROM doc.find(COLL, '%s') d ORDER BY d`, f)
	case 3:
		return fmt.Sprintf(`SELECT count(*) FROM doc.find(COLL, '%s', null, %d, %s) d`, f, skip, take)
	case 4:
		return fmt.Sprintf(`SELECT doc.find_one(COLL, '%s', '%s', %d)`, f, s, skip)
	case 5:
		return fmt.Sprintf(`SELECT doc.count(COLL, '%s', %d, %s)`, f, skip, take)
	case 6:
		return fmt.Sprintf(`SELECT * FROM doc.distinct(COLL, %s, '%s')`, "'"+randomField.Draw(t, "field")+"'", f)
	case 7, 8:
		return fmt.Sprintf(`SELECT d::text FROM doc.aggregate(COLL, '[%s, %s]') d`, match, group)
	case 9:
		return fmt.Sprintf(`SELECT d::text FROM doc.aggregate(COLL, '[%s, {"$sort": {"n": 1, "_id": 1}}, {"$skip": %d}, {"$limit": 4}, {"$project": {"n": 1}}]') d`, match, skip)
	case 10:
		return fmt.Sprintf(`SELECT doc.update(COLL, '%s', '{"$inc": {"m": 1}, "$set": {"w": %s}}')`, f, randomScalar.Draw(t, "w"))
	case 11:
		return fmt.Sprintf(`SELECT doc.update_one(COLL, '%s', '{"$inc": {"m": 1}}', sort => '%s')`, f, s)
	case 12:
		return fmt.Sprintf(`SELECT doc.find_one_and_update(COLL, '%s', '{"$set": {"m": 9}}', sort => '%s', return_new => %v)`, f, s, rapid.Bool().Draw(t, "new"))
	case 13:
		return fmt.Sprintf(`SELECT doc.delete_one(COLL, '%s', sort => '%s')`, f, s)
	}
	return fmt.Sprintf(`SELECT doc.delete(COLL, '{"$and": [%s, {"n": %d}]}')`, f, rapid.IntRange(0, 6).Draw(t, "n"))
}

// answerOf is the answer's rows as text, or the error's code.
func answerOf(c *client, sql string) string {
	rows, err := c.Query(bounded(c.t), sql)
	if err != nil {
		return "error " + codeOf(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		vals, err := rows.Values()
		if err != nil {
			return err.Error()
		}
		b, _ := json.Marshal(vals)
		out = append(out, string(b))
	}
	if err := rows.Err(); err != nil {
		return "error " + codeOf(err)
	}
	return strings.Join(out, "\n")
}

// Random documents, commands, sorts, windows and filters: three shards answer what
// one server answers, and hold the same documents afterwards.
func TestMergeRandom(t *testing.T) {
	d := freshDemo(t, 1)
	c := dial(t, d.Nodes[0])
	for _, s := range []string{"one", "two", "three"} {
		c.do(fmt.Sprintf("SELECT shard_create('%s')", s))
	}
	c.do("SELECT doc.create_collection('c', shard_key => 'k')")
	c.do("SELECT chunk_rebalance()")
	c.do("SELECT doc.create_collection('p')")
	for _, coll := range []string{"c", "p"} {
		c.do(fmt.Sprintf(`SELECT doc.create_index('%s', '{"n": 1}')`, coll))
	}
	rapid.Check(t, func(t *rapid.T) {
		for _, coll := range []string{"c", "p"} {
			c.do(fmt.Sprintf("SELECT doc.delete('%s', '{}')", coll))
		}
		var docs []string
		for i := range rapid.IntRange(0, 25).Draw(t, "documents") {
			docs = append(docs, randomDoc(t, i))
		}
		both := func(sql string) {
			want, got := answerOf(c, strings.ReplaceAll(sql, "COLL", "'p'")), answerOf(c, strings.ReplaceAll(sql, "COLL", "'c'"))
			if want != got {
				t.Fatalf("%s\none server: %s\nshards:     %s\ndocuments: [%s]", sql, want, got, strings.Join(docs, ",\n"))
			}
		}
		both(fmt.Sprintf("SELECT doc.insert_many(COLL, '[%s]')", strings.Join(docs, ",")))
		for range rapid.IntRange(1, 6).Draw(t, "commands") {
			both(randomCommand(t))
		}
		both("SELECT d::text FROM doc.find(COLL, '{}', '{\"_id\": 1}') d")
	})
}

func codeOf(err error) string {
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return pe.Code
	}
	return err.Error()
}
