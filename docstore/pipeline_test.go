package docstore

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ostraka/engine/catalog"
	"ostraka/sqltypes/pgerror"
)

func TestPipelineStages(t *testing.T) {
	s := newStore(t)
	s.insert("sales", `{"_id":1,"item":"a","qty":2,"price":10,"tags":["x","y"],"at":{"$date":"2024-02-29T13:05:00Z"}}`,
		`{"_id":2,"item":"b","qty":1,"price":20.5,"tags":[]}`, `{"_id":3,"item":"a","qty":5,"price":1}`, `{"_id":4,"item":"c","qty":null,"tags":["y"]}`)
	s.insert("items", `{"_id":"a","name":"Apple"}`, `{"_id":"b","name":"Bread"}`)
	for _, c := range []struct{ pipeline, want string }{
		{`[]`, s.find("sales", `{}`, "")},
		{`[{"$match":{"item":"a"}},{"$project":{"qty":1,"_id":0}}]`, `{"qty": 2}|{"qty": 5}`},
		{`[{"$match":{"_id":1}},{"$project":{"total":{"$multiply":["$qty","$price"]},"up":{"$toUpper":"$item"}}}]`, `{"up": "A", "_id": 1, "total": 20}`},
		{`[{"$match":{"_id":1}},{"$project":{"qty":0,"price":0,"at":0,"tags":0}}]`, `{"_id": 1, "item": "a"}`},
		{`[{"$group":{"_id":"$item","n":{"$sum":1},"q":{"$sum":"$qty"},"avg":{"$avg":"$price"}}}]`,
			`{"n": 2, "q": 7, "_id": "a", "avg": 5.5}|{"n": 1, "q": 1, "_id": "b", "avg": 20.5}|{"n": 1, "q": 0, "_id": "c", "avg": null}`},
		{`[{"$group":{"_id":null,"min":{"$min":"$price"},"max":{"$max":"$item"},"first":{"$first":"$_id"},"last":{"$last":"$_id"},"all":{"$push":"$qty"},"set":{"$addToSet":"$item"},"c":{"$count":{}}}}]`,
			`{"c": 4, "_id": null, "all": [2, 1, 5, null], "max": "c", "min": 1, "set": ["a", "b", "c"], "last": 4, "first": 1}`},
		{`[{"$group":{"_id":null,"p":{"$stdDevPop":"$price"},"m":{"$median":{"input":"$price","method":"approximate"}},"top":{"$top":{"sortBy":{"price":-1},"output":"$item"}},"two":{"$maxN":{"n":2,"input":"$qty"}}}},{"$project":{"m":1,"top":1,"two":1,"_id":0}}]`,
			`{"m": 10, "top": "b", "two": [5, 2]}`},
		{`[{"$sort":{"price":-1}},{"$skip":1},{"$limit":2},{"$project":{"price":1}}]`, `{"_id": 1, "price": 10}|{"_id": 3, "price": 1}`},
		{`[{"$match":{"qty":{"$gt":0}}},{"$count":"n"}]`, `{"n": 3}`},
		{`[{"$match":{"qty":99}},{"$count":"n"}]`, ``},
		{`[{"$unwind":"$tags"},{"$project":{"tags":1}}]`, `{"_id": 1, "tags": "x"}|{"_id": 1, "tags": "y"}|{"_id": 4, "tags": "y"}`},
		{`[{"$unwind":{"path":"$tags","preserveNullAndEmptyArrays":true,"includeArrayIndex":"i"}},{"$project":{"tags":1,"i":1}}]`,
			`{"i": 0, "_id": 1, "tags": "x"}|{"i": 1, "_id": 1, "tags": "y"}|{"i": null, "_id": 2}|{"i": null, "_id": 3}|{"i": 0, "_id": 4, "tags": "y"}`},
		{`[{"$addFields":{"a.b":"$qty","item":"$$REMOVE"}},{"$match":{"_id":1}},{"$project":{"a":1,"item":1}}]`, `{"a": {"b": 2}, "_id": 1}`},
		{`[{"$unset":["tags","at","price"]},{"$match":{"_id":3}}]`, `{"_id": 3, "qty": 5, "item": "a"}`},
		{`[{"$lookup":{"from":"items","localField":"item","foreignField":"_id","as":"i"}},{"$project":{"n":{"$first":"$i.name"}}}]`,
			`{"n": "Apple", "_id": 1}|{"n": "Bread", "_id": 2}|{"n": "Apple", "_id": 3}|{"_id": 4}`},
		{`[{"$match":{"_id":{"$lte":2}}},{"$lookup":{"from":"items","localField":"item","foreignField":"name","as":"i"}},{"$project":{"i":1}}]`, `{"i": [], "_id": 1}|{"i": [], "_id": 2}`},
		{`[{"$match":{"_id":1}},{"$lookup":{"from":"items","let":{"x":"$item"},"pipeline":[{"$match":{"$expr":{"$ne":["$_id","$$x"]}}}],"as":"i"}},{"$project":{"i":1}}]`,
			`{"i": [{"_id": "b", "name": "Bread"}], "_id": 1}`},
		{`[{"$facet":{"n":[{"$count":"c"}],"big":[{"$match":{"price":{"$gt":5}}},{"$project":{"_id":1}}]}}]`, `{"n": [{"c": 4}], "big": [{"_id": 1}, {"_id": 2}]}`},
		{`[{"$bucket":{"groupBy":"$price","boundaries":[0,10,20],"default":"other","output":{"n":{"$sum":1}}}}]`, `{"n": 1, "_id": 0}|{"n": 1, "_id": 10}|{"n": 2, "_id": "other"}`},
		{`[{"$bucketAuto":{"groupBy":"$_id","buckets":2}}]`, `{"_id": {"max": 3, "min": 1}, "count": 2}|{"_id": {"max": 4, "min": 3}, "count": 2}`},
		{`[{"$sortByCount":"$item"}]`, `{"_id": "a", "count": 2}|{"_id": "b", "count": 1}|{"_id": "c", "count": 1}`},
		{`[{"$match":{"_id":1}},{"$replaceRoot":{"newRoot":{"x":"$item","y":{"$size":"$tags"}}}}]`, `{"x": "a", "y": 2}`},
		{`[{"$sample":{"size":9}},{"$count":"n"}]`, `{"n": 4}`},
		{`[{"$match":{"_id":2}},{"$unionWith":{"coll":"items","pipeline":[{"$match":{"_id":"a"}}]}},{"$project":{"_id":1}}]`, `{"_id": 2}|{"_id": "a"}`},
	} {
		if got, want := s.aggregate("sales", c.pipeline), strings.ReplaceAll(c.want, "|", "\n"); got != want {
			t.Errorf("%s\n got %s\nwant %s", c.pipeline, got, want)
		}
	}
	for p, code := range map[string]pgerror.Code{
		`[{"$nope":1}]`: pgerror.FeatureNotSupported,
		`[{"$group":{"_id":null,"a":{"$nope":1}}}]`:            pgerror.FeatureNotSupported,
		`[{"$project":{"a":{"$nope":1}}}]`:                     pgerror.FeatureNotSupported,
		`[{"$out":"x"},{"$match":{}}]`:                         pgerror.InvalidParameterValue,
		`[{"$limit":0}]`:                                       pgerror.InvalidParameterValue,
		`[{"$project":{"a":1,"b":0}}]`:                         pgerror.InvalidParameterValue,
		`[{"$project":{"a":{"$divide":[1,0]}}}]`:               pgerror.DivisionByZero,
		`[{"$group":{"a":{"$sum":1}}}]`:                        pgerror.InvalidParameterValue,
		`[{"$project":{"a":"$$nope"}}]`:                        pgerror.InvalidParameterValue,
		`[{"$geoNear":{}}]`:                                    pgerror.FeatureNotSupported,
		`[{"$lookup":{"from":"x","as":"y","localField":"z"}}]`: pgerror.InvalidParameterValue,
	} {
		_, _, err := s.try(&Command{Op: OpAggregate, Collection: "sales", Pipeline: parse(t, p)})
		if pgerror.CodeOf(err) != code {
			t.Errorf("%s: %v, want %s", p, err, code)
		}
	}
}

