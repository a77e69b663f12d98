package shardrouter

import (
	"ostraka/docstore"
	"ostraka/sqltypes"
)

// aggregate gives the shards what can be done on a part of the documents and
// merges: groups from their states, sorted streams by their sort, the rest of the
// pipeline over the merged stream here. $lookup reads through the router.
func (q *query) aggregate() (docstore.Result, error) {
	set, _, err := q.chunks(leadingMatch(q.cmd))
	if err != nil {
		return docstore.Result{}, err
	}
	reads := false
	eachCollection(q.cmd.Pipeline, func(string, string) { reads = true })
	if !reads && !q.writes && len(parts(q.top.Shards(), set)) == 1 {
		res, err := q.single(set, q.cmd)
		if err == nil && res.Docs == nil {
			res.Docs = docstore.Slice(nil)
		}
		return res, err
	}
	split, err := docstore.SplitPipeline(q.cmd.Pipeline)
	if err != nil {
		return docstore.Result{}, err
	}
	sub := *q.cmd
	sub.Pipeline = split.Shard
	writes := q.writes
	q.writes = false // the shards only read
	out, err := q.read(set, &sub)
	q.writes = writes
	if err != nil {
		return docstore.Result{}, err
	}
	var in docstore.Cursor = &concatenated{streams: streams(out)}
	if split.Order != nil {
		in = merged(streams(out), split.Order.SortKey)
	}
	return q.base.merge(q, split.Merge, in)
}

// leadingMatch is the filter of the documents that a pipeline reads.
func leadingMatch(cmd *docstore.Command) docstore.JSON {
	var conds []docstore.JSON
	if !cmd.Filter.IsZero() && cmd.Filter.Len() > 0 {
		conds = append(conds, cmd.Filter)
	}
	if cmd.Pipeline.Kind() == sqltypes.JSONArray {
		for _, s := range cmd.Pipeline.Elems() {
			if s.Kind() != sqltypes.JSONObject || s.Len() != 1 || s.Key(0) != "$match" {
				break
			}
			conds = append(conds, s.Value(0))
		}
	}
	switch len(conds) {
	case 0:
		return docstore.JSON{}
	case 1:
		return conds[0]
	}
	return sqltypes.JSONObjectOf([]sqltypes.JSONPair{{Key: "$and", Value: sqltypes.JSONArrayOf(conds)}})
}

// search merges hits by score; every shard sends its best. The statistics of text
// scores are each shard's own.
func (q *query) search() (docstore.Result, error) {
	set, _, err := q.chunks(q.cmd.Filter)
	if err != nil {
		return docstore.Result{}, err
	}
	sub := *q.cmd
	sub.Skip = 0
	if q.cmd.Take >= 0 {
		sub.Take = q.cmd.Skip + q.cmd.Take
	}
	out, err := q.read(set, &sub)
	if err != nil {
		return docstore.Result{}, err
	}
	byScore, err := docstore.CompileSort(sqltypes.JSONArrayOf([]docstore.JSON{sqltypes.JSONArrayOf([]docstore.JSON{sqltypes.JSONStringOf("score"),
		sqltypes.JSONNumberOf(sqltypes.NumericInt(-1))}), sqltypes.JSONArrayOf([]docstore.JSON{sqltypes.JSONStringOf("doc._id"), sqltypes.JSONNumberOf(sqltypes.NumericInt(1))})}))
	if err != nil {
		return docstore.Result{}, err
	}
	return docstore.Result{Docs: docstore.Window(merged(streams(out), byScore.SortKey), q.cmd.Skip, q.cmd.Take)}, nil
}

// stats sums the shards' figures.
func (q *query) stats() (docstore.Result, error) {
	set, _, err := q.chunks(docstore.JSON{})
	if err != nil {
		return docstore.Result{}, err
	}
	out, err := q.read(set, q.cmd)
	if err != nil {
		return docstore.Result{}, err
	}
	sums := map[string]sqltypes.Datum{}
	for _, o := range out {
		for _, p := range o.res.Value.Pairs() {
			if p.Value.Kind() != sqltypes.JSONNumber {
				continue
			}
			have, ok := sums[p.Key]
			switch {
			case !ok || p.Key == "indexes":
				sums[p.Key] = p.Value.Number()
			default:
				if sums[p.Key], err = sqltypes.NumericAdd(have, p.Value.Number()); err != nil {
					return docstore.Result{}, err
				}
			}
		}
	}
	pairs := []sqltypes.JSONPair{{Key: "collection", Value: sqltypes.JSONStringOf(q.cmd.Collection)},
		{Key: "shards", Value: sqltypes.JSONNumberOf(sqltypes.NumericInt(int64(len(out))))}}
	for k, v := range sums {
		pairs = append(pairs, sqltypes.JSONPair{Key: k, Value: sqltypes.JSONNumberOf(v)})
	}
	return docstore.Result{Value: sqltypes.JSONObjectOf(pairs)}, nil
}
