package exec

import (
	"strconv"
	"strings"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// fkQueue holds what the foreign keys of written tables must look at when the
// statement has done its own work (or at COMMIT, for deferred constraints).
type fkQueue struct {
	events  []fkEvent
	writers map[sqltypes.OID]*tableWriter
}

// fkEvent is one check or action.
type fkEvent struct {
	child, parent *catalog.Relation
	fk            *catalog.ForeignKey
	// toChild: a referenced key went away (delete, or update to newKey); else a
	// referencing row appeared. key is in the order of fk.Attrs and fk.RefAttrs.
	toChild bool
	update  bool
	key     []sqltypes.Datum
	newKey  []sqltypes.Datum
	// unique: the event is the count of a deferrable unique constraint instead.
	unique *uniqueEvent
	// trigger: the event is an AFTER trigger instead.
	trigger *TriggerCall
}

// constraint is the OID of the event's constraint and how it was declared.
func (e *fkEvent) constraint() (oid sqltypes.OID, deferrable, initially bool) {
	if t := e.trigger; t != nil {
		return t.Trigger.OID, t.Trigger.Deferrable, t.Trigger.Deferred
	}
	if u := e.unique; u != nil {
		return u.ix.ConstraintOID, true, u.ix.InitiallyDeferred
	}
	return e.fk.OID, e.fk.Deferrable, e.fk.InitiallyDeferred
}

// deferrable reports whether the event may wait for COMMIT: actions other than NO
// ACTION never do.
func (e *fkEvent) deferrable() bool { return e.unique != nil || !e.toChild || e.action() == 'a' }

func (e *fkEvent) action() byte {
	if e.update {
		return e.fk.OnUpdate
	}
	return e.fk.OnDelete
}

func (q *fkQueue) add(x *Execution, e fkEvent) {
	if d := x.args.Deferred; d != nil && e.deferrable() && d.isDeferred(&e) {
		d.events = append(d.events, e)
		return
	}
	q.events = append(q.events, e)
}

// inserted queues the checks of a new row.
func (q *fkQueue) inserted(x *Execution, rel *catalog.Relation, row []sqltypes.Datum) error {
	for _, fk := range rel.ForeignKeys {
		if err := q.addChild(x, rel, fk, row); err != nil {
			return err
		}
	}
	return nil
}

// addChild queues the check of a referencing row, unless its key is NULL.
func (q *fkQueue) addChild(x *Execution, rel *catalog.Relation, fk *catalog.ForeignKey, row []sqltypes.Datum) error {
	nulls := 0
	for _, a := range fk.Attrs {
		if row[a-1].Null {
			nulls++
		}
	}
	if nulls > 0 {
		if fk.Match == 'f' && nulls < len(fk.Attrs) {
			return pgerror.New(pgerror.ForeignKeyViolation, "insert or update on table \"%s\" violates foreign key constraint \"%s\"", rel.Name, fk.Name).
				WithDetail("MATCH FULL does not allow mixing of null and nonnull key values.").WithTable(x.schemaName(rel), rel.Name).WithConstraint(fk.Name)
		}
		return nil
	}
	q.add(x, fkEvent{child: rel, fk: fk, key: attrValues(row, fk.Attrs)})
	return nil
}

func attrValues(row []sqltypes.Datum, attrs []int16) []sqltypes.Datum {
	out := make([]sqltypes.Datum, len(attrs))
	for i, a := range attrs {
		out[i] = row[a-1]
	}
	return out
}

func (q *fkQueue) updated(x *Execution, w *tableWriter, old, row []sqltypes.Datum) error {
	for _, fk := range w.rel.ForeignKeys {
		if x.differ(w.rel, old, row, fk.Attrs) {
			if err := q.addChild(x, w.rel, fk, row); err != nil {
				return err
			}
		}
	}
	for _, in := range w.incoming {
		if x.differ(w.rel, old, row, in.RefAttrs) && !anyNullAttr(old, in.RefAttrs) {
			q.add(x, fkEvent{child: in.Table, parent: w.rel, fk: in.FK, toChild: true, update: true,
				key: attrValues(old, in.RefAttrs), newKey: attrValues(row, in.RefAttrs)})
		}
	}
	return nil
}

func (q *fkQueue) deleted(x *Execution, w *tableWriter, old []sqltypes.Datum) error {
	for _, in := range w.incoming {
		if !anyNullAttr(old, in.RefAttrs) {
			q.add(x, fkEvent{child: in.Table, parent: w.rel, fk: in.FK, toChild: true, key: attrValues(old, in.RefAttrs)})
		}
	}
	return nil
}

// moved queues what a row's move to another partition means for the keys that refer to it.
func (q *fkQueue) moved(x *Execution, w *tableWriter, old, row []sqltypes.Datum) error {
	for _, in := range w.incoming {
		if anyNullAttr(old, in.RefAttrs) || in.Above && !x.differ(w.rel, old, row, in.RefAttrs) {
			continue
		}
		e := fkEvent{child: in.Table, parent: w.rel, fk: in.FK, toChild: true, key: attrValues(old, in.RefAttrs)}
		if in.Above {
			e.update, e.newKey = true, attrValues(row, in.RefAttrs)
		}
		q.add(x, e)
	}
	return nil
}

func anyNullAttr(row []sqltypes.Datum, attrs []int16) bool {
	for _, a := range attrs {
		if row[a-1].Null {
			return true
		}
	}
	return false
}

// differ reports whether two rows have different values in any of the attributes.
func (x *Execution) differ(rel *catalog.Relation, a, b []sqltypes.Datum, attrs []int16) bool {
	for _, n := range attrs {
		if !x.same(rel.Columns[n-1].Type, a[n-1], b[n-1]) {
			return true
		}
	}
	return false
}

// same is equality of two values of a type, NULLs equal.
func (x *Execution) same(ct sqltypes.ColumnType, a, b sqltypes.Datum) bool {
	if a == b {
		return true
	}
	if a.Null || b.Null {
		return false
	}
	t := x.typ(ct.OID)
	return t != nil && t.Compare != nil && t.Compare(a, b) == 0
}

// run works through the queue; actions may add to it.
func (q *fkQueue) run(x *Execution) error {
	for len(q.events) > 0 {
		events := q.events
		q.events = nil
		for i := range events {
			if i&63 == 0 {
				if err := x.cancelled(); err != nil {
					return err
				}
			}
			if err := q.handle(x, &events[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (q *fkQueue) handle(x *Execution, e *fkEvent) error {
	if e.trigger != nil {
		return x.fire(e.trigger)
	}
	if e.unique != nil {
		return x.checkUnique(e.unique)
	}
	if !e.toChild {
		return q.checkParent(x, e)
	}
	switch e.action() {
	case 'c', 'n', 'd':
		return q.act(x, e)
	}
	return q.checkChild(x, e)
}

// checkParent makes sure that a referencing row's key exists, and keeps it from
// going away until the transaction ends.
func (q *fkQueue) checkParent(x *Execution, e *fkEvent) error {
	parent := x.view.Catalog().Relation(e.fk.RefTable)
	if parent == nil {
		return pgerror.New(pgerror.InternalError, "foreign key \"%s\" refers to a table that is not there", e.fk.Name)
	}
	found, err := x.keyExists(parent, e.fk, e.key)
	if err != nil || found {
		return err
	}
	// The referencing row itself may have gone since.
	rows, err := x.children(e, true)
	if err != nil || len(rows) == 0 {
		return err
	}
	return pgerror.New(pgerror.ForeignKeyViolation, "insert or update on table \"%s\" violates foreign key constraint \"%s\"", e.child.Name, e.fk.Name).
		WithDetail("Key%s is not present in table \"%s\".", x.keyShown(e.child, e.fk.Attrs, e.key), parent.Name).
		WithTable(x.schemaName(e.child), e.child.Name).WithConstraint(e.fk.Name)
}

// keyExists looks a referenced key up in the newest state and locks it.
func (x *Execution) keyExists(parent *catalog.Relation, fk *catalog.ForeignKey, key []sqltypes.Datum) (bool, error) {
	var ix *catalog.Index
	for _, i := range parent.Indexes {
		if i.OID == fk.RefIndex || ix == nil && i.Unique && coversExactly(i, fk.RefAttrs) {
			ix = i
			if i.OID == fk.RefIndex {
				break
			}
		}
	}
	if ix == nil {
		return false, pgerror.New(pgerror.InternalError, "foreign key \"%s\" has no index to look its key up in", fk.Name)
	}
	attrs := fk.RefAttrs
	if parent.Partitioning != nil {
		var err error
		if parent, ix, attrs, err = x.partitionOfKey(parent, ix, attrs, key); err != nil || parent == nil {
			return false, err
		}
	}
	ordered := make([]sqltypes.Datum, len(ix.Keys))
	for i, k := range ix.Keys {
		for j, a := range attrs {
			if a == k.Attr {
				ordered[i] = key[j]
			}
		}
	}
	_, found, err := x.txn.LookupNewest(x.ctx, parent, ix, ordered, engine.LockKeyShare, nil)
	return found, err
}

// partitionOfKey finds the partition that would have a key of a unique index, its part
// of the index and its attributes; no relation when there is no such partition.
func (x *Execution) partitionOfKey(rel *catalog.Relation, ix *catalog.Index, attrs []int16, key []sqltypes.Datum) (*catalog.Relation, *catalog.Index, []int16, error) {
	row := make([]sqltypes.Datum, len(rel.Columns))
	for i := range row {
		row[i] = sqltypes.Null
	}
	for i, a := range attrs {
		row[a-1] = key[i]
	}
	leaf, _, err := x.newRouter().leaf(rel, row)
	if pgerror.Is(err, pgerror.CheckViolation) {
		return nil, nil, nil, nil
	}
	if err != nil {
		return nil, nil, nil, err
	}
	part := partOf(x.view.Catalog(), leaf, ix.OID)
	if part == nil {
		return nil, nil, nil, pgerror.New(pgerror.InternalError, "index %q has no part in partition %q", ix.Name, leaf.Name)
	}
	to := catalog.AttrsIn(rel, leaf)
	out := make([]int16, len(attrs))
	for i, a := range attrs {
		out[i] = to[a-1]
	}
	return leaf, part, out, nil
}

func coversExactly(ix *catalog.Index, attrs []int16) bool {
	if len(ix.Keys) != len(attrs) || ix.Predicate != "" {
		return false
	}
	for _, k := range ix.Keys {
		found := false
		for _, a := range attrs {
			found = found || a == k.Attr
		}
		if !found {
			return false
		}
	}
	return true
}

// checkChild is NO ACTION and RESTRICT.
func (q *fkQueue) checkChild(x *Execution, e *fkEvent) error {
	if e.action() == 'a' {
		return q.noAction(x, e)
	}
	rows, err := x.children(e, true)
	if err != nil || len(rows) == 0 {
		return err
	}
	return x.stillReferenced(e)
}

// noAction fails if a row refers to a key that is no longer there.
func (q *fkQueue) noAction(x *Execution, e *fkEvent) error {
	rows, err := x.children(e, true)
	if err != nil || len(rows) == 0 {
		return err
	}
	// Another row may have taken the key over.
	found, err := x.keyExists(x.referenced(e), e.fk, e.key)
	if err != nil || found {
		return err
	}
	return x.stillReferenced(e)
}

// referenced is the table that the event's foreign key refers to.
func (x *Execution) referenced(e *fkEvent) *catalog.Relation {
	if r := x.view.Catalog().Relation(e.fk.RefTable); r != nil {
		return r
	}
	return e.parent
}

// constraintOn is the name under which PostgreSQL has the foreign key for the
// partition that the event is about: numbered by the partitions' order.
func (x *Execution) constraintOn(e *fkEvent) string {
	root := x.referenced(e)
	if root.OID == e.parent.OID || root.Partitioning == nil {
		return e.fk.Name
	}
	n, found := 0, false
	var walk func(rel *catalog.Relation)
	walk = func(rel *catalog.Relation) {
		for _, part := range x.view.Catalog().Partitions(rel).Parts {
			if found {
				return
			}
			n++
			if found = part.OID == e.parent.OID; !found && part.Partitioning != nil {
				walk(part)
			}
		}
	}
	walk(root)
	base := e.child.Name + "_" + strings.ReplaceAll(attrNames(e.child, e.fk.Attrs), ", ", "_") + "_fkey"
	if base != e.fk.Name {
		n--
	}
	if n == 0 {
		return base
	}
	return base + strconv.Itoa(n)
}

func (x *Execution) stillReferenced(e *fkEvent) error {
	return pgerror.New(pgerror.ForeignKeyViolation, "update or delete on table \"%s\" violates foreign key constraint \"%s\" on table \"%s\"",
		e.parent.Name, x.constraintOn(e), e.child.Name).
		WithDetail("Key%s is still referenced from table \"%s\".", x.keyShown(x.referenced(e), e.fk.RefAttrs, e.key), e.child.Name).
		WithTable(x.schemaName(e.child), e.child.Name).WithConstraint(e.fk.Name)
}

func attrNames(rel *catalog.Relation, attrs []int16) string {
	names := make([]string, len(attrs))
	for i, a := range attrs {
		names[i] = rel.Columns[a-1].Name
	}
	return strings.Join(names, ", ")
}

func (x *Execution) keyText(rel *catalog.Relation, attrs []int16, key []sqltypes.Datum) string {
	vals := make([]string, len(attrs))
	for i, a := range attrs {
		vals[i] = x.text(rel.Columns[a-1].Type, key[i])
	}
	return strings.Join(vals, ", ")
}

// childRow is a referencing row of the newest state.
type childRow struct {
	ref engine.RowRef
	row []sqltypes.Datum
}

// children finds the rows that refer to a key in the newest state, through an
// index that begins with the foreign key's columns if there is one.
func (x *Execution) children(e *fkEvent, one bool) ([]childRow, error) {
	spec := engine.ScanSpec{Rel: e.child, Refs: true}
	if one {
		spec.RowHint = 1
	}
	for _, c := range e.child.Columns {
		if !c.Dropped {
			spec.Cols = append(spec.Cols, c.Num)
		}
	}
	if ix, key := fkIndex(e.child, e.fk, e.key); ix != nil {
		if !ix.Clustered {
			spec.Index = ix
		}
		spec.Spans = []engine.Span{{Lo: key, Hi: key, LoInc: true, HiInc: true}}
	}
	sc, err := x.txn.ScanNewest(x.ctx, spec)
	if err != nil {
		return nil, err
	}
	defer sc.Close()
	var b expr.Batch
	var out []childRow
	for {
		n, err := sc.Next(&b)
		if err != nil || n == 0 {
			return out, err
		}
		if err := x.cancelled(); err != nil {
			return nil, err
		}
		refs := sc.Refs()
		for i := range n {
			row := make([]sqltypes.Datum, len(e.child.Columns))
			for k := range row {
				row[k] = sqltypes.Null
			}
			for k, a := range spec.Cols {
				row[a-1] = b.Cols[k].Datum(i)
			}
			if !x.refers(e, row) {
				continue
			}
			out = append(out, childRow{refs[i], row})
			if one {
				return out, nil
			}
		}
	}
}

// refers reports whether a row of the child has the event's key.
func (x *Execution) refers(e *fkEvent, row []sqltypes.Datum) bool {
	for i, a := range e.fk.Attrs {
		if row[a-1].Null || !x.same(e.child.Columns[a-1].Type, row[a-1], e.key[i]) {
			return false
		}
	}
	return true
}

// fkIndex finds an index of the child whose first columns are the foreign key's, in any order.
func fkIndex(child *catalog.Relation, fk *catalog.ForeignKey, key []sqltypes.Datum) (*catalog.Index, []sqltypes.Datum) {
next:
	for _, ix := range child.Indexes {
		if !ix.Ready || !ix.Stored() || ix.Predicate != "" || len(ix.Keys) < len(fk.Attrs) {
			continue
		}
		ordered := make([]sqltypes.Datum, 0, len(fk.Attrs))
		for _, k := range ix.Keys[:len(fk.Attrs)] {
			at := -1
			for j, a := range fk.Attrs {
				if a == k.Attr {
					at = j
				}
			}
			if at < 0 {
				continue next
			}
			ordered = append(ordered, key[at])
		}
		return ix, ordered
	}
	return nil, nil
}

// act carries out CASCADE, SET NULL and SET DEFAULT.
func (q *fkQueue) act(x *Execution, e *fkEvent) error {
	rows, err := x.children(e, false)
	if err != nil || len(rows) == 0 {
		return err
	}
	w, err := q.writer(x, e.child)
	if err != nil {
		return err
	}
	var defaults []*expr.Program
	if e.action() == 'd' {
		if defaults, err = x.defaultsOf(w, e); err != nil {
			return err
		}
	}
	for _, c := range rows {
		mode := engine.LockUpdate
		row := append([]sqltypes.Datum(nil), c.row...)
		if e.action() != 'c' || e.update {
			if err := x.assignKey(e, row, defaults); err != nil {
				return err
			}
			mode = w.lockMode(c.row, row)
		}
		outcome, err := w.lock(&c.ref, mode, c.row)
		if err != nil {
			return err
		}
		if outcome == engine.Gone || outcome == engine.OwnWrite || !x.refers(e, c.row) {
			continue
		}
		if e.action() == 'c' && !e.update {
			if ok, err := w.before('d', c.row, nil); err != nil || !ok {
				if err != nil {
					return err
				}
				continue
			}
			if err := w.delete(c.ref, c.row); err != nil {
				return err
			}
			continue
		}
		copy(row, c.row)
		if err := x.assignKey(e, row, defaults); err != nil {
			return err
		}
		if ok, err := w.before('u', c.row, row); err != nil || !ok {
			if err != nil {
				return err
			}
			continue
		}
		if err := w.prepare(planner.PolicyUpdate, row); err != nil {
			return err
		}
		if err := w.update(c.ref, c.row, row); err != nil {
			return err
		}
	}
	if e.action() == 'd' {
		// The default may be the very key that went away.
		return q.noAction(x, e)
	}
	return nil
}

// assignKey gives a referencing row the key the action asks for.
func (x *Execution) assignKey(e *fkEvent, row []sqltypes.Datum, defaults []*expr.Program) error {
	for i, a := range e.fk.Attrs {
		switch e.action() {
		case 'c':
			row[a-1] = e.newKey[i]
			continue
		}
		if !e.update && len(e.fk.SetAttrs) > 0 && !hasAttr(e.fk.SetAttrs, a) {
			continue
		}
		row[a-1] = sqltypes.Null
		if e.action() == 'd' && defaults[i] != nil {
			d, err := x.scalar(defaults[i])
			if err != nil {
				return err
			}
			row[a-1] = d
		}
	}
	return nil
}

func hasAttr(attrs []int16, a int16) bool {
	for _, b := range attrs {
		if a == b {
			return true
		}
	}
	return false
}

// defaultsOf compiles the defaults of the referencing columns.
func (x *Execution) defaultsOf(w *tableWriter, e *fkEvent) ([]*expr.Program, error) {
	out := make([]*expr.Program, len(e.fk.Attrs))
	for i, a := range e.fk.Attrs {
		col := e.child.Columns[a-1]
		if int(a) > len(w.t.Defaults) {
			if !col.HasDefault {
				continue
			}
			return nil, pgerror.NotSupported("SET DEFAULT of column \"%s\" of relation \"%s\"", col.Name, e.child.Name)
		}
		var err error
		if out[i], err = x.compile(w.t.Defaults[a-1]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// writer prepares a table that an action writes.
func (q *fkQueue) writer(x *Execution, rel *catalog.Relation) (*tableWriter, error) {
	if w := q.writers[rel.OID]; w != nil {
		return w, nil
	}
	t, err := x.targetOf(rel)
	if err != nil {
		return nil, err
	}
	w, err := x.newTableWriter(t)
	if err != nil {
		return nil, err
	}
	if q.writers == nil {
		q.writers = map[sqltypes.OID]*tableWriter{}
	}
	q.writers[rel.OID] = w
	return w, nil
}

// targetOf asks the planner for a table's write information, or makes it when
// nothing needs to be bound for it.
func (x *Execution) targetOf(rel *catalog.Relation) (*planner.Target, error) {
	cat := x.view.Catalog()
	if x.rt.Target != nil {
		return x.rt.Target(cat, rel)
	}
	for _, c := range rel.Columns {
		if c.Generated != 0 {
			return nil, pgerror.NotSupported("referential action on generated column \"%s\"", c.Name)
		}
	}
	if len(rel.Checks) > 0 {
		return nil, pgerror.NotSupported("referential action on relation \"%s\", which has check constraints,", rel.Name)
	}
	for _, ix := range rel.Indexes {
		if ix.Predicate != "" {
			return nil, pgerror.NotSupported("referential action on relation \"%s\", which has a partial index,", rel.Name)
		}
		for _, k := range ix.Keys {
			if k.Attr == 0 {
				return nil, pgerror.NotSupported("referential action on relation \"%s\", which has an index on an expression,", rel.Name)
			}
		}
	}
	return &planner.Target{Rel: rel, Incoming: IncomingFKs(cat, rel.OID)}, nil
}

// IncomingFKs lists the foreign keys that refer to a table.
func IncomingFKs(cat *catalog.Catalog, oid sqltypes.OID) []planner.IncomingFK {
	var out []planner.IncomingFK
	cat.AllRelations(func(r *catalog.Relation) bool {
		for _, fk := range r.ForeignKeys {
			if fk.RefTable == oid {
				out = append(out, planner.IncomingFK{Table: r, FK: fk, RefAttrs: fk.RefAttrs})
			}
		}
		return true
	})
	return out
}
