package builtin

import (
	"crypto/rand"
	"math"
	"math/big"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// randomUUID is a version 4 UUID from the system's generator.
func randomUUID(*Call, []Datum) (Datum, error) {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return fail(pgerror.Wrap(err, pgerror.InternalError, "could not generate random values"))
	}
	b[6] = b[6]&0x0F | 0x40
	b[8] = b[8]&0x3F | 0x80
	return sqltypes.Bytes(b[:]), nil
}

// Positions of a log, pg_lsn, are unsigned in Datum.I.
func lsnNumeric(d Datum) Datum { return sqltypes.NumericFromUint64(uint64(d.I)) }

// moveLSN adds a number of bytes, which may have any fraction and sign.
func moveLSN(lsn, bytes Datum, op func(a, b Datum) (Datum, error), verb string) (Datum, error) {
	if sqltypes.NumericIsNaN(bytes) {
		return fail(pgerror.New(pgerror.FeatureNotSupported, "cannot %s pg_lsn", verb))
	}
	sum, err := op(lsnNumeric(lsn), bytes)
	if err != nil {
		return null, err
	}
	return numericToLSN(sum)
}

func numericToLSN(d Datum) (Datum, error) {
	if !sqltypes.NumericIsFinite(d) {
		what := "infinity"
		if sqltypes.NumericIsNaN(d) {
			what = "NaN"
		}
		return fail(pgerror.New(pgerror.FeatureNotSupported, "cannot convert %s to pg_lsn", what))
	}
	rounded, err := sqltypes.NumericRound(d, 0)
	if err != nil {
		return null, err
	}
	v, ok := new(big.Int).SetString(sqltypes.NumericString(rounded), 10)
	if !ok || v.Sign() < 0 || !v.IsUint64() {
		return fail(pgerror.New(pgerror.InvalidParameterValue, "pg_lsn out of range"))
	}
	return integer(int64(v.Uint64()))
}

func compareUnsigned(a, b Datum) int {
	x, y := uint64(a.I), uint64(b.I)
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

func init() {
	compareOps("pg_lsn_*", compareUnsigned, nil)
	compareOps("xid8*", compareUnsigned, nil)
	tid := compareWithType(sqltypes.OIDTid)
	compareOps("tid*", tid, nil)
	vector := compareWithType(sqltypes.OIDOidvector)
	compareOps("oidvector*", vector, nil)
	scalarTable{
		"gen_random_uuid": randomUUID,
		"pg_lsn_cmp":      compareProc(compareUnsigned), "pg_lsn_larger": larger(compareUnsigned), "pg_lsn_smaller": smaller(compareUnsigned),
		"xid8cmp": compareProc(compareUnsigned), "xid8_larger": larger(compareUnsigned), "xid8_smaller": smaller(compareUnsigned),
		"xid8toxid": func(_ *Call, a []Datum) (Datum, error) { return integer(a[0].I & math.MaxUint32) },
		"bttidcmp":  compareProc(tid), "tidlarger": larger(tid), "tidsmaller": smaller(tid), "btoidvectorcmp": compareProc(vector),
		"pg_lsn_mi": func(_ *Call, a []Datum) (Datum, error) {
			return sqltypes.NumericSub(lsnNumeric(a[0]), lsnNumeric(a[1]))
		},
		"pg_wal_lsn_diff": func(_ *Call, a []Datum) (Datum, error) {
			return sqltypes.NumericSub(lsnNumeric(a[0]), lsnNumeric(a[1]))
		},
		"pg_lsn_pli": func(_ *Call, a []Datum) (Datum, error) { return moveLSN(a[0], a[1], sqltypes.NumericAdd, "add NaN to") },
		"numeric_pl_pg_lsn(numeric,pg_lsn)": func(_ *Call, a []Datum) (Datum, error) {
			return moveLSN(a[1], a[0], sqltypes.NumericAdd, "add NaN to")
		},
		"pg_lsn_mii": func(_ *Call, a []Datum) (Datum, error) {
			return moveLSN(a[0], a[1], sqltypes.NumericSub, "subtract NaN from")
		},
		"numeric_pg_lsn": func(_ *Call, a []Datum) (Datum, error) { return numericToLSN(a[0]) },
	}.register()
}

// compareWithType is the order package sqltypes has for a type, found on first use.
func compareWithType(typ sqltypes.OID) func(a, b Datum) int {
	return func(a, b Datum) int { return sqltypes.TypeByOID(typ).Compare(a, b) }
}
