package docstore

import (
	"context"
	"slices"

	"ostraka/engine"
	"ostraka/expr"
	"ostraka/sqltypes"
)

// What moving documents between shards needs: reading a collection in the order
// of its keys from anywhere, and writing documents as they are.

// Part is what ReadFrom reads of a collection: documents of some chunks, ascending.
type Part struct {
	Chunks []int
	Count  int // of all chunks
	// Has tells documents of these chunks; nil: the part is the whole collection.
	Has func(JSON) bool
}

// ReadFrom reads a part of a collection, from behind a place (zero: from the
// beginning), in the order of chunks where the collection has an index of them, else
// of the keys of all documents. It looks at most at scan documents and answers those
// of the part, until they have bytes; last is the place that it has got to, zero at
// the end: the _id of a document, with a chunk index an array of its chunk and its _id.
func ReadFrom(ctx context.Context, st *State, name string, after JSON, part Part, scan int, bytes int) (docs []JSON, last JSON, err error) {
	c, err := Lookup(st.View.Catalog(), name)
	if c == nil || err != nil {
		return nil, JSON{}, err
	}
	spec := engine.ScanSpec{Rel: c.Rel, Cols: []int16{attrDoc}, RowHint: scan}
	byChunk := false
	if x := c.chunks; x != nil && part.Has != nil && part.Count == x.count && (after.IsZero() || after.Kind() == sqltypes.JSONArray) {
		byChunk = true
		key, chunks := sqltypes.Null, part.Chunks
		if !after.IsZero() {
			at, err := wholeNumber("place", after.Index(0))
			if err != nil {
				return nil, JSON{}, err
			}
			i, found := slices.BinarySearch(chunks, int(at))
			if chunks = chunks[i:]; found {
				key = keyDatum(after.Index(1))
			}
		}
		if len(chunks) == 0 {
			return nil, JSON{}, nil
		}
		spec.Index, spec.Spans = x.ix, x.spans(chunks, key)
	} else if !after.IsZero() {
		spec.Spans = []engine.Span{{Lo: []sqltypes.Datum{keyDatum(after)}}}
	}
	sc, err := st.View.Scan(ctx, spec)
	if err != nil {
		return nil, JSON{}, err
	}
	defer sc.Close()
	var b expr.Batch
	seen, size := 0, 0
	for {
		n, err := sc.Next(&b)
		if err != nil {
			return nil, JSON{}, err
		}
		if n == 0 {
			return docs, JSON{}, nil
		}
		for i := range n {
			doc := sqltypes.JSONOf(sqltypes.Text(b.Cols[0].Str[i]))
			if seen++; part.Has == nil || part.Has(doc) {
				docs = append(docs, doc)
				size += len(doc.Datum().S)
			}
			if seen >= scan || size >= bytes {
				last, _ = doc.Lookup("_id")
				if byChunk {
					chunk, err := c.chunks.of(doc)
					if err != nil {
						return nil, JSON{}, err
					}
					last = sqltypes.JSONArrayOf([]JSON{intJSON(int64(chunk)), last})
				}
				return docs, last, nil
			}
		}
	}
}

// ByID reads one document; zero when there is none.
func ByID(ctx context.Context, view engine.View, name string, id JSON) (JSON, error) {
	c, err := Lookup(view.Catalog(), name)
	if c == nil || err != nil {
		return JSON{}, err
	}
	var dst [1]sqltypes.Datum
	_, found, err := view.Get(ctx, c.Rel, nil, []sqltypes.Datum{keyDatum(id)}, []int16{attrDoc}, dst[:])
	if !found || err != nil {
		return JSON{}, err
	}
	return sqltypes.JSONOf(dst[0]), nil
}

// Overwrite puts a document in the place of the one with its _id, if there is one.
func Overwrite(ctx context.Context, st *State, name string, doc JSON) error {
	id, _ := doc.Lookup("_id")
	if err := Remove(ctx, st, name, id); err != nil {
		return err
	}
	c, err := Lookup(st.View.Catalog(), name)
	if err != nil {
		return err
	}
	if c == nil {
		return noCollection(name)
	}
	_, _, err = st.Txn.Insert(ctx, c.target, []sqltypes.Datum{keyDatum(id), doc.Datum()}, nil)
	return c.explainDuplicate(err, doc)
}

// Remove deletes the document with an _id, if there is one.
func Remove(ctx context.Context, st *State, name string, id JSON) error {
	c, err := Lookup(st.View.Catalog(), name)
	if c == nil || err != nil {
		return err
	}
	row := make([]sqltypes.Datum, 2)
	ref, found, err := st.Txn.Get(ctx, c.Rel, nil, []sqltypes.Datum{keyDatum(id)}, []int16{attrKey, attrDoc}, row)
	if !found || err != nil {
		return err
	}
	out, err := st.Txn.LockRow(ctx, c.Rel, &ref, engine.LockUpdate, engine.WaitBlock, row)
	if err != nil || out == engine.Gone || out == engine.OwnWrite {
		return err
	}
	return st.Txn.Delete(ctx, c.target, ref, row)
}
