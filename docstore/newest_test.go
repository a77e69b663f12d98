package docstore

import (
	"context"
	"fmt"
	"testing"

	"ostraka/engine/catalog"
)

// findNewest is what the short way answers; done false when it leaves the find to
// the ordinary one.
func (s *testStore) findNewest(coll, filter string, take int64) (string, bool) {
	s.t.Helper()
	docs, done := s.findNewestDocs(coll, filter, take)
	return lines(docs), done
}

func (s *testStore) findNewestDocs(coll, filter string, take int64) ([]JSON, bool) {
	s.t.Helper()
	cat := s.eng.Catalog(catalog.PostgresDB)
	c, err := Lookup(cat, coll)
	if err != nil || c == nil {
		s.t.Fatal(err)
	}
	docs, done, err := FindNewest(context.Background(), s.eng, cat, c, &State{Now: s.now}, &Command{Op: OpFind, Collection: coll, Filter: parse(s.t, filter), Take: take})
	if err != nil {
		s.t.Fatal(filter, err)
	}
	return docs, done
}

// The short way answers what the ordinary find answers, or leaves it to that.
func TestFindNewest(t *testing.T) {
	s := newStore(t)
	for i := range 300 {
		s.insert("c", fmt.Sprintf(`{"_id":%d,"a":%d,"u":"u%d","t":["x%d",%d],"n":{"m":%d}}`, i, i%40, i, i%7, i, i%3))
	}
	s.insert("c", `{"_id":"none"}`, `{"_id":"array","a":[3,4,null],"u":"array"}`, `{"_id":"empty","a":[],"u":"empty"}`)
	for _, ix := range []string{`{"fields":["a"]}`, `{"fields":["u"],"unique":true,"sparse":true}`, `{"fields":[["n.m",1],["a",-1]]}`, `{"fields":["t"]}`} {
		s.index("c", ix)
	}
	for _, c := range []struct {
		filter string
		short  bool
	}{
		{`{"_id":7}`, true}, {`{"_id":7.0}`, true}, {`{"_id":"none"}`, true}, {`{"_id":-1}`, true}, {`{"_id":{"$gte":5,"$lt":9}}`, true},
		{`{"_id":{"$in":[1,2,"array"]}}`, true}, {`{"a":3}`, true}, {`{"a":null}`, true}, {`{"a":{"$gt":38}}`, true}, {`{"a":{"$gt":36,"$lt":38}}`, true},
		{`{"u":"u5"}`, true}, {`{"n.m":1,"a":5}`, true}, {`{"t":"x3"}`, true}, {`{"t":{"$gte":290,"$lte":291}}`, true}, {`{"a":3,"n.m":1}`, true}, {`{"a":[3,4,null]}`, false},
		{`{"n.m":1}`, false}, {`{"t":{"$gte":5}}`, false}, {`{"x":1}`, false}, {`{}`, false}, {`{"$or":[{"x":1},{"a":2}]}`, false}, {`{"_id":5,"$expr":{"$gt":["$a",4]}}`, true},
	} {
		got, done := s.findNewest("c", c.filter, -1)
		if want := s.find("c", c.filter, ""); done != c.short || done && got != want {
			t.Errorf("%s: %v\n%s\nnot\n%s", c.filter, done, got, want)
		}
	}
	_, two := s.do(&Command{Op: OpFind, Collection: "c", Filter: parse(t, `{"n.m":1}`), Take: 2})
	if got, done := s.findNewest("c", `{"n.m":1}`, 2); !done || got != lines(two) {
		t.Error(got, done)
	}
}
