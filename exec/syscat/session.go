package syscat

import (
	"slices"
	"strings"
	"sync"

	"ostraka/engine/catalog"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// planning is what the functions here need of the session that calls them.
type planning interface{ PlanContext() *planner.Context }

// contextOf is the calling session's planning context.
func contextOf(env *sqltypes.Env) (*planner.Context, error) {
	if env != nil && env.Session != nil {
		if s, ok := env.Session.Ext().(planning); ok {
			return s.PlanContext(), nil
		}
	}
	return nil, pgerror.NotSupported("looking at the catalogue outside a session")
}

// lookup finds objects by OID or name for one call.
type lookup struct {
	ctx *planner.Context
	cat *catalog.Catalog
}

func lookupOf(c *sqltypes.Call) (*lookup, error) {
	// The context is kept for the call site: it cannot change within a statement.
	if l, ok := c.Cache.(*lookup); ok {
		return l, nil
	}
	ctx, err := contextOf(c.Env)
	if err != nil {
		return nil, err
	}
	l := &lookup{ctx, ctx.Catalog}
	c.Cache = l
	return l, nil
}

// relation finds a user's or a system relation; for an index also the index.
func (l *lookup) relation(o sqltypes.OID) (*catalog.Relation, *catalog.Index) {
	if r := l.cat.Relation(o); r != nil {
		return r, nil
	}
	if l.ctx.Relations != nil {
		if v := l.ctx.Relations.VirtualByOID(o); v != nil {
			return v.Rel, nil
		}
	}
	if r, ix := l.cat.Index(o); ix != nil {
		return r, ix
	}
	return systemIndex(o)
}

func systemIndex(o sqltypes.OID) (*catalog.Relation, *catalog.Index) {
	for _, f := range facts() {
		for _, ix := range f.indexes {
			if ix.OID == o {
				return f.rel, ix
			}
		}
	}
	return nil, nil
}

// named finds a relation or index in one schema.
func (l *lookup) named(schema sqltypes.OID, name string) sqltypes.OID {
	if r := l.cat.RelationByName(schema, name); r != nil {
		return r.OID
	}
	if _, ix := l.cat.IndexByName(schema, name); ix != nil {
		return ix.OID
	}
	if s := l.cat.Schema(schema); s != nil && l.ctx.Relations != nil {
		if v := l.ctx.Relations.VirtualByName(s.Name, name); v != nil {
			return v.Rel.OID
		}
	}
	return 0
}

// find resolves a possibly qualified relation name.
func (l *lookup) find(parts []string) (sqltypes.OID, error) {
	switch len(parts) {
	case 1:
		for _, s := range l.ctx.SearchPath {
			if o := l.named(s, parts[0]); o != 0 {
				return o, nil
			}
		}
		return 0, pgerror.New(pgerror.UndefinedTable, "relation %q does not exist", parts[0])
	case 2, 3:
		if len(parts) == 3 {
			parts = parts[1:]
		}
		s := l.cat.SchemaByName(parts[0])
		if s == nil {
			return 0, pgerror.New(pgerror.UndefinedTable, "relation %q does not exist", parts[0]+"."+parts[1])
		}
		if o := l.named(s.OID, parts[1]); o != 0 {
			return o, nil
		}
		return 0, pgerror.New(pgerror.UndefinedTable, "relation %q does not exist", parts[0]+"."+parts[1])
	}
	return 0, pgerror.New(pgerror.SyntaxError, "improper relation name (too many dotted names): %s", strings.Join(parts, "."))
}

// visible reports whether the search path finds the relation by its bare name.
func (l *lookup) visible(o sqltypes.OID, schema sqltypes.OID, name string) bool {
	for _, s := range l.ctx.SearchPath {
		if s == schema {
			return true
		}
		if l.named(s, name) != 0 {
			return false
		}
	}
	return false
}

// schemaName is a schema's name, "" when unknown.
func (l *lookup) schemaName(o sqltypes.OID) string {
	if s := l.cat.Schema(o); s != nil {
		return s.Name
	}
	return ""
}

// relationName is the name of a relation or index as regclass prints it.
func (l *lookup) relationName(r *catalog.Relation, ix *catalog.Index) string {
	o, schema, name := r.OID, r.Schema, r.Name
	if ix != nil {
		o, schema, name = ix.OID, ix.Schema, ix.Name
	}
	if l.visible(o, schema, name) {
		return quoteIdent(name)
	}
	return quoteIdent(l.schemaName(schema)) + "." + quoteIdent(name)
}

// typeName is a type's name as format_type prints it.
func (l *lookup) typeName(o sqltypes.OID, mod int32) string {
	return sqltypes.FormatTypeWith(o, mod, l.userType)
}

// userType is a sqltypes.TypeNamer over the catalogue.
func (l *lookup) userType(o sqltypes.OID) (*sqltypes.Type, string) {
	t := l.cat.Type(o)
	if t == nil {
		return l.systemRowType(o)
	}
	if t.IsArray {
		return t, ""
	}
	name := quoteIdent(t.Name)
	for _, s := range l.ctx.SearchPath {
		if s == t.Namespace {
			return t, name
		}
		if l.cat.TypeByName(s, t.Name) != nil {
			break
		}
	}
	return t, quoteIdent(l.schemaName(t.Namespace)) + "." + name
}

// systemRowTypes are the names and element types of pg_type's rows that are no
// types to the rest of the system: row types of its relations, and their arrays.
var systemRowTypes = sync.OnceValue(func() map[sqltypes.OID]*sqltypes.Type {
	out := map[sqltypes.OID]*sqltypes.Type{}
	align := slices.Index(columnNames("pg_type"), "typalign") // typstorage follows
	for _, row := range fixedRows()["pg_type"] {
		if o := argOID(row[0]); sqltypes.TypeByOID(o) == nil {
			t := &sqltypes.Type{OID: o, Name: row[1].S, Namespace: argOID(row[2]), Len: -1, Elem: argOID(row[13]),
				Align: byte(row[align].I), Storage: byte(row[align+1].I)}
			t.IsArray = t.Elem != 0
			out[o] = t
		}
	}
	return out
})

func (l *lookup) systemRowType(o sqltypes.OID) (*sqltypes.Type, string) {
	t := systemRowTypes()[o]
	switch {
	case t == nil || t.IsArray:
		return t, ""
	case l.visible(o, t.Namespace, t.Name):
		return t, quoteIdent(t.Name)
	}
	return t, quoteIdent(l.schemaName(t.Namespace)) + "." + quoteIdent(t.Name)
}
