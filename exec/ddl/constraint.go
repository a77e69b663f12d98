package ddl

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// constraintExists looks for a constraint of that name on the relation.
func (b *builder) constraintExists(name string) bool {
	for _, c := range b.rel.Checks {
		if c.Name == name {
			return true
		}
	}
	for _, f := range b.rel.ForeignKeys {
		if f.Name == name {
			return true
		}
	}
	for _, ix := range b.rel.Indexes {
		if ix.Constraint == name {
			return true
		}
	}
	return false
}

// constraintName takes the given name or chooses one as PostgreSQL does.
func (b *builder) constraintName(given, column, label string) (string, error) {
	if given != "" {
		given = truncateIdent(given)
		if b.constraintExists(given) {
			return "", pgerror.New(pgerror.DuplicateObject, "constraint %q for relation %q already exists", given, b.rel.Name)
		}
		return given, nil
	}
	for pass := 0; ; pass++ {
		l := label
		if pass > 0 {
			l += sprintf("%d", pass)
		}
		if name := objectName(b.rel.Name, column, l); !b.constraintExists(name) {
			return name, nil
		}
	}
}

// addCheck binds and adds a CHECK constraint; rows that are there are tested.
func (b *builder) addCheck(c *pg.Constraint, isNew bool) error {
	text, err := deparseExpr(c.RawExpr)
	if err != nil {
		return err
	}
	cond, err := bind.CheckExpr(b.s.PlanContext(), b.rel, text)
	if err != nil {
		return err
	}
	if done, err := b.mergeCheck(c, text); done || err != nil {
		return err
	}
	if c.IsNoInherit && b.rel.Partitioning != nil {
		return pgerror.New(pgerror.InvalidTableDefinition, "cannot add NO INHERIT constraint to partitioned table %q", b.rel.Name)
	}
	attrs := attrsOf(cond)
	column := ""
	if len(attrs) == 1 {
		column = b.rel.Columns[attrs[0]-1].Name
	}
	name, err := b.constraintName(c.Conname, column, "check")
	if err != nil {
		return err
	}
	oid, err := b.newOID()
	if err != nil {
		return err
	}
	check := &catalog.Check{OID: oid, Name: name, Expr: text, Attrs: attrs, NotValid: c.SkipValidation, NoInherit: c.IsNoInherit}
	if b.fromParent {
		check.Inherited, check.NotLocal = 1, true
	}
	if !isNew && !c.SkipValidation {
		if err := b.validateCheck(check); err != nil {
			return err
		}
	}
	b.rel.Checks = append(b.rel.Checks, check)
	return nil
}

func (b *builder) validateCheck(c *catalog.Check) error {
	rows, err := b.s.Query(b.ctx, "SELECT 1 FROM ONLY "+b.qualified(b.rel)+" WHERE NOT ("+c.Expr+") LIMIT 1")
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		return pgerror.New(pgerror.CheckViolation, "check constraint %q of relation %q is violated by some row", c.Name, b.rel.Name).
			WithTable(b.catalog().Schema(b.rel.Schema).Name, b.rel.Name).WithConstraint(c.Name)
	}
	return nil
}

