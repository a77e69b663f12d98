package node

import (
	"context"
	"errors"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/exec"
	"ostraka/exec/ddl"
	"ostraka/expr"
	"ostraka/pgfront/session"
	"ostraka/planner"
	"ostraka/planner/bind"
	"ostraka/planner/parse"
	"ostraka/shardrouter"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// utility is session.Utility over exec/ddl.
type utility struct{ rt *exec.Runtime }

func (u utility) Run(ctx context.Context, s *session.Session, stmt *planner.Statement) (*session.Result, error) {
	d := ddlSession{s: s, rt: u.rt}
	var tag string
	var err error
	switch n := stmt.AST.Node.(type) {
	case *pg.Node_CreateTableAsStmt:
		tag, err = ddl.CreateTableAs(ctx, d, n.CreateTableAsStmt)
	case *pg.Node_RefreshMatViewStmt:
		tag, err = "REFRESH MATERIALIZED VIEW", ddl.RefreshMatView(ctx, d, n.RefreshMatViewStmt)
	case *pg.Node_DropdbStmt:
		tag, err = u.dropDatabase(ctx, d, stmt.AST, n.DropdbStmt.Dbname)
	default:
		tag, err = ddl.Run(ctx, d, stmt.AST)
	}
	if err != nil {
		return nil, err
	}
	if ddl.ActsOnCommit(stmt.AST) {
		s.NoteOnCommit()
	}
	return &session.Result{Tag: tag}, nil
}

// dropDatabase also drops what the database's sharded collections have on shards.
func (u utility) dropDatabase(ctx context.Context, d ddlSession, node *pg.Node, name string) (tag string, err error) {
	var dropped *catalog.Catalog
	var others []*catalog.Catalog
	d.Txn().Catalog().AllDatabases(func(db *catalog.Database) bool {
		if cat := u.rt.Engine.Catalog(db.OID); db.Name == name {
			dropped = cat
		} else {
			others = append(others, cat)
		}
		return true
	})
	if tag, err = ddl.Run(ctx, d, node); err == nil && dropped != nil {
		err = shardrouter.DropParts(ctx, d.Txn(), dropped, others, d.s.Now())
	}
	return tag, err
}

// BeforeCommit does what temporary tables do at COMMIT.
func (u utility) BeforeCommit(ctx context.Context, s *session.Session) error {
	return ddl.OnCommit(ctx, ddlSession{s: s, rt: u.rt}, s.TempSchema())
}

// ddlSession is ddl.Session over a session.
type ddlSession struct {
	s  *session.Session
	rt *exec.Runtime
}

var _ ddl.Session = ddlSession{}

func (d ddlSession) Txn() engine.Txn { return d.s.Txn() }

// PlanContext is the session's context over what the transaction has made of the catalogue.
func (d ddlSession) PlanContext() *planner.Context { return d.s.PlanContext() }

func (d ddlSession) Notice(severity string, code pgerror.Code, message string) {
	d.s.NoticeError(&pgerror.Error{Severity: severity, Code: code, Message: message})
}

func (d ddlSession) NoticeError(e *pgerror.Error) { d.s.NoticeError(e) }

// TempSchema makes the session's temporary schema at first use.
func (d ddlSession) TempSchema(ctx context.Context) (sqltypes.OID, error) {
	if oid := d.s.TempSchema(); oid != 0 && d.Txn().Catalog().Schema(oid) != nil {
		return oid, nil
	}
	w := d.Txn().Schema()
	oid, err := w.NewOID(ctx)
	if err != nil {
		return 0, err
	}
	w.PutSchema(&catalog.Schema{OID: oid, Name: ddl.TempSchemaName(d.s.PID()), Owner: d.s.Role().OID})
	d.s.SetTempSchema(oid)
	return oid, nil
}

func (d ddlSession) Query(ctx context.Context, sql string) ([][]sqltypes.Datum, error) {
	var out [][]sqltypes.Datum
	err := d.QueryEach(ctx, sql, func(row []sqltypes.Datum) error {
		out = append(out, append([]sqltypes.Datum(nil), row...))
		return nil
	})
	return out, err
}

func (d ddlSession) QueryEach(ctx context.Context, sql string, f func([]sqltypes.Datum) error) error {
	stmts, err := parse.Parse(sql)
	if err != nil {
		return err
	}
	if len(stmts) != 1 {
		return errors.New("a query of a utility statement must be one statement")
	}
	pc := *d.PlanContext()
	pc.Role = 0 // the statement's own needs are nobody's reading
	plan, err := compile(&pc, stmts[0].AST)
	if err != nil {
		return err
	}
	return d.each(ctx, plan, f)
}

func (d ddlSession) QueryNode(ctx context.Context, as sqltypes.OID, query *pg.Node, f func([]sqltypes.Datum) error) error {
	pc, role := *d.PlanContext(), d.s.Role()
	if as != 0 {
		if role = d.Txn().Catalog().Role(as); role == nil {
			return pgerror.New(pgerror.UndefinedObject, "role with OID %d does not exist", as)
		}
		pc.Role = as
	}
	plan, err := compile(&pc, query)
	if err != nil {
		return err
	}
	if err := planner.Permitted(d.Txn().Catalog(), role.OID, role.Super, plan.Permissions); err != nil {
		return err
	}
	if err := planner.Populated(d.Txn().Catalog(), plan.Permissions); err != nil {
		return err
	}
	return d.each(ctx, plan, f)
}

func (d ddlSession) each(ctx context.Context, plan *planner.Plan, f func([]sqltypes.Datum) error) error {
	return eachRow(ctx, d.rt, plan, exec.Args{Txn: d.Txn(), Env: d.s.Env()}, f)
}

// eachRow runs a plan and calls f for every row, which it may not keep.
func eachRow(ctx context.Context, rt *exec.Runtime, plan *planner.Plan, args exec.Args, f func([]sqltypes.Datum) error) error {
	x, err := exec.Start(ctx, rt, plan, args)
	if err != nil {
		return err
	}
	defer x.Close()
	b := &expr.Batch{}
	row := make([]sqltypes.Datum, len(plan.Columns))
	for {
		n, err := x.Next(b)
		if err != nil || n == 0 {
			return err
		}
		for _, i := range b.Selection() {
			for j := range row {
				row[j] = b.Cols[j].Datum(int(i))
			}
			if err := f(row); err != nil {
				return err
			}
		}
	}
}

func (d ddlSession) WriteTarget(rel *catalog.Relation) (*engine.WriteTarget, error) {
	// The descriptor as the catalogue has it: a copy shares the physical layout of what it was copied from.
	// A rewrite's target is not there yet: it has storage of its own.
	if cur := d.Txn().Catalog().Relation(rel.OID); cur != nil && cur.StorageID == rel.StorageID {
		rel = cur
	}
	t, err := bind.FillTarget(d.PlanContext(), rel)
	if err != nil {
		return nil, err
	}
	return exec.NewWriteTarget(d.rt, d.Txn(), t, d.s.Env())
}
