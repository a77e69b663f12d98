// Package timeseries is the workload that the time-series figures are measured
// with: 1,000 series × 10,000 rows of one value at 10 s, of which 40 % are integer
// counters, 10 % float counters, 25 % noisy gauges with full mantissas, 20 %
// random walks of two decimals, 5 % states of 0 and 1. It is the same for every run.
package timeseries

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Step is the time between two rows of a series, µs.
const Step = 10_000_000

// Series is one generated series.
type Series struct {
	Host, DC, Rack, Kind string
	value                float64
	rng                  *rand.Rand
	pick                 int
}

// New makes n series.
func New(n int) []*Series {
	out := make([]*Series, n)
	for i := range out {
		s := &Series{Host: fmt.Sprintf("host-%04d", i), DC: fmt.Sprintf("dc-%d", i%8), Rack: fmt.Sprintf("rack-%02d", i%40),
			rng: rand.New(rand.NewPCG(uint64(i), 42)), pick: i % 20}
		switch p := s.pick; {
		case p < 8:
			s.Kind = "counter"
		case p < 10:
			s.Kind = "fcounter"
		case p < 15:
			s.Kind, s.value = "gauge", 50
		case p < 19:
			s.Kind, s.value = "walk", 100
		default:
			s.Kind = "state"
		}
		out[i] = s
	}
	return out
}

// Next is the series' next value.
func (s *Series) Next() float64 {
	switch s.Kind {
	case "counter":
		s.value += float64(s.rng.IntN(200))
		return s.value
	case "fcounter":
		s.value += s.rng.Float64() * 10
		return s.value
	case "gauge":
		return s.value + s.rng.NormFloat64()*5
	case "walk":
		s.value += math.Round(s.rng.NormFloat64()*20) / 100
		s.value = math.Round(s.value*100) / 100
		return s.value
	}
	if s.rng.IntN(50) == 0 {
		s.value = 1 - s.value
	}
	return s.value
}
