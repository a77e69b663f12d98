package shard

import (
	"slices"
	"unsafe"

	"ostraka/engine/colcache"
	"ostraka/expr"
	"ostraka/sqltypes"
)

// memScan is a scanner's use of the columns that earlier scans have left in memory.
// A batch comes either from there or from the store; what was read from the store
// is left there in turn.
type memScan struct {
	scan *colcache.Scan // nil: not in use
	off  bool           // this scan cannot use it
	rows int            // read from the store

	pos    []byte // all rows up to this key were delivered
	placed bool   // pos is known
	behind bool   // the iterator is still before rows that memory delivered
	stop   string // rows are read up to and including this key; "": no bound
	ended  bool   // there are no more of them
	last   []byte // key of the newest row that was read
}

// Skipped is how many rows were passed over because no row of their chunk fulfils
// the conditions of the scan.
func (s *scanner) Skipped() int64 {
	if s.mem.scan == nil {
		return 0
	}
	return s.mem.scan.Skipped()
}

func (m *memScan) close() {
	if m.scan != nil {
		m.scan.Close()
		m.scan = nil
	}
}

// columnar reports whether the scan asks for nothing but values of columns, in key
// order, of a table as it is committed.
func (s *scanner) columnar() bool {
	sp := &s.spec
	if s.ix != nil || sp.Refs || sp.Reverse || sp.Steady || len(s.spans) != 1 {
		return false
	}
	for i, a := range sp.Cols {
		if a < 0 || sp.Keep != nil && (s.dec.Finish()[i].Kind != sqltypes.KBytes || !s.tbl.Rel.Columns[a-1].NotNull) {
			return false
		}
	}
	if sp.Keep != nil && !slices.Contains(sp.Cols, sp.KeepAttr) {
		return false
	}
	cat := s.st.cats.Database(s.cat.DB)
	return cat != nil && cat.Relation(sp.Rel.OID) == sp.Rel
}

// begin joins the memory of the table once the scan has turned out to be large.
func (m *memScan) begin(s *scanner) {
	if m.off || m.scan != nil || s.size < expr.BatchSize {
		return
	}
	if m.off = !s.st.cols.Knows(s.tbl.Rel.StorageID) || !s.columnar(); m.off {
		return
	}
	attrs := make([]colcache.Attr, len(s.spec.Cols))
	for i, a := range s.spec.Cols {
		attrs[i] = colcache.Attr{Num: a, Typ: s.tbl.Rel.Columns[a-1].Type.OID}
	}
	m.scan = s.st.cols.Scan(s.tbl.Rel.StorageID, s.st.applied.Position.Index, attrs)
	m.off = m.scan == nil
	// No row has the prefix of its table as its key, but one may have the lower bound
	// of a span: the first batch of a span is read, and places the rest.
	if !m.off && !s.started && s.spec.Spans == nil {
		m.pos, m.placed = append(m.pos, s.spans[0].lo...), true
	}
}

// fromMemory answers the next batch from memory, 0 rows when it must be read.
func (s *scanner) fromMemory() (int, []*expr.Vec) {
	m := &s.mem
	m.begin(s)
	m.stop, m.ended = "", false
	if m.scan == nil || s.done || !m.placed {
		return 0, nil
	}
	if !s.started && !s.openSpan() {
		return 0, nil
	}
	s.started = true
	own := ""
	if s.cur != nil && s.cur.Valid() {
		own = s.cur.Key()
	}
	step, vecs := m.scan.Next(m.pos, s.spans[0].hi, own, s.spec.Conds)
	if step.Hi != "" {
		m.pos, m.behind = append(m.pos[:0], step.Hi...), true
	}
	if step.N > 0 {
		return step.N, vecs
	}
	m.stop = step.Stop
	if m.behind {
		m.behind = false
		s.it.SeekGE(append(m.pos[:len(m.pos):len(m.pos)], 0))
	}
	return 0, nil
}

// nextKey is the smaller of the snapshot's and the own next key.
func (s *scanner) nextKey() []byte {
	key := s.cur.Key()
	if s.it.Valid() && string(s.it.Key()) < key {
		return s.it.Key()
	}
	return unsafe.Slice(unsafe.StringData(key), len(key))
}

// reach notes the key of the next row; false when it is beyond what is to be read.
func (m *memScan) reach(key []byte) bool {
	if m.stop != "" && string(key) > m.stop {
		m.ended = true
		return false
	}
	m.last = append(m.last[:0], key...)
	return true
}

// sift leaves out rows that were decoded before Keep was asked; the vectors are of
// byte strings without NULLs, and the scanner's own.
func (s *scanner) sift(n int, vecs []*expr.Vec) int {
	at := slices.Index(s.spec.Cols, s.spec.KeepAttr)
	kept := 0
	for i, v := range vecs[at].Str[:n] {
		if !s.spec.Keep(v) {
			continue
		}
		if kept < i {
			for _, vec := range vecs {
				vec.Str[kept] = vec.Str[i]
			}
		}
		kept++
	}
	return kept
}

// toMemory leaves what was read, n rows in the decoder and some that Keep left out.
func (s *scanner) toMemory(n, out int) {
	m := &s.mem
	if m.scan == nil {
		before := m.rows
		m.rows += n + out
		if s.st.cols.Worth(before, m.rows) && s.columnar() {
			s.st.cols.Remember(s.tbl.Rel.StorageID)
		}
		return
	}
	hi := m.last
	switch {
	case m.ended:
		hi = append(m.last[:0], m.stop...)
	case n == 0:
		return
	}
	if m.placed && s.buf == nil && (m.ended || n == s.size) {
		m.scan.Keep(m.pos, hi, n, s.dec.Finish())
	}
	m.pos, m.placed = append(m.pos[:0], hi...), true
}
