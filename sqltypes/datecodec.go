package sqltypes

import (
	"encoding/binary"

	"ostraka/sqltypes/pgerror"
)

var isoFormats = DefaultFormats()

func formatsOf(env *Env) *Formats {
	if env == nil {
		return &isoFormats
	}
	return &env.Formats
}

func timestampTextRange(s string) error {
	return pgerror.New(pgerror.DatetimeValueOutOfRange, "timestamp out of range: \"%s\"", s)
}

// ParseDate reads a date: days since 2000-01-01. Errors: 22007, 22008.
func ParseDate(env *Env, s string) (int64, error) {
	if days, ok := isoDate(s); ok {
		return days, nil
	}
	p := newDateParse(env)
	fields, ok := splitDate(s)
	if !ok {
		return 0, dateTextError(dateBadFormat, s, "date")
	}
	if e := p.decode(fields, false); e != dateOK {
		if p.unknownZone != "" {
			return 0, zoneNotRecognized(p.unknownZone)
		}
		return 0, dateTextError(e, s, "date")
	}
	switch p.special {
	case resLate:
		return DateInfinity, nil
	case resEarly:
		return DateNegInfinity, nil
	case resEpoch:
		p.civil = epochCivil
	}
	outOfRange := func() error {
		return pgerror.New(pgerror.DatetimeValueOutOfRange, "date out of range: \"%s\"", s)
	}
	if !validJulian(p.year, p.month) {
		return 0, outOfRange()
	}
	days := int64(dateToJulian(p.year, p.month, p.day) - postgresEpochJulian)
	if !validDate(days) {
		return 0, outOfRange()
	}
	return days, nil
}

// ParseTimestamp reads a timestamp without zone (a zone in the text is ignored);
// ParseTimestamptz an instant. µs since 2000-01-01. Errors: 22007, 22008, 22009.
func ParseTimestamp(env *Env, s string) (int64, error) {
	return parseTimestamp(env, s, false, "timestamp")
}
func ParseTimestamptz(env *Env, s string) (int64, error) {
	return parseTimestamp(env, s, true, "timestamp with time zone")
}

// ParseTime reads a time of day; west is its zone, seconds west of UTC (the
// session's when the text has none).
func ParseTime(env *Env, s string, withZone bool) (us int64, west int32, err error) {
	typ := "time"
	if withZone {
		typ = "time with time zone"
	}
	p := newDateParse(env)
	fields, ok := splitDate(s)
	if !ok {
		return 0, 0, dateTextError(dateBadFormat, s, typ)
	}
	if e := p.decode(fields, true); e != dateOK {
		if p.unknownZone != "" {
			return 0, 0, zoneNotRecognized(p.unknownZone)
		}
		return 0, 0, dateTextError(e, s, typ)
	}
	us = p.timeOfDay()
	z := p.zone
	if !p.zoneSet {
		z = zoneSpec{loc: p.formats.TimeZone}
	}
	if !z.fixed {
		switch {
		case p.seen&hasDate == hasDate:
			local, _ := p.timestamp(0)
			return us, int32(-z.eastAtLocal(local)), nil
		case p.zoneSet && z.abbr == "" && !fixedLocation(z):
			return 0, 0, dateTextError(dateBadFormat, s, typ)
		}
		c, _ := p.now()
		p.setDate(c)
		local, _ := p.timestamp(0)
		return us, int32(-z.eastAtLocal(local)), nil
	}
	return us, int32(-z.east), nil
}

// fixedLocation reports a zone that has had one offset only.
func fixedLocation(z zoneSpec) bool {
	start, end := zoneBoundsAt(0, z)
	return start && end
}

func dateCodec() codec {
	return codec{
		kind: KInt,
		in: func(env *Env, s string, _ int32) (Datum, error) {
			v, err := ParseDate(env, s)
			return Int(v), err
		},
		out: func(env *Env, dst []byte, d Datum) []byte { return AppendDate(dst, formatsOf(env), d.I) },
		recv: func(_ *Env, b []byte, _ int32) (Datum, error) {
			if len(b) != 4 {
				return Null, badBinary(len(b), 4)
			}
			v := int64(int32(binary.BigEndian.Uint32(b)))
			if !DateIsInf(v) && !validDate(v) {
				return Null, DateOutOfRange()
			}
			return Int(v), nil
		},
		send: func(_ *Env, dst []byte, d Datum) []byte {
			return binary.BigEndian.AppendUint32(dst, uint32(d.I))
		},
		compare: compareI, hash: hashI,
	}
}

