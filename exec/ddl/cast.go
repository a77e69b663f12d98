package ddl

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/planner/bind"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// createCast is CREATE CAST (CreateCast).
func (r *run) createCast(n *pg.CreateCastStmt) error {
	source, target, err := r.castTypes(n.Sourcetype, n.Targettype)
	if err != nil {
		return err
	}
	for i, t := range []*sqltypes.Type{source, target} {
		if t.TypType == 'p' {
			return pgerror.New(pgerror.WrongObjectType, "%s data type %s is a pseudo-type", []string{"source", "target"}[i], r.typeName(t.OID))
		}
	}
	if !r.ownsType(source.OID) && !r.ownsType(target.OID) {
		return pgerror.New(pgerror.InsufficientPrivilege, "must be owner of type %s or type %s", r.typeName(source.OID), r.typeName(target.OID))
	}
	for _, t := range []*sqltypes.Type{source, target} {
		if err := r.mayUseType(t.OID); err != nil {
			return err
		}
	}
	if source.TypType == 'd' {
		r.s.Notice("WARNING", pgerror.WrongObjectType, "cast will be ignored because the source data type is a domain")
	} else if target.TypType == 'd' {
		r.s.Notice("WARNING", pgerror.WrongObjectType, "cast will be ignored because the target data type is a domain")
	}
	c := &catalog.Cast{Source: source.OID, Target: target.OID, Context: castContext(n.Context), Method: 'b'}
	nargs := 0
	switch {
	case n.Func != nil:
		c.Method = 'f'
		f, err := r.routineByArgs(n.Func)
		if err != nil {
			return err
		}
		if err := r.checkCastFunction(f, source.OID, target.OID); err != nil {
			return err
		}
		c.Func, nargs = f.oid, len(f.args)
	case n.Inout:
		c.Method = 'i'
	default:
		if err := r.mayRelabel(source, target); err != nil {
			return err
		}
	}
	if source.OID == target.OID && nargs < 2 {
		return pgerror.New(pgerror.InvalidObjectDefinition, "source data type and target data type are the same")
	}
	if r.catalog().CastBetween(source.OID, target.OID) != nil || sqltypes.CastBetween(source.OID, target.OID) != nil {
		return pgerror.New(pgerror.DuplicateObject, "cast from type %s to type %s already exists", r.typeName(source.OID), r.typeName(target.OID))
	}
	if c.OID, err = r.newOID(); err != nil {
		return err
	}
	r.schema().PutCast(c)
	return nil
}

func castContext(c pg.CoercionContext) byte {
	switch c {
	case pg.CoercionContext_COERCION_IMPLICIT:
		return 'i'
	case pg.CoercionContext_COERCION_ASSIGNMENT:
		return 'a'
	}
	return 'e'
}

func (r *run) castTypes(source, target *pg.TypeName) (s, t *sqltypes.Type, err error) {
	for i, tn := range []*pg.TypeName{source, target} {
		ct, err := bind.BindTypeName(r.s.PlanContext(), tn)
		if err != nil {
			return nil, nil, err
		}
		if i == 0 {
			s = r.catalog().Type(ct.OID)
		} else {
			t = r.catalog().Type(ct.OID)
		}
	}
	return s, t, nil
}

func (r *run) ownsType(oid sqltypes.OID) bool {
	if t := r.catalog().Type(oid); t != nil && t.IsArray {
		oid = t.Elem
	}
	if t := r.catalog().UserType(oid); t != nil {
		return r.hasRole(t.Owner)
	}
	return r.isSuper()
}

