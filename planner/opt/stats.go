package opt

import (
	"math"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// Estimates where nothing is known.
const (
	defaultRows     = 1000
	defaultDistinct = 200
	minTableBytes   = 10 * 8192 // PostgreSQL's ten pages
)

// tableSize estimates the rows of a table and the bytes of one.
func (p *planning) tableSize(r *catalog.Relation) (rows float64) {
	var width float64 = 24
	for _, c := range r.Columns {
		if !c.Dropped {
			width += float64(p.typeWidth(c.Type))
		}
	}
	var st *catalog.TableStats
	if p.ctx.Catalog != nil {
		st = p.ctx.Catalog.Stats(r.OID)
	}
	if p.ctx.SizeHint != nil {
		if b := p.ctx.SizeHint(r); b >= 0 {
			if st != nil && st.Bytes > 0 && st.Rows > 0 {
				// Analysed: scale by how much the table has grown since.
				return math.Max(1, st.Rows*math.Max(1, float64(b)/float64(st.Bytes)))
			}
			if st == nil {
				// What was written last is in memory only: never believe a table to be tiny.
				return math.Max(1, math.Max(float64(b), minTableBytes)/width)
			}
		}
	}
	if st != nil {
		return math.Max(1, st.Rows)
	}
	return defaultRows
}

// typeWidth is the average width of a type's values in bytes, as PostgreSQL's get_typavgwidth.
func (p *planning) typeWidth(t sqltypes.ColumnType) int {
	if ty := p.typ(t.OID); ty != nil && ty.Len > 0 {
		return int(ty.Len)
	}
	if t.TypMod > 4 {
		n := int(t.TypMod) - 4
		switch t.OID {
		case oidBpchar:
			return n + 4
		case oidVarchar:
			if n <= 32 {
				return n + 4
			}
			if n < 1000 {
				return 32 + (n-32)/2
			}
			return 516
		case 1700:
			return 8
		}
	}
	return 32
}

// varStat is what is known of an expression's values.
type varStat struct {
	col      *catalog.ColumnStats // nil: not analysed
	rel      *rel
	typ      *sqltypes.Type
	tuples   float64 // of the relation before restrictions
	distinct float64
	known    bool // distinct is more than a guess
	nullFrac float64
	unique   bool
}

// statOf looks through relabelling to a column of a relation of the level.
func (lv *level) statOf(e expr.Expr) varStat {
	e = stripRelabel(e)
	vs := varStat{typ: lv.p.typ(e.Type().OID), tuples: defaultRows}
	v, ok := e.(*planner.Var)
	if !ok || v.Level != 0 || v.Rel < 0 || v.Rel >= len(lv.rels) || lv.rels[v.Rel] == nil {
		vs.distinct = lv.exprDistinct(e)
		return vs
	}
	r := lv.rels[v.Rel]
	vs.rel, vs.tuples = r, r.tuples
	rte := lv.rte(v.Rel)
	if v.Col < 0 {
		vs.distinct, vs.known = vs.tuples, true
		if v.Col == -7 { // tableoid
			vs.distinct = 1
		}
		return vs
	}
	switch rte.Kind {
	case planner.RTERelation:
		at := rte.Attrs[v.Col]
		if lv.p.ctx.Catalog != nil {
			if st := lv.p.ctx.Catalog.Stats(rte.Rel.OID); st != nil {
				vs.col = st.Columns[at]
			}
		}
		if at > 0 && uniqueColumn(lv.indexesOf(v.Rel), at) {
			vs.unique, vs.known, vs.distinct = true, true, vs.tuples
		}
	case planner.RTEVirtual:
		if rte.Virtual != nil && rte.Virtual.Distinct != nil {
			if n := rte.Virtual.Distinct(rte.Attrs[v.Col]); n > 0 {
				vs.distinct, vs.known = math.Min(n, vs.tuples), true
			}
		}
	case planner.RTESubquery:
		if len(r.uniqueKey) == 1 && r.uniqueKey[0] == v.Col {
			vs.unique, vs.known, vs.distinct = true, true, vs.tuples
		}
	}
	if vs.col != nil {
		vs.nullFrac = vs.col.NullFrac
		if !vs.unique {
			switch d := vs.col.NDistinct; {
			case d > 0:
				vs.distinct, vs.known = d, true
			case d < 0:
				vs.distinct, vs.known = -d*vs.tuples, true
			}
		}
	}
	if vs.distinct == 0 {
		vs.distinct = math.Min(defaultDistinct, vs.tuples)
		if v.Typ.OID == oidBool {
			vs.distinct = 2
		}
	}
	vs.distinct = math.Max(1, vs.distinct)
	return vs
}

// exprDistinct guesses the number of distinct values of an expression by its columns.
func (lv *level) exprDistinct(e expr.Expr) float64 {
	if e.Type().OID == oidBool {
		return 2
	}
	best := 0.0
	planner.Visit(e, func(x expr.Expr) bool {
		if v, ok := x.(*planner.Var); ok && v.Level == 0 && v.Rel >= 0 {
			if d := lv.statOf(v).distinct; d > best {
				best = d
			}
		}
		return true
	})
	if best == 0 {
		return 1
	}
	return best
}

// uniqueColumn reports a unique index on exactly this column, without a predicate.
func uniqueColumn(list []*catalog.Index, attr int16) bool {
	for _, ix := range list {
		if (ix.Unique || ix.Primary) && len(ix.Keys) == 1 && ix.Keys[0].Attr == attr && ix.Predicate == "" {
			return true
		}
	}
	return false
}

// scalar maps a value to the real line for interpolation.
func scalar(t *sqltypes.Type, d sqltypes.Datum) (float64, bool) {
	if t == nil || d.Null {
		return 0, false
	}
	switch t.Kind {
	case sqltypes.KInt:
		if t.OID == oidDate {
			return float64(d.I) * 86400e6, true // comparable with timestamps
		}
		return float64(d.I), true
	case sqltypes.KFloat:
		f := d.Float()
		return f, !math.IsNaN(f)
	case sqltypes.KNumeric:
		if d.S != "" {
			return 0, false
		}
		return float64(d.I) * math.Pow10(-int(d.Aux)), true
	case sqltypes.KBytes:
		if t.Category != 'S' && t.OID != 2950 && t.OID != 17 && t.OID != 19 {
			return 0, false
		}
		v, scale := 0.0, 1.0
		for i := 0; i < 8 && i < len(d.S); i++ {
			scale /= 256
			v += float64(d.S[i]) * scale
		}
		return v, true
	}
	return 0, false
}
