package pgfront

import (
	"context"
	"encoding/binary"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"ostraka/pgfront/session"
	"ostraka/planner"
)

// raw is a connection that speaks messages.
type raw struct {
	t    testing.TB
	conn net.Conn
	fe   *pgproto3.Frontend
}

func rawConn(t testing.TB, dsn string) *raw {
	t.Helper()
	cfg, err := pgconn.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	pc, err := pgconn.ConnectConfig(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	h, err := pc.Hijack()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Conn.Close() })
	_ = h.Conn.SetDeadline(time.Now().Add(20 * time.Second))
	return &raw{t, h.Conn, h.Frontend}
}

// exchange sends messages and returns the answers up to the n-th ReadyForQuery, or the end.
func (r *raw) exchange(n int, msgs ...pgproto3.FrontendMessage) string {
	r.t.Helper()
	for _, m := range msgs {
		r.fe.Send(m)
	}
	if err := r.fe.Flush(); err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for {
		m, err := r.fe.Receive()
		if err != nil {
			return strings.Join(append(out, "EOF"), " ")
		}
		switch m := m.(type) {
		case *pgproto3.ErrorResponse:
			out = append(out, m.Severity+":"+m.Code)
		case *pgproto3.NoticeResponse:
			out = append(out, "N:"+m.Code)
		case *pgproto3.CommandComplete:
			out = append(out, "C:"+string(m.CommandTag))
		case *pgproto3.ReadyForQuery:
			out = append(out, "Z:"+string(m.TxStatus))
			if n--; n == 0 {
				return strings.Join(out, " ")
			}
		case *pgproto3.DataRow:
			if len(m.Values) > 0 {
				out = append(out, "D:"+string(m.Values[0]))
			} else {
				out = append(out, "D")
			}
		case *pgproto3.RowDescription:
			out = append(out, "T")
		case *pgproto3.ParseComplete:
			out = append(out, "1")
		case *pgproto3.BindComplete:
			out = append(out, "2")
		case *pgproto3.NoData:
			out = append(out, "n")
		case *pgproto3.PortalSuspended:
			out = append(out, "s")
		case *pgproto3.EmptyQueryResponse:
			out = append(out, "I")
		case *pgproto3.ParameterStatus:
			out = append(out, "S:"+m.Name)
		case *pgproto3.CopyOutResponse:
			out = append(out, "H")
		case *pgproto3.CopyData:
			out = append(out, "d:"+strings.TrimSuffix(string(m.Data), "\n"))
		case *pgproto3.CopyDone:
			out = append(out, "c")
		default:
			out = append(out, strings.TrimPrefix(strings.TrimPrefix(typeName(m), "*pgproto3."), "pgproto3."))
		}
	}
}

func typeName(m any) string {
	switch m.(type) {
	case *pgproto3.CloseComplete:
		return "3"
	case *pgproto3.ParameterDescription:
		return "t"
	}
	return "?"
}

