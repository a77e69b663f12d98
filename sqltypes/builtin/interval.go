package builtin

import (
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func interval(v sqltypes.Interval, err error) (Datum, error) {
	if err != nil {
		return null, err
	}
	return sqltypes.MakeInterval(v), nil
}

func mapInterval(f func(sqltypes.Interval) (sqltypes.Interval, error)) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) { return interval(f(sqltypes.IntervalOf(args[0]))) }
}

// intervalAvg is avg(interval): the sum divided by the count.
type intervalAvg struct {
	sum sqltypes.Interval
	n   int64
}

func (s *intervalAvg) Step(_ *Call, args []Datum) error {
	v, err := s.sum.Add(sqltypes.IntervalOf(args[0]))
	s.sum = v
	s.n++
	return err
}

func (s *intervalAvg) Final(*Call, []Datum) (Datum, error) {
	if s.n == 0 {
		return isNull()
	}
	return interval(s.sum.Div(float64(s.n)))
}

// intervalZone is the offset, seconds east of UTC, that an interval means as a time zone.
func intervalZone(c *Call, d Datum) (int64, *pgerror.Error) {
	v := sqltypes.IntervalOf(d)
	if v.Months != 0 || v.Days != 0 {
		return 0, pgerror.New(pgerror.InvalidParameterValue, "interval time zone \"%s\" must not include months or days", outText(c, sqltypes.OIDInterval, d))
	}
	return v.Usec / usecPerSec, nil
}

func init() {
	plus := func(_ *Call, a []Datum) (Datum, error) {
		return interval(sqltypes.IntervalOf(a[0]).Add(sqltypes.IntervalOf(a[1])))
	}
	scalarTable{
		"interval_pl": plus,
		"interval_mi": func(_ *Call, a []Datum) (Datum, error) {
			return interval(sqltypes.IntervalOf(a[0]).Sub(sqltypes.IntervalOf(a[1])))
		},
		"interval_um":               mapInterval(sqltypes.Interval.Neg),
		"interval_mul":              func(_ *Call, a []Datum) (Datum, error) { return interval(sqltypes.IntervalOf(a[0]).Mul(a[1].Float())) },
		"mul_d_interval":            func(_ *Call, a []Datum) (Datum, error) { return interval(sqltypes.IntervalOf(a[1]).Mul(a[0].Float())) },
		"interval_div":              func(_ *Call, a []Datum) (Datum, error) { return interval(sqltypes.IntervalOf(a[0]).Div(a[1].Float())) },
		"interval_justify_hours":    mapInterval(sqltypes.Interval.JustifyHours),
		"interval_justify_days":     mapInterval(sqltypes.Interval.JustifyDays),
		"interval_justify_interval": mapInterval(sqltypes.Interval.JustifyInterval),
	}.register()
	aggTable{
		"sum(interval)": fold(plus),
		"avg(interval)": func(*Call) AggState { return &intervalAvg{} },
	}.registerSkipNull()
}
