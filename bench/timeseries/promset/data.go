// Package promset is the data and the queries with which Ostraka's PromQL answers are
// compared with Prometheus's: counters with resets, gauges, a histogram, series that
// come and go with and without staleness markers, NaN and infinities.
//
// Samples stand between the times at which queries look: whether a range includes a
// sample at its very beginning differs between Prometheus 2 and 3.
package promset

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"
)

const (
	// Start is the time of the first samples, ms since 1970.
	Start  = 1_700_000_000_137
	step   = 15_000
	points = 480 // two hours
)

// stale is the value that marks a series' end.
var stale = math.Float64frombits(0x7ff0000000000002)

// Request is the data as a request of remote write.
func Request() ([]byte, error) {
	req := prompb.WriteRequest{Timeseries: series()}
	msg, err := req.Marshal()
	return snappy.Encode(nil, msg), err
}

func series() (out []prompb.TimeSeries) {
	add := func(name string, value func(i int) (float64, bool)) {
		name, rest, _ := strings.Cut(name, "{")
		ts := prompb.TimeSeries{Labels: []prompb.Label{{Name: "__name__", Value: name}}}
		for _, l := range strings.Split(strings.TrimSuffix(rest, "}"), ",") {
			if k, v, ok := strings.Cut(l, "="); ok {
				ts.Labels = append(ts.Labels, prompb.Label{Name: k, Value: v})
			}
		}
		slices.SortFunc(ts.Labels, func(a, b prompb.Label) int { return strings.Compare(a.Name, b.Name) })
		for i := range points {
			if v, ok := value(i); ok {
				ts.Samples = append(ts.Samples, prompb.Sample{Timestamp: Start + int64(i)*step, Value: v})
			}
		}
		out = append(out, ts)
	}
	seed := uint64(0)
	rng := func() *rand.Rand { seed++; return rand.New(rand.NewPCG(seed, 7)) }
	for _, job := range []string{"api", "web"} {
		for i := range 3 {
			inst := fmt.Sprintf("%s-%d:9090", job, i)
			for _, code := range []string{"200", "404", "500"} {
				r, v := rng(), 0.0
				reset := 100 + r.IntN(300)
				add(fmt.Sprintf("requests_total{job=%s,instance=%s,code=%s}", job, inst, code), func(k int) (float64, bool) {
					if v += float64(r.IntN(40)); k == reset {
						v = float64(r.IntN(5))
					}
					return v, true
				})
			}
			r, v := rng(), 1e9
			add(fmt.Sprintf("memory_bytes{job=%s,instance=%s}", job, inst), func(int) (float64, bool) {
				v += math.Round(r.NormFloat64() * 1e6)
				return v, true
			})
			add(fmt.Sprintf("up{job=%s,instance=%s}", job, inst), func(k int) (float64, bool) {
				return float64((k / (7 + i*20)) % 2), true
			})
			add(fmt.Sprintf("build_info{job=%s,instance=%s,version=1.%d}", job, inst, i%2), func(int) (float64, bool) { return 1, true })
		}
	}
	for i := range 2 {
		r := rng()
		var count [7]float64
		sum := 0.0
		for b, le := range []string{"0.05", "0.1", "0.25", "0.5", "1", "2.5", "+Inf"} {
			r := rand.New(rand.NewPCG(uint64(b), uint64(i)))
			add(fmt.Sprintf("latency_seconds_bucket{instance=api-%d:9090,le=%s}", i, le), func(k int) (float64, bool) {
				if k == 0 {
					count[b] = 0
				}
				count[b] += float64((b + 1) * (3 + r.IntN(2)))
				return count[b], true
			})
		}
		add(fmt.Sprintf("latency_seconds_sum{instance=api-%d:9090}", i), func(int) (float64, bool) {
			sum += r.Float64() * 8
			return sum, true
		})
		add(fmt.Sprintf("latency_seconds_count{instance=api-%d:9090}", i), func(k int) (float64, bool) { return float64(k * 28), true })
	}
	r := rng()
	add("temperature{room=cellar}", func(k int) (float64, bool) { return -3 + math.Sin(float64(k)/20), true })
	add("temperature{room=attic}", func(int) (float64, bool) { return 20 + r.NormFloat64(), true })
	add("gap{kind=silent}", func(k int) (float64, bool) { return float64(k), k < 100 || k > 200 })
	add("gap{kind=stale}", func(k int) (float64, bool) {
		if k == 100 || k == 300 {
			return stale, true
		}
		return float64(k), k < 100 || k > 200 && k < 300
	})
	add("odd{v=nan}", func(int) (float64, bool) { return math.NaN(), true })
	add("odd{v=inf}", func(int) (float64, bool) { return math.Inf(1), true })
	add("odd{v=-inf}", func(int) (float64, bool) { return math.Inf(-1), true })
	add("odd{v=zero}", func(int) (float64, bool) { return math.Copysign(0, -1), true })
	add("odd{v=tiny}", func(int) (float64, bool) { return 5e-324, true })
	add("unicode{name=größe µ,quote=a\"b\\c}", func(k int) (float64, bool) { return float64(k % 10), true })
	return out
}
