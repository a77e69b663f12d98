package bind

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/expr"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Built-in collations.
const (
	collDefault sqltypes.OID = 100
	collC       sqltypes.OID = 950
	collPosix   sqltypes.OID = 951
	collUCS     sqltypes.OID = 12341 // ucs_basic
)

// withCollation marks e with a collation written as COLLATE.
func (s *scope) withCollation(e expr.Expr, coll sqltypes.OID) expr.Expr {
	ct := e.Type()
	ct.Collation = coll
	r := &expr.Relabel{T: tt(ct), Arg: e, Coercion: 'e'}
	if s.b.explicit == nil {
		s.b.explicit = map[expr.Expr]bool{}
	}
	s.b.explicit[r] = true
	return r
}

func (s *scope) collateClause(c *pg.CollateClause) expr.Expr {
	b := s.b
	arg := s.expr(c.Arg)
	t := typeOf(arg)
	if ty := b.typ(t); !isUnknown(t) && (ty == nil || ty.Collation == 0) {
		b.fail(c.Location, pgerror.DatatypeMismatch, "collations are not supported by type %s", b.typeName(t))
	}
	return s.withCollation(arg, b.collation(c.Collname, c.Location))
}

// collation looks a collation up by name.
func (b *binder) collation(name []*pg.Node, loc int32) sqltypes.OID {
	if len(name) == 2 && strOf(name[0]) != "pg_catalog" {
		if b.schemaOID(strOf(name[0])) == 0 {
			b.fail(loc, pgerror.InvalidSchemaName, `schema "%s" does not exist`, strOf(name[0]))
		}
	} else {
		switch strOf(name[len(name)-1]) {
		case "default":
			return collDefault
		case "C":
			return collC
		case "POSIX":
			return collPosix
		case "ucs_basic":
			return collUCS
		}
	}
	b.fail(loc, pgerror.UndefinedObject, `collation "%s" for encoding "UTF8" does not exist`, fieldsString(name))
	return 0
}

// setCollation derives a call's input collation and the collation of its result.
func (s *scope) setCollation(c *expr.Call, args []expr.Expr, loc int32) {
	coll, expl := s.inputCollation(args, loc)
	c.Collation = coll
	t := s.b.typ(c.Typ.OID)
	if t == nil || t.Collation == 0 {
		return
	}
	if coll != 0 && (t.Collation == collDefault || expl) {
		c.Typ.Collation = coll
	} else {
		c.Typ.Collation = t.Collation
	}
	if expl {
		s.b.explicit[c] = true
	}
}

// inputCollation combines the collations of arguments: an explicit one wins, two
// different explicit ones clash, then a non-default implicit one.
func (s *scope) inputCollation(args []expr.Expr, loc int32) (coll sqltypes.OID, expl bool) {
	for _, a := range args {
		if a == nil {
			continue
		}
		c := collOf(a)
		if c == 0 {
			continue
		}
		e := s.b.explicit != nil && s.b.explicit[a]
		switch {
		case e && expl && c != coll:
			s.b.fail(loc, pgerror.CollationMismatch, `collation mismatch between explicit collations "%s" and "%s"`, collationName(coll), collationName(c))
		case e:
			coll, expl = c, true
		case expl:
		case coll == 0, coll == collDefault:
			coll = c
		}
	}
	return coll, expl
}

func collationName(oid sqltypes.OID) string {
	switch oid {
	case collC:
		return "C"
	case collPosix:
		return "POSIX"
	case collUCS:
		return "ucs_basic"
	}
	return "default"
}
