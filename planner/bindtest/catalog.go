// Package bindtest makes small in-memory catalogues from CREATE statements for
// tests of the binder and the optimiser. It knows only as much DDL as tests need
// and stores no rows.
package bindtest

import (
	"fmt"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/planner"
	"ostraka/planner/bind"
	"ostraka/planner/parse"
	"ostraka/sqltypes"
)

// Catalog is a catalogue under construction.
type Catalog struct {
	set  *catalog.Set
	next catalog.OID
	// Views holds a relation's texts, for messages.
	Source string
}

// New returns the catalogue of a fresh database.
func New() *Catalog {
	return &Catalog{set: catalog.NewSet().Apply(catalog.Bootstrap("postgres")), next: 16384}
}

// Context is a planning context over the catalogue.
func (c *Catalog) Context(source string) *planner.Context {
	f := sqltypes.DefaultFormats()
	return &planner.Context{
		Catalog: c.set.Database(catalog.PostgresDB), Role: catalog.BootstrapRole, Source: source,
		SearchPath: []sqltypes.OID{catalog.SchemaPgCatalog, catalog.SchemaPublic},
		Env:        &sqltypes.Env{Formats: f},
	}
}

func (c *Catalog) oid() catalog.OID {
	c.next++
	return c.next - 1
}

func (c *Catalog) put(descs ...any) {
	var ch []catalog.Change
	for _, d := range descs {
		ch = append(ch, catalog.Put(catalog.PostgresDB, d))
	}
	c.set = c.set.Apply(ch)
}

// Exec runs CREATE TABLE, VIEW, INDEX, TYPE (enum, composite), DOMAIN, SEQUENCE,
// SCHEMA and FUNCTION statements; others are ignored.
func (c *Catalog) Exec(sql string) error {
	list, err := parse.Parse(sql)
	if err != nil {
		return err
	}
	for _, st := range list {
		if err := c.exec(st, sql); err != nil {
			return fmt.Errorf("%s: %w", st.Text, err)
		}
	}
	return nil
}

func (c *Catalog) exec(st *planner.Statement, sql string) error {
	switch x := st.AST.Node.(type) {
	case *pg.Node_CreateSchemaStmt:
		c.put(&catalog.Schema{OID: c.oid(), Name: x.CreateSchemaStmt.Schemaname, Owner: catalog.BootstrapRole})
	case *pg.Node_CreateStmt:
		return c.table(x.CreateStmt, sql)
	case *pg.Node_ViewStmt:
		return c.view(x.ViewStmt, st, sql)
	case *pg.Node_CreateEnumStmt:
		t := &catalog.UserType{OID: c.oid(), ArrayOID: c.oid(), Kind: 'e', Owner: catalog.BootstrapRole}
		t.Schema, t.Name = c.name(x.CreateEnumStmt.TypeName)
		t.ArrayName = "_" + t.Name
		for i, v := range x.CreateEnumStmt.Vals {
			t.Labels = append(t.Labels, catalog.EnumLabel{OID: c.oid(), Label: v.GetString_().Sval, Order: float32(i + 1)})
		}
		c.put(t)
	case *pg.Node_CompositeTypeStmt:
		r := &catalog.Relation{OID: c.oid(), Kind: catalog.KindComposite, Name: x.CompositeTypeStmt.Typevar.Relname, Schema: catalog.SchemaPublic, Owner: catalog.BootstrapRole, Persistence: 'p'}
		for i, n := range x.CompositeTypeStmt.Coldeflist {
			d := n.GetColumnDef()
			ct, err := bind.BindTypeName(c.Context(sql), d.TypeName)
			if err != nil {
				return err
			}
			r.Columns = append(r.Columns, &catalog.Column{Num: int16(i + 1), Name: d.Colname, Type: ct})
		}
		c.rowType(r)
	case *pg.Node_CreateDomainStmt:
		d := x.CreateDomainStmt
		ct, err := bind.BindTypeName(c.Context(sql), d.TypeName)
		if err != nil {
			return err
		}
		t := &catalog.UserType{OID: c.oid(), ArrayOID: c.oid(), Kind: 'd', Owner: catalog.BootstrapRole, Base: ct}
		t.Schema, t.Name = c.name(d.Domainname)
		t.ArrayName = "_" + t.Name
		for _, n := range d.Constraints {
			k := n.GetConstraint()
			switch k.Contype {
			case pg.ConstrType_CONSTR_NOTNULL:
				t.NotNull = true
			case pg.ConstrType_CONSTR_CHECK:
				t.Checks = append(t.Checks, &catalog.Check{OID: c.oid(), Name: t.Name + "_check", Expr: exprText(sql, k.RawExpr)})
			case pg.ConstrType_CONSTR_DEFAULT:
				t.HasDefault, t.Default = true, exprText(sql, k.RawExpr)
			}
		}
		c.put(t)
	case *pg.Node_CreateSeqStmt:
		c.put(&catalog.Relation{OID: c.oid(), Kind: catalog.KindSequence, Name: x.CreateSeqStmt.Sequence.Relname, Schema: catalog.SchemaPublic, Owner: catalog.BootstrapRole,
			Persistence: 'p', Sequence: &catalog.Sequence{Type: sqltypes.OIDInt8, Start: 1, Increment: 1, Min: 1, Max: 1 << 62, Cache: 1}})
	case *pg.Node_IndexStmt:
		return c.index(x.IndexStmt, sql)
	case *pg.Node_CreateFunctionStmt:
		return c.function(x.CreateFunctionStmt, sql)
	}
	return nil
}

