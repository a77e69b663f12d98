package bind

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// coercion contexts, weakest first (CoercionContext).
const (
	implicit   = byte('i')
	assignment = byte('a')
	explicit   = byte('e')
)

func ctxRank(c byte) int {
	switch c {
	case implicit:
		return 0
	case assignment:
		return 1
	}
	return 2
}

// form is the Coercion mark of the nodes that a coercion makes.
func form(ctx byte) byte {
	if ctx == explicit {
		return 'e'
	}
	return 'i'
}

type pathKind byte

const (
	pathNone pathKind = iota
	pathFunc
	pathRelabel
	pathArray
	pathIO
)

// pathway is find_coercion_pathway.
func (b *binder) pathway(dst, src sqltypes.OID, ctx byte) (pathKind, *sqltypes.Proc) {
	src, dst = b.baseType(src), b.baseType(dst)
	if src == dst {
		return pathRelabel, nil
	}
	if c := b.userCast(src, dst); c != nil {
		if ctxRank(ctx) < ctxRank(c.Context) {
			return pathNone, nil
		}
		switch c.Method {
		case 'f':
			return pathFunc, b.procByOID(c.Func)
		case 'i':
			return pathIO, nil
		}
		return pathRelabel, nil
	}
	if ctx == explicit {
		if f := b.multirangeOf(src, dst); f != nil {
			return pathFunc, f
		}
	}
	if c := sqltypes.CastBetween(src, dst); c != nil {
		if ctxRank(ctx) < ctxRank(c.Context) {
			return pathNone, nil
		}
		switch c.Method {
		case 'f':
			return pathFunc, c.Proc
		case 'i':
			return pathIO, nil
		}
		return pathRelabel, nil
	}
	// Arrays: as their elements do. int2vector and oidvector are no ordinary arrays.
	if dst != sqltypes.OIDOidvector && dst != sqltypes.OIDInt2vector {
		if te, se := b.elemType(dst), b.elemType(src); te != 0 && se != 0 {
			if k, p := b.pathway(te, se, ctx); k != pathNone {
				if k == pathIO {
					return pathArray, nil
				}
				return pathArray, p
			}
		}
	}
	if ctxRank(ctx) >= 1 {
		if cat, _ := b.category(dst); cat == 'S' {
			return pathIO, nil
		}
		if ctx == explicit {
			if cat, _ := b.category(src); cat == 'S' {
				return pathIO, nil
			}
		}
	}
	return pathNone, nil
}

// multirangeOf is the function that casts a user's range type to its multirange type.
func (b *binder) multirangeOf(src, dst sqltypes.OID) *sqltypes.Proc {
	if b.cat == nil {
		return nil
	}
	u := b.cat.UserType(src)
	if u == nil || u.Kind != 'r' || u.Multirange != dst {
		return nil
	}
	m := b.cat.UserType(dst)
	if m == nil {
		return nil
	}
	for _, f := range b.cat.FunctionsByName(m.Schema, m.Name) {
		if f.Body == "multirange_constructor1" && f.RetType == dst {
			return b.userProc(f)
		}
	}
	return nil
}

// userCast is the cast that a user has made between two types, or nil.
func (b *binder) userCast(src, dst sqltypes.OID) *catalog.Cast {
	if b.cat == nil {
		return nil
	}
	return b.cat.CastBetween(src, dst)
}

// canCoerce is can_coerce_type for lists of types.
func (b *binder) canCoerce(in, out []sqltypes.OID, ctx byte) bool {
	generic := false
	for i, src := range in {
		dst := out[i]
		switch {
		case src == dst, dst == sqltypes.OIDAny:
			continue
		case isPoly(dst):
			generic = true
			continue
		case isUnknown(src):
			continue
		}
		if k, _ := b.pathway(dst, src, ctx); k != pathNone {
			continue
		}
		if src == sqltypes.OIDRecord && b.isComplex(dst) {
			continue
		}
		if dst == sqltypes.OIDRecord && b.isComplex(src) {
			continue
		}
		if dst == sqltypes.OIDRecordArray && b.elemType(src) != 0 && b.isComplex(b.elemType(src)) {
			continue
		}
		return false
	}
	return !generic || b.checkGeneric(in, out)
}

