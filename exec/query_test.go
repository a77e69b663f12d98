package exec

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

func TestScanFilterProject(t *testing.T) {
	h := newHarness(t)
	r := h.table("t", "a int4 pk", "b text", "n numeric")
	h.fill(r, "1|one|1.50", "2|two|2.25", "3|NULL|NULL", "4|four|10")
	h.expect(scan(r), "1|one|1.50", "2|two|2.25", "3|null|null", "4|four|10")
	s := scan(r)
	s.Filter = call("int4gt", col(0, "int4"), lit("1", "int4"))
	h.expect(project(s, col(1, "text"), call("int4pl", col(0, "int4"), lit("10", "int4")), call("numeric_mul", col(2, "numeric"), lit("2.0", "numeric"))),
		"two|12|4.500", "null|13|null", "four|14|20.0")
	s = scan(r)
	s.Ranges = []planner.KeyRange{{Eq: []expr.Expr{par(1, "int4")}, AnyArray: -1}}
	expectRows(t, h.rows(s, func(_ *planner.Plan, a *Args) { a.Params = []sqltypes.Datum{sqltypes.Int(2)} }), "2|two|2.25")
	expectRows(t, h.rows(s, func(_ *planner.Plan, a *Args) { a.Params = []sqltypes.Datum{sqltypes.Null} }))
	s = scan(r)
	s.Ranges = []planner.KeyRange{{Lower: lit("1", "int4"), Upper: lit("3", "int4"), UpperInc: true, AnyArray: -1}}
	h.expect(s, "2|two|2.25", "3|null|null")
	s.Reverse = true
	h.expect(s, "3|null|null", "2|two|2.25")
	s = scan(r)
	s.Ranges = []planner.KeyRange{{Eq: []expr.Expr{lit("{4,1,1,9}", "_int4")}, AnyArray: 0}}
	h.expect(s, "1|one|1.50", "4|four|10")
}

func TestCaseIsLazy(t *testing.T) {
	h := newHarness(t)
	v := values([]string{"int4"}, "0", "2", "NULL", "5")
	e := &expr.Case{T: tt("int4"), Whens: []expr.When{{Cond: call("int4eq", col(0, "int4"), lit("0", "int4")), Result: lit("0", "int4")}},
		Else: call("int4div", lit("10", "int4"), col(0, "int4"))}
	h.expect(project(v, e), "0", "5", "null", "2")
	or := &expr.Or{T: tt("bool"), Args: []expr.Expr{call("int4eq", col(0, "int4"), lit("0", "int4")),
		call("int4gt", call("int4div", lit("10", "int4"), col(0, "int4")), lit("3", "int4"))}}
	h.expect(project(v, or), "t", "t", "null", "f")
	_, _, err := h.run(project(v, call("int4div", lit("10", "int4"), col(0, "int4"))))
	if err == nil || err.Error() != "division by zero (SQLSTATE 22012)" {
		t.Fatal(err)
	}
}

// joinOracle joins the slow way.
func joinOracle(kind planner.JoinKind, l, r [][2]int, cond func(l, r [2]int) bool) (out []string) {
	str := func(v [2]int, null bool) string {
		if null {
			return "null|null"
		}
		f := func(x int) string {
			if x < 0 {
				return "null"
			}
			return fmt.Sprint(x)
		}
		return f(v[0]) + "|" + f(v[1])
	}
	matchedR := make([]bool, len(r))
	for _, a := range l {
		m := false
		for j, b := range r {
			if a[0] >= 0 && a[0] == b[0] && cond(a, b) {
				m = true
				matchedR[j] = true
				if kind < planner.JoinSemi {
					out = append(out, str(a, false)+"|"+str(b, false))
				}
			}
		}
		switch {
		case kind == planner.JoinSemi && m, kind == planner.JoinAnti && !m:
			out = append(out, str(a, false))
		case !m && (kind == planner.JoinLeft || kind == planner.JoinFull):
			out = append(out, str(a, false)+"|"+str(a, true))
		}
	}
	for j, b := range r {
		if !matchedR[j] && (kind == planner.JoinRight || kind == planner.JoinFull) {
			out = append(out, str(b, true)+"|"+str(b, false))
		}
	}
	slices.Sort(out)
	return out
}

