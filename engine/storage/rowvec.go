package storage

import (
	"encoding/binary"
	"math"
	"unsafe"

	"ostraka/engine/catalog"
	"ostraka/expr"
	"ostraka/sqltypes"
)

// VecDecoder decodes rows into column vectors. It belongs to one goroutine.
type VecDecoder struct {
	t     *Table
	cols  []int16
	vecs  []expr.Vec
	ptrs  []*expr.Vec
	plans []*vecPlan // by layout version
	size  int        // rows the vectors have room for
	nulls []expr.Bitmap
	// arena takes the text of rows. It is never written again once full: strings
	// that someone keeps stay as they are.
	arena []byte
}

// vecPlan decodes the wanted attributes of rows of one layout.
type vecPlan struct {
	l       *layout
	ops     []vecOp
	missing []int // outputs that rows of this layout do not have
	// nulls has the bits of the wanted attributes in the first 8 bytes of the null
	// bitmap; 0 when some are beyond, or rows may be too short to look.
	nulls uint64
}

type vecOp struct {
	slot
	out int
}

const arenaChunk = 32 << 10

// fewRows: decoders for so few rows begin with a small arena.
const fewRows = 32

var oneByte = func() (s [256]string) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for i := range s {
		s[i] = string(all[i : i+1])
	}
	return s
}()

// NewVecDecoder makes a decoder for the attributes cols and up to size rows at a
// time. It answers an error when the relation has no such attribute.
func (t *Table) NewVecDecoder(cols []int16, size int) (*VecDecoder, error) {
	d := &VecDecoder{t: t, cols: cols, size: size, vecs: make([]expr.Vec, len(cols)), ptrs: make([]*expr.Vec, len(cols)),
		plans: make([]*vecPlan, len(t.layouts)+1), nulls: make([]expr.Bitmap, len(cols))}
	for i, num := range cols {
		v := &d.vecs[i]
		d.ptrs[i] = v
		switch {
		case num < 0:
			v.Kind = sqltypes.KInt
		case num == 0 || int(num) > len(t.attrs):
			return nil, errCorrupt("relation %q has no attribute %d", t.Rel.Name, num)
		case t.attrs[num-1].typ != nil:
			v.Kind = t.attrs[num-1].typ.Kind
		}
		switch v.Kind {
		case sqltypes.KInt, sqltypes.KNumeric:
			v.I64 = make([]int64, size)
		case sqltypes.KFloat:
			v.F64 = make([]float64, size)
		case sqltypes.KBytes:
			v.Str = make([]string, size)
		case sqltypes.KDatum:
			v.Dat = make([]sqltypes.Datum, size)
		}
	}
	return d, nil
}

// Size is the number of rows the vectors have room for.
func (d *VecDecoder) Size() int { return d.size }

// Reset starts a new batch.
func (d *VecDecoder) Reset() {
	for i := range d.vecs {
		v := &d.vecs[i]
		if v.Null != nil {
			clear(v.Null)
			d.nulls[i], v.Null = v.Null, nil
		}
		if v.Kind == sqltypes.KNumeric {
			v.Wide, v.Scale = false, -1
			if a := d.cols[i]; a > 0 && d.t.attrs[a-1].scale >= 0 {
				v.Scale = d.t.attrs[a-1].scale
			}
		}
	}
}

// Finish returns the vectors of the batch.
func (d *VecDecoder) Finish() []*expr.Vec {
	for i := range d.vecs {
		if v := &d.vecs[i]; v.Kind == sqltypes.KNumeric && v.Scale < 0 {
			v.Scale = 0
		}
	}
	return d.ptrs
}

func (d *VecDecoder) setNull(out, row int) {
	v := &d.vecs[out]
	if v.Null == nil {
		if d.nulls[out] != nil {
			v.Null, d.nulls[out] = d.nulls[out], nil
		} else {
			v.Null = make(expr.Bitmap, (d.size+63)/64)
		}
	}
	v.Null.Set(row)
	switch v.Kind { // a defined value under the NULL
	case sqltypes.KInt, sqltypes.KNumeric:
		v.I64[row] = 0
		if v.Wide {
			v.Dat[row] = sqltypes.Null
		}
	case sqltypes.KFloat:
		v.F64[row] = 0
	case sqltypes.KBytes:
		v.Str[row] = ""
	case sqltypes.KDatum:
		v.Dat[row] = sqltypes.Null
	}
}

// planOf is the place of a layout's plan: the last one is for rows without columns.
func (d *VecDecoder) planOf(l *layout) int {
	if l == emptyLayout {
		return len(d.plans) - 1
	}
	return int(l.version)
}

func (d *VecDecoder) plan(l *layout) *vecPlan {
	p := &vecPlan{l: l}
	far := false
	for i, num := range d.cols {
		if num < 0 {
			continue
		}
		s := l.slot(num)
		if s == nil || d.t.attrs[num-1].typ == nil {
			p.missing = append(p.missing, i)
			continue
		}
		p.ops = append(p.ops, vecOp{*s, i})
		if at := s.nullByte - rowHeader; at < 8 && l.fixedEnd >= rowHeader+8 {
			p.nulls |= uint64(s.nullMask) << (8 * at)
		} else {
			far = true
		}
	}
	if far {
		p.nulls = 0
	}
	d.plans[d.planOf(l)] = p
	return p
}

