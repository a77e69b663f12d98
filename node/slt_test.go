package node

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ostraka/sqltest"
)

// TestSQL runs every file of sqltest/testdata, whose expectations were recorded
// from PostgreSQL 15, through three drivers, each file in a database of its own.
func TestSQL(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	d, err := StartDemo(ctx, DemoConfig{Nodes: 1, Dir: t.TempDir(), LogLevel: "error"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	admin := "postgres://postgres@" + d.Nodes[0].front.addr() + "/postgres?sslmode=disable"
	root := filepath.Join("..", "sqltest", "testdata")
	n := 0
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".slt") {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		for _, name := range []string{"pgx", "pgx-extended", "pq"} {
			n++
			db := fmt.Sprintf("slt%d", n)
			t.Run(filepath.ToSlash(rel)+"/"+name, func(t *testing.T) { runFile(ctx, t, path, admin, db, name) })
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n == 0 {
		t.Error("there are no test files")
	}
}

func runFile(ctx context.Context, t *testing.T, path, admin, db, driver string) {
	f, err := sqltest.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	drv := sqltest.Drivers()
	conn, err := drv["pgx"].Open(ctx, admin)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Run(ctx, "CREATE DATABASE "+db); err != nil {
		t.Fatal(err)
	}
	rep, err := sqltest.Run(ctx, f, sqltest.Options{DSN: strings.Replace(admin, "/postgres?", "/"+db+"?", 1), Driver: drv[driver]})
	if err != nil {
		t.Fatal(err)
	}
	for _, fail := range rep.Failures {
		t.Error(fail)
	}
	if _, err := conn.Run(ctx, "DROP DATABASE "+db); err != nil {
		t.Error(err)
	}
	// Roles belong to no database: the next run makes them again.
	roles, err := conn.Run(ctx, "SELECT rolname FROM pg_roles WHERE rolname <> 'postgres' AND rolname !~ '^(pg_|ostraka_)'")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range roles.Rows {
		if _, err := conn.Run(ctx, fmt.Sprintf("DROP ROLE %q", *r[0])); err != nil {
			t.Error(err)
		}
	}
}
