package syscat

import (
	"slices"
	"strings"

	"ostraka/engine/catalog"
	"ostraka/planner/bind"
	"ostraka/planner/parse"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// The reg* types: names of objects in and out.
func init() {
	sqltypes.RegIn, sqltypes.RegOut = regIn, regOut
	sqltypes.RegisterScalar("text_regclass", func(c *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
		o, err := regIn(c.Env, sqltypes.OIDRegclass, a[0].S)
		return oid(o), err
	})
	for name, typ := range map[string]sqltypes.OID{"to_regclass": sqltypes.OIDRegclass, "to_regtype": sqltypes.OIDRegtype, "to_regproc": sqltypes.OIDRegproc,
		"to_regprocedure": sqltypes.OIDRegprocedure, "to_regnamespace": sqltypes.OIDRegnamespace, "to_regrole": sqltypes.OIDRegrole,
		"to_regoper": sqltypes.OIDRegoper, "to_regoperator": sqltypes.OIDRegoperator, "to_regcollation": sqltypes.OIDRegcollation} {
		sqltypes.RegisterScalar(name, func(c *sqltypes.Call, a []sqltypes.Datum) (sqltypes.Datum, error) {
			o, err := regIn(c.Env, typ, a[0].S)
			switch {
			case err == nil:
				return oid(o), nil
			case pgerror.Is(err, pgerror.UndefinedTable), pgerror.Is(err, pgerror.UndefinedObject), pgerror.Is(err, pgerror.UndefinedFunction),
				pgerror.Is(err, pgerror.InvalidSchemaName), pgerror.Is(err, pgerror.AmbiguousFunction):
				return sqltypes.Null, nil
			}
			return sqltypes.Null, err
		})
	}
}

// fixedRegs are the catalogues of the reg types whose objects are PostgreSQL's own.
var fixedRegs = map[sqltypes.OID]string{sqltypes.OIDRegcollation: "pg_collation", sqltypes.OIDRegconfig: "pg_ts_config",
	sqltypes.OIDRegdictionary: "pg_ts_dict"}

func regIn(env *sqltypes.Env, typ sqltypes.OID, s string) (sqltypes.OID, error) {
	ctx, err := contextOf(env)
	if err != nil {
		return 0, err
	}
	l := &lookup{ctx, ctx.Catalog}
	if typ == sqltypes.OIDRegtype {
		return l.namedType(s)
	}
	args, hasArgs := "", false
	name := s
	if typ == sqltypes.OIDRegprocedure || typ == sqltypes.OIDRegoperator {
		var ok bool
		if name, args, ok = strings.Cut(s, "("); !ok {
			return 0, pgerror.New(pgerror.InvalidTextRepresentation, "expected a left parenthesis")
		}
		args, hasArgs = strings.TrimSuffix(strings.TrimSpace(args), ")"), true
	}
	if typ == sqltypes.OIDRegoper || typ == sqltypes.OIDRegoperator {
		return l.operator(strings.TrimSpace(name), args, hasArgs)
	}
	parts, err := splitName(name)
	if err != nil {
		return 0, err
	}
	last := parts[len(parts)-1]
	switch typ {
	case sqltypes.OIDRegclass:
		return l.find(parts)
	case sqltypes.OIDRegnamespace:
		if len(parts) > 1 {
			return 0, pgerror.New(pgerror.InvalidName, "invalid name syntax")
		}
		if sc := l.cat.SchemaByName(last); sc != nil && len(parts) == 1 {
			return sc.OID, nil
		}
		return 0, pgerror.New(pgerror.InvalidSchemaName, "schema %q does not exist", last)
	case sqltypes.OIDRegrole:
		if len(parts) > 1 {
			return 0, pgerror.New(pgerror.InvalidName, "invalid name syntax")
		}
		if r := l.cat.RoleByName(last); r != nil && len(parts) == 1 {
			return r.OID, nil
		}
		return 0, pgerror.New(pgerror.UndefinedObject, "role %q does not exist", last)
	case sqltypes.OIDRegproc, sqltypes.OIDRegprocedure:
		return l.function(parts, args, hasArgs, s)
	case sqltypes.OIDRegcollation, sqltypes.OIDRegconfig, sqltypes.OIDRegdictionary:
		if len(parts) > 1 && l.cat.SchemaByName(parts[len(parts)-2]) == nil {
			return 0, pgerror.New(pgerror.InvalidSchemaName, "schema %q does not exist", parts[len(parts)-2])
		}
		for _, row := range fixedRows()[fixedRegs[typ]] {
			if row[1].S == last {
				return argOID(row[0]), nil
			}
		}
		if typ != sqltypes.OIDRegcollation {
			what := strings.TrimPrefix(sqltypes.TypeByOID(typ).Name, "reg")
			if what == "config" {
				what = "configuration"
			}
			return 0, pgerror.New(pgerror.UndefinedObject, "text search %s %q does not exist", what, s)
		}
		return 0, pgerror.New(pgerror.UndefinedObject, "collation %q for encoding \"UTF8\" does not exist", last)
	}
	return 0, pgerror.NotSupported("type %s by name", sqltypes.FormatType(typ, -1))
}

// namedType resolves a type name as SQL writes it.
func (l *lookup) namedType(s string) (sqltypes.OID, error) {
	n, err := parse.TypeName(s)
	if err != nil {
		return 0, err
	}
	t, err := bind.BindTypeName(l.ctx, n)
	return t.OID, err
}

// argTypes resolves a comma-separated list of type names.
func (l *lookup) argTypes(list string) ([]sqltypes.OID, error) {
	var out []sqltypes.OID
	if strings.TrimSpace(list) == "" {
		return out, nil
	}
	for a := range strings.SplitSeq(list, ",") {
		if strings.EqualFold(strings.TrimSpace(a), "none") {
			out = append(out, 0)
			continue
		}
		n, err := parse.TypeName(a)
		if err != nil {
			return nil, err
		}
		t, err := bind.BindTypeName(l.ctx, n)
		if err != nil {
			return nil, err
		}
		out = append(out, t.OID)
	}
	return out, nil
}

func (l *lookup) function(parts []string, args string, hasArgs bool, text string) (sqltypes.OID, error) {
	want, err := l.argTypes(args)
	if err != nil {
		return 0, err
	}
	schemas := l.ctx.SearchPath
	if len(parts) == 2 {
		s := l.cat.SchemaByName(parts[0])
		if s == nil {
			return 0, pgerror.New(pgerror.InvalidSchemaName, "schema %q does not exist", parts[0])
		}
		schemas = []sqltypes.OID{s.OID}
	}
	name := parts[len(parts)-1]
	var found []sqltypes.OID
	same := func(types []sqltypes.OID) bool {
		if !hasArgs {
			return true
		}
		if len(types) != len(want) {
			return false
		}
		for i := range want {
			if types[i] != want[i] {
				return false
			}
		}
		return true
	}
	for _, s := range schemas {
		if s == catalog.SchemaPgCatalog {
			for _, p := range sqltypes.ProcsByName(name) {
				if same(p.ArgTypes) {
					found = append(found, p.OID)
				}
			}
		}
		for _, f := range l.cat.FunctionsByName(s, name) {
			var in []sqltypes.OID
			for i, t := range f.ArgTypes {
				if m := f.ArgModes[i]; m == 'i' || m == 'b' || m == 'v' {
					in = append(in, t.OID)
				}
			}
			if same(in) {
				found = append(found, f.OID)
			}
		}
	}
	switch {
	case len(found) == 1 || len(found) > 1 && hasArgs:
		return found[0], nil
	case len(found) > 1:
		return 0, pgerror.New(pgerror.AmbiguousFunction, "more than one function named %q", text)
	}
	return 0, pgerror.New(pgerror.UndefinedFunction, "function %q does not exist", text)
}

func (l *lookup) operator(name, args string, hasArgs bool) (sqltypes.OID, error) {
	schema := sqltypes.OID(0)
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		parts, err := splitName(name[:i])
		if err != nil {
			return 0, err
		}
		s := l.cat.SchemaByName(parts[len(parts)-1])
		if s == nil {
			if hasArgs {
				return 0, pgerror.New(pgerror.UndefinedFunction, "operator does not exist: %s(%s)", name, args)
			}
			return 0, pgerror.New(pgerror.InvalidSchemaName, "schema %q does not exist", parts[len(parts)-1])
		}
		name, schema = name[i+1:], s.OID
	}
	want, err := l.argTypes(args)
	if err != nil {
		return 0, err
	}
	var found []sqltypes.OID
	for _, o := range l.operatorsNamed(schema, name) {
		if !hasArgs || len(want) == 2 && o.Left == want[0] && o.Right == want[1] {
			found = append(found, o.OID)
		}
	}
	switch {
	case len(found) == 1 || len(found) > 1 && hasArgs:
		return found[0], nil
	case len(found) > 1:
		return 0, pgerror.New(pgerror.AmbiguousFunction, "more than one operator named %s", name)
	}
	return 0, pgerror.New(pgerror.UndefinedFunction, "operator does not exist: %s", name)
}

