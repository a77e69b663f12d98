package shardrouter

import (
	"reflect"
	"testing"
	"time"

	"ostraka/docstore"
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

func parseJSON(t testing.TB, s string) docstore.JSON {
	t.Helper()
	v, err := sqltypes.ParseJSONB(s)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return v
}

func sampleRequest(t testing.TB) *Request {
	j := func(s string) docstore.JSON { return parseJSON(t, s) }
	return &Request{Kind: KindCommand, Version: 7, Chunks: catalog.AllChunks(256), Count: 256, Key: "a.b", Now: time.Unix(5, 6),
		Cmd: &docstore.Command{Op: docstore.OpFind, Collection: "c", Filter: j(`{"a": 1}`), Update: j(`{"$set": {"x": 1}}`), Docs: []docstore.JSON{j(`{}`), j(`{"b": [1, 2.5]}`)},
			Pipeline: j(`[]`), Sort: j(`[["a", 1]]`), Skip: 3, Take: -1, Projection: j(`{"a": 0}`), Field: "f", Upsert: true, Name: "n", Options: j(`{"o": null}`),
			Search: "words", Vector: j(`[1]`), Metric: "dot", Wait: time.Second, LockWait: 2,
			Index: &docstore.IndexSpec{Name: "i", Fields: []docstore.IndexField{{Path: "a", Desc: true}, {Path: "b"}}, Unique: true, Partial: j(`{"p": 1}`), ExpireAfter: -1}}}
}

func TestRequestRoundTrip(t *testing.T) {
	for _, r := range []*Request{sampleRequest(t), {Kind: KindOwned, Now: time.Unix(0, 0)}} {
		got, err := DecodeRequest(string(r.Encode()))
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("got %+v, %v, want %+v", got, err, r)
		}
	}
	res := docstore.Result{Value: parseJSON(t, `5`), Counts: docstore.Counts{Inserted: 1, Matched: 2, Modified: 3, Upserted: 4, Deleted: 5}, IDs: []docstore.JSON{parseJSON(t, `"x"`)}}
	got, err := decodeTail(string(encodeTail(&res)))
	if err != nil || !reflect.DeepEqual(got, res) {
		t.Errorf("tail: %+v, %v", got, err)
	}
}

func FuzzDecodeRequest(f *testing.F) {
	f.Add(string(sampleRequest(f).Encode()))
	f.Add("\x01\x01")
	f.Fuzz(func(t *testing.T, s string) {
		r, err := DecodeRequest(s)
		if err != nil {
			return
		}
		again, err := DecodeRequest(string(r.Encode()))
		if err != nil || !reflect.DeepEqual(again, r) {
			t.Fatalf("%+v, %v, want %+v", again, err, r)
		}
	})
}
