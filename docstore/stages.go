package docstore

import (
	"context"
	"math/rand/v2"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// stageMakers compile the argument of a stage.
var stageMakers map[string]func(arg JSON, depth int) (stage, error)

func init() {
	stageMakers = map[string]func(arg JSON, depth int) (stage, error){
		"$match":           makeMatch,
		"$project":         makeProject,
		"$addFields":       makeAddFields,
		"$unset":           makeUnset,
		"$group":           func(arg JSON, _ int) (stage, error) { return makeGroup(arg, groupWhole) },
		"$_groupPartial":   func(arg JSON, _ int) (stage, error) { return makeGroup(arg, groupPartial) },
		"$_groupMerge":     func(arg JSON, _ int) (stage, error) { return makeGroup(arg, groupMerge) },
		"$sort":            makeSort,
		"$skip":            func(arg JSON, _ int) (stage, error) { return makeWindow("$skip", arg) },
		"$limit":           func(arg JSON, _ int) (stage, error) { return makeWindow("$limit", arg) },
		"$unwind":          makeUnwind,
		"$replaceRoot":     makeReplaceRoot,
		"$sample":          makeSample,
		"$redact":          makeRedact,
		"$setWindowFields": makeWindowFields,
		"$densify":         makeDensify,
		"$lookup":          makeLookup,
		"$graphLookup":     makeGraphLookup,
		"$facet":           makeFacet,
		"$bucketAuto":      makeBucketAuto,
		"$unionWith":       makeUnion,
		"$out":             makeOut,
		"$merge":           makeMerge,
	}
}

// eachStage is a stage that makes of every document one or none.
type eachStage func(env *exprEnv, doc JSON) (out JSON, ok bool, err error)

func (f eachStage) open(ctx context.Context, r *runner, in Cursor) (Cursor, error) {
	env := &exprEnv{now: r.st.Now, ctx: ctx}
	return &funcCursor{close: in.Close, next: func() (JSON, bool, error) {
		for {
			doc, ok, err := in.Next()
			if err != nil || !ok {
				return JSON{}, false, err
			}
			env.root, env.current = doc, doc
			out, ok, err := f(env, doc)
			if err != nil || ok {
				return out, ok, err
			}
		}
	}}, nil
}

func makeMatch(arg JSON, _ int) (stage, error) {
	f, err := CompileFilter(arg)
	if err != nil {
		return nil, err
	}
	return eachStage(func(env *exprEnv, doc JSON) (JSON, bool, error) {
		if f.env != nil {
			f.env.now, f.env.vars, f.env.ctx = env.now, env.vars, env.ctx
		}
		ok, err := f.Match(doc)
		return doc, ok, err
	}), nil
}

func makeProject(arg JSON, _ int) (stage, error) {
	if arg.Kind() != sqltypes.JSONObject || arg.Len() == 0 {
		return nil, invalid("$project needs an object of fields")
	}
	p, err := compileProjection(arg, true)
	if err != nil {
		return nil, err
	}
	return eachStage(func(env *exprEnv, doc JSON) (JSON, bool, error) {
		p.now = env
		out, err := p.Apply(doc)
		return out, err == nil, err
	}), nil
}

func makeAddFields(arg JSON, _ int) (stage, error) {
	if arg.Kind() != sqltypes.JSONObject || arg.Len() == 0 {
		return nil, invalid("$addFields needs an object of fields")
	}
	type field struct {
		path *Path
		e    expression
	}
	var fields []field
	var walk func(prefix string, o JSON) error
	walk = func(prefix string, o JSON) error {
		for _, p := range o.Pairs() {
			name := p.Key
			if prefix != "" {
				name = prefix + "." + name
			}
			if ClassOf(p.Value) == ClassObject && p.Value.Len() > 0 && p.Value.Key(0)[:min(1, len(p.Value.Key(0)))] != "$" {
				if err := walk(name, p.Value); err != nil {
					return err
				}
				continue
			}
			path, err := ParsePath(name)
			if err != nil {
				return err
			}
			e, err := compileExpr(p.Value, nil)
			if err != nil {
				return err
			}
			fields = append(fields, field{path, e})
		}
		return nil
	}
	if err := walk("", arg); err != nil {
		return nil, err
	}
	return eachStage(func(env *exprEnv, doc JSON) (JSON, bool, error) {
		out := doc
		for _, f := range fields {
			v, err := f.e.eval(env)
			if err != nil {
				return JSON{}, false, err
			}
			out = addField(out, f.path, 0, v)
		}
		return out, true, nil
	}), nil
}

// addField sets a field as $addFields does: in all elements of arrays, and in
// place of values that are no objects.
func addField(j JSON, p *Path, i int, v JSON) JSON {
	if i == len(p.parts) {
		return v
	}
	if j.Kind() == sqltypes.JSONArray {
		elems := j.Elems()
		for k := range elems {
			elems[k] = addField(elems[k], p, i, v)
		}
		return sqltypes.JSONArrayOf(elems)
	}
	if j.Kind() != sqltypes.JSONObject {
		j = sqltypes.JSONObjectOf(nil)
	}
	old, had := j.Lookup(p.parts[i])
	v = addField(old, p, i+1, v)
	var pairs []sqltypes.JSONPair
	for _, q := range j.Pairs() {
		if q.Key != p.parts[i] {
			pairs = append(pairs, q)
		}
	}
	if !v.IsZero() {
		pairs = append(pairs, sqltypes.JSONPair{Key: p.parts[i], Value: v})
	} else if !had {
		return j
	}
	return sqltypes.JSONObjectOf(pairs)
}

func makeUnset(arg JSON, _ int) (stage, error) {
	list := []JSON{arg}
	if arg.Kind() == sqltypes.JSONArray {
		list = arg.Elems()
	}
	var pairs []sqltypes.JSONPair
	for _, v := range list {
		if v.Kind() != sqltypes.JSONString {
			return nil, invalid("$unset needs the names of fields")
		}
		pairs = append(pairs, sqltypes.JSONPair{Key: v.Str(), Value: intJSON(0)})
	}
	if len(pairs) == 0 {
		return nil, invalid("$unset needs the names of fields")
	}
	return makeProject(sqltypes.JSONObjectOf(pairs), 0)
}

func makeReplaceRoot(arg JSON, _ int) (stage, error) {
	v, ok := arg.Lookup("newRoot")
	if !ok {
		return nil, invalid("$replaceRoot needs newRoot")
	}
	e, err := compileExpr(v, nil)
	if err != nil {
		return nil, err
	}
	return eachStage(func(env *exprEnv, doc JSON) (JSON, bool, error) {
		v, err := e.eval(env)
		if err == nil && ClassOf(v) != ClassObject {
			err = invalid("the new root must be an object, not %s", kindName(v))
		}
		return v, err == nil, err
	}), nil
}

// gathered is a stage that needs all its input first.
type gathered func(ctx context.Context, r *runner, in Cursor) ([]JSON, error)

func (f gathered) open(ctx context.Context, r *runner, in Cursor) (Cursor, error) {
	docs, err := f(ctx, r, in)
	if err != nil {
		return nil, err
	}
	in.Close()
	return Slice(docs), nil
}

// drain calls f for every document.
func drain(ctx context.Context, in Cursor, f func(doc JSON) error) error {
	for n := 1; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		doc, ok, err := in.Next()
		if err != nil || !ok {
			return err
		}
		if err := f(doc); err != nil {
			return err
		}
	}
}

