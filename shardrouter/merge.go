package shardrouter

import (
	"bytes"
	"container/heap"

	"ostraka/docstore"
)

// source is one shard's sorted stream in a merge, with its next document.
type source struct {
	cur docstore.Cursor
	doc docstore.JSON
	key []byte
}

// mergeCursor merges sorted streams: one document of each is in memory. Equal
// keys keep the order of the streams.
type mergeCursor struct {
	key   func(docstore.JSON) []byte
	live  []*source // a heap
	rest  []*source // not begun
	all   []docstore.Cursor
	began bool
}

// merged is a cursor over streams that are sorted by key.
func merged(streams []docstore.Cursor, key func(docstore.JSON) []byte) docstore.Cursor {
	m := &mergeCursor{key: key, all: streams}
	for _, c := range streams {
		m.rest = append(m.rest, &source{cur: c})
	}
	return m
}

func (m *mergeCursor) Len() int           { return len(m.live) }
func (m *mergeCursor) Less(i, j int) bool { return bytes.Compare(m.live[i].key, m.live[j].key) < 0 }
func (m *mergeCursor) Swap(i, j int)      { m.live[i], m.live[j] = m.live[j], m.live[i] }
func (m *mergeCursor) Push(x any)         { m.live = append(m.live, x.(*source)) }
func (m *mergeCursor) Pop() any {
	n := len(m.live) - 1
	x := m.live[n]
	m.live = m.live[:n]
	return x
}

// fetch reads a stream's next document; false at its end.
func (m *mergeCursor) fetch(s *source) (bool, error) {
	var ok bool
	var err error
	if s.doc, ok, err = s.cur.Next(); err != nil || !ok {
		return false, err
	}
	s.key = m.key(s.doc)
	return true, nil
}

func (m *mergeCursor) Next() (docstore.JSON, bool, error) {
	if !m.began {
		m.began = true
		for _, s := range m.rest {
			ok, err := m.fetch(s)
			if err != nil {
				return docstore.JSON{}, false, err
			}
			if ok {
				m.live = append(m.live, s)
			}
		}
		m.rest = nil
		heap.Init(m)
	}
	if len(m.live) == 0 {
		return docstore.JSON{}, false, nil
	}
	s := m.live[0]
	doc := s.doc
	ok, err := m.fetch(s)
	switch {
	case err != nil:
		return docstore.JSON{}, false, err
	case ok:
		heap.Fix(m, 0)
	default:
		heap.Pop(m)
	}
	return doc, true, nil
}

func (m *mergeCursor) Close() {
	for _, c := range m.all {
		c.Close()
	}
}

// concatenated reads streams one after the other.
type concatenated struct {
	streams []docstore.Cursor
	at      int
}

func (c *concatenated) Next() (docstore.JSON, bool, error) {
	for ; c.at < len(c.streams); c.at++ {
		d, ok, err := c.streams[c.at].Next()
		if ok || err != nil {
			return d, ok, err
		}
	}
	return docstore.JSON{}, false, nil
}

func (c *concatenated) Close() {
	for _, s := range c.streams {
		s.Close()
	}
}

// deduped leaves out values that equal the one before them.
type deduped struct {
	docstore.Cursor
	last docstore.JSON
	any  bool
}

func (d *deduped) Next() (docstore.JSON, bool, error) {
	for {
		v, ok, err := d.Cursor.Next()
		if !ok || err != nil {
			return v, ok, err
		}
		if d.any && docstore.Equal(v, d.last) {
			continue
		}
		d.last, d.any = v, true
		return v, true, nil
	}
}
