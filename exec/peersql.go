package exec

import (
	"strings"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// peerSQL says expressions over the rows of a time-series table in SQL that means the
// same in every session: names qualified, constants with their values and types.
type peerSQL struct {
	x    *Execution // nil: only whether it can be said, values left out
	scan *planner.Scan
	no   bool // something could not be said
	err  error
	// zone: the session's time zone matters.
	zone bool
}

// zoned are functions whose result depends on the session's time zone and on nothing
// else of the session.
var zoned = map[string]bool{"date_trunc": true, "date_part": true, "extract": true, "date": true, "timestamp": true, "timestamptz": true, "timezone": true, "time": true}

const collationDefault sqltypes.OID = 100

// fixedCollation: comparing needs no collation that a text would have to name.
func fixedCollation(oid sqltypes.OID) bool { return oid == 0 || oid == collationDefault }

func (q *peerSQL) fail() string {
	q.no = true
	return ""
}

// text is an expression in SQL, "" after a failure.
func (q *peerSQL) text(e expr.Expr) string {
	if q.no {
		return ""
	}
	if constant(e) {
		return q.value(e)
	}
	switch n := e.(type) {
	case *expr.Col:
		if n.Idx >= len(q.scan.Attrs) || q.scan.Attrs[n.Idx] <= 0 {
			return q.fail()
		}
		return sqltypes.QuoteIdent(q.scan.Rel.Columns[q.scan.Attrs[n.Idx]-1].Name)
	case *expr.Call:
		return q.call(n)
	case *expr.Relabel:
		return q.cast(q.text(n.Arg), n.Typ.OID)
	case *expr.And:
		return q.all(n.Args, " AND ")
	case *expr.Or:
		return q.all(n.Args, " OR ")
	case *expr.Not:
		return "(NOT " + q.text(n.Arg) + ")"
	case *expr.NullTest:
		if n.Row {
			return q.fail()
		}
		if n.IsNot {
			return "(" + q.text(n.Arg) + " IS NOT NULL)"
		}
		return "(" + q.text(n.Arg) + " IS NULL)"
	case *expr.BoolTest:
		not := map[bool]string{true: "NOT "}[n.IsNot]
		return "(" + q.text(n.Arg) + " IS " + not + map[int8]string{1: "TRUE", 0: "FALSE", -1: "UNKNOWN"}[n.Value] + ")"
	case *expr.Coalesce:
		return "COALESCE" + q.all(n.Args, ", ")
	case *expr.ArrayOp:
		if !internal(n.Proc) || !fixedCollation(n.Collation) {
			return q.fail()
		}
		how := map[bool]string{true: "ALL", false: "ANY"}[n.All]
		return "(" + q.text(n.Left) + " OPERATOR(pg_catalog." + n.Op + ") " + how + " (" + q.text(n.Array) + "))"
	case *expr.Case:
		return q.choice(n)
	}
	return q.fail()
}

func (q *peerSQL) all(list []expr.Expr, between string) string {
	var out []string
	for _, e := range list {
		out = append(out, q.text(e))
	}
	return "(" + strings.Join(out, between) + ")"
}

func (q *peerSQL) choice(n *expr.Case) string {
	if n.Arg != nil {
		return q.fail()
	}
	b := "(CASE"
	for _, w := range n.Whens {
		b += " WHEN " + q.text(w.Cond) + " THEN " + q.text(w.Result)
	}
	if n.Else != nil {
		b += " ELSE " + q.text(n.Else)
	}
	return b + " END)"
}

// internal: a function of the product that gives the same for the same arguments.
func internal(p *sqltypes.Proc) bool {
	return p.Namespace == sqltypes.NamespaceCatalog && p.Kind == 'f' && p.Lang == 12 && !p.RetSet && p.Volatility == sqltypes.Immutable && p.Rollup == 0 && p.Gapfill == nil
}

func (q *peerSQL) call(n *expr.Call) string {
	p := n.Proc
	if p.Volatility == sqltypes.Stable && zoned[p.Name] && p.Namespace == sqltypes.NamespaceCatalog && p.Lang == 12 {
		q.zone = true
	} else if !internal(p) {
		return q.fail()
	}
	if n.VariadicArray || p.Variadic != 0 || !fixedCollation(n.Collation) {
		return q.fail()
	}
	if n.Op != "" {
		op := " OPERATOR(pg_catalog." + n.Op + ") "
		switch len(n.Args) {
		case 1:
			return "(" + op + q.text(n.Args[0]) + ")"
		case 2:
			return "(" + q.text(n.Args[0]) + op + q.text(n.Args[1]) + ")"
		}
		return q.fail()
	}
	return "pg_catalog." + sqltypes.QuoteIdent(p.Name) + q.all(n.Args, ", ")
}

// value is the value of an expression that reads no row.
func (q *peerSQL) value(e expr.Expr) string {
	typ := sqltypes.TypeByOID(e.Type().OID)
	if typ == nil || typ.Out == nil || typ.OID == sqltypes.OIDUnknown || typ.OID == sqltypes.OIDRecord {
		return q.fail()
	}
	if q.x == nil || q.err != nil {
		return "NULL"
	}
	p, err := q.x.compile(e)
	if err == nil {
		var d sqltypes.Datum
		if d, err = q.x.scalar(p); err == nil {
			return q.literal(typ, d)
		}
	}
	q.err = err
	return ""
}

func (q *peerSQL) literal(typ *sqltypes.Type, d sqltypes.Datum) string {
	if d.Null {
		return q.cast("NULL", typ.OID)
	}
	env := &sqltypes.Env{Formats: sqltypes.DefaultFormats()}
	return q.cast(sqltypes.QuoteLiteral(string(typ.Out(env, nil, d))), typ.OID)
}

func (q *peerSQL) cast(text string, oid sqltypes.OID) string {
	if sqltypes.TypeByOID(oid) == nil {
		return q.fail()
	}
	return "(" + text + "::" + sqltypes.FormatType(oid, -1) + ")"
}

// where is the filter of the scan. none: it is about buckets that the nodes have
// stored, each its own, which are not asked for.
func (q *peerSQL) where() (text string, none bool) {
	if q.scan.Filter == nil {
		return "", false
	}
	var conds []string
	for _, e := range conjunction(q.scan.Filter) {
		if c, ok := e.(*expr.Call); ok && c.Proc.Rollup != 0 {
			switch c.Proc.Rollup {
			case 's':
				return "", true
			case 'b':
				conds = append(conds, "pg_catalog."+c.Proc.Name+q.all(c.Args, ", "))
			}
			continue
		}
		conds = append(conds, q.text(e))
	}
	return strings.Join(conds, " AND "), false
}
