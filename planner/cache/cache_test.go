package cache

import (
	"fmt"
	"strings"
	"testing"

	"ostraka/planner"
	"ostraka/planner/bind"
	"ostraka/planner/bindtest"
	"ostraka/planner/parse"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

const schema = `
create table t (id int primary key, a int, b text, c numeric(10,2), d varchar(20), ts timestamptz, l bigint, s smallint, ch char(5), f float8, dt date, iv interval, bo bool, ar int[], j jsonb);
create domain pos as int check (value > 0);
create type color as enum ('red', 'green');
create table dom (p pos, e color);
create unique index t_part on t (a) where b = 'x';
`

// queryNode carries a bound query through a plan.
type queryNode struct {
	planner.Base
	q *planner.Query
}

func fakePlan(_ *planner.Context, q *planner.Query, params []sqltypes.OID) (*planner.Plan, error) {
	return &planner.Plan{Root: &queryNode{q: q}, Params: params, Cacheable: true}, nil
}

type fixture struct {
	cat     *bindtest.Catalog
	cache   *Cache
	scratch Scratch
}

func newFixture(t testing.TB) *fixture {
	f := &fixture{cat: bindtest.New(), cache: New(1000)}
	if err := f.cat.Exec(schema); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) dump(ctx *planner.Context, q *planner.Query, params []sqltypes.Datum) string {
	d := &bindtest.Dumper{Env: ctx.Env, Params: params, Type: func(o sqltypes.OID) *sqltypes.Type {
		if t := sqltypes.TypeByOID(o); t != nil {
			return t
		}
		return ctx.Catalog.Type(o)
	}}
	d.Query(q, "")
	return d.String()
}

func errText(err error) string {
	if e, ok := err.(*pgerror.Error); ok {
		return fmt.Sprintf("ERROR %s %s at %d", e.Code, e.Message, e.Position)
	}
	return err.Error()
}

// uncached binds the statement the plain way.
func (f *fixture) uncached(sql string) string {
	ctx := f.cat.Context(sql)
	list, err := parse.Parse(sql)
	if err != nil {
		return errText(err)
	}
	if len(list) != 1 || !list[0].Planned {
		return "not planned"
	}
	q, _, err := bind.Bind(ctx, list[0].AST)
	if err != nil {
		return errText(err)
	}
	return f.dump(ctx, q, []sqltypes.Datum{})
}

// cached goes through the cache, as a session would.
func (f *fixture) cached(sql string) (out string, hit bool) {
	ctx := f.cat.Context(sql)
	k := Key{Session: 1, Catalog: 1}
	p, params, ok := f.cache.Get(&f.scratch, sql, k, ctx.Env)
	if !ok {
		list, err := parse.Parse(sql)
		if err != nil {
			return errText(err), false
		}
		if len(list) != 1 || !list[0].Planned {
			return "not planned", false
		}
		p, params, err = f.cache.Prepare(&f.scratch, sql, k, ctx, list[0], fakePlan)
		if err != nil {
			return errText(err), false
		}
	}
	if params == nil {
		params = []sqltypes.Datum{}
	}
	return f.dump(ctx, p.Root.(*queryNode).q, params), ok
}

func TestCachedEqualsUncached(t *testing.T) {
	f := newFixture(t)
	for _, c := range []struct {
		hit bool // the last statement of the group is expected to hit
		sql []string
	}{
		{true, []string{"select a from t where id = 1", "select a from t where id = 2", "select a from t where id = 2147483647"}},
		{false, []string{"select a from t where id = 1", "select a from t where id = 2147483648"}},
		{true, []string{"select a from t where id = -5", "select a from t where id = -7"}},
		{true, []string{"select a from t where id = - 5", "select a from t where id = - 7"}},
		{true, []string{"select a - 5 from t", "select a - 7 from t"}},
		{true, []string{"select a -5 from t", "select a -7 from t"}},
		{true, []string{"select a from t where l = 12345678901", "select a from t where l = 12345678902"}},
		{true, []string{"select a from t where c = 1.50", "select a from t where c = 2.7", "select a from t where c = .5"}},
		{true, []string{"select a from t where b = 'x'", "select a from t where b = 'it''s'", "select a from t where b = 'é'"}},
		{true, []string{"select a from t where a = '5'", "select a from t where a = '6'"}},
		{false, []string{"select a from t where a = '5'", "select a from t where a = 'x'"}},
		{true, []string{"select a from t where dt = '2020-01-01' and ts < '2021-01-01 00:00'", "select a from t where dt = '2020-01-02' and ts < '2022-01-01 00:00'"}},
		{true, []string{"select a from t where dt = date '2020-01-01'", "select a from t where dt = date '2020-01-03'"}},
		{false, []string{"select a, b from t order by 1", "select a, b from t order by 2"}},
		{false, []string{"select a, count(*) from t group by 1", "select a, count(*) from t group by 2"}},
		{false, []string{"select a, count(*) from t group by (1)", "select a, count(*) from t group by (2)"}},
		{false, []string{"select a from t limit 1", "select a from t limit 2"}},
		{true, []string{"select a from t offset 1", "select a from t offset 2"}},
		{false, []string{"select a::varchar(3) from t", "select a::varchar(4) from t"}},
		{false, []string{"select interval '1' day", "select interval '2' day"}},
		{false, []string{"select '1 day'::interval(3)", "select '2 days'::interval(2)"}},
		{false, []string{"select b like 'a%' from t", "select b like 'b%' from t"}},
		{false, []string{"select lower('A')", "select lower('B')"}},
		{true, []string{"insert into t (id, a, b, c) values (1, 2, 'x', 3.5)", "insert into t (id, a, b, c) values (2, 3, 'y', 4)", "insert into t (id, a, b, c) values (2, 3, 'y', 4.25)"}},
		{true, []string{"insert into t (id, d, ch, f, s) values (1, 'abc', 'x', 1, 2), (2, 'd', 'y', 3, 4)", "insert into t (id, d, ch, f, s) values (5, 'abcd', 'xx', 9, 8), (2, 'd', 'y', 3, 4)"}},
		{true, []string{"update t set a = a + 1, b = 'z' where id = 7", "update t set a = a + 3, b = 'y' where id = 9"}},
		{true, []string{"delete from t where id = 3", "delete from t where id = 4"}},
		{false, []string{"select a from t where id in (1, 2)", "select a from t where id in (1, 2, 3)"}},
		{true, []string{"select a from t where id in (1, 2)", "select a from t where id in (7, 8)"}},
		{false, []string{"select a + 1 from t group by a + 1", "select a + 1 from t group by a + 2"}},
		{true, []string{"select a + 1 from t group by a + 1", "select a + 1 from t group by a + 1"}},
		{true, []string{"select 'x', 1, 2.5, null, true", "select 'y', 2, 3.5, null, true"}},
		{true, []string{"select case when a = 1 then 'x' else 'y' end from t", "select case when a = 2 then 'z' else 'w' end from t"}},
		{true, []string{"select 1 union select 2", "select 3 union select 4"}},
		{true, []string{"select a from t where id = 1;", "select a from t where id = 2; "}},
		{true, []string{"select coalesce(a, 5), greatest(c, 2) from t", "select coalesce(a, 6), greatest(c, 3) from t"}},
		{true, []string{"select ar[1], j -> 'k' from t", "select ar[2], j -> 'm' from t"}},
		{true, []string{"insert into dom values (1, 'red')", "insert into dom values (2, 'green')"}},
		{false, []string{"insert into dom values (1, 'red')", "insert into dom values (2, 'blue')"}},
		{false, []string{"insert into t (id, a, b) values (1, 2, 'x') on conflict (a) where b = 'x' do nothing", "insert into t (id, a, b) values (1, 2, 'x') on conflict (a) where b = 'y' do nothing"}},
		{false, []string{"select E'a'", "select E'b'"}},
		{false, []string{"select $$a$$", "select $$b$$"}},
		{false, []string{"select 1 -- 2", "select 1 -- 3"}},
		{false, []string{"select 1; select 2", "select 1; select 3"}},
		{false, []string{"select 'a'\n'b'", "select 'a'\n'c'"}},
		{false, []string{"select 'today'::date, lower('now')", "select 'today'::date, lower('now')"}},
		{true, []string{"select generate_series(1, 3), a from t", "select generate_series(2, 5), a from t"}},
		{false, []string{"select * from generate_series(1, 3)", "select * from generate_series(1, 4)"}},
		{false, []string{"select 1a", "select 2a"}},
		{false, []string{"select 0x1F", "select 0x2F"}},
		{false, []string{"select 'abc", "select 'abd"}},
		{true, []string{"select a as \"1\" from t where id = 1", "select a as \"1\" from t where id = 2"}},
		{false, []string{"select a as \"1\" from t where id = 1", "select a as \"2\" from t where id = 1"}},
		{false, []string{"select 9223372036854775808, -9223372036854775808", "select 9223372036854775808, -9223372036854775808"}},
	} {
		hit := false
		for _, sql := range c.sql {
			want := f.uncached(sql)
			var got string
			got, hit = f.cached(sql)
			if got != want {
				t.Errorf("%s\ncached:\n%s\nuncached:\n%s", sql, got, want)
			}
			if again, _ := f.cached(sql); again != want {
				t.Errorf("%s\nsecond time:\n%s\nuncached:\n%s", sql, again, want)
			}
		}
		if hit != c.hit {
			t.Errorf("%v: hit %v, want %v", c.sql, hit, c.hit)
		}
		f.cache = New(1000)
	}
}

func FuzzCachedEqualsUncached(fz *testing.F) {
	for _, s := range []string{"select a from t where id = 1", "select a, b from t where b = 'x' order by 1", "select -5, a - 5, 'x' || b from t limit 3",
		"insert into t (id, a) values (1, 2), (3, 4)", "update t set a = 1 where id = 2", "select a + 1 from t group by a + 1"} {
		fz.Add(s, s)
	}
	f := newFixture(fz)
	fz.Fuzz(func(t *testing.T, a, b string) {
		for _, sql := range []string{a, b, a} {
			if strings.Contains(strings.ToLower(sql), "now") || strings.Contains(strings.ToLower(sql), "to") {
				return // clock
			}
			want := f.uncached(sql)
			if got, _ := f.cached(sql); got != want {
				t.Errorf("%q\ncached:\n%s\nuncached:\n%s", sql, got, want)
			}
		}
	})
}

func TestBounded(t *testing.T) {
	f := newFixture(t)
	f.cache = New(64)
	for i := 0; i < 1000; i++ {
		f.cached(fmt.Sprintf("select a as c%d from t where id = 1", i))
	}
	if n := f.cache.Len(); n > 80 {
		t.Errorf("%d shapes kept", n)
	}
	for i := 0; i < 1000; i++ {
		f.cached(fmt.Sprintf("select a from t limit %d", i))
	}
	if n := f.cache.Len(); n > 80 {
		t.Errorf("%d shapes kept", n)
	}
}

func BenchmarkGet(b *testing.B) {
	for name, sql := range map[string]string{
		"select": "SELECT abalance FROM t2 WHERE aid = 12345;",
		"update": "UPDATE t SET a = a + 123 WHERE id = 4567;",
		"insert": "INSERT INTO t (id, a, b) VALUES (1, 2, 'x');",
	} {
		b.Run(name, func(b *testing.B) {
			f := newFixture(b)
			if err := f.cat.Exec("create table t2 (aid int primary key, abalance int)"); err != nil {
				b.Fatal(err)
			}
			f.cached(sql)
			env := f.cat.Context("").Env
			k := Key{Session: 1, Catalog: 1}
			b.ReportAllocs()
			for i := 0; i < b.N; i++ {
				if _, _, ok := f.cache.Get(&f.scratch, sql, k, env); !ok {
					b.Fatal("miss")
				}
			}
		})
	}
}
