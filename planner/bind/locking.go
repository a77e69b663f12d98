package bind

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/planner"
	"ostraka/sqltypes/pgerror"
)

// checkLockable is CheckSelectLocking.
func (b *binder) checkLockable(q *planner.Query, name string) {
	what := ""
	switch {
	case q.SetOp != nil:
		what = "UNION/INTERSECT/EXCEPT"
	case q.Distinct:
		what = "DISTINCT clause"
	case len(q.GroupBy) > 0 || q.GroupSets != nil:
		what = "GROUP BY clause"
	case q.Having != nil:
		what = "HAVING clause"
	case q.HasAggs:
		what = "aggregate functions"
	case q.HasWindow:
		what = "window functions"
	case q.HasTargetSRF:
		what = "set-returning functions in the target list"
	}
	if what != "" {
		b.fail(-1, pgerror.FeatureNotSupported, "%s is not allowed with %s", name, what)
	}
}

// lockingClause is transformLockingClause.
func (s *scope) lockingClause(lc *pg.LockingClause, pushed bool) {
	b := s.b
	mode, wait := lockModes(lc)
	name := lockName(lc.Strength)
	b.checkLockable(s.q, name)
	if len(lc.LockedRels) == 0 {
		b.lockAll(s.q, mode, wait, name)
		return
	}
	for _, r := range lc.LockedRels {
		rv := r.GetRangeVar()
		if rv.Schemaname != "" || rv.Catalogname != "" {
			b.fail(rv.Location, pgerror.SyntaxError, "%s must specify unqualified relation names", name)
		}
		found := false
		for _, it := range s.all {
			if it.alias != rv.Relname {
				continue
			}
			found = true
			if it.rel < 0 {
				b.fail(rv.Location, pgerror.FeatureNotSupported, "%s cannot be applied to a join", name)
			}
			rte := it.rte()
			switch rte.Kind {
			case planner.RTEFunction:
				b.fail(rv.Location, pgerror.FeatureNotSupported, "%s cannot be applied to a function", name)
			case planner.RTEValues:
				b.fail(rv.Location, pgerror.FeatureNotSupported, "%s cannot be applied to VALUES", name)
			case planner.RTECTE:
				b.fail(rv.Location, pgerror.FeatureNotSupported, "%s cannot be applied to a WITH query", name)
			}
			b.lockRTE(s.q, it.rel, mode, wait, name)
			break
		}
		if !found {
			b.fail(rv.Location, pgerror.UndefinedTable, `relation "%s" in %s clause not found in FROM clause`, rv.Relname, name)
		}
	}
}

// lockAll marks every table of the query, and of the subqueries in its FROM.
func (b *binder) lockAll(q *planner.Query, mode engine.RowLock, wait engine.WaitPolicy, name string) {
	for i := range q.Range {
		b.lockRTE(q, i, mode, wait, name)
	}
}

func (b *binder) lockRTE(q *planner.Query, i int, mode engine.RowLock, wait engine.WaitPolicy, name string) {
	r := q.Range[i]
	switch r.Kind {
	case planner.RTERelation:
		r.RequiredPrivs = addPriv(r.RequiredPrivs, 'w')
		for k := range q.RowMarks {
			if q.RowMarks[k].Rel == i {
				// Several clauses for one table: the strongest mode and policy count.
				q.RowMarks[k].Mode = max(q.RowMarks[k].Mode, mode)
				q.RowMarks[k].Wait = max(q.RowMarks[k].Wait, wait)
				return
			}
		}
		q.RowMarks = append(q.RowMarks, planner.QueryMark{Rel: i, Mode: mode, Wait: wait})
	case planner.RTESubquery:
		if r.ViewOID != 0 {
			r.RequiredPrivs = addPriv(r.RequiredPrivs, 'w')
		}
		b.checkLockable(r.Sub, name)
		b.lockAll(r.Sub, mode, wait, name)
	}
}

func lockModes(lc *pg.LockingClause) (engine.RowLock, engine.WaitPolicy) {
	mode := engine.LockUpdate
	switch lc.Strength {
	case pg.LockClauseStrength_LCS_FORKEYSHARE:
		mode = engine.LockKeyShare
	case pg.LockClauseStrength_LCS_FORSHARE:
		mode = engine.LockShare
	case pg.LockClauseStrength_LCS_FORNOKEYUPDATE:
		mode = engine.LockNoKeyUpdate
	}
	wait := engine.WaitBlock
	switch lc.WaitPolicy {
	case pg.LockWaitPolicy_LockWaitSkip:
		wait = engine.WaitSkip
	case pg.LockWaitPolicy_LockWaitError:
		wait = engine.WaitError
	}
	return mode, wait
}
