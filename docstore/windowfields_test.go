package docstore

import (
	"fmt"
	"strings"
	"testing"

	"ostraka/sqltypes/pgerror"
)

func TestWindowFields(t *testing.T) {
	s := newStore(t)
	s.insert("w", `{"_id":1,"k":"a","n":1,"at":{"$date":"2024-01-01T00:00:00Z"}}`, `{"_id":2,"k":"a","n":3,"at":{"$date":"2024-01-01T06:00:00Z"}}`,
		`{"_id":3,"k":"b","n":10,"at":{"$date":"2024-01-02T00:00:00Z"}}`, `{"_id":4,"k":"a","n":3,"at":{"$date":"2024-01-03T00:00:00Z"}}`, `{"_id":5,"k":"b","n":null,"at":{"$date":"2024-01-03T01:00:00Z"}}`)
	for _, c := range []struct{ stage, want string }{
		{`{"partitionBy":"$k","output":{"sum":{"$sum":"$n"}}}`, `1 7|2 7|4 7|3 10|5 10`},
		{`{"partitionBy":"$k","sortBy":{"_id":1},"output":{"sum":{"$sum":"$n","window":{"documents":["unbounded","current"]}}}}`, `1 1|2 4|4 7|3 10|5 10`},
		{`{"sortBy":{"_id":1},"output":{"sum":{"$sum":"$n","window":{"documents":[-1,1]}}}}`, `1 4|2 14|3 16|4 13|5 3`},
		{`{"sortBy":{"_id":1},"output":{"sum":{"$push":"$n","window":{"documents":[1,2]}}}}`, `1 [3, 10]|2 [10, 3]|3 [3, null]|4 [null]|5 []`},
		{`{"sortBy":{"_id":1},"output":{"sum":{"$max":"$n","window":{"range":[-1,0]}}}}`, `1 1|2 3|3 10|4 10|5 3`},
		{`{"sortBy":{"at":1},"output":{"sum":{"$sum":1,"window":{"range":[-1,"current"],"unit":"day"}}}}`, `1 1|2 2|3 3|4 2|5 2`},
		{`{"partitionBy":"$k","sortBy":{"n":1},"output":{"sum":{"$rank":{}}}}`, `1 1|2 2|4 2|5 1|3 2`},
		{`{"sortBy":{"n":-1},"output":{"sum":{"$denseRank":{}}}}`, `3 1|2 2|4 2|1 3|5 4`},
		{`{"sortBy":{"_id":1},"output":{"sum":{"$documentNumber":{}}}}`, `1 1|2 2|3 3|4 4|5 5`},
		{`{"sortBy":{"_id":1},"output":{"sum":{"$shift":{"output":"$n","by":-1,"default":"none"}}}}`, `1 "none"|2 1|3 3|4 10|5 3`},
		{`{"sortBy":{"_id":1},"output":{"sum":{"$locf":"$n"}}}`, `1 1|2 3|3 10|4 3|5 3`},
		{`{"sortBy":{"_id":1},"output":{"sum":{"$linearFill":{"$cond":[{"$in":["$_id",[2,5]]},null,{"$multiply":["$_id",10]}]}}}}`, `1 10|2 20|3 30|4 40|5 null`},
		{`{"sortBy":{"_id":1},"output":{"sum":{"$derivative":{"input":"$n"},"window":{"documents":[-1,0]}}}}`, `1 null|2 2|3 7|4 -7|5 null`},
		{`{"sortBy":{"at":1},"output":{"sum":{"$derivative":{"input":"$_id","unit":"hour"},"window":{"documents":[-1,0]}}}}`,
			`1 null|2 0.16666666666666666667|3 0.05555555555555555556|4 0.04166666666666666667|5 1`},
		{`{"sortBy":{"_id":1},"output":{"sum":{"$integral":{"input":"$n"},"window":{"documents":["unbounded","current"]}}}}`, `1 0|2 2|3 8.5|4 15|5 15`},
		{`{"sortBy":{"_id":1},"output":{"sum":{"$expMovingAvg":{"input":"$n","N":3}}}}`, `1 1|2 2|3 6|4 4.5|5 null`},
	} {
		got := s.aggregate("w", `[{"$setWindowFields":`+c.stage+`},{"$project":{"sum":1}}]`)
		var out []string
		for _, l := range strings.Split(got, "\n") {
			d := parse(t, l)
			id, _ := d.Lookup("_id")
			v, _ := d.Lookup("sum")
			out = append(out, id.String()+" "+v.String())
		}
		if text := strings.Join(out, "|"); text != c.want {
			t.Errorf("%s: %s, want %s", c.stage, text, c.want)
		}
	}
	for _, bad := range []string{`{"output":{"r":{"$rank":{}}}}`, `{"sortBy":{"n":1},"output":{}}`, `{"sortBy":{"n":1},"output":{"x":{"$sum":1,"window":{"documents":[1]}}}}`} {
		_, _, err := s.try(&Command{Op: OpAggregate, Collection: "w", Pipeline: parse(t, `[{"$setWindowFields":`+bad+`}]`)})
		if pgerror.CodeOf(err) != pgerror.InvalidParameterValue {
			t.Errorf("%s: %v", bad, err)
		}
	}
	_, _, err := s.try(&Command{Op: OpAggregate, Collection: "w", Pipeline: parse(t, `[{"$setWindowFields":{"sortBy":{"n":1},"output":{"x":{"$covariancePop":["$n","$n"]}}}}]`)})
	if pgerror.CodeOf(err) != pgerror.FeatureNotSupported {
		t.Error(err)
	}
}

