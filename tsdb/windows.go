package tsdb

import (
	"context"

	"ostraka/tsdb/store"
)

// Span is a window of a table, half-open, in units of its time column.
type Span struct{ From, To int64 }

// Windows are the windows of a table that have rows and lie in [lo, hi) as a whole,
// in order. Rows in memory are flushed, so that they count.
func (db *DB) Windows(ctx context.Context, t *store.Table, lo, hi int64) ([]Span, error) {
	if err := db.st.Flush(); err != nil {
		return nil, err
	}
	starts, err := db.st.Windows(ctx, t)
	if err != nil {
		return nil, err
	}
	var out []Span
	for _, w := range starts {
		end := int64(1<<63 - 1)
		if w <= end-t.Window {
			end = w + t.Window
		}
		if w >= lo && end <= hi {
			out = append(out, Span{w, end})
		}
	}
	return out, nil
}

// DropWindows removes what Windows would list and returns it. It is durable when
// it returns, and of no transaction.
func (db *DB) DropWindows(ctx context.Context, t *store.Table, lo, hi int64) ([]Span, error) {
	if err := db.opt.Refused(); err != nil {
		return nil, err
	}
	list, err := db.Windows(ctx, t, lo, hi)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	// A row that comes meanwhile to an empty window between these goes, too.
	if _, _, err := db.st.DropRange(t, list[0].From, list[len(list)-1].To); err != nil {
		return nil, err
	}
	return list, nil
}