func (b *binder) canCoerce1(src, dst sqltypes.OID, ctx byte) bool {
	return b.canCoerce([]sqltypes.OID{src}, []sqltypes.OID{dst}, ctx)
}

// coerceToTarget is coerce_to_target_type: nil when it cannot be done.
func (s *scope) coerceToTarget(e expr.Expr, dst sqltypes.OID, typmod int32, ctx byte, loc int32) expr.Expr {
	if !s.b.canCoerce1(typeOf(e), dst, ctx) {
		return nil
	}
	return s.coerceTypmod(s.coerce(e, dst, typmod, ctx, loc), dst, typmod, ctx, loc)
}

// coerce is coerce_type: the caller knows that it can be done. Lengths are not
// applied (coerceTypmod does).
func (s *scope) coerce(e expr.Expr, dst sqltypes.OID, typmod int32, ctx byte, loc int32) expr.Expr {
	b := s.b
	src := typeOf(e)
	if src == dst {
		return e
	}
	switch dst {
	case sqltypes.OIDAny, sqltypes.OIDAnyelement, sqltypes.OIDAnynonarray, sqltypes.OIDAnycompatible, sqltypes.OIDAnycompatiblenonarray:
		return e
	case sqltypes.OIDAnyarray, sqltypes.OIDAnyenum, sqltypes.OIDAnyrange, sqltypes.OIDAnymultirange,
		sqltypes.OIDAnycompatiblearray, sqltypes.OIDAnycompatiblerange, sqltypes.OIDAnycompatiblemultirange:
		if !isUnknown(src) {
			if base := b.baseType(src); base != src {
				return &expr.Relabel{T: tt(b.columnType(base)), Arg: e, Coercion: 'i'}
			}
			return e
		}
	}
	if isUnknown(src) {
		switch x := e.(type) {
		case *expr.Const:
			return s.coerceLiteral(x, dst, typmod, ctx, loc)
		case *expr.Param:
			if r := b.coerceParam(x, dst, loc); r != nil {
				return s.toDomainOrSelf(r, dst, ctx)
			}
		case *expr.Relabel: // COLLATE over a literal
			if b.explicit[e] {
				inner := s.coerce(x.Arg, dst, typmod, ctx, loc)
				return s.withCollation(inner, x.Typ.Collation)
			}
		}
	}
	if x, ok := e.(*expr.Relabel); ok && b.explicit[e] {
		inner := s.coerce(x.Arg, dst, typmod, ctx, loc)
		if t := b.typ(dst); t != nil && t.Collation != 0 {
			return s.withCollation(inner, x.Typ.Collation)
		}
		return inner
	}
	kind, proc := b.pathway(dst, src, ctx)
	base, baseMod := b.baseTypeMod(dst, typmod)
	if kind != pathNone {
		if kind == pathRelabel {
			if base == dst {
				return &expr.Relabel{T: expr.T{Typ: s.keepCollation(e, sqltypes.ColumnType{OID: dst, TypMod: noTypMod})}, Arg: e, Coercion: form(ctx)}
			}
			return s.toDomain(e, dst, baseMod, ctx, loc)
		}
		out := s.applyPath(kind, proc, e, base, baseMod, ctx, loc)
		if base != dst {
			out = s.toDomain(out, dst, baseMod, ctx, loc)
		}
		return out
	}
	if src == sqltypes.OIDRecord && b.composite(dst) != nil {
		return s.recordToComplex(e, dst, ctx, loc)
	}
	if (dst == sqltypes.OIDRecord && b.isComplex(src)) || dst == sqltypes.OIDRecordArray {
		return &expr.Relabel{T: tt(b.columnType(dst)), Arg: e, Coercion: form(ctx)}
	}
	b.fail(loc, pgerror.InternalError, "failed to find conversion function from %s to %s", b.typeName(src), b.typeName(dst))
	return nil
}

