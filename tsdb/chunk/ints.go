package chunk

import (
	"encoding/binary"
	"math/bits"
)

// Integers are written as they are, as differences, or as differences of
// differences, whichever is smallest; then in blocks of 128 as the smallest value
// (a varint), the number of bits that the largest distance from it needs, and the
// distances with so many bits each ("frame of reference").

const blockLen = 128

const (
	modePlain byte = iota
	modeDelta
	modeDelta2
)

// appendInts writes a mode byte, the seeds of the mode and the blocks.
func appendInts(dst []byte, v []int64) []byte {
	mode := bestMode(v)
	dst = append(dst, mode)
	if mode == modePlain {
		return appendBlocks(dst, v)
	}
	dst = binary.AppendVarint(dst, v[0])
	var buf [1024]int64
	d := buf[:0]
	for i := 1; i < len(v); i++ {
		d = append(d, v[i]-v[i-1])
	}
	if mode == modeDelta || len(d) == 0 {
		return appendBlocks(dst, d)
	}
	dst = binary.AppendVarint(dst, d[0])
	for i := len(d) - 1; i > 0; i-- {
		d[i] -= d[i-1]
	}
	return appendBlocks(dst, d[1:])
}

// bestMode estimates the bits that each mode needs.
func bestMode(v []int64) byte {
	if len(v) < 3 {
		return modePlain
	}
	var size [3]int
	for at := 0; at < len(v); at += blockLen {
		end := min(at+blockLen, len(v))
		var lo, hi [3]int64
		first := true
		for i := at; i < end; i++ {
			x := v[i]
			var d, dd int64
			if i > 0 {
				d = x - v[i-1]
			}
			if i > 1 {
				dd = d - (v[i-1] - v[i-2])
			}
			switch {
			case first && i > 1:
				lo, hi = [3]int64{x, d, dd}, [3]int64{x, d, dd}
				first = false
			case i <= 1: // seeds of the differences
				if i == 0 {
					lo, hi = [3]int64{x, v[1] - v[0], (v[2] - v[1]) - (v[1] - v[0])}, [3]int64{x, v[1] - v[0], (v[2] - v[1]) - (v[1] - v[0])}
					first = false
				}
				lo[0], hi[0] = min(lo[0], x), max(hi[0], x)
			default:
				lo[0], hi[0] = min(lo[0], x), max(hi[0], x)
				lo[1], hi[1] = min(lo[1], d), max(hi[1], d)
				lo[2], hi[2] = min(lo[2], dd), max(hi[2], dd)
			}
		}
		for m := range size {
			size[m] += bits.Len64(uint64(hi[m]-lo[m]))*(end-at) + varintBits(lo[m])
		}
	}
	best := modePlain
	for m := modeDelta; m <= modeDelta2; m++ {
		if size[m] < size[best] {
			best = m
		}
	}
	return best
}

func varintBits(v int64) int {
	u := uint64(v<<1) ^ uint64(v>>63)
	return (bits.Len64(u|1) + 6) / 7 * 8
}

func appendBlocks(dst []byte, v []int64) []byte {
	for len(v) > 0 {
		n := min(blockLen, len(v))
		dst = appendBlock128(dst, v[:n])
		v = v[n:]
	}
	return dst
}

func appendBlock128(dst []byte, v []int64) []byte {
	lo, hi := v[0], v[0]
	for _, x := range v[1:] {
		lo, hi = min(lo, x), max(hi, x)
	}
	width := uint(bits.Len64(uint64(hi - lo)))
	dst = binary.AppendVarint(dst, lo)
	dst = append(dst, byte(width))
	if width == 0 {
		return dst
	}
	var acc uint64
	used := uint(0)
	for _, x := range v {
		u := uint64(x - lo)
		acc |= u << used
		used += width
		if used >= 64 {
			dst = binary.LittleEndian.AppendUint64(dst, acc)
			used -= 64
			acc = 0
			if used > 0 {
				acc = u >> (width - used)
			}
		}
	}
	for used > 0 {
		dst = append(dst, byte(acc))
		acc >>= 8
		used -= min(8, used)
	}
	return dst
}

