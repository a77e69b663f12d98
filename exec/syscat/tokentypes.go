package syscat

import "ostraka/sqltypes"

// tokenTypes are what the default parser of text search tells apart.
var tokenTypes = [][2]string{
	{"asciiword", "Word, all ASCII"},
	{"word", "Word, all letters"},
	{"numword", "Word, letters and digits"},
	{"email", "Email address"},
	{"url", "URL"},
	{"host", "Host"},
	{"sfloat", "Scientific notation"},
	{"version", "Version number"},
	{"hword_numpart", "Hyphenated word part, letters and digits"},
	{"hword_part", "Hyphenated word part, all letters"},
	{"hword_asciipart", "Hyphenated word part, all ASCII"},
	{"blank", "Space symbols"},
	{"tag", "XML tag"},
	{"protocol", "Protocol head"},
	{"numhword", "Hyphenated word, letters and digits"},
	{"asciihword", "Hyphenated word, all ASCII"},
	{"hword", "Hyphenated word, all letters"},
	{"url_path", "URL path"},
	{"file", "File or path name"},
	{"float", "Decimal notation"},
	{"int", "Signed integer"},
	{"uint", "Unsigned integer"},
	{"entity", "XML entity"},
}

func init() {
	rows := func(*sqltypes.Call, []sqltypes.Datum) (sqltypes.RowSource, error) {
		out := &rowList{}
		for i, t := range tokenTypes {
			out.rows = append(out.rows, []sqltypes.Datum{num(i + 1), text(t[0]), text(t[1])})
		}
		return out, nil
	}
	// There is one parser, whichever way it is named.
	sqltypes.RegisterSet("ts_token_type_byid", rows)
	sqltypes.RegisterSet("ts_token_type_byname", rows)
}
