package docstore

import (
	"context"

	"ostraka/engine"
	"ostraka/expr"
	"ostraka/sqltypes"
)

// What moving documents between shards needs: reading a collection in the order
// of its keys from anywhere, and writing documents as they are.

// ReadFrom reads documents whose _id is above after (zero: from the first) in
// that order. It looks at most at scan documents and answers those that accept
// takes, until they have bytes; last is the _id of the last one that it looked
// at, zero at the end of the collection.
func ReadFrom(ctx context.Context, st *State, name string, after JSON, scan int, bytes int, accept func(JSON) bool) (docs []JSON, last JSON, err error) {
	c, err := Lookup(st.View.Catalog(), name)
	if c == nil || err != nil {
		return nil, JSON{}, err
	}
	spec := engine.ScanSpec{Rel: c.Rel, Cols: []int16{attrDoc}, RowHint: scan}
	if !after.IsZero() {
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
			if seen++; accept(doc) {
				docs = append(docs, doc)
				size += len(doc.Datum().S)
			}
			if seen >= scan || size >= bytes {
				last, _ = doc.Lookup("_id")
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
