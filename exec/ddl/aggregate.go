package ddl

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/planner"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// createAggregate is CREATE AGGREGATE (DefineAggregate): a transition function, a
// state type and what else makes a plain aggregate.
func (r *run) createAggregate(n *pg.DefineStmt) error {
	schemaName, name, err := split(strs(n.Defnames))
	if err != nil {
		return err
	}
	schema, err := r.creationSchema(schemaName, false)
	if err != nil {
		return err
	}
	f := &catalog.Function{Name: truncateIdent(name), Schema: schema.OID, Owner: r.role(), Kind: 'a', Language: "internal", Body: "aggregate_dummy",
		Volatility: sqltypes.Immutable, Cost: 1, Parallel: 'u', Agg: &catalog.AggregateDef{FinalModify: 'r'}}
	defs, base := map[string]*pg.DefElem{}, false
	for _, d := range n.Definition {
		e := d.GetDefElem()
		key := e.Defname
		if !aggregateOptions[key] {
			r.s.Notice("WARNING", pgerror.SyntaxError, sprintf("aggregate attribute %q not recognized", key))
			continue
		}
		switch key {
		case "sfunc1":
			key = "sfunc"
		case "stype1":
			key = "stype"
		case "initcond1":
			key = "initcond"
		case "basetype":
			base = true
		}
		defs[key] = e
	}
	ctx := r.s.PlanContext()
	if !n.Oldstyle {
		list := n.Args
		if len(list) == 2 && list[1].GetInteger() != nil {
			if list[1].GetInteger().GetIval() >= 0 {
				return pgerror.NotSupported("CREATE AGGREGATE with ORDER BY arguments")
			}
			list = list[0].GetList().GetItems()
		}
		if err := r.functionParams(f, &pg.CreateFunctionStmt{Parameters: list, ReturnType: voidType()}); err != nil {
			return err
		}
		if len(f.ArgDefaults) > 0 {
			return pgerror.New(pgerror.InvalidFunctionDefinition, "aggregates cannot have arguments with defaults")
		}
	} else {
		if !base {
			return pgerror.New(pgerror.InvalidFunctionDefinition, "aggregate input type must be specified")
		}
		if t := defs["basetype"].Arg; !strings.EqualFold(typeText(t), "any") {
			ct, err := bind.BindTypeName(ctx, t.GetTypeName())
			if err != nil {
				return err
			}
			f.ArgTypes, f.ArgNames, f.ArgModes = []sqltypes.ColumnType{ct}, []string{""}, []byte{'i'}
		}
	}
	if defs["stype"] == nil {
		return pgerror.New(pgerror.InvalidFunctionDefinition, "aggregate stype must be specified")
	}
	if defs["sfunc"] == nil {
		return pgerror.New(pgerror.InvalidFunctionDefinition, "aggregate sfunc must be specified")
	}
	if err := aggregatePairs(defs); err != nil {
		return err
	}
	if f.Agg.TransType, err = bind.BindTypeName(ctx, defs["stype"].Arg.GetTypeName()); err != nil {
		return err
	}
	if d := defs["initcond"]; d != nil {
		v := defText(d)
		f.Agg.InitVal = &v
	}
	if d := defs["parallel"]; d != nil {
		switch defText(d) {
		case "safe", "restricted", "unsafe":
			f.Parallel = defText(d)[0]
		default:
			return pgerror.New(pgerror.SyntaxError, `parameter "parallel" must be SAFE, RESTRICTED, or UNSAFE`)
		}
	}
	if err := r.aggregateDetails(ctx, f.Agg, defs); err != nil {
		return err
	}
	names := bind.AggregateFunctions{Trans: nameOf(defs["sfunc"]), Final: nameOf(defs["finalfunc"]), Combine: nameOf(defs["combinefunc"]),
		Serial: nameOf(defs["serialfunc"]), Deserial: nameOf(defs["deserialfunc"]),
		MTrans: nameOf(defs["msfunc"]), MInverse: nameOf(defs["minvfunc"]), MFinal: nameOf(defs["mfinalfunc"])}
	if err := bind.ResolveAggregate(ctx, f, names); err != nil {
		return err
	}
	for _, old := range r.catalog().FunctionsByName(schema.OID, f.Name) {
		if !sameInputs(old, f) {
			continue
		}
		if !n.Replace {
			return pgerror.New(pgerror.DuplicateFunction, "function %q already exists with same argument types", f.Name)
		}
		if old.Kind != 'a' {
			return pgerror.New(pgerror.WrongObjectType, "cannot change routine kind").WithDetail("%q is a function.", f.Name)
		}
		if old.RetType != f.RetType {
			return pgerror.New(pgerror.InvalidFunctionDefinition, "cannot change return type of existing function").
				WithHint("Use DROP AGGREGATE %s first.", r.signature(old))
		}
		f.OID, f.Owner, f.ACL = old.OID, old.Owner, old.ACL
	}
	if f.OID == 0 {
		if f.OID, err = r.newOID(); err != nil {
			return err
		}
	}
	r.schema().PutFunction(f)
	return nil
}

