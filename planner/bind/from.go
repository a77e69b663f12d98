package bind

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// fromClause is transformFromClause.
func (s *scope) fromClause(list []*pg.Node) {
	for _, n := range list {
		item, _, ns := s.fromItem(n)
		s.checkNameConflicts(s.ns, ns)
		setLateral(ns, true, true)
		s.ns = append(s.ns, ns...)
		s.q.From = append(s.q.From, item)
	}
	setLateral(s.ns, false, true)
}

func setLateral(ns []*nsItem, only, ok bool) {
	for _, it := range ns {
		it.latOnly, it.latOK = only, ok
	}
}

// fromItem binds one FROM item: its place in the join tree, the namespace item
// that stands for all of it, and what names it makes visible.
func (s *scope) fromItem(n *pg.Node) (planner.JoinItem, *nsItem, []*nsItem) {
	s.b.enter()
	defer s.b.leave()
	leaf := func(it *nsItem) (planner.JoinItem, *nsItem, []*nsItem) {
		return planner.JoinItem{Rel: it.rel}, it, []*nsItem{it}
	}
	switch x := n.Node.(type) {
	case *pg.Node_RangeVar:
		return leaf(s.rangeVar(x.RangeVar))
	case *pg.Node_RangeSubselect:
		return leaf(s.rangeSubselect(x.RangeSubselect))
	case *pg.Node_RangeFunction:
		return leaf(s.rangeFunction(x.RangeFunction))
	case *pg.Node_RangeTableSample:
		return leaf(s.tableSample(x.RangeTableSample))
	case *pg.Node_JoinExpr:
		return s.joinExpr(x.JoinExpr)
	case *pg.Node_RangeTableFunc:
		s.b.unsupported(x.RangeTableFunc.Location, "XMLTABLE")
	}
	panic(pgerror.NotSupported("this item in FROM"))
}

func (s *scope) rangeVar(rv *pg.RangeVar) *nsItem {
	if rv.Schemaname == "" {
		if c, lv := s.findCTE(rv.Relname); c != nil {
			return s.cteRef(c, lv, rv)
		}
	}
	rel, v := s.openRelation(rv)
	r := s.relationRTE(rel, v)
	r.Only = !rv.Inh
	it := s.addRTE(r)
	if v != nil {
		it.relOID, it.schema = v.Rel.OID, v.Rel.Schema
	} else {
		it.relOID, it.schema = rel.OID, rel.Schema
	}
	s.applyAlias(it, rv.Alias)
	return it
}

// applyAlias renames an item and its columns.
func (s *scope) applyAlias(it *nsItem, a *pg.Alias) {
	if a == nil {
		return
	}
	it.alias, it.aliased = a.Aliasname, true
	r := it.rte()
	if r == nil {
		return
	}
	r.Alias = a.Aliasname
	if len(a.Colnames) > len(r.Cols) {
		s.b.fail(-1, pgerror.InvalidColumnReference, `table "%s" has %d columns available but %d columns specified`, a.Aliasname, len(r.Cols), len(a.Colnames))
	}
	for i, c := range a.Colnames {
		r.Cols[i].Name = strOf(c)
	}
}

func (s *scope) rangeSubselect(x *pg.RangeSubselect) *nsItem {
	b := s.b
	if x.Alias == nil {
		loc := subselectLoc(b.source, x.Subquery)
		if x.Subquery.GetSelectStmt() != nil && len(x.Subquery.GetSelectStmt().ValuesLists) > 0 {
			panic(b.errAt(loc, pgerror.SyntaxError, "VALUES in FROM must have an alias").WithHint("For example, FROM (VALUES ...) [AS] foo."))
		}
		panic(b.errAt(loc, pgerror.SyntaxError, "subquery in FROM must have an alias").WithHint("For example, FROM (SELECT ...) [AS] foo."))
	}
	old, kind := s.lateral, s.kind
	s.lateral, s.kind = x.Lateral, kindFromSubselect
	q := b.statement(s, x.Subquery, true)
	s.lateral, s.kind = old, kind
	if q.Command != planner.CmdSelect {
		b.fail(-1, pgerror.SyntaxError, "unexpected non-SELECT command in subquery in FROM")
	}
	r := &planner.RTE{Kind: planner.RTESubquery, Sub: q, Alias: x.Alias.Aliasname, Lateral: x.Lateral, Cols: queryColumns(q)}
	it := s.addRTE(r)
	s.applyAlias(it, x.Alias)
	return it
}

