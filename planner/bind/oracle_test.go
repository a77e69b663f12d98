package bind_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"ostraka/planner"
	"ostraka/planner/bind"
	"ostraka/planner/bindtest"
	"ostraka/planner/parse"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// TestOracle compares the binder with PostgreSQL: each statement of a
// testdata/oracle file is prepared; the expectation is what PostgreSQL answers —
// parameter types and result columns, or the error with code, position, detail
// and hint. With OSTRAKA_PG_DSN set and -rewrite, expectations are recorded from there.
func TestOracle(t *testing.T) {
	datadriven.Walk(t, "testdata/oracle", func(t *testing.T, path string) {
		cat := bindtest.New()
		var conn *pgx.Conn
		if dsn := os.Getenv("OSTRAKA_PG_DSN"); dsn != "" && os.Getenv("OSTRAKA_RECORD") != "" {
			var err error
			conn, err = pgx.Connect(context.Background(), dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(context.Background())
			mustExec(t, conn, "drop schema if exists public cascade; create schema public; set search_path = public")
			mustExec(t, conn, "drop schema if exists other cascade")
		}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "ddl":
				if conn != nil {
					mustExec(t, conn, d.Input)
				}
				if err := cat.Exec(d.Input); err != nil {
					t.Fatal(err)
				}
				return ""
			case "sql":
				var out []string
				for _, sql := range splitLines(d.Input) {
					var got string
					if conn != nil {
						got = oracle(conn, sql)
					} else {
						got = ours(cat, sql)
					}
					out = append(out, got)
				}
				return strings.Join(out, "\n") + "\n"
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

// splitLines: one statement a line, continued by leading blanks.
func splitLines(s string) []string {
	var out []string
	for _, l := range strings.Split(s, "\n") {
		if len(out) > 0 && strings.HasPrefix(l, " ") {
			out[len(out)-1] += "\n" + l
			continue
		}
		out = append(out, l)
	}
	return out
}

func mustExec(t *testing.T, c *pgx.Conn, sql string) {
	t.Helper()
	if _, err := c.PgConn().Exec(context.Background(), sql).ReadAll(); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func oracle(c *pgx.Conn, sql string) string {
	sd, err := c.PgConn().Prepare(context.Background(), "", sql, nil)
	if err != nil {
		var pe *pgconn.PgError
		if !errors.As(err, &pe) {
			return "?? " + err.Error()
		}
		return errorText(pe.Code, int(pe.Position), pe.Message, pe.Detail, pe.Hint)
	}
	var b strings.Builder
	b.WriteString("(")
	for i, p := range sd.ParamOIDs {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(typeText(c, p, -1))
	}
	b.WriteString(")")
	for i, f := range sd.Fields {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, " %s:%s", f.Name, typeText(c, f.DataTypeOID, f.TypeModifier))
		if f.TableOID != 0 {
			fmt.Fprintf(&b, "@%d", f.TableAttributeNumber)
		}
	}
	return b.String()
}

func typeText(c *pgx.Conn, oid uint32, mod int32) string {
	if sqltypes.TypeByOID(sqltypes.OID(oid)) != nil {
		return sqltypes.FormatType(sqltypes.OID(oid), mod)
	}
	var s string
	if err := c.QueryRow(context.Background(), "select format_type($1, $2)", oid, mod).Scan(&s); err != nil {
		return err.Error()
	}
	return s
}

func errorText(code string, pos int, msg, detail, hint string) string {
	s := fmt.Sprintf("ERROR %s at %d: %s", code, pos, msg)
	if detail != "" {
		s += "\n  DETAIL: " + strings.ReplaceAll(detail, "\n", " ")
	}
	if hint != "" {
		s += "\n  HINT: " + strings.ReplaceAll(hint, "\n", " ")
	}
	return s
}

func ours(cat *bindtest.Catalog, sql string) (out string) {
	defer func() {
		if r := recover(); r != nil {
			out = fmt.Sprintf("PANIC %v", r)
			if os.Getenv("BIND_PANIC") != "" {
				panic(r)
			}
		}
	}()
	fail := func(err error) string {
		if e, ok := err.(*pgerror.Error); ok {
			return errorText(string(e.Code), e.Position, e.Message, e.Detail, e.Hint)
		}
		return err.Error()
	}
	st, err := parse.One(sql)
	if err != nil {
		return fail(err)
	}
	ctx := cat.Context(sql)
	q, params, err := bind.Bind(ctx, st.AST)
	if err != nil {
		return fail(err)
	}
	return describe(ctx, q, params)
}

func describe(ctx *planner.Context, q *planner.Query, params []sqltypes.OID) string {
	name := func(oid sqltypes.OID, mod int32) string {
		return sqltypes.FormatTypeWith(oid, mod, func(o sqltypes.OID) (*sqltypes.Type, string) {
			t := ctx.Catalog.Type(o)
			if t == nil {
				return nil, ""
			}
			return t, sqltypes.QuoteIdent(t.Name)
		})
	}
	var b strings.Builder
	b.WriteString("(")
	for i, p := range params {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name(p, -1))
	}
	b.WriteString(")")
	list := q.Targets
	if q.Command != planner.CmdSelect {
		list = q.Returning
	}
	n := 0
	for _, t := range list {
		if t.Junk {
			continue
		}
		if n > 0 {
			b.WriteString(",")
		}
		n++
		ct := t.Expr.Type()
		// Domains travel as their base type.
		for {
			ty := ctx.Catalog.Type(ct.OID)
			if ty == nil || ty.TypType != 'd' {
				break
			}
			ct = sqltypes.ColumnType{OID: ty.BaseType, TypMod: ty.TypMod}
		}
		fmt.Fprintf(&b, " %s:%s", t.Name, name(ct.OID, ct.TypMod))
		if t.TableOID != 0 {
			fmt.Fprintf(&b, "@%d", uint16(t.Attr))
		}
	}
	return b.String()
}
