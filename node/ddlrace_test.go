package node

import (
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestCreateRace: of sessions that create an object of the same name at once one makes
// it, and the others see it when it is there.
func TestCreateRace(t *testing.T) {
	n := alone(t, t.TempDir(), nil)
	const sessions = 6
	var all []*client
	for range sessions {
		all = append(all, dial(t, n))
	}
	for round, sql := range []string{
		"CREATE TABLE IF NOT EXISTS race_t%d (a int PRIMARY KEY)",
		"CREATE TABLE IF NOT EXISTS race_ts%d (time timestamptz, h text) WITH (timeseries, tags = 'h')",
		"CREATE TABLE race_u%d (a int)",
		"CREATE SCHEMA IF NOT EXISTS race_s%d",
		"CREATE SEQUENCE race_q%d",
		"CREATE VIEW race_v%d AS SELECT 1",
		"CREATE TYPE race_e%d AS ENUM ('a')",
		"CREATE ROLE race_r%d",
		"CREATE FUNCTION race_f%d() RETURNS int LANGUAGE sql AS 'SELECT 1'",
	} {
		sql := fmt.Sprintf(sql, round)
		var wg sync.WaitGroup
		errs := make([]error, sessions)
		for i, c := range all {
			wg.Go(func() { _, errs[i] = c.PgConn().Exec(bounded(t), sql).ReadAll() })
		}
		wg.Wait()
		made := 0
		for _, err := range errs {
			pe, _ := err.(*pgconn.PgError)
			switch {
			case err == nil:
				made++
			case pe == nil || pe.Code[:2] != "42":
				t.Errorf("%s: %v", sql, err)
			}
		}
		if made == 0 {
			t.Errorf("%s: nobody has made it: %v", sql, errs)
		}
	}
	all[0].want("SELECT relname FROM pg_class WHERE relname LIKE 'race\\__%' AND relkind <> 'i' GROUP BY 1 HAVING count(*) > 1", "")
	all[0].want("SELECT count(*), count(DISTINCT relname) FROM pg_class WHERE relname LIKE 'race\\__%' AND relkind IN ('r', 'S', 'v')", "5|5")
	all[0].want("SELECT (SELECT count(*) FROM pg_namespace WHERE nspname = 'race_s3'), (SELECT count(*) FROM pg_type WHERE typname = 'race_e6'), "+
		"(SELECT count(*) FROM pg_roles WHERE rolname = 'race_r7'), (SELECT count(*) FROM pg_proc WHERE proname = 'race_f8')", "1|1|1|1")
	// A creator that rolls back leaves the name to the one that waits.
	all[0].do("BEGIN; CREATE TABLE race_w (a int)")
	done := make(chan error, 1)
	go func() {
		_, err := all[1].PgConn().Exec(bounded(t), "CREATE TABLE race_w (b int)").ReadAll()
		done <- err
	}()
	all[2].soon("SELECT count(*) FROM pg_locks WHERE NOT granted", "1")
	all[0].do("ROLLBACK")
	if err := <-done; err != nil {
		t.Error(err)
	}
	all[0].want("SELECT string_agg(attname, ',') FROM pg_attribute WHERE attrelid = 'race_w'::regclass AND attnum > 0", "b")
}
