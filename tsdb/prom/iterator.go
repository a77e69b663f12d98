package prom

import (
	"sort"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"ostraka/tsdb/chunk"
)

// iterator walks samples in memory.
type iterator = iteratorOf[int64]

// iteratorOf has T as the type of times in ms. It is a type parameter because go
// vet wants every method Seek(int64) to be io.Seeker's; this one is the interface's.
type iteratorOf[T ~int64] struct {
	t   []T // strictly ascending
	v   []float64
	at  int // -1 before the first
	err error
}

func (it *iteratorOf[T]) reset() { it.t, it.v, it.at, it.err = it.t[:0], it.v[:0], -1, nil }

func (it *iteratorOf[T]) fail(err error) {
	it.reset()
	it.err = err
}

// add appends the values of a column that are not NULL.
func (it *iteratorOf[T]) add(times []int64, c *chunk.Column, clk clock) {
	for i, t := range times {
		if c.Null != nil && c.Null[i] {
			continue
		}
		var v float64
		switch c.Kind {
		case chunk.Float:
			v = c.F64[i]
		case chunk.Int:
			v = float64(c.I64[i])
		default:
			continue
		}
		ms := T(clk.millis(t))
		if n := len(it.t); n > 0 && it.t[n-1] == ms {
			it.v[n-1] = v
			continue
		}
		it.t, it.v = append(it.t, ms), append(it.v, v)
	}
}

// Next implements chunkenc.Iterator.
func (it *iteratorOf[T]) Next() chunkenc.ValueType {
	if it.at < len(it.t) {
		it.at++
	}
	return it.valid()
}

func (it *iteratorOf[T]) valid() chunkenc.ValueType {
	if it.at >= len(it.t) {
		return chunkenc.ValNone
	}
	return chunkenc.ValFloat
}

// Seek implements chunkenc.Iterator.
func (it *iteratorOf[T]) Seek(t T) chunkenc.ValueType {
	from := max(it.at, 0)
	if from < len(it.t) && it.t[from] < t {
		from += sort.Search(len(it.t)-from, func(i int) bool { return it.t[from+i] >= t })
	}
	it.at = from
	return it.valid()
}

// At implements chunkenc.Iterator.
func (it *iteratorOf[T]) At() (int64, float64) { return int64(it.t[it.at]), it.v[it.at] }

// AtT implements chunkenc.Iterator.
func (it *iteratorOf[T]) AtT() int64 { return int64(it.t[it.at]) }

// AtST implements chunkenc.Iterator: start times are not kept.
func (it *iteratorOf[T]) AtST() int64 { return 0 }

// AtHistogram implements chunkenc.Iterator; there are none.
func (it *iteratorOf[T]) AtHistogram(*histogram.Histogram) (int64, *histogram.Histogram) {
	return 0, nil
}

// AtFloatHistogram implements chunkenc.Iterator; there are none.
func (it *iteratorOf[T]) AtFloatHistogram(*histogram.FloatHistogram) (int64, *histogram.FloatHistogram) {
	return 0, nil
}

// Err implements chunkenc.Iterator.
func (it *iteratorOf[T]) Err() error { return it.err }
