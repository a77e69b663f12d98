package syscat

import (
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

func registerOperators(s *Set) {
	s.static("pg_catalog.pg_operator", columnNames("pg_operator"), func(q *Query, emit Emit) error {
		q.system(func() { emitFixed("pg_operator", emit) })
		for _, o := range sorted(q.Cat.AllOperators, func(o *catalog.Operator) sqltypes.OID { return o.OID }) {
			kind := byte('b')
			if o.Left == 0 {
				kind = 'l'
			}
			emit(oid(o.OID), text(o.Name), oid(o.Schema), oid(o.Owner), char(kind), yes(o.Merges), yes(o.Hashes), oid(o.Left), oid(o.Right),
				oid(o.Result), oid(o.Commutator), oid(o.Negator), oid(o.Proc), oid(o.Restrict), oid(o.Join))
		}
		return nil
	})
	s.static("pg_catalog.pg_cast", columnNames("pg_cast"), func(q *Query, emit Emit) error {
		q.system(func() { emitFixed("pg_cast", emit) })
		for _, t := range userTypes(q.Cat) {
			if t.Kind != 'r' || t.Multirange == 0 {
				continue
			}
			q.Cat.AllFunctions(func(f *catalog.Function) bool { // the one-argument constructor is the cast
				if f.Language == "internal" && f.Body == "multirange_constructor1" && f.RetType == t.Multirange {
					emit(oid(castOID(t.OID)), oid(t.OID), oid(t.Multirange), oid(f.OID), char('e'), char('f'))
				}
				return true
			})
		}
		for _, c := range sorted(q.Cat.AllCasts, func(c *catalog.Cast) sqltypes.OID { return c.OID }) {
			emit(oid(c.OID), oid(c.Source), oid(c.Target), oid(c.Func), char(c.Context), char(c.Method))
		}
		return nil
	})
}

// findOperator is a built-in or a user's operator; nil if there is none.
func (l *lookup) findOperator(o sqltypes.OID) *catalog.Operator {
	if b := sqltypes.OperatorByOID(o); b != nil {
		return &catalog.Operator{OID: b.OID, Name: b.Name, Schema: catalog.SchemaPgCatalog, Left: b.Left, Right: b.Right}
	}
	return l.cat.Operator(o)
}

// operatorsNamed lists operators of a name in a schema, 0: all that the search path sees.
func (l *lookup) operatorsNamed(schema sqltypes.OID, name string) []*catalog.Operator {
	var out []*catalog.Operator
	in := func(s sqltypes.OID) {
		if s == catalog.SchemaPgCatalog {
			for _, b := range sqltypes.OperatorsByName(name) {
				out = append(out, l.findOperator(b.OID))
			}
		}
		for _, o := range l.cat.OperatorsByName(name) {
			if o.Schema == s {
				out = append(out, o)
			}
		}
	}
	if schema != 0 {
		in(schema)
		return out
	}
	for _, s := range l.ctx.SearchPath {
		in(s)
	}
	return out
}

// operatorVisible reports whether the bare name finds an operator first.
func (l *lookup) operatorVisible(o *catalog.Operator) bool {
	for _, p := range l.operatorsNamed(0, o.Name) {
		if p.Left == o.Left && p.Right == o.Right {
			return p.OID == o.OID
		}
	}
	return false
}
