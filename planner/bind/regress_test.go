package bind_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	pgquery "github.com/pganalyze/pg_query_go/v5"

	"ostraka/planner/bind"
	"ostraka/planner/bindtest"
	"ostraka/planner/parse"
	"ostraka/sqltypes/pgerror"
)

// TestAgainstScripts compares the binder with a live PostgreSQL over whole SQL
// scripts: every planned statement is prepared there and bound here, then
// executed there. OSTRAKA_PG_DSN names the server's database (it is changed!),
// OSTRAKA_SCRIPTS the files; differences are printed, classes of them counted.
func TestAgainstScripts(t *testing.T) {
	dsn, files := os.Getenv("OSTRAKA_PG_DSN"), os.Getenv("OSTRAKA_SCRIPTS")
	if dsn == "" || files == "" {
		t.Skip("no server or no scripts given")
	}
	list, err := filepath.Glob(files)
	if err != nil || len(list) == 0 {
		t.Fatal(files, err)
	}
	total, same := 0, 0
	classes := map[string]int{}
	for _, f := range list {
		n, ok := compareScript(t, dsn, f, classes)
		total, same = total+n, same+ok
		fmt.Printf("== %s: %d of %d\n", filepath.Base(f), ok, n)
	}
	fmt.Printf("== all: %d of %d\n", same, total)
	var keys []string
	for k := range classes {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool { return classes[keys[i]] > classes[keys[j]] })
	for i, k := range keys {
		if i < 60 {
			fmt.Printf("%5d %s\n", classes[k], k)
		}
	}
}

func compareScript(t *testing.T, dsn, file string, classes map[string]int) (n, same int) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = conn.PgConn().Exec(ctx, "set statement_timeout = '5s'").ReadAll()
	stmts, err := pgquery.SplitWithScanner(plainSQL(string(raw)), true)
	if err != nil {
		stmts = strings.Split(plainSQL(string(raw)), ";\n")
	}
	var cat *bindtest.Mirrored
	for _, sql := range stmts {
		st, perr := parse.One(sql)
		if perr == nil && st.Planned {
			if cat == nil {
				if cat, err = bindtest.Mirror(ctx, conn); err != nil {
					// A failed transaction, perhaps: leave it as it is.
					if !strings.Contains(err.Error(), "25P02") {
						fmt.Println("mirror:", err)
					}
					cat = nil
				}
			}
			if cat != nil {
				want, code := prepared(conn, sql)
				if code != "25P02" {
					got := bound(cat, sql)
					n++
					if got == want {
						same++
					} else {
						fmt.Printf("-- %s\n%s\n  want %s\n  got  %s\n", filepath.Base(file), sql, want, got)
						classes[class(want, got)]++
					}
				}
			}
		} else {
			cat = nil
		}
		if perr == nil && strings.HasPrefix(st.Tag, "COPY") {
			continue
		}
		if _, err := conn.PgConn().Exec(ctx, sql).ReadAll(); err != nil && conn.IsClosed() {
			return
		}
	}
	return
}

func class(want, got string) string {
	w, _, _ := strings.Cut(want, "\n")
	g, _, _ := strings.Cut(got, "\n")
	cut := func(s string) string {
		if strings.HasPrefix(s, "ERROR") || strings.HasPrefix(s, "PANIC") {
			if i := strings.Index(s, " at "); i > 0 {
				if j := strings.Index(s[i:], ": "); j > 0 {
					s = s[:i] + s[i+j:]
				}
			}
			return s[:min(len(s), 90)]
		}
		return "ok"
	}
	return cut(w) + " | " + cut(g)
}

// plainSQL drops psql's commands and COPY data.
func plainSQL(s string) string {
	var out []string
	data := false
	for _, l := range strings.Split(s, "\n") {
		low := strings.ToLower(l)
		switch {
		case data:
			data = l != `\.`
			continue
		case strings.HasPrefix(l, `\`):
			continue
		case strings.HasPrefix(low, "copy ") && strings.Contains(low, "from stdin"):
			data = true
			continue
		}
		if i := strings.Index(l, `\g`); i >= 0 {
			l = l[:i] + ";"
		}
		out = append(out, l)
	}
	return strings.Join(out, "\n")
}

func prepared(c *pgx.Conn, sql string) (string, string) {
	sd, err := c.PgConn().Prepare(context.Background(), "", sql, nil)
	if err != nil {
		var pe *pgconn.PgError
		if !errors.As(err, &pe) {
			return "?? " + err.Error(), ""
		}
		return errorText(pe.Code, int(pe.Position), pe.Message, pe.Detail, pe.Hint), pe.Code
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%v", sd.ParamOIDs)
	for _, f := range sd.Fields {
		fmt.Fprintf(&b, " %s:%d:%d", f.Name, f.DataTypeOID, f.TypeModifier)
		if f.TableOID != 0 {
			fmt.Fprintf(&b, "@%d", f.TableAttributeNumber)
		}
	}
	return b.String(), ""
}

func bound(cat *bindtest.Mirrored, sql string) (out string) {
	defer func() {
		if r := recover(); r != nil {
			if os.Getenv("BIND_PANIC") != "" {
				panic(r)
			}
			out = fmt.Sprintf("PANIC %v", r)
		}
	}()
	st, err := parse.One(sql)
	if err != nil {
		return err.Error()
	}
	ctx := cat.Context(sql)
	q, params, err := bind.Bind(ctx, st.AST)
	if err != nil {
		if e, ok := err.(*pgerror.Error); ok {
			return errorText(string(e.Code), e.Position, e.Message, e.Detail, e.Hint)
		}
		return err.Error()
	}
	var b strings.Builder
	p32 := make([]uint32, len(params))
	for i, p := range params {
		p32[i] = uint32(p)
	}
	fmt.Fprintf(&b, "%v", p32)
	for _, c := range bind.OutputColumns(ctx, q) {
		fmt.Fprintf(&b, " %s:%d:%d", c.Name, c.Type.OID, c.Type.TypMod)
		if c.TableOID != 0 {
			fmt.Fprintf(&b, "@%d", uint16(c.Attr))
		}
	}
	return b.String()
}
