package sqltest

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lib/pq"
)

// Result is what a server answered to one record: text values, nil for NULL.
type Result struct {
	Rows [][]*string
	Cols int
}

// ServerError is an error that the server reported (any other error of a Conn
// is a lost connection or a failure of the driver).
type ServerError struct {
	Code    string
	Message string
}

func (e *ServerError) Error() string { return fmt.Sprintf("%s (SQLSTATE %s)", e.Message, e.Code) }

// Conn is one session through one driver.
type Conn interface {
	Run(ctx context.Context, sql string) (*Result, error)
	Close(ctx context.Context) error
}

// Driver opens sessions.
type Driver interface {
	Name() string
	Open(ctx context.Context, dsn string) (Conn, error)
}

// Drivers are the ones this package has, by name.
func Drivers() map[string]Driver {
	return map[string]Driver{
		"pgx":          pgxDriver{},
		"pgx-extended": pgxDriver{extended: true},
		"pq":           pqDriver{},
	}
}

// pgxDriver uses pgx's low-level connection: the simple protocol, or one
// unnamed extended-protocol round per record.
type pgxDriver struct{ extended bool }

func (d pgxDriver) Name() string {
	if d.extended {
		return "pgx-extended"
	}
	return "pgx"
}

func (d pgxDriver) Open(ctx context.Context, dsn string) (Conn, error) {
	c, err := pgconn.Connect(ctx, dsn)
	if err != nil {
		return nil, serverError(err)
	}
	return &pgxConn{c: c, extended: d.extended}, nil
}

type pgxConn struct {
	c        *pgconn.PgConn
	extended bool
}

func (c *pgxConn) Run(ctx context.Context, sql string) (*Result, error) {
	if c.extended {
		r := c.c.ExecParams(ctx, sql, nil, nil, nil, nil).Read()
		if r.Err != nil {
			return nil, serverError(r.Err)
		}
		return fromPgconn(r), nil
	}
	all, err := c.c.Exec(ctx, sql).ReadAll()
	if err != nil {
		return nil, serverError(err)
	}
	if len(all) == 0 {
		return &Result{}, nil
	}
	return fromPgconn(all[len(all)-1]), nil
}

func fromPgconn(r *pgconn.Result) *Result {
	out := &Result{Cols: len(r.FieldDescriptions)}
	for _, row := range r.Rows {
		vals := make([]*string, len(row))
		for i, v := range row {
			if v != nil {
				s := string(v)
				vals[i] = &s
			}
		}
		out.Rows = append(out.Rows, vals)
	}
	return out
}

func (c *pgxConn) Close(ctx context.Context) error { return c.c.Close(ctx) }

// pqDriver uses lib/pq through database/sql.
type pqDriver struct{}

func (pqDriver) Name() string { return "pq" }

func (pqDriver) Open(ctx context.Context, dsn string) (Conn, error) {
	db, err := sql.Open("postgres", dsn)
	if err != nil {
		return nil, err
	}
	c, err := db.Conn(ctx)
	if err != nil {
		db.Close()
		return nil, serverError(err)
	}
	return &pqConn{db: db, c: c}, nil
}

type pqConn struct {
	db *sql.DB
	c  *sql.Conn
}

func (c *pqConn) Run(ctx context.Context, q string) (*Result, error) {
	rows, err := c.c.QueryContext(ctx, q)
	if err != nil {
		return nil, serverError(err)
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		return nil, serverError(err)
	}
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, serverError(err)
	}
	out := &Result{Cols: len(cols)}
	raw := make([]any, len(cols))
	ptrs := make([]any, len(cols))
	for i := range raw {
		ptrs[i] = &raw[i]
	}
	for rows.Next() {
		if err := rows.Scan(ptrs...); err != nil {
			return nil, err
		}
		vals := make([]*string, len(cols))
		for i, v := range raw {
			if v != nil {
				s := pqText(v, types[i].DatabaseTypeName())
				vals[i] = &s
			}
		}
		out.Rows = append(out.Rows, vals)
	}
	return out, serverError(rows.Err())
}

// pqText gives a value that lib/pq has decoded the text that the server sent (in
// a session with TimeZone UTC and DateStyle ISO).
func pqText(v any, typ string) string {
	switch v := v.(type) {
	case []byte:
		if typ == "BYTEA" {
			return `\x` + hex.EncodeToString(v)
		}
		return string(v)
	case bool:
		if v {
			return "t"
		}
		return "f"
	case float64:
		if typ == "FLOAT4" {
			return strconv.FormatFloat(v, 'g', -1, 32)
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	case time.Time:
		switch typ {
		case "DATE":
			return v.Format("2006-01-02")
		case "TIME":
			return v.Format("15:04:05.999999")
		case "TIMETZ":
			return v.Format("15:04:05.999999-07")
		case "TIMESTAMP":
			return v.Format("2006-01-02 15:04:05.999999")
		}
		return v.UTC().Format("2006-01-02 15:04:05.999999-07")
	}
	return fmt.Sprint(v)
}

func (c *pqConn) Close(context.Context) error {
	c.c.Close()
	return c.db.Close()
}

func serverError(err error) error {
	if err == nil {
		return nil
	}
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return &ServerError{Code: pe.Code, Message: pe.Message}
	}
	var qe *pq.Error
	if errors.As(err, &qe) {
		return &ServerError{Code: string(qe.Code), Message: qe.Message}
	}
	return err
}
