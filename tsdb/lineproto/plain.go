package lineproto

import (
	"bytes"
	"math"
)

// Plain reads lines as programs write them: nothing escaped, one space between the
// parts, no comments. It leaves the series' text in one piece, for callers that have
// met it before, and takes nothing that Parser would refuse — except in that text,
// which it does not look into. Use: Series, then Field until it is the last one,
// then Time; at the first ok = false read the input with a Parser instead.
type Plain struct {
	in   []byte
	at   int
	unit int64
}

// NewPlain reads in, whose times count units (nanoseconds each).
func NewPlain(in []byte, unit int64) Plain { return Plain{in: in, unit: unit} }

// Series reads up to the fields: the measurement and the tags. At the end of the
// input it returns nil and true.
func (r *Plain) Series() (text []byte, ok bool) {
	for r.at < len(r.in) && r.in[r.at] == '\n' {
		r.at++
	}
	rest := r.in[r.at:]
	if len(rest) == 0 {
		return nil, true
	}
	n := bytes.IndexByte(rest, ' ')
	if n <= 0 || rest[0] == '#' {
		return nil, false
	}
	r.at += n + 1
	return rest[:n], true
}

// Field reads one field.
func (r *Plain) Field(f *Field) (last, ok bool) {
	rest := r.in[r.at:]
	n := 0
	for n < len(rest) && rest[n] != '=' {
		if c := rest[n]; c <= ' ' || c == ',' || c == '\\' {
			return false, false
		}
		n++
	}
	if n == 0 || n+1 >= len(rest) {
		return false, false
	}
	f.Key = rest[:n]
	rest = rest[n+1:]
	r.at += n + 1
	if rest[0] == '"' {
		return r.text(f, rest[1:])
	}
	n = 0
	for n < len(rest) && rest[n] != ' ' && rest[n] != ',' && rest[n] != '\n' && rest[n] != '\r' {
		n++
	}
	if !number(f, rest[:n]) && value(f, rest[:n]) != "" {
		return false, false
	}
	r.at += n
	return r.next()
}

// next reads what separates a field from what follows.
func (r *Plain) next() (last, ok bool) {
	if r.at == len(r.in) {
		return true, true
	}
	switch r.in[r.at] {
	case ',':
		r.at++
		return false, true
	case ' ':
		r.at++
		return true, true
	case '\n', '\r':
		return true, true
	}
	return false, false
}

func (r *Plain) text(f *Field, rest []byte) (last, ok bool) {
	n := bytes.IndexByte(rest, '"')
	if n < 0 || bytes.IndexByte(rest[:n], '\\') >= 0 {
		return false, false
	}
	f.Kind, f.S = String, rest[:n]
	r.at += n + 2
	return r.next()
}

// Time reads the rest of the line: the time, if it has one.
func (r *Plain) Time() (ns int64, timed, ok bool) {
	rest := r.in[r.at:]
	neg := len(rest) > 0 && rest[0] == '-'
	n := 0
	if neg {
		n = 1
	}
	from, v := n, int64(0)
	for n < len(rest) && rest[n]-'0' <= 9 {
		v = v*10 + int64(rest[n]-'0')
		n++
	}
	digits := n - from
	if digits == 0 && neg || digits > 18 && (digits > 19 || v < 0 || rest[from] == '0') { // 19 digits: one overflow shows as a sign
		return 0, false, false
	}
	if neg {
		v = -v
	}
	switch {
	case n == len(rest):
	case rest[n] == '\n':
		n++
	case rest[n] == '\r' && n+1 < len(rest) && rest[n+1] == '\n':
		n += 2
	default:
		return 0, false, false
	}
	r.at += n
	if digits == 0 {
		return 0, false, true
	}
	if r.unit != 1 && (v > math.MaxInt64/r.unit || v < math.MinInt64/r.unit) {
		return 0, false, false
	}
	return v * r.unit, true, true
}

const maxExactPower = 22 // 10^22 is the largest power that a float64 has exactly

var powers = func() (p [maxExactPower + 1]float64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1] * 10
	}
	return p
}()

// number reads a decimal number of few digits, without an exponent: an integer of up
// to 53 bits divided by a power of ten that is exact gives the nearest float
// (Clinger, "How to read floating point numbers accurately", 1990). False: it is
// something else.
func number(f *Field, w []byte) bool {
	i := 0
	neg := len(w) > 0 && w[0] == '-'
	if neg {
		i = 1
	}
	v, digits, point := uint64(0), 0, -1
	for ; i < len(w); i++ {
		c := w[i]
		if c-'0' <= 9 {
			v = v*10 + uint64(c-'0')
			digits++
			continue
		}
		if c != '.' || point >= 0 {
			break
		}
		point = digits
	}
	if digits == 0 || digits > 18 {
		return false
	}
	if i < len(w) { // what follows can only be the mark of an integer
		if i != len(w)-1 || w[i] != 'i' || point >= 0 {
			return false
		}
		f.Kind, f.I = Int, int64(v)
		if neg {
			f.I = -f.I
		}
		return true
	}
	if v >= 1<<53 {
		return false
	}
	f.Kind, f.F = Float, float64(v)
	if point >= 0 && digits > point {
		if digits-point > maxExactPower {
			return false
		}
		f.F /= powers[digits-point]
	}
	if neg {
		f.F = -f.F
	}
	return true
}