// decodeInts reads len(dst) integers and returns what follows them.
func decodeInts(b []byte, dst []int64) (rest []byte, ok bool) {
	if len(b) == 0 {
		return nil, false
	}
	mode := b[0]
	b = b[1:]
	seeds := int(mode)
	if mode > modeDelta2 {
		return nil, false
	}
	n := len(dst)
	var seed [2]int64
	for i := range min(seeds, n) {
		v, k := binary.Varint(b)
		if k <= 0 {
			return nil, false
		}
		seed[i] = v
		b = b[k:]
	}
	seeds = min(seeds, n)
	for at := seeds; at < n; at += blockLen {
		if b, ok = decodeBlock(b, dst[at:min(at+blockLen, n)]); !ok {
			return nil, false
		}
	}
	switch seeds {
	case 1:
		if mode == modeDelta2 { // one value only
			dst[0] = seed[0]
			break
		}
		v := seed[0]
		dst[0] = v
		for i := 1; i < n; i++ {
			v += dst[i]
			dst[i] = v
		}
	case 2:
		v, d := seed[0], seed[1]
		dst[0] = v
		v += d
		dst[1] = v
		for i := 2; i < n; i++ {
			d += dst[i]
			v += d
			dst[i] = v
		}
	}
	return b, true
}

func decodeBlock(b []byte, dst []int64) (rest []byte, ok bool) {
	lo, k := binary.Varint(b)
	if k <= 0 || k >= len(b) {
		return nil, false
	}
	width := uint(b[k])
	b = b[k+1:]
	if width == 0 {
		for i := range dst {
			dst[i] = lo
		}
		return b, true
	}
	size := (uint(len(dst))*width + 7) / 8
	if width > 64 || size > uint(len(b)) || cap(b) < int(size)+8 {
		return nil, false
	}
	src := b[: size+8 : size+8]
	mask := ^uint64(0) >> (64 - width)
	bit := uint(0)
	if width <= 57 {
		for i := range dst {
			u := binary.LittleEndian.Uint64(src[bit>>3:]) >> (bit & 7)
			dst[i] = lo + int64(u&mask)
			bit += width
		}
		return b[size:], true
	}
	for i := range dst {
		at, off := bit>>3, bit&7
		u := binary.LittleEndian.Uint64(src[at:]) >> off
		if off > 0 {
			u |= uint64(src[at+8]) << (64 - off)
		}
		dst[i] = lo + int64(u&mask)
		bit += width
	}
	return b[size:], true
}

// appendIntColumn writes a column of integers; NULLs get their neighbour's value,
// which costs nothing.
func appendIntColumn(dst []byte, v []int64, null []bool, nulls int) []byte {
	if nulls > 0 {
		v = fillNulls(append([]int64(nil), v...), null)
	}
	return appendInts(dst, v)
}

// fillNulls overwrites NULLs with the value before them (the first ones: after).
func fillNulls[T any](v []T, null []bool) []T {
	first := 0
	for first < len(v) && null[first] {
		first++
	}
	for i := range v {
		switch {
		case i < first:
			v[i] = v[first]
		case null[i]:
			v[i] = v[i-1]
		}
	}
	return v
}

func decodeIntColumn(b []byte, dst []int64) bool {
	_, ok := decodeInts(b, dst)
	return ok
}

// Times are divided by the greatest common divisor of their differences.

func appendTimes(dst []byte, t []int64) []byte {
	g := uint64(0)
	for i := 1; i < len(t) && g != 1; i++ {
		g = gcd(g, uint64(t[i]-t[i-1]))
	}
	if g == 0 {
		g = 1
	}
	dst = binary.AppendUvarint(dst, g)
	var buf [1024]int64
	v := buf[:0]
	for _, x := range t {
		v = append(v, int64(uint64(x-t[0])/g))
	}
	return appendInts(dst, v)
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func decodeTimes(b []byte, start int64, dst []int64) bool {
	g, k := binary.Uvarint(b)
	if k <= 0 {
		return false
	}
	if _, ok := decodeInts(b[k:], dst); !ok {
		return false
	}
	if g == 1 {
		for i := range dst {
			dst[i] += start
		}
		return true
	}
	for i := range dst {
		dst[i] = start + dst[i]*int64(g)
	}
	return true
}
