package storage

import (
	"encoding/binary"
	"math"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

// A row (docs/formats/rows.md):
//
//	xid 8 | layout 2 | null bitmap | fixed area | ends of variable values | their bytes
//
// All numbers are little endian. The top bit of the layout word says that ends
// are 4 bytes wide, else 2.
const (
	rowHeader  = 10
	wideEnds   = 1 << 15
	maxLayouts = wideEnds - 1
)

// Scale bytes of a numeric slot beyond plain scales.
const (
	scaleMax = 253
	// scaleFar: the slot's 8 bytes are offset and length of 12 bytes: value and scale.
	scaleFar = 254
	// scaleWide: they are offset and length of the wide form.
	scaleWide = 255
)

// layout is a compiled catalog.Layout.
type layout struct {
	version  uint16
	slots    []slot
	byAttr   []int16 // slot by attribute number - 1, -1 none
	fixedEnd int     // from the start of the row
	nvar     int
}

// slot is where an attribute is.
type slot struct {
	attr     int16
	class    byte
	off      int // fixed classes: from the start of the row; ClassVar: ordinal
	nullByte int
	nullMask byte
}

func classWidth(c byte) int {
	switch c {
	case catalog.ClassInt1:
		return 1
	case catalog.ClassInt2:
		return 2
	case catalog.ClassInt4, catalog.ClassUint4, catalog.ClassFloat4:
		return 4
	case catalog.ClassInt8, catalog.ClassFloat8:
		return 8
	case catalog.ClassNumeric:
		return 9
	case catalog.ClassInterval:
		return 16
	case catalog.ClassTimeTZ:
		return 12
	}
	return 0
}

func newLayout(version uint16, l *catalog.Layout) (*layout, error) {
	if version > maxLayouts || len(l.Attrs) != len(l.Classes) {
		return nil, errCorrupt("layout %d of %d attributes", version, len(l.Attrs))
	}
	out := &layout{version: version}
	off := rowHeader + (len(l.Attrs)+7)/8
	for i, a := range l.Attrs {
		s := slot{attr: a, class: l.Classes[i], nullByte: rowHeader + i/8, nullMask: 1 << (i % 8)}
		if w := classWidth(s.class); w > 0 {
			s.off = off
			off += w
		} else {
			s.off = out.nvar
			out.nvar++
		}
		for int(a) > len(out.byAttr) {
			out.byAttr = append(out.byAttr, -1)
		}
		out.byAttr[a-1] = int16(i)
		out.slots = append(out.slots, s)
	}
	out.fixedEnd = off
	return out, nil
}

func (l *layout) slot(attr int16) *slot {
	if int(attr) > len(l.byAttr) || l.byAttr[attr-1] < 0 {
		return nil
	}
	return &l.slots[l.byAttr[attr-1]]
}

// AppendRow appends the encoding of a row (one Datum per attribute) under the
// newest layout.
func (t *Table) AppendRow(dst []byte, xid uint64, row []sqltypes.Datum) []byte {
	le := binary.LittleEndian
	at := len(dst)
	if len(t.layouts) == 0 { // a table without columns
		return le.AppendUint16(le.AppendUint64(dst, xid), 0)
	}
	l := t.layouts[len(t.layouts)-1]
	varBytes := 0
	for i := range l.slots {
		if d := &row[l.slots[i].attr-1]; !d.Null {
			varBytes += len(d.S)
			if l.slots[i].class == catalog.ClassNumeric && uint32(d.Aux) > scaleMax {
				varBytes += 12
			}
		}
	}
	word, width := l.version, 2
	if varBytes > math.MaxUint16 {
		word, width = word|wideEnds, 4
	}
	fixed := at + l.fixedEnd + width*l.nvar
	if cap(dst) < fixed+varBytes {
		dst = append(make([]byte, 0, fixed+varBytes), dst...)
	}
	dst = le.AppendUint16(le.AppendUint64(dst, xid), word)
	n := len(dst)
	dst = dst[:fixed]
	clear(dst[n:])
	b := dst[at:] // the row so far; stays valid, dst has the capacity
	far := false
	for i := range l.slots {
		s := &l.slots[i]
		d := &row[s.attr-1]
		if d.Null {
			b[s.nullByte] |= s.nullMask
			if s.class != catalog.ClassVar {
				continue
			}
		}
		switch s.class {
		case catalog.ClassInt4, catalog.ClassUint4:
			le.PutUint32(b[s.off:], uint32(d.I))
		case catalog.ClassInt8, catalog.ClassFloat8:
			le.PutUint64(b[s.off:], uint64(d.I))
		case catalog.ClassInt1:
			b[s.off] = byte(d.I)
		case catalog.ClassInt2:
			le.PutUint16(b[s.off:], uint16(d.I))
		case catalog.ClassFloat4:
			le.PutUint32(b[s.off:], math.Float32bits(float32(d.Float())))
		case catalog.ClassNumeric:
			if d.S != "" || uint32(d.Aux) > scaleMax {
				far = true
				continue
			}
			le.PutUint64(b[s.off:], uint64(d.I))
			b[s.off+8] = byte(d.Aux)
		case catalog.ClassInterval:
			le.PutUint64(b[s.off:], uint64(d.I))
			copy(b[s.off+8:s.off+16], d.S)
		case catalog.ClassTimeTZ:
			le.PutUint64(b[s.off:], uint64(d.I))
			le.PutUint32(b[s.off+8:], uint32(d.Aux))
		case catalog.ClassVar:
			if !d.Null {
				dst = append(dst, d.S...)
			}
			if end := len(dst) - fixed; width == 2 {
				le.PutUint16(b[l.fixedEnd+2*s.off:], uint16(end))
			} else {
				le.PutUint32(b[l.fixedEnd+4*s.off:], uint32(end))
			}
		}
	}
	if far {
		dst = l.appendFarNumerics(dst, at, row)
	}
	return dst
}

// appendFarNumerics writes numeric values that do not fit their slots behind the
// variable values.
func (l *layout) appendFarNumerics(dst []byte, at int, row []sqltypes.Datum) []byte {
	le := binary.LittleEndian
	for i := range l.slots {
		s := &l.slots[i]
		d := &row[s.attr-1]
		if s.class != catalog.ClassNumeric || d.Null || d.S == "" && uint32(d.Aux) <= scaleMax {
			continue
		}
		from, scale := len(dst), byte(scaleWide)
		if d.S == "" {
			scale = scaleFar
			dst = le.AppendUint64(dst, uint64(d.I))
			dst = le.AppendUint32(dst, uint32(d.Aux))
		} else {
			dst = append(dst, d.S...)
		}
		b := dst[at:]
		le.PutUint64(b[s.off:], uint64(from-at)|uint64(len(dst)-from)<<32)
		b[s.off+8] = scale
	}
	return dst
}

// XidOf is the writer of an encoded row.
func XidOf(val []byte) (uint64, error) {
	if len(val) < rowHeader {
		return 0, errCorrupt("row of %d bytes", len(val))
	}
	return binary.LittleEndian.Uint64(val), nil
}

// rowLayout returns the layout a row was written under and the width of its ends.
func (t *Table) rowLayout(val []byte) (l *layout, width int, err error) {
	if len(val) < rowHeader {
		return nil, 0, errCorrupt("row of %d bytes", len(val))
	}
	word := binary.LittleEndian.Uint16(val[8:])
	width = 2
	if word&wideEnds != 0 {
		width, word = 4, word&^wideEnds
	}
	if len(val) == rowHeader { // of a time when the table had no columns: every layout has a byte of nulls
		return emptyLayout, width, nil
	}
	if int(word) >= len(t.layouts) {
		return nil, 0, errCorrupt("row of layout %d, table %q has %d", word, t.Rel.Name, len(t.layouts))
	}
	l = t.layouts[word]
	if len(val) < l.fixedEnd+width*l.nvar {
		return nil, 0, errCorrupt("row of %d bytes, layout needs %d", len(val), l.fixedEnd+width*l.nvar)
	}
	return l, width, nil
}

var emptyLayout = &layout{fixedEnd: rowHeader}

// varRange is the place of variable value number i.
func (l *layout) varRange(val []byte, width, i int) (from, to int, err error) {
	base := l.fixedEnd + width*l.nvar
	at := l.fixedEnd + width*i
	if width == 2 {
		to = int(binary.LittleEndian.Uint16(val[at:]))
		if i > 0 {
			from = int(binary.LittleEndian.Uint16(val[at-2:]))
		}
	} else {
		to = int(binary.LittleEndian.Uint32(val[at:]))
		if i > 0 {
			from = int(binary.LittleEndian.Uint32(val[at-4:]))
		}
	}
	from, to = from+base, to+base
	if from > to || to > len(val) {
		return 0, 0, errCorrupt("row of %d bytes, value at %d to %d", len(val), from, to)
	}
	return from, to, nil
}

// DecodeRow decodes attributes cols (nil: all) of a row into dst. The key serves
// ctid. All text of the row becomes one allocation.
func (t *Table) DecodeRow(key, val []byte, cols []int16, dst []sqltypes.Datum) error {
	l, width, err := t.rowLayout(val)
	if err != nil {
		return err
	}
	var text string
	base := l.fixedEnd + width*l.nvar
	n := len(cols)
	if cols == nil {
		n = len(t.attrs)
	}
	for i := 0; i < n; i++ {
		num := int16(i + 1)
		if cols != nil {
			num = cols[i]
		}
		if num < 0 {
			dst[i] = t.systemColumn(num, key, val)
			continue
		}
		s := l.slot(num)
		if s == nil || t.attrs[num-1].typ == nil {
			dst[i] = t.attrs[num-1].missing
			continue
		}
		if val[s.nullByte]&s.nullMask != 0 {
			dst[i] = sqltypes.Null
			continue
		}
		if s.class == catalog.ClassVar {
			from, to, err := l.varRange(val, width, s.off)
			if err != nil {
				return err
			}
			if text == "" && from < to {
				text = string(val[base:])
			}
			if from == to {
				dst[i] = sqltypes.Datum{}
			} else {
				dst[i] = sqltypes.Datum{S: text[from-base : to-base]}
			}
			continue
		}
		if dst[i], err = decodeFixed(val, s); err != nil {
			return err
		}
	}
	return nil
}

func decodeFixed(val []byte, s *slot) (d sqltypes.Datum, err error) {
	le := binary.LittleEndian
	switch s.class {
	case catalog.ClassInt4:
		d.I = int64(int32(le.Uint32(val[s.off:])))
	case catalog.ClassUint4:
		d.I = int64(le.Uint32(val[s.off:]))
	case catalog.ClassInt8, catalog.ClassFloat8:
		d.I = int64(le.Uint64(val[s.off:]))
	case catalog.ClassInt1:
		d.I = int64(val[s.off])
	case catalog.ClassInt2:
		d.I = int64(int16(le.Uint16(val[s.off:])))
	case catalog.ClassFloat4:
		d = sqltypes.Float(float64(math.Float32frombits(le.Uint32(val[s.off:]))))
	case catalog.ClassNumeric:
		return decodeNumeric(val, s.off)
	case catalog.ClassInterval:
		d.I = int64(le.Uint64(val[s.off:]))
		if le.Uint64(val[s.off+8:]) != 0 {
			d.S = string(val[s.off+8 : s.off+16])
		}
	case catalog.ClassTimeTZ:
		d.I = int64(le.Uint64(val[s.off:]))
		d.Aux = int32(le.Uint32(val[s.off+8:]))
	default:
		return d, errCorrupt("unknown class %q", s.class)
	}
	return d, nil
}

func decodeNumeric(val []byte, off int) (d sqltypes.Datum, err error) {
	le := binary.LittleEndian
	v, scale := le.Uint64(val[off:]), val[off+8]
	if scale <= scaleMax {
		return sqltypes.Datum{I: int64(v), Aux: int32(scale)}, nil
	}
	from, n := int(uint32(v)), int(v>>32)
	if from+n > len(val) || n == 0 {
		return d, errCorrupt("numeric at %d of %d bytes", from, n)
	}
	if scale == scaleWide {
		return sqltypes.Datum{S: string(val[from : from+n])}, nil
	}
	if n != 12 {
		return d, errCorrupt("numeric of %d bytes", n)
	}
	return sqltypes.Datum{I: int64(le.Uint64(val[from:])), Aux: int32(le.Uint32(val[from+8:]))}, nil
}

// System columns (negative attribute numbers, as engine.AttrCtid …).
const (
	attrCtid     = -1
	attrXmin     = -2
	attrTableOID = -6
)

func (t *Table) systemColumn(num int16, key, val []byte) sqltypes.Datum {
	switch num {
	case attrCtid:
		return sqltypes.Int(t.ctid(key))
	case attrXmin:
		return sqltypes.Int(int64(uint32(binary.LittleEndian.Uint64(val))))
	case attrTableOID:
		return sqltypes.Int(int64(t.Rel.OID))
	}
	return sqltypes.Int(0) // cmin, cmax, xmax
}

// ctid makes a tuple id (block << 16 | offset, as type tid has it) out of a row's
// key: of a hidden row id, 128 to a block; otherwise a hash, stable as long as
// the key is.
func (t *Table) ctid(key []byte) int64 {
	if t.Key == nil {
		id := t.HiddenID(key) - 1
		return int64(id/128&0xffffffff)<<16 | int64(id%128+1)
	}
	h := uint64(14695981039346656037)
	for _, b := range key[min(len(t.Prefix), len(key)):] {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return int64(h>>40)<<16 | int64(h>>20&0xff+1)
}