// attrsOf lists the attributes an expression over a relation refers to, ascending.
func attrsOf(e expr.Expr) []int16 {
	var out []int16
	expr.Walk(e, func(n expr.Expr) bool {
		if c, ok := n.(*expr.Col); ok {
			if a := int16(c.Idx + 1); !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
		return true
	})
	slices.Sort(out)
	return out
}

// qualified is the relation's name for use in SQL.
func (r *run) qualified(rel *catalog.Relation) string {
	return quoteIdent(r.catalog().Schema(rel.Schema).Name) + "." + quoteIdent(rel.Name)
}

// whole is the relation's name for reading what a constraint on it is about: a
// partitioned table's partitions, but not the children of others.
func (r *run) whole(rel *catalog.Relation) string {
	if rel.Partitioning != nil {
		return r.qualified(rel)
	}
	return "ONLY " + r.qualified(rel)
}

// addKey makes the index of a PRIMARY KEY or UNIQUE constraint.
func (b *builder) addKey(c *pg.Constraint, isNew bool) error {
	if c.Indexname != "" {
		if b.rel.Partitioning != nil {
			return pgerror.New(pgerror.FeatureNotSupported, "ALTER TABLE / ADD CONSTRAINT USING INDEX is not supported on partitioned tables")
		}
		return b.adoptIndex(c)
	}
	primary := c.Contype == pg.ConstrType_CONSTR_PRIMARY
	if primary && slices.ContainsFunc(b.rel.Indexes, func(ix *catalog.Index) bool { return ix.Primary }) {
		return pgerror.New(pgerror.InvalidTableDefinition, "multiple primary keys for table %q are not allowed", b.rel.Name)
	}
	label := "key"
	if primary {
		label = "pkey"
	}
	ix := &catalog.Index{Unique: true, Primary: primary, NullsNotDistinct: c.NullsNotDistinct,
		Deferrable: c.Deferrable, InitiallyDeferred: c.Initdeferred}
	var names []string
	for _, k := range strs(c.Keys) {
		col := columnByName(b.rel, k)
		if col == nil {
			return pgerror.New(pgerror.UndefinedColumn, "column %q named in key does not exist", k)
		}
		if slices.Contains(names, k) {
			what := "unique"
			if primary {
				what = "primary key"
			}
			return pgerror.New(pgerror.DuplicateColumn, "column %q appears twice in %s constraint", k, what)
		}
		if primary && !col.NotNull {
			if !isNew {
				if err := b.validateNotNull(col); err != nil {
					return err
				}
			}
			col.NotNull = true
		}
		names = append(names, k)
		ix.Keys = append(ix.Keys, catalog.IndexKey{Attr: col.Num, Type: col.Type})
	}
	var err error
	if ix.Include, err = b.includeColumns(c.Including); err != nil {
		return err
	}
	if c.Conname != "" {
		ix.Name = truncateIdent(c.Conname)
		if b.relationExists(b.rel.Schema, ix.Name) || b.ownIndexNamed(ix.Name) {
			return pgerror.New(pgerror.DuplicateTable, "relation %q already exists", ix.Name)
		}
	} else if primary {
		ix.Name = b.freeRelationName(b.rel.Schema, b.rel.Name, "", label, b.ownIndexNamed)
	} else {
		ix.Name = b.freeRelationName(b.rel.Schema, b.rel.Name, strings.Join(catalog.IndexColumnNames(b.rel, ix), "_"), label, b.ownIndexNamed)
	}
	if b.constraintExists(ix.Name) {
		return pgerror.New(pgerror.DuplicateObject, "constraint %q for relation %q already exists", ix.Name, b.rel.Name)
	}
	word := "UNIQUE"
	if primary {
		word = "PRIMARY KEY"
	}
	if err := b.coversKey(ix, word); err != nil {
		return err
	}
	ix.Constraint = ix.Name
	if ix.ConstraintOID, err = b.newOID(); err != nil {
		return err
	}
	// The table is clustered by a primary key without included columns.
	if primary && !c.Deferrable && b.rel.Partitioning == nil && keysClusterable(b.catalog(), ix) {
		if isNew {
			ix.Clustered = true
		} else {
			return b.clusterBy(ix)
		}
	}
	return b.addIndex(ix, isNew)
}

// keysClusterable: every key type orders by its stored form alone.
func keysClusterable(cat *catalog.Catalog, ix *catalog.Index) bool {
	for _, k := range ix.Keys {
		if t := cat.Type(k.Type.OID); t == nil || t.Compare == nil {
			return false
		}
	}
	return true
}

func (b *builder) ownIndexNamed(name string) bool {
	return slices.ContainsFunc(b.rel.Indexes, func(ix *catalog.Index) bool { return ix.Name == name })
}

func (b *builder) includeColumns(list []*pg.Node) ([]int16, error) {
	var out []int16
	for _, n := range list {
		name := str(n)
		if e := n.GetIndexElem(); e != nil {
			name = e.Name
			if e.Expr != nil {
				return nil, pgerror.New(pgerror.FeatureNotSupported, "expressions are not supported in included columns")
			}
		}
		col := columnByName(b.rel, name)
		if col == nil {
			return nil, pgerror.New(pgerror.UndefinedColumn, "column %q does not exist", name)
		}
		out = append(out, col.Num)
	}
	return out, nil
}

// adoptIndex is ADD CONSTRAINT … USING INDEX.
func (b *builder) adoptIndex(c *pg.Constraint) error {
	for _, ix := range b.rel.Indexes {
		if ix.Name != c.Indexname {
			continue
		}
		if err := adoptable(b.rel, ix, c); err != nil {
			return err
		}
		name := truncateIdent(c.Conname)
		if name == "" {
			name = ix.Name
		}
		oid, err := b.newOID()
		if err != nil {
			return err
		}
		ix.Name, ix.Constraint, ix.ConstraintOID = name, name, oid
		ix.Primary = c.Contype == pg.ConstrType_CONSTR_PRIMARY
		ix.Deferrable, ix.InitiallyDeferred = c.Deferrable, c.Initdeferred
		if ix.Primary {
			for _, k := range ix.Keys {
				col := b.rel.Columns[k.Attr-1]
				if !col.NotNull {
					if err := b.validateNotNull(col); err != nil {
						return err
					}
					col.NotNull = true
				}
			}
		}
		return nil
	}
	return pgerror.New(pgerror.UndefinedObject, "index %q does not exist", c.Indexname)
}

// adoptable refuses an index that cannot serve as the index of the constraint (transformIndexConstraint).
func adoptable(rel *catalog.Relation, ix *catalog.Index, c *pg.Constraint) error {
	wrong := func(format string, args ...any) *pgerror.Error {
		return pgerror.New(pgerror.WrongObjectType, format, args...)
	}
	cannot := "Cannot create a primary key or unique constraint using such an index."
	switch {
	case ix.Constraint != "":
		return pgerror.New(pgerror.ObjectNotInPrerequisiteState, "index %q is already associated with a constraint", ix.Name)
	case !ix.Ready:
		return pgerror.New(pgerror.ObjectNotInPrerequisiteState, "index %q is not valid", ix.Name)
	case !ix.Unique:
		return wrong("%q is not a unique index", ix.Name).WithDetail("%s", cannot)
	case slices.ContainsFunc(ix.Keys, func(k catalog.IndexKey) bool { return k.Attr == 0 }):
		return wrong("index %q contains expressions", ix.Name).WithDetail("%s", cannot)
	case ix.Predicate != "":
		return wrong("%q is a partial index", ix.Name).WithDetail("%s", cannot)
	case ix.NullsNotDistinct && c.Contype == pg.ConstrType_CONSTR_PRIMARY:
		return wrong("primary keys cannot use NULLS NOT DISTINCT indexes")
	}
	for i, k := range ix.Keys {
		t := sqltypes.DefaultOpClass(sqltypes.AMBtree, rel.Columns[k.Attr-1].Type.OID)
		if k.Desc || k.NullsFirst || k.OpClass != 0 && (t == nil || t.OID != k.OpClass) || k.Type.Collation != rel.Columns[k.Attr-1].Type.Collation {
			return wrong("index %q column number %d does not have default sorting behavior", ix.Name, i+1).WithDetail("%s", cannot)
		}
	}
	return nil
}

func (b *builder) validateNotNull(col *catalog.Column) error {
	rows, err := b.s.Query(b.ctx, "SELECT 1 FROM ONLY "+b.qualified(b.rel)+" WHERE "+quoteIdent(col.Name)+" IS NULL LIMIT 1")
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		return pgerror.New(pgerror.NotNullViolation, "column %q of relation %q contains null values", col.Name, b.rel.Name).
			WithTable(b.catalog().Schema(b.rel.Schema).Name, b.rel.Name).WithColumn(col.Name)
	}
	return nil
}

