package shardrouter

import (
	"context"
	"strings"
	"time"

	"ostraka/docstore"
	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/shardrouter/chunk"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// StaleMap is the SQLSTATE with which a shard refuses a request for chunks that
// it does not own; nothing has been done. Front ends look at a newer map and try
// again, so it does not reach clients.
const StaleMap pgerror.Code = "OS001"

func errStale(version uint64) error {
	return pgerror.New(StaleMap, "the shard does not own every chunk of the request").WithDetail("It knows version %d of the chunk map.", version)
}

// changesCollection holds what was written to chunks that are being moved.
const changesCollection = "ostraka:changes"

// Reserved reports a collection's name that is not for users.
func Reserved(name string) bool { return strings.HasPrefix(name, "ostraka:") }

// side is one shard while it serves a request.
type side struct {
	eng  engine.Engine
	st   *docstore.State
	home bool // shard 0
	req  *Request
	key  *chunk.Key
}

// Serve executes a request on a shard, in the transaction or view of st; home
// says that it is shard 0. The caller has started a statement and ends the
// transaction. A write takes locks that order it with changes of what the shard owns.
func Serve(ctx context.Context, eng engine.Engine, st *docstore.State, home bool, req *Request) (docstore.Result, error) {
	s := &side{eng: eng, st: st, home: home, req: req}
	if st.Now.IsZero() {
		st.Now = req.Now
	}
	if req.Key != "" {
		var err error
		if s.key, err = chunk.ParseKey(req.Key); err != nil {
			return docstore.Result{}, err
		}
	}
	if req.Cmd == nil {
		switch req.Kind {
		case KindCommand, KindDDL, KindCopy, KindChanged, KindSettle, KindPut, KindRemove, KindClean:
			return docstore.Result{}, errMalformed
		}
	}
	writes, err := req.Writes()
	if err != nil {
		return docstore.Result{}, err
	}
	if !writes {
		return s.read(ctx)
	}
	if st.Txn == nil {
		return docstore.Result{}, pgerror.New(pgerror.ReadOnlySqlTransaction, "cannot write in a read-only transaction")
	}
	switch req.Kind {
	case KindTell, KindRecord, KindForget, KindTake, KindGive:
		return s.own(ctx)
	case KindDDL:
		return s.ddl(ctx)
	case KindCommand:
		return s.write(ctx)
	}
	return s.transfer(ctx)
}

// owned is what the shard owns according to a catalogue.
func (s *side) owned(cat *catalog.Catalog) *catalog.Owned { return ownedBy(cat, s.home, s.req.Count) }

func ownedBy(cat *catalog.Catalog, home bool, count int) *catalog.Owned {
	if cat != nil {
		if o := cat.Owned(); o != nil {
			return o
		}
	}
	o := &catalog.Owned{Count: count, Chunks: catalog.NewChunkSet(count)}
	if home {
		o.Chunks = catalog.AllChunks(count)
	}
	return o
}

// check refuses a request for chunks that the state does not own.
func (s *side) check(cat *catalog.Catalog) error {
	if o := s.owned(cat); !o.Chunks.Contains(s.req.Chunks) {
		return errStale(o.Version)
	}
	return nil
}

// accept hides documents of chunks that the request is not about.
func (s *side) accept() func(docstore.JSON) bool {
	if s.key == nil {
		return nil
	}
	return func(doc docstore.JSON) bool {
		c, err := s.key.Chunk(doc, s.req.Count)
		return err == nil && s.req.Chunks.Has(c)
	}
}

func (s *side) read(ctx context.Context) (docstore.Result, error) {
	cat := s.st.View.Catalog()
	switch s.req.Kind {
	case KindOwned:
		return s.describe(cat)
	case KindCopy:
		return s.copy(ctx)
	case KindChanged:
		return s.changed(ctx)
	}
	if err := s.check(cat); err != nil {
		return docstore.Result{}, err
	}
	cmd := *s.req.Cmd
	if cmd.Op == docstore.OpWatch {
		s.st.Feeds = s.eng
		return docstore.Run(ctx, s.st, &cmd)
	}
	cmd.Accept = s.accept()
	return docstore.Run(ctx, s.st, &cmd)
}

// lock takes the lock that orders writers (share) and changes of what is owned,
// and looks again at the newest state.
func (s *side) lock(ctx context.Context, mode engine.RelLock) error {
	tx := s.st.Txn
	wait := ctx
	if mode == engine.AccessExclusive { // writers queue behind it: a long transaction must not stop them all
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeout(ctx, ownLockWait)
		defer cancel()
	}
	if err := tx.LockRelation(wait, catalog.OwnedOID, mode, engine.WaitBlock); err != nil {
		if ctx.Err() == nil && wait.Err() != nil {
			return pgerror.New(pgerror.LockNotAvailable, "transactions that write on the shard did not end within %v", ownLockWait)
		}
		return err
	}
	if tx.Options().Isolation == engine.ReadCommitted {
		return tx.StartStatement(ctx)
	}
	return nil
}

// write executes a command that writes: with the lock held, what the shard owns
// cannot change before the transaction ends.
func (s *side) write(ctx context.Context) (docstore.Result, error) {
	if err := s.check(s.eng.Catalog(catalog.PostgresDB)); err != nil {
		return docstore.Result{}, err
	}
	save := s.st.Txn.Savepoint()
	if err := s.lock(ctx, engine.RowExclusive); err != nil {
		return docstore.Result{}, err
	}
	newest := s.eng.Catalog(catalog.PostgresDB)
	if err := s.check(newest); err != nil {
		// Whoever tries again must not hold the lock while it waits for the owner to change.
		if e := s.st.Txn.RollbackTo(save); e != nil {
			err = e
		}
		s.st.Txn.Release(save)
		return docstore.Result{}, err
	}
	s.st.Txn.Release(save)
	if cat := s.st.Txn.Catalog(); cat.Owned() != newest.Owned() {
		if err := s.check(cat); err != nil { // an older snapshot may lack documents that have moved here
			return docstore.Result{}, pgerror.New(pgerror.TRSerializationFailure, "could not serialize access because chunks have moved")
		}
	}
	s.st.MapVersion = s.owned(newest).Version
	cmd := *s.req.Cmd
	cmd.Accept = s.accept()
	if s.key == nil {
		return docstore.Run(ctx, s.st, &cmd)
	}
	if cmd.Op == docstore.OpInsert {
		for _, d := range cmd.Docs {
			c, err := s.key.Chunk(d, s.req.Count)
			if err != nil {
				return docstore.Result{}, err
			}
			if !s.req.Chunks.Has(c) {
				return docstore.Result{}, pgerror.New(pgerror.InternalError, "a document of chunk %d was routed to the wrong shard", c)
			}
		}
	}
	if cmd.Op == docstore.OpInsert || cmd.Upsert {
		if err := s.ensure(ctx, cmd.Collection); err != nil {
			return docstore.Result{}, err
		}
	}
	if o := s.owned(newest); !o.Moving.Empty() {
		s.st.Wrote = s.record(o)
		defer func() { s.st.Wrote = nil }()
	}
	return docstore.Run(ctx, s.st, &cmd)
}

// ensure makes the shard's part of a collection.
func (s *side) ensure(ctx context.Context, name string) error {
	c, err := docstore.Lookup(s.st.View.Catalog(), name)
	if c != nil || err != nil {
		return err
	}
	options := sqltypes.JSONObjectOf([]sqltypes.JSONPair{{Key: "shard_key", Value: sqltypes.JSONStringOf(s.req.Key)}})
	_, err = docstore.Run(ctx, s.st, &docstore.Command{Op: docstore.OpCreateCollection, Collection: name, Options: options})
	if pgerror.CodeOf(err) == pgerror.DuplicateTable {
		err = nil
	}
	return err
}

// record returns what notes the documents written in chunks that are moving.
func (s *side) record(o *catalog.Owned) func(ctx context.Context, collection string, was, is docstore.JSON) error {
	return func(ctx context.Context, collection string, was, is docstore.JSON) error {
		doc := is
		if doc.IsZero() {
			doc = was
		}
		c, err := s.key.Chunk(doc, s.req.Count)
		if err != nil || !o.Moving.Has(c) {
			return err
		}
		id, _ := doc.Lookup("_id")
		_, err = docstore.Run(ctx, &docstore.State{View: s.st.View, Txn: s.st.Txn, Now: s.st.Now, Owner: catalog.BootstrapRole}, &docstore.Command{
			Op: docstore.OpInsert, Collection: changesCollection, Docs: []docstore.JSON{sqltypes.JSONObjectOf([]sqltypes.JSONPair{
				{Key: "c", Value: sqltypes.JSONStringOf(collection)}, {Key: "i", Value: id}})}})
		return err
	}
}

// ddl changes the shard's part of a collection; doing it again is no error.
func (s *side) ddl(ctx context.Context) (docstore.Result, error) {
	cmd := *s.req.Cmd
	if cmd.Op == docstore.OpCreateIndex || cmd.Op == docstore.OpCreateCollection || cmd.Op == docstore.OpRecordChanges {
		if err := s.ensure(ctx, cmd.Collection); err != nil || cmd.Op == docstore.OpCreateCollection {
			return docstore.Result{}, err
		}
	}
	res, err := docstore.Run(ctx, s.st, &cmd)
	switch code := pgerror.CodeOf(err); {
	case cmd.Op == docstore.OpDropIndex && (code == pgerror.UndefinedObject || code == pgerror.UndefinedTable):
		return docstore.Result{}, nil
	}
	return res, err
}

// own changes what the shard owns. Writers in flight are waited for.
func (s *side) own(ctx context.Context) (docstore.Result, error) {
	if s.req.Kind == KindRecord {
		// Made first: whoever records finds it.
		if c, err := docstore.Lookup(s.st.Txn.Catalog(), changesCollection); err != nil {
			return docstore.Result{}, err
		} else if c == nil {
			st := &docstore.State{View: s.st.View, Txn: s.st.Txn, Now: s.st.Now, Owner: catalog.BootstrapRole}
			_, err := docstore.Run(ctx, st, &docstore.Command{Op: docstore.OpCreateCollection, Collection: changesCollection})
			if err != nil && pgerror.CodeOf(err) != pgerror.DuplicateTable {
				return docstore.Result{}, err
			}
		}
	}
	if err := s.lock(ctx, engine.AccessExclusive); err != nil {
		return docstore.Result{}, err
	}
	o := *s.owned(s.eng.Catalog(catalog.PostgresDB))
	if s.req.Kind == KindTell {
		if s.req.Version <= o.Mover {
			return docstore.Result{}, errOldMover()
		}
		o.Mover = s.req.Version
	} else if s.req.Version != o.Mover {
		return docstore.Result{}, errOldMover()
	}
	switch s.req.Kind {
	case KindRecord:
		o.Moving = o.Moving.Union(s.req.Chunks)
	case KindForget:
		o.Moving = o.Moving.Minus(s.req.Chunks)
	case KindTake:
		o.Chunks = o.Chunks.Union(s.req.Chunks)
	case KindGive:
		o.Chunks = o.Chunks.Minus(s.req.Chunks)
	}
	if s.req.Cmd != nil {
		o.Version = max(o.Version, uint64(s.req.Cmd.Skip))
	}
	o.Count = s.req.Count
	s.st.Txn.Schema().PutOwned(&o)
	return docstore.Result{}, nil
}

func errOldMover() error {
	return pgerror.New(pgerror.ObjectNotInPrerequisiteState, "another mover has taken over")
}

func (s *side) describe(cat *catalog.Catalog) (docstore.Result, error) {
	o := s.owned(cat)
	num := func(n int) docstore.JSON { return sqltypes.JSONNumberOf(sqltypes.NumericInt(int64(n))) }
	chunks := []docstore.JSON{}
	for _, c := range o.Chunks.Chunks() {
		chunks = append(chunks, num(c))
	}
	return docstore.Result{Value: sqltypes.JSONObjectOf([]sqltypes.JSONPair{{Key: "version", Value: num(int(o.Version))},
		{Key: "chunks", Value: sqltypes.JSONArrayOf(chunks)}, {Key: "moving", Value: num(o.Moving.Len())}})}, nil
}

// Bounds of one request of a mover.
const (
	copyScan  = 20000
	copyBytes = 4 << 20
)

// part are the documents of the request's chunks.
func (s *side) part() docstore.Part {
	p := docstore.Part{Chunks: s.req.Chunks.Chunks(), Count: s.req.Count, Has: s.accept()}
	if p.Has == nil {
		p.Has = func(docstore.JSON) bool { return false }
	}
	return p
}

func init() {
	docstore.Chunks = func(path string, count int) (func(docstore.JSON) (int, error), error) {
		key, err := chunk.ParseKey(path)
		if err != nil {
			return nil, err
		}
		return func(doc docstore.JSON) (int, error) { return key.Chunk(doc, count) }, nil
	}
}

func (s *side) copy(ctx context.Context) (docstore.Result, error) {
	var after docstore.JSON
	if len(s.req.Cmd.Docs) > 0 {
		after = s.req.Cmd.Docs[0]
	}
	docs, last, err := docstore.ReadFrom(ctx, s.st, s.req.Cmd.Collection, after, s.part(), copyScan, copyBytes)
	return docstore.Result{Docs: docstore.Slice(docs), Value: last}, err
}

// changed reads recorded changes with the documents as they are now.
func (s *side) changed(ctx context.Context) (docstore.Result, error) {
	recs, _, err := docstore.ReadFrom(ctx, s.st, changesCollection, docstore.JSON{}, docstore.Part{}, max(1, int(s.req.Cmd.Take)), copyBytes)
	if err != nil {
		return docstore.Result{}, err
	}
	out := make([]docstore.JSON, 0, len(recs))
	for _, r := range recs {
		rec, _ := r.Lookup("_id")
		coll, _ := r.Lookup("c")
		id, _ := r.Lookup("i")
		doc, err := docstore.ByID(ctx, s.st.View, coll.Str(), id)
		if err != nil {
			return docstore.Result{}, err
		}
		pairs := []sqltypes.JSONPair{{Key: "r", Value: rec}, {Key: "c", Value: coll}, {Key: "i", Value: id}}
		if !doc.IsZero() {
			pairs = append(pairs, sqltypes.JSONPair{Key: "d", Value: doc})
		}
		out = append(out, sqltypes.JSONObjectOf(pairs))
	}
	return docstore.Result{Docs: docstore.Slice(out)}, nil
}

// transfer is what movers write.
func (s *side) transfer(ctx context.Context) (docstore.Result, error) {
	if err := s.lock(ctx, engine.RowExclusive); err != nil {
		return docstore.Result{}, err
	}
	o := s.owned(s.eng.Catalog(catalog.PostgresDB))
	if s.req.Version != o.Mover {
		return docstore.Result{}, errOldMover()
	}
	cmd := s.req.Cmd
	st := *s.st
	st.Owner, st.May = catalog.BootstrapRole, nil
	var res docstore.Result
	switch s.req.Kind {
	case KindSettle:
		for _, id := range cmd.Docs {
			if err := docstore.Remove(ctx, &st, changesCollection, id); err != nil {
				return res, err
			}
		}
		return res, nil
	}
	if !o.Chunks.Intersect(s.req.Chunks).Empty() {
		return res, pgerror.New(pgerror.ObjectNotInPrerequisiteState, "the shard owns chunks that were to be overwritten")
	}
	switch s.req.Kind {
	case KindPut:
		if err := s.ensure(ctx, cmd.Collection); err != nil {
			return res, err
		}
		for _, d := range cmd.Docs {
			if err := docstore.Overwrite(ctx, &st, cmd.Collection, d); err != nil {
				return res, err
			}
			res.Inserted++
		}
	case KindRemove:
		for _, id := range cmd.Docs {
			if err := docstore.Remove(ctx, &st, cmd.Collection, id); err != nil {
				return res, err
			}
		}
	case KindClean:
		var after docstore.JSON
		if len(cmd.Docs) > 0 {
			after = cmd.Docs[0]
		}
		docs, last, err := docstore.ReadFrom(ctx, &st, cmd.Collection, after, s.part(), copyScan, copyBytes)
		if err != nil {
			return res, err
		}
		for _, d := range docs {
			id, _ := d.Lookup("_id")
			if err := docstore.Remove(ctx, &st, cmd.Collection, id); err != nil {
				return res, err
			}
			res.Deleted++
		}
		res.Value = last
	}
	return res, nil
}

// ownLockWait is how long a change of what a shard owns waits for writers.
const ownLockWait = 2 * time.Second

// requestTimeout is the default of ostraka.request_timeout.
const requestTimeout = 30 * time.Second
