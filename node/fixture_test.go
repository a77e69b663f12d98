package node

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var writeFixture = flag.Bool("write-fixture", false, "write testdata/v1 anew; only when the data directory gets a new version")

// fixture is a data directory that was written by the first version of the formats
// of log, state and rows. A program that cannot open it needs a new version and a way over.
const fixture = "testdata/v1"

func makeFixture(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "v1")
	n := alone(t, dir, func(c *Config) { c.DiskReserve = 0 })
	cl := dial(t, n)
	cl.do(`CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE TABLE kept (id bigserial PRIMARY KEY, t text NOT NULL, n numeric(12,3), at timestamptz, j jsonb, a int[], m mood, b bytea);
		CREATE UNIQUE INDEX kept_t ON kept (t); CREATE VIEW seen AS SELECT id, t FROM kept WHERE n > 1; CREATE ROLE reader LOGIN; GRANT SELECT ON kept TO reader`)
	cl.do(`INSERT INTO kept (t, n, at, j, a, m, b) SELECT 'row ' || g, g * 1.125, timestamptz '2024-02-29 12:00:00+00' + g * interval '1 day', jsonb_build_object('k', g), ARRAY[g, NULL], 'happy', decode(md5(g::text), 'hex')
		FROM generate_series(1, 40) g; UPDATE kept SET n = NULL WHERE id = 7; DELETE FROM kept WHERE id > 30; ALTER TABLE kept ADD COLUMN later int DEFAULT 5`)
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	n = alone(t, dir, func(c *Config) { c.DiskReserve = 0 }) // what follows stays in the log
	dial(t, n).do("INSERT INTO kept (t, n) VALUES ('last', 99)")
	copied := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil { // as a crash leaves it
		t.Fatal(err)
	}
	for _, gone := range []string{"LOCK", "tmp", "log/raftlog/LOCK"} {
		_ = os.RemoveAll(filepath.Join(copied, gone))
	}
	segments, err := filepath.Glob(filepath.Join(copied, "log/raftlog/group-0/*.seg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, seg := range segments { // they are made long ahead
		b, err := os.ReadFile(seg)
		if err == nil {
			const page = 4096
			err = os.Truncate(seg, int64((len(bytes.TrimRight(b, "\x00"))/page+1)*page))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(fixture); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(fixture, os.DirFS(copied)); err != nil {
		t.Fatal(err)
	}
}

// TestDataDirectory: a data directory of the first version is opened, read and written; one of a newer version is refused by name.
func TestDataDirectory(t *testing.T) {
	if *writeFixture {
		makeFixture(t)
	}
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(dir, os.DirFS(fixture)); err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		n := alone(t, dir, nil)
		cl := dial(t, n)
		cl.want("SELECT count(*), count(n), sum(n), min(at), max(later), sum((j->>'k')::int), count(b), sum(a[1]) FROM kept WHERE id <= 30",
			"30|29|515.250|2024-03-01 12:00:00+00|5|465|30|465")
		cl.want("SELECT id, t, n, later FROM kept WHERE t = 'last'", "41|last|99.000|5")
		cl.want("SELECT count(*) FROM seen WHERE id <= 30", "29")
		cl.fails("INSERT INTO kept (t) VALUES ('row 3')", "23505")
		cl.want("SELECT DISTINCT m FROM kept WHERE m IS NOT NULL", "happy")
		cl.do("SET ROLE reader; SELECT count(*) FROM kept; RESET ROLE")
		if round == 0 {
			cl.want("INSERT INTO kept (t) VALUES ('new') RETURNING id > 41", "t")
		} else {
			cl.want("SELECT count(*) FROM kept WHERE t = 'new'", "1")
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
	}
	cfg := DefaultConfig()
	cfg.DataDir = dir
	cfg.Listen, cfg.RaftAddr, cfg.HTTP = "127.0.0.1:0", "127.0.0.1:0", ""
	if err := os.WriteFile(filepath.Join(dir, "FORMAT"), []byte("ostraka data 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	n, err := Start(bounded(t), cfg)
	if err == nil {
		_ = n.Close()
	}
	if err == nil || !strings.Contains(err.Error(), `"ostraka data 2"`) {
		t.Errorf("a newer data directory: %v", err)
	}
}