func TestJoins(t *testing.T) {
	h := newHarness(t)
	gen := func(n, keys, seed int) (rows [][2]int, vals []string) {
		x := uint32(seed)
		for i := range n {
			x = x*1664525 + 1013904223
			k := int(x>>16) % keys
			if k == keys-1 {
				k = -1
			}
			rows = append(rows, [2]int{k, i % 7})
			s := fmt.Sprintf("%d|%d", k, i%7)
			vals = append(vals, strings.Replace(s, "-1|", "NULL|", 1))
		}
		return
	}
	l, lv := gen(3000, 900, 1)
	r, rv := gen(1500, 1000, 2)
	lp, rp := values([]string{"int4", "int4"}, lv...), values([]string{"int4", "int4"}, rv...)
	conds := map[string]struct {
		e expr.Expr
		f func(l, r [2]int) bool
	}{
		"none": {nil, func(l, r [2]int) bool { return true }},
		"less": {call("int4lt", col(1, "int4"), col(3, "int4")), func(l, r [2]int) bool { return l[1] < r[1] }},
	}
	for kind := planner.JoinInner; kind <= planner.JoinAnti; kind++ {
		for name, c := range conds {
			out := cols("a int4", "b int4", "c int4", "d int4")
			if kind >= planner.JoinSemi {
				out = out[:2]
			}
			b := planner.Base{Columns: out}
			want := joinOracle(kind, l, r, c.f)
			key := func() ([]expr.Expr, []expr.Expr) { return []expr.Expr{col(0, "int4")}, []expr.Expr{col(0, "int4")} }
			lk, rk := key()
			text := []expr.Expr{&expr.CoerceViaIO{T: tt("text"), Arg: col(0, "int4")}}
			eq := call("int4eq", col(0, "int4"), col(2, "int4"))
			var nlCond expr.Expr = eq
			if c.e != nil {
				nlCond = &expr.And{T: tt("bool"), Args: []expr.Expr{eq, c.e}}
			}
			plans := map[string]planner.Node{
				"hash":     &planner.HashJoin{Base: b, Left: lp, Right: rp, Kind: kind, LeftKeys: lk, RightKeys: rk, Cond: c.e},
				"hashtext": &planner.HashJoin{Base: b, Left: lp, Right: rp, Kind: kind, LeftKeys: text, RightKeys: text, Cond: c.e},
				"merge": &planner.MergeJoin{Base: b, Left: sortBy(lp, col(0, "int4")), Right: sortBy(rp, col(0, "int4")), Kind: kind,
					LeftKeys: lk, RightKeys: rk, Keys: []planner.SortKey{{Expr: lk[0]}}, Cond: c.e},
				"nest": &planner.NestLoop{Base: b, Left: lp, Right: rp, Kind: kind, Cond: nlCond},
			}
			if kind != planner.JoinRight && kind != planner.JoinFull {
				plans["nestparam"] = &planner.NestLoop{Base: b, Left: lp, Right: &planner.Filter{Base: planner.Base{Columns: rp.Columns}, Input: rp,
					Cond: call("int4eq", col(0, "int4"), exec(3, "int4"))}, Kind: kind, Cond: c.e, Params: []planner.NestParam{{ID: 3, Expr: col(0, "int4")}}}
			}
			for method, p := range plans {
				for _, mem := range []int64{0, 20000} {
					if method == "nestparam" && testing.Short() {
						continue
					}
					if mem > 0 && !strings.HasPrefix(method, "hash") {
						continue
					}
					h.arg.WorkMem = mem
					got := h.rows(p)
					h.arg.WorkMem = 0
					slices.Sort(got)
					if !slices.Equal(got, want) {
						t.Fatalf("%s join kind %d cond %s mem %d: %d rows, want %d", method, kind, name, mem, len(got), len(want))
					}
				}
			}
		}
	}
}

func TestNullAwareAnti(t *testing.T) {
	h := newHarness(t)
	l := values([]string{"int4"}, "1", "2", "NULL")
	p := func(r *planner.Values) planner.Node {
		return &planner.HashJoin{Base: base("a int4"), Left: l, Right: r, Kind: planner.JoinAnti, NullAware: true,
			LeftKeys: []expr.Expr{col(0, "int4")}, RightKeys: []expr.Expr{col(0, "int4")}}
	}
	h.expect(p(values([]string{"int4"}, "1")), "2")
	h.expect(p(values([]string{"int4"}, "1", "NULL")))
	h.expect(p(values([]string{"int4"})), "1", "2", "null")
}

