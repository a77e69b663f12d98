package syscat

import (
	"strings"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Member reports whether role has the privileges of another role.
func Member(cat *catalog.Catalog, role, of sqltypes.OID) bool { return cat.Member(role, of) }

// Holds reports whether role has one privilege by an access list (see catalog.Holds).
func Holds(cat *catalog.Catalog, role, owner sqltypes.OID, acl []catalog.ACLItem, priv byte, public string) bool {
	return cat.Holds(role, owner, acl, priv, public)
}

// mayGrant reports whether an access list lets role pass a privilege on.
func mayGrant(cat *catalog.Catalog, role sqltypes.OID, acl []catalog.ACLItem, priv byte) bool {
	for _, a := range acl {
		if a.Grantee != 0 && strings.IndexByte(a.GrantOptions, priv) >= 0 && Member(cat, role, a.Grantee) {
			return true
		}
	}
	return false
}

// object is something privileges are asked of.
type object struct {
	owner  sqltypes.OID
	acl    []catalog.ACLItem
	public string
	column []catalog.ACLItem
	any    [][]catalog.ACLItem // has_any_column_privilege: every column's list
}

// privilege words that each kind of object takes.
var privilegeWords = map[string]map[string]byte{
	"table":    {"select": 'r', "insert": 'a', "update": 'w', "delete": 'd', "truncate": 'D', "references": 'x', "trigger": 't', "rule": 'R'},
	"column":   {"select": 'r', "insert": 'a', "update": 'w', "references": 'x'},
	"sequence": {"usage": 'U', "select": 'r', "update": 'w'},
	"schema":   {"create": 'C', "usage": 'U'},
	"database": {"create": 'C', "temporary": 'T', "temp": 'T', "connect": 'c'},
	"function": {"execute": 'X'}, "type": {"usage": 'U'}, "language": {"usage": 'U'}, "tablespace": {"create": 'C'},
	"foreign_data_wrapper": {"usage": 'U'}, "server": {"usage": 'U'},
	"parameter": {"set": 's', "alter system": 'A'},
}

// has answers a comma-separated list of privileges: true when any is held.
func (l *lookup) has(kind string, role sqltypes.OID, o object, list string) (sqltypes.Datum, error) {
	for word := range strings.SplitSeq(list, ",") {
		word = strings.ToLower(strings.TrimSpace(word))
		base, grant := strings.CutSuffix(word, " with grant option")
		letter, ok := privilegeWords[kind][base]
		if !ok {
			return sqltypes.Null, pgerror.New(pgerror.InvalidParameterValue, "unrecognized privilege type: %q", strings.TrimSpace(list))
		}
		if grant {
			if Member(l.cat, role, o.owner) {
				return yes(true), nil
			}
			for _, acl := range append(o.any, o.column, o.acl) {
				if mayGrant(l.cat, role, acl, letter) {
					return yes(true), nil
				}
			}
			continue
		}
		if Holds(l.cat, role, o.owner, o.acl, letter, o.public) {
			return yes(true), nil
		}
		for _, acl := range append(o.any, o.column) {
			if acl != nil && Holds(l.cat, role, o.owner, acl, letter, "") {
				return yes(true), nil
			}
		}
	}
	return yes(false), nil
}

// finder resolves the object argument of a has_…_privilege function. ok false: NULL.
type finder struct {
	byName func(l *lookup, name string) (object, error)
	byOID  func(l *lookup, o sqltypes.OID) (object, bool)
}

func relationObject(r *catalog.Relation) object { return object{owner: r.Owner, acl: r.ACL} }

var finders = map[string]finder{
	"table": {
		func(l *lookup, name string) (object, error) {
			r, err := l.byName(name)
			if err != nil {
				return object{}, err
			}
			return relationObject(r), nil
		},
		func(l *lookup, o sqltypes.OID) (object, bool) {
			r, _ := l.relation(o)
			if r == nil {
				return object{}, false
			}
			return relationObject(r), true
		},
	},
	"schema": {
		func(l *lookup, name string) (object, error) {
			s := l.cat.SchemaByName(name)
			if s == nil {
				return object{}, pgerror.New(pgerror.InvalidSchemaName, "schema %q does not exist", name)
			}
			return object{owner: s.Owner, acl: s.ACL}, nil
		},
		func(l *lookup, o sqltypes.OID) (object, bool) {
			s := l.cat.Schema(o)
			if s == nil {
				return object{}, false
			}
			return object{owner: s.Owner, acl: s.ACL}, true
		},
	},
	"database": {
		func(l *lookup, name string) (object, error) {
			d := l.cat.DatabaseByName(name)
			if d == nil {
				return object{}, pgerror.New(pgerror.UndefinedDatabase, "database %q does not exist", name)
			}
			return object{owner: d.Owner, acl: d.ACL, public: "Tc"}, nil
		},
		func(l *lookup, o sqltypes.OID) (object, bool) {
			d := l.cat.Database(o)
			if d == nil {
				return object{}, false
			}
			return object{owner: d.Owner, acl: d.ACL, public: "Tc"}, true
		},
	},
	"function": {
		func(l *lookup, name string) (object, error) {
			if sqltypes.RegIn == nil {
				return object{}, pgerror.NotSupported("has_function_privilege by name")
			}
			return object{owner: catalog.BootstrapRole, public: "X"}, nil
		},
		func(l *lookup, o sqltypes.OID) (object, bool) {
			if f := l.cat.Function(o); f != nil {
				return object{owner: f.Owner, acl: f.ACL, public: "X"}, true
			}
			return object{owner: catalog.BootstrapRole, public: "X"}, sqltypes.ProcByOID(o) != nil
		},
	},
	"type": {
		func(l *lookup, name string) (object, error) {
			return object{owner: catalog.BootstrapRole, public: "U"}, nil
		},
		func(l *lookup, o sqltypes.OID) (object, bool) {
			if t := l.cat.UserType(o); t != nil {
				return object{owner: t.Owner, acl: t.ACL, public: "U"}, true
			}
			return object{owner: catalog.BootstrapRole, public: "U"}, l.cat.Type(o) != nil
		},
	},
	"language": {
		func(l *lookup, name string) (object, error) {
			return object{owner: catalog.BootstrapRole, public: "U"}, nil
		},
		func(l *lookup, o sqltypes.OID) (object, bool) {
			return object{owner: catalog.BootstrapRole, public: "U"}, true
		},
	},
	"tablespace": {
		func(l *lookup, name string) (object, error) { return object{owner: catalog.BootstrapRole}, nil },
		func(l *lookup, o sqltypes.OID) (object, bool) { return object{owner: catalog.BootstrapRole}, true },
	},
}

func (l *lookup) byName(name string) (*catalog.Relation, error) {
	parts, err := splitName(name)
	if err != nil {
		return nil, err
	}
	o, err := l.find(parts)
	if err != nil {
		return nil, err
	}
	r, _ := l.relation(o)
	return r, nil
}

// roleArg resolves a role given by name or OID.
func (l *lookup) roleArg(d sqltypes.Datum, byName bool) (sqltypes.OID, error) {
	if !byName {
		return argOID(d), nil
	}
	if d.S == "public" {
		return 0, nil
	}
	r := l.cat.RoleByName(d.S)
	if r == nil {
		return 0, pgerror.New(pgerror.UndefinedObject, "role %q does not exist", d.S)
	}
	return r.OID, nil
}

func init() {
	fns := map[string]scalar{}
	finders["sequence"] = finders["table"]
	finders["foreign_data_wrapper"], finders["server"] = finders["language"], finders["language"]
	for kind, f := range finders {
		for _, user := range []string{"", "name_", "id_"} {
			for _, by := range []string{"name", "id"} {
				fns["has_"+kind+"_privilege_"+user+by] = privilegeFunction(kind, f, user, by)
			}
		}
	}
	for _, user := range []string{"", "name_", "id_"} {
		for _, by := range []string{"name", "id"} {
			fns["has_any_column_privilege_"+user+by] = anyColumn(user, by)
			fns["has_column_privilege_"+user+by+"_name"] = columnPrivilege(user, by, true)
			fns["has_column_privilege_"+user+by+"_attnum"] = columnPrivilege(user, by, false)
		}
	}
	for _, user := range []string{"", "name_", "id_"} {
		for _, by := range []string{"name", "id"} {
			fns["pg_has_role_"+user+by] = hasRole(user, by)
		}
	}
	register(fns)
}

// subject splits off the optional user argument.
func (l *lookup) subject(user string, a []sqltypes.Datum) (sqltypes.OID, []sqltypes.Datum, error) {
	if user == "" {
		return l.ctx.Role, a, nil
	}
	role, err := l.roleArg(a[0], user == "name_")
	return role, a[1:], err
}

func privilegeFunction(kind string, f finder, user, by string) scalar {
	return func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
		role, a, err := l.subject(user, a)
		if err != nil {
			return sqltypes.Null, err
		}
		var o object
		if by == "name" {
			if o, err = f.byName(l, a[0].S); err != nil {
				return sqltypes.Null, err
			}
		} else {
			var ok bool
			if o, ok = f.byOID(l, argOID(a[0])); !ok {
				return sqltypes.Null, nil
			}
		}
		return l.has(kind, role, o, a[1].S)
	}
}

