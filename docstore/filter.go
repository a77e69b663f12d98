package docstore

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Filter is a compiled filter document. It reads documents in place. A Filter
// with $expr belongs to one goroutine; others can be shared.
type Filter struct {
	root node // nil: everything matches
	// conj are the fields' conditions that must all hold: what indexes and
	// shard keys are chosen by.
	conj []*fieldNode
	env  *exprEnv
}

// node is one condition on a document.
type node interface{ match(doc JSON) bool }

// CompileFilter reads a filter document; a zero JSON or null matches everything.
// Errors: 22023, and 0A000 for operators that are not known.
func CompileFilter(f JSON) (*Filter, error) {
	out := &Filter{}
	if f.IsZero() || f.Kind() == sqltypes.JSONNull {
		return out, nil
	}
	if f.Kind() != sqltypes.JSONObject {
		return nil, invalid("a filter must be an object, not %s", kindName(f))
	}
	c := filterCompiler{f: out}
	list, err := c.document(f)
	if err != nil {
		return nil, err
	}
	out.root = conjunction(list)
	out.collect(out.root)
	return out, nil
}

// Match reports whether the document matches. The error is of an $expr.
func (f *Filter) Match(doc JSON) (bool, error) {
	if f.root == nil {
		return true, nil
	}
	ok := f.root.match(doc)
	if f.env != nil && f.env.err != nil {
		err := f.env.err
		f.env.err = nil
		return false, err
	}
	return ok, nil
}

// bind gives the expressions of $expr the statement's time and context.
func (f *Filter) bind(ctx context.Context, now time.Time) {
	if f.env != nil {
		f.env.now, f.env.ctx = now, ctx
	}
}

// All reports a filter that every document matches.
func (f *Filter) All() bool { return f.root == nil }

func (f *Filter) collect(n node) {
	switch x := n.(type) {
	case *fieldNode:
		f.conj = append(f.conj, x)
	case andNode:
		for _, e := range x {
			f.collect(e)
		}
	}
}

func kindName(j JSON) string {
	if j.IsZero() {
		return "nothing"
	}
	return j.Kind().String()
}

type (
	andNode []node
	orNode  []node
	notNode struct{ of node }
	// fieldNode: some value that the path leads to satisfies the predicate.
	fieldNode struct {
		path *Path
		pred leaf
	}
	constNode bool
	// sampleNode is $sampleRate: the share of documents that match, by chance.
	sampleNode float64
)

func (n andNode) match(d JSON) bool {
	for _, e := range n {
		if !e.match(d) {
			return false
		}
	}
	return true
}

func (n orNode) match(d JSON) bool {
	for _, e := range n {
		if e.match(d) {
			return true
		}
	}
	return false
}

func (n notNode) match(d JSON) bool    { return !n.of.match(d) }
func (n *fieldNode) match(d JSON) bool { return n.path.any(d, 0, n.pred) }
func (n constNode) match(JSON) bool    { return bool(n) }
func (n sampleNode) match(JSON) bool   { return rand.Float64() < float64(n) }

func conjunction(list []node) node {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	return andNode(list)
}

func orTrue(n node) node {
	if n == nil {
		return constNode(true)
	}
	return n
}

const maxFilterDepth = 100

type filterCompiler struct {
	f     *Filter
	depth int
}

