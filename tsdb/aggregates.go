package tsdb

import (
	"cmp"
	"math"
	"slices"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// edge is first(value, time) and last(value, time): the value at the least or
// greatest time; rows without a time do not count, of equal times the first met.
type edge struct {
	last  bool
	any   bool
	value sqltypes.Datum
	time  sqltypes.Datum
	order func(a, b sqltypes.Datum) int
}

func (e *edge) Step(c *sqltypes.Call, a []sqltypes.Datum) error {
	if a[1].Null {
		return nil
	}
	if e.order == nil {
		t := sqltypes.LookupType(c.Env, c.ArgTypes[1].OID)
		if t == nil || t.Compare == nil {
			return pgerror.New(pgerror.UndefinedFunction, "could not identify an ordering operator for type %s", sqltypes.FormatType(c.ArgTypes[1].OID, -1))
		}
		e.order = t.Compare
	}
	if e.any {
		d := e.order(a[1], e.time)
		if d == 0 || (d > 0) != e.last {
			return nil
		}
	}
	e.any, e.value, e.time = true, a[0], a[1]
	return nil
}

func (e *edge) Final(*sqltypes.Call, []sqltypes.Datum) (sqltypes.Datum, error) {
	if !e.any {
		return sqltypes.Null, nil
	}
	return e.value, nil
}

// histogram counts values in equal classes between two bounds; the first and the
// last class are for what lies outside.
type histogram struct {
	min, max float64
	counts   []sqltypes.Datum
	bounded  bool // min and max are known
}

func (h *histogram) Step(_ *sqltypes.Call, a []sqltypes.Datum) error {
	if a[0].Null {
		return nil
	}
	for _, d := range a[1:] {
		if d.Null {
			return pgerror.New(pgerror.NullValueNotAllowed, "bounds and number of buckets of histogram must not be null")
		}
	}
	if h.counts == nil {
		n := a[3].I
		if n < 1 || n > 1<<20 {
			return pgerror.New(pgerror.InvalidParameterValue, "number of buckets must be between 1 and %d", 1<<20)
		}
		h.counts = make([]sqltypes.Datum, n+2)
	}
	if !h.bounded {
		h.min, h.max, h.bounded = a[1].Float(), a[2].Float(), true
		if !(h.min < h.max) {
			return pgerror.New(pgerror.InvalidParameterValue, "lower bound must be less than upper bound")
		}
	}
	if a[1].Float() != h.min || a[2].Float() != h.max || int(a[3].I)+2 != len(h.counts) {
		return pgerror.New(pgerror.InvalidParameterValue, "bounds and number of buckets must not change between calls")
	}
	v, n := a[0].Float(), len(h.counts)-2
	at := 0
	switch {
	case v >= h.max || v != v: // NaN is above all numbers
		at = n + 1
	case v >= h.min:
		at = 1 + min(int(float64(n)*(v-h.min)/(h.max-h.min)), n-1)
	}
	h.counts[at].I++
	return nil
}

// Merge implements sqltypes.AggMerger: the counts of a histogram with the same bounds.
func (h *histogram) Merge(_ *sqltypes.Call, parts []sqltypes.Datum) error {
	if parts[0].Null {
		return nil
	}
	other := sqltypes.OpenArray(parts[0]).Elements()
	if h.counts == nil {
		h.counts = make([]sqltypes.Datum, len(other))
	}
	if len(other) != len(h.counts) {
		return pgerror.New(pgerror.InvalidParameterValue, "bounds and number of buckets must not change between calls")
	}
	for i, d := range other {
		h.counts[i].I += d.I
	}
	return nil
}

func (h *histogram) Final(*sqltypes.Call, []sqltypes.Datum) (sqltypes.Datum, error) {
	if h.counts == nil {
		return sqltypes.Null, nil
	}
	return sqltypes.MakeArray(sqltypes.TypeByOID(oidInt4), []sqltypes.ArrayDim{{Len: int32(len(h.counts)), Lower: 1}}, h.counts), nil
}

// counter collects points of a series: rate, increase, delta, time_weight. Points
// may come in any order; rows with a NULL do not count.
type counter struct {
	points []point
	final  func(p []point) sqltypes.Datum
}

type point struct {
	t int64
	v float64
}

// maxPoints bounds what one group holds.
const maxPoints = 20_000_000

func (s *counter) Step(_ *sqltypes.Call, a []sqltypes.Datum) error {
	if a[0].Null || a[1].Null {
		return nil
	}
	if len(s.points) >= maxPoints {
		return pgerror.New(pgerror.ProgramLimitExceeded, "more than %d points in one group", maxPoints)
	}
	s.points = append(s.points, point{a[1].I, a[0].Float()})
	return nil
}

func (s *counter) Final(*sqltypes.Call, []sqltypes.Datum) (sqltypes.Datum, error) {
	p := s.points
	if !slices.IsSortedFunc(p, comparePoints) {
		slices.SortStableFunc(p, comparePoints)
	}
	if len(p) == 0 {
		return sqltypes.Null, nil
	}
	return s.final(p), nil
}

func comparePoints(a, b point) int { return cmp.Compare(a.t, b.t) }

// increase is by how much a counter rose; a fall is a reset to zero.
func increase(p []point) float64 {
	sum := 0.0
	for i := 1; i < len(p); i++ {
		if d := p[i].v - p[i-1].v; d >= 0 {
			sum += d
		} else {
			sum += p[i].v
		}
	}
	return sum
}

func seconds(p []point) float64 { return float64(p[len(p)-1].t-p[0].t) / 1e6 }

func orNull(ok bool, v float64) sqltypes.Datum {
	if !ok {
		return sqltypes.Null
	}
	return sqltypes.Float(v)
}

// timeWeight is the average of a value that runs straight between its points.
func timeWeight(p []point) sqltypes.Datum {
	if seconds(p) == 0 {
		return sqltypes.Float(p[len(p)-1].v)
	}
	area := 0.0
	for i := 1; i < len(p); i++ {
		area += (p[i].v + p[i-1].v) / 2 * (float64(p[i].t-p[i-1].t) / 1e6)
	}
	return sqltypes.Float(area / seconds(p))
}

// sketch is approx_percentile: counts of values in classes whose bounds grow by 2 %,
// so that the answer is within 1 % of a value of that rank (Masson et al., "DDSketch", 2019).
type sketch struct {
	pos, neg map[int32]int64
	zero, n  int64
	p        float64
}

var sketchLog = math.Log(1.02)

func (s *sketch) Step(_ *sqltypes.Call, a []sqltypes.Datum) error {
	if a[0].Null || a[1].Null {
		return nil
	}
	v := a[0].Float()
	s.p = a[1].Float()
	if !(s.p >= 0 && s.p <= 1) {
		return pgerror.New(pgerror.NumericValueOutOfRange, "percentile value %v is not between 0 and 1", s.p)
	}
	if v != v || math.IsInf(v, 0) {
		return pgerror.New(pgerror.NumericValueOutOfRange, "approx_percentile of a value that is not finite")
	}
	if s.pos == nil {
		s.pos, s.neg = map[int32]int64{}, map[int32]int64{}
	}
	s.n++
	switch {
	case v > 0:
		s.pos[int32(math.Ceil(math.Log(v)/sketchLog))]++
	case v < 0:
		s.neg[int32(math.Ceil(math.Log(-v)/sketchLog))]++
	default:
		s.zero++
	}
	return nil
}

func (s *sketch) Final(*sqltypes.Call, []sqltypes.Datum) (sqltypes.Datum, error) {
	if s.n == 0 {
		return sqltypes.Null, nil
	}
	rank := int64(s.p * float64(s.n-1))
	middle := func(k int32) float64 { return 2 * math.Exp(float64(k)*sketchLog) / 2.02 }
	for _, k := range sortedClasses(s.neg, true) {
		if rank -= s.neg[k]; rank < 0 {
			return sqltypes.Float(-middle(k)), nil
		}
	}
	if rank -= s.zero; rank < 0 {
		return sqltypes.Float(0), nil
	}
	last := 0.0
	for _, k := range sortedClasses(s.pos, false) {
		last = middle(k)
		if rank -= s.pos[k]; rank < 0 {
			break
		}
	}
	return sqltypes.Float(last), nil
}

func sortedClasses(m map[int32]int64, down bool) []int32 {
	out := make([]int32, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	if down {
		slices.Reverse(out)
	}
	return out
}

func init() {
	numbers := func(final func(p []point) sqltypes.Datum) func(*sqltypes.Call) sqltypes.AggState {
		return func(*sqltypes.Call) sqltypes.AggState { return &counter{final: final} }
	}
	pair := []sqltypes.OID{oidFloat8, oidTimestamptz}
	list := []struct {
		name string
		args []sqltypes.OID
		ret  sqltypes.OID
		make func(*sqltypes.Call) sqltypes.AggState
	}{
		{"first", []sqltypes.OID{sqltypes.OIDAnyelement, sqltypes.OIDAny}, sqltypes.OIDAnyelement, func(*sqltypes.Call) sqltypes.AggState { return &edge{} }},
		{"last", []sqltypes.OID{sqltypes.OIDAnyelement, sqltypes.OIDAny}, sqltypes.OIDAnyelement, func(*sqltypes.Call) sqltypes.AggState { return &edge{last: true} }},
		{"histogram", []sqltypes.OID{oidFloat8, oidFloat8, oidFloat8, oidInt4}, sqltypes.OIDInt4Array, func(*sqltypes.Call) sqltypes.AggState { return &histogram{} }},
		{"increase", pair, oidFloat8, numbers(func(p []point) sqltypes.Datum { return sqltypes.Float(increase(p)) })},
		{"rate", pair, oidFloat8, numbers(func(p []point) sqltypes.Datum { return orNull(seconds(p) > 0, increase(p)/seconds(p)) })},
		{"delta", pair, oidFloat8, numbers(func(p []point) sqltypes.Datum { return sqltypes.Float(p[len(p)-1].v - p[0].v) })},
		{"time_weight", pair, oidFloat8, numbers(timeWeight)},
		{"approx_percentile", []sqltypes.OID{oidFloat8, oidFloat8}, oidFloat8, func(*sqltypes.Call) sqltypes.AggState { return &sketch{} }},
	}
	for i, a := range list {
		sqltypes.RegisterProc(&sqltypes.Proc{OID: firstAggregateProc + sqltypes.OID(i), Name: a.name, Namespace: catalog.SchemaPgCatalog, Kind: 'a',
			Volatility: sqltypes.Immutable, ArgTypes: a.args, RetType: a.ret, Src: "aggregate_dummy", Cost: 1, Parallel: 's',
			Agg: &sqltypes.Aggregate{New: a.make}})
	}
}
