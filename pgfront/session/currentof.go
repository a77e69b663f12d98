package session

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/proto"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// WHERE CURRENT OF: a cursor's query has hidden columns behind its own, which
// identify the rows of the tables that it reads. The statement asks for their
// values in the row where the cursor stands.

func init() {
	bind.CurrentOfFunc(func(c *sqltypes.Call, args []sqltypes.Datum) (sqltypes.Datum, error) {
		s, ok := sessionOf(c)
		if !ok {
			return sqltypes.Null, pgerror.NotSupported("WHERE CURRENT OF outside of a session")
		}
		return s.currentOf(args[0].S, sqltypes.OID(args[1].I), args[2].S)
	})
}

// cursorRel is a table of a cursor's query.
type cursorRel struct {
	oid    sqltypes.OID
	cols   []string // the identifying columns
	at     int      // of the first hidden column
	locked bool     // FOR UPDATE, FOR SHARE
}

// cursorRels adds the identifying columns of the tables in a query's FROM to its
// columns; nil when there is nothing to add.
func (s *Session) cursorRels(text string, query *pg.Node) (*pg.Node, []cursorRel) {
	x := query.GetSelectStmt()
	if x == nil || x.Op != pg.SetOperation_SETOP_NONE || len(x.ValuesLists) > 0 || len(x.GroupClause) > 0 || len(x.DistinctClause) > 0 || len(x.FromClause) == 0 {
		return nil, nil
	}
	ctes := map[string]bool{}
	for _, n := range x.GetWithClause().GetCtes() {
		ctes[n.GetCommonTableExpr().GetCtename()] = true
	}
	var vars []*pg.RangeVar
	var walk func(n *pg.Node)
	walk = func(n *pg.Node) {
		switch v := n.GetNode().(type) {
		case *pg.Node_RangeVar:
			if v.RangeVar.Schemaname != "" || !ctes[v.RangeVar.Relname] {
				vars = append(vars, v.RangeVar)
			}
		case *pg.Node_JoinExpr:
			walk(v.JoinExpr.Larg)
			walk(v.JoinExpr.Rarg)
		}
	}
	for _, n := range x.FromClause {
		walk(n)
	}
	var rels []cursorRel
	out := proto.Clone(x).(*pg.SelectStmt)
	at := 0
	for _, rv := range vars {
		rel, err := s.relation(text, rv)
		if err != nil || rel.Kind != catalog.KindTable || rel.TimeSeries {
			continue
		}
		alias := rv.Relname
		if rv.Alias != nil {
			alias = rv.Alias.Aliasname
			if len(rv.Alias.Colnames) > 0 {
				continue // the columns have other names
			}
		}
		r := cursorRel{oid: rel.OID, cols: bind.RowIdentity(rel), at: at, locked: locksAlias(x, alias)}
		for _, c := range r.cols {
			out.TargetList = append(out.TargetList, hiddenTarget(alias, c))
			at++
		}
		rels = append(rels, r)
	}
	if len(rels) == 0 {
		return nil, nil
	}
	return &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: out}}, rels
}

func hiddenTarget(alias, col string) *pg.Node {
	str := func(v string) *pg.Node { return &pg.Node{Node: &pg.Node_String_{String_: &pg.String{Sval: v}}} }
	ref := &pg.ColumnRef{Fields: []*pg.Node{str(alias), str(col)}, Location: -1}
	return &pg.Node{Node: &pg.Node_ResTarget{ResTarget: &pg.ResTarget{Val: &pg.Node{Node: &pg.Node_ColumnRef{ColumnRef: ref}}, Location: -1}}}
}

// locksAlias reports a FOR UPDATE or FOR SHARE of a range-table entry.
func locksAlias(x *pg.SelectStmt, alias string) bool {
	for _, n := range x.LockingClause {
		l := n.GetLockingClause()
		if len(l.LockedRels) == 0 {
			return true
		}
		for _, r := range l.LockedRels {
			if r.GetRangeVar().GetRelname() == alias {
				return true
			}
		}
	}
	return false
}

// compileCursor plans a cursor's query, with hidden columns where that is possible.
func (s *Session) compileCursor(p, q *prepared, query *pg.Node) (*prepared, []cursorRel, error) {
	if with, rels := s.cursorRels(p.text, query); with != nil {
		h := s.innerStatement(p, with)
		h.declared = q.declared
		if s.compile(h, s.catalog()) == nil {
			return h, rels, nil
		}
	}
	return q, nil, s.compile(q, s.catalog())
}

func hiddenColumns(rels []cursorRel) int {
	n := 0
	for _, r := range rels {
		n += len(r.cols)
	}
	return n
}

// keep remembers the hidden columns of the row that a cursor passes.
func (p *portal) keep(b *expr.Batch, row int) {
	if p.hidden == 0 {
		return
	}
	p.here = p.here[:0]
	for _, c := range b.Cols[len(p.cols) : len(p.cols)+p.hidden] {
		d := c.Datum(row)
		d.S = strings.Clone(d.S)
		p.here = append(p.here, d)
	}
}

// currentOf is an identifying column of the row of a table on which a cursor
// stands (PostgreSQL's execCurrentOf).
func (s *Session) currentOf(cursor string, rel sqltypes.OID, col string) (sqltypes.Datum, error) {
	p := s.portals[cursor]
	if p == nil {
		return sqltypes.Null, pgerror.New(pgerror.InvalidCursorName, `cursor "%s" does not exist`, cursor)
	}
	bad := func(format string, args ...any) (sqltypes.Datum, error) {
		return sqltypes.Null, pgerror.New(pgerror.InvalidCursorState, `cursor "%s" `+format, append([]any{cursor}, args...)...)
	}
	if p.plan == nil || p.p.cols == nil {
		return bad("is not a SELECT query")
	}
	if p.held {
		return bad("is held from a previous transaction")
	}
	name := ""
	if r := s.catalog().Relation(rel); r != nil {
		name = r.Name
	}
	var found *cursorRel
	locks := false
	for i := range p.rels {
		r := &p.rels[i]
		locks = locks || r.locked
		if r.oid != rel || len(p.p.stmt.AST.GetSelectStmt().GetLockingClause()) > 0 && !r.locked {
			continue
		}
		if found != nil {
			if r.locked {
				return bad(`has multiple FOR UPDATE/SHARE references to table "%s"`, name)
			}
			return bad(`is not a simply updatable scan of table "%s"`, name)
		}
		found = r
	}
	switch {
	case found == nil && locks:
		return bad(`does not have a FOR UPDATE/SHARE reference to table "%s"`, name)
	case found == nil || !found.locked && !simpleScan(p.plan.Root):
		return bad(`is not a simply updatable scan of table "%s"`, name)
	case p.pos == 0 || p.atEnd() || len(p.here) == 0:
		return bad("is not positioned on a row")
	}
	for i, c := range found.cols {
		if c == col {
			return p.here[found.at+i], nil
		}
	}
	return bad(`is not a simply updatable scan of table "%s"`, name)
}

// simpleScan reports a plan that does no more than scan one table.
func simpleScan(n planner.Node) bool {
	switch v := n.(type) {
	case *planner.Scan:
		return true
	case *planner.Project:
		return simpleScan(v.Input)
	case *planner.Filter:
		return simpleScan(v.Input)
	case *planner.Limit:
		return simpleScan(v.Input)
	}
	return false
}
