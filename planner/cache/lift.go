package cache

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/planner/parse"
	"ostraka/sqltypes"
)

// slot says what becomes of one literal of the text.
type slot struct {
	param  int  // 1-based parameter, 0: part of the key by value
	negate bool // the grammar folded a minus sign into it
	typ    *sqltypes.Type
}

// lift replaces the constants of a statement's tree that stand for literals of
// the text by parameters. Constants whose value the binder or the optimiser
// looks at stay: positions in ORDER BY and GROUP BY, LIMIT, intervals with
// fields, patterns, the sole argument of a function. It changes the tree.
func lift(stmt *pg.Node, sql string, lits []literal) (slots []slot, params []sqltypes.OID) {
	slots = make([]slot, len(lits))
	at := make(map[int32]int, len(lits))
	for i, l := range lits {
		at[l.start] = i
	}
	l := lifter{sql: sql, lits: lits, at: at, slots: slots, keep: map[*pg.Node]bool{}}
	parse.Walk(stmt, l.mark)
	parse.Walk(stmt, l.replace)
	return slots, l.params
}

type lifter struct {
	sql    string
	lits   []literal
	at     map[int32]int
	slots  []slot
	params []sqltypes.OID
	keep   map[*pg.Node]bool // constants that must stay
}

// mark finds the constants that must stay.
func (l *lifter) mark(n *pg.Node) bool {
	keepAll := func(list []*pg.Node) {
		for _, x := range list {
			l.stay(x)
		}
	}
	switch x := n.Node.(type) {
	case *pg.Node_SelectStmt:
		for s := x.SelectStmt; s != nil; s = s.Larg {
			keepAll(s.GroupClause)
			keepAll(s.DistinctClause)
			if matchesTargets(s) {
				for _, list := range [][]*pg.Node{s.TargetList, s.GroupClause, s.DistinctClause, s.SortClause, s.WindowClause, {s.HavingClause}} {
					for _, x := range list {
						parse.Walk(x, func(c *pg.Node) bool {
							l.stay(c)
							return true
						})
					}
				}
			}
			for _, o := range s.SortClause {
				l.stay(o.GetSortBy().GetNode())
			}
			l.stay(s.LimitCount)
		}
	case *pg.Node_FuncCall:
		if len(x.FuncCall.Args) == 1 {
			l.stay(x.FuncCall.Args[0])
		}
		for _, o := range x.FuncCall.AggOrder {
			l.stay(o.GetSortBy().GetNode())
		}
	case *pg.Node_TypeCast:
		if names := x.TypeCast.TypeName.GetNames(); len(names) > 0 {
			switch name := names[len(names)-1].GetString_().GetSval(); {
			case name == "interval", strings.HasPrefix(name, "reg"):
				l.stay(x.TypeCast.Arg)
			}
		}
	case *pg.Node_AExpr:
		switch x.AExpr.Kind {
		case pg.A_Expr_Kind_AEXPR_LIKE, pg.A_Expr_Kind_AEXPR_ILIKE, pg.A_Expr_Kind_AEXPR_SIMILAR:
			l.stay(x.AExpr.Rexpr)
		}
		if len(x.AExpr.Name) == 1 {
			switch x.AExpr.Name[0].GetString_().GetSval() {
			case "/", "%":
				// Division of constants is evaluated, and fails, while planning.
				parse.Walk(n, func(c *pg.Node) bool {
					l.stay(c)
					return true
				})
			case "~", "~*", "!~", "!~*", "~~", "~~*", "!~~", "!~~*":
				l.stay(x.AExpr.Rexpr)
			}
		}
	case *pg.Node_GroupingSet:
		keepAll(x.GroupingSet.Content)
	case *pg.Node_RangeFunction, *pg.Node_RangeTableSample, *pg.Node_DefElem, *pg.Node_XmlExpr:
		return false
	}
	return true
}

// matchesTargets reports that GROUP BY, DISTINCT ON, ORDER BY or a window has
// expressions, which are compared with those of the target list: equal literals must
// stay equal.
func matchesTargets(s *pg.SelectStmt) bool {
	computed := func(list []*pg.Node) bool {
		for _, n := range list {
			if o := n.GetSortBy(); o != nil {
				n = o.Node
			}
			if n != nil && n.GetNode() != nil && n.GetColumnRef() == nil && n.GetAConst() == nil {
				return true
			}
		}
		return false
	}
	found := computed(s.GroupClause) || computed(s.DistinctClause) || computed(s.SortClause)
	for _, w := range s.WindowClause {
		found = found || computed(w.GetWindowDef().PartitionClause) || computed(w.GetWindowDef().OrderClause)
	}
	for _, t := range s.TargetList {
		if found {
			break
		}
		parse.Walk(t, func(n *pg.Node) bool {
			if o := n.GetFuncCall().GetOver(); o != nil {
				found = found || computed(o.PartitionClause) || computed(o.OrderClause)
			}
			return !found
		})
	}
	return found
}

func (l *lifter) stay(n *pg.Node) {
	if n.GetAConst() != nil {
		l.keep[n] = true
	}
	if r := n.GetRowExpr(); r != nil {
		for _, a := range r.Args {
			l.stay(a)
		}
	}
}

// replace turns the constants that may vary into parameters.
func (l *lifter) replace(n *pg.Node) bool {
	switch n.Node.(type) {
	case *pg.Node_RangeFunction, *pg.Node_RangeTableSample, *pg.Node_DefElem, *pg.Node_XmlExpr:
		return false
	}
	c := n.GetAConst()
	if c == nil || c.Isnull || l.keep[n] || c.Location < 0 {
		return true // without a location: the grammar made it (substring(s FOR n))
	}
	i, ok := l.at[c.Location]
	negate := false
	if !ok && int(c.Location) < len(l.sql) && l.sql[c.Location] == '-' {
		// -5: the constant begins at the sign.
		j := c.Location + 1
		for int(j) < len(l.sql) && byteClass[l.sql[j]] == bSpace {
			j++
		}
		i, ok = l.at[j]
		negate = true
	}
	if !ok || l.slots[i].param != 0 {
		return true
	}
	lit := l.lits[i]
	oid := sqltypes.OID(0)
	switch v := c.Val.(type) {
	case *pg.A_Const_Sval:
		if lit.class != classString || negate {
			return true
		}
	case *pg.A_Const_Ival, nil:
		if lit.class != classInt4 {
			return true
		}
		oid = sqltypes.OIDInt4
	case *pg.A_Const_Fval:
		_ = v
		switch lit.class {
		case classInt8:
			oid = sqltypes.OIDInt8
		case classNumeric:
			oid = sqltypes.OIDNumeric
		default:
			return true
		}
	default:
		return true
	}
	l.params = append(l.params, oid)
	l.slots[i] = slot{param: len(l.params), negate: negate}
	n.Node = &pg.Node_ParamRef{ParamRef: &pg.ParamRef{Number: int32(len(l.params)), Location: c.Location}}
	return true
}

// timeWords are literals whose meaning changes with the clock: a plan must not keep them.
func timeWord(s string) bool {
	s = strings.ToLower(strings.TrimLeft(s, " \t\n"))
	for _, w := range [...]string{"now", "today", "tomorrow", "yesterday"} {
		if strings.HasPrefix(s, w) {
			return true
		}
	}
	return false
}
