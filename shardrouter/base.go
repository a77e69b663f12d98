package shardrouter

import (
	"context"

	"ostraka/docstore"
	"ostraka/engine"
	"ostraka/engine/catalog"
)

// base is what a query stands on besides the shards: where collections are known,
// the shard that is part of the session's own transaction, and where merging
// pipelines end. A node's is nodeBase; before plain servers it is plainBase.
type base interface {
	// own says that requests to the shard run in the session's own transaction; run does that.
	own(q *query, shard int32) bool
	run(ctx context.Context, q *query, req *Request) (docstore.Result, error)
	// request makes what a shard is asked.
	request(q *query, p part, cmd *docstore.Command) *Request
	// sharded says whether a collection is.
	sharded(name string) (bool, error)
	// unsharded are chunks whose owner keeps the collections that are not sharded.
	unsharded(chunks int) catalog.ChunkSet
	// merge runs the merging part of a pipeline.
	merge(q *query, pipeline docstore.JSON, in docstore.Cursor) (docstore.Result, error)
	// ddl changes the collection on every shard, local executes the command where collections are known.
	ddl(q *query) (docstore.Result, error)
	local(q *query) (docstore.Result, error)
}

// nodeBase is a node's session: shard 0 is its own transaction's.
type nodeBase struct {
	r    *Sharded
	sess txnSession
	eng  engine.Engine // shard 0's
	coll *docstore.Collection
}

func (b *nodeBase) own(_ *query, shard int32) bool { return shard == 0 }

func (b *nodeBase) run(ctx context.Context, q *query, req *Request) (docstore.Result, error) {
	st := &docstore.State{Now: q.now, Owner: b.sess.RoleOID()}
	release := func() {}
	var err error
	if q.writes {
		if st.Txn, err = b.sess.WriteTxn("doc." + q.cmd.Op.String() + "()"); err != nil {
			return docstore.Result{}, err
		}
		st.View = st.Txn
	} else if st.View, release, err = b.sess.ReadView(); err != nil {
		return docstore.Result{}, err
	}
	defer release()
	return Serve(ctx, b.eng, st, true, req)
}

func (b *nodeBase) request(q *query, p part, cmd *docstore.Command) *Request {
	list := q.top.Shards()
	c := *cmd
	if p.shard != 0 {
		c.Collection = ShardName(b.coll.Rel)
	}
	return &Request{Kind: KindCommand, Version: list.Version, Chunks: p.set, Count: len(list.Map), Key: q.key.Path, Cmd: &c, Now: q.now}
}

func (b *nodeBase) sharded(name string) (bool, error) {
	v, release, err := b.sess.ReadView()
	if err != nil {
		return shardedIn(b.eng.Catalog(catalog.PostgresDB))(name)
	}
	defer release()
	return shardedIn(v.Catalog())(name)
}

// unsharded is not asked: such commands run in the session's own transaction.
func (b *nodeBase) unsharded(chunks int) catalog.ChunkSet { return catalog.AllChunks(chunks) }

// merge runs on shard 0; $lookup reads through the router.
func (b *nodeBase) merge(q *query, pipeline docstore.JSON, in docstore.Cursor) (docstore.Result, error) {
	st := &docstore.State{Now: q.now, Owner: b.sess.RoleOID(), May: b.sess.MayUse, Fetch: b.r.fetch(b.sess)}
	release := func() {}
	var err error
	if q.writes {
		if st.Txn, err = b.sess.WriteTxn("doc.aggregate()"); err == nil {
			st.View = st.Txn
		}
	} else {
		st.View, release, err = b.sess.ReadView()
	}
	if err != nil {
		in.Close()
		return docstore.Result{}, err
	}
	res, err := docstore.RunMerge(q.ctx, st, pipeline, in)
	release()
	if err != nil {
		in.Close()
	}
	return res, err
}

func (b *nodeBase) local(q *query) (docstore.Result, error) { return Local{}.Run(q.ctx, b.sess, q.cmd) }

// fetch is how stages of a pipeline read other collections.
func (r *Sharded) fetch(sess SessionContext) func(ctx context.Context, cmd *docstore.Command) (docstore.Result, error) {
	return func(ctx context.Context, cmd *docstore.Command) (docstore.Result, error) {
		return r.Run(ctx, sess, cmd)
	}
}
