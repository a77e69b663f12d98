package ddl

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// partitionBy is PARTITION BY (transformPartitionSpec, ComputePartitionAttrs).
func (b *builder) partitionBy(n *pg.PartitionSpec) error {
	p := &catalog.Partitioning{}
	switch n.Strategy {
	case pg.PartitionStrategy_PARTITION_STRATEGY_LIST:
		p.Strategy = 'l'
	case pg.PartitionStrategy_PARTITION_STRATEGY_RANGE:
		p.Strategy = 'r'
	default:
		p.Strategy = 'h'
	}
	if p.Strategy == 'l' && len(n.PartParams) != 1 {
		return pgerror.New(pgerror.InvalidObjectDefinition, "cannot use \"list\" partition strategy with more than one column")
	}
	if len(n.PartParams) > 32 {
		return pgerror.New(pgerror.TooManyColumns, "cannot partition using more than 32 columns")
	}
	b.rel.Partitioning = p
	for i, node := range n.PartParams {
		k, err := b.partitionKey(node.GetPartitionElem(), p.Strategy, i)
		if err != nil {
			return err
		}
		p.Keys = append(p.Keys, k)
	}
	return nil
}

func (b *builder) partitionKey(e *pg.PartitionElem, strategy byte, i int) (k catalog.PartitionKey, err error) {
	bad := func(code pgerror.Code, format string, args ...any) *pgerror.Error {
		return b.at(e.Location, pgerror.New(code, format, args...))
	}
	name := e.Name
	if ref := e.Expr.GetColumnRef(); ref != nil && len(ref.Fields) == 1 { // (a) is a column, too
		name = str(ref.Fields[0])
	}
	if name != "" {
		col := columnByName(b.rel, name)
		switch {
		case col == nil && systemColumn(name):
			return k, bad(pgerror.InvalidObjectDefinition, "cannot use system column %q in partition key", name)
		case col == nil:
			return k, bad(pgerror.UndefinedColumn, "column %q named in partition key does not exist", name)
		case col.Generated != 0:
			return k, bad(pgerror.InvalidObjectDefinition, "cannot use generated column in partition key").
				WithDetail("Column %q is a generated column.", name)
		}
		k.Attr, k.Type = col.Num, col.Type
	} else {
		if k.Expr, err = deparseExpr(e.Expr); err != nil {
			return k, err
		}
		x, err := bind.PartitionExpr(b.s.PlanContext(), b.rel, k.Expr)
		if err != nil {
			return k, err
		}
		k.Type = x.Type()
		if t := b.catalog().Type(k.Type.OID); t != nil && t.TypType == 'p' {
			return k, bad(pgerror.InvalidTableDefinition, "partition key column %d has pseudo-type %s", i+1, b.typeName(k.Type.OID))
		}
		if bind.MustBeImmutable(x) != nil {
			return k, bad(pgerror.InvalidObjectDefinition, "functions in partition key expression must be marked IMMUTABLE")
		}
		for _, a := range attrsOf(x) {
			if c := b.rel.Columns[a-1]; c.Generated != 0 {
				return k, bad(pgerror.InvalidObjectDefinition, "cannot use generated column in partition key").
					WithDetail("Column %q is a generated column.", c.Name)
			}
		}
		if c, ok := x.(*expr.Const); ok && c.Typ.OID == sqltypes.OIDText && e.Expr.GetAConst() != nil {
			return k, bad(pgerror.InvalidTableDefinition, "partition key column %d has pseudo-type %s", i+1, "unknown")
		}
		if len(attrsOf(x)) == 0 {
			return k, bad(pgerror.InvalidObjectDefinition, "cannot use constant expression as partition key")
		}
	}
	t := b.catalog().Type(k.Type.OID)
	for t != nil && t.TypType == 'd' && t.Base != nil {
		t = t.Base
	}
	method, am := sqltypes.AMBtree, "btree"
	if strategy == 'h' {
		method, am = sqltypes.AMHash, "hash"
	}
	class := sqltypes.DefaultOpClassOf(method, t)
	if len(e.Collation) > 0 {
		names := strs(e.Collation)
		if c := names[len(names)-1]; c != "C" && c != "POSIX" && c != "default" {
			return k, pgerror.NotSupported("collation %q", c)
		}
	}
	if len(e.Opclass) > 0 {
		names := strs(e.Opclass)
		given := sqltypes.OpClassByName(method, names[len(names)-1])
		if given == nil {
			return k, bad(pgerror.UndefinedObject, "operator class %q does not exist for access method %q", names[len(names)-1], am)
		}
		if given.InType != t.OID && !bind.BinaryCoercible(b.s.PlanContext(), t.OID, given.InType) {
			return k, bad(pgerror.DatatypeMismatch, "operator class %q does not accept data type %s", names[len(names)-1], b.typeName(k.Type.OID))
		}
		if class == nil || given.OID != class.OID && given.Family != class.Family {
			return k, pgerror.NotSupported("operator class %q in a partition key", names[len(names)-1])
		}
		class = given
	}
	if class == nil || strategy != 'h' && t.Compare == nil {
		return k, bad(pgerror.UndefinedObject, "data type %s has no default operator class for access method %q", b.typeName(k.Type.OID), am).
			WithHint("You must specify a %s operator class or define a default %s operator class for the data type.", am, am)
	}
	if _, ok := sqltypes.HashExtended(t, sqltypes.Int(0), 0); strategy == 'h' && !ok {
		return k, pgerror.NotSupported("hash partitioning by type %s", b.typeName(k.Type.OID))
	}
	k.OpClass = class.OID
	return k, nil
}

