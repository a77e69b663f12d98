package store

import (
	"encoding/binary"

	"ostraka/sqltypes"
	"ostraka/tsdb/chunk"
)

// BatchMark is a place in a batch to which it can be cut back.
type BatchMark struct {
	defs, defined, buf, rows int
	sid                      uint32
	time                     int64
}

// Mark returns the end of the batch.
func (b *Batch) Mark() BatchMark {
	return BatchMark{len(b.defs), len(b.defined), len(b.buf), b.rows, b.sid, b.time}
}

// Truncate takes back what came after the mark.
func (b *Batch) Truncate(m BatchMark) {
	b.defs, b.defined, b.buf = b.defs[:m.defs], b.defined[:m.defined], b.buf[:m.buf]
	b.rows, b.sid, b.time, b.err = m.rows, m.sid, m.time, nil
}

// Op is one row of a batch: written, or with Delete removed. Vals are only valid
// during the call.
type Op struct {
	Series *Series
	Time   int64
	Delete bool
	Vals   []sqltypes.Datum
}

// Before reports that m is in front of o.
func (m BatchMark) Before(o BatchMark) bool { return m.buf < o.buf }

// Each calls f with all rows, in the order of writing.
func (b *Batch) Each(f func(Op) error) error { return b.Between(BatchMark{}, b.Mark(), f) }

// Between is Each for the rows between two marks.
func (b *Batch) Between(from, to BatchMark, f func(Op) error) error {
	a := applier{st: b.st}
	buf, sid, t := b.buf[from.buf:to.buf], from.sid, from.time
	for len(buf) > 0 {
		op := Op{Delete: buf[0] == opDelete}
		buf = buf[1:]
		ds, k := binary.Varint(buf)
		if k <= 0 {
			return errShortRecord
		}
		buf = buf[k:]
		dt, k := binary.Varint(buf)
		if k <= 0 {
			return errShortRecord
		}
		buf = buf[k:]
		sid, t = uint32(int64(sid)+ds), t+dt
		b.st.mu.RLock()
		op.Series, op.Time = b.st.seriesByID(sid), t
		b.st.mu.RUnlock()
		if op.Series == nil { // its table was dropped
			continue
		}
		if !op.Delete {
			var err error
			if buf, err = a.values(buf, op.Series.Table.Fields()); err != nil {
				return err
			}
			op.Vals = a.vals
		}
		if err := f(op); err != nil {
			return err
		}
	}
	return nil
}

// values reads a row's values into a.vals.
func (a *applier) values(b []byte, fields []Field) ([]byte, error) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n > uint64(len(fields)) {
		return nil, errShortRecord
	}
	b = b[k:]
	bits := (int(n) + 7) / 8
	if len(b) < bits {
		return nil, errShortRecord
	}
	null := b[:bits]
	b = b[bits:]
	vals := a.vals[:0]
	for i := range int(n) {
		if null[i/8]&(1<<(i&7)) != 0 {
			vals = append(vals, sqltypes.Null)
			continue
		}
		switch fields[i].Kind {
		case chunk.Float:
			if len(b) < 8 {
				return nil, errShortRecord
			}
			vals = append(vals, sqltypes.Datum{I: int64(binary.LittleEndian.Uint64(b))})
			b = b[8:]
		case chunk.Int:
			v, k := binary.Varint(b)
			if k <= 0 {
				return nil, errShortRecord
			}
			vals = append(vals, sqltypes.Datum{I: v})
			b = b[k:]
		default:
			size, k := binary.Uvarint(b)
			if k <= 0 || size > uint64(len(b)-k) {
				return nil, errShortRecord
			}
			vals = append(vals, sqltypes.Datum{S: string(b[k : k+int(size)])})
			b = b[k+int(size):]
		}
	}
	a.vals = vals
	return b, nil
}
