package bind

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/engine/catalog"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// maxViewDepth bounds views of views.
const maxViewDepth = 100

// findRelation looks a table name up: a relation of the catalogue or a virtual one.
func (b *binder) findRelation(rv *pg.RangeVar) (*catalog.Relation, *planner.VirtualRelation) {
	if rv.Catalogname != "" {
		b.checkCatalogName(rv.Catalogname, `"`+rv.Catalogname+"."+rv.Schemaname+"."+rv.Relname+`"`, rv.Location)
	}
	if rv.Schemaname != "" {
		ns := b.schemaOID(rv.Schemaname)
		if ns == 0 {
			return nil, nil
		}
		if !b.mayUse(ns) {
			b.fail(rv.Location, pgerror.InsufficientPrivilege, "permission denied for schema %s", rv.Schemaname)
		}
		return b.relationIn(ns, rv.Schemaname, rv.Relname)
	}
	for _, ns := range b.ctx.SearchPath {
		if !b.mayUse(ns) {
			continue
		}
		if r, v := b.relationIn(ns, "", rv.Relname); r != nil || v != nil {
			return r, v
		}
	}
	return nil, nil
}

// mayUse reports whether who asks has USAGE on a schema. What a view's text names
// was looked up when the view was made.
func (b *binder) mayUse(ns sqltypes.OID) bool {
	if b.cat == nil || b.ctx.Role == 0 || b.checkAs != 0 || b.stored {
		return true
	}
	s := b.cat.Schema(ns)
	return s == nil || ns == b.ctx.TempSchema || b.cat.Holds(b.ctx.Role, s.Owner, s.ACL, 'U', "")
}

func (b *binder) relationIn(ns sqltypes.OID, schema, name string) (*catalog.Relation, *planner.VirtualRelation) {
	if b.cat != nil {
		if r := b.cat.RelationByName(ns, name); r != nil {
			if r.Kind == catalog.KindVirtual && b.ctx.Relations != nil {
				return viewOrVirtual(b.ctx.Relations.VirtualByOID(r.OID))
			}
			return r, nil
		}
	}
	if b.ctx.Relations != nil {
		if schema == "" {
			schema = b.schemaName(ns)
		}
		if v := b.ctx.Relations.VirtualByName(schema, name); v != nil {
			return viewOrVirtual(v)
		}
	}
	if b.cat != nil {
		if r, ix := b.cat.IndexByName(ns, name); r != nil && ix != nil {
			b.fail(-1, pgerror.WrongObjectType, `"%s" is an index`, name)
		}
	}
	return nil, nil
}

// viewOrVirtual: a system view with a definition is expanded like any other view.
func viewOrVirtual(v *planner.VirtualRelation) (*catalog.Relation, *planner.VirtualRelation) {
	if v != nil && v.Rel.Kind == catalog.KindView {
		return v.Rel, nil
	}
	return nil, v
}

func (b *binder) relationMissing(rv *pg.RangeVar) {
	name := rv.Relname
	if rv.Schemaname != "" {
		name = rv.Schemaname + "." + name
	}
	b.fail(rv.Location, pgerror.UndefinedTable, `relation "%s" does not exist`, name)
}

// openRelation finds the relation a FROM clause names, or fails.
func (s *scope) openRelation(rv *pg.RangeVar) (*catalog.Relation, *planner.VirtualRelation) {
	b := s.b
	rel, v := b.findRelation(rv)
	if rel == nil && v == nil {
		if rv.Schemaname == "" {
			for p := s; p != nil; p = p.parent {
				for _, f := range p.futureCTEs {
					if f == rv.Relname {
						panic(b.errAt(rv.Location, pgerror.UndefinedTable, `relation "%s" does not exist`, rv.Relname).
							WithDetail(`There is a WITH item named "%s", but it cannot be referenced from this part of the query.`, rv.Relname).
							WithHint("Use WITH RECURSIVE, or re-order the WITH items to remove forward references."))
					}
				}
			}
		}
		b.relationMissing(rv)
	}
	if rel != nil && rel.Kind == catalog.KindComposite {
		panic(b.errAt(rv.Location, pgerror.WrongObjectType, `cannot open relation "%s"`, rel.Name).WithDetail("This operation is not supported for composite types."))
	}
	return rel, v
}

// relationRTE makes the range-table entry of a table, view or virtual relation.
func (s *scope) relationRTE(rel *catalog.Relation, v *planner.VirtualRelation) *planner.RTE {
	b := s.b
	if v == nil && rel.Kind == catalog.KindSequence {
		v = sequenceRelation(rel)
	}
	if v != nil {
		r := &planner.RTE{Kind: planner.RTEVirtual, Virtual: v, Alias: v.Rel.Name, CheckAs: b.checkAs}
		addColumns(r, v.Rel)
		return r
	}
	if rel.Kind == catalog.KindView {
		r := &planner.RTE{Kind: planner.RTESubquery, Rel: rel, ViewOID: rel.OID, Alias: rel.Name, Sub: b.viewQuery(rel), CheckAs: b.checkAs,
			SecurityBarrier: rel.ViewOptions.SecurityBarrier}
		addColumns(r, rel)
		return r
	}
	r := &planner.RTE{Kind: planner.RTERelation, Rel: rel, Alias: rel.Name, CheckAs: b.checkAs}
	addColumns(r, rel)
	return r
}

func addColumns(r *planner.RTE, rel *catalog.Relation) {
	for _, c := range rel.Columns {
		if c.Dropped {
			continue
		}
		r.Cols = append(r.Cols, planner.Column{Name: c.Name, Type: c.Type, TableOID: rel.OID, Attr: c.Num})
		r.Attrs = append(r.Attrs, c.Num)
	}
}

// viewQuery binds a view's definition in its owner's rights.
func (b *binder) viewQuery(rel *catalog.Relation) *planner.Query {
	if b.views >= maxViewDepth {
		b.fail(-1, pgerror.InvalidObjectDefinition, `infinite recursion detected in rules for relation "%s"`, rel.Name)
	}
	n := b.subBinder(rel.ViewDef)
	n.views++
	n.checkAs = rel.Owner
	if rel.ViewOptions.SecurityInvoker {
		n.checkAs = b.checkAs
	}
	if rel.Rollup != nil {
		return n.statement(nil, n.rollupTree(rel), true)
	}
	return n.statement(nil, b.parsed(rel.ViewDef), true)
}
