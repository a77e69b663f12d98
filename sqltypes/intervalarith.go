package sqltypes

import "math"

// Add and Sub work part by part. Error: 22008.
func (v Interval) Add(w Interval) (Interval, error) {
	m, d := int64(v.Months)+int64(w.Months), int64(v.Days)+int64(w.Days)
	us, ok := addInt64(v.Usec, w.Usec)
	if !ok || !fitsInt32(m) || !fitsInt32(d) {
		return Interval{}, IntervalOutOfRange()
	}
	return Interval{int32(m), int32(d), us}, nil
}

func (v Interval) Sub(w Interval) (Interval, error) {
	m, d := int64(v.Months)-int64(w.Months), int64(v.Days)-int64(w.Days)
	us, ok := subInt64(v.Usec, w.Usec)
	if !ok || !fitsInt32(m) || !fitsInt32(d) {
		return Interval{}, IntervalOutOfRange()
	}
	return Interval{int32(m), int32(d), us}, nil
}

// Neg is -v. Error: 22008.
func (v Interval) Neg() (Interval, error) {
	n, ok := v.Negate()
	if !ok {
		return Interval{}, IntervalOutOfRange()
	}
	return n, nil
}

func roundMicro(f float64) float64 { return math.RoundToEven(f*1e6) / 1e6 }

// Mul and Div scale an interval; fractions of months become days (of 30 a
// month), those of days time. Errors: 22008, 22012.
func (v Interval) Mul(f float64) (Interval, error) {
	return v.scale(func(x float64) float64 { return x * f })
}

func (v Interval) Div(f float64) (Interval, error) {
	if f == 0 {
		return Interval{}, DivisionByZero()
	}
	return v.scale(func(x float64) float64 { return x / f })
}

func (v Interval) scale(op func(float64) float64) (Interval, error) {
	months, days := op(float64(v.Months)), op(float64(v.Days))
	in32 := func(f float64) bool { return f == f && f > math.MinInt32-1.0 && f < math.MaxInt32+1.0 }
	if !in32(months) || !in32(days) {
		return Interval{}, IntervalOutOfRange()
	}
	r := Interval{Months: int32(months), Days: int32(days)}
	extraDays := roundMicro((months - float64(r.Months)) * 30)
	extraSec := roundMicro((days - float64(r.Days) + extraDays - math.Trunc(extraDays)) * 86400)
	d := int64(r.Days)
	if math.Abs(extraSec) >= 86400 {
		d += int64(extraSec / 86400)
		extraSec -= math.Trunc(extraSec/86400) * 86400
	}
	d += int64(extraDays)
	us := math.RoundToEven(op(float64(v.Usec)) + extraSec*1e6)
	if !fitsInt32(d) || us != us || us < -(1<<63) || us >= 1<<63 {
		return Interval{}, IntervalOutOfRange()
	}
	r.Days, r.Usec = int32(d), int64(us)
	return r, nil
}

// JustifyHours turns 24 hours into days, JustifyDays 30 days into months,
// JustifyInterval both with one sign throughout. Error: 22008.
func (v Interval) JustifyHours() (Interval, error) {
	d := int64(v.Days) + v.Usec/usecDay
	us := v.Usec % usecDay
	if d > 0 && us < 0 {
		us += usecDay
		d--
	} else if d < 0 && us > 0 {
		us -= usecDay
		d++
	}
	if !fitsInt32(d) {
		return Interval{}, IntervalOutOfRange()
	}
	return Interval{v.Months, int32(d), us}, nil
}

func (v Interval) JustifyDays() (Interval, error) {
	m, d := int64(v.Months)+int64(v.Days/30), v.Days%30
	if m > 0 && d < 0 {
		d += 30
		m--
	} else if m < 0 && d > 0 {
		d -= 30
		m++
	}
	if !fitsInt32(m) {
		return Interval{}, IntervalOutOfRange()
	}
	return Interval{int32(m), d, v.Usec}, nil
}

func (v Interval) JustifyInterval() (Interval, error) {
	d := int64(v.Days) + v.Usec/usecDay
	us := v.Usec % usecDay
	m := int64(v.Months) + d/30
	d %= 30
	if m > 0 && (d < 0 || d == 0 && us < 0) {
		d += 30
		m--
	} else if m < 0 && (d > 0 || d == 0 && us > 0) {
		d -= 30
		m++
	}
	if d > 0 && us < 0 {
		us += usecDay
		d--
	} else if d < 0 && us > 0 {
		us -= usecDay
		d++
	}
	if !fitsInt32(m) {
		return Interval{}, IntervalOutOfRange()
	}
	return Interval{int32(m), int32(d), us}, nil
}

// MakeIntervalFields is make_interval. Error: 22008.
func MakeIntervalFields(years, months, weeks, days, hours, mins int64, secs float64) (Interval, error) {
	m, d := years*12+months, weeks*7+days
	us := math.RoundToEven(secs * 1e6)
	if !fitsInt32(m) || !fitsInt32(d) || secs != secs || math.Abs(us) >= 1<<63 {
		return Interval{}, IntervalOutOfRange()
	}
	t, ok := addInt64(hours*usecHour+mins*usecMin, int64(us))
	if !ok {
		return Interval{}, IntervalOutOfRange()
	}
	return Interval{int32(m), int32(d), t}, nil
}

// IntervalToTime is the time of day left when whole days are taken off.
func IntervalToTime(v Interval) int64 {
	us := v.Usec % usecDay
	if us < 0 {
		us += usecDay
	}
	return us
}
