package shard

import (
	"context"

	"ostraka/engine"
	"ostraka/engine/storage"
	"ostraka/engine/txn"
)

// bulkAfter is how many keys of a relation are claimed one by one before a
// transaction goes over to claiming them in bulk.
const bulkAfter = 32

// writers are the relation locks under which rows are written.
const writers = 1<<engine.RowExclusive | 1<<engine.ShareRowExclusive | 1<<engine.Exclusive | 1<<engine.AccessExclusive

// bulkKeys is what a transaction that inserts many rows knows of one unique
// index, so that a new key needs neither a lock entry nor a look into the store.
type bulkKeys struct {
	x    *storage.Index
	held *txn.Bulk
	// No committed key was in [lo, hi) when the gap was found; it stays true while
	// held is not contested. hi "" is unbounded.
	gap    bool
	lo, hi string
	hits   int // claims that the gap has answered
	misses int // since the gap was found
}

// bulkOf is the bulk of an index, nil before many keys were claimed.
func (t *Txn) bulkOf(tbl *storage.Table, x *storage.Index) *bulkKeys {
	c := t.checked(tbl.Rel.OID)
	if c == nil {
		return nil
	}
	for _, b := range c.bulk {
		if b.x == x {
			return b
		}
	}
	if c.claims++; c.claims < bulkAfter {
		return nil
	}
	b := &bulkKeys{x: x}
	prefix := string(x.Prefix)
	b.held = t.term.locks.StartBulk(&t.owner, prefix, !c.alone)
	// Whoever writes the relation now may have locked keys before.
	if !c.alone && t.term.locks.OthersHold(&t.owner, c.key, writers) {
		b.held.Contest()
	}
	for cur := t.writes.Cursor(prefix, string(storage.PrefixEnd([]byte(prefix))), false); cur.Valid(); cur.Next() {
		t.term.locks.Note(b.held, cur.Key())
	}
	c.bulk = append(c.bulk[:len(c.bulk):len(c.bulk)], b)
	return b
}

// claim locks a key. absent: no row has it, for sure.
func (b *bulkKeys) claim(ctx context.Context, t *Txn, db *storage.DB, key string) (absent bool, err error) {
	fresh, ok := t.term.locks.Claim(b.held, key)
	if !ok {
		b.held.Contest()
		return false, t.lockKey(ctx, key, engine.LockUpdate)
	}
	if !fresh || b.held.Contested() {
		return false, nil
	}
	if b.gap && key >= b.lo && (b.hi == "" || key < b.hi) {
		b.hits++
		return true, nil
	}
	// Looking for another gap pays when many keys fall into it.
	if b.gap && b.hits < 4*b.misses {
		b.misses++
		return false, nil
	}
	if err := b.findGap(t, db, key); err != nil {
		return false, err
	}
	return b.gap && key >= b.lo && !b.held.Contested(), nil
}

// findGap looks for the committed keys around key.
func (b *bulkKeys) findGap(t *Txn, db *storage.DB, key string) error {
	lo, hi := b.x.Prefix, storage.PrefixEnd(append([]byte(nil), b.x.Prefix...))
	it, err := db.NewIter(t.s.stop, lo, hi)
	if err != nil {
		return err
	}
	if !b.gap {
		b.lo = ""
		if it.First() { // not empty
			b.lo = key
		}
	} else {
		b.lo = key
	}
	b.hi, b.gap, b.hits, b.misses = "", true, 0, 1
	if b.lo != "" && it.SeekGE([]byte(key)) {
		b.hi = string(it.Key())
		b.gap = b.hi != key
	}
	return firstError(it.Error(), it.Close())
}