var fkActions = map[string]byte{"": 'a', "a": 'a', "r": 'r', "c": 'c', "n": 'n', "d": 'd'}

// addForeignKey adds a FOREIGN KEY; rows that are there are tested.
func (b *builder) addForeignKey(c *pg.Constraint, isNew bool) error {
	fk := &catalog.ForeignKey{OnUpdate: fkActions[c.FkUpdAction], OnDelete: fkActions[c.FkDelAction], Match: 's',
		Deferrable: c.Deferrable || c.Initdeferred, InitiallyDeferred: c.Initdeferred, NotValid: c.SkipValidation}
	switch c.FkMatchtype {
	case "f":
		fk.Match = 'f'
	case "p":
		return pgerror.New(pgerror.FeatureNotSupported, "MATCH PARTIAL not yet implemented")
	}
	var err error
	if fk.Attrs, err = b.keyAttrs(b.rel, c.FkAttrs); err != nil {
		return err
	}
	if fk.SetAttrs, err = b.keyAttrs(b.rel, c.FkDelSetCols); err != nil {
		return err
	}
	parent, err := b.referenced(c)
	if err != nil {
		return err
	}
	fk.RefTable = parent.OID
	if len(c.PkAttrs) == 0 {
		i := slices.IndexFunc(parent.Indexes, func(ix *catalog.Index) bool { return ix.Primary })
		if i < 0 {
			return pgerror.New(pgerror.UndefinedObject, "there is no primary key for referenced table %q", parent.Name)
		}
		for _, k := range parent.Indexes[i].Keys {
			fk.RefAttrs = append(fk.RefAttrs, k.Attr)
		}
	} else if fk.RefAttrs, err = b.keyAttrs(parent, c.PkAttrs); err != nil {
		return err
	}
	if len(fk.Attrs) != len(fk.RefAttrs) {
		return pgerror.New(pgerror.InvalidForeignKey, "number of referencing and referenced columns for foreign key disagree")
	}
	ix := uniqueIndexOn(parent, fk.RefAttrs)
	if ix == nil {
		return pgerror.New(pgerror.InvalidForeignKey, "there is no unique constraint matching given keys for referenced table %q", parent.Name)
	}
	if ix.Deferrable {
		return pgerror.New(pgerror.ObjectNotInPrerequisiteState, "cannot use a deferrable unique constraint for referenced table %q", parent.Name)
	}
	fk.RefIndex = ix.OID
	var names []string
	for _, a := range fk.Attrs {
		names = append(names, b.rel.Columns[a-1].Name)
	}
	if fk.Name, err = b.constraintName(c.Conname, strings.Join(names, "_"), "fkey"); err != nil {
		return err
	}
	if err := b.comparable(fk, parent); err != nil {
		return err
	}
	if fk.OID, err = b.newOID(); err != nil {
		return err
	}
	if c.SkipValidation && b.rel.Partitioning != nil {
		return pgerror.New(pgerror.WrongObjectType, "cannot add NOT VALID foreign key on partitioned table %q referencing relation %q", b.rel.Name, parent.Name).
			WithDetail("This feature is not yet supported on partitioned tables.")
	}
	if !isNew && !c.SkipValidation {
		if err := b.validateForeignKey(fk, parent); err != nil {
			return err
		}
	}
	b.rel.ForeignKeys = append(b.rel.ForeignKeys, fk)
	b.put()
	if b.rel.Partitioning == nil || isNew {
		return nil
	}
	for _, part := range b.catalog().Partitions(b.catalog().Relation(b.rel.OID)).Parts {
		if err := b.cloneForeignKey(b.rel.OID, part.OID, fk); err != nil {
			return err
		}
	}
	return nil
}

