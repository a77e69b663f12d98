package sqltypes

import (
	"strings"

	"ostraka/sqltypes/pgerror"
)

// spaces are what C's isspace accepts.
const spaces = " \t\n\v\f\r"

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isAlpha(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// badSyntax is the 22P02 of every input function.
func badSyntax(typ, s string) error {
	return pgerror.New(pgerror.InvalidTextRepresentation, "invalid input syntax for type %s: \"%s\"", typ, s)
}

// ParseBool reads what PostgreSQL takes for a boolean: unique prefixes of true,
// false, yes and no, "on", "of", "off", "1", "0", in any case, spaces around.
func ParseBool(s string) (v, ok bool) {
	s = strings.ToLower(strings.Trim(s, spaces))
	if s == "" {
		return false, false
	}
	switch s[0] {
	case 't':
		return true, strings.HasPrefix("true", s)
	case 'f':
		return false, strings.HasPrefix("false", s)
	case 'y':
		return true, strings.HasPrefix("yes", s)
	case 'n':
		return false, strings.HasPrefix("no", s)
	case 'o':
		if s == "on" {
			return true, true
		}
		return false, len(s) >= 2 && strings.HasPrefix("off", s)
	case '1':
		return true, len(s) == 1
	case '0':
		return false, len(s) == 1
	}
	return false, false
}

func boolCodec() codec {
	return codec{
		kind: KInt,
		in: func(_ *Env, s string, _ int32) (Datum, error) {
			v, ok := ParseBool(s)
			if !ok {
				return Null, badSyntax("boolean", s)
			}
			return Bool(v), nil
		},
		out: func(_ *Env, dst []byte, d Datum) []byte {
			if d.I != 0 {
				return append(dst, 't')
			}
			return append(dst, 'f')
		},
		recv: func(_ *Env, b []byte, _ int32) (Datum, error) {
			if len(b) != 1 {
				return Null, badBinary(len(b), 1)
			}
			return Bool(b[0] != 0), nil
		},
		send: func(_ *Env, dst []byte, d Datum) []byte {
			if d.I != 0 {
				return append(dst, 1)
			}
			return append(dst, 0)
		},
		compare: compareI, hash: hashI,
	}
}

// badBinary is the error of a binary value of the wrong length.
func badBinary(got, want int) error {
	if got < want {
		return pgerror.New(pgerror.ProtocolViolation, "insufficient data left in message")
	}
	return pgerror.New(pgerror.InvalidBinaryRepresentation, "incorrect binary data format")
}
