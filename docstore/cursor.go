package docstore

import (
	"slices"
	"strings"
)

// sliceCursor streams documents that are in memory.
type sliceCursor struct{ docs []JSON }

// Slice is a cursor over documents.
func Slice(docs []JSON) Cursor { return &sliceCursor{docs} }

func (c *sliceCursor) Next() (JSON, bool, error) {
	if len(c.docs) == 0 {
		return JSON{}, false, nil
	}
	d := c.docs[0]
	c.docs = c.docs[1:]
	return d, true, nil
}

func (c *sliceCursor) Close() { c.docs = nil }

// funcCursor is a cursor made of two functions.
type funcCursor struct {
	next  func() (JSON, bool, error)
	close func()
}

func (c *funcCursor) Next() (JSON, bool, error) { return c.next() }

func (c *funcCursor) Close() {
	if c.close != nil {
		c.close()
		c.close = nil
	}
}

// ReadAll reads a cursor to its end and closes it; nil, an answer without documents,
// has none.
func ReadAll(c Cursor) ([]JSON, error) {
	if c == nil {
		return nil, nil
	}
	defer c.Close()
	var out []JSON
	for {
		d, ok, err := c.Next()
		if err != nil || !ok {
			return out, err
		}
		out = append(out, d)
	}
}

// Window applies skip and take (negative: all) to a cursor.
func Window(c Cursor, skip, take int64) Cursor {
	if skip <= 0 && take < 0 {
		return c
	}
	return &funcCursor{close: c.Close, next: func() (JSON, bool, error) {
		for ; skip > 0; skip-- {
			if _, ok, err := c.Next(); !ok || err != nil {
				return JSON{}, false, err
			}
		}
		if take == 0 {
			return JSON{}, false, nil
		}
		if take > 0 {
			take--
		}
		return c.Next()
	}}
}

func sortByName(list []*Collection) {
	slices.SortFunc(list, func(a, b *Collection) int { return strings.Compare(a.Name(), b.Name()) })
}
