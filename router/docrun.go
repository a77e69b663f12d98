package router

import (
	"encoding/binary"
	"strings"
	"time"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/docstore"
	"ostraka/pgfront/wire"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// bound is what a Bind gave: nil in the simple protocol.
type bound struct {
	oids    []uint32 // declared types of the parameters, 0: not
	formats []int16
	params  [][]byte
	results []int16
}

// outcome of executing a statement with documents.
type outcome struct {
	// rows is the answer when the router makes it.
	rows *rowsOf
	cols []column
	// lines is the answer of an EXPLAIN.
	lines []string
	// text is what the first server has to execute instead, with the same parameters.
	text string
}

// execute runs the calls of a statement. The outcome says what is left to be done.
func (s *session) execute(d *documents, b *bound) (*outcome, error) {
	if s.status == wire.StatusFailed {
		return nil, pgerror.New(pgerror.InFailedSqlTransaction, "current transaction is aborted, commands ignored until end of transaction block")
	}
	if b != nil && len(b.params) < d.params {
		return nil, pgerror.New(pgerror.ProtocolViolation, "bind message supplies %d parameters, but the statement requires %d", len(b.params), d.params)
	}
	if b == nil && d.params > 0 {
		return nil, pgerror.New(pgerror.UndefinedParameter, "there is no parameter $%d", d.params)
	}
	s.doc.now = time.Now()
	run := &docRun{s: s, d: d, b: b}
	if !d.direct {
		run.tree, run.nodes = d.copyTree()
	}
	for i := range d.calls {
		out, err := run.call(i)
		if out != nil || err != nil {
			return out, err
		}
	}
	if d.utility && run.lines != nil {
		return &outcome{lines: run.lines, cols: d.columns()}, nil
	}
	if !run.changed {
		return &outcome{text: d.text}, nil
	}
	text, err := deparse(run.tree)
	return &outcome{text: text}, err
}

// docRun is one execution of a statement.
type docRun struct {
	s       *session
	d       *documents
	b       *bound
	tree    *pg.Node // a copy in which answers take the place of calls
	nodes   []*pg.Node
	changed bool
	lines   []string
}

// call executes call i if it is the router's; an outcome ends the statement.
func (r *docRun) call(i int) (*outcome, error) {
	s, c := r.s, r.d.calls[i]
	route := s.r.sharding.route
	if !c.mayConcern(route) {
		return nil, nil
	}
	args, err := r.arguments(i)
	if err != nil {
		return nil, err
	}
	cmd, err := c.fn.Command(args)
	if err != nil {
		return nil, err
	}
	if !route.Concerns(cmd) {
		return nil, nil
	}
	if r.d.refuse != nil {
		return nil, r.d.refuse
	}
	if err := s.obstacle(); err != nil {
		return nil, err
	}
	if r.d.utility {
		return nil, r.explain(c, cmd)
	}
	hide := r.d.writes && !r.d.one && s.block == nil
	if hide {
		return nil, pgerror.NotSupported("several writes of documents of several shards in one statement").WithHint("Make it several statements, or a transaction block.")
	}
	res, end, err := s.command(cmd)
	if err != nil {
		return nil, err
	}
	rows := &rowsOf{call: c, res: res, end: end}
	if r.d.direct {
		return &outcome{rows: rows, cols: r.d.columns()}, nil
	}
	text, null, err := rows.literal()
	if err != nil {
		return nil, err
	}
	c.replace(r.tree, r.nodes[i], text, null)
	r.changed = true
	return nil, nil
}

// explain adds the plan of a call.
func (r *docRun) explain(c *docCall, cmd *docstore.Command) error {
	r.lines = append(r.lines, "Function Scan on "+c.fn.Name())
	switch cmd.Op {
	case docstore.OpFind, docstore.OpDistinct, docstore.OpAggregate, docstore.OpFindOne, docstore.OpCount:
	default:
		r.lines = append(r.lines, "  On several servers")
		return nil
	}
	x := *cmd
	x.Op = docstore.OpExplain
	res, end, err := r.s.command(&x)
	if err != nil {
		return err
	}
	docs, err := docstore.ReadAll(res.Docs)
	if err = end(err); err != nil {
		return err
	}
	for _, l := range docs {
		r.lines = append(r.lines, "  "+l.Str())
	}
	return nil
}

// arguments finds the values of call i's parameters.
func (r *docRun) arguments(i int) ([]sqltypes.Datum, error) {
	c := r.d.calls[i]
	args := make([]sqltypes.Datum, len(c.args))
	var exprs []*pg.Node
	var types []sqltypes.OID
	var at []int
	var current []*pg.Node // the arguments in the tree as it is now
	for k, a := range c.args {
		switch {
		case a.known:
			args[k] = a.value
		case a.param > 0:
			v, err := r.b.value(a.param, c.params[k].Type)
			if err != nil {
				return nil, err
			}
			args[k] = v
		default:
			if current == nil {
				current = r.current(i)
			}
			exprs, types, at = append(exprs, current[k]), append(types, c.params[k].Type), append(at, k)
		}
	}
	if exprs == nil {
		return args, nil
	}
	if r.d.refuse != nil {
		return nil, r.d.refuse
	}
	sql, err := evaluation(exprs, types)
	if err != nil {
		return nil, err
	}
	vals, err := r.s.evaluate(sql, r.b)
	if err != nil {
		return nil, err
	}
	for n, k := range at {
		if args[k] = sqltypes.Null; vals[n] == nil {
			continue
		}
		if args[k], err = sqltypes.TypeByOID(types[n]).In(nil, string(vals[n]), -1); err != nil {
			return nil, err
		}
	}
	return args, nil
}

// current are the argument nodes of call i by parameter, with inner calls replaced.
func (r *docRun) current(i int) []*pg.Node {
	c := r.d.calls[i]
	var f *pg.FuncCall
	if r.nodes != nil {
		f = r.nodes[i].GetFuncCall()
	} else {
		f = docNodes(r.d.tree)[i].GetFuncCall()
	}
	out := make([]*pg.Node, len(c.params))
	for k, a := range f.Args {
		if named := a.GetNamedArgExpr(); named != nil {
			for p := range c.params {
				if c.params[p].Name == named.Name {
					out[p] = named.Arg
				}
			}
			continue
		}
		out[k] = a
	}
	return out
}

// value decodes parameter $n.
func (b *bound) value(n int, want sqltypes.OID) (sqltypes.Datum, error) {
	raw := b.params[n-1]
	if raw == nil {
		return sqltypes.Null, nil
	}
	typ := sqltypes.TypeByOID(want)
	declared := typ
	if n-1 < len(b.oids) && b.oids[n-1] != 0 {
		if declared = sqltypes.TypeByOID(sqltypes.OID(b.oids[n-1])); declared == nil {
			declared = typ
		}
	}
	if formatOf(b.formats, n-1) == 0 {
		return typ.In(nil, strings.Clone(string(raw)), -1)
	}
	d, err := declared.Recv(nil, raw, -1)
	if err != nil || declared == typ {
		return d, err
	}
	return typ.In(nil, string(declared.Out(nil, nil, d)), -1)
}

// evaluate lets the first server evaluate expressions.
func (s *session) evaluate(sql string, b *bound) ([][]byte, error) {
	u, err := s.acquire(false)
	if err != nil {
		return nil, err
	}
	q := extendedQuery{sql: sql}
	if b != nil {
		q.oids, q.formats, q.params = b.oids, b.formats, b.params
	}
	rows, err := u.extended(q)
	if err != nil {
		return nil, s.upstreamFailed(u, err)
	}
	if len(rows) != 1 {
		return nil, pgerror.New(pgerror.InternalError, "the server did not evaluate the arguments")
	}
	return rows[0], nil
}

// extendedQuery is a query of the router's own with parameters.
type extendedQuery struct {
	sql     string
	oids    []uint32
	formats []int16
	params  [][]byte
	results []int16
}

// send writes Parse, Bind, Execute and Sync.
func (q *extendedQuery) send(u *upstream) error {
	if err := q.parseAndBind(u); err != nil {
		return err
	}
	if err := u.Send('E', []byte{0, 0, 0, 0, 0}); err != nil {
		return err
	}
	if err := u.Send('S', nil); err != nil {
		return err
	}
	return u.Flush()
}

func appendFormats(b []byte, formats []int16) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(len(formats)))
	for _, f := range formats {
		b = binary.BigEndian.AppendUint16(b, uint16(f))
	}
	return b
}
