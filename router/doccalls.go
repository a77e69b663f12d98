package router

import (
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/proto"

	"ostraka/planner/parse"
	"ostraka/shardrouter"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// documents are the calls of doc functions in one statement, found from its tree.
// It is not changed after it was made.
type documents struct {
	text    string
	tree    *pg.Node
	calls   []*docCall // inner ones before the calls that use them
	utility bool       // EXPLAIN
	// direct: the statement is nothing but its one call, and the answer is the call's.
	direct bool
	names  []string // of the columns of a direct answer
	// refuse says why the statement cannot be executed here when a call is the router's.
	refuse error
	// one: a write in it is all that it does, so that it need not be undone.
	one    bool
	writes bool
	params int // the highest $n
}

// docCall is one call.
type docCall struct {
	fn     shardrouter.Function
	params []shardrouter.Param
	args   []argument // by parameter
	set    bool
	from   bool // it stands in FROM
}

// argument is how the value of a parameter is found.
type argument struct {
	node  *pg.Node // nil: the default
	known bool
	value sqltypes.Datum
	param int // $n, 0: not a parameter alone
}

// docCallOf recognises a call of a doc function by its name.
func docCallOf(n *pg.Node) (shardrouter.Function, *pg.FuncCall, bool) {
	f := n.GetFuncCall()
	if f == nil || len(f.Funcname) != 2 || f.Funcname[0].GetString_().GetSval() != "doc" {
		return shardrouter.Function{}, nil, false
	}
	fn, ok := shardrouter.FunctionNamed(f.Funcname[1].GetString_().GetSval())
	return fn, f, ok
}

// documentsOf finds the calls of a statement; nil when it has none.
func documentsOf(tree *pg.Node, text string) *documents {
	d := &documents{text: text, tree: tree}
	for _, n := range docNodes(tree) {
		fn, f, _ := docCallOf(n)
		c := &docCall{fn: fn, params: fn.Params(), set: fn.Set()}
		if !c.match(f) {
			return nil // the server says that there is no such function
		}
		d.calls = append(d.calls, c)
		d.writes = d.writes || fn.Writes()
	}
	if len(d.calls) == 0 {
		return nil
	}
	parse.Walk(tree, func(n *pg.Node) bool {
		d.params = max(d.params, int(n.GetParamRef().GetNumber()))
		return true
	})
	d.shape()
	return d
}

// docNodes are the calls below a node, inner ones first.
func docNodes(n *pg.Node) []*pg.Node {
	var out []*pg.Node
	parse.Walk(n, func(x *pg.Node) bool {
		if _, f, ok := docCallOf(x); ok {
			for _, a := range f.Args {
				out = append(out, docNodes(a)...)
			}
			out = append(out, x)
			return false
		}
		return true
	})
	return out
}

// match assigns arguments to parameters; false: the function has no such parameters.
func (c *docCall) match(f *pg.FuncCall) bool {
	if f.FuncVariadic || f.AggStar || f.AggDistinct || f.AggFilter != nil || f.Over != nil || f.AggOrder != nil || len(f.Args) > len(c.params) {
		return false
	}
	c.args = make([]argument, len(c.params))
	for i, a := range f.Args {
		at := i
		if named := a.GetNamedArgExpr(); named != nil {
			at = -1
			for k, p := range c.params {
				if p.Name == named.Name {
					at = k
				}
			}
			a = named.Arg
		}
		if at < 0 || c.args[at].node != nil {
			return false
		}
		var fits bool
		if c.args[at], fits = argumentOf(a, c.params[at].Type); !fits {
			return false
		}
	}
	for i := range c.args {
		if c.args[i].node != nil {
			continue
		}
		if c.params[i].Must {
			return false
		}
		c.args[i].known, c.args[i].value = true, c.params[i].Default
	}
	return true
}

var castNames = map[string]sqltypes.OID{"jsonb": sqltypes.OIDJsonb, "json": sqltypes.OIDJson, "text": sqltypes.OIDText, "int8": sqltypes.OIDInt8,
	"bool": sqltypes.OIDBool, "bigint": sqltypes.OIDInt8, "boolean": sqltypes.OIDBool}

// argumentOf reads a literal or a parameter; other expressions are evaluated by a
// server. fits is false for a literal of another type.
func argumentOf(n *pg.Node, want sqltypes.OID) (a argument, fits bool) {
	a.node = n
	inner := n
	if t := n.GetTypeCast(); t != nil {
		names := t.TypeName.GetNames()
		if len(names) == 0 || len(t.TypeName.ArrayBounds) > 0 || castNames[names[len(names)-1].GetString_().GetSval()] != want {
			return a, true
		}
		inner = t.Arg
	}
	if p := inner.GetParamRef(); p != nil {
		a.param = int(p.Number)
		return a, true
	}
	k := inner.GetAConst()
	if k == nil {
		return a, true
	}
	text := ""
	switch v := k.Val.(type) {
	case *pg.A_Const_Sval:
		text = v.Sval.Sval
	case *pg.A_Const_Ival:
		if want != sqltypes.OIDInt8 {
			return a, inner != n
		}
		text = strconv.FormatInt(int64(v.Ival.Ival), 10)
	case *pg.A_Const_Boolval:
		if want != sqltypes.OIDBool {
			return a, inner != n
		}
		text = strconv.FormatBool(v.Boolval.Boolval)
	default:
		if k.Isnull {
			a.known, a.value = true, sqltypes.Null
		}
		return a, true
	}
	if v, err := sqltypes.TypeByOID(want).In(nil, text, -1); err == nil {
		a.known, a.value = true, v
	}
	return a, true // a literal that cannot be read is left to the server, which says what is wrong with it
}

// shape finds out what kind of statement it is.
func (d *documents) shape() {
	tree := d.tree
	if e := tree.GetExplainStmt(); e != nil {
		d.utility = true
		if len(e.Options) > 0 {
			d.refuse = pgerror.NotSupported("EXPLAIN with options of a statement with documents of several shards")
		}
		if d.writes {
			d.refuse = pgerror.NotSupported("EXPLAIN of a statement that writes documents of several shards")
		}
		return
	}
	sel := tree.GetSelectStmt()
	switch {
	case tree.GetPrepareStmt() != nil, tree.GetViewStmt() != nil, tree.GetRuleStmt() != nil,
		tree.GetCreateFunctionStmt() != nil, tree.GetCreateStmt() != nil, tree.GetIndexStmt() != nil:
		d.refuse = pgerror.NotSupported("documents of several shards in this kind of statement through a router")
		return
	case tree.GetCreateTableAsStmt() != nil && tree.GetCreateTableAsStmt().Objtype == pg.ObjectType_OBJECT_MATVIEW:
		d.refuse = pgerror.NotSupported("documents of several shards in a materialized view through a router")
		return
	}
	plain := sel != nil && sel.Op == pg.SetOperation_SETOP_NONE && sel.WithClause == nil && sel.WhereClause == nil && sel.DistinctClause == nil &&
		sel.GroupClause == nil && sel.HavingClause == nil && sel.SortClause == nil && sel.LimitCount == nil && sel.LimitOffset == nil &&
		sel.LockingClause == nil && sel.IntoClause == nil && sel.ValuesLists == nil && sel.WindowClause == nil
	d.places(tree)
	if plain && len(d.calls) == 1 {
		d.direct, d.names = d.isDirect(sel)
	}
	d.one = plain && (len(sel.FromClause) == 0 && len(sel.TargetList) == 1 || len(sel.FromClause) == 1 && d.calls[len(d.calls)-1].from)
	if !d.writes || d.refuse != nil {
		return
	}
	// What writes must be executed exactly once, whatever the rest is.
	ok := plain
	if ok && len(sel.FromClause) > 0 {
		ok = len(sel.FromClause) == 1 && len(d.calls) == 1 && d.calls[0].from
	}
	if ok && len(sel.FromClause) == 0 {
		for _, t := range sel.TargetList {
			ok = ok && always(t.GetResTarget().GetVal())
		}
	}
	if !ok {
		d.refuse = pgerror.NotSupported("a function that writes documents of several shards inside of a larger statement").
			WithHint("Call it alone: SELECT doc.insert(…).")
	}
}

// always reports that the calls of doc functions in an expression are executed
// exactly once whenever it is evaluated.
func always(n *pg.Node) bool {
	if _, f, ok := docCallOf(n); ok {
		return len(f.Args) == 0 || alwaysAll(f.Args)
	}
	if len(docNodes(n)) == 0 {
		return true
	}
	switch x := n.Node.(type) {
	case *pg.Node_AExpr:
		return always(x.AExpr.Lexpr) && always(x.AExpr.Rexpr)
	case *pg.Node_TypeCast:
		return always(x.TypeCast.Arg)
	case *pg.Node_FuncCall:
		return alwaysAll(x.FuncCall.Args)
	case *pg.Node_NamedArgExpr:
		return always(x.NamedArgExpr.Arg)
	}
	return false
}

func alwaysAll(list []*pg.Node) bool {
	for _, n := range list {
		if !always(n) {
			return false
		}
	}
	return true
}

// places notes which calls stand in FROM and refuses places where a call cannot be
// replaced by its answer.
func (d *documents) places(tree *pg.Node) {
	at := map[*pg.FuncCall]*docCall{}
	for i, n := range docNodes(tree) {
		at[n.GetFuncCall()] = d.calls[i]
	}
	parse.Walk(tree, func(n *pg.Node) bool {
		r := n.GetRangeFunction()
		if r == nil {
			return true
		}
		for _, item := range r.Functions {
			call := item.GetList().GetItems()[0].GetFuncCall()
			c := at[call]
			if c == nil {
				continue
			}
			c.from = true
			if len(r.Functions) > 1 || r.IsRowsfrom || len(r.Coldeflist) > 0 {
				d.refuse = pgerror.NotSupported("ROWS FROM with documents of several shards")
			}
			if _, scalar := c.fn.Columns(); !scalar && len(r.Alias.GetColnames()) > 0 {
				d.refuse = pgerror.NotSupported("other column names for doc.%s() of several shards", c.fn.Name())
			}
		}
		return true
	})
	for _, c := range d.calls {
		if _, scalar := c.fn.Columns(); !scalar && !c.from {
			d.refuse = pgerror.NotSupported("doc.%s() of several shards outside of FROM", c.fn.Name())
		}
		for _, a := range c.args {
			if a.node != nil && !a.known && a.param == 0 && correlated(a.node) {
				d.refuse = pgerror.NotSupported("doc.%s() of several shards with an argument that depends on a row", c.fn.Name()).
					WithHint("Read the documents first, in a statement of their own.")
			}
		}
	}
}

// correlated reports a column outside of sub-queries.
func correlated(n *pg.Node) bool {
	found := false
	parse.Walk(n, func(x *pg.Node) bool {
		if x.GetSubLink() != nil {
			return false
		}
		found = found || x.GetColumnRef() != nil
		return !found
	})
	return found
}

// isDirect recognises SELECT doc.f(…) and SELECT * FROM doc.f(…).
func (d *documents) isDirect(sel *pg.SelectStmt) (bool, []string) {
	c := d.calls[0]
	if len(sel.TargetList) != 1 {
		return false, nil
	}
	target := sel.TargetList[0].GetResTarget()
	cols, scalar := c.fn.Columns()
	if len(sel.FromClause) == 0 {
		if _, _, ok := docCallOf(target.Val); !ok || !scalar {
			return false, nil
		}
		if target.Name != "" {
			return true, []string{target.Name}
		}
		return true, []string{c.fn.Name()}
	}
	r := sel.FromClause[0].GetRangeFunction()
	if len(sel.FromClause) != 1 || r == nil || r.Ordinality || r.Lateral {
		return false, nil
	}
	names := make([]string, len(cols))
	for i, p := range cols {
		names[i] = p.Name
	}
	if r.Alias != nil {
		if scalar {
			names[0] = r.Alias.Aliasname
		}
		if len(r.Alias.Colnames) > len(names) {
			return false, nil
		}
		for i, n := range r.Alias.Colnames {
			names[i] = n.GetString_().GetSval()
		}
	}
	ref := target.Val.GetColumnRef()
	if ref == nil || len(ref.Fields) != 1 {
		return false, nil
	}
	if ref.Fields[0].GetAStar() != nil {
		return true, names
	}
	if !scalar || ref.Fields[0].GetString_().GetSval() != names[0] {
		return false, nil
	}
	if target.Name != "" {
		names[0] = target.Name
	}
	return true, names
}

// concerns decides before arguments are known whether a call may be the router's.
func (d *documents) concerns(route *shardrouter.Plain) bool {
	for _, c := range d.calls {
		if c.mayConcern(route) {
			return true
		}
	}
	return false
}

func (c *docCall) mayConcern(route *shardrouter.Plain) bool {
	if !c.fn.Collection() {
		return false
	}
	if c.fn.Op().String() == "aggregate" || c.fn.Op().String() == "create_collection" {
		return true
	}
	if !c.args[0].known || c.args[0].value.Null {
		return !c.args[0].known
	}
	_, ok := route.Keys[c.args[0].value.S]
	return ok
}

// deparse prints one statement.
func deparse(tree *pg.Node) (string, error) {
	text, err := pg.Deparse(&pg.ParseResult{Stmts: []*pg.RawStmt{{Stmt: tree}}})
	if err != nil {
		return "", pgerror.Wrap(err, pgerror.InternalError, "the statement could not be printed")
	}
	return text, nil
}

// copyTree is a tree that may be changed, with its calls in the order of documents.calls.
func (d *documents) copyTree() (*pg.Node, []*pg.Node) {
	tree := proto.Clone(d.tree).(*pg.Node)
	return tree, docNodes(tree)
}

// replace puts an answer in the place of a call: rows as a JSON array, or a value.
func (c *docCall) replace(tree, node *pg.Node, answer string, null bool) {
	call := node.GetFuncCall()
	ret := "jsonb"
	cols, scalar := c.fn.Columns()
	if scalar && !c.set {
		ret = typeName(cols[0].Type)
	}
	var value *pg.Node
	if null {
		value = cast(&pg.Node{Node: &pg.Node_AConst{AConst: &pg.A_Const{Isnull: true}}}, ret)
	} else {
		value = cast(pg.MakeAConstStrNode(answer, -1), ret)
	}
	switch {
	case c.set && !scalar:
		value = funcCall("jsonb_to_recordset", value)
	case c.set && cols[0].Type == sqltypes.OIDText:
		value = funcCall("jsonb_array_elements_text", value)
	case c.set:
		value = funcCall("jsonb_array_elements", value)
	}
	c.keepNames(tree, call, cols, scalar)
	node.Node = value.Node
}

// keepNames gives columns and tables the names that the call gave them.
func (c *docCall) keepNames(tree *pg.Node, call *pg.FuncCall, cols []shardrouter.Param, scalar bool) {
	parse.Walk(tree, func(n *pg.Node) bool {
		if t := n.GetResTarget(); t != nil && t.Name == "" && t.Val != nil {
			v := t.Val
			for v.GetTypeCast() != nil {
				v = v.GetTypeCast().Arg
			}
			if v.GetFuncCall() == call {
				t.Name = c.fn.Name()
			}
		}
		r := n.GetRangeFunction()
		if r == nil || len(r.Functions) != 1 || r.Functions[0].GetList().GetItems()[0].GetFuncCall() != call {
			return true
		}
		if r.Alias == nil {
			r.Alias = &pg.Alias{Aliasname: c.fn.Name()}
		}
		if !scalar {
			defs := make([]*pg.Node, len(cols))
			for i, p := range cols {
				defs[i] = &pg.Node{Node: &pg.Node_ColumnDef{ColumnDef: &pg.ColumnDef{Colname: p.Name, TypeName: typeNode(typeName(p.Type)), IsLocal: true}}}
			}
			r.Coldeflist = defs
		} else if len(r.Alias.Colnames) == 0 {
			r.Alias.Colnames = []*pg.Node{pg.MakeStrNode(r.Alias.Aliasname)}
		}
		return true
	})
}

func typeName(oid sqltypes.OID) string { return sqltypes.TypeByOID(oid).Name }

func typeNode(name string) *pg.TypeName {
	return &pg.TypeName{Names: []*pg.Node{pg.MakeStrNode("pg_catalog"), pg.MakeStrNode(name)}, Typemod: -1}
}

func cast(n *pg.Node, typ string) *pg.Node {
	return &pg.Node{Node: &pg.Node_TypeCast{TypeCast: &pg.TypeCast{Arg: n, TypeName: typeNode(typ)}}}
}

func funcCall(name string, arg *pg.Node) *pg.Node {
	return &pg.Node{Node: &pg.Node_FuncCall{FuncCall: &pg.FuncCall{Funcname: []*pg.Node{pg.MakeStrNode("pg_catalog"), pg.MakeStrNode(name)}, Args: []*pg.Node{arg},
		Funcformat: pg.CoercionForm_COERCE_EXPLICIT_CALL}}}
}

// evaluation is a statement by which a server evaluates expressions.
func evaluation(exprs []*pg.Node, types []sqltypes.OID) (string, error) {
	sel := &pg.SelectStmt{Op: pg.SetOperation_SETOP_NONE, LimitOption: pg.LimitOption_LIMIT_OPTION_DEFAULT}
	for i, e := range exprs {
		v := cast(cast(e, typeName(types[i])), "text")
		sel.TargetList = append(sel.TargetList, &pg.Node{Node: &pg.Node_ResTarget{ResTarget: &pg.ResTarget{Val: v}}})
	}
	return deparse(&pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: sel}})
}

// docInPath reports a setting that would make unqualified names doc functions.
func docInPath(value string) bool {
	for _, p := range strings.Split(value, ",") {
		if strings.Trim(strings.TrimSpace(p), `"'`) == "doc" {
			return true
		}
	}
	return false
}
