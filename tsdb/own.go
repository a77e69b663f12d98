package tsdb

import (
	"cmp"
	"slices"

	"ostraka/engine"
	"ostraka/sqltypes"
	"ostraka/tsdb/store"
)

// collectOwn takes the transaction's own rows that the scan wants, as they are now:
// what the statement writes while it scans is not seen.
func (s *scanner) collectOwn(series []*store.Series, rng store.Range) {
	if len(s.own) == 0 {
		s.own = nil
		return
	}
	wanted := map[uint32]bool{}
	for _, x := range series {
		wanted[x.SID] = true
	}
	hidden := make(map[ownKey]ownRow, len(s.own))
	for k, o := range s.own {
		hidden[k] = ownRow{}
		if o.gone || k.t < rng.Lo || k.t > rng.Hi || series != nil && !wanted[k.sid] || !within(k.t, s.allowed) {
			continue
		}
		s.mine = append(s.mine, ownEntry{t: k.t, ownRow: o, s: s.st.SeriesByID(k.sid)})
	}
	s.own = hidden
	slices.SortFunc(s.mine, func(a, b ownEntry) int { return cmp.Or(cmp.Compare(a.s.SID, b.s.SID), cmp.Compare(a.t, b.t)) })
}

// emitOwn appends one own row to the batch.
func (s *scanner) emitOwn(e *ownEntry) {
	fields := e.s.Table.Fields()
	for i, a := range s.spec.Cols {
		v := s.out[i]
		v.Ensure(s.n + 1)
		d := sqltypes.Null
		switch {
		case a == s.rel.Spec.Time:
			d = sqltypes.Int(e.t)
		case a == engine.AttrTableOID:
			d = sqltypes.Int(int64(s.rel.Rel.OID))
		case a < 0:
			d = sqltypes.Int(0)
		case s.rel.tagAt[a-1] >= 0:
			d = s.rel.datum(a, e.s.Tags[s.rel.tagAt[a-1]])
		default:
			for k, f := range fields {
				if f.ID == a && k < len(e.vals) {
					d = s.rel.datumOf(a, e.vals[k])
				}
			}
		}
		v.Set(s.n, d)
	}
	if s.spec.Refs {
		s.refs = append(s.refs, engine.RowRef{Key: refKey(e.s.SID, e.t), Xid: 1})
	}
	s.n++
}
