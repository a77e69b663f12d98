package docstore

import (
	"slices"
	"strings"
	"unicode"

	"ostraka/sqltypes"
)

// maxWord bounds the bytes of an indexed word.
const maxWord = 100

// tokenize splits text into lower-case words of letters and digits.
func tokenize(s string, f func(word string)) {
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' }) {
		if w = strings.Trim(strings.ToLower(w), "'"); w != "" && len(w) <= maxWord {
			f(w)
		}
	}
}

// eachText calls f for the strings at a path, those in arrays too.
func eachText(doc JSON, p *Path, f func(s string)) {
	var c collector
	p.any(doc, 0, &c)
	for _, v := range c.vals {
		if v.Kind() == sqltypes.JSONString {
			f(v.Str())
		}
	}
}

// words are the keys of a document in a text index.
func (x *Index) words(doc JSON) [][]sqltypes.Datum {
	var list []string
	for _, p := range x.paths {
		eachText(doc, p, func(s string) { tokenize(s, func(w string) { list = append(list, w) }) })
	}
	slices.Sort(list)
	list = slices.Compact(list)
	out := make([][]sqltypes.Datum, len(list))
	for i, w := range list {
		out[i] = []sqltypes.Datum{sqltypes.Text(w)}
	}
	return out
}
