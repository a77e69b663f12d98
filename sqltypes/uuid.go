package sqltypes

import "encoding/hex"

// ParseUUID reads 32 hex digits, hyphens allowed after every four, braces around.
func ParseUUID(s string) (Datum, error) {
	t, brace := s, false
	if t != "" && t[0] == '{' {
		brace, t = true, t[1:]
	}
	var out [16]byte
	for i := range out {
		if len(t) < 2 {
			return Null, badSyntax("uuid", s)
		}
		hi, lo := digitOf(t[0]), digitOf(t[1])
		if hi > 15 || lo > 15 {
			return Null, badSyntax("uuid", s)
		}
		out[i] = byte(hi<<4 | lo)
		t = t[2:]
		if i%2 == 1 && i < 15 && t != "" && t[0] == '-' {
			t = t[1:]
		}
	}
	if brace {
		if t != "}" {
			return Null, badSyntax("uuid", s)
		}
		t = ""
	}
	if t != "" {
		return Null, badSyntax("uuid", s)
	}
	return Bytes(out[:]), nil
}

// AppendUUID writes the usual form of 16 raw bytes.
func AppendUUID(dst []byte, s string) []byte {
	if len(s) != 16 {
		return dst
	}
	b := []byte(s)
	dst = hex.AppendEncode(dst, b[:4])
	for i := 4; i < 10; i += 2 {
		dst = hex.AppendEncode(append(dst, '-'), b[i:i+2])
	}
	return hex.AppendEncode(append(dst, '-'), b[10:])
}

func uuidCodec() codec {
	return codec{
		kind: KBytes,
		in:   func(_ *Env, s string, _ int32) (Datum, error) { return ParseUUID(s) },
		out:  func(_ *Env, dst []byte, d Datum) []byte { return AppendUUID(dst, d.S) },
		recv: fixedBytes(16), send: appendS, compare: compareS, hash: hashS,
	}
}

// fixedBytes receives a value of exactly n bytes.
func fixedBytes(n int) func(*Env, []byte, int32) (Datum, error) {
	return func(_ *Env, b []byte, _ int32) (Datum, error) {
		if len(b) != n {
			return Null, badBinary(len(b), n)
		}
		return Bytes(b), nil
	}
}
