package shardrouter

import (
	"context"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"ostraka/docstore"
	"ostraka/engine/catalog"
	"ostraka/shardrouter/chunk"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Mover carries out chunk moves and changes of collections that have to reach
// every shard. What is to be done stands in the list of shards, which is
// replicated, and every step can be repeated: whoever leads shard 0 goes on. A
// move copies the chunks' documents while the source records what is written to
// them, catches up until little is left, lets the source give up the chunks, copies
// the rest, lets the target take them, publishes the new map and cleans up. At no
// moment do two shards own a chunk. Attempts are numbered, and shards refuse
// older ones than they have seen, so that a mover that was cut off does no harm.
type Mover struct {
	Cluster Cluster
	// Databases lists the catalogues of shard 0's databases.
	Databases func() []*catalog.Catalog
	Log       *slog.Logger
	// Halt, when not nil, is asked before every step of a move; for tests.
	Halt func(step string) error

	mu     sync.Mutex
	failed map[int32]error // by broadcast or move: the newest error; guarded by mu
	done   map[int32]error // broadcasts that were refused for good; guarded by mu
}

// part of a collection that is moved.
type moved struct {
	db    sqltypes.OID
	name  string // on shard 0
	other string // on other shards
	key   *chunk.Key
	coll  *docstore.Collection
}

func (m *moved) on(shard int32) string {
	if shard == 0 {
		return m.name
	}
	return m.other
}

// collections are the sharded collections of all databases.
func (m *Mover) collections() ([]*moved, error) {
	var out []*moved
	for _, cat := range m.Databases() {
		list, err := docstore.Collections(cat)
		if err != nil {
			return nil, err
		}
		for _, c := range list {
			path, ok := c.Option("shard_key")
			if !ok {
				continue
			}
			key, err := chunk.ParseKey(path)
			if err != nil {
				return nil, err
			}
			out = append(out, &moved{db: cat.DB, name: c.Name(), other: ShardName(c.Rel), key: key, coll: c})
		}
	}
	return out, nil
}

// Run does what is to be done; the caller has made sure that this process leads
// shard 0, and calls again after a while.
func (m *Mover) Run(ctx context.Context) {
	list := m.Cluster.Shards()
	for _, b := range list.Broadcasts {
		if err := m.guarded(func() error { return m.broadcast(ctx, b) }); err != nil {
			m.note(b.ID, err)
			break // in order
		}
	}
	// One that is past its switch comes first: what its source has recorded must not be
	// taken by another move. One that only copies begins anew and holds up nobody.
	moves := slices.Clone(list.Moves)
	slices.SortStableFunc(moves, func(a, b catalog.Move) int { return early(a) - early(b) })
	for _, v := range moves {
		if err := m.guarded(func() error { return m.move(ctx, v.ID) }); err != nil {
			m.note(v.ID, err)
			if x := m.Cluster.Shards().Move(v.ID); x == nil || early(*x) == 0 {
				break
			}
		}
	}
}

// guarded makes an error of a panic: whoever leads shard 0 next would meet it again.
func (m *Mover) guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			m.Log.Error("panic in a change of the shards", "panic", p, "stack", string(debug.Stack()))
			err = pgerror.New(pgerror.InternalError, "internal error in a change of the shards: %v", p)
		}
	}()
	return f()
}

// early is 1 for a move that has not come to its switch.
func early(m catalog.Move) int {
	if m.State == catalog.MoveCopying || m.State == catalog.MoveCancelling {
		return 1
	}
	return 0
}

// note keeps an error for those who wait and for the log.
func (m *Mover) note(id int32, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed == nil {
		m.failed = map[int32]error{}
	}
	if was := m.failed[id]; was == nil || was.Error() != err.Error() {
		m.Log.Warn("a change of the shards has not got further", "id", id, "error", err)
	}
	m.failed[id] = err
}

// Failure is the newest error of a broadcast or move that is not finished.
func (m *Mover) Failure(id int32) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failed[id]
}

// Refusal is why a broadcast or move that is over was given up, nil when it was done.
func (m *Mover) Refusal(id int32) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.done[id]
}

// refuse keeps why a broadcast or move was given up.
func (m *Mover) refuse(id int32, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.done == nil || len(m.done) > 1000 {
		m.done = map[int32]error{}
	}
	m.done[id] = err
}

