package sqltypes

import (
	"context"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// pgOracle connects to the PostgreSQL 15 named by OSTRAKA_ORACLE_DSN; tests that
// compare with it are skipped when the variable is not set.
func pgOracle(t testing.TB) *pgOracleConn {
	dsn := os.Getenv("OSTRAKA_ORACLE_DSN")
	if dsn == "" {
		t.Skip("OSTRAKA_ORACLE_DSN not set")
	}
	conn, err := pgx.Connect(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	o := &pgOracleConn{t: t, c: conn.PgConn()}
	o.exec("set timezone = 'UTC'; set intervalstyle = 'postgres'; set datestyle = 'ISO, MDY'")
	return o
}

type pgOracleConn struct {
	t testing.TB
	c *pgconn.PgConn
}

func (o *pgOracleConn) exec(sql string) {
	if _, err := o.c.Exec(context.Background(), sql).ReadAll(); err != nil {
		o.t.Fatalf("%s: %v", sql, err)
	}
}

// query runs one statement with text parameters and returns the text of the
// first row's columns ("\x00" for NULL) or the error as "CODE message".
func (o *pgOracleConn) query(sql string, params ...string) []string {
	args := make([][]byte, len(params))
	for i, p := range params {
		args[i] = []byte(p)
	}
	r := o.c.ExecParams(context.Background(), sql, args, nil, nil, nil).Read()
	if r.Err != nil {
		if e, ok := r.Err.(*pgconn.PgError); ok {
			msg := e.Code + " " + e.Message
			if e.Detail != "" {
				msg += "|" + e.Detail
			}
			return []string{msg}
		}
		o.t.Fatalf("%s: %v", sql, r.Err)
	}
	if len(r.Rows) == 0 {
		return nil
	}
	out := make([]string, len(r.Rows[0]))
	for i, v := range r.Rows[0] {
		if v == nil {
			out[i] = "\x00"
		} else {
			out[i] = string(v)
		}
	}
	return out
}

// one is query for a single value.
func (o *pgOracleConn) one(sql string, params ...string) string {
	r := o.query(sql, params...)
	if len(r) == 0 {
		return ""
	}
	return r[0]
}

func (o *pgOracleConn) ctx() context.Context { return context.Background() }

func pgErr(err error) *pgconn.PgError {
	e, _ := err.(*pgconn.PgError)
	return e
}
