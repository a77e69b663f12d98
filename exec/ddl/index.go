package ddl

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func (r *run) createIndex(n *pg.IndexStmt) error {
	rel, err := r.relation(n.Relation, engine.Share, "rmp", "table or materialized view")
	if err != nil {
		return err
	}
	if err := r.mustOwn(rel); err != nil {
		return err
	}
	if rel.TimeSeries {
		return pgerror.NotSupported("indexes on time-series tables other than their key")
	}
	method, err := indexMethod(n)
	if err != nil {
		return err
	}
	b := &builder{run: r, rel: copyRelation(rel), schema: r.catalog().Schema(rel.Schema), only: !n.Relation.Inh}
	if rel.Partitioning != nil && n.Concurrent {
		return pgerror.New(pgerror.FeatureNotSupported, "cannot create index on partitioned table %q concurrently", rel.Name)
	}
	ix := &catalog.Index{Unique: n.Unique, NullsNotDistinct: n.NullsNotDistinct, Method: method.name}
	for _, p := range n.IndexParams {
		key, err := b.indexKey(p.GetIndexElem(), method)
		if err != nil {
			return err
		}
		ix.Keys = append(ix.Keys, key)
	}
	if len(ix.Keys) > 32 {
		return pgerror.New(pgerror.TooManyColumns, "cannot use more than 32 columns in an index")
	}
	if ix.Include, err = b.includeColumns(n.IndexIncludingParams); err != nil {
		return err
	}
	if n.WhereClause != nil {
		if ix.Predicate, err = deparseExpr(n.WhereClause); err != nil {
			return err
		}
		if namesSystemColumn(rel, n.WhereClause) {
			return pgerror.New(pgerror.FeatureNotSupported, "index creation on system columns is not supported")
		}
		if _, err := bind.CheckExpr(r.s.PlanContext(), rel, ix.Predicate); err != nil {
			return err
		}
	}
	if ix.Options, err = checkedOptions(method.name, n.Options, false); err != nil {
		return err
	}
	if err := b.coversKey(ix, "UNIQUE"); err != nil {
		return err
	}
	if n.Idxname == "" {
		ix.Name = r.freeRelationName(rel.Schema, rel.Name, strings.Join(catalog.IndexColumnNames(rel, ix), "_"), "idx", nil)
	} else {
		ix.Name = truncateIdent(n.Idxname)
		if err := r.claim(rel.Schema, ix.Name); err != nil {
			return err
		}
		if r.relationExists(rel.Schema, ix.Name) {
			if n.IfNotExists {
				r.s.Notice("NOTICE", pgerror.DuplicateTable, sprintf("relation %q already exists, skipping", ix.Name))
				return nil
			}
			return pgerror.New(pgerror.DuplicateTable, "relation %q already exists", ix.Name)
		}
	}
	return b.addIndex(ix, false)
}

// accessMethod is what an index method of PostgreSQL can do.
type accessMethod struct {
	name                                  string
	oid                                   sqltypes.OID
	order, unique, multicolumn, including bool
}

var accessMethods = map[string]accessMethod{
	"btree":  {"btree", sqltypes.AMBtree, true, true, true, true},
	"hash":   {"hash", sqltypes.AMHash, false, false, false, false},
	"gist":   {"gist", sqltypes.AMGist, false, false, true, true},
	"gin":    {"gin", sqltypes.AMGin, false, false, true, false},
	"spgist": {"spgist", sqltypes.AMSpgist, false, false, false, true},
	"brin":   {"brin", sqltypes.AMBrin, false, false, true, false},
}