// Cancel gives a move up that has not come to its switch.
func (m *Mover) Cancel(ctx context.Context, id int32) error {
	_, err := m.Cluster.ChangeShards(ctx, func(s *catalog.Shards) error {
		x := s.Move(id)
		switch {
		case x == nil:
			return pgerror.New(pgerror.UndefinedObject, "chunk move %d does not exist", id)
		case x.State != catalog.MoveCopying && x.State != catalog.MoveCancelling:
			return pgerror.New(pgerror.ObjectNotInPrerequisiteState, "chunk move %d is %s and can only be completed", id, x.State)
		}
		x.State = catalog.MoveCancelling
		return nil
	})
	return err
}

// moverTimeout bounds one request of a mover.
const moverTimeout = 30 * time.Second

// moving is a move while it is carried out.
type moving struct {
	m     *Mover
	ctx   context.Context
	epoch uint64
	count int
	move  catalog.Move
}

// ask sends one request to a shard.
func (v *moving) ask(shard int32, kind Kind, c *moved, cmd *docstore.Command) (docstore.Result, error) {
	req := &Request{Kind: kind, Version: v.epoch, Chunks: v.move.Chunks, Count: v.count, Cmd: cmd, Now: time.Now()}
	db := sqltypes.OID(catalog.PostgresDB)
	if c != nil {
		req.Key, db = c.key.Path, c.db
		if cmd == nil {
			req.Cmd = &docstore.Command{}
		}
		req.Cmd.Collection = c.on(shard)
	}
	return v.m.send(v.ctx, shard, db, req)
}

func (m *Mover) send(ctx context.Context, shard int32, db sqltypes.OID, req *Request) (docstore.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, moverTimeout)
	defer cancel()
	var b Backend = m.Cluster.Home(db)
	if shard != 0 {
		var err error
		if b, err = m.Cluster.Backend(shard, false); err != nil {
			return docstore.Result{}, err
		}
	}
	res, err := b.Run(ctx, req)
	if err != nil {
		return res, pgerror.Wrap(err, pgerror.CodeOf(err), "%s: %s", Describe(m.Cluster.Shards(), shard), err.Error())
	}
	if res.Docs != nil {
		docs, err := docstore.ReadAll(res.Docs)
		if err != nil {
			return res, err
		}
		res.Docs = docstore.Slice(docs)
	}
	return res, nil
}

func (m *Mover) halt(step string) error {
	if m.Halt == nil {
		return nil
	}
	return m.Halt(step)
}

// set changes the move in the list; nil removes it.
func (v *moving) set(step string, f func(s *catalog.Shards, x *catalog.Move)) error {
	if err := v.m.halt(step); err != nil {
		return err
	}
	_, err := v.m.Cluster.ChangeShards(v.ctx, func(s *catalog.Shards) error {
		x := s.Move(v.move.ID)
		if x == nil || s.Mover != v.epoch {
			return errOldMover()
		}
		if x.State != v.move.State {
			return errCancelled(x.ID)
		}
		f(s, x)
		v.move = *x
		return nil
	})
	return err
}

// move carries out one move from where it stands.
func (m *Mover) move(ctx context.Context, id int32) error {
	v := &moving{m: m, ctx: ctx}
	list, err := m.Cluster.ChangeShards(ctx, func(s *catalog.Shards) error {
		s.Mover++
		return nil
	})
	if err != nil {
		return err
	}
	x := list.Move(id)
	if x == nil {
		return nil
	}
	v.epoch, v.count, v.move = list.Mover, len(list.Map), *x
	for _, shard := range []int32{x.From, x.To} {
		if _, err := v.ask(shard, KindTell, nil, nil); err != nil && (shard == x.From || x.State != catalog.MoveCancelling) {
			return err
		}
	}
	for {
		var err error
		state := v.move.State
		switch state {
		case catalog.MoveCopying:
			err = v.copy()
		case catalog.MoveSwitching:
			err = v.change()
		case catalog.MoveCancelling:
			return v.cancel()
		case catalog.MoveCleaning:
			err = v.clean()
			if err == nil {
				m.Log.Info("chunks moved", "move", id, "chunks", v.move.Chunks.Len(), "from", v.move.From, "to", v.move.To)
				return nil
			}
		}
		if err != nil {
			return err
		}
	}
}

