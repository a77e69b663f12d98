package builtin

import "ostraka/sqltypes"

// PostgreSQL's hash functions are in sqltypes (pghash.go).

func init() {
	for name, h := range map[string]func(d Datum, seed uint64) uint64{
		"hashtext":       func(d Datum, seed uint64) uint64 { return sqltypes.HashBytes(d.S, seed) },
		"hashname":       func(d Datum, seed uint64) uint64 { return sqltypes.HashBytes(d.S, seed) },
		"hashbpchar":     func(d Datum, seed uint64) uint64 { return sqltypes.HashBytes(trimmed(d.S), seed) },
		"hashint2":       func(d Datum, seed uint64) uint64 { return sqltypes.HashUint32(uint32(d.I), seed) },
		"hashint4":       func(d Datum, seed uint64) uint64 { return sqltypes.HashUint32(uint32(d.I), seed) },
		"hashoid":        func(d Datum, seed uint64) uint64 { return sqltypes.HashUint32(uint32(d.I), seed) },
		"hashenum":       func(d Datum, seed uint64) uint64 { return sqltypes.HashUint32(uint32(d.I), seed) },
		"hashchar":       func(d Datum, seed uint64) uint64 { return sqltypes.HashUint32(uint32(int32(int8(d.I))), seed) },
		"hashint8":       func(d Datum, seed uint64) uint64 { return sqltypes.HashInt64(d.I, seed) },
		"hashfloat4":     func(d Datum, seed uint64) uint64 { return sqltypes.HashFloat64(d.Float(), seed) },
		"hashfloat8":     func(d Datum, seed uint64) uint64 { return sqltypes.HashFloat64(d.Float(), seed) },
		"hashmacaddr":    func(d Datum, seed uint64) uint64 { return sqltypes.HashBytes(d.S, seed) },
		"hashmacaddr8":   func(d Datum, seed uint64) uint64 { return sqltypes.HashBytes(d.S, seed) },
		"hashvarlena":    func(d Datum, seed uint64) uint64 { return sqltypes.HashBytes(d.S, seed) },
		"uuid_hash":      func(d Datum, seed uint64) uint64 { return sqltypes.HashBytes(d.S, seed) },
		"timestamp_hash": func(d Datum, seed uint64) uint64 { return sqltypes.HashInt64(d.I, seed) },
		"time_hash":      func(d Datum, seed uint64) uint64 { return sqltypes.HashInt64(d.I, seed) },
		"pg_lsn_hash":    func(d Datum, seed uint64) uint64 { return sqltypes.HashInt64(d.I, seed) },
	} {
		extended := name + "extended"
		if name[len(name)-5:] == "_hash" {
			extended = name + "_extended"
		}
		scalarTable{
			name:     func(_ *Call, a []Datum) (Datum, error) { return integer(int64(int32(uint32(h(a[0], 0))))) },
			extended: func(_ *Call, a []Datum) (Datum, error) { return integer(int64(h(a[0], uint64(a[1].I)))) },
		}.register()
	}
}
