package sqltypes

import "strings"

// A format picture (to_char, to_date, to_number) is cut into nodes: patterns and
// the text between them.

type pictureKind uint8

const (
	pictureAction    pictureKind = iota // a pattern
	pictureChar                         // text
	pictureSeparator                    // punctuation outside quotes
	pictureSpace
)

type pictureNode struct {
	kind pictureKind
	key  string // action: the pattern as it was spelled in the table
	text string // otherwise: one character
	fm   bool   // FM before it: no padding
	th   byte   // 't' th, 'T' TH after it
	tm   bool   // TM before it: localised names

	quoted bool // text in double quotes
}

// matchKey finds the longest pattern at the start of s.
func matchKey(keys []string, s string) string {
	best := ""
	for _, k := range keys {
		if len(k) > len(best) && strings.HasPrefix(s, k) {
			best = k
		}
	}
	return best
}

// splitPicture cuts a picture by a table of patterns; date pictures also have
// prefixes, suffixes and separators.
func splitPicture(s string, keys []string, date bool) []pictureNode {
	var out []pictureNode
	for s != "" {
		fm, tm := false, false
		if date {
			switch {
			case strings.HasPrefix(s, "FM"), strings.HasPrefix(s, "fm"):
				fm, s = true, s[2:]
			case strings.HasPrefix(s, "TM"), strings.HasPrefix(s, "tm"):
				tm, s = true, s[2:]
			}
			if s == "" {
				break
			}
		}
		if k := matchKey(keys, s); k != "" {
			n := pictureNode{kind: pictureAction, key: k, fm: fm, tm: tm}
			s = s[len(k):]
			if date {
				switch {
				case strings.HasPrefix(s, "TH"):
					n.th, s = 'T', s[2:]
				case strings.HasPrefix(s, "th"):
					n.th, s = 't', s[2:]
				case strings.HasPrefix(s, "SP"):
					s = s[2:]
				}
			}
			out = append(out, n)
			continue
		}
		if s[0] == '"' {
			s = s[1:]
			for s != "" {
				if s[0] == '"' {
					s = s[1:]
					break
				}
				if s[0] == '\\' && len(s) > 1 {
					s = s[1:]
				}
				n := runeLen(s)
				out = append(out, pictureNode{kind: pictureChar, text: s[:n], quoted: true})
				s = s[n:]
			}
			continue
		}
		if s[0] == '\\' && len(s) > 1 && s[1] == '"' {
			s = s[1:]
		}
		n := runeLen(s)
		kind := pictureChar
		if date {
			switch c := s[0]; {
			case isSeparatorChar(c):
				kind = pictureSeparator
			case isSpace(c):
				kind = pictureSpace
			}
		}
		out = append(out, pictureNode{kind: kind, text: s[:n]})
		s = s[n:]
	}
	return out
}

func isSeparatorChar(c byte) bool { return c > ' ' && c < 0x7F && !isAlpha(c) && !isDigit(c) }

// runeLen is the length of the first character of a non-empty s.
func runeLen(s string) int {
	for i := 1; i < len(s); i++ {
		if s[i]&0xC0 != 0x80 {
			return i
		}
	}
	return len(s)
}

// ordinalSuffix is "st", "nd", "rd" or "th" for a number given as text; false when it does not end in a digit.
func ordinalSuffix(num []byte, upper bool) string {
	if len(num) == 0 || !isDigit(num[len(num)-1]) {
		return ""
	}
	last := num[len(num)-1]
	if len(num) > 1 && num[len(num)-2] == '1' {
		last = 0
	}
	s := "th"
	switch last {
	case '1':
		s = "st"
	case '2':
		s = "nd"
	case '3':
		s = "rd"
	}
	if upper {
		s = strings.ToUpper(s)
	}
	return s
}
