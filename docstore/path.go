package docstore

import (
	"strconv"
	"strings"
	"sync/atomic"

	"ostraka/sqltypes"
)

// Path is a dotted path, split once.
type Path struct {
	Text  string
	parts []string
	index []int // the part as an array index, -1 if it is none
	// near is where in an object each part was found last: documents of one collection
	// are much alike.
	near []atomic.Int32
	// Of updates (arrayFilters.positional): which part is $, 0 for none; the filters
	// of the parts that are $[name].
	matched  int
	elements []*elementFilter
}

// ParsePath splits a dotted path; empty parts are an error (22023).
func ParsePath(s string) (*Path, error) {
	p := &Path{Text: s, parts: strings.Split(s, ".")}
	p.index = make([]int, len(p.parts))
	p.near = make([]atomic.Int32, len(p.parts))
	for i, part := range p.parts {
		if part == "" {
			return nil, invalid("path %q has an empty part", s)
		}
		p.index[i] = arrayIndex(part)
	}
	return p, nil
}

func arrayIndex(s string) int {
	if len(s) > 9 || s[0] < '0' || s[0] > '9' || len(s) > 1 && s[0] == '0' {
		return -1
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}

// Get follows the path through objects only (shard keys, _id): a missing member
// or an array on the way is not found.
func (p *Path) Get(doc JSON) (JSON, bool) {
	for i := range p.parts {
		v, ok := p.member(doc, i)
		if !ok {
			return JSON{}, false
		}
		doc = v
	}
	return doc, true
}

// leaf looks at what is at the end of a path; ok is false for a missing field.
type leaf interface{ at(v JSON, ok bool) bool }

// any visits every value that the path leads to, as filters do: arrays on the
// way fan out over their elements (and by index). It stops at the first for
// which l answers true. Elements of an array at the very end are l's affair.
func (p *Path) any(j JSON, i int, l leaf) bool {
	for ; i < len(p.parts); i++ {
		if j.Kind() == sqltypes.JSONArray {
			return p.anyElement(j, i, l)
		}
		v, ok := p.member(j, i)
		if !ok {
			return l.at(JSON{}, false)
		}
		j = v
	}
	return l.at(j, true)
}

// member is the member of an object that part i names.
func (p *Path) member(j JSON, i int) (JSON, bool) {
	if i >= len(p.near) { // not made by ParsePath
		return j.Lookup(p.parts[i])
	}
	was := int(p.near[i].Load())
	v, at, ok := j.LookupNear(p.parts[i], was)
	if at != was {
		p.near[i].Store(int32(at))
	}
	return v, ok
}

func (p *Path) anyElement(j JSON, i int, l leaf) bool {
	n := j.Len()
	if x := p.index[i]; x >= 0 && x < n && p.any(j.Index(x), i+1, l) {
		return true
	}
	for k := 0; k < n; k++ {
		e := j.Index(k)
		switch e.Kind() {
		case sqltypes.JSONObject:
			if p.any(e, i, l) {
				return true
			}
		case sqltypes.JSONArray:
			if x := p.index[i]; x >= 0 && x < e.Len() && p.any(e.Index(x), i+1, l) {
				return true
			}
		}
	}
	return false
}

// collector gathers the values of a path.
type collector struct {
	vals    []JSON
	missing bool
	// arrays: an array at the end was expanded into its elements.
	arrays bool
	empty  bool // an empty array was met
}

func (c *collector) at(v JSON, ok bool) bool {
	switch {
	case !ok:
		c.missing = true
	case v.Kind() == sqltypes.JSONArray:
		c.arrays = true
		n := v.Len()
		c.empty = c.empty || n == 0
		for i := range n {
			c.vals = append(c.vals, v.Index(i))
		}
	default:
		c.vals = append(c.vals, v)
	}
	return false
}

// sortValue is what a document sorts by: of the values the path leads to the
// smallest, or the largest for descending; an empty array is below null.
func (p *Path) sortValue(doc JSON, desc bool) (JSON, Class) {
	if len(p.parts) == 1 {
		v, ok := doc.Lookup(p.parts[0])
		if !ok {
			return JSON{}, ClassNull
		}
		if v.Kind() != sqltypes.JSONArray {
			return v, ClassOf(v)
		}
	}
	var c collector
	p.any(doc, 0, &c)
	if c.missing {
		c.vals = append(c.vals, JSON{})
	}
	if len(c.vals) == 0 {
		if c.empty {
			return JSON{}, ClassEmpty
		}
		return JSON{}, ClassNull
	}
	best := c.vals[0]
	for _, v := range c.vals[1:] {
		if cmp := Compare(v, best); cmp < 0 != desc && cmp != 0 {
			best = v
		}
	}
	if c.empty && !desc {
		return JSON{}, ClassEmpty
	}
	return best, ClassOf(best)
}
