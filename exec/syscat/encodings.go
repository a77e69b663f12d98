package syscat

import "strings"

// encodings are PostgreSQL's names of character sets by number. UTF8 is the only
// one that databases have here.
var encodings = []string{
	"SQL_ASCII", "EUC_JP", "EUC_CN", "EUC_KR", "EUC_TW", "EUC_JIS_2004", "UTF8", "MULE_INTERNAL", "LATIN1", "LATIN2", "LATIN3", "LATIN4",
	"LATIN5", "LATIN6", "LATIN7", "LATIN8", "LATIN9", "LATIN10", "WIN1256", "WIN1258", "WIN866", "WIN874", "KOI8R", "WIN1251", "WIN1252",
	"ISO_8859_5", "ISO_8859_6", "ISO_8859_7", "ISO_8859_8", "WIN1250", "WIN1253", "WIN1254", "WIN1255", "WIN1257", "KOI8U", "SJIS", "BIG5",
	"GBK", "UHC", "GB18030", "JOHAB", "SHIFT_JIS_2004",
}

// encodingAliases are further names, without anything but letters and digits.
var encodingAliases = map[string]string{"unicode": "UTF8", "alt": "WIN866", "koi8": "KOI8R", "win": "WIN1251", "abc": "WIN1258", "tcvn": "WIN1258",
	"tcvn5712": "WIN1258", "vscii": "WIN1258", "iso88591": "LATIN1", "iso88592": "LATIN2", "iso88593": "LATIN3", "iso88594": "LATIN4", "iso88599": "LATIN5",
	"iso885910": "LATIN6", "iso885913": "LATIN7", "iso885914": "LATIN8", "iso885915": "LATIN9", "iso885916": "LATIN10", "mskanji": "SJIS",
	"shiftjis": "SJIS", "win932": "SJIS", "windows932": "SJIS", "win936": "GBK", "windows936": "GBK", "win949": "UHC", "windows949": "UHC",
	"win950": "BIG5", "windows950": "BIG5", "windows866": "WIN866", "windows874": "WIN874", "windows1250": "WIN1250", "windows1251": "WIN1251",
	"windows1252": "WIN1252", "windows1253": "WIN1253", "windows1254": "WIN1254", "windows1255": "WIN1255", "windows1256": "WIN1256",
	"windows1257": "WIN1257", "windows1258": "WIN1258"}

// encodingNumber finds a character set by any of its names, written in any way; -1 when there is none.
func encodingNumber(name string) int {
	plain := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' {
				return r
			}
			return -1
		}, strings.ToLower(s))
	}
	name = plain(name)
	if full, ok := encodingAliases[name]; ok {
		name = plain(full)
	}
	for i, e := range encodings {
		if plain(e) == name {
			return i
		}
	}
	return -1
}
