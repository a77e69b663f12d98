package sqltypes

import (
	"encoding/binary"
	"math"
	"strings"

	"ostraka/sqltypes/geometry"
	"ostraka/sqltypes/pgerror"
)

// The geometric types: the payload is the binary form (geometry/bytes.go).

// pointReader reads the text form of geometric values, which has several spellings
// for each type: parentheses may be doubled, or missing.
type pointReader struct {
	typ, all string // for errors
	s        string // what is left
}

func (r *pointReader) fail() error { return badSyntax(r.typ, r.all) }

func (r *pointReader) skip() {
	for r.s != "" && isSpace(r.s[0]) {
		r.s = r.s[1:]
	}
}

// take skips c, if it is next.
func (r *pointReader) take(c byte) bool {
	if r.s == "" || r.s[0] != c {
		return false
	}
	r.s = r.s[1:]
	return true
}

// float reads a number and the blanks around it.
func (r *pointReader) float() (float64, error) {
	r.skip()
	n := floatPrefix(r.s)
	if n == 0 {
		return 0, r.fail()
	}
	v, err := ParseFloat(r.s[:n], 64, "double precision")
	if err != nil {
		if pgerror.Is(err, pgerror.InvalidTextRepresentation) {
			err = r.fail()
		}
		return 0, err
	}
	r.s = r.s[n:]
	r.skip()
	return v, nil
}

// floatPrefix is the length of the number that s begins with.
func floatPrefix(s string) int {
	i := 0
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	for _, word := range [...]string{"infinity", "inf", "nan"} {
		if len(s)-i >= len(word) && strings.EqualFold(s[i:i+len(word)], word) {
			return i + len(word)
		}
	}
	isHex := len(s)-i > 2 && s[i] == '0' && s[i+1]|0x20 == 'x'
	digit, exp := isDigit, byte('e')
	if isHex {
		i += 2
		digit, exp = func(c byte) bool { return digitOf(c) < 16 }, 'p'
	}
	digits := 0
	for seenDot := false; i < len(s); i++ {
		if s[i] == '.' && !seenDot {
			seenDot = true
		} else if digit(s[i]) {
			digits++
		} else {
			break
		}
	}
	if digits == 0 {
		return 0
	}
	return exponentEnd(s, i, exp)
}

// exponentEnd is the end of the exponent at i of s, of the letter given in lower case; i
// if there is none.
func exponentEnd(s string, i int, letter byte) int {
	if i == len(s) || s[i]|0x20 != letter {
		return i
	}
	j := i + 1
	if j < len(s) && (s[j] == '+' || s[j] == '-') {
		j++
	}
	if j == len(s) || !isDigit(s[j]) {
		return i
	}
	for j < len(s) && isDigit(s[j]) {
		j++
	}
	return j
}

// pair reads x,y or (x,y).
func (r *pointReader) pair() (p geometry.Point, err error) {
	r.skip()
	paren := r.take('(')
	if p.X, err = r.float(); err != nil {
		return p, err
	}
	if !r.take(',') {
		return p, r.fail()
	}
	if p.Y, err = r.float(); err != nil {
		return p, err
	}
	if paren {
		if !r.take(')') {
			return p, r.fail()
		}
		r.skip()
	}
	return p, nil
}

// points reads n points, perhaps in parentheses or, where an open path is allowed, brackets.
func (r *pointReader) points(n int, mayOpen bool) (ps []geometry.Point, isOpen bool, err error) {
	depth := 0
	r.skip()
	if strings.HasPrefix(r.s, "[") {
		if !mayOpen {
			return nil, false, r.fail()
		}
		isOpen = true
		depth++
		r.s = r.s[1:]
	} else if strings.HasPrefix(r.s, "(") {
		inner := strings.TrimLeft(r.s[1:], spaces)
		if strings.HasPrefix(inner, "(") || strings.LastIndexByte(r.s, '(') == 0 {
			depth++
			r.s = inner
		}
	}
	ps = make([]geometry.Point, 0, min(n, 1024))
	for range n {
		p, err := r.pair()
		if err != nil {
			return nil, false, err
		}
		ps = append(ps, p)
		r.take(',')
	}
	for ; depth > 0; depth-- {
		if !r.take(')') && !(isOpen && depth == 1 && r.take(']')) {
			return nil, false, r.fail()
		}
		r.skip()
	}
	return ps, isOpen, nil
}

