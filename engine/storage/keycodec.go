package storage

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strings"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// keyClass is how values of a type are put into keys so that bytes.Compare orders
// them as the type's Compare does.
type keyClass uint8

const (
	keyNone     keyClass = iota
	keyUint              // as keyInt, I taken as unsigned
	keyInt               // sign and length in the header, then the significant bytes
	keyFloat             // 8 bytes, NaN above all
	keyNumeric           // sign, exponent, digits in pairs; without the display scale
	keyBytes             // escaped bytes
	keyPadded            // bpchar: as keyBytes without trailing spaces
	keyInterval          // 16 bytes: the length in µs, a month having 30 days
	keyTimeTZ            // UTC instant, then zone
	keyArray
	keyRange
	keyEnum // the label's sort number
	keyBits // bit strings: the bits, then how many
	keyInet // family, network bits, address
	keyJSON // jsonb: kind, size, members
	keyMultirange
	keyRecord
)

// Headers: the first byte of an encoded value. NULL is 0x00 or 0xff, whichever
// side it sorts to; 0x01 ends an array, so that elements begin above it.
const (
	hdrNullFirst = 0x00
	hdrArrayEnd  = 0x01
	hdrValue     = 0x02 // classes that need no more than "not NULL"
	hdrIntZero   = 0x80 // + n: non-negative of n bytes; hdrIntZero-1-n: negative
	hdrNullLast  = 0xff

	hdrNumNegInf = 0x10
	hdrNumNeg    = 0x20
	hdrNumZero   = 0x30
	hdrNumPos    = 0x40
	hdrNumInf    = 0x50
	hdrNumNaN    = 0x60
)

// keyCol is one column of a key.
type keyCol struct {
	attr       int16 // 0: expression
	class      keyClass
	elem       keyClass // keyArray
	desc       bool
	nullsFirst bool
	typ        *sqltypes.Type
}

// KeyClassOf refuses (0A000) types whose values cannot be put into keys.
func keyClassOf(t *sqltypes.Type) (class, elem keyClass, err error) {
	for t.Base != nil {
		t = t.Base
	}
	if t.IsArray && t.ElemType != nil {
		elem, _, err := keyClassOf(t.ElemType)
		return keyArray, elem, err
	}
	if (t.TypType == 'r' || t.TypType == 'm') && t.Range != nil {
		if class = keyRange; t.TypType == 'm' {
			class = keyMultirange
		}
		elem, _, err := keyClassOf(t.Range.Subtype)
		return class, elem, err
	}
	if t.TypType == 'c' {
		for _, f := range t.Fields {
			if _, _, err := keyClassOf(f.Type); err != nil {
				return 0, 0, err
			}
		}
		return keyRecord, 0, nil
	}
	switch t.Kind {
	case sqltypes.KInt:
		if t.TypType == 'e' {
			return keyEnum, 0, nil
		}
		switch {
		case t.OID == sqltypes.OIDXid8 || t.OID == sqltypes.OIDPgLsn:
			return keyUint, 0, nil
		case t.Compare != nil:
			return keyInt, 0, nil
		}
	case sqltypes.KFloat:
		return keyFloat, 0, nil
	case sqltypes.KNumeric:
		return keyNumeric, 0, nil
	case sqltypes.KDatum:
		switch t.OID {
		case sqltypes.OIDInterval:
			return keyInterval, 0, nil
		case sqltypes.OIDTimetz:
			return keyTimeTZ, 0, nil
		}
	case sqltypes.KBytes:
		switch t.OID {
		case sqltypes.OIDBpchar:
			return keyPadded, 0, nil
		case sqltypes.OIDText, sqltypes.OIDVarchar, sqltypes.OIDName, sqltypes.OIDBytea, sqltypes.OIDUuid,
			sqltypes.OIDMacaddr, sqltypes.OIDMacaddr8:
			return keyBytes, 0, nil
		case sqltypes.OIDBit, sqltypes.OIDVarbit:
			return keyBits, 0, nil
		case sqltypes.OIDInet, sqltypes.OIDCidr:
			return keyInet, 0, nil
		case sqltypes.OIDJsonb:
			return keyJSON, 0, nil
		}
	}
	if t.Compare == nil {
		return 0, 0, pgerror.New(pgerror.UndefinedObject, "data type %s has no default operator class for access method \"btree\"", t.Name).
			WithHint("You must specify an operator class for the index or define a default operator class for the data type.")
	}
	return 0, 0, pgerror.NotSupported("an index on type %s", t.Name)
}

