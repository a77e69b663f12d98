// Package store keeps the time series of one node: rows of series, in column
// chunks in a pebble database of its own, and in memory what came lately.
//
// # Model
//
// A Table has tags and fields. A Series is one combination of tag values. A row
// is one time of one series with a value, or NULL, per field; (series, time) is
// unique and the last write wins. Times are 64-bit numbers; SQL stores
// timestamps as microseconds since 2000-01-01 UTC.
//
//	tab, _ := st.Define(store.TableSpec{ID: 7, Tags: 1, Fields: …, Window: day})
//	s, _ := st.Series(tab, []store.Tag{{Value: "web-1"}})
//	b := st.NewBatch()
//	b.Put(s, time, []sqltypes.Datum{sqltypes.Float(0.5)})
//	err := st.Append(ctx, b, true)               // all rows or none, after an fsync
//
//	snap := st.Snapshot(); defer snap.Close()
//	list := tab.Select([]store.Matcher{{Tag: 0, Values: []string{"web-1"}}})
//	it := snap.Scan(tab, list, store.Range{Lo: from, Hi: to}, nil)
//	for it.Next() { rows := it.Rows(); … }         // rows of one series, ascending
//
// # What it promises
//
// A batch that Append acknowledged with sync is on disk and survives kill -9 and
// loss of power; without sync it survives kill -9. Batches are atomic. A Snapshot
// sees whole batches only, and what it sees does not change. Memory is bounded:
// past the limits writers wait for the flush, then are refused (53200, 53400).
// A log whose tail was torn is cut; damage anywhere else is an error that names
// the file and the place.
//
// # What it does not do
//
// It knows no SQL, no names, no catalogue and no other nodes.
//
// # Concurrency
//
// All methods of Store, Table and Series are safe for concurrent use. A Batch, a
// Snapshot's iterator and their rows belong to one goroutine. Lock order:
// Store.mu, then Table.mu, then wal.mu.
package store
