package router

import "testing"

// TestClassify: the decision comes from the syntax tree, never from text in it.
func TestClassify(t *testing.T) {
	for _, c := range []struct {
		sql       string
		read, pin bool
	}{
		{"SELECT 1", true, false},
		{"SELECT * FROM t WHERE note = 'insert into t; delete; begin_tx'", true, false},
		{"-- UPDATE\nSELECT 1", true, false},
		{"/* SELECT */ DELETE FROM t", false, false},
		{"SELECT 1; DELETE FROM t", false, false},
		{"SELECT * FROM t FOR UPDATE", false, false},
		{"WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x", false, false},
		{"SELECT lower(a), count(*) FROM t", true, false},
		{"SELECT nextval('s')", false, false},
		{"SELECT my_function()", false, false},
		{"SELECT app.lower('x')", false, false},
		{"SELECT doc.find('c', '{\"a\": \"insert\"}')", true, false},
		{"SELECT doc.insert('c', '{}')", false, false},
		{"SELECT * FROM doc.aggregate('c', '[{\"$out\": \"d\"}]')", false, false},
		{"SELECT pg_advisory_lock(1)", false, true},
		{"SELECT set_config('a.b', 'c', false)", false, true},
		{"CREATE TEMP TABLE t (a int)", false, true},
		{"SELECT 1 INTO TEMP t", false, true},
		{"LISTEN c", false, true},
		{"DECLARE c CURSOR WITH HOLD FOR SELECT 1", false, true},
		{"EXPLAIN SELECT 1", true, false},
		{"EXPLAIN ANALYZE DELETE FROM t", false, false},
		{"BEGIN", false, false},
		{"BEGIN READ ONLY", true, false},
		{"START TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY", true, false},
		{"BEGIN READ WRITE", false, false},
		{"SET work_mem = '1MB'", true, false},
		{"SET work_mem = '1MB'; COMMIT", false, true},
		{"SET ostraka.min_position = ''", false, true},
		{"COPY t TO STDOUT", true, false},
		{"COPY t FROM STDIN", false, false},
		{"CALL p()", false, true},
		{"SELEC 1", false, false},
		{"", true, false},
	} {
		sc := analyse(c.sql)
		if sc.read != c.read || sc.pin != c.pin {
			t.Errorf("%s: read %v, pin %v", c.sql, sc.read, sc.pin)
		}
	}
}