func (l *lookup) relationArg(by string, d sqltypes.Datum) (*catalog.Relation, error) {
	if by == "name" {
		return l.byName(d.S)
	}
	r, _ := l.relation(argOID(d))
	return r, nil
}

func anyColumn(user, by string) scalar {
	return func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
		role, a, err := l.subject(user, a)
		if err != nil {
			return sqltypes.Null, err
		}
		r, err := l.relationArg(by, a[0])
		if err != nil || r == nil {
			return sqltypes.Null, err
		}
		o := relationObject(r)
		for _, c := range r.Columns {
			o.any = append(o.any, c.ACL)
		}
		return l.has("column", role, o, a[1].S)
	}
}

func columnPrivilege(user, by string, byName bool) scalar {
	return func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
		role, a, err := l.subject(user, a)
		if err != nil {
			return sqltypes.Null, err
		}
		r, err := l.relationArg(by, a[0])
		if err != nil || r == nil {
			return sqltypes.Null, err
		}
		o := relationObject(r)
		found := false
		for _, c := range r.Columns {
			if !c.Dropped && (byName && c.Name == a[1].S || !byName && int64(c.Num) == a[1].I) {
				o.column, found = c.ACL, true
			}
		}
		if !found && byName {
			return sqltypes.Null, pgerror.New(pgerror.UndefinedColumn, "column %q of relation %q does not exist", a[1].S, r.Name)
		}
		if !found {
			return sqltypes.Null, nil
		}
		return l.has("column", role, o, a[2].S)
	}
}

func hasRole(user, by string) scalar {
	return func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
		role, a, err := l.subject(user, a)
		if err != nil {
			return sqltypes.Null, err
		}
		of, err := l.roleArg(a[0], by == "name")
		if err != nil {
			return sqltypes.Null, err
		}
		for word := range strings.SplitSeq(a[1].S, ",") {
			switch strings.ToUpper(strings.TrimSpace(word)) {
			case "USAGE":
				if Member(l.cat, role, of) {
					return yes(true), nil
				}
			case "MEMBER", "SET", "MEMBER WITH GRANT OPTION", "USAGE WITH GRANT OPTION", "MEMBER WITH ADMIN OPTION", "USAGE WITH ADMIN OPTION":
				if l.cat.MayBecome(role, of) {
					return yes(true), nil
				}
			default:
				return sqltypes.Null, pgerror.New(pgerror.InvalidParameterValue, "unrecognized privilege type: %q", word)
			}
		}
		return yes(false), nil
	}
}
