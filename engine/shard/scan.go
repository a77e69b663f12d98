package shard

import (
	"context"
	"time"
	"unsafe"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/engine/storage"
	"ostraka/engine/txn"
	"ostraka/expr"
	"ostraka/sqltypes/pgerror"
)

// scanner implements engine.Scanner: it merges a snapshot's keys with a
// transaction's own writes and decodes rows into vectors.
type scanner struct {
	ctx   context.Context
	sh    *Shard
	st    *state
	cat   *catalog.Catalog
	at    time.Time
	tbl   *storage.Table
	ix    *storage.Index // nil: the table's own keys
	spec  engine.ScanSpec
	spans []byteSpan
	span  int // the next one to open

	it  *storage.Iter // over the keys scanned
	buf *txn.Buffer   // own writes, nil if none
	cur *txn.Cursor   // over buf in the current span
	// rows fetches the rows of index entries; snap is closed with the scanner.
	rows *storage.Iter
	snap *storage.Snapshot

	dec     *storage.VecDecoder
	refs    []engine.RowRef
	keys    []byte // arena of RowRef keys
	rowKey  []byte
	reads   *txn.Serial
	started bool // the iterator is at an entry that was delivered
	done    bool
	size    int
	skipped int  // rows that Keep left out
	late    bool // Keep is asked when rows are decoded: all go to memory

	// While the transaction waits for a lock, see park.go.
	txn    *Txn              // nil: not watched
	from   *storage.Snapshot // what the iterators read
	busy   bool              // in Next
	mark   []byte            // key that the iterator was at
	broken error

	use *storage.Usage
	by  *storage.Index // the index that it counts for; nil: a sequential scan

	mem memScan
}

type byteSpan struct{ lo, hi []byte }

// First batches are small: most scans are.
const (
	firstBatch  = 32
	secondBatch = 256
)

