package shardrouter

import (
	"ostraka/docstore"
	"ostraka/engine/catalog"
	"ostraka/shardrouter/chunk"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// insert sends every document to the owner of its chunk; ids come back in the
// order of the documents.
func (q *query) insert() (docstore.Result, error) {
	n := len(q.top.Shards().Map)
	docs := make([]docstore.JSON, len(q.cmd.Docs))
	ids := make([]docstore.JSON, len(docs))
	chunkOf := make([]int, len(docs))
	set := catalog.NewChunkSet(n)
	for i, d := range q.cmd.Docs {
		var err error
		if docs[i], ids[i], err = docstore.WithID(d, func() docstore.JSON { return docstore.NewObjectID(q.now) }); err != nil {
			return docstore.Result{}, err
		}
		if chunkOf[i], err = q.key.Chunk(docs[i], n); err != nil {
			return docstore.Result{}, err
		}
		set.Add(chunkOf[i])
	}
	cmd := func(p part) *docstore.Command {
		c := *q.cmd
		c.Docs = nil
		for i, d := range docs {
			if p.set.Has(chunkOf[i]) {
				c.Docs = append(c.Docs, d)
			}
		}
		return &c
	}
	res := docstore.Result{IDs: ids}
	err := q.write(set, cmd, func(_ part, r docstore.Result) error {
		res.Inserted += r.Inserted
		return nil
	})
	return res, err
}

// many is update, delete and their like: every shard does its part, counts are summed.
func (q *query) many() (docstore.Result, error) {
	set, _, err := q.chunks(q.cmd.Filter)
	if err != nil {
		return docstore.Result{}, err
	}
	var res docstore.Result
	err = q.write(set, func(part) *docstore.Command { return q.cmd }, func(_ part, r docstore.Result) error {
		res.Counts.Add(r.Counts)
		if res.Value.IsZero() {
			res.Value = r.Value
		}
		return nil
	})
	return res, err
}

// one is update_one and its like: one document is changed. Without the key in the
// filter the shards are asked one after the other until one has changed
// something; with a sort the document is found first.
func (q *query) one() (docstore.Result, error) {
	set, keyed, err := q.chunks(q.cmd.Filter)
	if err != nil {
		return docstore.Result{}, err
	}
	var target catalog.ChunkSet // where an upsert belongs
	if q.cmd.Upsert {
		key, err := docstore.UpsertKey(q.cmd, q.key.Path)
		if err != nil {
			return docstore.Result{}, err
		}
		n := len(q.top.Shards().Map)
		c, err := chunk.OfValue(key, n)
		if err != nil {
			return docstore.Result{}, err
		}
		target = catalog.NewChunkSet(n)
		target.Add(c)
	}
	if len(parts(q.top.Shards(), set)) == 1 {
		if target == nil || set.Contains(target) {
			return q.single(set, q.cmd)
		}
		if keyed {
			return docstore.Result{}, pgerror.NotSupported("an upsert whose shard key %q differs from the filter's", q.key.Path)
		}
	}
	probe := *q.cmd
	probe.Upsert = false
	res, err := q.probe(set, &probe)
	if err != nil || res.Matched+res.Deleted > 0 || target == nil {
		return res, err
	}
	return q.single(target, q.cmd)
}

// probe asks one shard after the other. A shard that fails is passed over while
// others may still have a match; without one its error is the answer.
func (q *query) probe(set catalog.ChunkSet, cmd *docstore.Command) (docstore.Result, error) {
	if q.inTxn && len(parts(q.top.Shards(), set)) > 1 {
		return docstore.Result{}, errSecondShard(q.cmd)
	}
	if !cmd.Sort.IsZero() {
		return q.sortedOne(set, cmd)
	}
	var failed error
	for _, p := range parts(q.top.Shards(), set) {
		// If the chunks move meanwhile, they are asked where they are.
		var res docstore.Result
		var err error
		sub := q.split(p.set)
		for len(sub) > 0 && err == nil && res.Matched+res.Deleted == 0 {
			res, err = q.single(sub[0], cmd)
			sub = sub[1:]
		}
		if err != nil {
			if pgerror.CodeOf(err) == pgerror.TransactionResolutionUnknown || !unreachable(err) {
				return docstore.Result{}, err
			}
			failed = err
			continue
		}
		if res.Matched+res.Deleted > 0 {
			return res, nil
		}
	}
	return docstore.Result{}, failed
}

// split are the parts of a set by the newest map.
func (q *query) split(set catalog.ChunkSet) []catalog.ChunkSet {
	var out []catalog.ChunkSet
	for _, p := range parts(q.top.Shards(), set) {
		out = append(out, p.set)
	}
	return out
}

// unreachable is an error that says nothing about the documents.
func unreachable(err error) bool { return pgerror.CodeOf(err)[:2] == "08" }

// sortedOne finds the first document over all shards and changes it by its _id
// and key; when it has changed so that it no longer matches, the next one is looked for.
func (q *query) sortedOne(set catalog.ChunkSet, cmd *docstore.Command) (docstore.Result, error) {
	for range 100 {
		find := &docstore.Command{Op: docstore.OpFind, Collection: cmd.Collection, Filter: cmd.Filter, Sort: cmd.Sort, Take: 1}
		was := q.writes
		q.writes = false
		cur, err := q.findAll(set, find)
		q.writes = was
		if err != nil {
			return docstore.Result{}, err
		}
		doc, ok, err := cur.Next()
		cur.Close()
		if err != nil || !ok {
			return docstore.Result{}, err
		}
		n := len(q.top.Shards().Map)
		c, err := q.key.Chunk(doc, n)
		if err != nil {
			return docstore.Result{}, err
		}
		target := catalog.NewChunkSet(n)
		target.Add(c)
		id, _ := doc.Lookup("_id")
		exact := *cmd
		exact.Sort = docstore.JSON{}
		conds := []docstore.JSON{sqltypes.JSONObjectOf([]sqltypes.JSONPair{{Key: "_id", Value: sqltypes.JSONObjectOf([]sqltypes.JSONPair{{Key: "$eq", Value: id}})}})}
		if !cmd.Filter.IsZero() && cmd.Filter.Len() > 0 {
			conds = append(conds, cmd.Filter)
		}
		exact.Filter = sqltypes.JSONObjectOf([]sqltypes.JSONPair{{Key: "$and", Value: sqltypes.JSONArrayOf(conds)}})
		res, err := q.single(target, &exact)
		if err != nil || res.Matched+res.Deleted > 0 {
			return res, err
		}
	}
	return docstore.Result{}, pgerror.New(pgerror.TRSerializationFailure, "could not serialize access due to concurrent update")
}
