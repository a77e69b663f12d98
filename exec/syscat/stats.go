package syscat

import (
	"sort"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

// Usage is what statements did with a relation or index on this node since it started.
type Usage struct {
	SeqScans, SeqRows, IndexScans, IndexRows, Inserted, Updated, Deleted int64
}

// Counters gives the usage of a relation, or of one of its indexes (index 0: of the relation).
type Counters func(rel, index sqltypes.OID) Usage

// CountUsage declares the statistics views anew over what is counted. Until then
// they show what ANALYZE found.
func (s *Set) CountUsage(of Counters) { s.counters = of; registerStats(s) }

// registerStats declares the statistics views. Ostraka counts no blocks: those
// columns are 0, as they are in PostgreSQL for a table that nobody used since the
// statistics were reset; scans, rows and the time of ANALYZE are real.
func registerStats(s *Set) {
	usage := func(rel, index sqltypes.OID) Usage {
		if s.counters == nil || rel < catalog.FirstUserOID {
			return Usage{}
		}
		return s.counters(rel, index)
	}
	n64 := sqltypes.Int
	tables := []string{"relid", "schemaname", "relname", "seq_scan", "seq_tup_read", "idx_scan", "idx_tup_fetch", "n_tup_ins", "n_tup_upd", "n_tup_del",
		"n_tup_hot_upd", "n_live_tup", "n_dead_tup", "n_mod_since_analyze", "n_ins_since_vacuum", "last_analyze", "vacuum_count", "autovacuum_count",
		"analyze_count", "autoanalyze_count"}
	s.tableStats("stat", tables, func(q *Query, schema string, r *catalog.Relation, emit Emit) {
		z, live, at, n := num(0), num(0), sqltypes.Null, num(0)
		if st := q.Cat.Stats(r.OID); st != nil {
			live, n = sqltypes.Int(int64(st.Rows)), num(1)
			if st.AnalyzedAt != 0 {
				at = sqltypes.Int(st.AnalyzedAt)
			}
		}
		u := usage(r.OID, 0)
		idx, fetched := n64(u.IndexScans), n64(u.IndexRows)
		if len(r.Indexes) == 0 {
			idx, fetched = sqltypes.Null, sqltypes.Null
		}
		if at.Null { // never analysed: what came and went here
			live = n64(max(u.Inserted-u.Deleted, 0))
		}
		emit(oid(r.OID), text(schema), text(r.Name), n64(u.SeqScans), n64(u.SeqRows), idx, fetched, n64(u.Inserted), n64(u.Updated), n64(u.Deleted), z, live,
			z, z, z, at, z, z, n, z)
	})
	io := []string{"relid", "schemaname", "relname", "heap_blks_read", "heap_blks_hit", "idx_blks_read", "idx_blks_hit"}
	s.tableStats("statio", io, func(_ *Query, schema string, r *catalog.Relation, emit Emit) {
		idx := num(0)
		if len(r.Indexes) == 0 {
			idx = sqltypes.Null
		}
		emit(oid(r.OID), text(schema), text(r.Name), num(0), num(0), idx, idx)
	})
	xact := []string{"relid", "schemaname", "relname", "seq_scan", "seq_tup_read", "idx_scan", "idx_tup_fetch", "n_tup_ins", "n_tup_upd", "n_tup_del", "n_tup_hot_upd"}
	s.tableStats("stat_xact", xact, func(_ *Query, schema string, r *catalog.Relation, emit Emit) {
		z := num(0)
		emit(oid(r.OID), text(schema), text(r.Name), z, z, z, z, z, z, z, z)
	})
	s.indexStats("stat", []string{"relid", "indexrelid", "schemaname", "relname", "indexrelname", "idx_scan", "idx_tup_read", "idx_tup_fetch"},
		func(rel, ix sqltypes.OID) []sqltypes.Datum {
			u := usage(rel, ix)
			return []sqltypes.Datum{n64(u.IndexScans), n64(u.IndexRows), n64(u.IndexRows)}
		})
	s.indexStats("statio", []string{"relid", "indexrelid", "schemaname", "relname", "indexrelname", "idx_blks_read", "idx_blks_hit"},
		func(_, _ sqltypes.OID) []sqltypes.Datum { return []sqltypes.Datum{n64(0), n64(0)} })
	s.Register("pg_catalog.pg_stats", []string{"schemaname", "tablename", "attname", "inherited", "null_frac", "avg_width", "n_distinct",
		"most_common_freqs", "correlation"}, false, columnStats)
}

// visibility tells the three kinds of statistics views apart: _all_, _sys_, _user_.
var visibility = map[string]func(r *catalog.Relation) bool{
	"all":  func(*catalog.Relation) bool { return true },
	"sys":  func(r *catalog.Relation) bool { return r.OID < catalog.FirstUserOID },
	"user": func(r *catalog.Relation) bool { return r.OID >= catalog.FirstUserOID },
}

func (s *Set) tableStats(kind string, cols []string, row func(*Query, string, *catalog.Relation, Emit)) {
	for which, shown := range visibility {
		name := "pg_catalog.pg_" + kind + "_" + which + "_tables"
		if s.byName[name] == nil {
			continue
		}
		s.Register(name, cols, true, func(q *Query, emit Emit) error {
			eachTable(q, func(schema string, r *catalog.Relation) {
				if shown(r) {
					row(q, schema, r, emit)
				}
			})
			return nil
		})
	}
}

func (s *Set) indexStats(kind string, cols []string, counters func(rel, index sqltypes.OID) []sqltypes.Datum) {
	for which, shown := range visibility {
		s.Register("pg_catalog.pg_"+kind+"_"+which+"_indexes", cols, true, func(q *Query, emit Emit) error {
			eachTable(q, func(schema string, r *catalog.Relation) {
				for _, ix := range r.Indexes {
					if shown(r) {
						row := []sqltypes.Datum{oid(r.OID), oid(ix.OID), text(schema), text(r.Name), text(ix.Name)}
						emit(append(row, counters(r.OID, ix.OID)...)...)
					}
				}
			})
			return nil
		})
	}
}

// eachTable calls f for every table and materialised view with its schema's name.
func eachTable(q *Query, f func(schema string, r *catalog.Relation)) {
	for _, t := range q.set.order {
		if t.kind == 'r' {
			f(t.schema, t.virtual.Rel)
		}
	}
	for _, r := range relations(q.Cat) {
		if r.Kind == catalog.KindTable || r.Kind == catalog.KindMatView {
			if s := q.Cat.Schema(r.Schema); s != nil {
				f(s.Name, r)
			}
		}
	}
}

// columnStats shows what ANALYZE found, except the values themselves, whose type differs from column to column.
func columnStats(q *Query, emit Emit) error {
	eachTable(q, func(schema string, r *catalog.Relation) {
		st := q.Cat.Stats(r.OID)
		if st == nil || r.RowSecurity && hidesRows(q, r) {
			return
		}
		attrs := make([]int, 0, len(st.Columns))
		for a := range st.Columns {
			attrs = append(attrs, int(a))
		}
		sort.Ints(attrs)
		for _, a := range attrs {
			if a < 1 || a > len(r.Columns) || r.Columns[a-1].Dropped {
				continue
			}
			c := st.Columns[int16(a)]
			freqs := sqltypes.Null
			if len(c.MCVFreq) > 0 {
				vals := make([]sqltypes.Datum, len(c.MCVFreq))
				for i, f := range c.MCVFreq {
					vals[i] = float4(f)
				}
				freqs = array(sqltypes.OIDFloat4, vals)
			}
			emit(text(schema), text(r.Name), text(r.Columns[a-1].Name), yes(false), float4(c.NullFrac), num(int(c.AvgWidth)), float4(c.NDistinct), freqs, float4(c.Correlation))
		}
	})
	return nil
}
