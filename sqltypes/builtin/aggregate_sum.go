package builtin

import (
	"math"

	"ostraka/sqltypes"
)

// intSum is sum of int2 and int4, which gives bigint and wraps as PostgreSQL does.
type intSum struct {
	sum  int64
	some bool
}

func (s *intSum) Step(_ *Call, args []Datum) error {
	s.sum, s.some = s.sum+args[0].I, true
	return nil
}

func (s *intSum) Final(*Call, []Datum) (Datum, error) {
	if !s.some {
		return isNull()
	}
	return integer(s.sum)
}

// intAvg is avg of int2 and int4.
type intAvg struct{ sum, n int64 }

func (s *intAvg) Step(_ *Call, args []Datum) error {
	s.sum += args[0].I
	s.n++
	return nil
}

func (s *intAvg) Final(*Call, []Datum) (Datum, error) {
	if s.n == 0 {
		return isNull()
	}
	return sqltypes.NumericDiv(sqltypes.NumericInt(s.sum), sqltypes.NumericInt(s.n))
}

// numericSum is sum and avg of numeric and int8.
type numericSum struct {
	sum     sqltypes.NumericSum
	n       int64
	integer bool
	average bool
}

func (s *numericSum) Step(_ *Call, args []Datum) error {
	s.n++
	if s.integer {
		s.sum.AddInt(args[0].I)
	} else {
		s.sum.Add(args[0])
	}
	return nil
}

func (s *numericSum) Final(*Call, []Datum) (Datum, error) {
	switch {
	case s.n == 0:
		return isNull()
	case s.average:
		return s.sum.Avg()
	}
	return s.sum.Sum()
}

// numericVariance is var_* and stddev_* of integers and numerics: the sums of
// the values and of their squares, exactly.
type numericVariance struct {
	sum, squares sqltypes.NumericSum
	n            int64
	special      bool // NaN or an infinity was seen: the result is NaN
	integer      bool
	sample, root bool
}

func (s *numericVariance) Step(_ *Call, args []Datum) error {
	d := args[0]
	if s.integer {
		d = sqltypes.NumericInt(d.I)
	}
	s.n++
	if !sqltypes.NumericIsFinite(d) {
		s.special = true
		return nil
	}
	square, err := sqltypes.NumericMul(d, d)
	if err != nil {
		return err
	}
	s.sum.Add(d)
	s.squares.Add(square)
	return nil
}

func (s *numericVariance) Final(*Call, []Datum) (Datum, error) {
	if s.n == 0 || s.sample && s.n == 1 {
		return isNull()
	}
	if s.special {
		return sqltypes.NumericNaN, nil
	}
	v, err := s.variance()
	if err != nil || !s.root || sqltypes.NumericSign(v) == 0 {
		return v, err
	}
	root, err := sqltypes.NumericSqrt(v)
	if err != nil {
		return null, err
	}
	return sqltypes.NumericRound(root, int(sqltypes.NumericScale(v)))
}

// Merge implements sqltypes.AggMerger: number, sum and sum of squares.
func (s *numericVariance) Merge(_ *Call, parts []Datum) error {
	if parts[0].I == 0 {
		return nil
	}
	s.n += parts[0].I
	if !sqltypes.NumericIsFinite(parts[1]) {
		s.special = true
		return nil
	}
	s.sum.Add(parts[1])
	s.squares.Add(parts[2])
	return nil
}

// variance is (n Σx² - (Σx)²) / n(n-1) or / n².
func (s *numericVariance) variance() (Datum, error) {
	sum, err := s.sum.Sum()
	if err != nil {
		return null, err
	}
	squares, err := s.squares.Sum()
	if err != nil {
		return null, err
	}
	n := sqltypes.NumericInt(s.n)
	if squares, err = sqltypes.NumericMul(n, squares); err != nil {
		return null, err
	}
	if sum, err = sqltypes.NumericMul(sum, sum); err != nil {
		return null, err
	}
	top, err := sqltypes.NumericSub(squares, sum)
	if err != nil {
		return null, err
	}
	if sqltypes.NumericSign(top) <= 0 {
		return sqltypes.NumericInt(0), nil
	}
	other := n
	if s.sample {
		other = sqltypes.NumericInt(s.n - 1)
	}
	bottom, err := sqltypes.NumericMul(n, other)
	if err != nil {
		return null, err
	}
	return sqltypes.NumericDiv(top, bottom)
}

// floatSum is sum of float4 and float8.
type floatSum struct {
	sum   float64
	some  bool
	width floatWidth
}

