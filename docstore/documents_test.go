package docstore

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func TestInsertFindDelete(t *testing.T) {
	s := newStore(t)
	s.insert("c", `{"_id":2,"a":"x"}`, `{"_id":"k"}`, `{"_id":1}`, `{"n":1}`)
	_, docs := s.do(&Command{Op: OpFind, Collection: "c"})
	if len(docs) != 4 || lines(docs[:2]) != "{\"_id\": 1}\n{\"a\": \"x\", \"_id\": 2}" {
		t.Fatal(lines(docs))
	}
	_, _, err := s.try(&Command{Op: OpInsert, Collection: "c", Docs: []JSON{parse(t, `{"_id":1.0}`)}})
	if pgerror.CodeOf(err) != pgerror.UniqueViolation {
		t.Fatal(err)
	}
	if res, _ := s.do(&Command{Op: OpDelete, Collection: "c", Filter: parse(t, `{"_id":{"$in":[1,2,3]}}`)}); res.Deleted != 2 {
		t.Fatal(res.Deleted)
	}
	if res, _ := s.do(&Command{Op: OpCount, Collection: "c"}); res.Value.String() != "2" {
		t.Fatal(res.Value)
	}
	if s.find("absent", `{}`, "") != "" {
		t.Fatal("a collection that is not there is empty")
	}
}

func TestUpsert(t *testing.T) {
	s := newStore(t)
	cmd := &Command{Op: OpUpdateOne, Collection: "c", Filter: parse(t, `{"name":"a","n":{"$gt":1}}`),
		Update: parse(t, `{"$inc":{"v":1},"$setOnInsert":{"new":true}}`), Upsert: true}
	res, _ := s.do(cmd)
	if res.Upserted != 1 || res.Matched != 0 || len(res.IDs) != 1 {
		t.Fatal(res)
	}
	s.do(&Command{Op: OpUpdateOne, Collection: "c", Filter: parse(t, `{"name":"a"}`), Update: parse(t, `{"$inc":{"v":1},"$setOnInsert":{"new":false}}`), Upsert: true})
	_, docs := s.do(&Command{Op: OpFind, Collection: "c", Projection: parse(t, `{"_id":0}`)})
	if lines(docs) != `{"v": 2, "new": true, "name": "a"}` {
		t.Fatal(lines(docs))
	}
	res, _ = s.do(&Command{Op: OpFindAndUpdate, Collection: "c", Filter: parse(t, `{"name":"a"}`), Update: parse(t, `{"$set":{"v":9}}`), ReturnNew: true,
		Projection: parse(t, `{"v":1,"_id":0}`)})
	if res.Value.String() != `{"v": 9}` {
		t.Fatal(res.Value)
	}
	if _, _, err := s.try(&Command{Op: OpUpdateOne, Collection: "c", Filter: parse(t, `{}`), Update: parse(t, `{"$set":{"_id":9}}`)}); err == nil {
		t.Fatal("_id changed")
	}
}

