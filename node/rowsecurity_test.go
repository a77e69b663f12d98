package node

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// rlsConds are conditions of policies over t; $u is whoever asks. Some are NULL for some rows.
var rlsConds = []string{
	"lvl > 3", "lvl IS NULL", "owner = $u", "grp IN (SELECT g FROM rls_groups WHERE who = $u)", "id % 3 <> 0", "id < 20", "note LIKE '%a%'",
	"EXISTS (SELECT 1 FROM rls_groups WHERE g = grp)", "(lvl > 3 OR owner = $u)", "lvl < (SELECT max(g) FROM rls_groups)", "true", "false", "NULL",
}

// rlsQueries yield ids of rows of t that they saw. Each calls rls_leak with the id of
// every row it looks at.
var rlsQueries = []string{
	"SELECT id FROM rls_t WHERE rls_leak(id)",
	"SELECT id FROM rls_t WHERE rls_leak(id) AND id = $n",
	"SELECT id FROM rls_t WHERE id = $n AND rls_leak(id)",
	"SELECT id FROM rls_t WHERE id BETWEEN $n AND $n + 9 AND rls_leak(id) ORDER BY id DESC",
	"SELECT id FROM rls_t WHERE owner = 'o1' AND rls_leak(id) ORDER BY owner, id LIMIT 3",
	"SELECT id FROM rls_t WHERE lvl = 1 / (lvl * 0 + 1) AND rls_leak(id)",
	"SELECT max(id) FROM rls_t WHERE rls_leak(id)",
	"SELECT min(id) FROM rls_t",
	"SELECT max(id) FROM rls_t GROUP BY owner HAVING rls_leak(max(id)::int)",
	"SELECT DISTINCT id FROM rls_t WHERE CASE WHEN rls_leak(id) THEN true END",
	"SELECT a.id FROM rls_t a JOIN rls_s s ON s.t = a.id AND rls_leak(a.id)",
	"SELECT a.id FROM rls_s s LEFT JOIN rls_t a ON s.t = a.id AND rls_leak(a.id) WHERE a.id IS NOT NULL",
	"SELECT a.id FROM rls_s s, LATERAL (SELECT id FROM rls_t WHERE id = s.t AND rls_leak(id) OFFSET 0) a",
	"SELECT s.t FROM rls_s s WHERE EXISTS (SELECT 1 FROM rls_t WHERE id = s.t AND rls_leak(id))",
	"SELECT s.t FROM rls_s s WHERE s.t IN (SELECT id FROM rls_t WHERE rls_leak(id))",
	"SELECT t FROM rls_s WHERE t NOT IN (SELECT s.t FROM rls_s s LEFT JOIN rls_t a ON a.id = s.t WHERE a.id IS NULL)",
	"WITH w AS MATERIALIZED (SELECT * FROM rls_t) SELECT id FROM w WHERE rls_leak(id)",
	"WITH w AS (SELECT * FROM rls_t) SELECT w.id FROM w, rls_t x WHERE w.id = x.id AND rls_leak(w.id)",
	"SELECT id FROM rls_i WHERE rls_leak(id)",
	"SELECT id FROM rls_t WHERE rls_leak(id) UNION SELECT id FROM rls_t WHERE id > 5",
	"SELECT id FROM (SELECT id, row_number() OVER (ORDER BY lvl) FROM rls_t) x WHERE rls_leak(id)",
	"SELECT id FROM rls_t WHERE rls_leak(id) FOR UPDATE",
	"SELECT id FROM rls_t TABLESAMPLE SYSTEM (100) WHERE rls_leak(id)",
	"SELECT rls_one(id) FROM rls_s JOIN rls_t ON t = id",
	"UPDATE rls_t SET note = 'x' WHERE rls_leak(id) RETURNING id",
	"UPDATE rls_t SET note = 'x' WHERE id = $n AND rls_leak(id) RETURNING id",
	"UPDATE rls_t SET note = 'x' FROM rls_s WHERE t = id AND rls_leak(id) RETURNING id",
	"DELETE FROM rls_t WHERE rls_leak(id) RETURNING id",
	"DELETE FROM rls_t WHERE id = $n AND rls_leak(id) RETURNING id",
	"MERGE INTO rls_t USING rls_s ON id = t AND rls_leak(id) WHEN MATCHED THEN DO NOTHING",
	"INSERT INTO rls_t SELECT id + 1000, owner, 1, 1, 'a' FROM rls_t WHERE rls_leak(id) RETURNING id - 1000",
	"INSERT INTO rls_t VALUES ($n, 'o1', 1, 1, 'a') ON CONFLICT (id) DO UPDATE SET note = 'y' RETURNING id",
}

