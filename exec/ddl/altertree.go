package ddl

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/proto"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/planner/bind"
	"ostraka/planner/parse"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// ALTER TABLE of a table that others inherit from changes them, too, unless it is
// ALTER TABLE ONLY: what both have must stay alike.

// alterTree does one command on a table and, with recurse, on its children. down:
// the command came from the table's parent.
func (r *run) alterTree(oid sqltypes.OID, cmd *pg.AlterTableCmd, recurse, down bool) error {
	rel := r.catalog().Relation(oid)
	b := &builder{run: r, rel: copyRelation(rel), schema: r.catalog().Schema(rel.Schema), fromParent: down, only: !recurse}
	if rel.Kind != catalog.KindTable && rel.Kind != catalog.KindPartitioned {
		return b.alter(cmd)
	}
	if err := typedRefuses(rel, cmd.Subtype); err != nil {
		return err
	}
	if len(rel.Parents) == 0 && rel.Partitioning == nil && !r.catalog().HasChildren(oid) {
		return b.alter(cmd)
	}
	if !down {
		if err := b.mayDiffer(cmd, recurse); err != nil {
			return err
		}
	}
	if col := columnByName(rel, cmd.Name); col != nil && (down || col.Inherited == 0) && b.inKey(col.Num) {
		switch cmd.Subtype {
		case pg.AlterTableType_AT_DropColumn:
			return b.keyColumn("drop", col)
		case pg.AlterTableType_AT_AlterColumnType:
			return b.keyColumn("alter", col)
		}
	}
	switch cmd.Subtype {
	case pg.AlterTableType_AT_AddColumn:
		return r.addColumnTree(b, cmd, recurse)
	case pg.AlterTableType_AT_DropColumn:
		return r.dropColumnTree(b, cmd, recurse)
	case pg.AlterTableType_AT_DropConstraint:
		return r.dropConstraintTree(b, cmd, recurse)
	case pg.AlterTableType_AT_AddConstraint:
		return r.addConstraintTree(b, cmd, recurse)
	}
	if err := b.alter(cmd); err != nil {
		return err
	}
	if recurse && rel.Partitioning != nil {
		if done, err := r.enableClones(oid, cmd); done {
			return err
		}
	}
	if !recurse || !recursive(cmd.Subtype) {
		return nil
	}
	return r.eachChild(oid, func(c *catalog.Relation) error {
		if cmd.Subtype == pg.AlterTableType_AT_ValidateConstraint {
			if k := checkByName(c, cmd.Name); k == nil || k.Inherited == 0 {
				return nil
			}
		} else if cmd.Name != "" && columnByName(c, cmd.Name) == nil {
			return nil
		}
		return r.alterTree(c.OID, cmd, true, true)
	})
}

// recursive: the commands that ATSimpleRecursion sends to all children as they are.
func recursive(t pg.AlterTableType) bool {
	switch t {
	case pg.AlterTableType_AT_ColumnDefault, pg.AlterTableType_AT_SetNotNull, pg.AlterTableType_AT_DropNotNull, pg.AlterTableType_AT_SetStatistics,
		pg.AlterTableType_AT_SetStorage, pg.AlterTableType_AT_AlterColumnType, pg.AlterTableType_AT_DropExpression, pg.AlterTableType_AT_ValidateConstraint:
		return true
	}
	return false
}

// eachChild calls f for the children of a table, locked.
func (r *run) eachChild(oid sqltypes.OID, f func(c *catalog.Relation) error) error {
	for _, c := range r.catalog().Children(oid) {
		locked, err := r.lock(c, engine.AccessExclusive)
		if err != nil {
			return err
		}
		if err := f(locked); err != nil {
			return err
		}
	}
	return nil
}

