package ddl

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// alterColumn handles the commands that change properties of one column.
func (b *builder) alterColumn(cmd *pg.AlterTableCmd) error {
	col := columnByName(b.rel, cmd.Name)
	if col == nil && cmd.Name != "" {
		if systemColumn(cmd.Name) {
			return pgerror.New(pgerror.FeatureNotSupported, "cannot alter system column %q", cmd.Name)
		}
		return noColumn(b.rel, cmd.Name)
	}
	if col == nil {
		return pgerror.NotSupported("ALTER TABLE ... %s", actionName(cmd.Subtype))
	}
	switch cmd.Subtype {
	case pg.AlterTableType_AT_ColumnDefault:
		if col.Identity != 0 {
			return pgerror.New(pgerror.SyntaxError, "column %q of relation %q is an identity column", col.Name, b.rel.Name).
				WithHint("Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead.")
		}
		if col.Generated != 0 {
			return pgerror.New(pgerror.SyntaxError, "column %q of relation %q is a generated column", col.Name, b.rel.Name)
		}
		col.HasDefault, col.Default = false, ""
		if cmd.Def != nil {
			text, err := deparseExpr(cmd.Def)
			if err != nil {
				return err
			}
			col.HasDefault, col.Default = true, text
			if _, err := bind.DefaultExpr(b.s.PlanContext(), b.rel, col); err != nil {
				return err
			}
		}
	case pg.AlterTableType_AT_SetNotNull:
		if !col.NotNull {
			if err := b.validateNotNull(col); err != nil {
				return err
			}
			col.NotNull = true
		}
	case pg.AlterTableType_AT_DropNotNull:
		if col.Identity != 0 {
			return pgerror.New(pgerror.SyntaxError, "column %q of relation %q is an identity column", col.Name, b.rel.Name)
		}
		for _, ix := range b.rel.Indexes {
			if ix.ReplicaIdentity && !ix.Primary && slices.ContainsFunc(ix.Keys, func(k catalog.IndexKey) bool { return k.Attr == col.Num }) {
				return pgerror.New(pgerror.InvalidTableDefinition, "column %q is in index used as replica identity", col.Name)
			}
		}
		for _, ix := range b.rel.Indexes {
			if ix.Primary && slices.ContainsFunc(ix.Keys, func(k catalog.IndexKey) bool { return k.Attr == col.Num }) {
				return pgerror.New(pgerror.InvalidTableDefinition, "column %q is in a primary key", col.Name)
			}
		}
		col.NotNull = false
	case pg.AlterTableType_AT_DropExpression:
		if col.Generated == 0 {
			if cmd.MissingOk {
				return nil
			}
			return pgerror.New(pgerror.ObjectNotInPrerequisiteState, "column %q of relation %q is not a stored generated column", col.Name, b.rel.Name)
		}
		col.Generated, col.HasDefault, col.Default = 0, false, ""
	case pg.AlterTableType_AT_AddIdentity:
		if !col.NotNull {
			return pgerror.New(pgerror.ObjectNotInPrerequisiteState, "column %q of relation %q must be declared NOT NULL before identity can be added", col.Name, b.rel.Name)
		}
		c := cmd.Def.GetConstraint()
		if c == nil {
			c = &pg.Constraint{GeneratedWhen: cmd.Def.GetColumnDef().GetIdentity()}
		}
		if err := b.setIdentity(col, c); err != nil {
			return err
		}
		return b.finish(false)
	case pg.AlterTableType_AT_SetIdentity:
		return b.alterIdentity(col, cmd.Def.GetList().GetItems())
	case pg.AlterTableType_AT_DropIdentity:
		if col.Identity == 0 {
			if cmd.MissingOk {
				b.notice("column %q of relation %q is not an identity column, skipping", col.Name, b.rel.Name)
				return nil
			}
			return pgerror.New(pgerror.ObjectNotInPrerequisiteState, "column %q of relation %q is not an identity column", col.Name, b.rel.Name)
		}
		b.run.schema().DropRelation(col.OwnedSequence)
		col.Identity, col.OwnedSequence = 0, 0
	case pg.AlterTableType_AT_SetStatistics:
		target, err := statisticsTarget(cmd)
		if err != nil {
			return err
		}
		col.StatTarget = target
	case pg.AlterTableType_AT_SetStorage:
		if err := b.setStorage(col, str(cmd.Def)); err != nil {
			return err
		}
	case pg.AlterTableType_AT_SetCompression:
		if err := b.setCompression(col, str(cmd.Def)); err != nil {
			return err
		}
	case pg.AlterTableType_AT_SetOptions, pg.AlterTableType_AT_ResetOptions:
		if err := setColumnOptions(col, cmd); err != nil {
			return err
		}
	default:
		return pgerror.NotSupported("ALTER TABLE ... %s", actionName(cmd.Subtype))
	}
	b.put()
	return nil
}

