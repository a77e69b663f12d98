package builtin

import (
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	encodinghex "encoding/hex"
	"strings"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func unknownEncoding(name string) *pgerror.Error {
	return pgerror.New(pgerror.InvalidParameterValue, "unrecognized encoding: \"%s\"", name)
}

// encodeBytes is encode(bytea, format).
func encodeBytes(_ *Call, args []Datum) (Datum, error) {
	b := args[0].S
	switch strings.ToLower(args[1].S) {
	case "hex":
		return text(encodinghex.EncodeToString([]byte(b)))
	case "base64":
		return text(base64Lines(b))
	case "escape":
		return text(escapeBytes(b))
	}
	return fail(unknownEncoding(args[1].S))
}

// base64Lines encodes with a line end after every 76 characters, as MIME does.
func base64Lines(b string) string {
	s := base64.StdEncoding.EncodeToString([]byte(b))
	if len(s) < 76 {
		return s
	}
	var out strings.Builder
	for len(s) >= 76 {
		out.WriteString(s[:76])
		out.WriteByte('\n')
		s = s[76:]
	}
	out.WriteString(s)
	return out.String()
}

// escapeBytes writes zero and high-bit bytes as \nnn and doubles backslashes.
func escapeBytes(b string) string {
	var out strings.Builder
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == 0 || c >= 0x80:
			out.WriteByte('\\')
			out.WriteByte('0' + c>>6)
			out.WriteByte('0' + c>>3&7)
			out.WriteByte('0' + c&7)
		case c == '\\':
			out.WriteString(`\\`)
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

// decodeText is decode(text, format).
func decodeText(_ *Call, args []Datum) (Datum, error) {
	s := args[0].S
	switch strings.ToLower(args[1].S) {
	case "hex":
		b, err := sqltypes.DecodeHex(s)
		return sqltypes.Bytes(b), err
	case "base64":
		return decodeBase64(s)
	case "escape":
		return decodeEscape(s)
	}
	return fail(unknownEncoding(args[1].S))
}

func decodeBase64(s string) (Datum, error) {
	bad := func() *pgerror.Error {
		return pgerror.New(pgerror.InvalidParameterValue, "invalid base64 end sequence").
			WithHint("Input data is missing padding, is truncated, or is otherwise corrupted.")
	}
	out := make([]byte, 0, len(s)*3/4)
	var buf uint32
	pos, end := 0, 0
	for i, r := range s {
		var v uint32
		switch {
		case r == ' ' || r == '\t' || r == '\n' || r == '\r':
			continue
		case r == '=':
			if end == 0 {
				switch pos {
				case 2:
					end = 1
				case 3:
					end = 2
				default:
					return fail(pgerror.New(pgerror.InvalidParameterValue, "unexpected \"=\" while decoding base64 sequence"))
				}
			}
		case r >= 'A' && r <= 'Z':
			v = uint32(r - 'A')
		case r >= 'a' && r <= 'z':
			v = uint32(r-'a') + 26
		case r >= '0' && r <= '9':
			v = uint32(r-'0') + 52
		case r == '+':
			v = 62
		case r == '/':
			v = 63
		default:
			return fail(pgerror.New(pgerror.InvalidParameterValue, "invalid symbol \"%c\" found while decoding base64 sequence", []rune(s[i:])[0]))
		}
		buf = buf<<6 + v
		if pos++; pos == 4 {
			out = append(out, byte(buf>>16))
			if end == 0 || end > 1 {
				out = append(out, byte(buf>>8))
			}
			if end == 0 || end > 2 {
				out = append(out, byte(buf))
			}
			buf, pos = 0, 0
		}
	}
	if pos != 0 {
		return fail(bad())
	}
	return sqltypes.Bytes(out), nil
}

func decodeEscape(s string) (Datum, error) {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out = append(out, s[i])
			continue
		}
		switch {
		case i+3 < len(s) && s[i+1] >= '0' && s[i+1] <= '3' && octal(s[i+2]) && octal(s[i+3]):
			out = append(out, (s[i+1]-'0')<<6|(s[i+2]-'0')<<3|(s[i+3]-'0'))
			i += 3
		case i+1 < len(s) && s[i+1] == '\\':
			out = append(out, '\\')
			i++
		default:
			return fail(pgerror.New(pgerror.InvalidTextRepresentation, "invalid input syntax for type %s", "bytea"))
		}
	}
	return sqltypes.Bytes(out), nil
}

func octal(c byte) bool { return c >= '0' && c <= '7' }

func init() {
	md5Hex := func(_ *Call, a []Datum) (Datum, error) {
		sum := md5.Sum([]byte(a[0].S))
		return text(encodinghex.EncodeToString(sum[:]))
	}
	scalarTable{
		"binary_encode": encodeBytes, "binary_decode": decodeText,
		"md5_text": md5Hex, "md5_bytea": md5Hex,
		"sha224_bytea": func(_ *Call, a []Datum) (Datum, error) {
			sum := sha256.Sum224([]byte(a[0].S))
			return sqltypes.Bytes(sum[:]), nil
		},
		"sha256_bytea": func(_ *Call, a []Datum) (Datum, error) {
			sum := sha256.Sum256([]byte(a[0].S))
			return sqltypes.Bytes(sum[:]), nil
		},
		"sha384_bytea": func(_ *Call, a []Datum) (Datum, error) {
			sum := sha512.Sum384([]byte(a[0].S))
			return sqltypes.Bytes(sum[:]), nil
		},
		"sha512_bytea": func(_ *Call, a []Datum) (Datum, error) {
			sum := sha512.Sum512([]byte(a[0].S))
			return sqltypes.Bytes(sum[:]), nil
		},
	}.register()
}
