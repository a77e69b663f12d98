package builtin

import (
	"encoding/binary"
	"math"
	"strings"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// compareBits orders by the bits, then by length.
func compareBits(a, b Datum) int {
	if c := strings.Compare(sqltypes.BitData(a), sqltypes.BitData(b)); c != 0 {
		return c
	}
	return sqltypes.BitLen(a) - sqltypes.BitLen(b)
}

// combineBits makes & | # of bit strings of equal length.
func combineBits(verb string, f func(a, b byte) byte) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) {
		n := sqltypes.BitLen(args[0])
		if n != sqltypes.BitLen(args[1]) {
			return fail(pgerror.New(pgerror.StringDataLengthMismatch, "cannot %s bit strings of different sizes", verb))
		}
		x, y := sqltypes.BitData(args[0]), sqltypes.BitData(args[1])
		out := make([]byte, len(x))
		for i := range out {
			out[i] = f(x[i], y[i])
		}
		return sqltypes.MakeBits(n, out), nil
	}
}

func notBits(_ *Call, args []Datum) (Datum, error) {
	out := []byte(sqltypes.BitData(args[0]))
	for i := range out {
		out[i] = ^out[i]
	}
	return sqltypes.MakeBits(sqltypes.BitLen(args[0]), out), nil
}

// copyBits returns bits from ≤ i < to of d, zeros where d has none, as n bits
// starting at place at.
func copyBits(d Datum, from, to, n, at int) []byte {
	out := make([]byte, (n+7)/8)
	have := sqltypes.BitLen(d)
	for i := max(from, 0); i < min(to, have); i++ {
		if j := at + i - from; j >= 0 && j < n && sqltypes.BitAt(d, i) == 1 {
			out[j>>3] |= 0x80 >> (j & 7)
		}
	}
	return out
}

// shiftBits shifts left by k (right when negative), filling with zeros.
func shiftBits(d Datum, k int64) Datum {
	n := sqltypes.BitLen(d)
	if k >= int64(n) || -k >= int64(n) {
		return sqltypes.MakeBits(n, nil)
	}
	if k >= 0 {
		return sqltypes.MakeBits(n, copyBits(d, int(k), n, n, 0))
	}
	return sqltypes.MakeBits(n, copyBits(d, 0, n, n, int(-k)))
}

func concatBits(_ *Call, args []Datum) (Datum, error) { return catBits(args[0], args[1]) }

func catBits(a, b Datum) (Datum, error) {
	x, y := sqltypes.BitLen(a), sqltypes.BitLen(b)
	if x+y > maxAlloc {
		return fail(pgerror.New(pgerror.ProgramLimitExceeded, "bit string length exceeds the maximum allowed (%d)", maxAlloc))
	}
	out := copyBits(a, 0, x, x+y, 0)
	for i, v := range copyBits(b, 0, y, x+y, x) {
		out[i] |= v
	}
	return sqltypes.MakeBits(x+y, out), nil
}

func sliceBits(d Datum, start int64, length *int64) (Datum, error) {
	from, to, err := sliceBounds(start, length)
	if err != nil {
		return fail(err)
	}
	n := int64(sqltypes.BitLen(d))
	from, to = min(from, n), min(to, n)
	if to <= from {
		return sqltypes.MakeBits(0, nil), nil
	}
	return sqltypes.MakeBits(int(to-from), copyBits(d, int(from), int(to), int(to-from), 0)), nil
}

func bitSubstr(_ *Call, args []Datum) (Datum, error) {
	if len(args) > 2 {
		return sliceBits(args[0], args[1].I, &args[2].I)
	}
	return sliceBits(args[0], args[1].I, nil)
}

func bitOverlay(_ *Call, args []Datum) (Datum, error) {
	start, length := args[2].I, int64(sqltypes.BitLen(args[1]))
	if len(args) > 3 {
		length = args[3].I
	}
	if start <= 0 {
		return fail(negativeSubstring())
	}
	if start+length > 1<<31-1 {
		return fail(width4.outOfRange())
	}
	before := start - 1
	head, err := sliceBits(args[0], 1, &before)
	if err != nil {
		return null, err
	}
	tail, err := sliceBits(args[0], start+length, nil)
	if err != nil {
		return null, err
	}
	if head, err = catBits(head, args[1]); err != nil {
		return null, err
	}
	return catBits(head, tail)
}

func bitPosition(_ *Call, args []Datum) (Datum, error) {
	s, sub := args[0], args[1]
	n, k := sqltypes.BitLen(s), sqltypes.BitLen(sub)
	if n == 0 || k > n {
		return integer(0)
	}
next:
	for i := 0; i+k <= n; i++ {
		for j := range k {
			if sqltypes.BitAt(s, i+j) != sqltypes.BitAt(sub, j) {
				continue next
			}
		}
		return integer(int64(i) + 1)
	}
	return integer(0)
}

