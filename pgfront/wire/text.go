package wire

import (
	"fmt"
	"strings"
	"unicode/utf8"
	"unsafe"

	"ostraka/sqltypes/pgerror"
)

// Encoding is a client encoding.
type Encoding uint8

const (
	UTF8 Encoding = iota
	SQLASCII
	Latin1
)

// EncodingByName maps client_encoding's canonical values.
func EncodingByName(name string) Encoding {
	switch name {
	case "SQL_ASCII":
		return SQLASCII
	case "LATIN1":
		return Latin1
	}
	return UTF8
}

// Decode makes a string of the server's encoding from bytes the client sent.
// Malformed UTF-8 and zero bytes are 22021.
func (e Encoding) Decode(b []byte) (string, error) {
	if e == Latin1 {
		return decodeLatin1(b), nil
	}
	if err := CheckUTF8(b); err != nil {
		return "", err
	}
	return string(b), nil
}

// DecodeInPlace is Decode without a copy where none is needed: the result may alias b.
func (e Encoding) DecodeInPlace(b []byte) (string, error) {
	if e == Latin1 {
		return decodeLatin1(b), nil
	}
	if err := CheckUTF8(b); err != nil {
		return "", err
	}
	return unsafe.String(unsafe.SliceData(b), len(b)), nil
}

func decodeLatin1(b []byte) string {
	var sb strings.Builder
	sb.Grow(len(b))
	for _, c := range b {
		sb.WriteRune(rune(c))
	}
	return sb.String()
}

// CheckUTF8 returns 22021 for the first invalid sequence.
func CheckUTF8(b []byte) error {
	if utf8.Valid(b) {
		for i := 0; i < len(b); i++ {
			if b[i] == 0 {
				return pgerror.New(pgerror.CharacterNotInRepertoire, `invalid byte sequence for encoding "UTF8": 0x00`)
			}
		}
		return nil
	}
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return pgerror.New(pgerror.CharacterNotInRepertoire, `invalid byte sequence for encoding "UTF8": %s`, hexBytes(b[i:min(len(b), i+sequence(b[i]))]))
		}
		i += n
	}
	return nil
}

// sequence is the length that a first byte announces.
func sequence(c byte) int {
	switch {
	case c >= 0xf0 && c < 0xf8:
		return 4
	case c >= 0xe0 && c < 0xf0:
		return 3
	case c >= 0xc0 && c < 0xe0:
		return 2
	}
	return 1
}

func hexBytes(b []byte) string {
	parts := make([]string, len(b))
	for i, c := range b {
		parts[i] = fmt.Sprintf("0x%02x", c)
	}
	return strings.Join(parts, " ")
}

// EncodeFrom converts dst[start:], UTF-8 text, to the client's encoding; 22P05 for what it lacks.
func (e Encoding) EncodeFrom(dst []byte, start int) ([]byte, error) {
	if e != Latin1 {
		return dst, nil
	}
	out := start
	for i := start; i < len(dst); {
		c := dst[i]
		if c < utf8.RuneSelf {
			dst[out] = c
			out++
			i++
			continue
		}
		r, n := utf8.DecodeRune(dst[i:])
		if r > 0xff {
			return dst[:start], pgerror.New(pgerror.UntranslatableCharacter,
				`character with byte sequence %s in encoding "UTF8" has no equivalent in encoding "LATIN1"`, hexBytes(dst[i:i+n]))
		}
		dst[out] = byte(r)
		out++
		i += n
	}
	return dst[:out], nil
}
