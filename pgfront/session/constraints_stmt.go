package session

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// setConstraints is SET CONSTRAINTS.
func (s *Session) setConstraints(n *pg.ConstraintsSetStmt) error {
	if !s.inBlock() {
		s.warn(pgerror.NoActiveSqlTransaction, "SET CONSTRAINTS can only be used in transaction blocks")
		return nil
	}
	if _, ok := s.deps.Exec.(DeferredRunner); !ok {
		return pgerror.NotSupported("SET CONSTRAINTS")
	}
	_, release, err := s.statement(planner.ClassWrite)
	if err != nil {
		return err
	}
	defer release()
	if len(n.Constraints) == 0 {
		s.tx.deferred.SetAll(n.Deferred)
	}
	for _, c := range n.Constraints {
		oids, err := s.findConstraint(c.GetRangeVar())
		if err != nil {
			return err
		}
		for _, oid := range oids {
			s.tx.deferred.Set(oid, n.Deferred)
		}
	}
	if n.Deferred {
		return nil
	}
	return s.runDeferred(false)
}

// findConstraint finds the deferrable constraints of a name in the first schema that has one.
func (s *Session) findConstraint(rv *pg.RangeVar) ([]sqltypes.OID, error) {
	cat := s.catalog()
	schemas := s.searchPath(cat)
	if rv.Schemaname != "" {
		sc := cat.SchemaByName(rv.Schemaname)
		if sc == nil {
			return nil, pgerror.New(pgerror.UndefinedSchema, `schema "%s" does not exist`, rv.Schemaname)
		}
		schemas = []sqltypes.OID{sc.OID}
	}
	for _, schema := range schemas {
		var found []sqltypes.OID
		known := false
		cat.AllRelations(func(r *catalog.Relation) bool {
			if r.Schema != schema {
				return true
			}
			for _, fk := range r.ForeignKeys {
				if fk.Name == rv.Relname {
					known = true
					if fk.Deferrable {
						found = append(found, fk.OID)
					}
				}
			}
			for _, ix := range r.Indexes {
				if ix.Constraint == rv.Relname {
					known = true
					if ix.Deferrable {
						found = append(found, ix.ConstraintOID)
					}
				}
			}
			for _, c := range r.Checks {
				known = known || c.Name == rv.Relname
			}
			return true
		})
		if known && len(found) == 0 {
			return nil, pgerror.New(pgerror.WrongObjectType, `constraint "%s" is not deferrable`, rv.Relname)
		}
		if known {
			return found, nil
		}
	}
	return nil, pgerror.New(pgerror.UndefinedObject, `constraint "%s" does not exist`, rv.Relname)
}
