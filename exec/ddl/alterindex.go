package ddl

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/sqltypes/pgerror"
)

// alterIndex is ALTER INDEX, or ALTER TABLE on an index, with anything but RENAME.
func (r *run) alterIndex(rel *catalog.Relation, ix *catalog.Index, n *pg.AlterTableStmt) error {
	if rel.Kind == catalog.KindVirtual {
		return pgerror.New(pgerror.InsufficientPrivilege, "permission denied: %q is a system catalog", ix.Name)
	}
	if n.Objtype == pg.ObjectType_OBJECT_VIEW || n.Objtype == pg.ObjectType_OBJECT_SEQUENCE || n.Objtype == pg.ObjectType_OBJECT_MATVIEW {
		return pgerror.New(pgerror.WrongObjectType, "%q is not a %s", ix.Name, kindWord(map[pg.ObjectType]catalog.RelKind{
			pg.ObjectType_OBJECT_VIEW: catalog.KindView, pg.ObjectType_OBJECT_SEQUENCE: catalog.KindSequence, pg.ObjectType_OBJECT_MATVIEW: catalog.KindMatView}[n.Objtype]))
	}
	if !r.hasRole(rel.Owner) {
		return pgerror.New(pgerror.InsufficientPrivilege, "must be owner of index %s", ix.Name)
	}
	rel, err := r.lock(rel, engine.ShareUpdateExclusive)
	if err != nil {
		return err
	}
	cp := copyRelation(rel)
	if ix = indexByOID(cp, ix.OID); ix == nil {
		return noRelation("", n.Relation.Relname)
	}
	for _, c := range n.Cmds {
		cmd := c.GetAlterTableCmd()
		switch cmd.Subtype {
		case pg.AlterTableType_AT_SetRelOptions, pg.AlterTableType_AT_ResetRelOptions:
			if ix.Options, err = changeOptions(ix.Options, ix.Method, cmd); err != nil {
				return err
			}
		case pg.AlterTableType_AT_AttachPartition:
			return r.attachIndex(rel, ix, cmd.Def.GetPartitionCmd())
		case pg.AlterTableType_AT_SetStatistics:
			if err := setIndexStatistics(cp, ix, cmd); err != nil {
				return err
			}
		case pg.AlterTableType_AT_ChangeOwner:
			return pgerror.New(pgerror.WrongObjectType, "cannot change owner of index %q", ix.Name).
				WithHint("Change the ownership of the index's table instead.")
		case pg.AlterTableType_AT_SetTableSpace:
			if cmd.Name != "pg_default" {
				return pgerror.New(pgerror.UndefinedObject, "tablespace %q does not exist", cmd.Name)
			}
		default:
			return pgerror.New(pgerror.WrongObjectType, "ALTER action %s cannot be performed on relation %q", actionName(cmd.Subtype), ix.Name).
				WithDetail("This operation is not supported for indexes.")
		}
	}
	r.schema().PutRelation(cp)
	return nil
}

// setIndexStatistics keeps the statistics target of an expression of an index.
func setIndexStatistics(rel *catalog.Relation, ix *catalog.Index, cmd *pg.AlterTableCmd) error {
	n := int(cmd.Num)
	if cmd.Name != "" {
		return pgerror.New(pgerror.UndefinedColumn, "column %q of relation %q does not exist", cmd.Name, ix.Name)
	}
	switch {
	case n > len(ix.Keys)+len(ix.Include) || n < 1:
		return pgerror.New(pgerror.UndefinedColumn, "column number %d of relation %q does not exist", n, ix.Name)
	case n > len(ix.Keys):
		return pgerror.New(pgerror.FeatureNotSupported, "cannot alter statistics on included column %q of index %q",
			rel.Columns[ix.Include[n-1-len(ix.Keys)]-1].Name, ix.Name)
	case ix.Keys[n-1].Attr != 0:
		return pgerror.New(pgerror.FeatureNotSupported, "cannot alter statistics on non-expression column %q of index %q",
			rel.Columns[ix.Keys[n-1].Attr-1].Name, ix.Name).WithHint("Alter statistics on table column instead.")
	}
	target, err := statisticsTarget(cmd)
	if err != nil {
		return err
	}
	keys := append([]catalog.IndexKey(nil), ix.Keys...)
	keys[n-1].StatTarget = target + 1
	ix.Keys = keys
	return nil
}

// statisticsTarget reads SET STATISTICS n. Error: 22023.
func statisticsTarget(cmd *pg.AlterTableCmd) (int, error) {
	n := int(cmd.Def.GetInteger().GetIval())
	if n < -1 {
		return 0, pgerror.New(pgerror.InvalidParameterValue, "statistics target %d is too low", n)
	}
	return min(n, 10000), nil
}
