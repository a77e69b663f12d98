package bind

import (
	"sync/atomic"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/planner/parse"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// RelationExpr binds an expression over one table's row — a default, check,
// generation expression, index expression or predicate. Columns are expr.Col with
// Idx = attribute number - 1. Subqueries, aggregates and the like are refused.
func RelationExpr(ctx *planner.Context, rel *catalog.Relation, sqlText string) (e expr.Expr, err error) {
	defer catch(&err)
	return newBinder(ctx).relationExpr(rel, sqlText, kindCheck), nil
}

func (b *binder) relationExpr(rel *catalog.Relation, text string, k exprKind) expr.Expr {
	n, err := parse.Expression(text)
	b.check(err, -1)
	s := b.subBinder(text).newScope(nil)
	s.relationRow(rel)
	e := s.exprKindOf(n, k)
	if isUnknownExpr(e) {
		e = s.coerce(e, sqltypes.OIDText, noTypMod, implicit, -1)
	}
	return e
}

// relationCond is relationExpr for a condition.
func (b *binder) relationCond(rel *catalog.Relation, text string, k exprKind) expr.Expr {
	n, err := parse.Expression(text)
	b.check(err, -1)
	s := b.subBinder(text).newScope(nil)
	s.relationRow(rel)
	return s.whereClause(n, k, "CHECK")
}

// relationRow makes the table's columns visible as expr.Cols.
func (s *scope) relationRow(rel *catalog.Relation) *nsItem {
	it := &nsItem{s: s, rel: -1, alias: rel.Name, relOID: rel.OID, schema: rel.Schema, relVis: true, colVis: true, latOK: true, cols: []nsCol{}, definition: true}
	for _, c := range rel.Columns {
		if c.Dropped {
			continue
		}
		it.cols = append(it.cols, nsCol{name: c.Name, e: &expr.Col{T: tt(c.Type), Idx: int(c.Num) - 1, Name: c.Name}})
	}
	s.ns = append(s.ns, it)
	s.all = append(s.all, it)
	return it
}

// domainExpr binds a domain's CHECK; VALUE is an expr.CaseValue.
func (b *binder) domainExpr(u *catalog.UserType, text string) (expr.Expr, error) {
	n, err := parse.Expression(text)
	if err != nil {
		return nil, err
	}
	s := b.subBinder(text).newScope(nil)
	base, mod := b.baseTypeMod(u.OID, noTypMod)
	ct := b.columnTypeMod(base, mod)
	s.domainValue = &ct
	return s.whereClause(n, kindDomainCheck, "CHECK"), nil
}

// columnDefault is build_column_default: the value of a column not given, coerced
// to its type; nil when that is NULL.
func (s *scope) columnDefault(rel *catalog.Relation, c *catalog.Column) expr.Expr {
	b := s.b
	var e expr.Expr
	switch {
	case c.Identity != 0 && c.OwnedSequence != 0:
		e = s.nextval(c.OwnedSequence)
	case c.HasDefault && c.Generated == 0:
		n, err := parse.Expression(c.Default)
		b.check(err, -1)
		sub := b.subBinder(c.Default).newScope(nil)
		sub.kind = kindColumnDefault
		e = sub.expr(n)
	default:
		// A domain may have a default of its own.
		for t := b.typ(c.Type.OID); t != nil && t.TypType == 'd' && b.cat != nil; t = b.typ(t.BaseType) {
			if u := b.cat.UserType(t.OID); u != nil && u.HasDefault {
				n, err := parse.Expression(u.Default)
				b.check(err, -1)
				sub := b.subBinder(u.Default).newScope(nil)
				sub.kind = kindColumnDefault
				e = sub.expr(n)
				break
			}
		}
	}
	if e == nil {
		return nil
	}
	r := s.coerceToTarget(e, c.Type.OID, c.Type.TypMod, assignment, -1)
	if r == nil {
		panic(pgerror.New(pgerror.DatatypeMismatch, `column "%s" is of type %s but default expression is of type %s`, c.Name, b.typeName(c.Type.OID), b.typeName(typeOf(e))).
			WithHint("You will need to rewrite or cast the expression."))
	}
	return r
}

// nullFor is the NULL of a column; a domain's constraints apply to it.
func (s *scope) nullFor(ct sqltypes.ColumnType) expr.Expr {
	base := s.b.baseType(ct.OID)
	n := &expr.Const{T: tt(s.b.columnType(base)), Val: sqltypes.Null}
	if base != ct.OID {
		return s.coerce(n, ct.OID, ct.TypMod, implicit, -1)
	}
	return n
}

func (s *scope) nextval(seq sqltypes.OID) expr.Expr {
	for _, p := range sqltypes.ProcsByName("nextval") {
		if len(p.ArgTypes) == 1 {
			arg := &expr.Const{T: tt(s.b.columnType(sqltypes.OIDRegclass)), Val: sqltypes.Int(int64(seq))}
			return &expr.Call{T: tt(s.b.columnType(sqltypes.OIDInt8)), Proc: p, Args: []expr.Expr{arg}}
		}
	}
	panic(pgerror.NotSupported("nextval"))
}

// FillTarget binds what must be evaluated for each row that is written to rel.
func FillTarget(ctx *planner.Context, rel *catalog.Relation) (t *planner.Target, err error) {
	defer catch(&err)
	return newBinder(ctx).target(rel), nil
}

func (b *binder) target(rel *catalog.Relation) *planner.Target {
	t := &planner.Target{Rel: rel}
	for _, c := range rel.Columns {
		if c.Dropped || c.Generated == 0 {
			continue
		}
		if t.Generated == nil {
			t.Generated = make([]expr.Expr, len(rel.Columns))
		}
		n, err := parse.Expression(c.Default)
		b.check(err, -1)
		s := b.subBinder(c.Default).newScope(nil)
		s.relationRow(rel)
		e := s.exprKindOf(n, kindGenerated)
		r := s.coerceToTarget(e, c.Type.OID, c.Type.TypMod, assignment, -1)
		if r == nil {
			b.fail(-1, pgerror.DatatypeMismatch, `column "%s" is of type %s but generation expression is of type %s`, c.Name, b.typeName(c.Type.OID), b.typeName(typeOf(e)))
		}
		t.Generated[c.Num-1] = r
	}
	for _, fk := range rel.ForeignKeys {
		if fk.OnDelete != 'd' && fk.OnUpdate != 'd' {
			continue
		}
		if t.Defaults == nil {
			t.Defaults = make([]expr.Expr, len(rel.Columns))
		}
		for _, a := range fk.Attrs {
			t.Defaults[a-1] = b.newScope(nil).columnDefault(rel, rel.Columns[a-1])
		}
	}
	for _, c := range rel.Checks {
		t.Checks = append(t.Checks, expr.DomainCheck{Name: c.Name, Cond: b.relationCond(rel, c.Expr, kindCheck)})
	}
	for _, ix := range rel.Indexes {
		var exprs []expr.Expr
		for i, k := range ix.Keys {
			if k.Attr != 0 {
				continue
			}
			if exprs == nil {
				exprs = make([]expr.Expr, len(ix.Keys))
			}
			exprs[i] = b.relationExpr(rel, k.Expr, kindIndexExpression)
		}
		if exprs != nil {
			if t.IndexExprs == nil {
				t.IndexExprs = map[sqltypes.OID][]expr.Expr{}
			}
			t.IndexExprs[ix.OID] = exprs
		}
		if ix.Predicate != "" {
			if t.IndexPreds == nil {
				t.IndexPreds = map[sqltypes.OID]expr.Expr{}
			}
			t.IndexPreds[ix.OID] = b.relationCond(rel, ix.Predicate, kindIndexPredicate)
		}
	}
	if p := rel.Partitioning; p != nil {
		for i, k := range p.Keys {
			if k.Attr != 0 {
				continue
			}
			if t.PartKeys == nil {
				t.PartKeys = make([]expr.Expr, len(p.Keys))
			}
			t.PartKeys[i] = b.relationExpr(rel, k.Expr, kindPartitionExpression)
		}
	}
	t.Incoming = incomingKeys(b.cat)[rel.OID]
	return t
}

// incoming remembers the foreign keys of the last catalogue by referenced table.
var incoming atomic.Pointer[incomingMap]

type incomingMap struct {
	cat *catalog.Catalog
	fks map[sqltypes.OID][]planner.IncomingFK
}

func incomingKeys(cat *catalog.Catalog) map[sqltypes.OID][]planner.IncomingFK {
	if cat == nil {
		return nil
	}
	if m := incoming.Load(); m != nil && m.cat == cat {
		return m.fks
	}
	m := &incomingMap{cat: cat, fks: map[sqltypes.OID][]planner.IncomingFK{}}
	cat.AllRelations(func(r *catalog.Relation) bool {
		if r.Partitioning != nil {
			return true // its partitions have rows, and clones of its keys
		}
		for _, fk := range r.ForeignKeys {
			m.fks[fk.RefTable] = append(m.fks[fk.RefTable], planner.IncomingFK{Table: r, FK: fk, RefAttrs: fk.RefAttrs})
			to := cat.Relation(fk.RefTable)
			if to == nil || to.Partitioning == nil {
				continue
			}
			for _, part := range cat.Tree(to)[1:] {
				in := planner.IncomingFK{Table: r, FK: fk, Above: true}
				attrs := catalog.AttrsIn(to, part)
				for _, a := range fk.RefAttrs {
					in.RefAttrs = append(in.RefAttrs, attrs[a-1])
				}
				m.fks[part.OID] = append(m.fks[part.OID], in)
			}
		}
		return true
	})
	incoming.Store(m)
	return m.fks
}
