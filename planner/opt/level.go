package opt

import (
	"sort"

	"ostraka/expr"
	"ostraka/planner"
)

// level is one query being planned.
type level struct {
	p      *planning
	parent *level
	q      *planner.Query // a copy of our own
	tuples float64        // rows the reader takes; 0: all

	ctes   map[*planner.CTEQuery]*planner.CTE
	cteEst map[*planner.CTEQuery]*planner.Estimate

	// work is the recursive query whose two terms are right below this level.
	work *planner.CTE
	// params are this level's columns that lower plans read, by ExecParam.
	params map[string]int
	// owned tells for an ExecParam in params which expression it is (a Var, or an
	// aggregate that belongs to this level but stands in a subquery).
	owned map[int]expr.Expr
	// deps are ExecParams that belong to levels above and are read at or below this one.
	deps map[int]*level

	rels     []*rel // by range index; nil: not in FROM
	allRels  relSet
	sjs      []*specialJoin
	clauses  []*clause // over two or more relations
	classes  []*eqClass
	byMember map[string]*eqClass
	trees    map[int][]*member
	used     map[varKey]bool // columns that anything above the scans reads
	refSlots map[int]int     // range index → RefSlot
	// pending are columns that nodes being built read by ExecParam and that a nested
	// loop further up must set.
	pending []nestNeed
	// recheckExtra are subquery tests that became semi joins, for rechecks.
	recheckExtra []expr.Expr
	// interesting are orderings (orderID of their first key) that something can use.
	interesting map[string]bool
	nullable    relSet // relations on the inner side of an outer join
	// constFalse: the whole condition can never hold.
	constFalse bool
	oneTime    []expr.Expr // conditions without columns
}

// nestNeed is a column that a nested loop passes to its right side. Each loop has
// ExecParams of its own: in batches, one may be restarted while another is half done.
type nestNeed struct {
	v  *planner.Var
	id int
}

// varKey names a column of one level.
type varKey struct{ rel, col int }

func keyOf(v *planner.Var) varKey { return varKey{v.Rel, v.Col} }

// outerParam is the ExecParam under which lower plans read one of lv's columns.
func (lv *level) outerParam(v expr.Expr) int {
	k := exprKey(v)
	if id, ok := lv.params[k]; ok {
		return id
	}
	if lv.params == nil {
		lv.params = map[string]int{}
	}
	if lv.owned == nil {
		lv.owned = map[int]expr.Expr{}
	}
	id := lv.p.newExecParam()
	lv.params[k], lv.owned[id] = id, v
	return id
}

// outerVar replaces a Var of a query above by an ExecParam and notes the
// dependency on every level between.
func (lv *level) outerVar(v *planner.Var) expr.Expr {
	owner := lv
	for i := 0; i < v.Level; i++ {
		if owner = owner.parent; owner == nil {
			lv.p.bug("column %s refers to a query that is not there", v.Name)
			return nullConst(v.Typ)
		}
	}
	own := *v
	own.Level = 0
	id := owner.outerParam(&own)
	for l := lv; l != owner; l = l.parent {
		if l.deps == nil {
			l.deps = map[int]*level{}
		}
		l.deps[id] = owner
	}
	return &expr.ExecParam{T: v.T, ID: id, Name: owner.varName(v)}
}

func (lv *level) varName(v *planner.Var) string {
	if v.Rel >= 0 && v.Rel < len(lv.q.Range) {
		return lv.q.Range[v.Rel].Alias + "." + v.Name
	}
	return v.Name
}

func (lv *level) depList() []int {
	var out []int
	for id := range lv.deps {
		out = append(out, id)
	}
	sort.Ints(out)
	return out
}

// argsFor are the columns of this level that a plan below, with these
// dependencies, needs set before it runs.
func (lv *level) argsFor(deps []int) (ids []int, vars []expr.Expr) {
	for _, id := range deps {
		if v := lv.owned[id]; v != nil {
			ids = append(ids, id)
			vars = append(vars, v)
		}
	}
	return ids, vars
}

// rte returns the range-table entry.
func (lv *level) rte(i int) *planner.RTE { return lv.q.Range[i] }

// mapExprs sends every root expression of the level's own query through f, in place.
func (lv *level) mapExprs(f func(expr.Expr) expr.Expr) {
	q := lv.q
	one := func(e *expr.Expr) {
		if *e != nil {
			*e = f(*e)
		}
	}
	for i := range q.Targets {
		one(&q.Targets[i].Expr)
	}
	for i := range q.Returning {
		one(&q.Returning[i].Expr)
	}
	one(&q.Where)
	one(&q.Having)
	one(&q.Limit)
	one(&q.Offset)
	for i := range q.From {
		mapItem(q.From[i], f)
	}
	for _, r := range q.Range {
		for i, c := range r.Calls {
			if y, ok := f(c).(*expr.Call); ok {
				r.Calls[i] = y
			}
		}
		for _, row := range r.Values {
			for i := range row {
				one(&row[i])
			}
		}
		for i := range r.SecurityQuals {
			one(&r.SecurityQuals[i])
		}
		if r.Sample != nil {
			one(&r.Sample.Percent)
			one(&r.Sample.Seed)
		}
	}
	for i := range q.Windows {
		one(&q.Windows[i].Frame.Start.Offset)
		one(&q.Windows[i].Frame.End.Offset)
	}
	if c := q.OnConflict; c != nil {
		for i := range c.Set {
			one(&c.Set[i].Expr)
		}
		one(&c.Where)
	}
	for i := range q.Policies {
		one(&q.Policies[i].Cond)
	}
	for i := range q.Merge {
		a := &q.Merge[i]
		one(&a.Cond)
		for j := range a.Set {
			one(&a.Set[j].Expr)
		}
	}
}

func mapItem(it planner.JoinItem, f func(expr.Expr) expr.Expr) {
	if it.Join == nil {
		return
	}
	mapItem(it.Join.Left, f)
	mapItem(it.Join.Right, f)
	if it.Join.On != nil {
		it.Join.On = f(it.Join.On)
	}
}

// itemRels is the set of relations below a join item.
func itemRels(it planner.JoinItem) relSet {
	if it.Join == nil {
		return relOf(it.Rel)
	}
	return itemRels(it.Join.Left).union(itemRels(it.Join.Right))
}