func TestIndexChoice(t *testing.T) {
	s := newStore(t)
	for i := range 20 {
		s.insert("c", fmt.Sprintf(`{"_id":%d,"a":%d,"b":"%c","t":["x%d","y"],"d":{"e":%d}}`, i, i%5, 'a'+i%3, i, i))
	}
	s.index("c", `{"fields":[["a",1],["b",-1]]}`)
	s.index("c", `{"fields":["t"]}`)
	s.index("c", `{"fields":["d.e"],"unique":true}`)
	s.index("c", `{"fields":["p"],"partial":{"a":{"$gt":2}},"name":"part"}`)
	for _, c := range []struct{ filter, sort, want string }{
		{`{"_id":5}`, ``, `Index Scan using _id_ on c; Index Bounds: _id = 5; Document Filter: {"_id": 5}`},
		{`{"a":1}`, ``, `Index Scan using a_1_b_-1 on c; Index Bounds: a = 1; Document Filter: {"a": 1}`},
		{`{"a":1,"b":{"$gt":"a"}}`, ``, `Index Scan using a_1_b_-1 on c; Index Bounds: a = 1, b > "a"; Document Filter: {"a": 1, "b": {"$gt": "a"}}`},
		{`{"a":1}`, `{"b":1}`, `Index Scan Backward using a_1_b_-1 on c; Index Bounds: a = 1; Document Filter: {"a": 1}`},
		{`{"a":{"$in":[1,2]}}`, `{"b":1}`, `Index Scan using a_1_b_-1 on c; Index Bounds: a in 2 values; Document Filter: {"a": {"$in": [1, 2]}}; Sort in memory: {"b": 1}`},
		{`{"t":"y"}`, ``, `Index Scan using t_1 on c; Index Bounds: t = "y"; Document Filter: {"t": "y"}`},
		{`{"t":{"$gt":"x","$lt":"x3"}}`, ``, `Index Scan using t_1 on c; Index Bounds: t > "x"; Document Filter: {"t": {"$gt": "x", "$lt": "x3"}}`},
		{`{"d.e":3}`, ``, `Index Scan using d.e_1 on c; Index Bounds: d.e = 3; Document Filter: {"d.e": 3}`},
		{`{"d.e":{"$gt":3,"$lte":5}}`, ``, `Index Scan using d.e_1 on c; Index Bounds: d.e > 3 and d.e <= 5; Document Filter: {"d.e": {"$gt": 3, "$lte": 5}}`},
		{`{}`, `{"d.e":-1}`, `Index Scan Backward using d.e_1 on c`},
		{`{}`, `{"t":1}`, `Collection Scan on c; Sort in memory: {"t": 1}`},
		{`{"b":"a"}`, ``, `Collection Scan on c; Document Filter: {"b": "a"}`},
		{`{"p":1}`, ``, `Collection Scan on c; Document Filter: {"p": 1}`},
		{`{"p":1,"a":{"$gt":3}}`, ``, `Index Scan using a_1_b_-1 on c`},
		{`{"t":{"$regex":"^x1"}}`, ``, `Index Scan using t_1 on c; Index Bounds: t begins with x1; Document Filter: {"t": {"$regex": "^x1"}}`},
	} {
		if got := s.plan("c", c.filter, c.sort); !strings.HasPrefix(got, c.want) && !strings.Contains(got, "part") {
			t.Errorf("%s sort %s:\n got %s\nwant %s", c.filter, c.sort, got, c.want)
		}
	}
	_, _, err := s.try(&Command{Op: OpInsert, Collection: "c", Docs: []JSON{parse(t, `{"d":{"e":3}}`)}})
	if pgerror.CodeOf(err) != pgerror.UniqueViolation || !strings.Contains(messageOf(err), "c.d.e_1") {
		t.Fatal(err)
	}
}

// genDoc makes documents in which the same few fields have all kinds of values.
func genDoc(t *rapid.T, id int) string {
	value := rapid.SampledFrom([]string{`1`, `2`, `3`, `2.5`, `"a"`, `"ab"`, `"b"`, `null`, `true`, `[]`, `[1,2]`, `[3,"a",null]`, `[[1]]`, `{"x":1}`, `{"x":[1,3]}`,
		`[{"x":1},{"x":2}]`, `[{"y":1},5]`, `{"$date":"2024-01-01"}`})
	var b strings.Builder
	fmt.Fprintf(&b, `{"_id":%d`, id)
	for _, f := range []string{"a", "b", "c"} {
		if rapid.IntRange(0, 4).Draw(t, "has") > 0 {
			fmt.Fprintf(&b, `,"%s":%s`, f, value.Draw(t, f))
		}
	}
	return b.String() + "}"
}

func genFilter(t *rapid.T) string {
	scalar := rapid.SampledFrom([]string{`1`, `2`, `2.5`, `"a"`, `"ab"`, `null`, `true`, `[1,2]`, `{"x":1}`, `{"$date":"2024-01-01T00:00:00Z"}`})
	cond := func() string {
		switch rapid.IntRange(0, 5).Draw(t, "cond") {
		case 0:
			return scalar.Draw(t, "eq")
		case 1:
			return fmt.Sprintf(`{"$in":[%s,%s]}`, scalar.Draw(t, "in"), scalar.Draw(t, "in"))
		case 2:
			return fmt.Sprintf(`{"%s":%s}`, rapid.SampledFrom([]string{"$gt", "$gte", "$lt", "$lte", "$ne"}).Draw(t, "op"), scalar.Draw(t, "v"))
		case 3:
			return fmt.Sprintf(`{"$gte":%s,"$lt":%s}`, scalar.Draw(t, "lo"), scalar.Draw(t, "hi"))
		case 4:
			return `{"$regex":"^a"}`
		}
		return `{"$exists":true}`
	}
	field := rapid.SampledFrom([]string{"a", "b", "c", "a.x", "b.x"})
	fields := map[string]string{}
	for range rapid.IntRange(0, 3).Draw(t, "fields") {
		fields[field.Draw(t, "field")] = cond()
	}
	var list []string
	for f, c := range fields {
		list = append(list, fmt.Sprintf(`"%s":%s`, f, c))
	}
	return "{" + strings.Join(list, ",") + "}"
}