func TestSortSpillsAndTopN(t *testing.T) {
	h := newHarness(t)
	var rows []string
	var want []string
	x := uint32(7)
	for i := range 5000 {
		x = x*1664525 + 1013904223
		k := fmt.Sprint(int(x>>16) % 500)
		if i%50 == 0 {
			k = "NULL"
		}
		rows = append(rows, fmt.Sprintf("%s|%d", k, i))
	}
	v := values([]string{"int4", "int4"}, rows...)
	key := func(s string) int {
		k, _, _ := strings.Cut(s, "|")
		if k == "NULL" {
			return 1 << 30
		}
		n := 0
		fmt.Sscan(k, &n)
		return n
	}
	want = slices.Clone(rows)
	slices.SortStableFunc(want, func(a, b string) int { return key(a) - key(b) })
	for i := range want {
		want[i] = strings.Replace(want[i], "NULL", "null", 1)
	}
	expectRows(t, h.rows(sortBy(v, col(0, "int4"), col(1, "int4"))), want...)
	h.arg.WorkMem = 30000
	expectRows(t, h.rows(sortBy(v, col(0, "int4"), col(1, "int4"))), want...)
	s := sortBy(v, col(0, "int4"), col(1, "int4"))
	s.Top = lit("100", "int8")
	expectRows(t, h.rows(s), want[:100]...)
	l := &planner.Limit{Base: planner.Base{Columns: v.Columns}, Input: sortBy(v, col(0, "int4"), col(1, "int4")), Count: lit("3", "int8"), Offset: lit("1500", "int8")}
	expectRows(t, h.rows(l), want[1500:1503]...)
	ties := &planner.Limit{Base: l.Base, Input: sortBy(v, col(0, "int4"), col(1, "int4")), Count: lit("1", "int8"), WithTies: []planner.SortKey{{Expr: col(0, "int4")}}}
	n := 0
	for n < len(want) && key(want[n]) == key(want[0]) {
		n++
	}
	expectRows(t, h.rows(ties), want[:n]...)
}

func TestAggregates(t *testing.T) {
	h := newHarness(t)
	v := values([]string{"text", "int4", "numeric"}, "a|1|1.50", "b|2|2.25", "a|3|NULL", "NULL|4|1.00", "b|NULL|-2.25", "a|1|0.125")
	out := base("k text", "c int8", "cb int8", "s int8", "av numeric", "sn numeric", "mn int4", "mx text")
	aggs := []*expr.Agg{
		{T: tt("int8"), Proc: fn("count()"), Star: true}, agg("count(any)", col(1, "int4")), agg("sum(int4)", col(1, "int4")),
		agg("avg(int4)", col(1, "int4")), agg("sum(numeric)", col(2, "numeric")), agg("min(int4)", col(1, "int4")), agg("max(text)", col(0, "text")),
	}
	want := []string{
		"a|3|3|5|1.6666666666666667|1.625|1|a",
		"b|2|1|2|2.0000000000000000|0.00|2|b",
		"null|1|1|4|4.0000000000000000|1.00|4|null",
	}
	group := []expr.Expr{col(0, "text")}
	hash := &planner.Aggregate{Base: out, Input: v, Strategy: planner.AggHash, GroupBy: group, Aggs: aggs}
	expectRows(t, h.rows(sortBy(hash, col(0, "text"))), want...)
	sorted := &planner.Aggregate{Base: out, Input: sortBy(v, col(0, "text")), Strategy: planner.AggSorted, GroupBy: group, Aggs: aggs}
	h.expect(sorted, want...)
	plain := &planner.Aggregate{Base: base("s int8", "d int8", "f int8"), Input: v, Aggs: []*expr.Agg{
		agg("sum(int4)", col(1, "int4")),
		{T: tt("int8"), Proc: fn("count(any)"), Args: []expr.Expr{col(0, "text")}, Distinct: true},
		{T: tt("int8"), Proc: fn("count()"), Star: true, Filter: call("int4gt", col(1, "int4"), lit("1", "int4"))}}}
	h.expect(plain, "11|2|3")
	empty := &planner.Aggregate{Base: base("c int8", "s int8"), Input: &planner.Empty{Base: base("k text", "v int4", "n numeric")}, Aggs: []*expr.Agg{
		{T: tt("int8"), Proc: fn("count()"), Star: true}, agg("sum(int4)", col(1, "int4"))}}
	h.expect(empty, "0|null")
	sets := &planner.Aggregate{Base: base("k text", "v int4", "c int8", "g int4"), Input: v, Strategy: planner.AggHash,
		GroupBy: []expr.Expr{col(0, "text"), col(1, "int4")}, Sets: [][]int{{0}, {1}, {}}, Aggs: aggs[:1],
		Groupings: []*expr.Grouping{{T: tt("int4"), Cols: []int{0, 1}}}}
	expectRows(t, h.rows(sortBy(sets, col(3, "int4"), col(0, "text"), col(1, "int4"))),
		"a|null|3|1", "b|null|2|1", "null|null|1|1", "null|1|2|2", "null|2|1|2", "null|3|1|2", "null|4|1|2", "null|null|1|2", "null|null|6|3")
}

