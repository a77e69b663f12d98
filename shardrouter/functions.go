package shardrouter

import (
	"strings"

	"ostraka/docstore"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// firstProc is the OID of the first doc function; they have 9100 to 9399. New
// ones are appended to the table, so that OIDs are stable.
const firstProc sqltypes.OID = 9100

// param is one parameter of a doc function.
type param struct {
	name string
	typ  sqltypes.OID
	// def is the default's SQL text, "" when the parameter must be given.
	def string
}

// docFunc is one doc function.
type docFunc struct {
	op     docstore.Op
	name   string // "" : the operation's
	params []param
	ret    sqltypes.OID
	set    bool
	writes bool
	// out, when not nil, are the output columns of a set of rows.
	out []param
	// fill decodes the arguments after the collection into the command.
	fill func(a *arguments, cmd *docstore.Command) error
	// answer makes the value of a function that is not a set.
	answer func(res *docstore.Result) (sqltypes.Datum, error)
	// row makes the columns of one document, nil: the document itself.
	row func(doc docstore.JSON) []sqltypes.Datum
}

const (
	tText  = sqltypes.OIDText
	tJsonb = sqltypes.OIDJsonb
	tJSON  = sqltypes.OIDJson
	tInt   = sqltypes.OIDInt8
	tBool  = sqltypes.OIDBool
)

// Parameters that several functions have.
var (
	pColl   = param{"collection", tText, ""}
	pFilter = param{"filter", tJsonb, "'{}'::jsonb"}
	pMust   = param{"filter", tJsonb, ""}
	pSort   = param{"sort", tJSON, "NULL::json"}
	pSkip   = param{"skip", tInt, "0::bigint"}
	pTake   = param{"take", tInt, "NULL::bigint"}
	pProj   = param{"projection", tJsonb, "NULL::jsonb"}
	pUpsert = param{"upsert", tBool, "false"}
	pArrays = param{"array_filters", tJsonb, "NULL::jsonb"}
)

// register declares the functions.
func register(list []docFunc) {
	for i := range list {
		f := &list[i]
		name := f.name
		if name == "" {
			name = f.op.String()
		}
		p := &sqltypes.Proc{OID: firstProc + sqltypes.OID(i), Name: name, Namespace: sqltypes.NamespaceDoc, Kind: 'f', RetSet: f.set,
			Volatility: sqltypes.Stable, RetType: f.ret, Src: "doc_" + name, Cost: 100, Writes: f.writes, Lang: 12, Parallel: 'u'}
		if f.set {
			p.Rows = 1000
		}
		if f.writes {
			p.Volatility = sqltypes.Volatile
		}
		for _, a := range f.params {
			p.ArgTypes = append(p.ArgTypes, a.typ)
			p.ArgNames = append(p.ArgNames, a.name)
			if a.def != "" {
				p.NumDefaults++
				p.Defaults = append(p.Defaults, a.def)
			}
		}
		if f.out != nil {
			p.AllArgTypes = append(p.AllArgTypes, p.ArgTypes...)
			for range p.ArgTypes {
				p.ArgModes = append(p.ArgModes, 'i')
			}
			for _, o := range f.out {
				p.AllArgTypes = append(p.AllArgTypes, o.typ)
				p.ArgModes = append(p.ArgModes, 't')
				p.ArgNames = append(p.ArgNames, o.name)
			}
		}
		switch f.op {
		case docstore.OpFind, docstore.OpFindOne:
			p.Quick = f.quick
		case docstore.OpWatch: // must not hold a snapshot while it waits
			p.Quick = func(c *sqltypes.Call, args []sqltypes.Datum, emit func([]sqltypes.Datum) error) (bool, error) {
				return true, f.emitAll(c, args, emit)
			}
		}
		switch f.op {
		case docstore.OpFind, docstore.OpDistinct, docstore.OpAggregate, docstore.OpFindForUpdate:
			p.Explain = f.explain
		}
		if f.set {
			p.Set = f.stream
		} else {
			p.Fn = f.call
		}
		sqltypes.RegisterProc(p)
	}
}

// run decodes the arguments and lets the node's router execute the command.
func (f *docFunc) run(c *sqltypes.Call, args []sqltypes.Datum) (docstore.Result, error) {
	sess, router, err := routerOf(c)
	if err != nil {
		return docstore.Result{}, err
	}
	cmd, err := f.command(c, args)
	if err != nil {
		return docstore.Result{}, err
	}
	return router.Run(c.Env.Ctx, sess, cmd)
}

// command decodes a call's arguments.
func (f *docFunc) command(c *sqltypes.Call, args []sqltypes.Datum) (*docstore.Command, error) {
	a := &arguments{params: f.params, args: args, call: c}
	cmd := &docstore.Command{Op: f.op, Take: -1}
	if len(f.params) > 0 && f.params[0].name == pColl.name {
		if args[0].Null {
			return nil, pgerror.New(pgerror.NullValueNotAllowed, "the name of a collection must not be null")
		}
		cmd.Collection = args[0].S
	}
	if f.fill != nil {
		if err := f.fill(a, cmd); err != nil {
			return nil, err
		}
	}
	return cmd, a.err
}

func (f *docFunc) call(c *sqltypes.Call, args []sqltypes.Datum) (sqltypes.Datum, error) {
	res, err := f.run(c, args)
	if err != nil {
		return sqltypes.Null, err
	}
	return f.answer(&res)
}

func (f *docFunc) stream(c *sqltypes.Call, args []sqltypes.Datum) (sqltypes.RowSource, error) {
	res, err := f.run(c, args)
	if err != nil {
		return nil, err
	}
	if res.Docs == nil {
		res.Docs = docstore.Slice(nil)
	}
	return &rows{cur: res.Docs, row: f.row}, nil
}

// explain answers how the command's documents are found.
func (f *docFunc) explain(c *sqltypes.Call, args []sqltypes.Datum) ([][2]string, error) {
	sess, router, err := routerOf(c)
	if err != nil {
		return nil, err
	}
	cmd, err := f.command(c, args)
	if err != nil {
		return nil, err
	}
	cmd.Op = docstore.OpExplain
	res, err := router.Run(c.Env.Ctx, sess, cmd)
	if err != nil || res.Docs == nil {
		return nil, err
	}
	docs, err := docstore.ReadAll(res.Docs)
	var out [][2]string
	for _, d := range docs {
		label, value, ok := strings.Cut(strings.TrimSpace(d.Str()), ": ")
		if !ok {
			label, value = "Documents", label
		}
		out = append(out, [2]string{label, value})
	}
	return out, err
}

// rows is a cursor as a set of rows.
type rows struct {
	cur docstore.Cursor
	row func(docstore.JSON) []sqltypes.Datum
	one [1]sqltypes.Datum
}

func (r *rows) Next() ([]sqltypes.Datum, bool, error) {
	doc, ok, err := r.cur.Next()
	if err != nil || !ok {
		return nil, false, err
	}
	if r.row != nil {
		return r.row(doc), true, nil
	}
	r.one[0] = doc.Datum()
	return r.one[:], true, nil
}

func (r *rows) Close() { r.cur.Close() }

// routerOf finds the session and the node's router.
func routerOf(c *sqltypes.Call) (SessionContext, Router, error) {
	if c.Env != nil && c.Env.Session != nil {
		if s, ok := c.Env.Session.Ext().(SessionContext); ok {
			if n, ok := s.DocNode().(interface{ DocRouter() Router }); ok {
				return s, n.DocRouter(), nil
			}
		}
	}
	return nil, nil, pgerror.NotSupported("function doc.%s outside of a node's session", c.Proc.Name)
}
