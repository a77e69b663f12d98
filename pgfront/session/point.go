package session

import (
	"ostraka/engine"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// pointSelect answers an autocommit select by a complete key without an
// execution, a snapshot or a transaction object. done is false when the
// statement must go the ordinary way.
func (s *Session) pointSelect(po *portal, describe bool) (done bool, err error) {
	plan := po.plan
	if plan.Point == nil || plan.Point.Kind != 's' || plan.Class != planner.ClassRead ||
		s.tx.state != txImplicit || s.tx.txn != nil || s.tx.isolation == engine.Serializable {
		return false, nil
	}
	n := len(po.p.cols)
	if cap(s.args) < n {
		s.args = make([]sqltypes.Datum, n)
	}
	out := s.args[:n]
	for try := 0; ; try++ {
		found, stale, err := s.deps.Exec.Point(s.env.Ctx, s.deps.Engine, plan, &s.env, po.args, out)
		if err != nil {
			return false, err
		}
		if stale {
			cat := s.deps.Engine.Catalog(s.client.Database)
			if try == 3 || cat.Version == plan.CatalogVersion || po.p.stmt.AST == nil {
				return false, nil // not a plan for this path
			}
			if err := s.replan(po, cat); err != nil {
				return false, err
			}
			if plan = po.plan; plan.Point == nil || len(po.p.cols) != n {
				return false, nil
			}
			continue
		}
		if describe {
			s.rowDescription(po.p.cols, nil)
		}
		if found {
			if err := po.enc.datumRow(s.out, out); err != nil {
				return false, err
			}
			po.affected = 1
		} else {
			po.affected = 0
		}
		po.started, po.ended = true, true
		return true, nil
	}
}
