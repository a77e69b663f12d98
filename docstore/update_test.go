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
		up, err := CompileUpdate(parse(t, c.update), false, JSON{})
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
		{`{"$set":{"a.$":1}}`, `{"a":[1]}`, `the positional operator $ of path "a.$" did not find the element that the filter matched`},
		{`{"$set":{"a.$[x]":1}}`, `{"a":[1]}`, `no array filter has the name "x" of the path "a.$[x]"`},
		{`{"$set":{"$[].a":1}}`, `{}`, `the path "$[].a" may not begin with $[]`},
		{`{"$rename":{"a.$[]":"b"}}`, `{}`, `$rename may not have a positional operator: "a.$[]", "b"`},
		{`[{"$match":{"a":1}}]`, `{}`, `stage $match in an update is not supported`},
		{`[]`, `{}`, `an update by a pipeline needs stages`},
	} {
		up, err := CompileUpdate(parse(t, c.update), false, JSON{})
		if err == nil {
			_, err = up.Apply(parse(t, c.doc), false)
		}
		if err == nil || messageOf(err) != c.want {
			t.Errorf("%s on %s: %v, want %s", c.update, c.doc, err, c.want)
		}
	}
}

// TestPositionalUpdates: $ is the first element that the filter matched, $[name] are
// those that an array filter matches.
func TestPositionalUpdates(t *testing.T) {
	for _, c := range []struct{ filter, update, arrays, doc, want string }{
		{`{"a":{"$gt":2}}`, `{"$set":{"a.$":0}}`, ``, `{"a":[1,3,5]}`, `{"a": [1, 0, 5]}`},
		{`{"a":3}`, `{"$inc":{"a.$":10}}`, ``, `{"a":[1,3,3]}`, `{"a": [1, 13, 3]}`},
		{`{"g.n":"y"}`, `{"$set":{"g.$.v":1}}`, ``, `{"g":[{"n":"x"},{"n":"y"},{"n":"y"}]}`, `{"g": [{"n": "x"}, {"n": "y", "v": 1}, {"n": "y"}]}`},
		{`{"g":{"$elemMatch":{"n":"y","m":{"$gt":1}}}}`, `{"$unset":{"g.$.m":""}}`, ``, `{"g":[{"n":"y","m":1},{"n":"y","m":2}]}`, `{"g": [{"m": 1, "n": "y"}, {"n": "y"}]}`},
		{`{"a":{"$elemMatch":{"$gte":2,"$lt":4}}}`, `{"$set":{"a.$":"x"}}`, ``, `{"a":[1,5,3]}`, `{"a": [1, 5, "x"]}`},
		{`{"o.a":2,"z":1}`, `{"$push":{"o.a.$":1}}`, ``, `{"z":1,"o":{"a":[[9],2]}}`, `$push needs an array, but field "o.a.$" is of type number`},
		{`{}`, `{"$set":{"a.$[e]":0}}`, `[{"e":{"$gte":3}}]`, `{"a":[1,3,5]}`, `{"a": [1, 0, 0]}`},
		{`{}`, `{"$inc":{"g.$[x].l.$[y].n":1}}`, `[{"x.k":"a"},{"$or":[{"y.n":1},{"y.n":{"$gt":5}}]}]`, `{"g":[{"k":"a","l":[{"n":1},{"n":2},{"n":9}]},{"k":"b","l":[{"n":1}]}]}`,
			`{"g": [{"k": "a", "l": [{"n": 2}, {"n": 2}, {"n": 10}]}, {"k": "b", "l": [{"n": 1}]}]}`},
		{`{}`, `{"$set":{"a.$[e]":0}}`, `[{"e":1},{"f":2}]`, `{"a":[1]}`, `the array filter "f" is not used in the update`},
		{`{}`, `{"$set":{"a.$[e]":0}}`, `[{"e":1,"f":2}]`, `{"a":[1]}`, `an array filter is about one name, not "e" and "f"`},
		{`{}`, `{"$set":{"a.$[e]":0}}`, `[{"e":1}]`, `{"a":{}}`, `the path "a.$[e]" must lead to an array for $[e]`},
		{`{}`, `[{"$set":{"s":{"$add":["$a","$b"]}}},{"$unset":"a"},{"$set":{"t":{"$multiply":["$s",2]},"_id":"$_id"}}]`, ``, `{"_id":7,"a":1,"b":2}`, `{"b": 2, "s": 3, "t": 6, "_id": 7}`},
		{`{}`, `[{"$replaceWith":{"x":"$a"}}]`, ``, `{"_id":7,"a":1}`, `{"x": 1, "_id": 7}`},
		{`{}`, `[{"$project":{"a":1,"when":"$$NOW","_id":0}}]`, ``, `{"_id":7,"a":1,"b":2}`, `{"a": 1, "_id": 7, "when": {"$date": "2024-05-01T00:00:00.000Z"}}`},
	} {
		f, err := CompileFilter(parse(t, c.filter))
		if err != nil {
			t.Fatal(err)
		}
		arrays := JSON{}
		if c.arrays != "" {
			arrays = parse(t, c.arrays)
		}
		var got JSON
		up, err := CompileUpdate(parse(t, c.update), false, arrays)
		if err == nil {
			up.filter, up.now = f, time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)
			got, err = up.Apply(parse(t, c.doc), false)
		}
		text := ""
		if err != nil {
			text = messageOf(err)
		} else {
			text = got.String()
		}
		if text != c.want {
			t.Errorf("%s %s %s on %s: %s, want %s", c.filter, c.update, c.arrays, c.doc, text, c.want)
		}
	}
}
