package docstore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/engine/shard"
	"ostraka/sqltypes/pgerror"
)

func messageOf(err error) string {
	var pe *pgerror.Error
	if errors.As(err, &pe) {
		return pe.Message
	}
	return err.Error()
}

// testStore runs commands on an engine in memory.
type testStore struct {
	t   testing.TB
	eng engine.Engine
	tx  engine.Txn // of a block
	now time.Time
}

func newStore(t testing.TB) *testStore {
	t.Helper()
	s, _, err := shard.OpenMem()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &testStore{t: t, eng: s, now: time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)}
}

func (s *testStore) begin() engine.Txn {
	s.t.Helper()
	tx, err := s.eng.Begin(context.Background(), engine.TxnOptions{Database: catalog.PostgresDB})
	if err != nil {
		s.t.Fatal(err)
	}
	return tx
}

// try runs a command in the block, or in a transaction of its own, and reads
// the answer to its end.
func (s *testStore) try(cmd *Command) (Result, []JSON, error) {
	s.t.Helper()
	ctx := context.Background()
	if cmd.Take == 0 {
		cmd.Take = -1
	}
	tx := s.tx
	if tx == nil {
		tx = s.begin()
		defer tx.Rollback()
	}
	if err := tx.StartStatement(ctx); err != nil {
		return Result{}, nil, err
	}
	res, err := Run(ctx, &State{View: tx, Txn: tx, Now: s.now, Owner: catalog.BootstrapRole}, cmd)
	var docs []JSON
	if err == nil && res.Docs != nil {
		docs, err = ReadAll(res.Docs)
	}
	if err == nil && s.tx == nil {
		_, err = tx.Commit(ctx)
	}
	return res, docs, err
}

func (s *testStore) do(cmd *Command) (Result, []JSON) {
	s.t.Helper()
	res, docs, err := s.try(cmd)
	if err != nil {
		s.t.Fatalf("%s: %v", cmd.Op, err)
	}
	return res, docs
}

func (s *testStore) insert(coll string, docs ...string) {
	s.t.Helper()
	cmd := &Command{Op: OpInsert, Collection: coll}
	for _, d := range docs {
		cmd.Docs = append(cmd.Docs, parse(s.t, d))
	}
	s.do(cmd)
}

func (s *testStore) index(coll, spec string) {
	s.t.Helper()
	x, err := ParseIndexSpec(parse(s.t, spec))
	if err != nil {
		s.t.Fatal(err)
	}
	s.do(&Command{Op: OpCreateIndex, Collection: coll, Index: x})
}

func (s *testStore) find(coll, filter, sort string) string {
	s.t.Helper()
	cmd := &Command{Op: OpFind, Collection: coll, Filter: parse(s.t, filter)}
	if sort != "" {
		cmd.Sort = parse(s.t, sort)
	}
	_, docs := s.do(cmd)
	return lines(docs)
}

func (s *testStore) aggregate(coll, pipeline string) string {
	s.t.Helper()
	_, docs := s.do(&Command{Op: OpAggregate, Collection: coll, Pipeline: parse(s.t, pipeline)})
	return lines(docs)
}

func (s *testStore) plan(coll, filter, sort string) string {
	s.t.Helper()
	cmd := &Command{Op: OpExplain, Collection: coll, Filter: parse(s.t, filter)}
	if sort != "" {
		cmd.Sort = parse(s.t, sort)
	}
	_, docs := s.do(cmd)
	var out []string
	for _, d := range docs {
		out = append(out, strings.TrimSpace(d.Str()))
	}
	return strings.Join(out, "; ")
}

func lines(docs []JSON) string {
	out := make([]string, len(docs))
	for i, d := range docs {
		out[i] = d.String()
	}
	return strings.Join(out, "\n")
}