func TestAggregateSpills(t *testing.T) {
	h := newHarness(t)
	var rows []string
	for i := range 20000 {
		rows = append(rows, fmt.Sprintf("k%d|%d", i%4000, i))
	}
	v := values([]string{"text", "int4"}, rows...)
	a := &planner.Aggregate{Base: base("k text", "s int8", "c int8"), Input: v, Strategy: planner.AggHash, GroupBy: []expr.Expr{col(0, "text")},
		Aggs: []*expr.Agg{agg("sum(int4)", col(1, "int4")), {T: tt("int8"), Proc: fn("count()"), Star: true}}}
	want := h.rows(a)
	h.arg.WorkMem = 100000
	got := h.rows(a)
	slices.Sort(want)
	slices.Sort(got)
	if len(want) != 4000 || !slices.Equal(got, want) {
		t.Fatalf("%d groups, %d with spilling", len(want), len(got))
	}
}

func TestWindow(t *testing.T) {
	h := newHarness(t)
	v := values([]string{"text", "int4"}, "a|1", "a|2", "a|2", "a|5", "b|3", "b|7")
	w := func(sig string, args ...expr.Expr) *expr.Window {
		p := fn(sig)
		typ := sqltypes.ColumnType{OID: p.RetType, TypMod: -1}
		if sqltypes.TypeByOID(p.RetType).TypType == 'p' {
			typ = args[0].Type()
		}
		return &expr.Window{T: expr.T{Typ: typ}, Proc: p, Args: args}
	}
	part := []expr.Expr{col(0, "text")}
	order := []planner.SortKey{{Expr: col(1, "int4")}}
	p := &planner.WindowAgg{Base: base("k text", "v int4", "rn int8", "rk int8", "dr int8", "s int8", "lg int4", "ld int4", "fv int4", "lv int4"),
		Input: v, PartitionBy: part, OrderBy: order, Frame: planner.Frame{Mode: 'R', Start: planner.FrameBound{Kind: 'u'}, End: planner.FrameBound{Kind: 'c'}},
		Funcs: []*expr.Window{w("row_number()"), w("rank()"), w("dense_rank()"), w("sum(int4)", col(1, "int4")), w("lag(anyelement)", col(1, "int4")),
			w("lead(anyelement,int4)", col(1, "int4"), lit("2", "int4")), w("first_value(anyelement)", col(1, "int4")), w("last_value(anyelement)", col(1, "int4"))}}
	h.expect(p,
		"a|1|1|1|1|1|null|2|1|1", "a|2|2|2|2|5|1|5|1|2", "a|2|3|2|2|5|2|null|1|2", "a|5|4|4|3|10|2|null|1|5",
		"b|3|1|1|1|3|null|null|3|3", "b|7|2|2|2|10|3|null|3|7")
	rows := &planner.WindowAgg{Base: base("k text", "v int4", "s int8", "x int8"), Input: v, PartitionBy: part, OrderBy: order,
		Frame: planner.Frame{Mode: 'W', Start: planner.FrameBound{Kind: 'p', Offset: lit("1", "int8")}, End: planner.FrameBound{Kind: 'f', Offset: lit("1", "int8")}},
		Funcs: []*expr.Window{w("sum(int4)", col(1, "int4")), w("count(any)", col(1, "int4"))}}
	h.expect(rows, "a|1|3|2", "a|2|5|3", "a|2|9|3", "a|5|7|2", "b|3|10|2", "b|7|10|2")
	rows.Frame.Exclude = 'c'
	h.expect(rows, "a|1|2|1", "a|2|3|2", "a|2|7|2", "a|5|2|1", "b|3|7|1", "b|7|3|1")
	rows.Frame = planner.Frame{Mode: 'G', Start: planner.FrameBound{Kind: 'p', Offset: lit("1", "int8")}, End: planner.FrameBound{Kind: 'c'}, Exclude: 't'}
	h.expect(rows, "a|1|1|1", "a|2|3|2", "a|2|3|2", "a|5|9|3", "b|3|3|1", "b|7|10|2")
}

