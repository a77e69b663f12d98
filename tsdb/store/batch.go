package store

import (
	"encoding/binary"
	"fmt"
	"math"

	"ostraka/sqltypes"
	"ostraka/tsdb/chunk"
)

// Batch collects rows to be written together. It holds them in the form in which
// they go to the log; what is in the log is also what is put into memory, so that
// replay and writing are one path.
type Batch struct {
	st      *Store
	defs    []byte // definitions of new series
	defined []*Series
	buf     []byte
	rows    int
	sid     uint32
	time    int64
	table   *Table
	fields  []Field
	err     error
	spans   []Span
}

// Span is the range of times that a batch has, or had, of one table.
type Span struct {
	Table *Table
	Range
}

// Spans has one entry per table that the batch writes to. What was cut back may
// still be in it.
func (b *Batch) Spans() []Span { return b.spans }

// note widens the table's span; consecutive rows of a batch are mostly of one table.
func (b *Batch) note(t *Table, at int64) {
	for i := len(b.spans) - 1; i >= 0; i-- {
		if s := &b.spans[i]; s.Table == t {
			s.Lo, s.Hi = min(s.Lo, at), max(s.Hi, at)
			return
		}
	}
	b.spans = append(b.spans, Span{t, Range{at, at}})
}

// Operations of a log record.
const (
	opSeries = 's' // uvarint sid, uvarint table, tags
	opRow    = 'r' // varint sid - last sid, varint time - last time, uvarint fields, null bits, values
	opDelete = 'd' // varint sid - last sid, varint time - last time
)

// NewBatch returns an empty batch.
func (st *Store) NewBatch() *Batch {
	if b, _ := st.batches.Get().(*Batch); b != nil {
		return b
	}
	return &Batch{st: st}
}

// keptBatch bounds the memory of a batch that is kept for another use.
const keptBatch = 4 << 20

// Release ends the use of a batch: memory that has been touched is cheaper than new.
func (b *Batch) Release() {
	if cap(b.buf)+cap(b.defs) > keptBatch {
		return
	}
	clear(b.defined)
	clear(b.spans)
	b.Reset()
	b.st.batches.Put(b)
}

// Rows is the number of rows put and deleted.
func (b *Batch) Rows() int { return b.rows }

// Size is the number of bytes that the batch will take in the log.
func (b *Batch) Size() int { return len(b.defs) + len(b.buf) }

// Reset empties the batch for another use.
func (b *Batch) Reset() {
	*b = Batch{st: b.st, defs: b.defs[:0], defined: b.defined[:0], buf: b.buf[:0], spans: b.spans[:0]}
}

func (b *Batch) place(op byte, s *Series, t int64) {
	if s.Table != b.table {
		b.table, b.fields = s.Table, s.Table.Fields()
	}
	if !s.logged.Load() {
		b.defined = append(b.defined, s)
		b.defs = append(b.defs, opSeries)
		b.defs = binary.AppendUvarint(b.defs, uint64(s.SID))
		b.defs = binary.AppendUvarint(b.defs, s.Table.ID)
		b.defs = append(b.defs, tagKey(s.Tags)...)
	}
	b.buf = append(b.buf, op)
	b.buf = binary.AppendVarint(b.buf, int64(s.SID)-int64(b.sid))
	b.buf = binary.AppendVarint(b.buf, t-b.time)
	b.note(s.Table, t)
	b.sid, b.time = s.SID, t
	b.rows++
}

// Put writes the row of a series and time, replacing the one that is there.
// vals[i] is the value of the table's i-th field; missing ones are NULL.
func (b *Batch) Put(s *Series, t int64, vals []sqltypes.Datum) {
	b.place(opRow, s, t)
	if len(vals) > len(b.fields) {
		b.err = fmt.Errorf("time series: %d values for %d fields", len(vals), len(b.fields))
		return
	}
	b.buf = binary.AppendUvarint(b.buf, uint64(len(vals)))
	at := len(b.buf)
	for range (len(vals) + 7) / 8 {
		b.buf = append(b.buf, 0)
	}
	for i := range vals {
		d := &vals[i]
		if d.Null {
			b.buf[at+i/8] |= 1 << (i & 7)
			continue
		}
		switch b.fields[i].Kind {
		case chunk.Float:
			b.buf = binary.LittleEndian.AppendUint64(b.buf, uint64(d.I))
		case chunk.Int:
			b.buf = binary.AppendVarint(b.buf, d.I)
		default:
			b.buf = binary.AppendUvarint(b.buf, uint64(len(d.S)))
			b.buf = append(b.buf, d.S...)
		}
	}
}

// Delete removes the row of a series and time, if there is one.
func (b *Batch) Delete(s *Series, t int64) { b.place(opDelete, s, t) }

// applier puts the operations of a record into memory.
type applier struct {
	st   *Store
	mem  *memtable
	seq  uint64
	vals []sqltypes.Datum
}

// apply runs a record's operations; st.mu is held for writing.
func (a *applier) apply(b []byte) error {
	sid, t := uint32(0), int64(0)
	for len(b) > 0 {
		op := b[0]
		b = b[1:]
		if op == opSeries {
			var err error
			if b, err = a.series(b); err != nil {
				return err
			}
			continue
		}
		if op != opRow && op != opDelete {
			return fmt.Errorf("time series: unknown operation %q in the log", op)
		}
		ds, k := binary.Varint(b)
		if k <= 0 {
			return errShortRecord
		}
		b = b[k:]
		dt, k := binary.Varint(b)
		if k <= 0 {
			return errShortRecord
		}
		b = b[k:]
		sid, t = uint32(int64(sid)+ds), t+dt
		s := a.st.seriesByID(sid)
		if op == opDelete {
			if s != nil && !s.Table.gone {
				a.mem.remove(s, t, a.seq)
			}
			continue
		}
		if s == nil {
			return fmt.Errorf("time series: the log has a row of series %d, which nothing defines", sid)
		}
		var err error
		if b, err = a.values(b, s.Table.fields); err != nil {
			return err
		}
		if !s.Table.gone {
			a.mem.put(s, t, a.seq, a.vals)
		}
	}
	return nil
}

func (a *applier) series(b []byte) ([]byte, error) {
	sid, k := binary.Uvarint(b)
	if k <= 0 || sid > math.MaxUint32 {
		return nil, errShortRecord
	}
	b = b[k:]
	id, k := binary.Uvarint(b)
	if k <= 0 {
		return nil, errShortRecord
	}
	b = b[k:]
	t := a.st.tables[id]
	if t == nil {
		return nil, fmt.Errorf("time series: the log defines a series of table %d, which is not there", id)
	}
	tags, rest, err := parseTagKey(b, t.Tags)
	if err != nil {
		return nil, err
	}
	if s := a.st.seriesByID(uint32(sid)); s == nil {
		s = &Series{SID: uint32(sid), Table: t, Tags: tags}
		s.logged.Store(true)
		t.mu.Lock()
		t.add(s, string(b[:len(b)-len(rest)]))
		t.mu.Unlock()
		a.st.enter(s)
	}
	return rest, nil
}
