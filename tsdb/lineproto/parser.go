package lineproto

import (
	"bytes"
	"math"
	"strconv"
)

// Units of the precision parameter, in nanoseconds.
const (
	Nanosecond  int64 = 1
	Microsecond       = 1000 * Nanosecond
	Millisecond       = 1000 * Microsecond
	Second            = 1000 * Millisecond
	Minute            = 60 * Second
	Hour              = 60 * Minute
)

// Precision is the unit that a precision parameter of /write or /api/v2/write names.
func Precision(name string) (int64, bool) {
	switch name {
	case "", "n", "ns":
		return Nanosecond, true
	case "u", "us", "µ":
		return Microsecond, true
	case "ms":
		return Millisecond, true
	case "s":
		return Second, true
	case "m":
		return Minute, true
	case "h":
		return Hour, true
	}
	return 0, false
}

// Parser reads lines.
type Parser struct {
	in   []byte
	at   int
	line int
	unit int64
}

// NewParser reads in, whose times count units (nanoseconds each).
func NewParser(in []byte, unit int64) *Parser { return &Parser{in: in, unit: unit} }

// Next reads the next line into p, reusing its slices. It returns false at the
// end. After an error the next call goes on with the line after.
func (r *Parser) Next(p *Point) (bool, *LineError) {
	for r.at < len(r.in) {
		r.line++
		r.skip(' ', '\t', 0)
		if r.at == len(r.in) {
			return false, nil
		}
		switch r.in[r.at] {
		case '\n', '\r':
			r.endLine()
			continue
		case '#':
			r.endLine()
			continue
		}
		start, first := r.at, r.line
		*p = Point{Line: first, Tags: p.Tags[:0], Fields: p.Fields[:0]}
		if why := r.point(p); why != "" {
			if why != unbalanced { // then all that follows is in the string
				r.endLine()
			} else {
				r.at = len(r.in)
			}
			return true, lineError(first, r.in[start:], why)
		}
		return true, nil
	}
	return false, nil
}

const unbalanced = "unbalanced quotes"

func (r *Parser) endLine() {
	i := bytes.IndexByte(r.in[r.at:], '\n')
	if i < 0 {
		r.at = len(r.in)
		return
	}
	r.at += i + 1
}

func (r *Parser) skip(a, b, c byte) {
	for r.at < len(r.in) && (r.in[r.at] == a || r.in[r.at] == b || r.in[r.at] == c) {
		r.at++
	}
}

// ended reports the end of the line.
func (r *Parser) ended() bool {
	return r.at == len(r.in) || r.in[r.at] == '\n' || r.in[r.at] == '\r' && (r.at+1 == len(r.in) || r.in[r.at+1] == '\n')
}

// word reads up to one of the stops that is not escaped, and takes the escapes
// out: a backslash before a character of special.
func (r *Parser) word(stops, special string) []byte {
	start, escaped := r.at, false
	for ; r.at < len(r.in); r.at++ {
		c := r.in[r.at]
		if c == '\\' && r.at+1 < len(r.in) && has(special, r.in[r.at+1]) {
			escaped = true
			r.at++
			continue
		}
		if c == '\n' || has(stops, c) {
			break
		}
	}
	end := r.at
	if end > start && r.in[end-1] == '\r' && (end == len(r.in) || r.in[end] == '\n') {
		end--
		r.at--
	}
	w := r.in[start:end]
	if !escaped {
		return w
	}
	out := make([]byte, 0, len(w))
	for i := 0; i < len(w); i++ {
		if w[i] == '\\' && i+1 < len(w) && has(special, w[i+1]) {
			i++
		}
		out = append(out, w[i])
	}
	return out
}

func has(s string, c byte) bool {
	for i := range len(s) {
		if s[i] == c {
			return true
		}
	}
	return false
}

// point reads the line from its measurement on; it returns what is wrong with it.
func (r *Parser) point(p *Point) string {
	start := r.at
	if p.Measurement = r.word(", ", ", "); len(p.Measurement) == 0 {
		return "missing measurement"
	}
	for r.at < len(r.in) && r.in[r.at] == ',' {
		r.at++
		if why := r.tag(p); why != "" {
			return why
		}
	}
	p.Series = r.in[start:r.at]
	r.skip(' ', ' ', 0)
	if r.ended() {
		return "missing fields"
	}
	for {
		if why := r.field(p); why != "" {
			return why
		}
		if r.at == len(r.in) || r.in[r.at] != ',' {
			break
		}
		r.at++
	}
	r.skip(' ', ' ', 0)
	return r.time(p)
}

