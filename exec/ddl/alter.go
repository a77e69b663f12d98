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

func alterTag(t pg.ObjectType) string { return "ALTER " + objectWord(t) }

// alterTable applies the commands of one ALTER TABLE in order.
func (r *run) alterTable(n *pg.AlterTableStmt) error {
	rel, ix, err := r.findRelation(n.Relation.Schemaname, n.Relation.Relname)
	if err != nil {
		return err
	}
	if rel == nil {
		if n.MissingOk {
			r.s.Notice("NOTICE", pgerror.UndefinedTable, sprintf("relation %q does not exist, skipping", n.Relation.Relname))
			return nil
		}
		return noRelation(n.Relation.Schemaname, n.Relation.Relname)
	}
	if ix != nil {
		return r.alterIndex(rel, ix, n)
	}
	if rel, err = r.relation(n.Relation, alterLock(n.Cmds), "", ""); err != nil {
		return err
	}
	if err := r.mustOwn(rel); err != nil {
		return err
	}
	switch {
	case n.Objtype == pg.ObjectType_OBJECT_VIEW && rel.Kind != catalog.KindView:
		return pgerror.New(pgerror.WrongObjectType, "%q is not a view", rel.Name)
	case n.Objtype == pg.ObjectType_OBJECT_SEQUENCE && rel.Kind != catalog.KindSequence:
		return pgerror.New(pgerror.WrongObjectType, "%q is not a sequence", rel.Name)
	}
	for _, c := range n.Cmds {
		cmd := c.GetAlterTableCmd()
		// Every command works on what the one before left.
		b := &builder{run: r, rel: copyRelation(r.catalog().Relation(rel.OID)), schema: r.catalog().Schema(rel.Schema)}
		if err := b.alter(cmd); err != nil {
			return err
		}
	}
	return nil
}

// alterLock is the relation lock that the commands of an ALTER TABLE need
// (PostgreSQL's AlterTableGetLockLevel). Below ACCESS EXCLUSIVE are only commands
// after which rows written under the old descriptor are still right, or that
// keep writers out.
func alterLock(cmds []*pg.Node) engine.RelLock {
	mode := engine.ShareUpdateExclusive
	for _, c := range cmds {
		cmd := c.GetAlterTableCmd()
		switch cmd.GetSubtype() {
		case pg.AlterTableType_AT_ValidateConstraint, pg.AlterTableType_AT_SetRelOptions, pg.AlterTableType_AT_ResetRelOptions,
			pg.AlterTableType_AT_SetStatistics, pg.AlterTableType_AT_SetOptions, pg.AlterTableType_AT_ResetOptions,
			pg.AlterTableType_AT_ClusterOn, pg.AlterTableType_AT_DropCluster:
		case pg.AlterTableType_AT_AddConstraint:
			if cmd.Def.GetConstraint().GetContype() != pg.ConstrType_CONSTR_FOREIGN {
				return engine.AccessExclusive
			}
			mode = engine.ShareRowExclusive
		default:
			return engine.AccessExclusive
		}
	}
	return mode
}

