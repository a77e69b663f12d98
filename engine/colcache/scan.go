package colcache

import (
	"slices"
	"strings"

	"ostraka/engine"
	"ostraka/expr"
	"ostraka/sqltypes"
)

// Attr is a column that a scan wants.
type Attr struct {
	Num int16
	Typ sqltypes.OID
}

// Scan is one scan's use of the cache. It belongs to one goroutine.
type Scan struct {
	t     *table
	seq   uint64
	attrs []Attr
	vecs  []expr.Vec
	ptrs  []*expr.Vec
	bufs  []buffers
	cols  []*Column // of the chunk being decoded

	building bool
	past     []byte   // of Next
	skipped  int64    // rows passed over
	given    bool     // building was given up; guarded by t.mu
	written  []string // keys changed since the scan began; guarded by t.mu
}

// Scan begins a scan of a table by a snapshot that is known to contain position
// seq; nil when nothing is known of the table and nothing is to be kept.
func (c *Cache) Scan(id, seq uint64, attrs []Attr) *Scan {
	t := c.table(id)
	if t == nil {
		return nil
	}
	s := &Scan{t: t, seq: seq, attrs: attrs, vecs: make([]expr.Vec, len(attrs)), ptrs: make([]*expr.Vec, len(attrs)),
		bufs: make([]buffers, len(attrs)), cols: make([]*Column, len(attrs))}
	for i := range s.vecs {
		s.ptrs[i] = &s.vecs[i]
	}
	t.used.Store(c.budget.tick.Add(1))
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.touched <= seq && !t.gone {
		s.building = true
		t.builders = append(t.builders, s)
	}
	return s
}

// Close ends the scan.
func (s *Scan) Close() {
	if !s.building {
		return
	}
	s.building = false
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	s.t.builders = slices.DeleteFunc(s.t.builders, func(x *Scan) bool { return x == s })
}

// Building reports that the scan may leave rows in memory.
func (s *Scan) Building() bool {
	if !s.building {
		return false
	}
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	return !s.given && !s.t.gone
}

// wrote notes a change. t.mu is held.
func (s *Scan) wrote(key []byte) {
	if s.given {
		return
	}
	if len(s.written) == maxWritten {
		s.given, s.written = true, nil
		return
	}
	s.written = append(s.written, string(key))
}

// Step is how a scan goes on: with N rows in vectors, or, when N is 0, with rows to
// be read up to and including key Stop ("": no bound). The rows up to Hi are then
// done with ("": as before).
type Step struct {
	N        int
	Hi, Stop string
}

// Next looks for the rows behind pos (all up to it were delivered), none of which
// may be at or behind end; own is the first key behind pos of which the caller has a
// version of its own, "" if there is none. Chunks without a row that fulfils all
// conds are passed over.
func (s *Scan) Next(pos, end []byte, own string, conds []engine.Cond) (Step, []*expr.Vec) {
	step := s.find(pos, end, own)
	for step.N > 0 && s.empty(conds) {
		s.skipped += int64(step.N)
		at := step.Hi
		s.past = append(s.past[:0], at...)
		if step = s.find(s.past, end, own); step.N == 0 {
			step.Hi = at
		}
	}
	if step.N == 0 {
		return step, nil
	}
	for i, c := range s.cols {
		c.decode(&s.vecs[i], &s.bufs[i], step.N)
	}
	s.t.cache.budget.served.Add(int64(step.N))
	return step, s.ptrs
}

// Skipped is how many rows Next has passed over.
func (s *Scan) Skipped() int64 { return s.skipped }

// empty reports whether the chunk just found cannot have a row that fulfils conds.
func (s *Scan) empty(conds []engine.Cond) bool {
	for i := range conds {
		x := &conds[i]
		for j, a := range s.attrs {
			if a.Num == x.Attr && s.cols[j].kind == sqltypes.KInt && s.cols[j].outside(x.Op, x.Values[0].I) {
				return true
			}
		}
	}
	return false
}

