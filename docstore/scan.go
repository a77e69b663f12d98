package docstore

import (
	"context"

	"ostraka/engine"
	"ostraka/expr"
	"ostraka/sqltypes"
)

// scan streams the documents of an access path that match a filter.
type scan struct {
	sc    engine.Scanner
	err   error // of the filter
	batch expr.Batch
	refs  bool
	n, at int
	seen  map[string]struct{} // of multikey indexes: keys that came already
	bytes int
	// rest are the other scans of a union, opened like the first: the view may be
	// closed before they are read.
	rest []engine.Scanner
}

// scanner opens a scan of the state; a command that writes sees its own writes.
func (r *runner) scanner(ctx context.Context, spec engine.ScanSpec) (engine.Scanner, error) {
	spec.Own = r.own
	return r.st.View.Scan(ctx, spec)
}

// open starts reading. hint is about how many documents will be taken (0: all).
func (r *runner) open(ctx context.Context, a *access, f *Filter, refs bool, hint int) (*scan, error) {
	s := &scan{refs: refs}
	several := a.several // of a union, for all its parts
	keep := func(val string) bool {
		doc := sqltypes.JSONOf(sqltypes.Text(val))
		ok, err := f.Match(doc)
		if err != nil {
			s.err = err
			return true
		}
		return ok && (r.accept == nil || r.accept(doc))
	}
	one := func(b *access) (engine.Scanner, error) {
		spec := engine.ScanSpec{Rel: b.coll.Rel, Spans: b.spans, Reverse: b.reverse, Cols: []int16{attrDoc}, Refs: refs, RowHint: hint}
		if b.index != nil {
			spec.Index = b.index.Ix
		}
		if f.root != nil || r.accept != nil {
			spec.KeepAttr, spec.Keep = attrDoc, keep
		}
		switch {
		case several:
			spec.Cols = []int16{attrDoc, attrKey}
		case r.counts && spec.Keep == nil:
			spec.Cols = []int16{attrKey} // nobody looks at the documents
		}
		return r.scanner(ctx, spec)
	}
	if several {
		s.seen = map[string]struct{}{}
	}
	parts := a.union
	if parts == nil {
		parts = []*access{a}
	}
	var err error
	if s.sc, err = one(parts[0]); err != nil {
		return s, err
	}
	for _, b := range parts[1:] {
		sc, err := one(b)
		if err != nil {
			s.Close()
			return s, err
		}
		s.rest = append(s.rest, sc)
	}
	return s, nil
}

// next is the next document that matches, with its reference if asked for.
func (s *scan) next() (doc JSON, ref engine.RowRef, ok bool, err error) {
	for {
		if s.at >= s.n {
			if s.n, err = s.sc.Next(&s.batch); err == nil {
				err = s.err
			}
			if err == nil && s.n == 0 && len(s.rest) > 0 {
				s.sc.Close()
				s.sc, s.rest = s.rest[0], s.rest[1:]
				continue
			}
			if err != nil || s.n == 0 {
				return JSON{}, ref, false, err
			}
			s.at = 0
		}
		col := s.batch.Cols[0].Str
		for s.at < s.n {
			i := s.at
			s.at++
			doc = sqltypes.JSONOf(sqltypes.Text(col[i]))
			if s.seen != nil {
				k := s.batch.Cols[1].Str[i]
				if _, dup := s.seen[k]; dup {
					continue
				}
				if s.bytes += len(k) + 32; s.bytes > maxMemory {
					return JSON{}, ref, false, errMemory("scan")
				}
				s.seen[k] = struct{}{}
			}
			if s.refs {
				ref = s.sc.Refs()[i]
			}
			return doc, ref, true, nil
		}
	}
}

// Next and Close make a scan a Cursor.
func (s *scan) Next() (JSON, bool, error) {
	doc, _, ok, err := s.next()
	return doc, ok, err
}

func (s *scan) Close() {
	s.sc.Close()
	for _, sc := range s.rest {
		sc.Close()
	}
	s.rest = nil
}