// enableClones does ENABLE and DISABLE TRIGGER for the clones on partitions.
func (r *run) enableClones(oid sqltypes.OID, cmd *pg.AlterTableCmd) (done bool, err error) {
	rel := r.catalog().Relation(oid)
	if done, _ := enableTriggers(copyRelation(rel), cmd); !done {
		return false, nil
	}
	of := map[sqltypes.OID]byte{}
	for _, t := range rel.Triggers {
		if t.Row && (cmd.Name == "" || cmd.Name == t.Name) {
			of[t.OID] = t.Enabled
		}
	}
	for _, c := range r.catalog().Children(oid) {
		cp := copyRelation(c)
		for i, t := range cp.Triggers {
			if state := of[t.Parent]; state != 0 {
				n := *t
				n.Enabled = state
				cp.Triggers[i] = &n
			}
		}
		r.schema().PutRelation(cp)
		if c.Partitioning != nil {
			if _, err := r.enableClones(c.OID, cmd); err != nil {
				return true, err
			}
		}
	}
	return true, nil
}

const noOnly = "Do not specify the ONLY keyword."

// mayDiffer refuses a command that would make a table differ from its parents, or
// from its children when they are left out.
func (b *builder) mayDiffer(cmd *pg.AlterTableCmd, recurse bool) error {
	rel := b.rel
	bad := func(format string, args ...any) *pgerror.Error {
		return pgerror.New(pgerror.InvalidTableDefinition, format, args...)
	}
	children := b.catalog().HasChildren(rel.OID)
	col := columnByName(rel, cmd.Name)
	only := !recurse && children
	switch cmd.Subtype {
	case pg.AlterTableType_AT_AddColumn:
		switch {
		case rel.Bound != nil:
			return pgerror.New(pgerror.WrongObjectType, "cannot add column to a partition")
		case only:
			return bad("column must be added to child tables too")
		}
	case pg.AlterTableType_AT_DropColumn:
		switch {
		case col == nil:
		case col.Inherited > 0:
			return bad("cannot drop inherited column %q", col.Name)
		case only && rel.Partitioning != nil:
			return bad("cannot drop column from only the partitioned table when partitions exist").WithHint(noOnly)
		}
	case pg.AlterTableType_AT_AlterColumnType:
		switch {
		case col == nil:
		case col.Inherited > 0:
			return bad("cannot alter inherited column %q", col.Name)
		case only:
			return bad("type of inherited column %q must be changed in child tables too", col.Name)
		}
	case pg.AlterTableType_AT_SetNotNull:
		if only && rel.Partitioning != nil && col != nil && !col.NotNull {
			for _, c := range b.catalog().Children(rel.OID) {
				if k := columnByName(c, col.Name); k != nil && !k.NotNull {
					return bad("constraint must be added to child tables too").
						WithDetail("Column %q of relation %q is not already NOT NULL.", col.Name, c.Name).WithHint(noOnly)
				}
			}
		}
	case pg.AlterTableType_AT_DropNotNull:
		if only && rel.Partitioning != nil {
			return bad("cannot remove constraint from only the partitioned table when partitions exist").WithHint(noOnly)
		}
		if rel.Bound != nil && col != nil {
			if p := columnByName(b.catalog().Relation(rel.Parents[0]), col.Name); p != nil && p.NotNull {
				return bad("column %q is marked NOT NULL in parent table", col.Name)
			}
		}
	case pg.AlterTableType_AT_AddConstraint:
		c := cmd.Def.GetConstraint()
		if c.GetContype() == pg.ConstrType_CONSTR_CHECK && only && !c.IsNoInherit {
			return bad("constraint must be added to child tables too")
		}
		if c.GetContype() == pg.ConstrType_CONSTR_FOREIGN && !recurse && rel.Partitioning != nil {
			return pgerror.New(pgerror.WrongObjectType, "cannot use ONLY for foreign key on partitioned table %q referencing relation %q", rel.Name, c.Pktable.GetRelname())
		}
	case pg.AlterTableType_AT_DropConstraint:
		inherited := false
		if c := checkByName(rel, cmd.Name); c != nil && c.Inherited > 0 {
			inherited = true
		}
		for _, f := range rel.ForeignKeys {
			inherited = inherited || f.Name == cmd.Name && f.Parent != 0
		}
		for _, ix := range rel.Indexes {
			inherited = inherited || ix.Constraint != "" && ix.Constraint == cmd.Name && ix.Parent != 0
		}
		if inherited {
			return bad("cannot drop inherited constraint %q of relation %q", cmd.Name, rel.Name)
		}
		if only && rel.Partitioning != nil && b.constraintExists(cmd.Name) {
			return bad("cannot remove constraint from only the partitioned table when partitions exist").WithHint(noOnly)
		}
	case pg.AlterTableType_AT_DropExpression:
		switch {
		case col == nil:
		case only:
			return bad("ALTER TABLE / DROP EXPRESSION must be applied to child tables too")
		case col.Inherited > 0:
			return bad("cannot drop generation expression from inherited column")
		}
	case pg.AlterTableType_AT_SetRelOptions, pg.AlterTableType_AT_ResetRelOptions:
		if rel.Partitioning != nil {
			return pgerror.New(pgerror.WrongObjectType, "cannot specify storage parameters for a partitioned table").
				WithHint("Specify storage parameters for its leaf partitions, instead.")
		}
	}
	return nil
}

