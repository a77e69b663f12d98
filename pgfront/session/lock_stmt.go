package session

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/planner"
	"ostraka/sqltypes/pgerror"
)

// lockStmt is LOCK TABLE.
func (s *Session) lockStmt(p *prepared, n *pg.LockStmt) error {
	if err := s.requireBlock("LOCK TABLE"); err != nil {
		return err
	}
	mode := engine.RelLock(n.Mode)
	if mode > engine.RowExclusive {
		if err := s.checkReadOnly("LOCK TABLE"); err != nil {
			return err
		}
	}
	wait := engine.WaitBlock
	if n.Nowait {
		wait = engine.WaitError
	}
	_, release, err := s.statement(planner.ClassWrite)
	if err != nil {
		return err
	}
	defer release()
	for _, r := range n.Relations {
		rel, err := s.relation(p.text, r.GetRangeVar())
		if err != nil {
			return err
		}
		if rel.Kind != catalog.KindTable && rel.Kind != catalog.KindPartitioned && rel.Kind != catalog.KindView {
			return pgerror.New(pgerror.WrongObjectType, `cannot lock relation "%s"`, rel.Name).WithDetail("This operation is not supported for %s.", kindPlural(rel.Kind))
		}
		tree := []*catalog.Relation{rel}
		if r.GetRangeVar().Inh {
			tree = s.catalog().TreeFor(rel, s.tempOID)
		}
		for _, t := range tree {
			if err := s.tx.txn.LockRelation(s.env.Ctx, t.OID, mode, wait); err != nil {
				return err
			}
		}
	}
	return nil
}

func kindPlural(k catalog.RelKind) string {
	switch k {
	case catalog.KindIndex:
		return "indexes"
	case catalog.KindSequence:
		return "sequences"
	case catalog.KindMatView:
		return "materialized views"
	case catalog.KindComposite:
		return "composite types"
	}
	return "tables"
}

// relation finds a table or view that a statement names.
func (s *Session) relation(text string, rv *pg.RangeVar) (*catalog.Relation, error) {
	cat := s.catalog()
	if cat == nil {
		return nil, missingRelation(text, rv)
	}
	if rv.Catalogname != "" && rv.Catalogname != s.client.DatabaseName {
		return nil, pgerror.New(pgerror.FeatureNotSupported, `cross-database references are not implemented: "%s.%s.%s"`, rv.Catalogname, rv.Schemaname, rv.Relname).
			At(charPos(text, rv.Location))
	}
	if rv.Schemaname != "" {
		oid := s.tempOID
		if rv.Schemaname != "pg_temp" {
			sc := cat.SchemaByName(rv.Schemaname)
			if sc == nil {
				return nil, pgerror.New(pgerror.UndefinedSchema, `schema "%s" does not exist`, rv.Schemaname).At(charPos(text, rv.Location))
			}
			oid = sc.OID
		}
		if r := cat.RelationByName(oid, rv.Relname); r != nil {
			return r, nil
		}
		return nil, missingRelation(text, rv)
	}
	for _, oid := range s.searchPath(cat) {
		if r := cat.RelationByName(oid, rv.Relname); r != nil {
			return r, nil
		}
	}
	return nil, missingRelation(text, rv)
}

func missingRelation(text string, rv *pg.RangeVar) error {
	name := rv.Relname
	if rv.Schemaname != "" {
		name = rv.Schemaname + "." + name
	}
	return pgerror.New(pgerror.UndefinedTable, `relation "%s" does not exist`, name).At(charPos(text, rv.Location))
}