// boundOf gives the new relation the bound of a partition of parent, which must not
// overlap with any other.
func (b *builder) boundOf(parent *catalog.Relation, n *pg.PartitionBoundSpec) error {
	bound, err := b.bound(parent, n)
	if err != nil {
		return err
	}
	if err := b.freeBound(parent, bound, n); err != nil {
		return err
	}
	b.rel.Bound = bound
	return nil
}

func strategyWord(s byte) string { return map[byte]string{'l': "list", 'r': "range", 'h': "hash"}[s] }

// bound evaluates FOR VALUES (transformPartitionBound).
func (b *builder) bound(parent *catalog.Relation, n *pg.PartitionBoundSpec) (*catalog.PartitionBound, error) {
	bad := func(format string, args ...any) *pgerror.Error {
		return b.at(n.Location, pgerror.New(pgerror.InvalidTableDefinition, format, args...))
	}
	p := parent.Partitioning
	if n.IsDefault {
		if p.Strategy == 'h' {
			return nil, bad("a hash-partitioned table may not have a default partition")
		}
		return &catalog.PartitionBound{Default: true}, nil
	}
	if n.Strategy != string(rune(p.Strategy)) {
		return nil, bad("invalid bound specification for a %s partition", strategyWord(p.Strategy))
	}
	out := &catalog.PartitionBound{}
	switch p.Strategy {
	case 'h':
		switch {
		case n.Modulus <= 0:
			return nil, pgerror.New(pgerror.InvalidTableDefinition, "modulus for hash partition must be an integer value greater than zero")
		case n.Remainder < 0:
			return nil, pgerror.New(pgerror.InvalidTableDefinition, "remainder for hash partition must be an integer value greater than or equal to zero")
		case n.Remainder >= n.Modulus:
			return nil, pgerror.New(pgerror.InvalidTableDefinition, "remainder for hash partition must be less than modulus")
		}
		out.Modulus, out.Remainder = int(n.Modulus), int(n.Remainder)
	case 'l':
		t := b.catalog().Type(p.Keys[0].Type.OID)
		for _, v := range n.Listdatums {
			d, err := b.boundValue(parent, 0, v)
			if err != nil {
				return nil, err
			}
			same := func(o sqltypes.Datum) bool { return o.Null == d.Null && (d.Null || t.Compare(o, d) == 0) }
			if !slices.ContainsFunc(out.List, same) {
				out.List = append(out.List, d)
			}
		}
	default:
		if len(n.Lowerdatums) != len(p.Keys) {
			return nil, bad("FROM must specify exactly one value per partitioning column")
		}
		if len(n.Upperdatums) != len(p.Keys) {
			return nil, bad("TO must specify exactly one value per partitioning column")
		}
		var err error
		if out.Lower, err = b.rangeBound(parent, n.Lowerdatums); err != nil {
			return nil, err
		}
		if out.Upper, err = b.rangeBound(parent, n.Upperdatums); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// at gives an error its place in the statement.
func (b *builder) at(loc int32, e *pgerror.Error) *pgerror.Error {
	if src := b.s.PlanContext().Source; loc >= 0 && src != "" {
		return bind.WithPosition(e, src, loc)
	}
	return e
}

func (b *builder) rangeBound(parent *catalog.Relation, list []*pg.Node) ([]catalog.RangeBound, error) {
	var out []catalog.RangeBound
	seen := 0
	for i, v := range list {
		name := ""
		if ref := v.GetColumnRef(); ref != nil && len(ref.Fields) == 1 {
			name = str(ref.Fields[0])
		}
		kind := map[string]int{"minvalue": -1, "maxvalue": 1}[name]
		if seen != 0 && kind != seen {
			word := "MINVALUE"
			if seen > 0 {
				word = "MAXVALUE"
			}
			return nil, b.at(bind.Location(v), pgerror.New(pgerror.DatatypeMismatch, "every bound following %s must also be %s", word, word))
		}
		if kind != 0 {
			seen = kind
			out = append(out, catalog.RangeBound{Kind: kind})
			continue
		}
		d, err := b.boundValue(parent, i, v)
		if err != nil {
			return nil, err
		}
		if d.Null {
			return nil, b.at(bind.Location(v), pgerror.New(pgerror.InvalidObjectDefinition, "cannot specify NULL in range bound"))
		}
		out = append(out, catalog.RangeBound{Value: d})
	}
	return out, nil
}

func (b *builder) boundValue(parent *catalog.Relation, key int, n *pg.Node) (sqltypes.Datum, error) {
	k := parent.Partitioning.Keys[key]
	name := k.Expr
	if k.Attr != 0 {
		name = parent.Columns[k.Attr-1].Name
	}
	return bind.BoundValue(b.s.PlanContext(), n, k.Type, name)
}

// freeBound is check_new_partition_bound.
func (b *builder) freeBound(parent *catalog.Relation, bound *catalog.PartitionBound, n *pg.PartitionBoundSpec) error {
	parts := b.catalog().Partitions(parent)
	loc := n.Location
	bad := func(format string, args ...any) *pgerror.Error {
		return b.at(loc, pgerror.New(pgerror.InvalidObjectDefinition, format, args...))
	}
	if bound.Default {
		if parts.Default >= 0 {
			return bad("partition %q conflicts with existing default partition %q", b.rel.Name, parts.Parts[parts.Default].Name)
		}
		return nil
	}
	if bound.Modulus > 0 {
		for i, p := range parts.Parts {
			m := p.Bound.Modulus
			switch {
			case m <= bound.Modulus:
				next := i+1 == len(parts.Parts) || parts.Parts[i+1].Bound.Modulus > bound.Modulus
				if next && bound.Modulus%m != 0 {
					return bad("every hash partition modulus must be a factor of the next larger modulus").
						WithDetail("The new modulus %d is not divisible by %d, the modulus of existing partition %q.", bound.Modulus, m, p.Name)
				}
			case m%bound.Modulus != 0:
				return bad("every hash partition modulus must be a factor of the next larger modulus").
					WithDetail("The new modulus %d is not a factor of %d, the modulus of existing partition %q.", bound.Modulus, m, p.Name)
			}
		}
	}
	o := parts.Overlapping(bound)
	switch {
	case parent.Partitioning.Strategy == 'l' && o.Part >= 0:
		loc = bind.Location(n.Listdatums[o.Value])
	case parent.Partitioning.Strategy == 'r' && o.Upper:
		loc = bind.Location(n.Upperdatums[o.Value])
	case parent.Partitioning.Strategy == 'r':
		loc = bind.Location(n.Lowerdatums[o.Value])
	}
	if o.Empty {
		return bad("empty range bound specified for partition %q", b.rel.Name).
			WithDetail("Specified lower bound %s is greater than or equal to upper bound %s.", b.rangeText(parent, bound.Lower), b.rangeText(parent, bound.Upper))
	}
	if o.Part >= 0 {
		return bad("partition %q would overlap partition %q", b.rel.Name, parts.Parts[o.Part].Name)
	}
	return nil
}

// rangeText is a range bound as messages show it.
func (b *builder) rangeText(parent *catalog.Relation, list []catalog.RangeBound) string {
	return "(" + strings.Join(catalog.RangeBoundTexts(b.catalog(), parent, list), ", ") + ")"
}

// checkDefault makes sure that the default partition has no row that belongs into a
// partition with the bound.
func (b *builder) checkDefault(parent *catalog.Relation, bound *catalog.PartitionBound) error {
	parts := b.catalog().Partitions(parent)
	if bound.Default || parts.Default < 0 {
		return nil
	}
	def := parts.Parts[parts.Default]
	if def.OID == b.rel.OID {
		return nil
	}
	with := *b.rel
	with.Bound = bound
	cond := b.catalog().PartitionCondition(parent, &with)
	if cond == "" {
		return nil
	}
	for _, leaf := range b.catalog().Tree(def) {
		if leaf.Partitioning != nil {
			continue
		}
		rows, err := b.s.Query(b.ctx, "SELECT 1 FROM ONLY "+b.qualified(leaf)+" WHERE "+cond+" LIMIT 1")
		if err != nil {
			return err
		}
		if len(rows) > 0 {
			return pgerror.New(pgerror.CheckViolation, "updated partition constraint for default partition %q would be violated by some row", leaf.Name).
				WithTable(b.catalog().Schema(leaf.Schema).Name, leaf.Name)
		}
	}
	return nil
}

// partOf gives a new partition what its parent has: indexes, foreign keys, triggers.
func (r *run) partOf(parent, part sqltypes.OID) error {
	p, c := r.catalog().Relation(parent), r.catalog().Relation(part)
	b := &builder{run: r, rel: copyRelation(c), schema: r.catalog().Schema(c.Schema)}
	if err := b.checkDefault(p, c.Bound); err != nil {
		return err
	}
	if err := r.cloneIndexes(parent, part); err != nil {
		return err
	}
	if err := r.cloneForeignKeys(parent, part); err != nil {
		return err
	}
	return r.cloneTriggers(parent, part)
}

// attachPartition is ALTER TABLE … ATTACH PARTITION.
func (b *builder) attachPartition(cmd *pg.PartitionCmd) error {
	parent := b.rel
	wrong := func(format string, args ...any) error { return pgerror.New(pgerror.WrongObjectType, format, args...) }
	if parent.Partitioning == nil {
		return pgerror.New(pgerror.InvalidObjectDefinition, "table %q is not partitioned", parent.Name)
	}
	rel, err := b.ownRelation(cmd.Name, "", "table")
	if err != nil {
		return err
	}
	switch {
	case rel.Kind != catalog.KindTable && rel.Kind != catalog.KindPartitioned:
		return wrong("%q is not a table or foreign table", rel.Name)
	case rel.Bound != nil:
		return wrong("%q is already a partition", rel.Name)
	case rel.OfType != 0:
		return wrong("cannot attach a typed table as partition")
	case len(rel.Parents) > 0:
		return wrong("cannot attach inheritance child as partition")
	case rel.Partitioning == nil && b.catalog().HasChildren(rel.OID):
		return wrong("cannot attach inheritance parent as partition")
	case b.isDescendant(parent, rel):
		return pgerror.New(pgerror.DuplicateTable, "circular inheritance not allowed").
			WithDetail("%q is already a child of %q.", rel.Name, parent.Name)
	case parent.Persistence != 't' && rel.Persistence == 't':
		return wrong("cannot attach a temporary relation as partition of permanent relation %q", parent.Name)
	case parent.Persistence == 't' && rel.Persistence != 't':
		return wrong("cannot attach a permanent relation as partition of temporary relation %q", parent.Name)
	case rel.TimeSeries:
		return pgerror.NotSupported("time-series tables as partitions")
	}
	c := &builder{run: b.run, rel: copyRelation(rel), schema: b.catalog().Schema(rel.Schema)}
	for _, col := range rel.Columns {
		if !col.Dropped && columnByName(parent, col.Name) == nil {
			return pgerror.New(pgerror.DatatypeMismatch, "table %q contains column %q not found in parent %q", rel.Name, col.Name, parent.Name).
				WithDetail("The new partition may contain only the columns present in parent.")
		}
	}
	if err := c.adopt(parent); err != nil {
		return err
	}
	bound, err := c.bound(parent, cmd.Bound)
	if err != nil {
		return err
	}
	if err := c.freeBound(parent, bound, cmd.Bound); err != nil {
		return err
	}
	with := *c.rel
	with.Bound = bound
	for _, leaf := range b.catalog().Tree(rel) {
		if leaf.Partitioning != nil {
			continue
		}
		if err := b.rowsFit(parent, &with, leaf); err != nil {
			return err
		}
	}
	if err := c.checkDefault(parent, bound); err != nil {
		return err
	}
	c.rel.Bound = bound
	c.put()
	if err := b.cloneIndexes(parent.OID, rel.OID); err != nil {
		return err
	}
	if err := b.cloneForeignKeys(parent.OID, rel.OID); err != nil {
		return err
	}
	return b.cloneTriggers(parent.OID, rel.OID)
}

// rowsFit tests the rows of a table against the bounds of the partition it becomes,
// or is part of.
func (b *builder) rowsFit(parent, part, leaf *catalog.Relation) error {
	var conds []string
	if c := b.catalog().PartitionCondition(parent, part); c != "" {
		conds = append(conds, "("+c+") IS NOT TRUE")
	}
	for p := parent; p.Bound != nil; {
		up := b.catalog().Relation(p.Parents[0])
		if c := b.catalog().PartitionCondition(up, p); c != "" {
			conds = append(conds, "("+c+") IS NOT TRUE")
		}
		p = up
	}
	if len(conds) == 0 {
		return nil
	}
	rows, err := b.s.Query(b.ctx, "SELECT 1 FROM ONLY "+b.qualified(leaf)+" WHERE "+strings.Join(conds, " OR ")+" LIMIT 1")
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		return pgerror.New(pgerror.CheckViolation, "partition constraint of relation %q is violated by some row", leaf.Name).
			WithTable(b.catalog().Schema(leaf.Schema).Name, leaf.Name)
	}
	return nil
}

// detachPartition is ALTER TABLE … DETACH PARTITION; CONCURRENTLY is not another way here.
func (b *builder) detachPartition(cmd *pg.PartitionCmd) error {
	parent := b.rel
	if parent.Partitioning == nil {
		return pgerror.New(pgerror.InvalidObjectDefinition, "table %q is not partitioned", parent.Name)
	}
	rel, _, err := b.findRelation(cmd.Name.Schemaname, cmd.Name.Relname)
	if err != nil {
		return err
	}
	if rel == nil {
		return noRelation(cmd.Name.Schemaname, cmd.Name.Relname)
	}
	if cmd.Concurrent {
		if parts := b.catalog().Partitions(parent); parts.Default >= 0 {
			return pgerror.New(pgerror.ObjectNotInPrerequisiteState, "cannot detach partitions concurrently when a default partition exists")
		}
	}
	if rel, err = b.lock(rel, 8); err != nil {
		return err
	}
	if rel.Bound == nil || !slices.Contains(rel.Parents, parent.OID) {
		return pgerror.New(pgerror.UndefinedTable, "relation %q is not a partition of relation %q", rel.Name, parent.Name)
	}
	if err := b.detachReferenced(parent, rel); err != nil {
		return err
	}
	c := &builder{run: b.run, rel: copyRelation(rel), schema: b.catalog().Schema(rel.Schema)}
	if cmd.Concurrent {
		// The partition keeps its constraint.
		if text := b.catalog().PartitionCondition(parent, rel); text != "" {
			x, err := bind.CheckExpr(b.s.PlanContext(), c.rel, text)
			if err == nil {
				oid, err := b.newOID()
				if err != nil {
					return err
				}
				name, err := c.constraintName("", c.checkColumn(x), "check")
				if err != nil {
					return err
				}
				c.rel.Checks = append(c.rel.Checks, &catalog.Check{OID: oid, Name: name, Expr: text, Attrs: attrsOf(x)})
			}
		}
	}
	c.disinherit(parent)
	for _, col := range c.rel.Columns {
		if !col.Dropped && col.Inherited == 0 {
			col.NotLocal = false
		}
	}
	c.rel.Bound = nil
	for _, ix := range c.rel.Indexes {
		if p, _ := b.catalog().Index(ix.Parent); p != nil && p.OID == parent.OID {
			ix.Parent = 0
		}
	}
	for i, f := range c.rel.ForeignKeys {
		if slices.ContainsFunc(parent.ForeignKeys, func(p *catalog.ForeignKey) bool { return p.OID == f.Parent }) {
			cp := *f
			cp.Parent = 0
			c.rel.ForeignKeys[i] = &cp
		}
	}
	c.put()
	return b.dropClonedTriggers(parent, rel.OID)
}

// finalizeDetach is DETACH PARTITION … FINALIZE: no detaching is ever left half done.
func (b *builder) finalizeDetach(cmd *pg.PartitionCmd) error {
	rel, _, err := b.findRelation(cmd.Name.Schemaname, cmd.Name.Relname)
	if err != nil {
		return err
	}
	if rel == nil {
		return noRelation(cmd.Name.Schemaname, cmd.Name.Relname)
	}
	if !slices.Contains(rel.Parents, b.rel.OID) {
		return pgerror.New(pgerror.UndefinedTable, "relation %q is not a partition of relation %q", rel.Name, b.rel.Name)
	}
	return pgerror.New(pgerror.ObjectNotInPrerequisiteState, "partition %q is not pending detach", rel.Name)
}

// checkColumn is the column whose name a check's name has, "" when it has several.
func (b *builder) checkColumn(x expr.Expr) string {
	if attrs := attrsOf(x); len(attrs) == 1 {
		return b.rel.Columns[attrs[0]-1].Name
	}
	return ""
}
