package ddl

import (
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// builder collects what a CREATE TABLE or ALTER TABLE ADD makes of one relation
// before it is put into the catalogue. rel is the builder's own copy.
type builder struct {
	*run
	rel    *catalog.Relation
	schema *catalog.Schema
	// indexes and foreign keys are added when all columns are known.
	keys    []*pg.Constraint // PRIMARY KEY, UNIQUE
	foreign []*pg.Constraint
	checks  []*pg.Constraint
	// sequences to be owned by a column.
	serials []*serial
	// index of a LIKE … INCLUDING INDEXES source.
	likeIndexes []likeIndex
	// inh is what a new table has from its parents, nil without any.
	inh *inherited
	// fromParent: the change is one of a parent, and comes down to this table.
	fromParent bool
	parentOf   sqltypes.OID // that parent, where it matters
	// only: the children are left as they are.
	only bool
	// convert changes stored values while rows are rewritten, by attribute.
	convert map[int16]func(sqltypes.Datum) sqltypes.Datum
}

type serial struct {
	col  *catalog.Column
	def  *catalog.Sequence
	name string       // "" choose
	oid  sqltypes.OID // of the sequence; 0: take one
}

func (r *run) createTable(n *pg.CreateStmt) error {
	temp := n.Relation.Relpersistence == "t" || n.Relation.Schemaname == "pg_temp"
	schema, err := r.creationSchema(n.Relation.Schemaname, temp)
	if err != nil {
		return err
	}
	if !temp && hasOnCommit(n.Oncommit) {
		return pgerror.New(pgerror.InvalidTableDefinition, "ON COMMIT can only be used on temporary tables")
	}
	name := truncateIdent(n.Relation.Relname)
	if err := r.mustBeFree(schema, name); err != nil {
		if n.IfNotExists && pgerror.Is(err, pgerror.DuplicateTable) {
			r.s.Notice("NOTICE", pgerror.DuplicateTable, sprintf("relation %q already exists, skipping", name))
			return nil
		}
		return err
	}
	b := &builder{run: r, schema: schema, rel: &catalog.Relation{
		Name: name, Schema: schema.OID, Kind: catalog.KindTable, Persistence: 'p', Owner: r.role(), ACL: r.newACL('r', schema.OID),
	}}
	if temp || schema.OID == r.s.PlanContext().TempSchema && schema.OID != 0 {
		b.rel.Persistence, b.rel.OnCommit = 't', onCommitAction(n.Oncommit)
	} else if n.Relation.Relpersistence == "u" {
		b.rel.Persistence = 'u'
	}
	if n.AccessMethod != "" && n.AccessMethod != "heap" {
		return noTableMethod(n.AccessMethod)
	}
	if b.rel.Options, err = tableOptions(n.Options); err != nil {
		return err
	}
	if n.OfTypename != nil {
		if err := b.columnsOfType(n.OfTypename); err != nil {
			return err
		}
	}
	if n.Partspec != nil {
		if len(n.InhRelations) > 0 && n.Partbound == nil {
			return pgerror.New(pgerror.InvalidObjectDefinition, "cannot create partitioned table as inheritance child")
		}
		b.rel.Kind = catalog.KindPartitioned
		if len(b.rel.Options) > 0 {
			name, _, _ := strings.Cut(b.rel.Options[0], "=")
			return pgerror.New(pgerror.WrongObjectType, "cannot specify storage parameters for a partitioned table").
				WithHint("Specify storage parameters for its leaf partitions, instead.").WithColumn(name)
		}
	}
	if len(n.InhRelations) > 0 {
		if err := b.inherit(n.InhRelations, n.Partbound != nil); err != nil {
			return err
		}
	}
	given := map[string]bool{}
	for _, elt := range n.TableElts {
		switch e := elt.Node.(type) {
		case *pg.Node_ColumnDef:
			if n.OfTypename != nil || n.Partbound != nil {
				err = b.columnWithOptions(e.ColumnDef, given)
			} else {
				err = b.addColumn(e.ColumnDef)
			}
		case *pg.Node_TableLikeClause:
			err = b.like(e.TableLikeClause)
		case *pg.Node_Constraint:
			err = b.tableConstraint(e.Constraint)
		default:
			err = refuse(elt)
		}
		if err != nil {
			return err
		}
	}
	for _, c := range n.Constraints {
		if err := b.tableConstraint(c.GetConstraint()); err != nil {
			return err
		}
	}
	if len(b.rel.Columns) > maxColumns {
		return pgerror.New(pgerror.TooManyColumns, "tables can have at most %d columns", maxColumns)
	}
	if err := b.agreed(); err != nil {
		return err
	}
	if err := b.timeSeries(); err != nil {
		return err
	}
	if n.Partspec != nil {
		if err := b.partitionBy(n.Partspec); err != nil {
			return err
		}
	}
	if n.Partbound != nil {
		if err := b.boundOf(b.inh.parents[0], n.Partbound); err != nil {
			return err
		}
	}
	if err := b.create(); err != nil {
		return err
	}
	if n.Partbound != nil {
		return b.run.partOf(b.inh.parents[0].OID, b.rel.OID)
	}
	return nil
}

const maxColumns = 1600

// create gives the new relation its ids and puts everything into the catalogue.
func (b *builder) create() error {
	var err error
	// The sequences of columns first, as in PostgreSQL: tools list objects in the order of their OIDs.
	for _, s := range b.serials {
		if s.oid, err = b.newOID(); err != nil {
			return err
		}
	}
	if b.rel.OID, err = b.newOID(); err != nil {
		return err
	}
	if b.rel.Partitioning == nil {
		if b.rel.StorageID, err = b.run.schema().NewStorageID(b.ctx); err != nil {
			return err
		}
	}
	if err := b.rowType(); err != nil {
		return err
	}
	return b.finish(true)
}

// rowType makes the composite type that every table has.
func (b *builder) rowType() error {
	array, err := b.newOID()
	if err != nil {
		return err
	}
	oid, err := b.newOID()
	if err != nil {
		return err
	}
	b.rel.RowType = oid
	b.run.schema().PutType(&catalog.UserType{
		OID: oid, ArrayOID: array, Name: b.rel.Name, ArrayName: b.freeTypeName("_" + b.rel.Name),
		Schema: b.rel.Schema, Owner: b.rel.Owner, Kind: 'c', Relation: b.rel.OID,
	})
	return nil
}

func (b *builder) freeTypeName(name string) string {
	name = truncateIdent(name)
	for b.catalog().TypeByName(b.rel.Schema, name) != nil {
		name = truncateIdent("_" + name)
	}
	return name
}

// finish adds the collected sequences, checks, keys and foreign keys. isNew: the
// table has no rows yet.
func (b *builder) finish(isNew bool) error {
	for _, s := range b.serials {
		if err := b.ownSequence(s); err != nil {
			return err
		}
	}
	for _, c := range b.checks {
		if err := b.addCheck(c, isNew); err != nil {
			return err
		}
	}
	if err := b.bindExpressions(); err != nil {
		return err
	}
	for _, c := range b.keys {
		if err := b.addKey(c, isNew); err != nil {
			return err
		}
	}
	for _, l := range b.likeIndexes {
		if err := b.copyIndex(l, isNew); err != nil {
			return err
		}
	}
	b.put()
	for _, c := range b.foreign {
		if err := b.addForeignKey(c, isNew); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) put() {
	cp := *b.rel
	b.run.schema().PutRelation(&cp)
}

// addColumn adds one column definition with its constraints.
func (b *builder) addColumn(d *pg.ColumnDef) error {
	name := truncateIdent(d.Colname)
	if done, err := b.mergeOwn(d); done || err != nil {
		return err
	}
	if columnByName(b.rel, name) != nil {
		return pgerror.New(pgerror.DuplicateColumn, "column %q specified more than once", name)
	}
	if systemColumn(name) {
		return pgerror.New(pgerror.DuplicateColumn, "column name %q conflicts with a system column name", name)
	}
	col := &catalog.Column{Num: int16(len(b.rel.Columns) + 1), Name: name, StatTarget: -1}
	var sm *catalog.Sequence
	if t := serialType(d.TypeName); t != 0 {
		col.Type = sqltypes.ColumnType{OID: t, TypMod: -1}
		col.NotNull = true
		def := newSequence(t)
		sm = &def
	} else {
		t, err := bind.BindTypeName(b.s.PlanContext(), d.TypeName)
		if err != nil {
			return err
		}
		col.Type = t
	}
	if err := b.storable(b.rel, col); err != nil {
		return err
	}
	if err := setCollation(col, d.CollClause); err != nil {
		return err
	}
	if err := b.setCompression(col, d.Compression); err != nil {
		return err
	}
	b.rel.Columns = append(b.rel.Columns, col)
	if sm != nil {
		b.serials = append(b.serials, &serial{col: col, def: sm})
	}
	return b.columnConstraints(col, d.Constraints)
}

// storable refuses types that no column of rel can have: pseudo-types, and row
// types that contain the relation's own.
func (r *run) storable(rel *catalog.Relation, col *catalog.Column) error {
	t := r.catalog().Type(col.Type.OID)
	elem := t
	if t != nil && t.ElemType != nil {
		elem = t.ElemType
	}
	if elem == nil || elem.TypType == 'p' {
		return pgerror.New(pgerror.InvalidTableDefinition, "column %q has pseudo-type %s", col.Name,
			sqltypes.FormatType(col.Type.OID, -1))
	}
	if rel.RowType != 0 && typeContains(t, rel.RowType) {
		return pgerror.New(pgerror.InvalidTableDefinition, "composite type %s cannot be made a member of itself", rel.Name)
	}
	return nil
}

// typeContains reports whether values of t can hold values of the type.
func typeContains(t *sqltypes.Type, oid sqltypes.OID) bool {
	switch {
	case t == nil:
		return false
	case t.OID == oid:
		return true
	case t.Base != nil:
		return typeContains(t.Base, oid)
	case t.ElemType != nil:
		return typeContains(t.ElemType, oid)
	case t.Range != nil:
		return typeContains(t.Range.Subtype, oid)
	}
	for i := range t.Fields {
		if typeContains(t.Fields[i].Type, oid) {
			return true
		}
	}
	return false
}

// setCollation accepts the collations that order as C does; others are refused by name.
func setCollation(col *catalog.Column, c *pg.CollateClause) error {
	if c == nil {
		return nil
	}
	parts := strs(c.Collname)
	name := parts[len(parts)-1]
	switch name {
	case "C":
		col.Type.Collation = 950
	case "POSIX":
		col.Type.Collation = 951
	case "default":
		col.Type.Collation = 100
	case "ucs_basic":
		col.Type.Collation = 962
	default:
		return pgerror.NotSupported("collation %q", name)
	}
	return nil
}

func serialType(t *pg.TypeName) sqltypes.OID {
	if t == nil || len(t.Names) == 0 || len(t.ArrayBounds) > 0 {
		return 0
	}
	names := strs(t.Names)
	if len(names) != 1 {
		return 0
	}
	switch names[0] {
	case "serial", "serial4":
		return sqltypes.OIDInt4
	case "bigserial", "serial8":
		return sqltypes.OIDInt8
	case "smallserial", "serial2":
		return sqltypes.OIDInt2
	}
	return 0
}

// columnConstraints applies the constraints written behind a column.
func (b *builder) columnConstraints(col *catalog.Column, list []*pg.Node) error {
	sawNull := false
	var last *pg.Constraint
	for _, node := range list {
		c := node.GetConstraint()
		switch c.Contype {
		case pg.ConstrType_CONSTR_NULL:
			if col.NotNull {
				return b.nullConflict(col)
			}
			sawNull = true
		case pg.ConstrType_CONSTR_NOTNULL:
			if sawNull {
				return b.nullConflict(col)
			}
			col.NotNull = true
		case pg.ConstrType_CONSTR_DEFAULT:
			if err := b.setDefault(col, c.RawExpr); err != nil {
				return err
			}
		case pg.ConstrType_CONSTR_IDENTITY:
			if err := b.setIdentity(col, c); err != nil {
				return err
			}
		case pg.ConstrType_CONSTR_GENERATED:
			if err := b.setGenerated(col, c); err != nil {
				return err
			}
		case pg.ConstrType_CONSTR_CHECK:
			b.checks = append(b.checks, c)
		case pg.ConstrType_CONSTR_PRIMARY, pg.ConstrType_CONSTR_UNIQUE:
			c.Keys = []*pg.Node{pg.MakeStrNode(col.Name)}
			b.keys = append(b.keys, c)
			last = c
		case pg.ConstrType_CONSTR_FOREIGN:
			c.FkAttrs = []*pg.Node{pg.MakeStrNode(col.Name)}
			b.foreign = append(b.foreign, c)
			last = c
		case pg.ConstrType_CONSTR_ATTR_DEFERRABLE, pg.ConstrType_CONSTR_ATTR_NOT_DEFERRABLE,
			pg.ConstrType_CONSTR_ATTR_DEFERRED, pg.ConstrType_CONSTR_ATTR_IMMEDIATE:
			if last == nil {
				return pgerror.New(pgerror.SyntaxError, "misplaced DEFERRABLE clause")
			}
			deferAttr(last, c.Contype)
		default:
			return pgerror.NotSupported("constraint kind %s", c.Contype)
		}
	}
	return nil
}

func deferAttr(c *pg.Constraint, t pg.ConstrType) {
	switch t {
	case pg.ConstrType_CONSTR_ATTR_DEFERRABLE:
		c.Deferrable = true
	case pg.ConstrType_CONSTR_ATTR_DEFERRED:
		c.Deferrable, c.Initdeferred = true, true
	}
}

func (b *builder) nullConflict(col *catalog.Column) error {
	return pgerror.New(pgerror.SyntaxError, "conflicting NULL/NOT NULL declarations for column %q of table %q", col.Name, b.rel.Name)
}

func (b *builder) setDefault(col *catalog.Column, raw *pg.Node) error {
	if col.HasDefault || hasSerial(b.serials, col) {
		return pgerror.New(pgerror.SyntaxError, "multiple default values specified for column %q of table %q", col.Name, b.rel.Name)
	}
	text, err := deparseExpr(raw)
	if err != nil {
		return err
	}
	col.HasDefault, col.Default = true, text
	return nil
}

func hasSerial(list []*serial, col *catalog.Column) bool {
	for _, s := range list {
		if s.col == col {
			return true
		}
	}
	return false
}

func (b *builder) setIdentity(col *catalog.Column, c *pg.Constraint) error {
	switch col.Type.OID {
	case sqltypes.OIDInt2, sqltypes.OIDInt4, sqltypes.OIDInt8:
	default:
		return pgerror.New(pgerror.InvalidParameterValue, "identity column type must be smallint, integer, or bigint")
	}
	if col.Identity != 0 {
		return pgerror.New(pgerror.SyntaxError, "multiple identity specifications for column %q of table %q", col.Name, b.rel.Name)
	}
	if col.HasDefault {
		return pgerror.New(pgerror.SyntaxError, "both default and identity specified for column %q of table %q", col.Name, b.rel.Name)
	}
	col.Identity = c.GeneratedWhen[0]
	col.NotNull = true
	def := newSequence(col.Type.OID)
	def.Internal = true
	s := &serial{col: col, def: &def}
	if err := b.sequenceOptions(s.def, nil, c.Options, &s.name); err != nil {
		return err
	}
	b.serials = append(b.serials, s)
	return nil
}

func (b *builder) setGenerated(col *catalog.Column, c *pg.Constraint) error {
	if col.HasDefault {
		return pgerror.New(pgerror.SyntaxError, "both default and generation expression specified for column %q of table %q", col.Name, b.rel.Name)
	}
	text, err := deparseExpr(c.RawExpr)
	if err != nil {
		return err
	}
	col.HasDefault, col.Default, col.Generated = true, text, 's'
	return nil
}

// bindExpressions binds every default, generation expression and check once, to
// find errors while the statement runs.
func (b *builder) bindExpressions() error {
	ctx := b.s.PlanContext()
	for _, col := range b.rel.Columns {
		if col.Dropped || !col.HasDefault {
			continue
		}
		if _, err := bind.DefaultExpr(ctx, b.rel, col); err != nil {
			return err
		}
	}
	return nil
}

// tableConstraint collects a constraint written as a table element.
func (b *builder) tableConstraint(c *pg.Constraint) error {
	switch c.Contype {
	case pg.ConstrType_CONSTR_CHECK:
		b.checks = append(b.checks, c)
	case pg.ConstrType_CONSTR_PRIMARY, pg.ConstrType_CONSTR_UNIQUE:
		b.keys = append(b.keys, c)
	case pg.ConstrType_CONSTR_FOREIGN:
		b.foreign = append(b.foreign, c)
	case pg.ConstrType_CONSTR_EXCLUSION:
		return pgerror.NotSupported("EXCLUDE constraints")
	default:
		return pgerror.NotSupported("constraint kind %s", c.Contype)
	}
	return nil
}

// relOptions turns WITH (…) into reloptions.
func relOptions(list []*pg.Node) ([]string, error) {
	var out []string
	for _, n := range list {
		d := n.GetDefElem()
		name := d.Defname
		if d.Defnamespace != "" {
			name = d.Defnamespace + "." + name
		}
		if name == "oids" {
			if defBool(d) {
				return nil, pgerror.New(pgerror.FeatureNotSupported, "tables declared WITH OIDS are not supported")
			}
			continue
		}
		out = append(out, name+"="+defText(d))
	}
	return out, nil
}

// defText is the text of an option's argument; "true" when it has none.
func defText(d *pg.DefElem) string {
	if d.Arg == nil {
		return "true"
	}
	switch a := d.Arg.Node.(type) {
	case *pg.Node_String_:
		return a.String_.Sval
	case *pg.Node_Integer:
		return strconv.Itoa(int(a.Integer.Ival))
	case *pg.Node_Float:
		return a.Float.Fval
	case *pg.Node_Boolean:
		return strconv.FormatBool(a.Boolean.Boolval)
	case *pg.Node_TypeName:
		return strings.Join(strs(a.TypeName.Names), ".")
	case *pg.Node_List:
		return strings.Join(strs(a.List.Items), ".")
	}
	return ""
}

func defBool(d *pg.DefElem) bool {
	switch strings.ToLower(defText(d)) {
	case "true", "on", "1", "yes":
		return true
	}
	return false
}

// defInt reads an integer option, given as Integer or Float node.
func defInt(d *pg.DefElem) (int64, error) {
	v, err := strconv.ParseInt(defText(d), 10, 64)
	if err != nil {
		return 0, pgerror.New(pgerror.SyntaxError, "%s requires a numeric value", d.Defname)
	}
	return v, nil
}

func columnByName(rel *catalog.Relation, name string) *catalog.Column {
	for _, c := range rel.Columns {
		if c.Name == name && !c.Dropped {
			return c
		}
	}
	return nil
}

func systemColumn(name string) bool {
	switch name {
	case "ctid", "xmin", "cmin", "xmax", "cmax", "tableoid":
		return true
	}
	return false
}

// noColumn is the error for a column that a relation does not have.
func noColumn(rel *catalog.Relation, name string) error {
	return pgerror.New(pgerror.UndefinedColumn, "column %q of relation %q does not exist", name, rel.Name)
}

// copyRelation makes a copy that may be changed: the slices and the columns are new.
func copyRelation(rel *catalog.Relation) *catalog.Relation {
	cp := *rel
	cp.Columns = make([]*catalog.Column, len(rel.Columns))
	for i, c := range rel.Columns {
		cc := *c
		cp.Columns[i] = &cc
	}
	cp.Checks = append([]*catalog.Check(nil), rel.Checks...)
	cp.ForeignKeys = append([]*catalog.ForeignKey(nil), rel.ForeignKeys...)
	cp.Indexes = make([]*catalog.Index, len(rel.Indexes))
	for i, ix := range rel.Indexes {
		c := *ix
		cp.Indexes[i] = &c
	}
	cp.Triggers = append([]*catalog.Trigger(nil), rel.Triggers...)
	cp.Statistics = append([]*catalog.Statistic(nil), rel.Statistics...)
	cp.Policies = append([]*catalog.Policy(nil), rel.Policies...)
	cp.Layouts = append([]catalog.Layout(nil), rel.Layouts...)
	if rel.Sequence != nil {
		s := *rel.Sequence
		cp.Sequence = &s
	}
	return &cp
}

var _ engine.RelLock
