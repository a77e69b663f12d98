package builtin

import "ostraka/sqltypes"

// extraction registers extract (numeric) and date_part (float8) of a type.
func extraction(part, extract string, get func(c *Call, field string, d Datum) (Datum, error)) {
	scalarTable{
		extract: func(c *Call, a []Datum) (Datum, error) { return get(c, a[0].S, a[1]) },
		part: func(c *Call, a []Datum) (Datum, error) {
			d, err := get(c, a[0].S, a[1])
			if err != nil || d.Null {
				return null, err
			}
			f, err := sqltypes.NumericToFloat(d, 64)
			return sqltypes.Float(f), err
		},
	}.register()
}

func init() {
	ofTimestamp := func(_ *Call, f string, d Datum) (Datum, error) { return sqltypes.ExtractTimestamp(f, d.I) }
	extraction("timestamp_part", "extract_timestamp", ofTimestamp)
	extraction("timestamptz_part", "extract_timestamptz", func(c *Call, f string, d Datum) (Datum, error) {
		return sqltypes.ExtractTimestamptz(f, d.I, zoneOf(c))
	})
	extraction("time_part", "extract_time", func(_ *Call, f string, d Datum) (Datum, error) { return sqltypes.ExtractTime(f, d.I) })
	extraction("timetz_part", "extract_timetz", func(_ *Call, f string, d Datum) (Datum, error) { return sqltypes.ExtractTimetz(f, d) })
	extraction("interval_part", "extract_interval", func(_ *Call, f string, d Datum) (Datum, error) {
		return sqltypes.ExtractInterval(f, sqltypes.IntervalOf(d))
	})
	scalarTable{
		"extract_date": func(_ *Call, a []Datum) (Datum, error) { return sqltypes.ExtractDate(a[0].S, a[1].I) },
		// Written in SQL as date_part of the timestamp.
		"date_part(text,date)": func(c *Call, a []Datum) (Datum, error) {
			us, err := sqltypes.DateToTimestamp(a[1].I)
			if err != nil {
				return null, err
			}
			d, err := ofTimestamp(c, a[0].S, sqltypes.Int(us))
			if err != nil || d.Null {
				return null, err
			}
			f, err := sqltypes.NumericToFloat(d, 64)
			return sqltypes.Float(f), err
		},
	}.register()
}
