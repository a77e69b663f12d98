package deparse_test

import (
	"context"
	"os"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/jackc/pgx/v5"

	"ostraka/planner/bindtest"
	"ostraka/planner/deparse"
)

// TestViews compares the text of views with what PostgreSQL 15's pg_get_viewdef
// says, plain and pretty. With OSTRAKA_PG_DSN, OSTRAKA_RECORD and -rewrite the
// expectations are recorded from there.
func TestViews(t *testing.T) {
	ctx := context.Background()
	var conn *pgx.Conn
	if os.Getenv("OSTRAKA_RECORD") != "" {
		var err error
		if conn, err = pgx.Connect(ctx, os.Getenv("OSTRAKA_PG_DSN")); err != nil {
			t.Fatal(err)
		}
		defer conn.Close(ctx)
	}
	cat := bindtest.New()
	exec := func(t *testing.T, sql string) {
		if _, err := conn.PgConn().Exec(ctx, sql).ReadAll(); err != nil {
			t.Fatal(sql, err)
		}
	}
	datadriven.RunTest(t, "testdata/views", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "ddl":
			if conn != nil {
				exec(t, "drop schema public cascade; create schema public; "+d.Input)
			}
			if err := cat.Exec(d.Input); err != nil {
				t.Fatal(err)
			}
			return ""
		case "view":
			out := ""
			for _, pretty := range []bool{false, true} {
				if conn != nil {
					exec(t, "create or replace view vx as "+d.Input)
					var s string
					if err := conn.QueryRow(ctx, "select pg_get_viewdef('vx'::regclass, $1::bool)", pretty).Scan(&s); err != nil {
						t.Fatal(err)
					}
					out += s + "\n"
					if pretty {
						exec(t, "drop view vx")
					}
					continue
				}
				s, err := deparse.View(cat.Context(""), d.Input, nil, pretty)
				if err != nil {
					t.Fatal(err)
				}
				out += s + "\n"
				// The text binds again, and from then on prints the same.
				again, err := deparse.View(cat.Context(""), s[:len(s)-1], nil, pretty)
				if err != nil {
					t.Fatal(err)
				}
				third, err := deparse.View(cat.Context(""), again[:len(again)-1], nil, pretty)
				if err != nil || third != again {
					t.Errorf("printed again:\n%s\n%v", third, err)
				}
			}
			return out
		}
		t.Fatal(d.Cmd)
		return ""
	})
}
