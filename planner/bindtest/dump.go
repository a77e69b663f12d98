package bindtest

import (
	"fmt"
	"strings"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// Dumper writes bound queries as text for transcripts.
type Dumper struct {
	// Params, when not nil, are written in place of $1….
	Params []sqltypes.Datum
	Env    *sqltypes.Env
	Type   func(sqltypes.OID) *sqltypes.Type
	b      strings.Builder
}

// Dump writes a bound query, one clause a line.
func Dump(ctx *planner.Context, q *planner.Query) string {
	d := &Dumper{Env: ctx.Env, Type: func(o sqltypes.OID) *sqltypes.Type {
		if t := sqltypes.TypeByOID(o); t != nil {
			return t
		}
		return ctx.Catalog.Type(o)
	}}
	d.Query(q, "")
	return d.String()
}

// String is what was written so far.
func (d *Dumper) String() string { return d.b.String() }

func (d *Dumper) line(in, format string, args ...any) {
	d.b.WriteString(in)
	fmt.Fprintf(&d.b, format, args...)
	d.b.WriteByte('\n')
}

var commands = [...]string{"select", "insert", "update", "delete", "merge"}

// Query writes one query with every line indented by in.
func (d *Dumper) Query(q *planner.Query, in string) {
	head := commands[q.Command]
	if q.Distinct {
		head += " distinct"
	}
	if q.DistinctOn != nil {
		head += fmt.Sprintf(" on %v", q.DistinctOn)
	}
	if q.ResultRel >= 0 {
		head += fmt.Sprintf(" target=%d", q.ResultRel)
	}
	d.line(in, "%s", head)
	for _, c := range q.CTEs {
		d.line(in, "  with %s recursive=%v materialized=%q refs=%d", c.Name, c.Recursive, string(c.Materialized), c.Refs)
		d.Query(c.Query, in+"    ")
	}
	if s := q.SetOp; s != nil {
		d.line(in, "  setop %c all=%v", s.Op, s.All)
		d.Query(s.Left, in+"    ")
		d.Query(s.Right, in+"    ")
	}
	for i, r := range q.Range {
		d.rte(i, r, in+"  ")
	}
	for _, f := range q.From {
		d.line(in, "  from %s", d.item(f))
	}
	if q.Where != nil {
		d.line(in, "  where %s", d.Expr(q.Where))
	}
	for i, t := range q.Targets {
		extra := ""
		if i < len(q.TargetAttrs) {
			extra = fmt.Sprintf(" →%d", q.TargetAttrs[i])
		}
		if t.Junk {
			extra += " junk"
		}
		if t.TableOID != 0 {
			extra += fmt.Sprintf(" @%d", t.Attr)
		}
		d.line(in, "  %d %s = %s%s", i, t.Name, d.Expr(t.Expr), extra)
	}
	if len(q.GroupBy) > 0 || q.GroupSets != nil {
		d.line(in, "  group by %v sets %v", q.GroupBy, q.GroupSets)
	}
	if q.Having != nil {
		d.line(in, "  having %s", d.Expr(q.Having))
	}
	for i, w := range q.Windows {
		d.line(in, "  window %d partition %v order %s frame %c %c..%c", i, w.PartitionBy, sorts(w.OrderBy), w.Frame.Mode, w.Frame.Start.Kind, w.Frame.End.Kind)
	}
	if len(q.Sort) > 0 {
		d.line(in, "  sort %s", sorts(q.Sort))
	}
	if q.Limit != nil {
		d.line(in, "  limit %s ties=%v", d.Expr(q.Limit), q.WithTies)
	}
	if q.Offset != nil {
		d.line(in, "  offset %s", d.Expr(q.Offset))
	}
	for _, m := range q.RowMarks {
		d.line(in, "  lock %d mode=%d wait=%d", m.Rel, m.Mode, m.Wait)
	}
	if c := q.OnConflict; c != nil {
		var names []string
		for _, a := range c.Arbiters {
			names = append(names, a.Name)
		}
		d.line(in, "  on conflict %v update=%v excluded=%d", names, c.DoUpdate, c.Excluded)
		d.sets(c.Set, c.SetAttrs, in+"    ")
		if c.Where != nil {
			d.line(in, "    where %s", d.Expr(c.Where))
		}
	}
	for _, m := range q.Merge {
		d.line(in, "  when matched=%v %c %s", m.Matched, m.Kind, d.opt(m.Cond))
		d.sets(m.Set, m.SetAttrs, in+"    ")
	}
	for _, t := range q.Returning {
		d.line(in, "  returning %s = %s", t.Name, d.Expr(t.Expr))
	}
	if w := q.WriteInfo; w != nil {
		for i, g := range w.Generated {
			if g != nil {
				d.line(in, "  generated %d = %s", i+1, d.Expr(g))
			}
		}
		for _, c := range w.Checks {
			d.line(in, "  check %s %s", c.Name, d.Expr(c.Cond))
		}
		for _, c := range w.ViewChecks {
			d.line(in, "  view check %s %s", c.View, d.Expr(c.Cond))
		}
	}
}

func (d *Dumper) sets(ts []planner.Target1, attrs []int16, in string) {
	for i, t := range ts {
		d.line(in, "set %d = %s", attrs[i], d.Expr(t.Expr))
	}
}

func sorts(l []planner.SortItem) string {
	var out []string
	for _, s := range l {
		t := fmt.Sprint(s.Target)
		if s.Desc {
			t += " desc"
		}
		if s.NullsFirst != s.Desc {
			t += fmt.Sprintf(" nullsfirst=%v", s.NullsFirst)
		}
		if s.Lt != nil {
			t += " using " + s.Lt.Name
		}
		out = append(out, t)
	}
	return strings.Join(out, ", ")
}

func (d *Dumper) item(it planner.JoinItem) string {
	if it.Join == nil {
		return fmt.Sprint(it.Rel)
	}
	kind := [...]string{"inner", "left", "right", "full", "semi", "anti"}[it.Join.Kind]
	return fmt.Sprintf("(%s %s %s on %s)", d.item(it.Join.Left), kind, d.item(it.Join.Right), d.opt(it.Join.On))
}

func (d *Dumper) rte(i int, r *planner.RTE, in string) {
	var cols []string
	for _, c := range r.Cols {
		cols = append(cols, c.Name)
	}
	lat := ""
	if r.Lateral {
		lat = " lateral"
	}
	what := ""
	switch r.Kind {
	case planner.RTERelation:
		what = "table " + r.Rel.Name + " privs=" + r.RequiredPrivs
	case planner.RTEVirtual:
		what = "virtual " + r.Virtual.Rel.Name
	case planner.RTESubquery:
		what = "subquery"
		if r.ViewOID != 0 {
			what = "view " + r.Rel.Name + " privs=" + r.RequiredPrivs
		}
	case planner.RTEFunction:
		var fs []string
		for _, c := range r.Calls {
			fs = append(fs, d.Expr(c))
		}
		what = fmt.Sprintf("function %s cols=%v ordinality=%v", strings.Join(fs, ", "), r.CallCols, r.Ordinality)
	case planner.RTEValues:
		what = "values"
	case planner.RTECTE:
		what = fmt.Sprintf("cte %s self=%v", r.CTE.Name, r.SelfRef)
	}
	d.line(in, "rte %d %s%s %s (%s)", i, r.Alias, lat, what, strings.Join(cols, ", "))
	for _, row := range r.Values {
		d.line(in, "  (%s)", d.list(row))
	}
	if r.Sample != nil {
		d.line(in, "  sample %s %s %s", r.Sample.Method, d.Expr(r.Sample.Percent), d.opt(r.Sample.Seed))
	}
	if r.Sub != nil {
		d.Query(r.Sub, in+"  ")
	}
}

func (d *Dumper) opt(e expr.Expr) string {
	if e == nil {
		return "-"
	}
	return d.Expr(e)
}

func (d *Dumper) list(es []expr.Expr) string {
	out := make([]string, len(es))
	for i, e := range es {
		out[i] = d.opt(e)
	}
	return strings.Join(out, ", ")
}

func (d *Dumper) typ(ct sqltypes.ColumnType) string {
	return sqltypes.FormatTypeWith(ct.OID, ct.TypMod, func(o sqltypes.OID) (*sqltypes.Type, string) {
		t := d.Type(o)
		if t == nil {
			return nil, ""
		}
		return t, t.Name
	})
}

// Value writes a constant.
func (d *Dumper) Value(v sqltypes.Datum, ct sqltypes.ColumnType) string {
	ct.TypMod = -1
	if v.Null {
		return "NULL:" + d.typ(ct)
	}
	t := d.Type(ct.OID)
	if t == nil {
		return "?" + d.typ(ct)
	}
	if t.IsArray && t.ElemType != nil {
		var parts []string
		a := sqltypes.OpenArray(v)
		for _, x := range a.Elements() {
			parts = append(parts, d.Value(x, sqltypes.ColumnType{OID: t.Elem, TypMod: -1}))
		}
		return "ARRAY[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprintf("%q:%s", t.Out(d.Env, nil, v), d.typ(ct))
}

// Expr writes an expression.
func (d *Dumper) Expr(e expr.Expr) string {
	switch x := e.(type) {
	case *expr.Const:
		return d.Value(x.Val, x.Typ)
	case *expr.Param:
		if d.Params != nil {
			return d.Value(d.Params[x.N-1], x.Typ)
		}
		return fmt.Sprintf("$%d:%s", x.N, d.typ(x.Typ))
	case *planner.Var:
		s := fmt.Sprintf("%d.%d", x.Rel, x.Col)
		if x.Level > 0 {
			s = fmt.Sprintf("^%d %s", x.Level, s)
		}
		return s
	case *planner.SubCol:
		return fmt.Sprintf("sub.%d", x.N)
	case *expr.Col:
		return fmt.Sprintf("col%d", x.Idx)
	case *expr.Call:
		name := x.Proc.Name
		if x.Op != "" {
			name = "op:" + x.Op
		}
		if x.Coercion != 0 {
			name += fmt.Sprintf("/%c", x.Coercion)
		}
		return fmt.Sprintf("%s(%s):%s", name, d.list(x.Args), d.typ(x.Typ))
	case *expr.And:
		return "and(" + d.list(x.Args) + ")"
	case *expr.Or:
		return "or(" + d.list(x.Args) + ")"
	case *expr.Not:
		return "not(" + d.Expr(x.Arg) + ")"
	case *expr.NullTest:
		return fmt.Sprintf("isnull(%s not=%v row=%v)", d.Expr(x.Arg), x.IsNot, x.Row)
	case *expr.BoolTest:
		return fmt.Sprintf("is(%s %d not=%v)", d.Expr(x.Arg), x.Value, x.IsNot)
	case *expr.Distinct:
		return fmt.Sprintf("distinct(%s not=%v)", d.Expr(x.Eq), x.Not)
	case *expr.NullIf:
		return fmt.Sprintf("nullif(%s):%s", d.Expr(x.Eq), d.typ(x.Typ))
	case *expr.Case:
		var w []string
		for _, c := range x.Whens {
			w = append(w, d.Expr(c.Cond)+" => "+d.Expr(c.Result))
		}
		return fmt.Sprintf("case(%s; %s; %s):%s", d.opt(x.Arg), strings.Join(w, "; "), d.opt(x.Else), d.typ(x.Typ))
	case *expr.CaseValue:
		return "value:" + d.typ(x.Typ)
	case *expr.Coalesce:
		return fmt.Sprintf("coalesce(%s):%s", d.list(x.Args), d.typ(x.Typ))
	case *expr.MinMax:
		return fmt.Sprintf("minmax(least=%v %s):%s", x.Least, d.list(x.Args), d.typ(x.Typ))
	case *expr.ArrayCtor:
		return "ARRAY[" + d.list(x.Elems) + "]"
	case *expr.RowCtor:
		return fmt.Sprintf("row(%s):%s", d.list(x.Fields), d.typ(x.Typ))
	case *expr.Field:
		return fmt.Sprintf("field(%s %d):%s", d.Expr(x.Arg), x.Num, d.typ(x.Typ))
	case *expr.Subscript:
		return fmt.Sprintf("subscript(%s [%s:%s] = %s):%s", d.Expr(x.Arg), d.list(x.Lower), d.list(x.Upper), d.opt(x.Assign), d.typ(x.Typ))
	case *expr.ArrayOp:
		return fmt.Sprintf("arrayop(%s %s all=%v %s)", d.Expr(x.Left), x.Op, x.All, d.Expr(x.Array))
	case *expr.RowCompare:
		return fmt.Sprintf("rowcompare(%c (%s) (%s))", x.Op, d.list(x.Left), d.list(x.Right))
	case *expr.Relabel:
		return fmt.Sprintf("relabel/%c(%s):%s", x.Coercion, d.Expr(x.Arg), d.typ(x.Typ))
	case *expr.CoerceViaIO:
		return fmt.Sprintf("io/%c(%s):%s", x.Coercion, d.Expr(x.Arg), d.typ(x.Typ))
	case *expr.ArrayCoerce:
		return fmt.Sprintf("arraycoerce/%c(%s by %s):%s", x.Coercion, d.Expr(x.Arg), d.Expr(x.Elem), d.typ(x.Typ))
	case *expr.CoerceDomain:
		var c []string
		for _, k := range x.Checks {
			c = append(c, d.Expr(k.Cond))
		}
		return fmt.Sprintf("domain(%s %s notnull=%v [%s])", d.Expr(x.Arg), x.Domain, x.NotNull, strings.Join(c, ", "))
	case *expr.Agg:
		return fmt.Sprintf("agg %s(%s; %s) distinct=%v star=%v sorts=%v filter=%s level=%d:%s", x.Proc.Name, d.list(x.Args), d.list(x.Direct), x.Distinct, x.Star, x.ArgSorts, d.opt(x.Filter), x.Level, d.typ(x.Typ))
	case *expr.Grouping:
		return fmt.Sprintf("grouping%v", x.Cols)
	case *expr.Window:
		return fmt.Sprintf("window %s(%s) def=%d filter=%s:%s", x.Proc.Name, d.list(x.Args), x.Def, d.opt(x.Filter), d.typ(x.Typ))
	case *planner.SubLink:
		in := &Dumper{Params: d.Params, Env: d.Env, Type: d.Type}
		in.Query(x.Sub, "")
		kind := [...]string{"exists", "scalar", "any", "all", "array", "row"}[x.Kind]
		return fmt.Sprintf("sublink %s test=%s {%s}", kind, d.opt(x.Test), strings.ReplaceAll(strings.TrimSpace(in.String()), "\n", ";"))
	}
	return fmt.Sprintf("%T", e)
}
