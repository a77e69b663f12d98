package explain_test

import (
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"
	"time"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/planner/explain"
	"ostraka/sqltypes"
)

func int4(v int64) expr.Expr {
	return &expr.Const{T: expr.T{Typ: sqltypes.ColumnType{OID: 23, TypMod: -1}}, Val: sqltypes.Int(v)}
}

func col(i int, name string) expr.Expr {
	return &expr.Col{T: expr.T{Typ: sqltypes.ColumnType{OID: 23, TypMod: -1}}, Idx: i, Name: name}
}

func op(name string, l, r expr.Expr) expr.Expr {
	return &expr.Call{T: expr.T{Typ: sqltypes.ColumnType{OID: 16, TypMod: -1}}, Proc: sqltypes.FindOperator(name, 23, 23).Proc, Op: name, Args: []expr.Expr{l, r}}
}

// sample is a hash join of two tables under a sort and a limit.
func sample() *planner.Plan {
	scan := func(name string, filter expr.Expr) *planner.Scan {
		s := &planner.Scan{Rel: &catalog.Relation{Name: name}, Alias: name, RefSlot: -1, Filter: filter}
		s.Columns = []planner.Column{{Name: "a", Type: sqltypes.ColumnType{OID: 23, TypMod: -1}}}
		s.Estimate = planner.Estimate{Rows: 10, Width: 4, Total: 1.5}
		return s
	}
	l, r := scan("t", op(">", col(0, "t.a"), int4(3))), scan("u", nil)
	j := &planner.HashJoin{Left: l, Right: r, Kind: planner.JoinLeft, LeftKeys: []expr.Expr{col(0, "t.a")}, RightKeys: []expr.Expr{col(0, "u.a")},
		Cond: op("<>", col(0, "t.a"), col(1, "u.a"))}
	j.Columns, j.Estimate = append(l.Columns, r.Columns...), planner.Estimate{Rows: 20, Width: 8, Startup: 2, Total: 4}
	s := &planner.Sort{Input: &planner.Project{Base: j.Base, Input: j, Exprs: []expr.Expr{col(0, "t.a"), col(1, "u.a")}},
		Keys: []planner.SortKey{{Expr: col(0, "t.a"), Desc: true, NullsFirst: true}, {Expr: col(1, "u.a"), NullsFirst: true}}}
	s.Columns, s.Estimate = j.Columns, planner.Estimate{Rows: 20, Width: 8, Startup: 5, Total: 5.5}
	n := &planner.Limit{Input: s, Count: int4(3)}
	n.Columns, n.Estimate = s.Columns, planner.Estimate{Rows: 3, Width: 8, Startup: 5, Total: 5.1}
	return &planner.Plan{Root: n, Command: "SELECT", Columns: n.Columns}
}

func TestText(t *testing.T) {
	got := explain.Explain(sample(), nil, explain.Options{Costs: true}, nil)
	want := `Limit  (cost=5.00..5.10 rows=3 width=8)
  ->  Sort  (cost=5.00..5.50 rows=20 width=8)
        Sort Key: t.a DESC, u.a NULLS FIRST
        ->  Hash Left Join  (cost=2.00..4.00 rows=20 width=8)
              Hash Cond: (t.a = u.a)
              Join Filter: (t.a <> u.a)
              ->  Seq Scan on t  (cost=0.00..1.50 rows=10 width=4)
                    Filter: (a > 3)
              ->  Hash  (cost=1.50..1.50 rows=10 width=4)
                    ->  Seq Scan on u  (cost=0.00..1.50 rows=10 width=4)
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAnalyze(t *testing.T) {
	p := sample()
	st := &explain.Stats{Execution: 2 * time.Millisecond, Planning: time.Millisecond / 4, Node: func(n planner.Node) *explain.NodeStats {
		switch n.(type) {
		case *planner.Limit:
			return &explain.NodeStats{Loops: 1, Rows: 3, Startup: time.Millisecond, Total: time.Millisecond}
		case *planner.Sort:
			return &explain.NodeStats{Loops: 2, Rows: 6, SortMethod: "top-N heapsort", Memory: 2048}
		case *planner.Scan:
			return &explain.NodeStats{Loops: 1, Rows: 5, RemovedByFilter: 7}
		}
		return &explain.NodeStats{}
	}}
	got := explain.Explain(p, nil, explain.Options{Analyze: true, Timing: true, Summary: true}, st)
	for _, want := range []string{
		"Limit (actual time=1.000..1.000 rows=3 loops=1)\n",
		"Sort (actual time=0.000..0.000 rows=3 loops=2)\n",
		"Sort Method: top-N heapsort  Memory: 2kB\n",
		"Rows Removed by Filter: 7\n",
		"Hash Left Join (never executed)\n",
		"Planning Time: 0.250 ms\nExecution Time: 2.000 ms\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

func TestStructured(t *testing.T) {
	p := sample()
	var doc []struct {
		Plan struct {
			Type  string  `json:"Node Type"`
			Total float64 `json:"Total Cost"`
			Plans []struct {
				Key []string `json:"Sort Key"`
			}
		}
	}
	text := explain.Explain(p, nil, explain.Options{Costs: true, Format: "json"}, nil)
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if d := doc[0].Plan; d.Type != "Limit" || d.Total != 5.1 || len(d.Plans[0].Key) != 2 {
		t.Errorf("unexpected %+v", d)
	}
	text = explain.Explain(p, nil, explain.Options{Costs: true, Format: "xml"}, nil)
	if err := xml.Unmarshal([]byte(text), new(struct{})); err != nil {
		t.Errorf("%v in\n%s", err, text)
	}
	text = explain.Explain(p, nil, explain.Options{Format: "yaml"}, nil)
	if !strings.HasPrefix(text, "- Plan: \n    Node Type: \"Limit\"\n") {
		t.Errorf("unexpected YAML\n%s", text)
	}
}
