package bind

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// scope is one query level while it is bound (PostgreSQL's ParseState).
type scope struct {
	b      *binder
	parent *scope
	q      *planner.Query
	ns     []*nsItem // what names can refer to now
	all    []*nsItem // every item of the level, for error hints
	ctes   []*cteInfo
	// cteNames are WITH names of this level not usable yet (no RECURSIVE).
	futureCTEs []string
	kind       exprKind
	hasAggs    bool
	hasWindow  bool
	hasSRF     bool
	lastSRF    *expr.Call
	srfLoc     int32
	callNode   *pg.FuncCall // the procedure call of CALL
	windowDefs []*pg.WindowDef
	// lateral: FROM items on the left of what is being bound may be referred to.
	lateral         bool
	resolveUnknowns bool
	target          *nsItem // of DML
	excluded        *nsItem // of ON CONFLICT
	parentCTE       *cteInfo
	domainValue     *sqltypes.ColumnType // type of VALUE in a domain's check
	groupings       []pendingGrouping    // GROUPING() calls of this level
}

func (b *binder) newScope(parent *scope) *scope {
	return &scope{b: b, parent: parent, q: &planner.Query{ResultRel: -1}, resolveUnknowns: true}
}

// nsItem is something in FROM that names can refer to (ParseNamespaceItem).
type nsItem struct {
	s     *scope
	rel   int // index into Range; -1 for joins
	alias string
	// schema and relOID identify an unaliased table for schema-qualified references.
	schema  sqltypes.OID
	relOID  sqltypes.OID
	aliased bool
	cols    []nsCol          // nil: the RTE's own columns
	through *planner.ViewUse // of a view that is written through
	relVis  bool             // visible as a table name
	colVis  bool             // its columns are visible unqualified
	latOnly bool             // only usable from LATERAL items
	latOK   bool             // … and legally so
	extra   int              // trailing columns that * leaves out
	usingOf bool             // alias of JOIN … USING (…) AS
	// definition: the row of the table that a check, a generation expression or an index is of.
	definition bool
}

// nsCol is a column whose expression is not simply a Var of the item's RTE.
type nsCol struct {
	name   string
	e      expr.Expr
	hidden bool // dropped from star expansion (merged elsewhere)
	table  sqltypes.OID
	attr   int16
}

func (it *nsItem) rte() *planner.RTE {
	if it.rel < 0 {
		return nil
	}
	return it.s.q.Range[it.rel]
}

func (it *nsItem) numCols() int {
	if it.cols != nil || it.rel < 0 {
		return len(it.cols)
	}
	return len(it.rte().Cols)
}

func (it *nsItem) colName(i int) string {
	if it.cols != nil || it.rel < 0 {
		return it.cols[i].name
	}
	return it.rte().Cols[i].Name
}

func (it *nsItem) colType(i int) sqltypes.ColumnType {
	if it.cols != nil || it.rel < 0 {
		return it.cols[i].e.Type()
	}
	return it.rte().Cols[i].Type
}

// colExpr is a reference to column i from levels query levels below.
func (it *nsItem) colExpr(i, levels int) expr.Expr {
	if it.cols != nil || it.rel < 0 {
		if u := it.through; u != nil {
			u.Read = append(u.Read, it.cols[i].attr)
		}
		return shiftLevels(it.cols[i].e, levels)
	}
	c := &it.rte().Cols[i]
	return &planner.Var{T: tt(c.Type), Rel: it.rel, Col: i, Level: levels, Name: c.Name}
}

// origin of column i for RowDescription.
func (it *nsItem) origin(i int) (sqltypes.OID, int16) {
	if it.cols != nil || it.rel < 0 {
		return it.cols[i].table, it.cols[i].attr
	}
	c := &it.rte().Cols[i]
	return c.TableOID, c.Attr
}

// wholeRow is a reference to the item's row.
func (it *nsItem) wholeRow(levels int) expr.Expr {
	b := it.s.b
	if it.cols != nil || it.rel < 0 {
		r := &expr.RowCtor{T: tt(b.columnType(sqltypes.OIDRecord))}
		for i := range it.cols {
			r.Fields = append(r.Fields, it.colExpr(i, levels))
			r.Names = append(r.Names, it.cols[i].name)
		}
		return r
	}
	rte := it.rte()
	ct := b.columnType(sqltypes.OIDRecord)
	switch rte.Kind {
	case planner.RTERelation:
		ct = b.relationRowType(rte.Rel)
	case planner.RTEVirtual:
		ct = b.relationRowType(rte.Virtual.Rel)
	case planner.RTESubquery:
		if rte.ViewOID != 0 {
			if r := b.cat.Relation(rte.ViewOID); r != nil {
				ct = b.relationRowType(r)
			}
		}
	case planner.RTEFunction:
		// A function with a scalar or named composite result stands for its value.
		if len(rte.Calls) == 1 && !rte.Ordinality {
			t := rte.Calls[0].Typ
			if len(rte.Cols) == 1 && !b.isComplex(t.OID) {
				return it.colExpr(0, levels)
			}
			if c := b.composite(t.OID); c != nil {
				ct = sqltypes.ColumnType{OID: c.OID, TypMod: noTypMod}
			}
		}
	}
	return &planner.Var{T: tt(ct), Rel: it.rel, Col: -1, Level: levels, Name: it.alias}
}

