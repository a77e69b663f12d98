package ddl

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func (r *run) drop(n *pg.DropStmt) (string, error) {
	tag := "DROP " + objectWord(n.RemoveType)
	cascade := n.Behavior == pg.DropBehavior_DROP_CASCADE
	err := r.ownDatabase(n)
	if err != nil {
		return "", err
	}
	switch n.RemoveType {
	case pg.ObjectType_OBJECT_TABLE, pg.ObjectType_OBJECT_VIEW, pg.ObjectType_OBJECT_SEQUENCE, pg.ObjectType_OBJECT_MATVIEW, pg.ObjectType_OBJECT_INDEX:
		err = r.dropRelations(n, cascade)
	case pg.ObjectType_OBJECT_SCHEMA:
		err = r.dropSchemas(n, cascade)
	case pg.ObjectType_OBJECT_TYPE, pg.ObjectType_OBJECT_DOMAIN:
		err = r.dropTypes(n, cascade)
	case pg.ObjectType_OBJECT_FUNCTION, pg.ObjectType_OBJECT_PROCEDURE, pg.ObjectType_OBJECT_ROUTINE, pg.ObjectType_OBJECT_AGGREGATE:
		err = r.dropFunctions(n)
	case pg.ObjectType_OBJECT_TRIGGER:
		err = r.dropTrigger(n)
	case pg.ObjectType_OBJECT_STATISTIC_EXT:
		err = r.dropStatistics(n)
	case pg.ObjectType_OBJECT_PUBLICATION:
		err = r.dropPublications(n)
	case pg.ObjectType_OBJECT_POLICY:
		err = r.dropPolicies(n)
	case pg.ObjectType_OBJECT_OPERATOR:
		err = r.dropOperators(n)
	case pg.ObjectType_OBJECT_CAST:
		err = r.dropCasts(n)
	default:
		err = pgerror.NotSupported("DROP %s", objectWord(n.RemoveType))
	}
	return tag, err
}

// ownDatabase refuses names that are qualified with another database.
func (r *run) ownDatabase(n *pg.DropStmt) error {
	for _, obj := range n.Objects {
		parts := nameParts(obj)
		if len(parts) != 3 || parts[0] == r.catalog().Database(r.catalog().DB).Name {
			continue
		}
		whole := strings.Join(parts, ".")
		switch n.RemoveType {
		case pg.ObjectType_OBJECT_TABLE, pg.ObjectType_OBJECT_VIEW, pg.ObjectType_OBJECT_SEQUENCE, pg.ObjectType_OBJECT_MATVIEW, pg.ObjectType_OBJECT_INDEX:
			whole = `"` + whole + `"`
		}
		return pgerror.New(pgerror.FeatureNotSupported, "cross-database references are not implemented: %s", whole)
	}
	return nil
}

func objectWord(t pg.ObjectType) string {
	w := strings.ReplaceAll(strings.TrimPrefix(t.String(), "OBJECT_"), "_", " ")
	if w == "MATVIEW" {
		return "MATERIALIZED VIEW"
	}
	if t == pg.ObjectType_OBJECT_STATISTIC_EXT {
		return "STATISTICS"
	}
	return w
}

