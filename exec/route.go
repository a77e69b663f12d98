package exec

import (
	"strings"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// reshape puts the columns of a row of one table where another table of the same
// tree has them.
type reshape struct {
	to   []int16 // by attribute-1 of the first table: attribute of the second, 0: it has none
	back bool    // to leads from the second to the first
	buf  []sqltypes.Datum
	same bool
}

// newReshape makes the way from a parent's rows to a child's, given AttrsIn(parent,
// child); with up the way back.
func newReshape(attrs []int16, parent, child *catalog.Relation, up bool) *reshape {
	s := &reshape{to: attrs, back: up, same: len(parent.Columns) == len(child.Columns)}
	for i, a := range attrs {
		s.same = s.same && (int(a) == i+1 || a == 0 && child.Columns[min(i, len(child.Columns)-1)].Dropped)
	}
	n := len(child.Columns)
	if up {
		n = len(parent.Columns)
	}
	s.buf = make([]sqltypes.Datum, n)
	return s
}

// row is valid until the next call.
func (s *reshape) row(in []sqltypes.Datum) []sqltypes.Datum {
	if s.same {
		return in
	}
	for i := range s.buf {
		s.buf[i] = sqltypes.Null
	}
	for i, a := range s.to {
		switch {
		case a == 0:
		case s.back:
			s.buf[i] = in[a-1]
		default:
			s.buf[a-1] = in[i]
		}
	}
	return s.buf
}

// router finds the partitions that rows of partitioned tables belong to.
type router struct {
	x      *Execution
	levels map[sqltypes.OID]*routeLevel
}

// routeLevel is one partitioned table.
type routeLevel struct {
	rel   *catalog.Relation
	parts *catalog.Partitions
	progs []*expr.Program // nil for a plain column
	key   []sqltypes.Datum
	down  []*reshape // by partition, made on first use
}

func (x *Execution) newRouter() *router { return &router{x: x, levels: map[sqltypes.OID]*routeLevel{}} }

func (r *router) level(rel *catalog.Relation) (*routeLevel, error) {
	if l := r.levels[rel.OID]; l != nil {
		return l, nil
	}
	l := &routeLevel{rel: rel, parts: r.x.view.Catalog().Partitions(rel), key: make([]sqltypes.Datum, len(rel.Partitioning.Keys))}
	l.progs = make([]*expr.Program, len(l.key))
	l.down = make([]*reshape, len(l.parts.Parts))
	for _, k := range rel.Partitioning.Keys {
		if k.Attr != 0 {
			continue
		}
		t, err := r.x.targetOf(rel)
		if err != nil {
			return nil, err
		}
		if l.progs, err = r.x.compileAll(t.PartKeys); err != nil {
			return nil, err
		}
		break
	}
	r.levels[rel.OID] = l
	return l, nil
}

// find is the partition of a row, -1 if there is none; l.key is its key.
func (r *router) find(l *routeLevel, row []sqltypes.Datum) (int, error) {
	for i, k := range l.rel.Partitioning.Keys {
		if k.Attr != 0 {
			l.key[i] = row[k.Attr-1]
			continue
		}
		d, err := l.progs[i].Row(row, &r.x.params, r.x.env)
		if err != nil {
			return -1, err
		}
		l.key[i] = d
	}
	return l.parts.Find(l.key), nil
}

// leaf is the table that a row of a partitioned table goes to, and the row as that
// has it, which is valid until the next call. Errors: 23514.
func (r *router) leaf(root *catalog.Relation, row []sqltypes.Datum) (*catalog.Relation, []sqltypes.Datum, error) {
	for rel := root; ; {
		l, err := r.level(rel)
		if err != nil {
			return nil, nil, err
		}
		at, err := r.find(l, row)
		if err != nil {
			return nil, nil, err
		}
		if at < 0 {
			return nil, nil, r.noPartition(l)
		}
		part := l.parts.Parts[at]
		if l.down[at] == nil {
			l.down[at] = newReshape(catalog.AttrsIn(rel, part), rel, part, false)
		}
		row = l.down[at].row(row)
		if part.Partitioning == nil {
			return part, row, nil
		}
		rel = part
	}
}

func (r *router) noPartition(l *routeLevel) error {
	var names, vals []string
	for i, k := range l.rel.Partitioning.Keys {
		if k.Attr != 0 {
			names = append(names, l.rel.Columns[k.Attr-1].Name)
		} else {
			names = append(names, k.Expr)
		}
		vals = append(vals, r.x.text(k.Type, l.key[i]))
	}
	return pgerror.New(pgerror.CheckViolation, "no partition of relation \"%s\" found for row", l.rel.Name).
		WithDetail("Partition key of the failing row contains (%s) = (%s).", strings.Join(names, ", "), strings.Join(vals, ", ")).
		WithTable(r.x.schemaName(l.rel), l.rel.Name)
}

// fits reports whether a partition may have a row, by its own bound and those of its
// partitioned ancestors.
func (r *router) fits(rel *catalog.Relation, row []sqltypes.Datum) (bool, error) {
	cat := r.x.view.Catalog()
	for rel.Bound != nil && len(rel.Parents) > 0 {
		parent := cat.Relation(rel.Parents[0])
		if parent == nil || parent.Partitioning == nil {
			return true, nil
		}
		l, err := r.level(parent)
		if err != nil {
			return false, err
		}
		row = newReshape(catalog.AttrsIn(parent, rel), parent, rel, true).row(row)
		at, err := r.find(l, row)
		if err != nil || at < 0 || l.parts.Parts[at].OID != rel.OID {
			return false, err
		}
		rel = parent
	}
	return true, nil
}