// find looks for the chunk behind pos and takes its columns.
func (s *Scan) find(pos, end []byte, own string) Step {
	t := s.t
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := t.after(pos); i < len(t.chunks); i++ {
		ch := t.chunks[i]
		if ch.dead {
			continue
		}
		if ch.hi >= string(end) {
			break
		}
		if ch.lo > string(pos) {
			return Step{Stop: ch.lo}
		}
		if ch.lo < string(pos) || ch.since > s.seq || own != "" && own <= ch.hi {
			return Step{Stop: ch.hi}
		}
		for j, a := range s.attrs {
			c := ch.column(a.Num)
			if c == nil || c.typ != a.Typ || c.kind == sqltypes.KDatum {
				return Step{Stop: ch.hi}
			}
			s.cols[j] = c
		}
		return Step{N: ch.n, Hi: ch.hi}
	}
	return Step{}
}

// Keep offers rows that were read: the n rows with lo < key ≤ hi, all of them.
func (s *Scan) Keep(lo, hi []byte, n int, vecs []*expr.Vec) {
	if !s.building || n == 0 {
		return
	}
	t := s.t
	have, ok := s.missing(lo, hi, n)
	if !ok {
		return
	}
	var bytes int64
	cols := make([]*Column, 0, len(have))
	for _, i := range have {
		c := encode(s.attrs[i].Num, s.attrs[i].Typ, vecs[i], n)
		bytes += c.bytes
		cols = append(cols, c)
	}
	bytes += int64(len(lo) + len(hi) + 128)
	if !t.cache.budget.reserve(bytes, t) {
		s.Close()
		return
	}
	if !s.put(lo, hi, n, cols, bytes) {
		t.cache.budget.release(bytes)
	}
}

// missing answers which attributes of the range are not there yet; false when there
// is nothing to keep, or the range cannot be kept.
func (s *Scan) missing(lo, hi []byte, n int) ([]int, bool) {
	t := s.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.given || t.gone {
		return nil, false
	}
	ch, ok := t.same(lo, hi, n)
	if !ok {
		return nil, false
	}
	var out []int
	for i, a := range s.attrs {
		if ch == nil {
			out = append(out, i)
		} else if c := ch.column(a.Num); c == nil || c.typ != a.Typ {
			out = append(out, i)
		}
	}
	return out, ch == nil || len(out) > 0
}

// same is the live chunk of exactly that range, nil if there is no chunk in it; not
// ok when live ones stand across. mu is held.
func (t *table) same(lo, hi []byte, n int) (*chunk, bool) {
	for i := t.after(lo); i < len(t.chunks) && t.chunks[i].lo < string(hi); i++ {
		ch := t.chunks[i]
		switch {
		case ch.dead:
		case ch.lo == string(lo) && ch.hi == string(hi) && ch.n == n:
			return ch, true
		default:
			return nil, false
		}
	}
	return nil, true
}

func (s *Scan) put(lo, hi []byte, n int, cols []*Column, bytes int64) bool {
	t := s.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.given || t.gone {
		return false
	}
	for _, k := range s.written {
		if k > string(lo) && k <= string(hi) {
			return false
		}
	}
	ch, ok := t.same(lo, hi, n)
	if !ok {
		return false
	}
	if ch != nil {
		old := ch.cols
		ch.cols = cols
		for _, c := range old {
			if ch.column(c.attr) == nil {
				ch.cols = append(ch.cols, c)
			} else {
				t.cache.budget.release(c.bytes)
				ch.bytes -= c.bytes
			}
		}
		ch.bytes += bytes
		return true
	}
	ch = &chunk{lo: strings.Clone(string(lo)), hi: strings.Clone(string(hi)), n: n, since: s.seq, cols: cols, bytes: bytes}
	from := t.after(lo)
	to := from
	for to < len(t.chunks) && t.chunks[to].lo < ch.hi { // dead ones: same has looked
		to++
		t.dead--
	}
	t.chunks = slices.Replace(t.chunks, from, to, ch)
	return true
}
