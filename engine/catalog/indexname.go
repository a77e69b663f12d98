package catalog

import (
	"strconv"
	"strings"
)

// IndexColumnNames are the names of an index's attributes, keys before included
// columns: the column's, or the outermost function's of an expression, made
// different by numbers (ChooseIndexColumnNames).
func IndexColumnNames(r *Relation, ix *Index) []string {
	var out []string
	add := func(name string) {
		try := name
		for i := 1; contains(out, try); i++ {
			try = name + strconv.Itoa(i)
		}
		out = append(out, try)
	}
	for _, k := range ix.Keys {
		switch {
		case k.Attr > 0:
			add(r.Columns[k.Attr-1].Name)
		case k.Name != "":
			add(k.Name)
		default:
			add(exprColumnName(k.Expr))
		}
	}
	for _, a := range ix.Include {
		add(r.Columns[a-1].Name)
	}
	return out
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// exprColumnName names an index's expression column after its outermost function, as CREATE INDEX does.
func exprColumnName(sql string) string {
	open := strings.IndexByte(sql, '(')
	if open > 0 && strings.HasSuffix(sql, ")") && strings.Trim(sql[:open], "abcdefghijklmnopqrstuvwxyz0123456789_.") == "" {
		return sql[strings.LastIndexByte(sql[:open], '.')+1 : open]
	}
	return "expr"
}
