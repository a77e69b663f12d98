package docstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ostraka/engine"
	"ostraka/sqltypes"
)

// access is how the documents of a filter are found.
type access struct {
	coll *Collection
	// index is nil for the collection itself, in the order of _id.
	index *Index
	spans []engine.Span // nil: everything
	// bounds says in words what the spans cover, for EXPLAIN.
	bounds []string
	// sorted: documents come in the order asked for; reverse: read backwards.
	sorted, reverse bool
	// several: one document may come more than once.
	several bool
	// union, when not nil, are the ways of finding the documents of each branch of an $or.
	union []*access
}

// bound is what a filter says about one path.
type bound struct {
	eq     []JSON // nil: no equality
	isEq   bool
	lo, hi *compareLeaf
	prefix string // of an anchored regular expression
}

// boundsOf gathers the usable conditions per path.
func (f *Filter) boundsOf() map[string]*bound {
	out := map[string]*bound{}
	get := func(p *Path) *bound {
		b := out[p.Text]
		if b == nil {
			b = &bound{}
			out[p.Text] = b
		}
		return b
	}
	for _, n := range f.conj {
		switch l := n.pred.(type) {
		case *compareLeaf:
			if l.class == ClassArray {
				continue
			}
			b := get(n.path)
			switch l.op {
			case cmpEq:
				if !b.isEq || len(b.eq) > 1 {
					b.isEq, b.eq = true, []JSON{l.val}
				}
			case cmpGt, cmpGte:
				if b.lo == nil {
					b.lo = l
				}
			default:
				if b.hi == nil {
					b.hi = l
				}
			}
		case *inLeaf:
			if slices.ContainsFunc(l.vals, func(v JSON) bool { return v.Kind() == sqltypes.JSONArray }) {
				continue
			}
			if b := get(n.path); !b.isEq {
				b.isEq, b.eq = true, l.vals
			}
		case *regexLeaf:
			if l.prefix != "" && !strings.Contains(l.prefix, "\x00") {
				get(n.path).prefix = l.prefix
			}
		}
	}
	return out
}

// KeyValues are the values that a filter fixes a path to, by equality or $in, in
// {"a.b": x} or {"a": {"b": x}}; ok is false when it does not. Only scalars count.
func (f *Filter) KeyValues(path string) (vals []JSON, ok bool) {
	for _, n := range f.conj {
		rest, found := "", n.path.Text == path
		if !found {
			if rest, found = strings.CutPrefix(path, n.path.Text+"."); !found {
				continue
			}
		}
		var list []JSON
		switch l := n.pred.(type) {
		case *compareLeaf:
			if l.op != cmpEq {
				continue
			}
			list = []JSON{l.val}
		case *inLeaf:
			list = l.vals
		default:
			continue
		}
		if rest != "" {
			p, err := ParsePath(rest)
			if err != nil {
				continue
			}
			list = slices.Clone(list)
			usable := true
			for i, v := range list {
				usable = usable && ClassOf(v) == ClassObject
				list[i], _ = p.Get(v) // missing is null
			}
			if !usable {
				continue
			}
		}
		if slices.ContainsFunc(list, func(v JSON) bool { return !v.IsZero() && v.IsContainer() && ClassOf(v) != ClassDate }) {
			continue
		}
		if !ok || len(list) < len(vals) {
			vals, ok = list, true
		}
	}
	return vals, ok
}

const maxSpans = 1000

// plan chooses how to find the documents: by one index or, when only an $or could
// use indexes, by one for each of its branches.
func (r *runner) plan(ctx context.Context, c *Collection, f *Filter, s *Sort) (*access, error) {
	a, err := r.planOne(ctx, c, f, s)
	if err != nil || a.index != nil || a.spans != nil {
		return a, err
	}
	var branches orNode
	switch x := f.root.(type) {
	case orNode:
		branches = x
	case andNode:
		for _, n := range x {
			if o, ok := n.(orNode); ok {
				branches = o
				break
			}
		}
	}
	if len(branches) == 0 || len(branches) > maxUnion {
		return a, nil
	}
	u := &access{coll: c, several: true}
	for _, n := range branches {
		sub := &Filter{}
		sub.collect(n)
		b, err := r.planOne(ctx, c, sub, nil)
		if err != nil {
			return nil, err
		}
		if b.index == nil && b.spans == nil {
			return a, nil // one branch reads everything
		}
		u.union = append(u.union, b)
	}
	return u, nil
}

