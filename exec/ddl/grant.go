package ddl

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// privLetters maps privilege names to the letters of an ACL item.
var privLetters = map[string]byte{
	"insert": 'a', "select": 'r', "update": 'w', "delete": 'd', "truncate": 'D', "references": 'x', "trigger": 't',
	"usage": 'U', "create": 'C', "temporary": 'T', "temp": 'T', "connect": 'c', "execute": 'X',
}

// allPrivs is what GRANT ALL gives per object kind, in PostgreSQL's order.
func allPrivs(t pg.ObjectType) string {
	switch t {
	case pg.ObjectType_OBJECT_TABLE, pg.ObjectType_OBJECT_COLUMN:
		return "arwdDxt"
	case pg.ObjectType_OBJECT_SEQUENCE:
		return "rwU"
	case pg.ObjectType_OBJECT_SCHEMA:
		return "UC"
	case pg.ObjectType_OBJECT_DATABASE:
		return "CTc"
	case pg.ObjectType_OBJECT_FUNCTION, pg.ObjectType_OBJECT_PROCEDURE, pg.ObjectType_OBJECT_ROUTINE, pg.ObjectType_OBJECT_AGGREGATE:
		return "X"
	}
	return "U"
}

const privOrder = "arwdDxtXUCTc"

// acl is one change to an access-control list.
type acl struct {
	*run
	grant    bool
	privs    string
	grantees []sqltypes.OID
	option   bool
	all      string
}

func (r *run) grant(n *pg.GrantStmt) error {
	switch n.Targtype {
	case pg.GrantTargetType_ACL_TARGET_OBJECT:
		for _, obj := range n.Objects {
			if err := r.grantOn(n, obj); err != nil {
				return err
			}
		}
		return nil
	case pg.GrantTargetType_ACL_TARGET_ALL_IN_SCHEMA:
		for _, obj := range n.Objects {
			s, err := r.schemaByName(str(obj))
			if err != nil {
				return err
			}
			if err := r.grantAllIn(n, s); err != nil {
				return err
			}
		}
		return nil
	}
	return pgerror.NotSupported("GRANT on this kind of object")
}

func (r *run) aclChange(n *pg.GrantStmt, objtype pg.ObjectType) (*acl, error) {
	a := &acl{run: r, grant: n.IsGrant, option: n.GrantOption, all: allPrivs(objtype)}
	if len(n.Privileges) == 0 {
		a.privs = a.all
	}
	for _, p := range n.Privileges {
		ap := p.GetAccessPriv()
		l, ok := privLetters[strings.ToLower(ap.PrivName)]
		if !ok {
			return nil, pgerror.New(pgerror.SyntaxError, "unrecognized privilege type %q", ap.PrivName)
		}
		if len(ap.Cols) > 0 {
			continue // column privileges are handled per column
		}
		if strings.IndexByte(a.all, l) < 0 {
			return nil, pgerror.New(pgerror.InvalidGrantOperation, "invalid privilege type %s for %s", strings.ToUpper(ap.PrivName), strings.ToLower(objectWord(objtype)))
		}
		a.privs += string(l)
	}
	for _, g := range n.Grantees {
		spec := g.GetRoleSpec()
		if spec.Roletype == pg.RoleSpecType_ROLESPEC_PUBLIC {
			if n.GrantOption && n.IsGrant {
				return nil, pgerror.New(pgerror.InvalidGrantOperation, "grant options can only be granted to roles")
			}
			a.grantees = append(a.grantees, 0)
			continue
		}
		role, err := r.roleSpec(spec)
		if err != nil {
			return nil, err
		}
		a.grantees = append(a.grantees, role.OID)
	}
	return a, nil
}