// shiftLevels raises the levels of the Vars of e that refer outside, by n.
func shiftLevels(e expr.Expr, n int) expr.Expr {
	if n == 0 {
		return e
	}
	return mapVars(e, 0, func(v *planner.Var, depth int) expr.Expr {
		if v.Level < depth {
			return v
		}
		c := *v
		c.Level += n
		return &c
	})
}

// mapVars rewrites Vars, in subqueries too; depth is the number of subqueries entered.
func mapVars(e expr.Expr, depth int, f func(v *planner.Var, depth int) expr.Expr) expr.Expr {
	switch x := e.(type) {
	case nil:
		return nil
	case *planner.Var:
		return f(x, depth)
	case *planner.SubLink:
		c := *x
		c.Test = mapVars(x.Test, depth, f)
		c.Sub = mapQueryVars(x.Sub, depth+1, f)
		return &c
	case *expr.Const, *expr.Param:
		return e
	}
	return planner.MapChildren(e, func(a expr.Expr) expr.Expr { return mapVars(a, depth, f) })
}

func mapQueryVars(q *planner.Query, depth int, f func(v *planner.Var, depth int) expr.Expr) *planner.Query {
	return planner.MapQuery(q,
		func(e expr.Expr) expr.Expr { return mapVars(e, depth, f) },
		func(sub *planner.Query) *planner.Query { return mapQueryVars(sub, depth+1, f) })
}

// addRTE appends a range-table entry and makes its namespace item.
func (s *scope) addRTE(r *planner.RTE) *nsItem {
	s.q.Range = append(s.q.Range, r)
	it := &nsItem{s: s, rel: len(s.q.Range) - 1, alias: r.Alias, relVis: true, colVis: true, latOK: true}
	s.all = append(s.all, it)
	return it
}

// checkNameConflicts is checkNameSpaceConflicts: no table name twice in one FROM.
func (s *scope) checkNameConflicts(left, right []*nsItem) {
	for _, l := range left {
		if !l.relVis {
			continue
		}
		for _, r := range right {
			if !r.relVis || l.alias != r.alias {
				continue
			}
			// Two tables of one name in different schemas are no conflict.
			if !l.aliased && !r.aliased && l.relOID != 0 && r.relOID != 0 && l.relOID != r.relOID {
				continue
			}
			s.b.fail(-1, pgerror.DuplicateAlias, `table name "%s" specified more than once`, l.alias)
		}
	}
}

// lookupColumn is colNameToVar: the innermost level that has the name decides.
func (s *scope) lookupColumn(name string, localOnly bool, loc int32) expr.Expr {
	levels := 0
	for p := s; p != nil; p = p.parent {
		var found expr.Expr
		for _, it := range p.ns {
			if !it.colVis {
				continue
			}
			if it.latOnly && !p.lateral {
				continue
			}
			e := it.column(name, levels, loc)
			if e == nil {
				continue
			}
			if found != nil {
				s.b.fail(loc, pgerror.AmbiguousColumn, `column reference "%s" is ambiguous`, name)
			}
			p.checkLateral(it, loc)
			found = e
			p.markRead(e)
		}
		if found != nil || localOnly {
			return found
		}
		levels++
	}
	return nil
}

// column finds a column of the item by name; nil when it has none.
func (it *nsItem) column(name string, levels int, loc int32) expr.Expr {
	found := -1
	for i, n := 0, it.numCols(); i < n; i++ {
		if it.colName(i) != name || it.cols != nil && it.cols[i].hidden {
			continue
		}
		if found >= 0 {
			it.s.b.fail(loc, pgerror.AmbiguousColumn, `column reference "%s" is ambiguous`, name)
		}
		found = i
	}
	if found >= 0 {
		return it.colExpr(found, levels)
	}
	return it.systemColumn(name, levels, loc)
}

var systemColumns = map[string]struct {
	attr int16
	typ  sqltypes.OID
}{
	"ctid": {-1, sqltypes.OIDTid}, "xmin": {-2, sqltypes.OIDXid}, "cmin": {-3, sqltypes.OIDCid},
	"xmax": {-4, sqltypes.OIDXid}, "cmax": {-5, sqltypes.OIDCid}, "tableoid": {-6, sqltypes.OIDOid},
}

