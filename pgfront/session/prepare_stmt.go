package session

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/expr"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// prepareStmt is PREPARE name (types) AS query.
func (s *Session) prepareStmt(p *prepared, n *pg.PrepareStmt) error {
	if n.Name == "" {
		return pgerror.New(pgerror.InvalidPstatementDefinition, "invalid statement name: must not be empty")
	}
	inner := s.innerStatement(p, n.Query)
	inner.stmt.Planned = plannable(n.Query)
	inner.name, inner.fromSQL, inner.at, inner.declared = n.Name, true, s.now(), nil
	for _, t := range n.Argtypes {
		ct, err := s.deps.Planner.TypeName(s.planContext(s.catalog(), p.text, nil), t.GetTypeName())
		if err != nil {
			return err
		}
		inner.declared = append(inner.declared, ct.OID)
	}
	if err := s.analyze(inner); err != nil {
		// A remote block may have made what it names.
		if !s.tx.remote || !mayLag(err) || s.stmts[n.Name] != nil {
			return err
		}
		inner.remote = true
		if err := s.prepareUpstream(inner, n.Name); err != nil {
			return err
		}
	}
	for i, t := range inner.params {
		if t == 0 || t == sqltypes.OIDUnknown {
			return pgerror.New(pgerror.IndeterminateDatatype, "could not determine data type of parameter $%d", i+1)
		}
	}
	if s.stmts[n.Name] != nil {
		return duplicateStatement(n.Name)
	}
	if limit := s.intSetting("ostraka.max_prepared_statements"); int64(len(s.stmts)) >= limit {
		return pgerror.New(pgerror.ConfigurationLimitExceeded, "too many prepared statements (limit %d)", limit)
	}
	inner.fixed = true
	s.stmts[n.Name] = inner
	return nil
}

// plannable reports a statement that goes through a plan.
func plannable(n *pg.Node) bool {
	switch v := n.Node.(type) {
	case *pg.Node_SelectStmt:
		return intoOf(v.SelectStmt) == nil
	case *pg.Node_InsertStmt, *pg.Node_UpdateStmt, *pg.Node_DeleteStmt, *pg.Node_MergeStmt:
		return true
	}
	return false
}

// executeStmt is EXECUTE name (arguments).
func (s *Session) executeStmt(p *prepared, n *pg.ExecuteStmt) (*outcome, error) {
	q := s.stmts[n.Name]
	if q == nil || n.Name == "" {
		return nil, pgerror.New(pgerror.InvalidSqlStatementName, `prepared statement "%s" does not exist`, n.Name)
	}
	if err := s.localize(q); err != nil {
		return nil, err
	}
	if q.remote {
		return nil, pgerror.NotSupported("EXECUTE of a statement prepared through the protocol on another node")
	}
	po, err := s.boundPortal(p, q, n)
	if err != nil {
		return nil, err
	}
	if q.plan == nil {
		return s.utility(q, nil)
	}
	run := func(emit rowFunc) (string, error) {
		defer po.close()
		if err := s.start(po); err != nil {
			return "", err
		}
		n, _, err := po.forward(0, emit)
		if err != nil {
			return "", err
		}
		q.uses++
		return planTag(po, n), nil
	}
	if q.cols == nil {
		tag, err := run(func(b *expr.Batch, i int) error { return nil })
		return tagged(tag, err)
	}
	return &outcome{cols: q.cols, run: run}, nil
}

// planTag is the command tag of a planned statement after it ran.
func planTag(po *portal, rows int64) string {
	switch po.plan.Command {
	case "SELECT":
		return sprintf("SELECT %d", rows)
	case "INSERT":
		return sprintf("INSERT 0 %d", po.affected)
	}
	return sprintf("%s %d", po.plan.Command, po.affected)
}