func (r *Parser) tag(p *Point) string {
	k := r.word(",= ", ",= ")
	if len(k) == 0 {
		return "missing tag key"
	}
	if r.at == len(r.in) || r.in[r.at] != '=' {
		return "missing tag value"
	}
	r.at++
	v := r.word(",= ", ",= ")
	if len(v) == 0 {
		return "missing tag value"
	}
	if r.at < len(r.in) && r.in[r.at] == '=' {
		return "invalid tag format"
	}
	for _, t := range p.Tags {
		if bytes.Equal(t.Key, k) {
			return "duplicate tags"
		}
	}
	p.Tags = append(p.Tags, Tag{k, v})
	return ""
}

func (r *Parser) field(p *Point) string {
	f := Field{Key: r.word(",= ", ",= ")}
	if len(f.Key) == 0 {
		return "missing field key"
	}
	if r.at == len(r.in) || r.in[r.at] != '=' {
		return "missing field value"
	}
	r.at++
	if r.at < len(r.in) && r.in[r.at] == '"' {
		if !r.quoted(&f) {
			return unbalanced
		}
		if !r.ended() && r.in[r.at] != ',' && r.in[r.at] != ' ' {
			return "invalid field format"
		}
	} else if why := value(&f, r.word(", ", "")); why != "" {
		return why
	}
	p.Fields = append(p.Fields, f)
	return ""
}

// quoted reads a string; false when it does not end.
func (r *Parser) quoted(f *Field) bool {
	f.Kind = String
	r.at++
	start, escaped := r.at, false
	for ; r.at < len(r.in); r.at++ {
		switch r.in[r.at] {
		case '\n':
			r.line++
		case '\\':
			if r.at+1 < len(r.in) && (r.in[r.at+1] == '"' || r.in[r.at+1] == '\\') {
				escaped = true
				r.at++
			}
		case '"':
			f.S = r.in[start:r.at]
			r.at++
			if escaped {
				f.S = unquote(f.S)
			}
			return true
		}
	}
	return false
}

func unquote(s []byte) []byte {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\') {
			i++
		}
		out = append(out, s[i])
	}
	return out
}

// value reads a number or a boolean.
func value(f *Field, w []byte) string {
	if len(w) == 0 {
		return "missing field value"
	}
	var err error
	switch last := w[len(w)-1]; {
	case w[0] == 't' || w[0] == 'T' || w[0] == 'f' || w[0] == 'F':
		f.Kind = Bool
		switch string(w) {
		case "t", "T", "true", "True", "TRUE":
			f.I = 1
		case "f", "F", "false", "False", "FALSE":
		default:
			return "invalid boolean"
		}
		return ""
	case last == 'i' || last == 'u':
		f.Kind = Int
		if last == 'u' {
			f.Kind = Uint
		}
		f.I, err = strconv.ParseInt(string(w[:len(w)-1]), 10, 64)
		if err != nil || f.Kind == Uint && f.I < 0 {
			return "invalid number"
		}
		return ""
	case w[0] != '-' && w[0] != '+' && w[0] != '.' && (w[0] < '0' || w[0] > '9'):
		return "invalid number"
	}
	f.Kind = Float
	for _, c := range w { // no hexadecimal, no underscores, no infinities
		if (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return "invalid number"
		}
	}
	f.F, err = strconv.ParseFloat(string(w), 64)
	if err != nil || math.IsInf(f.F, 0) {
		return "invalid number"
	}
	return ""
}

// time reads the rest of the line.
func (r *Parser) time(p *Point) string {
	if !r.ended() {
		w := r.word(" ", "")
		r.skip(' ', ' ', 0)
		if !r.ended() {
			return "bad timestamp"
		}
		v, err := strconv.ParseInt(string(w), 10, 64)
		if err != nil {
			return "bad timestamp"
		}
		if v > math.MaxInt64/r.unit || v < math.MinInt64/r.unit {
			return "time outside range"
		}
		p.Time, p.Timed = v*r.unit, true
	}
	r.endLine()
	return ""
}
