package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestDriverReports: what users of comparable servers reported about drivers, on the
// leader and on a follower.
func TestDriverReports(t *testing.T) {
	c := demoCluster(t)
	for _, n := range []*Node{c.leader(), c.follower()} {
		cl := dial(t, n)
		pc := cl.PgConn()
		cl.do("DROP TABLE IF EXISTS kept, wide, chi, par; CREATE TABLE kept (i int); CREATE TABLE wide (a bigint, b int, f boolean)")
		cl.do("CREATE TABLE par (i int PRIMARY KEY); CREATE TABLE chi (i int REFERENCES par DEFERRABLE INITIALLY DEFERRED)")

		// An error in a series of messages undoes what came before it in the series.
		batch := &pgconn.Batch{}
		for _, sql := range []string{"INSERT INTO kept VALUES (1)", "SELEKT", "INSERT INTO kept VALUES (2)"} {
			batch.ExecParams(sql, nil, nil, nil, nil)
		}
		if _, err := pc.ExecBatch(bounded(t), batch).ReadAll(); err == nil || !strings.Contains(err.Error(), "42601") {
			t.Errorf("node %s: series with an error: %v", n.ID(), err)
		}
		cl.want("SELECT count(*) FROM kept", "0")

		// An int4 bound to a bigint column beside a null without a type.
		four := []byte{0, 0, 0, 7}
		r := pc.ExecParams(bounded(t), "INSERT INTO wide VALUES ($1, $2, $3)", [][]byte{four, four, nil}, []uint32{23, 23, 0}, []int16{1}, nil).Read()
		if r.Err != nil {
			t.Errorf("node %s: %v", n.ID(), r.Err)
		}
		cl.want("SELECT wide::text FROM wide", "(7,7,)")

		// Deferred foreign keys are checked at COMMIT.
		cl.do("BEGIN; INSERT INTO chi VALUES (1); INSERT INTO par VALUES (1); COMMIT")
		cl.do("BEGIN; INSERT INTO chi VALUES (2)")
		cl.fails("COMMIT", "23503")
		cl.want("SELECT count(*) FROM chi", "1")
	}
}

// TestMissingPasswordFile: a password file that is named must be there, before anything is made.
func TestMissingPasswordFile(t *testing.T) {
	cfg := DefaultConfig()
	cfg.DataDir = filepath.Join(t.TempDir(), "data")
	cfg.SuperuserPasswordFile = filepath.Join(t.TempDir(), "absent")
	if n, err := Start(t.Context(), cfg); err == nil {
		_ = n.Close()
		t.Fatal("started")
	} else if !strings.Contains(err.Error(), "superuser-password-file") {
		t.Error(err)
	}
	if _, err := os.Stat(cfg.DataDir); err == nil {
		t.Error("the data directory was made")
	}
}
