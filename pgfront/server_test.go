package pgfront

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func connect(t testing.TB, dsn string) *pgx.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

func TestSelect(t *testing.T) {
	_, dsn := startFake(t)
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeDescribeExec} {
		c := connect(t, dsn)
		var n int
		var s string
		if err := c.QueryRow(context.Background(), "SELECT 1, 'x'", mode).Scan(&n, &s); err != nil || n != 1 || s != "x" {
			t.Fatalf("%v: %d %q %v", mode, n, s, err)
		}
		if mode == pgx.QueryExecModeSimpleProtocol {
			continue
		}
		if err := c.QueryRow(context.Background(), "SELECT $1::int4", mode, 42).Scan(&n); err != nil || n != 42 {
			t.Fatalf("%v: %d %v", mode, n, err)
		}
	}
}

func TestCancelAndTimeout(t *testing.T) {
	_, dsn := startFake(t)
	c := connect(t, dsn)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	pc, err := pgconn.Connect(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer pc.Close(context.Background())
	go func() {
		<-ctx.Done()
		_ = pc.CancelRequest(context.Background())
	}()
	_, err = pc.Exec(context.Background(), "SELECT pg_sleep(20)").ReadAll()
	if code(err) != "57014" {
		t.Fatalf("cancel: %v", err)
	}
	if time.Since(start) > 5*time.Second {
		t.Fatal("cancel was slow")
	}
	if _, err := c.Exec(context.Background(), "SET statement_timeout = '30ms'"); err != nil {
		t.Fatal(err)
	}
	if _, err = c.Exec(context.Background(), "SELECT pg_sleep(20)"); code(err) != "57014" {
		t.Fatalf("timeout: %v", err)
	}
}

func code(err error) string {
	if e, ok := err.(*pgconn.PgError); ok {
		return e.Code
	}
	return ""
}

// TestServeForProbe keeps a server up for tools that talk to it: FRONT_LISTEN=seconds.
func TestServeForProbe(t *testing.T) {
	d, err := time.ParseDuration(os.Getenv("FRONT_SERVE"))
	if err != nil {
		t.Skip("FRONT_SERVE is not set")
	}
	_, dsn := startReal(t)
	if err := os.WriteFile(os.Getenv("FRONT_DSN_FILE"), []byte(dsn), 0o600); err != nil {
		t.Fatal(err)
	}
	time.Sleep(d)
}