// apply changes a list; owner's implicit privileges are spelled out first, as in PostgreSQL.
func (a *acl) apply(list []catalog.ACLItem, owner sqltypes.OID, privs string, public string) []catalog.ACLItem {
	if list == nil {
		list = []catalog.ACLItem{{Grantee: owner, Grantor: owner, Privs: a.all}}
		if public != "" {
			list = append([]catalog.ACLItem{{Grantee: 0, Grantor: owner, Privs: public}}, list...)
		}
	}
	out := slices.Clone(list)
	for _, g := range a.grantees {
		i := slices.IndexFunc(out, func(x catalog.ACLItem) bool { return x.Grantee == g })
		if i < 0 {
			if !a.grant {
				continue
			}
			out = append(out, catalog.ACLItem{Grantee: g, Grantor: owner})
			i = len(out) - 1
		}
		if a.grant {
			out[i].Privs = mergePrivs(out[i].Privs, privs)
			if a.option {
				out[i].GrantOptions = mergePrivs(out[i].GrantOptions, privs)
			}
			continue
		}
		out[i].GrantOptions = removePrivs(out[i].GrantOptions, privs)
		if !a.option {
			out[i].Privs = removePrivs(out[i].Privs, privs)
		}
		if out[i].Privs == "" {
			out = slices.Delete(out, i, i+1)
		}
	}
	if out == nil {
		out = []catalog.ACLItem{}
	}
	return out
}

// heldOn are the current role's privileges on a relation, and those it may grant.
func (r *run) heldOn(rel *catalog.Relation) (held, options string) {
	for _, it := range rel.ACL {
		if it.Grantee == 0 || r.hasRole(it.Grantee) {
			held, options = mergePrivs(held, it.Privs), mergePrivs(options, it.GrantOptions)
		}
	}
	return held, options
}

func commonPrivs(a, b string) string {
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune(b, c) {
			return c
		}
		return -1
	}, a)
}

func mergePrivs(a, b string) string {
	var out []byte
	for i := range len(privOrder) {
		if strings.IndexByte(a, privOrder[i]) >= 0 || strings.IndexByte(b, privOrder[i]) >= 0 {
			out = append(out, privOrder[i])
		}
	}
	return string(out)
}

func removePrivs(a, b string) string {
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune(b, c) {
			return -1
		}
		return c
	}, a)
}

func (r *run) grantOn(n *pg.GrantStmt, obj *pg.Node) error {
	objtype := n.Objtype
	var rel *catalog.Relation
	if objtype == pg.ObjectType_OBJECT_TABLE || objtype == pg.ObjectType_OBJECT_SEQUENCE {
		rv := obj.GetRangeVar()
		var err error
		if rel, _, err = r.findRelation(rv.Schemaname, rv.Relname); err != nil {
			return err
		}
		if rel == nil {
			return noRelation(rv.Schemaname, rv.Relname)
		}
		if objtype == pg.ObjectType_OBJECT_TABLE && rel.Kind == catalog.KindSequence {
			objtype = pg.ObjectType_OBJECT_SEQUENCE
			n = r.sequenceGrant(n, rel)
			if n == nil {
				return nil
			}
		}
	}
	a, err := r.aclChange(n, objtype)
	if err != nil {
		return err
	}
	switch n.Objtype {
	case pg.ObjectType_OBJECT_TABLE, pg.ObjectType_OBJECT_SEQUENCE:
		if rel.Kind == catalog.KindVirtual {
			return nil
		}
		if n.Objtype == pg.ObjectType_OBJECT_SEQUENCE && rel.Kind != catalog.KindSequence {
			return pgerror.New(pgerror.WrongObjectType, "%q is not a sequence", rel.Name)
		}
		return r.grantRelation(n, a, rel)
	case pg.ObjectType_OBJECT_SCHEMA:
		s, err := r.schemaByName(str(obj))
		if err != nil {
			return err
		}
		if !r.hasRole(s.Owner) {
			return pgerror.New(pgerror.InsufficientPrivilege, "permission denied for schema %s", s.Name)
		}
		cp := *s
		cp.ACL = a.apply(s.ACL, s.Owner, a.privs, "")
		r.schema().PutSchema(&cp)
		return nil
	case pg.ObjectType_OBJECT_DATABASE:
		db := r.catalog().DatabaseByName(str(obj))
		if db == nil {
			return pgerror.New(pgerror.UndefinedDatabase, "database %q does not exist", str(obj))
		}
		if !r.hasRole(db.Owner) {
			return pgerror.New(pgerror.InsufficientPrivilege, "permission denied for database %s", db.Name)
		}
		cp := *db
		cp.ACL = a.apply(db.ACL, db.Owner, a.privs, "Tc")
		r.schema().PutDatabase(&cp)
		return nil
	case pg.ObjectType_OBJECT_TYPE, pg.ObjectType_OBJECT_DOMAIN:
		t, err := r.userType(nameParts(obj))
		if err != nil {
			return err
		}
		cp := *t
		cp.ACL = a.apply(t.ACL, t.Owner, a.privs, "U")
		r.schema().PutType(&cp)
		return nil
	case pg.ObjectType_OBJECT_FUNCTION, pg.ObjectType_OBJECT_PROCEDURE, pg.ObjectType_OBJECT_ROUTINE, pg.ObjectType_OBJECT_AGGREGATE:
		f, err := r.function(n.Objtype, obj.GetObjectWithArgs())
		if err != nil {
			return err
		}
		cp := *f
		cp.ACL = a.apply(f.ACL, f.Owner, a.privs, "X")
		r.schema().PutFunction(&cp)
		return nil
	case pg.ObjectType_OBJECT_LANGUAGE, pg.ObjectType_OBJECT_TABLESPACE:
		return nil
	}
	return pgerror.NotSupported("GRANT ON %s", objectWord(n.Objtype))
}

