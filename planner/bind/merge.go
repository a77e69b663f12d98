package bind

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes/pgerror"
)

// mergeStmt is transformMergeStmt.
func (s *scope) mergeStmt(x *pg.MergeStmt) *planner.Query {
	b, q := s.b, s.q
	q.Command = planner.CmdMerge
	if x.WithClause != nil {
		if x.WithClause.Recursive {
			b.fail(-1, pgerror.SyntaxError, "WITH RECURSIVE is not supported for MERGE statement")
		}
		s.withClause(x.WithClause)
	}
	var done [2]bool
	insert := false
	for _, n := range x.MergeWhenClauses {
		w := n.GetMergeWhenClause()
		k := 0
		if w.Matched {
			k = 1
		}
		if done[k] {
			b.fail(-1, pgerror.SyntaxError, "unreachable WHEN clause specified after unconditional WHEN clause")
		}
		if w.Condition == nil {
			done[k] = true
		}
		insert = insert || !w.Matched && w.CommandType == pg.CmdType_CMD_INSERT
	}
	if rel, _ := b.findRelation(x.Relation); rel != nil && rel.Kind != catalog.KindTable && rel.Kind != catalog.KindPartitioned {
		what := map[catalog.RelKind]string{catalog.KindView: "views", catalog.KindMatView: "materialized views", catalog.KindSequence: "sequences", catalog.KindComposite: "composite types"}[rel.Kind]
		panic(b.errAt(-1, pgerror.FeatureNotSupported, `cannot execute MERGE on relation "%s"`, rel.Name).WithDetail("This operation is not supported for %s.", what))
	}
	t := s.openTarget(x.Relation, 'w')
	srcItem, src, ns := s.fromItem(x.SourceRelation)
	if src.alias != "" && src.alias == t.item.alias {
		panic(b.errAt(-1, pgerror.DuplicateAlias, `name "%s" specified more than once`, src.alias).
			WithDetail("The name is used both as MERGE target table and data source."))
	}
	setLateral(ns, false, true)
	s.ns = append(append([]*nsItem{}, t.item), ns...)
	tree := &planner.JoinTree{Kind: planner.JoinInner, Left: srcItem, Right: planner.JoinItem{Rel: t.item.rel}}
	tree.On = s.whereClause(x.JoinCondition, kindJoinOn, "JOIN/ON")
	if insert {
		tree.Kind = planner.JoinLeft
	}
	q.From = []planner.JoinItem{{Rel: -1, Join: tree}}
	for _, n := range x.MergeWhenClauses {
		w := n.GetMergeWhenClause()
		a := planner.QueryMergeAction{Matched: w.Matched}
		// Without a match only the source can be referred to.
		t.item.relVis, t.item.colVis = w.Matched, w.Matched
		a.Cond = s.whereClause(w.Condition, kindMergeWhen, "WHEN")
		switch w.CommandType {
		case pg.CmdType_CMD_NOTHING:
			a.Kind = 'n'
		case pg.CmdType_CMD_DELETE:
			a.Kind = 'd'
		case pg.CmdType_CMD_UPDATE:
			a.Kind = 'u'
			a.Set, a.SetAttrs = s.setClause(t, w.TargetList)
		default:
			a.Kind = 'i'
			a.Set, a.SetAttrs = s.mergeInsert(t, w)
			a.Named = q.Named
		}
		q.Merge = append(q.Merge, a)
	}
	t.item.relVis, t.item.colVis = true, true
	return q
}

func (s *scope) mergeInsert(t *dmlTarget, w *pg.MergeWhenClause) ([]planner.Target1, []int16) {
	old := s.kind
	cols := s.insertColumns(t, w.TargetList)
	ins := &pg.InsertStmt{Override: w.Override}
	s.q.Targets, s.q.TargetAttrs = nil, nil
	if len(w.Values) > 0 {
		s.kind = kindValuesSingle
		exprs, nodes := s.insertExprs(w.Values)
		s.kind = kindInsertTarget
		cols = s.checkRow(exprs, nodes, cols, len(w.TargetList) > 0)
		s.insertRow(t, ins, cols, exprs, nodes, func(c *insertCol, e expr.Expr) { s.addInsert(c, e) })
	}
	s.fillDefaults(t)
	set, attrs := s.q.Targets, s.q.TargetAttrs
	s.q.Targets, s.q.TargetAttrs = nil, nil
	s.kind = old
	return set, attrs
}
