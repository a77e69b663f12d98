package parse

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// Effect is what calling a function may do.
type Effect uint8

const (
	EffectNone      Effect = iota
	EffectWrite            // changes replicated state
	EffectNodeWrite        // changes node-local state only
)

// Lookups is what the classifier asks about names in a tree.
type Lookups interface {
	// Function returns the strongest effect of the functions with that name
	// (schema "" searches the path); an unknown name has none: it will fail to bind.
	Function(schema, name string) Effect
	// Relation finds a table or view; nil for unknown and virtual ones.
	Relation(schema, name string) *catalog.Relation
	// Prepared returns the class of a prepared statement of the session.
	Prepared(name string) (planner.Class, bool)
}

// Classify decides where a statement runs. It reads the tree only.
func Classify(n *pg.Node, look Lookups) planner.Class {
	c := classifier{look: look}
	return c.statement(n)
}

// ClassifyAll is the class of several statements sent in one string: a write if any writes.
func ClassifyAll(list []*planner.Statement) planner.Class {
	out, first := planner.ClassControl, true
	for _, s := range list {
		switch {
		case s.Class == planner.ClassWrite:
			return planner.ClassWrite
		case s.Class == planner.ClassControl:
		case first:
			out, first = s.Class, false
		case s.Class == planner.ClassNodeWrite:
			out = planner.ClassNodeWrite
		}
	}
	return out
}

type classifier struct {
	look  Lookups
	views int // depth of views being looked into
}

const maxViewDepth = 100

func (c *classifier) statement(n *pg.Node) planner.Class {
	if n == nil {
		return planner.ClassRead
	}
	switch s := n.Node.(type) {
	case *pg.Node_SelectStmt:
		if intoOf(s.SelectStmt) != nil {
			return planner.ClassWrite
		}
		return c.query(n)
	case *pg.Node_InsertStmt, *pg.Node_UpdateStmt, *pg.Node_DeleteStmt, *pg.Node_MergeStmt:
		return c.query(n)
	case *pg.Node_ExplainStmt:
		if explainRuns(s.ExplainStmt.Options) {
			return c.statement(s.ExplainStmt.Query)
		}
		return planner.ClassRead
	case *pg.Node_DeclareCursorStmt:
		return c.query(s.DeclareCursorStmt.Query)
	case *pg.Node_ExecuteStmt:
		params := planner.ClassRead
		for _, p := range s.ExecuteStmt.Params {
			params = stronger(params, c.query(p))
		}
		if cl, ok := c.look.Prepared(s.ExecuteStmt.Name); ok {
			return stronger(params, cl)
		}
		if params != planner.ClassRead {
			return params
		}
		return planner.ClassControl
	case *pg.Node_CallStmt:
		if f := s.CallStmt.Funccall; f != nil {
			if schema, name := qualified(f.Funcname); c.look.Function(schema, name) == EffectNodeWrite {
				return planner.ClassNodeWrite
			}
		}
		return planner.ClassWrite
	case *pg.Node_CopyStmt:
		switch {
		case s.CopyStmt.IsFrom:
			if r := s.CopyStmt.Relation; r != nil {
				if rel := c.look.Relation(r.Schemaname, r.Relname); rel != nil && rel.TimeSeries {
					return planner.ClassNodeWrite
				}
			}
			return planner.ClassWrite
		case s.CopyStmt.Query != nil:
			return c.query(s.CopyStmt.Query)
		}
		return planner.ClassRead
	case *pg.Node_TransactionStmt:
		switch s.TransactionStmt.Kind {
		case pg.TransactionStmtKind_TRANS_STMT_COMMIT_PREPARED, pg.TransactionStmtKind_TRANS_STMT_ROLLBACK_PREPARED:
			return planner.ClassWrite
		}
		return planner.ClassControl
	case *pg.Node_VariableSetStmt, *pg.Node_VariableShowStmt, *pg.Node_PrepareStmt, *pg.Node_DeallocateStmt,
		*pg.Node_ListenStmt, *pg.Node_UnlistenStmt, *pg.Node_DiscardStmt, *pg.Node_FetchStmt, *pg.Node_ClosePortalStmt,
		*pg.Node_ConstraintsSetStmt, *pg.Node_LoadStmt, *pg.Node_CheckPointStmt, *pg.Node_AlterSystemStmt:
		return planner.ClassControl
	}
	// DDL, CALL, DO, LOCK, NOTIFY, TRUNCATE, VACUUM, GRANT …
	return planner.ClassWrite
}

// explainRuns reports whether EXPLAIN's options say ANALYZE.
func explainRuns(options []*pg.Node) bool {
	runs := false
	for _, o := range options {
		d := o.GetDefElem()
		if d == nil || d.Defname != "analyze" {
			continue
		}
		runs = true // later ones win; without a value it is on
		switch a := d.Arg.GetNode().(type) {
		case *pg.Node_String_:
			switch a.String_.Sval {
			case "false", "off", "0", "FALSE", "OFF":
				runs = false
			}
		case *pg.Node_Integer:
			runs = a.Integer.Ival != 0
		case *pg.Node_Boolean:
			runs = a.Boolean.Boolval
		}
	}
	return runs
}