// What PostgreSQL 15 answers to the same messages.
func TestExtended(t *testing.T) {
	_, dsn := startReal(t)
	P := func(q string) *pgproto3.Parse { return &pgproto3.Parse{Query: q} }
	B, D, E, S := &pgproto3.Bind{}, &pgproto3.Describe{ObjectType: 'P'}, &pgproto3.Execute{}, &pgproto3.Sync{}
	type msgs = []pgproto3.FrontendMessage
	for _, c := range []struct {
		name, want string
		n          int
		msgs       msgs
	}{
		{"begin has no row description", "1 2 n C:BEGIN Z:T", 1, msgs{P("BEGIN"), B, D, E, S}},
		{"error skips to sync", "1 2 T D:1 C:SELECT 1 ERROR:42601 Z:I 1 2 D:3 C:SELECT 1 Z:I", 2,
			msgs{P("SELECT 1"), B, D, E, P("SELEKT"), P("SELECT 2"), B, E, S, P("SELECT 3"), B, E, S}},
		{"suspension", "1 2 D:1 D:2 s D:3 C:SELECT 1 C:SELECT 0 Z:I", 1,
			msgs{P("SELECT generate_series(1,3)"), B, &pgproto3.Execute{MaxRows: 2}, &pgproto3.Execute{MaxRows: 2}, &pgproto3.Execute{MaxRows: 2}, S}},
		{"utility in parts", "1 2 T D:on C:SHOW Z:I", 1, msgs{P("SHOW enable_seqscan"), B, D, E, S}},
		{"set reports before ready", "1 2 C:SET S:application_name Z:I", 1, msgs{P("SET application_name=x"), B, E, S}},
		{"parameters are described", "1 t T Z:I", 1, msgs{P("SELECT $1::int4"), &pgproto3.Describe{ObjectType: 'S'}, S}},
		{"fetch through portals", "C:BEGIN Z:T 1 2 n C:DECLARE CURSOR 1 2 T D:1 D:2 C:FETCH 2 Z:T C:COMMIT Z:I", 3,
			msgs{&pgproto3.Query{String: "BEGIN"}, P("DECLARE c CURSOR FOR SELECT generate_series(1,3)"), B, D, E, P("FETCH 2 c"), B, D, E, S, &pgproto3.Query{String: "COMMIT"}}},
		{"fetch prepared before its cursor", "1 t n C:BEGIN Z:T 1 2 C:DECLARE CURSOR 2 T D:1 D:2 C:FETCH 2 Z:T", 2,
			msgs{&pgproto3.Parse{Name: "f", Query: "FETCH ALL c"}, &pgproto3.Describe{ObjectType: 'S', Name: "f"}, &pgproto3.Query{String: "BEGIN"},
				P("DECLARE c CURSOR FOR SELECT generate_series(1,2)"), B, E, &pgproto3.Bind{PreparedStatement: "f"}, D, E, S}},
		{"failed block", "C:BEGIN Z:T ERROR:22012 Z:E ERROR:25P02 Z:E 1 2 C:ROLLBACK Z:I", 4,
			msgs{&pgproto3.Query{String: "BEGIN"}, &pgproto3.Query{String: "SELECT 1/0"}, P("SELECT 1"), S, P("ROLLBACK"), B, E, S}},
		{"copy out", "H d:1\ta c C:COPY 1 Z:I", 1, msgs{&pgproto3.Query{String: "COPY (SELECT 1, 'a') TO STDOUT"}}},
		{"copy out csv header", "H d:a,b,c d:1,,\"x,\"\"y\" c C:COPY 1 Z:I", 1,
			msgs{&pgproto3.Query{String: `COPY (SELECT 1 a, NULL::text b, 'x,"y' c) TO STDOUT (FORMAT csv, HEADER)`}}},
		{"empty", "1 2 n I Z:I", 1, msgs{P(""), B, D, E, S}},
		{"unsupported format code", "1 ERROR:22023 Z:I", 1, msgs{P("SELECT 1"), &pgproto3.Bind{ResultFormatCodes: []int16{7}}, S}},
		{"close", "1 3 ERROR:26000 Z:I", 1, msgs{&pgproto3.Parse{Name: "s", Query: "SELECT 1"}, &pgproto3.Close{ObjectType: 'S', Name: "s"}, &pgproto3.Bind{PreparedStatement: "s"}, S}},
		{"function call", "ERROR:42883 Z:I", 1, msgs{&pgproto3.FunctionCall{Function: 1}}},
		{"commit in a pipeline", "1 2 C:BEGIN 1 2 D:1 C:SELECT 1 1 2 C:COMMIT Z:I", 1, msgs{P("BEGIN"), B, E, P("SELECT 1"), B, E, P("COMMIT"), B, E, S}},
	} {
		if got := rawConn(t, dsn).exchange(c.n, c.msgs...); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// A cast of a parameter inside a function's argument decides the parameter's type.
func TestParameterOfCast(t *testing.T) {
	_, dsn := startReal(t)
	cfg, err := pgconn.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	pc, err := pgconn.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer pc.Close(context.Background())
	sd, err := pc.Prepare(t.Context(), "", "SELECT n FROM generate_series(0, $1::int) n", nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(sd.ParamOIDs) != 1 || sd.ParamOIDs[0] != 23 {
		t.Errorf("parameters %v, want [23]", sd.ParamOIDs)
	}
}

// Messages that once killed servers of this kind.
func TestHostileMessages(t *testing.T) {
	_, dsn := startReal(t, func(c *Config) { c.Deps.Limits.MaxMessage = 1 << 20 })
	frame := func(kind byte, body string) []byte {
		b := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4))
		return append(b, body...)
	}
	sync := frame('S', "")
	for _, c := range []struct {
		name, want string
		data       []byte
	}{
		{"bind with length -2", "1 ERROR:08P01 Z:I", append(append(frame('P', "\x00SELECT $1::int4\x00\x00\x00"), frame('B', "\x00\x00\x00\x00\x00\x01\xff\xff\xff\xfe\x00\x00")...), sync...)},
		{"bind with 65535 parameters", "1 ERROR:08P01 Z:I", append(append(frame('P', "\x00SELECT 1\x00\x00\x00"), frame('B', "\x00\x00\x00\x00\xff\xff")...), sync...)},
		{"truncated parse", "ERROR:08P01 Z:I", append(frame('P', "\x00SELECT 1"), sync...)},
		{"unknown type", "FATAL:08P01 EOF", frame('y', "")},
		{"negative length", "FATAL:08P01 EOF", []byte{'Q', 0xff, 0xff, 0xff, 0xff}},
		{"length 3", "FATAL:08P01 EOF", []byte{'Q', 0, 0, 0, 3}},
		{"large sync", "FATAL:08P01 EOF", []byte{'S', 0, 1, 0, 0}},
		{"message over the limit", "ERROR:54000 Z:I", frame('Q', "SELECT 1 /*"+strings.Repeat("x", 2<<20)+"*/\x00")},
		{"invalid utf-8", "ERROR:22021 Z:I", frame('Q', "SELECT '\xff'\x00")},
		{"query without end", "FATAL:08P01 EOF", frame('Q', "SELECT 1")},
		{"close mid-message", "", []byte{'Q', 0, 0, 1, 0, 'S'}},
	} {
		r := rawConn(t, dsn)
		if _, err := r.conn.Write(c.data); err != nil {
			t.Fatal(err)
		}
		if c.want == "" {
			_ = r.conn.Close()
			continue
		}
		if got := r.exchange(1); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
	if got := rawConn(t, dsn).exchange(1, &pgproto3.Query{String: "SELECT 1"}); got != "T D:1 C:SELECT 1 Z:I" {
		t.Fatal("the server does not answer any more:", got)
	}
}

// panicPlanner panics for one statement.
type panicPlanner struct{ session.Planner }

func (p panicPlanner) Parse(sql string) ([]*planner.Statement, error) {
	if strings.Contains(sql, "boom") {
		panic("boom")
	}
	return p.Planner.Parse(sql)
}

func TestPanicEndsOneSession(t *testing.T) {
	_, dsn := startReal(t, func(c *Config) { c.Deps.Planner = panicPlanner{c.Deps.Planner} })
	other := rawConn(t, dsn)
	if got := rawConn(t, dsn).exchange(1, &pgproto3.Query{String: "SELECT 'boom'"}); got != "FATAL:XX000 EOF" {
		t.Fatal(got)
	}
	if got := other.exchange(1, &pgproto3.Query{String: "SELECT 1"}); got != "T D:1 C:SELECT 1 Z:I" {
		t.Fatal(got)
	}
}

func TestTerminateAndTimeouts(t *testing.T) {
	srv, dsn := startReal(t)
	ctx := context.Background()
	a := connect(t, dsn)
	var pid int
	if err := a.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	b := rawConn(t, dsn)
	b.fe.Send(&pgproto3.Query{String: "SELECT pg_backend_pid()"})
	if err := b.fe.Flush(); err != nil {
		t.Fatal(err)
	}
	victim := 0
	for victim == 0 {
		for _, s := range srv.cfg.Deps.Registry.Activities() {
			if int(s.PID) != pid {
				victim = int(s.PID)
			}
		}
		time.Sleep(time.Millisecond) // polling a condition
	}
	if got := b.exchange(1); !strings.HasSuffix(got, "Z:I") {
		t.Fatal(got)
	}
	var ok bool
	if err := a.QueryRow(ctx, "SELECT pg_terminate_backend($1)", victim).Scan(&ok); err != nil || !ok {
		t.Fatal(ok, err)
	}
	if got := b.exchange(1); got != "FATAL:57P01 EOF" {
		t.Fatal("terminated while idle:", got)
	}
	c := rawConn(t, dsn)
	if got := c.exchange(1, &pgproto3.Query{String: "SET idle_in_transaction_session_timeout = 50; BEGIN"}); !strings.HasSuffix(got, "Z:T") {
		t.Fatal(got)
	}
	if got := c.exchange(1); got != "FATAL:25P03 EOF" {
		t.Fatal("idle in transaction:", got)
	}
	d := rawConn(t, dsn)
	if got := d.exchange(1, &pgproto3.Query{String: "SET idle_session_timeout = 50"}); !strings.HasSuffix(got, "Z:I") {
		t.Fatal(got)
	}
	if got := d.exchange(1); got != "FATAL:57P05 EOF" {
		t.Fatal("idle session:", got)
	}
	if n := srv.cfg.Deps.Registry.Len(); n != 1 {
		t.Fatal("sessions left:", n)
	}
}

func TestShutdownTellsClients(t *testing.T) {
	srv, dsn := startReal(t)
	idle, busy := rawConn(t, dsn), rawConn(t, dsn)
	busy.fe.Send(&pgproto3.Query{String: "SELECT pg_sleep(30)"})
	if err := busy.fe.Flush(); err != nil {
		t.Fatal(err)
	}
	for {
		running := false
		for _, s := range srv.cfg.Deps.Registry.Activities() {
			running = running || s.WaitEvent == "PgSleep"
		}
		if running {
			break
		}
		time.Sleep(time.Millisecond) // polling a condition
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	if got := idle.exchange(1); got != "FATAL:57P01 EOF" {
		t.Error("idle:", got)
	}
	if got := busy.exchange(1); !strings.HasSuffix(got, "FATAL:57P01 EOF") {
		t.Error("busy:", got)
	}
}

func TestNotifications(t *testing.T) {
	_, dsn := startReal(t)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	l, n := connect(t, dsn), connect(t, dsn)
	if _, err := l.Exec(ctx, "LISTEN ch"); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Exec(ctx, "BEGIN; NOTIFY ch, 'x'; ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Exec(ctx, "NOTIFY ch, 'y'"); err != nil {
		t.Fatal(err)
	}
	got, err := l.WaitForNotification(ctx)
	if err != nil || got.Payload != "y" || got.PID != n.PgConn().PID() {
		t.Fatalf("%+v %v", got, err)
	}
	if _, err := n.Exec(ctx, "SELECT pg_notify('ch', 'z')"); err != nil {
		t.Fatal(err)
	}
	if got, err = l.WaitForNotification(ctx); err != nil || got.Payload != "z" {
		t.Fatalf("%+v %v", got, err)
	}
}

func TestCopyOutBinary(t *testing.T) {
	_, dsn := startReal(t)
	c := connect(t, dsn)
	var sb strings.Builder
	tag, err := c.PgConn().CopyTo(context.Background(), &sb, "COPY (SELECT 1::int4, NULL::text) TO STDOUT BINARY")
	want := "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x04\x00\x00\x00\x01\xff\xff\xff\xff\xff\xff"
	if err != nil || tag.String() != "COPY 1" || sb.String() != want {
		t.Fatalf("%q %v %v", sb.String(), tag, err)
	}
}