// queryColumns are the visible output columns of a query.
func queryColumns(q *planner.Query) []planner.Column {
	list := q.Targets
	if q.Command != planner.CmdSelect {
		list = q.Returning
	}
	var out []planner.Column
	for _, t := range list {
		if !t.Junk {
			out = append(out, planner.Column{Name: t.Name, Type: t.Expr.Type(), TableOID: t.TableOID, Attr: t.Attr})
		}
	}
	return out
}

// subselectLoc finds the parenthesis before a subquery: the tree has no place of its own.
func subselectLoc(src string, n *pg.Node) int32 {
	first := int32(-1)
	sel := n.GetSelectStmt()
	for sel != nil && sel.Larg != nil {
		sel = sel.Larg
	}
	if sel != nil {
		if len(sel.TargetList) > 0 {
			first = exprLoc(sel.TargetList[0])
		} else if len(sel.ValuesLists) > 0 {
			first = exprLoc(sel.ValuesLists[0])
		}
		if sel.WithClause != nil {
			first = leftmost(first, sel.WithClause.Location)
		}
	}
	if first < 0 || int(first) > len(src) {
		return -1
	}
	depth := 0
	for i := int(first) - 1; i >= 0; i-- {
		switch src[i] {
		case ')':
			depth++
		case '(':
			// VALUES ( has a parenthesis of its own.
			if depth == 0 && !(len(n.GetSelectStmt().GetValuesLists()) > 0 && i > 0 && precededByValues(src, i)) {
				return int32(i)
			}
			depth--
		}
	}
	return -1
}

func precededByValues(src string, i int) bool {
	j := i - 1
	for j >= 0 && (src[j] == ' ' || src[j] == '\n' || src[j] == '\t') {
		j--
	}
	return j >= 5 && (src[j-5:j+1] == "values" || src[j-5:j+1] == "VALUES")
}

