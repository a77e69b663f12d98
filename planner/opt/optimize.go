package opt

import (
	"context"
	"fmt"
	"sort"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Optimize plans a bound statement. params are the types of $1…; with
// ctx.ParamValues the plan is made for these values (and is not Cacheable),
// without it depends on none. The query is not changed.
//
// Errors: 0A000 for what is not supported, 54000 for a range table that is too large.
func Optimize(ctx *planner.Context, q *planner.Query, params []sqltypes.OID) (*planner.Plan, error) {
	p := &planning{ctx: ctx, env: ctx.Env, plan: &planner.Plan{Params: params, Cacheable: ctx.ParamValues == nil}, locks: map[sqltypes.OID]engine.RelLock{}}
	if p.env == nil {
		p.env = &sqltypes.Env{Ctx: context.Background(), Formats: sqltypes.DefaultFormats()}
	}
	p.plan.Role, p.plan.Permissions = ctx.Role, planner.Permissions(ctx.Catalog, q)
	q = expandWholeRows(cloneQuery(q))
	p.qualify = countEntries(q) > 1
	p.collectLocks(q)
	r := p.planQuery(nil, q, 0)
	if p.err != nil {
		return nil, p.err
	}
	pl := p.plan
	pl.Root = r.node
	pl.NumExecParams = p.nextExec
	pl.Command = commandWord(q.Command)
	pl.Columns = visibleColumns(q)
	if p.writes {
		pl.Class = planner.ClassWrite
	}
	if ctx.Catalog != nil {
		pl.Catalog, pl.CatalogVersion = ctx.Catalog, ctx.Catalog.Version
	}
	p.setRelations()
	if len(pl.Inits) == 0 && len(pl.CTEs) == 0 && len(pl.SubPlans) == 0 {
		pl.Point = pointPlan(pl)
		pl.Call = callPlan(pl)
	}
	return pl, nil
}

// planning is the state of one Optimize call.
type planning struct {
	ctx      *planner.Context
	env      *sqltypes.Env
	plan     *planner.Plan
	err      error // the first one; planning goes on and is thrown away
	nextExec int
	nextRef  int
	nextCTE  int
	planIDs  int // InitPlans, SubPlans and CTEs share PostgreSQL's numbering
	locks    map[sqltypes.OID]engine.RelLock
	names    map[sqltypes.OID]string
	writes   bool
	depth    int
	qualify  bool // EXPLAIN names columns with their relation
	variants int  // alternative ways of unnesting tried
	// keepSemi, when not nil, receives copies of the tests that become semi joins.
	keepSemi *[]expr.Expr
}

// maxDepth bounds the nesting of queries.
const maxDepth = 500

func (p *planning) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

func (p *planning) bug(format string, args ...any) {
	p.fail(pgerror.New(pgerror.InternalError, "planner: %s", fmt.Sprintf(format, args...)))
}

func (p *planning) newExecParam() int {
	p.nextExec++
	return p.nextExec - 1
}

func commandWord(c planner.Command) string {
	return [...]string{"SELECT", "INSERT", "UPDATE", "DELETE", "MERGE"}[c]
}

// visibleColumns describes what the client receives.
func visibleColumns(q *planner.Query) []planner.Column {
	list := q.Targets
	if q.Command != planner.CmdSelect {
		list = q.Returning
	}
	var out []planner.Column
	for _, t := range list {
		if !t.Junk {
			out = append(out, planner.Column{Name: t.Name, Type: t.Expr.Type(), TableOID: t.TableOID, Attr: t.Attr})
		}
	}
	return out
}

// collectLocks notes which relations the statement reads and writes, before
// rewriting can lose sight of any, and whether it writes at all.
func (p *planning) collectLocks(q *planner.Query) {
	if p.depth++; p.depth > maxDepth {
		p.fail(pgerror.New(pgerror.StatementTooComplex, "stack depth limit exceeded"))
		return
	}
	defer func() { p.depth-- }()
	for i, r := range q.Range {
		if r.Kind != planner.RTERelation || r.Rel == nil {
			continue
		}
		mode := engine.AccessShare
		if q.Command != planner.CmdSelect && i == q.ResultRel {
			mode = engine.RowExclusive
		}
		for _, m := range q.RowMarks {
			if m.Rel == i {
				mode = engine.RowShare
			}
		}
		p.lock(r.Rel, mode)
		if !r.Only && p.ctx.Catalog != nil {
			tree := p.ctx.Catalog.TreeFor(r.Rel, p.ctx.TempSchema)
			p.qualify = p.qualify || len(tree) > 1
			for _, m := range tree[1:] {
				p.lock(m, mode)
			}
		}
	}
	if q.Command != planner.CmdSelect || len(q.RowMarks) > 0 {
		p.writes = true
	}
	planner.VisitQuery(q, func(e expr.Expr) {
		planner.Visit(e, func(x expr.Expr) bool {
			switch n := x.(type) {
			case *planner.SubLink:
				p.collectLocks(n.Sub)
			case *expr.Call:
				p.writes = p.writes || n.Proc.Writes
			}
			return true
		})
	}, p.collectLocks)
}

func (p *planning) lock(r *catalog.Relation, mode engine.RelLock) {
	if p.names == nil {
		p.names = map[sqltypes.OID]string{}
	}
	if p.locks[r.OID] < mode {
		p.locks[r.OID] = mode
	}
	p.names[r.OID] = r.Name
}

func (p *planning) setRelations() {
	for oid, mode := range p.locks {
		p.plan.Relations = append(p.plan.Relations, planner.RelationLock{OID: oid, Mode: mode, Name: p.names[oid]})
	}
	sort.Slice(p.plan.Relations, func(i, j int) bool { return p.plan.Relations[i].OID < p.plan.Relations[j].OID })
}

// result is a planned query: its node's columns are the query's visible targets
// in order.
type result struct {
	node  planner.Node
	order []orderKey // over the visible targets
	deps  []int      // ExecParams of outer queries that it reads
	// unique: no two rows are alike.
	unique bool
}

// orderKey is one key of an ordering over columns of a node.
type orderKey struct {
	col        int
	desc       bool
	nullsFirst bool
}

// planQuery plans a query that it may change. parent is the query that contains
// it. tuples is how many rows the reader will take (0: all).
func (p *planning) planQuery(parent *level, q *planner.Query, tuples float64) result {
	if p.depth++; p.depth > maxDepth {
		p.fail(pgerror.New(pgerror.StatementTooComplex, "stack depth limit exceeded"))
		return result{node: &planner.Empty{}}
	}
	defer func() { p.depth-- }()
	lv := &level{p: p, parent: parent, q: q, tuples: tuples}
	if len(q.Range) > maxRels {
		p.fail(pgerror.New(pgerror.StatementTooComplex, "too many range table entries"))
	}
	if p.err != nil {
		return result{node: &planner.Empty{}}
	}
	lv.planCTEs()
	var r result
	switch {
	case q.SetOp != nil:
		r = lv.planSetOp()
	case q.Command == planner.CmdSelect:
		r = lv.planSelect()
	default:
		r = lv.planModify()
	}
	r.deps = lv.depList()
	if r.node == nil {
		r.node = &planner.Empty{}
	}
	return r
}
