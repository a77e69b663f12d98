package sqltypes

import (
	"strings"
	"unicode/utf8"

	"ostraka/sqltypes/pgerror"
)

// MaxNameLen is the length in bytes an identifier is cut to (NAMEDATALEN - 1).
const MaxNameLen = 63

// ValidText checks that bytes from outside are UTF-8 without NUL (22021).
func ValidText(s string) error {
	for i := 0; i < len(s); {
		c := s[i]
		if c == 0 {
			return pgerror.New(pgerror.CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\": 0x00")
		}
		if c < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			return badUTF8(s[i:])
		}
		i += n
	}
	return nil
}

// badUTF8 names the bytes that were expected to make one character.
func badUTF8(s string) error {
	n := 1
	switch c := s[0]; {
	case c&0xE0 == 0xC0:
		n = 2
	case c&0xF0 == 0xE0:
		n = 3
	case c&0xF8 == 0xF0:
		n = 4
	}
	var b strings.Builder
	for i := 0; i < min(n, len(s)); i++ {
		if i > 0 {
			b.WriteByte(' ')
		}
		const hex = "0123456789abcdef"
		b.WriteString("0x" + string(hex[s[i]>>4]) + string(hex[s[i]&15]))
	}
	return pgerror.New(pgerror.CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\": %s", b.String())
}

func appendS(_ *Env, dst []byte, d Datum) []byte { return append(dst, d.S...) }

func recvText(_ *Env, b []byte, _ int32) (Datum, error) {
	s := string(b)
	return Text(s), ValidText(s)
}

func textCodec() codec {
	return codec{
		kind: KBytes,
		in:   func(_ *Env, s string, _ int32) (Datum, error) { return Text(s), nil },
		out:  appendS, recv: recvText, send: appendS, compare: compareS, hash: hashS,
	}
}

func cstringCodec() codec { return textCodec() }

func nameCodec() codec {
	c := textCodec()
	c.in = func(_ *Env, s string, _ int32) (Datum, error) { return Text(TruncateName(s)), nil }
	c.recv = func(_ *Env, b []byte, _ int32) (Datum, error) {
		s := string(b)
		if len(s) > MaxNameLen {
			return Null, pgerror.New(pgerror.NameTooLong, "identifier too long").
				WithDetail("Identifier must be less than %d characters.", MaxNameLen+1)
		}
		return Text(s), ValidText(s)
	}
	return c
}

// TruncateName cuts s to MaxNameLen bytes at a character boundary.
func TruncateName(s string) string {
	if len(s) <= MaxNameLen {
		return s
	}
	n := MaxNameLen
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// cutChars returns the first n characters of s and whether s had more.
func cutChars(s string, n int) (string, bool) {
	if len(s) <= n {
		return s, false
	}
	i := 0
	for ; n > 0 && i < len(s); n-- {
		_, w := utf8.DecodeRuneInString(s[i:])
		i += w
	}
	return s[:i], i < len(s)
}

// VarcharLength enforces varchar(n) (typmod = n + 4): excess spaces are cut,
// other excess is cut when explicit (a cast) and 22001 when not.
func VarcharLength(s string, typmod int32, explicit bool) (string, error) {
	if typmod < 4 {
		return s, nil
	}
	n := int(typmod - 4)
	cut, more := cutChars(s, n)
	if !more {
		return s, nil
	}
	if !explicit && strings.Trim(s[len(cut):], " ") != "" {
		return "", tooLong("character varying", n)
	}
	return cut, nil
}

// BpcharLength enforces character(n): cuts as VarcharLength does and pads with spaces.
func BpcharLength(s string, typmod int32, explicit bool) (string, error) {
	if typmod < 4 {
		return s, nil
	}
	n := int(typmod - 4)
	cut, more := cutChars(s, n)
	if !more {
		if have := utf8.RuneCountInString(s); have < n {
			return s + strings.Repeat(" ", n-have), nil
		}
		return s, nil
	}
	if !explicit && strings.Trim(s[len(cut):], " ") != "" {
		return "", tooLong("character", n)
	}
	return cut, nil
}

func tooLong(typ string, n int) error {
	return pgerror.New(pgerror.StringDataRightTruncation, "value too long for type %s(%d)", typ, n)
}

func varcharCodec() codec {
	c := textCodec()
	c.in = func(_ *Env, s string, typmod int32) (Datum, error) {
		s, err := VarcharLength(s, typmod, false)
		return Text(s), err
	}
	c.recv = func(_ *Env, b []byte, typmod int32) (Datum, error) {
		s := string(b)
		if err := ValidText(s); err != nil {
			return Null, err
		}
		s, err := VarcharLength(s, typmod, false)
		return Text(s), err
	}
	return c
}

// bpcharValue drops the trailing spaces that do not count in comparisons.
func bpcharValue(s string) string { return strings.TrimRight(s, " ") }

func bpcharCodec() codec {
	c := textCodec()
	c.in = func(_ *Env, s string, typmod int32) (Datum, error) {
		s, err := BpcharLength(s, typmod, false)
		return Text(s), err
	}
	c.recv = func(_ *Env, b []byte, typmod int32) (Datum, error) {
		s := string(b)
		if err := ValidText(s); err != nil {
			return Null, err
		}
		s, err := BpcharLength(s, typmod, false)
		return Text(s), err
	}
	c.compare = func(a, b Datum) int { return strings.Compare(bpcharValue(a.S), bpcharValue(b.S)) }
	c.hash = func(d Datum) uint64 { return HashString(bpcharValue(d.S)) }
	return c
}

// charCodec is "char": one byte, I = 0…255.
func charCodec() codec {
	return codec{
		kind: KInt,
		in:   func(_ *Env, s string, _ int32) (Datum, error) { return Int(parseChar(s)), nil },
		out: func(_ *Env, dst []byte, d Datum) []byte {
			switch c := byte(d.I); {
			case c == 0:
				return dst
			case c < 0x80:
				return append(dst, c)
			default:
				return append(dst, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
			}
		},
		recv: func(_ *Env, b []byte, _ int32) (Datum, error) {
			if len(b) != 1 {
				return Null, badBinary(len(b), 1)
			}
			return Int(int64(b[0])), nil
		},
		send:    func(_ *Env, dst []byte, d Datum) []byte { return append(dst, byte(d.I)) },
		compare: compareI, hash: hashI,
	}
}

// parseChar takes the first byte, or an octal escape \nnn when that is the whole text.
func parseChar(s string) int64 {
	if len(s) == 4 && s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && isOctal(s[2]) && isOctal(s[3]) {
		return int64(s[1]-'0')<<6 | int64(s[2]-'0')<<3 | int64(s[3]-'0')
	}
	if s == "" {
		return 0
	}
	return int64(s[0])
}

func isOctal(c byte) bool { return c >= '0' && c <= '7' }
