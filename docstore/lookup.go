package docstore

import (
	"context"
	"slices"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// fetch runs a read of another collection: on the same state, or wherever the
// router says the collection is.
func (r *runner) fetch(ctx context.Context, cmd *Command) (Result, error) {
	if r.st.Fetch != nil {
		return r.st.Fetch(ctx, cmd)
	}
	sub := &runner{st: r.st, own: r.own}
	if cmd.Op == OpAggregate {
		return sub.aggregate(ctx, cmd)
	}
	return sub.find(ctx, cmd)
}

// lookup is $lookup: by equal fields, by a pipeline, or both.
type lookup struct {
	from           string
	local, foreign *Path
	as             *Path
	names          []string // let
	vals           []expression
	pipeline       []JSON // nil: none
}

func makeLookup(arg JSON, _ int) (stage, error) {
	if arg.Kind() != sqltypes.JSONObject {
		return nil, invalid("$lookup needs an object")
	}
	l := &lookup{}
	for _, p := range arg.Pairs() {
		var err error
		switch p.Key {
		case "from":
			l.from = textOf(p.Value)
		case "localField":
			l.local, err = ParsePath(textOf(p.Value))
		case "foreignField":
			l.foreign, err = ParsePath(textOf(p.Value))
		case "as":
			l.as, err = ParsePath(textOf(p.Value))
		case "let":
			for _, v := range p.Value.Pairs() {
				e, err := compileExpr(v.Value, nil)
				if err != nil {
					return nil, err
				}
				l.names, l.vals = append(l.names, v.Key), append(l.vals, e)
			}
		case "pipeline":
			if l.pipeline, err = stagesOf(p.Value); err == nil && l.pipeline == nil {
				l.pipeline = []JSON{}
			}
		default:
			err = pgerror.NotSupported("argument %q of $lookup", p.Key)
		}
		if err != nil {
			return nil, err
		}
	}
	if l.from == "" || l.as == nil || (l.local == nil) != (l.foreign == nil) || l.local == nil && l.pipeline == nil {
		return nil, invalid("$lookup needs from, as, and localField with foreignField or a pipeline")
	}
	return l, nil
}

func (l *lookup) open(ctx context.Context, r *runner, in Cursor) (Cursor, error) {
	env := &exprEnv{now: r.st.Now, ctx: ctx}
	var side *lookupSide
	return &funcCursor{close: in.Close, next: func() (JSON, bool, error) {
		doc, ok, err := in.Next()
		if err != nil || !ok {
			return JSON{}, false, err
		}
		if side == nil && l.local != nil && l.pipeline == nil {
			if side, err = l.openSide(ctx, r); err != nil {
				return JSON{}, false, err
			}
		}
		var list []JSON
		if side != nil && side.byKey != nil {
			list = side.find(doc, l.local)
		} else {
			env.root, env.current = doc, doc
			if list, err = l.query(ctx, r, env, doc); err != nil {
				return JSON{}, false, err
			}
		}
		return addField(doc, l.as, 0, sqltypes.JSONArrayOf(list)), true, nil
	}}, nil
}

// query asks the other collection for one document's partners.
func (l *lookup) query(ctx context.Context, r *runner, env *exprEnv, doc JSON) ([]JSON, error) {
	cmd := &Command{Op: OpFind, Collection: l.from, Take: -1}
	if l.local != nil {
		cmd.Filter = obj(l.foreign.Text, obj("$in", sqltypes.JSONArrayOf(localValues(doc, l.local))))
	}
	if l.pipeline != nil {
		vars := map[string]JSON{}
		for i, n := range l.names {
			v, err := l.vals[i].eval(env)
			if err != nil {
				return nil, err
			}
			vars[n] = orNull(v)
		}
		list := make([]JSON, len(l.pipeline))
		for i, s := range l.pipeline {
			list[i] = bindVars(s, vars)
		}
		cmd.Op, cmd.Pipeline = OpAggregate, sqltypes.JSONArrayOf(list)
	}
	res, err := r.fetch(ctx, cmd)
	if err != nil {
		return nil, err
	}
	return ReadAll(res.Docs)
}

// localValues are the values that partners may have; a missing field is null.
func localValues(doc JSON, p *Path) []JSON {
	var c collector
	p.any(doc, 0, &c)
	if c.missing || len(c.vals) == 0 && !c.arrays {
		c.vals = append(c.vals, sqltypes.JSONNullValue)
	}
	return c.vals
}

// bindVars replaces the variables of let, "$$name" and "$$name.path", by literals.
func bindVars(j JSON, vars map[string]JSON) JSON {
	switch j.Kind() {
	case sqltypes.JSONString:
		s := j.Str()
		if len(s) < 3 || s[:2] != "$$" {
			return j
		}
		for n, v := range vars {
			if s[2:] == n {
				return obj("$literal", v)
			}
			if len(s) > len(n)+3 && s[2:len(n)+3] == n+"." {
				p, err := ParsePath(s[len(n)+3:])
				if err != nil {
					return j
				}
				return obj("$literal", orNull(fieldOf(v, p.parts)))
			}
		}
	case sqltypes.JSONArray:
		e := j.Elems()
		for i := range e {
			e[i] = bindVars(e[i], vars)
		}
		return sqltypes.JSONArrayOf(e)
	case sqltypes.JSONObject:
		if j.Len() == 1 && j.Key(0) == "$literal" {
			return j
		}
		p := j.Pairs()
		for i := range p {
			p[i].Value = bindVars(p[i].Value, vars)
		}
		return sqltypes.JSONObjectOf(p)
	}
	return j
}

// lookupSide is the other collection in memory, by the value of the field: used
// when no index leads to the partners.
type lookupSide struct {
	docs  []JSON
	byKey map[string][]int // nil: ask for each document
}

func (l *lookup) openSide(ctx context.Context, r *runner) (*lookupSide, error) {
	s := &lookupSide{}
	if r.st.Fetch == nil {
		c, err := r.collection(l.from, false)
		if err != nil {
			return nil, err
		}
		indexed := l.foreign.Text == "_id"
		if c != nil {
			indexed = indexed || slices.ContainsFunc(c.Indexes, func(x *Index) bool {
				return x.Spec.Fields[0].Path == l.foreign.Text && !x.Spec.Text && !x.Spec.Sparse && x.partial == nil
			})
		}
		if indexed {
			return s, nil
		}
	}
	res, err := r.fetch(ctx, &Command{Op: OpFind, Collection: l.from, Take: -1})
	if err != nil {
		return nil, err
	}
	defer res.Docs.Close()
	if s.docs, err = collect(ctx, res.Docs); err != nil {
		return nil, err
	}
	s.byKey = map[string][]int{}
	for i, d := range s.docs {
		var c collector
		l.foreign.any(d, 0, &c)
		if c.missing {
			c.vals = append(c.vals, JSON{})
		}
		for _, v := range c.vals {
			k := string(AppendKey(nil, v))
			if list := s.byKey[k]; len(list) == 0 || list[len(list)-1] != i {
				s.byKey[k] = append(list, i)
			}
		}
	}
	return s, nil
}

func (s *lookupSide) find(doc JSON, p *Path) []JSON {
	var at []int
	vals := localValues(doc, p)
	for _, v := range vals {
		at = append(at, s.byKey[string(AppendKey(nil, v))]...)
	}
	if len(vals) > 1 {
		slices.Sort(at)
		at = slices.Compact(at)
	}
	out := make([]JSON, len(at))
	for i, k := range at {
		out[i] = s.docs[k]
	}
	return out
}

// makeUnion is $unionWith.
func makeUnion(arg JSON, _ int) (stage, error) {
	cmd := &Command{Op: OpFind, Take: -1}
	switch arg.Kind() {
	case sqltypes.JSONString:
		cmd.Collection = arg.Str()
	case sqltypes.JSONObject:
		c, _ := arg.Lookup("coll")
		if c.IsZero() || c.Kind() != sqltypes.JSONString {
			return nil, invalid("$unionWith needs coll")
		}
		cmd.Collection = c.Str()
		if p, ok := arg.Lookup("pipeline"); ok {
			cmd.Op, cmd.Pipeline = OpAggregate, p
		}
	default:
		return nil, invalid("$unionWith needs the name of a collection")
	}
	return unionStage{cmd}, nil
}

type unionStage struct{ cmd *Command }

func (u unionStage) open(ctx context.Context, r *runner, in Cursor) (Cursor, error) {
	var second Cursor
	return &funcCursor{close: func() {
		in.Close()
		if second != nil {
			second.Close()
		}
	}, next: func() (JSON, bool, error) {
		if second == nil {
			doc, ok, err := in.Next()
			if err != nil || ok {
				return doc, ok, err
			}
			res, err := r.fetch(ctx, u.cmd)
			if err != nil {
				return JSON{}, false, err
			}
			second = res.Docs
		}
		return second.Next()
	}}, nil
}