// sequenceGrant is a GRANT ON TABLE whose object is a sequence: privileges that it
// does not have are warned of and left out. Nil: none is left.
func (r *run) sequenceGrant(n *pg.GrantStmt, seq *catalog.Relation) *pg.GrantStmt {
	if len(n.Privileges) == 0 {
		return n
	}
	cp := &pg.GrantStmt{IsGrant: n.IsGrant, Targtype: n.Targtype, Objtype: n.Objtype, Objects: n.Objects, Grantees: n.Grantees,
		GrantOption: n.GrantOption, Grantor: n.Grantor, Behavior: n.Behavior}
	for _, p := range n.Privileges {
		l, known := privLetters[strings.ToLower(p.GetAccessPriv().PrivName)]
		if known && strings.IndexByte("arwdDxt", l) >= 0 && strings.IndexByte("rwU", l) < 0 {
			r.s.Notice("WARNING", pgerror.InvalidGrantOperation, sprintf("sequence %q only supports USAGE, SELECT, and UPDATE privileges", seq.Name))
			continue
		}
		cp.Privileges = append(cp.Privileges, p)
	}
	if len(cp.Privileges) == 0 {
		return nil
	}
	return cp
}

func (r *run) grantRelation(n *pg.GrantStmt, a *acl, rel *catalog.Relation) error {
	if !r.hasRole(rel.Owner) {
		held, options := r.heldOn(rel)
		if held == "" {
			return pgerror.New(pgerror.InsufficientPrivilege, "permission denied for %s %s", kindWord(rel.Kind), rel.Name)
		}
		may := commonPrivs(a.privs, options)
		verb := "revoked"
		if a.grant {
			verb = "granted"
		}
		switch {
		case may == "" && a.grant:
			r.s.Notice("WARNING", pgerror.WarningPrivilegeNotGranted, sprintf("no privileges were %s for %q", verb, rel.Name))
			return nil
		case may == "":
			r.s.Notice("WARNING", pgerror.WarningPrivilegeNotRevoked, sprintf("no privileges could be %s for %q", verb, rel.Name))
			return nil
		case may != a.privs && a.grant:
			r.s.Notice("WARNING", pgerror.WarningPrivilegeNotGranted, sprintf("not all privileges were %s for %q", verb, rel.Name))
		case may != a.privs:
			r.s.Notice("WARNING", pgerror.WarningPrivilegeNotRevoked, sprintf("not all privileges could be %s for %q", verb, rel.Name))
		}
		b := *a
		b.privs, a = may, &b
	}
	cp := copyRelation(rel)
	if rel.Kind == catalog.KindSequence {
		a.all = allPrivs(pg.ObjectType_OBJECT_SEQUENCE)
		if len(n.Privileges) == 0 {
			a.privs = a.all
		}
	}
	if a.privs != "" {
		cp.ACL = a.apply(rel.ACL, rel.Owner, a.privs, "")
	}
	for _, p := range n.Privileges {
		ap := p.GetAccessPriv()
		for _, name := range strs(ap.Cols) {
			col := columnByName(cp, name)
			if col == nil {
				return noColumn(rel, name)
			}
			l := privLetters[strings.ToLower(ap.PrivName)]
			if strings.IndexByte("arwx", l) < 0 {
				return pgerror.New(pgerror.InvalidGrantOperation, "invalid privilege type %s for column", strings.ToUpper(ap.PrivName))
			}
			if col.ACL == nil {
				col.ACL = []catalog.ACLItem{}
			}
			col.ACL = a.apply(col.ACL, rel.Owner, string(l), "")
		}
	}
	r.schema().PutRelation(cp)
	return nil
}

