package copyio

import (
	"encoding/binary"
	"strings"
)

// Writer appends rows in a COPY format. The caller gives each value's text (or
// binary) form in place: Begin a row, then for each column Null, or Value after
// the form was appended to the buffer at the offset that Start returned.
type Writer struct {
	opts    *Options
	columns int
	special [256]bool // bytes that text must escape, or that make csv quote
	tmp     []byte
}

// NewWriter writes rows of so many columns.
func NewWriter(opts *Options, columns int) *Writer {
	w := &Writer{opts: opts, columns: columns}
	switch opts.Format {
	case Text:
		for _, c := range []byte("\\\b\f\n\r\t\v" + opts.Delimiter) {
			w.special[c] = true
		}
	case CSV:
		for _, c := range []byte("\n\r" + opts.Delimiter + opts.Quote) {
			w.special[c] = true
		}
	}
	return w
}

// Header appends what precedes the rows.
func (w *Writer) Header(dst []byte, names []string) []byte {
	if w.opts.Format == Binary {
		dst = append(dst, Signature...)
		return append(dst, 0, 0, 0, 0, 0, 0, 0, 0)
	}
	if w.opts.Header == NoHeader {
		return dst
	}
	for i, n := range names {
		dst = w.Start(dst, i)
		at := len(dst)
		dst = w.value(append(dst, n...), at, i, false)
	}
	return w.EndRow(dst)
}

// Trailer appends what follows the rows.
func (w *Writer) Trailer(dst []byte) []byte {
	if w.opts.Format == Binary {
		return append(dst, 0xff, 0xff)
	}
	return dst
}

// Start appends what stands before column i; the value's form follows.
func (w *Writer) Start(dst []byte, i int) []byte {
	if w.opts.Format == Binary {
		if i == 0 {
			dst = binary.BigEndian.AppendUint16(dst, uint16(w.columns))
		}
		return append(dst, 0, 0, 0, 0)
	}
	if i > 0 {
		dst = append(dst, w.opts.Delimiter[0])
	}
	return dst
}

// Null appends NULL after Start.
func (w *Writer) Null(dst []byte) []byte {
	if w.opts.Format == Binary {
		binary.BigEndian.PutUint32(dst[len(dst)-4:], 0xffffffff)
		return dst
	}
	return append(dst, w.opts.Null...)
}

// Value finishes the value whose form is dst[at:].
func (w *Writer) Value(dst []byte, at, i int) []byte {
	if w.opts.Format == Binary {
		binary.BigEndian.PutUint32(dst[at-4:], uint32(len(dst)-at))
		return dst
	}
	force := i < len(w.opts.ForceQuote) && w.opts.ForceQuote[i]
	return w.value(dst, at, i, force)
}

func (w *Writer) value(dst []byte, at, i int, force bool) []byte {
	need := force
	if !need {
		for _, c := range dst[at:] {
			if w.special[c] {
				need = true
				break
			}
		}
	}
	if w.opts.Format == Text {
		if !need {
			return dst
		}
		w.tmp = append(w.tmp[:0], dst[at:]...)
		return w.escapeText(dst[:at])
	}
	v := string(dst[at:])
	if !need && v == w.opts.Null {
		need = true
	}
	if !need && w.columns == 1 && v == `\.` {
		need = true
	}
	if !need {
		return dst
	}
	quote, escape := w.opts.Quote[0], w.opts.Escape[0]
	dst = append(dst[:at], quote)
	for k := 0; k < len(v); k++ {
		if v[k] == quote || v[k] == escape {
			dst = append(dst, escape)
		}
		dst = append(dst, v[k])
	}
	return append(dst, quote)
}

func (w *Writer) escapeText(dst []byte) []byte {
	const plain, letters = "\b\f\n\r\t\v", "bfnrtv"
	for _, c := range w.tmp {
		if !w.special[c] {
			dst = append(dst, c)
			continue
		}
		if k := strings.IndexByte(plain, c); k >= 0 && c != w.opts.Delimiter[0] {
			dst = append(dst, '\\', letters[k])
			continue
		} else if k >= 0 && c == '\t' && w.opts.Delimiter == "\t" {
			dst = append(dst, '\\', 't')
			continue
		}
		dst = append(dst, '\\', c)
	}
	return dst
}

// EndRow ends a row.
func (w *Writer) EndRow(dst []byte) []byte {
	if w.opts.Format == Binary {
		if w.columns == 0 {
			dst = binary.BigEndian.AppendUint16(dst, 0)
		}
		return dst
	}
	return append(dst, '\n')
}
