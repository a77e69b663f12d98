package deparse

import (
	"strings"

	"ostraka/expr"
	"ostraka/sqltypes"
)

// constantOID is the number below casts of a constant.
func constantOID(e expr.Expr) (sqltypes.OID, bool) {
	for {
		switch n := e.(type) {
		case *expr.Relabel:
			e = n.Arg
		case *expr.Call:
			if n.Coercion == 0 || len(n.Args) == 0 {
				return 0, false
			}
			e = n.Args[0]
		case *expr.Const:
			number := n.Typ.OID == sqltypes.OIDOid || n.Typ.OID == sqltypes.OIDInt4 || n.Typ.OID == sqltypes.OIDInt8
			return sqltypes.OID(n.Val.I), number && !n.Val.Null && n.Name == ""
		default:
			return 0, false
		}
	}
}

// constant is get_const_expr; label forces the type.
func (p *printer) constant(c *expr.Const, label bool) {
	ct := c.Typ
	if c.Val.Null {
		p.s("NULL::", p.typeName(sqltypes.ColumnType{OID: ct.OID, TypMod: ct.TypMod}))
		return
	}
	t := p.typ(ct.OID)
	text := ""
	if t != nil {
		text = string(t.Out(p.env, nil, c.Val))
	}
	if ct.OID == sqltypes.OIDRegclass {
		text = p.regclass(sqltypes.OID(c.Val.I), text)
	}
	switch ct.OID {
	case sqltypes.OIDInt4:
		if c.Val.I < 0 {
			p.s("'", text, "'::integer")
		} else {
			p.s(text)
		}
		return
	case sqltypes.OIDNumeric:
		if ct.TypMod < 0 && text != "" && text[0] >= '0' && text[0] <= '9' && strings.ContainsAny(text, ".eE") {
			p.s(text)
			return
		}
	case sqltypes.OIDBool:
		if c.Val.Bool() {
			p.s("true")
		} else {
			p.s("false")
		}
		return
	case sqltypes.OIDBit, sqltypes.OIDVarbit:
		p.s("B'", text, "'")
	default:
		p.s(quoteLiteral(text))
	}
	if ct.OID == sqltypes.OIDNumeric {
		p.s("'", text, "'")
	}
	if ct.OID == oidUnknown {
		return
	}
	p.s("::", p.typeName(ct))
}

// regclass names a relation as the type shows it.
func (p *printer) regclass(oid sqltypes.OID, text string) string {
	if r := p.ctx.Catalog.Relation(oid); r != nil {
		return p.relName(r)
	}
	if p.ctx.Relations != nil {
		if v := p.ctx.Relations.VirtualByOID(oid); v != nil {
			return p.relName(v.Rel)
		}
	}
	return text
}

const oidUnknown = sqltypes.OIDUnknown

func (p *printer) constantBare(c *expr.Const) {
	if c.Val.Null {
		p.s("NULL")
		return
	}
	if t := p.typ(c.Typ.OID); t != nil {
		p.s(quoteLiteral(string(t.Out(p.env, nil, c.Val))))
	}
}

func quoteLiteral(s string) string {
	e := ""
	if strings.Contains(s, `\`) {
		e = "E"
		s = strings.ReplaceAll(s, `\`, `\\`)
	}
	return e + "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

func collationName(oid sqltypes.OID) string {
	switch oid {
	case 950:
		return `"C"`
	case 951:
		return `"POSIX"`
	case 100:
		return `"default"`
	}
	return "ucs_basic"
}
