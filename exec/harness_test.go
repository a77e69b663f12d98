package exec

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/engine/shard"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	_ "ostraka/sqltypes/builtin"
)

// harness is an engine in memory with a transaction, for hand-made plans.
type harness struct {
	t   testing.TB
	s   *shard.Shard
	rt  *Runtime
	tx  engine.Txn
	env *sqltypes.Env
	def *Deferred
	arg Args
}

func newHarness(t testing.TB) *harness {
	t.Helper()
	s, _, err := shard.OpenMem()
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{t: t, s: s, rt: &Runtime{Engine: s, TempDir: t.TempDir()}, env: &sqltypes.Env{Ctx: context.Background(), Formats: sqltypes.DefaultFormats()}, def: &Deferred{}}
	t.Cleanup(func() {
		if h.tx != nil {
			h.tx.Rollback()
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	h.begin()
	return h
}

func (h *harness) begin() {
	h.t.Helper()
	tx, err := h.s.Begin(context.Background(), engine.TxnOptions{Database: catalog.PostgresDB})
	if err != nil {
		h.t.Fatal(err)
	}
	h.tx = tx
	h.statement()
}

func (h *harness) statement() {
	h.t.Helper()
	if err := h.tx.StartStatement(context.Background()); err != nil {
		h.t.Fatal(err)
	}
}

func (h *harness) commit() {
	h.t.Helper()
	if err := h.def.Run(context.Background(), h.rt, h.tx, h.env, true); err != nil {
		h.t.Fatal(err)
	}
	if _, err := h.tx.Commit(context.Background()); err != nil {
		h.t.Fatal(err)
	}
	h.begin()
}

// table creates a table from "name type [pk] [notnull] [unique]" column specs.
func (h *harness) table(name string, specs ...string) *catalog.Relation {
	h.t.Helper()
	ctx := context.Background()
	w := h.tx.Schema()
	oid := func() sqltypes.OID { o, _ := w.NewOID(ctx); return o }
	sid := func() uint64 { o, _ := w.NewStorageID(ctx); return o }
	r := &catalog.Relation{OID: oid(), Name: name, Schema: catalog.SchemaPublic, Kind: catalog.KindTable, Persistence: 'p',
		Owner: catalog.BootstrapRole, RowType: oid(), StorageID: sid()}
	var pk []catalog.IndexKey
	for i, s := range specs {
		f := strings.Fields(s)
		c := &catalog.Column{Num: int16(i + 1), Name: f[0], Type: ct(f[1])}
		for _, o := range f[2:] {
			switch o {
			case "pk":
				c.NotNull = true
				pk = append(pk, catalog.IndexKey{Attr: c.Num, Type: c.Type})
			case "notnull":
				c.NotNull = true
			case "unique", "index":
				r.Indexes = append(r.Indexes, &catalog.Index{OID: oid(), Name: name + "_" + c.Name + "_key", Schema: r.Schema, Method: "btree",
					Unique: o == "unique", Ready: true, StorageID: sid(), Keys: []catalog.IndexKey{{Attr: c.Num, Type: c.Type}}})
			}
		}
		r.Columns = append(r.Columns, c)
	}
	if pk != nil {
		r.Indexes = append([]*catalog.Index{{OID: oid(), Name: name + "_pkey", Schema: r.Schema, Method: "btree", Unique: true,
			Primary: true, Clustered: true, Ready: true, Keys: pk, Constraint: name + "_pkey"}}, r.Indexes...)
	}
	w.PutRelation(r)
	h.statement()
	return h.rel(name)
}

func (h *harness) rel(name string) *catalog.Relation {
	return h.tx.Catalog().RelationByName(catalog.SchemaPublic, name)
}

var procsBySrc = map[string]*sqltypes.Proc{}

// fn finds a function by its source name, or an aggregate by its signature.
func fn(src string) *sqltypes.Proc {
	if len(procsBySrc) == 0 {
		for _, p := range sqltypes.AllProcs() {
			if p.Kind == 'f' {
				procsBySrc[p.Src] = p
				continue
			}
			var args []string
			for _, a := range p.ArgTypes {
				args = append(args, sqltypes.TypeByOID(a).Name)
			}
			procsBySrc[p.Name+"("+strings.Join(args, ",")+")"] = p
		}
	}
	p := procsBySrc[src]
	if p == nil {
		panic("no function " + src)
	}
	return p
}

func ct(typ string) sqltypes.ColumnType {
	t := sqltypes.TypeByName(typ)
	if t == nil {
		panic("no type " + typ)
	}
	return sqltypes.ColumnType{OID: t.OID, TypMod: -1, Collation: t.Collation}
}

func tt(typ string) expr.T { return expr.T{Typ: ct(typ)} }

func col(i int, typ string) expr.Expr   { return &expr.Col{T: tt(typ), Idx: i} }
func par(n int, typ string) expr.Expr   { return &expr.Param{T: tt(typ), N: n} }
func exec(id int, typ string) expr.Expr { return &expr.ExecParam{T: tt(typ), ID: id} }

// lit parses a literal; "NULL" is NULL.
func lit(s, typ string) expr.Expr { return &expr.Const{T: tt(typ), Val: datum(s, typ)} }

func datum(s, typ string) sqltypes.Datum {
	if s == "NULL" {
		return sqltypes.Null
	}
	env := &sqltypes.Env{Formats: sqltypes.DefaultFormats()}
	d, err := sqltypes.TypeByName(typ).In(env, s, -1)
	if err != nil {
		panic(err)
	}
	return d
}

func call(src string, args ...expr.Expr) *expr.Call {
	p := fn(src)
	op := ""
	if strings.HasSuffix(src, "eq") {
		op = "="
	}
	return &expr.Call{T: expr.T{Typ: sqltypes.ColumnType{OID: p.RetType, TypMod: -1}}, Proc: p, Args: args, Op: op}
}

func agg(sig string, args ...expr.Expr) *expr.Agg {
	p := fn(sig)
	a := &expr.Agg{T: expr.T{Typ: sqltypes.ColumnType{OID: p.RetType, TypMod: -1}}, Proc: p, Args: args}
	if typ := sqltypes.TypeByOID(p.RetType); typ != nil && typ.TypType == 'p' && len(args) > 0 {
		a.Typ = args[0].Type()
	}
	return a
}

// cols describes output columns: "name type" each.
func cols(specs ...string) (out []planner.Column) {
	for _, s := range specs {
		f := strings.Fields(s)
		out = append(out, planner.Column{Name: f[0], Type: ct(f[1])})
	}
	return out
}

func base(specs ...string) planner.Base { return planner.Base{Columns: cols(specs...)} }

func exprCols(es []expr.Expr) (out []planner.Column) {
	for i, e := range es {
		out = append(out, planner.Column{Name: fmt.Sprint("c", i), Type: e.Type()})
	}
	return out
}

// scan reads a whole table.
func scan(r *catalog.Relation) *planner.Scan {
	s := &planner.Scan{Rel: r, RefSlot: -1}
	for _, c := range r.Columns {
		s.Attrs = append(s.Attrs, c.Num)
		s.Columns = append(s.Columns, planner.Column{Name: c.Name, Type: c.Type})
	}
	return s
}

func project(in planner.Node, es ...expr.Expr) *planner.Project {
	return &planner.Project{Base: planner.Base{Columns: exprCols(es)}, Input: in, Exprs: es}
}

// values are rows of literals: each row is texts parted by "|".
func values(types []string, rows ...string) *planner.Values {
	v := &planner.Values{}
	for i, t := range types {
		v.Columns = append(v.Columns, planner.Column{Name: fmt.Sprint("v", i), Type: ct(t)})
	}
	for _, r := range rows {
		var es []expr.Expr
		for i, s := range strings.Split(r, "|") {
			es = append(es, lit(s, types[i]))
		}
		v.Rows = append(v.Rows, es)
	}
	return v
}

func sortBy(in planner.Node, keys ...expr.Expr) *planner.Sort {
	s := &planner.Sort{Base: planner.Base{Columns: in.Out()}, Input: in}
	for _, k := range keys {
		s.Keys = append(s.Keys, planner.SortKey{Expr: k})
	}
	return s
}

// run executes a plan and returns its rows as text.
func (h *harness) run(root planner.Node, opts ...func(*planner.Plan, *Args)) ([]string, int64, error) {
	h.t.Helper()
	return h.runPlan(&planner.Plan{Root: root, Columns: root.Out(), NumExecParams: 16, Command: "SELECT"}, opts...)
}

func (h *harness) runPlan(p *planner.Plan, opts ...func(*planner.Plan, *Args)) ([]string, int64, error) {
	h.t.Helper()
	a := h.arg
	a.Txn, a.Env, a.Deferred = h.tx, h.env, h.def
	for _, o := range opts {
		o(p, &a)
	}
	x, err := Start(context.Background(), h.rt, p, a)
	if err != nil {
		return nil, 0, err
	}
	defer x.Close()
	var out []string
	var b expr.Batch
	for {
		n, err := x.Next(&b)
		if err != nil {
			return out, 0, err
		}
		if n == 0 {
			break
		}
		for _, i := range b.Selection() {
			var f []string
			for k, c := range b.Cols {
				f = append(f, x.text(p.Columns[k].Type, c.Datum(int(i))))
			}
			out = append(out, strings.Join(f, "|"))
		}
	}
	if x.mem.used < 0 {
		h.t.Errorf("memory account is %d", x.mem.used)
	}
	return out, x.Affected(), nil
}

// rows runs a plan that must succeed.
func (h *harness) rows(root planner.Node, opts ...func(*planner.Plan, *Args)) []string {
	h.t.Helper()
	out, _, err := h.run(root, opts...)
	if err != nil {
		h.t.Fatal(err)
	}
	return out
}

func (h *harness) expect(root planner.Node, want ...string) {
	h.t.Helper()
	expectRows(h.t, h.rows(root), want...)
}

func expectRows(t testing.TB, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// insertPlan inserts the rows of a node whose columns are the table's.
func insertPlan(r *catalog.Relation, in planner.Node) *planner.Insert {
	ins := &planner.Insert{Target: &planner.Target{Rel: r}, Input: in}
	for i, c := range r.Columns {
		ins.Row = append(ins.Row, &expr.Col{T: expr.T{Typ: c.Type}, Idx: i})
	}
	return ins
}

func types(r *catalog.Relation) (out []string) {
	for _, c := range r.Columns {
		out = append(out, sqltypes.TypeByOID(c.Type.OID).Name)
	}
	return out
}

// fill inserts literal rows.
func (h *harness) fill(r *catalog.Relation, rows ...string) {
	h.t.Helper()
	_, n, err := h.run(insertPlan(r, values(types(r), rows...)))
	if err != nil {
		h.t.Fatal(err)
	}
	if n != int64(len(rows)) {
		h.t.Fatalf("%d rows inserted, want %d", n, len(rows))
	}
	h.statement()
}

// written prepares Update and Delete over all columns of a table.
func written(r *catalog.Relation) (*planner.Scan, []int) {
	s := scan(r)
	s.RefSlot = 0
	var old []int
	for i := range r.Columns {
		old = append(old, i)
	}
	return s, old
}
