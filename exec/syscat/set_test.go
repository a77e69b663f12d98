package syscat

import (
	"context"
	"testing"

	"ostraka/engine/shard"
	"ostraka/planner"
	"ostraka/sqltypes"
)

// TestEveryRelation reads every base relation of a new database.
func TestEveryRelation(t *testing.T) {
	s, _, err := shard.OpenMem()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	view, err := s.View(ctx, 5)
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	set := New()
	for name, atLeast := range map[string]int{"pg_catalog.pg_class": 200, "pg_catalog.pg_type": 500, "pg_catalog.pg_proc": 3000,
		"pg_catalog.pg_attribute": 2000, "pg_catalog.pg_namespace": 3, "pg_catalog.pg_database": 3, "pg_catalog.pg_roles": 5,
		"pg_catalog.pg_operator": 700, "pg_catalog.pg_index": 100, "pg_catalog.pg_cast": 200, "pg_catalog.pg_am": 7,
		"pg_catalog.pg_collation": 3, "pg_catalog.pg_trigger": 0, "pg_catalog.pg_constraint": 0} {
		for range 2 { // the second time from the cache
			if n := count(t, set, ctx, name, planner.VirtualQuery{View: view}); n < atLeast {
				t.Errorf("%s has %d rows, want at least %d", name, n, atLeast)
			}
		}
	}
	q := planner.VirtualQuery{View: view, Eq: map[int16]sqltypes.Datum{1: sqltypes.Int(1259)}}
	if n := count(t, set, ctx, "pg_catalog.pg_class", q); n != 1 {
		t.Errorf("pg_class with oid 1259 has %d rows, want 1", n)
	}
}

func count(t *testing.T, set *Set, ctx context.Context, name string, q planner.VirtualQuery) int {
	t.Helper()
	src, err := set.byName[name].virtual.Rows(ctx, q)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	n := 0
	for {
		_, ok, err := src.Next()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !ok {
			return n
		}
		n++
	}
}