// aggregateOptions are the options that CREATE AGGREGATE knows.
var aggregateOptions = func() map[string]bool {
	out := map[string]bool{}
	for _, o := range strings.Fields(`sfunc sfunc1 stype stype1 sspace finalfunc finalfunc_extra finalfunc_modify combinefunc serialfunc deserialfunc
		initcond initcond1 msfunc minvfunc mstype msspace mfinalfunc mfinalfunc_extra mfinalfunc_modify minitcond sortop basetype hypothetical parallel`) {
		out[o] = true
	}
	return out
}()

// aggregatePairs checks which options go with which.
func aggregatePairs(defs map[string]*pg.DefElem) error {
	bad := func(format string, args ...any) error {
		return pgerror.New(pgerror.InvalidFunctionDefinition, format, args...)
	}
	if defs["mstype"] != nil {
		for _, o := range []string{"msfunc", "minvfunc"} {
			if defs[o] == nil {
				return bad("aggregate %s must be specified when mstype is specified", o)
			}
		}
	} else {
		for _, o := range []string{"msfunc", "minvfunc", "mfinalfunc", "msspace", "minitcond"} {
			if defs[o] != nil {
				return bad("aggregate %s must not be specified without mstype", o)
			}
		}
	}
	serial, deserial := defs["serialfunc"] != nil, defs["deserialfunc"] != nil
	if serial && !strings.EqualFold(typeText(defs["stype"].Arg), "internal") {
		return bad("serialization functions may be specified only when the aggregate transition data type is %s", "internal")
	}
	if serial != deserial {
		return bad("must specify both or neither of serialization and deserialization functions")
	}
	return nil
}

// aggregateDetails reads the options that are no functions and not needed to call it.
func (r *run) aggregateDetails(ctx *planner.Context, a *catalog.AggregateDef, defs map[string]*pg.DefElem) error {
	flag := func(o string) bool { d := defs[o]; return d != nil && (d.Arg == nil || defText(d) != "false") }
	a.FinalExtra, a.MFinalExtra = flag("finalfunc_extra"), flag("mfinalfunc_extra")
	a.FinalModify, a.MFinalModify = 'r', 'r'
	for o, to := range map[string]*byte{"finalfunc_modify": &a.FinalModify, "mfinalfunc_modify": &a.MFinalModify} {
		if defs[o] == nil {
			continue
		}
		switch defText(defs[o]) {
		case "read_only":
		case "shareable":
			*to = 's'
		case "read_write":
			*to = 'w'
		default:
			return pgerror.New(pgerror.SyntaxError, "parameter %q must be READ_ONLY, SHAREABLE, or READ_WRITE", o)
		}
	}
	for o, to := range map[string]*int32{"sspace": &a.TransSpace, "msspace": &a.MTransSpace} {
		if defs[o] != nil {
			*to = defs[o].Arg.GetInteger().GetIval()
		}
	}
	if d := defs["minitcond"]; d != nil {
		v := defText(d)
		a.MInitVal = &v
	}
	if d := defs["mstype"]; d != nil {
		t, err := bind.BindTypeName(ctx, d.Arg.GetTypeName())
		if err != nil {
			return err
		}
		a.MTransType = t.OID
	}
	return nil
}

func voidType() *pg.TypeName {
	return &pg.TypeName{Names: []*pg.Node{pg.MakeStrNode("pg_catalog"), pg.MakeStrNode("void")}, Typemod: -1}
}

// nameOf are the parts of the function name in an option; nil without the option.
func nameOf(d *pg.DefElem) []*pg.Node {
	if d == nil {
		return nil
	}
	if t := d.Arg.GetTypeName(); t != nil {
		return t.Names
	}
	if l := d.Arg.GetList(); l != nil {
		return l.Items
	}
	return []*pg.Node{pg.MakeStrNode(defText(d))}
}

// typeText is the last part of a type's name as it was written.
func typeText(n *pg.Node) string {
	if t := n.GetTypeName(); t != nil && len(t.Names) > 0 {
		return t.Names[len(t.Names)-1].GetString_().GetSval()
	}
	return n.GetString_().GetSval()
}