func (c *Catalog) name(names []*pg.Node) (catalog.OID, string) {
	n := names[len(names)-1].GetString_().Sval
	if len(names) > 1 {
		return c.schema(names[0].GetString_().Sval), n
	}
	return catalog.SchemaPublic, n
}

func (c *Catalog) schema(name string) catalog.OID {
	if name == "" {
		return catalog.SchemaPublic
	}
	if s := c.set.Database(catalog.PostgresDB).SchemaByName(name); s != nil {
		return s.OID
	}
	return catalog.SchemaPublic
}

func (c *Catalog) rowType(r *catalog.Relation) {
	t := &catalog.UserType{OID: c.oid(), ArrayOID: c.oid(), Kind: 'c', Name: r.Name, ArrayName: "_" + r.Name, Schema: r.Schema, Owner: r.Owner, Relation: r.OID}
	r.RowType = t.OID
	c.put(t, r)
}

// exprText deparses a raw expression.
func exprText(sql string, n *pg.Node) string {
	tree := &pg.ParseResult{Stmts: []*pg.RawStmt{{Stmt: &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: &pg.SelectStmt{
		TargetList:  []*pg.Node{{Node: &pg.Node_ResTarget{ResTarget: &pg.ResTarget{Val: n}}}},
		LimitOption: pg.LimitOption_LIMIT_OPTION_DEFAULT, Op: pg.SetOperation_SETOP_NONE}}}}}}
	s, err := pg.Deparse(tree)
	if err != nil {
		panic(err)
	}
	return strings.TrimPrefix(s, "SELECT ")
}