// count is how many points the text has, by its commas; 0 if they do not come in pairs.
func (r *pointReader) count() int {
	n := strings.Count(r.s, ",")
	if n%2 == 0 {
		return 0
	}
	return (n + 1) / 2
}

func (r *pointReader) end() error {
	if r.s != "" {
		return r.fail()
	}
	return nil
}

func parsePoint(r *pointReader) ([]byte, error) {
	p, err := r.pair()
	if err != nil {
		return nil, err
	}
	return p.Bytes(), r.end()
}

func parseBox(r *pointReader) ([]byte, error) {
	ps, _, err := r.points(2, false)
	if err != nil {
		return nil, err
	}
	return geometry.NewBox(ps[0], ps[1]).Bytes(), r.end()
}

func parseSegment(r *pointReader) ([]byte, error) {
	ps, _, err := r.points(2, true)
	if err != nil {
		return nil, err
	}
	return geometry.Segment{P: ps[0], Q: ps[1]}.Bytes(), r.end()
}

func parseLine(r *pointReader) ([]byte, error) {
	r.skip()
	if !r.take('{') {
		ps, _, err := r.points(2, true)
		if err == nil {
			err = r.end()
		}
		if err != nil {
			return nil, err
		}
		if ps[0].Same(ps[1]) {
			return nil, pgerror.New(pgerror.InvalidTextRepresentation, "invalid line specification: must be two distinct points")
		}
		var l geometry.Line
		if err := geometry.Guard(func() { l = geometry.NewLine(ps[0], ps[1]) }); err != nil {
			return nil, err
		}
		return l.Bytes(), nil
	}
	var v [3]float64
	for i := range v {
		var err error
		if v[i], err = r.float(); err != nil {
			return nil, err
		}
		if !r.take(",,}"[i]) {
			return nil, r.fail()
		}
	}
	r.skip()
	if r.s != "" {
		return nil, r.fail()
	}
	l := geometry.Line{A: v[0], B: v[1], C: v[2]}
	if l.Horizontal() && l.Vertical() {
		return nil, pgerror.New(pgerror.InvalidTextRepresentation, "invalid line specification: A and B cannot both be zero")
	}
	return l.Bytes(), nil
}

func parsePath(r *pointReader) ([]byte, error) {
	n := r.count()
	if n == 0 {
		return nil, r.fail()
	}
	r.skip()
	paren := strings.LastIndexByte(r.s, '(') == 0
	if paren {
		r.s = r.s[1:]
	}
	ps, isOpen, err := r.points(n, true)
	if err != nil {
		return nil, err
	}
	if paren {
		if !r.take(')') {
			return nil, r.fail()
		}
		r.skip()
	}
	return geometry.Path{Closed: !isOpen, Points: ps}.Bytes(), r.end()
}

func parsePolygon(r *pointReader) ([]byte, error) {
	n := r.count()
	if n == 0 {
		return nil, r.fail()
	}
	ps, _, err := r.points(n, false)
	if err != nil {
		return nil, err
	}
	return geometry.Polygon(ps).Bytes(), r.end()
}

func parseCircle(r *pointReader) ([]byte, error) {
	depth := 0
	r.skip()
	if r.take('<') {
		depth++
	} else if strings.HasPrefix(r.s, "(") {
		if inner := strings.TrimLeft(r.s[1:], spaces); strings.HasPrefix(inner, "(") {
			depth++
			r.s = inner
		}
	}
	center, err := r.pair()
	if err != nil {
		return nil, err
	}
	r.take(',')
	radius, err := r.float()
	if err != nil {
		return nil, err
	}
	if radius < 0 {
		return nil, r.fail()
	}
	for ; depth > 0; depth-- {
		if !r.take(')') && !(depth == 1 && r.take('>')) {
			return nil, r.fail()
		}
		r.skip()
	}
	return geometry.Circle{Center: center, Radius: radius}.Bytes(), r.end()
}

func appendCoordinate(env *Env, dst []byte, v float64) []byte {
	extra := 1
	if env != nil {
		extra = env.ExtraFloatDigits
	}
	return AppendFloat(dst, v, 64, extra)
}

// appendPoints writes the points of a payload, "(x,y)" each, between two marks.
func appendPoints(env *Env, dst []byte, payload, open, end string) []byte {
	dst = append(dst, open...)
	for i := 0; i+16 <= len(payload); i += 16 {
		if i > 0 {
			dst = append(dst, ',')
		}
		p := geometry.ReadPoint(payload[i:])
		dst = appendCoordinate(env, append(dst, '('), p.X)
		dst = appendCoordinate(env, append(dst, ','), p.Y)
		dst = append(dst, ')')
	}
	return append(dst, end...)
}

