package syscat

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner/bind"
	"ostraka/planner/deparse"
	"ostraka/sqltypes"
)

// Stored expressions are text. What stands in the columns of type pg_node_tree
// says besides what it belongs to, so that pg_get_expr can bind it again.

// nodeText is the value of a pg_node_tree column: kind d default of attribute
// owner, v check and w default of domain owner, i expressions of index owner, e an expression.
func nodeText(kind byte, owner sqltypes.OID, sql string) sqltypes.Datum {
	if sql == "" {
		return sqltypes.Null
	}
	return text("{" + string(kind) + ":" + itoa(int64(owner)) + "}" + sql)
}

// cutNode takes a pg_node_tree value apart; a text that is not ours is an expression.
func cutNode(s string) (kind byte, owner sqltypes.OID, sql string) {
	if len(s) < 4 || s[0] != '{' || s[2] != ':' {
		return 'e', 0, s
	}
	number, rest, ok := strings.Cut(s[3:], "}")
	n, err := strconv.ParseUint(number, 10, 32)
	if !ok || err != nil {
		return 'e', 0, s
	}
	return s[1], sqltypes.OID(n), rest
}

// printed caches definitions of one catalogue snapshot and search path.
var printed struct {
	sync.Mutex
	cat  *catalog.Catalog // guarded by the mutex, as what follows
	path string
	text map[string]string
}

const maxPrinted = 20000

// cachedText returns make's text, made once for a snapshot and search path.
func (l *lookup) cachedText(key string, make func() string) string {
	var path strings.Builder
	for _, s := range l.ctx.SearchPath {
		path.WriteString(itoa(int64(s)) + " ")
	}
	printed.Lock()
	if printed.cat != l.cat || printed.path != path.String() || len(printed.text) > maxPrinted {
		printed.cat, printed.path, printed.text = l.cat, path.String(), map[string]string{}
	}
	s, ok := printed.text[key]
	printed.Unlock()
	if ok {
		return s
	}
	s = make()
	printed.Lock()
	defer printed.Unlock()
	if printed.cat == l.cat && printed.path == path.String() {
		printed.text[key] = s
	}
	return s
}

// nodeExpr is pg_get_expr.
func (l *lookup) nodeExpr(rel sqltypes.OID, stored string, pretty bool) string {
	kind, owner, sql := cutNode(stored)
	switch kind {
	case 'd':
		if r := l.cat.Relation(rel); r != nil && owner >= 1 && int(owner) <= len(r.Columns) {
			return l.defaultText(r, r.Columns[owner-1], pretty)
		}
	case 'v':
		if t := l.cat.UserType(owner); t != nil {
			return l.domainText(t, sql, pretty)
		}
	case 'w':
		if t := l.cat.UserType(owner); t != nil {
			return l.domainDefault(t)
		}
	case 'i':
		if r, ix := l.cat.Index(owner); ix != nil {
			var parts []string
			for _, k := range ix.Keys {
				if k.Attr == 0 {
					s, _ := l.relationText(r, k.Expr, false, pretty)
					parts = append(parts, s)
				}
			}
			return strings.Join(parts, ", ")
		}
	case 'P':
		return l.policyText(sql, pretty)
	case 'b':
		return sql
	case 'p':
		if r := l.cat.Relation(rel); r != nil {
			s, _ := l.relationText(r, sql, true, pretty)
			return s
		}
	}
	if s, ok := factExprs()[stored]; ok {
		return s
	}
	s, _ := l.relationText(l.cat.Relation(rel), sql, false, pretty)
	return s
}

// factExprs are the expressions in PostgreSQL's own form among the fixed rows.
var factExprs = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	bin, plain := slices.Index(columnNames("pg_type"), "typdefaultbin"), slices.Index(columnNames("pg_type"), "typdefault")
	for _, row := range fixedRows()["pg_type"] {
		if !row[bin].Null {
			out[row[bin].S] = row[plain].S
		}
	}
	return out
})

func prettyKey(pretty bool) string {
	if pretty {
		return "p"
	}
	return "f"
}

// defaultText prints a column's default or generation expression.
func (l *lookup) defaultText(r *catalog.Relation, c *catalog.Column, pretty bool) string {
	return l.cachedText("d"+prettyKey(pretty)+itoa(int64(r.OID))+"."+itoa(int64(c.Num)), func() string {
		e, err := bind.DefaultExpr(l.ctx, r, c)
		if err != nil || e == nil {
			return c.Default
		}
		return deparse.Bound(l.ctx, e, pretty)
	})
}

// relationText prints an expression over a relation's row; call reports that its
// text is that of a function call, which stands without parentheses in an index.
func (l *lookup) relationText(r *catalog.Relation, sql string, cond, pretty bool) (s string, call bool) {
	if sql == "" {
		return "", false
	}
	key := "e" + prettyKey(pretty) + sql
	if r != nil {
		key = itoa(int64(r.OID)) + key
	} else {
		r = &catalog.Relation{}
	}
	s = l.cachedText(key, func() string {
		var e expr.Expr
		var err error
		if cond {
			e, err = bind.CheckExpr(l.ctx, r, sql)
		} else {
			e, err = bind.RelationExpr(l.ctx, r, sql)
		}
		if err != nil {
			return "-" + sql
		}
		mark := "-"
		if deparse.IsCall(e) {
			mark = "+"
		}
		return mark + deparse.Bound(l.ctx, e, pretty)
	})
	return s[1:], s[0] == '+'
}

// domainText prints a check or default of a domain.
func (l *lookup) domainText(t *catalog.UserType, sql string, pretty bool) string {
	return l.cachedText("v"+prettyKey(pretty)+itoa(int64(t.OID))+sql, func() string {
		base := t.Base
		if b := l.cat.Type(base.OID); b != nil && base.Collation == 0 {
			base.Collation = b.Collation
		}
		e, err := bind.DomainCheckExpr(l.ctx, base, sql)
		if err != nil {
			return sql
		}
		return deparse.Bound(l.ctx, e, pretty)
	})
}

// domainDefault prints a domain's default, coerced to its base type.
func (l *lookup) domainDefault(t *catalog.UserType) string {
	c := &catalog.Column{Num: 1, Name: "value", Type: t.Base, HasDefault: true, Default: t.Default}
	e, err := bind.DefaultExpr(l.ctx, &catalog.Relation{Columns: []*catalog.Column{c}}, c)
	if err != nil || e == nil {
		return t.Default
	}
	return deparse.Bound(l.ctx, e, false)
}

// queryText prints a view's query.
func (l *lookup) queryText(r *catalog.Relation, pretty bool) string {
	return l.cachedText("q"+prettyKey(pretty)+itoa(int64(r.OID)), func() string {
		ctx := *l.ctx
		ctx.Role = r.Owner
		cols := make([]string, 0, len(r.Columns))
		for _, c := range r.Columns {
			cols = append(cols, c.Name)
		}
		s, err := deparse.View(&ctx, r.ViewDef, cols, pretty)
		if err != nil {
			return " " + r.ViewDef + ";"
		}
		return s
	})
}
