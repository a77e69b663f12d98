package plpgsql

import (
	"slices"

	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// nsItem is one name that is visible; items are a list from the innermost outwards.
// A label begins a level.
type nsItem struct {
	kind  byte // l label, v scalar variable, r record
	name  string
	datum int
	// loop: the label of a loop, which EXIT and CONTINUE may name.
	loop bool
	prev *nsItem
}

// lookup finds a name; used is how many of the names it took.
func (ns *nsItem) lookup(local bool, names ...string) (found *nsItem, used int) {
	for ns != nil {
		first := ns
		for ; ns.kind != 'l'; ns = ns.prev {
			if ns.name == names[0] {
				return ns, 1
			}
		}
		if local {
			return nil, 0
		}
		if len(names) > 1 && ns.name == names[0] && ns.name != "" {
			for it := first; it.kind != 'l'; it = it.prev {
				if it.name == names[1] {
					return it, 2
				}
			}
		}
		ns = ns.prev
	}
	return nil, 0
}

// labelOf finds the label of an enclosing block or loop.
func (ns *nsItem) labelOf(name string) *nsItem {
	for ; ns != nil; ns = ns.prev {
		if ns.kind == 'l' && ns.name == name && name != "" {
			return ns
		}
	}
	return nil
}

// inLoop reports whether a loop encloses.
func (ns *nsItem) inLoop() bool {
	for ; ns != nil; ns = ns.prev {
		if ns.kind == 'l' && ns.loop {
			return true
		}
	}
	return false
}

// ref is a parameter of a query: a variable, or a field of a record, with the
// type that the query was planned for.
type ref struct {
	datum int
	field string
	typ   sqltypes.ColumnType
	// check: the type may differ at another time.
	check bool
}

// Names resolves the names of a query in the frame that runs it. It implements
// planner.Variables.
type Names struct {
	fr *frame
	q  *Query
}

var _ planner.Variables = Names{}

// Begin forgets the parameters of an earlier planning.
func (n Names) Begin() { n.q.refs, n.q.shape = n.q.refs[:0], n.q.shape[:0] }

// Conflict implements planner.Variables.
func (n Names) Conflict() byte { return n.q.fn.conflict }

// Variable implements planner.Variables.
func (n Names) Variable(names []string, whole bool) (v planner.Variable, ok bool, err error) {
	it, used := n.q.ns.lookup(false, names...)
	if it == nil || used > len(names) {
		return v, false, nil
	}
	rest := names[used:]
	d := n.q.fn.data[it.datum]
	if !d.record {
		if len(rest) > 0 || whole {
			return v, false, nil
		}
		typ, _ := n.fr.typeOf(it.datum)
		return planner.Variable{Param: n.param(ref{datum: it.datum, typ: typ, check: d.varies}), Type: typ}, true, nil
	}
	switch {
	case len(rest) == 0 && n.fr.vars[it.datum].rec == nil && d.typ.OID == sqltypes.OIDRecord && !whole:
		typ := d.typ
		n.q.shape = append(n.q.shape, shape{datum: it.datum})
		return planner.Variable{Param: n.param(ref{datum: it.datum, typ: typ, check: true}), Type: typ}, true, nil
	case len(rest) == 0:
		r, err := n.fr.record(it.datum)
		if err != nil {
			return v, false, err
		}
		typ := sqltypes.ColumnType{OID: sqltypes.OIDRecord, TypMod: -1}
		if r.typ != 0 {
			typ.OID = r.typ
		}
		v = planner.Variable{Param: n.param(ref{datum: it.datum, typ: typ, check: true}), Type: typ}
		for i, name := range r.names {
			v.Fields = append(v.Fields, sqltypes.Field{Name: name, ColumnType: r.types[i]})
		}
		n.q.shape = append(n.q.shape, shape{it.datum, v.Fields})
		return v, true, nil
	case len(rest) == 1 && !whole:
		r, err := n.fr.record(it.datum)
		if err != nil {
			return v, false, err
		}
		i := slices.Index(r.names, rest[0])
		if i < 0 {
			return v, false, &noField{pgerror.New(pgerror.UndefinedColumn, "record \"%s\" has no field \"%s\"", d.name, rest[0])}
		}
		return planner.Variable{Param: n.param(ref{datum: it.datum, field: rest[0], typ: r.types[i], check: true}), Type: r.types[i]}, true, nil
	}
	return v, false, nil
}

// noField marks an error that a column of the name takes precedence over.
type noField struct{ err *pgerror.Error }

func (e *noField) Error() string { return e.err.Error() }
func (e *noField) Unwrap() error { return e.err }

// shape is what a query that uses a whole record was planned for.
type shape struct {
	datum  int
	fields []sqltypes.Field
}

// param numbers a variable of the query.
func (n Names) param(r ref) int {
	for i, have := range n.q.refs {
		if have.datum == r.datum && have.field == r.field {
			return i + 1
		}
	}
	n.q.refs = append(n.q.refs, r)
	return len(n.q.refs)
}

// Values are the parameters' values now; ok is false when a type is another one
// than when the query was planned. They are put into dst.
func (n Names) Values(dst []sqltypes.Datum) (vals []sqltypes.Datum, ok bool, err error) {
	q := n.q
	if cap(dst) < len(q.refs) {
		dst = make([]sqltypes.Datum, len(q.refs))
	}
	dst = dst[:len(q.refs)]
	for i := range q.refs {
		r := &q.refs[i]
		if !r.check {
			dst[i] = n.fr.vars[r.datum].val
			continue
		}
		val, typ, err := n.fr.get(r.datum, r.field)
		if err != nil {
			return nil, false, err
		}
		if typ.OID != r.typ.OID {
			return nil, false, nil
		}
		dst[i] = val
	}
	for _, s := range q.shape {
		r := n.fr.vars[s.datum].rec
		if r == nil && s.fields == nil {
			continue
		}
		if r == nil || len(r.names) != len(s.fields) {
			return nil, false, nil
		}
		for i, f := range s.fields {
			if r.names[i] != f.Name || r.types[i].OID != f.OID {
				return nil, false, nil
			}
		}
	}
	return dst, true, nil
}

// Assigned implements planner.Variables.
func (n Names) Assigned() (planner.Variable, error) {
	t := n.q.target
	_, typ, err := n.fr.get(t.datum, t.field)
	if err != nil {
		return planner.Variable{}, err
	}
	return planner.Variable{Param: n.param(ref{datum: t.datum, field: t.field, typ: typ, check: true}), Type: typ}, nil
}

// Types are the parameters' types.
func (n Names) Types() []sqltypes.OID {
	out := make([]sqltypes.OID, len(n.q.refs))
	for i, r := range n.q.refs {
		out[i] = r.typ.OID
	}
	return out
}
