package sqltypes

import (
	"encoding/binary"
	"strconv"
	"strings"
)

// tid and pg_lsn: identifiers of the system, both in Datum.I.
// tid: block number << 16 | offset. pg_lsn: the 64-bit position.

func parseTID(s string) (int64, error) {
	i := strings.IndexByte(s, '(')
	if i < 0 {
		return 0, badSyntax("tid", s)
	}
	t := s[i+1:]
	block, rest, ok := strings.Cut(t, ",")
	off, _, ok2 := strings.Cut(rest, ")")
	if !ok || !ok2 {
		return 0, badSyntax("tid", s)
	}
	b, err := strconv.ParseUint(strings.TrimLeft(block, spaces), 10, 32)
	if err != nil {
		return 0, badSyntax("tid", s)
	}
	o, err := strconv.ParseUint(strings.TrimLeft(off, spaces), 10, 16)
	if err != nil {
		return 0, badSyntax("tid", s)
	}
	return int64(b)<<16 | int64(o), nil
}

func tidCodec() codec {
	return codec{
		kind: KInt,
		in: func(_ *Env, s string, _ int32) (Datum, error) {
			v, err := parseTID(s)
			return Int(v), err
		},
		out: func(_ *Env, dst []byte, d Datum) []byte {
			dst = strconv.AppendInt(append(dst, '('), d.I>>16, 10)
			return append(strconv.AppendInt(append(dst, ','), d.I&0xFFFF, 10), ')')
		},
		recv: func(_ *Env, b []byte, _ int32) (Datum, error) {
			r := &wireReader{b: b}
			v := int64(uint32(r.i32()))<<16 | int64(r.u16())
			return Int(v), r.done()
		},
		send: func(_ *Env, dst []byte, d Datum) []byte {
			dst = binary.BigEndian.AppendUint32(dst, uint32(d.I>>16))
			return binary.BigEndian.AppendUint16(dst, uint16(d.I))
		},
		compare: compareI, hash: hashI,
	}
}

// ParseLSN reads "16/B374D848".
func ParseLSN(s string) (uint64, error) {
	hi, lo, ok := strings.Cut(s, "/")
	if !ok || hi == "" || lo == "" || len(hi) > 8 || len(lo) > 8 {
		return 0, badSyntax("pg_lsn", s)
	}
	var v uint64
	for _, part := range []string{hi, lo} {
		w := uint64(0)
		for i := 0; i < len(part); i++ {
			n := digitOf(part[i])
			if n > 15 {
				return 0, badSyntax("pg_lsn", s)
			}
			w = w<<4 | uint64(n)
		}
		v = v<<32 | w
	}
	return v, nil
}

// AppendLSN writes a position as PostgreSQL does.
func AppendLSN(dst []byte, v uint64) []byte {
	n := len(dst)
	dst = strconv.AppendUint(dst, v>>32, 16)
	dst = append(dst, '/')
	dst = strconv.AppendUint(dst, v&0xFFFFFFFF, 16)
	for i := n; i < len(dst); i++ {
		if dst[i] >= 'a' {
			dst[i] -= 0x20
		}
	}
	return dst
}

func lsnCodec() codec {
	c := int8Codec()
	c.in = func(_ *Env, s string, _ int32) (Datum, error) {
		v, err := ParseLSN(s)
		return Int(int64(v)), err
	}
	c.out = func(_ *Env, dst []byte, d Datum) []byte { return AppendLSN(dst, uint64(d.I)) }
	c.compare = compareU
	return c
}