func (r *run) grantAllIn(n *pg.GrantStmt, s *catalog.Schema) error {
	var rels []*catalog.Relation
	r.catalog().AllRelations(func(rel *catalog.Relation) bool {
		if rel.Schema != s.OID {
			return true
		}
		isSeq := rel.Kind == catalog.KindSequence
		if isSeq == (n.Objtype == pg.ObjectType_OBJECT_SEQUENCE) && rel.Kind != catalog.KindComposite {
			rels = append(rels, rel)
		}
		return true
	})
	if n.Objtype != pg.ObjectType_OBJECT_TABLE && n.Objtype != pg.ObjectType_OBJECT_SEQUENCE {
		return nil
	}
	for _, rel := range rels {
		a, err := r.aclChange(n, n.Objtype)
		if err != nil {
			return err
		}
		if err := r.grantRelation(n, a, rel); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) alterDefaultPrivileges(n *pg.AlterDefaultPrivilegesStmt) error {
	roles := []sqltypes.OID{r.role()}
	schemas := []sqltypes.OID{0}
	for _, o := range n.Options {
		d := o.GetDefElem()
		switch d.Defname {
		case "schemas":
			schemas = nil
			for _, name := range strs(d.Arg.GetList().GetItems()) {
				s, err := r.schemaByName(name)
				if err != nil {
					return err
				}
				schemas = append(schemas, s.OID)
			}
		case "roles":
			roles = nil
			for _, spec := range d.Arg.GetList().GetItems() {
				role, err := r.roleSpec(spec.GetRoleSpec())
				if err != nil {
					return err
				}
				roles = append(roles, role.OID)
			}
		}
	}
	kind := map[pg.ObjectType]byte{pg.ObjectType_OBJECT_TABLE: 'r', pg.ObjectType_OBJECT_SEQUENCE: 'S',
		pg.ObjectType_OBJECT_FUNCTION: 'f', pg.ObjectType_OBJECT_TYPE: 'T', pg.ObjectType_OBJECT_SCHEMA: 'n'}[n.Action.Objtype]
	a, err := r.aclChange(n.Action, n.Action.Objtype)
	if err != nil {
		return err
	}
	for _, role := range roles {
		for _, schema := range schemas {
			d := &catalog.DefaultACL{Role: role, Schema: schema, ObjType: kind}
			var list []catalog.ACLItem
			for _, old := range r.catalog().DefaultACLs() {
				if old.Role == role && old.Schema == schema && old.ObjType == kind {
					list = old.ACL
				}
			}
			if list == nil && schema != 0 {
				list = []catalog.ACLItem{}
			}
			_, public := builtinACL(kind)
			d.ACL = a.apply(list, role, a.privs, public)
			r.schema().PutDefaultACL(d)
		}
	}
	return nil
}
