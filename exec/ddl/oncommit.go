package ddl

import (
	"context"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func hasOnCommit(a pg.OnCommitAction) bool {
	return a != pg.OnCommitAction_ONCOMMIT_NOOP && a != pg.OnCommitAction_ON_COMMIT_ACTION_UNDEFINED
}

func onCommitAction(a pg.OnCommitAction) byte {
	switch a {
	case pg.OnCommitAction_ONCOMMIT_DROP:
		return 'd'
	case pg.OnCommitAction_ONCOMMIT_DELETE_ROWS:
		return 'r'
	}
	return 0
}

// ActsOnCommit reports a statement that makes a table with ON COMMIT DROP or
// DELETE ROWS: OnCommit must run before its transaction, and each later one of
// the session, commits.
func ActsOnCommit(node *pg.Node) bool {
	c := node.GetCreateStmt()
	return c != nil && onCommitAction(c.Oncommit) != 0
}

// OnCommit drops and empties the tables of a temporary schema that say so (ON
// COMMIT DROP, DELETE ROWS), in the transaction that is about to commit.
func OnCommit(ctx context.Context, s Session, schema sqltypes.OID) error {
	r := &run{ctx: ctx, s: s, txn: s.Txn()}
	var empty, drop []*catalog.Relation
	r.catalog().AllRelations(func(rel *catalog.Relation) bool {
		if rel.Schema == schema && rel.OnCommit == 'd' {
			drop = append(drop, rel)
		} else if rel.Schema == schema && rel.OnCommit == 'r' {
			empty = append(empty, rel)
		}
		return true
	})
	for _, rel := range empty {
		for _, child := range r.referencing(rel.OID) {
			if !slices.ContainsFunc(empty, func(e *catalog.Relation) bool { return e.OID == child.OID }) {
				return pgerror.New(pgerror.FeatureNotSupported, "unsupported ON COMMIT and foreign key combination").
					WithDetail("Table %q references %q, but they do not have the same ON COMMIT setting.", child.Name, rel.Name)
			}
		}
	}
	for _, rel := range empty {
		// An empty table keeps its storage: the catalogue changes only when there is something to forget.
		rows, err := s.Query(ctx, "SELECT 1 FROM "+r.qualified(rel)+" LIMIT 1")
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			continue
		}
		if err := r.truncateOne(r.catalog().Relation(rel.OID), false); err != nil {
			return err
		}
	}
	if len(drop) == 0 {
		return nil
	}
	d := &dropper{run: r, cascade: true, quiet: true, gone: map[sqltypes.OID]bool{}}
	for _, rel := range drop {
		d.gone[rel.OID] = true
	}
	return d.dropAll(drop)
}
