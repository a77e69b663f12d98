package docstore

import (
	"testing"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func parse(t testing.TB, s string) JSON {
	t.Helper()
	j, err := sqltypes.ParseJSONB(s)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return j
}

// TestFilterOperators holds each operator against documents that match and ones
// that do not, with MongoDB's rules for missing fields, arrays and types.
func TestFilterOperators(t *testing.T) {
	for _, c := range []struct {
		filter  string
		yes, no []string
	}{
		{`{}`, []string{`{}`, `{"a":1}`}, nil},
		{`{"a":1}`, []string{`{"a":1}`, `{"a":1.0}`, `{"a":[2,1]}`}, []string{`{"a":"1"}`, `{}`, `{"a":true}`, `{"a":[[1]]}`}},
		{`{"a":null}`, []string{`{"a":null}`, `{}`, `{"a":[null]}`}, []string{`{"a":0}`, `{"a":[]}`, `{"a":false}`}},
		{`{"a.b":null}`, []string{`{"a":{}}`, `{"a":5}`, `{}`, `{"a":[{"b":1},{"c":2}]}`}, []string{`{"a":[]}`, `{"a":[1,2]}`, `{"a":{"b":1}}`}},
		{`{"a":[1,2]}`, []string{`{"a":[1,2]}`, `{"a":[[1,2]]}`}, []string{`{"a":[2,1]}`, `{"a":1}`}},
		{`{"a":{"b":1}}`, []string{`{"a":{"b":1}}`, `{"a":[{"b":1}]}`}, []string{`{"a":{"b":1,"c":2}}`}},
		{`{"a.b":1}`, []string{`{"a":{"b":1}}`, `{"a":[{"b":0},{"b":1}]}`, `{"a":{"b":[1]}}`}, []string{`{"a":[[{"b":1}]]}`, `{"a.b":1}`}},
		{`{"a.1":5}`, []string{`{"a":[0,5]}`, `{"a":{"1":5}}`, `{"a":[{"1":5}]}`}, []string{`{"a":[5]}`}},
		{`{"a.0.b":1}`, []string{`{"a":[{"b":1}]}`}, []string{`{"a":[{"b":2},{"b":1}]}`}},
		{`{"a":{"$eq":1}}`, []string{`{"a":1}`}, []string{`{}`}},
		{`{"a":{"$ne":1}}`, []string{`{}`, `{"a":2}`, `{"a":"1"}`}, []string{`{"a":1}`, `{"a":[1,2]}`}},
		{`{"a":{"$gt":1}}`, []string{`{"a":2}`, `{"a":[0,2]}`, `{"a":1.0000001}`}, []string{`{"a":1}`, `{"a":"2"}`, `{}`, `{"a":null}`}},
		{`{"a":{"$gte":"b"}}`, []string{`{"a":"b"}`, `{"a":"c"}`}, []string{`{"a":"a"}`, `{"a":5}`}},
		{`{"a":{"$lt":5,"$gt":1}}`, []string{`{"a":3}`, `{"a":[0,9]}`}, []string{`{"a":5}`, `{"a":1}`}},
		{`{"a":{"$lte":null}}`, []string{`{"a":null}`, `{}`}, []string{`{"a":1}`}},
		{`{"a":{"$gt":null}}`, nil, []string{`{"a":null}`, `{}`, `{"a":1}`}},
		{`{"a":{"$gt":false}}`, []string{`{"a":true}`}, []string{`{"a":false}`, `{"a":1}`}},
		{`{"a":{"$gt":{"$date":"2024-01-01"}}}`, []string{`{"a":{"$date":"2024-01-02T00:00:00Z"}}`, `{"a":{"$date":4102444800000}}`},
			[]string{`{"a":"2025-01-01"}`, `{"a":{"$date":"2023-12-31"}}`}},
		{`{"a":{"$in":[1,"x",null]}}`, []string{`{"a":1}`, `{"a":"x"}`, `{}`, `{"a":[5,1]}`}, []string{`{"a":2}`}},
		{`{"a":{"$in":[0,1,2,3,4,5,6,7,8,9]}}`, []string{`{"a":9}`, `{"a":3.0}`}, []string{`{"a":10}`, `{}`}},
		{`{"a":{"$in":[]}}`, nil, []string{`{"a":1}`, `{}`}},
		{`{"a":{"$nin":[1,2]}}`, []string{`{"a":3}`, `{}`}, []string{`{"a":1}`, `{"a":[2]}`}},
		{`{"a":{"$exists":true}}`, []string{`{"a":null}`, `{"a":[]}`}, []string{`{}`}},
		{`{"a":{"$exists":false}}`, []string{`{}`}, []string{`{"a":null}`}},
		{`{"a.b":{"$exists":true}}`, []string{`{"a":[{"b":1}]}`}, []string{`{"a":[]}`, `{"a":[1]}`}},
		{`{"a":{"$type":"string"}}`, []string{`{"a":"x"}`, `{"a":["x"]}`}, []string{`{"a":1}`, `{}`}},
		{`{"a":{"$type":["int","array"]}}`, []string{`{"a":1}`, `{"a":["x"]}`}, []string{`{"a":1.5}`, `{"a":"x"}`}},
		{`{"a":{"$type":"number"}}`, []string{`{"a":1}`, `{"a":1.5}`, `{"a":99999999999}`}, []string{`{"a":"1"}`}},
		{`{"a":{"$type":9}}`, []string{`{"a":{"$date":0}}`}, []string{`{"a":{}}`}},
		{`{"a":{"$regex":"^ab"}}`, []string{`{"a":"abc"}`, `{"a":["x","ab"]}`}, []string{`{"a":"xab"}`, `{"a":"AB"}`, `{"a":1}`}},
		{`{"a":{"$regex":"^ab","$options":"i"}}`, []string{`{"a":"ABc"}`}, []string{`{"a":"b"}`}},
		{`{"$and":[{"a":1},{"b":2}]}`, []string{`{"a":1,"b":2}`}, []string{`{"a":1}`}},
		{`{"$or":[{"a":1},{"b":2}]}`, []string{`{"a":1}`, `{"b":2}`}, []string{`{"a":2}`}},
		{`{"$nor":[{"a":1},{"b":2}]}`, []string{`{"a":2}`, `{}`}, []string{`{"a":1}`}},
		{`{"a":{"$not":{"$gt":1}}}`, []string{`{"a":1}`, `{}`, `{"a":"x"}`}, []string{`{"a":2}`, `{"a":[0,2]}`}},
		{`{"a":{"$all":[1,2]}}`, []string{`{"a":[2,1,3]}`}, []string{`{"a":[1]}`, `{"a":1}`}},
		{`{"a":{"$all":[1]}}`, []string{`{"a":1}`, `{"a":[1]}`}, []string{`{"a":2}`}},
		{`{"a":{"$all":[]}}`, nil, []string{`{"a":[]}`}},
		{`{"a":{"$all":[{"$elemMatch":{"b":1}},{"$elemMatch":{"b":2}}]}}`, []string{`{"a":[{"b":1},{"b":2}]}`}, []string{`{"a":[{"b":1}]}`}},
		{`{"a":{"$elemMatch":{"$gt":1,"$lt":5}}}`, []string{`{"a":[0,3]}`}, []string{`{"a":[0,9]}`, `{"a":3}`}},
		{`{"a":{"$elemMatch":{"b":1,"c":{"$gt":1}}}}`, []string{`{"a":[{"b":1,"c":2}]}`}, []string{`{"a":[{"b":1},{"c":2}]}`, `{"a":{"b":1,"c":2}}`}},
		{`{"a":{"$size":2}}`, []string{`{"a":[1,2]}`}, []string{`{"a":[1]}`, `{"a":2}`, `{}`}},
		{`{"a":{"$mod":[4,1]}}`, []string{`{"a":5}`, `{"a":5.9}`, `{"a":[2,9]}`}, []string{`{"a":4}`, `{"a":"5"}`}},
		{`{"$expr":{"$gt":["$a","$b"]}}`, []string{`{"a":2,"b":1}`, `{"a":1}`}, []string{`{"a":1,"b":2}`}},
		{`{"a":{"$date":"2024-01-01"}}`, []string{`{"a":{"$date":"2024-01-01T00:00:00.000Z"}}`}, []string{`{"a":"2024-01-01"}`}},
		{`{"$comment":"x","a":1}`, []string{`{"a":1}`}, []string{`{}`}},
	} {
		f, err := CompileFilter(parse(t, c.filter))
		if err != nil {
			t.Errorf("%s: %v", c.filter, err)
			continue
		}
		for i, docs := range [][]string{c.yes, c.no} {
			for _, d := range docs {
				got, err := f.Match(parse(t, d))
				if err != nil || got != (i == 0) {
					t.Errorf("%s on %s: %v (%v)", c.filter, d, got, err)
				}
			}
		}
	}
}

func TestFilterRefusals(t *testing.T) {
	for f, code := range map[string]pgerror.Code{
		`{"a":{"$foo":1}}`:                   pgerror.FeatureNotSupported,
		`{"$where":"x"}`:                     pgerror.FeatureNotSupported,
		`{"a":{"$type":"objectId"}}`:         pgerror.FeatureNotSupported,
		`{"$and":[]}`:                        pgerror.InvalidParameterValue,
		`{"a":{"$in":1}}`:                    pgerror.InvalidParameterValue,
		`{"a":{"$gt":1,"b":2}}`:              pgerror.InvalidParameterValue,
		`{"a":{"$regex":"("}}`:               pgerror.InvalidRegularExpression,
		`{"a..b":1}`:                         pgerror.InvalidParameterValue,
		`[]`:                                 pgerror.InvalidParameterValue,
		`{"a":{"$mod":[0,1]}}`:               pgerror.InvalidParameterValue,
		`{"$expr":{"$nope":[1]}}`:            pgerror.FeatureNotSupported,
		`{"a":{"$elemMatch":{"$size":"x"}}}`: pgerror.InvalidParameterValue,
	} {
		_, err := CompileFilter(parse(t, f))
		if pgerror.CodeOf(err) != code {
			t.Errorf("%s: %v, want %s", f, err, code)
		}
	}
}

func TestKeyValues(t *testing.T) {
	for _, c := range []struct{ filter, path, want string }{
		{`{"region":"eu"}`, "region", `["eu"]`},
		{`{"region":{"$eq":"eu"},"x":1}`, "region", `["eu"]`},
		{`{"region":{"$in":["eu","us"]}}`, "region", `["eu", "us"]`},
		{`{"$and":[{"region":"eu"},{"x":1}]}`, "region", `["eu"]`},
		{`{"a.b":1}`, "a.b", `[1]`},
		{`{"a":{"b":1}}`, "a.b", `[1]`},
		{`{"a":{"c":1}}`, "a.b", `[null]`},
		{`{"region":null}`, "region", `[null]`},
		{`{"region":{"$gt":"a"}}`, "region", ``},
		{`{"region":["eu"]}`, "region", ``},
		{`{"$or":[{"region":"eu"}]}`, "region", ``},
		{`{"region":{"$ne":"eu"}}`, "region", ``},
	} {
		f, err := CompileFilter(parse(t, c.filter))
		if err != nil {
			t.Fatal(err)
		}
		vals, ok := f.KeyValues(c.path)
		got := ""
		if ok {
			for i := range vals {
				vals[i] = orNull(vals[i])
			}
			got = sqltypes.JSONArrayOf(vals).String()
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.filter, got, c.want)
		}
	}
}