func (r *run) dropRelations(n *pg.DropStmt, cascade bool) error {
	want := map[pg.ObjectType]catalog.RelKind{
		pg.ObjectType_OBJECT_TABLE: catalog.KindTable, pg.ObjectType_OBJECT_VIEW: catalog.KindView,
		pg.ObjectType_OBJECT_SEQUENCE: catalog.KindSequence, pg.ObjectType_OBJECT_MATVIEW: catalog.KindMatView,
		pg.ObjectType_OBJECT_INDEX: catalog.KindIndex,
	}[n.RemoveType]
	d := &dropper{run: r, cascade: cascade, gone: map[sqltypes.OID]bool{}}
	var rels []*catalog.Relation
	for _, obj := range n.Objects {
		schema, name, err := split(nameParts(obj))
		if err != nil {
			return err
		}
		if schema != "" && n.MissingOk && r.catalog().SchemaByName(schema) == nil {
			r.s.Notice("NOTICE", pgerror.InvalidSchemaName, sprintf("schema %q does not exist, skipping", schema))
			continue
		}
		rel, ix, err := r.findRelation(schema, name)
		if err != nil {
			return err
		}
		if rel == nil {
			word := kindWord(want)
			if n.MissingOk {
				r.s.Notice("NOTICE", pgerror.SuccessfulCompletion, sprintf("%s %q does not exist, skipping", word, name))
				continue
			}
			if schema != "" {
				name = schema + "." + name
			}
			code := pgerror.Code(pgerror.UndefinedTable)
			if want == catalog.KindIndex {
				code = pgerror.UndefinedObject
			}
			return pgerror.New(code, "%s %q does not exist", word, name)
		}
		kind := rel.Kind
		if rel.Rollup != nil {
			kind = catalog.KindMatView
		}
		if ix != nil {
			kind = catalog.KindIndex
		}
		if kind == catalog.KindPartitioned {
			kind = catalog.KindTable
		}
		if kind != want && !(kind == catalog.KindVirtual && want == catalog.KindTable) {
			return wrongKind(name, want, kind)
		}
		if kind == catalog.KindVirtual {
			return pgerror.New(pgerror.InsufficientPrivilege, "permission denied: %q is a system catalog", name)
		}
		if err := r.mustOwn(rel); err != nil {
			return err
		}
		if rel, err = r.lock(rel, engine.AccessExclusive); err != nil {
			return err
		}
		if ix != nil {
			if ix = indexByOID(rel, ix.OID); ix == nil {
				return noRelation("", name)
			}
			for _, t := range r.catalog().Tree(rel)[1:] {
				if _, err := r.lock(t, engine.AccessExclusive); err != nil {
					return err
				}
			}
			if err := d.dropIndex(rel, ix); err != nil {
				return err
			}
			continue
		}
		rels = append(rels, rel)
		d.gone[rel.OID] = true
	}
	return d.dropAll(rels)
}

func wrongKind(name string, want, have catalog.RelKind) error {
	e := pgerror.New(pgerror.WrongObjectType, "%q is not %s", name, article(kindWord(want)))
	if have == catalog.KindVirtual {
		return e
	}
	return e.WithHint("Use DROP %s to remove %s.", strings.ToUpper(kindWord(have)), article(kindWord(have)))
}

func article(word string) string {
	if strings.ContainsRune("aeiou", rune(word[0])) {
		return "an " + word
	}
	return "a " + word
}

// dropper removes a set of relations with what depends on them. gone holds what
// is going anyway, so that it is nobody's obstacle.
type dropper struct {
	*run
	cascade bool
	quiet   bool // no NOTICE of what CASCADE takes
	gone    map[sqltypes.OID]bool
	// also collects what CASCADE drops besides ("view v", "constraint c on table t").
	also []string
	// extra actions, run after the relations are gone.
	constraints []fkRef
}

type fkRef struct {
	table sqltypes.OID
	name  string
}