func TestMoreExpressions(t *testing.T) {
	s := newStore(t)
	s.insert("e", `{"_id":1,"a":[1,2,3],"b":["x","y"],"d":{"$date":"2024-02-29T13:05:06.789Z"},"s":"ab12cd345","o":{"p":1,"q":2},"lvl":3,"sub":{"lvl":9,"z":1},"list":[{"lvl":1},{"lvl":7}]}`)
	for _, c := range []struct{ expr, want string }{
		{`{"$zip":{"inputs":["$a","$b"]}}`, `[[1, "x"], [2, "y"]]`},
		{`{"$zip":{"inputs":["$a","$b"],"useLongestLength":true,"defaults":[0,"-"]}}`, `[[1, "x"], [2, "y"], [3, "-"]]`},
		{`{"$regexFindAll":{"input":"$s","regex":"([0-9])[0-9]*"}}`, `[{"idx": 2, "match": "12", "captures": ["1"]}, {"idx": 6, "match": "345", "captures": ["3"]}]`},
		{`{"$dateToParts":{"date":"$d"}}`, `{"day": 29, "hour": 13, "year": 2024, "month": 2, "minute": 5, "second": 6, "millisecond": 789}`},
		{`{"$dateFromParts":{"year":2024,"month":14,"day":1,"hour":5}}`, `{"$date": "2025-02-01T05:00:00.000Z"}`},
		{`{"$setField":{"field":"r","input":"$o","value":3}}`, `{"p": 1, "q": 2, "r": 3}`},
		{`{"$unsetField":{"field":"p","input":"$o"}}`, `{"q": 2}`},
		{`{"$maxN":{"n":2,"input":"$a"}}`, `[3, 2]`}, {`{"$firstN":{"n":2,"input":"$a"}}`, `[1, 2]`}, {`{"$lastN":{"n":2,"input":"$a"}}`, `[2, 3]`}, {`{"$minN":{"n":1,"input":"$a"}}`, `[1]`},
		{`{"$round":[{"$sin":1},4]}`, `0.8415`}, {`{"$round":[{"$atan2":[1,1]},4]}`, `0.7854`}, {`{"$sin":null}`, `null`},
	} {
		if got := s.aggregate("e", `[{"$replaceWith":{"v":`+c.expr+`}}]`); got != `{"v": `+c.want+`}` {
			t.Errorf("%s: %s, want %s", c.expr, got, c.want)
		}
	}
	if got := s.aggregate("e", `[{"$project":{"_id":0,"lvl":1,"sub":1,"list":1}},{"$redact":{"$cond":[{"$gt":["$lvl",5]},"$$PRUNE","$$DESCEND"]}}]`); got != `{"lvl": 3, "list": [{"lvl": 1}]}` {
		t.Error(got)
	}
}