// inKey reports whether an attribute is part of the table's partition key.
func (b *builder) inKey(attr int16) bool {
	return b.rel.Partitioning != nil && slices.ContainsFunc(b.rel.Partitioning.Keys, func(k catalog.PartitionKey) bool {
		if k.Attr != 0 {
			return k.Attr == attr
		}
		x, err := bind.PartitionExpr(b.s.PlanContext(), b.rel, k.Expr)
		return err == nil && slices.Contains(attrsOf(x), attr)
	})
}

func (b *builder) keyColumn(verb string, col *catalog.Column) error {
	return pgerror.New(pgerror.InvalidTableDefinition, "cannot %s column %q because it is part of the partition key of relation %q", verb, col.Name, b.rel.Name)
}

// addColumnTree adds a column to a table and its children; a child that has it
// already has it from this parent, too, from now on.
func (r *run) addColumnTree(b *builder, cmd *pg.AlterTableCmd, recurse bool) error {
	def := cmd.Def.GetColumnDef()
	if have := columnByName(b.rel, def.Colname); have != nil && b.fromParent {
		col := *have
		parent := r.catalog().Relation(b.parentOf)
		from := columnByName(parent, def.Colname)
		if from != nil && (have.Type.OID != from.Type.OID || have.Type.TypMod != from.Type.TypMod) {
			return pgerror.New(pgerror.DatatypeMismatch, "child table %q has different type for column %q", b.rel.Name, def.Colname)
		}
		col.Inherited++
		b.rel.Columns[have.Num-1] = &col
		b.put()
		r.notice("merging definition of column %q for child %q", def.Colname, b.rel.Name)
		return nil
	}
	if !recurse || !r.catalog().HasChildren(b.rel.OID) {
		if err := b.alter(cmd); err != nil || !b.fromParent {
			return err
		}
		return r.markInherited(b.rel.OID, def.Colname)
	}
	// Constraints of the column come after it is everywhere.
	plain := proto.Clone(def).(*pg.ColumnDef)
	var later []*pg.Constraint
	plain.Constraints = slices.DeleteFunc(plain.Constraints, func(n *pg.Node) bool {
		c := n.GetConstraint()
		switch c.GetContype() {
		case pg.ConstrType_CONSTR_CHECK:
		case pg.ConstrType_CONSTR_PRIMARY, pg.ConstrType_CONSTR_UNIQUE:
			c.Keys = []*pg.Node{pg.MakeStrNode(def.Colname)}
		case pg.ConstrType_CONSTR_FOREIGN:
			c.FkAttrs = []*pg.Node{pg.MakeStrNode(def.Colname)}
		default:
			return false
		}
		later = append(later, c)
		return true
	})
	sub := &pg.AlterTableCmd{Subtype: cmd.Subtype, Def: &pg.Node{Node: &pg.Node_ColumnDef{ColumnDef: plain}}, MissingOk: cmd.MissingOk}
	before := len(b.rel.Columns)
	if err := b.alter(sub); err != nil {
		return err
	}
	now := r.catalog().Relation(b.rel.OID)
	if len(now.Columns) == before {
		return nil // it was there: IF NOT EXISTS
	}
	if b.fromParent {
		if err := r.markInherited(b.rel.OID, def.Colname); err != nil {
			return err
		}
	}
	// Children get the same default, not a sequence of their own.
	child := proto.Clone(plain).(*pg.ColumnDef)
	child.Constraints = slices.DeleteFunc(child.Constraints, func(n *pg.Node) bool {
		return n.GetConstraint().GetContype() == pg.ConstrType_CONSTR_IDENTITY
	})
	if col := now.Columns[len(now.Columns)-1]; serialType(plain.TypeName) != 0 {
		raw, err := parse.Expression(col.Default)
		if err != nil {
			return err
		}
		child.TypeName = &pg.TypeName{Names: []*pg.Node{pg.MakeStrNode("pg_catalog"), pg.MakeStrNode(r.catalog().Type(col.Type.OID).Name)}, Typemod: -1}
		child.Constraints = append(child.Constraints, &pg.Node{Node: &pg.Node_Constraint{Constraint: &pg.Constraint{Contype: pg.ConstrType_CONSTR_DEFAULT, RawExpr: raw}}},
			&pg.Node{Node: &pg.Node_Constraint{Constraint: &pg.Constraint{Contype: pg.ConstrType_CONSTR_NOTNULL}}})
	}
	down := &pg.AlterTableCmd{Subtype: cmd.Subtype, Def: &pg.Node{Node: &pg.Node_ColumnDef{ColumnDef: child}}}
	err := r.eachChild(b.rel.OID, func(c *catalog.Relation) error {
		cb := &builder{run: r, rel: copyRelation(c), schema: r.catalog().Schema(c.Schema), fromParent: true, parentOf: b.rel.OID}
		return r.addColumnTree(cb, down, true)
	})
	if err != nil {
		return err
	}
	for _, c := range later {
		add := &pg.AlterTableCmd{Subtype: pg.AlterTableType_AT_AddConstraint, Def: &pg.Node{Node: &pg.Node_Constraint{Constraint: c}}}
		if err := r.alterTree(b.rel.OID, add, true, false); err != nil {
			return err
		}
	}
	return nil
}

