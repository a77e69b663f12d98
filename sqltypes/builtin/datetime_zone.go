package builtin

import (
	"ostraka/sqltypes"
)

// shiftTimetz is a timetz as it reads in another zone, seconds east of UTC.
func shiftTimetz(d Datum, east int64) Datum {
	us := d.I + (int64(d.Aux)+east)*usecPerSec
	return Datum{I: timeOfDay(us), Aux: int32(-east)}
}

func timetzZone(c *Call, args []Datum) (Datum, error) {
	if west, ok := numericZone(args[0].S); ok {
		return shiftTimetz(args[1], -west), nil
	}
	east, err := sqltypes.ZoneOffsetAt(args[0].S, c.Env.TxnTime)
	if err != nil {
		return null, err
	}
	return shiftTimetz(args[1], int64(east)), nil
}

func timetzIntervalZone(c *Call, args []Datum) (Datum, error) {
	east, err := intervalZone(c, args[0])
	if err != nil {
		return fail(err)
	}
	return shiftTimetz(args[1], east), nil
}

// moveByInterval makes timezone(interval, timestamp[tz]): sign -1 reads a local
// time of that zone, 1 writes one.
func moveByInterval(sign int64) sqltypes.ScalarFunc {
	return func(c *Call, args []Datum) (Datum, error) {
		if sqltypes.TimestampIsInf(args[1].I) {
			return args[1], nil
		}
		east, err := intervalZone(c, args[0])
		if err != nil {
			return fail(err)
		}
		return timestamp(addUsec(args[1].I, sign*east*usecPerSec))
	}
}

// timestampSeries is generate_series of timestamps.
type timestampSeries struct {
	next, stop int64
	step       func(int64) (int64, error)
	forward    bool
	row        [1]Datum
}

func (s *timestampSeries) Next() ([]Datum, bool, error) {
	if s.forward && s.next > s.stop || !s.forward && s.next < s.stop {
		return nil, false, nil
	}
	s.row[0] = sqltypes.Int(s.next)
	next, err := s.step(s.next)
	if err != nil {
		return nil, false, err
	}
	s.next = next
	return s.row[:], true, nil
}

func newTimestampSeries(args []Datum, add func(us int64, v sqltypes.Interval) (int64, error)) (sqltypes.RowSource, error) {
	order := sqltypes.CompareInterval(args[2], sqltypes.MakeInterval(sqltypes.Interval{}))
	if order == 0 {
		return nil, zeroStep()
	}
	step := sqltypes.IntervalOf(args[2])
	return &timestampSeries{next: args[0].I, stop: args[1].I, forward: order > 0,
		step: func(us int64) (int64, error) { return add(us, step) }}, nil
}

// atZone resolves AT TIME ZONE: a bare offset is taken as in POSIX, where a
// positive one is west of UTC; names are package sqltypes'.
func atZone(named func(us int64, zone string) (int64, error), sign int64) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) {
		us, zone := args[1].I, args[0].S
		if west, ok := numericZone(zone); ok && !sqltypes.TimestampIsInf(us) {
			return timestamp(addUsec(us, -sign*west*usecPerSec))
		}
		return timestamp(named(us, zone))
	}
}

func init() {
	scalarTable{
		"timestamp_zone":    atZone(sqltypes.TimestampAtZone, -1),
		"timestamptz_zone":  atZone(sqltypes.TimestamptzAtZone, 1),
		"timestamp_izone":   moveByInterval(-1),
		"timestamptz_izone": moveByInterval(1),
		"timetz_zone":       timetzZone, "timetz_izone": timetzIntervalZone,
	}.register()
	setTable{
		"generate_series_timestamp": func(_ *Call, a []Datum) (sqltypes.RowSource, error) {
			return newTimestampSeries(a, sqltypes.TimestampAdd)
		},
		"generate_series_timestamptz": func(c *Call, a []Datum) (sqltypes.RowSource, error) {
			return newTimestampSeries(a, func(us int64, v sqltypes.Interval) (int64, error) { return addIntervalTZ(c, us, v) })
		},
	}.register()
}