func (b *builder) alter(cmd *pg.AlterTableCmd) error {
	if b.rel.Kind == catalog.KindComposite {
		switch cmd.Subtype {
		case pg.AlterTableType_AT_AddColumn, pg.AlterTableType_AT_DropColumn, pg.AlterTableType_AT_AlterColumnType:
			return b.alterAttribute(cmd)
		}
	}
	if b.rel.Rollup != nil {
		return b.alterRollup(cmd)
	}
	if err := typedRefuses(b.rel, cmd.Subtype); err != nil {
		return err
	}
	if b.rel.Kind != catalog.KindTable {
		switch cmd.Subtype {
		case pg.AlterTableType_AT_ChangeOwner, pg.AlterTableType_AT_SetRelOptions, pg.AlterTableType_AT_ResetRelOptions:
		case pg.AlterTableType_AT_ColumnDefault:
			if b.rel.Kind != catalog.KindView {
				return b.wrongAction(cmd)
			}
		case pg.AlterTableType_AT_SetLogged, pg.AlterTableType_AT_SetUnLogged:
			if b.rel.Kind != catalog.KindSequence {
				return b.wrongAction(cmd)
			}
		case pg.AlterTableType_AT_SetStatistics, pg.AlterTableType_AT_SetStorage, pg.AlterTableType_AT_SetCompression, pg.AlterTableType_AT_SetOptions,
			pg.AlterTableType_AT_ResetOptions, pg.AlterTableType_AT_ClusterOn, pg.AlterTableType_AT_DropCluster, pg.AlterTableType_AT_SetTableSpace,
			pg.AlterTableType_AT_SetAccessMethod:
			if b.rel.Kind != catalog.KindMatView {
				return b.wrongAction(cmd)
			}
		default:
			return b.wrongAction(cmd)
		}
	}
	if b.rel.TimeSeries {
		if cmd.Subtype == pg.AlterTableType_AT_AddConstraint && b.isSeriesKey(cmd.Def.GetConstraint()) {
			return nil
		}
		if err := b.alterSeries(cmd); err != nil {
			return err
		}
	}
	switch cmd.Subtype {
	case pg.AlterTableType_AT_AddColumn:
		return b.alterAddColumn(cmd)
	case pg.AlterTableType_AT_DropColumn:
		return b.dropColumn(cmd)
	case pg.AlterTableType_AT_AlterColumnType:
		return b.alterType(cmd)
	case pg.AlterTableType_AT_AddConstraint:
		if err := b.tableConstraint(cmd.Def.GetConstraint()); err != nil {
			return err
		}
		return b.finish(false)
	case pg.AlterTableType_AT_DropConstraint:
		return b.dropConstraint(cmd)
	case pg.AlterTableType_AT_ValidateConstraint:
		return b.validateConstraint(cmd.Name)
	case pg.AlterTableType_AT_AlterConstraint:
		return b.alterConstraint(cmd.Def.GetConstraint())
	case pg.AlterTableType_AT_SetRelOptions, pg.AlterTableType_AT_ResetRelOptions:
		return b.setOptions(cmd)
	case pg.AlterTableType_AT_ChangeOwner:
		return b.changeOwner(cmd.Newowner)
	case pg.AlterTableType_AT_SetLogged, pg.AlterTableType_AT_SetUnLogged:
		if err := b.setLogged(cmd.Subtype == pg.AlterTableType_AT_SetLogged); err != nil {
			return err
		}
	case pg.AlterTableType_AT_SetTableSpace:
		if cmd.Name != "pg_default" {
			return pgerror.New(pgerror.UndefinedObject, "tablespace %q does not exist", cmd.Name)
		}
		return nil
	case pg.AlterTableType_AT_SetAccessMethod:
		if cmd.Name != "heap" && cmd.Name != "" {
			return noTableMethod(cmd.Name)
		}
		return nil
	case pg.AlterTableType_AT_ClusterOn, pg.AlterTableType_AT_DropCluster:
		if err := clusterOn(b.rel, cmd.Name); err != nil {
			return err
		}
	case pg.AlterTableType_AT_ReplicaIdentity:
		if err := replicaIdentity(b.rel, cmd.Def.GetReplicaIdentityStmt()); err != nil {
			return err
		}
	case pg.AlterTableType_AT_AddOf:
		return b.addOf(cmd.Def.GetTypeName())
	case pg.AlterTableType_AT_DropOf:
		return b.dropOf()
	case pg.AlterTableType_AT_DropOids:
		return nil
	case pg.AlterTableType_AT_DisableRowSecurity, pg.AlterTableType_AT_NoForceRowSecurity:
		return nil
	default:
		if done, err := enableTriggers(b.rel, cmd); done {
			if err == nil {
				b.put()
			}
			return err
		}
		return b.alterColumn(cmd)
	}
	b.put()
	return nil
}

func (b *builder) wrongAction(cmd *pg.AlterTableCmd) error {
	return pgerror.New(pgerror.WrongObjectType, "ALTER action %s cannot be performed on relation %q", actionName(cmd.Subtype), b.rel.Name).
		WithDetail("This operation is not supported for %ss.", kindWord(b.rel.Kind))
}