// rangeFunction is transformRangeFunction with addRangeTableEntryForFunction.
func (s *scope) rangeFunction(x *pg.RangeFunction) *nsItem {
	b := s.b
	oldLat, oldKind, oldSRF := s.lateral, s.kind, s.lastSRF
	s.lateral, s.kind = true, kindFromFunction
	defer func() { s.lateral, s.kind, s.lastSRF = oldLat, oldKind, oldSRF }()
	type fn struct {
		e    expr.Expr
		name string
		cols []*pg.Node
		loc  int32
	}
	var fns []fn
	for _, f := range x.Functions {
		pair := f.GetList().GetItems()
		node := pair[0]
		var cols []*pg.Node
		if len(pair) > 1 {
			cols = pair[1].GetList().GetItems()
		}
		// unnest(a, b) in FROM is ROWS FROM (unnest(a), unnest(b)).
		if fc := node.GetFuncCall(); fc != nil && len(fc.Funcname) == 1 && strOf(fc.Funcname[0]) == "unnest" && len(fc.Args) > 1 &&
			fc.AggOrder == nil && fc.AggFilter == nil && fc.Over == nil && !fc.AggStar && !fc.AggDistinct && !fc.FuncVariadic && len(cols) == 0 {
			for _, a := range fc.Args {
				one := &pg.FuncCall{Funcname: []*pg.Node{pg.MakeStrNode("pg_catalog"), pg.MakeStrNode("unnest")}, Args: []*pg.Node{a}, Funcformat: fc.Funcformat, Location: fc.Location}
				s.lastSRF = nil
				e := s.funcCall(one)
				fns = append(fns, fn{e, "unnest", nil, exprLoc(node)})
			}
			continue
		}
		s.lastSRF = nil
		e := s.expr(node)
		// A set-returning call may only be the function itself.
		if c, ok := e.(*expr.Call); s.lastSRF != nil && (!ok || s.lastSRF != c) {
			b.fail(s.srfLoc, pgerror.FeatureNotSupported, "set-returning functions must appear at top level of FROM")
		}
		fns = append(fns, fn{e, figureColname(node), cols, exprLoc(node)})
	}
	if len(x.Coldeflist) > 0 {
		switch {
		case len(fns) != 1 && x.IsRowsfrom:
			b.fail(exprLocList(x.Coldeflist), pgerror.SyntaxError, "ROWS FROM() with multiple functions cannot have a column definition list")
		case len(fns) != 1:
			b.fail(exprLocList(x.Coldeflist), pgerror.SyntaxError, "UNNEST() with multiple arguments cannot have a column definition list")
		case x.Ordinality:
			panic(b.errAt(exprLocList(x.Coldeflist), pgerror.SyntaxError, "WITH ORDINALITY cannot be used with a column definition list").WithHint("Put the column definition list inside ROWS FROM()."))
		}
		fns[0].cols = x.Coldeflist
	}
	r := &planner.RTE{Kind: planner.RTEFunction, Lateral: x.Lateral, Ordinality: x.Ordinality, Alias: fns[0].name}
	if x.Alias != nil {
		r.Alias = x.Alias.Aliasname
	}
	for _, f := range fns {
		call, ok := f.e.(*expr.Call)
		if !ok {
			if len(fns) > 1 || x.Ordinality {
				b.unsupported(f.loc, "an expression that is no function call in ROWS FROM")
			}
			return s.exprAsTable(f.e, f.name, x)
		}
		cols := s.functionColumns(call, f.name, f.cols, f.loc, x.Alias)
		r.Calls = append(r.Calls, call)
		r.CallCols = append(r.CallCols, len(cols))
		r.Cols = append(r.Cols, cols...)
	}
	if x.Ordinality {
		r.Cols = append(r.Cols, planner.Column{Name: "ordinality", Type: b.columnType(sqltypes.OIDInt8)})
	}
	if !r.Lateral {
		// Functions may always look to the left; say whether this one does.
		for _, c := range r.Calls {
			r.Lateral = r.Lateral || hasLocalVars(c)
		}
	}
	it := s.addRTE(r)
	s.applyAlias(it, x.Alias)
	return it
}

func exprLocList(l []*pg.Node) int32 {
	for _, n := range l {
		if d := n.GetColumnDef(); d != nil {
			return d.Location
		}
	}
	return -1
}

