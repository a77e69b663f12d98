package builtin

import (
	"math"
	"strings"
	"unicode/utf8"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func tooLarge() *pgerror.Error {
	return pgerror.New(pgerror.ProgramLimitExceeded, "requested length too large")
}

func negativeSubstring() *pgerror.Error {
	return pgerror.New(pgerror.SubstringError, "negative substring length not allowed")
}

// charOffset returns the byte offset of the n-th character (0-based) of s, or
// len(s) when s is shorter.
func charOffset(s string, n int64) int {
	if n >= int64(len(s)) {
		return len(s)
	}
	i := 0
	for ; n > 0 && i < len(s); n-- {
		if s[i] < utf8.RuneSelf {
			i++
			continue
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
	}
	return i
}

// sliceBounds turns SQL's 1-based start and length into a half-open 0-based range; length nil means to the end.
func sliceBounds(start int64, length *int64) (from, to int64, err *pgerror.Error) {
	to = 1 << 40
	if length != nil {
		if *length < 0 {
			return 0, 0, negativeSubstring()
		}
		if end := start + *length; end <= 1<<31-1 {
			to = max(end-1, 0)
		}
	}
	return max(start-1, 0), to, nil
}

func substring(s string, start int64, length *int64) (string, error) {
	from, to, err := sliceBounds(start, length)
	if err != nil {
		return "", err
	}
	if to <= from {
		return "", nil
	}
	s = s[charOffset(s, from):]
	return s[:charOffset(s, to-from)], nil
}

func textSubstr(_ *Call, args []Datum) (Datum, error) {
	var length *int64
	if len(args) > 2 {
		length = &args[2].I
	}
	s, err := substring(args[0].S, args[1].I, length)
	if err != nil {
		return null, err
	}
	return text(s)
}

func textOverlay(_ *Call, args []Datum) (Datum, error) {
	s, by, start := args[0].S, args[1].S, args[2].I
	length := int64(utf8.RuneCountInString(by))
	if len(args) > 3 {
		length = args[3].I
	}
	if start <= 0 {
		return fail(negativeSubstring())
	}
	if start+length > 1<<31-1 {
		return fail(width4.outOfRange())
	}
	before := start - 1
	head, err := substring(s, 1, &before)
	if err != nil {
		return null, err
	}
	tail, err := substring(s, start+length, nil)
	if err != nil {
		return null, err
	}
	return text(head + by + tail)
}

func textPad(left bool) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) {
		s, want, fill := args[0].S, max(args[1].I, 0), " "
		if len(args) > 2 {
			fill = args[2].S
		}
		have := int64(utf8.RuneCountInString(s))
		if have >= want || fill == "" {
			return text(s[:charOffset(s, want)])
		}
		if want*4 > maxAlloc {
			return fail(tooLarge())
		}
		fillChars := int64(utf8.RuneCountInString(fill))
		missing := want - have
		padding := strings.Repeat(fill, int(missing/fillChars)) + fill[:charOffset(fill, missing%fillChars)]
		if left {
			return text(padding + s)
		}
		return text(s + padding)
	}
}

func textLeft(_ *Call, args []Datum) (Datum, error) {
	s, n := args[0].S, args[1].I
	if n < 0 {
		n = max(int64(utf8.RuneCountInString(s))+n, 0)
	}
	return text(s[:charOffset(s, n)])
}

func textRight(_ *Call, args []Datum) (Datum, error) {
	s, n := args[0].S, args[1].I
	switch {
	case n == math.MinInt32: // PostgreSQL's negation overflows
		return text(s)
	case n < 0:
		n = -n
	default:
		n = max(int64(utf8.RuneCountInString(s))-n, 0)
	}
	return text(s[charOffset(s, n):])
}

func textReverse(_ *Call, args []Datum) (Datum, error) {
	s := args[0].S
	out := make([]byte, len(s))
	at := len(s)
	for i := 0; i < len(s); {
		_, size := utf8.DecodeRuneInString(s[i:])
		at -= size
		copy(out[at:], s[i:i+size])
		i += size
	}
	return text(string(out))
}

// textPosition is strpos: 1-based, in characters, 0 when absent.
func textPosition(_ *Call, args []Datum) (Datum, error) {
	at := strings.Index(args[0].S, args[1].S)
	if at < 0 {
		return integer(0)
	}
	return integer(int64(utf8.RuneCountInString(args[0].S[:at])) + 1)
}

func textRepeat(_ *Call, args []Datum) (Datum, error) {
	s, n := args[0].S, max(args[1].I, 0)
	if int64(len(s))*n > maxAlloc {
		return fail(tooLarge())
	}
	return text(strings.Repeat(s, int(n)))
}

func textReplace(_ *Call, args []Datum) (Datum, error) {
	s, from, to := args[0].S, args[1].S, args[2].S
	if from == "" || s == "" {
		return text(s)
	}
	if n := strings.Count(s, from); int64(len(s))+int64(n)*int64(len(to)-len(from)) > maxAlloc {
		return fail(tooLarge())
	}
	return text(strings.ReplaceAll(s, from, to))
}