func TestExpressions(t *testing.T) {
	doc := parse(t, `{"a":7,"b":2,"s":"Hello","l":[3,1,2],"o":{"x":1},"d":{"$date":"2024-02-29T13:05:07.123Z"},"n":null,"m":[{"v":1},{"v":2},{}]}`)
	for e, want := range map[string]string{
		`{"$add":["$a",1,0.5]}`: `8.5`, `{"$subtract":["$a","$b"]}`: `5`, `{"$divide":["$a","$b"]}`: `3.5`, `{"$mod":["$a","$b"]}`: `1`,
		`{"$add":["$a","$n"]}`: `null`, `{"$add":["$a","$missing"]}`: `null`, `{"$pow":[2,10]}`: `1024`, `{"$sqrt":16}`: `4`, `{"$abs":-3}`: `3`,
		`{"$round":[2.5]}`: `2`, `{"$round":[3.5]}`: `4`, `{"$round":[1.255,2]}`: `1.26`, `{"$trunc":[-1.9]}`: `-1`, `{"$ceil":1.1}`: `2`, `{"$floor":-1.1}`: `-2`,
		`{"$concat":["$s"," ","x"]}`: `"Hello x"`, `{"$concat":["$s","$n"]}`: `null`, `{"$toLower":"$s"}`: `"hello"`, `{"$strLenCP":"$s"}`: `5`,
		`{"$substrCP":["$s",1,3]}`: `"ell"`, `{"$split":["a,b",","]}`: `["a", "b"]`, `{"$indexOfCP":["$s","l"]}`: `2`, `{"$trim":{"input":" x "}}`: `"x"`,
		`{"$ltrim":{"input":"xxa","chars":"x"}}`: `"a"`, `{"$replaceAll":{"input":"aba","find":"a","replacement":"c"}}`: `"cbc"`,
		`{"$regexMatch":{"input":"$s","regex":"^h","options":"i"}}`: `true`, `{"$cond":[{"$gt":["$a",5]},"big","small"]}`: `"big"`,
		`{"$switch":{"branches":[{"case":{"$eq":["$a",1]},"then":1},{"case":true,"then":2}]}}`: `2`, `{"$ifNull":["$n","$missing","d"]}`: `"d"`,
		`{"$and":["$a",true]}`: `true`, `{"$or":[0,"$n"]}`: `false`, `{"$not":["$n"]}`: `true`, `{"$eq":["$a",7.0]}`: `true`, `{"$cmp":["$a","$s"]}`: `-1`,
		`{"$size":"$l"}`: `3`, `{"$arrayElemAt":["$l",-1]}`: `2`, `{"$first":"$l"}`: `3`, `{"$slice":["$l",2]}`: `[3, 1]`, `{"$slice":["$l",-2,1]}`: `[1]`,
		`{"$in":[1,"$l"]}`: `true`, `{"$reverseArray":"$l"}`: `[2, 1, 3]`, `{"$sortArray":{"input":"$l","sortBy":1}}`: `[1, 2, 3]`, `{"$range":[0,6,2]}`: `[0, 2, 4]`,
		`{"$map":{"input":"$l","as":"x","in":{"$multiply":["$$x",2]}}}`: `[6, 2, 4]`, `{"$filter":{"input":"$l","as":"x","cond":{"$gt":["$$x",1]}}}`: `[3, 2]`,
		`{"$reduce":{"input":"$l","initialValue":0,"in":{"$add":["$$value","$$this"]}}}`: `6`, `{"$let":{"vars":{"x":"$a"},"in":{"$add":["$$x",1]}}}`: `8`,
		`{"$setUnion":[[1,2],[2,3]]}`: `[1, 2, 3]`, `{"$setIntersection":[[1,2],[2,3]]}`: `[2]`, `{"$concatArrays":["$l",[9]]}`: `[3, 1, 2, 9]`,
		`{"$mergeObjects":["$o",{"y":2}]}`: `{"x": 1, "y": 2}`, `{"$objectToArray":"$o"}`: `[{"k": "x", "v": 1}]`, `{"$arrayToObject":[[["k",5]]]}`: `{"k": 5}`,
		`{"$year":"$d"}`: `2024`, `{"$month":"$d"}`: `2`, `{"$dayOfYear":"$d"}`: `60`, `{"$isoWeek":"$d"}`: `9`, `{"$millisecond":"$d"}`: `123`,
		`{"$dateToString":{"date":"$d","format":"%Y/%m/%d %H:%M"}}`: `"2024/02/29 13:05"`, `{"$dateTrunc":{"date":"$d","unit":"hour"}}`: `{"$date": "2024-02-29T13:00:00.000Z"}`,
		`{"$dateAdd":{"startDate":"$d","unit":"year","amount":1}}`:             `{"$date": "2025-02-28T13:05:07.123Z"}`,
		`{"$dateDiff":{"startDate":"$d","endDate":"2024-03-01","unit":"day"}}`: `1`, `{"$toInt":"12"}`: `12`, `{"$toString":1.50}`: `"1.50"`, `{"$toDouble":"1e3"}`: `1000`,
		`{"$convert":{"input":"x","to":"int","onError":-1}}`: `-1`, `{"$type":"$missing"}`: `"missing"`, `{"$type":"$d"}`: `"date"`, `"$m.v"`: `[1, 2]`, `"$o.x"`: `1`,
		`{"$sum":"$l"}`: `6`, `{"$avg":["$a","$b"]}`: `4.5`, `{"$max":"$l"}`: `3`, `{"$literal":"$a"}`: `"$a"`, `{"k":"$a","z":"$missing"}`: `{"k": 7}`, `["$a","$missing"]`: `[7, null]`,
		`{"$getField":"s"}`: `"Hello"`, `{"$subtract":["$d","$d"]}`: `0`, `{"$add":["$d",1000]}`: `{"$date": "2024-02-29T13:05:08.123Z"}`, `{"$allElementsTrue":[[1,true]]}`: `true`,
	} {
		x, err := compileExpr(parse(t, e), nil)
		if err != nil {
			t.Errorf("%s: %v", e, err)
			continue
		}
		got, err := x.eval(&exprEnv{root: doc, current: doc})
		if err != nil || orNull(got).String() != want {
			t.Errorf("%s: %s (%v), want %s", e, orNull(got), err, want)
		}
	}
}

