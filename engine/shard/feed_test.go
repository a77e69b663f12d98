package shard

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

func appendFeed(t testing.TB, tx *Txn, r *catalog.Relation, vals ...string) {
	t.Helper()
	for _, v := range vals {
		if err := tx.AppendFeed(context.Background(), r, []byte(v)); err != nil {
			t.Fatal(err)
		}
	}
}

// readFeed is what a feed has behind a place, at most n.
func readFeed(t testing.TB, s *Shard, r *catalog.Relation, after engine.FeedPos, n int) (vals string, feed engine.Feed, places []engine.FeedPos) {
	t.Helper()
	var list []string
	feed, err := s.ReadFeed(context.Background(), r, after, func(pos engine.FeedPos, val []byte) (bool, error) {
		if k := len(places); k > 0 && !places[k-1].Less(pos) {
			t.Errorf("place %v after %v", pos, places[k-1])
		}
		places = append(places, pos)
		list = append(list, string(val[:min(len(val), 8)]))
		return len(list) < n, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(list, " "), feed, places
}

// A feed has what committed, in the order of commits, also of transactions that
// began earlier, rolled back a part, or were so large that they were staged.
func TestFeed(t *testing.T) {
	s, _ := testEngine(t)
	r := createTable(t, s, testTable{name: "f", cols: []*catalog.Column{column("a", sqltypes.OIDInt8)}, pk: []int16{1}})
	other := createTable(t, s, testTable{name: "g", cols: []*catalog.Column{column("a", sqltypes.OIDInt8)}})
	first, second, never := begin(t, s), begin(t, s), begin(t, s)
	appendFeed(t, first, r, "a1", "a2")
	appendFeed(t, never, r, "x")
	appendFeed(t, second, r, "b1")
	mark := second.Savepoint()
	appendFeed(t, second, r, "b2")
	if err := second.RollbackTo(mark); err != nil {
		t.Fatal(err)
	}
	appendFeed(t, second, r, "b3")
	appendFeed(t, second, other, "other")
	commit(t, second)
	commit(t, first)
	never.Rollback()
	large := begin(t, s)
	for i := range 40 {
		appendFeed(t, large, r, fmt.Sprintf("L%d %s", i, bytes.Repeat([]byte{'.'}, 1<<18)))
	}
	commit(t, large)
	want := "b1 b3 a1 a2"
	for i := range 40 {
		want += fmt.Sprintf(" %-.8s", fmt.Sprintf("L%d ........", i))
	}
	got, feed, places := readFeed(t, s, r, engine.FeedPos{}, 1000)
	if got != want || feed.Oldest != places[0] || feed.Upto != engine.EndOf(s.Applied()) {
		t.Fatal(got, feed)
	}
	if got, feed, _ := readFeed(t, s, r, places[1], 2); got != "a1 a2" || feed.Upto != places[3] {
		t.Fatal(got, feed)
	}
	for _, p := range []engine.FeedPos{places[0], feed.Upto} {
		if q, err := engine.ParseFeedPos(p.String()); err != nil || q != p {
			t.Fatal(p, q, err)
		}
	}
	tx := begin(t, s)
	tx.TrimFeed(r, places[3])
	appendFeed(t, tx, r, "end")
	commit(t, tx)
	if got, feed, _ := readFeed(t, s, r, engine.FeedPos{}, 1); got != "a2" || feed.Oldest != places[3] {
		t.Fatal(got, feed)
	}
	tx = begin(t, s)
	appendFeed(t, tx, r, "gone")
	tx.DropFeed(r)
	commit(t, tx)
	if got, feed, _ := readFeed(t, s, r, engine.FeedPos{}, 1); got != "" || feed.Oldest != (engine.FeedPos{}) {
		t.Fatal(got, feed)
	}
	if got, _, _ := readFeed(t, s, other, engine.FeedPos{}, 5); got != "other" {
		t.Fatal(got)
	}
}
