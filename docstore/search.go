package docstore

import (
	"context"
	"math"
	"slices"

	"ostraka/engine"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// scoredDoc is one hit of a search.
type scoredDoc struct {
	doc   JSON
	score float64
	key   string // of _id: ties
}

// hits keeps the best of what is added.
type hits struct {
	limit int
	list  []scoredDoc
	bytes int
}

func (h *hits) add(doc JSON, score float64) error {
	id, _ := doc.Lookup("_id")
	h.list = append(h.list, scoredDoc{doc, score, string(AppendKey(nil, id))})
	if h.bytes += len(doc.Datum().S); h.limit >= 0 && len(h.list) >= 2*h.limit+64 {
		h.cut()
	}
	if h.bytes > maxMemory {
		return errMemory("search")
	}
	return nil
}

func (h *hits) cut() {
	slices.SortFunc(h.list, func(a, b scoredDoc) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		case a.key < b.key:
			return -1
		case a.key > b.key:
			return 1
		}
		return 0
	})
	if h.limit >= 0 && len(h.list) > h.limit {
		clear(h.list[h.limit:])
		h.list, h.bytes = h.list[:h.limit], 0
		for _, d := range h.list {
			h.bytes += len(d.doc.Datum().S)
		}
	}
}

// result lists the hits, best first, as {"doc": …, "score": …}.
func (h *hits) result() (Result, error) {
	h.cut()
	out := make([]JSON, len(h.list))
	for i, d := range h.list {
		n, err := sqltypes.NumericFromFloat(d.score, 64)
		if err != nil {
			return Result{}, err
		}
		out[i] = sqltypes.JSONObjectOf([]sqltypes.JSONPair{{Key: "doc", Value: d.doc}, {Key: "score", Value: sqltypes.JSONNumberOf(n)}})
	}
	return Result{Docs: Slice(out)}, nil
}

// BM25's parameters.
const (
	bm25K = 1.2
	bm25B = 0.75
)

// textSearch ranks the documents that have one of the words, by BM25 over the
// fields of the collection's text index. A word after - must not be there.
func (r *runner) textSearch(ctx context.Context, cmd *Command) (Result, error) {
	p, err := r.prepare(ctx, &Command{Collection: cmd.Collection, Filter: cmd.Filter}, false)
	if err != nil {
		return Result{}, err
	}
	if p.c == nil {
		return Result{Docs: Slice(nil)}, nil
	}
	at := slices.IndexFunc(p.c.Indexes, func(x *Index) bool { return x.Spec.Text })
	if at < 0 {
		return Result{}, pgerror.New(pgerror.ObjectNotInPrerequisiteState, "text search of collection %q needs a text index", p.c.Name()).
			WithHint(`Create one: doc.create_index('%s', '{"field": "text"}').`, p.c.Name())
	}
	x := p.c.Indexes[at]
	var words []string
	banned := map[string]bool{}
	for _, w := range splitQuery(cmd.Search) {
		no := w[0] == '-'
		tokenize(w, func(w string) {
			if no {
				banned[w] = true
			} else {
				words = append(words, w)
			}
		})
	}
	slices.Sort(words)
	words = slices.Compact(words)
	if len(words) == 0 {
		return Result{Docs: Slice(nil)}, nil
	}
	a := &access{coll: p.c, index: x, several: true}
	for _, w := range words {
		key := []sqltypes.Datum{sqltypes.Text(w)}
		a.spans = append(a.spans, engine.Span{Lo: key, Hi: key, LoInc: true, HiInc: true})
	}
	s, err := r.open(ctx, a, p.filter, false, 0)
	if err != nil {
		return Result{}, err
	}
	defer s.Close()
	type candidate struct {
		doc    JSON
		counts []int
		length int
	}
	var found []candidate
	df, total, bytes := make([]int, len(words)), 0, 0
	err = drain(ctx, s, func(doc JSON) error {
		c := candidate{doc: doc, counts: make([]int, len(words))}
		drop := false
		for _, p := range x.paths {
			eachText(doc, p, func(s string) {
				tokenize(s, func(w string) {
					c.length++
					drop = drop || banned[w]
					if i, ok := slices.BinarySearch(words, w); ok {
						c.counts[i]++
					}
				})
			})
		}
		for i, n := range c.counts {
			if n > 0 {
				df[i]++
			}
		}
		if drop {
			return nil
		}
		if bytes += len(doc.Datum().S); bytes > maxMemory {
			return errMemory("search")
		}
		total += c.length
		found = append(found, c)
		return nil
	})
	if err != nil {
		return Result{}, err
	}
	// Of N only the logarithm counts: it is taken from the collection's size.
	n := math.Max(float64(len(found)), float64(r.st.View.EstimateBytes(p.c.Rel, nil))/256)
	avg := float64(total) / math.Max(1, float64(len(found)))
	h := hits{limit: limitOf(cmd.Take)}
	for _, c := range found {
		score := 0.0
		for i, tf := range c.counts {
			if tf == 0 {
				continue
			}
			idf := math.Log(1 + (n-float64(df[i])+0.5)/(float64(df[i])+0.5))
			f := float64(tf)
			score += idf * f * (bm25K + 1) / (f + bm25K*(1-bm25B+bm25B*float64(c.length)/avg))
		}
		if err := h.add(c.doc, score); err != nil {
			return Result{}, err
		}
	}
	return h.result()
}

