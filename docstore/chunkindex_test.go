package docstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

// TestChunkIndex: what moves chunks reads their documents, each once, and looks at no
// other, page by page, after documents were changed and deleted.
func TestChunkIndex(t *testing.T) {
	Chunks = func(key string, count int) (func(JSON) (int, error), error) {
		return func(doc JSON) (int, error) {
			v, ok := doc.Lookup(key)
			if !ok || v.Kind() != sqltypes.JSONNumber {
				return 0, fmt.Errorf("no key")
			}
			n, err := sqltypes.NumericToInt64(v.Number())
			return int(n) % count, err
		}, nil
	}
	defer func() { Chunks = nil }()
	s := newStore(t)
	s.do(&Command{Op: OpCreateCollection, Collection: "c", Options: parse(t, `{"shard_key": "k"}`)})
	s.do(&Command{Op: OpCreateCollection, Collection: "plain"})
	for i := range 2000 {
		s.insert("c", fmt.Sprintf(`{"_id": %d, "k": %d}`, i, i*7))
	}
	s.insert("c", `{"_id": "x"}`) // in no chunk
	s.do(&Command{Op: OpUpdate, Collection: "c", Filter: parse(t, `{"_id": {"$lt": 500}}`), Update: parse(t, `{"$set": {"v": 1}}`)})
	s.do(&Command{Op: OpDelete, Collection: "c", Filter: parse(t, `{"_id": {"$gte": 1000, "$lt": 1500}}`)})
	chunks := []int{3, 5, 200}
	of, _ := Chunks("k", catalog.DefaultChunks)
	for _, count := range []int{catalog.DefaultChunks, catalog.DefaultChunks * 2} {
		looked := 0
		in := Part{Chunks: chunks, Count: count, Has: func(doc JSON) bool {
			looked++
			c, err := of(doc)
			return err == nil && slices.Contains(chunks, c)
		}}
		got := map[string]bool{}
		var after JSON
		for {
			v, err := s.eng.View(context.Background(), catalog.PostgresDB)
			if err != nil {
				t.Fatal(err)
			}
			docs, last, err := ReadFrom(context.Background(), &State{View: v}, "c", after, in, 3, 1<<20)
			v.Close()
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range docs {
				id, _ := d.Lookup("_id")
				if got[id.String()] {
					t.Fatalf("document %s twice", id)
				}
				got[id.String()] = true
			}
			if after = last; last.IsZero() {
				break
			}
		}
		want := 0
		for i := range 2000 {
			if (i < 1000 || i >= 1500) && slices.Contains(chunks, i*7%catalog.DefaultChunks) {
				want++
				if !got[strconv.Itoa(i)] {
					t.Errorf("document %d is missing", i)
				}
			}
		}
		if len(got) != want {
			t.Errorf("%d documents, want %d", len(got), want)
		}
		if byIndex := count == catalog.DefaultChunks; byIndex != (looked == want) {
			t.Errorf("of %d chunks: looked at %d documents for %d", count, looked, want)
		}
	}
	_, list := s.do(&Command{Op: OpListIndexes, Collection: "c"})
	if len(list) != 1 {
		t.Errorf("%d indexes are listed", len(list))
	}
	if _, _, err := s.try(&Command{Op: OpDropIndex, Collection: "c", Name: chunkIndexName}); err == nil {
		t.Error("the chunk index was dropped")
	}
}
