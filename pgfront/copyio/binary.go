package copyio

import (
	"encoding/binary"
	"strconv"
)

func itoa(n int) string { return strconv.Itoa(n) }

// Signature starts every binary file.
const Signature = "PGCOPY\n\xff\r\n\x00"

type binaryReader struct {
	next    func() ([]byte, error)
	columns []string
	buf     []byte
	pos     int
	eof     bool
	started bool
	ended   bool
	row     int
	fields  []Field
}

// need makes n bytes available at pos.
func (r *binaryReader) need(n int) (bool, error) {
	for len(r.buf)-r.pos < n {
		if r.eof {
			return false, nil
		}
		chunk, err := r.next()
		if err != nil {
			return false, err
		}
		if chunk == nil {
			r.eof = true
			continue
		}
		r.buf = append(r.buf, chunk...)
	}
	return true, nil
}

func (r *binaryReader) take(n int) []byte {
	b := r.buf[r.pos : r.pos+n]
	r.pos += n
	return b
}

func unexpectedEOF() error { return badFormat("unexpected EOF in COPY data") }

func (r *binaryReader) header() error {
	ok, err := r.need(len(Signature))
	if err != nil {
		return err
	}
	if !ok || string(r.take(len(Signature))) != Signature {
		return badFormat("COPY file signature not recognized")
	}
	if ok, err = r.need(4); err != nil {
		return err
	} else if !ok {
		return badFormat("invalid COPY file header (missing flags)")
	}
	flags := binary.BigEndian.Uint32(r.take(4))
	if flags&(1<<16) != 0 {
		return badFormat("invalid COPY file header (WITH OIDS)")
	}
	if flags&0xffff0000 != 0 {
		return badFormat("unrecognized critical flags in COPY file header")
	}
	if ok, err = r.need(4); err != nil {
		return err
	} else if !ok {
		return badFormat("invalid COPY file header (missing length)")
	}
	n := int(int32(binary.BigEndian.Uint32(r.take(4))))
	if n < 0 {
		return badFormat("invalid COPY file header (missing length)")
	}
	if ok, err = r.need(n); err != nil {
		return err
	} else if !ok {
		return badFormat("invalid COPY file header (wrong length)")
	}
	r.take(n)
	return nil
}

func (r *binaryReader) Row() ([]Field, bool, error) {
	if r.ended {
		return nil, false, nil
	}
	if !r.started {
		r.started = true
		if err := r.header(); err != nil {
			return nil, false, err
		}
	}
	r.row++
	// The fields of the previous row are no longer used.
	if r.pos > 0 {
		n := copy(r.buf, r.buf[r.pos:])
		r.buf, r.pos = r.buf[:n], 0
	}
	ok, err := r.need(2)
	if err != nil {
		return nil, false, err
	}
	if !ok {
		if len(r.buf) > r.pos {
			return nil, false, unexpectedEOF()
		}
		r.ended = true
		return nil, false, nil
	}
	count := int(int16(binary.BigEndian.Uint16(r.take(2))))
	if count == -1 {
		r.ended = true
		if ok, err := r.need(1); err != nil {
			return nil, false, err
		} else if ok {
			return nil, false, badFormat("received copy data after EOF marker")
		}
		return nil, false, nil
	}
	if count != len(r.columns) {
		return nil, false, badFormat("row field count is %d, expected %d", count, len(r.columns))
	}
	if cap(r.fields) < count {
		r.fields = make([]Field, count)
	}
	r.fields = r.fields[:count]
	type span struct{ start, n int }
	spans := make([]span, count)
	for i := range count {
		if ok, err := r.need(4); err != nil {
			return nil, false, err
		} else if !ok {
			return nil, false, unexpectedEOF()
		}
		n := int(int32(binary.BigEndian.Uint32(r.take(4))))
		if n == -1 {
			spans[i].n = -1
			continue
		}
		if n < 0 || n > MaxLine {
			return nil, false, badFormat("invalid field size")
		}
		if ok, err := r.need(n); err != nil {
			return nil, false, err
		} else if !ok {
			return nil, false, unexpectedEOF()
		}
		spans[i] = span{r.pos, n}
		r.take(n)
	}
	for i, sp := range spans {
		r.fields[i] = Field{Null: true}
		if sp.n >= 0 {
			r.fields[i] = Field{Raw: r.buf[sp.start : sp.start+sp.n]}
		}
	}
	return r.fields, true, nil
}

func (r *binaryReader) Line() int { return r.row }

func (r *binaryReader) Where(column int) string {
	w := ", line " + itoa(r.row)
	if column >= 0 && column < len(r.columns) {
		w += ", column " + r.columns[column]
	}
	return w
}