// setLogged is SET LOGGED and SET UNLOGGED: foreign keys never lead from a logged
// to an unlogged table.
func (b *builder) setLogged(logged bool) error {
	if b.rel.Persistence == 't' {
		return pgerror.New(pgerror.InvalidTableDefinition, "cannot change logged status of table %q because it is temporary", b.rel.Name)
	}
	if logged {
		for _, fk := range b.rel.ForeignKeys {
			if p := b.catalog().Relation(fk.RefTable); p != nil && p.OID != b.rel.OID && p.Persistence == 'u' {
				return pgerror.New(pgerror.InvalidTableDefinition, "could not change table %q to logged because it references unlogged table %q", b.rel.Name, p.Name)
			}
		}
		b.rel.Persistence = 'p'
	} else {
		for _, child := range b.referencing(b.rel.OID) {
			if child.OID != b.rel.OID && child.Persistence == 'p' {
				return pgerror.New(pgerror.InvalidTableDefinition, "could not change table %q to unlogged because it references logged table %q", b.rel.Name, child.Name)
			}
		}
		b.rel.Persistence = 'u'
	}
	for _, c := range b.rel.Columns {
		if seq := b.catalog().Relation(c.OwnedSequence); c.OwnedSequence != 0 && seq != nil {
			cp := copyRelation(seq)
			cp.Persistence = b.rel.Persistence
			b.run.schema().PutRelation(cp)
		}
	}
	return nil
}

// noTableMethod is the error for a table access method other than heap.
func noTableMethod(name string) error {
	if _, ok := accessMethods[name]; ok {
		return pgerror.New(pgerror.ObjectNotInPrerequisiteState, "access method %q is not of type TABLE", name)
	}
	return pgerror.New(pgerror.UndefinedObject, "access method %q does not exist", name)
}