// keepCollation gives a relabelled type the collation of its argument when both are collatable.
func (s *scope) keepCollation(e expr.Expr, ct sqltypes.ColumnType) sqltypes.ColumnType {
	if t := s.b.typ(ct.OID); t != nil && t.Collation != 0 {
		ct.Collation = t.Collation
		if c := collOf(e); c != 0 {
			ct.Collation = c
		}
	}
	return ct
}

// coerceLiteral turns a literal of unknown type into a constant of the target
// type by its input function.
func (s *scope) coerceLiteral(c *expr.Const, dst sqltypes.OID, typmod int32, ctx byte, loc int32) expr.Expr {
	b := s.b
	base, inMod := b.baseTypeMod(dst, typmod)
	// Lengths are applied later, by the rules of the context; interval's fields
	// must be known while reading.
	constMod := noTypMod
	if base == sqltypes.OIDInterval {
		constMod = inMod
	}
	t := b.typ(base)
	if t == nil {
		b.fail(loc, pgerror.UndefinedObject, "type with OID %d does not exist", base)
	}
	out := &expr.Const{T: tt(b.columnTypeMod(base, constMod)), Val: sqltypes.Null}
	if !c.Val.Null {
		if c := s.litLoc(c); c >= 0 {
			loc = c
		}
		if oid, ok := s.regLiteral(base, c.Val.S, loc); ok {
			out.Val = sqltypes.Int(int64(oid))
			if base != dst {
				return s.toDomain(out, dst, inMod, ctx, loc)
			}
			return out
		}
		d, err := t.In(b.env, c.Val.S, constMod)
		b.check(err, loc)
		out.Val = d
	}
	if base != dst {
		return s.toDomain(out, dst, inMod, ctx, loc)
	}
	return out
}

// applyPath is build_coercion_expression.
func (s *scope) applyPath(kind pathKind, proc *sqltypes.Proc, e expr.Expr, dst sqltypes.OID, typmod int32, ctx byte, loc int32) expr.Expr {
	b := s.b
	switch kind {
	case pathFunc:
		args := []expr.Expr{e}
		if len(proc.ArgTypes) >= 2 {
			args = append(args, &expr.Const{T: tt(b.columnType(sqltypes.OIDInt4)), Val: sqltypes.Int(int64(typmod))})
		}
		resMod := noTypMod
		if len(proc.ArgTypes) >= 3 {
			args = append(args, &expr.Const{T: boolT, Val: sqltypes.Bool(ctx == explicit)})
		}
		if len(args) > 1 {
			resMod = typmod
		}
		c := &expr.Call{T: tt(b.columnTypeMod(dst, resMod)), Proc: proc, Args: args, Coercion: form(ctx)}
		s.setCollation(c, args[:1], loc)
		return c
	case pathIO:
		return &expr.CoerceViaIO{T: tt(s.keepCollation(e, b.columnType(dst))), Arg: e, Coercion: form(ctx)}
	case pathArray:
		selem := b.baseElemType(typeOf(e))
		if selem == 0 {
			selem = b.elemType(typeOf(e))
		}
		telem := b.elemType(dst)
		val := &expr.CaseValue{T: tt(b.columnTypeMod(selem, typmodOf(e)))}
		if b.typ(telem).TypType == 'd' {
			typmod = noTypMod
		}
		el := s.coerceToTarget(val, telem, typmod, ctx, loc)
		if el == nil {
			b.fail(loc, pgerror.InternalError, "failed to coerce array element type as expected")
		}
		return &expr.ArrayCoerce{T: tt(s.keepCollation(e, b.columnTypeMod(dst, typmod))), Arg: e, Elem: el, Coercion: form(ctx)}
	}
	panic("bind: no coercion path")
}

// coerceTypmod applies a length or precision (coerce_type_typmod).
func (s *scope) coerceTypmod(e expr.Expr, dst sqltypes.OID, typmod int32, ctx byte, loc int32) expr.Expr {
	b := s.b
	if typmod < 0 || typmod == typmodOf(e) {
		return e
	}
	if x, ok := e.(*expr.Relabel); ok && b.explicit[e] {
		return s.withCollation(s.coerceTypmod(x.Arg, dst, typmod, ctx, loc), x.Typ.Collation)
	}
	if b.typ(dst) != nil && b.typ(dst).TypType == 'd' {
		return e
	}
	if el := b.elemType(dst); el != 0 {
		if c := sqltypes.CastBetween(el, el); c != nil && c.Method == 'f' {
			return s.applyPath(pathArray, c.Proc, e, dst, typmod, ctx, loc)
		}
		return e
	}
	if c := sqltypes.CastBetween(dst, dst); c != nil && c.Method == 'f' {
		return s.applyPath(pathFunc, c.Proc, e, dst, typmod, ctx, loc)
	}
	return e
}