// TestIndexedFindIsScan compares answers with and without indexes, after inserts,
// updates and deletes.
func TestIndexedFindIsScan(t *testing.T) {
	specs := []string{`{"fields":["a"]}`, `{"fields":[["a",-1],["b",1]]}`, `{"fields":["a.x"]}`, `{"fields":[["b",1],["c",-1],["a",1]]}`,
		`{"fields":["c"],"sparse":true}`, `{"fields":["b"],"partial":{"a":{"$gte":1}}}`, `{"fields":[["b.x",-1]]}`}
	rapid.Check(t, func(rt *rapid.T) {
		s := newStore(t)
		n := rapid.IntRange(1, 12).Draw(rt, "docs")
		late := rapid.Bool().Draw(rt, "late")
		build := func() {
			for _, spec := range specs {
				if rapid.Bool().Draw(rt, "index") {
					s.index("ix", spec)
				}
			}
		}
		if !late {
			build()
		}
		s.tx = s.begin()
		for i := range n {
			d := genDoc(rt, i)
			s.insert("ix", d)
			s.insert("scan", d)
		}
		for range rapid.IntRange(0, 4).Draw(rt, "changes") {
			filter := fmt.Sprintf(`{"_id":%d}`, rapid.IntRange(0, n-1).Draw(rt, "id"))
			cmd := Command{Op: OpDelete, Filter: parse(t, filter)}
			if rapid.Bool().Draw(rt, "update") {
				cmd = Command{Op: OpReplaceOne, Filter: parse(t, filter), Update: parse(t, genDoc(rt, 0))}
				cmd.Update, _ = unsetPath(cmd.Update, &Path{Text: "_id", parts: []string{"_id"}, index: []int{-1}})
			}
			for _, c := range []string{"ix", "scan"} {
				one := cmd
				one.Collection = c
				s.do(&one)
			}
		}
		if _, err := s.tx.Commit(t.Context()); err != nil {
			rt.Fatal(err)
		}
		s.tx = nil
		if late {
			build()
		}
		for range 4 {
			filter := genFilter(rt)
			sort := rapid.SampledFrom([]string{`[["_id",1]]`, `[["a",1],["_id",1]]`, `[["b",-1],["_id",1]]`, `[["a",-1],["b",1],["_id",1]]`, `[["c",-1]]`}).Draw(rt, "sort")
			want := s.find("scan", filter, sort)
			if got := s.find("ix", filter, sort); got != want {
				rt.Fatalf("%s sort %s: %s\n got:\n%s\nwant:\n%s", filter, sort, s.plan("ix", filter, sort), got, want)
			}
		}
	})
}

// TestKeyOrder: keys order as the values do.
func TestKeyOrder(t *testing.T) {
	gen := rapid.Custom(func(t *rapid.T) JSON {
		d := genDoc(t, rapid.IntRange(-3, 300).Draw(t, "id"))
		j, err := sqltypes.ParseJSONB(d)
		if err != nil {
			t.Fatal(err)
		}
		if v, ok := j.Lookup(rapid.SampledFrom([]string{"a", "b", "_id"}).Draw(t, "f")); ok {
			return v
		}
		return j
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		want := Compare(a, b)
		got := strings.Compare(string(AppendKey(nil, a)), string(AppendKey(nil, b)))
		if got < 0 != (want < 0) || got > 0 != (want > 0) {
			t.Fatalf("%s %s: keys %d, values %d", a, b, got, want)
		}
	})
}
