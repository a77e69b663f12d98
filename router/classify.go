package router

import (
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/planner"
	"ostraka/planner/parse"
	_ "ostraka/shardrouter" // declares the doc functions and whether they write
	"ostraka/sqltypes"
)

// script is what a query string asks of the router, found from its syntax tree.
type script struct {
	// read: nothing in it writes, as far as the tree and declared functions tell.
	// Names in executes decide further.
	read bool
	// pin: what follows needs the same session on the primary (temporary tables, session locks, …).
	pin bool
	// listen: messages may arrive at any time from now on.
	listen bool
	// begin: opens a block; with readOnly a READ ONLY one.
	begin, readOnly bool
	commit          bool // may commit a block
	rollbackTo      bool
	control         bool     // has a statement of transaction control
	executes        []string // SQL EXECUTE of these names
	states          []state  // changes of the session's state
	txn             []txnStep
	docs            *documents // calls of doc functions, of a script of one statement
	parts           []*script  // the statements of a script of several
	text            string     // of a part
	bare            bool       // read says all
	tame            bool       // not read, for it belongs to one session, but it writes nothing (cursors)
	execute         *pg.ExecuteStmt
	parsed          bool
}

// txnStep is a statement of transaction control.
type txnStep struct {
	kind      pg.TransactionStmtKind
	name      string // of a savepoint
	isolation string // asked for by BEGIN or SET TRANSACTION, "" not
	readOnly  *bool
	set       bool // SET TRANSACTION
}

// state is a statement that changes session state, which both sessions must have.
type state struct {
	text       string
	set        string     // SET or RESET of this parameter, "*" all
	value      string     // what it is SET to; "" for RESET and DEFAULT
	prepare    string     // PREPARE of this name
	inner      *script    // of what is prepared
	types      []*pg.Node // of its parameters, as far as PREPARE names them
	deallocate string     // name, "*" all
	discard    bool       // DISCARD ALL
}

func analyseText(sql string) *script {
	list, err := parse.Parse(sql)
	if err != nil {
		return &script{}
	}
	sc := &script{read: true, parsed: true}
	for _, st := range list {
		text := strings.Clone(st.Text)
		sc.add(st.AST, text)
		if len(list) > 1 {
			part := &script{read: true, text: text}
			part.add(st.AST, text)
			part.docs = documentsOf(st.AST, text)
			sc.parts = append(sc.parts, part)
		} else {
			sc.docs = documentsOf(st.AST, text)
		}
	}
	sc.tame = sc.tame && len(list) == 1
	if sc.control && len(sc.states) > 0 {
		sc.pin, sc.read = true, false // which of them lasts is not known from outside
	}
	sc.bare = !sc.pin && !sc.listen && !sc.control && len(sc.executes)+len(sc.states)+len(sc.parts) == 0 && sc.docs == nil
	return sc
}

