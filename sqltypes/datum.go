package sqltypes

import "math"

// OID is a PostgreSQL object identifier.
type OID uint32

// Datum is one SQL value of any type, without its type: who holds a Datum knows
// the type from the plan. It is 32 bytes, copied by value, and immutable; S may
// alias an arena that the garbage collector keeps alive.
//
// Representation by type (Kind in brackets):
//
//	[KInt]     bool: I = 0 or 1. int2, int4, int8, oid family, xid, cid, "char" (0…255): I.
//	           xid8, pg_lsn: I holds the 64 bits; tid: block << 16 | offset; enum: the label's OID.
//	           date: I = days since 2000-01-01; time: I = µs since midnight;
//	           timestamp, timestamptz: I = µs since 2000-01-01 (UTC).
//	           Infinities: math.MaxInt64 / math.MinInt64 for timestamps,
//	           math.MaxInt32 / math.MinInt32 for dates. money: I = cents.
//	[KFloat]   float4, float8: I = math.Float64bits (float4 values are rounded to float32).
//	[KNumeric] numeric: S == "" → value = I × 10^-Aux, display scale = Aux (0 ≤ Aux ≤ 16383);
//	           S != "" → the wide form of numeric.go (any magnitude, NaN, ±Infinity).
//	           A value that fits the small form is always in the small form.
//	[KBytes]   text, varchar, bpchar, name, json, xml, bytea, uuid (16 raw bytes), jsonb,
//	           arrays, composites, ranges, bit strings, inet …: S = the type's payload, described
//	           where it is read: OpenArray, OpenRecord, OpenRange, OpenMultirange, JSONOf, BitLen, InetParts.
//	[KDatum]   interval: I = µs, S = "" or 8 bytes (months int32, days int32, big endian);
//	           timetz: I = µs since midnight, Aux = zone, seconds WEST of UTC.
type Datum struct {
	S    string
	I    int64
	Aux  int32
	Null bool
}

// Null is the SQL NULL of every type.
var Null = Datum{Null: true}

// Constructors and accessors for the common kinds.

func Int(v int64) Datum     { return Datum{I: v} }
func Float(v float64) Datum { return Datum{I: int64(math.Float64bits(v))} }
func Text(s string) Datum   { return Datum{S: s} }
func Bytes(b []byte) Datum  { return Datum{S: string(b)} }

func Bool(v bool) Datum {
	if v {
		return Datum{I: 1}
	}
	return Datum{}
}

func (d Datum) Bool() bool     { return d.I != 0 }
func (d Datum) Float() float64 { return math.Float64frombits(uint64(d.I)) }

// True reports a boolean that is neither false nor NULL: what WHERE keeps.
func (d Datum) True() bool { return !d.Null && d.I != 0 }

// Kind is how a type's values are laid out in a Datum and in an expr.Vec.
type Kind uint8

const (
	KInt     Kind = iota // Datum.I / Vec.I64
	KFloat               // Datum.I as float bits / Vec.F64
	KNumeric             // scaled int64 with wide fallback
	KBytes               // Datum.S / Vec.Str
	KDatum               // anything that needs more than one field / Vec.Dat
)
