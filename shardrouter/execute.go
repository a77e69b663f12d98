package shardrouter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"ostraka/docstore"
	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/sqltypes/pgerror"
)

// inTransaction reports that what the query does must be part of the session's
// transaction: in a block, and for writes of a statement that may go on.
func (q *query) inTransaction() bool { return q.inTxn }

// part is the session's participant, nil without one.
func (q *query) part() *participant {
	p, _ := q.participant.(*participant)
	return p
}

// on executes a command on one shard. Docs of the answer live until they are
// closed. The error is the shard's own, not yet dressed by failed.
func (q *query) on(ctx context.Context, p part, cmd *docstore.Command) (docstore.Result, error) {
	req := q.base.request(q, p, cmd)
	if q.base.own(q, p.shard) {
		if q.part() != nil && q.inTxn {
			return docstore.Result{}, errSecondShard(q.cmd)
		}
		return q.base.run(ctx, q, req)
	}
	if b, ok := q.replica(p.shard, req.Version); ok {
		if res, err := b.Run(ctx, req); err == nil || !notHere(err) || ctx.Err() != nil {
			return res, err
		}
	}
	if have := q.part(); have != nil {
		if have.shard != p.shard {
			if q.inTxn {
				return docstore.Result{}, errSecondShard(q.cmd)
			}
		} else if q.alone {
			q.elsewhere(nil)
			res, err := have.Run(ctx, req)
			if pgerror.CodeOf(err) == StaleMap {
				err = pgerror.New(pgerror.TRSerializationFailure, "could not serialize access because chunks have moved")
			}
			return res, err
		}
	}
	b, err := q.top.Backend(p.shard, !q.writes)
	if err != nil {
		return docstore.Result{}, err
	}
	q.elsewhere(b)
	if !q.inTransaction() {
		res, err := b.Run(ctx, req)
		if errors.Is(err, engine.ErrNotLeader) && pgerror.CodeOf(err) == pgerror.ReadOnlySqlTransaction {
			err = errStale(req.Version) // nothing has run: look for the leader again
		}
		return res, err
	}
	if q.sess.HasWritten() {
		return docstore.Result{}, errSecondShard(q.cmd)
	}
	if b, err = q.top.Backend(p.shard, false); err != nil {
		return docstore.Result{}, err
	}
	o := TxnOptions{Isolation: q.sess.Isolation(), ReadOnly: q.sess.ReadOnly()}
	t, err := b.Begin(ctx, o)
	if err != nil {
		return docstore.Result{}, err
	}
	res, err := t.Run(ctx, req)
	if err != nil {
		t.Rollback()
		return docstore.Result{}, err
	}
	q.participant = &participant{Transaction: t, shard: p.shard}
	q.sess.Enlist(q.participant)
	return res, nil
}

// elsewhere notes that the session is about to see, or make, what this process's
// replica of the shard may not have yet.
func (q *query) elsewhere(b Backend) {
	if _, here := b.(EngineBackend); !here && q.reads.Seen != nil {
		q.reads.Seen.Elsewhere()
	}
}

// settle waits for a newer map after a shard refused the one that was used;
// false when it has taken too long.
func (q *query) settle(begun time.Time, version uint64) bool {
	limit := q.timeout
	if limit <= 0 {
		limit = requestTimeout
	}
	if time.Since(begun) > limit || q.ctx.Err() != nil {
		return false
	}
	q.top.Refresh(q.ctx, version)
	return q.ctx.Err() == nil
}

func errUnsettled() error {
	return pgerror.New(pgerror.TRSerializationFailure, "chunks of the collection are being moved").
		WithHint("Try again; ostraka.chunk_moves shows what is under way.")
}

// single executes a command whose chunks are on one shard, and tries again when
// they have moved.
func (q *query) single(set catalog.ChunkSet, cmd *docstore.Command) (docstore.Result, error) {
	for begun := time.Now(); ; {
		list := q.top.Shards()
		ps := parts(list, set)
		if len(ps) != 1 {
			return docstore.Result{}, errSecondShard(q.cmd)
		}
		w := q.watch()
		q.alone = true
		res, err := q.on(w.ctx, ps[0], cmd)
		w.pause()
		if err == nil {
			if res.Docs == nil {
				w.end()
			} else {
				res.Docs = &watched{Cursor: res.Docs, w: w, q: q, shard: ps[0].shard}
			}
			return res, nil
		}
		err = q.failed(w, ps[0].shard, err)
		w.end()
		if pgerror.CodeOf(err) != StaleMap {
			return docstore.Result{}, err
		}
		if q.inTxn && q.sess.HasWritten() { // it may hold what the mover waits for
			return docstore.Result{}, errUnsettled()
		}
		if !q.settle(begun, list.Version) {
			return docstore.Result{}, errUnsettled()
		}
	}
}

