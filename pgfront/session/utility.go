package session

import (
	"fmt"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

var sprintf = fmt.Sprintf

// outcome is what a utility statement answers: a tag, or rows and then a tag.
type outcome struct {
	tag     string
	cols    []planner.Column // nil: no rows
	formats []int16          // nil: the client's
	silent  bool             // RowDescription is not sent
	run     func(emit rowFunc) (tag string, err error)
}

func tagged(tag string, err error) (*outcome, error) {
	if err != nil {
		return nil, err
	}
	return &outcome{tag: tag}, nil
}

// rowsOutcome answers rows that are at hand.
func rowsOutcome(cols []planner.Column, rows [][]sqltypes.Datum, tag string) *outcome {
	return &outcome{cols: cols, tag: tag, run: func(emit rowFunc) (string, error) {
		var b datumBatch
		for _, r := range rows {
			if err := emit(b.of(r), 0); err != nil {
				return "", err
			}
		}
		return tag, nil
	}}
}

func textColumn(name string) planner.Column {
	return planner.Column{Name: name, Type: sqltypes.ColumnType{OID: sqltypes.OIDText, TypMod: -1}}
}

// utility executes a statement without a plan. po is nil in the simple protocol.
func (s *Session) utility(p *prepared, po *portal) (*outcome, error) {
	stmt := p.stmt
	switch n := stmt.AST.Node.(type) {
	case *pg.Node_TransactionStmt:
		return tagged(s.transactionStmt(n.TransactionStmt))
	case *pg.Node_VariableSetStmt:
		return tagged(stmt.Tag, s.setStmt(n.VariableSetStmt))
	case *pg.Node_VariableShowStmt:
		return s.showStmt(n.VariableShowStmt)
	case *pg.Node_AlterSystemStmt:
		return nil, pgerror.NotSupported("ALTER SYSTEM")
	case *pg.Node_DiscardStmt:
		return tagged(stmt.Tag, s.discardStmt(n.DiscardStmt))
	case *pg.Node_PrepareStmt:
		return tagged("PREPARE", s.prepareStmt(p, n.PrepareStmt))
	case *pg.Node_ExecuteStmt:
		return s.executeStmt(p, n.ExecuteStmt)
	case *pg.Node_DeallocateStmt:
		return tagged(stmt.Tag, s.deallocateStmt(n.DeallocateStmt))
	case *pg.Node_DeclareCursorStmt:
		return tagged("DECLARE CURSOR", s.declareStmt(p, n.DeclareCursorStmt, po))
	case *pg.Node_FetchStmt:
		return s.fetchStmt(n.FetchStmt)
	case *pg.Node_ClosePortalStmt:
		return tagged(stmt.Tag, s.closeStmt(n.ClosePortalStmt))
	case *pg.Node_ListenStmt:
		s.notify.listen(n.ListenStmt.Conditionname)
		return tagged("LISTEN", nil)
	case *pg.Node_UnlistenStmt:
		s.notify.unlisten(n.UnlistenStmt.Conditionname)
		return tagged("UNLISTEN", nil)
	case *pg.Node_NotifyStmt:
		return tagged("NOTIFY", s.notifyStmt(n.NotifyStmt.Conditionname, n.NotifyStmt.Payload))
	case *pg.Node_LockStmt:
		return tagged("LOCK TABLE", s.lockStmt(p, n.LockStmt))
	case *pg.Node_ConstraintsSetStmt:
		return tagged("SET CONSTRAINTS", s.setConstraints(n.ConstraintsSetStmt))
	case *pg.Node_ExplainStmt:
		return s.explainStmt(p, n.ExplainStmt, po)
	case *pg.Node_CopyStmt:
		return s.copyStmt(p, n.CopyStmt)
	case *pg.Node_CreateTableAsStmt:
		return s.createTableAs(p, n.CreateTableAsStmt.Query, n.CreateTableAsStmt.Into, n.CreateTableAsStmt)
	case *pg.Node_SelectStmt:
		return s.createTableAs(p, stmt.AST, intoOf(n.SelectStmt), nil)
	case *pg.Node_CallStmt:
		return s.callStmt(p, n.CallStmt, po)
	case *pg.Node_CheckPointStmt:
		if !s.Superuser() {
			return nil, pgerror.New(pgerror.InsufficientPrivilege, "must be superuser or have privileges of pg_checkpoint to do CHECKPOINT")
		}
		return tagged("CHECKPOINT", nil)
	case *pg.Node_LoadStmt:
		return nil, pgerror.NotSupported("LOAD")
	case *pg.Node_CreateExtensionStmt:
		return tagged("CREATE EXTENSION", s.createExtension(n.CreateExtensionStmt))
	case *pg.Node_DoStmt:
		return s.doStmt(p, n.DoStmt)
	}
	return s.ddl(stmt)
}

// alone are the statements that cannot run inside a block.
func alone(n *pg.Node) string {
	switch v := n.Node.(type) {
	case *pg.Node_CreatedbStmt:
		return "CREATE DATABASE"
	case *pg.Node_DropdbStmt:
		return "DROP DATABASE"
	case *pg.Node_VacuumStmt:
		if v.VacuumStmt.IsVacuumcmd {
			return "VACUUM"
		}
	case *pg.Node_IndexStmt:
		if v.IndexStmt.Concurrent {
			return "CREATE INDEX CONCURRENTLY"
		}
	case *pg.Node_ReindexStmt:
		for _, p := range v.ReindexStmt.Params {
			if p.GetDefElem().GetDefname() == "concurrently" {
				return "REINDEX CONCURRENTLY"
			}
		}
		switch v.ReindexStmt.Kind {
		case pg.ReindexObjectType_REINDEX_OBJECT_SCHEMA:
			return "REINDEX SCHEMA"
		case pg.ReindexObjectType_REINDEX_OBJECT_SYSTEM:
			return "REINDEX SYSTEM"
		case pg.ReindexObjectType_REINDEX_OBJECT_DATABASE:
			return "REINDEX DATABASE"
		}
	case *pg.Node_DropStmt:
		if v.DropStmt.Concurrent {
			return "DROP INDEX CONCURRENTLY"
		}
	}
	return ""
}

// ddl hands a statement that changes the catalogue to the room that executes it.
func (s *Session) ddl(stmt *planner.Statement) (*outcome, error) {
	if s.deps.Utility == nil {
		return nil, pgerror.NotSupported("%s", stmt.Tag)
	}
	if what := alone(stmt.AST); what != "" {
		if err := s.preventBlock(what); err != nil {
			return nil, err
		}
	}
	if err := s.checkReadOnly(stmt.Tag); err != nil {
		return nil, err
	}
	if err := s.inUse(stmt.AST); err != nil {
		return nil, err
	}
	_, release, err := s.statement(planner.ClassWrite)
	if err != nil {
		return nil, err
	}
	defer release()
	r, err := s.deps.Utility.Run(s.env.Ctx, s, stmt)
	if err != nil {
		if f := stmt.AST.GetCreateFunctionStmt(); f != nil {
			err = compilation(err, nameOf(f.Funcname), strings.Repeat(" ", stmt.Location)+stmt.Text)
		}
		return nil, err
	}
	s.path.valid = false
	tag := r.Tag
	if tag == "" {
		tag = stmt.Tag
	}
	if r.Columns != nil {
		return rowsOutcome(r.Columns, r.Rows, tag), nil
	}
	return tagged(tag, nil)
}

// inUse would be PostgreSQL's 55006 for a table that a cursor reads; cursors here
// are drained before anything changes, so DDL is safe.
func (s *Session) inUse(*pg.Node) error { return nil }

// utilityColumns tells, for Describe, what a utility statement returns.
func (s *Session) utilityColumns(p *prepared) (cols []planner.Column, params []sqltypes.OID, err error) {
	switch n := p.stmt.AST.Node.(type) {
	case *pg.Node_VariableShowStmt:
		return s.showColumns(n.VariableShowStmt), nil, nil
	case *pg.Node_ExplainStmt:
		return s.explainColumns(p, n.ExplainStmt)
	case *pg.Node_ExecuteStmt:
		if q := s.stmts[n.ExecuteStmt.Name]; q != nil && n.ExecuteStmt.Name != "" {
			return q.cols, nil, nil
		}
	case *pg.Node_FetchStmt:
		if !n.FetchStmt.Ismove {
			if po := s.portals[n.FetchStmt.Portalname]; po != nil {
				return po.cols, nil, nil
			}
		}
	case *pg.Node_CallStmt:
		c, err := s.bindCall(p, n.CallStmt)
		if err != nil {
			return nil, nil, err
		}
		return c.cols, c.params, nil
	case *pg.Node_DeclareCursorStmt:
		inner := s.innerStatement(p, n.DeclareCursorStmt.Query)
		if err := s.compile(inner, s.catalog()); err != nil {
			return nil, nil, err
		}
		return nil, inner.params, nil
	case *pg.Node_CreateTableAsStmt:
		if n.CreateTableAsStmt.Query.GetExecuteStmt() == nil {
			inner := s.innerStatement(p, n.CreateTableAsStmt.Query)
			if err := s.compile(inner, s.catalog()); err != nil {
				return nil, nil, err
			}
			return nil, inner.params, nil
		}
	}
	return nil, p.declared, nil
}

// innerStatement is a query inside a utility statement, as a statement to plan.
func (s *Session) innerStatement(p *prepared, n *pg.Node) *prepared {
	inner := &planner.Statement{Text: p.stmt.Text, Location: p.stmt.Location, AST: n, Planned: true}
	q := &prepared{text: p.text, stmt: inner, declared: p.declared, body: p.body}
	s.classify(s.catalog(), inner, p.text)
	return q
}

// constText is the text of a constant in an option list.
func constText(n *pg.Node) string {
	switch v := n.GetNode().(type) {
	case *pg.Node_AConst:
		c := v.AConst
		switch x := c.Val.(type) {
		case *pg.A_Const_Ival:
			return strconv.Itoa(int(x.Ival.Ival))
		case *pg.A_Const_Fval:
			return x.Fval.Fval
		case *pg.A_Const_Sval:
			return x.Sval.Sval
		case *pg.A_Const_Boolval:
			return strconv.FormatBool(x.Boolval.Boolval)
		}
	case *pg.Node_String_:
		return v.String_.Sval
	case *pg.Node_Integer:
		return strconv.Itoa(int(v.Integer.Ival))
	case *pg.Node_Float:
		return v.Float.Fval
	case *pg.Node_Boolean:
		return strconv.FormatBool(v.Boolean.Boolval)
	case *pg.Node_TypeName:
		var parts []string
		for _, x := range v.TypeName.Names {
			parts = append(parts, x.GetString_().GetSval())
		}
		return strings.Join(parts, ".")
	}
	return ""
}

func quoteIdent(name string) string { return sqltypes.QuoteIdent(name) }

// intSetting is the value of an integer setting.
func (s *Session) intSetting(name string) int64 {
	v, _ := s.set.Get(name)
	n, _ := strconv.ParseInt(v, 10, 64)
	return n
}

func intoOf(sel *pg.SelectStmt) *pg.IntoClause {
	for sel != nil {
		if sel.IntoClause != nil {
			return sel.IntoClause
		}
		sel = sel.Larg
	}
	return nil
}

var _ = expr.BatchSize
