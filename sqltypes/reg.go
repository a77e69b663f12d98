package sqltypes

import (
	"strconv"
	"strings"

	"ostraka/sqltypes/pgerror"
)

// Names of objects need a catalogue. The layer that has one sets these during
// start-up, before any session exists; they are not changed afterwards.
var (
	// RegIn resolves the name s for the reg* type typ (OIDRegclass …) and answers
	// PostgreSQL's errors (42P01, 42704, 42883, 42725, 3F000).
	RegIn func(env *Env, typ OID, s string) (OID, error)
	// RegOut names object oid as the reg* type typ shows it; false shows the number.
	RegOut func(env *Env, typ OID, oid OID) (string, bool)
)

func regCodec(typ OID) codec {
	c := uint32Codec(func(env *Env, s string, _ int32) (Datum, error) {
		if s == "-" {
			return Int(0), nil
		}
		if s != "" && strings.Trim(s, "0123456789") == "" {
			v, err := parseOID(s, "oid")
			return Int(v), err
		}
		if RegIn == nil {
			return Null, pgerror.NotSupported("looking up a name without a catalogue")
		}
		oid, err := RegIn(env, typ, s)
		return Int(int64(oid)), err
	})
	c.out = func(env *Env, dst []byte, d Datum) []byte {
		oid := OID(d.I)
		if oid == 0 && typ != OIDRegoper && typ != OIDRegoperator {
			return append(dst, '-')
		}
		if oid == 0 {
			return append(dst, '0')
		}
		if RegOut != nil {
			if s, ok := RegOut(env, typ, oid); ok {
				return append(dst, s...)
			}
		} else if typ == OIDRegtype && TypeByOID(oid) != nil {
			return append(dst, FormatType(oid, -1)...)
		}
		return strconv.AppendInt(dst, d.I, 10)
	}
	return c
}