type groupMode uint8

const (
	groupWhole groupMode = iota
	groupPartial
	groupMerge
)

func makeGroup(arg JSON, mode groupMode) (stage, error) {
	g, err := parseGroup(arg)
	if err != nil {
		return nil, err
	}
	return gathered(func(ctx context.Context, r *runner, in Cursor) ([]JSON, error) {
		s := &groupState{g: g, m: map[string]*oneGroup{}}
		env := &exprEnv{now: r.st.Now, ctx: ctx}
		err := drain(ctx, in, func(doc JSON) error {
			if mode == groupMerge {
				return s.merge(doc)
			}
			env.root, env.current = doc, doc
			return s.add(env)
		})
		if err != nil {
			return nil, err
		}
		return s.answer(mode == groupPartial)
	}), nil
}

func makeSort(arg JSON, _ int) (stage, error) {
	s, err := CompileSort(arg)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, invalid("$sort needs fields")
	}
	return gathered(func(ctx context.Context, _ *runner, in Cursor) ([]JSON, error) {
		t := topN{sort: s, limit: -1}
		if err := drain(ctx, in, func(doc JSON) error { return t.add(doc, 0) }); err != nil {
			return nil, err
		}
		list := t.sorted()
		out := make([]JSON, len(list))
		for i := range list {
			out[i] = list[i].doc
		}
		return out, nil
	}), nil
}

