package ddl

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/planner/bind"
	"ostraka/sqltypes/pgerror"
)

// A stored row of another table's row type holds the columns that the type had
// when it was written, in their order. So the columns of a row type stay as they
// are while rows of it are stored.

// storedIn is a column, "table.column", that stores values of b.rel's row type, by
// itself or within arrays, domains, ranges and other row types; "" if there is none.
func (b *builder) storedIn() (found string) {
	b.catalog().AllRelations(func(rel *catalog.Relation) bool {
		if rel.Kind == catalog.KindView || rel.Kind == catalog.KindComposite || rel.OID == b.rel.OID {
			return true
		}
		for _, c := range rel.Columns {
			if !c.Dropped && b.madeOf(c.Type.OID, b.rel.RowType, 0) {
				found = rel.Name + "." + c.Name
				return false
			}
		}
		return true
	})
	return found
}

// rowTypeFree refuses to change the columns of a row type that is stored. computed:
// PostgreSQL would compute new values for the rows, and refuses as well.
func (b *builder) rowTypeFree(computed bool) error {
	at := b.storedIn()
	switch {
	case at == "":
		return nil
	case !computed:
		return pgerror.NotSupported("adding or dropping columns of %q while column %q stores its rows", b.rel.Name, at)
	case b.rel.Kind == catalog.KindComposite:
		return pgerror.New(pgerror.FeatureNotSupported, "cannot alter type %q because column %q uses it", b.rel.Name, at)
	}
	return pgerror.New(pgerror.FeatureNotSupported, "cannot alter table %q because column %q uses its row type", b.rel.Name, at)
}

// alterAttribute is a command of ALTER TYPE for a composite type.
func (b *builder) alterAttribute(cmd *pg.AlterTableCmd) error {
	def := cmd.Def.GetColumnDef()
	switch cmd.Subtype {
	case pg.AlterTableType_AT_AddColumn:
		if columnByName(b.rel, def.Colname) != nil {
			return pgerror.New(pgerror.DuplicateColumn, "column %q of relation %q already exists", def.Colname, b.rel.Name)
		}
		if err := b.rowTypeFree(false); err != nil {
			return err
		}
		if err := b.addColumn(def); err != nil {
			return err
		}
	case pg.AlterTableType_AT_DropColumn:
		col := columnByName(b.rel, cmd.Name)
		if col == nil && cmd.MissingOk {
			b.notice("column %q of relation %q does not exist, skipping", cmd.Name, b.rel.Name)
			return nil
		}
		if col == nil {
			return noColumn(b.rel, cmd.Name)
		}
		if err := b.rowTypeFree(false); err != nil {
			return err
		}
		*col = catalog.Column{Num: col.Num, Name: sprintf("........pg.dropped.%d........", col.Num), Dropped: true, Type: col.Type}
	default:
		col := columnByName(b.rel, cmd.Name)
		if col == nil {
			return noColumn(b.rel, cmd.Name)
		}
		t, err := bind.BindTypeName(b.s.PlanContext(), def.TypeName)
		if err != nil {
			return err
		}
		if err := b.storable(b.rel, &catalog.Column{Name: col.Name, Type: t}); err != nil {
			return err
		}
		if err := b.rowTypeFree(true); err != nil {
			return err
		}
		col.Type = t
		if err := setCollation(col, def.CollClause); err != nil {
			return err
		}
	}
	b.put()
	return nil
}
