package sqltypes

import (
	"encoding/binary"
	"slices"
	"strings"

	"ostraka/sqltypes/pgerror"
)

// A multirange's payload is the number of ranges (u32), the end of each in the
// data (u32), and the ranges' payloads: in order, without gaps that could be
// closed, none empty.

// OpenMultirange takes a multirange apart.
func OpenMultirange(d Datum) []Range {
	if len(d.S) < 4 {
		return nil
	}
	n := int(be32(d.S))
	out := make([]Range, n)
	data, from := d.S[4+4*n:], uint32(0)
	for i := range out {
		to := be32(d.S[4+4*i:])
		out[i] = OpenRange(Datum{S: data[from:to]})
		from = to
	}
	return out
}

// MakeMultirange builds a multirange of ranges in any order.
func (info *RangeInfo) MakeMultirange(ranges []Range) Datum {
	ranges = info.Compact(ranges)
	b := make([]byte, 4+4*len(ranges))
	binary.BigEndian.PutUint32(b, uint32(len(ranges)))
	start := len(b)
	for i, r := range ranges {
		b = append(b, packRange(info.Subtype, r).S...)
		binary.BigEndian.PutUint32(b[4+4*i:], uint32(len(b)-start))
	}
	return Bytes(b)
}

// Compact sorts ranges, drops empty ones and joins those that overlap or touch.
func (info *RangeInfo) Compact(ranges []Range) []Range {
	in := make([]Range, 0, len(ranges))
	for _, r := range ranges {
		if !r.Empty {
			in = append(in, r)
		}
	}
	slices.SortStableFunc(in, info.Compare)
	out := in[:0]
	for _, r := range in {
		if n := len(out); n > 0 && (info.Overlaps(out[n-1], r) || info.Adjacent(out[n-1], r)) {
			out[n-1] = info.Merge(out[n-1], r)
			continue
		}
		out = append(out, r)
	}
	return out
}

// MultiUnion, MultiIntersect and MultiMinus are set operations on sorted lists.
func (info *RangeInfo) MultiUnion(a, b []Range) []Range {
	return info.Compact(append(slices.Clone(a), b...))
}

func (info *RangeInfo) MultiIntersect(a, b []Range) []Range {
	var out []Range
	for i, j := 0, 0; i < len(a) && j < len(b); {
		if r := info.Intersect(a[i], b[j]); !r.Empty {
			out = append(out, r)
		}
		if info.cmpUpper(a[i], b[j]) < 0 {
			i++
		} else {
			j++
		}
	}
	return out
}

func (info *RangeInfo) MultiMinus(a, b []Range) ([]Range, error) {
	var out []Range
	for _, r := range a {
		rest := r
		for _, s := range b {
			if rest.Empty || !info.Overlaps(rest, s) {
				continue
			}
			if info.cmpLower(rest, s) < 0 {
				left, err := info.settle(Range{Lower: rest.Lower, Upper: flip(s.Lower)})
				if err != nil {
					return nil, err
				}
				if !left.Empty {
					out = append(out, left)
				}
			}
			if info.cmpUpper(rest, s) > 0 {
				right, err := info.settle(Range{Lower: flip(s.Upper), Upper: rest.Upper})
				if err != nil {
					return nil, err
				}
				rest = right
			} else {
				rest = Range{Empty: true}
			}
		}
		if !rest.Empty {
			out = append(out, rest)
		}
	}
	return out, nil
}

// MultiContains is a @> r for a sorted list; MultiOverlaps a && b.
func (info *RangeInfo) MultiContains(a []Range, r Range) bool {
	if r.Empty {
		return true
	}
	for _, x := range a {
		if info.Contains(x, r) {
			return true
		}
	}
	return false
}

func (info *RangeInfo) MultiContainsElem(a []Range, v Datum) bool {
	for _, x := range a {
		if info.ContainsElem(x, v) {
			return true
		}
	}
	return false
}

func (info *RangeInfo) MultiOverlaps(a, b []Range) bool {
	for _, x := range a {
		for _, y := range b {
			if info.Overlaps(x, y) {
				return true
			}
		}
	}
	return false
}

