package docstore

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A naive model of collections: documents are maps in memory, everything is done
// by walking them. Numbers are small integers.

type object = map[string]any

type model struct{ docs map[int]object }

func clone(v any) any {
	switch x := v.(type) {
	case object:
		out := object{}
		for k, e := range x {
			out[k] = clone(e)
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = clone(x[i])
		}
		return out
	}
	return v
}

func class(v any) int {
	switch v.(type) {
	case nil:
		return 1
	case int:
		return 2
	case string:
		return 3
	case object:
		return 4
	case []any:
		return 5
	}
	return 8
}

// order orders values of one scalar class; equal values of every class.
func order(a, b any) int {
	switch x := a.(type) {
	case int:
		return cmp.Compare(x, b.(int))
	case string:
		return cmp.Compare(x, b.(string))
	case bool:
		y := b.(bool)
		switch {
		case x == y:
			return 0
		case y:
			return -1
		}
		return 1
	}
	return 0
}

func same(a, b any) bool { return reflect.DeepEqual(a, b) }

// ends calls f for what a path leads to: arrays on the way fan out.
func ends(v any, parts []string, f func(v any, ok bool) bool) bool {
	if len(parts) == 0 {
		return f(v, true)
	}
	switch x := v.(type) {
	case object:
		if e, ok := x[parts[0]]; ok {
			return ends(e, parts[1:], f)
		}
		return f(nil, false)
	case []any:
		if i, err := strconv.Atoi(parts[0]); err == nil && i < len(x) && ends(x[i], parts[1:], f) {
			return true
		}
		for _, e := range x {
			if o, ok := e.(object); ok && ends(o, parts, f) {
				return true
			}
		}
		return false
	}
	return f(nil, false)
}

// oneOrElement tests a value and, of an array, its elements.
func oneOrElement(v any, test func(any) bool) bool {
	if test(v) {
		return true
	}
	list, _ := v.([]any)
	return slices.ContainsFunc(list, test)
}

func matchOp(v any, ok bool, op string, arg any) bool {
	switch op {
	case "$eq":
		if !ok {
			return arg == nil
		}
		return oneOrElement(v, func(e any) bool { return same(e, arg) })
	case "$gt", "$gte", "$lt", "$lte":
		if !ok {
			return arg == nil && (op == "$gte" || op == "$lte")
		}
		return oneOrElement(v, func(e any) bool {
			if class(e) != class(arg) || class(e) > 3 && class(e) < 8 {
				return false
			}
			c := order(e, arg)
			switch op {
			case "$gt":
				return c > 0
			case "$gte":
				return c >= 0
			case "$lt":
				return c < 0
			}
			return c <= 0
		})
	case "$in":
		return slices.ContainsFunc(arg.([]any), func(x any) bool { return matchOp(v, ok, "$eq", x) })
	case "$size":
		list, isList := v.([]any)
		return isList && len(list) == arg.(int)
	case "$elemMatch":
		list, _ := v.([]any)
		return slices.ContainsFunc(list, func(e any) bool {
			for op, x := range arg.(object) {
				if !matchOp(e, true, op, x) {
					return false
				}
			}
			return true
		})
	}
	panic(op)
}

func (m *model) matches(doc object, filter object) bool {
	for key, cond := range filter {
		switch key {
		case "$and", "$or", "$nor":
			n := 0
			for _, f := range cond.([]any) {
				if m.matches(doc, f.(object)) {
					n++
				}
			}
			if key == "$and" && n < len(cond.([]any)) || key == "$or" && n == 0 || key == "$nor" && n > 0 {
				return false
			}
			continue
		}
		if !matchField(doc, strings.Split(key, "."), cond) {
			return false
		}
	}
	return true
}

