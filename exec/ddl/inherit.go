package ddl

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// inherited is what a table being created has from its parents (MergeAttributes).
type inherited struct {
	partition bool
	parents   []*catalog.Relation
	// bogus are columns whose parents do not agree on the default.
	bogus map[string]bool
	// own are the inherited columns that the statement names, too.
	own map[string]bool
}

// inherit gives the new table the columns and checks of its parents.
func (b *builder) inherit(names []*pg.Node, partition bool) error {
	b.inh = &inherited{partition: partition, bogus: map[string]bool{}, own: map[string]bool{}}
	for _, n := range names {
		parent, err := b.parent(n.GetRangeVar(), partition)
		if err != nil {
			return err
		}
		if slices.Contains(b.rel.Parents, parent.OID) {
			return pgerror.New(pgerror.DuplicateTable, "relation %q would be inherited from more than once", parent.Name)
		}
		b.rel.Parents = append(b.rel.Parents, parent.OID)
		b.inh.parents = append(b.inh.parents, parent)
		if err := b.mergeParent(parent); err != nil {
			return err
		}
	}
	return nil
}

// parent finds and locks a table to inherit from.
func (b *builder) parent(rv *pg.RangeVar, partition bool) (*catalog.Relation, error) {
	mode := engine.ShareUpdateExclusive
	if partition {
		mode = engine.AccessExclusive // what is planned without the new partition must not write
	}
	parent, err := b.relation(rv, mode, "", "")
	if err != nil {
		return nil, err
	}
	wrong := func(format string, args ...any) error { return pgerror.New(pgerror.WrongObjectType, format, args...) }
	switch {
	case parent.Partitioning != nil && !partition:
		return nil, wrong("cannot inherit from partitioned table %q", parent.Name)
	case parent.Bound != nil && !partition:
		return nil, wrong("cannot inherit from partition %q", parent.Name)
	case parent.Kind != catalog.KindTable && parent.Kind != catalog.KindPartitioned:
		return nil, wrong("inherited relation %q is not a table or foreign table", parent.Name)
	case parent.TimeSeries:
		return nil, pgerror.NotSupported("inheritance of time-series tables")
	case b.rel.Persistence != 't' && parent.Persistence == 't':
		if partition {
			return nil, wrong("cannot create a permanent relation as partition of temporary relation %q", parent.Name)
		}
		return nil, wrong("cannot inherit from temporary relation %q", parent.Name)
	case partition && b.rel.Persistence == 't' && parent.Persistence != 't':
		return nil, wrong("cannot create a temporary relation as partition of permanent relation %q", parent.Name)
	case partition && parent.Partitioning == nil:
		return nil, pgerror.New(pgerror.InvalidObjectDefinition, "%q is not partitioned", parent.Name)
	}
	return parent, b.mustOwn(parent)
}

func typeConflict(c *pgerror.Error, a, b sqltypes.ColumnType) *pgerror.Error {
	return c.WithDetail("%s versus %s", sqltypes.FormatType(a.OID, a.TypMod), sqltypes.FormatType(b.OID, b.TypMod))
}

