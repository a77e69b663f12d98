package builtin

import (
	"math"
	"strconv"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// formatG writes a float as C's %g does.
func formatG(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }

// sumIntervals adds field by field; sign -1 subtracts.
func sumIntervals(a, b sqltypes.Interval, sign int64) (sqltypes.Interval, error) {
	months := int64(a.Months) + sign*int64(b.Months)
	days := int64(a.Days) + sign*int64(b.Days)
	usec := a.Usec + sign*b.Usec
	overflow := sign > 0 && (b.Usec >= 0) != (usec >= a.Usec) || sign < 0 && (b.Usec >= 0) != (usec <= a.Usec)
	if overflow || months != int64(int32(months)) || days != int64(int32(days)) {
		return sqltypes.Interval{}, sqltypes.IntervalOutOfRange()
	}
	return sqltypes.Interval{Months: int32(months), Days: int32(days), Usec: usec}, nil
}

func interval(v sqltypes.Interval, err error) (Datum, error) {
	if err != nil {
		return null, err
	}
	return sqltypes.MakeInterval(v), nil
}

func negateInterval(v sqltypes.Interval) (sqltypes.Interval, error) {
	if v.Months == math.MinInt32 || v.Days == math.MinInt32 || v.Usec == math.MinInt64 {
		return v, sqltypes.IntervalOutOfRange()
	}
	return opposite(v), nil
}

// scaleInterval multiplies each part by op (a product or quotient); fractions of
// months become days and fractions of days time, as PostgreSQL rounds them.
func scaleInterval(v sqltypes.Interval, op func(float64) float64) (sqltypes.Interval, error) {
	months, days := op(float64(v.Months)), op(float64(v.Days))
	for _, f := range []float64{months, days} {
		if math.IsNaN(f) || f > math.MaxInt32 || f < math.MinInt32 {
			return v, sqltypes.IntervalOutOfRange()
		}
	}
	round := func(f float64) float64 { return math.RoundToEven(f*1e6) / 1e6 }
	r := sqltypes.Interval{Months: int32(months), Days: int32(days)}
	monthDays := round((months - float64(r.Months)) * 30)
	seconds := round((days - float64(r.Days) + monthDays - float64(int32(monthDays))) * 86400)
	whole := int64(r.Days)
	if math.Abs(seconds) >= 86400 {
		carry := int32(seconds / 86400)
		whole += int64(carry)
		seconds -= float64(carry) * 86400
	}
	whole += int64(int32(monthDays))
	usec := math.RoundToEven(op(float64(v.Usec)) + seconds*1e6)
	if whole != int64(int32(whole)) || math.IsNaN(usec) || usec < math.MinInt64 || usec >= math.MaxInt64 {
		return v, sqltypes.IntervalOutOfRange()
	}
	r.Days, r.Usec = int32(whole), int64(usec)
	return r, nil
}

func multiplyInterval(span, factor Datum) (Datum, error) {
	f := factor.Float()
	return interval(scaleInterval(sqltypes.IntervalOf(span), func(x float64) float64 { return x * f }))
}

func divideInterval(_ *Call, args []Datum) (Datum, error) {
	f := args[1].Float()
	if f == 0 {
		return fail(divisionByZero())
	}
	return interval(scaleInterval(sqltypes.IntervalOf(args[0]), func(x float64) float64 { return x / f }))
}

// justifyHours turns each 24 hours into a day, justifyDays each 30 days into a
// month, with one sign for both parts.
func justifyHours(v sqltypes.Interval) (sqltypes.Interval, error) {
	days := int64(v.Days) + v.Usec/usecPerDay
	v.Usec %= usecPerDay
	if days > 0 && v.Usec < 0 {
		v.Usec += usecPerDay
		days--
	} else if days < 0 && v.Usec > 0 {
		v.Usec -= usecPerDay
		days++
	}
	if days != int64(int32(days)) {
		return v, sqltypes.IntervalOutOfRange()
	}
	v.Days = int32(days)
	return v, nil
}

func justifyDays(v sqltypes.Interval) (sqltypes.Interval, error) {
	months := int64(v.Months) + int64(v.Days/30)
	v.Days %= 30
	if months > 0 && v.Days < 0 {
		v.Days += 30
		months--
	} else if months < 0 && v.Days > 0 {
		v.Days -= 30
		months++
	}
	if months != int64(int32(months)) {
		return v, sqltypes.IntervalOutOfRange()
	}
	v.Months = int32(months)
	return v, nil
}

func justifyInterval(v sqltypes.Interval) (sqltypes.Interval, error) {
	days := int64(v.Days) + v.Usec/usecPerDay
	v.Usec %= usecPerDay
	months := int64(v.Months) + days/30
	days %= 30
	if months > 0 && (days < 0 || days == 0 && v.Usec < 0) {
		days += 30
		months--
	} else if months < 0 && (days > 0 || days == 0 && v.Usec > 0) {
		days -= 30
		months++
	}
	if days > 0 && v.Usec < 0 {
		v.Usec += usecPerDay
		days--
	} else if days < 0 && v.Usec > 0 {
		v.Usec -= usecPerDay
		days++
	}
	if months != int64(int32(months)) {
		return v, sqltypes.IntervalOutOfRange()
	}
	v.Months, v.Days = int32(months), int32(days)
	return v, nil
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
	v, err := sumIntervals(s.sum, sqltypes.IntervalOf(args[0]), 1)
	s.sum = v
	s.n++
	return err
}

func (s *intervalAvg) Final(*Call, []Datum) (Datum, error) {
	if s.n == 0 {
		return isNull()
	}
	return interval(scaleInterval(s.sum, func(x float64) float64 { return x / float64(s.n) }))
}

// makeInterval is make_interval(years, months, weeks, days, hours, mins, secs).
func makeInterval(_ *Call, args []Datum) (Datum, error) {
	months := args[0].I*12 + args[1].I
	days := args[2].I*7 + args[3].I
	secs := math.RoundToEven(args[6].Float() * 1e6)
	if special(secs) || months != int64(int32(months)) || days != int64(int32(days)) || math.Abs(secs) >= math.MaxInt64 {
		return null, sqltypes.IntervalOutOfRange()
	}
	usec := args[4].I*usecPerHour + args[5].I*60*usecPerSec
	sum := usec + int64(secs)
	if (secs >= 0) != (sum >= usec) {
		return null, sqltypes.IntervalOutOfRange()
	}
	return interval(sqltypes.Interval{Months: int32(months), Days: int32(days), Usec: sum}, nil)
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
	combine := func(sign int64) sqltypes.ScalarFunc {
		return func(_ *Call, a []Datum) (Datum, error) {
			return interval(sumIntervals(sqltypes.IntervalOf(a[0]), sqltypes.IntervalOf(a[1]), sign))
		}
	}
	scalarTable{
		"interval_pl": combine(1), "interval_mi": combine(-1), "interval_um": mapInterval(negateInterval),
		"interval_mul":              func(_ *Call, a []Datum) (Datum, error) { return multiplyInterval(a[0], a[1]) },
		"mul_d_interval":            func(_ *Call, a []Datum) (Datum, error) { return multiplyInterval(a[1], a[0]) },
		"interval_div":              divideInterval,
		"interval_justify_hours":    mapInterval(justifyHours),
		"interval_justify_days":     mapInterval(justifyDays),
		"interval_justify_interval": mapInterval(justifyInterval),
		"make_interval":             makeInterval,
	}.register()
	aggTable{
		"sum(interval)": fold(combine(1)),
		"avg(interval)": func(*Call) AggState { return &intervalAvg{} },
	}.registerSkipNull()
}
