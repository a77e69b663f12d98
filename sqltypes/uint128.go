package sqltypes

import (
	"math/big"
	"math/bits"
)

// u128 is an unsigned 128-bit magnitude.
type u128 struct{ hi, lo uint64 }

func (x u128) cmp(y u128) int {
	switch {
	case x.hi != y.hi:
		if x.hi < y.hi {
			return -1
		}
		return 1
	case x.lo < y.lo:
		return -1
	case x.lo > y.lo:
		return 1
	}
	return 0
}

// add returns x+y; ok is false on overflow.
func (x u128) add(y u128) (z u128, ok bool) {
	var c uint64
	z.lo, c = bits.Add64(x.lo, y.lo, 0)
	z.hi, c = bits.Add64(x.hi, y.hi, c)
	return z, c == 0
}

// sub returns x-y for x ≥ y.
func (x u128) sub(y u128) (z u128) {
	var b uint64
	z.lo, b = bits.Sub64(x.lo, y.lo, 0)
	z.hi, _ = bits.Sub64(x.hi, y.hi, b)
	return z
}

// mul64 returns x·m; ok is false on overflow.
func (x u128) mul64(m uint64) (z u128, ok bool) {
	h1, lo := bits.Mul64(x.lo, m)
	h2, mid := bits.Mul64(x.hi, m)
	hi, c := bits.Add64(mid, h1, 0)
	return u128{hi, lo}, h2 == 0 && c == 0
}

// mulPow10 returns x·10^k; ok is false on overflow.
func (x u128) mulPow10(k int) (z u128, ok bool) {
	for k > 19 {
		if x, ok = x.mul64(pow10u[19]); !ok {
			return x, false
		}
		k -= 19
	}
	return x.mul64(pow10u[k])
}

// div64 returns x/d and the remainder.
func (x u128) div64(d uint64) (q u128, r uint64) {
	q.hi, r = x.hi/d, x.hi%d
	q.lo, r = bits.Div64(r, x.lo, d)
	return q, r
}

// pow10u holds 10^0 … 10^19.
var pow10u = func() (t [20]uint64) {
	t[0] = 1
	for i := 1; i < len(t); i++ {
		t[i] = t[i-1] * 10
	}
	return
}()

// decimalLen is the number of decimal digits of v, 0 for 0.
func decimalLen(v uint64) int {
	n := (bits.Len64(v) * 1233) >> 12
	if n < 20 && v >= pow10u[n] {
		n++
	}
	return n
}

// bigPow10 returns 10^k as a value the caller must not change.
func bigPow10(k int) *big.Int {
	if k < len(bigPow10Table) {
		return bigPow10Table[k]
	}
	return new(big.Int).Exp(big10, big.NewInt(int64(k)), nil)
}

var (
	big10         = big.NewInt(10)
	bigPow10Table = func() (t [128]*big.Int) {
		t[0] = big.NewInt(1)
		for i := 1; i < len(t); i++ {
			t[i] = new(big.Int).Mul(t[i-1], big10)
		}
		return
	}()
)
