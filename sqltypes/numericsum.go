package sqltypes

import (
	"math/big"
	"math/bits"
)

// NumericSum adds many numerics without building each partial sum: 128 bits at
// the largest scale seen, math/big beyond. The zero value is an empty sum.
// Infinities and NaN are counted, so that values can be taken out again, as
// moving aggregates need.
type NumericSum struct {
	N               int64 // values added, special ones too
	nan, pinf, ninf int64
	hi              int64 // two's complement 128 bits
	lo              uint64
	scale           int32
	big             *big.Int // not nil: added to hi:lo, same scale
}

// Add adds a value.
func (s *NumericSum) Add(d Datum) {
	s.N++
	if d.S == "" && d.Aux == s.scale {
		s.add64(d.I)
		return
	}
	s.addSlow(d, 1)
}

// AddInt adds an integer.
func (s *NumericSum) AddInt(v int64) {
	s.N++
	if s.scale == 0 {
		s.add64(v)
		return
	}
	s.addSlow(Datum{I: v}, 1)
}

// AddScaled adds the integer v × 10^-scale.
func (s *NumericSum) AddScaled(v int64, scale int32) { s.Add(Datum{I: v, Aux: scale}) }

// Remove takes out a value added before.
func (s *NumericSum) Remove(d Datum) {
	s.N--
	s.addSlow(d, -1)
}

func (s *NumericSum) add64(v int64) {
	var c uint64
	s.lo, c = bits.Add64(s.lo, uint64(v), 0)
	s.hi += v>>63 + int64(c)
	// Far from the limit: the next 2^62 additions cannot overflow unnoticed.
	if s.hi > 1<<62 || s.hi < -1<<62 {
		s.spill()
	}
}

// spill moves the 128 bits into the big part.
func (s *NumericSum) spill() {
	if s.big == nil {
		s.big = new(big.Int)
	}
	s.big.Add(s.big, s.part())
	s.hi, s.lo = 0, 0
}

func (s *NumericSum) part() *big.Int {
	z := new(big.Int).SetInt64(s.hi)
	z.Lsh(z, 64)
	return z.Add(z, new(big.Int).SetUint64(s.lo))
}

func (s *NumericSum) addSlow(d Datum, sign int64) {
	if !NumericIsFinite(d) {
		switch d.S[0] {
		case wideNaN:
			s.nan += sign
		case widePInf:
			s.pinf += sign
		default:
			s.ninf += sign
		}
		return
	}
	ds := NumericScale(d)
	if ds > s.scale {
		s.rescale(ds)
	}
	if d.S == "" {
		if v, ok := mulPow10Int(d.I, int(s.scale-ds)); ok && v != -v {
			s.add64(v * sign)
			return
		}
	}
	z := numericBig(d)
	if ds < s.scale {
		z.Mul(z, bigPow10(int(s.scale-ds)))
	}
	if sign < 0 {
		z.Neg(z)
	}
	if s.big == nil {
		s.big = new(big.Int)
	}
	s.big.Add(s.big, z)
}

// rescale raises the common scale.
func (s *NumericSum) rescale(to int32) {
	p := bigPow10(int(to - s.scale))
	s.scale = to
	if s.hi == 0 && s.lo == 0 && s.big == nil {
		return
	}
	if hi, lo := bits.Mul64(s.lo, p.Uint64()); s.big == nil && s.hi == 0 && p.IsUint64() && hi < 1<<62 {
		s.hi, s.lo = int64(hi), lo
		return
	}
	z := s.part()
	if s.big != nil {
		z.Add(z, s.big)
	}
	s.big = z.Mul(z, p)
	s.hi, s.lo = 0, 0
}

// Merge adds another sum.
func (s *NumericSum) Merge(o *NumericSum) {
	s.N += o.N
	s.nan, s.pinf, s.ninf = s.nan+o.nan, s.pinf+o.pinf, s.ninf+o.ninf
	z := o.part()
	if o.big != nil {
		z.Add(z, o.big)
	}
	if o.scale > s.scale {
		s.rescale(o.scale)
	} else if o.scale < s.scale {
		z.Mul(z, bigPow10(int(s.scale-o.scale)))
	}
	if s.big == nil {
		s.big = new(big.Int)
	}
	s.big.Add(s.big, z)
}

// Sum is the total, with the largest scale seen; 22003 when it overflows numeric.
func (s *NumericSum) Sum() (Datum, error) {
	switch {
	case s.nan > 0 || s.pinf > 0 && s.ninf > 0:
		return NumericNaN, nil
	case s.pinf > 0:
		return NumericPosInf, nil
	case s.ninf > 0:
		return NumericNegInf, nil
	}
	if s.big == nil {
		return NumericFromInt128(s.hi, s.lo, s.scale), nil
	}
	z := s.part()
	return makeNumericBig(z.Add(z, s.big), s.scale)
}

// Avg is the average (N must not be 0).
func (s *NumericSum) Avg() (Datum, error) {
	sum, err := s.Sum()
	if err != nil {
		return Null, err
	}
	return NumericDiv(sum, Datum{I: s.N})
}
