package shardrouter

import (
	"context"
	"time"

	"ostraka/docstore"
	"ostraka/engine"
	"ostraka/engine/catalog"
)

// DropParts records, in the transaction that drops a database, that the parts of
// its sharded collections have to go on every shard; the mover brings it there.
// others are the databases that stay: a copy of a database shares its parts.
func DropParts(ctx context.Context, tx engine.Txn, dropped *catalog.Catalog, others []*catalog.Catalog, now time.Time) error {
	parts, err := partNames(dropped)
	if err != nil || len(parts) == 0 {
		return err
	}
	for _, cat := range others {
		keep, err := partNames(cat)
		if err != nil {
			return err
		}
		for name := range keep {
			delete(parts, name)
		}
	}
	if err := tx.LockRelation(ctx, catalog.ShardsOID, engine.AccessExclusive, engine.WaitBlock); err != nil {
		return err
	}
	if tx.Options().Isolation == engine.ReadCommitted {
		if err := tx.StartStatement(ctx); err != nil {
			return err
		}
	}
	list := tx.Catalog().Shards().Clone()
	if len(list.Shards) == 0 {
		return nil
	}
	for name, key := range parts {
		req := &Request{Kind: KindDDL, Count: len(list.Map), Key: key, Now: now, Cmd: &docstore.Command{Op: docstore.OpDropCollection, Collection: name, Take: -1}}
		list.Broadcasts = append(list.Broadcasts, catalog.Broadcast{ID: list.Next, Command: req.Encode(), Text: "drop " + name + " with its database"})
		list.Next++
	}
	tx.Schema().PutShards(list)
	return nil
}

// partNames are the names on shards of a database's sharded collections, with their keys.
func partNames(cat *catalog.Catalog) (map[string]string, error) {
	if cat == nil {
		return nil, nil
	}
	list, err := docstore.Collections(cat)
	out := map[string]string{}
	for _, c := range list {
		if key, ok := c.Option("shard_key"); ok {
			out[ShardName(c.Rel)] = key
		}
	}
	return out, err
}
