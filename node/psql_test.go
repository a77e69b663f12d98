package node

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var recordPsql = flag.String("record-psql", "", "host:port of a PostgreSQL 15 whose answers become testdata/psql/expected.txt")

// tool finds one of PostgreSQL's client programs; without it the test is skipped.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not on this machine", name)
	}
	return path
}

// runTool runs a client program and returns what it wrote; both: with its
// complaints where they came, otherwise stdout alone.
func runTool(t *testing.T, name string, args ...string) (stdout, both string, err error) {
	t.Helper()
	cmd := exec.CommandContext(bounded(t), tool(t, name), args...)
	cmd.Env = append(os.Environ(), "PGTZ=UTC", "LC_ALL=C", "PGSSLMODE=disable", "PGCLIENTENCODING=UTF8")
	var out, all bytes.Buffer
	if name == "psql" {
		cmd.Stdout, cmd.Stderr = &all, &all
	} else {
		cmd.Stdout, cmd.Stderr = &out, &all
	}
	err = cmd.Run()
	return out.String(), all.String(), err
}

// fresh makes a database with the test schema on a server, "host:port".
func fresh(t *testing.T, addr, db string) string {
	t.Helper()
	url := func(db string) string { return "postgres://postgres@" + addr + "/" + db }
	for _, sql := range []string{"DROP DATABASE IF EXISTS " + db, "DROP ROLE IF EXISTS psq_reader, psq_admin", "CREATE DATABASE " + db} {
		if _, all, err := runTool(t, "psql", "-qX", url("postgres"), "-c", sql); err != nil {
			t.Fatalf("%s: %v\n%s", sql, err, all)
		}
	}
	if _, all, err := runTool(t, "psql", "-qX", "-v", "ON_ERROR_STOP=1", url(db), "-f", filepath.Join("testdata", "psql", "schema.sql")); err != nil {
		t.Fatalf("the schema: %v\n%s", err, all)
	}
	return url(db)
}

// TestPsqlDescribe compares psql's \d family with what it prints of PostgreSQL 15.
func TestPsqlDescribe(t *testing.T) {
	tool(t, "psql")
	addr := *recordPsql
	if addr == "" {
		addr = demoCluster(t).leader().front.addr()
	}
	url := fresh(t, addr, "psq")
	commands, err := os.ReadFile(filepath.Join("testdata", "psql", "commands.txt"))
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-X", url}
	list := strings.Split(strings.TrimSpace(string(commands)), "\n")
	for i, c := range list {
		args = append(args, "-c", fmt.Sprintf(`\echo == %d`, i), "-c", c)
	}
	_, got, _ := runTool(t, "psql", args...)
	path := filepath.Join("testdata", "psql", "expected.txt")
	if *recordPsql != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a, b := sections(string(want)), sections(got)
	for i, c := range list {
		if a[i] != b[i] {
			t.Errorf("%s\n got:\n%s\n want:\n%s", c, b[i], a[i])
		}
	}
}

// sections cuts psql's output at the marks between commands.
func sections(s string) map[int]string {
	out := map[int]string{}
	at := -1
	for line := range strings.Lines(s) {
		if _, err := fmt.Sscanf(line, "== %d", &at); err != nil {
			out[at] += line
		}
	}
	return out
}

// TestDumpRestore: what pg_dump writes, restored, dumps the same, in every form.
func TestDumpRestore(t *testing.T) {
	tool(t, "pg_dump")
	tool(t, "pg_restore")
	addr := demoCluster(t).leader().front.addr()
	url := fresh(t, addr, "dumped")
	empty := func(db string) string {
		for _, sql := range []string{"DROP DATABASE IF EXISTS " + db, "CREATE DATABASE " + db} {
			if _, all, err := runTool(t, "psql", "-qX", "postgres://postgres@"+addr+"/postgres", "-c", sql); err != nil {
				t.Fatalf("%s: %v\n%s", sql, err, all)
			}
		}
		return "postgres://postgres@" + addr + "/" + db
	}
	dump := func(url string, args ...string) string {
		out, all, err := runTool(t, "pg_dump", append(args, url)...)
		if err != nil {
			t.Fatalf("pg_dump %v: %v\n%s", args, err, all)
		}
		return out
	}
	load := func(url, script string) {
		f := filepath.Join(t.TempDir(), "script.sql")
		if err := os.WriteFile(f, []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, all, err := runTool(t, "psql", "-qX", "-v", "ON_ERROR_STOP=1", url, "-f", f); err != nil {
			t.Fatalf("restoring: %v\n%s", err, all)
		}
	}
	same := func(what, a, b string) {
		t.Helper()
		if a, b = withoutKeys(a), withoutKeys(b); a != b {
			t.Errorf("%s: the dump of what was restored differs:\n%s", what, firstDifference(a, b))
		}
	}
	whole := dump(url)
	if !strings.Contains(whole, "COPY app.people") || !strings.Contains(whole, "CREATE AGGREGATE") {
		t.Error("the dump misses data or objects")
	}
	to := empty("again")
	load(to, whole)
	same("plain", whole, dump(to))

	inserts := dump(url, "--inserts")
	to = empty("again")
	load(to, inserts)
	same("--inserts", inserts, dump(to, "--inserts"))

	schema, data := dump(url, "--schema-only"), dump(url, "--data-only")
	to = empty("again")
	load(to, schema)
	same("--schema-only", schema, dump(to, "--schema-only"))
	load(to, data)
	same("--data-only", data, dump(to, "--data-only"))
	load(to, "REFRESH MATERIALIZED VIEW app.pet_count") // neither the schema nor the data does it
	same("--schema-only and --data-only", whole, dump(to))

	file := filepath.Join(t.TempDir(), "custom.dump")
	dump(url, "-Fc", "-f", file)
	to = empty("again")
	if _, all, err := runTool(t, "pg_restore", "--exit-on-error", "-d", to, file); err != nil {
		t.Fatalf("pg_restore: %v\n%s", err, all)
	}
	same("-Fc", whole, dump(to))

	globals, all, err := runTool(t, "pg_dumpall", "--globals-only", "-d", "postgres://postgres@"+addr+"/postgres")
	if err != nil {
		t.Fatalf("pg_dumpall: %v\n%s", err, all)
	}
	for _, want := range []string{"CREATE ROLE psq_reader;", "ALTER ROLE psq_admin WITH NOSUPERUSER INHERIT CREATEROLE CREATEDB LOGIN NOREPLICATION NOBYPASSRLS CONNECTION LIMIT 5",
		"GRANT psq_reader TO psq_admin", "COMMENT ON ROLE psq_admin IS 'administers';"} {
		if !strings.Contains(globals, want) {
			t.Errorf("pg_dumpall --globals-only misses %q:\n%s", want, globals)
		}
	}
}

// withoutKeys takes out the random keys of \restrict, which newer clients write.
func withoutKeys(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		if !strings.HasPrefix(line, `\restrict`) && !strings.HasPrefix(line, `\unrestrict`) {
			b.WriteString(line)
		}
	}
	return b.String()
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d: %q, then %q", i+1, x[i], y[i])
		}
	}
	return fmt.Sprintf("%d lines, then %d", len(x), len(y))
}
