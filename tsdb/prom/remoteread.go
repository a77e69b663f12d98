package prom

import (
	"context"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"ostraka/sqltypes/pgerror"
)

// Read answers a remote read with samples.
func (s *Source) Read(ctx context.Context, r Reader, req *prompb.ReadRequest) (*prompb.ReadResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, s.limits.Timeout)
	defer cancel()
	release, err := s.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	out := &prompb.ReadResponse{}
	for _, q := range req.Queries {
		res, err := s.readOne(ctx, r, q)
		if err != nil {
			return nil, err
		}
		out.Results = append(out.Results, res)
	}
	return out, nil
}

var matchTypes = map[prompb.LabelMatcher_Type]labels.MatchType{prompb.LabelMatcher_EQ: labels.MatchEqual, prompb.LabelMatcher_NEQ: labels.MatchNotEqual,
	prompb.LabelMatcher_RE: labels.MatchRegexp, prompb.LabelMatcher_NRE: labels.MatchNotRegexp}

func (s *Source) readOne(ctx context.Context, r Reader, q *prompb.Query) (*prompb.QueryResult, error) {
	var ms []*labels.Matcher
	for _, m := range q.Matchers {
		typ, ok := matchTypes[m.Type]
		if !ok {
			return nil, &QueryError{pgerror.New(pgerror.InvalidParameterValue, "unknown matcher type %d", m.Type)}
		}
		x, err := labels.NewMatcher(typ, m.Name, m.Value)
		if err != nil {
			return nil, &QueryError{err}
		}
		ms = append(ms, x)
	}
	qr := s.querier(r, q.StartTimestampMs, q.EndTimestampMs)
	defer qr.Close()
	set := qr.Select(ctx, true, &storage.SelectHints{Start: q.StartTimestampMs, End: q.EndTimestampMs}, ms...)
	out := &prompb.QueryResult{}
	var it chunkenc.Iterator
	for set.Next() {
		x := set.At()
		it = x.Iterator(it)
		ts := &prompb.TimeSeries{}
		for it.Next() != chunkenc.ValNone {
			t, v := it.At()
			ts.Samples = append(ts.Samples, prompb.Sample{Timestamp: t, Value: v})
		}
		if err := it.Err(); err != nil {
			return nil, err
		}
		if len(ts.Samples) > 0 {
			ts.Labels = prompb.FromLabels(x.Labels(), nil)
			out.Timeseries = append(out.Timeseries, ts)
		}
	}
	return out, set.Err()
}
