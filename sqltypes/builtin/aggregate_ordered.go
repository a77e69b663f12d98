package builtin

import (
	"math"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// percentile is percentile_disc and percentile_cont; Step sees the values in order.
type percentile struct {
	values []Datum
	lerp   func(c *Call, lo, hi Datum, fraction float64) (Datum, error) // nil: discrete
	many   bool                                                         // an array of fractions
}

func (s *percentile) Step(_ *Call, args []Datum) error {
	if v := args[len(args)-1]; !v.Null {
		s.values = append(s.values, v)
	}
	return nil
}

func checkFraction(p float64) error {
	if p < 0 || p > 1 || math.IsNaN(p) {
		return pgerror.New(pgerror.NumericValueOutOfRange, "percentile value %g is not between 0 and 1", p)
	}
	return nil
}

// at is the value at fraction p of at least one value.
func (s *percentile) at(c *Call, p float64) (Datum, error) {
	n := float64(len(s.values))
	if s.lerp == nil {
		return s.values[int(max(math.Ceil(p*n), 1))-1], nil
	}
	place := p * (n - 1)
	lo, hi := math.Floor(place), math.Ceil(place)
	if lo == hi {
		return s.values[int(lo)], nil
	}
	return s.lerp(c, s.values[int(lo)], s.values[int(hi)], place-lo)
}

func (s *percentile) Final(c *Call, direct []Datum) (Datum, error) {
	if direct[0].Null {
		return isNull()
	}
	if !s.many {
		if err := checkFraction(direct[0].Float()); err != nil {
			return null, err
		}
		if len(s.values) == 0 {
			return isNull()
		}
		return s.at(c, direct[0].Float())
	}
	if len(s.values) == 0 {
		return isNull()
	}
	fractions := sqltypes.OpenArray(direct[0])
	out := make([]Datum, fractions.Len())
	for i, f := range fractions.Elements() {
		if f.Null {
			out[i] = null
			continue
		}
		if err := checkFraction(f.Float()); err != nil {
			return null, err
		}
		var err error
		if out[i], err = s.at(c, f.Float()); err != nil {
			return null, err
		}
	}
	t, err := elemType(c, c.ArgTypes[1].OID)
	if err != nil {
		return null, err
	}
	return sqltypes.MakeArray(t, fractions.Dims(), out), nil
}

func lerpFloat(_ *Call, lo, hi Datum, fraction float64) (Datum, error) {
	return float(lo.Float() + fraction*(hi.Float()-lo.Float()))
}

// lerpInterval is lo + fraction × (hi - lo) by the interval functions.
func lerpInterval(c *Call, lo, hi Datum, fraction float64) (Datum, error) {
	diff, err := callRegistered(c, oidIntervalMinus, hi, lo)
	if err != nil {
		return null, err
	}
	part, err := callRegistered(c, oidIntervalTimes, diff, sqltypes.Float(fraction))
	if err != nil {
		return null, err
	}
	return callRegistered(c, oidIntervalPlus, part, lo)
}

// pg_proc OIDs of the functions that lerpInterval goes through.
const (
	oidIntervalTimes sqltypes.OID = 1618
	oidIntervalPlus  sqltypes.OID = 1169
	oidIntervalMinus sqltypes.OID = 1170
)

// callRegistered calls another built-in function.
func callRegistered(c *Call, oid sqltypes.OID, args ...Datum) (Datum, error) {
	p := sqltypes.ProcByOID(oid)
	if p == nil || p.Fn == nil {
		return fail(pgerror.NotSupported("function with OID %d", oid))
	}
	types := make([]sqltypes.ColumnType, len(p.ArgTypes))
	for i, t := range p.ArgTypes {
		types[i] = sqltypes.ColumnType{OID: t, TypMod: -1}
	}
	return p.Fn(&Call{Env: c.Env, Proc: p, ArgTypes: types, RetType: sqltypes.ColumnType{OID: p.RetType, TypMod: -1}, Collation: c.Collation}, args)
}

// mode is the most frequent value, the first in order of several.
type mode struct {
	best, current   Datum
	bestN, currentN int64
	compare         func(a, b Datum) int
}

func (s *mode) Step(_ *Call, args []Datum) error {
	v := args[len(args)-1]
	if v.Null {
		return nil
	}
	if s.currentN > 0 && s.compare(v, s.current) == 0 {
		s.currentN++
	} else {
		s.current, s.currentN = v, 1
	}
	if s.currentN > s.bestN {
		s.best, s.bestN = s.current, s.currentN
	}
	return nil
}

func (s *mode) Final(*Call, []Datum) (Datum, error) {
	if s.bestN == 0 {
		return isNull()
	}
	return s.best, nil
}

// hypothetical is rank, dense_rank, percent_rank and cume_dist of the row that
// the direct arguments make among the sorted rows.
type hypothetical struct {
	rows  [][]Datum
	final func(before, distinctBefore, upTo, n int64) (Datum, error)
}

func (s *hypothetical) Step(_ *Call, args []Datum) error {
	s.rows = append(s.rows, append([]Datum(nil), args...))
	return nil
}

func (s *hypothetical) Final(c *Call, direct []Datum) (Datum, error) {
	orders := make([]func(a, b Datum) int, len(direct))
	for i := range direct {
		t, err := elemType(c, c.ArgTypes[i].OID)
		if err != nil {
			return null, err
		}
		if orders[i] = t.Compare; orders[i] == nil {
			return null, pgerror.New(pgerror.UndefinedFunction, "could not identify an ordering operator for type %s", sqltypes.FormatType(t.OID, -1))
		}
	}
	compare := func(a, b []Datum) int {
		for i, order := range orders {
			key := sqltypes.SortKey{}
			if i < len(c.Sort) {
				key = c.Sort[i]
			}
			if r := compareKey(order, key, a[i], b[i]); r != 0 {
				return r
			}
		}
		return 0
	}
	var before, distinct, upTo int64
	for i, row := range s.rows {
		r := compare(row, direct)
		if r < 0 {
			before++
			if i == 0 || compare(s.rows[i-1], row) != 0 {
				distinct++
			}
		}
		if r <= 0 {
			upTo++
		}
	}
	return s.final(before, distinct, upTo, int64(len(s.rows)))
}

// compareKey orders two values by one ORDER BY key.
func compareKey(order func(a, b Datum) int, key sqltypes.SortKey, a, b Datum) int {
	switch {
	case a.Null && b.Null:
		return 0
	case a.Null != b.Null:
		if a.Null == key.NullsFirst {
			return -1
		}
		return 1
	}
	if key.Desc {
		return order(b, a)
	}
	return order(a, b)
}

func init() {
	newPercentile := func(lerp func(*Call, Datum, Datum, float64) (Datum, error), many bool) func(*Call) AggState {
		return func(*Call) AggState { return &percentile{lerp: lerp, many: many} }
	}
	newHypothetical := func(final func(before, distinct, upTo, n int64) (Datum, error)) func(*Call) AggState {
		return func(*Call) AggState { return &hypothetical{final: final} }
	}
	aggTable{
		"percentile_disc(float8,anyelement)":  newPercentile(nil, false),
		"percentile_disc(_float8,anyelement)": newPercentile(nil, true),
		"percentile_cont(float8,float8)":      newPercentile(lerpFloat, false),
		"percentile_cont(_float8,float8)":     newPercentile(lerpFloat, true),
		"percentile_cont(float8,interval)":    newPercentile(lerpInterval, false),
		"percentile_cont(_float8,interval)":   newPercentile(lerpInterval, true),
		"mode(anyelement)":                    func(c *Call) AggState { return &mode{compare: argOrder(c)} },
		"rank(any)":                           newHypothetical(func(before, _, _, _ int64) (Datum, error) { return integer(before + 1) }),
		"dense_rank(any)":                     newHypothetical(func(_, distinct, _, _ int64) (Datum, error) { return integer(distinct + 1) }),
		"percent_rank(any)": newHypothetical(func(before, _, _, n int64) (Datum, error) {
			if n == 0 {
				return float(0)
			}
			return float(float64(before) / float64(n))
		}),
		"cume_dist(any)": newHypothetical(func(_, _, upTo, n int64) (Datum, error) {
			return float(float64(upTo+1) / float64(n+1))
		}),
	}.register()
}