func (b *builder) mergeParent(parent *catalog.Relation) error {
	attrs := map[int16]int16{}
	for _, c := range parent.Columns {
		if c.Dropped {
			continue
		}
		if have := columnByName(b.rel, c.Name); have != nil {
			b.notice("merging multiple inherited definitions of column %q", c.Name)
			if have.Type.OID != c.Type.OID || have.Type.TypMod != c.Type.TypMod {
				return typeConflict(pgerror.New(pgerror.DatatypeMismatch, "inherited column %q has a type conflict", c.Name), have.Type, c.Type)
			}
			if have.Generated != c.Generated {
				return pgerror.New(pgerror.DatatypeMismatch, "inherited column %q has a generation conflict", c.Name)
			}
			have.NotNull = have.NotNull || c.NotNull
			have.Inherited++
			if c.HasDefault {
				if !have.HasDefault {
					have.HasDefault, have.Default = true, c.Default
				} else if have.Default != c.Default {
					b.inh.bogus[c.Name] = true
				}
			}
			attrs[c.Num] = have.Num
			continue
		}
		col := &catalog.Column{Num: int16(len(b.rel.Columns) + 1), Name: c.Name, Type: c.Type, NotNull: c.NotNull, StatTarget: -1,
			HasDefault: c.HasDefault, Default: c.Default, Generated: c.Generated, Storage: c.Storage, Compression: c.Compression,
			Inherited: 1, NotLocal: true}
		attrs[c.Num] = col.Num
		b.rel.Columns = append(b.rel.Columns, col)
	}
	for _, c := range parent.Checks {
		if c.NoInherit {
			continue
		}
		if have := checkByName(b.rel, c.Name); have != nil {
			if have.Expr != c.Expr {
				return pgerror.New(pgerror.DuplicateObject, "check constraint name %q appears multiple times but with different expressions", c.Name)
			}
			have.Inherited++
			continue
		}
		oid, err := b.newOID()
		if err != nil {
			return err
		}
		b.rel.Checks = append(b.rel.Checks, &catalog.Check{OID: oid, Name: c.Name, Expr: c.Expr, Attrs: mapAttrs(c.Attrs, attrs), Inherited: 1, NotLocal: true})
	}
	return nil
}

