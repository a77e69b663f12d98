package sqltypes

import (
	"encoding/hex"
	"unicode/utf8"

	"ostraka/sqltypes/pgerror"
)

// ParseBytea reads the hex (\x…) and the escape form. Errors: 22023, 22P02.
func ParseBytea(s string) ([]byte, error) {
	if len(s) >= 2 && s[0] == '\\' && s[1] == 'x' {
		return DecodeHex(s[2:])
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c != '\\':
			out = append(out, c)
			i++
		case i+3 < len(s) && s[i+1] >= '0' && s[i+1] <= '3' && isOctal(s[i+2]) && isOctal(s[i+3]):
			out = append(out, (s[i+1]-'0')<<6|(s[i+2]-'0')<<3|(s[i+3]-'0'))
			i += 4
		case i+1 < len(s) && s[i+1] == '\\':
			out = append(out, '\\')
			i += 2
		default:
			return nil, pgerror.New(pgerror.InvalidTextRepresentation, "invalid input syntax for type %s", "bytea")
		}
	}
	return out, nil
}

// DecodeHex reads pairs of hex digits with spaces between pairs, as decode(…, 'hex') does.
func DecodeHex(s string) ([]byte, error) {
	out := make([]byte, 0, len(s)/2)
	for i := 0; i < len(s); {
		if c := s[i]; c == ' ' || c == '\n' || c == '\t' || c == '\r' {
			i++
			continue
		}
		hi := digitOf(s[i])
		if hi > 15 {
			return nil, badHexDigit(s[i:])
		}
		i++
		if i >= len(s) {
			return nil, pgerror.New(pgerror.InvalidParameterValue, "invalid hexadecimal data: odd number of digits")
		}
		lo := digitOf(s[i])
		if lo > 15 {
			return nil, badHexDigit(s[i:])
		}
		i++
		out = append(out, byte(hi<<4|lo))
	}
	return out, nil
}

func badHexDigit(s string) error {
	_, n := utf8.DecodeRuneInString(s)
	return pgerror.New(pgerror.InvalidParameterValue, "invalid hexadecimal digit: \"%s\"", s[:n])
}

// AppendByteaEscape writes the escape form: printable ASCII as it is, other bytes \nnn.
func AppendByteaEscape(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			dst = append(dst, '\\', '\\')
		case c < 0x20 || c > 0x7e:
			dst = append(dst, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

func byteaCodec() codec {
	return codec{
		kind: KBytes,
		in: func(_ *Env, s string, _ int32) (Datum, error) {
			b, err := ParseBytea(s)
			return Bytes(b), err
		},
		out: func(env *Env, dst []byte, d Datum) []byte {
			if env != nil && env.ByteaEscape {
				return AppendByteaEscape(dst, d.S)
			}
			dst = append(dst, '\\', 'x')
			return hex.AppendEncode(dst, []byte(d.S))
		},
		recv: func(_ *Env, b []byte, _ int32) (Datum, error) { return Bytes(b), nil },
		send: appendS, compare: compareS, hash: hashS,
	}
}