func matchField(doc object, path []string, cond any) bool {
	any1 := func(op string, arg any) bool {
		return ends(doc, path, func(v any, ok bool) bool { return matchOp(v, ok, op, arg) })
	}
	ops, isOps := cond.(object)
	if !isOps {
		return any1("$eq", cond)
	}
	for op, arg := range ops {
		ok := false
		switch op {
		case "$ne":
			ok = !any1("$eq", arg)
		case "$nin":
			ok = !any1("$in", arg)
		case "$exists":
			ok = ends(doc, path, func(_ any, ok bool) bool { return ok }) == arg.(bool)
		case "$not":
			ok = !matchField(doc, path, arg)
		case "$all":
			ok = len(arg.([]any)) > 0
			for _, x := range arg.([]any) {
				ok = ok && any1("$eq", x)
			}
		default:
			ok = any1(op, arg)
		}
		if !ok {
			return false
		}
	}
	return true
}

func (m *model) find(filter object) []int {
	var ids []int
	for id, d := range m.docs {
		if m.matches(d, filter) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// update applies operators on fields of the top level; false: it is an error.
func (m *model) update(doc object, up object) (object, bool) {
	doc = clone(doc).(object)
	for op, fields := range up {
		for f, arg := range fields.(object) {
			old, have := doc[f]
			list, isList := old.([]any)
			n, isInt := old.(int)
			switch op {
			case "$set":
				doc[f] = clone(arg)
			case "$unset":
				delete(doc, f)
			case "$inc", "$mul":
				if have && !isInt {
					return nil, false
				}
				if op == "$inc" {
					doc[f] = n + arg.(int)
				} else {
					doc[f] = n * arg.(int)
				}
			case "$min", "$max":
				c := cmp.Compare(class(arg), class(old))
				if c == 0 {
					c = order(arg, old)
				}
				if !have || op == "$min" && c < 0 || op == "$max" && c > 0 {
					doc[f] = arg
				}
			case "$push", "$addToSet":
				if have && !isList {
					return nil, false
				}
				if op == "$push" || !slices.ContainsFunc(list, func(e any) bool { return same(e, arg) }) {
					doc[f] = append(slices.Clone(list), clone(arg))
				}
			case "$pull":
				if have && !isList {
					return nil, false
				}
				if have {
					doc[f] = slices.DeleteFunc(slices.Clone(list), func(e any) bool { return same(e, arg) })
				}
			case "$pop":
				if have && !isList {
					return nil, false
				}
				if len(list) > 0 {
					doc[f] = slices.Clone(list[:len(list)-1])
				}
			}
		}
	}
	return doc, true
}

// aggregate runs stages over the documents in the order of _id; every stage keeps
// an order that is defined.
func (m *model) aggregate(stages []any) []any {
	var docs []object
	for _, id := range slices.Sorted(maps.Keys(m.docs)) {
		docs = append(docs, clone(m.docs[id]).(object))
	}
	for _, s := range stages {
		for name, arg := range s.(object) {
			var out []object
			switch name {
			case "$match":
				for _, d := range docs {
					if m.matches(d, arg.(object)) {
						out = append(out, d)
					}
				}
			case "$project":
				for _, d := range docs {
					o := object{"_id": d["_id"]}
					for f := range arg.(object) {
						if v, ok := d[f]; ok {
							o[f] = v
						}
					}
					out = append(out, o)
				}
			case "$set":
				for _, d := range docs {
					for f, e := range arg.(object) {
						sum := 0
						for _, x := range e.(object)["$add"].([]any) {
							if text, ok := x.(string); ok {
								x = d[strings.TrimPrefix(text, "$")]
							}
							sum += x.(int)
						}
						d[f] = sum
					}
					out = append(out, d)
				}
			case "$unwind":
				f := strings.TrimPrefix(arg.(string), "$")
				for _, d := range docs {
					v, ok := d[f]
					list, isList := v.([]any)
					switch {
					case !ok || v == nil:
					case !isList:
						out = append(out, d)
					default:
						for _, e := range list {
							o := clone(d).(object)
							o[f] = e
							out = append(out, o)
						}
					}
				}
			case "$skip":
				out = docs[min(arg.(int), len(docs)):]
			case "$limit":
				out = docs[:min(arg.(int), len(docs))]
			case "$sort": // by n, whole numbers, then _id: what comes first stays first
				out = slices.Clone(docs)
				dir := arg.(object)["n"].(int)
				slices.SortStableFunc(out, func(a, b object) int {
					if c := dir * order(a["n"], b["n"]); c != 0 {
						return c
					}
					return order(a["_id"], b["_id"])
				})
			case "$group":
				by := map[int]object{}
				for _, d := range docs {
					n := d["n"].(int) % 3
					g := by[n]
					if g == nil {
						g = object{"_id": n, "count": 0, "sum": 0, "min": d["n"], "max": d["n"], "all": []any{}}
						by[n] = g
					}
					g["count"] = g["count"].(int) + 1
					g["sum"] = g["sum"].(int) + d["n"].(int)
					g["min"], g["max"] = min(g["min"].(int), d["n"].(int)), max(g["max"].(int), d["n"].(int))
					g["all"] = append(g["all"].([]any), d["n"])
				}
				for _, n := range slices.Sorted(maps.Keys(by)) {
					out = append(out, by[n])
				}
			}
			docs = out
		}
	}
	out := make([]any, len(docs))
	for i := range docs {
		out[i] = docs[i]
	}
	return out
}

// Generators.

var modelFields = []string{"a", "b", "c"}

func genScalar(t *rapid.T) any {
	return rapid.SampledFrom([]any{nil, 0, 1, 2, -1, "x", "y", "", true, false}).Draw(t, "scalar")
}

func genModelValue(t *rapid.T) any {
	switch rapid.IntRange(0, 6).Draw(t, "kind") {
	case 0:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "len") {
			list = append(list, genScalar(t))
		}
		return list
	case 1:
		return object{"x": genScalar(t), "y": genScalar(t)}
	case 2:
		list := []any{}
		for range rapid.IntRange(1, 2).Draw(t, "len") {
			list = append(list, object{"x": genScalar(t)})
		}
		return list
	}
	return genScalar(t)
}

func genModelDoc(t *rapid.T, id int) object {
	d := object{"_id": id, "n": rapid.IntRange(0, 9).Draw(t, "n")}
	for _, f := range modelFields {
		if rapid.IntRange(0, 3).Draw(t, "have") > 0 {
			d[f] = genModelValue(t)
		}
	}
	return d
}

func genModelFilter(t *rapid.T, depth int) object {
	f := object{}
	for range rapid.IntRange(0, 2).Draw(t, "conditions") {
		if depth > 0 && rapid.IntRange(0, 3).Draw(t, "logic") == 0 {
			list := []any{}
			for range rapid.IntRange(1, 3).Draw(t, "branches") {
				list = append(list, genModelFilter(t, depth-1))
			}
			f[rapid.SampledFrom([]string{"$and", "$or", "$nor"}).Draw(t, "op")] = list
			continue
		}
		path := rapid.SampledFrom([]string{"a", "b", "c", "a.x", "b.x", "b.y", "c.x", "a.0", "n"}).Draw(t, "path")
		f[path] = genCondition(t)
	}
	return f
}

func genCondition(t *rapid.T) any {
	list := func() []any {
		out := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "list") {
			out = append(out, genScalar(t))
		}
		return out
	}
	switch op := rapid.SampledFrom([]string{"", "", "$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$exists", "$size", "$all", "$elemMatch", "$not", "range"}).Draw(t, "cond"); op {
	case "":
		return genScalar(t)
	case "$in", "$nin", "$all":
		return object{op: list()}
	case "$exists":
		return object{op: rapid.Bool().Draw(t, "exists")}
	case "$size":
		return object{op: rapid.IntRange(0, 3).Draw(t, "size")}
	case "$elemMatch":
		return object{op: object{"$gte": genScalar(t), "$lte": genScalar(t)}}
	case "$not":
		if rapid.Bool().Draw(t, "gt") {
			return object{op: object{"$gt": genScalar(t)}}
		}
		return object{op: object{"$in": list()}}
	case "range":
		return object{"$gt": genScalar(t), "$lte": genScalar(t)}
	default:
		return object{op: genScalar(t)}
	}
}