// append encodes one value.
func (c *keyCol) append(dst []byte, d sqltypes.Datum) []byte {
	if d.Null {
		if c.nullsFirst {
			return append(dst, hdrNullFirst)
		}
		return append(dst, hdrNullLast)
	}
	at := len(dst)
	if c.class == keyInt {
		dst = appendKeyInt(dst, d.I)
	} else {
		dst = appendKeyValue(dst, c.class, c.elem, c.typ, d)
	}
	if c.desc {
		for i := at; i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
	}
	return dst
}

func appendKeyValue(dst []byte, class, elem keyClass, t *sqltypes.Type, d sqltypes.Datum) []byte {
	switch class {
	case keyInt:
		return appendKeyInt(dst, d.I)
	case keyUint:
		return binary.BigEndian.AppendUint64(append(dst, hdrValue), uint64(d.I))
	case keyFloat:
		return appendKeyFloat(append(dst, hdrValue), d.Float())
	case keyEnum:
		return appendKeyFloat(append(dst, hdrValue), enumSort(t, sqltypes.OID(d.I)))
	case keyNumeric:
		return appendKeyNumeric(dst, d)
	case keyPadded:
		return appendKeyBytes(append(dst, hdrValue), strings.TrimRight(d.S, " "))
	case keyInterval:
		return appendKeyInterval(append(dst, hdrValue), d)
	case keyTimeTZ:
		dst = appendKeyInt(append(dst, hdrValue), d.I+int64(d.Aux)*1e6)
		return appendKeyInt(dst, int64(d.Aux))
	case keyArray:
		return appendKeyArray(append(dst, hdrValue), elem, t, d)
	case keyRange:
		return appendKeyRange(append(dst, hdrValue), elem, t, sqltypes.OpenRange(d))
	case keyMultirange:
		dst = append(dst, hdrValue)
		for _, r := range sqltypes.OpenMultirange(d) {
			dst = appendKeyRange(append(dst, hdrValue), elem, t, r)
		}
		return append(dst, hdrArrayEnd)
	case keyRecord:
		return appendKeyRecord(append(dst, hdrValue), t, d)
	case keyBits:
		dst = appendKeyBytes(append(dst, hdrValue), sqltypes.BitData(d))
		return appendKeyInt(dst, int64(sqltypes.BitLen(d)))
	case keyInet:
		return appendKeyInet(append(dst, hdrValue), d)
	case keyJSON:
		return appendKeyJSON(append(dst, hdrValue), sqltypes.JSONOf(d))
	default:
		return appendKeyBytes(append(dst, hdrValue), d.S)
	}
}

func appendKeyInt(dst []byte, v int64) []byte {
	u, neg := uint64(v), v < 0
	if neg {
		u = ^u
	}
	n := (bits.Len64(u) + 7) / 8
	if neg {
		dst = append(dst, byte(hdrIntZero-1-n))
	} else {
		dst = append(dst, byte(hdrIntZero+n))
	}
	w := uint64(v) // of a negative number the low bytes sort as they are
	for i := n - 1; i >= 0; i-- {
		dst = append(dst, byte(w>>(8*i)))
	}
	return dst
}

func appendKeyFloat(dst []byte, f float64) []byte {
	var u uint64
	switch {
	case math.IsNaN(f):
		u = math.MaxUint64
	case f == 0:
		u = 1 << 63 // -0 too
	default:
		u = math.Float64bits(f)
		if u>>63 != 0 {
			u = ^u
		} else {
			u |= 1 << 63
		}
	}
	return binary.BigEndian.AppendUint64(dst, u)
}

// appendKeyBytes escapes 0x00 as 0x00 0xff and ends with 0x00 0x01.
func appendKeyBytes(dst []byte, s string) []byte {
	for {
		i := strings.IndexByte(s, 0)
		if i < 0 {
			break
		}
		dst = append(dst, s[:i]...)
		dst = append(dst, 0x00, 0xff)
		s = s[i+1:]
	}
	dst = append(dst, s...)
	return append(dst, 0x00, 0x01)
}

