package exec

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/klauspost/compress/s2"

	"ostraka/expr"
	"ostraka/sqltypes"
)

// spillDir is the folder of one execution's temporary files, made on first use.
type spillDir struct {
	parent string
	dir    string
	n      int
}

func (d *spillDir) create() (*spillFile, error) {
	if d.dir == "" {
		dir, err := os.MkdirTemp(d.parent, "ostraka-spill-")
		if err != nil {
			return nil, fmt.Errorf("exec: creating the folder for temporary files: %w", err)
		}
		d.dir = dir
	}
	d.n++
	f, err := os.Create(fmt.Sprintf("%s/%d", d.dir, d.n))
	if err != nil {
		return nil, fmt.Errorf("exec: creating a temporary file: %w", err)
	}
	return &spillFile{f: f, w: s2.NewWriter(f, s2.WriterConcurrency(1), s2.WriterBlockSize(256<<10))}, nil
}

func (d *spillDir) remove() {
	if d.dir != "" {
		_ = os.RemoveAll(d.dir)
		d.dir = ""
	}
}

// spillFile is a sequence of batches on disk, compressed; written once, then
// read any number of times. Its layout is private to one execution:
//
//	batch: row count u32, column count u32, columns
//	column: present byte; kind byte; flags byte (1 nulls, 2 wide numeric); scale
//	i32; with nulls a bitmap; then per non-null value 8 bytes (integers, floats,
//	scaled numerics), or uvarint length and bytes, or a whole Datum.
type spillFile struct {
	f    *os.File
	w    *s2.Writer
	buf  []byte
	rows int64
	size int64 // bytes on disk, after finish
}

// write appends the rows sel of the columns.
func (s *spillFile) write(cols []*expr.Vec, sel []uint16) error {
	b := binary.LittleEndian.AppendUint32(s.buf[:0], uint32(len(sel)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(cols)))
	for _, v := range cols {
		b = appendSpilled(b, v, sel)
	}
	s.buf = b
	s.rows += int64(len(sel))
	if _, err := s.w.Write(b); err != nil {
		return fmt.Errorf("exec: writing a temporary file: %w", err)
	}
	return nil
}

func appendSpilled(b []byte, v *expr.Vec, sel []uint16) []byte {
	if v == nil {
		return append(b, 0)
	}
	flags := byte(0)
	if v.Null != nil {
		flags |= 1
	}
	if v.Wide {
		flags |= 2
	}
	b = append(b, 1, byte(v.Kind), flags)
	b = binary.LittleEndian.AppendUint32(b, uint32(v.Scale))
	if v.Null != nil {
		at := len(b)
		b = append(b, make([]byte, (len(sel)+7)/8)...)
		for k, i := range sel {
			if v.Null.Get(int(i)) {
				b[at+k>>3] |= 1 << (k & 7)
			}
		}
	}
	for _, i := range sel {
		if v.Null.Get(int(i)) {
			continue
		}
		switch {
		case v.Kind == sqltypes.KBytes:
			b = binary.AppendUvarint(b, uint64(len(v.Str[i])))
			b = append(b, v.Str[i]...)
		case v.Kind == sqltypes.KFloat:
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v.F64[i]))
		case v.Kind == sqltypes.KDatum || v.Wide:
			d := v.Dat[i]
			b = binary.LittleEndian.AppendUint64(b, uint64(d.I))
			b = binary.LittleEndian.AppendUint32(b, uint32(d.Aux))
			b = binary.AppendUvarint(b, uint64(len(d.S)))
			b = append(b, d.S...)
		default:
			b = binary.LittleEndian.AppendUint64(b, uint64(v.I64[i]))
		}
	}
	return b
}

// finish ends writing.
func (s *spillFile) finish() error {
	if err := s.w.Close(); err != nil {
		return fmt.Errorf("exec: writing a temporary file: %w", err)
	}
	if st, err := s.f.Stat(); err == nil {
		s.size = st.Size()
	}
	return nil
}

