package node

import (
	"crypto/tls"
	"strings"

	"ostraka/engine/catalog"
	"ostraka/exec/syscat"
	"ostraka/pgfront/session"
	"ostraka/sqltypes"
)

// registerStatistics declares the cumulative statistics views that show the node.
// What has no counterpart in Ostraka's storage (shared buffers, SLRUs, checkpoints
// by a background writer) stays 0, as in a PostgreSQL that did none of it.
func (n *Node) registerStatistics(s *syscat.Set, reg *session.Registry) {
	s.Register("pg_catalog.pg_stat_database", []string{"datid", "datname", "numbackends", "xact_commit", "xact_rollback", "blks_read", "blks_hit",
		"tup_returned", "tup_fetched", "tup_inserted", "tup_updated", "tup_deleted", "conflicts", "temp_files", "temp_bytes", "deadlocks",
		"blk_read_time", "blk_write_time", "session_time", "active_time", "idle_in_transaction_time", "sessions", "sessions_abandoned",
		"sessions_fatal", "sessions_killed"}, true, func(q *syscat.Query, emit syscat.Emit) error {
		connected := map[sqltypes.OID]int64{}
		for _, a := range reg.Activities() {
			connected[a.Database]++
		}
		reg.Forget(func(db sqltypes.OID) bool { return q.Cat.Database(db) != nil })
		row := func(id sqltypes.OID, name sqltypes.Datum, backends, commits, rollbacks, sessions int64) {
			vals := []sqltypes.Datum{oid(id), name, sqltypes.Int(backends), sqltypes.Int(commits), sqltypes.Int(rollbacks)}
			for range 11 {
				vals = append(vals, sqltypes.Int(0))
			}
			for range 5 {
				vals = append(vals, sqltypes.Float(0))
			}
			emit(append(vals, sqltypes.Int(sessions), sqltypes.Int(0), sqltypes.Int(0), sqltypes.Int(0))...)
		}
		row(0, sqltypes.Null, 0, 0, 0, 0)
		q.Cat.AllDatabases(func(d *catalog.Database) bool {
			st := reg.Database(d.OID)
			row(d.OID, sqltypes.Text(d.Name), connected[d.OID], st.Commits.Load(), st.Rollbacks.Load(), st.Sessions.Load())
			return true
		})
		return nil
	})
	s.Register("pg_catalog.pg_stat_database_conflicts", []string{"datid", "datname", "confl_tablespace", "confl_lock", "confl_snapshot",
		"confl_bufferpin", "confl_deadlock"}, false, func(q *syscat.Query, emit syscat.Emit) error {
		z := sqltypes.Int(0)
		q.Cat.AllDatabases(func(d *catalog.Database) bool {
			emit(oid(d.OID), sqltypes.Text(d.Name), z, z, z, z, z)
			return true
		})
		return nil
	})
	s.Register("pg_catalog.pg_stat_ssl", []string{"pid", "ssl", "version", "cipher", "bits"}, true, func(_ *syscat.Query, emit syscat.Emit) error {
		for _, a := range reg.Activities() {
			vals := []sqltypes.Datum{sqltypes.Int(int64(a.PID)), sqltypes.Bool(a.TLS != nil), sqltypes.Null, sqltypes.Null, sqltypes.Null}
			if a.TLS != nil {
				cipher, bits := tls.CipherSuiteName(a.TLS.CipherSuite), int64(256)
				if strings.Contains(cipher, "_128_") {
					bits = 128
				}
				vals[2] = sqltypes.Text(strings.Replace(tls.VersionName(a.TLS.Version), "TLS ", "TLSv", 1))
				vals[3], vals[4] = sqltypes.Text(cipher), sqltypes.Int(bits)
			}
			emit(vals...)
		}
		return nil
	})
	s.CountUsage(n.usage)
	lsn := func(index uint64) sqltypes.Datum { return sqltypes.Int(int64(index)) }
	s.Register("pg_catalog.pg_stat_replication", []string{"application_name", "client_addr", "state", "sent_lsn", "write_lsn", "flush_lsn", "replay_lsn",
		"sync_priority", "sync_state"}, true, func(_ *syscat.Query, emit syscat.Emit) error {
		m := n.group.Metrics()
		for _, x := range m.Members {
			if x.ID == m.Leader || x.Progress == nil {
				continue
			}
			state, priority := "quorum", int64(1)
			if !x.Voter {
				state, priority = "async", 0
			}
			at := lsn(x.Progress.Match)
			emit(sqltypes.Text(x.ID), sqltypes.Null, sqltypes.Text("streaming"), at, at, at, at, sqltypes.Int(priority), sqltypes.Text(state))
		}
		return nil
	})
	zeros := func(name string, ints []string, floats []string) {
		s.Register("pg_catalog."+name, append(ints, floats...), true, func(_ *syscat.Query, emit syscat.Emit) error {
			var vals []sqltypes.Datum
			for range ints {
				vals = append(vals, sqltypes.Int(0))
			}
			for range floats {
				vals = append(vals, sqltypes.Float(0))
			}
			emit(vals...)
			return nil
		})
	}
	zeros("pg_stat_bgwriter", []string{"checkpoints_timed", "checkpoints_req", "buffers_checkpoint", "buffers_clean", "maxwritten_clean",
		"buffers_backend", "buffers_backend_fsync", "buffers_alloc"}, []string{"checkpoint_write_time", "checkpoint_sync_time"})
	zeros("pg_stat_archiver", []string{"archived_count", "failed_count"}, nil)
	zeros("pg_stat_recovery_prefetch", []string{"prefetch", "hit", "skip_init", "skip_new", "skip_fpw", "skip_rep", "wal_distance",
		"block_distance", "io_depth"}, nil)
	for _, name := range []string{"pg_stat_slru", "pg_shmem_allocations", "pg_stat_user_functions", "pg_stat_xact_user_functions"} {
		s.Register("pg_catalog."+name, nil, true, func(*syscat.Query, syscat.Emit) error { return nil })
	}
}

// usage is what the statistics views show of a relation of the home shard.
func (n *Node) usage(rel, index sqltypes.OID) (out syscat.Usage) {
	u := n.shard.Usage(rel)
	switch {
	case u == nil:
	case index != 0:
		x := u.Index(index)
		out.IndexScans, out.IndexRows = x.Scans.Load(), x.Rows.Load()
	default:
		out = syscat.Usage{SeqScans: u.SeqScans.Load(), SeqRows: u.SeqRows.Load(), IndexScans: u.IndexScans.Load(), IndexRows: u.IndexRows.Load(),
			Inserted: u.Inserted.Load(), Updated: u.Updated.Load(), Deleted: u.Deleted.Load()}
	}
	return out
}
