package session

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// inserter takes the rows of COPY FROM or CREATE TABLE AS and returns their number.
type inserter interface{ run() (int64, error) }

// startInsert prepares inserting the rows of src into columns of rel, through the
// Copier where there is one.
func (s *Session) startInsert(rel *catalog.Relation, columns []*catalog.Column, where *pg.Node, p *prepared, src sqltypes.RowSource) (inserter, error) {
	if s.deps.Copier == nil {
		return s.prepareInsert(rel, columns, where, p, src)
	}
	run, release, err := s.statement(planner.ClassWrite)
	if err != nil {
		return nil, err
	}
	if err := s.tx.txn.LockRelation(s.env.Ctx, rel.OID, engine.RowExclusive, engine.WaitBlock); err != nil {
		release()
		return nil, err
	}
	target := CopyTarget{Relation: rel.OID}
	for _, c := range columns {
		target.Attrs = append(target.Attrs, c.Num)
	}
	if where != nil {
		target.Where = where
	}
	sink, err := s.deps.Copier.StartCopy(s.env.Ctx, s.planContext(s.catalog(), p.text, nil), &run, target)
	if err != nil {
		release()
		return nil, err
	}
	return &sinkInsert{s: s, sink: sink, src: src, release: release}, nil
}

// sinkInsert feeds a CopySink.
type sinkInsert struct {
	s       *Session
	sink    CopySink
	src     sqltypes.RowSource
	release func()
}

func (i *sinkInsert) run() (int64, error) {
	defer i.release()
	defer i.sink.Close()
	for {
		row, ok, err := i.src.Next()
		if err != nil {
			return 0, err
		}
		if !ok {
			return i.sink.Finish(i.s.env.Ctx)
		}
		if err := i.sink.Row(i.s.env.Ctx, row); err != nil {
			return 0, err
		}
	}
}

// bulkInsert is an INSERT whose rows come from outside: COPY FROM, CREATE TABLE AS.
type bulkInsert struct {
	s       *Session
	po      *portal
	columns int
	src     sqltypes.RowSource
}

// prepareInsert plans INSERT INTO rel (columns) over two rows of parameters, so
// that defaults, checks and indexes are the planner's affair, and then puts a
// scan of src in the place of the VALUES.
func (s *Session) prepareInsert(rel *catalog.Relation, columns []*catalog.Column, where *pg.Node, p *prepared, src sqltypes.RowSource) (*bulkInsert, error) {
	cat := s.catalog()
	schema := cat.Schema(rel.Schema)
	if schema == nil {
		return nil, pgerror.New(pgerror.UndefinedSchema, "schema with OID %d does not exist", rel.Schema)
	}
	rv := &pg.RangeVar{Schemaname: schema.Name, Relname: rel.Name, Inh: true, Relpersistence: "p", Location: -1}
	ins := &pg.InsertStmt{Relation: rv, Override: pg.OverridingKind_OVERRIDING_SYSTEM_VALUE}
	q := &prepared{text: p.text}
	values := &pg.SelectStmt{Op: pg.SetOperation_SETOP_NONE, LimitOption: pg.LimitOption_LIMIT_OPTION_DEFAULT}
	var names []*pg.Node
	for range 2 {
		var list []*pg.Node
		for _, col := range columns {
			q.declared = append(q.declared, col.Type.OID)
			list = append(list, &pg.Node{Node: &pg.Node_ParamRef{ParamRef: &pg.ParamRef{Number: int32(len(q.declared)), Location: -1}}})
		}
		values.ValuesLists = append(values.ValuesLists, &pg.Node{Node: &pg.Node_List{List: &pg.List{Items: list}}})
	}
	for _, col := range columns {
		ins.Cols = append(ins.Cols, &pg.Node{Node: &pg.Node_ResTarget{ResTarget: &pg.ResTarget{Name: col.Name, Location: -1}}})
		names = append(names, pg.MakeStrNode(col.Name))
	}
	ins.SelectStmt = &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: values}}
	if where != nil {
		ins.SelectStmt = filteredValues(values, names, rel.Name, where)
	}
	if len(columns) == 0 {
		return nil, pgerror.NotSupported("COPY into a table without columns")
	}
	class := planner.ClassWrite
	if rel.TimeSeries {
		class = planner.ClassNodeWrite
	}
	q.stmt = &planner.Statement{Text: p.stmt.Text, AST: &pg.Node{Node: &pg.Node_InsertStmt{InsertStmt: ins}}, Planned: true, Class: class}
	args := make([]sqltypes.Datum, len(q.declared))
	for i := range args {
		args[i] = sqltypes.Null
	}
	b := &bulkInsert{s: s, po: &portal{s: s, p: q, args: args}, columns: len(columns), src: src}
	return b, b.plan(b.po, cat)
}