func textTranslate(_ *Call, args []Datum) (Datum, error) {
	from, to := []rune(args[1].S), []rune(args[2].S)
	table := make(map[rune]rune, len(from))
	for i, r := range from {
		if _, seen := table[r]; seen {
			continue
		}
		if i < len(to) {
			table[r] = to[i]
		} else {
			table[r] = -1
		}
	}
	return text(strings.Map(func(r rune) rune {
		if to, ok := table[r]; ok {
			return to
		}
		return r
	}, args[0].S))
}

// splitPart returns field n, counted from the end when negative.
func splitPart(_ *Call, args []Datum) (Datum, error) {
	s, sep, n := args[0].S, args[1].S, args[2].I
	if n == 0 {
		return fail(pgerror.New(pgerror.InvalidParameterValue, "field position must not be zero"))
	}
	if s == "" {
		return text("")
	}
	if sep == "" {
		if n == 1 || n == -1 {
			return text(s)
		}
		return text("")
	}
	if n < 0 {
		n += int64(strings.Count(s, sep)) + 2
		if n <= 0 {
			return text("")
		}
	}
	for ; n > 1; n-- {
		at := strings.Index(s, sep)
		if at < 0 {
			return text("")
		}
		s = s[at+len(sep):]
	}
	field, _, _ := strings.Cut(s, sep)
	return text(field)
}

// trimmer makes btrim, ltrim and rtrim: the second argument is a set of characters.
func trimmer(left, right bool) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) {
		s, set := args[0].S, " "
		if len(args) > 1 {
			set = args[1].S
		}
		if left {
			s = strings.TrimLeft(s, set)
		}
		if right {
			s = strings.TrimRight(s, set)
		}
		return text(s)
	}
}

func textLength(_ *Call, args []Datum) (Datum, error) {
	return integer(int64(utf8.RuneCountInString(args[0].S)))
}

func byteLength(_ *Call, args []Datum) (Datum, error) { return integer(int64(len(args[0].S))) }
func bitLength(_ *Call, args []Datum) (Datum, error)  { return integer(int64(len(args[0].S)) * 8) }

func concatBytes(_ *Call, args []Datum) (Datum, error) {
	if len(args[0].S)+len(args[1].S) > maxAlloc {
		return fail(tooLarge())
	}
	return text(args[0].S + args[1].S)
}

// trimmed is the value of a character(n) where its padding does not count.
func trimmed(s string) string { return strings.TrimRight(s, " ") }

func asciiCode(_ *Call, args []Datum) (Datum, error) {
	if args[0].S == "" {
		return integer(0)
	}
	r, _ := utf8.DecodeRuneInString(args[0].S)
	return integer(int64(r))
}

func chr(_ *Call, args []Datum) (Datum, error) {
	n := args[0].I
	switch {
	case n < 0:
		return fail(pgerror.New(pgerror.InvalidParameterValue, "character number must be positive"))
	case n == 0:
		return fail(pgerror.New(pgerror.ProgramLimitExceeded, "null character not permitted"))
	case n > utf8.MaxRune:
		return fail(pgerror.New(pgerror.ProgramLimitExceeded, "requested character too large for encoding: %d", n))
	case n >= 0xD800 && n <= 0xDFFF:
		return fail(pgerror.New(pgerror.ProgramLimitExceeded, "requested character not valid for encoding: %d", n))
	}
	return text(string(rune(n)))
}

func startsWith(_ *Call, args []Datum) (Datum, error) {
	return boolean(strings.HasPrefix(args[0].S, args[1].S))
}

func init() {
	scalarTable{
		"textlen": textLength, "textoctetlen": byteLength, "byteaoctetlen": byteLength,
		"bpcharlen": func(_ *Call, a []Datum) (Datum, error) {
			return integer(int64(utf8.RuneCountInString(trimmed(a[0].S))))
		},
		"bpcharoctetlen":     byteLength,
		"bit_length(text)":   bitLength,
		"bit_length(bytea)":  bitLength,
		"textcat":            concatBytes,
		"byteacat":           concatBytes,
		"text_substr":        textSubstr,
		"text_substr_no_len": textSubstr,
		"textoverlay":        textOverlay, "textoverlay_no_len": textOverlay,
		"lpad": textPad(true), "rpad": textPad(false), "lpad(text,int4)": textPad(true), "rpad(text,int4)": textPad(false),
		"text_left": textLeft, "text_right": textRight, "text_reverse": textReverse,
		"textpos": textPosition, "repeat": textRepeat, "replace_text": textReplace, "translate": textTranslate,
		"split_part": splitPart,
		"btrim":      trimmer(true, true), "btrim1": trimmer(true, true),
		"ltrim": trimmer(true, false), "ltrim1": trimmer(true, false),
		"rtrim": trimmer(false, true), "rtrim1": trimmer(false, true),
		"ascii": asciiCode, "chr": chr, "text_starts_with": startsWith,
	}.register()
}
