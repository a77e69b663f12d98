package bind

import (
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// checkGeneric is check_generic_type_consistency: can these types be the actual
// arguments of these polymorphic ones?
func (b *binder) checkGeneric(actual, declared []sqltypes.OID) bool {
	p := &polySolver{b: b}
	return p.solve(actual, declared, true)
}

// resolveGeneric is enforce_generic_type_consistency: declared is overwritten
// with actual types; the result is the actual result type.
func (b *binder) resolveGeneric(actual, declared []sqltypes.OID, ret sqltypes.OID) sqltypes.OID {
	poly := false
	for _, d := range declared {
		poly = poly || isPoly(d)
	}
	if !poly {
		return ret
	}
	p := &polySolver{b: b}
	p.solve(actual, declared, false)
	return p.apply(actual, declared, ret)
}

// polySolver finds the types that polymorphic parameters stand for.
type polySolver struct {
	b                              *binder
	elem, array, rng, multi        sqltypes.OID // family 1
	compat, carray, crange, cmulti sqltypes.OID // family 2
	nonArray, enum                 bool
	compatNonArray                 bool
	compatTypes                    []sqltypes.OID
	hasCompat                      bool
	haveFamily1Args                bool
}

// solve fails quietly (check) or with PostgreSQL's error.
func (p *polySolver) solve(actual, declared []sqltypes.OID, check bool) bool {
	b := p.b
	ok := true
	bad := func(f func() *pgerror.Error) {
		ok = false
		if !check {
			panic(f())
		}
	}
	alike := func(what string, have *sqltypes.OID, now sqltypes.OID) {
		if *have != 0 && *have != now {
			h := *have
			bad(func() *pgerror.Error {
				return pgerror.New(pgerror.DatatypeMismatch, `arguments declared "%s" are not all alike`, what).
					WithDetail("%s versus %s", b.typeName(h), b.typeName(now))
			})
		}
		*have = now
	}
	for i, d := range declared {
		a := actual[i]
		switch d {
		case sqltypes.OIDAnyelement, sqltypes.OIDAnynonarray, sqltypes.OIDAnyenum:
			p.haveFamily1Args = true
			if d == sqltypes.OIDAnynonarray {
				p.nonArray = true
			}
			if d == sqltypes.OIDAnyenum {
				p.enum = true
			}
			if isUnknown(a) {
				continue
			}
			alike("anyelement", &p.elem, a)
		case sqltypes.OIDAnyarray:
			p.haveFamily1Args = true
			if isUnknown(a) {
				continue
			}
			alike("anyarray", &p.array, b.baseType(a))
		case sqltypes.OIDAnyrange:
			p.haveFamily1Args = true
			if isUnknown(a) {
				continue
			}
			alike("anyrange", &p.rng, b.baseType(a))
		case sqltypes.OIDAnymultirange:
			p.haveFamily1Args = true
			if isUnknown(a) {
				continue
			}
			alike("anymultirange", &p.multi, b.baseType(a))
		case sqltypes.OIDAnycompatible, sqltypes.OIDAnycompatiblenonarray:
			p.hasCompat = true
			if d == sqltypes.OIDAnycompatiblenonarray {
				p.compatNonArray = true
			}
			if isUnknown(a) {
				continue
			}
			p.compatTypes = append(p.compatTypes, a)
		case sqltypes.OIDAnycompatiblearray:
			p.hasCompat = true
			if isUnknown(a) {
				continue
			}
			e := b.baseElemType(a)
			if e == 0 {
				bad(func() *pgerror.Error {
					return pgerror.New(pgerror.DatatypeMismatch, "argument declared %s is not an array but type %s", "anycompatiblearray", b.typeName(a))
				})
				continue
			}
			p.carray = b.baseType(a)
			p.compatTypes = append(p.compatTypes, e)
		case sqltypes.OIDAnycompatiblerange:
			p.hasCompat = true
			if isUnknown(a) {
				continue
			}
			a = b.baseType(a)
			if p.crange != 0 && p.crange != a {
				h := p.crange
				bad(func() *pgerror.Error {
					return pgerror.New(pgerror.DatatypeMismatch, `arguments declared "%s" are not all alike`, "anycompatiblerange").
						WithDetail("%s versus %s", b.typeName(h), b.typeName(a))
				})
				continue
			}
			p.crange = a
			if st := b.rangeSubtype(a); st != 0 {
				p.compatTypes = append(p.compatTypes, st)
			} else {
				bad(func() *pgerror.Error {
					return pgerror.New(pgerror.DatatypeMismatch, "argument declared %s is not a range type but type %s", "anycompatiblerange", b.typeName(a))
				})
			}
		case sqltypes.OIDAnycompatiblemultirange:
			p.hasCompat = true
			if isUnknown(a) {
				continue
			}
			a = b.baseType(a)
			if p.cmulti != 0 && p.cmulti != a {
				h := p.cmulti
				bad(func() *pgerror.Error {
					return pgerror.New(pgerror.DatatypeMismatch, `arguments declared "%s" are not all alike`, "anycompatiblemultirange").
						WithDetail("%s versus %s", b.typeName(h), b.typeName(a))
				})
				continue
			}
			p.cmulti = a
			r := b.rangeOfMulti(a)
			if r == 0 {
				bad(func() *pgerror.Error {
					return pgerror.New(pgerror.DatatypeMismatch, "argument declared %s is not a multirange type but type %s", "anycompatiblemultirange", b.typeName(a))
				})
				continue
			}
			p.crange = r
			p.compatTypes = append(p.compatTypes, b.rangeSubtype(r))
		}
	}
	if !ok {
		return false
	}
	if p.array != 0 {
		if p.array == sqltypes.OIDAnyarray {
			// Only from pg_statistic's columns: element unknown.
			if p.nonArray || p.enum || p.elem != 0 {
				return false
			}
		} else {
			e := b.elemType(p.array)
			arr := p.array
			if e == 0 {
				bad(func() *pgerror.Error {
					return pgerror.New(pgerror.DatatypeMismatch, "argument declared %s is not an array but type %s", "anyarray", b.typeName(arr))
				})
				return false
			}
			p.unify(&ok, check, e, "anyarray")
		}
	}
	if p.multi != 0 {
		r := b.rangeOfMulti(p.multi)
		if r == 0 {
			m := p.multi
			bad(func() *pgerror.Error {
				return pgerror.New(pgerror.DatatypeMismatch, "argument declared %s is not a multirange type but type %s", "anymultirange", b.typeName(m))
			})
			return false
		}
		if p.rng == 0 {
			p.rng = r
		} else if p.rng != r {
			m := p.multi
			bad(func() *pgerror.Error {
				return pgerror.New(pgerror.DatatypeMismatch, "argument declared %s is not consistent with argument declared %s", "anymultirange", "anyrange").
					WithDetail("%s versus %s", b.typeName(m), b.typeName(p.rng))
			})
			return false
		}
	}
	if p.rng != 0 {
		st := b.rangeSubtype(p.rng)
		if st == 0 {
			r := p.rng
			bad(func() *pgerror.Error {
				return pgerror.New(pgerror.DatatypeMismatch, "argument declared %s is not a range type but type %s", "anyrange", b.typeName(r))
			})
			return false
		}
		p.unify(&ok, check, st, "anyrange")
	}
	if !ok {
		return false
	}
	if p.elem != 0 {
		if p.nonArray && b.baseElemType(p.elem) != 0 {
			e := p.elem
			bad(func() *pgerror.Error {
				return pgerror.New(pgerror.DatatypeMismatch, "type matched to anynonarray is an array type: %s", b.typeName(e))
			})
		}
		if t := b.typ(p.elem); p.enum && (t == nil || t.TypType != 'e') {
			e := p.elem
			bad(func() *pgerror.Error {
				return pgerror.New(pgerror.DatatypeMismatch, "type matched to anyenum is not an enum type: %s", b.typeName(e))
			})
		}
	}
	if p.hasCompat && len(p.compatTypes) > 0 {
		c := p.b.commonTypeOf(p.compatTypes, func(int) int32 { return -1 }, "")
		if c == 0 {
			if check {
				return false
			}
			p.b.commonTypeOf(p.compatTypes, func(int) int32 { return -1 }, "anycompatible")
		}
		for _, t := range p.compatTypes {
			if !b.canCoerce1(t, c, implicit) {
				bad(func() *pgerror.Error {
					return pgerror.New(pgerror.DatatypeMismatch, `arguments of anycompatible family cannot be cast to a common type`)
				})
				return false
			}
		}
		if p.crange != 0 && b.rangeSubtype(p.crange) != c {
			bad(func() *pgerror.Error {
				return pgerror.New(pgerror.DatatypeMismatch, "anycompatiblerange type %s does not match anycompatible type %s", b.typeName(p.crange), b.typeName(c))
			})
			return false
		}
		if p.compatNonArray && b.baseElemType(c) != 0 {
			bad(func() *pgerror.Error {
				return pgerror.New(pgerror.DatatypeMismatch, "type matched to anycompatiblenonarray is an array type: %s", b.typeName(c))
			})
			return false
		}
		p.compat = c
	}
	return ok
}

// unify sets or compares the element type with one derived from an array or range argument.
func (p *polySolver) unify(ok *bool, check bool, e sqltypes.OID, what string) {
	if p.elem == 0 {
		p.elem = e
		return
	}
	if p.elem == e || what == "anyarray" && p.b.baseType(p.elem) == e && p.elem == e {
		return
	}
	*ok = false
	if !check {
		panic(pgerror.New(pgerror.DatatypeMismatch, "argument declared %s is not consistent with argument declared %s", what, "anyelement").
			WithDetail("%s versus %s", p.b.typeName(p.whole(what)), p.b.typeName(p.elem)))
	}
}

func (p *polySolver) whole(what string) sqltypes.OID {
	if what == "anyarray" {
		return p.array
	}
	return p.rng
}

// apply fills polymorphic declared types in and returns the result type.
func (p *polySolver) apply(actual, declared []sqltypes.OID, ret sqltypes.OID) sqltypes.OID {
	b := p.b
	if p.elem == 0 && p.haveFamily1Args && p.array != sqltypes.OIDAnyarray {
		panic(pgerror.New(pgerror.DatatypeMismatch, "could not determine polymorphic type because input has type %s", "unknown"))
	}
	if p.hasCompat && p.compat == 0 {
		p.compat = sqltypes.OIDText
	}
	for i, d := range declared {
		switch d {
		case sqltypes.OIDAnyelement, sqltypes.OIDAnynonarray, sqltypes.OIDAnyenum:
			declared[i] = p.elem
		case sqltypes.OIDAnyarray:
			if p.array == 0 {
				p.array = b.arrayOf(p.elem)
			}
			declared[i] = p.array
		case sqltypes.OIDAnyrange, sqltypes.OIDAnymultirange:
			declared[i] = p.rangeFor(d)
		case sqltypes.OIDAnycompatible, sqltypes.OIDAnycompatiblenonarray:
			declared[i] = p.compat
		case sqltypes.OIDAnycompatiblearray:
			declared[i] = b.arrayOf(p.compat)
		case sqltypes.OIDAnycompatiblerange, sqltypes.OIDAnycompatiblemultirange:
			declared[i] = p.compatRangeFor(d)
		}
	}
	switch ret {
	case sqltypes.OIDAnyelement, sqltypes.OIDAnynonarray, sqltypes.OIDAnyenum:
		if p.elem == 0 && p.array == sqltypes.OIDAnyarray {
			return sqltypes.OIDAnyelement
		}
		return p.elem
	case sqltypes.OIDAnyarray:
		if p.array == 0 {
			p.array = b.arrayOf(p.elem)
		}
		return p.array
	case sqltypes.OIDAnyrange, sqltypes.OIDAnymultirange:
		return p.rangeFor(ret)
	case sqltypes.OIDAnycompatible, sqltypes.OIDAnycompatiblenonarray:
		return p.compat
	case sqltypes.OIDAnycompatiblearray:
		return b.arrayOf(p.compat)
	case sqltypes.OIDAnycompatiblerange, sqltypes.OIDAnycompatiblemultirange:
		return p.compatRangeFor(ret)
	}
	return ret
}

func (p *polySolver) rangeFor(d sqltypes.OID) sqltypes.OID {
	if p.rng == 0 {
		panic(pgerror.New(pgerror.DatatypeMismatch, "could not determine polymorphic type because input has type %s", "unknown"))
	}
	if d == sqltypes.OIDAnymultirange {
		if m := p.b.multiOfRange(p.rng); m != 0 {
			return m
		}
		panic(pgerror.New(pgerror.UndefinedObject, "could not find multirange type for data type %s", p.b.typeName(p.rng)))
	}
	return p.rng
}

func (p *polySolver) compatRangeFor(d sqltypes.OID) sqltypes.OID {
	if p.crange == 0 {
		panic(pgerror.New(pgerror.DatatypeMismatch, "could not determine polymorphic type %s because input has type %s", p.b.typeName(d), "unknown"))
	}
	if d == sqltypes.OIDAnycompatiblemultirange {
		return p.b.multiOfRange(p.crange)
	}
	return p.crange
}

func (b *binder) arrayOf(elem sqltypes.OID) sqltypes.OID {
	if a := b.arrayType(elem); a != 0 {
		return a
	}
	panic(pgerror.New(pgerror.UndefinedObject, "could not find array type for data type %s", b.typeName(elem)))
}

func (b *binder) rangeSubtype(oid sqltypes.OID) sqltypes.OID {
	if t := b.typ(oid); t != nil && t.TypType == 'r' && t.Range != nil && t.Range.Subtype != nil {
		return t.Range.Subtype.OID
	}
	return 0
}

func (b *binder) rangeOfMulti(oid sqltypes.OID) sqltypes.OID {
	if t := b.typ(oid); t != nil && t.TypType == 'm' && t.Range != nil && t.Range.Range != nil {
		return t.Range.Range.OID
	}
	return 0
}

func (b *binder) multiOfRange(oid sqltypes.OID) sqltypes.OID {
	if t := b.typ(oid); t != nil && t.TypType == 'r' && t.Range != nil && t.Range.Multi != nil {
		return t.Range.Multi.OID
	}
	return 0
}