func genModelUpdate(t *rapid.T) object {
	up := object{}
	fields := rapid.Permutation(modelFields).Draw(t, "fields")
	for i := range rapid.IntRange(1, 3).Draw(t, "ops") {
		op := rapid.SampledFrom([]string{"$set", "$unset", "$inc", "$mul", "$min", "$max", "$push", "$addToSet", "$pull", "$pop"}).Draw(t, "op")
		var arg any
		switch op {
		case "$inc", "$mul":
			arg = rapid.IntRange(-2, 2).Draw(t, "by")
		case "$unset", "$pop":
			arg = 1
		case "$set":
			arg = genModelValue(t)
		default:
			arg = genScalar(t)
		}
		o, _ := up[op].(object)
		if o == nil {
			o = object{}
			up[op] = o
		}
		o[fields[i]] = arg
	}
	return up
}

func genModelPipeline(t *rapid.T) []any {
	out := []any{}
	for range rapid.IntRange(1, 4).Draw(t, "stages") {
		switch name := rapid.SampledFrom([]string{"$match", "$project", "$set", "$unwind", "$skip", "$limit", "$sort"}).Draw(t, "stage"); name {
		case "$match":
			out = append(out, object{name: genModelFilter(t, 1)})
		case "$project":
			out = append(out, object{name: object{"n": 1, rapid.SampledFrom(modelFields).Draw(t, "field"): 1}})
		case "$set":
			out = append(out, object{name: object{"n": object{"$add": []any{"$n", rapid.IntRange(0, 3).Draw(t, "add")}}}})
		case "$unwind":
			if len(out) == 0 { // _id decides ties of sorts, so it stays the key
				out = append(out, object{name: "$" + rapid.SampledFrom(modelFields).Draw(t, "field")})
			}
		case "$sort":
			out = append(out, object{name: object{"n": rapid.SampledFrom([]int{1, -1}).Draw(t, "dir")}})
		default:
			out = append(out, object{name: rapid.IntRange(1, 8).Draw(t, "count")})
		}
	}
	if rapid.Bool().Draw(t, "group") {
		out = append(out, object{"$group": object{"_id": object{"$mod": []any{"$n", 3}}, "count": object{"$sum": 1}, "sum": object{"$sum": "$n"},
			"min": object{"$min": "$n"}, "max": object{"$max": "$n"}, "all": object{"$push": "$n"}}})
	}
	return out
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// native is the model's form of a stored value.
func native(t testing.TB, j JSON) any {
	dec := json.NewDecoder(strings.NewReader(j.String()))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	var walk func(v any) any
	walk = func(v any) any {
		switch x := v.(type) {
		case json.Number:
			n, err := strconv.Atoi(x.String())
			if err != nil {
				t.Fatal(err)
			}
			return n
		case map[string]any:
			for k := range x {
				x[k] = walk(x[k])
			}
		case []any:
			for i := range x {
				x[i] = walk(x[i])
			}
		}
		return v
	}
	return walk(v)
}

// TestModel: random documents, filters, updates and pipelines do what a naive model
// in memory does, with any indexes, by the ordinary way and by the short one.
func TestModel(t *testing.T) {
	specs := []string{`{"fields":["a"]}`, `{"fields":["b"],"sparse":true}`, `{"fields":[["c",-1],["n",1]]}`, `{"fields":["n"]}`, `{"fields":["b.x"]}`, `{"fields":["a"],"name":"some","partial":{"n":{"$gte":3}}}`}
	s := newStore(t)
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		coll := fmt.Sprintf("m%d", run)
		m := &model{docs: map[int]object{}}
		for _, spec := range specs {
			if rapid.Bool().Draw(rt, "index") {
				s.index(coll, spec)
			}
		}
		for i := range rapid.IntRange(1, 14).Draw(rt, "docs") {
			m.docs[i] = genModelDoc(rt, i)
			s.insert(coll, text(m.docs[i]))
		}
		agree := func(what string, got []JSON, want []any) {
			rt.Helper()
			have := make([]any, len(got))
			for i := range got {
				have[i] = native(t, got[i])
			}
			if len(have) != len(want) || len(have) > 0 && !same(have, want) {
				rt.Fatalf("%s:\n got %s\nwant %s", what, text(have), text(want))
			}
		}
		docsOf := func(ids []int) []any {
			out := make([]any, len(ids))
			for i, id := range ids {
				out[i] = m.docs[id]
			}
			return out
		}
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			filter := genModelFilter(rt, 2)
			ftext := text(filter)
			ids := m.find(filter)
			switch rapid.IntRange(0, 5).Draw(rt, "step") {
			case 0, 1:
				_, docs := s.do(&Command{Op: OpFind, Collection: coll, Filter: parse(t, ftext), Sort: parse(t, `{"_id":1}`)})
				agree("find "+ftext+" ("+s.plan(coll, ftext, `{"_id":1}`)+")", docs, docsOf(ids))
				_, docs = s.do(&Command{Op: OpFind, Collection: coll, Filter: parse(t, ftext)})
				sortByID(docs)
				agree("find "+ftext+" ("+s.plan(coll, ftext, "")+")", docs, docsOf(ids))
				if docs, done := s.findNewestDocs(coll, ftext, -1); done {
					sortByID(docs)
					agree("short find "+ftext, docs, docsOf(ids))
				}
				n, _ := s.do(&Command{Op: OpCount, Collection: coll, Filter: parse(t, ftext)})
				if n.Value.String() != strconv.Itoa(len(ids)) {
					rt.Fatalf("count %s: %s, want %d", ftext, n.Value, len(ids))
				}
			case 2, 3:
				up := genModelUpdate(rt)
				cmd := &Command{Op: OpUpdate, Collection: coll, Filter: parse(t, ftext), Update: parse(t, text(up))}
				next := map[int]object{}
				valid := true
				for _, id := range ids {
					d, ok := m.update(m.docs[id], up)
					valid = valid && ok
					next[id] = d
				}
				res, _, err := s.try(cmd)
				if valid != (err == nil) {
					rt.Fatalf("update %s %s: %v, valid: %v", ftext, text(up), err, valid)
				}
				if valid {
					if res.Matched != int64(len(ids)) {
						rt.Fatalf("update %s: matched %d, want %d", ftext, res.Matched, len(ids))
					}
					maps.Copy(m.docs, next)
				}
			case 4:
				res, _ := s.do(&Command{Op: OpDelete, Collection: coll, Filter: parse(t, ftext)})
				if res.Deleted != int64(len(ids)) {
					rt.Fatalf("delete %s: %d, want %d", ftext, res.Deleted, len(ids))
				}
				for _, id := range ids {
					delete(m.docs, id)
				}
			default:
				p := genModelPipeline(rt)
				// What a pipeline reads first comes in any order unless it is sorted.
				_, docs := s.do(&Command{Op: OpAggregate, Collection: coll, Pipeline: parse(t, text(append([]any{object{"$sort": object{"_id": 1}}}, p...)))})
				agree("aggregate "+text(p), docs, m.aggregate(p))
			}
			_, all := s.do(&Command{Op: OpFind, Collection: coll, Sort: parse(t, `{"_id":1}`)})
			agree(fmt.Sprintf("after %s", ftext), all, docsOf(slices.Sorted(maps.Keys(m.docs))))
		}
	})
}

func sortByID(docs []JSON) {
	slices.SortFunc(docs, func(a, b JSON) int {
		x, _ := a.Lookup("_id")
		y, _ := b.Lookup("_id")
		return Compare(x, y)
	})
}