func regOut(env *sqltypes.Env, typ, o sqltypes.OID) (string, bool) {
	ctx, err := contextOf(env)
	if err != nil {
		if typ == sqltypes.OIDRegtype && sqltypes.TypeByOID(o) != nil {
			return sqltypes.FormatType(o, sqltypes.NoTypMod), true
		}
		return "", false
	}
	l := &lookup{ctx, ctx.Catalog}
	switch typ {
	case sqltypes.OIDRegclass:
		if r, ix := l.relation(o); r != nil {
			return l.relationName(r, ix), true
		}
	case sqltypes.OIDRegtype:
		if l.cat.Type(o) != nil || systemRowTypes()[o] != nil {
			return l.typeName(o, sqltypes.NoTypMod), true
		}
	case sqltypes.OIDRegproc, sqltypes.OIDRegprocedure:
		return l.functionName(o, typ == sqltypes.OIDRegprocedure)
	case sqltypes.OIDRegoper, sqltypes.OIDRegoperator:
		op := l.findOperator(o)
		if op == nil {
			return "", false
		}
		name := op.Name
		if sc := l.cat.Schema(op.Schema); sc != nil && (typ == sqltypes.OIDRegoper && len(l.operatorsNamed(0, op.Name)) != 1 || !l.operatorVisible(op)) {
			name = quoteIdent(sc.Name) + "." + name
		}
		if typ == sqltypes.OIDRegoper {
			return name, true
		}
		side := func(t sqltypes.OID) string {
			if t == 0 {
				return "NONE"
			}
			return l.typeName(t, sqltypes.NoTypMod)
		}
		return name + "(" + side(op.Left) + "," + side(op.Right) + ")", true
	case sqltypes.OIDRegnamespace:
		if s := l.cat.Schema(o); s != nil {
			return quoteIdent(s.Name), true
		}
	case sqltypes.OIDRegrole:
		if r := l.cat.Role(o); r != nil {
			return quoteIdent(r.Name), true
		}
	case sqltypes.OIDRegcollation, sqltypes.OIDRegconfig, sqltypes.OIDRegdictionary:
		for _, row := range fixedRows()[fixedRegs[typ]] {
			if argOID(row[0]) == o {
				return quoteIdent(row[1].S), true
			}
		}
	}
	return "", false
}

