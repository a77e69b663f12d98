package ddl

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/sqltypes/pgerror"
)

// comment is COMMENT ON: the text stands in the descriptor of the object.
func (r *run) comment(n *pg.CommentStmt) error {
	parts := nameParts(n.Object)
	switch n.Objtype {
	case pg.ObjectType_OBJECT_TABLE, pg.ObjectType_OBJECT_VIEW, pg.ObjectType_OBJECT_SEQUENCE, pg.ObjectType_OBJECT_MATVIEW, pg.ObjectType_OBJECT_INDEX:
		cp, ix, err := r.commentTarget(parts)
		if err != nil {
			return err
		}
		if ix != nil {
			ix.Comment = n.Comment
		} else {
			cp.Comment = n.Comment
		}
		r.schema().PutRelation(cp)
	case pg.ObjectType_OBJECT_COLUMN:
		cp, _, err := r.commentTarget(parts[:len(parts)-1])
		if err != nil {
			return err
		}
		col := columnByName(cp, parts[len(parts)-1])
		if col == nil {
			return noColumn(cp, parts[len(parts)-1])
		}
		col.Comment = n.Comment
		r.schema().PutRelation(cp)
	case pg.ObjectType_OBJECT_TRIGGER:
		cp, _, err := r.commentTarget(parts[:len(parts)-1])
		if err != nil {
			return err
		}
		return r.commentTrigger(cp, parts[len(parts)-1], n.Comment)
	case pg.ObjectType_OBJECT_STATISTIC_EXT:
		return r.editStatistics(parts, func(s *catalog.Statistic) { s.Comment = n.Comment })
	case pg.ObjectType_OBJECT_SUBSCRIPTION:
		return r.commentSubscription(parts[0], n.Comment)
	case pg.ObjectType_OBJECT_PUBLICATION:
		return r.commentPublication(parts[0], n.Comment)
	case pg.ObjectType_OBJECT_POLICY:
		cp, _, err := r.commentTarget(parts[:len(parts)-1])
		if err != nil {
			return err
		}
		return r.commentPolicy(cp, parts[len(parts)-1], n.Comment)
	case pg.ObjectType_OBJECT_TABCONSTRAINT:
		cp, _, err := r.commentTarget(parts[:len(parts)-1])
		if err != nil {
			return err
		}
		return r.commentConstraint(cp, parts[len(parts)-1], n.Comment)
	case pg.ObjectType_OBJECT_SCHEMA:
		s, err := r.schemaByName(parts[0])
		if err != nil {
			return err
		}
		if err := r.mustOwnSchema(s); err != nil {
			return err
		}
		cp := *s
		cp.Comment = n.Comment
		r.schema().PutSchema(&cp)
	case pg.ObjectType_OBJECT_DATABASE:
		db := r.catalog().DatabaseByName(parts[0])
		if db == nil {
			return pgerror.New(pgerror.UndefinedDatabase, "database %q does not exist", parts[0])
		}
		cp := *db
		cp.Comment = n.Comment
		r.schema().PutDatabase(&cp)
	case pg.ObjectType_OBJECT_ROLE:
		role := r.catalog().RoleByName(parts[0])
		if role == nil {
			return pgerror.New(pgerror.UndefinedObject, "role %q does not exist", parts[0])
		}
		cp := *role
		cp.Comment = n.Comment
		r.schema().PutRole(&cp)
	case pg.ObjectType_OBJECT_TYPE, pg.ObjectType_OBJECT_DOMAIN:
		t, err := r.userType(parts)
		if err != nil {
			return err
		}
		cp := *t
		cp.Comment = n.Comment
		r.schema().PutType(&cp)
	case pg.ObjectType_OBJECT_FUNCTION, pg.ObjectType_OBJECT_PROCEDURE, pg.ObjectType_OBJECT_ROUTINE, pg.ObjectType_OBJECT_AGGREGATE:
		f, err := r.function(n.Objtype, n.Object.GetObjectWithArgs())
		if err != nil {
			return err
		}
		cp := *f
		cp.Comment = n.Comment
		r.schema().PutFunction(&cp)
	case pg.ObjectType_OBJECT_DOMCONSTRAINT:
		l := n.Object.GetList().GetItems()
		return r.commentDomainConstraint(nameParts(l[0]), str(l[1]), n.Comment)
	case pg.ObjectType_OBJECT_OPERATOR:
		return r.commentOperator(n)
	case pg.ObjectType_OBJECT_CAST:
		return r.commentCast(n)
	default:
		return pgerror.NotSupported("COMMENT ON %s", objectWord(n.Objtype))
	}
	return nil
}

// commentTarget finds a relation (or the index's table and the index in the copy).
func (r *run) commentTarget(parts []string) (*catalog.Relation, *catalog.Index, error) {
	schema, name, err := split(parts)
	if err != nil {
		return nil, nil, err
	}
	rel, ix, err := r.findRelation(schema, name)
	if err != nil {
		return nil, nil, err
	}
	if rel == nil {
		return nil, nil, noRelation(schema, name)
	}
	if err := r.mustOwn(rel); err != nil {
		return nil, nil, err
	}
	cp := copyRelation(rel)
	if ix != nil {
		for _, i := range cp.Indexes {
			if i.OID == ix.OID {
				return cp, i, nil
			}
		}
	}
	return cp, nil, nil
}

func (r *run) commentDomainConstraint(domain []string, name, text string) error {
	t, err := r.userType(domain)
	if err != nil {
		return err
	}
	if err := r.mustOwnType(t); err != nil {
		return err
	}
	i := slices.IndexFunc(t.Checks, func(c *catalog.Check) bool { return c.Name == name })
	if i < 0 {
		return pgerror.New(pgerror.UndefinedObject, "constraint %q for domain %s does not exist", name, r.typeName(t.OID))
	}
	cp := *t
	cp.Checks = slices.Clone(t.Checks)
	c := *cp.Checks[i]
	c.Comment = text
	cp.Checks[i] = &c
	r.schema().PutType(&cp)
	return nil
}

func (r *run) commentConstraint(cp *catalog.Relation, name, text string) error {
	for i, c := range cp.Checks {
		if c.Name == name {
			cc := *c
			cc.Comment = text
			cp.Checks[i] = &cc
			r.schema().PutRelation(cp)
			return nil
		}
	}
	for i, f := range cp.ForeignKeys {
		if f.Name == name {
			ff := *f
			ff.Comment = text
			cp.ForeignKeys[i] = &ff
			r.schema().PutRelation(cp)
			return nil
		}
	}
	for _, ix := range cp.Indexes {
		if ix.Constraint == name {
			ix.ConstraintComment = text
			r.schema().PutRelation(cp)
			return nil
		}
	}
	return pgerror.New(pgerror.UndefinedObject, "constraint %q for table %q does not exist", name, cp.Name)
}
