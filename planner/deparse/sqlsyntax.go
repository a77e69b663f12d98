package deparse

import (
	"strconv"
	"strings"

	"ostraka/expr"
	"ostraka/sqltypes"
)

// sqlSyntax is get_func_sql_syntax, and the value functions of SQL.
func (p *printer) sqlSyntax(x *expr.Call) bool {
	prec := ""
	if x.Typ.TypMod >= 0 {
		prec = "(" + strconv.Itoa(int(x.Typ.TypMod)) + ")"
	}
	a := x.Args
	switch x.Proc.Name {
	case "now":
		p.s("CURRENT_TIMESTAMP")
		return true
	case "current_user", "session_user", "current_schema":
		p.s(strings.ToUpper(x.Proc.Name))
		return true
	case "current_database":
		p.s("CURRENT_CATALOG")
		return true
	case "date":
		p.s("CURRENT_DATE")
		return true
	case "timetz":
		p.s("CURRENT_TIME", prec)
		return true
	case "time":
		p.s("LOCALTIME", prec)
		return true
	case "timestamp":
		p.s("LOCALTIMESTAMP", prec)
		return true
	case "timestamptz":
		p.s("CURRENT_TIMESTAMP", prec)
		return true
	case "timezone":
		if len(a) == 2 {
			p.s("(")
			p.expr(a[1], true)
			p.s(" AT TIME ZONE ")
			p.expr(a[0], true)
			p.s(")")
			return true
		}
	case "extract":
		if c, ok := a[0].(*expr.Const); ok {
			p.s("EXTRACT(", c.Val.S, " FROM ")
			p.expr(a[1], true)
			p.s(")")
			return true
		}
	case "position":
		p.s("POSITION((")
		p.expr(a[1], true)
		p.s(") IN (")
		p.expr(a[0], true)
		p.s("))")
		return true
	case "overlay":
		p.s("OVERLAY(")
		p.expr(a[0], true)
		p.s(" PLACING ")
		p.expr(a[1], true)
		p.s(" FROM ")
		p.expr(a[2], true)
		if len(a) == 4 {
			p.s(" FOR ")
			p.expr(a[3], true)
		}
		p.s(")")
		return true
	case "substring":
		p.s("SUBSTRING(")
		p.expr(a[0], true)
		if len(a) == 3 && x.Proc.ArgTypes[1] == sqltypes.OIDText {
			p.s(" SIMILAR ")
			p.expr(a[1], true)
			p.s(" ESCAPE ")
			p.expr(a[2], true)
		} else {
			p.s(" FROM ")
			p.expr(a[1], true)
			if len(a) == 3 {
				p.s(" FOR ")
				p.expr(a[2], true)
			}
		}
		p.s(")")
		return true
	case "btrim", "ltrim", "rtrim":
		p.s("TRIM(", map[string]string{"btrim": "BOTH", "ltrim": "LEADING", "rtrim": "TRAILING"}[x.Proc.Name])
		if len(a) == 2 {
			p.s(" ")
			p.expr(a[1], true)
		}
		p.s(" FROM ")
		p.expr(a[0], true)
		p.s(")")
		return true
	case "overlaps":
		if len(a) == 4 {
			p.s("((")
			p.list(a[:2])
			p.s(") OVERLAPS (")
			p.list(a[2:])
			p.s("))")
			return true
		}
	case "normalize":
		p.s("NORMALIZE(")
		p.expr(a[0], true)
		if len(a) == 2 {
			if c, ok := a[1].(*expr.Const); ok {
				p.s(", ", c.Val.S)
			}
		}
		p.s(")")
		return true
	}
	return false
}
