package ddl

import (
	"slices"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

// definitions are the functions, operators, casts and typed tables that name a type,
// and how messages call them.
type definitions struct {
	words     []string
	tables    []*catalog.Relation
	functions []*catalog.Function
	operators []*catalog.Operator
	casts     []*catalog.Cast
}

// typeDefinitions lists what is made with a type besides columns and other types.
func (r *run) typeDefinitions(t *catalog.UserType) *definitions {
	d := &definitions{}
	is := func(o sqltypes.OID) bool {
		return o == t.OID || o == t.ArrayOID || t.Multirange != 0 && o == t.Multirange
	}
	d.tables = r.typedTables(t.OID)
	for _, rel := range d.tables {
		d.words = append(d.words, "table "+r.visibleName(rel))
	}
	r.catalog().AllFunctions(func(f *catalog.Function) bool {
		uses := is(f.RetType) || slices.ContainsFunc(f.ArgTypes, func(c sqltypes.ColumnType) bool { return is(c.OID) })
		if uses && !isConstructor(f) {
			d.functions = append(d.functions, f)
		}
		return true
	})
	slices.SortFunc(d.functions, func(a, b *catalog.Function) int { return int(a.OID) - int(b.OID) })
	for _, f := range d.functions {
		d.words = append(d.words, "function "+r.signature(f))
	}
	r.catalog().AllOperators(func(o *catalog.Operator) bool {
		if is(o.Left) || is(o.Right) || is(o.Result) {
			d.operators = append(d.operators, o)
		}
		return true
	})
	slices.SortFunc(d.operators, func(a, b *catalog.Operator) int { return int(a.OID) - int(b.OID) })
	for _, o := range d.operators {
		d.words = append(d.words, "operator "+r.operatorText(o))
	}
	r.catalog().AllCasts(func(c *catalog.Cast) bool {
		if is(c.Source) || is(c.Target) {
			d.casts = append(d.casts, c)
		}
		return true
	})
	slices.SortFunc(d.casts, func(a, b *catalog.Cast) int { return int(a.OID) - int(b.OID) })
	for _, c := range d.casts {
		d.words = append(d.words, "cast from "+r.typeName(c.Source)+" to "+r.typeName(c.Target))
	}
	return d
}

func (r *run) dropDefinitions(d *definitions) error {
	for _, c := range d.casts {
		r.schema().DropCast(c.OID)
	}
	for _, o := range d.operators {
		r.removeOperator(o)
	}
	for _, f := range d.functions {
		r.schema().DropFunction(f.OID)
	}
	if len(d.tables) == 0 {
		return nil
	}
	td := &dropper{run: r, cascade: true, quiet: true, gone: map[sqltypes.OID]bool{}}
	for _, t := range d.tables {
		td.gone[t.OID] = true
	}
	return td.dropAll(d.tables)
}
