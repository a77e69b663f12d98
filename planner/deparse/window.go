package deparse

import (
	"ostraka/planner"
)

// window is get_rule_windowspec.
func (p *printer) window(q *planner.Query, w *planner.WindowDef) {
	p.s("(")
	sp := false
	gap := func() {
		if sp {
			p.s(" ")
		}
		sp = true
	}
	if len(w.PartitionBy) > 0 {
		gap()
		p.s("PARTITION BY ")
		for i, t := range w.PartitionBy {
			if i > 0 {
				p.s(", ")
			}
			p.sortTarget(q, t, false)
		}
	}
	if len(w.OrderBy) > 0 {
		gap()
		p.s("ORDER BY ")
		p.sorts(w.OrderBy, q, false)
	}
	f := w.Frame
	if f.Mode != 'R' || f.Start.Kind != 'u' || f.End.Kind != 'c' || f.Exclude != 0 {
		gap()
		p.s(map[byte]string{'R': "RANGE ", 'W': "ROWS ", 'G': "GROUPS "}[f.Mode], "BETWEEN ")
		p.bound(f.Start)
		p.s(" AND ")
		p.bound(f.End)
		switch f.Exclude {
		case 'c':
			p.s(" EXCLUDE CURRENT ROW")
		case 'g':
			p.s(" EXCLUDE GROUP")
		case 't':
			p.s(" EXCLUDE TIES")
		}
	}
	p.s(")")
}

func (p *printer) bound(b planner.FrameBound) {
	switch b.Kind {
	case 'u':
		p.s("UNBOUNDED PRECEDING")
	case 'U':
		p.s("UNBOUNDED FOLLOWING")
	case 'c':
		p.s("CURRENT ROW")
	case 'p':
		p.expr(b.Offset, false)
		p.s(" PRECEDING")
	case 'f':
		p.expr(b.Offset, false)
		p.s(" FOLLOWING")
	}
}