// Row decodes a row into place row of the vectors.
func (d *VecDecoder) Row(key, val []byte, row int) error {
	l, width, err := d.t.rowLayout(val)
	if err != nil {
		return err
	}
	p := d.plans[d.planOf(l)]
	if p == nil {
		p = d.plan(l)
	}
	le := binary.LittleEndian
	full := p.nulls != 0 && le.Uint64(val[rowHeader:])&p.nulls == 0
	for i := range p.ops {
		op := &p.ops[i]
		v := &d.vecs[op.out]
		if !full && val[op.nullByte]&op.nullMask != 0 {
			d.setNull(op.out, row)
			continue
		}
		switch op.class {
		case catalog.ClassInt4:
			v.I64[row] = int64(int32(le.Uint32(val[op.off:])))
		case catalog.ClassInt8:
			v.I64[row] = int64(le.Uint64(val[op.off:]))
		case catalog.ClassNumeric:
			scale := int32(val[op.off+8])
			if scale == v.Scale && !v.Wide {
				v.I64[row] = int64(le.Uint64(val[op.off:]))
				continue
			}
			if err := d.numeric(v, val, op.off, row); err != nil {
				return err
			}
		case catalog.ClassVar:
			from, to, err := l.varRange(val, width, op.off)
			if err != nil {
				return err
			}
			switch n := to - from; n {
			case 0:
				v.Str[row] = ""
			case 1:
				v.Str[row] = oneByte[val[from]]
			default:
				v.Str[row] = d.text(val[from:to])
			}
		case catalog.ClassFloat8:
			v.F64[row] = math.Float64frombits(le.Uint64(val[op.off:]))
		case catalog.ClassUint4:
			v.I64[row] = int64(le.Uint32(val[op.off:]))
		case catalog.ClassInt1:
			v.I64[row] = int64(val[op.off])
		case catalog.ClassInt2:
			v.I64[row] = int64(int16(le.Uint16(val[op.off:])))
		case catalog.ClassFloat4:
			v.F64[row] = float64(math.Float32frombits(le.Uint32(val[op.off:])))
		default:
			x, err := decodeFixed(val, &op.slot)
			if err != nil {
				return err
			}
			v.Dat[row] = x
		}
	}
	for _, out := range p.missing {
		d.setDatum(out, row, d.t.attrs[d.cols[out]-1].missing)
	}
	for i, num := range d.cols {
		if num < 0 {
			d.setDatum(i, row, d.t.systemColumn(num, key, val))
		}
	}
	return nil
}

// numeric stores a value whose scale is not the vector's.
func (d *VecDecoder) numeric(v *expr.Vec, val []byte, off, row int) error {
	x, err := decodeNumeric(val, off)
	if err != nil {
		return err
	}
	storeNumeric(v, row, x)
	return nil
}

func storeNumeric(v *expr.Vec, row int, x sqltypes.Datum) {
	if !v.Wide {
		if x.S == "" && (v.Scale < 0 || v.Scale == x.Aux) {
			v.Scale = x.Aux
			v.I64[row] = x.I
			return
		}
		if v.Dat == nil {
			v.Dat = make([]sqltypes.Datum, len(v.I64))
		}
		for i := 0; i < row; i++ {
			v.Dat[i] = sqltypes.Datum{I: v.I64[i], Aux: max(v.Scale, 0)}
			if v.Null.Get(i) {
				v.Dat[i] = sqltypes.Null
			}
		}
		v.Wide = true
	}
	v.Dat[row] = x
}

func (d *VecDecoder) setDatum(out, row int, x sqltypes.Datum) {
	if x.Null {
		d.setNull(out, row)
		return
	}
	v := &d.vecs[out]
	switch v.Kind {
	case sqltypes.KInt:
		v.I64[row] = x.I
	case sqltypes.KFloat:
		v.F64[row] = x.Float()
	case sqltypes.KNumeric:
		storeNumeric(v, row, x)
	case sqltypes.KBytes:
		v.Str[row] = x.S
	default:
		v.Dat[row] = x
	}
}

// VarValue is the value of a variable-length attribute in a row, without a copy;
// empty when it is NULL or the row does not have it.
func (t *Table) VarValue(val []byte, attr int16) ([]byte, error) {
	l, width, err := t.rowLayout(val)
	if err != nil {
		return nil, err
	}
	s := l.slot(attr)
	if s == nil || s.class != catalog.ClassVar || val[s.nullByte]&s.nullMask != 0 {
		return nil, nil
	}
	from, to, err := l.varRange(val, width, s.off)
	if err != nil {
		return nil, err
	}
	return val[from:to], nil
}

func (d *VecDecoder) text(b []byte) string {
	if cap(d.arena)-len(d.arena) < len(b) {
		chunk := arenaChunk
		if d.size <= fewRows {
			chunk = arenaChunk / 8
		}
		if len(b) > chunk/4 {
			return string(b)
		}
		d.arena = make([]byte, 0, chunk)
	}
	at := len(d.arena)
	d.arena = append(d.arena, b...)
	return unsafe.String(&d.arena[at], len(b))
}
