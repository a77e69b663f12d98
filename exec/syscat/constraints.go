package syscat

import (
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

func registerConstraints(s *Set) {
	s.static("pg_catalog.pg_constraint", []string{"oid", "conname", "connamespace", "contype", "condeferrable", "condeferred", "convalidated",
		"conrelid", "contypid", "conindid", "conparentid", "confrelid", "confupdtype", "confdeltype", "confmatchtype", "conislocal", "coninhcount",
		"connoinherit", "conkey", "confkey", "conpfeqop", "conppeqop", "conffeqop", "confdelsetcols", "conexclop", "conbin"}, constraintRows)
}

// constraint is one row of pg_constraint before its columns are filled in.
type constraint struct {
	oid, schema, rel, typ, index, refRel sqltypes.OID
	name                                 string
	kind                                 byte
	deferrable, deferred, valid          bool
	noInherit                            bool
	parent                               sqltypes.OID
	inherited                            int
	notLocal                             bool
	onUpdate, onDelete, match            byte
	keys, refKeys, setKeys               []int16
	ops                                  []sqltypes.OID
	expr                                 string
}

func (c *constraint) emit(emit Emit) {
	keys, refKeys, ops, setKeys := sqltypes.Null, sqltypes.Null, sqltypes.Null, sqltypes.Null
	if c.keys != nil {
		keys = int2Array(c.keys)
	}
	if c.refKeys != nil {
		refKeys, ops = int2Array(c.refKeys), oidArray(c.ops)
	}
	if c.setKeys != nil {
		setKeys = int2Array(c.setKeys)
	}
	blank := func(b byte) sqltypes.Datum {
		if b == 0 {
			b = ' '
		}
		return char(b)
	}
	emit(oid(c.oid), text(c.name), oid(c.schema), char(c.kind), yes(c.deferrable), yes(c.deferred), yes(c.valid), oid(c.rel), oid(c.typ),
		oid(c.index), oid(c.parent), oid(c.refRel), blank(c.onUpdate), blank(c.onDelete), blank(c.match), yes(!c.notLocal), num(c.inherited), yes(c.noInherit),
		keys, refKeys, ops, ops, ops, setKeys, sqltypes.Null, c.node())
}

// node is conbin.
func (c *constraint) node() sqltypes.Datum {
	if c.typ != 0 {
		return nodeText('v', c.typ, c.expr)
	}
	return nodeText('p', c.rel, c.expr)
}

func constraintRows(q *Query, emit Emit) error {
	q.system(func() {
		for _, t := range q.set.order {
			for _, ix := range t.indexes {
				if ix.Constraint != "" {
					indexConstraint(t.virtual.Rel, ix).emit(emit)
				}
			}
		}
	})
	for _, r := range relations(q.Cat) {
		for _, c := range r.Checks {
			(&constraint{oid: c.OID, name: c.Name, schema: r.Schema, kind: 'c', valid: !c.NotValid, rel: r.OID, keys: c.Attrs,
				noInherit: c.NoInherit, inherited: c.Inherited, notLocal: c.NotLocal, expr: c.Expr}).emit(emit)
		}
		for _, ix := range r.Indexes {
			if ix.Constraint != "" {
				c := indexConstraint(r, ix)
				if _, p := q.Cat.Index(ix.Parent); p != nil && ix.Parent != 0 {
					c.parent, c.inherited, c.notLocal = p.ConstraintOID, 1, true
				}
				c.noInherit = r.Partitioning == nil
				c.emit(emit)
			}
		}
		for _, f := range r.ForeignKeys {
			foreignKey(q.Cat, r, f).emit(emit)
		}
	}
	for _, t := range userTypes(q.Cat) {
		for _, c := range t.Checks {
			(&constraint{oid: c.OID, name: c.Name, schema: t.Schema, kind: 'c', valid: !c.NotValid, typ: t.OID, expr: c.Expr}).emit(emit)
		}
	}
	return nil
}

func indexConstraint(r *catalog.Relation, ix *catalog.Index) *constraint {
	c := &constraint{oid: ix.ConstraintOID, name: ix.Constraint, schema: r.Schema, kind: 'u', valid: true, rel: r.OID, index: ix.OID,
		deferrable: ix.Deferrable, deferred: ix.InitiallyDeferred, noInherit: true}
	if ix.Primary {
		c.kind = 'p'
	}
	for _, k := range ix.Keys {
		c.keys = append(c.keys, k.Attr)
	}
	return c
}

func foreignKey(cat *catalog.Catalog, r *catalog.Relation, f *catalog.ForeignKey) *constraint {
	c := &constraint{oid: f.OID, name: f.Name, schema: r.Schema, kind: 'f', deferrable: f.Deferrable, deferred: f.InitiallyDeferred,
		valid: !f.NotValid, rel: r.OID, index: f.RefIndex, refRel: f.RefTable, onUpdate: f.OnUpdate, onDelete: f.OnDelete, match: f.Match,
		keys: f.Attrs, refKeys: f.RefAttrs, setKeys: f.SetAttrs, noInherit: r.Partitioning == nil, parent: f.Parent}
	if f.Parent != 0 {
		c.inherited, c.notLocal = 1, true
	}
	parent := cat.Relation(f.RefTable)
	for i, a := range f.Attrs {
		op := sqltypes.OID(0)
		if parent != nil {
			if o := sqltypes.EqualityOperator(parent.Columns[f.RefAttrs[i]-1].Type.OID, r.Columns[a-1].Type.OID); o != nil {
				op = o.OID
			}
		}
		c.ops = append(c.ops, op)
	}
	return c
}