func TestRecursionAndSetOps(t *testing.T) {
	h := newHarness(t)
	c := &planner.CTE{Name: "t", Recursive: true, Columns: cols("n int4")}
	rec := &planner.RecursiveUnion{Base: base("n int4"), CTE: c, NonRec: values([]string{"int4"}, "1"),
		Rec: project(&planner.WorkTableScan{Base: base("n int4"), CTE: c}, call("int4pl", col(0, "int4"), lit("1", "int4")))}
	c.Root = rec
	s := &planner.CTEScan{Base: base("n int4"), CTE: c}
	limit := &planner.Limit{Base: base("n int4"), Input: s, Count: lit("4", "int8")}
	expectRows(t, h.rows(limit, func(p *planner.Plan, _ *Args) { p.CTEs = []*planner.CTE{c} }), "1", "2", "3", "4")

	l := values([]string{"int4"}, "1", "1", "2", "3", "3", "3", "NULL")
	r := values([]string{"int4"}, "1", "3", "3", "NULL", "5")
	op := func(except, all bool) planner.Node {
		return sortBy(&planner.SetOp{Base: base("v int4"), Left: l, Right: r, Except: except, All: all}, col(0, "int4"))
	}
	h.expect(op(false, false), "1", "3", "null")
	h.expect(op(false, true), "1", "3", "3", "null")
	h.expect(op(true, false), "2")
	h.expect(op(true, true), "1", "2", "3")
	h.expect(&planner.Unique{Base: base("v int4"), Input: l, Cols: []int{0}}, "1", "2", "3", "null")
}

func TestSubplans(t *testing.T) {
	h := newHarness(t)
	v := values([]string{"int4"}, "1", "2", "NULL", "4")
	sub := func(hashed bool, rows ...string) planner.Node {
		sp := &expr.SubPlan{T: tt("bool"), Kind: expr.SubAny, TestParams: []int{1}, Test: call("int4eq", col(0, "int4"), exec(1, "int4")),
			Plan: &planner.SubPlan{Root: values([]string{"int4"}, rows...), Hashed: hashed}}
		return project(v, sp)
	}
	for _, hashed := range []bool{false, true} {
		h.expect(sub(hashed, "1", "4", "9"), "t", "f", "null", "t")
		h.expect(sub(hashed, "1", "NULL"), "t", "null", "null", "null")
		h.expect(sub(hashed), "f", "f", "f", "f")
	}
	cor := &expr.SubPlan{T: tt("int8"), Kind: expr.SubScalar, Args: []expr.Expr{col(0, "int4")}, ParamIDs: []int{2},
		Plan: &planner.SubPlan{Root: &planner.Aggregate{Base: base("s int8"), Input: &planner.Filter{Base: base("v int4"), Input: values([]string{"int4"}, "1", "2", "3"),
			Cond: call("int4le", col(0, "int4"), exec(2, "int4"))}, Aggs: []*expr.Agg{agg("sum(int4)", col(0, "int4"))}}}}
	h.expect(project(v, cor), "1", "3", "null", "6")
	init := &planner.InitPlan{Kind: expr.SubScalar, Params: []int{5}, Root: values([]string{"int4"}, "7")}
	p := project(v, call("int4pl", col(0, "int4"), exec(5, "int4")))
	expectRows(t, h.rows(p, func(p *planner.Plan, _ *Args) { p.Inits = []*planner.InitPlan{init} }), "8", "9", "null", "11")
}
