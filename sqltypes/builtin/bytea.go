package builtin

import (
	"strings"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func byteSubstr(_ *Call, args []Datum) (Datum, error) {
	var length *int64
	if len(args) > 2 {
		length = &args[2].I
	}
	from, to, err := sliceBounds(args[1].I, length)
	if err != nil {
		return fail(err)
	}
	n := int64(len(args[0].S))
	from, to = min(from, n), min(to, n)
	if to <= from {
		return text("")
	}
	return text(args[0].S[from:to])
}

func byteOverlay(_ *Call, args []Datum) (Datum, error) {
	s, by, start := args[0].S, args[1].S, args[2].I
	length := int64(len(by))
	if len(args) > 3 {
		length = args[3].I
	}
	if start <= 0 {
		return fail(negativeSubstring())
	}
	if start+length > 1<<31-1 {
		return fail(width4.outOfRange())
	}
	n := int64(len(s))
	head := s[:min(start-1, n)]
	tail := s[min(max(start+length-1, 0), n):]
	return text(head + by + tail)
}

func indexOutOfRange(i, last int64) *pgerror.Error {
	return pgerror.New(pgerror.ArraySubscriptError, "index %d out of valid range, 0..%d", i, last)
}

// byteAt checks the number of a byte or a bit (bits 8) of a bytea.
func byteAt(s string, i int64, bits int64) error {
	if n := int64(len(s)) * bits; i < 0 || i >= n {
		return indexOutOfRange(i, n-1)
	}
	return nil
}

func getByte(_ *Call, args []Datum) (Datum, error) {
	if err := byteAt(args[0].S, args[1].I, 1); err != nil {
		return null, err
	}
	return integer(int64(args[0].S[args[1].I]))
}

func setByte(_ *Call, args []Datum) (Datum, error) {
	if err := byteAt(args[0].S, args[1].I, 1); err != nil {
		return null, err
	}
	b := []byte(args[0].S)
	b[args[1].I] = byte(args[2].I)
	return sqltypes.Bytes(b), nil
}

// Bits of a bytea are numbered from the right within each byte.
func getBit(_ *Call, args []Datum) (Datum, error) {
	if err := byteAt(args[0].S, args[1].I, 8); err != nil {
		return null, err
	}
	return integer(int64(args[0].S[args[1].I/8] >> (args[1].I % 8) & 1))
}

func setBit(_ *Call, args []Datum) (Datum, error) {
	if err := byteAt(args[0].S, args[1].I, 8); err != nil {
		return null, err
	}
	if args[2].I != 0 && args[2].I != 1 {
		return fail(newBitMustBe())
	}
	b := []byte(args[0].S)
	mask := byte(1) << (args[1].I % 8)
	b[args[1].I/8] &^= mask
	if args[2].I == 1 {
		b[args[1].I/8] |= mask
	}
	return sqltypes.Bytes(b), nil
}

func newBitMustBe() *pgerror.Error {
	return pgerror.New(pgerror.InvalidParameterValue, "new bit must be 0 or 1")
}

// byteTrimmer trims bytes of a set.
func byteTrimmer(left, right bool) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) {
		s, set := args[0].S, args[1].S
		for left && s != "" && strings.IndexByte(set, s[0]) >= 0 {
			s = s[1:]
		}
		for right && s != "" && strings.IndexByte(set, s[len(s)-1]) >= 0 {
			s = s[:len(s)-1]
		}
		return text(s)
	}
}

func init() {
	scalarTable{
		"bytea_substr": byteSubstr, "bytea_substr_no_len": byteSubstr,
		"byteaoverlay": byteOverlay, "byteaoverlay_no_len": byteOverlay,
		"byteaGetByte": getByte, "byteaSetByte": setByte, "byteaGetBit": getBit, "byteaSetBit": setBit,
		"byteatrim": byteTrimmer(true, true), "bytealtrim": byteTrimmer(true, false), "byteartrim": byteTrimmer(false, true),
		"byteapos":        func(_ *Call, a []Datum) (Datum, error) { return integer(int64(strings.Index(a[0].S, a[1].S)) + 1) },
		"bytea_bit_count": func(_ *Call, a []Datum) (Datum, error) { return integer(int64(sqltypes.BitCount(a[0].S))) },
	}.register()
}
