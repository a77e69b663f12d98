package deparse_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"ostraka/engine/catalog"
	"ostraka/planner/bindtest"
	"ostraka/planner/deparse"
)

// TestAgainstServer prints every view, default, check and index expression of a
// live PostgreSQL database and compares with what PostgreSQL prints.
func TestAgainstServer(t *testing.T) {
	dsn := os.Getenv("OSTRAKA_PG_DSN")
	if dsn == "" {
		t.Skip("no server given")
	}
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	m, err := bindtest.Mirror(ctx, conn)
	if err != nil {
		t.Fatal(err)
	}
	pc := m.Context("")
	total, same := 0, 0
	check := func(what, want string, got string, err error) {
		total++
		if err != nil {
			got = "ERROR " + err.Error()
		}
		if got == want {
			same++
			return
		}
		fmt.Printf("-- %s\n  want %s\n  got  %s\n", what, want, got)
	}
	pc.Catalog.AllRelations(func(r *catalog.Relation) bool {
		var names []string
		for _, c := range r.Columns {
			names = append(names, c.Name)
		}
		if r.Kind == catalog.KindView || r.Kind == catalog.KindMatView {
			for _, pretty := range []bool{false, true} {
				var want string
				if err := conn.QueryRow(ctx, "select pg_get_viewdef($1::oid, $2::bool)", uint32(r.OID), pretty).Scan(&want); err != nil {
					t.Log(err)
					continue
				}
				got, err := deparse.View(pc, r.ViewDef, names, pretty)
				check("view "+r.Name, want, got, err)
			}
		}
		for _, k := range r.Checks {
			got, err := deparse.Expr(pc, r, k.Expr, false)
			check("check "+r.Name, k.Expr, got, err)
		}
		for _, c := range r.Columns {
			if c.Default != "" && !c.Dropped {
				got, err := deparse.Expr(pc, r, c.Default, false)
				check("default "+r.Name+"."+c.Name, c.Default, got, err)
			}
		}
		for _, ix := range r.Indexes {
			if ix.Predicate != "" {
				got, err := deparse.Expr(pc, r, ix.Predicate, false)
				check("predicate "+ix.Name, ix.Predicate, got, err)
			}
		}
		return true
	})
	fmt.Printf("== %d of %d\n", same, total)
}