// maxUnion bounds the branches of an $or that are answered by indexes.
const maxUnion = 64

// planOne chooses one index: the one that fixes most of its leading fields, then a
// range, then the order that is asked for.
func (r *runner) planOne(ctx context.Context, c *Collection, f *Filter, s *Sort) (*access, error) {
	bounds := f.boundsOf()
	best := &access{coll: c}
	score := 0
	if b := bounds["_id"]; b != nil {
		best.spans, best.bounds, _ = spansOf([]string{"_id"}, []bool{false}, bounds, false)
		if score = 1; b.isEq {
			score = 1000
		}
		if best.spans == nil {
			score = 0
		}
	}
	if s != nil && len(s.fields) == 1 && s.fields[0].path.Text == "_id" {
		best.sorted, best.reverse = true, s.fields[0].desc
		if score == 0 {
			score = 1
		}
	}
	if score >= 1000 {
		return best, nil
	}
	for _, x := range c.Indexes {
		if !x.Ix.Ready || x.Spec.Text || x.partial != nil && !f.implies(x.partial) {
			continue
		}
		eq, ranged := 0, false
		for _, p := range x.Spec.Fields {
			b := bounds[p.Path]
			if b == nil {
				break
			}
			if b.isEq {
				eq++
				continue
			}
			ranged = b.lo != nil || b.hi != nil || b.prefix != ""
			break
		}
		order, back := x.serves(s, bounds)
		if x.Spec.Sparse && (eq == 0 && !ranged || x.nullable(bounds)) {
			continue
		}
		n := 10 * eq
		if ranged {
			n += 5
		}
		if order && (eq > 0 || ranged || s != nil) {
			n += 3
		}
		if eq > 0 && x.Spec.Unique && eq == len(x.Spec.Fields) {
			n += 50
		}
		if n <= score {
			continue
		}
		// A complete key of one value leads to each document once, whatever the index has.
		many := false
		if eq < len(x.Spec.Fields) || slices.ContainsFunc(x.Spec.Fields, func(p IndexField) bool { return len(bounds[p.Path].eq) != 1 }) {
			var err error
			if many, err = r.multikey(ctx, c, x); err != nil {
				return nil, err
			}
		}
		if many && eq == 0 && !ranged {
			continue // only its order would have been of use
		}
		a := &access{coll: c, index: x}
		paths, desc := make([]string, len(x.Spec.Fields)), make([]bool, len(x.Spec.Fields))
		for i, p := range x.Spec.Fields {
			paths[i], desc[i] = p.Path, p.Desc
		}
		a.spans, a.bounds, _ = spansOf(paths, desc, bounds, many)
		a.several = many
		a.sorted, a.reverse = order && !many && len(a.spans) <= 1, back
		if a.spans == nil { // all but the markers
			lo, hi := []sqltypes.Datum{sqltypes.Bytes([]byte{keyMarker + 1})}, []sqltypes.Datum(nil)
			if desc[0] {
				lo, hi = nil, lo
			}
			a.spans = []engine.Span{{Lo: lo, Hi: hi, LoInc: true}}
		}
		best, score = a, n
	}
	if !best.sorted {
		best.reverse = false
	}
	return best, nil
}

// nullable reports that the conditions on all fields could be met by a document
// that has none of them.
func (x *Index) nullable(bounds map[string]*bound) bool {
	for _, p := range x.Spec.Fields {
		b := bounds[p.Path]
		if b == nil {
			continue
		}
		if !b.isEq {
			return false
		}
		if !slices.ContainsFunc(b.eq, func(v JSON) bool { return ClassOf(v) == ClassNull }) {
			return false
		}
	}
	return true
}

// serves reports that reading the index, forwards or backwards, gives the order.
func (x *Index) serves(s *Sort, bounds map[string]*bound) (ok, reverse bool) {
	if s == nil {
		return false, false
	}
	i := 0
	for ; i < len(x.Spec.Fields); i++ {
		b := bounds[x.Spec.Fields[i].Path]
		if b == nil || !b.isEq || len(b.eq) != 1 || x.Spec.Fields[i].Path == s.fields[0].path.Text {
			break
		}
	}
	for k, f := range s.fields {
		if i+k >= len(x.Spec.Fields) || x.Spec.Fields[i+k].Path != f.path.Text {
			return false, false
		}
		back := x.Spec.Fields[i+k].Desc != f.desc
		if k > 0 && back != reverse {
			return false, false
		}
		reverse = back
	}
	return true, reverse
}