type rlsPolicy struct {
	cmd, using, check string
	restrictive       bool
}

// visible is the condition that policies of a command give a role.
func visible(ps []rlsPolicy, cmd, who string, check bool) string {
	var any, all []string
	for _, p := range ps {
		if p.cmd != "ALL" && p.cmd != cmd {
			continue
		}
		c := p.using
		if check && p.check != "" {
			c = p.check
		}
		if c == "" {
			continue
		}
		c = "((" + strings.ReplaceAll(c, "$u", who) + ") IS TRUE)"
		if p.restrictive {
			all = append(all, c)
		} else {
			any = append(any, c)
		}
	}
	if len(any) == 0 {
		return "false"
	}
	return strings.Join(append(all, "("+strings.Join(any, " OR ")+")"), " AND ")
}

// TestRowSecurity: whatever policies a table has and whatever a statement does, on
// the leader or forwarded by a follower, it neither returns a hidden row nor calls a
// function with one.
func TestRowSecurity(t *testing.T) {
	c := demoCluster(t)
	admin := dial(t, c.leader())
	admin.do(`DROP TABLE IF EXISTS rls_t, rls_s, rls_groups CASCADE; DROP ROLE IF EXISTS rls_u; CREATE ROLE rls_u;
CREATE TABLE rls_t (id int PRIMARY KEY, owner text, lvl int, grp int, note text); CREATE INDEX ON rls_t (owner, id); CREATE INDEX ON rls_t (lvl);
CREATE TABLE rls_s (t int); CREATE TABLE rls_groups (who text, g int);
INSERT INTO rls_groups VALUES ('rls_u', 1), ('rls_u', 2), ('other', 3), ('other', 7);
INSERT INTO rls_t SELECT i, (ARRAY['rls_u','o1','o2'])[1 + i % 3], CASE WHEN i % 5 > 0 THEN i % 7 END, i % 6, (ARRAY['abc','xyz','a'])[1 + i % 2] FROM generate_series(1, 40) i;
INSERT INTO rls_s SELECT i FROM generate_series(1, 50, 2) i; CREATE VIEW rls_i WITH (security_invoker) AS SELECT * FROM rls_t;
GRANT ALL ON rls_t, rls_s, rls_groups, rls_i TO rls_u; ALTER TABLE rls_t ENABLE ROW LEVEL SECURITY;
CREATE OR REPLACE FUNCTION rls_leak(int) RETURNS bool LANGUAGE plpgsql STABLE COST 0.0001 AS 'BEGIN RAISE NOTICE ''saw %'', $1; RETURN true; END';
CREATE OR REPLACE FUNCTION rls_one(int) RETURNS int LANGUAGE sql STABLE AS 'SELECT id FROM rls_t WHERE id = $1'; ANALYZE rls_t`)
	conns := []*client{dial(t, c.leader()), dial(t, c.follower())}
	conns[1].soon("SELECT count(*) FROM pg_roles WHERE rolname = 'rls_u'", "1")
	conns[1].do("SET ostraka.read_consistency = leader")
	for _, u := range conns {
		u.do("SET ROLE rls_u")
	}
	cond := rapid.SampledFrom(rlsConds)
	rapid.Check(t, func(rt *rapid.T) {
		var ps []rlsPolicy
		sql := "DO $$ DECLARE p record; BEGIN FOR p IN SELECT polname FROM pg_policy LOOP EXECUTE format('DROP POLICY %I ON rls_t', p.polname); END LOOP; END $$;"
		for i := range rapid.IntRange(0, 4).Draw(rt, "policies") {
			p := rlsPolicy{cmd: rapid.SampledFrom([]string{"ALL", "ALL", "SELECT", "UPDATE", "DELETE", "INSERT"}).Draw(rt, "command"),
				restrictive: rapid.IntRange(0, 2).Draw(rt, "restrictive") == 0}
			if p.cmd != "INSERT" {
				p.using = cond.Draw(rt, "using")
			}
			if p.cmd != "SELECT" && p.cmd != "DELETE" && (p.cmd == "INSERT" || rapid.Bool().Draw(rt, "checked")) {
				p.check = cond.Draw(rt, "check")
			}
			ps = append(ps, p)
			sql += fmt.Sprintf("CREATE POLICY p%d ON rls_t AS %s FOR %s TO rls_u", i, map[bool]string{true: "RESTRICTIVE", false: "PERMISSIVE"}[p.restrictive], p.cmd)
			if p.using != "" {
				sql += " USING (" + strings.ReplaceAll(p.using, "$u", "current_user") + ")"
			}
			if p.check != "" {
				sql += " WITH CHECK (" + strings.ReplaceAll(p.check, "$u", "current_user") + ")"
			}
			sql += ";"
		}
		admin.do(sql)
		ids := func(cond string) []string {
			return strings.Fields(admin.rows("SELECT id FROM rls_t WHERE " + cond + " ORDER BY id"))
		}
		sel := visible(ps, "SELECT", "'rls_u'", false)
		may := map[string][]string{"SELECT": ids(sel), "UPDATE": ids(sel + " AND " + visible(ps, "UPDATE", "'rls_u'", false)),
			"DELETE": ids(sel + " AND " + visible(ps, "DELETE", "'rls_u'", false)), "MERGE": ids(sel), "WITH": ids(sel), "INSERT": ids(sel)}
		u := conns[rapid.IntRange(0, 1).Draw(rt, "node")]
		for range 6 {
			q := strings.ReplaceAll(rapid.SampledFrom(rlsQueries).Draw(rt, "query"), "$n", strconv.Itoa(rapid.IntRange(1, 45).Draw(rt, "n")))
			allowed := may[strings.Fields(q)[0]]
			if strings.HasSuffix(q, "FOR UPDATE") {
				allowed = may["UPDATE"]
			}
			u.do("BEGIN")
			u.notices = nil
			res, err := u.again(q)
			var got []string
			for _, r := range res {
				for _, row := range r.Rows {
					if row[0] != nil {
						got = append(got, string(row[0]))
					}
				}
			}
			u.do("ROLLBACK")
			if err != nil && !strings.Contains(err.Error(), "42501") {
				rt.Fatalf("%s\n%s: %v", sql, q, err)
			}
			for _, n := range u.notices {
				if saw, ok := strings.CutPrefix(n.Message, "saw "); ok && !slices.Contains(allowed, saw) {
					rt.Fatalf("%s\n%s\nlooked at the hidden row %s", sql, q, saw)
				}
			}
			fresh := strings.HasPrefix(q, "INSERT INTO rls_t VALUES") // it may have inserted the row
			for _, id := range got {
				if !slices.Contains(allowed, id) && !fresh {
					rt.Fatalf("%s\n%s\nreturned the hidden row %s", sql, q, id)
				}
			}
			if q == rlsQueries[0] && len(got) != len(allowed) {
				rt.Fatalf("%s\n%s\nreturned %d rows, not the %d that may be seen", sql, q, len(got), len(allowed))
			}
		}
	})
	admin.do("DROP TABLE rls_t, rls_s, rls_groups CASCADE; DROP FUNCTION rls_leak, rls_one; DROP ROLE rls_u")
}
