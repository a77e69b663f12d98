package builtin

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// charset is one of PostgreSQL's encodings; its number is its place in charsets.
type charset struct {
	name string
	max  int               // bytes of a character
	code encoding.Encoding // nil: conversion is not supported
}

var charsets = []charset{
	{"SQL_ASCII", 1, nil}, {"EUC_JP", 3, nil}, {"EUC_CN", 3, nil}, {"EUC_KR", 3, nil}, {"EUC_TW", 4, nil}, {"EUC_JIS_2004", 3, nil},
	{"UTF8", 4, encoding.Nop}, {"MULE_INTERNAL", 4, nil},
	{"LATIN1", 1, charmap.ISO8859_1}, {"LATIN2", 1, charmap.ISO8859_2}, {"LATIN3", 1, charmap.ISO8859_3}, {"LATIN4", 1, charmap.ISO8859_4},
	{"LATIN5", 1, charmap.ISO8859_9}, {"LATIN6", 1, charmap.ISO8859_10}, {"LATIN7", 1, charmap.ISO8859_13}, {"LATIN8", 1, charmap.ISO8859_14},
	{"LATIN9", 1, charmap.ISO8859_15}, {"LATIN10", 1, charmap.ISO8859_16}, {"WIN1256", 1, charmap.Windows1256}, {"WIN1258", 1, charmap.Windows1258},
	{"WIN866", 1, charmap.CodePage866}, {"WIN874", 1, charmap.Windows874}, {"KOI8R", 1, charmap.KOI8R}, {"WIN1251", 1, charmap.Windows1251},
	{"WIN1252", 1, charmap.Windows1252}, {"ISO_8859_5", 1, charmap.ISO8859_5}, {"ISO_8859_6", 1, charmap.ISO8859_6}, {"ISO_8859_7", 1, charmap.ISO8859_7},
	{"ISO_8859_8", 1, charmap.ISO8859_8}, {"WIN1250", 1, charmap.Windows1250}, {"WIN1253", 1, charmap.Windows1253}, {"WIN1254", 1, charmap.Windows1254},
	{"WIN1255", 1, charmap.Windows1255}, {"WIN1257", 1, charmap.Windows1257}, {"KOI8U", 1, charmap.KOI8U}, {"SJIS", 2, nil}, {"BIG5", 2, nil},
	{"GBK", 2, nil}, {"UHC", 2, nil}, {"GB18030", 4, nil}, {"JOHAB", 3, nil}, {"SHIFT_JIS_2004", 2, nil},
}

// charsetAliases are other spellings, cleaned of everything but letters and digits.
var charsetAliases = map[string]string{
	"unicode": "UTF8", "iso88591": "LATIN1", "iso88592": "LATIN2", "iso88593": "LATIN3", "iso88594": "LATIN4", "iso88599": "LATIN5",
	"iso885910": "LATIN6", "iso885913": "LATIN7", "iso885914": "LATIN8", "iso885915": "LATIN9", "iso885916": "LATIN10",
	"windows1250": "WIN1250", "windows1251": "WIN1251", "windows1252": "WIN1252", "windows1253": "WIN1253", "windows1254": "WIN1254",
	"windows1255": "WIN1255", "windows1256": "WIN1256", "windows1257": "WIN1257", "windows1258": "WIN1258", "windows866": "WIN866",
	"windows874": "WIN874", "alt": "WIN866", "win": "WIN1251", "koi8": "KOI8R", "tcvn": "WIN1258", "abc": "WIN1258", "vscii": "WIN1258",
}

// findCharset returns the number of an encoding, or -1.
func findCharset(name string) int {
	clean := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' {
				return r
			}
			return -1
		}, strings.ToLower(s))
	}
	key := clean(name)
	if alias, ok := charsetAliases[key]; ok {
		key = clean(alias)
	}
	for i, c := range charsets {
		if clean(c.name) == key {
			return i
		}
	}
	return -1
}

func badEncodingName(which, name string) *pgerror.Error {
	return pgerror.New(pgerror.InvalidParameterValue, "invalid %s encoding name \"%s\"", which, name)
}

