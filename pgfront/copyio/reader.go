package copyio

import (
	"strings"
)

// Field is one value of a row.
type Field struct {
	Text string // text and csv
	Raw  []byte // binary; valid until the next row
	Null bool
}

// Reader yields rows.
type Reader interface {
	// Row returns the next row's fields, as many as there are columns, valid until the next call.
	Row() (fields []Field, ok bool, err error)
	// Where describes the place of an error in PostgreSQL's words, after "COPY <table>":
	// ", line 3" and so on. column ≥ 0 names the field that was being converted.
	Where(column int) string
	// Line is the number of the row read last, from 1.
	Line() int
}

// NewReader reads from next, which returns nil, nil at the end. decode converts a
// line from the file's encoding and validates it.
func NewReader(opts *Options, columns []string, next func() ([]byte, error), decode func([]byte) (string, error)) Reader {
	if opts.Format == Binary {
		return &binaryReader{next: next, columns: columns}
	}
	return &textReader{lines: lines{next: next, opts: opts}, opts: opts, columns: columns, decode: decode}
}

type textReader struct {
	lines   lines
	opts    *Options
	columns []string
	decode  func([]byte) (string, error)
	fields  []Field
	started bool
	text    string
	valid   bool
	unq     []byte
}

func (r *textReader) Row() ([]Field, bool, error) {
	if !r.started {
		r.started = true
		if r.opts.Header != NoHeader {
			ok, err := r.nextLine()
			if err != nil || !ok {
				return nil, false, err
			}
			if r.opts.Header == MatchHeader {
				if err := r.matchHeader(); err != nil {
					return nil, false, err
				}
			}
		}
	}
	ok, err := r.nextLine()
	if err != nil || !ok {
		return nil, false, err
	}
	if err := r.split(); err != nil {
		return nil, false, err
	}
	if len(r.columns) == 0 {
		if r.text != "" {
			return nil, false, badFormat("extra data after last expected column")
		}
		return nil, true, nil
	}
	if len(r.fields) < len(r.columns) {
		return nil, false, badFormat(`missing data for column "%s"`, r.columns[len(r.fields)])
	}
	if len(r.fields) > len(r.columns) {
		return nil, false, badFormat("extra data after last expected column")
	}
	return r.fields, true, nil
}

func (r *textReader) nextLine() (bool, error) {
	r.valid = false
	line, ok, err := r.lines.read()
	if err != nil || !ok {
		return false, err
	}
	if r.text, err = r.decode(line); err != nil {
		return false, err
	}
	r.valid = true
	return true, nil
}

func (r *textReader) split() error {
	r.fields = r.fields[:0]
	if r.opts.Format == CSV {
		return r.splitCSV()
	}
	r.splitText()
	return nil
}

func (r *textReader) matchHeader() error {
	if err := r.split(); err != nil {
		return err
	}
	if len(r.fields) != len(r.columns) {
		return badFormat("wrong number of fields in header line: got %d, expected %d", len(r.fields), len(r.columns))
	}
	for i, f := range r.fields {
		switch {
		case f.Null:
			return badFormat(`column name mismatch in header line field %d: got null value ("%s"), expected "%s"`, i+1, r.opts.Null, r.columns[i])
		case f.Text != r.columns[i]:
			return badFormat(`column name mismatch in header line field %d: got "%s", expected "%s"`, i+1, f.Text, r.columns[i])
		}
	}
	return nil
}

