package ddl

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// routine is what definitions need to know of a function, built-in or a user's.
type routine struct {
	oid    sqltypes.OID
	name   string
	kind   byte
	args   []sqltypes.OID
	ret    sqltypes.OID
	retSet bool
	strict bool
	user   *catalog.Function // nil: built-in
}

func builtinRoutine(p *sqltypes.Proc) *routine {
	return &routine{oid: p.OID, name: p.Name, kind: p.Kind, args: p.ArgTypes, ret: p.RetType, retSet: p.RetSet, strict: p.Strict}
}

func userRoutine(f *catalog.Function) *routine {
	return &routine{oid: f.OID, name: f.Name, kind: f.Kind, args: inputTypes(f), ret: f.RetType, retSet: f.RetSet, strict: f.Strict, user: f}
}

// routine finds the function of exactly these argument types (LookupFuncName).
func (r *run) routine(name []string, args []sqltypes.OID) (*routine, error) {
	schemaName, fn, err := split(name)
	if err != nil {
		return nil, err
	}
	schemas, err := r.searchSchemas(schemaName)
	if err != nil {
		return nil, err
	}
	if schemaName == "" && !slices.Contains(schemas, catalogSchema) {
		schemas = append([]sqltypes.OID{catalogSchema}, schemas...)
	}
	for _, s := range schemas {
		if s == catalogSchema {
			for _, p := range sqltypes.ProcsByName(fn) {
				if slices.Equal(p.ArgTypes, args) {
					return builtinRoutine(p), nil
				}
			}
		}
		for _, f := range r.catalog().FunctionsByName(s, fn) {
			if slices.Equal(inputTypes(f), args) {
				return userRoutine(f), nil
			}
		}
	}
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = r.typeName(a)
	}
	return nil, pgerror.New(pgerror.UndefinedFunction, "function %s(%s) does not exist", strings.Join(name, "."), strings.Join(words, ", "))
}

// routineByArgs is routine for name(argtypes) in a statement; without a list of
// types the name must be that of one function.
func (r *run) routineByArgs(n *pg.ObjectWithArgs) (*routine, error) {
	if n.ArgsUnspecified {
		schemaName, fn, err := split(strs(n.Objname))
		if err != nil {
			return nil, err
		}
		if schemaName == "" || schemaName == "pg_catalog" {
			if l := sqltypes.ProcsByName(fn); len(l) == 1 {
				return builtinRoutine(l[0]), nil
			}
		}
		f, err := r.function(pg.ObjectType_OBJECT_FUNCTION, n)
		if err != nil {
			return nil, err
		}
		return userRoutine(f), nil
	}
	args, err := r.typeList(n.Objargs)
	if err != nil {
		return nil, err
	}
	return r.routine(strs(n.Objname), args)
}

// mayExecute refuses a function that the current role has no EXECUTE on.
func (r *run) mayExecute(f *routine) error {
	if f.user == nil || r.isSuper() || r.catalog().Holds(r.role(), f.user.Owner, f.user.ACL, 'X', "X") {
		return nil
	}
	return pgerror.New(pgerror.InsufficientPrivilege, "permission denied for function %s", f.name)
}

// mayUseType refuses a type that the current role has no USAGE on.
func (r *run) mayUseType(oid sqltypes.OID) error {
	if t := r.catalog().Type(oid); t != nil && t.IsArray {
		oid = t.Elem
	}
	t := r.catalog().UserType(oid)
	if t == nil || r.isSuper() || r.catalog().Holds(r.role(), t.Owner, t.ACL, 'U', "U") {
		return nil
	}
	return pgerror.New(pgerror.InsufficientPrivilege, "permission denied for type %s", t.Name)
}

// typeList resolves the type names of a statement.
func (r *run) typeList(list []*pg.Node) ([]sqltypes.OID, error) {
	out := make([]sqltypes.OID, 0, len(list))
	for _, a := range list {
		t, err := bind.BindTypeName(r.s.PlanContext(), a.GetTypeName())
		if err != nil {
			return nil, err
		}
		out = append(out, t.OID)
	}
	return out, nil
}
