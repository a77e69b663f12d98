package planner

import (
	"slices"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Permission is a privilege that a statement needs when it runs.
type Permission struct {
	Rel  *catalog.Relation
	Priv byte // r, a, w, d
	// Attrs are the columns it is needed for; none: the relation as a whole, for
	// which a privilege on any column will do.
	Attrs []int16
	// CheckAs is whose privileges count: a view's owner; 0: the current role.
	CheckAs sqltypes.OID
	// Proc: the function that is executed, Rel is nil then.
	Proc *catalog.Function
}

// Permitted tests permissions for a role as the catalogue has it now. Error: 42501,
// worded as PostgreSQL does.
func Permitted(cat *catalog.Catalog, role sqltypes.OID, super bool, perms []Permission) error {
	for i := range perms {
		p := &perms[i]
		as := p.CheckAs
		if as == 0 {
			if super {
				continue
			}
			as = role
		}
		if p.Proc != nil {
			if !cat.Holds(as, p.Proc.Owner, p.Proc.ACL, 'X', "X") {
				return pgerror.New(pgerror.InsufficientPrivilege, "permission denied for function %s", p.Proc.Name)
			}
			continue
		}
		rel := p.Rel
		if now := cat.Relation(rel.OID); now != nil {
			rel = now
		}
		if !cat.HoldsOn(as, rel, p.Priv, p.Attrs) {
			return pgerror.New(pgerror.InsufficientPrivilege, "permission denied for %s %s", relationWord(rel.Kind), rel.Name)
		}
	}
	return nil
}

// Populated refuses to read materialised views that have no data yet. Error: 55000.
func Populated(cat *catalog.Catalog, perms []Permission) error {
	for i := range perms {
		p := &perms[i]
		if p.Rel == nil || p.Rel.Kind != catalog.KindMatView {
			continue
		}
		if rel := cat.Relation(p.Rel.OID); rel != nil && !rel.Populated {
			return pgerror.New(pgerror.ObjectNotInPrerequisiteState, "materialized view %q has not been populated", rel.Name).
				WithHint("Use the REFRESH MATERIALIZED VIEW command.")
		}
	}
	return nil
}

func relationWord(kind catalog.RelKind) string {
	switch kind {
	case catalog.KindView:
		return "view"
	case catalog.KindMatView:
		return "materialized view"
	case catalog.KindSequence:
		return "sequence"
	}
	return "table"
}

// Permissions lists what a bound statement needs: SELECT on what it reads, by
// columns, what its command does to the target, and EXECUTE on users' functions.
// What a view reads is needed by the view's owner.
func Permissions(cat *catalog.Catalog, q *Query) []Permission {
	if cat == nil {
		return nil
	}
	return permissions(cat, q, nil)
}

// reading is a query and which attributes are read of its range-table entries.
type reading struct {
	q     *Query
	attrs [][]int16
}

func permissions(cat *catalog.Catalog, q *Query, outer []reading) (out []Permission) {
	mine := reading{q, make([][]int16, len(q.Range))}
	levels := append(outer[:len(outer):len(outer)], mine)
	var subs []*Query
	look := func(e expr.Expr) {
		Visit(e, func(e expr.Expr) bool {
			switch n := e.(type) {
			case *Var:
				if i := len(levels) - 1 - n.Level; i >= 0 {
					levels[i].note(n)
				}
			case *SubLink:
				subs = append(subs, n.Sub)
			case *expr.Call:
				if f := cat.Function(n.Proc.OID); f != nil {
					out = append(out, Permission{Proc: f})
				}
			}
			return true
		})
	}
	bare, guards := withoutGuards(q)
	VisitQuery(bare, look, func(s *Query) {
		for _, c := range q.CTEs {
			if c.Query == s && c.Refs == 0 && s.Command == CmdSelect {
				return // it is not executed
			}
		}
		subs = append(subs, s)
	})
	var below []Permission
	for _, s := range subs {
		below = append(below, permissions(cat, s, levels)...)
	}
	if len(guards) > 0 {
		// Whom a policy is for need not be allowed to read the columns that it tests.
		subs = nil
		levels = append(outer[:len(outer):len(outer)], reading{q, make([][]int16, len(q.Range))})
		for _, e := range guards {
			look(e)
		}
		for _, s := range subs {
			below = append(below, permissions(cat, s, levels)...)
		}
	}
	for i := range q.Range {
		out = append(out, mine.entry(i)...)
	}
	return append(out, below...)
}

// withoutGuards is q without the conditions of row-level security, and these.
func withoutGuards(q *Query) (*Query, []expr.Expr) {
	var guards []expr.Expr
	for _, p := range q.Policies {
		guards = append(guards, p.Cond)
	}
	for _, r := range q.Range {
		guards = append(guards, r.SecurityQuals...)
	}
	if len(guards) == 0 {
		return q, nil
	}
	bare := *q
	bare.Policies, bare.Range = nil, slices.Clone(q.Range)
	for i, r := range bare.Range {
		if r.SecurityQuals != nil {
			c := *r
			c.SecurityQuals = nil
			bare.Range[i] = &c
		}
	}
	return &bare, guards
}

// note records that a column is read.
func (r reading) note(v *Var) {
	if v.Rel < 0 || v.Rel >= len(r.attrs) {
		return
	}
	rte := r.q.Range[v.Rel]
	switch {
	case v.Col >= 0 && v.Col < len(rte.Attrs):
		if a := rte.Attrs[v.Col]; !slices.Contains(r.attrs[v.Rel], a) {
			r.attrs[v.Rel] = append(r.attrs[v.Rel], a)
		}
	case v.Col == -1:
		for _, a := range rte.Attrs {
			if !slices.Contains(r.attrs[v.Rel], a) {
				r.attrs[v.Rel] = append(r.attrs[v.Rel], a)
			}
		}
	case v.Col < -1 && len(rte.Attrs) > 0:
		r.attrs[v.Rel] = append(r.attrs[v.Rel], int16(v.Col+1)) // no column has a privilege of its own for it
	}
}

// entry is what a range-table entry needs.
func (r reading) entry(i int) (out []Permission) {
	q, rte := r.q, r.q.Range[i]
	rel := rte.Rel
	if rte.Kind == RTEVirtual {
		rel = rte.Virtual.Rel
	}
	if rel == nil || rte.Kind == RTESubquery && rte.ViewOID == 0 || q.OnConflict != nil && i == q.OnConflict.Excluded && i != q.ResultRel {
		return nil
	}
	need := func(priv byte, attrs []int16) {
		out = append(out, Permission{Rel: rel, Priv: priv, Attrs: attrs, CheckAs: rte.CheckAs})
	}
	if q.Command == CmdSelect || i != q.ResultRel {
		need('r', r.attrs[i])
		if slices.ContainsFunc(q.RowMarks, func(m QueryMark) bool { return m.Rel == i }) {
			need('w', nil)
		}
		return out
	}
	if c := q.OnConflict; c != nil {
		// Whether a key is there is something read.
		for _, ix := range c.Arbiters {
			for _, k := range ix.Keys {
				if k.Attr > 0 && !slices.Contains(r.attrs[i], k.Attr) {
					r.attrs[i] = append(r.attrs[i], k.Attr)
				}
			}
		}
	}
	if len(r.attrs[i]) > 0 {
		need('r', r.attrs[i])
	}
	for _, w := range q.writes() {
		need(w.priv, w.attrs)
	}
	for _, v := range q.Through {
		for _, w := range q.writes() {
			attrs := v.named(w.attrs)
			out = append(out, Permission{Rel: v.View, Priv: w.priv, Attrs: attrs, CheckAs: v.CheckAs})
		}
		if len(v.Read) > 0 {
			out = append(out, Permission{Rel: v.View, Priv: 'r', Attrs: v.Read, CheckAs: v.CheckAs})
		}
	}
	return out
}

// write is a privilege that a data-modifying query needs on its target.
type write struct {
	priv  byte
	attrs []int16
}

func (q *Query) writes() (out []write) {
	switch q.Command {
	case CmdInsert:
		out = append(out, write{'a', q.Named})
		if c := q.OnConflict; c != nil && c.DoUpdate {
			out = append(out, write{'w', c.SetAttrs})
		}
	case CmdUpdate:
		out = append(out, write{'w', q.TargetAttrs})
	case CmdDelete:
		out = append(out, write{'d', nil})
	case CmdMerge:
		for _, a := range q.Merge {
			switch a.Kind {
			case 'i':
				out = append(out, write{'a', a.Named})
			case 'u':
				out = append(out, write{'w', a.SetAttrs})
			case 'd':
				out = append(out, write{'d', nil})
			}
		}
	}
	return out
}

// ViewUse is an updatable view through which a statement writes its base table.
type ViewUse struct {
	View    *catalog.Relation
	CheckAs sqltypes.OID
	// Attrs are the view's attributes by those of the base table; nil: not known.
	Attrs map[int16]int16
	// Read are the view's attributes that the statement reads.
	Read []int16
}

func (v *ViewUse) named(base []int16) (out []int16) {
	for _, a := range base {
		if n, ok := v.Attrs[a]; ok {
			out = append(out, n)
		}
	}
	return out
}
