package geometry

import (
	"encoding/binary"
	"math"
)

// The payload of a geometric value is PostgreSQL's binary form: big-endian float64s;
// a path begins with a byte (1: closed), a path and a polygon with the number of points (int32).

func at(s string, i int) float64 {
	return math.Float64frombits(be64(s[8*i:]))
}

func be64(s string) uint64 {
	_ = s[7]
	return uint64(s[0])<<56 | uint64(s[1])<<48 | uint64(s[2])<<40 | uint64(s[3])<<32 | uint64(s[4])<<24 | uint64(s[5])<<16 | uint64(s[6])<<8 | uint64(s[7])
}

func pack(dst []byte, vals ...float64) []byte {
	for _, v := range vals {
		dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(v))
	}
	return dst
}

// The Read functions take payloads that this package or a codec made.

func ReadPoint(s string) Point     { return Point{at(s, 0), at(s, 1)} }
func ReadSegment(s string) Segment { return Segment{ReadPoint(s), ReadPoint(s[16:])} }
func ReadBox(s string) Box         { return Box{ReadPoint(s), ReadPoint(s[16:])} }
func ReadLine(s string) Line       { return Line{at(s, 0), at(s, 1), at(s, 2)} }
func ReadCircle(s string) Circle   { return Circle{ReadPoint(s), at(s, 2)} }
func ReadPath(s string) Path       { return Path{s[0] != 0, readPoints(s[5:])} }
func ReadPolygon(s string) Polygon { return readPoints(s[4:]) }

func readPoints(s string) []Point {
	ps := make([]Point, len(s)/16)
	for i := range ps {
		ps[i] = ReadPoint(s[16*i:])
	}
	return ps
}

func (p Point) Bytes() []byte   { return pack(nil, p.X, p.Y) }
func (s Segment) Bytes() []byte { return pack(nil, s.P.X, s.P.Y, s.Q.X, s.Q.Y) }
func (b Box) Bytes() []byte     { return pack(nil, b.High.X, b.High.Y, b.Low.X, b.Low.Y) }
func (l Line) Bytes() []byte    { return pack(nil, l.A, l.B, l.C) }
func (c Circle) Bytes() []byte  { return pack(nil, c.Center.X, c.Center.Y, c.Radius) }
func (p Path) Bytes() []byte {
	out := make([]byte, 0, 5+16*len(p.Points))
	if p.Closed {
		out = append(out, 1)
	} else {
		out = append(out, 0)
	}
	return packPoints(out, p.Points)
}
func (p Polygon) Bytes() []byte { return packPoints(make([]byte, 0, 4+16*len(p)), p) }

func packPoints(dst []byte, ps []Point) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(ps)))
	for _, p := range ps {
		dst = pack(dst, p.X, p.Y)
	}
	return dst
}