// markInherited says of a column that a table has it from a parent.
func (r *run) markInherited(table sqltypes.OID, name string) error {
	rel := copyRelation(r.catalog().Relation(table))
	if col := columnByName(rel, name); col != nil {
		col.Inherited, col.NotLocal = col.Inherited+1, true
		r.schema().PutRelation(rel)
	}
	return nil
}

func (r *run) dropColumnTree(b *builder, cmd *pg.AlterTableCmd, recurse bool) error {
	if columnByName(b.rel, cmd.Name) == nil {
		return b.alter(cmd)
	}
	oid := b.rel.OID
	if col := columnByName(b.rel, cmd.Name); b.inKey(col.Num) {
		return b.keyColumn("drop", col)
	}
	// As in PostgreSQL the children lose it first.
	err := r.eachChild(oid, func(c *catalog.Relation) error {
		cp := copyRelation(c)
		col := columnByName(cp, cmd.Name)
		if col == nil || col.Inherited == 0 {
			return nil
		}
		if recurse && col.Inherited == 1 && col.NotLocal {
			cb := &builder{run: r, rel: cp, schema: r.catalog().Schema(c.Schema), fromParent: true}
			return r.dropColumnTree(cb, cmd, true)
		}
		if col.Inherited--; !recurse || col.Inherited == 0 {
			col.NotLocal = false
		}
		r.schema().PutRelation(cp)
		return nil
	})
	if err != nil {
		return err
	}
	b.rel = copyRelation(r.catalog().Relation(oid))
	return b.alter(cmd)
}

