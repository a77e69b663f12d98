package sqltypes

// The words of date and time input. A word is looked up by its first ten
// characters, as in PostgreSQL.

type wordKind uint8

const (
	wordUnknown wordKind = iota
	wordReserved
	wordMonth
	wordDayOfWeek
	wordIgnore
	wordAMPM
	wordEra
	wordDSTMod
	wordUnits
	wordISOTime
	wordZone
	wordAgo
)

// Values of wordReserved.
const (
	resNow = iota + 1
	resToday
	resTomorrow
	resYesterday
	resZulu
	resEpoch
	resLate
	resEarly
)

// Values of wordUnits: what a number belongs to.
const (
	unitNone = iota
	unitYear
	unitMonth
	unitDay
	unitHour
	unitMinute
	unitSecond
	unitJulian
	unitTime // after ISO's "t"
	unitDow
	unitDoy
	unitIsoDow
	unitIsoYear
	unitMillisec
	unitMicrosec
	unitWeek
	unitDecade
	unitCentury
	unitMillennium
	unitQuarter
	unitTZ
	unitTZHour
	unitTZMinute
	unitEpoch
)

type dateWord struct {
	kind wordKind
	val  int
}

const tokenMax = 10

func cutToken(s string) string {
	if len(s) > tokenMax {
		return s[:tokenMax]
	}
	return s
}

var dateWords = func() map[string]dateWord {
	m := map[string]dateWord{
		"-infinity": {wordReserved, resEarly}, "ad": {wordEra, 0}, "allballs": {wordReserved, resZulu}, "am": {wordAMPM, 0},
		"at": {wordIgnore, 0}, "bc": {wordEra, 1}, "d": {wordUnits, unitDay}, "dow": {wordUnits, unitDow}, "doy": {wordUnits, unitDoy},
		"dst": {wordDSTMod, 3600}, "epoch": {wordReserved, resEpoch}, "h": {wordUnits, unitHour}, "infinity": {wordReserved, resLate},
		"isodow": {wordUnits, unitIsoDow}, "isoyear": {wordUnits, unitIsoYear}, "j": {wordUnits, unitJulian}, "jd": {wordUnits, unitJulian},
		"julian": {wordUnits, unitJulian}, "m": {wordUnits, unitMonth}, "mm": {wordUnits, unitMinute}, "now": {wordReserved, resNow},
		"on": {wordIgnore, 0}, "pm": {wordAMPM, 1}, "s": {wordUnits, unitSecond}, "t": {wordISOTime, unitTime},
		"today": {wordReserved, resToday}, "tomorrow": {wordReserved, resTomorrow}, "y": {wordUnits, unitYear}, "yesterday": {wordReserved, resYesterday},
		"sept": {wordMonth, 9}, "tues": {wordDayOfWeek, 2}, "weds": {wordDayOfWeek, 3}, "thur": {wordDayOfWeek, 4}, "thurs": {wordDayOfWeek, 4},
	}
	for i, name := range monthNamesLower {
		m[name] = dateWord{wordMonth, i + 1}
		m[name[:3]] = dateWord{wordMonth, i + 1}
	}
	for i, name := range dayNamesLower {
		m[name] = dateWord{wordDayOfWeek, i}
		m[name[:3]] = dateWord{wordDayOfWeek, i}
	}
	return m
}()

var (
	monthNamesLower = [12]string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}
	dayNamesLower   = [7]string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}
)

// intervalWords are the units of interval input and of extract and date_trunc.
var intervalWords = func() map[string]dateWord {
	m := map[string]dateWord{"ago": {wordAgo, 0}}
	for unit, names := range map[int][]string{
		unitCentury:    {"c", "cent", "centuries", "century"},
		unitDay:        {"d", "day", "days"},
		unitDecade:     {"dec", "decade", "decades", "decs"},
		unitHour:       {"h", "hour", "hours", "hr", "hrs"},
		unitMinute:     {"m", "min", "mins", "minute", "minutes"},
		unitMicrosec:   {"microsecon", "us", "usec", "usecond", "useconds", "usecs"},
		unitMillennium: {"mil", "millennia", "millennium", "mils"},
		unitMillisec:   {"millisecon", "ms", "msec", "mseconds", "msecs"},
		unitMonth:      {"mon", "mons", "month", "months"},
		unitQuarter:    {"qtr", "quarter"},
		unitSecond:     {"s", "sec", "second", "seconds", "secs"},
		unitTZ:         {"timezone"},
		unitTZHour:     {"timezone_h"},
		unitTZMinute:   {"timezone_m"},
		unitWeek:       {"w", "week", "weeks"},
		unitYear:       {"y", "year", "years", "yr", "yrs"},
	} {
		for _, n := range names {
			m[n] = dateWord{wordUnits, unit}
		}
	}
	return m
}()