func (c *Catalog) table(x *pg.CreateStmt, sql string) error {
	r := &catalog.Relation{OID: c.oid(), Kind: catalog.KindTable, Name: x.Relation.Relname, Schema: c.schema(x.Relation.Schemaname), Owner: catalog.BootstrapRole, Persistence: 'p', StorageID: uint64(c.next)}
	addIndex := func(k *pg.Constraint, cols []string, primary bool) {
		ix := &catalog.Index{OID: c.oid(), Schema: r.Schema, Owner: r.Owner, Method: "btree", Unique: true, Primary: primary, Clustered: primary, Ready: true, ConstraintOID: c.oid(),
			Deferrable: k.Deferrable, InitiallyDeferred: k.Initdeferred}
		for _, n := range cols {
			for _, col := range r.Columns {
				if col.Name == n {
					if primary {
						col.NotNull = true
					}
					ix.Keys = append(ix.Keys, catalog.IndexKey{Attr: col.Num, Type: col.Type})
				}
			}
		}
		ix.Name = r.Name + "_" + strings.Join(cols, "_") + "_key"
		if primary {
			ix.Name = r.Name + "_pkey"
		}
		if k.Conname != "" {
			ix.Name = k.Conname
		}
		ix.Constraint = ix.Name
		if primary {
			r.Indexes = append([]*catalog.Index{ix}, r.Indexes...)
		} else {
			r.Indexes = append(r.Indexes, ix)
		}
	}
	constraint := func(k *pg.Constraint, col *catalog.Column) {
		var cols []string
		for _, n := range k.Keys {
			cols = append(cols, n.GetString_().Sval)
		}
		if col != nil {
			cols = []string{col.Name}
		}
		switch k.Contype {
		case pg.ConstrType_CONSTR_PRIMARY:
			addIndex(k, cols, true)
		case pg.ConstrType_CONSTR_UNIQUE:
			addIndex(k, cols, false)
		case pg.ConstrType_CONSTR_CHECK:
			r.Checks = append(r.Checks, &catalog.Check{OID: c.oid(), Name: r.Name + "_check", Expr: exprText(sql, k.RawExpr)})
		case pg.ConstrType_CONSTR_NOTNULL:
			col.NotNull = true
		case pg.ConstrType_CONSTR_DEFAULT:
			col.HasDefault, col.Default = true, exprText(sql, k.RawExpr)
		case pg.ConstrType_CONSTR_GENERATED:
			col.HasDefault, col.Default, col.Generated = true, exprText(sql, k.RawExpr), 's'
		case pg.ConstrType_CONSTR_IDENTITY:
			col.Identity, col.NotNull, col.OwnedSequence = k.GeneratedWhen[0], true, c.sequence(r.Name+"_"+col.Name+"_seq")
		}
	}
	for _, n := range x.TableElts {
		if d := n.GetColumnDef(); d != nil {
			col := &catalog.Column{Num: int16(len(r.Columns) + 1), Name: d.Colname}
			tn := d.TypeName
			if last := tn.Names[len(tn.Names)-1].GetString_().Sval; len(tn.Names) == 1 && strings.HasSuffix(last, "serial") {
				base := map[string]sqltypes.OID{"serial": sqltypes.OIDInt4, "bigserial": sqltypes.OIDInt8, "smallserial": sqltypes.OIDInt2}[last]
				col.Type = sqltypes.ColumnType{OID: base, TypMod: -1}
				c.sequence(r.Name + "_" + col.Name + "_seq")
				col.HasDefault, col.Default, col.NotNull = true, "nextval('"+r.Name+"_"+col.Name+"_seq')", true
			} else {
				ct, err := bind.BindTypeName(c.Context(sql), tn)
				if err != nil {
					return err
				}
				col.Type = ct
			}
			r.Columns = append(r.Columns, col)
			for _, k := range d.Constraints {
				constraint(k.GetConstraint(), col)
			}
		}
	}
	for _, n := range x.TableElts {
		if k := n.GetConstraint(); k != nil {
			constraint(k, nil)
		}
	}
	c.rowType(r)
	return nil
}

func (c *Catalog) sequence(name string) catalog.OID {
	oid := c.oid()
	c.put(&catalog.Relation{OID: oid, Kind: catalog.KindSequence, Name: name, Schema: catalog.SchemaPublic, Owner: catalog.BootstrapRole,
		Persistence: 'p', Sequence: &catalog.Sequence{Type: sqltypes.OIDInt8, Start: 1, Increment: 1, Min: 1, Max: 1 << 62, Cache: 1}})
	return oid
}

func (c *Catalog) view(x *pg.ViewStmt, st *planner.Statement, sql string) error {
	q, _, err := bind.Bind(c.Context(sql), x.Query)
	if err != nil {
		return err
	}
	text, err := pg.Deparse(&pg.ParseResult{Stmts: []*pg.RawStmt{{Stmt: x.Query}}})
	if err != nil {
		return err
	}
	r := &catalog.Relation{OID: c.oid(), Kind: catalog.KindView, Name: x.View.Relname, Schema: c.schema(x.View.Schemaname), Owner: catalog.BootstrapRole, Persistence: 'p', ViewDef: text}
	switch x.WithCheckOption {
	case pg.ViewCheckOption_LOCAL_CHECK_OPTION:
		r.ViewOptions.CheckOption = 'l'
	case pg.ViewCheckOption_CASCADED_CHECK_OPTION:
		r.ViewOptions.CheckOption = 'c'
	}
	for i, t := range q.Targets {
		if t.Junk {
			continue
		}
		name := t.Name
		if i < len(x.Aliases) {
			name = x.Aliases[i].GetString_().Sval
		}
		r.Columns = append(r.Columns, &catalog.Column{Num: int16(i + 1), Name: name, Type: t.Expr.Type()})
	}
	c.rowType(r)
	return nil
}

