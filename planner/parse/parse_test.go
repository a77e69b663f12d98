package parse

import (
	"strings"
	"testing"

	"ostraka/engine/catalog"
	"ostraka/planner"
	"ostraka/sqltypes/pgerror"
)

func TestSyntaxErrors(t *testing.T) {
	for _, c := range []struct {
		sql, msg string
		code     pgerror.Code
		pos      int
	}{
		{"select 'é' from from x", `syntax error at or near "from"`, "42601", 17},
		{"select 'abc", `unterminated quoted string at or near "'abc"`, "42601", 8},
		{"selec 1", `syntax error at or near "selec"`, "42601", 1},
		{"select 1 fetch first 3 rows with ties", "WITH TIES cannot be specified without ORDER BY clause", "42601", 0},
		{`select U&'\00zz'`, "invalid Unicode escape", "42601", 11},
		{`select e'\xff'`, `invalid byte sequence for encoding "UTF8": 0xff`, "22021", 0},
		{"select float(0)", "precision for type float must be at least 1 bit", "22023", 14},
		{"create assertion a check (true)", "CREATE ASSERTION is not yet implemented", "0A000", 0},
		{"select (", "syntax error at end of input", "42601", 9},
	} {
		_, err := Parse(c.sql)
		e, _ := err.(*pgerror.Error)
		if e == nil {
			t.Errorf("%s: no error", c.sql)
			continue
		}
		if e.Message != c.msg || e.Code != c.code || e.Position != c.pos {
			t.Errorf("%s: got %q %s at %d", c.sql, e.Message, e.Code, e.Position)
		}
	}
}

func TestSeveralStatements(t *testing.T) {
	list, err := Parse(" select 1 ;\n  create table t(a int);;")
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	if list[0].Text != "select 1" || list[0].Location != 1 || !list[0].Planned {
		t.Errorf("%+v", list[0])
	}
	if list[1].Text != "create table t(a int)" || list[1].Location != 14 || list[1].Tag != "CREATE TABLE" {
		t.Errorf("%+v", list[1])
	}
	if list, err := Parse(" -- nothing\n"); err != nil || len(list) != 0 {
		t.Error(list, err)
	}
}

// TestHostileNesting: nothing that is sent may overflow the C parser's stack.
func TestHostileNesting(t *testing.T) {
	for _, n := range []int{900, 4000, 10900, 200000} {
		for name, sql := range map[string]string{
			"plus":    "select 1" + strings.Repeat("+1", n),
			"minus":   "select " + strings.Repeat("- ", n) + "a",
			"not":     "select " + strings.Repeat("not ", n) + "a",
			"parens":  "select " + strings.Repeat("(", n) + "1" + strings.Repeat(")", n),
			"selects": "select " + strings.Repeat("(select ", n) + "1" + strings.Repeat(")", n),
			"union":   "select 1" + strings.Repeat(" union select 1", n),
			"join":    "select 1 from a" + strings.Repeat(" join a on true", n),
			"case":    "select " + strings.Repeat("case when true then ", n) + "1" + strings.Repeat(" end", n),
			"else":    "select " + strings.Repeat("case when true then 1 else ", n) + "1" + strings.Repeat(" end", n),
			"cast":    "select 1" + strings.Repeat("::int", n),
			"index":   "select a" + strings.Repeat("[1]", n),
			"field":   "select (a)" + strings.Repeat(".b", n),
			"isnull":  "select a" + strings.Repeat(" is null", n),
			"isnullw": "select a" + strings.Repeat(" isnull", n),
			"array":   "select " + strings.Repeat("array[", n) + "1" + strings.Repeat("]", n),
			"call":    "select " + strings.Repeat("f(", n) + "1" + strings.Repeat(")", n),
			"collate": "select a" + strings.Repeat(" collate c", n),
			"from":    "select 1 from " + strings.Repeat("(select 1 from ", n) + "a" + strings.Repeat(") x", n),
			"attz":    "select a" + strings.Repeat(" at time zone b", n),
			"values":  "values (1)" + strings.Repeat(",(1)", n),
			"and":     "select a" + strings.Repeat(" and a", n),
		} {
			_, err := Parse(sql)
			if n == 900 && err != nil || (name == "and" || name == "values") && err != nil {
				t.Errorf("%s %d: %v", name, n, err)
			}
			if n == 200000 && err == nil && name != "and" && name != "values" && name != "field" && name != "index" {
				t.Errorf("%s %d: no error", name, n)
			}
			if err != nil && !pgerror.Is(err, pgerror.StatementTooComplex) && !strings.Contains(err.Error(), "memory exhausted") {
				t.Errorf("%s %d: %v", name, n, err)
			}
		}
	}
}