func (s *scope) toDomainOrSelf(e expr.Expr, dst sqltypes.OID, ctx byte) expr.Expr {
	if t := s.b.typ(dst); t != nil && t.TypType == 'd' && typeOf(e) != dst {
		_, m := s.b.baseTypeMod(dst, noTypMod)
		return s.toDomain(e, dst, m, ctx, -1)
	}
	return e
}

// toDomain adds the domain's length and its constraints to an expression of its
// base type (coerce_to_domain). Constraints of every domain on the way are checked, innermost first.
func (s *scope) toDomain(e expr.Expr, dst sqltypes.OID, baseMod int32, ctx byte, loc int32) expr.Expr {
	b := s.b
	base := b.baseType(dst)
	e = s.coerceTypmod(e, base, baseMod, ctx, loc)
	out := &expr.CoerceDomain{T: tt(s.keepCollation(e, b.columnTypeMod(dst, noTypMod))), Arg: e, Domain: b.domainName(dst)}
	var chain []sqltypes.OID
	for t := b.typ(dst); t != nil && t.TypType == 'd'; t = b.typ(t.BaseType) {
		chain = append(chain, t.OID)
	}
	for i := len(chain) - 1; i >= 0; i-- {
		u := b.cat.UserType(chain[i])
		if u == nil {
			continue
		}
		out.NotNull = out.NotNull || u.NotNull
		for _, c := range u.Checks {
			cond, err := b.domainExpr(u, c.Expr)
			b.check(err, loc)
			out.Checks = append(out.Checks, expr.DomainCheck{Name: c.Name, Cond: cond})
		}
	}
	return out
}

func (b *binder) domainName(oid sqltypes.OID) string {
	if t := b.typ(oid); t != nil {
		return t.Name
	}
	return ""
}

// recordToComplex coerces ROW(…) or a record variable field by field.
func (s *scope) recordToComplex(e expr.Expr, dst sqltypes.OID, ctx byte, loc int32) expr.Expr {
	b := s.b
	t := b.composite(dst)
	var fields []expr.Expr
	switch x := e.(type) {
	case *expr.RowCtor:
		fields = x.Fields
	default:
		if item := s.wholeRowItem(e); item != nil {
			for i := 0; i < item.numCols(); i++ {
				fields = append(fields, item.colExpr(i, 0))
			}
			break
		}
		b.fail(loc, pgerror.CannotCoerce, "cannot cast type %s to %s", b.typeName(sqltypes.OIDRecord), b.typeName(dst))
	}
	cant := func(detail string, args ...any) {
		panic(b.errAt(loc, pgerror.CannotCoerce, "cannot cast type %s to %s", b.typeName(sqltypes.OIDRecord), b.typeName(dst)).WithDetail(detail, args...))
	}
	out := &expr.RowCtor{T: tt(sqltypes.ColumnType{OID: t.OID, TypMod: noTypMod})}
	for i, f := range t.Fields {
		if i >= len(fields) {
			cant("Input has too few columns.")
		}
		x := s.coerceToTarget(fields[i], f.OID, f.TypMod, ctx, loc)
		if x == nil {
			cant("Cannot cast type %s to %s in column %d.", b.typeName(typeOf(fields[i])), b.typeName(f.OID), i+1)
		}
		out.Fields = append(out.Fields, x)
		out.Names = append(out.Names, f.Name)
	}
	if len(fields) > len(t.Fields) {
		cant("Input has too many columns.")
	}
	if t.OID != dst {
		_, m := b.baseTypeMod(dst, noTypMod)
		return s.toDomain(out, dst, m, ctx, loc)
	}
	return out
}

