package ddl

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Tables OF a composite type have its columns and follow its changes.

// compositeOf finds the composite type that a table may be OF (check_of_type).
func (r *run) compositeOf(n *pg.TypeName) (*catalog.UserType, *catalog.Relation, error) {
	t, err := bind.BindTypeName(r.s.PlanContext(), n)
	if err != nil {
		return nil, nil, err
	}
	u := r.catalog().UserType(t.OID)
	if u == nil || u.Kind != 'c' || !r.isPlainComposite(u) {
		return nil, nil, pgerror.New(pgerror.WrongObjectType, "type %s is not a composite type", r.typeName(t.OID))
	}
	return u, r.catalog().Relation(u.Relation), nil
}

// columnsOfType gives the new table the columns of its type.
func (b *builder) columnsOfType(n *pg.TypeName) error {
	u, rel, err := b.compositeOf(n)
	if err != nil {
		return err
	}
	if err := b.mayUseType(u.OID); err != nil {
		return err
	}
	b.rel.OfType = u.OID
	for _, c := range rel.Columns {
		if !c.Dropped {
			b.rel.Columns = append(b.rel.Columns, &catalog.Column{Num: int16(len(b.rel.Columns) + 1), Name: c.Name, Type: c.Type, StatTarget: -1})
		}
	}
	return nil
}

// columnWithOptions is "column WITH OPTIONS constraints" of CREATE TABLE OF.
func (b *builder) columnWithOptions(d *pg.ColumnDef, seen map[string]bool) error {
	if seen[d.Colname] {
		return duplicateColumn(d.Colname)
	}
	seen[d.Colname] = true
	col := columnByName(b.rel, d.Colname)
	if col == nil {
		return pgerror.New(pgerror.UndefinedColumn, "column %q does not exist", d.Colname)
	}
	if done, err := b.mergeOwn(d); done || err != nil {
		return err
	}
	return b.columnConstraints(col, d.Constraints)
}

// addOf is ALTER TABLE … OF type (ATExecAddOf).
func (b *builder) addOf(n *pg.TypeName) error {
	u, rel, err := b.compositeOf(n)
	if err != nil {
		return err
	}
	if len(b.rel.Parents) > 0 {
		return pgerror.New(pgerror.WrongObjectType, "typed tables cannot inherit")
	}
	wrong := func(format string, args ...any) error { return pgerror.New(pgerror.DatatypeMismatch, format, args...) }
	var mine []*catalog.Column
	for _, c := range b.rel.Columns {
		if !c.Dropped {
			mine = append(mine, c)
		}
	}
	for _, c := range rel.Columns {
		if c.Dropped {
			continue
		}
		if len(mine) == 0 {
			return wrong("table is missing column %q", c.Name)
		}
		have := mine[0]
		mine = mine[1:]
		if have.Name != c.Name {
			return wrong("table has column %q where type requires %q", have.Name, c.Name)
		}
		if have.Type.OID != c.Type.OID || have.Type.TypMod != c.Type.TypMod || have.Type.Collation != c.Type.Collation {
			return wrong("table %q has different type for column %q", b.rel.Name, c.Name)
		}
	}
	if len(mine) > 0 {
		return wrong("table has extra column %q", mine[0].Name)
	}
	b.rel.OfType = u.OID
	b.put()
	return nil
}

// dropOf is ALTER TABLE … NOT OF.
func (b *builder) dropOf() error {
	if b.rel.OfType == 0 {
		return pgerror.New(pgerror.WrongObjectType, "%q is not a typed table", b.rel.Name)
	}
	b.rel.OfType = 0
	b.put()
	return nil
}

// typedRefuses refuses what would make a typed table different from its type.
func typedRefuses(rel *catalog.Relation, t pg.AlterTableType) error {
	if rel.OfType == 0 {
		return nil
	}
	what := map[pg.AlterTableType]string{pg.AlterTableType_AT_AddColumn: "cannot add column to typed table",
		pg.AlterTableType_AT_DropColumn:      "cannot drop column from typed table",
		pg.AlterTableType_AT_AlterColumnType: "cannot alter column type of typed table",
		pg.AlterTableType_AT_AddInherit:      "cannot change inheritance of typed table"}[t]
	if what == "" {
		return nil
	}
	return pgerror.New(pgerror.WrongObjectType, "%s", what)
}

// typedTables lists the tables of a composite type.
func (r *run) typedTables(typ sqltypes.OID) []*catalog.Relation {
	var out []*catalog.Relation
	r.catalog().AllRelations(func(rel *catalog.Relation) bool {
		if rel.OfType == typ {
			out = append(out, rel)
		}
		return true
	})
	slices.SortFunc(out, func(a, b *catalog.Relation) int { return int(a.OID) - int(b.OID) })
	return out
}

// followers are the typed tables that a change of the composite type reaches; without
// CASCADE there must be none.
func (r *run) followers(rel *catalog.Relation, behavior pg.DropBehavior) ([]*catalog.Relation, error) {
	tables := r.typedTables(rel.RowType)
	if len(tables) > 0 && behavior != pg.DropBehavior_DROP_CASCADE {
		return nil, pgerror.New(pgerror.DependentObjectsStillExist, "cannot alter type %q because it is the type of a typed table", rel.Name).
			WithHint("Use ALTER ... CASCADE to alter the typed tables too.")
	}
	return tables, nil
}

// follow applies a command of ALTER TYPE to the tables of the type.
func (r *run) follow(tables []*catalog.Relation, cmd *pg.AlterTableCmd) error {
	for _, t := range tables {
		b := &builder{run: r, rel: copyRelation(r.catalog().Relation(t.OID)), schema: r.catalog().Schema(t.Schema)}
		of := b.rel.OfType
		b.rel.OfType = 0
		if err := b.alter(cmd); err != nil {
			return err
		}
		cp := copyRelation(r.catalog().Relation(t.OID))
		cp.OfType = of
		r.schema().PutRelation(cp)
	}
	return nil
}
