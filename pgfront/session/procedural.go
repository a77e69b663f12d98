package session

import (
	"strings"
	"unicode/utf8"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/planner/bind"
	"ostraka/plpgsql"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// procedural is a PL/pgSQL function that the session has parsed.
type procedural struct {
	def *catalog.Function // what it was parsed from
	cat *catalog.Catalog  // the newest catalogue for which it was found up to date
	fn  *plpgsql.Function
}

// proceduralKey tells apart the versions of a function for types of polymorphic arguments.
type proceduralKey struct {
	oid   sqltypes.OID
	types string
}

// maxProcedural bounds the functions that a session keeps parsed.
const maxProcedural = 1000

// parsedFunction parses the PL/pgSQL function of a call, or finds it parsed.
func (s *Session) parsedFunction(c *sqltypes.Call) (*plpgsql.Function, error) {
	cat := s.catalog()
	types := plpgsql.ContextTypes{Ctx: s.PlanContext()}
	if p, ok := c.Cache.(*procedural); ok && cat.Function(p.def.OID) == p.def && (p.cat == cat || !p.fn.Stale(types)) {
		p.cat = cat
		return p.fn, nil
	}
	def := s.catalog().Function(c.Proc.OID)
	if def == nil {
		return nil, pgerror.New(pgerror.UndefinedFunction, "function with OID %d does not exist", c.Proc.OID)
	}
	if def.RetType == sqltypes.OIDTrigger {
		return nil, pgerror.New(pgerror.FeatureNotSupported, "trigger functions can only be called as triggers")
	}
	h := plpgsql.Header{Name: def.Name, Ret: c.RetType, RetSet: def.RetSet, Kind: def.Kind,
		ReadOnly: def.Volatility != sqltypes.Volatile && def.Volatility != 0}
	h.Ret.TypMod = -1
	if t := sqltypes.LookupType(&s.env, def.RetType); t != nil && (t.TypType != 'p' || def.RetType == sqltypes.OIDVoid || def.RetType == sqltypes.OIDRecord) {
		h.Ret = sqltypes.ColumnType{OID: def.RetType, TypMod: -1}
	}
	key := proceduralKey{oid: def.OID}
	var words []string
	in := 0
	for i, t := range def.ArgTypes {
		a := plpgsql.Arg{Name: def.ArgNames[i], Mode: def.ArgModes[i], Type: sqltypes.ColumnType{OID: t.OID, TypMod: -1}}
		d := sqltypes.LookupType(&s.env, t.OID)
		poly := d != nil && d.TypType == 'p' && t.OID != sqltypes.OIDRecord
		switch a.Mode {
		case 'i', 'b', 'v':
			if poly && in < len(c.ArgTypes) {
				a.Type.OID = c.ArgTypes[in].OID
			}
			words = append(words, bind.TypeName(s.PlanContext(), t.OID))
			in++
		}
		if poly {
			key.types += "," + sprintf("%d", a.Type.OID)
		}
		h.Args = append(h.Args, a)
	}
	if err := s.polymorphicOuts(def, &h, c); err != nil {
		return nil, err
	}
	h.Signature = def.Name + "(" + strings.Join(words, ",") + ")"
	if p := s.procs[key]; p != nil && p.def == def && (p.cat == cat || !p.fn.Stale(types)) {
		p.cat = cat
		c.Cache = p
		return p.fn, nil
	}
	fn, err := plpgsql.Parse(def.Body, h, types)
	if err != nil {
		return nil, compilation(err, h.Signature, "")
	}
	p := &procedural{def: def, fn: fn, cat: cat}
	s.rememberProcedural(key, p)
	c.Cache = p
	return fn, nil
}

// polymorphicOuts gives polymorphic output parameters the types that the inputs decide.
func (s *Session) polymorphicOuts(def *catalog.Function, h *plpgsql.Header, c *sqltypes.Call) error {
	outs := bind.OutTypes(s.PlanContext(), c.Proc, c.ArgTypes)
	k := 0
	for i, a := range h.Args {
		if a.Mode != 'o' && a.Mode != 'b' && a.Mode != 't' {
			continue
		}
		if d := sqltypes.LookupType(&s.env, def.ArgTypes[i].OID); d != nil && d.TypType == 'p' && a.Mode != 'b' && k < len(outs) {
			h.Args[i].Type.OID = outs[k]
		}
		k++
	}
	return nil
}

// compilation adds where a function did not parse to an error's CONTEXT.
func compilation(err error, signature, statement string) error {
	e, ok := err.(*pgerror.Error)
	if !ok || e.InternalPosition == 0 && statement != "" && e.Code != pgerror.UndefinedObject {
		return err
	}
	c := *e
	if at := strings.Index(statement, c.InternalQuery); c.InternalPosition > 0 && at >= 0 {
		// The body stands in the client's statement as it is.
		c.Position = utf8.RuneCountInString(statement[:at]) + c.InternalPosition
		c.InternalQuery, c.InternalPosition = "", 0
		return &c
	}
	c.Where = "compilation of PL/pgSQL function \"" + strings.SplitN(signature, "(", 2)[0] + "\" near line " +
		sprintf("%d", strings.Count(prefix(c.InternalQuery, c.InternalPosition), "\n")+1)
	return &c
}

// nameOf is the last part of a qualified name.
func nameOf(names []*pg.Node) string {
	if len(names) == 0 {
		return ""
	}
	return names[len(names)-1].GetString_().GetSval()
}

func prefix(s string, n int) string {
	if n < 1 || n > len(s) {
		return s
	}
	return s[:n-1]
}

// runProcedural runs a PL/pgSQL function.
func (s *Session) runProcedural(c *sqltypes.Call, args []sqltypes.Datum, atomic bool, emit func(row []sqltypes.Datum) error) (plpgsql.Result, error) {
	leave, err := s.enterCall()
	if err != nil {
		return plpgsql.Result{}, err
	}
	defer leave()
	fn, err := s.parsedFunction(c)
	if err != nil {
		return plpgsql.Result{}, err
	}
	exit, err := s.enterFunction(c.Proc)
	if err != nil {
		return plpgsql.Result{}, err
	}
	defer exit()
	args = append([]sqltypes.Datum(nil), args...)
	if v := c.Proc.Variadic; v != 0 && !c.VariadicArray && len(args) >= len(c.Proc.ArgTypes) && v != sqltypes.OIDAny {
		args = gatherVariadic(s, c, args)
	}
	h := &procHost{s: s, readOnly: fn.ReadOnly, ContextTypes: plpgsql.ContextTypes{Ctx: s.PlanContext()}}
	return fn.Call(h, args, c.ArgTypes, c.RetFields, atomic, emit)
}

// enterCall counts functions that call each other.
func (s *Session) enterCall() (leave func(), err error) {
	if s.calls++; s.calls > maxCallDepth {
		s.calls--
		return nil, pgerror.New(pgerror.StatementTooComplex, "stack depth limit exceeded").
			WithHint(`Increase the configuration parameter "max_stack_depth" (currently 2048kB), after ensuring the platform's stack depth limit is adequate.`)
	}
	return func() { s.calls-- }, nil
}

// proceduralSet is a call of a PL/pgSQL function that returns a set.
func (s *Session) proceduralSet(c *sqltypes.Call, args []sqltypes.Datum) (sqltypes.RowSource, error) {
	var sp *spool
	_, err := s.runProcedural(c, args, true, func(row []sqltypes.Datum) error {
		if sp == nil {
			sp = s.newSpool(len(row))
		}
		for _, d := range row {
			sp.cur = appendDatum(sp.cur, d)
		}
		return sp.rowDone()
	})
	if err != nil {
		if sp != nil {
			sp.close()
		}
		return nil, err
	}
	if sp == nil {
		return &texts{}, nil
	}
	return &functionRows{spoolSource: spoolSource{sp: sp}}, nil
}

// doStmt is DO.
func (s *Session) doStmt(p *prepared, n *pg.DoStmt) (*outcome, error) {
	language, body, has := "plpgsql", "", false
	for _, a := range n.Args {
		d := a.GetDefElem()
		switch d.GetDefname() {
		case "language":
			language = strings.ToLower(constText(d.Arg))
		case "as":
			if has {
				return nil, pgerror.New(pgerror.SyntaxError, "conflicting or redundant options")
			}
			body, has = constText(d.Arg), true
		}
	}
	if !has {
		return nil, pgerror.New(pgerror.SyntaxError, "no inline code specified")
	}
	switch language {
	case "plpgsql":
	case "sql", "internal", "c":
		return nil, pgerror.New(pgerror.FeatureNotSupported, "language %q does not support inline code execution", language)
	default:
		return nil, pgerror.New(pgerror.UndefinedObject, "language %q does not exist", language)
	}
	queried := s.tx.queried
	_, release, err := s.statement(p.stmt.Class)
	if err != nil {
		return nil, err
	}
	defer release()
	s.tx.queried = queried // its statements will have taken a snapshot
	leave, err := s.enterCall()
	if err != nil {
		return nil, err
	}
	defer leave()
	types := plpgsql.ContextTypes{Ctx: s.PlanContext()}
	h := plpgsql.Header{Name: "inline_code_block", Signature: "inline_code_block", Kind: 'd', Ret: sqltypes.ColumnType{OID: sqltypes.OIDVoid, TypMod: -1}}
	fn, err := plpgsql.Parse(body, h, types)
	if err == nil {
		err = fn.CheckSyntax()
	}
	if err != nil {
		return nil, compilation(err, h.Signature, p.text)
	}
	_, err = fn.Call(&procHost{s: s, ContextTypes: types}, nil, nil, nil, p.atomic || s.inBlock() || s.calls > 1 && p.body == nil, nil)
	return tagged("DO", err)
}

// gatherVariadic makes one array of the arguments of a VARIADIC parameter.
func gatherVariadic(s *Session, c *sqltypes.Call, args []sqltypes.Datum) []sqltypes.Datum {
	fixed := len(c.Proc.ArgTypes) - 1
	elem := c.Proc.Variadic
	if t := sqltypes.LookupType(&s.env, elem); t == nil || t.TypType == 'p' {
		if fixed < len(c.ArgTypes) {
			elem = c.ArgTypes[fixed].OID
		}
	}
	t := sqltypes.LookupType(&s.env, elem)
	if t == nil {
		return args
	}
	rest := args[fixed:]
	array := sqltypes.MakeArray(t, []sqltypes.ArrayDim{{Len: int32(len(rest)), Lower: 1}}, rest)
	return append(args[:fixed:fixed], array)
}