type windowStage struct{ skip, take int64 }

func (w windowStage) open(_ context.Context, _ *runner, in Cursor) (Cursor, error) {
	return Window(in, w.skip, w.take), nil
}

func makeWindow(name string, arg JSON) (stage, error) {
	n, err := wholeNumber(name, arg)
	if err != nil {
		return nil, err
	}
	if name == "$skip" {
		if n < 0 {
			return nil, invalid("$skip must not be negative")
		}
		return windowStage{n, -1}, nil
	}
	if n <= 0 {
		return nil, invalid("$limit must be positive")
	}
	return windowStage{0, n}, nil
}

func makeUnwind(arg JSON, _ int) (stage, error) {
	keep, index := false, ""
	if arg.Kind() == sqltypes.JSONObject {
		o := arg
		arg, _ = o.Lookup("path")
		if v, ok := o.Lookup("preserveNullAndEmptyArrays"); ok {
			keep = truthy(v)
		}
		if v, ok := o.Lookup("includeArrayIndex"); ok && v.Kind() == sqltypes.JSONString {
			index = v.Str()
		}
	}
	if arg.IsZero() || arg.Kind() != sqltypes.JSONString || len(arg.Str()) < 2 || arg.Str()[0] != '$' {
		return nil, invalid("the path of $unwind must be a string that begins with $")
	}
	p, err := ParsePath(arg.Str()[1:])
	if err != nil {
		return nil, err
	}
	var at *Path
	if index != "" {
		if at, err = ParsePath(index); err != nil {
			return nil, err
		}
	}
	return &unwind{p, at, keep}, nil
}

type unwind struct {
	path, index *Path
	keep        bool
}

func (u *unwind) open(_ context.Context, _ *runner, in Cursor) (Cursor, error) {
	var doc, list JSON
	i := 0
	set := func(v, n JSON) JSON {
		out := doc
		if !v.IsZero() {
			out = addField(out, u.path, 0, v)
		}
		if u.index != nil {
			out = addField(out, u.index, 0, n)
		}
		return out
	}
	return &funcCursor{close: in.Close, next: func() (JSON, bool, error) {
		for {
			if !list.IsZero() && i < list.Len() {
				i++
				return set(list.Index(i-1), intJSON(int64(i-1))), true, nil
			}
			list = JSON{}
			var ok bool
			var err error
			if doc, ok, err = in.Next(); err != nil || !ok {
				return JSON{}, false, err
			}
			v, found := u.path.Get(doc)
			switch {
			case found && v.Kind() == sqltypes.JSONArray && v.Len() > 0:
				list, i = v, 0
			case found && v.Kind() != sqltypes.JSONArray && v.Kind() != sqltypes.JSONNull:
				return set(JSON{}, sqltypes.JSONNullValue), true, nil
			case u.keep:
				if found && v.Kind() == sqltypes.JSONArray { // an empty one goes
					if doc, err = unsetPath(doc, u.path); err != nil {
						return JSON{}, false, err
					}
				}
				return set(JSON{}, sqltypes.JSONNullValue), true, nil
			}
		}
	}}, nil
}

func makeSample(arg JSON, _ int) (stage, error) {
	v, _ := arg.Lookup("size")
	if v.IsZero() {
		return nil, invalid("$sample needs size")
	}
	n, err := wholeNumber("the size of $sample", v)
	if err != nil {
		return nil, err
	}
	if n <= 0 {
		return nil, invalid("the size of $sample must be positive")
	}
	return gathered(func(ctx context.Context, _ *runner, in Cursor) ([]JSON, error) {
		var out []JSON
		seen, bytes := int64(0), 0
		err := drain(ctx, in, func(doc JSON) error {
			seen++
			if int64(len(out)) < n {
				if bytes += len(doc.Datum().S); bytes > maxMemory {
					return errMemory("sample")
				}
				out = append(out, doc)
			} else if k := rand.Int64N(seen); k < n {
				out[k] = doc
			}
			return nil
		})
		rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		return out, err
	}), nil
}

