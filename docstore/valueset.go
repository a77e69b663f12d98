package docstore

import (
	"slices"
	"strings"
)

// valueSet is a set of values under Compare.
type valueSet struct {
	m     map[string]JSON
	bytes int
}

func newValueSet() *valueSet { return &valueSet{m: map[string]JSON{}} }

func (s *valueSet) add(v JSON) error {
	k := string(AppendKey(nil, v))
	if _, ok := s.m[k]; ok {
		return nil
	}
	if s.bytes += 2*len(k) + 64; s.bytes > maxMemory {
		return errMemory("set of values")
	}
	s.m[k] = v
	return nil
}

// sorted lists the values in order.
func (s *valueSet) sorted() []JSON {
	list := make([]keyed, 0, len(s.m))
	for k, v := range s.m {
		list = append(list, keyed{key: k, doc: v})
	}
	slices.SortFunc(list, func(a, b keyed) int { return strings.Compare(a.key, b.key) })
	out := make([]JSON, len(list))
	for i := range list {
		out[i] = list[i].doc
	}
	return out
}
