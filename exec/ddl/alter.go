package ddl

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/sqltypes/pgerror"
)

func alterTag(t pg.ObjectType) string { return "ALTER " + objectWord(t) }

// alterTable applies the commands of one ALTER TABLE in order.
func (r *run) alterTable(n *pg.AlterTableStmt) error {
	rel, ix, err := r.findRelation(n.Relation.Schemaname, n.Relation.Relname)
	if err != nil {
		return err
	}
	if rel == nil {
		if n.MissingOk {
			r.s.Notice("NOTICE", pgerror.UndefinedTable, sprintf("relation %q does not exist, skipping", n.Relation.Relname))
			return nil
		}
		return noRelation(n.Relation.Schemaname, n.Relation.Relname)
	}
	if ix != nil {
		return r.alterIndex(rel, ix, n)
	}
	if rel, err = r.relation(n.Relation, alterLock(n.Cmds), "", ""); err != nil {
		return err
	}
	if err := r.mustOwn(rel); err != nil {
		return err
	}
	switch {
	case n.Objtype == pg.ObjectType_OBJECT_VIEW && rel.Kind != catalog.KindView:
		return pgerror.New(pgerror.WrongObjectType, "%q is not a view", rel.Name)
	case n.Objtype == pg.ObjectType_OBJECT_SEQUENCE && rel.Kind != catalog.KindSequence:
		return pgerror.New(pgerror.WrongObjectType, "%q is not a sequence", rel.Name)
	}
	for _, c := range n.Cmds {
		cmd := c.GetAlterTableCmd()
		// Every command works on what the one before left.
		if err := r.alterTree(rel.OID, cmd, n.Relation.Inh, false); err != nil {
			return err
		}
	}
	return nil
}

// alterLock is the relation lock that the commands of an ALTER TABLE need
// (PostgreSQL's AlterTableGetLockLevel). Below ACCESS EXCLUSIVE are only commands
// after which rows written under the old descriptor are still right, or that
// keep writers out.
func alterLock(cmds []*pg.Node) engine.RelLock {
	mode := engine.ShareUpdateExclusive
	for _, c := range cmds {
		cmd := c.GetAlterTableCmd()
		switch cmd.GetSubtype() {
		case pg.AlterTableType_AT_ValidateConstraint, pg.AlterTableType_AT_SetRelOptions, pg.AlterTableType_AT_ResetRelOptions,
			pg.AlterTableType_AT_SetStatistics, pg.AlterTableType_AT_SetOptions, pg.AlterTableType_AT_ResetOptions,
			pg.AlterTableType_AT_ClusterOn, pg.AlterTableType_AT_DropCluster:
		case pg.AlterTableType_AT_AddConstraint:
			if cmd.Def.GetConstraint().GetContype() != pg.ConstrType_CONSTR_FOREIGN {
				return engine.AccessExclusive
			}
			mode = engine.ShareRowExclusive
		default:
			return engine.AccessExclusive
		}
	}
	return mode
}

