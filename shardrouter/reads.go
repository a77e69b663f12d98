package shardrouter

import (
	"fmt"

	"ostraka/docstore"
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

// streams are the cursors of outcomes; a shard without the collection has none.
func streams(list []outcome) []docstore.Cursor {
	out := make([]docstore.Cursor, 0, len(list))
	for _, o := range list {
		if o.res.Docs != nil {
			out = append(out, o.res.Docs)
		}
	}
	return out
}

// find merges by the sort; every shard sends the first skip+take of its own, and
// skip, take and projection are applied once, to the merged stream.
func (q *query) find() (docstore.Result, error) {
	set, _, err := q.chunks(q.cmd.Filter)
	if err != nil {
		return docstore.Result{}, err
	}
	if len(parts(q.top.Shards(), set)) == 1 {
		res, err := q.single(set, q.cmd)
		if err == nil && res.Docs == nil {
			res.Docs = docstore.Slice(nil)
		}
		return res, err
	}
	cur, err := q.findAll(set, q.cmd)
	if err != nil {
		return docstore.Result{}, err
	}
	proj, err := docstore.CompileProjection(q.cmd.Projection)
	if err != nil {
		cur.Close()
		return docstore.Result{}, err
	}
	return docstore.Result{Docs: proj.Bind(q.ctx, q.now).Cursor(cur)}, nil
}

// findAll is the merged, windowed stream without the projection.
func (q *query) findAll(set catalog.ChunkSet, cmd *docstore.Command) (docstore.Cursor, error) {
	sort, err := docstore.CompileSort(cmd.Sort)
	if err != nil {
		return nil, err
	}
	sub := *cmd
	sub.Op = docstore.OpFind
	sub.Projection, sub.Skip = docstore.JSON{}, 0
	if cmd.Take >= 0 {
		sub.Take = cmd.Skip + cmd.Take
	}
	out, err := q.read(set, &sub)
	if err != nil {
		return nil, err
	}
	var cur docstore.Cursor
	if sort == nil {
		cur = &concatenated{streams: streams(out)}
	} else {
		cur = merged(streams(out), sort.SortKey)
	}
	return docstore.Window(cur, cmd.Skip, cmd.Take), nil
}

func (q *query) findOne() (docstore.Result, error) {
	set, _, err := q.chunks(q.cmd.Filter)
	if err != nil {
		return docstore.Result{}, err
	}
	if len(parts(q.top.Shards(), set)) == 1 {
		return q.single(set, q.cmd)
	}
	one := *q.cmd
	one.Take = 1
	cur, err := q.findAll(set, &one)
	if err != nil {
		return docstore.Result{}, err
	}
	defer cur.Close()
	doc, ok, err := cur.Next()
	if err != nil || !ok {
		return docstore.Result{}, err
	}
	proj, err := docstore.CompileProjection(q.cmd.Projection)
	if err != nil {
		return docstore.Result{}, err
	}
	doc, err = proj.Bind(q.ctx, q.now).Apply(doc)
	return docstore.Result{Value: doc}, err
}

// count sums; skip and take are applied to the sum.
func (q *query) count() (docstore.Result, error) {
	set, _, err := q.chunks(q.cmd.Filter)
	if err != nil {
		return docstore.Result{}, err
	}
	all := *q.cmd
	all.Skip, all.Take = 0, -1
	out, err := q.read(set, &all)
	if err != nil {
		return docstore.Result{}, err
	}
	sum := int64(0)
	for _, o := range out {
		n, err := sqltypes.NumericToInt64(o.res.Value.Number())
		if err != nil {
			return docstore.Result{}, err
		}
		sum += n
	}
	sum = max(0, sum-q.cmd.Skip)
	if q.cmd.Take >= 0 {
		sum = min(sum, q.cmd.Take)
	}
	return docstore.Result{Value: sqltypes.JSONNumberOf(sqltypes.NumericInt(sum))}, nil
}

// distinct merges the shards' sorted values.
func (q *query) distinct() (docstore.Result, error) {
	set, _, err := q.chunks(q.cmd.Filter)
	if err != nil {
		return docstore.Result{}, err
	}
	out, err := q.read(set, q.cmd)
	if err != nil {
		return docstore.Result{}, err
	}
	key := func(v docstore.JSON) []byte { return docstore.AppendKey(nil, v) }
	return docstore.Result{Docs: &deduped{Cursor: merged(streams(out), key)}}, nil
}

// keyed executes a command on the one shard that its filter names.
func (q *query) keyed() (docstore.Result, error) {
	set, _, err := q.chunks(q.cmd.Filter)
	if err != nil {
		return docstore.Result{}, err
	}
	return q.single(set, q.cmd)
}

// explain says which shards are asked and how their answers are merged, then how
// the first of them finds its documents.
func (q *query) explain() (docstore.Result, error) {
	set, keyed, err := q.chunks(q.cmd.Filter)
	if err != nil {
		return docstore.Result{}, err
	}
	list := q.top.Shards()
	ps := parts(list, set)
	owners := len(list.Owners())
	names := ""
	for i, p := range ps {
		if i > 0 {
			names += ", "
		}
		names += list.Name(p.shard)
	}
	lines := []string{fmt.Sprintf("Shards: %s (%d of %d)", names, len(ps), owners)}
	if keyed {
		c := set.Chunks()
		if len(c) == 1 {
			lines = append(lines, fmt.Sprintf("  Chunk: %d by %s", c[0], q.key.Path))
		} else {
			lines = append(lines, fmt.Sprintf("  Chunks: %d by %s", len(c), q.key.Path))
		}
	}
	if len(ps) > 1 {
		if q.cmd.Sort.IsZero() {
			lines = append(lines, "  Merge: concatenate")
		} else {
			lines = append(lines, "  Merge: by sort "+q.cmd.Sort.String())
		}
		if q.cmd.Skip > 0 || q.cmd.Take >= 0 {
			lines = append(lines, fmt.Sprintf("  Window: skip %d, take %d after the merge", q.cmd.Skip, q.cmd.Take))
		}
	}
	lines = append(lines, fmt.Sprintf("  On %s:", list.Name(ps[0].shard)))
	res, err := q.single(ps[0].set, q.cmd)
	if err != nil {
		return docstore.Result{}, err
	}
	docs := make([]docstore.JSON, 0, len(lines))
	for _, l := range lines {
		docs = append(docs, sqltypes.JSONStringOf(l))
	}
	if res.Docs != nil {
		plan, err := docstore.ReadAll(res.Docs)
		if err != nil {
			return docstore.Result{}, err
		}
		for _, l := range plan {
			docs = append(docs, sqltypes.JSONStringOf("    "+l.Str()))
		}
	}
	return docstore.Result{Docs: docstore.Slice(docs)}, nil
}