func (b *builder) alterIdentity(col *catalog.Column, opts []*pg.Node) error {
	if col.Identity == 0 {
		return pgerror.New(pgerror.ObjectNotInPrerequisiteState, "column %q of relation %q is not an identity column", col.Name, b.rel.Name)
	}
	var rest []*pg.Node
	for _, n := range opts {
		if d := n.GetDefElem(); d.Defname == "generated" {
			col.Identity = byte(d.Arg.GetInteger().GetIval())
			if col.Identity == 0 {
				col.Identity = defText(d)[0]
			}
		} else {
			rest = append(rest, n)
		}
	}
	b.put()
	if len(rest) == 0 {
		return nil
	}
	return b.changeSequence(b.catalog().Relation(col.OwnedSequence), rest)
}

// alterAddColumn adds a column; rows that are there get its default without a
// rewrite unless the default is volatile.
func (b *builder) alterAddColumn(cmd *pg.AlterTableCmd) error {
	def := cmd.Def.GetColumnDef()
	if columnByName(b.rel, def.Colname) != nil {
		if cmd.MissingOk {
			b.s.Notice("NOTICE", pgerror.DuplicateColumn, sprintf("column %q of relation %q already exists, skipping", def.Colname, b.rel.Name))
			return nil
		}
		return pgerror.New(pgerror.DuplicateColumn, "column %q of relation %q already exists", def.Colname, b.rel.Name)
	}
	old := copyRelation(b.rel)
	if err := b.addColumn(def); err != nil {
		return err
	}
	col := b.rel.Columns[len(b.rel.Columns)-1]
	for _, s := range b.serials {
		if err := b.ownSequence(s); err != nil {
			return err
		}
	}
	b.serials = nil
	if err := b.rowTypeFree(col.HasDefault || col.Identity != 0); err != nil {
		return err
	}
	if err := b.rewriteStored(-1, b.catalog().Type(col.Type.OID)); err != nil {
		return err
	}
	rewrite := col.Identity != 0
	if col.HasDefault {
		value, constant, err := bind.ConstantDefault(b.s.PlanContext(), b.rel, col)
		if err != nil {
			return err
		}
		if constant {
			col.HasMissing, col.Missing = true, value
		}
		rewrite = !constant
	}
	if rewrite {
		sql := col.Default
		if col.Identity != 0 {
			sql = sprintf("nextval(%d::oid::regclass)", col.OwnedSequence)
		}
		sql = "(" + sql + ")::" + sqltypes.FormatType(col.Type.OID, col.Type.TypMod)
		if err := b.rewrite(old, map[int16]string{col.Num: sql}); err != nil {
			return err
		}
	} else if col.NotNull && (!col.HasMissing || col.Missing.Null) {
		rows, err := b.s.Query(b.ctx, "SELECT 1 FROM ONLY "+b.qualified(old)+" LIMIT 1")
		if err != nil {
			return err
		}
		if len(rows) > 0 {
			return pgerror.New(pgerror.NotNullViolation, "column %q of relation %q contains null values", col.Name, b.rel.Name).
				WithTable(b.schema.Name, b.rel.Name).WithColumn(col.Name)
		}
	}
	b.put()
	return b.finish(false)
}

