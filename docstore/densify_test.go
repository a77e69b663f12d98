package docstore

import (
	"testing"

	"ostraka/sqltypes/pgerror"
)

func TestDensify(t *testing.T) {
	s := newStore(t)
	s.insert("d", `{"_id":1,"k":"a","n":1}`, `{"_id":2,"k":"a","n":4}`, `{"_id":3,"k":"b","n":2.5}`, `{"_id":4,"k":"b"}`)
	for _, c := range []struct{ stage, want string }{
		{`{"field":"n","range":{"step":1,"bounds":"full"}}`, `{"k": "b", "_id": 4}
{"k": "a", "n": 1, "_id": 1}
{"n": 2}
{"k": "b", "n": 2.5, "_id": 3}
{"n": 3}
{"k": "a", "n": 4, "_id": 2}`},
		{`{"field":"n","partitionByFields":["k"],"range":{"step":1,"bounds":"partition"}}`, `{"k": "b", "_id": 4}
{"k": "a", "n": 1, "_id": 1}
{"k": "a", "n": 2}
{"k": "a", "n": 3}
{"k": "a", "n": 4, "_id": 2}
{"k": "b", "n": 2.5, "_id": 3}`},
		{`{"field":"n","partitionByFields":["k"],"range":{"step":2,"bounds":[0,3]}}`, `{"k": "b", "_id": 4}
{"k": "a", "n": 0}
{"k": "a", "n": 1, "_id": 1}
{"k": "a", "n": 2}
{"k": "a", "n": 4, "_id": 2}
{"k": "b", "n": 0}
{"k": "b", "n": 2}
{"k": "b", "n": 2.5, "_id": 3}`},
	} {
		if got := s.aggregate("d", `[{"$densify":`+c.stage+`}]`); got != c.want {
			t.Errorf("%s:\n%s", c.stage, got)
		}
	}
	s.insert("t", `{"_id":1,"at":{"$date":"2024-01-31T00:00:00Z"}}`, `{"_id":2,"at":{"$date":"2024-03-31T00:00:00Z"}}`)
	if got, want := s.aggregate("t", `[{"$densify":{"field":"at","range":{"step":1,"unit":"month","bounds":"full"}}}]`), `{"at": {"$date": "2024-01-31T00:00:00Z"}, "_id": 1}
{"at": {"$date": "2024-02-29T00:00:00.000Z"}}
{"at": {"$date": "2024-03-31T00:00:00Z"}, "_id": 2}`; got != want {
		t.Error(got)
	}
	for bad, code := range map[string]pgerror.Code{
		`{"field":"k","range":{"step":1,"bounds":"full"}}`: pgerror.InvalidParameterValue, `{"field":"n","range":{"step":0,"bounds":"full"}}`: pgerror.InvalidParameterValue,
		`{"field":"n","range":{"step":1,"bounds":"partition"}}`: pgerror.InvalidParameterValue, `{"field":"n","range":{"step":0.000001,"bounds":[0,100]}}`: pgerror.ProgramLimitExceeded,
	} {
		if _, _, err := s.try(&Command{Op: OpAggregate, Collection: "d", Pipeline: parse(t, `[{"$densify":`+bad+`}]`)}); pgerror.CodeOf(err) != code {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestFill(t *testing.T) {
	s := newStore(t)
	s.insert("f", `{"_id":1,"k":"a","n":10}`, `{"_id":2,"k":"b","n":1}`, `{"_id":3,"k":"a"}`, `{"_id":4,"k":"a","n":null,"m":7}`, `{"_id":5,"k":"a","n":40}`)
	for _, c := range []struct{ stage, want string }{
		{`{"output":{"m":{"value":{"$add":["$_id",100]}}}}`, `101 102 103 7 105`},
		{`{"sortBy":{"_id":1},"partitionByFields":["k"],"output":{"m":{"method":"locf"}}}`, `null null null 7 7`},
	} {
		got := ""
		_, docs := s.do(&Command{Op: OpAggregate, Collection: "f", Pipeline: parse(t, `[{"$fill":`+c.stage+`},{"$sort":{"_id":1}}]`)})
		for _, d := range docs {
			v, _ := d.Lookup("m")
			if got != "" {
				got += " "
			}
			got += shown(v)
		}
		if got != c.want {
			t.Errorf("%s: %s", c.stage, got)
		}
	}
	got := s.aggregate("f", `[{"$fill":{"sortBy":{"_id":1},"partitionBy":"$k","output":{"n":{"method":"linear"}}}},{"$match":{"k":"a"}},{"$project":{"n":1}}]`)
	if want := "{\"n\": 10, \"_id\": 1}\n{\"n\": 25, \"_id\": 3}\n{\"n\": 32.5, \"_id\": 4}\n{\"n\": 40, \"_id\": 5}"; got != want {
		t.Error(got)
	}
	if got := s.aggregate("f", `[{"$project":{"_id":0,"ok":{"$and":[{"$gte":[{"$rand":{}},0]},{"$lt":[{"$rand":{}},1]}]}}},{"$group":{"_id":"$ok","n":{"$sum":1}}}]`); got != `{"n": 5, "_id": true}` {
		t.Error(got)
	}
	if all, none := s.find("f", `{"$sampleRate":1}`, ""), s.find("f", `{"$sampleRate":0}`, ""); all == "" || none != "" {
		t.Error(all, none)
	}
}