const utf8Charset = 6

// decodeBytes turns bytes of an encoding into UTF-8.
func decodeBytes(b string, from int) (string, error) {
	cs := charsets[from]
	switch {
	case from == utf8Charset, from == 0:
		return b, sqltypes.ValidText(b)
	case cs.code == nil:
		return "", pgerror.NotSupported("conversion from encoding %s", cs.name)
	case strings.IndexByte(b, 0) >= 0:
		return "", pgerror.New(pgerror.CharacterNotInRepertoire, "invalid byte sequence for encoding \"%s\": 0x00", cs.name)
	}
	s, err := cs.code.NewDecoder().String(b)
	if err != nil || strings.ContainsRune(s, utf8.RuneError) {
		for i := range b {
			if r, _ := cs.code.NewDecoder().String(b[i : i+1]); strings.ContainsRune(r, utf8.RuneError) {
				return "", noEquivalent(b[i:i+1], cs.name, "UTF8")
			}
		}
	}
	return s, sqltypes.ValidText(s)
}

func noEquivalent(bytes, from, to string) error {
	var hex []string
	for i := range len(bytes) {
		hex = append(hex, fmt.Sprintf("0x%02x", bytes[i]))
	}
	return pgerror.New(pgerror.UntranslatableCharacter, "character with byte sequence %s in encoding \"%s\" has no equivalent in encoding \"%s\"",
		strings.Join(hex, " "), from, to)
}

func encodeText(s string, to int) (string, error) {
	cs := charsets[to]
	switch {
	case to == utf8Charset, to == 0:
		return s, nil
	case cs.code == nil:
		return "", pgerror.NotSupported("conversion to encoding %s", cs.name)
	}
	enc := cs.code.NewEncoder()
	var out strings.Builder
	for _, r := range s {
		b, err := enc.String(string(r))
		if err != nil {
			return "", noEquivalent(string(r), "UTF8", cs.name)
		}
		out.WriteString(b)
	}
	return out.String(), nil
}

func convert(b, fromName, toName string) (Datum, error) {
	from, to := findCharset(fromName), findCharset(toName)
	if from < 0 {
		return fail(badEncodingName("source", fromName))
	}
	if to < 0 {
		return fail(badEncodingName("destination", toName))
	}
	s, err := decodeBytes(b, from)
	if err != nil {
		return null, err
	}
	out, err := encodeText(s, to)
	if err != nil {
		return null, err
	}
	return text(out)
}

func init() {
	scalarTable{
		"pg_convert":      func(_ *Call, a []Datum) (Datum, error) { return convert(a[0].S, a[1].S, a[2].S) },
		"pg_convert_from": func(_ *Call, a []Datum) (Datum, error) { return convert(a[0].S, a[1].S, "UTF8") },
		"pg_convert_to":   func(_ *Call, a []Datum) (Datum, error) { return convert(a[0].S, "UTF8", a[1].S) },
		"length_in_encoding": func(_ *Call, a []Datum) (Datum, error) {
			n := findCharset(a[1].S)
			if n < 0 {
				return fail(pgerror.New(pgerror.InvalidParameterValue, "invalid encoding name \"%s\"", a[1].S))
			}
			s, err := decodeBytes(a[0].S, n)
			return sqltypes.Int(int64(utf8.RuneCountInString(s))), err
		},
		"PG_char_to_encoding": func(_ *Call, a []Datum) (Datum, error) { return integer(int64(findCharset(a[0].S))) },
		"PG_encoding_to_char": func(_ *Call, a []Datum) (Datum, error) {
			if n := a[0].I; n >= 0 && n < int64(len(charsets)) {
				return text(charsets[n].name)
			}
			return text("")
		},
		"pg_encoding_max_length_sql": func(_ *Call, a []Datum) (Datum, error) {
			if n := a[0].I; n >= 0 && n < int64(len(charsets)) {
				return integer(int64(charsets[n].max))
			}
			return isNull()
		},
	}.register()
}