// plan makes the plan for a catalogue; nothing of the source has been read yet.
func (b *bulkInsert) plan(p *portal, cat *catalog.Catalog) error {
	if err := b.s.compile(p.p, cat); err != nil {
		return err
	}
	plan, err := withSource(p.p.plan, b.columns, b.src)
	if err != nil {
		return err
	}
	p.p.plan, p.plan = plan, plan
	return nil
}

// filteredValues is SELECT * FROM (VALUES …) AS rel (columns) WHERE cond.
func filteredValues(values *pg.SelectStmt, names []*pg.Node, rel string, where *pg.Node) *pg.Node {
	sub := &pg.RangeSubselect{Subquery: &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: values}}, Alias: &pg.Alias{Aliasname: rel, Colnames: names}}
	star := &pg.Node{Node: &pg.Node_ColumnRef{ColumnRef: &pg.ColumnRef{Fields: []*pg.Node{{Node: &pg.Node_AStar{AStar: &pg.A_Star{}}}}, Location: -1}}}
	return &pg.Node{Node: &pg.Node_SelectStmt{SelectStmt: &pg.SelectStmt{Op: pg.SetOperation_SETOP_NONE, LimitOption: pg.LimitOption_LIMIT_OPTION_DEFAULT,
		TargetList:  []*pg.Node{{Node: &pg.Node_ResTarget{ResTarget: &pg.ResTarget{Val: star, Location: -1}}}},
		FromClause:  []*pg.Node{{Node: &pg.Node_RangeSubselect{RangeSubselect: sub}}},
		WhereClause: where}}}
}

// run inserts everything and returns the number of rows.
func (b *bulkInsert) run() (int64, error) {
	defer b.po.close()
	if err := b.s.startWith(b.po, b.plan); err != nil {
		return 0, err
	}
	if b.po.exec != nil && b.s.tx.txn != nil {
		b.s.tx.txn.BulkLoad()
	}
	if _, _, err := b.po.forward(0, func(*expr.Batch, int) error { return nil }); err != nil {
		return 0, err
	}
	return b.po.affected, nil
}

// withSource returns the plan with its one Values node replaced by a scan of src.
func withSource(plan *planner.Plan, columns int, src sqltypes.RowSource) (*planner.Plan, error) {
	proc := &sqltypes.Proc{Name: "copy", Kind: 'f', RetSet: true, Volatility: sqltypes.Volatile, RetType: sqltypes.OIDRecord,
		Set: func(*sqltypes.Call, []sqltypes.Datum) (sqltypes.RowSource, error) { return src, nil }}
	replaced := 0
	var walk func(n planner.Node) planner.Node
	walk = func(n planner.Node) planner.Node {
		switch v := n.(type) {
		case *planner.Values:
			if len(v.Columns) != columns {
				return n
			}
			replaced++
			return &planner.FunctionScan{Base: v.Base, Alias: "copy", ColCounts: []int{columns},
				Calls: []*expr.Call{{T: expr.T{Typ: sqltypes.ColumnType{OID: sqltypes.OIDRecord, TypMod: -1}}, Proc: proc}}}
		case *planner.Insert:
			c := *v
			c.Input = walk(v.Input)
			return &c
		case *planner.Project:
			c := *v
			c.Input = walk(v.Input)
			return &c
		case *planner.Filter:
			c := *v
			c.Input = walk(v.Input)
			return &c
		}
		return n
	}
	out := *plan
	out.Root = walk(plan.Root)
	out.Point, out.Call = nil, nil
	if replaced != 1 {
		return nil, pgerror.New(pgerror.InternalError, "the plan of COPY has no place for its rows")
	}
	return &out, nil
}
