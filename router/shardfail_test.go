package router

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// keysBy finds a key on each of the three servers of a router.
func keysBy(t *testing.T, c *pgx.Conn, coll string, names []string) [3]string {
	t.Helper()
	var on [3]string
	for k, found := 0, 0; found < 3 && k < 1000; k++ {
		e := textOf(t, c, fmt.Sprintf(`SELECT * FROM doc.explain('%s', '{"k": %d}') LIMIT 1`, coll, k))
		for i := range 3 {
			if strings.Contains(e, names[i]) && on[i] == "" {
				on[i] = fmt.Sprint(k)
				found++
			}
		}
	}
	return on
}

// TestPlainShardLost: a server that takes requests and never answers, and one that
// is gone, end every request that needs it in an error that names it, four times in
// a row; others are not affected, no session of the pool is lost for good, and the
// server is used again when it is back.
func TestPlainShardLost(t *testing.T) {
	servers := plainServers(t)
	p, hidden := newProxy(t, servers[1])
	ctx := context.Background()
	dsn := start(t, func(c *Config) {
		c.Shards, c.ShardKeys = []string{servers[0], hidden, servers[2]}, []string{"lost:k"}
		c.RequestTimeout, c.PoolSize = time.Second, 2
	})
	c := connect(t, dsn, pgx.QueryExecModeExec)
	names := plainNames(t)
	names[1] = p.Addr().String()
	on := keysBy(t, c, "lost", names)
	for i := range 60 {
		exec(t, c, fmt.Sprintf(`SELECT doc.insert('lost', '{"_id": %d, "k": %d}')`, i, i))
	}
	for i, k := range on {
		exec(t, c, fmt.Sprintf(`SELECT doc.insert('lost', '{"_id": "x%d", "k": %s}')`, i, k))
	}
	keyed := func(i int, set int) string {
		return fmt.Sprintf(`SELECT doc.update('lost', '{"k": %s}', '{"$set": {"v": %d}}')`, on[i], set)
	}
	alive := func() {
		t.Helper()
		begin := time.Now()
		exec(t, c, keyed(0, 1))
		exec(t, c, keyed(2, 1))
		exec(t, c, "SELECT 1")
		if d := time.Since(begin); d > time.Second {
			t.Errorf("the other servers took %v", d)
		}
	}
	p.hole.Store(true)
	for i := range 4 {
		for sql, codes := range map[string]string{"SELECT doc.count('lost')": "08006 08001", keyed(1, i): "08007 08006 08001", `SELECT doc.find('lost', take => 1)`: "08006 08001",
			`SELECT doc.find_one('lost', '{"none": 1}')`: "08006 08001", `SELECT doc.update('lost', '{}', '{"$set": {"w": 1}}')`: "08007 08006 08001",
			`SELECT * FROM doc.aggregate('lost', '[{"$count": "n"}]')`: "08006 08001", `SELECT doc.create_index('lost', '{"v": 1}')`: "08006 08001"} {
			begin := time.Now()
			_, err := c.Exec(ctx, sql)
			if err == nil || !strings.Contains(codes, code(err)) || !strings.Contains(err.Error(), names[1]) {
				t.Errorf("attempt %d: %s: %v", i, sql, err)
			}
			if d := time.Since(begin); d > 5*time.Second {
				t.Errorf("attempt %d: %s took %v", i, sql, d)
			}
		}
		alive()
	}
	p.hole.Store(false)
	recovers(t, c, "SELECT doc.count('lost')")
	if n := value[int64](t, c, "SELECT doc.count('lost')"); n != 63 {
		t.Errorf("%d documents", n)
	}
	// The first request of a write that is not answered has an unknown outcome.
	exec(t, c, keyed(1, 5))
	p.hole.Store(true)
	if _, err := c.Exec(ctx, keyed(1, 6)); code(err) != "08007" {
		t.Errorf("a write that timed out: %v", err)
	}
	p.hole.Store(false)
	recovers(t, c, keyed(1, 7))
	if v := textOf(t, c, fmt.Sprintf(`SELECT doc.find_one('lost', '{"k": %s}')->>'v'`, on[1])); v != "7" {
		t.Error(v)
	}
	_ = p.Close()
	p.cut()
	for range 2 {
		_, err := c.Exec(ctx, "SELECT doc.count('lost')")
		if err == nil || !strings.Contains("08006 08001", code(err)) || !strings.Contains(err.Error(), names[1]) {
			t.Errorf("a server that is gone: %v", err)
		}
	}
	alive()
}

// TestPlainUsers: users prove their password at the router, and the servers see the
// user and check its rights, for documents too.
func TestPlainUsers(t *testing.T) {
	servers := plainServers(t)
	for _, s := range servers[:3] {
		admin := connect(t, s, pgx.QueryExecModeExec)
		for _, sql := range []string{"DROP ROLE IF EXISTS plain_a", "CREATE ROLE plain_a LOGIN PASSWORD 'aa'", "DROP ROLE IF EXISTS plain_b", "CREATE ROLE plain_b LOGIN PASSWORD 'bb'"} {
			_, _ = admin.Exec(context.Background(), sql)
		}
	}
	path := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(path, []byte("plain_a:aa\nplain_b:bb\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dsn := before(t, func(c *Config) { c.AuthFile = path }, "owned:k")
	as := func(user string) *pgx.Conn {
		return connect(t, strings.Replace(dsn, "postgres@", user+"@", 1), pgx.QueryExecModeExec)
	}
	a, b := as("plain_a:aa"), as("plain_b:bb")
	exec(t, a, "SELECT doc.create_collection('owned')")
	exec(t, a, `SELECT doc.insert_many('owned', '[{"k": 1}, {"k": 2}, {"k": 3}, {"k": 4}]')`)
	if n := value[int64](t, a, "SELECT doc.count('owned')"); n != 4 {
		t.Errorf("%d documents", n)
	}
	for _, sql := range []string{"SELECT doc.count('owned')", `SELECT doc.insert('owned', '{"k": 1}')`, "SELECT doc.drop_collection('owned')"} {
		if _, err := b.Exec(context.Background(), sql); code(err) != "42501" {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if _, err := pgx.Connect(context.Background(), strings.Replace(dsn, "postgres@", "plain_a:bb@", 1)); code(err) != "28P01" {
		t.Error(err)
	}
}
