package protocol

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
	"ostraka/tsdb/store"
)

// target is a table that requests write to, with what is looked up per row.
type target struct {
	rel    *catalog.Relation
	table  *store.Table
	cols   map[string]column
	tags   int
	fields int // of the store's table
	perNs  int64
	epoch  int64 // ns from 1970 to the table's zero

	// merge is held while rows are completed with what is there already.
	merge sync.Mutex
}

// column is where a tag or a field goes.
type column struct {
	typ  sqltypes.OID
	time bool
	tag  int // place among the tags, -1
	at   int // place among the fields, -1
}

const (
	maxTargets = 1000
	// epoch2000 is 2000-01-01 UTC in ns since 1970.
	epoch2000 = 946_684_800_000_000_000
)

// target is the table's target; the store's table is made when it is not there.
func (s *Server) target(rel *catalog.Relation) (*target, error) {
	s.mu.Lock()
	t := s.targets[rel]
	s.mu.Unlock()
	if t != nil {
		return t, nil
	}
	_, table, err := s.cfg.DB.Define(rel)
	if err != nil {
		return nil, err
	}
	ts := rel.TimeSeriesSpec()
	t = &target{rel: rel, table: table, cols: map[string]column{}, tags: len(ts.Tags), fields: len(table.Fields()), perNs: 1000, epoch: epoch2000}
	if rel.Columns[ts.Time-1].Type.OID == sqltypes.OIDInt8 {
		t.perNs, t.epoch = 1, 0
	}
	for _, c := range rel.Columns {
		if c.Dropped {
			continue
		}
		col := column{typ: c.Type.OID, tag: -1, at: -1, time: c.Num == ts.Time}
		for i, a := range ts.Tags {
			if a == c.Num {
				col.tag = i
			}
		}
		for i, f := range table.Fields() {
			if f.ID == c.Num {
				col.at = i
			}
		}
		t.cols[c.Name] = col
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.targets) >= maxTargets {
		clear(s.targets)
	}
	s.targets[rel] = t
	return t, nil
}

// time converts nanoseconds since 1970, rounding down.
func (t *target) time(ns int64) int64 {
	if t.perNs == 1 {
		return ns
	}
	us := ns / t.perNs
	if ns%t.perNs < 0 {
		us--
	}
	return us - t.epoch/t.perNs
}

// find looks a table up for writing; nil when there is no relation of that name.
func (s *Server) find(c caller, name string) (*catalog.Relation, error) {
	cat := s.cfg.Catalog(c.database.OID)
	if cat == nil {
		return nil, pgerror.New(pgerror.CannotConnectNow, "the catalogue has not arrived yet")
	}
	schema := cat.SchemaByName("public")
	if schema == nil {
		return nil, pgerror.New(pgerror.InvalidSchemaName, "schema \"public\" does not exist")
	}
	rel := cat.RelationByName(schema.OID, name)
	if rel == nil {
		return nil, nil
	}
	if rel.TimeSeriesSpec() == nil {
		return nil, pgerror.New(pgerror.WrongObjectType, "\"%s\" is not a time-series table", name)
	}
	if !cat.Holds(c.role.OID, schema.Owner, schema.ACL, 'U', "") {
		return nil, pgerror.New(pgerror.InsufficientPrivilege, "permission denied for schema public")
	}
	if !cat.HoldsOn(c.role.OID, rel, 'a', rowAttrs(rel)) {
		return nil, pgerror.New(pgerror.InsufficientPrivilege, "permission denied for table %s", name)
	}
	return rel, nil
}

func rowAttrs(rel *catalog.Relation) []int16 {
	var out []int16
	for _, c := range rel.Columns {
		if !c.Dropped {
			out = append(out, c.Num)
		}
	}
	return out
}

// define runs a data definition and waits until this node has what it made.
func (s *Server) define(ctx context.Context, c caller, sql, name string, there func(*catalog.Relation) bool) (*catalog.Relation, error) {
	if err := s.cfg.Exec(ctx, c.role.Name, c.database.Name, sql); err != nil {
		return nil, err
	}
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		rel, err := s.find(c, name)
		if err != nil {
			return nil, err
		}
		if rel != nil && there(rel) {
			return rel, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for table %q: %w", name, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
