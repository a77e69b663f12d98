package ddl

import (
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// createFunction stores a SQL-language function; other languages are refused by name.
func (r *run) createFunction(n *pg.CreateFunctionStmt) error {
	schemaName, name, err := split(strs(n.Funcname))
	if err != nil {
		return err
	}
	schema, err := r.creationSchema(schemaName, false)
	if err != nil {
		return err
	}
	f := &catalog.Function{Name: truncateIdent(name), Schema: schema.OID, Owner: r.role(), ACL: r.newACL('f', schema.OID), Kind: 'f',
		Volatility: sqltypes.Volatile, Cost: 100, Parallel: 'u'}
	if n.IsProcedure {
		f.Kind = 'p'
	}
	if err := r.functionOptions(f, n); err != nil {
		return err
	}
	if err := r.functionLanguage(f); err != nil {
		return err
	}
	if err := r.functionParams(f, n); err != nil {
		return err
	}
	if err := r.checkSignature(f); err != nil {
		return err
	}
	if err := r.claim(schema.OID, f.Name+"()"); err != nil {
		return err
	}
	for _, old := range r.catalog().FunctionsByName(schema.OID, f.Name) {
		if !sameInputs(old, f) {
			continue
		}
		if !n.Replace {
			return pgerror.New(pgerror.DuplicateFunction, "function %q already exists with same argument types", f.Name)
		}
		if err := r.replaceableFunction(old, f); err != nil {
			return err
		}
		f.OID, f.Owner, f.ACL = old.OID, old.Owner, old.ACL
	}
	if f.OID == 0 {
		if f.OID, err = r.newOID(); err != nil {
			return err
		}
	}
	if f.RetSet && f.Rows == 0 {
		f.Rows = 1000
	}
	r.schema().PutFunction(f)
	if f.Language == "plpgsql" {
		return r.checkPLpgSQL(f, !r.s.PlanContext().SkipBodyCheck)
	}
	if pc := r.s.PlanContext(); !pc.SkipBodyCheck && f.Language == "sql" {
		return bind.CheckFunctionBody(pc, f)
	}
	return nil
}

func (r *run) functionOptions(f *catalog.Function, n *pg.CreateFunctionStmt) error {
	seen := map[string]bool{}
	for _, o := range n.Options {
		d := o.GetDefElem()
		if seen[d.Defname] && d.Defname != "set" {
			return pgerror.New(pgerror.SyntaxError, "conflicting or redundant options")
		}
		seen[d.Defname] = true
		if f.Kind == 'p' {
			switch d.Defname {
			case "language", "as", "transform", "security", "set":
			default:
				return pgerror.New(pgerror.InvalidFunctionDefinition, "invalid attribute in procedure definition")
			}
		}
		if err := r.functionOption(f, d); err != nil {
			return err
		}
	}
	if f.Language == "" {
		if n.SqlBody == nil {
			return pgerror.New(pgerror.InvalidFunctionDefinition, "no language specified")
		}
		f.Language = "sql"
	}
	switch {
	case n.SqlBody != nil && seen["as"]:
		return pgerror.New(pgerror.InvalidFunctionDefinition, "duplicate function body specified")
	case n.SqlBody == nil && !seen["as"]:
		return pgerror.New(pgerror.InvalidFunctionDefinition, "no function body specified")
	}
	if n.SqlBody != nil {
		if f.Language != "sql" {
			return pgerror.New(pgerror.InvalidFunctionDefinition, "inline SQL function body only valid for language SQL")
		}
		if list := n.SqlBody.GetList(); list != nil {
			var parts []string
			for _, inner := range list.Items {
				for _, st := range inner.GetList().GetItems() {
					s, err := deparseStmt(st)
					if err != nil {
						return err
					}
					parts = append(parts, s)
				}
			}
			f.Body = strings.Join(parts, "; ")
		} else if ret := n.SqlBody.GetReturnStmt(); ret != nil {
			s, err := deparseExpr(ret.Returnval)
			if err != nil {
				return err
			}
			f.Body = "SELECT " + s
		}
	}
	return nil
}

// functionOption applies one option of CREATE or ALTER FUNCTION.
func (r *run) functionOption(f *catalog.Function, d *pg.DefElem) error {
	switch d.Defname {
	case "language":
		f.Language = strings.ToLower(defText(d))
	case "as":
		parts := strs(d.Arg.GetList().GetItems())
		f.Body = strings.Join(parts, "")
		if len(parts) > 1 {
			f.Body = parts[1] // the object file's name goes before the symbol's
		}
	case "volatility":
		f.Volatility = sqltypes.Volatility(defText(d)[0])
	case "strict":
		f.Strict = d.Arg.GetBoolean().GetBoolval()
	case "security":
		f.SecurityDefiner = d.Arg.GetBoolean().GetBoolval()
	case "leakproof":
		f.Leakproof = d.Arg.GetBoolean().GetBoolval()
	case "parallel":
		f.Parallel = defText(d)[0]
	case "cost", "rows":
		v, err := strconv.ParseFloat(defText(d), 32)
		if err != nil {
			return pgerror.New(pgerror.SyntaxError, "%s requires a numeric value", d.Defname)
		}
		if v <= 0 {
			return pgerror.New(pgerror.InvalidParameterValue, "%s must be positive", strings.ToUpper(d.Defname))
		}
		if d.Defname == "cost" {
			f.Cost = float32(v)
		} else {
			f.Rows = float32(v)
		}
	case "set":
		cfg, err := r.setConfig(f.Config, d.Arg.GetVariableSetStmt())
		if err != nil {
			return err
		}
		f.Config = cfg
	default:
		return pgerror.NotSupported("function option %q", d.Defname)
	}
	return nil
}

func (r *run) functionParams(f *catalog.Function, n *pg.CreateFunctionStmt) error {
	var outs []sqltypes.ColumnType
	for _, node := range n.Parameters {
		p := node.GetFunctionParameter()
		mode := map[pg.FunctionParameterMode]byte{pg.FunctionParameterMode_FUNC_PARAM_IN: 'i', pg.FunctionParameterMode_FUNC_PARAM_OUT: 'o',
			pg.FunctionParameterMode_FUNC_PARAM_INOUT: 'b', pg.FunctionParameterMode_FUNC_PARAM_VARIADIC: 'v',
			pg.FunctionParameterMode_FUNC_PARAM_TABLE: 't'}[p.Mode]
		if mode == 0 {
			mode = 'i'
		}
		t, err := bind.BindTypeName(r.s.PlanContext(), p.ArgType)
		if err != nil {
			return err
		}
		if slices.Contains(f.ArgModes, 'v') && (mode == 'i' || mode == 'b' || mode == 'v') {
			return pgerror.New(pgerror.InvalidFunctionDefinition, "VARIADIC parameter must be the last input parameter")
		}
		if typ := r.catalog().Type(t.OID); mode == 'v' && typ != nil && !typ.IsArray && t.OID != sqltypes.OIDAnyarray &&
			t.OID != sqltypes.OIDAnycompatiblearray && t.OID != sqltypes.OIDAny {
			return pgerror.New(pgerror.InvalidFunctionDefinition, "VARIADIC parameter must be an array")
		}
		f.ArgTypes = append(f.ArgTypes, t)
		f.ArgNames = append(f.ArgNames, p.Name)
		f.ArgModes = append(f.ArgModes, mode)
		if mode == 'o' || mode == 'b' || mode == 't' {
			outs = append(outs, t)
		}
		if p.Defexpr != nil && (mode == 'o' || mode == 't') {
			return pgerror.New(pgerror.InvalidFunctionDefinition, "only input parameters can have default values")
		}
		if p.Defexpr != nil {
			s, err := deparseExpr(p.Defexpr)
			if err != nil {
				return err
			}
			if typ := r.catalog().Type(t.OID); typ != nil && typ.TypType != 'p' {
				col := &catalog.Column{Num: 1, Name: p.Name, Type: t, HasDefault: true, Default: s}
				if _, err := bind.DefaultExpr(r.s.PlanContext(), &catalog.Relation{}, col); err != nil {
					return err
				}
			}
			f.ArgDefaults = append(f.ArgDefaults, s)
		} else if len(f.ArgDefaults) > 0 && (mode == 'i' || mode == 'b') {
			return pgerror.New(pgerror.InvalidFunctionDefinition, "input parameters after one with a default value must also have defaults")
		}
		if mode == 't' {
			f.RetSet = true
		}
	}
	switch {
	case n.ReturnType != nil:
		t, err := bind.BindTypeName(r.s.PlanContext(), n.ReturnType)
		if err != nil {
			return err
		}
		f.RetType = t.OID
		if want := outputType(outs); want != 0 && want != t.OID && !slices.Contains(f.ArgModes, 't') && f.Kind == 'f' {
			return pgerror.New(pgerror.InvalidFunctionDefinition, "function result type must be %s because of OUT parameters", r.typeName(want))
		}
		f.RetSet = f.RetSet || n.ReturnType.Setof
	case len(outs) > 0:
		f.RetType = outputType(outs)
	case n.IsProcedure:
		f.RetType = sqltypes.OIDVoid
	default:
		return pgerror.New(pgerror.InvalidFunctionDefinition, "function result type must be specified")
	}
	return nil
}

// outputType is the result type that output parameters make; 0 if there are none.
func outputType(outs []sqltypes.ColumnType) sqltypes.OID {
	switch len(outs) {
	case 0:
		return 0
	case 1:
		return outs[0].OID
	}
	return sqltypes.OIDRecord
}

// inputTypes are the types that identify an overload.
func inputTypes(f *catalog.Function) []sqltypes.OID {
	var out []sqltypes.OID
	for i, t := range f.ArgTypes {
		if m := f.ArgModes[i]; m == 'i' || m == 'b' || m == 'v' {
			out = append(out, t.OID)
		}
	}
	return out
}

func sameInputs(a, b *catalog.Function) bool { return slices.Equal(inputTypes(a), inputTypes(b)) }

func (r *run) dropFunctions(n *pg.DropStmt) error {
	for _, obj := range n.Objects {
		f, err := r.function(n.RemoveType, obj.GetObjectWithArgs())
		if err != nil {
			if n.MissingOk && pgerror.Is(err, pgerror.UndefinedFunction) {
				e := err.(*pgerror.Error)
				r.notice("%s, skipping", e.Message)
				continue
			}
			return err
		}
		if f.Kind == 'a' && n.RemoveType != pg.ObjectType_OBJECT_AGGREGATE && n.RemoveType != pg.ObjectType_OBJECT_ROUTINE {
			return pgerror.New(pgerror.WrongObjectType, "%q is an aggregate function", f.Name).WithHint("Use DROP AGGREGATE to drop aggregate functions.")
		}
		if err := r.mustOwnFunction(f); err != nil {
			return err
		}
		if isConstructor(f) {
			return pgerror.New(pgerror.DependentObjectsStillExist, "cannot drop function %s because type %s requires it", r.signature(f), r.typeName(f.RetType)).
				WithHint("You can drop type %s instead.", r.typeName(f.RetType))
		}
		if err := r.dropFunction(f, n.Behavior == pg.DropBehavior_DROP_CASCADE); err != nil {
			return err
		}
	}
	return nil
}
