package sqltypes

import "time"

// Formats are the session settings that change text forms.
type Formats struct {
	TimeZone         *time.Location // never nil
	DateStyle        DateStyle      // output: ISO, SQL, Postgres, German
	DateOrder        DateOrder      // input: MDY, DMY, YMD
	IntervalStyle    IntervalStyle
	ExtraFloatDigits int  // 1 by default: shortest exact form
	ByteaEscape      bool // bytea_output = escape
	XMLBinaryHex     bool
}

type DateStyle uint8

const (
	DateISO DateStyle = iota
	DateSQL
	DatePostgres
	DateGerman
)

type DateOrder uint8

const (
	OrderMDY DateOrder = iota
	OrderDMY
	OrderYMD
)

type IntervalStyle uint8

const (
	IntervalPostgres IntervalStyle = iota
	IntervalPostgresVerbose
	IntervalSQLStandard
	IntervalISO8601
)

// DefaultFormats is what a new session starts with (TimeZone UTC, ISO, MDY).
func DefaultFormats() Formats {
	return Formats{TimeZone: time.UTC, ExtraFloatDigits: 1}
}