func (l *lookup) functionName(o sqltypes.OID, withArgs bool) (string, bool) {
	args, _, _, ok := l.functionOf(o)
	if !ok {
		return "", false
	}
	name, schema := "", ""
	if p := sqltypes.ProcByOID(o); p != nil {
		name = quoteIdent(p.Name)
		if p.Namespace != catalog.SchemaPgCatalog && !slices.Contains(l.ctx.SearchPath, p.Namespace) {
			schema = quoteIdent(l.schemaName(p.Namespace)) + "."
		} else if !withArgs && len(sqltypes.ProcsByName(p.Name)) > 1 {
			schema = "pg_catalog."
		}
	} else {
		f := l.cat.Function(o)
		name = quoteIdent(f.Name)
		visible := false
		for _, s := range l.ctx.SearchPath {
			visible = visible || s == f.Schema
		}
		if !visible {
			schema = quoteIdent(l.schemaName(f.Schema)) + "."
		}
	}
	if !withArgs {
		return schema + name, true
	}
	var types []string
	for _, a := range args {
		if a.mode == 'i' || a.mode == 'b' || a.mode == 'v' {
			types = append(types, l.typeName(a.typ, sqltypes.NoTypMod))
		}
	}
	return schema + name + "(" + strings.Join(types, ",") + ")", true
}