// indexMethod finds the access method of CREATE INDEX and refuses what it cannot do.
func indexMethod(n *pg.IndexStmt) (accessMethod, error) {
	name := n.AccessMethod
	if name == "" {
		name = "btree"
	}
	if name == "rtree" {
		name = "gist"
	}
	m, ok := accessMethods[name]
	refuse := func(what string) (accessMethod, error) {
		return m, pgerror.New(pgerror.FeatureNotSupported, "access method %q does not support %s", m.name, what)
	}
	switch {
	case !ok:
		return m, pgerror.New(pgerror.UndefinedObject, "access method %q does not exist", name)
	case n.Unique && !m.unique:
		return refuse("unique indexes")
	case len(n.IndexIncludingParams) > 0 && !m.including:
		return refuse("included columns")
	case len(n.IndexParams) > 1 && !m.multicolumn:
		return refuse("multicolumn indexes")
	}
	return m, nil
}

// indexKey binds one element of CREATE INDEX.
func (b *builder) indexKey(e *pg.IndexElem, method accessMethod) (key catalog.IndexKey, err error) {
	key.Desc = e.Ordering == pg.SortByDir_SORTBY_DESC
	key.NullsFirst = key.Desc && e.NullsOrdering != pg.SortByNulls_SORTBY_NULLS_LAST ||
		e.NullsOrdering == pg.SortByNulls_SORTBY_NULLS_FIRST
	if !method.order {
		switch {
		case e.Ordering != pg.SortByDir_SORTBY_DEFAULT && e.Ordering != 0:
			return key, pgerror.New(pgerror.FeatureNotSupported, "access method %q does not support ASC/DESC options", method.name)
		case e.NullsOrdering != pg.SortByNulls_SORTBY_NULLS_DEFAULT && e.NullsOrdering != 0:
			return key, pgerror.New(pgerror.FeatureNotSupported, "access method %q does not support NULLS FIRST/LAST options", method.name)
		}
	}
	if e.Expr == nil {
		col := columnByName(b.rel, e.Name)
		switch {
		case col == nil && systemColumn(e.Name):
			return key, pgerror.New(pgerror.FeatureNotSupported, "index creation on system columns is not supported")
		case col == nil:
			return key, pgerror.New(pgerror.UndefinedColumn, "column %q does not exist", e.Name)
		}
		key.Attr, key.Type = col.Num, col.Type
	} else {
		if namesSystemColumn(b.rel, e.Expr) {
			return key, pgerror.New(pgerror.FeatureNotSupported, "index creation on system columns is not supported")
		}
		if key.Expr, err = deparseExpr(e.Expr); err != nil {
			return key, err
		}
		x, err := bind.RelationExpr(b.s.PlanContext(), b.rel, key.Expr)
		if err != nil {
			return key, err
		}
		key.Type, key.Name = x.Type(), exprName(e.Expr)
		if err := bind.MustBeImmutable(x); err != nil {
			return key, err
		}
		if t := b.catalog().Type(key.Type.OID); t != nil && t.TypType == 'p' {
			return key, pgerror.New(pgerror.InvalidTableDefinition, "column %q has pseudo-type %s", key.Name, sqltypes.FormatType(t.OID, -1))
		}
	}
	t := b.catalog().Type(key.Type.OID)
	for t != nil && t.TypType == 'd' && t.Base != nil {
		t = t.Base
	}
	if t == nil {
		return key, pgerror.New(pgerror.UndefinedObject, "type with OID %d does not exist", key.Type.OID)
	}
	class := sqltypes.DefaultOpClassOf(method.oid, t)
	if len(e.Opclass) > 0 {
		parts := strs(e.Opclass)
		name := parts[len(parts)-1]
		given := sqltypes.OpClassByName(method.oid, name)
		if given == nil {
			return key, pgerror.New(pgerror.UndefinedObject, "operator class %q does not exist for access method %q", name, method.name)
		}
		if in := b.catalog().Type(given.InType); in != nil && in.TypType != 'p' && !bind.BinaryCoercible(b.s.PlanContext(), t.OID, in.OID) {
			return key, pgerror.New(pgerror.DatatypeMismatch, "operator class %q does not accept data type %s", name, b.typeName(key.Type.OID))
		}
		key.OpClass, class = given.OID, given
	}
	if class == nil || method.name == "btree" && t.Compare == nil {
		return key, pgerror.New(pgerror.UndefinedObject, "data type %s has no default operator class for access method %q",
			b.typeName(key.Type.OID), method.name).
			WithHint("You must specify an operator class for the index or define a default operator class for the data type.")
	}
	if len(e.Opclassopts) > 0 && (method.name == "btree" || method.name == "hash") {
		return key, pgerror.New(pgerror.InvalidParameterValue, "operator class %s has no options", class.Name)
	}
	return key, nil
}

