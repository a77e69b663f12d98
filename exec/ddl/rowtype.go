package ddl

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// A stored row of another table's row type holds the columns that the type had
// when it was written, in their order. So when columns of a row type are added or
// dropped, the rows that are stored are rewritten.

// storedIn is a column, "table.column", that stores values of b.rel's row type, by
// itself or within arrays, domains, ranges and other row types; "" if there is none.
// direct: columns of the type itself do not count.
func (b *builder) storedIn(direct bool) (found string) {
	b.catalog().AllRelations(func(rel *catalog.Relation) bool {
		if rel.Kind == catalog.KindView || rel.Kind == catalog.KindComposite || rel.OID == b.rel.OID {
			return true
		}
		for _, c := range rel.Columns {
			if direct && c.Type.OID == b.rel.RowType && rel.Kind == catalog.KindTable && !inIndex(rel, c.Num) {
				continue
			}
			if !c.Dropped && b.madeOf(c.Type.OID, b.rel.RowType, 0) {
				found = rel.Name + "." + c.Name
				return false
			}
		}
		return true
	})
	return found
}

// inIndex reports whether a column may be part of what an index keeps.
func inIndex(rel *catalog.Relation, attr int16) bool {
	for _, ix := range rel.Indexes {
		for _, k := range ix.Keys {
			if k.Attr == attr || k.Attr == 0 {
				return true
			}
		}
	}
	return false
}

// rowTypeFree refuses to change the columns of a row type that is stored where its
// rows cannot be rewritten. computed: PostgreSQL would compute new values for the
// rows, and refuses wherever they are.
func (b *builder) rowTypeFree(computed bool) error {
	at := b.storedIn(!computed)
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

// rewriteStored rewrites the stored rows of b.rel's row type, whose descriptor in the
// catalogue is still the one before the change. drop is the position of a field
// that goes, -1 when one comes at the end.
func (b *builder) rewriteStored(drop int, added *sqltypes.Type) error {
	var tables []*catalog.Relation
	b.catalog().AllRelations(func(rel *catalog.Relation) bool {
		if rel.Kind == catalog.KindTable && rel.OID != b.rel.OID {
			for _, c := range rel.Columns {
				if !c.Dropped && c.Type.OID == b.rel.RowType {
					tables = append(tables, rel)
					break
				}
			}
		}
		return true
	})
	change := func(d sqltypes.Datum) sqltypes.Datum {
		if d.Null {
			return d
		}
		rec := sqltypes.OpenRecord(d)
		var types []*sqltypes.Type
		var values []sqltypes.Datum
		for i := range rec.Len() {
			if i != drop {
				types = append(types, b.catalog().Type(rec.TypeOID(i)))
				values = append(values, rec.At(i))
			}
		}
		if drop < 0 {
			types, values = append(types, added), append(values, sqltypes.Null)
		}
		return sqltypes.MakeRecord(types, values)
	}
	for _, t := range tables {
		old := copyRelation(t)
		nb := &builder{run: b.run, rel: copyRelation(t), schema: b.catalog().Schema(t.Schema), convert: map[int16]func(sqltypes.Datum) sqltypes.Datum{}}
		for _, c := range nb.rel.Columns {
			if c.Type.OID == b.rel.RowType && !c.Dropped {
				nb.convert[c.Num] = change
			}
		}
		if err := nb.rewrite(old, nil); err != nil {
			return err
		}
	}
	return nil
}

// fieldOf is the position of a column among those that are not dropped.
func fieldOf(rel *catalog.Relation, col *catalog.Column) int {
	n := 0
	for _, c := range rel.Columns {
		if c.Num == col.Num {
			return n
		}
		if !c.Dropped {
			n++
		}
	}
	return -1
}

// alterAttribute is a command of ALTER TYPE for a composite type.
func (b *builder) alterAttribute(cmd *pg.AlterTableCmd) error {
	def := cmd.Def.GetColumnDef()
	tables, err := b.followers(b.rel, cmd.Behavior)
	if err != nil {
		return err
	}
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
		if err := b.rewriteStored(-1, b.catalog().Type(b.rel.Columns[len(b.rel.Columns)-1].Type.OID)); err != nil {
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
		if err := b.rewriteStored(fieldOf(b.rel, col), nil); err != nil {
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
	return b.follow(tables, cmd)
}
