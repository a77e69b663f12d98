package tsdb

import (
	"context"
	"fmt"
	"strings"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/engine/commitlog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
	"ostraka/tsdb/store"
)

// txn is a transaction that may write time series instead of what the shard has.
type txn struct {
	engine.Txn
	reader
	db   *DB
	opts engine.TxnOptions

	batch   *store.Batch // nil until the first row
	marks   map[engine.SavepointID]store.BatchMark
	current store.BatchMark // where the running statement began
	shard   bool            // wrote to the shard
	rels    map[sqltypes.OID]*catalog.Relation

	// own is what the batch says of each row, up to ownTo; made when a statement
	// reads a table that the transaction has written to.
	own   map[*store.Table]map[ownKey]ownRow
	ownTo store.BatchMark
	over  bool
}

type ownKey struct {
	sid uint32
	t   int64
}

type ownRow struct {
	vals []sqltypes.Datum // by place among the table's fields
	gone bool
	stmt bool // written by the running statement
}

type ownEntry struct {
	s *store.Series
	t int64
	ownRow
}

var errMixed = pgerror.NotSupported("a transaction that writes both time series and other relations")

// mixed refuses to write to the shard after time series were written.
func (t *txn) mixed() error {
	if t.opts.Local && !t.opts.ReadOnly || t.batch != nil && t.batch.Rows() > 0 {
		return errMixed
	}
	t.shard = true
	return nil
}

// writer makes sure that the transaction may write time series.
func (t *txn) writer() error {
	switch {
	case t.shard || t.Txn.XidIfAssigned() != 0:
		return errMixed
	case t.opts.ReadOnly:
		return pgerror.New(pgerror.ReadOnlySqlTransaction, "cannot write time series in a read-only transaction")
	case t.over:
		return pgerror.New(pgerror.InternalError, "the transaction has ended")
	}
	if t.batch == nil {
		t.batch = t.db.st.NewBatch()
		t.marks = map[engine.SavepointID]store.BatchMark{}
	}
	if int64(t.batch.Size()) > t.db.maxTxn {
		return pgerror.New(pgerror.ProgramLimitExceeded, "transaction writes too many time-series rows").
			WithDetail("It has %d bytes; the limit is %d.", t.batch.Size(), t.db.maxTxn)
	}
	return nil
}

// writes is writer for a relation, which must not be one that only refreshes write.
func (t *txn) writes(rel *catalog.Relation) error {
	if rel.Schema == catalog.SchemaOstraka {
		return pgerror.NotSupported("writing to the stored buckets of a continuous aggregate")
	}
	return t.writer()
}

func (t *txn) StartStatement(ctx context.Context) error {
	if t.opts.Isolation == engine.ReadCommitted {
		t.reader.close()
		t.reader.scanned = nil
	}
	if t.batch != nil {
		t.current = t.batch.Mark()
		t.own = nil
	}
	return t.Txn.StartStatement(ctx)
}

func (t *txn) Scan(ctx context.Context, spec engine.ScanSpec) (engine.Scanner, error) {
	if !spec.Rel.TimeSeries {
		return t.Txn.Scan(ctx, spec)
	}
	return t.reader.scan(ctx, spec)
}

func (t *txn) ScanNewest(ctx context.Context, spec engine.ScanSpec) (engine.Scanner, error) {
	if !spec.Rel.TimeSeries {
		return t.Txn.ScanNewest(ctx, spec)
	}
	return t.reader.scan(ctx, spec)
}

func (t *txn) Get(ctx context.Context, rel *catalog.Relation, ix *catalog.Index, key []sqltypes.Datum, cols []int16, dst []sqltypes.Datum) (engine.RowRef, bool, error) {
	if !rel.TimeSeries {
		return t.Txn.Get(ctx, rel, ix, key, cols, dst)
	}
	return t.reader.get(ctx, rel, key, cols, dst)
}

func (t *txn) EstimateBytes(rel *catalog.Relation, ix *catalog.Index) int64 {
	if !rel.TimeSeries {
		return t.Txn.EstimateBytes(rel, ix)
	}
	return t.db.estimate(rel)
}

// LockRelation of a time-series table protects its descriptor, which a transaction
// without leadership cannot lock: it commits rows that a table dropped meanwhile
// would not show anyhow.
func (t *txn) LockRelation(ctx context.Context, oid sqltypes.OID, mode engine.RelLock, wait engine.WaitPolicy) error {
	if t.opts.Local && mode <= engine.RowExclusive {
		if rel := t.Catalog().Relation(oid); rel != nil && rel.TimeSeries {
			return nil
		}
	}
	if t.opts.Local && !t.opts.ReadOnly && mode > engine.AccessShare {
		return errMixed
	}
	return t.Txn.LockRelation(ctx, oid, mode, wait)
}