// namesSystemColumn reports whether an expression names a system column of its table.
func namesSystemColumn(rel *catalog.Relation, n *pg.Node) bool {
	found := false
	bind.EachColumnRef(n, func(name string) {
		found = found || columnByName(rel, name) == nil && name != "tableoid" && systemColumn(name)
	})
	return found
}

// exprName is what an expression contributes to an index name (FigureIndexColname).
func exprName(n *pg.Node) string {
	switch e := n.Node.(type) {
	case *pg.Node_FuncCall:
		parts := strs(e.FuncCall.Funcname)
		return parts[len(parts)-1]
	case *pg.Node_TypeCast:
		if e.TypeCast.Arg.GetFuncCall() != nil || e.TypeCast.Arg.GetColumnRef() != nil {
			return exprName(e.TypeCast.Arg)
		}
		parts := strs(e.TypeCast.TypeName.Names)
		return parts[len(parts)-1]
	case *pg.Node_ColumnRef:
		return str(e.ColumnRef.Fields[len(e.ColumnRef.Fields)-1])
	case *pg.Node_CoalesceExpr:
		return "coalesce"
	case *pg.Node_CaseExpr:
		return "case"
	}
	return "expr"
}

// addIndex gives ix its ids, puts it into the relation and fills it.
func (b *builder) addIndex(ix *catalog.Index, isNew bool) error {
	var err error
	ix.Schema, ix.Owner = b.rel.Schema, b.rel.Owner
	if ix.Method == "" {
		ix.Method = "btree"
	}
	if ix.OID, err = b.newOID(); err != nil {
		return err
	}
	partitioned := b.rel.Partitioning != nil
	if partitioned {
		ix.Clustered = false
		ix.Invalid = !isNew && b.only && b.catalog().HasChildren(b.rel.OID)
	} else if !ix.Clustered {
		if ix.StorageID, err = b.run.schema().NewStorageID(b.ctx); err != nil {
			return err
		}
	}
	ix.Ready = true
	if ix.Primary {
		b.rel.Indexes = append([]*catalog.Index{ix}, b.rel.Indexes...)
	} else {
		b.rel.Indexes = append(b.rel.Indexes, ix)
	}
	if isNew {
		return nil
	}
	b.put()
	switch {
	case ix.Clustered, partitioned && b.only:
		return nil
	case partitioned:
		return b.spread(b.rel.OID, ix.OID)
	}
	return b.build(b.rel.OID, ix.OID)
}

// build fills an index from the rows of its table, through the descriptor that
// the catalogue has now.
func (r *run) build(table, index sqltypes.OID) error {
	rel, ix := r.catalog().Index(index)
	if ix == nil {
		// What is wrong with the descriptor is told by the next call that can.
		if err := r.txn.StartStatement(r.ctx); err != nil {
			return err
		}
	}
	if ix == nil || rel.OID != table {
		return pgerror.New(pgerror.InternalError, "index %d is not in the catalogue", index)
	}
	if !ix.Stored() {
		return nil
	}
	t, err := r.s.WriteTarget(rel)
	if err != nil {
		return err
	}
	return r.schema().BuildIndex(r.ctx, t, ix)
}

