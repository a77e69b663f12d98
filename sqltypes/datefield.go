package sqltypes

import "strings"

// fieldKind is what the tokenizer takes a piece of date text for.
type fieldKind uint8

const (
	fieldNumber fieldKind = iota
	fieldString
	fieldDate    // 2001-02-03, feb-7-1997, america/new_york
	fieldTime    // 10:20:30
	fieldZone    // +03:00, -8
	fieldSpecial // +infinity
)

type dateField struct {
	kind fieldKind
	text string // lower case
}

const (
	maxDateFields = 25
	maxDateText   = 153
)

// splitDate cuts date, time and interval text into fields; false when a
// character or the length is not acceptable.
func splitDate(s string) ([]dateField, bool) {
	var fields []dateField
	total := 0
	at := 0
	peek := func() byte {
		if at < len(s) {
			return s[at]
		}
		return 0
	}
	for at < len(s) {
		c := s[at]
		if isSpace(c) {
			at++
			continue
		}
		from := at
		kind := fieldNumber
		text := ""
		digits := func() {
			for isDigit(peek()) {
				at++
			}
		}
		switch {
		case isDigit(c):
			digits()
			switch d := peek(); {
			case d == ':':
				kind = fieldTime
				for c := peek(); isDigit(c) || c == ':' || c == '.'; c = peek() {
					at++
				}
			case d == '-' || d == '/' || d == '.':
				at++
				if isDigit(peek()) {
					kind = fieldDate
					if d == '.' {
						kind = fieldNumber
					}
					digits()
					if peek() == d {
						kind = fieldDate
						for c := peek(); isDigit(c) || c == d; c = peek() {
							at++
						}
					}
				} else {
					kind = fieldDate
					for c := peek(); isDigit(c) || isAlpha(c) || c == d; c = peek() {
						at++
					}
				}
			}
		case c == '.':
			at++
			digits()
		case isAlpha(c):
			kind = fieldString
			for isAlpha(peek()) {
				at++
			}
			isDate := false
			switch d := peek(); {
			case d == '-' || d == '/' || d == '.':
				isDate = true
			case d == '+' || isDigit(d):
				// A known word directly before a number stands for itself ("jan7", "t10").
				_, known := dateWords[cutToken(strings.ToLower(s[from:at]))]
				isDate = !known
			}
			if isDate {
				kind = fieldDate
				for c := peek(); c == '+' || c == '-' || c == '/' || c == '_' || c == '.' || c == ':' || isDigit(c) || isAlpha(c); c = peek() {
					at++
				}
			}
		case c == '+' || c == '-':
			at++
			for isSpace(peek()) {
				at++
			}
			signEnd := at
			switch d := peek(); {
			case isDigit(d):
				kind = fieldZone
				for c := peek(); isDigit(c) || c == ':' || c == '.' || c == '-'; c = peek() {
					at++
				}
			case isAlpha(d):
				kind = fieldSpecial
				for isAlpha(peek()) {
					at++
				}
			default:
				return nil, false
			}
			text = string(c) + s[signEnd:at]
		case c > ' ' && c < 0x7f: // other punctuation
			at++
			continue
		default:
			return nil, false
		}
		if text == "" {
			text = s[from:at]
		}
		total += len(text) + 1
		if len(fields) == maxDateFields || total > maxDateText {
			return nil, false
		}
		fields = append(fields, dateField{kind, strings.ToLower(text)})
	}
	return fields, true
}
