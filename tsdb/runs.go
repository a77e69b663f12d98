package tsdb

import (
	"ostraka/engine"
	"ostraka/tsdb/chunk"
)

var _ engine.SeriesScanner = (*scanner)(nil)

// HasRuns implements engine.SeriesScanner: rows of the transaction itself are no runs.
func (s *scanner) HasRuns() bool {
	if s.own != nil || len(s.mine) > 0 || s.spec.Refs || s.spec.Cluster && !s.spec.Partial {
		return false
	}
	for _, a := range s.spec.Cols {
		if a <= 0 || s.rel.tagAt[a-1] >= 0 || s.rel.packed[a-1] {
			return false
		}
	}
	return true
}

// NextRun implements engine.SeriesScanner.
func (s *scanner) NextRun() (*engine.SeriesRun, error) {
	if s.run != nil {
		s.at = s.end
	}
	more, err := s.advance()
	if err != nil || !more {
		return nil, err
	}
	r := &s.out1
	r.Same = s.last == s.sc.Series()
	s.last = s.sc.Series()
	r.Tags, r.Time = s.tags, s.run.Time[s.at:s.end]
	r.Cols = r.Cols[:0]
	for _, a := range s.spec.Cols {
		r.Cols = append(r.Cols, s.runColumn(a))
	}
	s.rows += int64(s.end - s.at)
	return r, nil
}

func (s *scanner) runColumn(a int16) engine.SeriesColumn {
	if a == s.rel.Spec.Time {
		return engine.SeriesColumn{I64: s.run.Time[s.at:s.end]}
	}
	for i := range s.run.Cols {
		c := &s.run.Cols[i]
		if c.ID != a {
			continue
		}
		var out engine.SeriesColumn
		switch c.Kind {
		case chunk.Float:
			out.F64 = c.F64[s.at:s.end]
		case chunk.Int:
			out.I64 = c.I64[s.at:s.end]
		default:
			out.Str = c.Str[s.at:s.end]
		}
		if c.Null != nil {
			out.Null = c.Null[s.at:s.end]
		}
		return out
	}
	return engine.SeriesColumn{}
}