// functionColumns are the columns a call in FROM has.
func (s *scope) functionColumns(c *expr.Call, name string, defs []*pg.Node, loc int32, alias *pg.Alias) []planner.Column {
	b := s.b
	t := c.Typ
	out := b.outFields(c.Proc, c.Args)
	if len(defs) > 0 {
		switch {
		case t.OID == sqltypes.OIDRecord && len(out) > 1:
			b.fail(exprLocList(defs), pgerror.SyntaxError, "a column definition list is redundant for a function with OUT parameters")
		case t.OID != sqltypes.OIDRecord && b.composite(t.OID) != nil:
			b.fail(exprLocList(defs), pgerror.SyntaxError, "a column definition list is redundant for a function returning a named composite type")
		case t.OID != sqltypes.OIDRecord:
			b.fail(exprLocList(defs), pgerror.SyntaxError, "a column definition list is only allowed for functions returning \"record\"")
		}
		var cols []planner.Column
		for i, d := range defs {
			cd := d.GetColumnDef()
			if cd.TypeName.Setof {
				b.fail(cd.Location, pgerror.InvalidTableDefinition, `column "%s" cannot be declared SETOF`, cd.Colname)
			}
			for _, p := range cols[:i] {
				if p.Name == cd.Colname {
					b.fail(-1, pgerror.DuplicateColumn, `column name "%s" specified more than once`, cd.Colname)
				}
			}
			ct := b.typeNameRef(cd.TypeName)
			if cd.CollClause != nil {
				ct.Collation = b.collation(cd.CollClause.Collname, cd.CollClause.Location)
			}
			cols = append(cols, planner.Column{Name: cd.Colname, Type: ct})
			c.RetFields = append(c.RetFields, sqltypes.Field{Name: cd.Colname, Type: b.typ(ct.OID), ColumnType: ct})
		}
		return cols
	}
	if len(out) > 1 || len(out) == 1 && t.OID == sqltypes.OIDRecord {
		return fieldColumns(out)
	}
	if ty := b.composite(t.OID); ty != nil {
		var cols []planner.Column
		for _, f := range ty.Fields {
			cols = append(cols, planner.Column{Name: f.Name, Type: f.ColumnType})
		}
		return cols
	}
	if t.OID == sqltypes.OIDRecord {
		b.fail(loc, pgerror.SyntaxError, "a column definition list is required for functions returning \"record\"")
	}
	if ty := b.typ(t.OID); ty != nil && ty.TypType == 'p' && ty.OID != sqltypes.OIDVoid && ty.OID != sqltypes.OIDCstring && ty.OID != sqltypes.OIDAnyarray && ty.OID != sqltypes.OIDAnyelement {
		b.fail(loc, pgerror.DatatypeMismatch, `function "%s" in FROM has unsupported return type %s`, name, b.typeName(t.OID))
	}
	switch {
	case len(out) == 1 && c.Proc.ArgNames != nil && out[0].name != "column1":
		name = out[0].name
	case alias != nil:
		name = alias.Aliasname
	}
	return []planner.Column{{Name: name, Type: t}}
}

func fieldColumns(fs []field) []planner.Column {
	out := make([]planner.Column, len(fs))
	for i, f := range fs {
		out[i] = planner.Column{Name: f.name, Type: f.typ}
	}
	return out
}

// exprAsTable is FROM CURRENT_DATE and the like: a one-row subquery.
func (s *scope) exprAsTable(e expr.Expr, name string, x *pg.RangeFunction) *nsItem {
	col := name
	if x.Alias != nil {
		col = x.Alias.Aliasname
	}
	lateral := hasLocalVars(e)
	if lateral {
		e = shiftLevels(e, 1)
	}
	q := &planner.Query{ResultRel: -1, Targets: []planner.Target1{{Name: col, Expr: e}}}
	it := s.addRTE(&planner.RTE{Kind: planner.RTESubquery, Sub: q, Alias: name, Lateral: lateral, Cols: queryColumns(q)})
	s.applyAlias(it, x.Alias)
	return it
}

func (s *scope) tableSample(x *pg.RangeTableSample) *nsItem {
	b := s.b
	rv := x.Relation.GetRangeVar()
	it := s.rangeVar(rv)
	r := it.rte()
	if r.Kind != planner.RTERelation {
		b.fail(exprLoc(x.Relation), pgerror.WrongObjectType, "TABLESAMPLE clause can only be applied to tables and materialized views")
	}
	method := strOf(x.Method[len(x.Method)-1])
	if method != "bernoulli" && method != "system" {
		b.fail(x.Location, pgerror.UndefinedObject, "tablesample method %s does not exist", fieldsString(x.Method))
	}
	if len(x.Args) != 1 {
		b.fail(x.Location, pgerror.InvalidTablesampleArgument, "tablesample method %s requires %d argument, not %d", fieldsString(x.Method), 1, len(x.Args))
	}
	sample := &planner.Sample{Method: method}
	arg := func(n *pg.Node, t sqltypes.OID, what string) expr.Expr {
		e := s.exprKindOf(n, kindFromFunction)
		return s.coerceSpecific(e, n, t, what)
	}
	sample.Percent = arg(x.Args[0], sqltypes.OIDFloat4, "TABLESAMPLE")
	if x.Repeatable != nil {
		sample.Seed = arg(x.Repeatable, sqltypes.OIDFloat8, "REPEATABLE")
	}
	r.Sample = sample
	return it
}

