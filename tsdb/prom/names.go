package prom

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"ostraka/tsdb/store"
)

// Names lists label names, or the values of one label when name is not "", of the
// series that one of the selectors selects; no selector: all of them.
func (s *Source) Names(ctx context.Context, r Reader, name string, selectors [][]*labels.Matcher) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.limits.Timeout)
	defer cancel()
	q := s.querier(r, math.MinInt64, math.MaxInt64)
	defer q.Close()
	if len(selectors) == 0 {
		selectors = [][]*labels.Matcher{nil}
	}
	set := map[string]struct{}{}
	for _, ms := range selectors {
		var list []string
		var err error
		if name == "" {
			list, _, err = q.LabelNames(ctx, nil, ms...)
		} else {
			list, _, err = q.LabelValues(ctx, name, nil, ms...)
		}
		if err != nil {
			return nil, err
		}
		for _, v := range list {
			set[v] = struct{}{}
		}
	}
	return keys(set), nil
}

// Series lists the series that one of the selectors selects and that have a row
// in a time range (ms since 1970).
func (s *Source) Series(ctx context.Context, r Reader, mint, maxt int64, selectors [][]*labels.Matcher) ([]labels.Labels, error) {
	ctx, cancel := context.WithTimeout(ctx, s.limits.Timeout)
	defer cancel()
	release, err := s.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	q := s.querier(r, mint, maxt)
	defer q.Close()
	out := []labels.Labels{}
	seen := map[string]bool{}
	for _, ms := range selectors {
		set := q.Select(ctx, true, &storage.SelectHints{Start: mint, End: maxt, Func: "series"}, ms...)
		for set.Next() {
			x := set.At().(*series)
			key := x.lset.String()
			if seen[key] {
				continue
			}
			there, err := x.any()
			if err != nil {
				return nil, err
			}
			if there {
				seen[key] = true
				out = append(out, x.lset)
			}
		}
		if err := set.Err(); err != nil {
			return nil, fmt.Errorf("series: %w", err)
		}
	}
	slices.SortFunc(out, labels.Compare)
	return out, nil
}

// any reports whether the series has a value in its range.
func (s *series) any() (bool, error) {
	sc := s.q.snap.Scan(s.ctx, s.s.Table, []*store.Series{s.s}, s.rng, func(id int16) bool { return id == s.m.field })
	defer sc.Close()
	for sc.Next() {
		for _, c := range sc.Rows().Cols {
			if c.ID == s.m.field && (c.Null == nil || slices.Contains(c.Null, false)) {
				return true, nil
			}
		}
	}
	return false, sc.Err()
}