type fakeLookups struct{}

func (fakeLookups) Function(schema, name string) Effect {
	switch name {
	case "nextval", "setval", "insert", "myvolatile":
		return EffectWrite
	case "tsput":
		return EffectNodeWrite
	}
	return EffectNone
}

func (fakeLookups) Relation(schema, name string) *catalog.Relation {
	switch name {
	case "series":
		return &catalog.Relation{TimeSeries: true, Kind: catalog.KindTable}
	case "plainview":
		return &catalog.Relation{Kind: catalog.KindView, ViewDef: "SELECT a FROM t"}
	case "seqview":
		return &catalog.Relation{Kind: catalog.KindView, ViewDef: "SELECT nextval('s'::regclass) AS n"}
	case "nestedview":
		return &catalog.Relation{Kind: catalog.KindView, ViewDef: "SELECT n FROM seqview"}
	}
	return &catalog.Relation{Kind: catalog.KindTable}
}

func (fakeLookups) Prepared(name string) (planner.Class, bool) {
	switch name {
	case "w":
		return planner.ClassWrite, true
	case "r":
		return planner.ClassRead, true
	}
	return 0, false
}

func TestClassify(t *testing.T) {
	const r, w, c, n = planner.ClassRead, planner.ClassWrite, planner.ClassControl, planner.ClassNodeWrite
	for _, x := range []struct {
		sql   string
		class planner.Class
		tag   string
	}{
		{"select 1", r, ""},
		{"values (1)", r, ""},
		{"table t", r, ""},
		{"with t as (select 1) select * from t", r, ""},
		{"WITH t AS (DELETE FROM a RETURNING *) SELECT * FROM t", w, ""},
		{"select * from (with x as (select 1) select * from x) y", r, ""},
		{"with o as (with i as (update a set b = 1 returning *) select * from i) select * from o", w, ""},
		{"select * from t for update", w, ""},
		{"select * from t for key share skip locked", w, ""},
		{"select * from (select * from t for share) x", w, ""},
		{"select 1 where exists (select 1 from t for update)", w, ""},
		{"select 1 union (select a from t for update)", w, ""},
		{"select a into b from t", w, "SELECT INTO"},
		{"select 1 into b union select 2", w, "SELECT INTO"},
		{"create table b as select 1", w, "CREATE TABLE AS"},
		{"create materialized view b as select 1", w, "CREATE MATERIALIZED VIEW"},
		{"copy t from stdin", w, "COPY"},
		{"copy series from stdin", n, "COPY"},
		{"copy t to stdout", r, "COPY"},
		{"copy (select 1) to stdout", r, "COPY"},
		{"copy (delete from t returning *) to stdout", w, "COPY"},
		{"copy (select nextval('s')) to stdout", w, "COPY"},
		{"explain select 1", r, "EXPLAIN"},
		{"explain delete from t", r, "EXPLAIN"},
		{"explain analyze delete from t", w, "EXPLAIN"},
		{"explain (analyze) insert into t values (1)", w, "EXPLAIN"},
		{"explain (analyze false) insert into t values (1)", r, "EXPLAIN"},
		{"explain (analyze off, costs) delete from t", r, "EXPLAIN"},
		{"explain analyze select 1", r, "EXPLAIN"},
		{"explain analyze create table b as select 1", w, "EXPLAIN"},
		{"explain analyze execute w", w, "EXPLAIN"},
		{"prepare p as delete from t", c, "PREPARE"},
		{"execute w", w, "EXECUTE"},
		{"execute r", r, "EXECUTE"},
		{"execute r(nextval('s'))", w, "EXECUTE"},
		{"execute nosuch", c, "EXECUTE"},
		{"deallocate p", c, "DEALLOCATE"},
		{"deallocate all", c, "DEALLOCATE ALL"},
		{"declare c cursor for select 1", r, "DECLARE CURSOR"},
		{"declare c cursor for with x as (insert into t values (1) returning *) select * from x", w, "DECLARE CURSOR"},
		{"declare c cursor for select * from t for update", w, "DECLARE CURSOR"},
		{"fetch 1 from c", c, "FETCH"},
		{"move 1 from c", c, "MOVE"},
		{"close c", c, "CLOSE CURSOR"},
		{"select nextval('s')", w, ""},
		{"select pg_catalog.setval('s', 1)", w, ""},
		{"select a from t where b > (select nextval('s'))", w, ""},
		{"select * from generate_series(1, nextval('s'))", w, ""},
		{"select a from t order by nextval('s')", w, ""},
		{"select count(*) filter (where nextval('s') > 1) over (partition by nextval('t')) from t", w, ""},
		{"select case when a then nextval('s') end from t", w, ""},
		{"select array[nextval('s')]", w, ""},
		{"select row(nextval('s'))", w, ""},
		{"select coalesce(null, nextval('s'))", w, ""},
		{"select a from t limit nextval('s')", w, ""},
		{"select a from t group by nextval('s')", w, ""},
		{"select a from t window x as (order by nextval('s'))", w, ""},
		{"select a from t join u on nextval('s') = 1", w, ""},
		{"values (1), (nextval('s'))", w, ""},
		{"select doc.insert('c', '{}')", w, ""},
		{"select myvolatile()", w, ""},
		{"select tsput(1)", n, ""},
		{"select currval('s')", r, ""},
		{"select * from plainview", r, ""},
		{"select * from seqview", w, ""},
		{"select * from nestedview", w, ""},
		{"insert into t values (1)", w, ""},
		{"insert into series values (1)", n, ""},
		{"insert into series select nextval('s')", w, ""},
		{"with x as (delete from t returning *) insert into series select * from x", w, ""},
		{"update t set a = 1", w, ""},
		{"delete from series", n, ""},
		{"merge into t using u on t.a = u.a when matched then delete", w, ""},
		{"call p()", w, "CALL"},
		{"do 'begin end'", w, "DO"},
		{"begin", c, "BEGIN"},
		{"start transaction read only", c, "START TRANSACTION"},
		{"commit", c, "COMMIT"},
		{"end", c, "COMMIT"},
		{"rollback", c, "ROLLBACK"},
		{"abort", c, "ROLLBACK"},
		{"savepoint a", c, "SAVEPOINT"},
		{"rollback to a", c, "ROLLBACK"},
		{"release a", c, "RELEASE"},
		{"set search_path = a", c, "SET"},
		{"reset all", c, "RESET"},
		{"show all", c, "SHOW"},
		{"set transaction isolation level serializable", c, "SET"},
		{"set constraints all deferred", c, "SET CONSTRAINTS"},
		{"listen a", c, "LISTEN"},
		{"unlisten *", c, "UNLISTEN"},
		{"notify a", w, "NOTIFY"},
		{"discard all", c, "DISCARD ALL"},
		{"lock table t", w, "LOCK TABLE"},
		{"truncate t", w, "TRUNCATE TABLE"},
		{"vacuum", w, "VACUUM"},
		{"analyze t", w, "ANALYZE"},
		{"create table t(a int)", w, "CREATE TABLE"},
		{"create temp table t(a int)", w, "CREATE TABLE"},
		{"create view v as select 1", w, "CREATE VIEW"},
		{"create index on t(a)", w, "CREATE INDEX"},
		{"create sequence s", w, "CREATE SEQUENCE"},
		{"alter sequence s restart", w, "ALTER SEQUENCE"},
		{"create schema s", w, "CREATE SCHEMA"},
		{"create role r", w, "CREATE ROLE"},
		{"create user r", w, "CREATE ROLE"},
		{"alter role r set a = 1", w, "ALTER ROLE"},
		{"drop role r", w, "DROP ROLE"},
		{"grant select on t to r", w, "GRANT"},
		{"revoke select on t from r", w, "REVOKE"},
		{"grant a to b", w, "GRANT ROLE"},
		{"drop table t", w, "DROP TABLE"},
		{"drop index i", w, "DROP INDEX"},
		{"drop view v", w, "DROP VIEW"},
		{"drop materialized view v", w, "DROP MATERIALIZED VIEW"},
		{"drop schema s", w, "DROP SCHEMA"},
		{"drop type x", w, "DROP TYPE"},
		{"drop domain x", w, "DROP DOMAIN"},
		{"drop function f", w, "DROP FUNCTION"},
		{"drop owned by x", w, "DROP OWNED"},
		{"alter table t add b int", w, "ALTER TABLE"},
		{"alter index i rename to j", w, "ALTER INDEX"},
		{"alter table t rename a to b", w, "ALTER TABLE"},
		{"alter view v rename a to b", w, "ALTER VIEW"},
		{"alter table t rename constraint a to b", w, "ALTER TABLE"},
		{"alter table t owner to x", w, "ALTER TABLE"},
		{"alter table t set schema x", w, "ALTER TABLE"},
		{"alter type t add value 'x'", w, "ALTER TYPE"},
		{"create type t as enum ('a')", w, "CREATE TYPE"},
		{"create type t as (a int)", w, "CREATE TYPE"},
		{"create domain d as int", w, "CREATE DOMAIN"},
		{"create function f() returns int language sql as 'select 1'", w, "CREATE FUNCTION"},
		{"create procedure f() language sql as 'select 1'", w, "CREATE PROCEDURE"},
		{"create aggregate a(int) (sfunc = x, stype = y)", w, "CREATE AGGREGATE"},
		{"create trigger t before insert on t execute function f()", w, "CREATE TRIGGER"},
		{"create extension e", w, "CREATE EXTENSION"},
		{"create database d", w, "CREATE DATABASE"},
		{"alter database d set a = 1", w, "ALTER DATABASE"},
		{"drop database d", w, "DROP DATABASE"},
		{"comment on table t is 'x'", w, "COMMENT"},
		{"refresh materialized view v", w, "REFRESH MATERIALIZED VIEW"},
		{"reindex table t", w, "REINDEX"},
		{"cluster", w, "CLUSTER"},
		{"alter default privileges grant select on tables to x", w, "ALTER DEFAULT PRIVILEGES"},
		{"checkpoint", c, "CHECKPOINT"},
		{"import foreign schema a from server b into c", w, "IMPORT FOREIGN SCHEMA"},
	} {
		st, err := One(x.sql)
		if err != nil {
			t.Errorf("%s: %v", x.sql, err)
			continue
		}
		if got := Classify(st.AST, fakeLookups{}); got != x.class {
			t.Errorf("%s: class %d, want %d", x.sql, got, x.class)
		}
		if st.Tag != x.tag || st.Planned != (x.tag == "") {
			t.Errorf("%s: tag %q", x.sql, st.Tag)
		}
	}
}

func TestClassifyAll(t *testing.T) {
	list := func(cs ...planner.Class) (out []*planner.Statement) {
		for _, c := range cs {
			out = append(out, &planner.Statement{Class: c})
		}
		return out
	}
	if ClassifyAll(list(planner.ClassRead, planner.ClassControl, planner.ClassWrite)) != planner.ClassWrite {
		t.Error("any write is a write")
	}
	if ClassifyAll(list(planner.ClassControl, planner.ClassRead)) != planner.ClassRead {
		t.Error("read")
	}
	if ClassifyAll(list(planner.ClassRead, planner.ClassNodeWrite)) != planner.ClassNodeWrite {
		t.Error("node write")
	}
}
