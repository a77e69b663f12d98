package stmtstats

import (
	"fmt"
	"testing"
	"time"
)

// TestNormalize has what pg_stat_statements of PostgreSQL 15 shows for these statements.
func TestNormalize(t *testing.T) {
	for _, c := range [][2]string{
		{"SELECT 1", "SELECT $1"},
		{"  SELECT  a , 'x''y' FROM t -- c\n WHERE b=-1.5e3 ;", "SELECT  a , $1 FROM t -- c\n WHERE b=$2"},
		{"SELECT a - 1, a -1, -1 FROM t", "SELECT a - $1, a -$2, $3 FROM t"},
		{"SELECT $1, 2", "SELECT $1, $2"},
		{"SELECT x::varchar(10), CAST(y AS numeric(8, 2)) FROM t ORDER BY 1, 2 DESC LIMIT 5", "SELECT x::varchar(10), CAST(y AS numeric(8, 2)) FROM t ORDER BY 1, 2 DESC LIMIT $1"},
		{"SELECT E'a\\'b', $$x$$, $q$ $$ $q$, b'01', \"c 1\", t1.c2 FROM t1", "SELECT $1, $2, $3, $4, \"c 1\", t1.c2 FROM t1"},
		{"SELECT /* 1 /* 2 */ 'x' */ 3", "SELECT /* 1 /* 2 */ 'x' */ $1"},
		{"UPDATE t SET a = NULL, b = true WHERE c IS NOT NULL AND d IS TRUE", "UPDATE t SET a = $1, b = $2 WHERE c IS NOT NULL AND d IS TRUE"},
		{"INSERT INTO t VALUES (1, 'a'), (2, 'b')", "INSERT INTO t VALUES ($1, $2), ($3, $4)"},
		{"SELECT interval '1 day', date '2020-01-01'", "SELECT interval $1, date $2"},
	} {
		if got, _ := Normalize(c[0], true); got != c[1] {
			t.Errorf("%s\n got  %s\n want %s", c[0], got, c[1])
		}
	}
	if got, _ := Normalize("SET x = 1;", false); got != "SET x = 1" {
		t.Errorf("a statement without constants to replace became %q", got)
	}
	id := func(s string) int64 { _, id := Normalize(s, true); return id }
	if id("select A, 1 from T") != id("SELECT a,  2 /* x */ FROM t;") {
		t.Error("statements that differ in case, space and constants have different identities")
	}
	if id("select a from t") == id("select b from t") {
		t.Error("different statements have one identity")
	}
}

// TestStatementsBounded: a full table makes room and tells holders of entries.
func TestStatementsBounded(t *testing.T) {
	tab := New(100, nil)
	hot := tab.Find(10, 5, "SELECT hot", true)
	for range 50 {
		hot.Add(time.Millisecond, 2, false)
	}
	for i := range 1000 {
		tab.Find(10, 5, fmt.Sprintf("SELECT c%d", i), true).Add(time.Millisecond, 1, false)
	}
	if n := len(tab.All()); n > 100 {
		t.Errorf("%d entries in a table of 100", n)
	}
	if c := hot.Read(); hot.Gone() || c.Calls != 50 || c.Rows != 100 || c.Min != 1 || c.Mean != 1 || c.StdDev() != 0 {
		t.Errorf("the statement that was called most: gone %v, %+v", hot.Gone(), c)
	}
	if d, _ := tab.Info(); d == 0 {
		t.Error("entries made room and were not counted")
	}
	tab.Reset(0, 0, 0)
	if len(tab.All()) != 0 || !hot.Gone() {
		t.Error("entries after a reset")
	}
}

func FuzzNormalize(f *testing.F) {
	f.Add("SELECT '1', $$a$$, /* */ -1")
	f.Fuzz(func(t *testing.T, s string) { Normalize(s, true); Normalize(s, false) })
}