func (it *nsItem) systemColumn(name string, levels int, loc int32) expr.Expr {
	if it.rel < 0 {
		return it.definedSystemColumn(name, loc)
	}
	r := it.rte()
	if r.Kind != planner.RTERelation && r.Kind != planner.RTEVirtual {
		return nil
	}
	sc, ok := systemColumns[name]
	if !ok || it == it.s.excluded {
		return nil
	}
	if it.s.kind == kindMergeWhen && name != "tableoid" {
		it.s.b.fail(loc, pgerror.InvalidColumnReference, `cannot use system column "%s" in MERGE WHEN condition`, name)
	}
	if r.Kind == planner.RTEVirtual && name != "tableoid" && name != "xmin" && name != "xmax" {
		it.s.b.unsupported(-1, "system column %s of a catalogue table", name)
	}
	return &planner.Var{T: tt(it.s.b.columnType(sc.typ)), Rel: it.rel, Col: int(sc.attr) - 1, Level: levels, Name: name}
}

// definedSystemColumn is a system column in a definition over a table's row: only
// tableoid has a value there.
func (it *nsItem) definedSystemColumn(name string, loc int32) expr.Expr {
	if _, ok := systemColumns[name]; !ok || !it.definition {
		return nil
	}
	b := it.s.b
	switch k := it.s.kind; {
	case k == kindIndexExpression || k == kindIndexPredicate:
		panic(pgerror.New(pgerror.FeatureNotSupported, "index creation on system columns is not supported"))
	case name == "tableoid":
		return &expr.Const{T: tt(b.columnType(sqltypes.OIDOid)), Val: sqltypes.Int(int64(it.relOID)), Name: name}
	case k == kindGenerated:
		b.fail(loc, pgerror.InvalidColumnReference, `cannot use system column "%s" in column generation expression`, name)
	case k == kindCheck:
		b.fail(loc, pgerror.InvalidColumnReference, `system column "%s" reference in check constraint is invalid`, name)
	}
	return nil
}

func (s *scope) checkLateral(it *nsItem, loc int32) {
	if !it.latOnly || it.latOK {
		return
	}
	if s.target == it {
		panic(s.b.errAt(loc, pgerror.InvalidColumnReference, `invalid reference to FROM-clause entry for table "%s"`, it.alias).
			WithHint(`There is an entry for table "%s", but it cannot be referenced from this part of the query.`, it.alias))
	}
	panic(s.b.errAt(loc, pgerror.InvalidColumnReference, `invalid reference to FROM-clause entry for table "%s"`, it.alias).
		WithDetail("The combining JOIN type must be INNER or LEFT for a LATERAL reference."))
}

// markRead notes that a column of a relation is read (privileges).
func (s *scope) markRead(e expr.Expr) {
	if v, ok := e.(*planner.Var); ok && v.Rel >= 0 && v.Rel < len(s.q.Range) {
		s.q.Range[v.Rel].RequiredPrivs = addPriv(s.q.Range[v.Rel].RequiredPrivs, 'r')
	}
}

func addPriv(privs string, p byte) string {
	for i := 0; i < len(privs); i++ {
		if privs[i] == p {
			return privs
		}
	}
	return privs + string(p)
}

// lookupTable is refnameNamespaceItem: nil when the name is not there.
func (s *scope) lookupTable(schema, name string, loc int32) (it *nsItem, levels int) {
	var relOID sqltypes.OID
	if schema != "" {
		ns := s.b.schemaOID(schema)
		if ns == 0 {
			return nil, 0
		}
		if s.b.cat != nil {
			if r := s.b.cat.RelationByName(ns, name); r != nil {
				relOID = r.OID
			}
		}
		if relOID == 0 && s.b.ctx.Relations != nil {
			if v := s.b.ctx.Relations.VirtualByName(schema, name); v != nil {
				relOID = v.Rel.OID
			}
		}
		if relOID == 0 {
			return nil, 0
		}
	}
	for p := s; p != nil; p = p.parent {
		for _, c := range p.ns {
			if !c.relVis || c.latOnly && !p.lateral {
				continue
			}
			if schema != "" {
				if c.aliased || c.relOID != relOID {
					continue
				}
			} else if c.alias != name || c.alias == "" {
				continue
			}
			if it != nil {
				if schema != "" {
					s.b.fail(loc, pgerror.AmbiguousAlias, "table reference %d is ambiguous", relOID)
				}
				s.b.fail(loc, pgerror.AmbiguousAlias, `table reference "%s" is ambiguous`, name)
			}
			p.checkLateral(c, loc)
			it = c
		}
		if it != nil {
			return it, levels
		}
		levels++
	}
	return nil, 0
}

// wholeRowItem returns the item a whole-row Var of type record stands for.
func (s *scope) wholeRowItem(e expr.Expr) *nsItem {
	v, ok := e.(*planner.Var)
	if !ok || v.Col != -1 {
		return nil
	}
	p := s
	for i := 0; i < v.Level && p != nil; i++ {
		p = p.parent
	}
	if p == nil {
		return nil
	}
	for _, it := range p.all {
		if it.rel == v.Rel {
			return it
		}
	}
	return nil
}