// add takes one statement in.
func (sc *script) add(n *pg.Node, text string) {
	switch x := n.GetNode().(type) {
	case *pg.Node_TransactionStmt:
		sc.transaction(x.TransactionStmt)
		return
	case *pg.Node_VariableSetStmt:
		s := x.VariableSetStmt
		if strings.EqualFold(s.Name, "ostraka.min_position") {
			sc.pin, sc.read = true, false // the router sets it on replicas itself
		}
		if s.Name == "TRANSACTION" && s.Kind == pg.VariableSetKind_VAR_SET_MULTI {
			step := txnStep{set: true}
			step.options(s.Args)
			sc.txn = append(sc.txn, step)
		}
		switch {
		case s.IsLocal, s.Kind == pg.VariableSetKind_VAR_SET_MULTI && s.Name != "SESSION CHARACTERISTICS":
			sc.control = true // ends with the block
		case s.Kind == pg.VariableSetKind_VAR_RESET_ALL:
			sc.states = append(sc.states, state{text: text, set: "*"})
		default:
			sc.states = append(sc.states, state{text: text, set: strings.ToLower(s.Name), value: settingText(s)})
		}
		return
	case *pg.Node_VariableShowStmt:
		if strings.EqualFold(x.VariableShowStmt.Name, "ostraka.position") {
			sc.read = false
		}
		return
	case *pg.Node_PrepareStmt:
		inner := &script{read: true}
		inner.add(x.PrepareStmt.Query, "")
		sc.read = sc.read && inner.read
		if inner.docs = documentsOf(x.PrepareStmt.Query, ""); inner.docs != nil {
			var err error
			if inner.docs.text, err = deparse(x.PrepareStmt.Query); err != nil {
				inner.docs.refuse = err
			}
		}
		sc.states = append(sc.states, state{text: text, prepare: x.PrepareStmt.Name, inner: inner, types: x.PrepareStmt.Argtypes})
		return
	case *pg.Node_DeallocateStmt:
		name := x.DeallocateStmt.Name
		if name == "" {
			name = "*"
		} else {
			sc.executes = append(sc.executes, name) // it must be there to be closed
		}
		sc.states = append(sc.states, state{text: text, deallocate: name})
		return
	case *pg.Node_DiscardStmt:
		if x.DiscardStmt.Target == pg.DiscardMode_DISCARD_ALL {
			sc.states = append(sc.states, state{text: text, discard: true, set: "*", deallocate: "*"})
		}
		sc.read = false
		return
	case *pg.Node_ListenStmt:
		sc.listen, sc.pin, sc.read = true, true, false
		return
	case *pg.Node_DeclareCursorStmt:
		const hold = 0x20
		sc.pin = sc.pin || x.DeclareCursorStmt.Options&hold != 0
		sc.tame = parse.Classify(x.DeclareCursorStmt.Query, names{sc}) == planner.ClassRead
	case *pg.Node_FetchStmt, *pg.Node_ClosePortalStmt:
		sc.tame = true
	case *pg.Node_CallStmt, *pg.Node_DoStmt, *pg.Node_LoadStmt:
		sc.pin = true
	case *pg.Node_ExecuteStmt:
		sc.executes, sc.execute = append(sc.executes, x.ExecuteStmt.Name), x.ExecuteStmt
	}
	switch parse.Classify(n, names{sc}) {
	case planner.ClassRead:
	case planner.ClassControl:
		if n.GetExecuteStmt() == nil {
			sc.read = false // cursors and what else belongs to one session
		}
	default:
		sc.read = false
	}
	if temporary(n) {
		sc.pin, sc.read = true, false
	}
	if sc.pin {
		sc.read = false
	}
	executed(n, sc)
}

func (sc *script) transaction(s *pg.TransactionStmt) {
	sc.control = true
	step := txnStep{kind: s.Kind, name: s.SavepointName}
	step.options(s.Options)
	sc.txn = append(sc.txn, step)
	switch s.Kind {
	case pg.TransactionStmtKind_TRANS_STMT_BEGIN, pg.TransactionStmtKind_TRANS_STMT_START:
		readOnly := step.readOnly != nil && *step.readOnly
		sc.begin, sc.readOnly = true, readOnly
		sc.read = sc.read && readOnly
	case pg.TransactionStmtKind_TRANS_STMT_ROLLBACK_TO:
		sc.rollbackTo = true
	case pg.TransactionStmtKind_TRANS_STMT_COMMIT:
		sc.commit = true
	case pg.TransactionStmtKind_TRANS_STMT_PREPARE, pg.TransactionStmtKind_TRANS_STMT_COMMIT_PREPARED, pg.TransactionStmtKind_TRANS_STMT_ROLLBACK_PREPARED:
		sc.commit, sc.read = true, false
	}
}

// options reads the modes of a transaction.
func (t *txnStep) options(list []*pg.Node) {
	for _, o := range list {
		d := o.GetDefElem()
		c := d.GetArg().GetAConst()
		switch d.GetDefname() {
		case "transaction_read_only":
			v := c.GetIval().GetIval() != 0 || c.GetBoolval().GetBoolval()
			t.readOnly = &v
		case "transaction_isolation":
			t.isolation = c.GetSval().GetSval()
		}
	}
}