func (s *spillFile) remove() {
	name := s.f.Name()
	_ = s.f.Close()
	_ = os.Remove(name)
}

// spillReader reads a finished file from its beginning.
type spillReader struct {
	r   *bufio.Reader
	buf []byte
}

func (s *spillFile) reader() (*spillReader, error) {
	return &spillReader{r: bufio.NewReaderSize(s2.NewReader(io.NewSectionReader(s.f, 0, s.size)), 64<<10)}, nil
}

// read fills b with the next batch and returns its number of rows, 0 at the end.
func (r *spillReader) read(b *expr.Batch) (int, error) {
	var head [8]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		if errors.Is(err, io.EOF) {
			b.N = 0
			return 0, nil
		}
		return 0, spillReadError(err)
	}
	n, ncols := int(binary.LittleEndian.Uint32(head[:])), int(binary.LittleEndian.Uint32(head[4:]))
	if len(b.Cols) != ncols {
		b.Cols = make([]*expr.Vec, ncols)
	}
	b.N, b.Sel = n, nil
	for i := range b.Cols {
		if err := r.column(b, i, n); err != nil {
			return 0, spillReadError(err)
		}
	}
	return n, nil
}

func spillReadError(err error) error { return fmt.Errorf("exec: reading a temporary file: %w", err) }

func (r *spillReader) column(b *expr.Batch, i, n int) error {
	present, err := r.r.ReadByte()
	if err != nil {
		return err
	}
	if present == 0 {
		b.Cols[i] = nil
		return nil
	}
	var head [6]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return err
	}
	v := &expr.Vec{}
	v.Reset(sqltypes.Kind(head[0]))
	if b.Cols[i] != nil && v.Kind != sqltypes.KBytes && v.Kind != sqltypes.KDatum {
		v = b.Cols[i]
		v.Reset(sqltypes.Kind(head[0]))
	}
	b.Cols[i] = v
	v.Ensure(max(n, expr.BatchSize))
	v.Scale = int32(binary.LittleEndian.Uint32(head[2:]))
	if head[1]&2 != 0 {
		v.Widen()
	}
	var nulls []byte
	if head[1]&1 != 0 {
		if nulls, err = r.bytes((n + 7) / 8); err != nil {
			return err
		}
		nulls = append([]byte(nil), nulls...)
	}
	for k := range n {
		if nulls != nil && nulls[k>>3]&(1<<(k&7)) != 0 {
			v.SetNull(k)
			continue
		}
		switch {
		case v.Kind == sqltypes.KBytes:
			if v.Str[k], err = r.str(); err != nil {
				return err
			}
		case v.Kind == sqltypes.KDatum || v.Wide:
			p, err := r.bytes(12)
			if err != nil {
				return err
			}
			d := sqltypes.Datum{I: int64(binary.LittleEndian.Uint64(p)), Aux: int32(binary.LittleEndian.Uint32(p[8:]))}
			if d.S, err = r.str(); err != nil {
				return err
			}
			v.Dat[k] = d
		default:
			p, err := r.bytes(8)
			if err != nil {
				return err
			}
			u := binary.LittleEndian.Uint64(p)
			if v.Kind == sqltypes.KFloat {
				v.F64[k] = math.Float64frombits(u)
			} else {
				v.I64[k] = int64(u)
			}
		}
	}
	return nil
}

func (r *spillReader) bytes(n int) ([]byte, error) {
	if cap(r.buf) < n {
		r.buf = make([]byte, n)
	}
	p := r.buf[:n]
	_, err := io.ReadFull(r.r, p)
	return p, err
}

func (r *spillReader) str() (string, error) {
	n, err := binary.ReadUvarint(r.r)
	if err != nil || n == 0 {
		return "", err
	}
	p := make([]byte, n)
	_, err = io.ReadFull(r.r, p)
	return string(p), err
}
