package sqltypes

import (
	"ostraka/sqltypes/pgerror"
)

// RangeInfo is what a range or multirange is made of.
type RangeInfo struct {
	Subtype *Type
	Range   *Type // the range of a multirange, the type itself of a range
	Multi   *Type // the multirange of a range, the type itself of a multirange
	// Canonical brings a non-empty range of a discrete subtype to the form [a,b); nil for continuous ones.
	Canonical func(r *Range) error
}

// RangeBound is one end of a range.
type RangeBound struct {
	Value     Datum
	Inf       bool // no bound; Value and Inclusive mean nothing
	Inclusive bool
}

// Range is a range taken apart.
type Range struct {
	Lower, Upper RangeBound
	Empty        bool
}

// Flags of the payload and of the binary form.
const (
	rangeEmpty    = 0x01
	rangeLowerInc = 0x02
	rangeUpperInc = 0x04
	rangeLowerInf = 0x08
	rangeUpperInf = 0x10
)

func (r *Range) flags() byte {
	if r.Empty {
		return rangeEmpty
	}
	f := byte(0)
	if r.Lower.Inf {
		f |= rangeLowerInf
	} else if r.Lower.Inclusive {
		f |= rangeLowerInc
	}
	if r.Upper.Inf {
		f |= rangeUpperInf
	} else if r.Upper.Inclusive {
		f |= rangeUpperInc
	}
	return f
}

func rangeOfFlags(f byte) Range {
	return Range{
		Empty: f&rangeEmpty != 0,
		Lower: RangeBound{Inf: f&rangeLowerInf != 0, Inclusive: f&rangeLowerInc != 0},
		Upper: RangeBound{Inf: f&rangeUpperInf != 0, Inclusive: f&rangeUpperInc != 0},
	}
}

// OpenRange takes a range value apart. The payload is the flags, the pack code,
// and for each bound that exists its length (u32) and value.
func OpenRange(d Datum) Range {
	if len(d.S) < 2 {
		return Range{Empty: true}
	}
	r := rangeOfFlags(d.S[0])
	code, s := packCode(d.S[1]), d.S[2:]
	if r.Empty {
		return r
	}
	for _, b := range [...]*RangeBound{&r.Lower, &r.Upper} {
		if b.Inf {
			continue
		}
		n := be32(s)
		b.Value = readPacked(code, s[4:4+n])
		s = s[4+n:]
	}
	return r
}

// packRange builds the value of a range that is in order and canonical.
func packRange(sub *Type, r Range) Datum {
	code := packCodeOf(sub)
	b := append(make([]byte, 0, 32), r.flags(), byte(code))
	if r.Empty {
		return Bytes(b)
	}
	for _, e := range [...]RangeBound{r.Lower, r.Upper} {
		if e.Inf {
			continue
		}
		at := len(b)
		b = appendPacked(append(b, 0, 0, 0, 0), code, e.Value)
		n := uint32(len(b) - at - 4)
		b[at], b[at+1], b[at+2], b[at+3] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
	}
	return Bytes(b)
}

// MakeRange builds a range value: bounds in order, canonical when the subtype is
// discrete, empty when nothing lies between. Errors: 22000, 22003, 22008.
func (info *RangeInfo) MakeRange(r Range) (Datum, error) {
	if err := info.normalize(&r); err != nil {
		return Null, err
	}
	return packRange(info.Subtype, r), nil
}

func (info *RangeInfo) normalize(r *Range) error {
	if err := info.order(r); err != nil || r.Empty || info.Canonical == nil {
		return err
	}
	if err := info.Canonical(r); err != nil {
		return err
	}
	return info.order(r)
}

// order checks lower ≤ upper and recognises the empty range.
func (info *RangeInfo) order(r *Range) error {
	if r.Empty || r.Lower.Inf || r.Upper.Inf {
		return nil
	}
	switch c := info.Subtype.Compare(r.Lower.Value, r.Upper.Value); {
	case c > 0:
		return pgerror.New(pgerror.DataException, "range lower bound must be less than or equal to range upper bound")
	case c == 0 && !(r.Lower.Inclusive && r.Upper.Inclusive):
		*r = Range{Empty: true}
	}
	return nil
}

// discrete makes the Canonical of a subtype whose values have a successor.
func discrete(next func(d Datum) (Datum, error)) func(r *Range) error {
	return func(r *Range) error {
		var err error
		if !r.Lower.Inf && !r.Lower.Inclusive {
			if r.Lower.Value, err = next(r.Lower.Value); err != nil {
				return err
			}
			r.Lower.Inclusive = true
		}
		if !r.Upper.Inf && r.Upper.Inclusive {
			if r.Upper.Value, err = next(r.Upper.Value); err != nil {
				return err
			}
			r.Upper.Inclusive = false
		}
		return nil
	}
}

func nextInt(limit int64, typ string) func(Datum) (Datum, error) {
	return func(d Datum) (Datum, error) {
		if d.I == limit {
			return Null, IntOutOfRange(typ)
		}
		return Int(d.I + 1), nil
	}
}

// canonicalDate leaves the infinite dates as they are.
func canonicalDate(r *Range) error {
	if !r.Lower.Inf && !r.Lower.Inclusive && !DateIsInf(r.Lower.Value.I) {
		if !validDate(r.Lower.Value.I + 1) {
			return DateOutOfRange()
		}
		r.Lower.Value.I++
		r.Lower.Inclusive = true
	}
	if !r.Upper.Inf && r.Upper.Inclusive && !DateIsInf(r.Upper.Value.I) {
		if !validDate(r.Upper.Value.I + 1) {
			return DateOutOfRange()
		}
		r.Upper.Value.I++
		r.Upper.Inclusive = false
	}
	return nil
}

// installRange gives a range type and its multirange their behaviour.
func installRange(t *Type, sub *Type, multi *Type) {
	info := &RangeInfo{Subtype: sub, Range: t, Multi: multi}
	switch t.OID {
	case OIDInt4range:
		info.Canonical = discrete(nextInt(1<<31-1, "integer"))
	case OIDInt8range:
		info.Canonical = discrete(nextInt(1<<63-1, "bigint"))
	case OIDDaterange:
		info.Canonical = canonicalDate
	}
	t.Range, t.Kind = info, KBytes
	t.In = func(env *Env, s string, _ int32) (Datum, error) { return info.parse(env, s) }
	t.Out = func(env *Env, dst []byte, d Datum) []byte { return info.append(env, dst, OpenRange(d)) }
	t.Recv = func(env *Env, b []byte, _ int32) (Datum, error) { return info.recv(env, b) }
	t.Send = func(env *Env, dst []byte, d Datum) []byte { return info.send(env, dst, OpenRange(d)) }
	t.Compare = func(a, b Datum) int { return info.Compare(OpenRange(a), OpenRange(b)) }
	t.Hash = func(d Datum) uint64 { return info.hash(OpenRange(d)) }
	installMultirange(multi, info)
}

func (info *RangeInfo) hash(r Range) uint64 {
	h := HashInt(int64(r.flags()))
	if r.Empty || info.Subtype.Hash == nil {
		return h
	}
	if !r.Lower.Inf {
		h = hashCombine(h, info.Subtype.Hash(r.Lower.Value))
	}
	if !r.Upper.Inf {
		h = hashCombine(h, info.Subtype.Hash(r.Upper.Value))
	}
	return h
}
