package docstore

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// watch answers the changes behind a place as "op id", and the next place.
func (s *testStore) watch(place string, take int64, filter string) (changes, next string, err error) {
	s.t.Helper()
	view, err := s.eng.View(context.Background(), catalog.PostgresDB)
	if err != nil {
		s.t.Fatal(err)
	}
	defer view.Close()
	cmd := &Command{Op: OpWatch, Collection: "c", Name: place, Take: take}
	if filter != "" {
		cmd.Filter = parse(s.t, filter)
	}
	res, err := Run(context.Background(), &State{View: view, Now: s.now, Feeds: s.eng}, cmd)
	if err != nil {
		return "", "", err
	}
	docs, err := ReadAll(res.Docs)
	if err != nil {
		return "", "", err
	}
	var out []string
	for _, d := range docs {
		op, _ := d.Lookup("op")
		id, _ := d.Lookup("id")
		out = append(out, op.Str()+" "+id.String())
	}
	p, _ := res.Value.Lookup(PlaceField)
	return strings.Join(out, ", "), p.Str(), nil
}

func (s *testStore) mustWatch(place string, take int64, filter, want string) string {
	s.t.Helper()
	got, next, err := s.watch(place, take, filter)
	if err != nil || got != want {
		s.t.Fatalf("behind %s: %s %v, want %s", place, got, err, want)
	}
	return next
}

func TestWatch(t *testing.T) {
	s := newStore(t)
	s.insert("c", `{"_id":1,"n":0}`)
	c, err := Lookup(s.eng.Catalog(catalog.PostgresDB), "c")
	if err != nil || pgerror.CodeOf(c.MayWatch()) != pgerror.ObjectNotInPrerequisiteState {
		t.Fatal(err)
	}
	s.do(&Command{Op: OpRecordChanges, Collection: "c", Options: parse(t, `{"keep_changes":5,"keep_seconds":3600,"before":true}`)})
	begin := s.mustWatch("", 10, "", "")
	s.insert("c", `{"_id":2,"n":0}`, `{"_id":"x"}`)
	s.do(&Command{Op: OpUpdate, Collection: "c", Filter: parse(t, `{"n":0}`), Update: parse(t, `{"$inc":{"n":1}}`)})
	s.do(&Command{Op: OpUpdate, Collection: "c", Filter: parse(t, `{"n":1}`), Update: parse(t, `{"$set":{"n":1}}`)}) // nothing changes
	s.do(&Command{Op: OpReplaceOne, Collection: "c", Filter: parse(t, `{"_id":2}`), Update: parse(t, `{"z":1}`)})
	s.do(&Command{Op: OpDelete, Collection: "c", Filter: parse(t, `{"_id":{"$in":[1,"x"]}}`)})
	all := `insert 2, insert "x", update 1, update 2, replace 2, delete 1, delete "x"`
	s.mustWatch(begin, 100, "", all)
	// In portions of every size, nothing is lost or doubled.
	for take := int64(1); take < 8; take++ {
		var parts []string
		for at := begin; ; {
			got, next, err := s.watch(at, take, "")
			if err != nil {
				t.Fatal(err)
			}
			if at = next; got == "" {
				break
			}
			parts = append(parts, got)
		}
		if got := strings.Join(parts, ", "); got != all {
			t.Errorf("by %d: %s", take, got)
		}
	}
	end := s.mustWatch(begin, 100, `{"op":"delete"}`, `delete 1, delete "x"`)
	s.mustWatch(end, 100, "", "")

	// What is older than the bounds goes, and whoever has not seen it is told so.
	s.now = s.now.Add(2 * time.Hour)
	s.trim()
	s.mustWatch(end, 100, "", "")
	if _, _, err := s.watch(begin, 100, ""); pgerror.CodeOf(err) != pgerror.SnapshotTooOld {
		t.Fatal(err)
	}
	for i := range 20 {
		s.insert("c", fmt.Sprintf(`{"_id":"n%d"}`, i))
	}
	s.trim()
	if _, _, err := s.watch(end, 100, ""); pgerror.CodeOf(err) != pgerror.SnapshotTooOld {
		t.Fatal(err)
	}
	// Off and on again: the changes in between are not there.
	now := s.mustWatch("", 1, "", "")
	s.do(&Command{Op: OpRecordChanges, Collection: "c", Options: parse(t, `{"on":false}`)})
	s.insert("c", `{"_id":"unseen"}`)
	s.do(&Command{Op: OpRecordChanges, Collection: "c", Options: sqltypes.JSONObjectOf(nil)})
	if _, _, err := s.watch(now, 100, ""); pgerror.CodeOf(err) != pgerror.SnapshotTooOld {
		t.Fatal(err)
	}
	// A new collection of the same name has another history.
	now = s.mustWatch("", 1, "", "")
	s.do(&Command{Op: OpDropCollection, Collection: "c"})
	s.insert("c", `{"_id":"again"}`)
	s.do(&Command{Op: OpRecordChanges, Collection: "c", Options: sqltypes.JSONObjectOf(nil)})
	if _, _, err := s.watch(now, 100, ""); pgerror.CodeOf(err) != pgerror.SnapshotTooOld {
		t.Fatal(err)
	}
	if _, _, err := s.watch("1.2", 100, ""); pgerror.CodeOf(err) != pgerror.InvalidParameterValue {
		t.Fatal(err)
	}
}

func (s *testStore) trim() {
	s.t.Helper()
	ctx := context.Background()
	tx := s.begin()
	defer tx.Rollback()
	c, err := Lookup(tx.Catalog(), "c")
	if err == nil {
		_, err = TrimChanges(ctx, s.eng, &State{View: tx, Txn: tx, Now: s.now}, c)
	}
	if err == nil {
		_, err = tx.Commit(ctx)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// A watcher that waits is woken by the next change.
func TestWatchWaits(t *testing.T) {
	s := newStore(t)
	s.insert("c", `{"_id":1}`)
	s.do(&Command{Op: OpRecordChanges, Collection: "c", Options: sqltypes.JSONObjectOf(nil)})
	view, err := s.eng.View(context.Background(), catalog.PostgresDB)
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	at := s.mustWatch("", 1, "", "")
	got := make(chan Result)
	go func() {
		res, err := Run(context.Background(), &State{View: view, Now: s.now, Feeds: s.eng},
			&Command{Op: OpWatch, Collection: "c", Name: at, Take: 10, Wait: time.Minute, Filter: parse(t, `{"doc.a":2}`)})
		if err != nil {
			t.Error(err)
		}
		got <- res
	}()
	s.insert("other", `{"_id":1}`)
	s.insert("c", `{"_id":2,"a":1}`)
	s.insert("c", `{"_id":3,"a":2}`)
	docs, err := ReadAll((<-got).Docs)
	if err != nil || len(docs) != 1 || !strings.Contains(docs[0].String(), `"id": 3`) {
		t.Fatal(lines(docs), err)
	}
}
