package exec

import (
	"strings"
	"unicode/utf8"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// tableWriter writes rows of one table with everything PostgreSQL checks per
// row: generated columns, NOT NULL, CHECK, view options, and the foreign keys
// that are looked at when the statement ends. Rows have one Datum per attribute.
type tableWriter struct {
	x          *Execution
	t          *planner.Target
	rel        *catalog.Relation
	wt         engine.WriteTarget
	generated  []*expr.Program
	checks     []*expr.Program
	views      []*expr.Program
	policies   []*expr.Program                  // row-level security
	keys       map[sqltypes.OID][]*expr.Program // by index with expressions
	preds      map[sqltypes.OID]*expr.Program
	keyAttrs   []bool // attributes of keys that foreign keys may refer to
	incoming   []planner.IncomingFK
	deferrable []*catalog.Index // unique, checked later
	trig       *triggers        // nil: none fires
	// routed: who writes a row has made sure that the partition may have it.
	routed bool
	router *router
	// named is the writer of the statement's target when this one is of another table
	// of its tree: policies, views and transition tables are the target's. toNamed
	// turns rows.
	named   *tableWriter
	toNamed *reshape
}

func (x *Execution) newTableWriter(t *planner.Target) (*tableWriter, error) {
	w := &tableWriter{x: x, t: t, rel: t.Rel, incoming: t.Incoming, keyAttrs: make([]bool, len(t.Rel.Columns))}
	var err error
	if w.trig, err = x.newTriggers(t.Rel); err != nil {
		return nil, err
	}
	if w.generated, err = x.compileAll(t.Generated); err != nil {
		return nil, err
	}
	for _, c := range t.Checks {
		p, err := x.compile(c.Cond)
		if err != nil {
			return nil, err
		}
		w.checks = append(w.checks, p)
	}
	for _, v := range t.ViewChecks {
		p, err := x.compile(v.Cond)
		if err != nil {
			return nil, err
		}
		w.views = append(w.views, p)
	}
	for _, c := range t.Policies {
		p, err := x.compile(c.Cond)
		if err != nil {
			return nil, err
		}
		w.policies = append(w.policies, p)
	}
	w.wt.Rel = t.Rel
	for _, ix := range t.Rel.Indexes {
		plain := ix.Predicate == ""
		for _, k := range ix.Keys {
			plain = plain && k.Attr > 0
		}
		if plain {
			if ix.Unique && ix.Deferrable {
				w.deferrable = append(w.deferrable, ix)
			}
			if ix.Unique {
				for _, k := range ix.Keys {
					w.keyAttrs[k.Attr-1] = true
				}
			}
			continue
		}
		if w.keys == nil {
			w.keys, w.preds = map[sqltypes.OID][]*expr.Program{}, map[sqltypes.OID]*expr.Program{}
		}
		if w.keys[ix.OID], err = x.compileAll(t.IndexExprs[ix.OID]); err != nil {
			return nil, err
		}
		if w.preds[ix.OID], err = x.compile(t.IndexPreds[ix.OID]); err != nil {
			return nil, err
		}
		w.wt.Eval = w.indexKey
	}
	return w, nil
}

// indexKey implements engine.WriteTarget.Eval.
func (w *tableWriter) indexKey(ix *catalog.Index, row []sqltypes.Datum) ([]sqltypes.Datum, bool, error) {
	if p := w.preds[ix.OID]; p != nil {
		d, err := p.Row(row, &w.x.params, w.x.env)
		if err != nil || !d.True() {
			return nil, false, err
		}
	}
	progs := w.keys[ix.OID]
	key := make([]sqltypes.Datum, len(ix.Keys))
	for i, k := range ix.Keys {
		if k.Attr > 0 {
			key[i] = row[k.Attr-1]
			continue
		}
		if i >= len(progs) || progs[i] == nil {
			return nil, false, pgerror.New(pgerror.InternalError, "index \"%s\" has no expression for key %d", ix.Name, i+1)
		}
		var err error
		if key[i], err = progs[i].Row(row, &w.x.params, w.x.env); err != nil {
			return nil, false, err
		}
	}
	return key, true, nil
}

// prepare computes the generated columns of a new row and checks policies of the
// kind and constraints.
func (w *tableWriter) prepare(kind planner.PolicyKind, row []sqltypes.Datum) error {
	for i, p := range w.generated {
		if p == nil {
			continue
		}
		d, err := p.Row(row, &w.x.params, w.x.env)
		if err != nil {
			return err
		}
		row[i] = d
	}
	if err := w.policy(kind, row); err != nil {
		return err
	}
	for i, c := range w.rel.Columns {
		if c.NotNull && row[i].Null && !c.Dropped {
			return pgerror.New(pgerror.NotNullViolation, "null value in column \"%s\" of relation \"%s\" violates not-null constraint", c.Name, w.rel.Name).
				WithDetail("%s", w.failingRow(row)).WithTable(w.schema(), w.rel.Name).WithColumn(c.Name)
		}
	}
	for i, p := range w.checks {
		d, err := p.Row(row, &w.x.params, w.x.env)
		if err != nil {
			return err
		}
		if !d.Null && d.I == 0 {
			name := w.t.Checks[i].Name
			return pgerror.New(pgerror.CheckViolation, "new row for relation \"%s\" violates check constraint \"%s\"", w.rel.Name, name).
				WithDetail("%s", w.failingRow(row)).WithTable(w.schema(), w.rel.Name).WithConstraint(name)
		}
	}
	if w.rel.Bound != nil && !w.routed {
		ok, err := w.bounds().fits(w.rel, row)
		if err != nil {
			return err
		}
		if !ok {
			return w.outOfBounds(row)
		}
	}
	if w.named != nil {
		return w.named.viewsHold(w.toNamed.row(row))
	}
	return w.viewsHold(row)
}

// viewsHold tests the check options of the views that the statement wrote through.
func (w *tableWriter) viewsHold(row []sqltypes.Datum) error {
	for i, p := range w.views {
		d, err := p.Row(row, &w.x.params, w.x.env)
		if err != nil {
			return err
		}
		if !d.True() {
			return pgerror.New(pgerror.WithCheckOptionViolation, "new row violates check option for view \"%s\"", w.t.ViewChecks[i].View).
				WithDetail("%s", w.failingRow(row))
		}
	}
	return nil
}

func (w *tableWriter) schema() string { return w.x.schemaName(w.rel) }

func (x *Execution) schemaName(rel *catalog.Relation) string {
	if s := x.view.Catalog().Schema(rel.Schema); s != nil {
		return s.Name
	}
	return ""
}

// failingRow describes a row as PostgreSQL's ExecBuildSlotValueDescription does:
// each value cut at 64 bytes; "" where row-level security is on.
func (w *tableWriter) failingRow(row []sqltypes.Datum) string {
	if w.t.HideRows {
		return ""
	}
	var b strings.Builder
	b.WriteString("Failing row contains (")
	first := true
	for i, c := range w.rel.Columns {
		if c.Dropped {
			continue
		}
		if !first {
			b.WriteString(", ")
		}
		first = false
		s := w.x.text(c.Type, row[i])
		if len(s) > 64 {
			n := 64
			for n > 0 && !utf8.RuneStart(s[n]) {
				n--
			}
			s = s[:n] + "..."
		}
		b.WriteString(s)
	}
	b.WriteString(").")
	return b.String()
}

// text is a value's text form for messages.
func (x *Execution) text(ct sqltypes.ColumnType, d sqltypes.Datum) string {
	if d.Null {
		return "null"
	}
	t := x.typ(ct.OID)
	if t == nil {
		return "?"
	}
	return string(t.Out(x.env, nil, d))
}

// insert writes a prepared row. With arbiters a conflict is returned instead of 23505.
func (w *tableWriter) insert(row []sqltypes.Datum, arbiters []*catalog.Index) (*engine.Conflict, error) {
	_, c, err := w.x.txn.Insert(w.x.ctx, &w.wt, row, arbiters)
	if err != nil || c != nil {
		return c, w.discreet(err)
	}
	w.x.fk.addUnique(w.x, w, nil, row)
	err = w.x.fk.inserted(w.x, w.rel, row)
	w.after('i', nil, row)
	return nil, err
}

// update replaces a locked row by a prepared one.
func (w *tableWriter) update(ref engine.RowRef, old, row []sqltypes.Datum) error {
	if _, err := w.x.txn.Update(w.x.ctx, &w.wt, ref, old, row); err != nil {
		return w.discreet(err)
	}
	w.x.fk.addUnique(w.x, w, old, row)
	err := w.x.fk.updated(w.x, w, old, row)
	w.after('u', old, row)
	return err
}

func (w *tableWriter) delete(ref engine.RowRef, old []sqltypes.Datum) error {
	if err := w.x.txn.Delete(w.x.ctx, &w.wt, ref, old); err != nil {
		return err
	}
	err := w.x.fk.deleted(w.x, w, old)
	w.after('d', old, nil)
	return err
}

// leave deletes a row that goes on as row in another partition: foreign keys that
// refer to the partitioned table see an update.
func (w *tableWriter) leave(ref engine.RowRef, old, row []sqltypes.Datum) error {
	if err := w.x.txn.Delete(w.x.ctx, &w.wt, ref, old); err != nil {
		return err
	}
	if m, ok := w.x.txn.(engine.PartitionMover); ok {
		m.MovedElsewhere(ref)
	}
	err := w.x.fk.moved(w.x, w, old, row)
	w.after('d', old, nil)
	return err
}

// lockMode is how strongly an update from old to row must lock: changing a key
// that foreign keys may refer to excludes their checks.
func (w *tableWriter) lockMode(old, row []sqltypes.Datum) engine.RowLock {
	for i, key := range w.keyAttrs {
		if key && old[i] != row[i] {
			return engine.LockUpdate
		}
	}
	return engine.LockNoKeyUpdate
}

// lock locks a row that the statement's snapshot has. On a concurrent change old
// holds the newest row.
func (w *tableWriter) lock(ref *engine.RowRef, mode engine.RowLock, old []sqltypes.Datum) (outcome engine.LockOutcome, err error) {
	return w.x.txn.LockRow(w.x.ctx, w.rel, ref, mode, engine.WaitBlock, old)
}

// needTxn refuses to write without a transaction.
func (x *Execution) needTxn() error {
	if x.txn == nil {
		return pgerror.New(pgerror.ReadOnlySqlTransaction, "cannot execute %s in a read-only transaction", x.plan.Command)
	}
	return nil
}