// referenced finds and locks the table that a foreign key points to; it may be the table itself.
func (b *builder) referenced(c *pg.Constraint) (*catalog.Relation, error) {
	rv := c.Pktable
	if rv.Relname == b.rel.Name && (rv.Schemaname == "" || rv.Schemaname == b.catalog().Schema(b.rel.Schema).Name) {
		if rel, _, err := b.findRelation(rv.Schemaname, rv.Relname); err == nil && rel != nil && rel.OID == b.rel.OID {
			return b.rel, nil
		}
	}
	parent, err := b.relation(rv, engine.ShareRowExclusive, "rp", "table")
	if err != nil {
		return nil, err
	}
	if b.rel.Persistence == 'p' && parent.Persistence == 't' {
		return nil, pgerror.New(pgerror.InvalidTableDefinition, "constraints on permanent tables may reference only permanent tables")
	}
	return parent, nil
}

func (b *builder) keyAttrs(rel *catalog.Relation, list []*pg.Node) ([]int16, error) {
	var out []int16
	for _, name := range strs(list) {
		col := columnByName(rel, name)
		if col == nil {
			return nil, pgerror.New(pgerror.UndefinedColumn, "column %q referenced in foreign key constraint does not exist", name)
		}
		out = append(out, col.Num)
	}
	return out, nil
}