// boundPortal makes a portal of a prepared statement with EXECUTE's arguments.
func (s *Session) boundPortal(p, q *prepared, n *pg.ExecuteStmt) (*portal, error) {
	if len(n.Params) != len(q.params) {
		return nil, pgerror.New(pgerror.SyntaxError, `wrong number of parameters for prepared statement "%s"`, n.Name).
			WithDetail("Expected %d parameters but got %d.", len(q.params), len(n.Params))
	}
	if q.plan != nil {
		err := s.refresh(q, s.catalog())
		if err == nil {
			err = q.due()
		}
		if err != nil {
			return nil, err
		}
	}
	args, err := s.evaluateArguments(p, n.Params, q.params)
	if err != nil {
		return nil, err
	}
	return &portal{s: s, p: q, plan: q.plan, cols: q.cols, args: args}, nil
}

// evaluateArguments computes EXECUTE's arguments in the types of the parameters.
func (s *Session) evaluateArguments(p *prepared, args []*pg.Node, types []sqltypes.OID) ([]sqltypes.Datum, error) {
	out := make([]sqltypes.Datum, len(args))
	simple := true
	for i, a := range args {
		c := a.GetAConst()
		t := sqltypes.LookupType(&s.env, types[i])
		switch {
		case c != nil && c.Isnull:
			out[i] = sqltypes.Null
			continue
		case c != nil && t != nil && t.In != nil:
			_, isString := c.Val.(*pg.A_Const_Sval)
			_, isInt := c.Val.(*pg.A_Const_Ival)
			if isString || isInt && (t.OID == sqltypes.OIDInt4 || t.OID == sqltypes.OIDInt8 || t.OID == sqltypes.OIDInt2) {
				d, err := t.In(&s.env, constText(a), -1)
				if err != nil {
					return nil, err
				}
				out[i] = d
				continue
			}
		}
		simple = false
	}
	if simple {
		return out, nil
	}
	// Anything else is a query of its own: SELECT (a)::t, …
	sel := &pg.SelectStmt{Op: pg.SetOperation_SETOP_NONE, LimitOption: pg.LimitOption_LIMIT_OPTION_DEFAULT}
	for i, a := range args {
		t := sqltypes.LookupType(&s.env, types[i])
		if t == nil {
			return nil, pgerror.New(pgerror.UndefinedObject, "type with OID %d does not exist", types[i])
		}
		cast := &pg.TypeCast{Arg: a, TypeName: &pg.TypeName{Names: s.typeNames(t), Typemod: -1, Location: -1}, Location: -1}
		sel.TargetList = append(sel.TargetList, &pg.Node{Node: &pg.Node_ResTarget{ResTarget: &pg.ResTarget{
			Val: &pg.Node{Node: &pg.Node_TypeCast{TypeCast: cast}}, Location: -1}}})
	}
	inner := s.innerStatement(p, &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: sel}})
	inner.declared = nil
	if err := s.compile(inner, s.catalog()); err != nil {
		return nil, err
	}
	po := &portal{s: s, p: inner, plan: inner.plan, cols: inner.cols}
	defer po.close()
	if err := s.start(po); err != nil {
		return nil, err
	}
	_, _, err := po.forward(0, func(b *expr.Batch, i int) error {
		for c := range out {
			out[c] = b.Cols[c].Datum(i)
		}
		return nil
	})
	return out, err
}

// typeNames is the qualified name of a type as a syntax tree has it.
func (s *Session) typeNames(t *sqltypes.Type) []*pg.Node {
	schema := "pg_catalog"
	if t.Namespace != pgCatalogOID {
		if cat := s.catalog(); cat != nil {
			if sc := cat.Schema(t.Namespace); sc != nil {
				schema = sc.Name
			}
		}
	}
	return []*pg.Node{pg.MakeStrNode(schema), pg.MakeStrNode(t.Name)}
}

// deallocateStmt is DEALLOCATE; "" is ALL.
func (s *Session) deallocateStmt(n *pg.DeallocateStmt) error {
	if n.Name == "" {
		for name := range s.stmts {
			if name != "" {
				delete(s.stmts, name)
			}
		}
		return nil
	}
	if s.stmts[n.Name] == nil {
		return pgerror.New(pgerror.InvalidSqlStatementName, `prepared statement "%s" does not exist`, n.Name)
	}
	delete(s.stmts, n.Name)
	return nil
}