func bitGet(_ *Call, args []Datum) (Datum, error) {
	if n := int64(sqltypes.BitLen(args[0])); args[1].I < 0 || args[1].I >= n {
		return fail(bitIndexOutOfRange(args[1].I, n-1))
	}
	return integer(int64(sqltypes.BitAt(args[0], int(args[1].I))))
}

func bitIndexOutOfRange(i, last int64) *pgerror.Error {
	return pgerror.New(pgerror.ArraySubscriptError, "bit index %d out of valid range (0..%d)", i, last)
}

func bitSet(_ *Call, args []Datum) (Datum, error) {
	n, i := int64(sqltypes.BitLen(args[0])), args[1].I
	if i < 0 || i >= n {
		return fail(bitIndexOutOfRange(i, n-1))
	}
	if args[2].I != 0 && args[2].I != 1 {
		return fail(newBitMustBe())
	}
	b := []byte(sqltypes.BitData(args[0]))
	b[i>>3] &^= 0x80 >> (i & 7)
	if args[2].I == 1 {
		b[i>>3] |= 0x80 >> (i & 7)
	}
	return sqltypes.MakeBits(int(n), b), nil
}

// bitsToInt makes the casts to int4 and int8: the bits are two's complement.
func bitsToInt(width int) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) {
		n := sqltypes.BitLen(args[0])
		if n > width {
			return fail(map[int]intWidth{32: width4, 64: width8}[width].outOfRange())
		}
		var v uint64
		for i := range n {
			v = v<<1 | uint64(sqltypes.BitAt(args[0], i))
		}
		if width == 32 {
			return integer(int64(int32(v)))
		}
		return integer(int64(v))
	}
}

// intToBits makes the casts from int4 and int8: the low bits, sign-extended to
// the length of the type (1 when none is given).
func intToBits(width int) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) {
		n := int(args[1].I)
		if n <= 0 || n > maxAlloc {
			n = 1
		}
		v := args[0].I
		all := make([]byte, 8)
		binary.BigEndian.PutUint64(all, uint64(v))
		d := sqltypes.MakeBits(64, all)
		if n <= 64 {
			return sqltypes.MakeBits(n, copyBits(d, 64-n, 64, n, 0)), nil
		}
		out := copyBits(d, 0, 64, n, n-64)
		for i := 0; v < 0 && i < n-64; i++ {
			out[i>>3] |= 0x80 >> (i & 7)
		}
		return sqltypes.MakeBits(n, out), nil
	}
}

func init() {
	compareOps("bit*", compareBits, nil)
	and := func(a, b byte) byte { return a & b }
	or := func(a, b byte) byte { return a | b }
	xor := func(a, b byte) byte { return a ^ b }
	scalarTable{
		"bitcmp":  compareProc(compareBits),
		"bit_and": combineBits("AND", and), "bit_or": combineBits("OR", or), "bitxor": combineBits("XOR", xor),
		"bitnot": notBits, "bitcat": concatBits,
		"bitshiftleft":  func(_ *Call, a []Datum) (Datum, error) { return shiftBits(a[0], a[1].I), nil },
		"bitshiftright": func(_ *Call, a []Datum) (Datum, error) { return shiftBits(a[0], -a[1].I), nil },
		"bitlength":     func(_ *Call, a []Datum) (Datum, error) { return integer(int64(sqltypes.BitLen(a[0]))) },
		"bitoctetlength": func(_ *Call, a []Datum) (Datum, error) {
			return integer(int64(len(sqltypes.BitData(a[0]))))
		},
		"bit_length(bit)": func(_ *Call, a []Datum) (Datum, error) { return integer(int64(sqltypes.BitLen(a[0]))) },
		"bitsubstr":       bitSubstr, "bitsubstr_no_len": bitSubstr,
		"bitoverlay": bitOverlay, "bitoverlay_no_len": bitOverlay, "bitposition": bitPosition,
		"bitgetbit": bitGet, "bitsetbit": bitSet,
		"bit_bit_count": func(_ *Call, a []Datum) (Datum, error) {
			return integer(int64(sqltypes.BitCount(sqltypes.BitData(a[0]))))
		},
		"bittoint4": bitsToInt(32), "bittoint8": bitsToInt(64), "bitfromint4": intToBits(32), "bitfromint8": intToBits(64),
		"bit": func(_ *Call, a []Datum) (Datum, error) {
			if a[1].I > math.MaxInt32-7 {
				return a[0], nil
			}
			return sqltypes.BitLength(a[0], int32(a[1].I), a[2].Bool())
		},
		"varbit": func(_ *Call, a []Datum) (Datum, error) {
			return sqltypes.VarbitLength(a[0], int32(a[1].I), a[2].Bool())
		},
	}.register()
	aggTable{
		"bit_and(bit)": fold(combineBits("AND", and)), "bit_or(bit)": fold(combineBits("OR", or)), "bit_xor(bit)": fold(combineBits("XOR", xor)),
	}.registerSkipNull()
}