// joinExpr is the join part of transformFromClauseItem.
func (s *scope) joinExpr(x *pg.JoinExpr) (planner.JoinItem, *nsItem, []*nsItem) {
	b := s.b
	left, lit, lns := s.fromItem(x.Larg)
	kind := planner.JoinInner
	switch x.Jointype {
	case pg.JoinType_JOIN_LEFT:
		kind = planner.JoinLeft
	case pg.JoinType_JOIN_RIGHT:
		kind = planner.JoinRight
	case pg.JoinType_JOIN_FULL:
		kind = planner.JoinFull
	}
	// The right side may refer to the left one by LATERAL.
	latOK := kind == planner.JoinInner || kind == planner.JoinLeft
	setLateral(lns, true, latOK)
	saved := len(s.ns)
	s.ns = append(s.ns, lns...)
	right, rit, rns := s.fromItem(x.Rarg)
	s.ns = s.ns[:saved]
	s.checkNameConflicts(lns, rns)
	mine := append(append([]*nsItem(nil), lns...), rns...)

	using := x.UsingClause
	if x.IsNatural {
		for i, n := 0, lit.numCols(); i < n; i++ {
			for j, m := 0, rit.numCols(); j < m; j++ {
				if lit.colName(i) == rit.colName(j) {
					using = append(using[:len(using):len(using)], pg.MakeStrNode(lit.colName(i)))
					break
				}
			}
		}
	}
	if b.frozen != nil && x.IsNatural {
		b.frozen.natural[x] = using
	}
	tree := &planner.JoinTree{Kind: kind, Left: left, Right: right, Natural: x.IsNatural}
	for _, u := range using {
		tree.Using = append(tree.Using, strOf(u))
	}
	join := &nsItem{s: s, rel: -1, colVis: true, latOK: true, cols: []nsCol{}}
	skipL, skipR := map[int]bool{}, map[int]bool{}
	if len(using) > 0 {
		var conds []expr.Expr
		for i, u := range using {
			name := strOf(u)
			for _, p := range using[:i] {
				if strOf(p) == name {
					b.fail(-1, pgerror.DuplicateColumn, `column name "%s" appears more than once in USING clause`, name)
				}
			}
			li := s.usingColumn(lit, name, "left")
			ri := s.usingColumn(rit, name, "right")
			skipL[li], skipR[ri] = true, true
			l, r := lit.colExpr(li, 0), rit.colExpr(ri, 0)
			s.markRead(l)
			s.markRead(r)
			merged := s.mergedColumn(l, r, kind)
			col := nsCol{name: name, e: merged}
			if merged == l {
				col.table, col.attr = lit.origin(li)
			} else if merged == r {
				col.table, col.attr = rit.origin(ri)
			}
			join.cols = append(join.cols, col)
			old := s.kind
			s.kind = kindJoinUsing
			conds = append(conds, s.makeOp(opName("="), l, r, -1))
			s.kind = old
		}
		tree.On = conds[0]
		if len(conds) > 1 {
			tree.On = &expr.And{T: boolT, Args: conds}
		}
	} else if x.Quals != nil {
		setLateral(mine, false, true)
		old := s.ns
		s.ns = mine
		tree.On = s.whereClause(x.Quals, kindJoinOn, "JOIN/ON")
		s.ns = old
	}
	nUsing := len(join.cols)
	addSide := func(it *nsItem, skip map[int]bool) {
		for i, n := 0, it.numCols(); i < n; i++ {
			if skip[i] {
				continue
			}
			c := nsCol{name: it.colName(i), e: it.colExpr(i, 0)}
			c.table, c.attr = it.origin(i)
			join.cols = append(join.cols, c)
		}
	}
	addSide(lit, skipL)
	addSide(rit, skipR)
	item := planner.JoinItem{Rel: -1, Join: tree}
	if kind == planner.JoinFull {
		for _, c := range join.cols[:nUsing] {
			tree.Cols = append(tree.Cols, planner.JoinCol{Name: c.name, Expr: c.e})
		}
	}
	if a := x.Alias; a != nil {
		if len(a.Colnames) > len(join.cols) {
			b.fail(-1, pgerror.InvalidColumnReference, `join expression "%s" has %d columns available but %d columns specified`, a.Aliasname, len(join.cols), len(a.Colnames))
		}
		tree.Alias, tree.Cols = a.Aliasname, nil
		for i, c := range a.Colnames {
			join.cols[i].name = strOf(c)
			tree.AliasCols = append(tree.AliasCols, strOf(c))
		}
		for _, c := range join.cols {
			tree.Cols = append(tree.Cols, planner.JoinCol{Name: c.name, Expr: c.e})
		}
		join.alias, join.aliased, join.relVis = a.Aliasname, true, true
		s.all = append(s.all, join)
		return item, join, []*nsItem{join}
	}
	for _, it := range mine {
		it.colVis = false
	}
	s.all = append(s.all, join)
	ns := append(mine, join)
	if ua := x.JoinUsingAlias; ua != nil {
		tree.UsingAlias = ua.Aliasname
		u := &nsItem{s: s, rel: -1, alias: ua.Aliasname, aliased: true, relVis: true, latOK: true, cols: join.cols[:nUsing:nUsing], usingOf: true}
		s.checkNameConflicts(mine, []*nsItem{u})
		s.all = append(s.all, u)
		ns = append(ns, u)
	}
	return item, join, ns
}

