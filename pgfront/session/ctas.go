package session

import (
	pg "github.com/pganalyze/pg_query_go/v5"
	"google.golang.org/protobuf/proto"

	"ostraka/engine/catalog"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// createTableAs is CREATE TABLE AS and SELECT INTO: the query's columns make a
// CREATE TABLE that the DDL room runs, and its rows are copied in.
func (s *Session) createTableAs(p *prepared, query *pg.Node, into *pg.IntoClause, stmt *pg.CreateTableAsStmt) (*outcome, error) {
	if stmt != nil && stmt.Objtype == pg.ObjectType_OBJECT_MATVIEW {
		return s.ddl(p.stmt)
	}
	if s.deps.Utility == nil {
		return nil, pgerror.NotSupported("%s", p.stmt.Tag)
	}
	if err := s.checkReadOnly(p.stmt.Tag); err != nil {
		return nil, err
	}
	if stmt != nil && stmt.IfNotExists && into.Rel != nil {
		if _, err := s.relation(p.text, into.Rel); err == nil {
			s.NoticeError(&pgerror.Error{Severity: "NOTICE", Code: pgerror.DuplicateTable, Message: sprintf(`relation "%s" already exists, skipping`, into.Rel.Relname)})
			return tagged("CREATE TABLE AS", nil)
		}
	}
	po, err := s.ctasQuery(p, query)
	if err != nil {
		return nil, err
	}
	defer po.close()
	create, err := s.ctasTable(po.cols, into)
	if err != nil {
		return nil, err
	}
	tag := "CREATE TABLE AS"
	if _, err := s.ddl(create); err != nil {
		return nil, err
	}
	if into.SkipData {
		return tagged(tag, nil)
	}
	rel, err := s.relation(p.text, create.AST.GetCreateStmt().Relation)
	if err != nil {
		return nil, err
	}
	n, err := s.copyRows(p, po, rel)
	if err != nil {
		return nil, err
	}
	return tagged(sprintf("SELECT %d", n), nil)
}

func (s *Session) ctasQuery(p *prepared, query *pg.Node) (*portal, error) {
	if ex := query.GetExecuteStmt(); ex != nil {
		q := s.stmts[ex.Name]
		if q == nil || ex.Name == "" {
			return nil, pgerror.New(pgerror.InvalidSqlStatementName, `prepared statement "%s" does not exist`, ex.Name)
		}
		if q.cols == nil {
			return nil, pgerror.New(pgerror.WrongObjectType, "prepared statement is not a SELECT")
		}
		return s.boundPortal(p, q, ex)
	}
	node := query
	if sel := query.GetSelectStmt(); sel != nil && intoOf(sel) != nil {
		node = proto.Clone(query).(*pg.Node)
		for c := node.GetSelectStmt(); c != nil; c = c.Larg {
			c.IntoClause = nil
		}
	}
	q := s.innerStatement(p, node)
	if err := s.compile(q, s.catalog()); err != nil {
		return nil, err
	}
	args, err := p.lateArgs(nil)
	return &portal{s: s, p: q, plan: q.plan, cols: q.cols, args: args}, err
}

// ctasTable is the CREATE TABLE for a query's columns.
func (s *Session) ctasTable(cols []planner.Column, into *pg.IntoClause) (*planner.Statement, error) {
	if len(into.ColNames) > len(cols) {
		return nil, pgerror.New(pgerror.SyntaxError, "too many column names were specified")
	}
	create := &pg.CreateStmt{Relation: into.Rel, Options: into.Options, Oncommit: into.OnCommit, AccessMethod: into.AccessMethod, Tablespacename: into.TableSpaceName}
	for i, c := range cols {
		name := c.Name
		if i < len(into.ColNames) {
			name = into.ColNames[i].GetString_().GetSval()
		}
		oid := c.Type.OID
		if oid == sqltypes.OIDUnknown {
			oid = sqltypes.OIDText
		}
		t := sqltypes.LookupType(&s.env, oid)
		if t == nil {
			return nil, pgerror.New(pgerror.UndefinedObject, "type with OID %d does not exist", oid)
		}
		if t.TypType == 'p' {
			return nil, pgerror.New(pgerror.InvalidTableDefinition, `column "%s" has pseudo-type %s`, name, t.Name)
		}
		create.TableElts = append(create.TableElts, &pg.Node{Node: &pg.Node_ColumnDef{ColumnDef: &pg.ColumnDef{Colname: name, IsLocal: true,
			TypeName: &pg.TypeName{Names: s.typeNames(t), Typemod: c.Type.TypMod, Location: -1}, Location: -1}}})
	}
	return &planner.Statement{AST: &pg.Node{Node: &pg.Node_CreateStmt{CreateStmt: create}}, Tag: "CREATE TABLE", Class: planner.ClassWrite}, nil
}

// copyRows inserts a query's rows into a new table.
func (s *Session) copyRows(p *prepared, po *portal, rel *catalog.Relation) (int64, error) {
	if err := s.start(po); err != nil {
		return 0, err
	}
	// The rows are drained first: inserting is another statement.
	if err := po.fill(); err != nil {
		return 0, err
	}
	ins, err := s.startInsert(rel, rel.Columns, nil, p, &spoolSource{sp: po.spool})
	if err != nil {
		return 0, err
	}
	return ins.run()
}

// spoolSource yields a spool's rows.
type spoolSource struct {
	sp *spool
	n  int64
}

func (r *spoolSource) Next() ([]sqltypes.Datum, bool, error) {
	if r.n >= r.sp.rows {
		return nil, false, nil
	}
	row, err := r.sp.row(r.n)
	r.n++
	return row, err == nil, err
}
