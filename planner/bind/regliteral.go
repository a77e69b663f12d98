package bind

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/planner/parse"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// regLiteral resolves 'name'::regclass, regtype, regnamespace and regrole from the
// catalogue the statement is bound with; other types and numbers are left to
// their input functions.
func (s *scope) regLiteral(t sqltypes.OID, text string, loc int32) (sqltypes.OID, bool) {
	b := s.b
	switch t {
	case sqltypes.OIDRegclass, sqltypes.OIDRegtype, sqltypes.OIDRegnamespace, sqltypes.OIDRegrole:
	default:
		return 0, false
	}
	if b.cat == nil || text == "-" || text != "" && strings.Trim(text, "0123456789") == "" {
		return 0, false
	}
	if t == sqltypes.OIDRegtype {
		return b.typeLiteral(text, loc), true
	}
	names := b.splitName(text, loc)
	switch t {
	case sqltypes.OIDRegnamespace:
		if len(names) == 1 {
			if oid := b.schemaOID(names[0]); oid != 0 {
				return oid, true
			}
		}
		if len(names) > 1 {
			b.fail(loc, pgerror.InvalidName, "invalid name syntax")
		}
		b.fail(loc, pgerror.InvalidSchemaName, `schema "%s" does not exist`, strings.Join(names, "."))
	case sqltypes.OIDRegrole:
		if len(names) == 1 {
			if r := b.cat.RoleByName(names[0]); r != nil {
				return r.OID, true
			}
		}
		if len(names) > 1 {
			b.fail(loc, pgerror.InvalidName, "invalid name syntax")
		}
		b.fail(loc, pgerror.UndefinedObject, `role "%s" does not exist`, strings.Join(names, "."))
	}
	rv := &pg.RangeVar{Relname: names[len(names)-1], Location: loc}
	if len(names) > 1 {
		rv.Schemaname = names[len(names)-2]
	}
	if len(names) > 2 {
		rv.Catalogname = names[0]
	}
	oid := b.relationOID(rv)
	if oid == 0 {
		if rv.Schemaname != "" && b.schemaOID(rv.Schemaname) == 0 {
			b.fail(loc, pgerror.InvalidSchemaName, `schema "%s" does not exist`, rv.Schemaname)
		}
		b.relationMissing(rv)
	}
	return oid, true
}

// relationOID finds any relation by name, indexes too; 0 when there is none.
func (b *binder) relationOID(rv *pg.RangeVar) sqltypes.OID {
	path := b.ctx.SearchPath
	if rv.Schemaname != "" {
		ns := b.schemaOID(rv.Schemaname)
		if ns == 0 {
			return 0
		}
		path = []sqltypes.OID{ns}
	}
	for _, ns := range path {
		if r := b.cat.RelationByName(ns, rv.Relname); r != nil {
			return r.OID
		}
		if _, ix := b.cat.IndexByName(ns, rv.Relname); ix != nil {
			return ix.OID
		}
		if b.ctx.Relations != nil {
			if v := b.ctx.Relations.VirtualByName(b.schemaName(ns), rv.Relname); v != nil {
				return v.Rel.OID
			}
		}
	}
	return 0
}

// typeLiteral is parseTypeString.
func (b *binder) typeLiteral(text string, loc int32) sqltypes.OID {
	n, err := parse.Expression("NULL::" + text)
	if err != nil || n.GetTypeCast() == nil {
		b.fail(loc, pgerror.SyntaxError, `invalid type name "%s"`, text)
	}
	tn := n.GetTypeCast().TypeName
	tn.Location = loc
	return b.typeNameRef(tn).OID
}

// splitName is stringToQualifiedNameList.
func (b *binder) splitName(text string, loc int32) []string {
	var out []string
	bad := func() { b.fail(loc, pgerror.InvalidName, "invalid name syntax") }
	s := strings.Trim(text, " \t\n\r\f\v")
	for {
		s = strings.TrimLeft(s, " \t\n\r\f\v")
		if s == "" {
			bad()
		}
		var part strings.Builder
		if s[0] == '"' {
			i := 1
			for {
				if i >= len(s) {
					bad()
				}
				if s[i] == '"' {
					if i+1 < len(s) && s[i+1] == '"' {
						part.WriteByte('"')
						i += 2
						continue
					}
					i++
					break
				}
				part.WriteByte(s[i])
				i++
			}
			if part.Len() == 0 {
				bad()
			}
			s = s[i:]
		} else {
			i := 0
			for i < len(s) && s[i] != '.' && s[i] != ' ' && s[i] != '\t' && s[i] != '\n' {
				c := s[i]
				if c == '"' || i == 0 && !(c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80) {
					bad()
				}
				i++
			}
			part.WriteString(strings.ToLower(s[:i]))
			s = s[i:]
		}
		out = append(out, part.String())
		s = strings.TrimLeft(s, " \t\n\r\f\v")
		if s == "" {
			return out
		}
		if s[0] != '.' {
			bad()
		}
		s = s[1:]
	}
}