func checkByName(rel *catalog.Relation, name string) *catalog.Check {
	for _, c := range rel.Checks {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// mergeOwn is a column of the statement that the table inherits, too; done is false
// when it does not.
func (b *builder) mergeOwn(d *pg.ColumnDef) (done bool, err error) {
	col := columnByName(b.rel, d.Colname)
	if b.inh == nil || col == nil || !col.NotLocal || b.inh.own[col.Name] {
		return false, nil
	}
	b.inh.own[col.Name] = true
	if !b.inh.partition {
		if int(col.Num) != len(b.inh.own)+b.ownColumns() {
			b.s.NoticeError(&pgerror.Error{Severity: "NOTICE", Code: pgerror.SuccessfulCompletion,
				Message: sprintf("moving and merging column %q with inherited definition", col.Name),
				Detail:  "User-specified column moved to the position of the inherited column."})
		} else {
			b.notice("merging column %q with inherited definition", col.Name)
		}
		t := sqltypes.ColumnType{OID: serialType(d.TypeName), TypMod: -1}
		if t.OID == 0 {
			if t, err = bind.BindTypeName(b.s.PlanContext(), d.TypeName); err != nil {
				return true, err
			}
		} else {
			def := newSequence(t.OID)
			b.serials = append(b.serials, &serial{col: col, def: &def})
			col.NotNull, col.HasDefault = true, false
		}
		if t.OID != col.Type.OID || t.TypMod != col.Type.TypMod {
			return true, typeConflict(pgerror.New(pgerror.DatatypeMismatch, "column %q has a type conflict", col.Name), col.Type, t)
		}
		col.NotLocal = false
	}
	for _, n := range d.Constraints {
		c := n.GetConstraint()
		switch c.GetContype() {
		case pg.ConstrType_CONSTR_DEFAULT:
			if col.Generated != 0 {
				return true, pgerror.New(pgerror.InvalidColumnDefinition, "column %q inherits from generated column but specifies default", col.Name)
			}
			col.HasDefault, col.Default = false, ""
			delete(b.inh.bogus, col.Name)
		case pg.ConstrType_CONSTR_IDENTITY:
			if col.Generated != 0 {
				return true, pgerror.New(pgerror.InvalidColumnDefinition, "column %q inherits from generated column but specifies identity", col.Name)
			}
			if b.inh.partition {
				return true, pgerror.New(pgerror.FeatureNotSupported, "identity columns are not supported on partitions")
			}
			col.HasDefault, col.Default = false, ""
		case pg.ConstrType_CONSTR_GENERATED:
			if col.Generated != 0 {
				return true, pgerror.New(pgerror.InvalidColumnDefinition, "child column %q specifies generation expression", col.Name).
					WithHint("Omit the generation expression in the definition of the child table column to inherit the generation expression from the parent table.")
			}
			if b.inh.partition {
				return true, pgerror.New(pgerror.FeatureNotSupported, "generated columns are not supported on partitions")
			}
			col.HasDefault, col.Default = false, ""
		}
	}
	return true, b.columnConstraints(col, d.Constraints)
}

// ownColumns counts the columns that no parent has.
func (b *builder) ownColumns() int {
	n := 0
	for _, c := range b.rel.Columns {
		if c.Inherited == 0 {
			n++
		}
	}
	return n
}

// agreed refuses defaults on which the parents do not agree.
func (b *builder) agreed() error {
	if b.inh == nil {
		return nil
	}
	for _, c := range b.rel.Columns {
		if !b.inh.bogus[c.Name] {
			continue
		}
		if c.Generated != 0 {
			return pgerror.New(pgerror.InvalidColumnDefinition, "column %q inherits conflicting generation expressions", c.Name)
		}
		return pgerror.New(pgerror.InvalidColumnDefinition, "column %q inherits conflicting default values", c.Name).
			WithHint("To resolve the conflict, specify a default explicitly.")
	}
	return nil
}

// mergeCheck is a new check whose name the table has already: the same one may have
// been inherited. done is false when there is none of the name.
func (b *builder) mergeCheck(c *pg.Constraint, text string) (done bool, err error) {
	have := checkByName(b.rel, c.Conname)
	if c.Conname == "" || have == nil {
		return false, nil
	}
	if have.Expr != text || !have.NotLocal && !b.fromParent || have.NoInherit {
		return true, pgerror.New(pgerror.DuplicateObject, "constraint %q for relation %q already exists", c.Conname, b.rel.Name)
	}
	if c.IsNoInherit {
		return true, pgerror.New(pgerror.InvalidObjectDefinition, "constraint %q conflicts with inherited constraint on relation %q", c.Conname, b.rel.Name)
	}
	b.notice("merging constraint %q with inherited definition", c.Conname)
	b.rel.Checks = slices.Clone(b.rel.Checks)
	cp := *have
	if b.fromParent {
		cp.Inherited++
		cp.NotLocal = cp.NotLocal || b.rel.Bound != nil
	} else if b.inh == nil || !b.inh.partition {
		cp.NotLocal = false
	}
	b.rel.Checks[slices.Index(b.rel.Checks, have)] = &cp
	return true, nil
}

// isDescendant reports whether rel inherits, directly or not, from ancestor.
func (r *run) isDescendant(rel, ancestor *catalog.Relation) bool {
	return slices.ContainsFunc(r.catalog().Tree(ancestor), func(x *catalog.Relation) bool { return x.OID == rel.OID })
}

// addParent is ALTER TABLE … INHERIT.
func (b *builder) addParent(rv *pg.RangeVar) error {
	wrong := func(format string, args ...any) *pgerror.Error {
		return pgerror.New(pgerror.WrongObjectType, format, args...)
	}
	switch {
	case b.rel.OfType != 0:
		return wrong("cannot change inheritance of typed table")
	case b.rel.Bound != nil:
		return wrong("cannot change inheritance of a partition")
	case b.rel.Partitioning != nil:
		return wrong("cannot change inheritance of partitioned table")
	}
	parent, err := b.relation(rv, engine.ShareUpdateExclusive, "", "")
	if err != nil {
		return err
	}
	if parent.Kind != catalog.KindTable && parent.Kind != catalog.KindPartitioned {
		return wrong("%q is not a table or foreign table", parent.Name)
	}
	if err := b.mustOwn(parent); err != nil {
		return err
	}
	switch {
	case parent.Persistence == 't' && b.rel.Persistence != 't':
		return wrong("cannot inherit from temporary relation %q", parent.Name)
	case parent.Partitioning != nil:
		return wrong("cannot inherit from partitioned table %q", parent.Name)
	case parent.Bound != nil:
		return wrong("cannot inherit from a partition")
	case slices.Contains(b.rel.Parents, parent.OID):
		return pgerror.New(pgerror.DuplicateTable, "relation %q would be inherited from more than once", parent.Name)
	case b.isDescendant(parent, b.rel):
		return pgerror.New(pgerror.DuplicateTable, "circular inheritance not allowed").
			WithDetail("%q is already a child of %q.", parent.Name, b.rel.Name)
	}
	if err := b.adopt(parent); err != nil {
		return err
	}
	b.put()
	return nil
}

// adopt makes an existing table the child of parent, which it must be like
// (MergeAttributesIntoExisting, MergeConstraintsIntoExisting).
func (b *builder) adopt(parent *catalog.Relation) error {
	wrong := func(format string, args ...any) error { return pgerror.New(pgerror.DatatypeMismatch, format, args...) }
	for _, c := range parent.Columns {
		if c.Dropped {
			continue
		}
		have := columnByName(b.rel, c.Name)
		switch {
		case have == nil:
			return wrong("child table is missing column %q", c.Name)
		case have.Type.OID != c.Type.OID || have.Type.TypMod != c.Type.TypMod:
			return wrong("child table %q has different type for column %q", b.rel.Name, c.Name)
		case have.Type.Collation != c.Type.Collation:
			return pgerror.New(pgerror.CollationMismatch, "child table %q has different collation for column %q", b.rel.Name, c.Name)
		case c.NotNull && !have.NotNull:
			return wrong("column %q in child table must be marked NOT NULL", c.Name)
		case c.Generated != 0 && have.Generated == 0:
			return wrong("column %q in child table must be a generated column", c.Name)
		case c.Generated != 0 && have.Default != c.Default:
			return wrong("column %q in child table has a conflicting generation expression", c.Name)
		}
		have.Inherited++
		if parent.Partitioning != nil {
			have.NotLocal = true
		}
	}
	for _, c := range parent.Checks {
		if c.NoInherit {
			continue
		}
		have := checkByName(b.rel, c.Name)
		switch {
		case have == nil:
			return wrong("child table is missing constraint %q", c.Name)
		case have.Expr != c.Expr:
			return wrong("child table %q has different definition for check constraint %q", b.rel.Name, c.Name)
		case have.NoInherit:
			return pgerror.New(pgerror.InvalidObjectDefinition, "constraint %q conflicts with non-inherited constraint on child table %q", c.Name, b.rel.Name)
		case have.NotValid:
			return pgerror.New(pgerror.InvalidObjectDefinition, "constraint %q conflicts with NOT VALID constraint on child table %q", c.Name, b.rel.Name)
		}
		cp := *have
		cp.Inherited++
		if parent.Partitioning != nil {
			cp.NotLocal = true
		}
		b.rel.Checks[slices.Index(b.rel.Checks, have)] = &cp
	}
	b.rel.Parents = append(slices.Clone(b.rel.Parents), parent.OID)
	return nil
}

// dropParent is ALTER TABLE … NO INHERIT.
func (b *builder) dropParent(rv *pg.RangeVar) error {
	if b.rel.Bound != nil {
		return pgerror.New(pgerror.WrongObjectType, "cannot change inheritance of a partition")
	}
	parent, err := b.relation(rv, engine.AccessShare, "", "")
	if err != nil {
		return err
	}
	if !slices.Contains(b.rel.Parents, parent.OID) {
		return pgerror.New(pgerror.UndefinedTable, "relation %q is not a parent of relation %q", parent.Name, b.rel.Name)
	}
	b.disinherit(parent)
	b.put()
	return nil
}

// disinherit makes the table stand for itself: what it had from the parent is its own.
func (b *builder) disinherit(parent *catalog.Relation) {
	for _, c := range b.rel.Columns {
		if p := columnByName(parent, c.Name); c.Dropped || p == nil || c.Inherited == 0 {
			continue
		}
		if c.Inherited--; c.Inherited == 0 {
			c.NotLocal = false
		}
	}
	for i, c := range b.rel.Checks {
		if p := checkByName(parent, c.Name); p == nil || p.NoInherit || c.Inherited == 0 {
			continue
		}
		cp := *c
		if cp.Inherited--; cp.Inherited == 0 {
			cp.NotLocal = false
		}
		b.rel.Checks[i] = &cp
	}
	b.rel.Parents = slices.DeleteFunc(slices.Clone(b.rel.Parents), func(o sqltypes.OID) bool { return o == parent.OID })
}
