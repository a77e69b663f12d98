package ddl

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/sqltypes/pgerror"
)

// setLogged is SET LOGGED and SET UNLOGGED: foreign keys never lead from a logged
// to an unlogged table.
func (b *builder) setLogged(logged bool) error {
	if b.rel.Persistence == 't' {
		return pgerror.New(pgerror.InvalidTableDefinition, "cannot change logged status of table %q because it is temporary", b.rel.Name)
	}
	if logged {
		for _, fk := range b.rel.ForeignKeys {
			if p := b.catalog().Relation(fk.RefTable); p != nil && p.OID != b.rel.OID && p.Persistence == 'u' {
				return pgerror.New(pgerror.InvalidTableDefinition, "could not change table %q to logged because it references unlogged table %q", b.rel.Name, p.Name)
			}
		}
		b.rel.Persistence = 'p'
	} else {
		for _, child := range b.referencing(b.rel.OID) {
			if child.OID != b.rel.OID && child.Persistence == 'p' {
				return pgerror.New(pgerror.InvalidTableDefinition, "could not change table %q to unlogged because it references logged table %q", b.rel.Name, child.Name)
			}
		}
		b.rel.Persistence = 'u'
	}
	for _, c := range b.rel.Columns {
		if seq := b.catalog().Relation(c.OwnedSequence); c.OwnedSequence != 0 && seq != nil {
			cp := copyRelation(seq)
			cp.Persistence = b.rel.Persistence
			b.run.schema().PutRelation(cp)
		}
	}
	return nil
}

// noTableMethod is the error for a table access method other than heap.
func noTableMethod(name string) error {
	if _, ok := accessMethods[name]; ok {
		return pgerror.New(pgerror.ObjectNotInPrerequisiteState, "access method %q is not of type TABLE", name)
	}
	return pgerror.New(pgerror.UndefinedObject, "access method %q does not exist", name)
}

func (b *builder) setOptions(cmd *pg.AlterTableCmd) error {
	if b.rel.TimeSeries {
		return b.setSeriesOptions(cmd)
	}
	var err error
	if b.rel.Options, err = changeOptions(b.rel.Options, optionKind(b.rel), cmd); err != nil {
		return err
	}
	if b.rel.Kind == catalog.KindView {
		b.rel.ViewOptions = viewOptionsOf(b.rel.Options)
	}
	b.put()
	return nil
}

// setSeriesOptions keeps the options of a time-series table, which alterSeries has tested.
func (b *builder) setSeriesOptions(cmd *pg.AlterTableCmd) error {
	opts, err := relOptions(cmd.Def.GetList().GetItems())
	if err != nil {
		return err
	}
	for _, o := range opts {
		name := o[:slices.Index([]byte(o), '=')+1]
		b.rel.Options = slices.DeleteFunc(b.rel.Options, func(x string) bool { return len(x) >= len(name) && x[:len(name)] == name })
		if cmd.Subtype == pg.AlterTableType_AT_SetRelOptions {
			b.rel.Options = append(b.rel.Options, o)
		}
	}
	b.put()
	return nil
}

func (b *builder) changeOwner(spec *pg.RoleSpec) error {
	role, err := b.roleSpec(spec)
	if err != nil {
		return err
	}
	if !b.mayBecome(role.OID) {
		return pgerror.New(pgerror.InsufficientPrivilege, "must be member of role %q", role.Name)
	}
	b.rel.Owner = role.OID
	for _, ix := range b.rel.Indexes {
		ix.Owner = role.OID
	}
	for _, c := range b.rel.Columns {
		if seq := b.catalog().Relation(c.OwnedSequence); c.OwnedSequence != 0 && seq != nil {
			cp := copyRelation(seq)
			cp.Owner = role.OID
			b.run.schema().PutRelation(cp)
		}
	}
	b.put()
	return nil
}