// MultiSpan is range_merge of a multirange: from its first to its last bound.
func (info *RangeInfo) MultiSpan(a []Range) Range {
	if len(a) == 0 {
		return Range{Empty: true}
	}
	return Range{Lower: a[0].Lower, Upper: a[len(a)-1].Upper}
}

// MultiCompare is the btree order: range by range, then by number.
func (info *RangeInfo) MultiCompare(a, b []Range) int {
	for i := 0; i < min(len(a), len(b)); i++ {
		if c := info.Compare(a[i], b[i]); c != 0 {
			return c
		}
	}
	return cmpInt(len(a), len(b))
}

func installMultirange(t *Type, info *RangeInfo) {
	t.Range, t.Kind = info, KBytes
	t.In = func(env *Env, s string, _ int32) (Datum, error) { return info.parseMulti(env, s) }
	t.Out = func(env *Env, dst []byte, d Datum) []byte {
		dst = append(dst, '{')
		for i, r := range OpenMultirange(d) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = info.append(env, dst, r)
		}
		return append(dst, '}')
	}
	t.Send = func(env *Env, dst []byte, d Datum) []byte {
		ranges := OpenMultirange(d)
		dst = appendUint32(dst, uint32(len(ranges)))
		for _, r := range ranges {
			at := len(dst)
			dst = info.send(env, append(dst, 0, 0, 0, 0), r)
			binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
		}
		return dst
	}
	t.Recv = func(env *Env, b []byte, _ int32) (Datum, error) {
		w := &wireReader{b: b}
		n := int(uint32(w.i32()))
		if n > len(w.b)/4 {
			return Null, badBinary(0, 1)
		}
		ranges := make([]Range, n)
		for i := range ranges {
			data := w.bytes(int(w.i32()))
			if w.short {
				return Null, w.done()
			}
			d, err := info.recv(env, data)
			if err != nil {
				return Null, err
			}
			ranges[i] = OpenRange(d)
		}
		if err := w.done(); err != nil {
			return Null, err
		}
		return info.MakeMultirange(ranges), nil
	}
	t.Compare = func(a, b Datum) int { return info.MultiCompare(OpenMultirange(a), OpenMultirange(b)) }
	t.Hash = func(d Datum) uint64 {
		h := uint64(1)
		for _, r := range OpenMultirange(d) {
			h = hashCombine(h, info.hash(r))
		}
		return h
	}
}

// parseMulti is multirange_in.
func (info *RangeInfo) parseMulti(env *Env, s string) (Datum, error) {
	bad := func(detail string) (Datum, error) {
		return Null, pgerror.New(pgerror.InvalidTextRepresentation, "malformed multirange literal: \"%s\"", s).WithDetail("%s", detail)
	}
	t := strings.TrimLeft(s, spaces)
	if t == "" || t[0] != '{' {
		return bad("Missing left brace.")
	}
	t = strings.TrimLeft(t[1:], spaces)
	var ranges []Range
	for first := true; ; first = false {
		if t == "" {
			return bad("Unexpected end of input.")
		}
		if first && t[0] == '}' {
			break
		}
		n := 0
		switch {
		case t[0] == '[' || t[0] == '(':
			if n = rangeTextLen(t); n < 0 {
				return bad("Unexpected end of input.")
			}
		case len(t) >= 5 && strings.EqualFold(t[:5], "empty"):
			n = 5
		default:
			return bad("Expected range start.")
		}
		d, err := info.parse(env, t[:n])
		if err != nil {
			return Null, err
		}
		ranges = append(ranges, OpenRange(d))
		t = strings.TrimLeft(t[n:], spaces)
		if t == "" {
			return bad("Unexpected end of input.")
		}
		if t[0] == '}' {
			break
		}
		if t[0] != ',' {
			return bad("Expected comma or end of multirange.")
		}
		t = strings.TrimLeft(t[1:], spaces)
	}
	if strings.Trim(t[1:], spaces) != "" {
		return bad("Junk after closing right brace.")
	}
	return info.MakeMultirange(ranges), nil
}

// rangeTextLen is the length of the range literal at the start of s, -1 when it does not end.
func rangeTextLen(s string) int {
	quoted := false
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ']' || c == ')'):
			return i + 1
		}
	}
	return -1
}
