package settings

import (
	"strings"
	"unicode/utf8"

	"ostraka/engine"
	"ostraka/engine/commitlog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// checks canonicalise string parameters that have a syntax of their own.
var checks = map[string]func(d *Definition, value string) (string, error){
	"DateStyle":        checkDateStyle,
	"TimeZone":         checkTimeZone,
	"client_encoding":  checkEncoding,
	"search_path":      checkList,
	"temp_tablespaces": checkList,
	"application_name": checkASCII,
	"cluster_name":     checkASCII,

	"ostraka.min_position":   checkPosition,
	"ostraka.transaction_id": checkTransactionID,
	"ostraka.ts_scope":       checkSeriesScope,
}

// checkPosition accepts what SHOW ostraka.position answers, and nothing.
func checkPosition(d *Definition, value string) (string, error) {
	if value == "" {
		return "", nil
	}
	pos, err := commitlog.ParsePosition(value)
	if err != nil {
		return "", d.invalid(value).WithDetail("A position is what SHOW ostraka.position answers.")
	}
	return pos.String(), nil
}

// checkSeriesScope knows whose rows can be read; local is another word for node.
func checkSeriesScope(d *Definition, value string) (string, error) {
	switch v := strings.ToLower(value); v {
	case "node", "cluster":
		return v, nil
	case "local":
		return "node", nil
	}
	return "", d.invalid(value).WithHint("Available values: node, cluster.")
}

// checkTransactionID bounds the name, which is replicated.
func checkTransactionID(d *Definition, value string) (string, error) {
	if len(value) > engine.MaxToken {
		return "", d.invalid(value).WithDetail("It may have at most %d bytes.", engine.MaxToken)
	}
	return value, nil
}

func checkASCII(_ *Definition, value string) (string, error) {
	b := []byte(value)
	for i, c := range b {
		if c < 32 || c > 126 {
			b[i] = '?'
		}
	}
	return string(b), nil
}

func checkList(d *Definition, value string) (string, error) {
	if _, ok := SplitIdentifiers(value); !ok {
		return "", d.invalid(value).WithDetail("List syntax is invalid.")
	}
	return value, nil
}

// SplitIdentifiers splits a comma-separated list of identifiers: unquoted ones
// are folded to lower case, quoted ones are taken as they are.
func SplitIdentifiers(s string) (names []string, ok bool) {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil, true
	}
	for {
		s = strings.TrimLeft(s, " \t\r\n\f")
		var name string
		if strings.HasPrefix(s, `"`) {
			rest := s[1:]
			for {
				end := strings.IndexByte(rest, '"')
				if end < 0 {
					return nil, false
				}
				name += rest[:end]
				rest = rest[end+1:]
				if !strings.HasPrefix(rest, `"`) {
					break
				}
				name += `"`
				rest = rest[1:]
			}
			s = rest
		} else {
			end := strings.IndexAny(s, ", \t\r\n\f")
			if end < 0 {
				end = len(s)
			}
			if end == 0 {
				return nil, false
			}
			name, s = strings.ToLower(s[:end]), s[end:]
		}
		if len(name) > 63 {
			name = name[:63]
			for !utf8.ValidString(name) {
				name = name[:len(name)-1]
			}
		}
		names = append(names, name)
		s = strings.TrimLeft(s, " \t\r\n\f")
		if s == "" {
			return names, true
		}
		if s[0] != ',' {
			return nil, false
		}
		s = s[1:]
	}
}

// Encodings by every name that PostgreSQL knows for them. Those not listed are
// refused by name, since the server does not convert from or to them.
var encodings = map[string]string{
	"utf8": "UTF8", "unicode": "UTF8",
	"latin1": "LATIN1", "iso88591": "LATIN1",
	"sqlascii": "SQL_ASCII",
}

var otherEncodings = map[string]bool{}

func init() {
	for _, n := range strings.Fields(`abc alt big5 euccn eucjis2004 eucjp euckr euctw gb18030 gbk iso885910 iso885913 iso885914
		iso885915 iso885916 iso88592 iso88593 iso88594 iso88595 iso88596 iso88597 iso88598 iso88599 johab koi8 koi8r koi8u latin10
		latin2 latin3 latin4 latin5 latin6 latin7 latin8 latin9 mskanji muleinternal shiftjis shiftjis2004 sjis tcvn tcvn5712 uhc
		vscii win win1250 win1251 win1252 win1253 win1254 win1255 win1256 win1257 win1258 win866 win874 win932 win936 win949
		win950 windows1250 windows1251 windows1252 windows1253 windows1254 windows1255 windows1256 windows1257 windows1258
		windows866 windows874 windows932 windows936 windows949 windows950`) {
		otherEncodings[n] = true
	}
}

func checkEncoding(d *Definition, value string) (string, error) {
	key := strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		}
		return -1
	}, value)
	if e, ok := encodings[key]; ok {
		return e, nil
	}
	if otherEncodings[key] {
		return "", pgerror.New(pgerror.FeatureNotSupported, "conversion between %s and UTF8 is not supported", strings.ToUpper(value))
	}
	return "", d.invalid(value)
}

var styleNames = [...]string{"ISO", "SQL", "Postgres", "German"}
var orderNames = [...]string{"MDY", "DMY", "YMD"}

// ParseDateStyle reads a DateStyle value; what it does not mention keeps the given values.
func ParseDateStyle(value string, style sqltypes.DateStyle, order sqltypes.DateOrder) (sqltypes.DateStyle, sqltypes.DateOrder, string) {
	haveOrder := false
	for word := range strings.SplitSeq(value, ",") {
		word = strings.Trim(strings.TrimSpace(word), `"`)
		w := strings.ToLower(word)
		switch {
		case w == "iso":
			style = sqltypes.DateISO
		case w == "sql":
			style = sqltypes.DateSQL
		case strings.HasPrefix(w, "postgres"):
			style = sqltypes.DatePostgres
		case w == "german":
			style = sqltypes.DateGerman
			if !haveOrder {
				order = sqltypes.OrderDMY
			}
		case w == "ymd":
			order, haveOrder = sqltypes.OrderYMD, true
		case w == "dmy" || strings.HasPrefix(w, "euro"):
			order, haveOrder = sqltypes.OrderDMY, true
		case w == "mdy" || w == "us" || strings.HasPrefix(w, "noneuro"):
			order, haveOrder = sqltypes.OrderMDY, true
		case w == "default":
			style, order = sqltypes.DateISO, sqltypes.OrderMDY
		default:
			return style, order, word
		}
	}
	return style, order, ""
}

// checkDateStyle only validates; Store.Set completes a partial value from the current one.
func checkDateStyle(d *Definition, value string) (string, error) {
	style, order, bad := ParseDateStyle(value, sqltypes.DateISO, sqltypes.OrderMDY)
	if bad != "" {
		return "", d.invalid(value).WithDetail(`Unrecognized key word: "%s".`, bad)
	}
	return FormatDateStyle(style, order), nil
}

// FormatDateStyle is the canonical text: "ISO, MDY".
func FormatDateStyle(style sqltypes.DateStyle, order sqltypes.DateOrder) string {
	return styleNames[style] + ", " + orderNames[order]
}