func (c *filterCompiler) document(f JSON) ([]node, error) {
	if c.depth++; c.depth > maxFilterDepth {
		return nil, pgerror.New(pgerror.StatementTooComplex, "filter is nested too deeply")
	}
	defer func() { c.depth-- }()
	var out []node
	for i, n := 0, f.Len(); i < n; i++ {
		key, v := f.Key(i), f.Value(i)
		if strings.HasPrefix(key, "$") {
			n, err := c.logical(key, v)
			if err != nil {
				return nil, err
			}
			if n != nil {
				out = append(out, n)
			}
			continue
		}
		p, err := ParsePath(key)
		if err != nil {
			return nil, err
		}
		list, err := c.field(p, v)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}

func (c *filterCompiler) logical(op string, v JSON) (node, error) {
	switch op {
	case "$and", "$or", "$nor":
		if v.Kind() != sqltypes.JSONArray || v.Len() == 0 {
			return nil, invalid("%s must be a nonempty array", op)
		}
		var list []node
		for i := range v.Len() {
			if v.Index(i).Kind() != sqltypes.JSONObject {
				return nil, invalid("%s entries must be objects", op)
			}
			sub, err := c.document(v.Index(i))
			if err != nil {
				return nil, err
			}
			list = append(list, orTrue(conjunction(sub)))
		}
		switch op {
		case "$and":
			return andNode(list), nil
		case "$or":
			return orNode(list), nil
		}
		return notNode{orNode(list)}, nil
	case "$expr":
		if c.f.env == nil {
			c.f.env = &exprEnv{}
		}
		e, err := compileExpr(v, nil)
		if err != nil {
			return nil, err
		}
		return &exprNode{env: c.f.env, e: e}, nil
	case "$comment":
		return nil, nil
	case "$sampleRate":
		if v.Kind() != sqltypes.JSONNumber || sqltypes.NumericSign(v.Number()) < 0 || sqltypes.NumericCmp(v.Number(), sqltypes.NumericInt(1)) > 0 {
			return nil, invalid("$sampleRate must be a number from 0 to 1")
		}
		rate, err := sqltypes.NumericToFloat(v.Number(), 64)
		return sampleNode(rate), err
	case "$alwaysTrue":
		return constNode(true), nil
	case "$alwaysFalse":
		return constNode(false), nil
	case "$text":
		return nil, pgerror.NotSupported("filter operator $text").WithHint("Use doc.text_search(collection, query).")
	}
	return nil, pgerror.NotSupported("filter operator %s", op)
}

// exprNode is $expr.
type exprNode struct {
	env *exprEnv
	e   expression
}

func (n *exprNode) match(d JSON) bool {
	n.env.root, n.env.current = d, d
	v, err := n.e.eval(n.env)
	if err != nil {
		if n.env.err == nil {
			n.env.err = err
		}
		return false
	}
	return truthy(v)
}

// operators reports an object of operators: its first key begins with $ (and it
// is not a date).
func operators(v JSON) bool {
	if v.Kind() != sqltypes.JSONObject || v.Len() == 0 {
		return false
	}
	for i := range v.Len() {
		if k := v.Key(i); strings.HasPrefix(k, "$") && k != dateKey {
			return true
		}
	}
	return false
}

// field compiles the conditions on one path.
func (c *filterCompiler) field(p *Path, v JSON) ([]node, error) {
	if !operators(v) {
		return []node{&fieldNode{p, newCompare(cmpEq, v)}}, nil
	}
	if v.Len() > 1 {
		if _, ok := v.Lookup("$options"); ok {
			if _, ok := v.Lookup("$regex"); !ok {
				return nil, invalid("$options needs a $regex")
			}
		}
	}
	var out []node
	for i := range v.Len() {
		op, arg := v.Key(i), v.Value(i)
		n, err := c.operator(p, op, arg, v)
		if err != nil {
			return nil, err
		}
		if n != nil {
			out = append(out, n)
		}
	}
	return out, nil
}

func (c *filterCompiler) operator(p *Path, op string, arg, all JSON) (node, error) {
	is := func(l leaf) (node, error) { return &fieldNode{p, l}, nil }
	switch op {
	case "$eq":
		return is(newCompare(cmpEq, arg))
	case "$ne":
		return notNode{&fieldNode{p, newCompare(cmpEq, arg)}}, nil
	case "$gt":
		return is(newCompare(cmpGt, arg))
	case "$gte":
		return is(newCompare(cmpGte, arg))
	case "$lt":
		return is(newCompare(cmpLt, arg))
	case "$lte":
		return is(newCompare(cmpLte, arg))
	case "$in", "$nin":
		in, err := newIn(op, arg)
		if err != nil {
			return nil, err
		}
		if op == "$nin" {
			return notNode{&fieldNode{p, in}}, nil
		}
		return is(in)
	case "$exists":
		if truthy(arg) {
			return is(existsLeaf{})
		}
		return notNode{&fieldNode{p, existsLeaf{}}}, nil
	case "$type":
		t, err := newType(arg)
		if err != nil {
			return nil, err
		}
		return is(t)
	case "$regex":
		opts, _ := all.Lookup("$options")
		r, err := newRegex(arg, opts)
		if err != nil {
			return nil, err
		}
		return is(r)
	case "$options":
		return nil, nil
	case "$size":
		n, err := wholeNumber("$size", arg)
		if err != nil {
			return nil, err
		}
		if n < 0 {
			return nil, invalid("$size may not be negative")
		}
		return is(sizeLeaf(n))
	case "$mod":
		m, err := newMod(arg)
		if err != nil {
			return nil, err
		}
		return is(m)
	case "$all":
		return c.all(p, arg)
	case "$elemMatch":
		m, err := c.elemMatch(arg)
		if err != nil {
			return nil, err
		}
		return is(m)
	case "$not":
		if arg.Kind() != sqltypes.JSONObject || !operators(arg) {
			return nil, invalid("$not needs an object of operators")
		}
		list, err := c.field(p, arg)
		if err != nil {
			return nil, err
		}
		return notNode{orTrue(conjunction(list))}, nil
	}
	if !strings.HasPrefix(op, "$") {
		return nil, invalid("unknown operator: %s", op)
	}
	return nil, pgerror.NotSupported("filter operator %s", op)
}

// all compiles $all: every entry matches some value of the field.
func (c *filterCompiler) all(p *Path, arg JSON) (node, error) {
	if arg.Kind() != sqltypes.JSONArray {
		return nil, invalid("$all needs an array")
	}
	if arg.Len() == 0 {
		return constNode(false), nil
	}
	var list andNode
	for i := range arg.Len() {
		e := arg.Index(i)
		if sub, ok := e.Lookup("$elemMatch"); ok && e.Len() == 1 {
			m, err := c.elemMatch(sub)
			if err != nil {
				return nil, err
			}
			list = append(list, &fieldNode{p, m})
			continue
		}
		if operators(e) {
			return nil, invalid("no operators but $elemMatch in $all")
		}
		list = append(list, &fieldNode{p, newCompare(cmpEq, e)})
	}
	return list, nil
}

// elemMatch compiles $elemMatch: one element satisfies all conditions, either
// operators on the element itself or a filter of its members.
func (c *filterCompiler) elemMatch(arg JSON) (leaf, error) {
	if arg.Kind() != sqltypes.JSONObject {
		return nil, invalid("$elemMatch needs an object")
	}
	onValue := operators(arg)
	for i := range arg.Len() {
		switch arg.Key(i) {
		case "$and", "$or", "$nor", "$expr", "$comment":
			onValue = false
		}
	}
	if !onValue {
		list, err := c.document(arg)
		if err != nil {
			return nil, err
		}
		return &elemLeaf{of: orTrue(conjunction(list)), objects: true}, nil
	}
	list, err := c.field(&Path{}, arg)
	if err != nil {
		return nil, err
	}
	return &elemLeaf{of: orTrue(conjunction(list))}, nil
}