func (t *txn) Insert(ctx context.Context, w *engine.WriteTarget, row []sqltypes.Datum, arbiters []*catalog.Index) (engine.RowRef, *engine.Conflict, error) {
	if !w.Rel.TimeSeries {
		if err := t.mixed(); err != nil {
			return engine.RowRef{}, nil, err
		}
		return t.Txn.Insert(ctx, w, row, arbiters)
	}
	if err := t.writes(w.Rel); err != nil {
		return engine.RowRef{}, nil, err
	}
	rel, table, err := t.db.Define(w.Rel)
	if err != nil {
		return engine.RowRef{}, nil, err
	}
	s, err := t.place(rel, table, row)
	if err != nil {
		return engine.RowRef{}, nil, err
	}
	at := row[rel.Spec.Time-1].I
	ref := engine.RowRef{Key: refKey(s.SID, at), Xid: 1}
	if arbiters != nil {
		if err := t.lock(ctx, table); err != nil {
			return ref, nil, err
		}
		own, err := t.ownRows(table)
		if err != nil {
			return ref, nil, err
		}
		if o, mine := own[ownKey{s.SID, at}]; mine {
			if !o.gone {
				return ref, &engine.Conflict{Index: keyIndex(w.Rel), Ref: ref, Own: o.stmt}, nil
			}
		} else if rows, err := t.snapshot().Get(ctx, s, at); err != nil {
			return ref, nil, err
		} else if rows != nil {
			return ref, &engine.Conflict{Index: keyIndex(w.Rel), Ref: ref}, nil
		}
	}
	t.put(rel, table, s, row)
	return ref, nil, nil
}

// keyIndex is the table's unique key.
func keyIndex(rel *catalog.Relation) *catalog.Index {
	for _, ix := range rel.Indexes {
		if ix.Unique {
			return ix
		}
	}
	return nil
}

// place finds the series of a row.
func (t *txn) place(rel *Relation, table *store.Table, row []sqltypes.Datum) (*store.Series, error) {
	if err := rel.checkTime(row[rel.Spec.Time-1]); err != nil {
		return nil, err
	}
	return t.db.st.Series(table, rel.tags(make([]store.Tag, 0, 8), row))
}

func (t *txn) put(rel *Relation, table *store.Table, s *store.Series, row []sqltypes.Datum) {
	var buf [16]sqltypes.Datum
	vals := buf[:0]
	for _, f := range table.Fields() {
		if int(f.ID) <= len(row) {
			vals = append(vals, rel.field(f.ID, row[f.ID-1]))
		} else {
			vals = append(vals, sqltypes.Null)
		}
	}
	t.note(rel.Rel)
	t.batch.Put(s, row[rel.Spec.Time-1].I, vals)
}

// keyFree fails when the table has a row of the key that an UPDATE moves a row to.
func (t *txn) keyFree(ctx context.Context, rel *Relation, table *store.Table, s *store.Series, row []sqltypes.Datum) error {
	if err := t.lock(ctx, table); err != nil {
		return err
	}
	at := row[rel.Spec.Time-1].I
	own, err := t.ownRows(table)
	if err != nil {
		return err
	}
	taken := false
	if o, mine := own[ownKey{s.SID, at}]; mine {
		taken = !o.gone
	} else {
		rows, err := t.snapshot().Get(ctx, s, at)
		if err != nil {
			return err
		}
		taken = rows != nil
	}
	if !taken {
		return nil
	}
	return duplicateKey(t.Catalog(), rel.Rel, row)
}

// duplicateKey is PostgreSQL's 23505 for a table's (tags, time).
func duplicateKey(cat *catalog.Catalog, rel *catalog.Relation, row []sqltypes.Datum) error {
	ix := keyIndex(rel)
	if ix == nil {
		return pgerror.New(pgerror.UniqueViolation, "duplicate key value violates the unique key of %q", rel.Name)
	}
	env := &sqltypes.Env{Formats: sqltypes.DefaultFormats()}
	var names, texts []string
	for _, k := range ix.Keys {
		c := rel.Columns[k.Attr-1]
		names = append(names, sqltypes.QuoteIdent(c.Name))
		text := "null"
		if d := row[k.Attr-1]; !d.Null {
			text = string(sqltypes.TypeByOID(c.Type.OID).Out(env, nil, d))
		}
		texts = append(texts, text)
	}
	schema := ""
	if cat != nil {
		if sc := cat.Schema(rel.Schema); sc != nil {
			schema = sc.Name
		}
	}
	return pgerror.New(pgerror.UniqueViolation, "duplicate key value violates unique constraint %q", ix.Name).
		WithDetail("Key (%s)=(%s) already exists.", strings.Join(names, ", "), strings.Join(texts, ", ")).WithTable(schema, rel.Name).WithConstraint(ix.Name)
}

