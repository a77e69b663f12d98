package docstore

import (
	"context"
	"strings"
	"time"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Projection picks what of a document is answered.
type Projection struct {
	root    *projNode // nil: everything
	include bool
	now     *exprEnv
}

// projNode is what happens to one field.
type projNode struct {
	children map[string]*projNode
	names    []string // of children, in the order given
	keep     bool     // leaf: included (or excluded)
	expr     expression
	slice    *[2]int64
	elem     node
}

// CompileProjection reads {"a": 1, "b.c": 1} or {"a": 0}, with $slice, $elemMatch
// and expressions. A zero JSON keeps everything.
func CompileProjection(j JSON) (*Projection, error) {
	if j.IsZero() || j.Kind() == sqltypes.JSONNull {
		return &Projection{}, nil
	}
	if j.Kind() != sqltypes.JSONObject {
		return nil, invalid("a projection must be an object, not %s", kindName(j))
	}
	if j.Len() == 0 {
		return &Projection{}, nil
	}
	return compileProjection(j, false)
}

// compileProjection: in a pipeline a bare value other than a flag is an expression.
func compileProjection(j JSON, pipeline bool) (*Projection, error) {
	p := &Projection{root: &projNode{}}
	included, excluded, idSet, computed := false, false, false, false
	var walk func(prefix string, obj JSON) error
	walk = func(prefix string, obj JSON) error {
		for _, f := range obj.Pairs() {
			name := f.Key
			if prefix != "" {
				name = prefix + "." + name
			}
			path, err := ParsePath(name)
			if err != nil {
				return err
			}
			v := f.Value
			leaf := &projNode{keep: true}
			switch {
			case v.Kind() == sqltypes.JSONBool || v.Kind() == sqltypes.JSONNumber:
				leaf.keep = truthy(v)
				if name == "_id" {
					idSet = true
					if !leaf.keep {
						p.root.child("_id").keep = false
						continue
					}
				}
				if leaf.keep {
					included = included || name != "_id"
				} else {
					excluded = true
				}
			case v.Kind() == sqltypes.JSONObject && ClassOf(v) == ClassObject && v.Len() > 0 && !strings.HasPrefix(v.Key(0), "$"):
				if err := walk(name, v); err != nil {
					return err
				}
				continue
			default:
				if err := leaf.compute(v, pipeline); err != nil {
					return err
				}
				idSet = idSet || name == "_id"
				if leaf.slice == nil {
					computed = true
				}
				if leaf.elem != nil {
					included = true
				}
			}
			if err := p.root.put(path, leaf); err != nil {
				return err
			}
		}
		return nil
	}
	if err := walk("", j); err != nil {
		return nil, err
	}
	if included && excluded {
		return nil, invalid("a projection either includes or excludes fields, not both")
	}
	p.include = included || computed && !excluded
	if !included && !computed && !excluded && idSet && len(p.root.names) == 1 && p.root.children["_id"].keep {
		p.include = true // {"_id": 1}
	}
	if p.include && !idSet {
		p.root.child("_id").keep = true
	}
	if !p.include {
		// Excluding: what is named with a true flag stays anyway.
		if c := p.root.children["_id"]; c != nil && c.keep && c.slice == nil && c.children == nil {
			delete(p.root.children, "_id")
		}
	}
	return p, nil
}

func (n *projNode) child(name string) *projNode {
	if n.children == nil {
		n.children = map[string]*projNode{}
	}
	c := n.children[name]
	if c == nil {
		c = &projNode{}
		n.children[name] = c
		n.names = append(n.names, name)
	}
	return c
}

func (n *projNode) put(p *Path, leaf *projNode) error {
	for i, part := range p.parts {
		if strings.HasPrefix(part, "$") {
			return pgerror.NotSupported("the positional operator %s in a projection", part)
		}
		c := n.child(part)
		if i == len(p.parts)-1 {
			if c.children != nil {
				return invalid("path collision at %q in the projection", p.Text)
			}
			*c = *leaf
			return nil
		}
		if c.keep || c.expr != nil || c.slice != nil || c.elem != nil {
			return invalid("path collision at %q in the projection", p.Text)
		}
		n = c
	}
	return nil
}

func (n *projNode) compute(v JSON, pipeline bool) (err error) {
	if v.Kind() == sqltypes.JSONObject && v.Len() == 1 && !pipeline {
		arg := v.Value(0)
		switch v.Key(0) {
		case "$slice":
			var s [2]int64
			switch {
			case arg.Kind() == sqltypes.JSONNumber:
				n, err := wholeNumber("$slice", arg)
				if err != nil {
					return err
				}
				if s[1] = n; n < 0 {
					s[0], s[1] = n, -n
				}
			case arg.Kind() == sqltypes.JSONArray && arg.Len() == 2:
				for i := range s {
					if s[i], err = wholeNumber("$slice", arg.Index(i)); err != nil {
						return err
					}
				}
				if s[1] <= 0 {
					return invalid("the limit of $slice must be positive")
				}
			default:
				return invalid("$slice needs a number or [skip, limit]")
			}
			n.slice = &s
			return nil
		case "$elemMatch":
			c := filterCompiler{f: &Filter{}}
			l, err := c.elemMatch(arg)
			if err != nil {
				return err
			}
			n.elem = l.(*elemLeaf).of
			return nil
		case "$meta":
			return pgerror.NotSupported("$meta in a projection")
		}
	}
	n.expr, err = compileExpr(v, nil)
	return err
}

// Bind gives the expressions the statement's time and context; it returns p.
func (p *Projection) Bind(ctx context.Context, now time.Time) *Projection {
	if p.root != nil {
		p.now = &exprEnv{now: now, ctx: ctx}
	}
	return p
}

// Apply returns what the projection leaves of a document.
func (p *Projection) Apply(doc JSON) (JSON, error) {
	if p == nil || p.root == nil {
		return doc, nil
	}
	if p.now == nil {
		p.now = &exprEnv{}
	}
	p.now.root, p.now.current = doc, doc
	if p.include {
		return p.includeIn(p.root, doc)
	}
	return p.excludeFrom(p.root, doc)
}

// Cursor applies the projection to a stream.
func (p *Projection) Cursor(c Cursor) Cursor {
	if p == nil || p.root == nil {
		return c
	}
	return &funcCursor{close: c.Close, next: func() (JSON, bool, error) {
		d, ok, err := c.Next()
		if err != nil || !ok {
			return JSON{}, false, err
		}
		d, err = p.Apply(d)
		return d, err == nil, err
	}}
}

func (p *Projection) includeIn(n *projNode, v JSON) (JSON, error) {
	switch v.Kind() {
	case sqltypes.JSONArray:
		var out []JSON
		for _, e := range v.Elems() {
			if !e.IsContainer() {
				continue
			}
			e, err := p.includeIn(n, e)
			if err != nil {
				return JSON{}, err
			}
			out = append(out, e)
		}
		return sqltypes.JSONArrayOf(out), nil
	case sqltypes.JSONObject:
	default:
		return v, nil
	}
	var out []sqltypes.JSONPair
	for _, name := range n.names {
		c := n.children[name]
		if c == nil {
			continue
		}
		old, ok := v.Lookup(name)
		var val JSON
		var err error
		switch {
		case c.expr != nil:
			val, err = c.expr.eval(p.now)
		case c.elem != nil || c.slice != nil:
			if ok {
				val = c.pick(old)
			}
		case c.children != nil:
			if ok && old.IsContainer() {
				val, err = p.includeIn(c, old)
			} else if c.computes() {
				val, err = p.includeIn(c, sqltypes.JSONObjectOf(nil))
			}
		case c.keep && ok:
			val = old
		}
		if err != nil {
			return JSON{}, err
		}
		if !val.IsZero() {
			out = append(out, sqltypes.JSONPair{Key: name, Value: val})
		}
	}
	return sqltypes.JSONObjectOf(out), nil
}

func (n *projNode) computes() bool {
	if n.expr != nil {
		return true
	}
	for _, c := range n.children {
		if c.computes() {
			return true
		}
	}
	return false
}

func (p *Projection) excludeFrom(n *projNode, v JSON) (JSON, error) {
	switch v.Kind() {
	case sqltypes.JSONArray:
		elems := v.Elems()
		for i, e := range elems {
			if e.IsContainer() {
				var err error
				if elems[i], err = p.excludeFrom(n, e); err != nil {
					return JSON{}, err
				}
			}
		}
		return sqltypes.JSONArrayOf(elems), nil
	case sqltypes.JSONObject:
	default:
		return v, nil
	}
	var out []sqltypes.JSONPair
	for _, f := range v.Pairs() {
		if c := n.children[f.Key]; c != nil {
			var err error
			switch {
			case c.slice != nil || c.elem != nil:
				f.Value = c.pick(f.Value)
			case c.children != nil:
				f.Value, err = p.excludeFrom(c, f.Value)
			case c.expr != nil:
				f.Value, err = c.expr.eval(p.now)
			case !c.keep:
				continue
			}
			if err != nil {
				return JSON{}, err
			}
			if f.Value.IsZero() {
				continue
			}
		}
		out = append(out, f)
	}
	return sqltypes.JSONObjectOf(out), nil
}

// pick is $slice or $elemMatch of an array.
func (n *projNode) pick(v JSON) JSON {
	if v.Kind() != sqltypes.JSONArray {
		if n.elem != nil {
			return JSON{}
		}
		return v
	}
	elems := v.Elems()
	if n.elem != nil {
		for _, e := range elems {
			if n.elem.match(e) {
				return sqltypes.JSONArrayOf([]JSON{e})
			}
		}
		return JSON{}
	}
	from, count := n.slice[0], n.slice[1]
	size := int64(len(elems))
	if from < 0 {
		from = max(0, size+from)
	}
	from = min(from, size)
	return sqltypes.JSONArrayOf(elems[from:min(size, from+min(count, size))])
}
