package opt_test

import (
	"fmt"
	"strings"
	"testing"

	"ostraka/planner/bind"
	"ostraka/planner/opt"
	"ostraka/planner/parse"
)

// BenchmarkOptimize times planning alone, without parsing and binding.
func BenchmarkOptimize(b *testing.B) {
	s := newSession()
	if err := s.cat.Exec("CREATE TABLE t (a int PRIMARY KEY, b text, c int); CREATE INDEX t_c ON t (c)"); err != nil {
		b.Fatal(err)
	}
	chain := func(n int) string {
		var from, where []string
		for i := range n {
			from = append(from, fmt.Sprintf("t t%d", i))
			if i > 0 {
				where = append(where, fmt.Sprintf("t%d.c = t%d.a", i-1, i))
			}
		}
		return "SELECT t0.b FROM " + strings.Join(from, ", ") + " WHERE t0.a = 1 AND " + strings.Join(append(where, "true"), " AND ")
	}
	for _, c := range []struct{ name, sql string }{
		{"point", "SELECT b FROM t WHERE a = $1"},
		{"update", "UPDATE t SET c = c + 1 WHERE a = $1"},
		{"join2", chain(2)}, {"join6", chain(6)}, {"join10", chain(10)}, {"join12", chain(12)}, {"join30", chain(30)}, {"join64", chain(64)},
	} {
		b.Run(c.name, func(b *testing.B) {
			list, err := parse.Parse(c.sql)
			if err != nil {
				b.Fatal(err)
			}
			ctx := s.cat.Context(c.sql)
			q, params, err := bind.Bind(ctx, list[0].AST)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := opt.Optimize(ctx, q, params); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
