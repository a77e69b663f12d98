package ddl

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
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
		key := strings.ToLower(e.Defname)
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
	if f.Agg.TransType, err = bind.BindTypeName(ctx, defs["stype"].Arg.GetTypeName()); err != nil {
		return err
	}
	if d := defs["initcond"]; d != nil {
		v := defText(d)
		f.Agg.InitVal = &v
	}
	if d := defs["finalfunc_extra"]; d != nil {
		f.Agg.FinalExtra = d.Arg == nil || defText(d) != "false"
	}
	if d := defs["parallel"]; d != nil {
		switch defText(d) {
		case "safe", "restricted", "unsafe":
			f.Parallel = defText(d)[0]
		default:
			return pgerror.New(pgerror.SyntaxError, `parameter "parallel" must be SAFE, RESTRICTED, or UNSAFE`)
		}
	}
	names := bind.AggregateFunctions{Trans: nameOf(defs["sfunc"]), Final: nameOf(defs["finalfunc"]), Combine: nameOf(defs["combinefunc"])}
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