func (s *floatSum) Step(_ *Call, args []Datum) error {
	if !s.some {
		s.sum, s.some = args[0].Float(), true
		return nil
	}
	d, err := s.width.sum(s.sum, args[0].Float(), s.sum+args[0].Float())
	s.sum = d.Float()
	return err
}

func (s *floatSum) Final(*Call, []Datum) (Datum, error) {
	if !s.some {
		return isNull()
	}
	return float(s.sum)
}

// floatMoments are avg, var_* and stddev_* of floats by the Youngs-Cramer
// recurrence, in the order of operations that PostgreSQL uses.
type floatMoments struct {
	n, sx, sxx float64
	final      func(n, sx, sxx float64) (Datum, error)
}

func (s *floatMoments) Step(_ *Call, args []Datum) error {
	x, oldN, oldSx := args[0].Float(), s.n, s.sx
	s.n++
	s.sx += x
	if oldN == 0 {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			s.sxx = math.NaN()
		}
		return nil
	}
	tmp := x*s.n - s.sx
	s.sxx += tmp * tmp / (s.n * oldN)
	if math.IsInf(s.sx, 0) || math.IsInf(s.sxx, 0) {
		if !math.IsInf(oldSx, 0) && !math.IsInf(x, 0) {
			return floatOverflow()
		}
		s.sxx = math.NaN()
	}
	return nil
}

// Merge implements sqltypes.AggMerger: number, sum and sum of squared deviations, put
// together as PostgreSQL's float8_combine does.
func (s *floatMoments) Merge(_ *Call, parts []Datum) error {
	if parts[0].I == 0 {
		return nil
	}
	n, sx, sxx := float64(parts[0].I), parts[1].Float(), parts[2].Float()
	if s.n == 0 {
		s.n, s.sx, s.sxx = n, sx, sxx
		return nil
	}
	tmp := s.sx/s.n - sx/n
	sum := s.sx + sx
	s.sxx += sxx + s.n*n*tmp*tmp/(s.n+n)
	if math.IsInf(s.sxx, 0) && !math.IsInf(s.sx, 0) && !math.IsInf(sx, 0) {
		return floatOverflow()
	}
	s.n, s.sx = s.n+n, sum
	return nil
}

func (s *floatMoments) Final(*Call, []Datum) (Datum, error) { return s.final(s.n, s.sx, s.sxx) }

func newMoments(final func(n, sx, sxx float64) (Datum, error)) func(*Call) AggState {
	return func(*Call) AggState { return &floatMoments{final: final} }
}

// spread makes variance or standard deviation of floats.
func spread(sample, root bool) func(n, sx, sxx float64) (Datum, error) {
	return func(n, _, sxx float64) (Datum, error) {
		if sample {
			n--
		}
		if n <= 0 {
			return isNull()
		}
		v := sxx / n
		if root {
			v = math.Sqrt(v)
		}
		return float(v)
	}
}

func init() {
	newIntSum := func(*Call) AggState { return &intSum{} }
	newIntAvg := func(*Call) AggState { return &intAvg{} }
	newSum := func(integer, average bool) func(*Call) AggState {
		return func(*Call) AggState { return &numericSum{integer: integer, average: average} }
	}
	average := newMoments(func(n, sx, _ float64) (Datum, error) {
		if n == 0 {
			return isNull()
		}
		return float(sx / n)
	})
	aggTable{
		"sum(int2)": newIntSum, "sum(int4)": newIntSum, "avg(int2)": newIntAvg, "avg(int4)": newIntAvg,
		"sum(int8)": newSum(true, false), "avg(int8)": newSum(true, true),
		"sum(numeric)": newSum(false, false), "avg(numeric)": newSum(false, true),
		"sum(float4)": func(*Call) AggState { return &floatSum{width: single} },
		"sum(float8)": func(*Call) AggState { return &floatSum{width: double} },
		"avg(float4)": average, "avg(float8)": average,
		"sum(money)": fold(widthMoney.add),
	}.registerSkipNull()
	for name, kind := range map[string]struct{ sample, root bool }{
		"variance": {true, false}, "var_samp": {true, false}, "var_pop": {false, false},
		"stddev": {true, true}, "stddev_samp": {true, true}, "stddev_pop": {false, true},
	} {
		newVariance := func(integer bool) func(*Call) AggState {
			return func(*Call) AggState {
				return &numericVariance{integer: integer, sample: kind.sample, root: kind.root}
			}
		}
		floats := newMoments(spread(kind.sample, kind.root))
		aggTable{
			name + "(int2)": newVariance(true), name + "(int4)": newVariance(true), name + "(int8)": newVariance(true),
			name + "(numeric)": newVariance(false), name + "(float4)": floats, name + "(float8)": floats,
		}.registerSkipNull()
	}
}
