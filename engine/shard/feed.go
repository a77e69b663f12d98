package shard

import (
	"context"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/engine/storage"
)

// AppendFeed implements engine.Txn. The addition is an ordinary write whose key gets
// its place when the entry is applied.
func (t *Txn) AppendFeed(ctx context.Context, rel *catalog.Relation, val []byte) error {
	if err := t.writable(); err != nil {
		return err
	}
	if err := t.room(ctx); err != nil {
		return err
	}
	t.feedSeq++
	t.put(string(storage.FeedKey(rel.StorageID, 0, 0, 0, t.feedSeq)), val)
	return t.failed
}

// TrimFeed implements engine.Txn.
func (t *Txn) TrimFeed(rel *catalog.Relation, before engine.FeedPos) {
	lo, _ := storage.FeedRange(rel.StorageID)
	t.trims = append(t.trims, byteSpan{lo, feedKey(rel, before)})
}

// DropFeed implements engine.Txn.
func (t *Txn) DropFeed(rel *catalog.Relation) { t.noFeeds = append(t.noFeeds, rel.StorageID) }

func feedKey(rel *catalog.Relation, p engine.FeedPos) []byte {
	return storage.FeedKey(rel.StorageID, p.Epoch, p.Index, p.Ordinal, p.Seq)
}

func feedPos(key []byte) (p engine.FeedPos, ok bool) {
	p.Epoch, p.Index, p.Ordinal, p.Seq, ok = storage.FeedPlace(key)
	return p, ok
}

// ReadFeed implements engine.Engine.
func (s *Shard) ReadFeed(ctx context.Context, rel *catalog.Relation, after engine.FeedPos, f func(pos engine.FeedPos, val []byte) (bool, error)) (feed engine.Feed, err error) {
	st := s.cur.Load() // the iterator sees at least what is applied here
	if !st.db.Acquire() {
		return feed, errSnapshotTooOld()
	}
	defer func() { err = firstError(err, st.db.Release()) }()
	feed.Upto = engine.EndOf(st.applied.Position)
	lo, hi := storage.FeedRange(rel.StorageID)
	it, err := st.db.NewIter(ctx, lo, hi)
	if err != nil {
		return feed, err
	}
	defer func() { err = firstError(err, it.Error(), it.Close()) }()
	if !it.First() {
		return feed, nil
	}
	feed.Oldest, _ = feedPos(it.Key())
	if f == nil {
		return feed, nil
	}
	valid := true
	if after != (engine.FeedPos{}) {
		valid = it.SeekGE(append(feedKey(rel, after), 0))
	}
	for n := 0; valid; valid = it.Next() {
		if n++; n%1024 == 0 && ctx.Err() != nil {
			return feed, context.Cause(ctx)
		}
		pos, _ := feedPos(it.Key())
		if upto := feed.Upto; upto.Less(pos) { // applied meanwhile; its neighbours may not be here
			return feed, nil
		}
		val, err := it.ValueAndErr()
		if err != nil {
			return feed, storage.ReadError(err)
		}
		more, err := f(pos, val)
		if err != nil {
			return feed, err
		}
		if !more {
			feed.Upto = pos
			return feed, nil
		}
	}
	return feed, nil
}
