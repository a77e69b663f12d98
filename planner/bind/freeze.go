package bind

import (
	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/proto"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// frozen is what a stored query needs in place of what depends on the columns that
// tables happen to have: gathered while a view's query is bound.
type frozen struct {
	stars   map[*pg.ColumnRef][]*pg.Node // * and t.* of target lists → the columns
	natural map[*pg.JoinExpr][]*pg.Node  // NATURAL JOIN → the names of USING
	refs    map[*pg.ColumnRef]attrRef    // columns of relations, by their own names
}

type attrRef struct {
	rel  sqltypes.OID
	attr int16
}

// bindFrozen binds a query of a tree and gathers.
func bindFrozen(ctx *planner.Context, tree *pg.Node) (f *frozen, q *planner.Query, err error) {
	defer catch(&err)
	b := newBinder(ctx)
	f = &frozen{map[*pg.ColumnRef][]*pg.Node{}, map[*pg.JoinExpr][]*pg.Node{}, map[*pg.ColumnRef]attrRef{}}
	b.frozen = f
	q = b.statement(nil, tree, true)
	return f, q, nil
}

// apply writes stars and natural joins out.
func (f *frozen) apply(tree *pg.Node) {
	eachMessage(tree.ProtoReflect(), func(m proto.Message) {
		switch x := m.(type) {
		case *pg.JoinExpr:
			if names, ok := f.natural[x]; ok && x.IsNatural && len(names) > 0 {
				x.IsNatural, x.UsingClause = false, names
			}
		case *pg.SelectStmt:
			var out []*pg.Node
			for _, n := range x.TargetList {
				refs, ok := f.stars[n.GetResTarget().GetVal().GetColumnRef()]
				if !ok {
					out = append(out, n)
					continue
				}
				for _, r := range refs {
					out = append(out, &pg.Node{Node: &pg.Node_ResTarget{ResTarget: &pg.ResTarget{Val: r}}})
				}
			}
			x.TargetList = out
		}
	})
}

// freezeStar notes what a star stands for.
func (s *scope) freezeStar(c *pg.ColumnRef, list []target) {
	if s.b.frozen == nil {
		return
	}
	refs := make([]*pg.Node, len(list))
	for i, t := range list {
		fields := []*pg.Node{pg.MakeStrNode(t.Name)}
		if alias := s.tableOf(t); alias != "" {
			fields = []*pg.Node{pg.MakeStrNode(alias), pg.MakeStrNode(t.Name)}
		}
		refs[i] = &pg.Node{Node: &pg.Node_ColumnRef{ColumnRef: &pg.ColumnRef{Fields: fields, Location: -1}}}
	}
	s.b.frozen.stars[c] = refs
}

// tableOf is the name of the visible table that has a target as a column; "" when it
// can only be reached by its bare name, as merged columns of a full join.
func (s *scope) tableOf(t target) string {
	v, ok := t.Expr.(*planner.Var)
	if !ok {
		return ""
	}
	for _, it := range s.ns {
		if !it.relVis || it.alias == "" {
			continue
		}
		for i := range it.numCols() {
			if it.colName(i) != t.Name {
				continue
			}
			if w, ok := it.colExpr(i, 0).(*planner.Var); ok && w.Rel == v.Rel && w.Col == v.Col && w.Level == v.Level {
				return it.alias
			}
		}
	}
	return ""
}

// freezeRef notes that a reference names a column of a relation, or of a view, by the
// name it has there.
func (s *scope) freezeRef(c *pg.ColumnRef, e expr.Expr) {
	v, ok := e.(*planner.Var)
	if s.b.frozen == nil || !ok || v.Col < 0 {
		return
	}
	in := s
	for range v.Level {
		if in = in.parent; in == nil {
			return
		}
	}
	if v.Rel < 0 || v.Rel >= len(in.q.Range) {
		return
	}
	rel, attr := relationColumn(s.b.cat, in.q.Range[v.Rel], v.Col)
	if rel == nil || rel.Columns[attr-1].Name != strOf(c.Fields[len(c.Fields)-1]) {
		return
	}
	s.b.frozen.refs[c] = attrRef{rel.OID, attr}
}

// relationColumn is the attribute of a relation or view that a column of an entry is.
func relationColumn(cat *catalog.Catalog, r *planner.RTE, col int) (*catalog.Relation, int16) {
	rel := r.Rel
	attr := int16(col + 1)
	switch {
	case cat == nil || col >= len(r.Cols):
		return nil, 0
	case r.ViewOID != 0:
		rel = cat.Relation(r.ViewOID)
	case r.Kind != planner.RTERelation || col >= len(r.Attrs):
		return nil, 0
	default:
		attr = r.Attrs[col]
	}
	if rel == nil || int(attr) > len(rel.Columns) {
		return nil, 0
	}
	return rel, attr
}

// renameFrozen renames the references to columns that have another name after a
// change. Where a name of a table's columns is one of USING or makes
// one of a named join, the table gets the old
// names as a list of aliases instead, as PostgreSQL shows it.
func renameFrozen(tree *pg.Node, f *frozen, before, after *planner.Context) {
	joined, named := map[string]bool{}, false // names of USING; a join has a name itself
	eachMessage(tree.ProtoReflect(), func(m proto.Message) {
		if j, ok := m.(*pg.JoinExpr); ok {
			for _, u := range j.UsingClause {
				joined[strOf(u)] = true
			}
			named = named || j.Alias != nil
		}
	})
	aliased := map[sqltypes.OID]bool{}
	eachRangeVar(tree, func(rv *pg.RangeVar) {
		old := resolve(before, rv)
		if old == nil {
			return
		}
		now := after.Catalog.Relation(old.OID)
		if now == nil || !renamedIn(old, now, joined, named) {
			return
		}
		aliased[old.OID] = true
		if rv.Alias == nil {
			rv.Alias = &pg.Alias{Aliasname: rv.Relname}
		}
		at := 0
		for _, c := range old.Columns {
			if c.Dropped {
				continue
			}
			if at >= len(rv.Alias.Colnames) {
				rv.Alias.Colnames = append(rv.Alias.Colnames, pg.MakeStrNode(c.Name))
			}
			at++
		}
	})
	newName := func(n *pg.Node) (string, bool) {
		ref, ok := f.refs[n.GetColumnRef()]
		if !ok || aliased[ref.rel] {
			return "", false
		}
		old, now := before.Catalog.Relation(ref.rel), after.Catalog.Relation(ref.rel)
		if now == nil || int(ref.attr) > len(now.Columns) || now.Columns[ref.attr-1].Name == old.Columns[ref.attr-1].Name {
			return "", false
		}
		return now.Columns[ref.attr-1].Name, true
	}
	eachMessage(tree.ProtoReflect(), func(m proto.Message) {
		if rt, ok := m.(*pg.ResTarget); ok && rt.Name == "" && rt.Val.GetColumnRef() != nil {
			if _, ok := newName(rt.Val); ok {
				rt.Name = strOf(rt.Val.GetColumnRef().Fields[len(rt.Val.GetColumnRef().Fields)-1])
			}
		}
	})
	eachMessage(tree.ProtoReflect(), func(m proto.Message) {
		if c, ok := m.(*pg.ColumnRef); ok {
			if to, ok := newName(&pg.Node{Node: &pg.Node_ColumnRef{ColumnRef: c}}); ok {
				c.Fields[len(c.Fields)-1] = pg.MakeStrNode(to)
			}
		}
	})
}

// renamedIn reports whether a column of one of the names, or any, has another one now.
func renamedIn(old, now *catalog.Relation, names map[string]bool, any bool) bool {
	for i, c := range old.Columns {
		if !c.Dropped && (any || names[c.Name]) && i < len(now.Columns) && now.Columns[i].Name != c.Name {
			return true
		}
	}
	return false
}
