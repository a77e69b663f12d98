package bind

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// CurrentOfFunc registers what tells where a cursor stands: f(cursor, relation,
// name of an identifying column) is that column's value in the cursor's row.
func CurrentOfFunc(f sqltypes.ScalarFunc) { currentOfFunc = f }

var currentOfFunc sqltypes.ScalarFunc

// RowIdentity names the columns that tell the rows of a table apart for WHERE
// CURRENT OF: those of the table's own key, or ctid, which is exact without one.
func RowIdentity(rel *catalog.Relation) []string {
	for _, ix := range rel.Indexes {
		if !ix.Clustered {
			continue
		}
		var out []string
		for _, k := range ix.Keys {
			out = append(out, rel.Columns[k.Attr-1].Name)
		}
		return out
	}
	return []string{"ctid"}
}

// currentOf is WHERE CURRENT OF cursor: equality of the identifying columns with
// those of the cursor's row, which is asked for when the statement runs.
func (s *scope) currentOf(x *pg.CurrentOfExpr) expr.Expr {
	b, t := s.b, s.target
	if t == nil {
		b.unsupported(-1, "WHERE CURRENT OF")
	}
	rel := s.q.Range[t.rel].Rel
	if t.relOID != rel.OID {
		b.fail(-1, pgerror.FeatureNotSupported, "WHERE CURRENT OF on a view is not implemented")
	}
	if rel.TimeSeries {
		b.unsupported(-1, "WHERE CURRENT OF of a time-series table")
	}
	eq := []*pg.Node{{Node: &pg.Node_String_{String_: &pg.String{Sval: "pg_catalog"}}}, {Node: &pg.Node_String_{String_: &pg.String{Sval: "="}}}}
	var conds []expr.Expr
	for _, name := range RowIdentity(rel) {
		col := t.column(name, 0, -1)
		p := &sqltypes.Proc{Name: "current_of", Kind: 'f', Volatility: sqltypes.Stable, Namespace: catalog.SchemaOstraka, Node: true,
			ArgTypes: []sqltypes.OID{sqltypes.OIDText, sqltypes.OIDOid, sqltypes.OIDText}, RetType: col.Type().OID, Lang: 12, Parallel: 'r', Fn: currentOfFunc}
		str := func(v string) expr.Expr {
			return &expr.Const{T: tt(b.columnType(sqltypes.OIDText)), Val: sqltypes.Text(v)}
		}
		call := &expr.Call{T: tt(col.Type()), Proc: p, Args: []expr.Expr{str(x.CursorName),
			&expr.Const{T: tt(b.columnType(sqltypes.OIDOid)), Val: sqltypes.Int(int64(rel.OID))}, str(name)}}
		conds = append(conds, s.makeOp(eq, col, call, -1))
	}
	return and(conds...)
}
