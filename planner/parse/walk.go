package parse

import (
	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Walk calls f for n and every node below it, outside in. When f returns false,
// the node's children are left out. Common nodes are walked directly, rare ones
// by reflection.
func Walk(n *pg.Node, f func(*pg.Node) bool) {
	if n == nil || n.Node == nil || !f(n) {
		return
	}
	switch x := n.Node.(type) {
	case *pg.Node_AConst, *pg.Node_ColumnRef, *pg.Node_ParamRef, *pg.Node_String_, *pg.Node_Integer, *pg.Node_RangeVar,
		*pg.Node_AStar, *pg.Node_SetToDefault, *pg.Node_SqlvalueFunction:
	case *pg.Node_SelectStmt:
		walkSelect(x.SelectStmt, f)
	case *pg.Node_ResTarget:
		walkList(x.ResTarget.Indirection, f)
		Walk(x.ResTarget.Val, f)
	case *pg.Node_AExpr:
		Walk(x.AExpr.Lexpr, f)
		Walk(x.AExpr.Rexpr, f)
	case *pg.Node_BoolExpr:
		walkList(x.BoolExpr.Args, f)
	case *pg.Node_FuncCall:
		walkList(x.FuncCall.Args, f)
		walkList(x.FuncCall.AggOrder, f)
		Walk(x.FuncCall.AggFilter, f)
		if o := x.FuncCall.Over; o != nil {
			walkMessage(o.ProtoReflect(), f)
		}
	case *pg.Node_TypeCast:
		Walk(x.TypeCast.Arg, f)
	case *pg.Node_List:
		walkList(x.List.Items, f)
	case *pg.Node_JoinExpr:
		Walk(x.JoinExpr.Larg, f)
		Walk(x.JoinExpr.Rarg, f)
		Walk(x.JoinExpr.Quals, f)
	case *pg.Node_SubLink:
		Walk(x.SubLink.Testexpr, f)
		Walk(x.SubLink.Subselect, f)
	case *pg.Node_SortBy:
		Walk(x.SortBy.Node, f)
	case *pg.Node_CommonTableExpr:
		Walk(x.CommonTableExpr.Ctequery, f)
	case *pg.Node_RangeSubselect:
		Walk(x.RangeSubselect.Subquery, f)
	case *pg.Node_InsertStmt:
		walkWith(x.InsertStmt.WithClause, f)
		Walk(x.InsertStmt.SelectStmt, f)
		if c := x.InsertStmt.OnConflictClause; c != nil {
			walkList(c.TargetList, f)
			Walk(c.WhereClause, f)
			if c.Infer != nil {
				walkMessage(c.Infer.ProtoReflect(), f)
			}
		}
		walkList(x.InsertStmt.ReturningList, f)
	case *pg.Node_UpdateStmt:
		walkWith(x.UpdateStmt.WithClause, f)
		walkList(x.UpdateStmt.TargetList, f)
		walkList(x.UpdateStmt.FromClause, f)
		Walk(x.UpdateStmt.WhereClause, f)
		walkList(x.UpdateStmt.ReturningList, f)
	case *pg.Node_DeleteStmt:
		walkWith(x.DeleteStmt.WithClause, f)
		walkList(x.DeleteStmt.UsingClause, f)
		Walk(x.DeleteStmt.WhereClause, f)
		walkList(x.DeleteStmt.ReturningList, f)
	default:
		m := n.ProtoReflect()
		if fd := m.WhichOneof(m.Descriptor().Oneofs().Get(0)); fd != nil {
			walkMessage(m.Get(fd).Message(), f)
		}
	}
}

func walkSelect(s *pg.SelectStmt, f func(*pg.Node) bool) {
	// Set operations are left-deep: the left arm by iteration.
	for ; s != nil; s = s.Larg {
		walkWith(s.WithClause, f)
		walkList(s.DistinctClause, f)
		walkList(s.TargetList, f)
		walkList(s.FromClause, f)
		Walk(s.WhereClause, f)
		walkList(s.GroupClause, f)
		Walk(s.HavingClause, f)
		walkList(s.WindowClause, f)
		walkList(s.ValuesLists, f)
		walkList(s.SortClause, f)
		Walk(s.LimitOffset, f)
		Walk(s.LimitCount, f)
		walkList(s.LockingClause, f)
		if s.Rarg != nil {
			Walk(&pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: s.Rarg}}, f)
		}
	}
}

func walkWith(w *pg.WithClause, f func(*pg.Node) bool) {
	if w != nil {
		walkList(w.Ctes, f)
	}
}

func walkList(l []*pg.Node, f func(*pg.Node) bool) {
	for _, n := range l {
		Walk(n, f)
	}
}

var nodeName = (*pg.Node)(nil).ProtoReflect().Descriptor().FullName()

// walkMessage finds the Nodes in the fields of any message.
func walkMessage(m protoreflect.Message, f func(*pg.Node) bool) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if fd.Kind() != protoreflect.MessageKind {
			return true
		}
		each := func(sub protoreflect.Message) {
			if fd.Message().FullName() == nodeName {
				Walk(sub.Interface().(*pg.Node), f)
				return
			}
			if s, ok := sub.Interface().(*pg.SelectStmt); ok {
				Walk(&pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: s}}, f)
				return
			}
			walkMessage(sub, f)
		}
		if fd.IsList() {
			l := v.List()
			for i := 0; i < l.Len(); i++ {
				each(l.Get(i).Message())
			}
			return true
		}
		each(v.Message())
		return true
	})
}

// Clone copies a tree, so that it can be changed.
func Clone(n *pg.Node) *pg.Node { return proto.Clone(n).(*pg.Node) }