// clusterBy rewrites the table so that its rows are stored by the new primary key.
func (b *builder) clusterBy(ix *catalog.Index) error {
	old := copyRelation(b.rel)
	ix.Clustered = true
	if err := b.addIndex(ix, true); err != nil {
		return err
	}
	return b.rewrite(old, nil)
}

// rewrite copies all rows of old into b.rel under new storage ids; exprs, by
// attribute - 1, gives SQL for columns whose value changes (nil: as it was).
func (b *builder) rewrite(old *catalog.Relation, exprs map[int16]string) error {
	if b.rel.Partitioning != nil { // its rows are its partitions'
		b.put()
		return b.txn.StartStatement(b.ctx)
	}
	var cols []string
	var attrs []int16
	for _, c := range b.rel.Columns {
		if c.Dropped {
			continue
		}
		attrs = append(attrs, c.Num)
		if sql, ok := exprs[c.Num]; ok {
			cols = append(cols, sql)
		} else {
			cols = append(cols, quoteIdent(c.Name))
		}
	}
	if err := b.newStorage(); err != nil {
		return err
	}
	next := copyRelation(b.rel)
	for _, c := range next.Columns {
		c.HasMissing, c.Missing = false, sqltypes.Datum{}
	}
	next, err := catalog.WithLayouts(next, nil, b.catalog().Type)
	if err != nil {
		return err
	}
	b.rel = next
	t, err := b.s.WriteTarget(next)
	if err != nil {
		return err
	}
	b.txn.BulkLoad()
	row := make([]sqltypes.Datum, len(next.Columns))
	for i := range row {
		row[i] = sqltypes.Null
	}
	// The old descriptor is still in the catalogue while the rows are read.
	sql := "SELECT " + strings.Join(cols, ", ") + " FROM ONLY " + b.qualified(old)
	err = b.s.QueryEach(b.ctx, sql, func(vals []sqltypes.Datum) error {
		for i, a := range attrs {
			c := next.Columns[a-1]
			if vals[i].Null && c.NotNull {
				return pgerror.New(pgerror.NotNullViolation, "column %q of relation %q contains null values", c.Name, next.Name).
					WithTable(b.catalog().Schema(next.Schema).Name, next.Name).WithColumn(c.Name)
			}
			row[a-1] = vals[i]
			if f := b.convert[a]; f != nil {
				row[a-1] = f(vals[i])
			}
		}
		_, _, err := b.txn.Insert(b.ctx, t, row, nil)
		return uniqueOnBuild(err)
	})
	if err != nil {
		return err
	}
	b.dropStorage(old)
	b.put()
	// What tests the new rows must see them.
	return b.txn.StartStatement(b.ctx)
}

// uniqueOnBuild words a unique violation as index creation does.
func uniqueOnBuild(err error) error {
	if e, ok := err.(*pgerror.Error); ok && e.Code == pgerror.UniqueViolation {
		cp := *e
		cp.Message = sprintf("could not create unique index %q", e.Constraint)
		cp.Detail = strings.Replace(e.Detail, "already exists.", "is duplicated.", 1)
		return &cp
	}
	return err
}

// newStorage gives the relation and its indexes fresh, empty storage.
func (b *builder) newStorage() error {
	if b.rel.Partitioning != nil {
		return nil
	}
	var err error
	if b.rel.StorageID, err = b.run.schema().NewStorageID(b.ctx); err != nil {
		return err
	}
	for _, ix := range b.rel.Indexes {
		if !ix.Clustered {
			if ix.StorageID, err = b.run.schema().NewStorageID(b.ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropStorage deletes a relation's rows and index entries at commit.
func (r *run) dropStorage(rel *catalog.Relation) {
	if rel.StorageID != 0 {
		r.schema().DeleteStorage(rel.StorageID)
	}
	for _, ix := range rel.Indexes {
		if !ix.Clustered && ix.StorageID != 0 {
			r.schema().DeleteStorage(ix.StorageID)
		}
	}
}