func limitOf(take int64) int {
	if take < 0 {
		return -1
	}
	return int(min(take, 1<<30))
}

// splitQuery splits at spaces.
func splitQuery(q string) []string {
	var out []string
	from := -1
	for i, c := range q + " " {
		switch {
		case c == ' ' || c == '\t' || c == '\n':
			if from >= 0 {
				out = append(out, q[from:i])
			}
			from = -1
		case from < 0:
			from = i
		}
	}
	return out
}

// vectorSearch ranks documents by how near the vector in a field is, exactly:
// every document is looked at. Scores: cosine similarity, the dot product, or
// 1/(1+distance) for euclidean; documents without such a vector are left out.
func (r *runner) vectorSearch(ctx context.Context, cmd *Command) (Result, error) {
	path, err := ParsePath(cmd.Field)
	if err != nil {
		return Result{}, err
	}
	want, ok := vectorOf(cmd.Vector, nil)
	if !ok || len(want) == 0 {
		return Result{}, invalid("the vector to search for must be an array of numbers")
	}
	var score func(v []float64) float64
	dot := func(a, b []float64) (s float64) {
		for i := range a {
			s += a[i] * b[i]
		}
		return s
	}
	norm := math.Sqrt(dot(want, want))
	switch cmd.Metric {
	case "cosine":
		if norm == 0 {
			return Result{}, invalid("a vector of zeros has no direction")
		}
		score = func(v []float64) float64 {
			n := math.Sqrt(dot(v, v))
			if n == 0 {
				return 0
			}
			return dot(v, want) / (n * norm)
		}
	case "dot":
		score = func(v []float64) float64 { return dot(v, want) }
	case "euclidean":
		score = func(v []float64) float64 {
			s := 0.0
			for i := range v {
				d := v[i] - want[i]
				s += d * d
			}
			return 1 / (1 + math.Sqrt(s))
		}
	default:
		return Result{}, pgerror.NotSupported("vector metric %q", cmd.Metric).WithHint("Metrics are cosine, euclidean and dot.")
	}
	p, err := r.prepare(ctx, &Command{Collection: cmd.Collection, Filter: cmd.Filter}, false)
	if err != nil || p.c == nil {
		return Result{Docs: Slice(nil)}, err
	}
	s, err := r.open(ctx, p.access, p.filter, false, 0)
	if err != nil {
		return Result{}, err
	}
	defer s.Close()
	h := hits{limit: limitOf(cmd.Take)}
	var buf []float64
	err = drain(ctx, s, func(doc JSON) error {
		v, ok := path.Get(doc)
		if !ok {
			return nil
		}
		if buf, ok = vectorOf(v, buf[:0]); !ok || len(buf) != len(want) {
			return nil
		}
		return h.add(doc, score(buf))
	})
	if err != nil {
		return Result{}, err
	}
	return h.result()
}

// vectorOf reads an array of numbers.
func vectorOf(j JSON, dst []float64) ([]float64, bool) {
	if j.IsZero() || j.Kind() != sqltypes.JSONArray {
		return dst, false
	}
	for i := range j.Len() {
		e := j.Index(i)
		if e.Kind() != sqltypes.JSONNumber {
			return dst, false
		}
		f, err := sqltypes.NumericToFloat(e.Number(), 64)
		if err != nil {
			return dst, false
		}
		dst = append(dst, f)
	}
	return dst, true
}