func (b *builder) dropColumn(cmd *pg.AlterTableCmd) error {
	col := columnByName(b.rel, cmd.Name)
	if col == nil {
		if cmd.MissingOk {
			b.notice("column %q of relation %q does not exist, skipping", cmd.Name, b.rel.Name)
			return nil
		}
		if systemColumn(cmd.Name) {
			return pgerror.New(pgerror.FeatureNotSupported, "cannot drop system column %q", cmd.Name)
		}
		return noColumn(b.rel, cmd.Name)
	}
	if err := b.rowTypeFree(false); err != nil {
		return err
	}
	stored := fieldOf(b.rel, col)
	cascade := cmd.Behavior == pg.DropBehavior_DROP_CASCADE
	d := &dropper{run: b.run, cascade: cascade, gone: map[sqltypes.OID]bool{}}
	what := "column " + col.Name + " of table " + b.visibleName(b.rel)
	var blockers []string
	var views []*catalog.Relation
	policies := b.policiesReading(b.rel.OID, col.Num)
	for _, u := range policies {
		blockers = append(blockers, u.word(b.run)+" depends on "+what)
		d.also = append(d.also, u.word(b.run))
	}
	for _, v := range b.dependentViews(b.rel) {
		uses, err := bind.ViewUsesColumn(b.s.PlanContext(), v, b.rel.OID, col.Num)
		if err != nil {
			return err
		}
		if uses {
			blockers = append(blockers, kindWord(v.Kind)+" "+b.visibleName(v)+" depends on "+what)
			d.also = append(d.also, kindWord(v.Kind)+" "+b.visibleName(v))
			views = append(views, v)
		}
	}
	published := b.publicationsUsing(b.rel, col.Num)
	for _, u := range published {
		blockers = append(blockers, u.word(b.visibleName(b.rel))+" depends on "+what)
		d.also = append(d.also, u.word(b.visibleName(b.rel)))
	}
	uses := func(attrs []int16) bool { return slices.Contains(attrs, col.Num) }
	var indexes []*catalog.Index
	for _, ix := range b.rel.Indexes {
		if b.indexUses(ix, col) {
			indexes = append(indexes, ix)
		}
	}
	for _, child := range append(b.referencing(b.rel.OID), b.rel) {
		for _, fk := range child.ForeignKeys {
			if child.OID == b.rel.OID && uses(fk.Attrs) {
				continue // it goes with its own column
			}
			if fk.RefTable == b.rel.OID && uses(fk.RefAttrs) {
				blockers = append(blockers, "constraint "+fk.Name+" on table "+b.visibleName(child)+" depends on "+what)
				d.also = append(d.also, "constraint "+fk.Name+" on table "+b.visibleName(child))
				d.constraints = append(d.constraints, fkRef{child.OID, fk.Name})
			}
		}
	}
	for _, c := range b.rel.Columns {
		if c.Generated != 0 && !c.Dropped && c.Num != col.Num {
			if e, err := bind.RelationExpr(b.s.PlanContext(), b.rel, c.Default); err == nil && uses(attrsOf(e)) {
				blockers = append(blockers, "column "+c.Name+" of table "+b.visibleName(b.rel)+" depends on "+what)
			}
		}
	}
	if len(blockers) > 0 && !cascade {
		return dependencyError(what, false, blockers)
	}
	d.noticeCascade()
	if err := b.rewriteStored(stored, nil); err != nil {
		return err
	}
	for _, v := range views {
		d.dropOne(v)
	}
	for _, u := range published {
		cp := *u.pub
		cp.Tables = slices.DeleteFunc(slices.Clone(u.pub.Tables), func(t catalog.PublishedTable) bool { return t.Relation == b.rel.OID })
		b.run.schema().PutPublication(&cp)
	}
	for _, u := range policies {
		if u.rel.OID != b.rel.OID {
			b.removePolicy(u.rel.OID, u.policy.Name)
			continue
		}
		b.rel.Policies = slices.DeleteFunc(b.rel.Policies, func(p *catalog.Policy) bool { return p.OID == u.policy.OID })
	}
	for _, c := range d.constraints {
		if c.table == b.rel.OID {
			b.rel.ForeignKeys = slices.DeleteFunc(b.rel.ForeignKeys, func(f *catalog.ForeignKey) bool { return f.Name == c.name })
		} else if rel := b.catalog().Relation(c.table); rel != nil {
			cp := copyRelation(rel)
			cp.ForeignKeys = slices.DeleteFunc(cp.ForeignKeys, func(f *catalog.ForeignKey) bool { return f.Name == c.name })
			b.run.schema().PutRelation(cp)
		}
	}
	b.rel.ForeignKeys = slices.DeleteFunc(b.rel.ForeignKeys, func(f *catalog.ForeignKey) bool { return uses(f.Attrs) })
	b.rel.Statistics = slices.DeleteFunc(b.rel.Statistics, func(s *catalog.Statistic) bool {
		return uses(s.Columns) || slices.ContainsFunc(s.Exprs, func(t string) bool {
			e, err := bind.RelationExpr(b.s.PlanContext(), b.rel, t)
			return err == nil && uses(attrsOf(e))
		})
	})
	b.rel.Checks = slices.DeleteFunc(b.rel.Checks, func(c *catalog.Check) bool { return uses(c.Attrs) })
	old := copyRelation(b.rel)
	wasClustered := false
	for _, ix := range indexes {
		if ix.Clustered {
			wasClustered = true
		} else {
			b.run.schema().DeleteStorage(ix.StorageID)
		}
	}
	b.rel.Indexes = slices.DeleteFunc(b.rel.Indexes, func(i *catalog.Index) bool { return slices.Contains(indexes, i) })
	if col.OwnedSequence != 0 {
		b.run.schema().DropRelation(col.OwnedSequence)
	}
	*col = catalog.Column{Num: col.Num, Name: sprintf("........pg.dropped.%d........", col.Num), Dropped: true, Type: col.Type}
	if wasClustered {
		// Without its key the rows need hidden row ids.
		return b.rewrite(old, nil)
	}
	b.put()
	return nil
}

// indexUses reports whether an index has the column in its keys, included
// columns, expressions or predicate.
func (b *builder) indexUses(ix *catalog.Index, col *catalog.Column) bool {
	if slices.Contains(ix.Include, col.Num) {
		return true
	}
	texts := []string{}
	for _, k := range ix.Keys {
		if k.Attr == col.Num {
			return true
		}
		if k.Expr != "" {
			texts = append(texts, k.Expr)
		}
	}
	if ix.Predicate != "" {
		texts = append(texts, ix.Predicate)
	}
	for _, t := range texts {
		if e, err := bind.RelationExpr(b.s.PlanContext(), b.rel, t); err == nil && slices.Contains(attrsOf(e), col.Num) {
			return true
		}
	}
	return false
}

func formatType(c *catalog.Column) string { return sqltypes.FormatType(c.Type.OID, c.Type.TypMod) }
