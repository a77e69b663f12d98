package syscat

import (
	"cmp"
	"slices"
	"strings"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

// Short constructors of column values.

func oid(o sqltypes.OID) sqltypes.Datum { return sqltypes.Int(int64(o)) }
func num(n int) sqltypes.Datum          { return sqltypes.Int(int64(n)) }
func text(s string) sqltypes.Datum      { return sqltypes.Text(s) }
func yes(b bool) sqltypes.Datum         { return sqltypes.Bool(b) }
func float4(f float64) sqltypes.Datum   { return sqltypes.Float(float64(float32(f))) }

// char is a "char" value; 0 is the empty one.
func char(b byte) sqltypes.Datum { return sqltypes.Int(int64(int8(b))) }

// textOrNull is NULL for "".
func textOrNull(s string) sqltypes.Datum {
	if s == "" {
		return sqltypes.Null
	}
	return text(s)
}

// textArray is a text[]; NULL when there is none.
func textArray(list []string) sqltypes.Datum {
	if list == nil {
		return sqltypes.Null
	}
	return sqltypes.TextArray(list)
}

// array makes a one-dimensional array of an element type.
func array(elem sqltypes.OID, vals []sqltypes.Datum) sqltypes.Datum {
	return sqltypes.MakeVector(sqltypes.TypeByOID(elem), vals)
}

func int2Array(list []int16) sqltypes.Datum {
	vals := make([]sqltypes.Datum, len(list))
	for i, v := range list {
		vals[i] = sqltypes.Int(int64(v))
	}
	return array(sqltypes.OIDInt2, vals)
}

func oidArray(list []sqltypes.OID) sqltypes.Datum {
	vals := make([]sqltypes.Datum, len(list))
	for i, v := range list {
		vals[i] = oid(v)
	}
	return array(sqltypes.OIDOid, vals)
}

// aclArray is an aclitem[] in its text form, NULL for the default privileges.
func aclArray(cat *catalog.Catalog, list []catalog.ACLItem) sqltypes.Datum {
	if list == nil {
		return sqltypes.Null
	}
	vals := make([]sqltypes.Datum, len(list))
	for i, a := range list {
		vals[i] = text(aclText(cat, a))
	}
	return array(sqltypes.OIDAclitem, vals)
}

// aclText is "grantee=arw*/grantor".
func aclText(cat *catalog.Catalog, a catalog.ACLItem) string {
	var b strings.Builder
	if a.Grantee != 0 {
		b.WriteString(quoteIdent(roleName(cat, a.Grantee)))
	}
	b.WriteByte('=')
	for i := range len(a.Privs) {
		b.WriteByte(a.Privs[i])
		if strings.IndexByte(a.GrantOptions, a.Privs[i]) >= 0 {
			b.WriteByte('*')
		}
	}
	b.WriteByte('/')
	b.WriteString(quoteIdent(roleName(cat, a.Grantor)))
	return b.String()
}

func roleName(cat *catalog.Catalog, role sqltypes.OID) string {
	if r := cat.Role(role); r != nil {
		return r.Name
	}
	return "unknown (OID=" + itoa(int64(role)) + ")"
}

// sorted collects what an All function yields, ordered by OID.
func sorted[T any](all func(func(T) bool), key func(T) sqltypes.OID) []T {
	var out []T
	all(func(v T) bool {
		out = append(out, v)
		return true
	})
	slices.SortFunc(out, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	return out
}

// relations are the users' relations; system relations are the Set's own.
func relations(cat *catalog.Catalog) []*catalog.Relation {
	all := sorted(cat.AllRelations, func(r *catalog.Relation) sqltypes.OID { return r.OID })
	for len(all) > 0 && all[0].OID < catalog.FirstUserOID {
		all = all[1:]
	}
	return all
}

// quoteIdent quotes an identifier when SQL needs it (keywords included).
func quoteIdent(s string) string { return sqltypes.QuoteIdent(s) }