// watched is a cursor whose waits are bounded.
type watched struct {
	docstore.Cursor
	w     *watch
	q     *query
	shard int32
}

func (c *watched) Next() (docstore.JSON, bool, error) {
	c.w.resume()
	d, ok, err := c.Cursor.Next()
	c.w.pause()
	return d, ok, c.q.failed(c.w, c.shard, err)
}

func (c *watched) Close() {
	c.Cursor.Close()
	c.w.end()
}

// outcome of one part.
type outcome struct {
	part
	res docstore.Result
	err error
}

// parallel executes a command on several shards at once; the session's own (or the
// only) one in the caller's goroutine. Cursors in the outcomes are to be closed.
func (q *query) parallel(ps []part, cmd func(part) *docstore.Command) []outcome {
	out := make([]outcome, len(ps))
	q.alone = len(ps) == 1
	var wg sync.WaitGroup
	one := func(i int) {
		w := q.watch()
		res, err := q.on(w.ctx, ps[i], cmd(ps[i]))
		w.pause()
		if err == nil && res.Docs != nil {
			res.Docs = &watched{Cursor: res.Docs, w: w, q: q, shard: ps[i].shard}
		} else {
			err = q.failed(w, ps[i].shard, err)
			w.end()
		}
		out[i] = outcome{ps[i], res, err}
	}
	home := -1
	for i := range ps {
		if q.alone || q.base.own(q, ps[i].shard) {
			home = i
			continue
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			one(i)
		}()
	}
	if home >= 0 {
		one(home)
	}
	wg.Wait()
	return out
}

func closeAll(list []outcome) {
	for _, o := range list {
		if o.err == nil && o.res.Docs != nil {
			o.res.Docs.Close()
		}
	}
}

// read executes a reading command on all shards that own one of the chunks. All
// have begun to answer when it returns, or the error names who did not.
func (q *query) read(set catalog.ChunkSet, cmd *docstore.Command) ([]outcome, error) {
	for begun := time.Now(); ; {
		list := q.top.Shards()
		ps := parts(list, set)
		if len(ps) > 1 && q.inTransaction() {
			return nil, errSecondShard(q.cmd)
		}
		out := q.parallel(ps, func(part) *docstore.Command { return cmd })
		stale, err := firstFailure(out)
		if err == nil && !stale {
			return out, nil
		}
		closeAll(out)
		if err != nil {
			return nil, err
		}
		if !q.settle(begun, list.Version) {
			return nil, errUnsettled()
		}
	}
}

// firstFailure finds the first error that is not StaleMap.
func firstFailure(list []outcome) (stale bool, err error) {
	for _, o := range list {
		switch {
		case o.err == nil:
		case pgerror.CodeOf(o.err) == StaleMap:
			stale = true
		case err == nil:
			err = o.err
		}
	}
	return stale, err
}

// write executes a writing command on all shards that own one of the chunks, each
// in a transaction of its own; a chunk is never written twice, also when chunks
// move meanwhile. An error says what has been changed elsewhere.
func (q *query) write(set catalog.ChunkSet, cmd func(part) *docstore.Command, took func(part, docstore.Result) error) error {
	rest := set
	changed := []string{}
	for begun := time.Now(); !rest.Empty(); {
		list := q.top.Shards()
		ps := parts(list, rest)
		if len(ps) > 1 && q.inTransaction() {
			return errSecondShard(q.cmd)
		}
		out := q.parallel(ps, cmd)
		for _, o := range out {
			if o.err != nil {
				continue
			}
			rest = rest.Minus(o.set)
			if o.res.Docs != nil {
				o.res.Docs.Close()
			}
			if n := o.res.Inserted + o.res.Modified + o.res.Deleted + o.res.Upserted; n > 0 && !q.base.own(q, o.shard) {
				changed = append(changed, fmt.Sprintf("%d on %s", n, Describe(list, o.shard)))
			}
			if err := took(o.part, o.res); err != nil {
				return err
			}
		}
		stale, err := firstFailure(out)
		if err != nil {
			return q.partly(err, changed)
		}
		if stale && !q.settle(begun, list.Version) {
			return q.partly(errUnsettled(), changed)
		}
	}
	return nil
}

// partly adds to an error what other shards have changed already.
func (q *query) partly(err error, changed []string) error {
	if len(changed) == 0 {
		return err
	}
	c := *asError(err)
	detail := fmt.Sprintf("doc.%s() is atomic on each shard only. Changed already: %s.", q.cmd.Op, strings.Join(changed, ", "))
	if c.Detail != "" {
		detail = c.Detail + " " + detail
	}
	c.Detail = detail
	return &c
}

func asError(err error) *pgerror.Error {
	var pe *pgerror.Error
	if errors.As(err, &pe) {
		return pe
	}
	return &pgerror.Error{Code: pgerror.CodeOf(err), Message: err.Error()}
}

func joinNames(before string, names []string) string { return before + strings.Join(names, ", ") }