func TestOutAndMerge(t *testing.T) {
	s := newStore(t)
	s.insert("src", `{"_id":1,"k":"a","n":1}`, `{"_id":2,"k":"b","n":2}`, `{"_id":3,"k":"a","n":3}`)
	res, _ := s.do(&Command{Op: OpAggregate, Collection: "src", Pipeline: parse(t, `[{"$group":{"_id":"$k","n":{"$sum":"$n"}}},{"$out":"sums"}]`)})
	if res.Inserted != 2 || s.find("sums", `{}`, "") != "{\"n\": 4, \"_id\": \"a\"}\n{\"n\": 2, \"_id\": \"b\"}" {
		t.Fatal(res, s.find("sums", `{}`, ""))
	}
	res, _ = s.do(&Command{Op: OpAggregate, Collection: "src", Pipeline: parse(t, `[{"$match":{"k":"a"}},{"$group":{"_id":"$k","m":{"$max":"$n"}}},{"$merge":"sums"}]`)})
	if res.Modified != 1 || s.find("sums", `{"_id":"a"}`, "") != `{"m": 3, "n": 4, "_id": "a"}` {
		t.Fatal(res, s.find("sums", `{}`, ""))
	}
}

// TestSplitPipeline runs pipelines whole on one collection, and split over three:
// the answers are the same.
func TestSplitPipeline(t *testing.T) {
	stages := []string{`{"$match":{"a":{"$gte":1}}}`, `{"$project":{"a":1,"b":1,"t":1}}`, `{"$addFields":{"s":{"$add":["$a",1]}}}`, `{"$unwind":"$t"}`,
		`{"$sort":{"a":-1,"_id":1}}`, `{"$sort":{"b":1}}`, `{"$skip":2}`, `{"$limit":4}`, `{"$count":"n"}`, `{"$sortByCount":"$b"}`,
		`{"$group":{"_id":"$b","n":{"$sum":1},"avg":{"$avg":"$a"},"min":{"$min":"$a"},"max":{"$max":"$t"},"set":{"$addToSet":"$a"},"dev":{"$stdDevSamp":"$a"}}}`,
		`{"$group":{"_id":"$b","all":{"$push":"$a"},"first":{"$first":"$_id"},"last":{"$last":"$_id"}}}`,
		`{"$group":{"_id":null,"p":{"$percentile":{"input":"$a","p":[0.1,0.5,0.9],"method":"approximate"}},"top":{"$topN":{"n":2,"sortBy":{"a":-1},"output":"$_id"}},"low":{"$minN":{"n":3,"input":"$a"}}}}`,
		`{"$bucket":{"groupBy":"$a","boundaries":[0,2,5],"default":"x"}}`, `{"$facet":{"x":[{"$count":"n"}]}}`, `{"$lookup":{"from":"all","localField":"a","foreignField":"a","as":"l"}}`}
	rapid.Check(t, func(rt *rapid.T) {
		s := newStore(t)
		s.tx = s.begin()
		defer s.tx.Rollback()
		for i := range rapid.IntRange(0, 15).Draw(rt, "docs") {
			d := fmt.Sprintf(`{"_id":%d,"a":%d,"b":"%c","t":[%d,%d]}`, i, rapid.IntRange(0, 6).Draw(rt, "a"), 'a'+rapid.IntRange(0, 2).Draw(rt, "b"), i%3, i%2)
			s.insert("all", d)
			s.insert(fmt.Sprintf("shard%d", rapid.IntRange(0, 2).Draw(rt, "shard")), d)
		}
		var list []string
		for range rapid.IntRange(1, 4).Draw(rt, "stages") {
			list = append(list, rapid.SampledFrom(stages).Draw(rt, "stage"))
		}
		p := "[" + strings.Join(list, ",") + "]"
		want := s.aggregate("all", p)
		split, err := SplitPipeline(parse(t, p))
		if err != nil {
			rt.Fatal(err)
		}
		var cursors []Cursor
		for i := range 3 {
			_, docs := s.do(&Command{Op: OpAggregate, Collection: fmt.Sprintf("shard%d", i), Pipeline: split.Shard})
			cursors = append(cursors, Slice(docs))
		}
		res, err := RunMerge(t.Context(), &State{View: s.tx, Now: s.now, Owner: catalog.BootstrapRole}, split.Merge, MergeSorted(split.Order, cursors))
		if err != nil {
			rt.Fatal(err)
		}
		docs, err := ReadAll(res.Docs)
		if err != nil {
			rt.Fatal(err)
		}
		if got := lines(docs); got != want {
			// Without an order the stages before the split answer in any order.
			if split.Order != nil || !sameLines(got, want) {
				rt.Fatalf("%s\nshards %s merge %s\n got:\n%s\nwant:\n%s", p, split.Shard, split.Merge, got, want)
			}
		}
	})
}

