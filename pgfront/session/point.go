package session

import (
	"ostraka/engine"
	"ostraka/engine/catalog"
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
	if err := s.frozen(plan); err != nil {
		return false, err
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

// short answers a statement by one of the ways without an execution.
func (s *Session) short(po *portal, describe bool) (done bool, err error) {
	if po.plan.Point != nil {
		return s.pointSelect(po, describe)
	}
	if po.plan.Call != nil {
		return s.quickCall(po, describe)
	}
	return false, nil
}

// quickCall answers an autocommit statement that is one call of a function by the
// function's short way. done is false when it must go the ordinary way.
func (s *Session) quickCall(po *portal, describe bool) (done bool, err error) {
	plan := po.plan
	if plan.Class != planner.ClassRead || !s.readsNewest() || len(plan.Permissions) > 0 || plan.Role != s.role.OID {
		return false, nil
	}
	if cat := s.deps.Engine.Catalog(s.client.Database); cat == nil || cat.Version != plan.CatalogVersion {
		return false, nil
	}
	s.topLevel = true
	n := int64(0)
	done, err = s.deps.Exec.Call(plan, &s.env, po.args, func(row []sqltypes.Datum) error {
		if n == 0 && describe {
			s.rowDescription(po.p.cols, nil)
		}
		n++
		return po.enc.datumRow(s.out, row)
	})
	if err != nil || !done {
		return false, err
	}
	if n == 0 && describe {
		s.rowDescription(po.p.cols, nil)
	}
	po.affected = n
	po.started, po.ended = true, true
	return true, nil
}

// readsNewest reports a statement that reads the newest committed state: outside
// of a block, and not in a snapshot that another part of it has opened.
func (s *Session) readsNewest() bool {
	return s.tx.state == txImplicit && s.tx.txn == nil && s.tx.dead == nil && s.tx.isolation != engine.Serializable && s.reading == nil
}

// Newest is the engine and the catalogue that a statement reads which needs no
// snapshot; the catalogue is nil when this one does.
func (s *Session) Newest() (engine.Engine, *catalog.Catalog) {
	if !s.readsNewest() || s.standsStill() != nil {
		return nil, nil
	}
	return s.deps.Engine, s.deps.Engine.Catalog(s.client.Database)
}
