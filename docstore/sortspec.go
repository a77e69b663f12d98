package docstore

import (
	"slices"

	"ostraka/sqltypes"
)

// Sort is a compiled sort specification: the comparator of sorts and merges.
type Sort struct {
	fields []sortField
}

type sortField struct {
	path *Path
	desc bool
}

// CompileSort reads {"a": 1} or [["a", 1], ["b", -1]]; nil for none. An object's
// members are taken in their stored order, so more than one field belongs into
// an array.
func CompileSort(j JSON) (*Sort, error) {
	if j.IsZero() || j.Kind() == sqltypes.JSONNull || j.IsContainer() && j.Len() == 0 {
		return nil, nil
	}
	s := &Sort{}
	add := func(path string, dir JSON) error {
		p, err := ParsePath(path)
		if err != nil {
			return err
		}
		n, err := wholeNumber("a sort direction", dir)
		if err != nil || n != 1 && n != -1 {
			return invalid("the sort direction of field %q must be 1 or -1", path)
		}
		s.fields = append(s.fields, sortField{p, n < 0})
		return nil
	}
	switch j.Kind() {
	case sqltypes.JSONString:
		return s, add(j.Str(), intJSON(1))
	case sqltypes.JSONObject:
		for _, p := range j.Pairs() {
			if err := add(p.Key, p.Value); err != nil {
				return nil, err
			}
		}
	case sqltypes.JSONArray:
		for _, e := range j.Elems() {
			var err error
			switch {
			case e.Kind() == sqltypes.JSONArray && e.Len() == 2 && e.Index(0).Kind() == sqltypes.JSONString:
				err = add(e.Index(0).Str(), e.Index(1))
			case e.Kind() == sqltypes.JSONObject && e.Len() == 1:
				err = add(e.Key(0), e.Value(0))
			default:
				err = invalid("a sort is an object or an array of [path, direction]")
			}
			if err != nil {
				return nil, err
			}
		}
	default:
		return nil, invalid("a sort is an object or an array of [path, direction]")
	}
	return s, nil
}

// SortKey is what a document sorts by: bytes.Compare of two is the sort's order.
// Ties are broken by _id.
func (s *Sort) SortKey(doc JSON) []byte {
	var b []byte
	for i := range s.fields {
		f := &s.fields[i]
		v, c := f.path.sortValue(doc, f.desc)
		at := len(b)
		b = appendKeyBody(append(b, byte(c)), c, v)
		if f.desc {
			for k := at; k < len(b); k++ {
				b[k] = ^b[k]
			}
		}
	}
	id, _ := doc.Lookup("_id")
	return AppendKey(b, id)
}

// Compare is the sort's order of two documents, ties broken by _id.
func (s *Sort) Compare(a, b JSON) int {
	for i := range s.fields {
		f := &s.fields[i]
		x, cx := f.path.sortValue(a, f.desc)
		y, cy := f.path.sortValue(b, f.desc)
		c := int(cx) - int(cy)
		if c == 0 {
			c = compareSame(cx, x, y)
		}
		if c != 0 {
			if f.desc {
				return -c
			}
			return c
		}
	}
	x, _ := a.Lookup("_id")
	y, _ := b.Lookup("_id")
	return Compare(x, y)
}

// keyed is a document with its sort key.
type keyed struct {
	key string
	doc JSON
	ref int // position in a parallel slice
}

// topN sorts documents and keeps the first of them only.
type topN struct {
	sort  *Sort
	limit int // negative: all
	list  []keyed
	bytes int
}

func (t *topN) add(doc JSON, ref int) error {
	k := keyed{string(t.sort.SortKey(doc)), doc, ref}
	if t.limit >= 0 && len(t.list) >= 2*t.limit+64 {
		t.cut()
	}
	t.list = append(t.list, k)
	t.bytes += len(k.key) + len(doc.Datum().S) + 64
	if t.bytes > maxMemory {
		if t.cut(); t.bytes > maxMemory {
			return errMemory("sort")
		}
	}
	return nil
}

func (t *topN) cut() {
	slices.SortStableFunc(t.list, func(a, b keyed) int {
		switch {
		case a.key < b.key:
			return -1
		case a.key > b.key:
			return 1
		}
		return 0
	})
	if t.limit >= 0 && len(t.list) > t.limit {
		clear(t.list[t.limit:])
		t.list = t.list[:t.limit]
		t.bytes = 0
		for _, k := range t.list {
			t.bytes += len(k.key) + len(k.doc.Datum().S) + 64
		}
	}
}

func (t *topN) sorted() []keyed { t.cut(); return t.list }
