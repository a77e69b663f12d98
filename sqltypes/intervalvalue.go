package sqltypes

import (
	"encoding/binary"
)

// Interval is the value of an interval: three parts that do not carry into one another.
type Interval struct {
	Months int32
	Days   int32
	Usec   int64
}

// MakeInterval packs an interval; IntervalOf takes it apart.
func MakeInterval(v Interval) Datum {
	if v.Months == 0 && v.Days == 0 {
		return Datum{I: v.Usec}
	}
	var b [8]byte
	binary.BigEndian.PutUint32(b[:], uint32(v.Months))
	binary.BigEndian.PutUint32(b[4:], uint32(v.Days))
	return Datum{I: v.Usec, S: string(b[:])}
}

func IntervalOf(d Datum) Interval {
	v := Interval{Usec: d.I}
	if len(d.S) == 8 {
		v.Months, v.Days = int32(be32(d.S)), int32(be32(d.S[4:]))
	}
	return v
}

// span is the interval's length for comparison: months of 30 days, days of 24 hours.
func (v Interval) span() (days, usec int64) {
	days = int64(v.Months)*30 + int64(v.Days) + v.Usec/usecDay
	usec = v.Usec % usecDay
	if usec < 0 {
		usec += usecDay
		days--
	}
	return days, usec
}

// CompareInterval is the interval order: by length, so that a month equals 30 days.
func CompareInterval(a, b Datum) int {
	d1, u1 := IntervalOf(a).span()
	d2, u2 := IntervalOf(b).span()
	if d1 != d2 {
		return cmpInt64(d1, d2)
	}
	return cmpInt64(u1, u2)
}

func hashInterval(d Datum) uint64 {
	days, us := IntervalOf(d).span()
	return hashCombine(HashInt(days), HashInt(us))
}

// AdjustInterval enforces an interval typmod: fields that the range leaves out
// are cut, seconds rounded to the precision.
func AdjustInterval(v Interval, typmod int32) Interval {
	if typmod < 0 {
		return v
	}
	fields, precision := IntervalFieldsPrecision(typmod)
	cut := func(unit int64) { v.Usec = v.Usec / unit * unit }
	switch fields {
	case maskYear:
		v.Months = v.Months / 12 * 12
		v.Days, v.Usec = 0, 0
	case maskMonth, maskYear | maskMonth:
		v.Days, v.Usec = 0, 0
	case maskDay:
		v.Usec = 0
	case maskHour, maskDay | maskHour:
		cut(usecHour)
	case maskMinute, maskHour | maskMinute, maskDay | maskHour | maskMinute:
		cut(usecMin)
	}
	if precision >= 0 {
		v.Usec = roundUsec(v.Usec, int32(precision))
	}
	return v
}

func intervalCodec() codec {
	return codec{
		kind: KDatum,
		in: func(env *Env, s string, typmod int32) (Datum, error) {
			v, err := ParseInterval(env, s, typmod)
			return MakeInterval(v), err
		},
		out: func(env *Env, dst []byte, d Datum) []byte {
			return AppendInterval(dst, formatsOf(env).IntervalStyle, IntervalOf(d))
		},
		recv: func(_ *Env, b []byte, typmod int32) (Datum, error) {
			r := &wireReader{b: b}
			v := Interval{Usec: r.i64(), Days: r.i32(), Months: r.i32()}
			if err := r.done(); err != nil {
				return Null, err
			}
			return MakeInterval(AdjustInterval(v, typmod)), nil
		},
		send: func(_ *Env, dst []byte, d Datum) []byte {
			v := IntervalOf(d)
			dst = binary.BigEndian.AppendUint64(dst, uint64(v.Usec))
			dst = binary.BigEndian.AppendUint32(dst, uint32(v.Days))
			return binary.BigEndian.AppendUint32(dst, uint32(v.Months))
		},
		compare: CompareInterval, hash: hashInterval,
	}
}
