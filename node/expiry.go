package node

import (
	"context"
	"errors"
	"time"

	"ostraka/docstore"
	"ostraka/engine"
	"ostraka/engine/catalog"
)

// expiryInterval is how often documents with an age limit are looked at, as
// MongoDB's TTL monitor does.
const expiryInterval = time.Minute

// expire deletes documents that are older than their collection's TTL index
// says, and recorded changes that are kept no longer, where this node leads the
// shard that has them.
func (n *Node) expire() {
	engines := []engine.Engine{n.shard}
	n.groupsMu.Lock()
	for _, h := range n.groups {
		engines = append(engines, h.shard)
	}
	n.groupsMu.Unlock()
	for _, e := range engines {
		if err := expireDocuments(n.ctx, e, time.Now()); err != nil && n.ctx.Err() == nil {
			n.log.Warn("deleting expired documents", "error", err)
		}
	}
}

// expireDocuments deletes what has expired at a time in all databases of a shard,
// one transaction for each collection. It does nothing on a node that does not lead.
func expireDocuments(ctx context.Context, eng engine.Engine, now time.Time) error {
	cat := eng.Catalog(catalog.PostgresDB)
	if cat == nil {
		return nil
	}
	var dbs []*catalog.Database
	cat.AllDatabases(func(d *catalog.Database) bool { dbs = append(dbs, d); return true })
	var failed error
	for _, d := range dbs {
		list, err := docstore.Collections(eng.Catalog(d.OID))
		if err != nil {
			return err
		}
		for _, c := range list {
			if !c.Expires() && c.Recording() == nil {
				continue
			}
			err := expireCollection(ctx, eng, d, c, now)
			if errors.Is(err, engine.ErrNotLeader) {
				return nil
			}
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

func expireCollection(ctx context.Context, eng engine.Engine, d *catalog.Database, c *docstore.Collection, now time.Time) error {
	tx, err := eng.Begin(ctx, engine.TxnOptions{Database: d.OID, LockTimeout: expiryInterval})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := tx.StartStatement(ctx); err != nil {
		return err
	}
	st := &docstore.State{View: tx, Txn: tx, Now: now}
	if c.Expires() {
		if _, err := docstore.Run(ctx, st, &docstore.Command{Op: docstore.OpExpire, Collection: c.Name(), Take: -1}); err != nil {
			return err
		}
	}
	if _, err := docstore.TrimChanges(ctx, eng, st, c); err != nil {
		return err
	}
	_, err = tx.Commit(ctx)
	return err
}