// spansOf makes the key ranges for leading fields: equalities, then at most one
// range. many: the index is multikey, so that both ends of a range may be met by
// different elements and only one is used.
func spansOf(paths []string, desc []bool, bounds map[string]*bound, many bool) (spans []engine.Span, words []string, ranged bool) {
	prefixes := [][]sqltypes.Datum{nil}
	i := 0
	for ; i < len(paths); i++ {
		b := bounds[paths[i]]
		if b == nil || !b.isEq || len(prefixes)*max(1, len(b.eq)) > maxSpans {
			break
		}
		keys := make([]string, len(b.eq))
		for k, v := range b.eq {
			keys[k] = string(AppendKey(nil, v))
		}
		slices.Sort(keys)
		keys = slices.Compact(keys)
		if desc[i] {
			slices.Reverse(keys)
		}
		next := make([][]sqltypes.Datum, 0, len(prefixes)*len(keys))
		for _, p := range prefixes {
			for _, k := range keys {
				next = append(next, append(p[:len(p):len(p)], sqltypes.Text(k)))
			}
		}
		prefixes = next
		words = append(words, boundWords(paths[i], b, many))
	}
	var lo, hi sqltypes.Datum
	loInc, hiInc := true, false
	if i < len(paths) {
		if b := bounds[paths[i]]; b != nil && !b.isEq {
			lo, hi, loInc, hiInc, ranged = b.ends(many)
			if ranged {
				words = append(words, boundWords(paths[i], b, many))
				if desc[i] {
					lo, hi, loInc, hiInc = hi, lo, hiInc, loInc
				}
			}
		}
	}
	if i == 0 && !ranged {
		return nil, nil, false
	}
	spans = []engine.Span{}
	for _, p := range prefixes {
		if !ranged {
			spans = append(spans, engine.Span{Lo: p, Hi: p, LoInc: true, HiInc: true})
			continue
		}
		spans = append(spans, engine.Span{Lo: append(p[:len(p):len(p)], lo), Hi: append(p[:len(p):len(p)], hi), LoInc: loInc, HiInc: hiInc})
	}
	return spans, words, ranged
}

// ends are the keys that a range of one class lies between.
func (b *bound) ends(many bool) (lo, hi sqltypes.Datum, loInc, hiInc, ok bool) {
	if b.lo != nil && b.hi != nil && b.lo.class != b.hi.class && !many {
		many = true // nothing or different elements: one end is enough
	}
	if b.lo == nil && b.hi == nil {
		if b.prefix == "" {
			return lo, hi, false, false, false
		}
		from := append([]byte{byte(ClassString)}, b.prefix...)
		to := prefixEnd(from)
		return sqltypes.Bytes(from), sqltypes.Bytes(to), true, false, true
	}
	class := ClassNull
	if b.lo != nil {
		class = b.lo.class
	} else {
		class = b.hi.class
	}
	if class == ClassArray || class == ClassNull {
		return lo, hi, false, false, false
	}
	lo, hi = classBounds(class)
	loInc, hiInc = true, false
	if b.lo != nil {
		lo, loInc = keyDatum(b.lo.val), b.lo.op == cmpGte
	}
	if b.hi != nil && (b.lo == nil || !many) {
		hi, hiInc = keyDatum(b.hi.val), b.hi.op == cmpLte
	}
	return lo, hi, loInc, hiInc, true
}

func prefixEnd(p []byte) []byte {
	out := slices.Clone(p)
	for i := len(out) - 1; i >= 0; i-- {
		if out[i] != 0xff {
			out[i]++
			return out[:i+1]
		}
	}
	return out
}