// note remembers that a table was written.
func (t *txn) note(rel *catalog.Relation) {
	if t.rels == nil {
		t.rels = map[sqltypes.OID]*catalog.Relation{}
	}
	t.rels[rel.OID] = rel
}

func (t *txn) Update(ctx context.Context, w *engine.WriteTarget, ref engine.RowRef, old, row []sqltypes.Datum) (engine.RowRef, error) {
	if !w.Rel.TimeSeries {
		if err := t.mixed(); err != nil {
			return ref, err
		}
		return t.Txn.Update(ctx, w, ref, old, row)
	}
	if err := t.writes(w.Rel); err != nil {
		return ref, err
	}
	rel, table, err := t.db.Define(w.Rel)
	if err != nil {
		return ref, err
	}
	s, err := t.place(rel, table, row)
	if err != nil {
		return ref, err
	}
	sid, at, ok := parseRef(ref.Key)
	if !ok {
		return ref, fmt.Errorf("tsdb: row reference %q", ref.Key)
	}
	if was := t.db.st.SeriesByID(sid); was != nil && (was != s || at != row[rel.Spec.Time-1].I) {
		if err := t.keyFree(ctx, rel, table, s, row); err != nil {
			return ref, err
		}
		t.batch.Delete(was, at)
	}
	t.put(rel, table, s, row)
	return engine.RowRef{Key: refKey(s.SID, row[rel.Spec.Time-1].I), Xid: 1}, nil
}

func (t *txn) Delete(ctx context.Context, w *engine.WriteTarget, ref engine.RowRef, old []sqltypes.Datum) error {
	if !w.Rel.TimeSeries {
		if err := t.mixed(); err != nil {
			return err
		}
		return t.Txn.Delete(ctx, w, ref, old)
	}
	if err := t.writes(w.Rel); err != nil {
		return err
	}
	sid, at, ok := parseRef(ref.Key)
	if !ok {
		return fmt.Errorf("tsdb: row reference %q", ref.Key)
	}
	if s := t.db.st.SeriesByID(sid); s != nil {
		t.note(w.Rel)
		t.batch.Delete(s, at)
	}
	return nil
}

func (t *txn) LockRow(ctx context.Context, c *catalog.Relation, ref *engine.RowRef, mode engine.RowLock, wait engine.WaitPolicy, row []sqltypes.Datum) (engine.LockOutcome, error) {
	if !c.TimeSeries {
		return t.Txn.LockRow(ctx, c, ref, mode, wait, row)
	}
	if mode < engine.LockNoKeyUpdate {
		return 0, pgerror.NotSupported("FOR SHARE of time-series tables")
	}
	rel, table, err := t.db.Relation(c)
	if err != nil || table == nil {
		return engine.Gone, err
	}
	if err := t.writer(); err != nil {
		return 0, err
	}
	if err := t.lock(ctx, table); err != nil {
		return 0, err
	}
	sid, at, ok := parseRef(ref.Key)
	s := t.db.st.SeriesByID(sid)
	if !ok || s == nil {
		return engine.Gone, nil
	}
	if own, err := t.ownRows(table); err != nil {
		return 0, err
	} else if o, mine := own[ownKey{sid, at}]; mine && o.stmt {
		return engine.OwnWrite, nil
	}
	if t.scanned == nil || t.db.st.Seq() == *t.scanned {
		return engine.Locked, nil
	}
	// Others have written since the scan: look at the newest row.
	old := append([]sqltypes.Datum(nil), row...)
	newest := reader{db: t.db, txn: t}
	defer newest.close()
	if row == nil {
		old, row = nil, make([]sqltypes.Datum, len(c.Columns))
	}
	found, err := newest.row(ctx, rel, s, at, row)
	if err != nil {
		return 0, err
	}
	outcome := engine.Locked
	if !found {
		outcome = engine.Gone
	}
	for i := range old {
		if found && old[i] != row[i] {
			outcome = engine.Changed
			ref.Xid = t.db.st.Seq() + 2 // another version: the caller computes the row anew
			break
		}
	}
	if outcome != engine.Locked && t.opts.Isolation != engine.ReadCommitted {
		return 0, pgerror.New(pgerror.TRSerializationFailure, "could not serialize access due to concurrent update")
	}
	return outcome, nil
}