// splitText cuts a text line at delimiters and resolves backslash escapes.
func (r *textReader) splitText() {
	delim := r.opts.Delimiter[0]
	s := r.text
	if strings.IndexByte(s, '\\') < 0 {
		for {
			i := strings.IndexByte(s, delim)
			if i < 0 {
				r.fields = append(r.fields, Field{Text: s, Null: s == r.opts.Null})
				return
			}
			r.fields = append(r.fields, Field{Text: s[:i], Null: s[:i] == r.opts.Null})
			s = s[i+1:]
		}
	}
	for {
		end, escapes := 0, false
		for end < len(s) && s[end] != delim {
			if s[end] == '\\' && end+1 < len(s) {
				escapes = true
				end++
			}
			end++
		}
		end = min(end, len(s))
		raw := s[:end]
		f := Field{Text: raw, Null: raw == r.opts.Null}
		if escapes && !f.Null {
			f.Text = unescape(raw)
		}
		r.fields = append(r.fields, f)
		if end == len(s) {
			return
		}
		s = s[end+1:]
	}
}

func unescape(s string) string {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '\\' || i+1 == len(s) {
			out = append(out, c)
			continue
		}
		i++
		switch c = s[i]; c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'v':
			c = '\v'
		case '0', '1', '2', '3', '4', '5', '6', '7':
			v := int(c - '0')
			for k := 0; k < 2 && i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '7'; k++ {
				i++
				v = v<<3 | int(s[i]-'0')
			}
			c = byte(v)
		case 'x':
			v, n := 0, 0
			for n < 2 && i+1 < len(s) {
				d := hexDigit(s[i+1])
				if d < 0 {
					break
				}
				v = v<<4 | d
				i++
				n++
			}
			if n > 0 {
				c = byte(v)
			}
		}
		out = append(out, c)
	}
	return string(out)
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// splitCSV cuts a csv line; only unquoted values can be the null string, unless a column is forced.
func (r *textReader) splitCSV() error {
	delim, quote, escape := r.opts.Delimiter[0], r.opts.Quote[0], r.opts.Escape[0]
	s := r.text
	i := 0
	for {
		n := len(r.fields)
		saw := false
		start := i
		plainEnd := -1
		out := r.unq[:0]
		for i < len(s) && s[i] != delim {
			if s[i] != quote {
				if saw {
					out = append(out, s[i])
				}
				i++
				continue
			}
			if !saw {
				out = append(out, s[start:i]...)
				saw = true
			}
			i++
			closed := false
			for i < len(s) {
				c := s[i]
				if c == escape && i+1 < len(s) && (s[i+1] == escape || s[i+1] == quote) {
					out = append(out, s[i+1])
					i += 2
					continue
				}
				if c == quote {
					closed = true
					i++
					break
				}
				out = append(out, c)
				i++
			}
			if !closed {
				return badFormat("unterminated CSV quoted field")
			}
		}
		plainEnd = i
		f := Field{}
		if saw {
			f.Text = string(out)
		} else {
			f.Text = s[start:plainEnd]
		}
		r.unq = out
		matches := f.Text == r.opts.Null
		switch {
		case !saw && matches:
			f.Null = n >= len(r.opts.ForceNotNull) || !r.opts.ForceNotNull[n]
		case saw && matches && n < len(r.opts.ForceNull) && r.opts.ForceNull[n]:
			f.Null = true
		}
		r.fields = append(r.fields, f)
		if i >= len(s) {
			return nil
		}
		i++
		if i == len(s) {
			f := Field{Null: r.opts.Null == ""}
			if k := len(r.fields); k < len(r.opts.ForceNotNull) && r.opts.ForceNotNull[k] {
				f.Null = false
			}
			r.fields = append(r.fields, f)
			return nil
		}
	}
}

// limit shortens a value for a context line.
func limit(s string) string {
	const max = 100
	if len(s) <= max {
		return s
	}
	n := max
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n] + "..."
}

func (r *textReader) Line() int { return r.lines.num }

func (r *textReader) Where(column int) string {
	w := ", line " + itoa(r.lines.num)
	switch {
	case column >= 0 && column < len(r.fields):
		w += ", column " + r.columns[column]
		if r.fields[column].Null {
			return w + ": null input"
		}
		return w + `: "` + limit(r.fields[column].Text) + `"`
	case r.valid:
		return w + `: "` + limit(r.text) + `"`
	}
	return w
}