func sameLines(a, b string) bool {
	count := map[string]int{}
	for _, l := range strings.Split(a, "\n") {
		count[l]++
	}
	for _, l := range strings.Split(b, "\n") {
		count[l]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

func TestSearches(t *testing.T) {
	s := newStore(t)
	s.insert("c", `{"_id":1,"t":"the quick brown fox","v":[1,0]}`, `{"_id":2,"t":"a lazy dog and a fox, a fox","v":[0,1]}`, `{"_id":3,"t":"nothing","v":[1,1]}`, `{"_id":4,"v":"x"}`)
	s.index("c", `{"fields":{"t":"text"}}`)
	ids := func(cmd *Command) string {
		cmd.Collection = "c"
		_, docs := s.do(cmd)
		var out []string
		for _, d := range docs {
			doc, _ := d.Lookup("doc")
			id, _ := doc.Lookup("_id")
			out = append(out, id.String())
		}
		return strings.Join(out, " ")
	}
	for q, want := range map[string]string{"fox": "2 1", "FOX quick": "1 2", "fox -lazy": "1", "absent": "", "": ""} {
		if got := ids(&Command{Op: OpTextSearch, Search: q}); got != want {
			t.Errorf("%q: %s, want %s", q, got, want)
		}
	}
	for metric, want := range map[string]string{"cosine": "1 3 2", "dot": "3 1 2", "euclidean": "1 3 2"} {
		if got := ids(&Command{Op: OpVectorSearch, Field: "v", Vector: parse(t, `[1,0.1]`), Metric: metric}); got != want {
			t.Errorf("%s: %s, want %s", metric, got, want)
		}
	}
}

func TestExpire(t *testing.T) {
	s := newStore(t)
	s.insert("c", `{"_id":1,"at":{"$date":"2024-05-01T11:00:00Z"}}`, `{"_id":2,"at":{"$date":"2024-05-01T11:59:30Z"}}`, `{"_id":3,"at":"2020-01-01"}`)
	s.index("c", `{"fields":["at"],"expire_after":60}`)
	if res, _ := s.do(&Command{Op: OpExpire, Collection: "c"}); res.Deleted != 1 || s.find("c", `{"_id":1}`, "") != "" {
		t.Fatal(res)
	}
}
