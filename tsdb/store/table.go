package store

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"ostraka/tsdb/chunk"
)

// TableSpec defines a table. Fields may be added later by defining it again with
// more; a field's number and kind stay.
type TableSpec struct {
	ID     uint64 // never reused
	Tags   int    // number of tags
	Fields []Field
	Window int64 // length of a window in units of time, > 0
}

// Field is one value column.
type Field struct {
	ID   int16 // the column's attribute number
	Kind chunk.Kind
}

// Tag is one tag's value of a series.
type Tag struct {
	Value string
	Null  bool
}

// Table is a set of series.
type Table struct {
	ID     uint64
	Tags   int
	Window int64

	mu     sync.RWMutex
	fields []Field
	byKey  map[string]*Series
	all    []*Series            // by age
	post   []map[string][]int32 // per tag: value → indexes into all
	nulls  [][]int32            // per tag: series in which it is NULL
	gone   bool
}

// Series is one combination of tag values.
type Series struct {
	SID   uint32 // unique in the store, given by age
	Table *Table
	Tags  []Tag

	logged    atomic.Bool // its definition is in the log or in the database
	persisted bool        // … in the database; guarded by Store.work
}

func newTable(spec TableSpec) *Table {
	t := &Table{ID: spec.ID, Tags: spec.Tags, Window: spec.Window, fields: spec.Fields, byKey: map[string]*Series{}}
	t.post = make([]map[string][]int32, spec.Tags)
	t.nulls = make([][]int32, spec.Tags)
	for i := range t.post {
		t.post[i] = map[string][]int32{}
	}
	return t
}

// Fields lists the fields; the position in it is that of the values in Batch.Put.
func (t *Table) Fields() []Field {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.fields
}

func (s TableSpec) encode() []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a struct of numbers
	}
	return b
}

// tagKey is the tags as a string that is different for different tags.
func tagKey(tags []Tag) string {
	var b strings.Builder
	for _, t := range tags {
		if t.Null {
			b.WriteByte(0)
			continue
		}
		var n [binary.MaxVarintLen64]byte
		b.WriteByte(1)
		b.Write(n[:binary.PutUvarint(n[:], uint64(len(t.Value)))])
		b.WriteString(t.Value)
	}
	return b.String()
}

func parseTagKey(b []byte, n int) ([]Tag, []byte, error) {
	out := make([]Tag, n)
	for i := range out {
		if len(b) == 0 {
			return nil, nil, fmt.Errorf("time series: tags cut short")
		}
		kind := b[0]
		b = b[1:]
		if kind == 0 {
			out[i].Null = true
			continue
		}
		size, k := binary.Uvarint(b)
		if k <= 0 || size > uint64(len(b)-k) {
			return nil, nil, fmt.Errorf("time series: tags cut short")
		}
		out[i].Value = string(b[k : k+int(size)])
		b = b[k+int(size):]
	}
	return out, b, nil
}

// add enters a series; t.mu is held.
func (t *Table) add(s *Series, key string) {
	at := int32(len(t.all))
	t.all = append(t.all, s)
	t.byKey[key] = s
	for i, tag := range s.Tags {
		if tag.Null {
			t.nulls[i] = append(t.nulls[i], at)
		} else {
			t.post[i][tag.Value] = append(t.post[i][tag.Value], at)
		}
	}
}

// Matcher is a condition on one tag.
type Matcher struct {
	Tag int
	// Values and Null: the tag is one of Values, or NULL when Null.
	Values []string
	Null   bool
	// Func, when set, decides instead.
	Func func(Tag) bool
}

func (m *Matcher) match(t Tag) bool {
	switch {
	case m.Func != nil:
		return m.Func(t)
	case t.Null:
		return m.Null
	}
	return slices.Contains(m.Values, t.Value)
}

// Select lists the series that match all matchers, by age. No matcher: all of them.
func (t *Table) Select(ms []Matcher) []*Series {
	t.mu.RLock()
	defer t.mu.RUnlock()
	// The matcher with the fewest candidates gives them, the others test.
	best, size := -1, len(t.all)
	for i := range ms {
		m := &ms[i]
		if m.Func != nil {
			continue
		}
		n := 0
		for _, v := range m.Values {
			n += len(t.post[m.Tag][v])
		}
		if m.Null {
			n += len(t.nulls[m.Tag])
		}
		if n <= size {
			best, size = i, n
		}
	}
	out := make([]*Series, 0, min(size, 1024))
	test := func(s *Series) {
		for i := range ms {
			if i != best && !ms[i].match(s.Tags[ms[i].Tag]) {
				return
			}
		}
		out = append(out, s)
	}
	if best < 0 {
		if len(ms) == 0 {
			return append(out, t.all...)
		}
		for _, s := range t.all {
			test(s)
		}
		return out
	}
	m := &ms[best]
	var at []int32
	for _, v := range m.Values {
		at = append(at, t.post[m.Tag][v]...)
	}
	if m.Null {
		at = append(at, t.nulls[m.Tag]...)
	}
	slices.Sort(at)
	for _, i := range slices.Compact(at) {
		test(t.all[i])
	}
	return out
}

// TagValues lists the values of a tag, sorted.
func (t *Table) TagValues(tag int) []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	out := make([]string, 0, len(t.post[tag]))
	for v := range t.post[tag] {
		out = append(out, v)
	}
	slices.Sort(out)
	return out
}

// SeriesCount is the number of series.
func (t *Table) SeriesCount() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.all)
}

// Find returns the series of exactly these tags, nil if there is none.
func (t *Table) Find(tags []Tag) *Series {
	key := tagKey(tags)
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byKey[key]
}