// uniqueIndexOn finds a unique, total, plain index over exactly these attributes, in any order.
func uniqueIndexOn(rel *catalog.Relation, attrs []int16) *catalog.Index {
	for _, ix := range rel.Indexes {
		if !ix.Unique || ix.Predicate != "" || len(ix.Keys) != len(attrs) {
			continue
		}
		if !slices.ContainsFunc(ix.Keys, func(k catalog.IndexKey) bool { return k.Attr == 0 || !slices.Contains(attrs, k.Attr) }) {
			return ix
		}
	}
	return nil
}

// underDomain is the type that a domain, or a domain over a domain, is over.
func (b *builder) underDomain(o sqltypes.OID) sqltypes.OID {
	for t := b.catalog().UserType(o); t != nil && t.Kind == 'd'; t = b.catalog().UserType(o) {
		o = t.Base.OID
	}
	return o
}

func (b *builder) comparable(fk *catalog.ForeignKey, parent *catalog.Relation) error {
	for i, a := range fk.Attrs {
		child, ref := b.rel.Columns[a-1], parent.Columns[fk.RefAttrs[i]-1]
		from, to := b.underDomain(child.Type.OID), b.underDomain(ref.Type.OID)
		if from == to || sqltypes.EqualityOperator(to, from) != nil {
			continue
		}
		if c := sqltypes.CastBetween(from, to); c != nil && c.Context == 'i' {
			continue
		}
		return pgerror.New(pgerror.DatatypeMismatch, "foreign key constraint %q cannot be implemented", fk.Name).
			WithDetail("Key columns %q and %q are of incompatible types: %s and %s.", child.Name, ref.Name,
				sqltypes.FormatType(child.Type.OID, -1), sqltypes.FormatType(ref.Type.OID, -1))
	}
	return nil
}

// validateForeignKey looks for a row without parent.
func (b *builder) validateForeignKey(fk *catalog.ForeignKey, parent *catalog.Relation) error {
	var cols, on, notNull []string
	for i, a := range fk.Attrs {
		c := "c." + quoteIdent(b.rel.Columns[a-1].Name)
		cols = append(cols, c+"::text")
		on = append(on, "p."+quoteIdent(parent.Columns[fk.RefAttrs[i]-1].Name)+" = "+c)
		notNull = append(notNull, c+" IS NOT NULL")
	}
	sql := "SELECT " + strings.Join(cols, ", ") + "  FROM " + b.whole(b.rel) + " c WHERE " + strings.Join(notNull, " AND ") +
		" AND NOT EXISTS (SELECT 1 FROM " + b.whole(parent) + " p WHERE " + strings.Join(on, " AND ") + ") LIMIT 1"
	rows, err := b.s.Query(b.ctx, sql)
	if err != nil || len(rows) == 0 {
		return err
	}
	var names, vals []string
	for i, a := range fk.Attrs {
		names = append(names, b.rel.Columns[a-1].Name)
		vals = append(vals, rows[0][i].S)
	}
	return pgerror.New(pgerror.ForeignKeyViolation, "insert or update on table %q violates foreign key constraint %q", b.rel.Name, fk.Name).
		WithDetail("Key (%s)=(%s) is not present in table %q.", strings.Join(names, ", "), strings.Join(vals, ", "), parent.Name).
		WithTable(b.catalog().Schema(b.rel.Schema).Name, b.rel.Name).WithConstraint(fk.Name)
}