// geometricCodec makes the codec of a type: n is the number of floats of its binary
// form, -1 for paths and -2 for polygons.
func geometricCodec(typ string, n int, parse func(r *pointReader) ([]byte, error), out func(env *Env, dst []byte, payload string) []byte) codec {
	return codec{
		kind: KBytes,
		in: func(_ *Env, s string, _ int32) (Datum, error) {
			b, err := parse(&pointReader{typ: typ, all: s, s: s})
			if err != nil {
				return Null, err
			}
			return Bytes(b), nil
		},
		out: func(env *Env, dst []byte, d Datum) []byte { return out(env, dst, d.S) },
		recv: func(_ *Env, b []byte, _ int32) (Datum, error) {
			if n < 0 {
				return recvPoints(typ, b, 2+n)
			}
			if len(b) != 8*n {
				return Null, badBinary(len(b), 8*n)
			}
			d := Bytes(b)
			switch typ {
			case "box":
				box := geometry.ReadBox(d.S)
				return Bytes(geometry.NewBox(box.High, box.Low).Bytes()), nil
			case "line":
				if l := geometry.ReadLine(d.S); l.Horizontal() && l.Vertical() {
					return Null, pgerror.New(pgerror.InvalidBinaryRepresentation, "invalid line specification: A and B cannot both be zero")
				}
			case "circle":
				if c := geometry.ReadCircle(d.S); c.Radius < 0 {
					return Null, pgerror.New(pgerror.InvalidBinaryRepresentation, "invalid radius in external \"circle\" value")
				}
			}
			return d, nil
		},
		send: func(_ *Env, dst []byte, d Datum) []byte { return append(dst, d.S...) },
	}
}

// recvPoints checks the binary form of a path or polygon, whose number of points stands behind skip bytes.
func recvPoints(typ string, b []byte, skip int) (Datum, error) {
	if len(b) < skip+4 {
		return Null, badBinary(len(b), skip+4)
	}
	n := int32(binary.BigEndian.Uint32(b[skip:]))
	if n <= 0 || n > geometry.MaxPoints {
		return Null, pgerror.New(pgerror.InvalidBinaryRepresentation, "invalid number of points in external \"%s\" value", typ)
	}
	if want := skip + 4 + 16*int(n); len(b) != want {
		return Null, badBinary(len(b), want)
	}
	d := Bytes(b)
	if skip > 0 && b[0] > 1 {
		d.S = "\x01" + d.S[1:]
	}
	return d, nil
}

func pointCodec() codec {
	return geometricCodec("point", 2, parsePoint, func(env *Env, dst []byte, s string) []byte { return appendPoints(env, dst, s, "", "") })
}

func boxCodec() codec {
	return geometricCodec("box", 4, parseBox, func(env *Env, dst []byte, s string) []byte { return appendPoints(env, dst, s, "", "") })
}

func lsegCodec() codec {
	return geometricCodec("lseg", 4, parseSegment, func(env *Env, dst []byte, s string) []byte { return appendPoints(env, dst, s, "[", "]") })
}

func pathCodec() codec {
	return geometricCodec("path", -1, parsePath, func(env *Env, dst []byte, s string) []byte {
		if s[0] == 0 {
			return appendPoints(env, dst, s[5:], "[", "]")
		}
		return appendPoints(env, dst, s[5:], "(", ")")
	})
}

func polygonCodec() codec {
	return geometricCodec("polygon", -2, parsePolygon, func(env *Env, dst []byte, s string) []byte { return appendPoints(env, dst, s[4:], "(", ")") })
}

func lineCodec() codec {
	return geometricCodec("line", 3, parseLine, func(env *Env, dst []byte, s string) []byte {
		l := geometry.ReadLine(s)
		dst = appendCoordinate(env, append(dst, '{'), l.A)
		dst = appendCoordinate(env, append(dst, ','), l.B)
		dst = appendCoordinate(env, append(dst, ','), l.C)
		return append(dst, '}')
	})
}

func circleCodec() codec {
	return geometricCodec("circle", 3, parseCircle, func(env *Env, dst []byte, s string) []byte {
		dst = appendPoints(env, append(dst, '<'), s[:16], "", "")
		dst = appendCoordinate(env, append(dst, ','), math.Float64frombits(be64(s[16:])))
		return append(dst, '>')
	})
}
