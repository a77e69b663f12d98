package chunk

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Floats that all are decimal numbers of a few digits (v = i / 10^e, exactly the
// nearest float) are written as those integers. Others are written as their bits,
// taken for integers without the trailing zeros that all of them have: floats of
// one sign order as their bits do, so that differences are small. Where many
// values repeat, the XOR of each value's bits with those of the one before
// (Pelkonen et al., "Gorilla", 2015) may be smaller.

const (
	floatXOR     = 255
	floatBits    = 254 // followed by the number of bits shifted out
	maxExponent  = 9
	maxExactInt  = 1 << 53
	sampleValues = 8
)

var powers = [maxExponent + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

func appendFloats(dst []byte, v []float64, null []bool, nulls int) []byte {
	if nulls > 0 {
		v = fillNulls(append([]float64(nil), v...), null)
	}
	var buf [1024]int64
	if e, ok := decimalExponent(v); ok {
		ints := buf[:0]
		for _, f := range v {
			i, exact := decimalInt(f, e)
			if !exact {
				ok = false
				break
			}
			ints = append(ints, i)
		}
		if ok {
			return appendInts(append(dst, byte(e)), ints)
		}
	}
	var or uint64
	same := 0
	for i, f := range v {
		or |= math.Float64bits(f)
		if i > 0 && math.Float64bits(f) == math.Float64bits(v[i-1]) {
			same++
		}
	}
	shift := bits.TrailingZeros64(or) & 63
	ints := buf[:0]
	for _, f := range v {
		ints = append(ints, int64(math.Float64bits(f))>>shift)
	}
	at := len(dst)
	dst = appendInts(append(dst, floatBits, byte(shift)), ints)
	if same > len(v)/4 {
		if x := appendXOR([]byte{floatXOR}, v); len(x) < len(dst)-at {
			return append(dst[:at], x...)
		}
	}
	return dst
}

// decimalExponent finds the smallest e for which all values are exact, trying
// with a sample first.
func decimalExponent(v []float64) (int, bool) {
	e := 0
	grow := func(f float64) bool {
		for {
			if _, ok := decimalInt(f, e); ok {
				return true
			}
			if e++; e > maxExponent {
				return false
			}
		}
	}
	step := max(1, len(v)/sampleValues)
	for i := 0; i < len(v); i += step {
		if !grow(v[i]) {
			return 0, false
		}
	}
	for _, f := range v {
		if !grow(f) {
			return 0, false
		}
	}
	return e, true
}

func decimalInt(f float64, e int) (int64, bool) {
	x := f * powers[e]
	if !(x > -maxExactInt && x < maxExactInt) {
		return 0, false
	}
	r := math.RoundToEven(x)
	i := int64(r)
	return i, math.Float64bits(float64(i)/powers[e]) == math.Float64bits(f)
}

func decodeFloats(b []byte, dst []float64) bool {
	if len(b) == 0 {
		return false
	}
	e := b[0]
	if e == floatXOR {
		return decodeXOR(b[1:], dst)
	}
	if e > maxExponent && e != floatBits || len(b) < 2 {
		return false
	}
	var buf [512]int64
	ints := buf[:]
	if len(dst) > len(buf) {
		ints = make([]int64, len(dst))
	}
	ints = ints[:len(dst)]
	if e == floatBits {
		if _, ok := decodeInts(b[2:], ints); !ok {
			return false
		}
		shift := b[1] & 63
		for i, x := range ints {
			dst[i] = math.Float64frombits(uint64(x) << shift)
		}
		return true
	}
	if _, ok := decodeInts(b[1:], ints); !ok {
		return false
	}
	if e == 0 {
		for i, x := range ints {
			dst[i] = float64(x)
		}
		return true
	}
	p := powers[e]
	for i, x := range ints {
		dst[i] = float64(x) / p
	}
	return true
}

// bitWriter appends bits, most significant first.
type bitWriter struct {
	b    []byte
	acc  uint64
	used uint
}

func (w *bitWriter) write(v uint64, n uint) {
	if free := 64 - w.used; n > free {
		w.acc |= v >> (n - free)
		w.b = binary.BigEndian.AppendUint64(w.b, w.acc)
		n -= free
		w.acc, w.used = 0, 0
		if n == 0 {
			return
		}
		v &= 1<<n - 1
	}
	w.acc |= v << (64 - w.used - n)
	if w.used += n; w.used == 64 {
		w.b = binary.BigEndian.AppendUint64(w.b, w.acc)
		w.acc, w.used = 0, 0
	}
}

func (w *bitWriter) finish() []byte {
	for w.used > 0 {
		w.b = append(w.b, byte(w.acc>>56))
		w.acc <<= 8
		w.used -= min(8, w.used)
	}
	return w.b
}

func appendXOR(dst []byte, v []float64) []byte {
	prev := math.Float64bits(v[0])
	w := bitWriter{b: binary.LittleEndian.AppendUint64(dst, prev)}
	lead, trail := uint(65), uint(0)
	for _, f := range v[1:] {
		u := math.Float64bits(f)
		x := u ^ prev
		prev = u
		if x == 0 {
			w.write(0, 1)
			continue
		}
		l, t := uint(bits.LeadingZeros64(x)), uint(bits.TrailingZeros64(x))
		if l > 31 {
			l = 31
		}
		if lead <= 64 && l >= lead && t >= trail {
			w.write(0b10, 2)
			w.write(x>>trail, 64-lead-trail)
			continue
		}
		lead, trail = l, t
		n := 64 - l - t
		w.write(0b11, 2)
		w.write(uint64(l)<<6|uint64(n-1), 11)
		w.write(x>>t, n)
	}
	return w.finish()
}

func decodeXOR(b []byte, dst []float64) bool {
	if len(b) < 8 || cap(b) < len(b)+8 {
		return false
	}
	prev := binary.LittleEndian.Uint64(b)
	dst[0] = math.Float64frombits(prev)
	end := uint(len(b)-8) * 8
	src := b[8 : len(b)+8]
	// peek sees at least 57 bits from bit on.
	bit := uint(0)
	var lead, trail uint
	for i := 1; i < len(dst); i++ {
		if bit >= end {
			return false
		}
		w := binary.BigEndian.Uint64(src[bit>>3:]) << (bit & 7)
		if w>>63 == 0 {
			bit++
			dst[i] = math.Float64frombits(prev)
			continue
		}
		if w>>62 == 0b11 {
			lead = uint(w >> 57 & 31)
			n := uint(w>>51&63) + 1
			if lead+n > 64 {
				return false
			}
			trail = 64 - lead - n
			bit += 13
		} else {
			bit += 2
		}
		n := 64 - lead - trail
		if bit+n > end {
			return false
		}
		at, off := bit>>3, bit&7
		x := binary.BigEndian.Uint64(src[at:]) << off
		if off > 0 && n > 57 {
			x |= uint64(src[at+8]) >> (8 - off)
		}
		prev ^= x >> (64 - n) << trail
		bit += n
		dst[i] = math.Float64frombits(prev)
	}
	return true
}