func (t *txn) LookupNewest(ctx context.Context, c *catalog.Relation, ix *catalog.Index, key []sqltypes.Datum, mode engine.RowLock, row []sqltypes.Datum) (engine.RowRef, bool, error) {
	if !c.TimeSeries {
		return t.Txn.LookupNewest(ctx, c, ix, key, mode, row)
	}
	rel, table, err := t.db.Relation(c)
	if err != nil || table == nil {
		return engine.RowRef{}, false, err
	}
	if err := t.lock(ctx, table); err != nil {
		return engine.RowRef{}, false, err
	}
	s, at := rel.fromKey(table, key)
	if s == nil || at.Null {
		return engine.RowRef{}, false, nil
	}
	found, err := t.reader.row(ctx, rel, s, at.I, row)
	return engine.RowRef{Key: refKey(s.SID, at.I), Xid: 1}, found, err
}

// lock takes the table for statements that read before they write. When others
// had it, what the transaction reads next is newer.
func (t *txn) lock(ctx context.Context, table *store.Table) error {
	if err := t.db.locks.acquire(ctx, t, table.ID, t.opts.LockTimeout); err != nil {
		return err
	}
	if t.opts.Isolation == engine.ReadCommitted && t.snap != nil && t.snap.Seq() != t.db.st.Seq() {
		t.reader.close()
	}
	return nil
}

func (t *txn) Savepoint() engine.SavepointID {
	id := t.Txn.Savepoint()
	if t.batch != nil {
		t.marks[id] = t.batch.Mark()
	}
	return id
}

func (t *txn) RollbackTo(id engine.SavepointID) error {
	if t.batch != nil {
		t.batch.Truncate(t.marks[id]) // the zero mark: before the first row
		t.own = nil
	}
	return t.Txn.RollbackTo(id)
}

func (t *txn) Schema() engine.CatalogWriter {
	if t.mixed() != nil {
		return refusing{t.Txn.Schema()}
	}
	return t.Txn.Schema()
}

// refusing is the catalogue of a transaction that has written time series.
type refusing struct{ engine.CatalogWriter }

func (refusing) NewOID(context.Context) (sqltypes.OID, error) { return 0, errMixed }
func (refusing) NewStorageID(context.Context) (uint64, error) { return 0, errMixed }

func (t *txn) Notify(channel, payload string) error {
	if err := t.mixed(); err != nil {
		return err
	}
	return t.Txn.Notify(channel, payload)
}

func (t *txn) BulkLoad() {
	if t.batch == nil && !t.opts.Local {
		t.Txn.BulkLoad()
	}
}

// Commit appends the rows to the store, durably unless the session asked not to wait.
func (t *txn) Commit(ctx context.Context) (commitlog.Position, error) {
	defer t.end()
	if t.batch != nil && t.batch.Rows() > 0 {
		if t.shard || t.Txn.XidIfAssigned() != 0 {
			t.Txn.Rollback()
			return commitlog.Position{}, errMixed
		}
		if err := t.db.opt.Refused(); err != nil {
			t.Txn.Rollback()
			return commitlog.Position{}, err
		}
		if err := t.db.write(ctx, t.batch, t.rels, !t.opts.Async); err != nil {
			t.Txn.Rollback()
			return commitlog.Position{}, err
		}
	}
	return t.Txn.Commit(ctx)
}

func (t *txn) Rollback() {
	t.end()
	t.Txn.Rollback()
}

func (t *txn) end() {
	t.over = true
	t.reader.close()
	t.db.locks.release(t)
}

func (t *txn) Close() {
	t.end()
	t.Txn.Close()
}

// ownRows is what the transaction has written to a table, newest last; nil when nothing.
func (t *txn) ownRows(table *store.Table) (map[ownKey]ownRow, error) {
	if t.batch == nil || t.batch.Rows() == 0 {
		return nil, nil
	}
	if t.own == nil {
		t.own, t.ownTo = map[*store.Table]map[ownKey]ownRow{}, store.BatchMark{}
	}
	if end := t.batch.Mark(); t.ownTo != end {
		from := t.ownTo
		add := func(mine bool) func(store.Op) error {
			return func(op store.Op) error {
				m := t.own[op.Series.Table]
				if m == nil {
					m = map[ownKey]ownRow{}
					t.own[op.Series.Table] = m
				}
				m[ownKey{op.Series.SID, op.Time}] = ownRow{vals: append([]sqltypes.Datum(nil), op.Vals...), gone: op.Delete, stmt: mine}
				return nil
			}
		}
		// Everything before the statement, then its own rows.
		if before := t.current; from.Before(before) {
			if err := t.batch.Between(from, before, add(false)); err != nil {
				return nil, err
			}
			from = before
		}
		if err := t.batch.Between(from, end, add(true)); err != nil {
			return nil, err
		}
		t.ownTo = end
	}
	return t.own[table], nil
}

// MovedElsewhere implements engine.PartitionMover.
func (t *txn) MovedElsewhere(ref engine.RowRef) {
	if m, ok := t.Txn.(engine.PartitionMover); ok {
		m.MovedElsewhere(ref)
	}
}
