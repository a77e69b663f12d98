package opt_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"ostraka/engine/catalog"
	"ostraka/planner"
	"ostraka/planner/bind"
	"ostraka/planner/bindtest"
	"ostraka/planner/explain"
	"ostraka/planner/opt"
	"ostraka/planner/parse"
	"ostraka/sqltypes"
	_ "ostraka/sqltypes/builtin"
)

// session is a catalogue with made-up statistics.
type session struct{ cat *bindtest.Catalog }

func newSession() *session { return &session{cat: bindtest.New()} }

// rows sets a table's size.
func (s *session) rows(t *testing.T, table string, n float64) {
	r := s.cat.Context("").Catalog.RelationByName(catalog.SchemaPublic, table)
	if r == nil {
		t.Fatalf("no table %s", table)
	}
	s.cat.PutStats(&catalog.TableStats{Relation: r.OID, Rows: n})
}

func (s *session) plan(sql string, params ...sqltypes.Datum) (*planner.Plan, *planner.Context, error) {
	list, err := parse.Parse(sql)
	if err != nil {
		return nil, nil, err
	}
	ctx := s.cat.Context(sql)
	ctx.Explain = true
	if len(params) > 0 {
		ctx.ParamValues = params
	}
	q, ptypes, err := bind.Bind(ctx, list[0].AST)
	if err != nil {
		return nil, nil, err
	}
	p, err := opt.Optimize(ctx, q, ptypes)
	return p, ctx, err
}

// TestPlans prints the plans of statements: "exec" runs DDL, "rows" sets table
// sizes ("name rows"), "plan" prints EXPLAIN (COSTS OFF); options: costs, verbose,
// point, locks, format=json.
func TestPlans(t *testing.T) {
	datadriven.Walk(t, "testdata/plans", func(t *testing.T, path string) {
		s := newSession()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "exec":
				if err := s.cat.Exec(d.Input); err != nil {
					return err.Error() + "\n"
				}
				return "ok\n"
			case "rows":
				for _, l := range strings.Split(d.Input, "\n") {
					f := strings.Fields(l)
					n, err := strconv.ParseFloat(f[1], 64)
					if err != nil {
						d.Fatalf(t, "%v", err)
					}
					s.rows(t, f[0], n)
				}
				return "ok\n"
			case "plan":
				p, ctx, err := s.plan(d.Input)
				if err != nil {
					return "error: " + err.Error() + "\n"
				}
				o := explain.Options{Costs: d.HasArg("costs"), Verbose: d.HasArg("verbose")}
				d.MaybeScanArgs(t, "format", &o.Format)
				out := explain.Explain(p, ctx.Catalog, o, nil)
				if p.Point != nil {
					out += fmt.Sprintf("point %c by %s\n", p.Point.Kind, indexName(p.Point.Index))
				}
				if d.HasArg("locks") {
					for _, l := range p.Relations {
						out += fmt.Sprintf("lock %s mode %d\n", l.Name, l.Mode)
					}
					out += fmt.Sprintf("class %d cacheable %v\n", p.Class, p.Cacheable)
				}
				return strings.TrimRight(out, "\n") + "\n"
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

func indexName(ix *catalog.Index) string {
	if ix == nil {
		return "-"
	}
	return ix.Name
}

// TestTPCH plans all queries of TPC-H at the sizes of scale factor 1. OSTRAKA_TPCH
// names a directory with schema.sql and queries/*.sql.
func TestTPCH(t *testing.T) {
	dir := os.Getenv("OSTRAKA_TPCH")
	if dir == "" {
		t.Skip("OSTRAKA_TPCH is not set")
	}
	schema, err := os.ReadFile(filepath.Join(dir, "schema.sql"))
	if err != nil {
		t.Fatal(err)
	}
	s := newSession()
	if err := s.cat.Exec(string(schema)); err != nil {
		t.Fatal(err)
	}
	for n, r := range map[string]float64{"nation": 25, "region": 5, "part": 200000, "supplier": 10000, "partsupp": 800000, "customer": 150000, "orders": 1500000, "lineitem": 6001215} {
		s.rows(t, n, r)
	}
	files, err := filepath.Glob(filepath.Join(dir, "queries", "q*.sql"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			list, err := parse.Parse(string(text))
			if err != nil {
				t.Fatal(err)
			}
			for _, st := range list {
				if !st.Planned {
					if err := s.cat.Exec(st.Text); err != nil {
						t.Fatal(err)
					}
					continue
				}
				p, ctx, err := s.plan(st.Text)
				if err != nil {
					t.Fatal(err)
				}
				t.Log("\n" + explain.Explain(p, ctx.Catalog, explain.Options{Costs: true}, nil))
			}
		})
	}
}
