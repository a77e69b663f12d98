package ddl

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// roleSpec resolves a RoleSpec to a role.
func (r *run) roleSpec(spec *pg.RoleSpec) (*catalog.Role, error) {
	cat := r.catalog()
	switch spec.Roletype {
	case pg.RoleSpecType_ROLESPEC_CURRENT_USER, pg.RoleSpecType_ROLESPEC_CURRENT_ROLE:
		return cat.Role(r.role()), nil
	case pg.RoleSpecType_ROLESPEC_SESSION_USER:
		if role := cat.RoleByName(r.s.PlanContext().Env.Session.SessionUser()); role != nil {
			return role, nil
		}
	case pg.RoleSpecType_ROLESPEC_PUBLIC:
		return nil, pgerror.New(pgerror.UndefinedObject, "role %q does not exist", "public")
	}
	role := cat.RoleByName(spec.Rolename)
	if role == nil {
		return nil, pgerror.New(pgerror.UndefinedObject, "role %q does not exist", spec.Rolename)
	}
	return role, nil
}

func (r *run) createSchema(n *pg.CreateSchemaStmt) error {
	owner := r.role()
	name := n.Schemaname
	if n.Authrole != nil {
		role, err := r.roleSpec(n.Authrole)
		if err != nil {
			return err
		}
		owner = role.OID
		if name == "" {
			name = role.Name
		}
	}
	if strings.HasPrefix(name, "pg_") {
		return pgerror.New(pgerror.ReservedName, "unacceptable schema name %q", name).
			WithDetail("The prefix \"pg_\" is reserved for system schemas.")
	}
	if !r.mayBecome(owner) {
		return pgerror.New(pgerror.InsufficientPrivilege, "must be member of role %q", r.catalog().Role(owner).Name)
	}
	if !r.mayOnDatabase('C') {
		return pgerror.New(pgerror.InsufficientPrivilege, "permission denied for database %s", r.catalog().Database(r.catalog().DB).Name)
	}
	if err := r.claim(engine.NamesOfSchemas, name); err != nil {
		return err
	}
	if r.catalog().SchemaByName(name) != nil {
		if n.IfNotExists {
			r.s.Notice("NOTICE", pgerror.DuplicateSchema, sprintf("schema %q already exists, skipping", name))
			return nil
		}
		return pgerror.New(pgerror.DuplicateSchema, "schema %q already exists", name)
	}
	oid, err := r.newOID()
	if err != nil {
		return err
	}
	r.schema().PutSchema(&catalog.Schema{OID: oid, Name: name, Owner: owner, ACL: r.newACL('n', 0)})
	return r.createElements(name, oid, n.SchemaElts)
}

// createElements runs the statements inside CREATE SCHEMA as if the new schema came
// first in the search path: sequences and tables, then views, indexes and what is left.
func (r *run) createElements(name string, oid sqltypes.OID, elements []*pg.Node) error {
	elements = slices.Clone(elements)
	slices.SortStableFunc(elements, func(a, b *pg.Node) int { return elementRank(a) - elementRank(b) })
	in := inSchema{r.s, oid}
	for _, elt := range elements {
		if rv := elementTarget(elt); rv != nil && rv.Schemaname == "" {
			rv.Schemaname = name
		} else if rv != nil && rv.Schemaname != name {
			return pgerror.New(pgerror.InvalidSchemaDefinition,
				"CREATE specifies a schema (%s) different from the one being created (%s)", rv.Schemaname, name)
		}
		if _, err := Run(r.ctx, in, elt); err != nil {
			return err
		}
	}
	return nil
}

// inSchema is a session whose search path begins with a schema.
type inSchema struct {
	Session
	schema sqltypes.OID
}

func (s inSchema) PlanContext() *planner.Context {
	pc := s.Session.PlanContext()
	pc.SearchPath = append([]sqltypes.OID{s.schema}, pc.SearchPath...)
	return pc
}

func elementRank(n *pg.Node) int {
	switch n.Node.(type) {
	case *pg.Node_CreateSeqStmt:
		return 0
	case *pg.Node_CreateStmt:
		return 1
	case *pg.Node_ViewStmt:
		return 2
	case *pg.Node_IndexStmt:
		return 3
	}
	return 4
}

// elementTarget is the relation that a CREATE SCHEMA element creates.
func elementTarget(n *pg.Node) *pg.RangeVar {
	switch e := n.Node.(type) {
	case *pg.Node_CreateStmt:
		return e.CreateStmt.Relation
	case *pg.Node_ViewStmt:
		return e.ViewStmt.View
	case *pg.Node_IndexStmt:
		return e.IndexStmt.Relation
	case *pg.Node_CreateSeqStmt:
		return e.CreateSeqStmt.Sequence
	}
	return nil
}

func (r *run) mayOnDatabase(priv byte) bool {
	cat := r.catalog()
	db := cat.Database(cat.DB)
	if db == nil || r.hasRole(db.Owner) {
		return true
	}
	for _, a := range db.ACL {
		if strings.IndexByte(a.Privs, priv) >= 0 && (a.Grantee == 0 || r.hasRole(a.Grantee)) {
			return true
		}
	}
	return false
}

// schemaByName finds a schema or fails.
func (r *run) schemaByName(name string) (*catalog.Schema, error) {
	s := r.catalog().SchemaByName(name)
	if s == nil {
		return nil, noSchema(name)
	}
	return s, nil
}
