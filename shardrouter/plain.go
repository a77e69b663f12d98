package shardrouter

import (
	"context"
	"slices"
	"sync"
	"time"

	"ostraka/docstore"
	"ostraka/engine/catalog"
	"ostraka/shardrouter/chunk"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Plain routes commands to servers that do not know that they are shards: the map
// and the keys are the caller's, every server has a collection by its own name, and
// executes commands (KindPlain) with the rights of the session's user. One server,
// HomePlain, has what is not sharded. Safe for concurrent use.
type Plain struct {
	// Keys are the shard keys of the sharded collections.
	Keys map[string]*chunk.Key
	// Timeout bounds the wait for a server; 0: none.
	Timeout time.Duration
}

// HomePlain is the id of the server with everything that is not sharded. Ids count
// from it in the order in which the servers are listed.
const HomePlain int32 = 1

// PlainSession is a client's session before plain servers.
type PlainSession interface {
	TxnSession
	Topology
	// RunHome executes a request in the session's own transaction on HomePlain.
	RunHome(ctx context.Context, req *Request) (docstore.Result, error)
}

// Concerns reports a command that HomePlain alone would answer wrongly.
func (r *Plain) Concerns(cmd *docstore.Command) bool {
	if _, ok := r.Keys[cmd.Collection]; ok && cmd.Op != docstore.OpListCollections {
		return true
	}
	switch cmd.Op {
	case docstore.OpAggregate:
		return readsSharded(r.sharded, cmd)
	case docstore.OpCreateCollection:
		_, asked := cmd.Options.Lookup("shard_key")
		return cmd.Options.Kind() == sqltypes.JSONObject && asked
	}
	return false
}

func (r *Plain) sharded(name string) (bool, error) {
	_, ok := r.Keys[name]
	return ok, nil
}

// Run executes a command that Concerns the router. Docs of the answer are closed by the caller.
func (r *Plain) Run(ctx context.Context, sess PlainSession, cmd *docstore.Command) (docstore.Result, error) {
	if Reserved(cmd.Collection) {
		return docstore.Result{}, pgerror.New(pgerror.ReservedName, "the collection name %q is reserved", cmd.Collection)
	}
	writes, err := Writes(cmd)
	if err != nil {
		return docstore.Result{}, err
	}
	if cmd.Op == docstore.OpAggregate && writes {
		return docstore.Result{}, pgerror.NotSupported("$out and $merge through a router")
	}
	q := &query{top: sess, base: &plainBase{r: r, sess: sess}, ctx: ctx, sess: sess, cmd: cmd, key: r.Keys[cmd.Collection], writes: writes, timeout: r.Timeout,
		inTxn: sess.InBlock(), participant: sess.Participant(), now: sess.Now()}
	if q.key == nil && cmd.Op == docstore.OpCreateCollection {
		return docstore.Result{}, pgerror.NotSupported("a shard key of the collection %q, which the router's configuration does not name", cmd.Collection).
			WithHint("Add it to the router's shard-keys.")
	}
	if writes && sess.ReadOnly() {
		return docstore.Result{}, pgerror.New(pgerror.ReadOnlySqlTransaction, "cannot execute doc.%s() in a read-only transaction", cmd.Op)
	}
	return q.run()
}

type plainBase struct {
	r    *Plain
	sess PlainSession
}

func (b *plainBase) own(q *query, shard int32) bool { return shard == HomePlain && q.inTxn }

func (b *plainBase) run(ctx context.Context, _ *query, req *Request) (docstore.Result, error) {
	return b.sess.RunHome(ctx, req)
}

func (b *plainBase) request(q *query, _ part, cmd *docstore.Command) *Request {
	c := *cmd
	req := &Request{Kind: KindPlain, Cmd: &c, Now: q.now}
	if q.key != nil {
		req.Key = q.key.Path
	}
	return req
}

func (b *plainBase) sharded(name string) (bool, error) { return b.r.sharded(name) }

func (b *plainBase) unsharded(chunks int) catalog.ChunkSet {
	set := catalog.NewChunkSet(chunks)
	for c, id := range b.sess.Shards().Map {
		if id == HomePlain {
			set.Add(c)
			return set
		}
	}
	return set
}

// merge runs here; $lookup reads through the router.
func (b *plainBase) merge(q *query, pipeline docstore.JSON, in docstore.Cursor) (docstore.Result, error) {
	st := &docstore.State{Now: q.now, Fetch: func(ctx context.Context, cmd *docstore.Command) (docstore.Result, error) {
		if b.r.Concerns(cmd) {
			return b.r.Run(ctx, b.sess, cmd)
		}
		sub := *q
		sub.cmd, sub.key = cmd, nil
		return sub.home(ctx)
	}}
	res, err := docstore.RunMerge(q.ctx, st, pipeline, in)
	if err != nil {
		in.Close()
	}
	return res, err
}

// home executes the query as it is on the server with what is not sharded.
func (q *query) home(ctx context.Context) (docstore.Result, error) {
	res, err := q.on(ctx, part{shard: HomePlain}, q.cmd)
	return res, q.failed(nil, HomePlain, err)
}

func (b *plainBase) local(q *query) (docstore.Result, error) {
	if q.cmd.Op == docstore.OpCreateCollection {
		return b.ddl(q)
	}
	return q.home(q.ctx)
}

// ddl is executed by every server. Whether all can be reached is tried first; what
// fails later names who has done it, and doing it again completes it: a server that
// has the change already does not refuse it then.
func (b *plainBase) ddl(q *query) (docstore.Result, error) {
	cmd := *q.cmd
	if q.inTxn {
		return docstore.Result{}, pgerror.New(pgerror.ActiveSqlTransaction, "doc.%s() of a sharded collection cannot run inside a transaction block", cmd.Op)
	}
	if err := b.checkKey(q, &cmd); err != nil {
		return docstore.Result{}, err
	}
	list := b.sess.Shards()
	all := make([]part, 0, len(list.Shards))
	for _, s := range list.Shards {
		all = append(all, part{shard: s.ID})
	}
	if _, err := b.reach(q, all); err != nil {
		return docstore.Result{}, err
	}
	out := q.parallel(all, func(part) *docstore.Command { return &cmd })
	return b.agree(q, out)
}

// checkKey refuses what contradicts the router's configuration and takes the key
// out of the command: the servers need not know it.
func (b *plainBase) checkKey(q *query, cmd *docstore.Command) error {
	switch cmd.Op {
	case docstore.OpCreateCollection:
		if cmd.Options.Kind() != sqltypes.JSONObject {
			return nil
		}
		var rest []sqltypes.JSONPair
		for _, p := range cmd.Options.Pairs() {
			if p.Key != "shard_key" {
				rest = append(rest, p)
				continue
			}
			if p.Value.Kind() != sqltypes.JSONString || p.Value.Str() != q.key.Path {
				return pgerror.New(pgerror.InvalidParameterValue, "the shard key of collection %q is %q in the router's configuration", cmd.Collection, q.key.Path)
			}
		}
		cmd.Options = sqltypes.JSONObjectOf(rest)
	case docstore.OpCreateIndex:
		x := cmd.Index
		if x != nil && x.Unique && !slices.ContainsFunc(x.Fields, func(f docstore.IndexField) bool { return f.Path == q.key.Path }) {
			return pgerror.NotSupported("a unique index of a sharded collection without its shard key %q", q.key.Path)
		}
	}
	return nil
}

// reach asks every server for something small.
func (b *plainBase) reach(q *query, all []part) ([]outcome, error) {
	sub := *q
	sub.cmd, sub.writes = &docstore.Command{Op: docstore.OpListCollections, Take: -1}, false
	out := sub.parallel(all, func(part) *docstore.Command { return sub.cmd })
	closeAll(out)
	_, err := firstFailure(out)
	return out, err
}

// agree makes one answer of all servers'. That one has or lacks already what is to
// be made or dropped is an error only when no server has done anything.
func (b *plainBase) agree(q *query, out []outcome) (docstore.Result, error) {
	closeAll(out)
	var res docstore.Result
	var done, names []string
	var failed, already error
	for _, o := range out {
		name := Describe(b.sess.Shards(), o.shard)
		switch code := pgerror.CodeOf(o.err); {
		case o.err == nil:
			if len(done) == 0 || o.res.Value.Kind() == sqltypes.JSONBool && o.res.Value.Bool() {
				res = o.res
			}
			done = append(done, name)
		case code == pgerror.DuplicateTable || code == pgerror.UndefinedObject || code == pgerror.UndefinedTable:
			already = o.err
		default:
			names = append(names, name)
			if failed == nil {
				failed = o.err
			}
		}
	}
	switch {
	case failed == nil && len(done) > 0:
		return res, nil
	case failed == nil:
		return res, already
	case len(done) == 0:
		return res, failed
	}
	e := *asError(failed)
	e.Detail, e.Hint = joinNames("Done already on ", done)+". "+joinNames("Not done on ", names)+".", "Do it again to complete it."
	return res, &e
}

// plainTopology is a fixed map; see NewPlainTopology.
type plainTopology struct {
	list *catalog.Shards
	mu   sync.Mutex
	back map[int32]Backend // guarded by mu
	open func(id int32) Backend
}

// NewPlainTopology is the Topology of a fixed map over named servers, whose
// backends are opened when they are first needed.
func NewPlainTopology(names []string, chunks []int32, open func(id int32) Backend) Topology {
	list := &catalog.Shards{Version: 1, Hash: catalog.HashVersion, Map: chunks}
	for i, n := range names {
		list.Shards = append(list.Shards, catalog.Shard{ID: HomePlain + int32(i), Name: n, State: catalog.ShardActive})
	}
	return &plainTopology{list: list, back: map[int32]Backend{}, open: open}
}

func (t *plainTopology) Shards() *catalog.Shards         { return t.list }
func (t *plainTopology) Refresh(context.Context, uint64) {}

func (t *plainTopology) Backend(id int32, _ bool) (Backend, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.back[id]
	if b == nil {
		if b = t.open(id); b == nil {
			return nil, pgerror.New(pgerror.UndefinedObject, "shard %d does not exist", id)
		}
		t.back[id] = b
	}
	return b, nil
}
