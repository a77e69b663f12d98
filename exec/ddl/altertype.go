package ddl

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// alterType changes a column's type, rewriting the rows unless the stored form stays.
func (b *builder) alterType(cmd *pg.AlterTableCmd) error {
	col := columnByName(b.rel, cmd.Name)
	if col == nil {
		return noColumn(b.rel, cmd.Name)
	}
	def := cmd.Def.GetColumnDef()
	t, err := bind.BindTypeName(b.s.PlanContext(), def.TypeName)
	if err != nil {
		return err
	}
	if err := b.storable(b.rel, &catalog.Column{Name: col.Name, Type: t}); err != nil {
		return err
	}
	for _, u := range b.policiesReading(b.rel.OID, col.Num) {
		return pgerror.New(pgerror.FeatureNotSupported, "cannot alter type of a column used in a policy definition").
			WithDetail("%s depends on column %q", u.word(b.run), col.Name)
	}
	for _, v := range b.dependentViews(b.rel) {
		if uses, err := bind.ViewUsesColumn(b.s.PlanContext(), v, b.rel.OID, col.Num); err == nil && uses {
			return pgerror.New(pgerror.FeatureNotSupported, "cannot alter type of a column used by a view or rule").
				WithDetail("rule _RETURN on view %s depends on column %q", v.Name, col.Name)
		}
	}
	for _, u := range b.publicationsUsing(b.rel, col.Num) {
		if u.filter {
			return pgerror.New(pgerror.FeatureNotSupported, "cannot alter type of a column used by a publication WHERE clause").
				WithDetail("%s depends on column %q", u.word(b.visibleName(b.rel)), col.Name)
		}
	}
	for _, g := range b.rel.Columns {
		if g.Generated == 0 || g.Dropped || g.Num == col.Num {
			continue
		}
		if e, err := bind.RelationExpr(b.s.PlanContext(), b.rel, g.Default); err == nil && slices.Contains(attrsOf(e), col.Num) {
			return pgerror.New(pgerror.FeatureNotSupported, "cannot alter type of a column used by a generated column").
				WithDetail("Column %q is used by generated column %q.", col.Name, g.Name)
		}
	}
	old := copyRelation(b.rel)
	using := quoteIdent(col.Name)
	if def.RawDefault != nil {
		if using, err = deparseExpr(def.RawDefault); err != nil {
			return err
		}
	} else if err := bind.CanAssign(b.s.PlanContext(), col.Type, t); err != nil {
		return pgerror.New(pgerror.DatatypeMismatch, "column %q cannot be cast automatically to type %s", col.Name, sqltypes.FormatType(t.OID, -1)).
			WithHint("You might need to specify \"USING %s::%s\".", quoteIdent(col.Name), sqltypes.FormatType(t.OID, t.TypMod))
	}
	col.Type = t
	col.HasMissing, col.Missing = false, sqltypes.Datum{}
	if err := setCollation(col, def.CollClause); err != nil {
		return err
	}
	if col.HasDefault && col.Generated == 0 {
		if _, err := bind.DefaultExpr(b.s.PlanContext(), b.rel, col); err != nil {
			return pgerror.New(pgerror.DatatypeMismatch, "default for column %q cannot be cast automatically to type %s", col.Name, sqltypes.FormatType(t.OID, -1))
		}
	}
	for _, ix := range b.rel.Indexes {
		for i := range ix.Keys {
			if ix.Keys[i].Attr == col.Num {
				ix.Keys[i].Type = t
			}
		}
	}
	if seq := b.catalog().Relation(col.OwnedSequence); seq != nil && col.OwnedSequence != 0 && col.Identity != 0 {
		cp := copyRelation(seq)
		_, hi := typeRange(t.OID)
		if _, oldHi := typeRange(cp.Sequence.Type); cp.Sequence.Max == oldHi {
			cp.Sequence.Max = hi
		}
		cp.Sequence.Type = t.OID
		b.run.schema().PutRelation(cp)
	}
	keys, err := b.keysUsing(col)
	if err != nil {
		return err
	}
	if err := b.rowTypeFree(true); err != nil {
		return err
	}
	if err := b.rewrite(old, map[int16]string{col.Num: "(" + using + ")::" + sqltypes.FormatType(t.OID, t.TypMod)}); err != nil {
		return err
	}
	return b.checkAgain(col, keys)
}

// foreignKey is a foreign key between two tables.
type foreignKey struct {
	child, parent *catalog.Relation
	fk            *catalog.ForeignKey
}

// keysUsing lists the foreign keys from and to a column that has a new type; 42804
// when one can no longer be implemented.
func (b *builder) keysUsing(col *catalog.Column) ([]foreignKey, error) {
	var out []foreignKey
	for _, fk := range b.rel.ForeignKeys {
		if slices.Contains(fk.Attrs, col.Num) || fk.RefTable == b.rel.OID && slices.Contains(fk.RefAttrs, col.Num) {
			parent := b.rel
			if fk.RefTable != b.rel.OID {
				parent = b.catalog().Relation(fk.RefTable)
			}
			out = append(out, foreignKey{b.rel, parent, fk})
		}
	}
	for _, child := range b.referencing(b.rel.OID) {
		for _, fk := range child.ForeignKeys {
			if child.OID != b.rel.OID && fk.RefTable == b.rel.OID && slices.Contains(fk.RefAttrs, col.Num) {
				out = append(out, foreignKey{child, b.rel, fk})
			}
		}
	}
	for _, k := range out {
		if err := (&builder{run: b.run, rel: k.child}).comparable(k.fk, k.parent); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// checkAgain tests the constraints that use a column whose values have changed.
func (b *builder) checkAgain(col *catalog.Column, keys []foreignKey) error {
	for _, c := range b.rel.Checks {
		if !c.NotValid && slices.Contains(c.Attrs, col.Num) {
			if err := b.validateCheck(c); err != nil {
				return err
			}
		}
	}
	for _, k := range keys {
		if k.fk.NotValid {
			continue
		}
		if err := (&builder{run: b.run, rel: k.child}).validateForeignKey(k.fk, k.parent); err != nil {
			return err
		}
	}
	return nil
}