func makeFacet(arg JSON, depth int) (stage, error) {
	if arg.Kind() != sqltypes.JSONObject || arg.Len() == 0 {
		return nil, invalid("$facet needs an object of pipelines")
	}
	names, subs := []string{}, [][]stage{}
	for _, p := range arg.Pairs() {
		list, err := stagesOf(p.Value)
		if err != nil {
			return nil, err
		}
		for _, s := range list {
			if n, _, _ := stageName(s); n == "$facet" || n == "$out" || n == "$merge" {
				return nil, invalid("%s is not allowed within $facet", n)
			}
		}
		sub, err := compileStages(list, depth+1)
		if err != nil {
			return nil, err
		}
		names, subs = append(names, p.Key), append(subs, sub)
	}
	return gathered(func(ctx context.Context, r *runner, in Cursor) ([]JSON, error) {
		docs, err := collect(ctx, in)
		if err != nil {
			return nil, err
		}
		var pairs []sqltypes.JSONPair
		for i, sub := range subs {
			cur, err := openStages(ctx, r, sub, Slice(docs))
			if err != nil {
				return nil, err
			}
			out, err := ReadAll(cur)
			if err != nil {
				return nil, err
			}
			pairs = append(pairs, sqltypes.JSONPair{Key: names[i], Value: sqltypes.JSONArrayOf(out)})
		}
		return []JSON{sqltypes.JSONObjectOf(pairs)}, nil
	}), nil
}

// collect reads everything within the memory bound.
func collect(ctx context.Context, in Cursor) ([]JSON, error) {
	var docs []JSON
	bytes := 0
	err := drain(ctx, in, func(doc JSON) error {
		if bytes += len(doc.Datum().S) + 24; bytes > maxMemory {
			return errMemory("stage")
		}
		docs = append(docs, doc)
		return nil
	})
	return docs, err
}

func makeBucketAuto(arg JSON, _ int) (stage, error) {
	by, ok := arg.Lookup("groupBy")
	n, _ := arg.Lookup("buckets")
	if !ok || n.IsZero() {
		return nil, invalid("$bucketAuto needs groupBy and buckets")
	}
	if _, ok := arg.Lookup("granularity"); ok {
		return nil, pgerror.NotSupported("granularity of $bucketAuto")
	}
	count, err := wholeNumber("buckets", n)
	if err != nil {
		return nil, err
	}
	if count <= 0 {
		return nil, invalid("buckets must be positive")
	}
	key, err := compileExpr(by, nil)
	if err != nil {
		return nil, err
	}
	spec := []sqltypes.JSONPair{{Key: "_id", Value: sqltypes.JSONNullValue}}
	if o, ok := arg.Lookup("output"); ok {
		spec = append(spec, o.Pairs()...)
	} else {
		spec = append(spec, sqltypes.JSONPair{Key: "count", Value: obj("$sum", intJSON(1))})
	}
	g, err := parseGroup(sqltypes.JSONObjectOf(spec))
	if err != nil {
		return nil, err
	}
	return gathered(func(ctx context.Context, r *runner, in Cursor) ([]JSON, error) {
		env := &exprEnv{now: r.st.Now, ctx: ctx}
		docs, err := collect(ctx, in)
		if err != nil {
			return nil, err
		}
		vals := make([]JSON, len(docs))
		order := topN{sort: &Sort{}, limit: -1}
		for i, d := range docs {
			env.root, env.current = d, d
			v, err := key.eval(env)
			if err != nil {
				return nil, err
			}
			vals[i] = orNull(v)
			order.list = append(order.list, keyed{string(AppendKey(nil, v)), d, i})
		}
		list := order.sorted()
		var out []JSON
		size := max(1, (len(list)+int(min(count, 1<<20))/2)/int(min(count, 1<<20)))
		for at := 0; at < len(list); {
			end := min(at+size, len(list))
			if int64(len(out)) == count-1 {
				end = len(list)
			}
			for end < len(list) && list[end].key == list[end-1].key {
				end++
			}
			s := &groupState{g: g, m: map[string]*oneGroup{}}
			for _, k := range list[at:end] {
				env.root, env.current = k.doc, k.doc
				if err := s.add(env); err != nil {
					return nil, err
				}
			}
			res, err := s.answer(false)
			if err != nil {
				return nil, err
			}
			hi := vals[list[end-1].ref]
			if end < len(list) {
				hi = vals[list[end].ref]
			}
			id := sqltypes.JSONObjectOf([]sqltypes.JSONPair{{Key: "min", Value: vals[list[at].ref]}, {Key: "max", Value: hi}})
			out = append(out, sqltypes.JSONObjectOf(append(res[0].Pairs(), sqltypes.JSONPair{Key: "_id", Value: id})))
			at = end
		}
		return out, nil
	}), nil
}
