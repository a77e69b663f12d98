package shardrouter

import (
	"context"
	"errors"
	"math/bits"
	"slices"
	"strconv"
	"time"

	"ostraka/docstore"
	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/shardrouter/chunk"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Sharded is the Router of a cluster: commands on collections with a shard key go
// to the shards that own the chunks, everything else runs in the session's own
// transaction on shard 0.
type Sharded struct {
	Cluster Cluster
	// Mover carries out changes of collections; Kick makes it begin at once.
	Mover *Mover
	Kick  func()
}

var _ Router = (*Sharded)(nil)

// query is one command on a sharded collection.
type query struct {
	top    Topology
	base   base
	ctx    context.Context
	sess   TxnSession
	cmd    *docstore.Command
	key    *chunk.Key // nil: the collection is not sharded, the command reads one that is
	writes bool
	// timeout bounds the wait for a shard; 0: none.
	timeout time.Duration
	// What the session said when the query began, for the goroutines of a scatter.
	inTxn       bool // what is done must be part of the session's transaction: in a block, and for writes of a statement that may go on
	participant Participant
	now         time.Time
	// alone: one shard only is asked, in the session's goroutine.
	alone bool
	// How the statement may read replicas of this process (nil: there are none).
	reads    ReplicaReads
	replicas func(shard int32) engine.Engine
}

// Run implements Router.
func (r *Sharded) Run(ctx context.Context, sess SessionContext, cmd *docstore.Command) (docstore.Result, error) {
	if Reserved(cmd.Collection) {
		return docstore.Result{}, pgerror.New(pgerror.ReservedName, "the collection name %q is reserved", cmd.Collection)
	}
	s, ok := sess.(txnSession)
	if !ok {
		return Local{}.Run(ctx, sess, cmd)
	}
	writes, err := Writes(cmd)
	if err != nil {
		return docstore.Result{}, err
	}
	cat, err := catalogOf(sess, cmd, writes)
	if err != nil {
		return docstore.Result{}, err
	}
	if cmd.Op == docstore.OpListCollections {
		return r.list(ctx, sess, cmd)
	}
	coll, err := docstore.Lookup(cat, cmd.Collection)
	if err != nil {
		return docstore.Result{}, err
	}
	if coll == nil && cmd.Op == docstore.OpWatch {
		coll = catchUp(ctx, sess, cmd.Collection)
	}
	path, sharded := "", false
	if coll != nil {
		path, sharded = coll.Option("shard_key")
	}
	if sharded && cmd.KeepKey != "" && cmd.KeepKey != path {
		return docstore.Result{}, pgerror.NotSupported("the shard key %q of collection %q, which is sharded by %q here", cmd.KeepKey, cmd.Collection, path)
	}
	if !sharded {
		if cmd.Op == docstore.OpCreateCollection {
			if err := checkShardKey(cmd); err != nil {
				return docstore.Result{}, err
			}
		}
		if err := refuseSharded(shardedIn(cat), cmd); err != nil {
			return docstore.Result{}, err
		}
		if p := s.Participant(); p != nil && writes {
			return docstore.Result{}, errSecondShard(cmd)
		}
		if cmd.Op == docstore.OpAggregate && readsSharded(shardedIn(cat), cmd) {
			return Local{Fetch: r.fetch(sess)}.Run(ctx, sess, cmd)
		}
		return Local{}.Run(ctx, sess, cmd)
	}
	b := &nodeBase{r: r, sess: s, coll: coll}
	q := &query{top: r.Cluster, base: b, ctx: ctx, sess: s, cmd: cmd, writes: writes, timeout: timeoutOf(s),
		inTxn: s.InBlock() || writes && !s.TopLevel(), participant: s.Participant(), now: s.Now(),
		reads: s.ReplicaReads(), replicas: r.Cluster.Replica}
	if e, ok := sess.(interface{ Engine() engine.Engine }); ok {
		b.eng = e.Engine()
	}
	if q.key, err = chunk.ParseKey(path); err != nil {
		return docstore.Result{}, err
	}
	if !sess.MayUse(coll.Rel, writes) {
		return docstore.Result{}, pgerror.New(pgerror.InsufficientPrivilege, "permission denied for collection %s", cmd.Collection)
	}
	return q.run()
}

// catalogOf is the catalogue that the command sees on shard 0.
func catalogOf(sess SessionContext, cmd *docstore.Command, writes bool) (*catalog.Catalog, error) {
	if writes {
		tx, err := sess.WriteTxn("doc." + cmd.Op.String() + "()")
		if err != nil {
			return nil, err
		}
		return tx.Catalog(), nil
	}
	v, release, err := sess.ReadView()
	if err != nil {
		return nil, err
	}
	defer release()
	return v.Catalog(), nil
}

func timeoutOf(s txnSession) time.Duration {
	if v, ok := s.Setting("ostraka.request_timeout"); ok {
		if d, err := time.ParseDuration(v); err == nil {
			return d
		}
		if ms, err := strconv.ParseInt(v, 10, 64); err == nil {
			return time.Duration(ms) * time.Millisecond
		}
	}
	return requestTimeout
}

// checkShardKey refuses a path that cannot be a shard key.
func checkShardKey(cmd *docstore.Command) error {
	if cmd.Options.IsZero() || cmd.Options.Kind() != sqltypes.JSONObject {
		return nil
	}
	v, ok := cmd.Options.Lookup("shard_key")
	if !ok || v.Kind() != sqltypes.JSONString {
		return nil
	}
	_, err := chunk.ParseKey(v.Str())
	return err
}

// shardedIn tells the sharded collections of a catalogue.
func shardedIn(cat *catalog.Catalog) func(name string) (bool, error) {
	return func(name string) (bool, error) {
		c, err := docstore.Lookup(cat, name)
		if c == nil || err != nil {
			return false, err
		}
		_, sharded := c.Option("shard_key")
		return sharded, nil
	}
}

// refuseSharded refuses a pipeline that writes into a sharded collection.
func refuseSharded(sharded func(string) (bool, error), cmd *docstore.Command) error {
	if cmd.Op != docstore.OpAggregate || cmd.Pipeline.IsZero() {
		return nil
	}
	var err error
	eachCollection(cmd.Pipeline, func(stage, name string) {
		if err != nil {
			return
		}
		var found bool
		if found, err = sharded(name); found && (stage == "$out" || stage == "$merge") {
			err = pgerror.NotSupported("%s with the sharded collection %q", stage, name)
		}
	})
	return err
}

// readsSharded reports a pipeline with a stage that reads a sharded collection.
func readsSharded(sharded func(string) (bool, error), cmd *docstore.Command) bool {
	found := false
	eachCollection(cmd.Pipeline, func(_, name string) {
		if ok, err := sharded(name); err == nil && ok {
			found = true
		}
	})
	return found
}

// eachCollection calls f for every collection that a pipeline names.
func eachCollection(j docstore.JSON, f func(stage, name string)) {
	switch j.Kind() {
	case sqltypes.JSONArray:
		for _, e := range j.Elems() {
			eachCollection(e, f)
		}
	case sqltypes.JSONObject:
		for _, p := range j.Pairs() {
			switch p.Key {
			case "$lookup", "$graphLookup", "$unionWith", "$out", "$merge":
				v := p.Value
				for range 2 {
					if v.Kind() == sqltypes.JSONString {
						f(p.Key, v.Str())
						break
					}
					if v.Kind() != sqltypes.JSONObject {
						break
					}
					next := docstore.JSON{}
					for _, k := range []string{"from", "coll", "into"} {
						if x, ok := v.Lookup(k); ok {
							next = x
						}
					}
					if next.IsZero() {
						break
					}
					v = next
				}
			}
			if p.Value.IsContainer() {
				eachCollection(p.Value, f)
			}
		}
	}
}

// list hides the collections that sharding itself keeps.
func (r *Sharded) list(ctx context.Context, sess SessionContext, cmd *docstore.Command) (docstore.Result, error) {
	res, err := Local{}.Run(ctx, sess, cmd)
	if err != nil {
		return res, err
	}
	res.Docs = filtered{res.Docs, func(d docstore.JSON) bool {
		n, _ := d.Lookup("name")
		return n.Kind() != sqltypes.JSONString || !Reserved(n.Str())
	}}
	return res, nil
}

type filtered struct {
	docstore.Cursor
	keep func(docstore.JSON) bool
}

func (f filtered) Next() (docstore.JSON, bool, error) {
	for {
		d, ok, err := f.Cursor.Next()
		if !ok || err != nil || f.keep(d) {
			return d, ok, err
		}
	}
}

// ShardName is a collection's name on shards other than shard 0: unique for ever,
// since descriptors' OIDs are not used again.
func ShardName(rel *catalog.Relation) string {
	return rel.Name + ":" + strconv.FormatUint(uint64(rel.OID), 10)
}

func errSecondShard(cmd *docstore.Command) error {
	return pgerror.NotSupported("doc.%s() on a second shard in one transaction", cmd.Op).
		WithHint("Do what is on one shard in one transaction, or give the shard key in the filter.")
}

// run dispatches by operation. What is not listed is refused by name: what one
// shard answers would be wrong.
func (q *query) run() (docstore.Result, error) {
	if err := refuseSharded(q.base.sharded, q.cmd); err != nil {
		return docstore.Result{}, err
	}
	switch q.cmd.Op {
	case docstore.OpInsert:
		return q.insert()
	case docstore.OpFind:
		return q.find()
	case docstore.OpFindOne:
		return q.findOne()
	case docstore.OpCount:
		return q.count()
	case docstore.OpDistinct:
		return q.distinct()
	case docstore.OpUpdate, docstore.OpDelete, docstore.OpExpire, docstore.OpCompact:
		return q.many()
	case docstore.OpUpdateOne, docstore.OpReplaceOne, docstore.OpFindAndUpdate, docstore.OpDeleteOne:
		return q.one()
	case docstore.OpAggregate:
		return q.aggregate()
	case docstore.OpTextSearch, docstore.OpVectorSearch:
		return q.search()
	case docstore.OpStats:
		return q.stats()
	case docstore.OpFindForUpdate:
		return q.keyed()
	case docstore.OpExplain:
		return q.explain()
	case docstore.OpRecordChanges:
		return q.base.ddl(q)
	case docstore.OpCreateIndex, docstore.OpDropIndex, docstore.OpDropCollection:
		return q.base.ddl(q)
	case docstore.OpWatch:
		return q.watchAll()
	case docstore.OpCreateCollection, docstore.OpListIndexes:
		return q.base.local(q)
	}
	return docstore.Result{}, pgerror.NotSupported("doc.%s() on a sharded collection", q.cmd.Op)
}

// chunks are those that a filter's documents can be in; keyed says that the
// filter fixes the shard key.
func (q *query) chunks(filter docstore.JSON) (set catalog.ChunkSet, keyed bool, err error) {
	n := len(q.top.Shards().Map)
	f, err := docstore.CompileFilter(filter)
	if err != nil {
		return nil, false, err
	}
	if q.key == nil {
		return q.base.unsharded(n), false, nil
	}
	vals, ok := f.KeyValues(q.key.Path)
	if !ok {
		return catalog.AllChunks(n), false, nil
	}
	set = catalog.NewChunkSet(n)
	if len(vals) == 0 { // $in: []
		vals = []docstore.JSON{{}}
	}
	for _, v := range vals {
		c, err := chunk.OfValue(v, n)
		if err != nil {
			return catalog.AllChunks(n), false, nil
		}
		set.Add(c)
	}
	return set, true, nil
}

// part is what one shard does of a query.
type part struct {
	shard int32
	set   catalog.ChunkSet
}

// parts splits chunks by owner, ascending by shard.
func parts(list *catalog.Shards, set catalog.ChunkSet) []part {
	var out []part
	for at, b := range set {
		for ; b != 0; b &= b - 1 {
			c := at*8 + bits.TrailingZeros8(b)
			if c >= len(list.Map) {
				break
			}
			i, found := slices.BinarySearchFunc(out, list.Map[c], func(p part, id int32) int { return int(p.shard) - int(id) })
			if !found {
				out = slices.Insert(out, i, part{list.Map[c], catalog.NewChunkSet(len(list.Map))})
			}
			out[i].set.Add(c)
		}
	}
	return out
}

// errTimeout is the cause of a context that a shard let run out.
var errTimeout = errors.New("shardrouter: the shard did not answer in time")

// watch is a context that ends when a shard lets it wait too long.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	limit  time.Duration
}