func timestampCodec(zone bool) codec {
	return codec{
		kind: KInt,
		in: func(env *Env, s string, typmod int32) (Datum, error) {
			parse := ParseTimestamp
			if zone {
				parse = ParseTimestamptz
			}
			v, err := parse(env, s)
			return Int(RoundTimestamp(v, typmod)), err
		},
		out: func(env *Env, dst []byte, d Datum) []byte {
			if zone {
				return AppendTimestamptz(dst, formatsOf(env), d.I)
			}
			return AppendTimestamp(dst, formatsOf(env), d.I)
		},
		recv: func(_ *Env, b []byte, typmod int32) (Datum, error) {
			if len(b) != 8 {
				return Null, badBinary(len(b), 8)
			}
			v := int64(binary.BigEndian.Uint64(b))
			if !TimestampIsInf(v) && !validTimestamp(v) {
				return Null, TimestampOutOfRange()
			}
			return Int(RoundTimestamp(v, typmod)), nil
		},
		send: func(_ *Env, dst []byte, d Datum) []byte {
			return binary.BigEndian.AppendUint64(dst, uint64(d.I))
		},
		compare: compareI, hash: hashI,
	}
}

func timeCodec() codec {
	return codec{
		kind: KInt,
		in: func(env *Env, s string, typmod int32) (Datum, error) {
			us, _, err := ParseTime(env, s, false)
			return Int(RoundTime(us, typmod)), err
		},
		out: func(_ *Env, dst []byte, d Datum) []byte { return AppendTime(dst, d.I) },
		recv: func(_ *Env, b []byte, typmod int32) (Datum, error) {
			if len(b) != 8 {
				return Null, badBinary(len(b), 8)
			}
			v := int64(binary.BigEndian.Uint64(b))
			if v < 0 || v > usecDay {
				return Null, TimeOutOfRange()
			}
			return Int(RoundTime(v, typmod)), nil
		},
		send: func(_ *Env, dst []byte, d Datum) []byte {
			return binary.BigEndian.AppendUint64(dst, uint64(d.I))
		},
		compare: compareI, hash: hashI,
	}
}

// TimeOutOfRange is the 22008 of time values.
func TimeOutOfRange() error {
	return pgerror.New(pgerror.DatetimeValueOutOfRange, "time out of range")
}

// CompareTimetz orders by the instant, then by the zone.
func CompareTimetz(a, b Datum) int {
	ta, tb := a.I+int64(a.Aux)*usecSec, b.I+int64(b.Aux)*usecSec
	if c := cmpInt64(ta, tb); c != 0 {
		return c
	}
	return cmpInt(int(a.Aux), int(b.Aux))
}

func timetzCodec() codec {
	return codec{
		kind: KDatum,
		in: func(env *Env, s string, typmod int32) (Datum, error) {
			us, west, err := ParseTime(env, s, true)
			return Datum{I: RoundTime(us, typmod), Aux: west}, err
		},
		out: func(_ *Env, dst []byte, d Datum) []byte { return AppendTimetz(dst, d.I, d.Aux) },
		recv: func(_ *Env, b []byte, typmod int32) (Datum, error) {
			r := &wireReader{b: b}
			us, west := r.i64(), r.i32()
			if err := r.done(); err != nil {
				return Null, err
			}
			if us < 0 || us > usecDay {
				return Null, TimeOutOfRange()
			}
			if west <= -16*3600 || west >= 16*3600 {
				return Null, pgerror.New(pgerror.InvalidTimeZoneDisplacementValue, "time zone displacement out of range")
			}
			return Datum{I: RoundTime(us, typmod), Aux: west}, nil
		},
		send: func(_ *Env, dst []byte, d Datum) []byte {
			dst = binary.BigEndian.AppendUint64(dst, uint64(d.I))
			return binary.BigEndian.AppendUint32(dst, uint32(d.Aux))
		},
		compare: CompareTimetz,
		hash:    func(d Datum) uint64 { return hashCombine(HashInt(d.I), HashInt(int64(d.Aux))) },
	}
}

// isoDate reads YYYY-MM-DD of a real day after the year 31, which means the same
// under every DateStyle.
func isoDate(s string) (days int64, ok bool) {
	if len(s) != 10 || s[4] != '-' || s[7] != '-' {
		return 0, false
	}
	var n [3]int
	for i, c := range []byte(s) {
		if i == 4 || i == 7 {
			continue
		}
		if c -= '0'; c > 9 {
			return 0, false
		}
		k := (i - 2) / 3 // 0 for the year
		if i < 4 {
			k = 0
		}
		n[k] = n[k]*10 + int(c)
	}
	y, m, d := n[0], n[1], n[2]
	if y < 32 || m < 1 || m > 12 || d < 1 || d > 28 {
		return 0, false // the days of months are the whole parser's affair
	}
	return int64(dateToJulian(y, m, d) - postgresEpochJulian), true
}