func boundWords(path string, b *bound, many bool) string {
	switch {
	case b.isEq && len(b.eq) == 1:
		return path + " = " + shown(b.eq[0])
	case b.isEq:
		return fmt.Sprintf("%s in %d values", path, len(b.eq))
	case b.lo == nil && b.hi == nil:
		return path + " begins with " + b.prefix
	}
	op := func(l *compareLeaf, strict, other string, or cmpOp) string {
		if l.op == or {
			return other
		}
		return strict
	}
	var parts []string
	if b.lo != nil {
		parts = append(parts, path+op(b.lo, " > ", " >= ", cmpGte)+shown(b.lo.val))
	}
	if b.hi != nil && (b.lo == nil || !many) {
		parts = append(parts, path+op(b.hi, " < ", " <= ", cmpLte)+shown(b.hi.val))
	}
	return strings.Join(parts, " and ")
}

func shown(v JSON) string {
	if v.IsZero() {
		return "null"
	}
	s := v.String()
	if len(s) > 60 {
		s = s[:57] + "..."
	}
	return s
}

// implies reports that every document that matches f matches the filter of a
// partial index: each of its conditions stands in f too, or follows from one there.
func (f *Filter) implies(partial *Filter) bool {
	if partial.root == nil {
		return true
	}
	n := 1
	if and, ok := partial.root.(andNode); ok {
		n = len(and)
	}
	if len(partial.conj) != n {
		return false
	}
	for _, want := range partial.conj {
		if !slices.ContainsFunc(f.conj, func(have *fieldNode) bool {
			return have.path.Text == want.path.Text && leafImplies(have.pred, want.pred)
		}) {
			return false
		}
	}
	return true
}

func leafImplies(have, want leaf) bool {
	h, ok := have.(*compareLeaf)
	if _, exists := want.(existsLeaf); exists {
		return ok && h.class != ClassNull
	}
	w, ok2 := want.(*compareLeaf)
	if !ok || !ok2 || h.class != w.class {
		return false
	}
	c := compareSame(h.class, h.val, w.val)
	switch w.op {
	case cmpEq:
		return h.op == cmpEq && c == 0
	case cmpGt:
		return h.op == cmpGt && c >= 0 || (h.op == cmpEq || h.op == cmpGte) && c > 0
	case cmpGte:
		return (h.op == cmpGt || h.op == cmpGte || h.op == cmpEq) && c >= 0
	case cmpLt:
		return h.op == cmpLt && c <= 0 || (h.op == cmpEq || h.op == cmpLte) && c < 0
	}
	return (h.op == cmpLt || h.op == cmpLte || h.op == cmpEq) && c <= 0
}

// multikey reports that some document has several keys in the index: such a
// document has a marker there.
func (r *runner) multikey(ctx context.Context, c *Collection, x *Index) (bool, error) {
	span := engine.Span{Lo: []sqltypes.Datum{sqltypes.Bytes([]byte{keyMarker})}, Hi: []sqltypes.Datum{sqltypes.Bytes([]byte{keyMarker + 1})}, LoInc: true}
	if x.Ix.Keys[0].Desc {
		span = engine.Span{Lo: span.Hi, Hi: span.Lo, HiInc: true}
	}
	if r.newest != nil {
		return r.newest.Any(c.Rel, x.Ix, span)
	}
	return engine.FindsRow(r.scanner(ctx, engine.ScanSpec{Rel: c.Rel, Index: x.Ix, Spans: []engine.Span{span}, Cols: []int16{attrKey}, RowHint: 1}))
}

// Describe says in lines how documents are found, for EXPLAIN.
func (a *access) describe() []string {
	var out []string
	if a.union != nil {
		out = append(out, "Union of Index Scans on "+a.coll.Name())
		for _, b := range a.union {
			for _, l := range b.describe() {
				out = append(out, "  "+l)
			}
		}
		return out
	}
	switch {
	case a.index == nil && a.spans == nil:
		out = append(out, "Collection Scan on "+a.coll.Name())
	case a.index == nil:
		out = append(out, "Index Scan using "+idIndexName+" on "+a.coll.Name())
	default:
		out = append(out, "Index Scan using "+a.index.Spec.Name+" on "+a.coll.Name())
	}
	if a.reverse {
		out[0] = strings.Replace(out[0], " Scan", " Scan Backward", 1)
	}
	if len(a.bounds) > 0 {
		out = append(out, "  Index Bounds: "+strings.Join(a.bounds, ", "))
	}
	return out
}