func actionName(t pg.AlterTableType) string {
	return splitWords(t.String()[len("AT_"):])
}

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
		rows, err := b.s.Query(b.ctx, "SELECT 1 FROM "+b.qualified(old)+" LIMIT 1")
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
	for _, v := range b.dependentViews(b.rel) {
		if uses, err := bind.ViewUsesColumn(b.s.PlanContext(), v, b.rel.OID, col.Num); err == nil && uses {
			return pgerror.New(pgerror.FeatureNotSupported, "cannot alter type of a column used by a view or rule").
				WithDetail("rule _RETURN on view %s depends on column %q", v.Name, col.Name)
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

func (b *builder) dropConstraint(cmd *pg.AlterTableCmd) error {
	name := cmd.Name
	for i, c := range b.rel.Checks {
		if c.Name == name {
			b.rel.Checks = slices.Delete(b.rel.Checks, i, i+1)
			b.put()
			return nil
		}
	}
	for i, f := range b.rel.ForeignKeys {
		if f.Name == name {
			b.rel.ForeignKeys = slices.Delete(b.rel.ForeignKeys, i, i+1)
			b.put()
			return nil
		}
	}
	for i, ix := range b.rel.Indexes {
		if ix.Constraint != name {
			continue
		}
		cascade := cmd.Behavior == pg.DropBehavior_DROP_CASCADE
		if err := b.dropKey(i, cascade); err != nil || !ix.Primary {
			return err
		}
		return b.dropKeyViews(name, cascade)
	}
	if cmd.MissingOk {
		b.notice("constraint %q of relation %q does not exist, skipping", name, b.rel.Name)
		return nil
	}
	return pgerror.New(pgerror.UndefinedObject, "constraint %q of relation %q does not exist", name, b.rel.Name)
}

func (b *builder) dropKey(i int, cascade bool) error {
	ix := b.rel.Indexes[i]
	var blockers []string
	refs := b.referencingIndex(ix.OID)
	for _, f := range refs {
		blockers = append(blockers, "constraint "+f.name+" on table "+b.visibleName(b.catalog().Relation(f.table))+
			" depends on index "+ix.Name)
	}
	if len(blockers) > 0 && !cascade {
		return dependencyError("constraint "+ix.Constraint+" on table "+b.rel.Name, false, blockers)
	}
	for _, f := range refs {
		rel := b.rel
		if f.table != b.rel.OID {
			rel = copyRelation(b.catalog().Relation(f.table))
		}
		rel.ForeignKeys = slices.DeleteFunc(rel.ForeignKeys, func(k *catalog.ForeignKey) bool { return k.Name == f.name })
		if rel != b.rel {
			b.run.schema().PutRelation(rel)
		}
	}
	old := copyRelation(b.rel)
	b.rel.Indexes = slices.Delete(b.rel.Indexes, i, i+1)
	if ix.Clustered {
		return b.rewrite(old, nil)
	}
	b.run.schema().DeleteStorage(ix.StorageID)
	b.put()
	return nil
}

func (b *builder) validateConstraint(name string) error {
	for i, c := range b.rel.Checks {
		if c.Name == name {
			if err := b.validateCheck(c); err != nil {
				return err
			}
			cp := *c
			cp.NotValid = false
			b.rel.Checks[i] = &cp
			b.put()
			return nil
		}
	}
	for i, f := range b.rel.ForeignKeys {
		if f.Name == name {
			if err := b.validateForeignKey(f, b.catalog().Relation(f.RefTable)); err != nil {
				return err
			}
			cp := *f
			cp.NotValid = false
			b.rel.ForeignKeys[i] = &cp
			b.put()
			return nil
		}
	}
	return pgerror.New(pgerror.UndefinedObject, "constraint %q of relation %q does not exist", name, b.rel.Name)
}

func (b *builder) alterConstraint(c *pg.Constraint) error {
	for i, f := range b.rel.ForeignKeys {
		if f.Name == c.Conname {
			cp := *f
			cp.Deferrable, cp.InitiallyDeferred = c.Deferrable || c.Initdeferred, c.Initdeferred
			b.rel.ForeignKeys[i] = &cp
			b.put()
			return nil
		}
	}
	if b.constraintExists(c.Conname) {
		return pgerror.New(pgerror.WrongObjectType, "constraint %q of relation %q is not a foreign key constraint", c.Conname, b.rel.Name)
	}
	return pgerror.New(pgerror.UndefinedObject, "constraint %q of relation %q does not exist", c.Conname, b.rel.Name)
}

func (b *builder) setOptions(cmd *pg.AlterTableCmd) error {
	if b.rel.TimeSeries {
		return b.setSeriesOptions(cmd)
	}
	var err error
	if b.rel.Options, err = changeOptions(b.rel.Options, optionKind(b.rel), cmd); err != nil {
		return err
	}
	if b.rel.Kind == catalog.KindView {
		b.rel.ViewOptions = viewOptionsOf(b.rel.Options)
	}
	b.put()
	return nil
}

// setSeriesOptions keeps the options of a time-series table, which alterSeries has tested.
func (b *builder) setSeriesOptions(cmd *pg.AlterTableCmd) error {
	opts, err := relOptions(cmd.Def.GetList().GetItems())
	if err != nil {
		return err
	}
	for _, o := range opts {
		name := o[:slices.Index([]byte(o), '=')+1]
		b.rel.Options = slices.DeleteFunc(b.rel.Options, func(x string) bool { return len(x) >= len(name) && x[:len(name)] == name })
		if cmd.Subtype == pg.AlterTableType_AT_SetRelOptions {
			b.rel.Options = append(b.rel.Options, o)
		}
	}
	b.put()
	return nil
}

func (b *builder) changeOwner(spec *pg.RoleSpec) error {
	role, err := b.roleSpec(spec)
	if err != nil {
		return err
	}
	if !b.mayBecome(role.OID) {
		return pgerror.New(pgerror.InsufficientPrivilege, "must be member of role %q", role.Name)
	}
	b.rel.Owner = role.OID
	for _, ix := range b.rel.Indexes {
		ix.Owner = role.OID
	}
	for _, c := range b.rel.Columns {
		if seq := b.catalog().Relation(c.OwnedSequence); c.OwnedSequence != 0 && seq != nil {
			cp := copyRelation(seq)
			cp.Owner = role.OID
			b.run.schema().PutRelation(cp)
		}
	}
	b.put()
	return nil
}

func formatType(c *catalog.Column) string { return sqltypes.FormatType(c.Type.OID, c.Type.TypMod) }

var _ engine.RelLock
