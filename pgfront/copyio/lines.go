package copyio

import (
	"bytes"

	"ostraka/sqltypes/pgerror"
)

// eol is the line ending that the first line showed; all others must have it.
type eol uint8

const (
	eolUnknown eol = iota
	eolNL
	eolCR
	eolCRNL
)

// lines cuts the input into lines.
type lines struct {
	next func() ([]byte, error) // io.EOF-like: nil, nil at the end
	opts *Options
	buf  []byte
	pos  int // of the next unread byte
	eof  bool
	done bool // end-of-copy marker seen
	kind eol
	num  int // of the current line, from 1
	// valid: the current line has been read whole.
	valid bool
	line  []byte
	// Places of the next newline, carriage return and backslash in buf.
	nl, cr, bs finder
}

// more appends another chunk; false at the end.
func (l *lines) more() (bool, error) {
	if l.eof {
		return false, nil
	}
	l.nl, l.cr, l.bs = finder{'\n', -1}, finder{'\r', -1}, finder{'\\', -1}
	if l.pos > 0 {
		n := copy(l.buf, l.buf[l.pos:])
		l.buf, l.pos = l.buf[:n], 0
	}
	if len(l.buf) > MaxLine {
		return false, pgerror.New(pgerror.ProgramLimitExceeded, "a COPY line exceeds %d bytes", MaxLine)
	}
	chunk, err := l.next()
	if err != nil {
		return false, err
	}
	if chunk == nil {
		l.eof = true
		return false, nil
	}
	l.buf = append(l.buf, chunk...)
	return true, nil
}

// read returns the next line without its ending; ok is false at the end of the data.
func (l *lines) read() (line []byte, ok bool, err error) {
	l.valid = false
	l.num++
	if l.done {
		// What follows the end-of-copy marker is read and dropped.
		for {
			l.pos = len(l.buf)
			if more, err := l.more(); err != nil || !more {
				return nil, false, err
			}
		}
	}
	if l.opts.Format == CSV {
		line, ok, err = l.readCSV()
	} else {
		line, ok, err = l.readText()
	}
	l.line, l.valid = line, ok && err == nil
	return line, ok, err
}

// readText ends at a newline that no backslash precedes.
func (l *lines) readText() ([]byte, bool, error) {
	i := l.pos
	for {
		for i < len(l.buf) {
			i = min(l.nl.from(l.buf, i), l.cr.from(l.buf, i), l.bs.from(l.buf, i))
			if i == len(l.buf) {
				break
			}
			last := i+1 >= len(l.buf) && !l.eof
			if c := l.buf[i]; c == '\n' {
				if l.kind == eolCR || l.kind == eolCRNL {
					return nil, false, badFormat("literal newline found in data").WithHint(`Use "\n" to represent newline.`)
				}
				l.kind = eolNL
				return l.take(i, i+1), true, nil
			} else if last {
				break
			} else if c == '\r' {
				return l.carriageReturn(i, `Use "\r" to represent carriage return.`, "literal carriage return found in data")
			}
			if i+1 < len(l.buf) && l.buf[i+1] == '.' {
				if i+3 >= len(l.buf) && !l.eof {
					break
				}
				return l.endMarker(i)
			}
			i += 2
		}
		start := l.pos
		more, err := l.more()
		if err != nil {
			return nil, false, err
		}
		i -= start - l.pos
		if !more && i >= len(l.buf) {
			if l.pos >= len(l.buf) {
				return nil, false, nil
			}
			return l.take(len(l.buf), len(l.buf)), true, nil
		}
	}
}

// finder remembers where the next byte of its kind is.
type finder struct {
	c  byte
	at int
}

// from returns the place of the next c at or after i, or len(b).
func (f *finder) from(b []byte, i int) int {
	if f.at < i {
		if i > len(b) {
			return len(b)
		}
		if k := bytes.IndexByte(b[i:], f.c); k >= 0 {
			f.at = i + k
		} else {
			f.at = len(b)
		}
	}
	return f.at
}

// carriageReturn ends a line at i, checking that endings do not change.
func (l *lines) carriageReturn(i int, hint, message string) ([]byte, bool, error) {
	crnl := i+1 < len(l.buf) && l.buf[i+1] == '\n'
	switch {
	case l.kind == eolNL, l.kind == eolCRNL && !crnl:
		return nil, false, badFormat("%s", message).WithHint("%s", hint)
	case l.kind == eolCR || !crnl:
		l.kind = eolCR
		return l.take(i, i+1), true, nil
	}
	l.kind = eolCRNL
	return l.take(i, i+2), true, nil
}

// endMarker handles \. in text: it must end its line; data before it is a line.
func (l *lines) endMarker(i int) ([]byte, bool, error) {
	rest := l.buf[i+2:]
	if len(rest) > 0 && rest[0] != '\n' && rest[0] != '\r' {
		return nil, false, badFormat("end-of-copy marker corrupt")
	}
	l.done = true
	line := l.buf[l.pos:i]
	l.pos = i + 2
	if len(line) == 0 {
		return nil, false, nil
	}
	return line, true, nil
}

// take returns the line up to end and goes on at next.
func (l *lines) take(end, next int) []byte {
	line := l.buf[l.pos:end]
	l.pos = next
	return line
}

// readCSV ends at a newline outside of quotes.
func (l *lines) readCSV() ([]byte, bool, error) {
	quote, escape := l.opts.Quote[0], l.opts.Escape[0]
	inQuote, escaped := false, false
	i := l.pos
	for {
		for i < len(l.buf) {
			c := l.buf[i]
			if !inQuote && c == '\r' && i+1 >= len(l.buf) && !l.eof {
				break
			}
			if i == l.pos && c == '\\' && !inQuote {
				if len(l.buf)-i < 4 && !l.eof {
					break
				}
				if rest := l.buf[i:]; len(rest) >= 2 && rest[1] == '.' && (len(rest) == 2 || rest[2] == '\n' || rest[2] == '\r') {
					l.done = true
					l.pos = i + 2
					return nil, false, nil
				}
			}
			if inQuote && c == escape && escape != quote {
				escaped = !escaped
			}
			if c == quote && !escaped {
				inQuote = !inQuote
			}
			if c != escape || escape == quote {
				escaped = false
			}
			if !inQuote {
				switch c {
				case '\n':
					if l.kind == eolCR || l.kind == eolCRNL {
						return nil, false, badFormat("unquoted newline found in data").WithHint("Use quoted CSV field to represent newline.")
					}
					l.kind = eolNL
					return l.take(i, i+1), true, nil
				case '\r':
					return l.carriageReturn(i, "Use quoted CSV field to represent carriage return.", "unquoted carriage return found in data")
				}
			}
			i++
		}
		start := l.pos
		more, err := l.more()
		if err != nil {
			return nil, false, err
		}
		i -= start - l.pos
		if !more && i >= len(l.buf) {
			if l.pos >= len(l.buf) {
				return nil, false, nil
			}
			return l.take(len(l.buf), len(l.buf)), true, nil
		}
	}
}
