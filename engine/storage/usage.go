package storage

import (
	"sync/atomic"

	"ostraka/sqltypes"
)

// Usage counts what statements did with a relation since the process started.
// Versions of its descriptor share one.
type Usage struct {
	SeqScans, SeqRows          atomic.Int64
	IndexScans, IndexRows      atomic.Int64 // of all its indexes
	Inserted, Updated, Deleted atomic.Int64
	indexes                    atomic.Pointer[map[sqltypes.OID]*IndexUsage] // never changed, replaced
}

// IndexUsage counts what statements read by one index.
type IndexUsage struct{ Scans, Rows atomic.Int64 }

// Index returns the counters of an index.
func (u *Usage) Index(o sqltypes.OID) *IndexUsage {
	for {
		old := u.indexes.Load()
		if old != nil {
			if x := (*old)[o]; x != nil {
				return x
			}
		}
		next := map[sqltypes.OID]*IndexUsage{o: new(IndexUsage)}
		if old != nil {
			for k, v := range *old {
				next[k] = v
			}
		}
		if u.indexes.CompareAndSwap(old, &next) {
			return next[o]
		}
	}
}

// Read counts a scan that delivered rows; x nil: it was no index's.
func (u *Usage) Read(x *Index, scans, rows int64) {
	if x == nil {
		u.SeqScans.Add(scans)
		u.SeqRows.Add(rows)
		return
	}
	u.IndexScans.Add(scans)
	u.IndexRows.Add(rows)
	i := u.Index(x.Ix.OID)
	i.Scans.Add(scans)
	i.Rows.Add(rows)
}