func (r *run) addConstraintTree(b *builder, cmd *pg.AlterTableCmd, recurse bool) error {
	c := cmd.Def.GetConstraint()
	if c.GetContype() != pg.ConstrType_CONSTR_CHECK {
		return b.alter(cmd)
	}
	if c.IsNoInherit || !recurse {
		return b.alter(cmd)
	}
	merged := checkByName(b.rel, c.Conname) != nil && c.Conname != ""
	before := len(b.rel.Checks)
	if err := b.alter(cmd); err != nil {
		return err
	}
	if merged {
		return nil
	}
	// All tables of the tree call it the same.
	now := r.catalog().Relation(b.rel.OID)
	if len(now.Checks) <= before {
		return nil
	}
	named := proto.Clone(c).(*pg.Constraint)
	named.Conname = now.Checks[len(now.Checks)-1].Name
	down := &pg.AlterTableCmd{Subtype: cmd.Subtype, Def: &pg.Node{Node: &pg.Node_Constraint{Constraint: named}}}
	return r.eachChild(b.rel.OID, func(k *catalog.Relation) error {
		cb := &builder{run: r, rel: copyRelation(k), schema: r.catalog().Schema(k.Schema), fromParent: true}
		return r.addConstraintTree(cb, down, true)
	})
}

func (r *run) dropConstraintTree(b *builder, cmd *pg.AlterTableCmd, recurse bool) error {
	oid := b.rel.OID
	check := checkByName(b.rel, cmd.Name)
	if check == nil {
		return r.dropCloned(b, cmd)
	}
	noInherit := check.NoInherit
	if err := b.alter(cmd); err != nil || noInherit {
		return err
	}
	return r.eachChild(oid, func(c *catalog.Relation) error {
		cp := copyRelation(c)
		have := checkByName(cp, cmd.Name)
		if have == nil || have.Inherited == 0 {
			return nil
		}
		if recurse && have.Inherited == 1 && have.NotLocal {
			cb := &builder{run: r, rel: cp, schema: r.catalog().Schema(c.Schema), fromParent: true}
			return r.dropConstraintTree(cb, cmd, true)
		}
		n := *have
		if n.Inherited--; !recurse || n.Inherited == 0 {
			n.NotLocal = false
		}
		cp.Checks[slices.Index(cp.Checks, have)] = &n
		r.schema().PutRelation(cp)
		return nil
	})
}

// dropCloned drops a key or foreign key with its clones on partitions.
func (r *run) dropCloned(b *builder, cmd *pg.AlterTableCmd) error {
	var of sqltypes.OID
	for _, f := range b.rel.ForeignKeys {
		if f.Name == cmd.Name {
			of = f.OID
		}
	}
	for _, ix := range b.rel.Indexes {
		if ix.Constraint != "" && ix.Constraint == cmd.Name {
			of = ix.OID
		}
	}
	oid := b.rel.OID
	if err := b.alter(cmd); err != nil || of == 0 {
		return err
	}
	for _, c := range r.catalog().Children(oid) {
		name := ""
		for _, f := range c.ForeignKeys {
			if f.Parent == of {
				name = f.Name
			}
		}
		for _, ix := range c.Indexes {
			if ix.Parent == of {
				name = ix.Constraint
			}
		}
		if name == "" {
			continue
		}
		cb := &builder{run: r, rel: copyRelation(c), schema: r.catalog().Schema(c.Schema), fromParent: true}
		sub := &pg.AlterTableCmd{Subtype: cmd.Subtype, Name: name, Behavior: cmd.Behavior}
		if err := r.dropCloned(cb, sub); err != nil {
			return err
		}
	}
	return nil
}
