package sqltypes

import (
	"encoding/hex"

	"ostraka/sqltypes/pgerror"
)

// macaddr and macaddr8: the payload is the 6 or 8 bytes.

// ParseMacaddr reads the seven forms PostgreSQL takes: 08:00:2b:01:02:03,
// 08-00-…, 08002b:010203, 08002b-010203, 0800.2b01.0203, 0800-2b01-0203, 08002b010203.
func ParseMacaddr(s string) (Datum, error) {
	t := trimSpace(s)
	for _, f := range [...]struct {
		group int // hex digits between separators
		sep   byte
	}{{2, ':'}, {2, '-'}, {6, ':'}, {6, '-'}, {4, '.'}, {4, '-'}, {12, 0}} {
		digits, ok := macDigits(t, f.group, f.sep)
		if !ok {
			continue
		}
		if digits == nil {
			return Null, pgerror.New(pgerror.NumericValueOutOfRange, "invalid octet value in \"macaddr\" value: \"%s\"", s)
		}
		return Bytes(digits), nil
	}
	return Null, badSyntax("macaddr", s)
}

// macDigits reads 12 hex digits in groups. With groups of two a group may have
// one digit, or more than two: then it is no octet and the result is nil.
func macDigits(s string, group int, sep byte) (b []byte, ok bool) {
	over := false
	b = make([]byte, 0, 6)
	for g := 0; g < 12/group; g++ {
		if g > 0 {
			if s == "" || s[0] != sep {
				return nil, false
			}
			s = s[1:]
		}
		n := 0
		for n < len(s) && digitOf(s[n]) < 16 {
			n++
		}
		if group == 2 {
			if n == 0 {
				return nil, false
			}
			v := 0
			for _, c := range []byte(s[:n]) {
				v = min(v<<4|digitOf(c), 1<<20)
			}
			over = over || v > 255
			b = append(b, byte(v))
		} else {
			if n != group {
				return nil, false
			}
			part, _ := hex.DecodeString(s[:n])
			b = append(b, part...)
		}
		s = s[n:]
	}
	if s != "" {
		return nil, false
	}
	if over {
		return nil, true
	}
	return b, true
}

func trimSpace(s string) string {
	for s != "" && isSpace(s[0]) {
		s = s[1:]
	}
	for s != "" && isSpace(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

// ParseMacaddr8 reads 6 or 8 bytes of two hex digits, with one kind of
// separator or none between bytes; 6 bytes get ff:fe in the middle.
func ParseMacaddr8(s string) (Datum, error) {
	t := trimSpace(s)
	var b []byte
	sep := byte(0)
	for t != "" {
		if len(t) < 2 || digitOf(t[0]) > 15 || digitOf(t[1]) > 15 || len(b) == 8 {
			return Null, badSyntax("macaddr8", s)
		}
		b = append(b, byte(digitOf(t[0])<<4|digitOf(t[1])))
		t = t[2:]
		if t != "" && (t[0] == ':' || t[0] == '-' || t[0] == '.') {
			if sep != 0 && sep != t[0] || len(t) == 1 {
				return Null, badSyntax("macaddr8", s)
			}
			sep = t[0]
			t = t[1:]
		}
	}
	switch len(b) {
	case 8:
		return Bytes(b), nil
	case 6:
		return Bytes([]byte{b[0], b[1], b[2], 0xFF, 0xFE, b[3], b[4], b[5]}), nil
	}
	return Null, badSyntax("macaddr8", s)
}

func appendMac(_ *Env, dst []byte, d Datum) []byte {
	for i := 0; i < len(d.S); i++ {
		if i > 0 {
			dst = append(dst, ':')
		}
		dst = hex.AppendEncode(dst, []byte{d.S[i]})
	}
	return dst
}

func macaddrCodec() codec {
	return codec{
		kind: KBytes,
		in:   func(_ *Env, s string, _ int32) (Datum, error) { return ParseMacaddr(s) },
		out:  appendMac, recv: fixedBytes(6), send: appendS, compare: compareS, hash: hashS,
	}
}

func macaddr8Codec() codec {
	return codec{
		kind: KBytes,
		in:   func(_ *Env, s string, _ int32) (Datum, error) { return ParseMacaddr8(s) },
		out:  appendMac,
		recv: func(_ *Env, b []byte, _ int32) (Datum, error) {
			if len(b) == 6 {
				return Bytes([]byte{b[0], b[1], b[2], 0xFF, 0xFE, b[3], b[4], b[5]}), nil
			}
			return fixedBytes(8)(nil, b, -1)
		},
		send: appendS, compare: compareS, hash: hashS,
	}
}