// settingText is the value of SET as text.
func settingText(s *pg.VariableSetStmt) string {
	if s.Kind != pg.VariableSetKind_VAR_SET_VALUE {
		return ""
	}
	var out []string
	for _, a := range s.Args {
		switch v := a.GetAConst().GetVal().(type) {
		case *pg.A_Const_Sval:
			out = append(out, v.Sval.Sval)
		case *pg.A_Const_Ival:
			out = append(out, strconv.Itoa(int(v.Ival.Ival)))
		default:
			out = append(out, "?")
		}
	}
	return strings.Join(out, ",")
}

// executed finds EXECUTE below another statement (EXPLAIN, CREATE TABLE AS).
func executed(n *pg.Node, sc *script) {
	if n.GetExplainStmt() == nil && n.GetCreateTableAsStmt() == nil {
		return
	}
	parse.Walk(n, func(n *pg.Node) bool {
		if e := n.GetExecuteStmt(); e != nil {
			sc.executes = append(sc.executes, e.Name)
		}
		return true
	})
}

// temporary reports that a statement makes or names something only its session has.
func temporary(n *pg.Node) bool {
	temp := func(r *pg.RangeVar) bool {
		return r != nil && (r.Relpersistence == "t" || strings.HasPrefix(r.Schemaname, "pg_temp"))
	}
	found := false
	switch x := n.GetNode().(type) {
	case *pg.Node_CreateStmt:
		found = temp(x.CreateStmt.Relation)
	case *pg.Node_CreateTableAsStmt:
		found = temp(x.CreateTableAsStmt.GetInto().GetRel())
	case *pg.Node_ViewStmt:
		found = temp(x.ViewStmt.View)
	case *pg.Node_CreateSeqStmt:
		found = temp(x.CreateSeqStmt.Sequence)
	}
	parse.Walk(n, func(n *pg.Node) bool {
		found = found || temp(n.GetRangeVar()) || temp(n.GetSelectStmt().GetIntoClause().GetRel())
		return !found
	})
	return found
}

// names answers the classifier without a catalogue.
type names struct{ sc *script }

// onPrimary are functions that write nothing but belong to the session on the
// primary, or write depending on their arguments.
var onPrimary = map[string]bool{
	"currval": true, "lastval": true, "pg_is_in_recovery": true, "pg_export_snapshot": true,
	"txid_current": true, "txid_current_if_assigned": true, "pg_current_xact_id_if_assigned": true,
	"pg_current_wal_lsn": true, "pg_current_wal_insert_lsn": true, "pg_current_wal_flush_lsn": true,
	"pg_my_temp_schema": true, "aggregate": true,
}

// Function implements parse.Lookups: what is not known as built in may write.
func (l names) Function(schema, name string) parse.Effect {
	if strings.HasPrefix(name, "pg_advisory_") || strings.HasPrefix(name, "pg_try_advisory_") || name == "set_config" {
		l.sc.pin = true
		return parse.EffectWrite
	}
	if onPrimary[name] {
		return parse.EffectWrite
	}
	want := map[string]sqltypes.OID{"": sqltypes.NamespaceCatalog, "pg_catalog": sqltypes.NamespaceCatalog,
		"doc": sqltypes.NamespaceDoc, "ostraka": sqltypes.NamespaceOstraka}
	ns, ok := want[schema]
	known := false
	for _, p := range sqltypes.ProcsByName(name) {
		if !ok || p.Namespace != ns {
			continue
		}
		if p.Writes {
			return parse.EffectWrite
		}
		known = true
	}
	if !known {
		return parse.EffectWrite
	}
	return parse.EffectNone
}

// Relation implements parse.Lookups: there is no catalogue.
func (names) Relation(string, string) *catalog.Relation { return nil }

// Prepared implements parse.Lookups: names are resolved when they are executed.
func (names) Prepared(string) (planner.Class, bool) { return planner.ClassControl, true }
