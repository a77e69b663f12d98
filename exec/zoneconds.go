package exec

import (
	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// zoneConds are the comparisons of a scan's filter with which the engine can tell
// that a whole chunk of rows has nothing for it: of attributes that are kept as
// integers, with values that do not depend on the row.
type zoneConds struct {
	x     *Execution
	conds []seriesCond
}

func (x *Execution) newZoneConds(p *planner.Scan) (*zoneConds, error) {
	if p.Filter == nil || p.Rel.TimeSeries || p.Index != nil && !p.Index.Clustered || p.Rel.Kind != catalog.KindTable && p.Rel.Kind != catalog.KindMatView {
		return nil, nil
	}
	integer := func(attr int16) bool {
		if attr <= 0 || int(attr) > len(p.Rel.Columns) {
			return false
		}
		t := x.typ(p.Rel.Columns[attr-1].Type.OID)
		return t != nil && t.Kind == sqltypes.KInt
	}
	z := &zoneConds{x: x}
	for _, e := range conjunction(p.Filter) {
		c, ok := comparison(p, e, integer)
		if !ok || c.array || c.valueExpr == nil {
			continue
		}
		var err error
		if c.value, err = x.compile(c.valueExpr.(expr.Expr)); err != nil {
			return nil, err
		}
		z.conds = append(z.conds, c.seriesCond)
	}
	if len(z.conds) == 0 {
		return nil, nil
	}
	return z, nil
}

// fill gives the conditions to a scan. Values that cannot be computed, or are NULL,
// are left to the filter.
func (z *zoneConds) fill(spec *engine.ScanSpec) {
	spec.Conds = spec.Conds[:0]
	for _, c := range z.conds {
		if d, err := z.x.scalar(c.value); err == nil && !d.Null {
			spec.Conds = append(spec.Conds, engine.Cond{Attr: c.attr, Op: c.op, Values: []sqltypes.Datum{d}})
		}
	}
}