// appendKeyInterval encodes the interval's length as PostgreSQL compares it: a
// day has 24 hours and a month 30 days; 128 bits, biased.
func appendKeyInterval(dst []byte, d sqltypes.Datum) []byte {
	var days int64
	if len(d.S) == 8 {
		be := binary.BigEndian
		b := []byte(d.S)
		days = int64(int32(be.Uint32(b)))*30 + int64(int32(be.Uint32(b[4:])))
	}
	const day = 86_400_000_000
	hi, lo := bits.Mul64(uint64(days), day)
	if days < 0 {
		hi -= day
	}
	lo, carry := bits.Add64(lo, uint64(d.I), 0)
	hi += uint64(d.I>>63) + carry
	dst = binary.BigEndian.AppendUint64(dst, hi^1<<63)
	return binary.BigEndian.AppendUint64(dst, lo)
}

// appendKeyPart encodes a value inside another; what is composite itself is looked into again.
func appendKeyPart(dst []byte, class keyClass, t *sqltypes.Type, d sqltypes.Datum) []byte {
	var elem keyClass
	switch class {
	case keyNone, keyArray, keyRange, keyMultirange:
		class, elem, _ = keyClassOf(t)
	}
	return appendKeyValue(dst, class, elem, t, d)
}

// appendKeyRecord orders by the fields, NULL above all values, as record_cmp.
func appendKeyRecord(dst []byte, t *sqltypes.Type, d sqltypes.Datum) []byte {
	for t.Base != nil {
		t = t.Base
	}
	r := sqltypes.OpenRecord(d)
	for i := 0; i < r.Len() && i < len(t.Fields); i++ {
		if v := r.At(i); v.Null {
			dst = append(dst, hdrNullLast)
		} else {
			dst = appendKeyPart(dst, keyNone, t.Fields[i].Type, v)
		}
	}
	return dst
}

// appendKeyArray orders by elements, then length, then dimensions, as array_cmp.
func appendKeyArray(dst []byte, elem keyClass, t *sqltypes.Type, d sqltypes.Datum) []byte {
	for t.Base != nil {
		t = t.Base
	}
	a := sqltypes.OpenArray(d)
	for i := 0; i < a.Len(); i++ {
		e := a.At(i)
		if e.Null {
			dst = append(dst, hdrNullLast)
			continue
		}
		dst = appendKeyPart(dst, elem, t.ElemType, e)
	}
	dst = append(dst, hdrArrayEnd, byte(a.NDim()))
	for i := 0; i < a.NDim(); i++ {
		dst = appendKeyInt(dst, int64(a.Dim(i).Len))
	}
	for i := 0; i < a.NDim(); i++ {
		dst = appendKeyInt(dst, int64(a.Dim(i).Lower))
	}
	return dst
}

// appendKeyRange orders as range_cmp: the empty range, then by lower bound, then
// by upper bound.
func appendKeyRange(dst []byte, elem keyClass, t *sqltypes.Type, r sqltypes.Range) []byte {
	for t.Base != nil {
		t = t.Base
	}
	if r.Empty {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	bound := func(b *sqltypes.RangeBound, inf, inc, exc byte) {
		if b.Inf {
			dst = append(dst, inf)
			return
		}
		dst = appendKeyPart(dst, elem, t.Range.Subtype, b.Value)
		if b.Inclusive {
			dst = append(dst, inc)
		} else {
			dst = append(dst, exc)
		}
	}
	bound(&r.Lower, hdrArrayEnd, 0, 1)
	bound(&r.Upper, hdrNullLast, 1, 0)
	return dst
}

// appendKeyInet orders as network_cmp: family, the network's common bits, the
// length of the mask, the whole address. Network bits are two bits each, so that
// a shorter network ends below a longer one.
func appendKeyInet(dst []byte, d sqltypes.Datum) []byte {
	family, n, addr := sqltypes.InetParts(d)
	dst = append(dst, byte(family))
	var cur, used byte
	put := func(sym byte) {
		cur = cur<<2 | sym
		if used++; used == 4 {
			dst = append(dst, cur)
			cur, used = 0, 0
		}
	}
	for i := 0; i < n && i < 8*len(addr); i++ {
		put(1 + addr[i/8]>>(7-i%8)&1)
	}
	put(0)
	for used != 0 {
		put(0)
	}
	return append(dst, addr...)
}

func enumSort(t *sqltypes.Type, oid sqltypes.OID) float64 {
	for t.Base != nil {
		t = t.Base
	}
	if t.Enum != nil {
		for i := range t.Enum.Labels {
			if t.Enum.Labels[i].OID == oid {
				return float64(t.Enum.Labels[i].Sort)
			}
		}
	}
	return math.MaxFloat64
}