func (c *Catalog) index(x *pg.IndexStmt, sql string) error {
	ctx := c.Context(sql)
	rel := ctx.Catalog.RelationByName(c.schema(x.Relation.Schemaname), x.Relation.Relname)
	if rel == nil {
		return fmt.Errorf("no table %s", x.Relation.Relname)
	}
	n := catalog.CopyRelation(rel)
	ix := &catalog.Index{OID: c.oid(), Name: x.Idxname, Schema: rel.Schema, Owner: rel.Owner, Method: "btree", Unique: x.Unique, Ready: true, StorageID: uint64(c.next)}
	for _, e := range x.IndexParams {
		ie := e.GetIndexElem()
		k := catalog.IndexKey{Desc: ie.Ordering == pg.SortByDir_SORTBY_DESC}
		if ie.Expr != nil {
			k.Expr = exprText(sql, ie.Expr)
			b, err := bind.RelationExpr(ctx, rel, k.Expr)
			if err != nil {
				return err
			}
			k.Type = b.Type()
		}
		for _, col := range rel.Columns {
			if col.Name == ie.Name && ie.Expr == nil {
				k.Attr, k.Type = col.Num, col.Type
			}
		}
		ix.Keys = append(ix.Keys, k)
		if ix.Name == "" {
			ix.Name = rel.Name + "_" + ie.Name + "_idx"
		}
	}
	if x.WhereClause != nil {
		ix.Predicate = exprText(sql, x.WhereClause)
	}
	n.Indexes = append(n.Indexes, ix)
	c.put(n)
	return nil
}

func (c *Catalog) function(x *pg.CreateFunctionStmt, sql string) error {
	f := &catalog.Function{OID: c.oid(), Kind: 'f', Language: "sql", Owner: catalog.BootstrapRole, Volatility: sqltypes.Volatile}
	f.Schema, f.Name = c.name(x.Funcname)
	if x.IsProcedure {
		f.Kind = 'p'
	}
	for _, n := range x.Parameters {
		p := n.GetFunctionParameter()
		ct, err := bind.BindTypeName(c.Context(sql), p.ArgType)
		if err != nil {
			return err
		}
		f.ArgTypes = append(f.ArgTypes, ct)
		f.ArgNames = append(f.ArgNames, p.Name)
		mode := byte('i')
		switch p.Mode {
		case pg.FunctionParameterMode_FUNC_PARAM_OUT:
			mode = 'o'
		case pg.FunctionParameterMode_FUNC_PARAM_INOUT:
			mode = 'b'
		case pg.FunctionParameterMode_FUNC_PARAM_VARIADIC:
			mode = 'v'
		case pg.FunctionParameterMode_FUNC_PARAM_TABLE:
			mode = 't'
		}
		f.ArgModes = append(f.ArgModes, mode)
		if p.Defexpr != nil {
			f.ArgDefaults = append(f.ArgDefaults, exprText(sql, p.Defexpr))
		}
	}
	var outs []sqltypes.ColumnType
	for i, m := range f.ArgModes {
		if m == 'o' || m == 'b' || m == 't' {
			outs = append(outs, f.ArgTypes[i])
		}
	}
	switch {
	case len(outs) > 1:
		f.RetType = sqltypes.OIDRecord
	case len(outs) == 1:
		f.RetType = outs[0].OID
	}
	if x.ReturnType != nil {
		f.RetSet = x.ReturnType.Setof
		if len(outs) == 0 {
			ct, err := bind.BindTypeName(c.Context(sql), x.ReturnType)
			if err != nil {
				return err
			}
			f.RetType = ct.OID
		}
	}
	if x.IsProcedure {
		f.RetType = sqltypes.OIDVoid
	}
	c.put(f)
	return nil
}

// PutStats sets a table's statistics, as ANALYZE would.
func (c *Catalog) PutStats(st *catalog.TableStats) { c.put(st) }
