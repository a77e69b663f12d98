package exec

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/planner/bind"
	"ostraka/planner/opt"
	"ostraka/planner/parse"
	"ostraka/sqltypes"
)

// plan makes the plan of one statement over the transaction's catalogue.
func (h *harness) plan(sql string) (*planner.Plan, error) {
	h.t.Helper()
	list, err := parse.Parse(sql)
	if err != nil {
		h.t.Fatal(err)
	}
	pc := &planner.Context{Catalog: h.tx.Catalog(), Role: catalog.BootstrapRole, Source: sql,
		SearchPath: []sqltypes.OID{catalog.SchemaPgCatalog, catalog.SchemaPublic}, Env: h.env, Settings: planner.Settings{WorkMem: 64 << 20}}
	q, params, err := bind.Bind(pc, list[0].AST)
	if err != nil {
		return nil, err
	}
	return opt.Optimize(pc, q, params)
}

// sql runs one statement in a statement of its own.
func (h *harness) sql(sql string) ([]string, int64, error) {
	h.t.Helper()
	h.statement()
	p, err := h.plan(sql)
	if err != nil {
		return nil, 0, err
	}
	return h.runPlan(p)
}

func (h *harness) query(sql string) []string {
	h.t.Helper()
	rows, _, err := h.sql(sql)
	if err != nil {
		h.t.Fatalf("%s: %v", sql, err)
	}
	return rows
}

// lineitem makes TPC-H's table with n made-up rows.
func (h *harness) lineitem(n int) {
	h.table("lineitem", "l_orderkey int8 pk", "l_linenumber int4 pk", "l_quantity numeric", "l_extendedprice numeric", "l_discount numeric",
		"l_tax numeric", "l_returnflag bpchar", "l_linestatus bpchar", "l_shipdate date", "l_comment text")
	h.table("orders", "o_orderkey int8 pk", "o_custkey int4")
	h.query(fmt.Sprintf(`insert into lineitem select i/4, i%%4, (1+i%%50)::numeric(15,2), ((i*7919::int8)%%100000/1.0)::numeric(15,2), ((i%%11)/100.0)::numeric(15,2), ((i%%9)/100.0)::numeric(15,2),
		case when i%%3=0 then 'A' when i%%3=1 then 'N' else 'R' end, case when i%%2=0 then 'O' else 'F' end, date '1992-01-02' + ((i*31::int8)%%2526)::int, 'comment number '||i from generate_series(0,%d) i`, n-1))
	h.query(fmt.Sprintf(`insert into orders select i, i%%1000 from generate_series(0,%d) i`, n/4-1))
	h.commit()
}

var tpch = map[string]string{
	"Q1": `select l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), sum(l_extendedprice*(1-l_discount)), sum(l_extendedprice*(1-l_discount)*(1+l_tax)),
		avg(l_quantity), avg(l_extendedprice), avg(l_discount), count(*) from lineitem where l_shipdate <= date '1998-12-01' - interval '90 day' group by 1,2 order by 1,2`,
	"Q6": `select sum(l_extendedprice*l_discount) from lineitem where l_shipdate >= date '1994-01-01' and l_shipdate < date '1995-01-01'
		and l_discount between 0.05 and 0.07 and l_quantity < 24`,
	"JoinGroup": `select count(*), sum(s) from (select o_orderkey, sum(l_extendedprice) s from lineitem join orders on l_orderkey=o_orderkey group by o_orderkey) x`,
	"Group":     `select count(*) from (select l_orderkey, count(*), sum(l_quantity) from lineitem group by l_orderkey) x`,
	"Sort":      `select l_orderkey from lineitem order by l_extendedprice desc, l_orderkey offset 190000 limit 1`,
	"Scan":      `select count(*) from lineitem`,
}

// BenchmarkQuery runs the shapes of notes on the executor over 200,000 rows in memory.
func BenchmarkQuery(b *testing.B) {
	h := newHarness(b)
	h.lineitem(200000)
	for _, name := range []string{"Scan", "Q1", "Q6", "JoinGroup", "Group", "Sort"} {
		b.Run(name, func(b *testing.B) {
			p, err := h.plan(tpch[name])
			if err != nil {
				b.Fatal(err)
			}
			if os.Getenv("PLAN") != "" {
				b.Logf("%s", describe(p.Root, 0))
			}
			b.ReportAllocs()
			for b.Loop() {
				x, err := Start(context.Background(), h.rt, p, Args{Txn: h.tx, Env: h.env, WorkMem: 256 << 20})
				if err != nil {
					b.Fatal(err)
				}
				var batch expr.Batch
				for {
					n, err := x.Next(&batch)
					if err != nil {
						b.Fatal(err)
					}
					if n == 0 {
						break
					}
				}
				x.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/200000, "ns/row")
		})
	}
}

func describe(n planner.Node, depth int) string {
	s := strings.Repeat("  ", depth) + fmt.Sprintf("%T\n", n)
	eachInput(n, func(c planner.Node) { s += describe(c, depth+1) })
	return s
}