// copy fills the target.
func (v *moving) copy() error {
	if err := v.m.halt("copy"); err != nil {
		return err
	}
	cols, err := v.m.collections()
	if err != nil {
		return err
	}
	from, to := v.move.From, v.move.To
	if to != 0 {
		for _, c := range cols {
			if err := v.prepare(c); err != nil {
				return err
			}
		}
	}
	if err := v.erase(to, cols, "leftovers"); err != nil {
		return err
	}
	if err := v.record(cols); err != nil {
		return err
	}
	for _, c := range cols {
		var after []docstore.JSON
		for {
			if err := v.m.halt("page"); err != nil {
				return err
			}
			if now := v.m.Cluster.Shards().Move(v.move.ID); now != nil && now.State != v.move.State {
				return errCancelled(now.ID)
			}
			res, err := v.ask(from, KindCopy, c, &docstore.Command{Docs: after})
			if err != nil {
				return err
			}
			docs, err := docstore.ReadAll(res.Docs)
			if err != nil {
				return err
			}
			if len(docs) > 0 {
				if _, err := v.ask(to, KindPut, c, &docstore.Command{Docs: docs}); err != nil {
					return err
				}
			}
			if res.Value.IsZero() {
				break
			}
			after = []docstore.JSON{res.Value}
		}
	}
	for range 20 {
		n, err := v.catchUp()
		if err != nil {
			return err
		}
		if n < 100 {
			break
		}
	}
	return v.set("switch", func(_ *catalog.Shards, x *catalog.Move) { x.State = catalog.MoveSwitching })
}

// prepare makes a collection and its indexes on the target.
func (v *moving) prepare(c *moved) error {
	if _, err := v.ask(v.move.To, KindDDL, c, &docstore.Command{Op: docstore.OpCreateCollection}); err != nil {
		return err
	}
	if rec := c.coll.Recording(); rec != nil {
		if _, err := v.ask(v.move.To, KindDDL, c, &docstore.Command{Op: docstore.OpRecordChanges, Options: rec.Options()}); err != nil {
			return err
		}
	}
	for _, x := range c.coll.Indexes {
		spec := x.Spec
		if _, err := v.ask(v.move.To, KindDDL, c, &docstore.Command{Op: docstore.OpCreateIndex, Index: &spec}); err != nil {
			return err
		}
	}
	return nil
}