func (q *query) watch() *watch {
	w := &watch{limit: q.timeout}
	w.ctx, w.cancel = context.WithCancelCause(q.ctx)
	if w.limit > 0 {
		w.timer = time.AfterFunc(w.limit, func() { w.cancel(errTimeout) })
	}
	return w
}

func (w *watch) pause() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

func (w *watch) resume() {
	if w.timer != nil {
		w.timer.Reset(w.limit)
	}
}

func (w *watch) end() {
	w.pause()
	w.cancel(context.Canceled)
}

// failed puts the shard's name into errors that are about reaching it.
func (q *query) failed(w *watch, id int32, err error) error {
	if err == nil || q.ctx.Err() != nil {
		return err
	}
	name := Describe(q.top.Shards(), id)
	if w != nil && context.Cause(w.ctx) == errTimeout {
		if q.writes && !errors.As(err, new(*unsent)) {
			return pgerror.Wrap(err, pgerror.TransactionResolutionUnknown, "%s did not answer doc.%s() within %v: the outcome is unknown", name, q.cmd.Op, q.timeout).
				WithHint("It may or may not have been made; look before you repeat it.")
		}
		return pgerror.Wrap(err, pgerror.ConnectionFailure, "%s did not answer doc.%s() within %v", name, q.cmd.Op, q.timeout)
	}
	code := pgerror.CodeOf(err)
	switch {
	case code == StaleMap:
		return err
	case code == pgerror.TransactionResolutionUnknown, code == "40003":
		return pgerror.Wrap(err, pgerror.TransactionResolutionUnknown, "the outcome of doc.%s() on %s is unknown", q.cmd.Op, name).
			WithDetail("%s", err.Error()).WithHint("It may or may not have been made; look before you repeat it.")
	case code[:2] == "08", code == pgerror.CannotConnectNow, code == "57P01", errors.Is(err, engine.ErrNotLeader):
		return pgerror.Wrap(err, pgerror.ConnectionFailure, "doc.%s() failed on %s", q.cmd.Op, name).WithDetail("%s", err.Error())
	}
	return err
}