func (s *scope) usingColumn(it *nsItem, name, side string) int {
	found := -1
	for i, n := 0, it.numCols(); i < n; i++ {
		if it.colName(i) != name {
			continue
		}
		if found >= 0 {
			s.b.fail(-1, pgerror.AmbiguousColumn, `common column name "%s" appears more than once in %s table`, name, side)
		}
		found = i
	}
	if found < 0 {
		s.b.fail(-1, pgerror.UndefinedColumn, `column "%s" specified in USING clause does not exist in %s table`, name, side)
	}
	return found
}

// mergedColumn is buildMergedJoinVar.
func (s *scope) mergedColumn(l, r expr.Expr, kind planner.JoinKind) expr.Expr {
	t := s.b.commonType([]expr.Expr{l, r}, nil, "JOIN/USING")
	mod := commonTypmod([]expr.Expr{l, r}, t)
	fix := func(e expr.Expr) expr.Expr {
		if typeOf(e) == t && typmodOf(e) == mod {
			return e
		}
		if typeOf(e) != t {
			return s.coerce(e, t, mod, implicit, -1)
		}
		return &expr.Relabel{T: tt(s.keepCollation(e, s.b.columnTypeMod(t, mod))), Arg: e, Coercion: 'i'}
	}
	fl, fr := fix(l), fix(r)
	switch kind {
	case planner.JoinInner:
		if fl != l && fr == r {
			return fr
		}
		return fl
	case planner.JoinRight:
		return fr
	case planner.JoinFull:
		return &expr.Coalesce{T: tt(s.listType([]expr.Expr{fl, fr}, t, -1)), Args: []expr.Expr{fl, fr}}
	}
	return fl
}

// whereClause is transformWhereClause.
func (s *scope) whereClause(n *pg.Node, k exprKind, construct string) expr.Expr {
	if n == nil {
		return nil
	}
	return s.coerceToBoolean(s.exprKindOf(n, k), n, construct)
}
