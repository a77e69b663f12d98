package session

import (
	"strings"
	"time"

	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/proto"

	"ostraka/expr"
	"ostraka/pgfront/settings"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// explainOptions reads EXPLAIN's option list.
func explainOptions(n *pg.ExplainStmt, text string) (o ExplainOptions, err error) {
	o.Costs, o.Format = true, "text"
	timingSet, summarySet := false, false
	for _, node := range n.Options {
		d := node.GetDefElem()
		val := true
		if d.Arg != nil && d.Defname != "format" {
			v, ok := settings.ParseBool(constText(d.Arg))
			if !ok {
				return o, pgerror.New(pgerror.SyntaxError, "%s requires a Boolean value", d.Defname)
			}
			val = v
		}
		switch d.Defname {
		case "analyze":
			o.Analyze = val
		case "verbose":
			o.Verbose = val
		case "costs":
			o.Costs = val
		case "settings":
			o.Settings = val
		case "buffers":
			o.Buffers = val
		case "wal":
			o.WAL = val
		case "timing":
			o.Timing, timingSet = val, true
		case "summary":
			o.Summary, summarySet = val, true
		case "format":
			o.Format = strings.ToLower(constText(d.Arg))
			switch o.Format {
			case "text", "json", "xml", "yaml":
			default:
				return o, pgerror.New(pgerror.InvalidParameterValue, `unrecognized value for EXPLAIN option "%s": "%s"`, d.Defname, constText(d.Arg)).At(charPos(text, d.Location))
			}
		default:
			return o, pgerror.New(pgerror.SyntaxError, `unrecognized EXPLAIN option "%s"`, d.Defname).At(charPos(text, d.Location))
		}
	}
	if o.WAL && !o.Analyze {
		return o, pgerror.New(pgerror.InvalidParameterValue, "EXPLAIN option WAL requires ANALYZE")
	}
	if o.Timing && timingSet && !o.Analyze {
		return o, pgerror.New(pgerror.InvalidParameterValue, "EXPLAIN option TIMING requires ANALYZE")
	}
	if !timingSet {
		o.Timing = o.Analyze
	}
	if !summarySet {
		o.Summary = o.Analyze
	}
	return o, nil
}

func explainColumn(format string) []planner.Column {
	c := textColumn("QUERY PLAN")
	switch format {
	case "json":
		c.Type.OID = sqltypes.OIDJson
	case "xml":
		c.Type.OID = sqltypes.OIDXml
	}
	return []planner.Column{c}
}

func (s *Session) explainColumns(p *prepared, n *pg.ExplainStmt) ([]planner.Column, []sqltypes.OID, error) {
	o, err := explainOptions(n, p.text)
	if err != nil {
		return nil, nil, err
	}
	params := p.declared
	if plannable(n.Query) {
		inner := s.innerStatement(p, n.Query)
		if err := s.compile(inner, s.catalog()); err != nil {
			return nil, nil, err
		}
		params = inner.params
	}
	return explainColumn(o.Format), params, nil
}

// explainStmt is EXPLAIN [ANALYZE].
func (s *Session) explainStmt(p *prepared, n *pg.ExplainStmt, outer *portal) (*outcome, error) {
	o, err := explainOptions(n, p.text)
	if err != nil {
		return nil, err
	}
	if s.deps.Explainer == nil {
		return nil, pgerror.NotSupported("EXPLAIN")
	}
	before := s.now()
	po, err := s.explained(p, n, outer)
	if err != nil {
		return nil, err
	}
	defer po.close()
	o.PlanningTime = millis(s.now().Sub(before))
	if cat := s.catalog(); cat != nil {
		if err := planner.Permitted(cat, s.role.OID, s.role.Super, po.plan.Permissions); err != nil {
			return nil, err
		}
	}
	var exec Execution
	if o.Analyze {
		before = s.now()
		po.instrument = true
		if err := s.start(po); err != nil {
			return nil, err
		}
		exec = po.exec
		keep := po.release
		po.exec, po.release = &kept{Execution: exec}, nil
		_, _, err := po.forward(0, func(*expr.Batch, int) error { return nil })
		if err == nil {
			o.ExecutionTime = millis(s.now().Sub(before))
			defer keep()
			defer exec.Close()
		} else {
			exec.Close()
			keep()
			return nil, err
		}
	}
	lines, err := s.deps.Explainer.Explain(s.planContext(s.catalog(), p.text, nil), po.plan, exec, o)
	if err != nil {
		return nil, err
	}
	if o.Format != "text" {
		lines = []string{strings.Join(lines, "\n")}
	}
	rows := make([][]sqltypes.Datum, len(lines))
	for i, l := range lines {
		rows[i] = []sqltypes.Datum{sqltypes.Text(l)}
	}
	return rowsOutcome(explainColumn(o.Format), rows, "EXPLAIN"), nil
}

// kept hides Close from the portal, so that the explainer can read the finished execution.
type kept struct{ Execution }

func (kept) Close() {}

// explained binds the statement to explain: a query, or EXECUTE.
func (s *Session) explained(p *prepared, n *pg.ExplainStmt, outer *portal) (*portal, error) {
	if ex := n.Query.GetExecuteStmt(); ex != nil {
		q := s.stmts[ex.Name]
		if q == nil || ex.Name == "" {
			return nil, pgerror.New(pgerror.InvalidSqlStatementName, `prepared statement "%s" does not exist`, ex.Name)
		}
		return s.boundPortal(p, q, ex)
	}
	node := n.Query
	if c := node.GetCreateTableAsStmt(); c != nil {
		if ex := c.Query.GetExecuteStmt(); ex != nil {
			return s.explained(p, &pg.ExplainStmt{Query: c.Query, Options: n.Options}, outer)
		}
		node = c.Query
	}
	if sel := node.GetSelectStmt(); sel != nil && sel.IntoClause != nil {
		sel = proto.Clone(sel).(*pg.SelectStmt)
		sel.IntoClause = nil
		node = &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: sel}}
	}
	if d := node.GetDeclareCursorStmt(); d != nil {
		node = d.Query
	}
	if !plannable(node) {
		return nil, pgerror.NotSupported("EXPLAIN of this statement")
	}
	q := s.innerStatement(p, node)
	q.explain = true
	var args []sqltypes.Datum
	if outer != nil {
		args, q.declared = outer.args, p.params
	}
	if err := s.compile(q, s.catalog()); err != nil {
		return nil, err
	}
	return &portal{s: s, p: q, plan: q.plan, cols: q.cols, args: args}, nil
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
