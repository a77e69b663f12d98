package syscat

import (
	"strings"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// privilegeNames are the words of the letters of an aclitem, in PostgreSQL's order.
var privilegeNames = []struct {
	letter byte
	word   string
}{
	{'a', "INSERT"}, {'r', "SELECT"}, {'w', "UPDATE"}, {'d', "DELETE"}, {'D', "TRUNCATE"}, {'x', "REFERENCES"}, {'t', "TRIGGER"},
	{'X', "EXECUTE"}, {'U', "USAGE"}, {'C', "CREATE"}, {'T', "TEMPORARY"}, {'c', "CONNECT"}, {'s', "SET"}, {'A', "ALTER SYSTEM"},
}

func init() {
	register(map[string]scalar{
		"acldefault_sql": func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			mine, public, ok := catalog.InitialPrivileges(byte(a[0].I))
			if !ok {
				return sqltypes.Null, pgerror.New(pgerror.InternalError, "unrecognized object type abbreviation: %c", byte(a[0].I))
			}
			owner := argOID(a[1])
			list := []catalog.ACLItem{}
			if public != "" {
				list = append(list, catalog.ACLItem{Grantor: owner, Privs: public})
			}
			if mine != "" {
				list = append(list, catalog.ACLItem{Grantee: owner, Grantor: owner, Privs: mine})
			}
			return aclArray(l.cat, list), nil
		},
		"makeaclitem": func(l *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			privs := ""
			for word := range strings.SplitSeq(a[2].S, ",") {
				letter := byte(0)
				for _, p := range privilegeNames {
					if strings.EqualFold(p.word, strings.TrimSpace(word)) {
						letter = p.letter
					}
				}
				if letter == 0 {
					return sqltypes.Null, pgerror.New(pgerror.InvalidParameterValue, "unrecognized privilege type: %q", strings.TrimSpace(word))
				}
				privs += string(letter)
			}
			item := catalog.ACLItem{Grantee: argOID(a[0]), Grantor: argOID(a[1]), Privs: privs}
			if a[3].Bool() {
				item.GrantOptions = privs
			}
			return text(aclText(l.cat, item)), nil
		},
		"aclcontains": func(_ *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			want, _ := cutACL(a[1].S)
			for _, d := range sqltypes.OpenArray(a[0]).Elements() {
				have, _ := cutACL(d.S)
				if have.grantee == want.grantee && have.grantor == want.grantor && containsAll(have.privs, want.privs) {
					return yes(true), nil
				}
			}
			return yes(false), nil
		},
		"aclitem_eq": func(_ *lookup, _ *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			return yes(a[0].S == a[1].S), nil
		},
		"aclinsert": aclNoLonger, "aclremove": aclNoLonger,
	})
	sqltypes.RegisterSet("aclexplode", aclExplode)
}

func aclNoLonger(_ *lookup, c *sqltypes.Call, _ []sqltypes.Datum) (sqltypes.Datum, error) {
	return sqltypes.Null, pgerror.New(pgerror.FeatureNotSupported, "%s is no longer supported", c.Proc.Name)
}

func containsAll(s, letters string) bool {
	for i := range len(letters) {
		if strings.IndexByte(s, letters[i]) < 0 {
			return false
		}
	}
	return true
}

// aclParts is an aclitem's text taken apart; names are as written.
type aclParts struct{ grantee, privs, grantor string }

// cutACL splits "grantee=arw*/grantor"; names may be quoted.
func cutACL(s string) (aclParts, bool) {
	var p aclParts
	p.grantee, s = cutRole(s)
	if s == "" || s[0] != '=' {
		return p, false
	}
	p.privs, s, _ = strings.Cut(s[1:], "/")
	p.grantor, _ = cutRole(s)
	return p, true
}

func cutRole(s string) (name, rest string) {
	if s == "" || s[0] != '"' {
		i := strings.IndexByte(s, '=')
		if i < 0 {
			return s, ""
		}
		return s[:i], s[i:]
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] == '"' {
			if i+1 < len(s) && s[i+1] == '"' {
				i++
			} else {
				return b.String(), s[i+1:]
			}
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}

// roleOf finds a role by its name in an aclitem; PUBLIC is 0.
func roleOf(cat *catalog.Catalog, name string) sqltypes.OID {
	if r := cat.RoleByName(name); r != nil {
		return r.OID
	}
	if n, ok := strings.CutPrefix(name, "unknown (OID="); ok {
		return oidOf(strings.TrimSuffix(n, ")"))
	}
	return 0
}

// aclExplode lists the privileges of an access list: grantor, grantee, privilege_type, is_grantable.
func aclExplode(c *sqltypes.Call, a []sqltypes.Datum) (sqltypes.RowSource, error) {
	l, err := lookupOf(c)
	if err != nil {
		return nil, err
	}
	out := &rowList{}
	for _, d := range sqltypes.OpenArray(a[0]).Elements() {
		p, ok := cutACL(d.S)
		if d.Null || !ok {
			continue
		}
		for _, n := range privilegeNames {
			if i := strings.IndexByte(p.privs, n.letter); i >= 0 {
				grantable := i+1 < len(p.privs) && p.privs[i+1] == '*'
				out.rows = append(out.rows, []sqltypes.Datum{oid(roleOf(l.cat, p.grantor)), oid(roleOf(l.cat, p.grantee)), text(n.word), yes(grantable)})
			}
		}
	}
	return out, nil
}
