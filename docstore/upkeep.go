package docstore

import (
	"context"
	"time"

	"ostraka/engine"
	"ostraka/sqltypes"
)

// findForUpdate locks what it finds until the end of the transaction and answers
// the documents as they are then.
func (r *runner) findForUpdate(ctx context.Context, cmd *Command) (Result, error) {
	proj, err := CompileProjection(cmd.Projection)
	if err != nil {
		return Result{}, err
	}
	p, err := r.prepare(ctx, cmd, true)
	if err != nil || p.c == nil {
		return Result{Docs: Slice(nil)}, err
	}
	var docs []JSON
	bytes := 0
	err = r.eachLocked(ctx, p, engine.LockUpdate, cmd.LockWait, cmd.Skip, cmd.Take, func(t *target) error {
		if bytes += len(t.doc.Datum().S); bytes > maxMemory {
			return errMemory("answer")
		}
		docs = append(docs, t.doc)
		return nil
	})
	if err != nil {
		return Result{}, err
	}
	return Result{Docs: proj.Bind(ctx, r.st.Now).Cursor(Slice(docs))}, nil
}

// stats answers the number of documents and the bytes on disk.
func (r *runner) stats(ctx context.Context, cmd *Command) (Result, error) {
	n, err := r.count(ctx, &Command{Op: OpCount, Collection: cmd.Collection, Take: -1})
	if err != nil {
		return Result{}, err
	}
	c, err := r.collection(cmd.Collection, false)
	if err != nil {
		return Result{}, err
	}
	if c == nil {
		return Result{}, noCollection(cmd.Collection)
	}
	indexes := int64(0)
	for _, x := range c.Indexes {
		indexes += r.st.View.EstimateBytes(c.Rel, x.Ix)
	}
	return Result{Value: sqltypes.JSONObjectOf([]sqltypes.JSONPair{{Key: "collection", Value: sqltypes.JSONStringOf(c.Name())}, {Key: "count", Value: n.Value},
		{Key: "bytes", Value: intJSON(r.st.View.EstimateBytes(c.Rel, nil))}, {Key: "indexes", Value: intJSON(int64(len(c.Indexes) + 1))},
		{Key: "index_bytes", Value: intJSON(indexes)}})}, nil
}

// compact deletes what has expired; space that deleted documents took is given
// back by the storage itself.
func (r *runner) compact(ctx context.Context, cmd *Command) (Result, error) {
	res, err := r.expire(ctx, cmd)
	if err != nil {
		return Result{}, err
	}
	return Result{Value: obj("expired", intJSON(res.Deleted)), Counts: res.Counts}, nil
}

// expire deletes the documents that are older than their TTL index says: by a
// date in the field, or the earliest of an array of dates.
func (r *runner) expire(ctx context.Context, cmd *Command) (Result, error) {
	c, err := r.collection(cmd.Collection, true)
	if err != nil {
		return Result{}, err
	}
	if c == nil {
		return Result{}, noCollection(cmd.Collection)
	}
	var out Result
	for _, x := range c.Indexes {
		if x.Spec.ExpireAfter < 0 {
			continue
		}
		before := r.st.Now.Add(-time.Duration(x.Spec.ExpireAfter) * time.Second)
		filter := obj(x.Spec.Fields[0].Path, obj("$lte", MakeDate(before)))
		if !x.Spec.Partial.IsZero() {
			filter = obj("$and", sqltypes.JSONArrayOf([]JSON{filter, x.Spec.Partial}))
		}
		res, err := r.delete(ctx, &Command{Op: OpDelete, Collection: cmd.Collection, Filter: filter, Take: -1})
		if err != nil {
			return Result{}, err
		}
		out.Deleted += res.Deleted
	}
	return out, nil
}

// Expires reports that the collection has a TTL index.
func (c *Collection) Expires() bool {
	for _, x := range c.Indexes {
		if x.Spec.ExpireAfter >= 0 {
			return true
		}
	}
	return false
}