// dropAll drops the relations; without CASCADE anything that depends on them is an error.
func (d *dropper) dropAll(rels []*catalog.Relation) error {
	var blockers []string
	queue := slices.Clone(rels)
	for i := 0; i < len(queue); i++ {
		rel := queue[i]
		for _, v := range d.dependentViews(rel) {
			if d.gone[v.OID] {
				continue
			}
			desc := kindWord(v.Kind) + " " + d.visibleName(v)
			if !d.cascade {
				blockers = append(blockers, desc+" depends on "+kindWord(rel.Kind)+" "+d.visibleName(rel))
				continue
			}
			d.also = append(d.also, desc)
			d.gone[v.OID] = true
			queue = append(queue, v)
		}
		for _, child := range d.catalog().Children(rel.OID) {
			if d.gone[child.OID] {
				continue
			}
			if child.Bound == nil {
				desc := "table " + d.visibleName(child)
				if !d.cascade {
					blockers = append(blockers, desc+" depends on table "+d.visibleName(rel))
					continue
				}
				d.also = append(d.also, desc)
			}
			// A partition goes with its table.
			d.gone[child.OID] = true
			queue = append(queue, child)
		}
		for _, child := range d.referencing(rel.OID) {
			if d.gone[child.OID] {
				continue
			}
			for _, fk := range child.ForeignKeys {
				if fk.RefTable != rel.OID {
					continue
				}
				if fk.Parent != 0 {
					d.constraints = append(d.constraints, fkRef{child.OID, fk.Name})
					continue
				}
				desc := "constraint " + fk.Name + " on table " + d.visibleName(child)
				if !d.cascade {
					blockers = append(blockers, desc+" depends on table "+d.visibleName(rel))
					continue
				}
				d.also = append(d.also, desc)
				d.constraints = append(d.constraints, fkRef{child.OID, fk.Name})
			}
		}
		for _, u := range d.policiesReading(rel.OID, 0) {
			if d.gone[u.rel.OID] || u.rel.OID == rel.OID {
				continue
			}
			if !d.cascade {
				blockers = append(blockers, u.word(d.run)+" depends on "+kindWord(rel.Kind)+" "+d.visibleName(rel))
				continue
			}
			d.also = append(d.also, u.word(d.run))
			d.removePolicy(u.rel.OID, u.policy.Name)
		}
		for _, def := range d.defaultsUsing(rel) {
			desc := "default value for column " + def.col + " of table " + d.visibleName(def.rel)
			if !d.cascade {
				blockers = append(blockers, desc+" depends on sequence "+d.visibleName(rel))
				continue
			}
			d.also = append(d.also, desc)
			d.dropDefault(def)
		}
	}
	if len(blockers) > 0 {
		return dependencyError(kindWord(rels[0].Kind)+" "+d.visibleName(rels[0]), len(rels) > 1, blockers)
	}
	d.noticeCascade()
	for _, c := range d.constraints {
		if rel := d.catalog().Relation(c.table); rel != nil {
			cp := copyRelation(rel)
			cp.ForeignKeys = slices.DeleteFunc(cp.ForeignKeys, func(f *catalog.ForeignKey) bool { return f.Name == c.name })
			d.schema().PutRelation(cp)
		}
	}
	for _, rel := range queue {
		d.dropOne(rel)
	}
	return nil
}

func (d *dropper) noticeCascade() {
	switch {
	case d.quiet:
	case len(d.also) == 1:
		d.notice("drop cascades to %s", d.also[0])
	case len(d.also) > 1:
		d.s.NoticeError(&pgerror.Error{Severity: "NOTICE", Code: pgerror.SuccessfulCompletion,
			Message: sprintf("drop cascades to %d other objects", len(d.also)), Detail: cascadeDetail(d.also)})
	}
}

// maxCascadeLines bounds the objects that are named, as PostgreSQL's MAX_REPORTED_DEPS.
const maxCascadeLines = 100