// coerceToBoolean is coerce_to_boolean.
func (s *scope) coerceToBoolean(e expr.Expr, n *pg.Node, construct string) expr.Expr {
	b := s.b
	loc := exprLoc(n)
	if typeOf(e) != sqltypes.OIDBool {
		r := s.coerceToTarget(e, sqltypes.OIDBool, noTypMod, assignment, loc)
		if r == nil {
			b.fail(loc, pgerror.DatatypeMismatch, "argument of %s must be type %s, not type %s", construct, "boolean", b.typeName(typeOf(e)))
		}
		e = r
	}
	if returnsSet(e) {
		b.fail(loc, pgerror.DatatypeMismatch, "argument of %s must not return a set", construct)
	}
	return e
}

// coerceSpecific is coerce_to_specific_type.
func (s *scope) coerceSpecific(e expr.Expr, n *pg.Node, target sqltypes.OID, construct string) expr.Expr {
	b := s.b
	loc := exprLoc(n)
	if typeOf(e) != target {
		r := s.coerceToTarget(e, target, noTypMod, assignment, loc)
		if r == nil {
			b.fail(loc, pgerror.DatatypeMismatch, "argument of %s must be type %s, not type %s", construct, b.typeName(target), b.typeName(typeOf(e)))
		}
		e = r
	}
	if returnsSet(e) {
		b.fail(loc, pgerror.DatatypeMismatch, "argument of %s must not return a set", construct)
	}
	return e
}

// commonType is select_common_type: context "" answers 0 instead of an error.
func (b *binder) commonType(es []expr.Expr, ns []*pg.Node, context string) sqltypes.OID {
	types := make([]sqltypes.OID, len(es))
	for i, e := range es {
		types[i] = typeOf(e)
	}
	return b.commonTypeOf(types, func(i int) int32 {
		if i < len(ns) {
			return exprLoc(ns[i])
		}
		return -1
	}, context)
}

func (b *binder) commonTypeOf(types []sqltypes.OID, loc func(int) int32, context string) sqltypes.OID {
	ptype := types[0]
	same := !isUnknown(ptype)
	for _, t := range types[1:] {
		same = same && t == ptype
	}
	if same {
		return ptype
	}
	ptype = b.baseType(ptype)
	pcat, ppref := b.category(ptype)
	if isUnknown(ptype) {
		pcat = 'X'
	}
	for i, t := range types[1:] {
		nt := b.baseType(t)
		if isUnknown(nt) || nt == ptype {
			continue
		}
		ncat, npref := b.category(nt)
		switch {
		case isUnknown(ptype):
			ptype, pcat, ppref = nt, ncat, npref
		case ncat != pcat:
			if context == "" {
				return 0
			}
			b.fail(loc(i+1), pgerror.DatatypeMismatch, "%s types %s and %s cannot be matched", context, b.typeName(ptype), b.typeName(nt))
		case !ppref && b.canCoerce1(ptype, nt, implicit) && !b.canCoerce1(nt, ptype, implicit):
			ptype, pcat, ppref = nt, ncat, npref
		}
	}
	if isUnknown(ptype) {
		return sqltypes.OIDText
	}
	return ptype
}

// commonTypmod: the modifier all have, if they have the common type.
func commonTypmod(es []expr.Expr, common sqltypes.OID) int32 {
	first := true
	m := noTypMod
	for _, e := range es {
		switch {
		case typeOf(e) != common:
			return noTypMod
		case first:
			m, first = typmodOf(e), false
		case typmodOf(e) != m:
			return noTypMod
		}
	}
	return m
}

// coerceCommon is coerce_to_common_type.
func (s *scope) coerceCommon(e expr.Expr, target sqltypes.OID, context string, loc int32) expr.Expr {
	if typeOf(e) == target {
		return e
	}
	if s.b.canCoerce1(typeOf(e), target, implicit) {
		return s.coerce(e, target, noTypMod, implicit, loc)
	}
	s.b.fail(loc, pgerror.CannotCoerce, "%s could not convert type %s to %s", context, s.b.typeName(typeOf(e)), s.b.typeName(target))
	return nil
}