// stronger combines two classes of one statement: a write wins.
func stronger(a, b planner.Class) planner.Class {
	switch {
	case a == planner.ClassWrite || b == planner.ClassWrite:
		return planner.ClassWrite
	case a == planner.ClassNodeWrite || b == planner.ClassNodeWrite:
		return planner.ClassNodeWrite
	case a == planner.ClassControl:
		return b
	}
	return a
}

// query walks the whole tree: what is written at any depth counts.
func (c *classifier) query(n *pg.Node) planner.Class {
	out := planner.ClassRead
	Walk(n, func(n *pg.Node) bool {
		if out == planner.ClassWrite {
			return false
		}
		switch x := n.Node.(type) {
		case *pg.Node_SelectStmt:
			if x.SelectStmt.IntoClause != nil {
				out = planner.ClassWrite
			}
		case *pg.Node_InsertStmt:
			out = stronger(out, c.target(x.InsertStmt.Relation))
		case *pg.Node_UpdateStmt:
			out = stronger(out, c.target(x.UpdateStmt.Relation))
		case *pg.Node_DeleteStmt:
			out = stronger(out, c.target(x.DeleteStmt.Relation))
		case *pg.Node_MergeStmt:
			out = stronger(out, c.target(x.MergeStmt.Relation))
		case *pg.Node_LockingClause:
			out = planner.ClassWrite
		case *pg.Node_FuncCall:
			schema, name := qualified(x.FuncCall.Funcname)
			switch c.look.Function(schema, name) {
			case EffectWrite:
				out = planner.ClassWrite
			case EffectNodeWrite:
				out = stronger(out, planner.ClassNodeWrite)
			}
		case *pg.Node_RangeVar:
			out = stronger(out, c.view(x.RangeVar))
		}
		return out != planner.ClassWrite
	})
	return out
}

// target is the class of DML on a relation.
func (c *classifier) target(r *pg.RangeVar) planner.Class {
	if r != nil {
		if rel := c.look.Relation(r.Schemaname, r.Relname); rel != nil && rel.TimeSeries {
			return planner.ClassNodeWrite
		}
	}
	return planner.ClassWrite
}

// view looks into the definition of a view: reading it may call a function that writes.
func (c *classifier) view(r *pg.RangeVar) planner.Class {
	rel := c.look.Relation(r.Schemaname, r.Relname)
	if rel == nil || rel.Kind != catalog.KindView || c.views >= maxViewDepth {
		return planner.ClassRead
	}
	st, err := One(rel.ViewDef)
	if err != nil {
		return planner.ClassRead
	}
	c.views++
	defer func() { c.views-- }()
	return c.query(st.AST)
}

func qualified(names []*pg.Node) (schema, name string) {
	if n := len(names); n > 0 {
		name = names[n-1].GetString_().GetSval()
		if n > 1 {
			schema = names[n-2].GetString_().GetSval()
		}
	}
	return schema, name
}

// CatalogLookups answers from a planning context.
type CatalogLookups struct {
	Ctx *planner.Context
	// PreparedClass may be nil.
	PreparedClass func(name string) (planner.Class, bool)
}

// Function implements Lookups.
func (l CatalogLookups) Function(schema, name string) Effect {
	eff := EffectNone
	for _, p := range sqltypes.ProcsByName(name) {
		if !p.Writes {
			continue
		}
		if !p.Node {
			return EffectWrite
		}
		eff = EffectNodeWrite
	}
	user := func(oid sqltypes.OID) bool {
		for _, f := range l.Ctx.Catalog.FunctionsByName(oid, name) {
			// What is not declared STABLE or IMMUTABLE may write.
			if f.Volatility == sqltypes.Volatile || f.Volatility == 0 {
				return true
			}
		}
		return false
	}
	if l.Ctx.Catalog == nil {
		return eff
	}
	if schema != "" {
		if s := l.Ctx.Catalog.SchemaByName(schema); s != nil && user(s.OID) {
			return EffectWrite
		}
		return eff
	}
	for _, s := range l.Ctx.SearchPath {
		if user(s) {
			return EffectWrite
		}
	}
	return eff
}

// Relation implements Lookups.
func (l CatalogLookups) Relation(schema, name string) *catalog.Relation {
	if l.Ctx.Catalog == nil {
		return nil
	}
	if schema != "" {
		if schema == "pg_temp" {
			return l.Ctx.Catalog.RelationByName(l.Ctx.TempSchema, name)
		}
		s := l.Ctx.Catalog.SchemaByName(schema)
		if s == nil {
			return nil
		}
		return l.Ctx.Catalog.RelationByName(s.OID, name)
	}
	for _, s := range l.Ctx.SearchPath {
		if r := l.Ctx.Catalog.RelationByName(s, name); r != nil {
			return r
		}
	}
	return nil
}

// Prepared implements Lookups.
func (l CatalogLookups) Prepared(name string) (planner.Class, bool) {
	if l.PreparedClass == nil {
		return 0, false
	}
	return l.PreparedClass(name)
}
