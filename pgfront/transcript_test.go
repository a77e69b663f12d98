package pgfront

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestTranscripts runs testdata/wire: each "query" block is one simple Query
// message. The expectations were recorded from PostgreSQL 15:
// FRONT_RECORD=DSN go test -run TestTranscripts -rewrite .
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/wire", func(t *testing.T, path string) {
		dsn := os.Getenv("FRONT_RECORD")
		if dsn == "" {
			_, dsn = startReal(t)
		}
		var notices []string
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		cfg, err := pgconn.ParseConfig(dsn)
		if err != nil {
			t.Fatal(err)
		}
		cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
			notices = append(notices, fmt.Sprintf("%s %s: %s", n.Severity, n.Code, n.Message))
		}
		cfg.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) {
			notices = append(notices, fmt.Sprintf("notification %s %q", n.Channel, n.Payload))
		}
		conn, err := pgconn.ConnectConfig(ctx, cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(ctx)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			notices = nil
			var sb strings.Builder
			mr := conn.Exec(ctx, d.Input)
			for mr.NextResult() {
				rr := mr.ResultReader()
				var head []string
				for _, f := range rr.FieldDescriptions() {
					head = append(head, fmt.Sprintf("%s:%d", f.Name, f.DataTypeOID))
				}
				if head != nil {
					fmt.Fprintf(&sb, "(%s)\n", strings.Join(head, ", "))
				}
				for rr.NextRow() {
					var vals []string
					for _, v := range rr.Values() {
						if v == nil {
							vals = append(vals, "NULL")
						} else {
							vals = append(vals, string(v))
						}
					}
					fmt.Fprintf(&sb, "%s\n", strings.Join(vals, "|"))
				}
				tag, err := rr.Close()
				if err == nil {
					fmt.Fprintf(&sb, "%s\n", tag)
				}
			}
			if err := mr.Close(); err != nil {
				if e, ok := err.(*pgconn.PgError); ok {
					fmt.Fprintf(&sb, "%s %s: %s\n", e.Severity, e.Code, e.Message)
					if e.Detail != "" {
						fmt.Fprintf(&sb, "  detail: %s\n", e.Detail)
					}
					if e.Hint != "" {
						fmt.Fprintf(&sb, "  hint: %s\n", e.Hint)
					}
				} else {
					fmt.Fprintf(&sb, "connection: %v\n", err)
				}
			}
			for _, n := range notices {
				fmt.Fprintf(&sb, "%s\n", n)
			}
			fmt.Fprintf(&sb, "[%c]\n", conn.TxStatus())
			return sb.String()
		})
	})
}
