package shardrouter

import (
	"context"
	"slices"
	"time"

	"ostraka/docstore"
	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/sqltypes/pgerror"
)

// ddl changes a sharded collection: on shard 0, together with the record that the
// change has to reach every shard, in one transaction; then the mover brings it
// there. When a shard cannot be reached the error says so, and the change is
// completed when it is back.
func (b *nodeBase) ddl(q *query) (docstore.Result, error) {
	if q.inTxn {
		return docstore.Result{}, pgerror.New(pgerror.ActiveSqlTransaction, "doc.%s() of a sharded collection cannot run inside a transaction block", q.cmd.Op)
	}
	id, res, err := b.announce(q, q.cmd)
	if err != nil || id == 0 {
		return res, err
	}
	return res, b.await(q, id)
}

// announce makes the change on shard 0 and records the broadcast; id is 0 when
// there is nobody else.
func (b *nodeBase) announce(q *query, cmd *docstore.Command) (id int32, res docstore.Result, err error) {
	own, err := b.sess.WriteTxn("doc." + cmd.Op.String() + "()")
	if err != nil {
		return 0, res, err
	}
	tx, err := b.eng.Begin(q.ctx, engine.TxnOptions{Database: own.Options().Database, LockTimeout: own.Options().LockTimeout, PID: own.Options().PID})
	if err != nil {
		return 0, res, err
	}
	defer tx.Rollback()
	if err := tx.LockRelation(q.ctx, catalog.ShardsOID, engine.AccessExclusive, engine.WaitBlock); err != nil {
		return 0, res, err
	}
	if err := tx.StartStatement(q.ctx); err != nil {
		return 0, res, err
	}
	st := &docstore.State{View: tx, Txn: tx, Now: q.now, Owner: b.sess.RoleOID(), May: b.sess.MayUse}
	if res, err = docstore.Run(q.ctx, st, cmd); err != nil {
		return 0, res, err
	}
	list := tx.Catalog().Shards().Clone()
	if len(list.Shards) > 0 {
		other := *cmd
		other.Collection = ShardName(b.coll.Rel)
		req := &Request{Kind: KindDDL, Count: len(list.Map), Key: q.key.Path, Cmd: &other, Now: q.now}
		id = list.Next
		list.Next++
		list.Broadcasts = append(list.Broadcasts, catalog.Broadcast{ID: id, Command: req.Encode(),
			Text: "doc." + cmd.Op.String() + " " + q.cmd.Collection})
		tx.Schema().PutShards(list)
	}
	_, err = tx.Commit(q.ctx)
	return id, res, err
}

// await waits until a broadcast has reached every shard.
func (b *nodeBase) await(q *query, id int32) error {
	mover := b.r.Mover
	if mover == nil {
		return nil
	}
	b.r.Kick()
	limit := q.timeout
	if limit <= 0 {
		limit = requestTimeout
	}
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		list := q.top.Shards()
		if !slices.ContainsFunc(list.Broadcasts, func(b catalog.Broadcast) bool { return b.ID == id }) {
			if err := mover.Refusal(id); err != nil {
				return b.takeBack(q, err)
			}
			return nil
		}
		select {
		case <-tick.C:
		case <-q.ctx.Done():
			return q.ctx.Err()
		case <-deadline.C:
			e := pgerror.New(pgerror.ConnectionFailure, "doc.%s() has not reached every shard yet", q.cmd.Op).
				WithHint("It is recorded and will be completed by itself.")
			if err := mover.Failure(id); err != nil {
				e = e.WithDetail("%s", err.Error())
			}
			return e
		}
	}
}

// takeBack undoes an index that one of the shards refused.
func (b *nodeBase) takeBack(q *query, cause error) error {
	if q.cmd.Op != docstore.OpCreateIndex || q.cmd.Index == nil {
		return cause
	}
	drop := &docstore.Command{Op: docstore.OpDropIndex, Collection: q.cmd.Collection, Name: q.cmd.Index.Name, Take: -1}
	if _, _, err := b.announce(q, drop); err != nil {
		return pgerror.Wrap(cause, pgerror.CodeOf(cause), "%s", cause.Error()).WithDetail("The index could not be dropped on the other shards: %s", err.Error())
	}
	b.r.Kick()
	return cause
}

// broadcast brings a change to every shard, then removes its record.
func (m *Mover) broadcast(ctx context.Context, b catalog.Broadcast) error {
	req, err := DecodeRequest(string(b.Command))
	if err != nil {
		return err
	}
	var refused error
	for _, s := range m.Cluster.Shards().Shards {
		if s.State != catalog.ShardActive {
			continue // it gets its collections with its first chunks
		}
		if err := m.halt("broadcast"); err != nil {
			return err
		}
		if _, err := m.send(ctx, s.ID, catalog.PostgresDB, req); err != nil {
			if code := string(pgerror.CodeOf(err)); code[:2] != "23" && code[:2] != "22" && code[:2] != "42" && code[:2] != "0A" {
				return err
			}
			refused = err
		}
	}
	if refused != nil {
		m.refuse(b.ID, refused)
	}
	_, err = m.Cluster.ChangeShards(ctx, func(s *catalog.Shards) error {
		s.Broadcasts = slices.DeleteFunc(s.Broadcasts, func(x catalog.Broadcast) bool { return x.ID == b.ID })
		return nil
	})
	return err
}
