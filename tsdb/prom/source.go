package prom

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
	"ostraka/tsdb"
)

// Limits bound what queries take; zero values are the defaults given.
type Limits struct {
	Timeout    time.Duration // of a query; 2 minutes
	MaxSamples int           // that a query loads; 10,000,000
	MaxSeries  int           // that a query selects; 100,000
	Concurrent int           // queries at a time; 16
}

func (l *Limits) fill() {
	if l.Timeout <= 0 {
		l.Timeout = 2 * time.Minute
	}
	if l.MaxSamples <= 0 {
		l.MaxSamples = 10_000_000
	}
	if l.MaxSeries <= 0 {
		l.MaxSeries = 100_000
	}
	if l.Concurrent <= 0 {
		l.Concurrent = 16
	}
}

// Source answers for the time series of a node.
type Source struct {
	db     *tsdb.DB
	limits Limits
	eng    *promql.Engine
	parser parser.Parser
	slots  chan struct{}

	mu      sync.Mutex
	cat     *catalog.Catalog // of metrics; guarded by mu
	metrics []*metric        // of cat

	wideMu sync.RWMutex
	wide   map[string]labels.Labels // parsed values of the labels tag; guarded by wideMu
}

// NewSource makes a Source.
func NewSource(db *tsdb.DB, limits Limits) *Source {
	limits.fill()
	p := parser.NewParser(parser.Options{})
	return &Source{db: db, limits: limits, parser: p, slots: make(chan struct{}, limits.Concurrent), wide: map[string]labels.Labels{},
		eng: promql.NewEngine(promql.EngineOpts{MaxSamples: limits.MaxSamples, Timeout: limits.Timeout, Parser: p,
			LookbackDelta: 5 * time.Minute, EnableAtModifier: true, EnableNegativeOffset: true,
			NoStepSubqueryIntervalFn: func(int64) int64 { return time.Minute.Milliseconds() }})}
}

// Selectors parses the match[] parameters of the HTTP API.
func (s *Source) Selectors(list []string) ([][]*labels.Matcher, error) {
	return s.parser.ParseMetricSelectors(list)
}

// Reader is who asks, and of which database: only tables that the role may SELECT
// from are seen.
type Reader struct {
	Catalog *catalog.Catalog
	Role    sqltypes.OID
}

// visible are the metrics that the reader may see.
func (s *Source) visible(r Reader) []*metric {
	s.mu.Lock()
	if s.cat != r.Catalog {
		s.cat, s.metrics = r.Catalog, metricsOf(r.Catalog)
	}
	list := s.metrics
	s.mu.Unlock()
	out := make([]*metric, 0, len(list))
	for _, m := range list {
		attrs := []int16{m.field, m.rel.TS.Time}
		attrs = append(attrs, m.rel.TS.Tags...)
		if r.Catalog.HoldsOn(r.Role, m.rel, 'r', attrs) && usage(r, m.rel.Schema) {
			out = append(out, m)
		}
	}
	return out
}

func usage(r Reader, schema sqltypes.OID) bool {
	s := r.Catalog.Schema(schema)
	return s != nil && r.Catalog.Holds(r.Role, s.Owner, s.ACL, 'U', "")
}

const maxWide = 200_000

// wideLabels parses a value of the labels tag; what is no object of strings has no labels.
func (s *Source) wideLabels(text string) labels.Labels {
	if text == "" {
		return labels.EmptyLabels()
	}
	s.wideMu.RLock()
	ls, ok := s.wide[text]
	s.wideMu.RUnlock()
	if ok {
		return ls
	}
	var m map[string]any
	strs := map[string]string{}
	if json.Unmarshal([]byte(text), &m) == nil {
		for k, v := range m {
			switch v := v.(type) {
			case nil:
			case string:
				strs[k] = v
			default:
				strs[k] = fmt.Sprint(v)
			}
		}
	}
	delete(strs, metricName)
	ls = labels.FromMap(strs)
	s.wideMu.Lock()
	if len(s.wide) >= maxWide {
		clear(s.wide)
	}
	s.wide[text] = ls
	s.wideMu.Unlock()
	return ls
}

// acquire waits for a turn.
func (s *Source) acquire(ctx context.Context) (release func(), err error) {
	select {
	case s.slots <- struct{}{}:
		return func() { <-s.slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// MaxSteps of a range query, as Prometheus has it.
const MaxSteps = 11_000

// ErrSteps is the refusal of a range query with more steps.
var ErrSteps = pgerror.New(pgerror.ProgramLimitExceeded, "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)")

// Instant evaluates at one time. The result must be used before release.
func (s *Source) Instant(ctx context.Context, r Reader, query string, at time.Time, lookback time.Duration) (res *promql.Result, release func(), err error) {
	return s.run(ctx, func() (promql.Query, error) {
		return s.eng.NewInstantQuery(ctx, s.Queryable(r), promql.NewPrometheusQueryOpts(false, lookback, nil), query, at)
	})
}

// Range evaluates at start, start+step … end. The result must be used before release.
func (s *Source) Range(ctx context.Context, r Reader, query string, start, end time.Time, step, lookback time.Duration) (res *promql.Result, release func(), err error) {
	if end.Sub(start)/step > MaxSteps {
		return nil, nil, ErrSteps
	}
	return s.run(ctx, func() (promql.Query, error) {
		return s.eng.NewRangeQuery(ctx, s.Queryable(r), promql.NewPrometheusQueryOpts(false, lookback, nil), query, start, end, step)
	})
}

func (s *Source) run(ctx context.Context, start func() (promql.Query, error)) (*promql.Result, func(), error) {
	free, err := s.acquire(ctx)
	if err != nil {
		return nil, nil, err
	}
	q, err := start()
	if err != nil {
		free()
		return nil, nil, &QueryError{err}
	}
	return q.Exec(ctx), func() { q.Close(); free() }, nil
}

// QueryError is an error in the text of a query.
type QueryError struct{ Err error }

func (e *QueryError) Error() string { return e.Err.Error() }
func (e *QueryError) Unwrap() error { return e.Err }
