package shardrouter

import (
	"ostraka/docstore"
	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

// newestSession is a session that can tell when a statement reads the newest
// committed state, so that it needs no snapshot; cat is nil when it does.
type newestSession interface {
	SessionContext
	Newest() (eng engine.Engine, cat *catalog.Catalog)
}

// quick is sqltypes.Proc.Quick: find and find_one of few documents of a collection
// without a shard key.
func (f *docFunc) quick(c *sqltypes.Call, args []sqltypes.Datum, emit func([]sqltypes.Datum) error) (bool, error) {
	if c.Env == nil || c.Env.Session == nil || args[0].Null {
		return false, nil
	}
	s, ok := c.Env.Session.Ext().(newestSession)
	if !ok {
		return false, nil
	}
	eng, cat := s.Newest()
	if cat == nil {
		return false, nil
	}
	coll, err := docstore.Lookup(cat, args[0].S)
	if coll == nil || err != nil {
		return false, err
	}
	if _, sharded := coll.Option("shard_key"); sharded {
		return false, nil
	}
	cmd, err := f.command(c, args)
	if err != nil {
		return false, err
	}
	if !f.set {
		cmd.Take = 1
	}
	st := &docstore.State{Now: s.Now(), May: s.MayUse}
	docs, done, err := docstore.FindNewest(c.Env.Ctx, eng, cat, coll, st, cmd)
	if err != nil || !done {
		return false, err
	}
	var row [1]sqltypes.Datum
	if !f.set && len(docs) == 0 {
		row[0] = sqltypes.Null
		return true, emit(row[:])
	}
	for _, d := range docs {
		row[0] = d.Datum()
		if err := emit(row[:]); err != nil {
			return true, err
		}
	}
	return true, nil
}

// emitAll is a call in the ordinary way.
func (f *docFunc) emitAll(c *sqltypes.Call, args []sqltypes.Datum, emit func([]sqltypes.Datum) error) error {
	res, err := f.run(c, args)
	if err != nil {
		return err
	}
	defer res.Docs.Close()
	for {
		doc, ok, err := res.Docs.Next()
		if err != nil || !ok {
			return err
		}
		row := [1]sqltypes.Datum{doc.Datum()}
		if err := emit(row[:]); err != nil {
			return err
		}
	}
}