// databases of collections; at least one.
func databases(cols []*moved) []*moved {
	seen := map[sqltypes.OID]bool{}
	var out []*moved
	for _, c := range cols {
		if !seen[c.db] {
			seen[c.db] = true
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		out = append(out, nil)
	}
	return out
}

// record makes the source record what is written from now on.
func (v *moving) record(cols []*moved) error {
	for _, c := range v.sources(cols) {
		if _, err := v.ask(v.move.From, KindRecord, c, nil); err != nil {
			return err
		}
	}
	return nil
}

// sources are one collection for each place where the source keeps what it
// records: each database on shard 0, one place on other shards.
func (v *moving) sources(cols []*moved) []*moved {
	if v.move.From == 0 {
		return databases(cols)
	}
	return []*moved{nil}
}

// changesPage is how many recorded changes are copied at a time.
const changesPage = 500

// catchUp copies recorded changes until there are none; it answers how many the last page had.
func (v *moving) catchUp() (last int, err error) {
	cols, err := v.m.collections()
	if err != nil {
		return 0, err
	}
	for _, src := range v.sources(cols) {
		for {
			if err := v.m.halt("catch up"); err != nil {
				return 0, err
			}
			res, err := v.ask(v.move.From, KindChanged, src, &docstore.Command{Take: changesPage})
			if err != nil {
				return 0, err
			}
			recs, err := docstore.ReadAll(res.Docs)
			if err != nil {
				return 0, err
			}
			if err := v.apply(src, cols, recs); err != nil {
				return 0, err
			}
			if last = len(recs); last < changesPage {
				break
			}
		}
	}
	return last, nil
}

// apply brings changed documents to the target and forgets the records.
func (v *moving) apply(src *moved, cols []*moved, recs []docstore.JSON) error {
	if len(recs) == 0 {
		return nil
	}
	type change struct {
		id, doc docstore.JSON
	}
	newest := map[*moved]map[string]change{}
	var settled []docstore.JSON
	for _, r := range recs {
		rec, _ := r.Lookup("r")
		name, _ := r.Lookup("c")
		id, _ := r.Lookup("i")
		doc, _ := r.Lookup("d")
		settled = append(settled, rec)
		for _, c := range cols {
			if c.on(v.move.From) != name.Str() || v.move.From == 0 && (src == nil || c.db != src.db) {
				continue
			}
			if !doc.IsZero() {
				if k, err := c.key.Chunk(doc, v.count); err != nil || !v.move.Chunks.Has(k) {
					doc = docstore.JSON{} // another document has taken the _id
				}
			}
			if newest[c] == nil {
				newest[c] = map[string]change{}
			}
			newest[c][string(docstore.AppendKey(nil, id))] = change{id, doc}
		}
	}
	for c, m := range newest {
		put, remove := &docstore.Command{}, &docstore.Command{}
		for _, x := range m {
			if x.doc.IsZero() {
				remove.Docs = append(remove.Docs, x.id)
			} else {
				put.Docs = append(put.Docs, x.doc)
			}
		}
		if len(remove.Docs) > 0 {
			if _, err := v.ask(v.move.To, KindRemove, c, remove); err != nil {
				return err
			}
		}
		if len(put.Docs) > 0 {
			if _, err := v.ask(v.move.To, KindPut, c, put); err != nil {
				return err
			}
		}
	}
	_, err := v.ask(v.move.From, KindSettle, src, &docstore.Command{Docs: settled})
	return err
}

// change is the switch: for its few milliseconds nobody owns the chunks, and
// requests for them wait. From here a move only goes forward.
func (v *moving) change() error {
	version := &docstore.Command{Skip: int64(v.m.Cluster.Shards().Version + 1)}
	if err := v.m.halt("give"); err != nil {
		return err
	}
	if _, err := v.ask(v.move.From, KindGive, nil, version); err != nil {
		return err
	}
	// If an earlier attempt got as far as taking, nothing is left to copy.
	if _, err := v.catchUp(); err != nil {
		return err
	}
	if err := v.m.halt("take"); err != nil {
		return err
	}
	if _, err := v.ask(v.move.To, KindTake, nil, version); err != nil {
		return err
	}
	return v.set("publish", func(s *catalog.Shards, x *catalog.Move) {
		for _, c := range x.Chunks.Chunks() {
			s.Map[c] = x.To
		}
		s.Version++
		x.State = catalog.MoveCleaning
	})
}

// cancel undoes what copying has done. A target that cannot be reached keeps its
// copies: it does not own the chunks, and deletes them when they are moved to it again.
func (v *moving) cancel() error {
	if err := v.m.halt("cancel"); err != nil {
		return err
	}
	if _, err := v.ask(v.move.From, KindForget, nil, nil); err != nil {
		return err
	}
	cols, err := v.m.collections()
	if err != nil {
		return err
	}
	if err := v.erase(v.move.To, cols, "cancel erase"); err != nil {
		v.m.Log.Warn("copies of a cancelled chunk move were left", "move", v.move.ID, "shard", v.move.To, "error", err)
	}
	v.m.refuse(v.move.ID, errCancelled(v.move.ID))
	return v.finish()
}

func errCancelled(id int32) error {
	return pgerror.New(pgerror.QueryCanceled, "chunk move %d was cancelled", id)
}

// clean deletes the source's copies.
func (v *moving) clean() error {
	if err := v.m.halt("clean"); err != nil {
		return err
	}
	if _, err := v.ask(v.move.From, KindForget, nil, nil); err != nil {
		return err
	}
	cols, err := v.m.collections()
	if err != nil {
		return err
	}
	if err := v.erase(v.move.From, cols, "erase"); err != nil {
		return err
	}
	return v.finish()
}

// finish takes the move out of the list.
func (v *moving) finish() error {
	return v.set("finish", func(s *catalog.Shards, x *catalog.Move) {
		id := x.ID
		for i := range s.Moves {
			if s.Moves[i].ID == id {
				s.Moves = append(s.Moves[:i:i], s.Moves[i+1:]...)
				break
			}
		}
	})
}

// erase deletes the documents of the moved chunks from a shard that does not own them.
func (v *moving) erase(shard int32, cols []*moved, step string) error {
	for _, c := range cols {
		var after []docstore.JSON
		for {
			if err := v.m.halt(step); err != nil {
				return err
			}
			res, err := v.ask(shard, KindClean, c, &docstore.Command{Docs: after})
			if err != nil {
				return err
			}
			if res.Value.IsZero() {
				break
			}
			after = []docstore.JSON{res.Value}
		}
	}
	return nil
}