func (b *builder) alter(cmd *pg.AlterTableCmd) error {
	if b.rel.Kind == catalog.KindComposite {
		switch cmd.Subtype {
		case pg.AlterTableType_AT_AddColumn, pg.AlterTableType_AT_DropColumn, pg.AlterTableType_AT_AlterColumnType:
			return b.alterAttribute(cmd)
		}
	}
	if b.rel.Rollup != nil {
		return b.alterRollup(cmd)
	}
	if err := typedRefuses(b.rel, cmd.Subtype); err != nil {
		return err
	}
	if b.rel.Kind != catalog.KindTable && b.rel.Kind != catalog.KindPartitioned {
		switch cmd.Subtype {
		case pg.AlterTableType_AT_ChangeOwner, pg.AlterTableType_AT_SetRelOptions, pg.AlterTableType_AT_ResetRelOptions:
		case pg.AlterTableType_AT_ColumnDefault:
			if b.rel.Kind != catalog.KindView {
				return b.wrongAction(cmd)
			}
		case pg.AlterTableType_AT_SetLogged, pg.AlterTableType_AT_SetUnLogged:
			if b.rel.Kind != catalog.KindSequence {
				return b.wrongAction(cmd)
			}
		case pg.AlterTableType_AT_SetStatistics, pg.AlterTableType_AT_SetStorage, pg.AlterTableType_AT_SetCompression, pg.AlterTableType_AT_SetOptions,
			pg.AlterTableType_AT_ResetOptions, pg.AlterTableType_AT_ClusterOn, pg.AlterTableType_AT_DropCluster, pg.AlterTableType_AT_SetTableSpace,
			pg.AlterTableType_AT_SetAccessMethod:
			if b.rel.Kind != catalog.KindMatView {
				return b.wrongAction(cmd)
			}
		default:
			return b.wrongAction(cmd)
		}
	}
	if b.rel.TimeSeries {
		if cmd.Subtype == pg.AlterTableType_AT_AddConstraint && b.isSeriesKey(cmd.Def.GetConstraint()) {
			return nil
		}
		if err := b.alterSeries(cmd); err != nil {
			return err
		}
	}
	switch cmd.Subtype {
	case pg.AlterTableType_AT_AddColumn:
		return b.alterAddColumn(cmd)
	case pg.AlterTableType_AT_DropColumn:
		return b.dropColumn(cmd)
	case pg.AlterTableType_AT_AlterColumnType:
		return b.alterType(cmd)
	case pg.AlterTableType_AT_AddConstraint:
		if err := b.tableConstraint(cmd.Def.GetConstraint()); err != nil {
			return err
		}
		return b.finish(false)
	case pg.AlterTableType_AT_DropConstraint:
		return b.dropConstraint(cmd)
	case pg.AlterTableType_AT_ValidateConstraint:
		return b.validateConstraint(cmd.Name)
	case pg.AlterTableType_AT_AlterConstraint:
		return b.alterConstraint(cmd.Def.GetConstraint())
	case pg.AlterTableType_AT_SetRelOptions, pg.AlterTableType_AT_ResetRelOptions:
		return b.setOptions(cmd)
	case pg.AlterTableType_AT_ChangeOwner:
		return b.changeOwner(cmd.Newowner)
	case pg.AlterTableType_AT_SetLogged, pg.AlterTableType_AT_SetUnLogged:
		if err := b.setLogged(cmd.Subtype == pg.AlterTableType_AT_SetLogged); err != nil {
			return err
		}
	case pg.AlterTableType_AT_SetTableSpace:
		if cmd.Name != "pg_default" {
			return pgerror.New(pgerror.UndefinedObject, "tablespace %q does not exist", cmd.Name)
		}
		return nil
	case pg.AlterTableType_AT_SetAccessMethod:
		if cmd.Name != "heap" && cmd.Name != "" {
			return noTableMethod(cmd.Name)
		}
		return nil
	case pg.AlterTableType_AT_ClusterOn, pg.AlterTableType_AT_DropCluster:
		if err := clusterOn(b.rel, cmd.Name); err != nil {
			return err
		}
	case pg.AlterTableType_AT_ReplicaIdentity:
		if err := replicaIdentity(b.rel, cmd.Def.GetReplicaIdentityStmt()); err != nil {
			return err
		}
	case pg.AlterTableType_AT_AddInherit:
		return b.addParent(cmd.Def.GetRangeVar())
	case pg.AlterTableType_AT_DropInherit:
		return b.dropParent(cmd.Def.GetRangeVar())
	case pg.AlterTableType_AT_AttachPartition:
		return b.attachPartition(cmd.Def.GetPartitionCmd())
	case pg.AlterTableType_AT_DetachPartition:
		return b.detachPartition(cmd.Def.GetPartitionCmd())
	case pg.AlterTableType_AT_DetachPartitionFinalize:
		return b.finalizeDetach(cmd.Def.GetPartitionCmd())
	case pg.AlterTableType_AT_AddOf:
		return b.addOf(cmd.Def.GetTypeName())
	case pg.AlterTableType_AT_DropOf:
		return b.dropOf()
	case pg.AlterTableType_AT_DropOids:
		return nil
	default:
		if done, err := b.rowSecurity(cmd.Subtype); done {
			return err
		}
		if done, err := enableTriggers(b.rel, cmd); done {
			if err == nil {
				b.put()
			}
			return err
		}
		return b.alterColumn(cmd)
	}
	b.put()
	return nil
}

func (b *builder) wrongAction(cmd *pg.AlterTableCmd) error {
	return pgerror.New(pgerror.WrongObjectType, "ALTER action %s cannot be performed on relation %q", actionName(cmd.Subtype), b.rel.Name).
		WithDetail("This operation is not supported for %ss.", kindWord(b.rel.Kind))
}

func actionName(t pg.AlterTableType) string {
	return splitWords(t.String()[len("AT_"):])
}