// Scan implements engine.View.
func (v *view) Scan(ctx context.Context, spec engine.ScanSpec) (engine.Scanner, error) {
	if err := v.alive(); err != nil {
		return nil, err
	}
	var buf *txn.Buffer
	if v.buf != nil && v.buf.Len() > 0 {
		buf = v.buf.Copy()
	}
	s, err := newScanner(ctx, v, buf, spec)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func newScanner(ctx context.Context, v *view, buf *txn.Buffer, spec engine.ScanSpec) (*scanner, error) {
	tbl, err := storage.TableOf(v.cat, spec.Rel)
	if err != nil {
		return nil, err
	}
	s := &scanner{ctx: ctx, cat: v.cat, sh: v.s, st: v.st, at: v.at, tbl: tbl, spec: spec, buf: buf, reads: v.reads}
	if spec.Index != nil && !spec.Index.Clustered {
		if s.ix = tbl.IndexOf(spec.Index); s.ix == nil {
			return nil, pgerror.New(pgerror.InternalError, "relation %q has no index %q", spec.Rel.Name, spec.Index.Name)
		}
	}
	if s.spans, err = byteSpans(tbl, s.ix, spec.Spans); err != nil {
		return nil, err
	}
	switch {
	case spec.RowHint > 0:
		s.size = min(max(spec.RowHint, 1), expr.BatchSize)
	case spec.Spans == nil:
		s.size = expr.BatchSize
	default:
		s.size = firstBatch
	}
	if s.dec, err = tbl.NewVecDecoder(spec.Cols, s.size); err != nil {
		return nil, err
	}
	if !v.st.db.Acquire() {
		return nil, errSnapshotTooOld()
	}
	s.use = v.s.usage(tbl)
	if s.by = s.ix; s.by == nil && spec.Spans != nil {
		s.by = tbl.Key
	}
	s.use.Read(s.by, 1, 0)
	if len(s.spans) > 0 {
		if err = s.openIterators(v.snap); err != nil {
			s.Close()
			return nil, err
		}
	}
	if s.reads != nil {
		note := s.reads.Range
		if v.newest {
			note = s.reads.NewestRange
		}
		for _, sp := range s.spans {
			if err := note(string(sp.lo), string(sp.hi)); err != nil {
				s.Close()
				return nil, err
			}
		}
	}
	return s, nil
}

// byteSpans turns value spans into key ranges.
func byteSpans(tbl *storage.Table, ix *storage.Index, spans []engine.Span) ([]byteSpan, error) {
	x := ix
	if x == nil {
		x = tbl.Key
	}
	id := tbl.Rel.StorageID
	if ix != nil {
		id = ix.Ix.StorageID
	}
	lo, hi := storage.DataRange(id)
	if spans == nil {
		return []byteSpan{{lo, hi}}, nil
	}
	if x == nil {
		return nil, pgerror.New(pgerror.InternalError, "spans over relation %q, which has no key", tbl.Rel.Name)
	}
	out := make([]byteSpan, 0, len(spans))
	for i := range spans {
		sp := &spans[i]
		if len(sp.Lo) > x.NumCols() || len(sp.Hi) > x.NumCols() {
			return nil, pgerror.New(pgerror.InternalError, "span of too many columns for index %q", x.Ix.Name)
		}
		b := byteSpan{lo, hi}
		if len(sp.Lo) > 0 {
			b.lo = x.AppendKey(nil, sp.Lo)
			if !sp.LoInc {
				b.lo = storage.PrefixEnd(b.lo)
			}
		}
		if len(sp.Hi) > 0 {
			b.hi = x.AppendKey(nil, sp.Hi)
			if sp.HiInc {
				b.hi = storage.PrefixEnd(b.hi)
			}
		}
		if string(b.lo) < string(b.hi) {
			out = append(out, b)
		}
	}
	return out, nil
}

func (s *scanner) Refs() []engine.RowRef { return s.refs }

func (s *scanner) Close() {
	if s.st == nil {
		return
	}
	if s.txn != nil {
		s.txn.unwatch(s)
	}
	if s.it != nil {
		_ = s.it.Close() // errors were seen by Next
	}
	if s.rows != nil {
		_ = s.rows.Close()
	}
	if s.snap != nil {
		_ = s.snap.Close()
	}
	s.mem.close()
	_ = s.st.db.Release()
	s.st, s.it, s.rows, s.snap, s.done = nil, nil, nil, nil, true
}

// Next implements engine.Scanner.
func (s *scanner) Next(b *expr.Batch) (int, error) {
	if s.st == nil || s.done {
		b.N, b.Sel, b.Cols = 0, nil, nil
		return 0, nil
	}
	if err := s.ctx.Err(); err != nil {
		return 0, context.Cause(s.ctx)
	}
	if err := s.sh.usable(s.st, s.at); err != nil {
		return 0, err
	}
	if s.broken != nil {
		return 0, s.fault(s.broken)
	}
	s.busy = true
	defer func() { s.busy = false }()
	if s.started {
		if err := s.grow(); err != nil {
			return 0, err
		}
	}
	var n int
	for {
		if n, vecs := s.fromMemory(); n > 0 {
			s.started = true
			s.use.Read(s.by, 0, int64(n))
			if s.spec.Keep != nil {
				if n = s.sift(n, vecs); n == 0 {
					if s.ctx.Err() != nil {
						return 0, context.Cause(s.ctx)
					}
					continue
				}
			}
			b.N, b.Sel, b.Cols = n, nil, vecs
			return n, nil
		}
		s.late = s.spec.Keep != nil && s.mem.scan != nil && s.mem.scan.Building()
		s.dec.Reset()
		s.refs = s.refs[:0]
		before := s.skipped
		var err error
		if n, err = s.fill(); err != nil {
			return 0, err
		}
		s.toMemory(n, s.skipped-before)
		if s.late {
			s.started = true
			n = s.sift(n, s.dec.Finish())
			if n == 0 && s.ctx.Err() != nil {
				return 0, context.Cause(s.ctx)
			}
		}
		if n > 0 || s.done {
			break
		}
	}
	if s.buf != nil {
		if err := s.buf.Err(); err != nil {
			return 0, spillError(err)
		}
	}
	s.started = true
	if n > 0 {
		s.use.Read(s.by, 0, int64(n))
	}
	b.N, b.Sel, b.Cols = n, nil, s.dec.Finish()
	return n, nil
}

// grow makes later batches bigger than the first.
func (s *scanner) grow() error {
	var next int
	switch {
	case s.size < secondBatch:
		next = secondBatch
	case s.size < expr.BatchSize:
		next = expr.BatchSize
	default:
		return nil
	}
	dec, err := s.tbl.NewVecDecoder(s.spec.Cols, next)
	if err != nil {
		return err
	}
	s.dec, s.size = dec, next
	return nil
}

// openSpan positions the iterator and the cursor at the start of the next span.
func (s *scanner) openSpan() bool {
	if s.span >= len(s.spans) {
		return false
	}
	sp := s.spanAt(s.span)
	s.span++
	if len(s.spans) > 1 {
		s.it.SetBounds(sp.lo, sp.hi)
	}
	if s.spec.Reverse {
		s.it.Last()
	} else {
		s.it.First()
	}
	if s.buf != nil {
		s.cur = s.buf.Cursor(string(sp.lo), string(sp.hi), s.spec.Reverse)
	}
	return true
}

// spanAt is the span that is read as number i.
func (s *scanner) spanAt(i int) byteSpan {
	if s.spec.Reverse {
		return s.spans[len(s.spans)-1-i]
	}
	return s.spans[i]
}

func (s *scanner) step() {
	if s.spec.Reverse {
		s.it.Prev()
	} else {
		s.it.Next()
	}
}

// fill decodes up to size rows.
func (s *scanner) fill() (n int, err error) {
	if !s.started && !s.openSpan() {
		s.done = true
		return 0, nil
	}
	for n < s.size {
		if s.cur != nil && s.cur.Valid() {
			if s.mem.scan != nil && !s.mem.reach(s.nextKey()) {
				return n, nil
			}
			more, err := s.merged(n)
			if err != nil {
				return n, err
			}
			n += more
			continue
		}
		if !s.it.Valid() {
			if err := s.it.Error(); err != nil {
				return n, s.fault(err)
			}
			if !s.openSpan() {
				s.done = true
				return n, nil
			}
			continue
		}
		if s.mem.scan != nil && !s.mem.reach(s.it.Key()) {
			return n, nil
		}
		val, err := s.it.ValueAndErr()
		if err != nil {
			return n, s.fault(err)
		}
		kept, err := s.emit(n, s.it.Key(), val, 0)
		if err != nil {
			return n, err
		}
		n += kept
		s.step()
	}
	return n, nil
}

func (s *scanner) fault(err error) error {
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	return storage.ReadError(err)
}

// merged delivers the next of the snapshot's and the own keys, 0 or 1 rows.
func (s *scanner) merged(n int) (int, error) {
	key := s.cur.Key()
	if s.it.Valid() {
		k := s.it.Key()
		switch {
		case string(k) == key:
			s.step() // the own write replaces it
		case string(k) < key != s.spec.Reverse:
			val, err := s.it.ValueAndErr()
			if err != nil {
				return 0, s.fault(err)
			}
			kept, err := s.emit(n, k, val, 0)
			if err != nil {
				return 0, err
			}
			s.step()
			return kept, nil
		}
	} else if err := s.it.Error(); err != nil {
		return 0, s.fault(err)
	}
	w := s.cur.Write()
	s.cur.Next()
	if w.Val == nil {
		return 0, nil
	}
	return s.emit(n, unsafe.Slice(unsafe.StringData(key), len(key)), w.Val, w.Seq)
}

// emit decodes the row of a key of the table or an entry of the index; it
// answers 0 when the row is left out.
func (s *scanner) emit(n int, key, val []byte, seq uint32) (int, error) {
	if s.ix != nil {
		var err error
		if s.rowKey, err = s.tbl.RowKeyOfEntry(s.rowKey[:0], key, val); err != nil {
			return 0, err
		}
		key = s.rowKey
		if val, seq, err = s.fetch(key); err != nil {
			return 0, err
		}
	}
	if s.spec.Keep != nil && !s.late {
		v, err := s.tbl.VarValue(val, s.spec.KeepAttr)
		if err != nil {
			return 0, err
		}
		if !s.spec.Keep(unsafe.String(unsafe.SliceData(v), len(v))) {
			if s.skipped++; s.skipped%1024 == 0 && s.ctx.Err() != nil {
				return 0, context.Cause(s.ctx)
			}
			return 0, nil
		}
	}
	if err := s.dec.Row(key, val, n); err != nil {
		return 0, err
	}
	if s.spec.Refs {
		xid, err := storage.XidOf(val)
		if err != nil {
			return 0, err
		}
		s.refs = append(s.refs, engine.RowRef{Key: s.keep(key), Xid: xid, Seq: seq})
	}
	return 1, nil
}

// fetch reads the row that an index entry points to.
func (s *scanner) fetch(key []byte) ([]byte, uint32, error) {
	if s.reads != nil {
		if err := s.reads.Point(string(key)); err != nil {
			return nil, 0, err
		}
	}
	if s.buf != nil {
		if w, ok := s.buf.Get(unsafe.String(unsafe.SliceData(key), len(key))); ok {
			if w.Val == nil {
				return nil, 0, pgerror.New(pgerror.IndexCorrupted, "index %q points to a deleted row", s.ix.Ix.Name)
			}
			return w.Val, w.Seq, nil
		}
	}
	if !s.rows.SeekGE(key) || string(s.rows.Key()) != string(key) {
		if err := s.rows.Error(); err != nil {
			return nil, 0, s.fault(err)
		}
		return nil, 0, pgerror.New(pgerror.IndexCorrupted, "index %q points to a row that does not exist", s.ix.Ix.Name)
	}
	val, err := s.rows.ValueAndErr()
	if err != nil {
		return nil, 0, s.fault(err)
	}
	return val, 0, nil
}

// keep copies a key into an arena that is never written again.
func (s *scanner) keep(key []byte) string {
	if cap(s.keys)-len(s.keys) < len(key) {
		s.keys = make([]byte, 0, max(len(key), min(s.size*32, 32<<10)))
	}
	at := len(s.keys)
	s.keys = append(s.keys, key...)
	return unsafe.String(&s.keys[at], len(key))
}
