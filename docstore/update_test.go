package docstore

import (
	"testing"
	"time"
)

// TestUpdateOperators applies each operator to a document.
func TestUpdateOperators(t *testing.T) {
	for _, c := range []struct{ update, doc, want string }{
		{`{"$set":{"a":1,"b.c":2}}`, `{}`, `{"a": 1, "b": {"c": 2}}`},
		{`{"$set":{"a.1":9}}`, `{"a":[0,1,2]}`, `{"a": [0, 9, 2]}`},
		{`{"$set":{"a.4":9}}`, `{"a":[0]}`, `{"a": [0, null, null, null, 9]}`},
		{`{"$set":{"a.$[].x":1}}`, `{"a":[{"y":1},{}]}`, `{"a": [{"x": 1, "y": 1}, {"x": 1}]}`},
		{`{"$inc":{"a.$[]":1}}`, `{"a":[1,2]}`, `{"a": [2, 3]}`},
		{`{"$unset":{"a":"","b.c":"","x":""}}`, `{"a":1,"b":{"c":1,"d":2}}`, `{"b": {"d": 2}}`},
		{`{"$unset":{"a.0":""}}`, `{"a":[1,2]}`, `{"a": [null, 2]}`},
		{`{"$inc":{"a":2,"n":1}}`, `{"a":1.5}`, `{"a": 3.5, "n": 1}`},
		{`{"$mul":{"a":3,"n":2}}`, `{"a":2}`, `{"a": 6, "n": 0}`},
		{`{"$min":{"a":1,"b":1,"c":7}}`, `{"a":2,"b":0}`, `{"a": 1, "b": 0, "c": 7}`},
		{`{"$max":{"a":1,"b":"x"}}`, `{"a":2,"b":9}`, `{"a": 2, "b": "x"}`},
		{`{"$rename":{"a":"b.c","z":"y"}}`, `{"a":1}`, `{"b": {"c": 1}}`},
		{`{"$currentDate":{"a":true}}`, `{}`, `{"a": {"$date": "2024-05-01T00:00:00.000Z"}}`},
		{`{"$setOnInsert":{"a":1},"$set":{"b":1}}`, `{}`, `{"b": 1}`},
		{`{"$push":{"a":1}}`, `{}`, `{"a": [1]}`},
		{`{"$push":{"a":{"$each":[3,1],"$sort":1,"$slice":-2}}}`, `{"a":[2]}`, `{"a": [2, 3]}`},
		{`{"$push":{"a":{"$each":[9],"$position":0,"$slice":2}}}`, `{"a":[1,2]}`, `{"a": [9, 1]}`},
		{`{"$push":{"a":{"$each":[{"n":1}],"$sort":{"n":1}}}}`, `{"a":[{"n":2}]}`, `{"a": [{"n": 1}, {"n": 2}]}`},
		{`{"$push":{"a":[1,2]}}`, `{"a":[0]}`, `{"a": [0, [1, 2]]}`},
		{`{"$pull":{"a":1}}`, `{"a":[1,2,1]}`, `{"a": [2]}`},
		{`{"$pull":{"a":{"$gte":2}}}`, `{"a":[1,2,3]}`, `{"a": [1]}`},
		{`{"$pull":{"a":{"x":1}}}`, `{"a":[{"x":1,"y":2},{"x":2}]}`, `{"a": [{"x": 2}]}`},
		{`{"$pullAll":{"a":[1,3]}}`, `{"a":[1,2,3]}`, `{"a": [2]}`},
		{`{"$addToSet":{"a":1}}`, `{"a":[1]}`, `{"a": [1]}`},
		{`{"$addToSet":{"a":{"$each":[1,2,2]}}}`, `{"a":[1]}`, `{"a": [1, 2]}`},
		{`{"$pop":{"a":1}}`, `{"a":[1,2]}`, `{"a": [1]}`},
		{`{"$pop":{"a":-1}}`, `{"a":[1,2]}`, `{"a": [2]}`},
	} {
		up, err := CompileUpdate(parse(t, c.update), false)
		if err != nil {
			t.Errorf("%s: %v", c.update, err)
			continue
		}
		up.now = time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)
		got, err := up.Apply(parse(t, c.doc), false)
		if err != nil || got.String() != c.want {
			t.Errorf("%s on %s: %s (%v), want %s", c.update, c.doc, got, err, c.want)
		}
	}
}

func TestUpdateRefusals(t *testing.T) {
	for _, c := range []struct{ update, doc, want string }{
		{`{"$foo":{"a":1}}`, `{}`, "update operator $foo is not supported"},
		{`{"a":1}`, `{}`, `an update consists of operators such as $set, not of fields ("a")`},
		{`{"$set":{"a":1},"$inc":{"a":1}}`, `{}`, `updating the path "a" would create a conflict at "a"`},
		{`{"$set":{"a":1},"$inc":{"a.b":1}}`, `{}`, `updating the path "a" would create a conflict at "a.b"`},
		{`{"$inc":{"a":"x"}}`, `{}`, `cannot apply $inc with a value of type string (field "a")`},
		{`{"$inc":{"a":1}}`, `{"a":"x"}`, `cannot apply $inc to a value of type string (field "a")`},
		{`{"$push":{"a":1}}`, `{"a":5}`, `$push needs an array, but field "a" is of type number`},
		{`{"$set":{"a.b":1}}`, `{"a":5}`, `cannot create field "b" in a value of type number (path "a.b")`},
		{`{"$set":{"a.x":1}}`, `{"a":[]}`, `cannot create field "x" in an array (path "a.x")`},
		{`{"$set":{"a.$":1}}`, `{"a":[1]}`, `the positional operator $ in path "a.$" is not supported`},
	} {
		up, err := CompileUpdate(parse(t, c.update), false)
		if err == nil {
			_, err = up.Apply(parse(t, c.doc), false)
		}
		if err == nil || messageOf(err) != c.want {
			t.Errorf("%s on %s: %v, want %s", c.update, c.doc, err, c.want)
		}
	}
}