func cascadeDetail(also []string) string {
	var b strings.Builder
	for i, o := range also {
		if i == maxCascadeLines {
			b.WriteString(sprintf("\nand %d other objects (see server log for list)", len(also)-i))
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("drop cascades to " + o)
	}
	return b.String()
}

func dependencyError(what string, several bool, blockers []string) error {
	if several {
		return pgerror.New(pgerror.DependentObjectsStillExist, "cannot drop desired object(s) because other objects depend on them").
			WithDetail("%s", strings.Join(blockers, "\n")).WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
	}
	return pgerror.New(pgerror.DependentObjectsStillExist, "cannot drop %s because other objects depend on it", what).
		WithDetail("%s", strings.Join(blockers, "\n")).WithHint("Use DROP ... CASCADE to drop the dependent objects too.")
}

// visibleName is the name, qualified when the search path does not find it.
func (r *run) visibleName(rel *catalog.Relation) string {
	if found, _, err := r.findRelation("", rel.Name); err == nil && found != nil && found.OID == rel.OID {
		return quoteIdent(rel.Name)
	}
	return r.qualified(rel)
}

// dropOne removes a relation, its storage, row type and owned sequences.
func (d *dropper) dropOne(rel *catalog.Relation) {
	if rel.Kind == catalog.KindTable || rel.Kind == catalog.KindPartitioned || rel.Kind == catalog.KindMatView {
		d.dropStorage(rel)
	}
	for _, c := range rel.Columns {
		if c.OwnedSequence != 0 && !c.Dropped {
			if seq := d.catalog().Relation(c.OwnedSequence); seq != nil {
				d.schema().DropRelation(seq.OID)
			}
		}
	}
	d.catalog().AllRelations(func(s *catalog.Relation) bool {
		if s.Kind == catalog.KindSequence && s.Sequence.OwnerTable == rel.OID {
			d.schema().DropRelation(s.OID)
		}
		return true
	})
	if rel.Kind == catalog.KindSequence && rel.Sequence.OwnerTable != 0 {
		d.disown(rel)
	}
	d.dropRollupStore(rel)
	if rel.RowType != 0 {
		d.schema().DropType(rel.RowType)
	}
	d.unpublish(func(r, _ sqltypes.OID) bool { return r == rel.OID })
	d.schema().DropRelation(rel.OID)
}

func (d *dropper) disown(seq *catalog.Relation) {
	rel := d.catalog().Relation(seq.Sequence.OwnerTable)
	if rel == nil {
		return
	}
	cp := copyRelation(rel)
	for _, c := range cp.Columns {
		if c.OwnedSequence == seq.OID {
			c.OwnedSequence = 0
		}
	}
	d.schema().PutRelation(cp)
}

// dependentViews lists views whose query uses the relation.
func (r *run) dependentViews(rel *catalog.Relation) []*catalog.Relation {
	var out []*catalog.Relation
	r.catalog().AllRelations(func(v *catalog.Relation) bool {
		if (v.Kind == catalog.KindView || v.Kind == catalog.KindMatView) && v.OID != rel.OID {
			if deps, err := bind.ViewDependencies(r.s.PlanContext(), v); err == nil && slices.Contains(deps, rel.OID) {
				out = append(out, v)
			}
		}
		return true
	})
	slices.SortFunc(out, func(a, b *catalog.Relation) int { return int(a.OID) - int(b.OID) })
	return out
}

type defaultUse struct {
	rel *catalog.Relation
	col string
}

// defaultsUsing lists column defaults that call nextval on a sequence that is being dropped.
func (d *dropper) defaultsUsing(seq *catalog.Relation) []defaultUse {
	if seq.Kind != catalog.KindSequence {
		return nil
	}
	var out []defaultUse
	byOID := sprintf("%d::oid::regclass", seq.OID)
	byName := seq.Name
	d.catalog().AllRelations(func(rel *catalog.Relation) bool {
		for _, c := range rel.Columns {
			if !c.HasDefault || c.Dropped || d.gone[rel.OID] {
				continue
			}
			if strings.Contains(c.Default, byOID) ||
				namesSequence(c.Default, "nextval('"+byName+"'") || namesSequence(c.Default, "."+byName+"'") {
				out = append(out, defaultUse{rel, c.Name})
			}
		}
		return true
	})
	return out
}

// namesSequence: the text has the constant, and not as a text that is looked up each time.
func namesSequence(text, constant string) bool {
	_, after, ok := strings.Cut(text, constant)
	return ok && !strings.HasPrefix(after, "::text")
}

func (d *dropper) dropDefault(u defaultUse) {
	cp := copyRelation(d.catalog().Relation(u.rel.OID))
	c := columnByName(cp, u.col)
	c.HasDefault, c.Default, c.OwnedSequence = false, "", 0
	d.schema().PutRelation(cp)
}

func (d *dropper) dropIndex(rel *catalog.Relation, ix *catalog.Index) error {
	if ix.Constraint != "" {
		return pgerror.New(pgerror.DependentObjectsStillExist, "cannot drop index %s because constraint %s on table %s requires it", ix.Name, ix.Constraint, rel.Name).
			WithHint("You can drop constraint %s on table %s instead.", ix.Constraint, rel.Name)
	}
	for _, child := range d.referencingIndex(ix.OID) {
		if !d.cascade {
			return dependencyError("index "+ix.Name, false, []string{"constraint " + child.name + " depends on index " + ix.Name})
		}
		cp := copyRelation(d.catalog().Relation(child.table))
		cp.ForeignKeys = slices.DeleteFunc(cp.ForeignKeys, func(f *catalog.ForeignKey) bool { return f.Name == child.name })
		d.schema().PutRelation(cp)
	}
	if ix.Parent != 0 && !d.gone[ix.Parent] {
		_, up := d.catalog().Index(ix.Parent)
		return pgerror.New(pgerror.DependentObjectsStillExist, "cannot drop index %s because index %s requires it", ix.Name, up.Name).
			WithHint("You can drop index %s instead.", up.Name)
	}
	d.gone[ix.OID] = true
	for _, part := range d.catalog().Children(rel.OID) {
		for _, k := range part.Indexes {
			if k.Parent == ix.OID {
				if err := d.dropIndex(part, k); err != nil {
					return err
				}
			}
		}
	}
	cp := copyRelation(d.catalog().Relation(rel.OID))
	cp.Indexes = slices.DeleteFunc(cp.Indexes, func(i *catalog.Index) bool { return i.OID == ix.OID })
	if ix.StorageID != 0 {
		d.schema().DeleteStorage(ix.StorageID)
	}
	d.schema().PutRelation(cp)
	return nil
}

func (r *run) referencingIndex(ix sqltypes.OID) []fkRef {
	var out []fkRef
	r.catalog().AllRelations(func(c *catalog.Relation) bool {
		for _, fk := range c.ForeignKeys {
			if fk.RefIndex == ix {
				out = append(out, fkRef{c.OID, fk.Name})
			}
		}
		return true
	})
	return out
}

func (r *run) dropSchemas(n *pg.DropStmt, cascade bool) error {
	for _, obj := range n.Objects {
		name := nameParts(obj)[0]
		s := r.catalog().SchemaByName(name)
		if s == nil {
			if n.MissingOk {
				r.s.Notice("NOTICE", pgerror.SuccessfulCompletion, sprintf("schema %q does not exist, skipping", name))
				continue
			}
			return noSchema(name)
		}
		if s.OID == catalogSchema || name == "information_schema" {
			return pgerror.New(pgerror.DependentObjectsStillExist, "cannot drop schema %s because it is required by the database system", name)
		}
		if err := r.mustOwnSchema(s); err != nil {
			return err
		}
		if err := r.emptySchema(s, cascade); err != nil {
			return err
		}
		r.unpublish(func(_, schema sqltypes.OID) bool { return schema == s.OID })
		r.schema().DropSchema(s.OID)
	}
	return nil
}

// emptySchema drops all that a schema contains, or refuses.
func (r *run) emptySchema(s *catalog.Schema, cascade bool) error {
	d := &dropper{run: r, cascade: cascade, gone: map[sqltypes.OID]bool{}}
	var rels []*catalog.Relation
	var types []*catalog.UserType
	var funcs []*catalog.Function
	r.catalog().AllRelations(func(rel *catalog.Relation) bool {
		owned := rel.Kind == catalog.KindSequence && rel.Sequence.OwnerTable != 0
		if rel.Schema == s.OID && rel.Kind != catalog.KindComposite && !owned {
			rels = append(rels, rel)
			d.gone[rel.OID] = true
		}
		return true
	})
	r.catalog().AllTypes(func(t *catalog.UserType) bool {
		if t.Schema == s.OID && t.Kind != 'a' && t.Kind != 'm' && (t.Kind != 'c' || r.isPlainComposite(t)) {
			types = append(types, t)
		}
		return true
	})
	r.catalog().AllFunctions(func(f *catalog.Function) bool {
		if f.Schema == s.OID && !isConstructor(f) {
			funcs = append(funcs, f)
		}
		return true
	})
	var opers []*catalog.Operator
	r.catalog().AllOperators(func(o *catalog.Operator) bool {
		if o.Schema == s.OID {
			opers = append(opers, o)
		}
		return true
	})
	slices.SortFunc(rels, func(a, b *catalog.Relation) int { return int(a.OID) - int(b.OID) })
	slices.SortFunc(types, func(a, b *catalog.UserType) int { return int(a.OID) - int(b.OID) })
	var contents []string
	for _, rel := range rels {
		contents = append(contents, kindWord(rel.Kind)+" "+d.visibleName(rel))
	}
	for _, t := range types {
		contents = append(contents, "type "+t.Name)
	}
	for _, f := range funcs {
		contents = append(contents, "function "+f.Name)
	}
	for _, o := range opers {
		contents = append(contents, "operator "+r.operatorText(o))
	}
	if len(contents) > 0 && !cascade {
		for i := range contents {
			contents[i] += " depends on schema " + s.Name
		}
		return dependencyError("schema "+s.Name, false, contents)
	}
	d.also = contents
	if len(rels) > 0 {
		if err := d.dropAll(rels); err != nil {
			return err
		}
	} else {
		d.noticeCascade()
	}
	for _, o := range opers {
		r.removeOperator(o)
	}
	for _, t := range types {
		r.dropType(t)
	}
	for _, f := range funcs {
		r.schema().DropFunction(f.OID)
	}
	return nil
}

func (r *run) isPlainComposite(t *catalog.UserType) bool {
	rel := r.catalog().Relation(t.Relation)
	return rel != nil && rel.Kind == catalog.KindComposite
}