// An $or whose branches all have an index reads those, and each document once.
func TestUnionOfIndexes(t *testing.T) {
	s := newStore(t)
	for i := range 50 {
		s.insert("u", fmt.Sprintf(`{"_id":%d,"a":%d,"b":"%c","t":[1,2]}`, i, i%5, 'a'+i%7))
	}
	s.index("u", `{"fields":["a"]}`)
	s.index("u", `{"fields":["b"]}`)
	s.index("u", `{"fields":["t"]}`)
	for _, f := range []string{`{"$or":[{"a":1},{"b":"c"}]}`, `{"$or":[{"a":1},{"b":"c"},{"t":2}]}`, `{"$or":[{"a":{"$gt":3}},{"_id":20}],"t":{"$size":2}}`, `{"$or":[{"a":1},{"a":9}]}`} {
		plan := s.plan("u", f, "")
		if !strings.HasPrefix(plan, "Union of Index Scans on u;") && !strings.Contains(f, `"t":{"$size"`) {
			t.Error(f, plan)
		}
		_, docs := s.do(&Command{Op: OpFind, Collection: "u", Filter: parse(t, f), Sort: parse(t, `{"_id":1}`)})
		_, all := s.do(&Command{Op: OpFind, Collection: "u", Sort: parse(t, `{"_id":1}`), Filter: parse(t, `{"$nor":[`+strings.Replace(`{"$nor":[F]}`, "F", f, 1)+`]}`)})
		if lines(docs) != lines(all) || len(docs) == 0 {
			t.Errorf("%s: %d and %d documents", f, len(docs), len(all))
		}
	}
	if plan := s.plan("u", `{"$or":[{"a":1},{"x":1}]}`, ""); !strings.HasPrefix(plan, "Collection Scan") {
		t.Error(plan)
	}
	res, _ := s.do(&Command{Op: OpUpdate, Collection: "u", Filter: parse(t, `{"$or":[{"a":1},{"b":"c"}]}`), Update: parse(t, `{"$set":{"b":"c"},"$inc":{"a":1}}`)})
	n, _ := s.do(&Command{Op: OpCount, Collection: "u", Filter: parse(t, `{"b":"c"}`)})
	if res.Matched != 16 || n.Value.String() != "16" {
		t.Error(res.Counts, n.Value)
	}
}

func TestGraphLookup(t *testing.T) {
	s := newStore(t)
	s.insert("staff", `{"_id":1,"name":"eva"}`, `{"_id":2,"name":"tom","boss":"eva"}`, `{"_id":3,"name":"ann","boss":"tom"}`, `{"_id":4,"name":"max","boss":["ann","eva"]}`, `{"_id":5,"name":"loop","boss":"loop"}`)
	for _, c := range []struct{ more, want string }{
		{``, `1 |2 eva|3 eva tom|4 eva tom ann|5 loop`},
		{`,"maxDepth":0`, `1 |2 eva|3 tom|4 eva ann|5 loop`},
		{`,"restrictSearchWithMatch":{"name":{"$ne":"tom"}}`, `1 |2 eva|3 |4 eva ann|5 loop`},
	} {
		got := s.aggregate("staff", `[{"$graphLookup":{"from":"staff","startWith":"$boss","connectFromField":"boss","connectToField":"name","as":"up","depthField":"d"`+c.more+`}},{"$project":{"up":1}}]`)
		var out []string
		for _, l := range strings.Split(got, "\n") {
			d := parse(t, l)
			id, _ := d.Lookup("_id")
			up, _ := d.Lookup("up")
			list := up.Elems()
			sortByID(list)
			var names []string
			for _, u := range list {
				n, _ := u.Lookup("name")
				names = append(names, n.Str())
			}
			out = append(out, id.String()+" "+strings.Join(names, " "))
		}
		if text := strings.Join(out, "|"); text != c.want {
			t.Errorf("%s: %s, want %s", c.more, text, c.want)
		}
	}
}