func (r *run) checkCastFunction(f *routine, source, target sqltypes.OID) error {
	bad := func(format string, args ...any) error {
		return pgerror.New(pgerror.InvalidObjectDefinition, format, args...)
	}
	ctx := r.s.PlanContext()
	switch {
	case len(f.args) < 1 || len(f.args) > 3:
		return bad("cast function must take one to three arguments")
	case !bind.BinaryCoercible(ctx, source, f.args[0]):
		return bad("argument of cast function must match or be binary-coercible from source data type")
	case len(f.args) > 1 && f.args[1] != sqltypes.OIDInt4:
		return bad("second argument of cast function must be type %s", "integer")
	case len(f.args) > 2 && f.args[2] != sqltypes.OIDBool:
		return bad("third argument of cast function must be type %s", "boolean")
	case !bind.BinaryCoercible(ctx, f.ret, target):
		return bad("return data type of cast function must match or be binary-coercible to target data type")
	case f.kind != 'f' && f.kind != 0:
		return bad("cast function must be a normal function")
	case f.retSet:
		return bad("cast function must not return a set")
	}
	return r.mayExecute(f)
}

// mayRelabel refuses a cast WITHOUT FUNCTION between types that are not stored alike.
func (r *run) mayRelabel(s, t *sqltypes.Type) error {
	bad := func(what string) error { return pgerror.New(pgerror.InvalidObjectDefinition, "%s", what) }
	is := func(f func(*sqltypes.Type) bool) bool { return f(s) || f(t) }
	switch {
	case !r.isSuper():
		return pgerror.New(pgerror.InsufficientPrivilege, "must be superuser to create a cast WITHOUT FUNCTION")
	case is(func(x *sqltypes.Type) bool { return x.TypType == 'c' }):
		return bad("composite data types are not binary-compatible")
	case is(func(x *sqltypes.Type) bool { return x.IsArray }):
		return bad("array data types are not binary-compatible")
	case is(func(x *sqltypes.Type) bool { return x.TypType == 'r' || x.TypType == 'm' }):
		return bad("range data types are not binary-compatible")
	case is(func(x *sqltypes.Type) bool { return x.TypType == 'e' }):
		return bad("enum data types are not binary-compatible")
	case is(func(x *sqltypes.Type) bool { return x.TypType == 'd' }):
		return bad("domain data types must not be marked binary-compatible")
	case s.Kind != t.Kind || s.Len != t.Len:
		return bad("source and target data types are not physically compatible")
	}
	return nil
}

// cast finds the user's cast that a list of two type names means; nil, nil when there is none.
func (r *run) cast(n *pg.Node) (c *catalog.Cast, words string, err error) {
	l := n.GetList().GetItems()
	s, t, err := r.castTypes(l[0].GetTypeName(), l[1].GetTypeName())
	if err != nil {
		return nil, "", err
	}
	words = sprintf("cast from type %s to type %s", r.typeName(s.OID), r.typeName(t.OID))
	if c = r.catalog().CastBetween(s.OID, t.OID); c != nil {
		if !r.ownsType(c.Source) && !r.ownsType(c.Target) {
			return nil, words, pgerror.New(pgerror.InsufficientPrivilege, "must be owner of type %s or type %s", r.typeName(s.OID), r.typeName(t.OID))
		}
		return c, words, nil
	}
	if sqltypes.CastBetween(s.OID, t.OID) != nil {
		return nil, words, pgerror.New(pgerror.DependentObjectsStillExist, "cannot drop %s because it is required by the database system", words)
	}
	return nil, words, nil
}

func (r *run) dropCasts(n *pg.DropStmt) error {
	for _, obj := range n.Objects {
		c, words, err := r.cast(obj)
		if err != nil {
			if e, ok := err.(*pgerror.Error); ok && n.MissingOk && missingObject(e) {
				r.notice("%s, skipping", e.Message)
				continue
			}
			return err
		}
		if c == nil {
			if n.MissingOk {
				r.notice("%s does not exist, skipping", words)
				continue
			}
			return pgerror.New(pgerror.UndefinedObject, "%s does not exist", words)
		}
		r.schema().DropCast(c.OID)
	}
	return nil
}

func (r *run) commentCast(n *pg.CommentStmt) error {
	c, words, err := r.cast(n.Object)
	if err != nil {
		return err
	}
	if c == nil {
		return pgerror.New(pgerror.UndefinedObject, "%s does not exist", words)
	}
	cp := *c
	cp.Comment = n.Comment
	r.schema().PutCast(&cp)
	return nil
}
