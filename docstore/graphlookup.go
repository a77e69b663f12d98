package docstore

import (
	"context"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// graphLookup is $graphLookup: the documents that are reached from a value by
// following a field, breadth first.
type graphLookup struct {
	from     string
	start    expression
	follow   *Path // connectFromField
	to, as   *Path
	maxDepth int64 // negative: none
	depth    *Path // depthField, nil: none
	restrict JSON
}

func makeGraphLookup(arg JSON, _ int) (stage, error) {
	if arg.Kind() != sqltypes.JSONObject {
		return nil, invalid("$graphLookup needs an object")
	}
	g := &graphLookup{maxDepth: -1}
	for _, p := range arg.Pairs() {
		var err error
		switch p.Key {
		case "from":
			g.from = textOf(p.Value)
		case "startWith":
			g.start, err = compileExpr(p.Value, nil)
		case "connectFromField":
			g.follow, err = ParsePath(textOf(p.Value))
		case "connectToField":
			g.to, err = ParsePath(textOf(p.Value))
		case "as":
			g.as, err = ParsePath(textOf(p.Value))
		case "maxDepth":
			if g.maxDepth, err = wholeNumber("maxDepth", p.Value); err == nil && g.maxDepth < 0 {
				err = invalid("maxDepth may not be negative")
			}
		case "depthField":
			g.depth, err = ParsePath(textOf(p.Value))
		case "restrictSearchWithMatch":
			g.restrict = p.Value
			_, err = CompileFilter(p.Value)
		default:
			err = pgerror.NotSupported("argument %q of $graphLookup", p.Key)
		}
		if err != nil {
			return nil, err
		}
	}
	if g.from == "" || g.start == nil || g.follow == nil || g.to == nil || g.as == nil {
		return nil, invalid("$graphLookup needs from, startWith, connectFromField, connectToField and as")
	}
	return g, nil
}

func (g *graphLookup) open(ctx context.Context, r *runner, in Cursor) (Cursor, error) {
	env := &exprEnv{now: r.st.Now, ctx: ctx}
	return &funcCursor{close: in.Close, next: func() (JSON, bool, error) {
		doc, ok, err := in.Next()
		if err != nil || !ok {
			return JSON{}, false, err
		}
		env.root, env.current = doc, doc
		v, err := g.start.eval(env)
		if err != nil {
			return JSON{}, false, err
		}
		list, err := g.search(ctx, r, v)
		return addField(doc, g.as, 0, sqltypes.JSONArrayOf(list)), err == nil, err
	}}, nil
}

func (g *graphLookup) search(ctx context.Context, r *runner, start JSON) ([]JSON, error) {
	var out []JSON
	seen, asked := map[string]bool{}, map[string]bool{}
	bytes := 0
	next := []JSON{start}
	if !start.IsZero() && start.Kind() == sqltypes.JSONArray {
		next = start.Elems()
	}
	for depth := int64(0); g.maxDepth < 0 || depth <= g.maxDepth; depth++ {
		var values []JSON
		for _, v := range next {
			if k := string(AppendKey(nil, v)); !v.IsZero() && !asked[k] {
				asked[k] = true
				values = append(values, v)
			}
		}
		if len(values) == 0 {
			break
		}
		filter := obj(g.to.Text, obj("$in", sqltypes.JSONArrayOf(values)))
		if !g.restrict.IsZero() {
			filter = obj("$and", sqltypes.JSONArrayOf([]JSON{filter, g.restrict}))
		}
		res, err := r.fetch(ctx, &Command{Op: OpFind, Collection: g.from, Filter: filter, Sort: obj("_id", intJSON(1)), Take: -1})
		if err != nil {
			return nil, err
		}
		docs, err := collect(ctx, res.Docs)
		res.Docs.Close()
		if err != nil {
			return nil, err
		}
		next = next[:0:0]
		for _, d := range docs {
			id, _ := d.Lookup("_id")
			k := string(AppendKey(nil, id))
			if seen[k] {
				continue
			}
			seen[k] = true
			if bytes += len(k) + len(d.Datum().S) + 64; bytes > maxMemory {
				return nil, errMemory("search")
			}
			var c collector
			g.follow.any(d, 0, &c)
			next = append(next, c.vals...)
			if g.depth != nil {
				d = addField(d, g.depth, 0, intJSON(depth))
			}
			out = append(out, d)
		}
	}
	return out, nil
}
