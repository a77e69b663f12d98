package docstore

import (
	"strconv"
	"strings"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Positional parts of an update's path: $[] is every element, $[name] those that
// an array filter of that name matches, $ the first one that the filter matched.

// arrayFilters are the compiled array_filters, by name.
type arrayFilters struct {
	m    map[string]*Filter
	used map[string]bool
}

func compileArrayFilters(j JSON) (*arrayFilters, error) {
	a := &arrayFilters{m: map[string]*Filter{}, used: map[string]bool{}}
	if j.IsZero() || j.Kind() == sqltypes.JSONNull {
		return a, nil
	}
	if j.Kind() != sqltypes.JSONArray {
		return nil, invalid("array_filters must be an array of filters")
	}
	for _, e := range j.Elems() {
		name := ""
		if err := filterName(e, &name); err != nil {
			return nil, err
		}
		if name == "" {
			return nil, invalid("an array filter must name the elements that it is about: %s", shown(e))
		}
		if a.m[name] != nil {
			return nil, invalid("two array filters have the name %q", name)
		}
		f, err := CompileFilter(e)
		if err != nil {
			return nil, err
		}
		if f.env != nil {
			return nil, pgerror.NotSupported("$expr in an array filter")
		}
		a.m[name] = f
	}
	return a, nil
}

// filterName finds the one name that all paths of an array filter begin with.
func filterName(f JSON, name *string) error {
	for _, p := range f.Pairs() {
		if strings.HasPrefix(p.Key, "$") {
			for _, e := range p.Value.Elems() {
				if err := filterName(e, name); err != nil {
					return err
				}
			}
			continue
		}
		first, _, _ := strings.Cut(p.Key, ".")
		if *name != "" && *name != first {
			return invalid("an array filter is about one name, not %q and %q", *name, first)
		}
		*name = first
	}
	return nil
}

// positional prepares the positional parts of an update's path.
func (a *arrayFilters) positional(p *Path) error {
	for i, part := range p.parts {
		if !strings.HasPrefix(part, "$") {
			continue
		}
		if i == 0 {
			return invalid("the path %q may not begin with %s", p.Text, part)
		}
		switch {
		case part == "$[]":
		case part == "$":
			if p.matched > 0 {
				return invalid("the path %q has more than one $", p.Text)
			}
			p.matched = i
		case strings.HasPrefix(part, "$[") && strings.HasSuffix(part, "]"):
			name := part[2 : len(part)-1]
			f := a.m[name]
			if f == nil {
				return invalid("no array filter has the name %q of the path %q", name, p.Text)
			}
			a.used[name] = true
			if p.elements == nil {
				p.elements = make([]*elementFilter, len(p.parts))
			}
			p.elements[i] = &elementFilter{name, f}
		default:
			return pgerror.NotSupported("the positional operator %s in path %q", part, p.Text)
		}
	}
	return nil
}

// allUsed refuses array filters that no path names.
func (a *arrayFilters) allUsed() error {
	for name := range a.m {
		if !a.used[name] {
			return invalid("the array filter %q is not used in the update", name)
		}
	}
	return nil
}

// elementFilter picks elements for $[name].
type elementFilter struct {
	name string
	f    *Filter
}

func (e *elementFilter) match(v JSON) bool {
	ok, err := e.f.Match(obj(e.name, v))
	return ok && err == nil
}

// resolve puts the index of the element that the filter matched in the place of $.
func (p *Path) resolve(doc JSON, f *Filter) (*Path, error) {
	if p.matched == 0 {
		return p, nil
	}
	k := p.matched
	list := doc
	for _, part := range p.parts[:k] {
		v, ok := list.Lookup(part)
		if !ok {
			list = JSON{}
			break
		}
		list = v
	}
	at := -1
	if !list.IsZero() && list.Kind() == sqltypes.JSONArray && f != nil {
		at = f.matchedElement(strings.Join(p.parts[:k], "."), list)
	}
	if at < 0 {
		return nil, invalid("the positional operator $ of path %q did not find the element that the filter matched", p.Text)
	}
	q := *p
	q.parts = append([]string(nil), p.parts...)
	q.index = append([]int(nil), p.index...)
	q.parts[k], q.index[k], q.matched = strconv.Itoa(at), at, 0
	return &q, nil
}

// matchedElement is the first element of the array at a path that fulfils one of
// the filter's conditions on it, -1 when there is none.
func (f *Filter) matchedElement(path string, list JSON) int {
	for _, n := range f.conj {
		rest, inside := strings.CutPrefix(n.path.Text, path+".")
		var test func(e JSON) bool
		switch {
		case n.path.Text == path:
			test = func(e JSON) bool { return n.pred.at(e, true) }
			if m, ok := n.pred.(*elemLeaf); ok {
				test = func(e JSON) bool { return (!m.objects || e.IsContainer()) && m.of.match(e) }
			}
		case inside:
			p, err := ParsePath(rest)
			if err != nil {
				continue
			}
			test = func(e JSON) bool { return e.IsContainer() && p.any(e, 0, n.pred) }
		default:
			continue
		}
		for i := range list.Len() {
			if test(list.Index(i)) {
				return i
			}
		}
	}
	return -1
}
