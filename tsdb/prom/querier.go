package prom

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"

	"ostraka/tsdb/store"
)

// Queryable is the reader's time series as PromQL's engine wants them.
func (s *Source) Queryable(r Reader) storage.Queryable {
	return storage.QueryableFunc(func(mint, maxt int64) (storage.Querier, error) {
		return s.querier(r, mint, maxt), nil
	})
}

// querier reads one snapshot.
type querier struct {
	src        *Source
	metrics    []*metric
	mint, maxt int64
	snap       *store.Snapshot
	once       sync.Once
	series     atomic.Int64 // selected
	loaded     atomic.Int64 // samples
}

func (s *Source) querier(r Reader, mint, maxt int64) *querier {
	return &querier{src: s, metrics: s.visible(r), mint: mint, maxt: maxt, snap: s.db.Store().Snapshot()}
}

// Close implements storage.Querier.
func (q *querier) Close() error {
	q.once.Do(q.snap.Close)
	return nil
}

// series is one selected series.
type series struct {
	q    *querier
	ctx  context.Context
	m    *metric
	s    *store.Series
	lset labels.Labels
	rng  store.Range
}

func (s *series) Labels() labels.Labels { return s.lset }

// each calls f for every series that matches.
func (q *querier) each(ctx context.Context, ms []*labels.Matcher, f func(*metric, *store.Series, labels.Labels) error) error {
	var b labels.ScratchBuilder
	for _, m := range q.metrics {
		conds, ok := m.matchers(q.src, ms)
		if !ok {
			continue
		}
		_, t, err := q.src.db.Relation(m.rel)
		if err != nil {
			return err
		}
		if t == nil {
			continue
		}
		for i, s := range t.Select(conds) {
			if i&1023 == 0 && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := f(m, s, m.lset(q.src, s, &b)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Select implements storage.Querier.
func (q *querier) Select(ctx context.Context, sorted bool, hints *storage.SelectHints, ms ...*labels.Matcher) storage.SeriesSet {
	mint, maxt := q.mint, q.maxt
	if hints != nil {
		mint, maxt = max(mint, hints.Start), min(maxt, hints.End)
	}
	var out []*series
	err := q.each(ctx, ms, func(m *metric, s *store.Series, ls labels.Labels) error {
		if q.series.Add(1) > int64(q.src.limits.MaxSeries) {
			return fmt.Errorf("query selects more than %d series", q.src.limits.MaxSeries)
		}
		out = append(out, &series{q: q, ctx: ctx, m: m, s: s, lset: ls, rng: m.clock.span(mint, maxt)})
		return nil
	})
	if err != nil {
		return storage.ErrSeriesSet(err)
	}
	if sorted {
		slices.SortFunc(out, func(a, b *series) int { return labels.Compare(a.lset, b.lset) })
	}
	return &seriesSet{list: out, at: -1}
}

type seriesSet struct {
	list []*series
	at   int
}

func (s *seriesSet) Next() bool                        { s.at++; return s.at < len(s.list) }
func (s *seriesSet) At() storage.Series                { return s.list[s.at] }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

// LabelValues implements storage.LabelQuerier. It lists what the store knows,
// whether or not there are samples in the querier's time.
func (q *querier) LabelValues(ctx context.Context, name string, _ *storage.LabelHints, ms ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	set := map[string]struct{}{}
	err := q.each(ctx, ms, func(_ *metric, _ *store.Series, ls labels.Labels) error {
		if v := ls.Get(name); v != "" {
			set[v] = struct{}{}
		}
		return nil
	})
	return keys(set), nil, err
}

// LabelNames implements storage.LabelQuerier, as LabelValues does.
func (q *querier) LabelNames(ctx context.Context, _ *storage.LabelHints, ms ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	set := map[string]struct{}{}
	err := q.each(ctx, ms, func(_ *metric, _ *store.Series, ls labels.Labels) error {
		ls.Range(func(l labels.Label) { set[l.Name] = struct{}{} })
		return nil
	})
	return keys(set), nil, err
}

func keys(set map[string]struct{}) []string {
	out := make([]string, 0, len(set))
	for k := range set {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// Iterator implements storage.Series. All samples are read at once, so that
// nothing of the store stays open longer than the call.
func (s *series) Iterator(reuse chunkenc.Iterator) chunkenc.Iterator {
	it, ok := reuse.(*iterator)
	if !ok {
		it = &iterator{}
	}
	it.reset()
	sc := s.q.snap.Scan(s.ctx, s.s.Table, []*store.Series{s.s}, s.rng, func(id int16) bool { return id == s.m.field })
	defer sc.Close()
	for sc.Next() {
		rows := sc.Rows()
		for c := range rows.Cols {
			if rows.Cols[c].ID == s.m.field {
				it.add(rows.Time, &rows.Cols[c], s.m.clock)
			}
		}
		if s.q.loaded.Load()+int64(len(it.t)) > int64(s.q.src.limits.MaxSamples) {
			it.fail(promql.ErrTooManySamples("query execution"))
			return it
		}
	}
	s.q.loaded.Add(int64(len(it.t)))
	if err := sc.Err(); err != nil {
		it.fail(err)
	}
	return it
}
