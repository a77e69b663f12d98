package store

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"ostraka/tsdb/chunk"
)

// Range is a range of times, both ends included.
type Range struct{ Lo, Hi int64 }

// All is every time.
var All = Range{math.MinInt64, math.MaxInt64}

// Snapshot is an unchanging state of the store. It must be closed.
type Snapshot struct {
	st          *Store
	db          *pebble.Snapshot
	mem, frozen *memtable
	seq         uint64
}

// Snapshot takes a snapshot of what is visible now.
func (st *Store) Snapshot() *Snapshot {
	st.mu.RLock()
	if len(st.mem.stage.records) == 0 {
		defer st.mu.RUnlock()
	} else {
		st.mu.RUnlock()
		st.mu.Lock()
		defer st.mu.Unlock()
		st.drain()
	}
	return &Snapshot{st: st, db: st.db.NewSnapshot(), mem: st.mem, frozen: st.frozen, seq: st.visible.Load()}
}

// Close releases the snapshot.
func (s *Snapshot) Close() {
	if s.db != nil {
		s.db.Close()
		s.db = nil
	}
}

// Seq is Store.Seq at the time of the snapshot.
func (s *Snapshot) Seq() uint64 { return s.seq }

// Store is the store the snapshot is of.
func (s *Snapshot) Store() *Store { return s.st }

// ScanStats count what a scan did.
type ScanStats struct {
	Chunks  int   // read
	Skipped int   // seen and left out by their time range
	Rows    int64 // handed out
	Merged  int   // chunks that overlapped others or rows in memory
	Memory  int64 // rows that came from memory
}

// Scan iterates the rows of some series in a time range: window by window, in it
// series by series (in the order of their numbers), in it by time. So the rows of
// a single series come in the order of time.
type Scan struct {
	ctx    context.Context
	snap   *Snapshot
	t      *Table
	rng    Range
	want   chunk.Want
	only   []Range            // nil: any
	series map[uint32]*Series // nil: all of the table
	sids   []uint32           // sorted
	all    bool

	it     *pebble.Iterator
	valid  bool
	cur    chunkID
	heads  map[uint32]*headRows
	cells  []cell // with rows in memory, in order
	Stats  ScanStats
	err    error
	groups [][]item // rest of the current cell
	of     *Series
	raw    []byte
	items  []item
	buf    []chunk.Rows
	out    chunk.Rows
	key    []byte
}

type cell struct {
	window int64
	sid    uint32
}

func (c cell) compare(o cell) int {
	if d := cmp.Compare(c.window, o.window); d != 0 {
		return d
	}
	return cmp.Compare(c.sid, o.sid)
}

// headRows are a series' rows in memory, sorted and without repetition, marks of
// deletion included.
type headRows struct {
	views []view
	rows  *chunk.Rows
}

// item is a chunk or the rows in memory of one cell.
type item struct {
	raw        []byte
	mem        *chunk.Rows
	start, end int64
	rank       uint64
	deletes    bool
}

// Scan starts a scan. series nil: all of the table; they must be the table's. want selects fields, nil all.
func (s *Snapshot) Scan(ctx context.Context, t *Table, series []*Series, rng Range, want chunk.Want) *Scan {
	sc := &Scan{ctx: ctx, snap: s, t: t, rng: rng, want: want, all: series == nil}
	if rng.Lo > rng.Hi || series != nil && len(series) == 0 {
		return sc
	}
	if series == nil {
		series = t.Select(nil)
	}
	sc.sids = make([]uint32, len(series))
	if len(series) > 1 {
		sc.series = make(map[uint32]*Series, len(series))
	}
	for i, x := range series {
		sc.sids[i] = x.SID
		if sc.series != nil {
			sc.series[x.SID] = x
		}
	}
	if len(series) == 1 {
		sc.of = series[0]
	}
	slices.Sort(sc.sids)
	sc.captureHeads()
	lo, hi := windowKey(t.ID, windowOf(rng.Lo, t.Window)), prefixEnd(u64key([]byte{'C'}, t.ID))
	if w := windowOf(rng.Hi, t.Window); w <= math.MaxInt64-t.Window {
		hi = windowKey(t.ID, w+t.Window)
	}
	if sc.it, sc.err = s.db.NewIter(&pebble.IterOptions{LowerBound: lo, UpperBound: hi}); sc.err != nil {
		sc.err = named("scan", sc.err)
		return sc
	}
	if sc.all {
		sc.valid = sc.it.First()
	} else {
		sc.key = cellKey(sc.key, t.ID, windowOf(rng.Lo, t.Window), sc.sids[0])
		sc.valid = sc.it.SeekGE(sc.key)
	}
	sc.seek()
	return sc
}

// Only has the scan leave out chunks that have no time in one of the ranges, which are
// ascending and disjoint. It is called before Next; rows of other times still come.
func (sc *Scan) Only(in []Range) { sc.only = in }

// captureHeads takes what is in memory of the scan's series.
func (sc *Scan) captureHeads() {
	s := sc.snap
	s.st.mu.RLock()
	for _, sid := range sc.sids {
		for _, m := range []*memtable{s.frozen, s.mem} {
			v, ok := m.view(sid, s.seq)
			if !ok || v.max < sc.rng.Lo || v.min > sc.rng.Hi {
				continue
			}
			if sc.heads == nil {
				sc.heads = map[uint32]*headRows{}
			}
			h := sc.heads[sid]
			if h == nil {
				h = &headRows{}
				sc.heads[sid] = h
			}
			h.views = append(h.views, v)
		}
	}
	s.st.mu.RUnlock()
	for sid, h := range sc.heads {
		for _, v := range h.views {
			last := int64(0)
			for i := 0; i < v.n; i++ {
				t := v.rows.Time[i]
				if t < sc.rng.Lo || t > sc.rng.Hi {
					continue
				}
				w := windowOf(t, sc.t.Window)
				if len(sc.cells) > 0 && w == last && sc.cells[len(sc.cells)-1].sid == sid {
					continue
				}
				last = w
				sc.cells = append(sc.cells, cell{w, sid})
			}
		}
	}
	slices.SortFunc(sc.cells, cell.compare)
	sc.cells = slices.Compact(sc.cells)
}

// sorted makes the rows in memory of a series one ascending list.
func (h *headRows) sorted() *chunk.Rows {
	if h.rows != nil {
		return h.rows
	}
	var src []source
	for i := range h.views {
		v := &h.views[i]
		r := &v.rows
		if v.sorted {
			cut := &chunk.Rows{}
			slice(cut, r, 0, v.n)
			r = cut
		} else {
			r = sortRows(r, v.n, true)
		}
		src = append(src, source{rows: r, rank: uint64(i)})
	}
	if len(src) == 1 {
		h.rows = src[0].rows
	} else {
		h.rows = mergeSources(src, true)
	}
	return h.rows
}

// seek moves the iterator to the next chunk of a wanted series and reads its name.
func (sc *Scan) seek() {
	for sc.valid && sc.err == nil {
		if sc.cur, sc.err = parseChunkKey(sc.it.Key()); sc.err != nil {
			return
		}
		if sc.all {
			return
		}
		i, found := slices.BinarySearch(sc.sids, sc.cur.sid)
		if found {
			return
		}
		w := sc.cur.window
		if i == len(sc.sids) {
			if w > math.MaxInt64-sc.t.Window {
				sc.valid = false
				return
			}
			w, i = w+sc.t.Window, 0
		}
		sc.key = cellKey(sc.key, sc.t.ID, w, sc.sids[i])
		sc.valid = sc.it.SeekGE(sc.key)
	}
	if !sc.valid && sc.err == nil && sc.it != nil {
		sc.err = named("scan", sc.it.Error())
	}
}

// Next moves to the next run of rows; false at the end or on an error (Err).
func (sc *Scan) Next() bool {
	for sc.err == nil {
		if len(sc.groups) > 0 {
			g := sc.groups[0]
			sc.groups = sc.groups[1:]
			if sc.load(g) && len(sc.out.Time) > 0 {
				sc.Stats.Rows += int64(len(sc.out.Time))
				return true
			}
			continue
		}
		if sc.ctx.Err() != nil {
			sc.err = context.Cause(sc.ctx)
			return false
		}
		if !sc.nextCell() {
			return false
		}
	}
	return false
}

// nextCell gathers the items of the next cell and groups those that overlap.
func (sc *Scan) nextCell() bool {
	disk := sc.valid
	if !disk && len(sc.cells) == 0 {
		return false
	}
	at := cell{sc.cur.window, sc.cur.sid}
	mem := len(sc.cells) > 0
	if mem {
		switch c := sc.cells[0]; {
		case !disk || c.compare(at) < 0:
			at, disk = c, false
			sc.cells = sc.cells[1:]
		case c == at:
			sc.cells = sc.cells[1:]
		default:
			mem = false
		}
	}
	if sc.series != nil {
		sc.of = sc.series[at.sid]
	}
	sc.items, sc.raw = sc.items[:0], sc.raw[:0]
	if disk && !sc.chunks(at) {
		return false
	}
	if mem {
		sc.memory(at)
	}
	if sc.of == nil { // made after the list of series was taken
		return true
	}
	sc.group()
	return true
}

// chunks collects the cell's chunks and moves the iterator behind them.
func (sc *Scan) chunks(at cell) bool {
	for sc.valid && sc.cur.window == at.window && sc.cur.sid == at.sid {
		if sc.cur.start > sc.rng.Hi {
			sc.Stats.Skipped++
		} else {
			v, err := sc.it.ValueAndErr()
			if err != nil {
				sc.err = named("scan", err)
				return false
			}
			h, err := chunk.ReadHeader(v)
			if err != nil {
				sc.err = sc.damaged(err)
				return false
			}
			if h.End < sc.rng.Lo || sc.only != nil && !meets(sc.only, h.Start, h.End) {
				sc.Stats.Skipped++
			} else {
				sc.Stats.Chunks++
				from := len(sc.raw)
				if from+len(v) > cap(sc.raw) { // earlier items keep the old array
					sc.raw = make([]byte, 0, max(3*len(v), 2*cap(sc.raw)))
					from = 0
				}
				sc.raw = append(sc.raw, v...)
				sc.items = append(sc.items, item{raw: sc.raw[from:len(sc.raw):len(sc.raw)], start: h.Start, end: h.End, rank: sc.cur.gen, deletes: h.Deletes})
			}
		}
		sc.valid = sc.it.Next()
		if sc.valid {
			if sc.cur, sc.err = parseChunkKey(sc.it.Key()); sc.err != nil {
				return false
			}
		}
	}
	sc.seek()
	return sc.err == nil
}

func (sc *Scan) memory(at cell) {
	r := sc.heads[at.sid].sorted()
	rng := Range{max(sc.rng.Lo, at.window), sc.rng.Hi}
	if at.window <= math.MaxInt64-sc.t.Window {
		rng.Hi = min(rng.Hi, at.window+sc.t.Window-1)
	}
	from, to := clip(r.Time, rng)
	if from == to {
		return
	}
	m := &chunk.Rows{}
	slice(m, r, from, to)
	sc.Stats.Memory += int64(to - from)
	it := item{mem: m, start: m.Time[0], end: m.Time[to-from-1], rank: math.MaxUint64, deletes: m.Del != nil}
	i, _ := slices.BinarySearchFunc(sc.items, it, func(a, b item) int { return cmp.Compare(a.start, b.start) })
	sc.items = slices.Insert(sc.items, i, it)
}

// group puts items whose times overlap together.
func (sc *Scan) group() {
	sc.groups = sc.groups[:0]
	for i := 0; i < len(sc.items); {
		end := sc.items[i].end
		k := i + 1
		for k < len(sc.items) && sc.items[k].start <= end {
			end = max(end, sc.items[k].end)
			k++
		}
		if k-i > 1 {
			sc.Stats.Merged += k - i
		}
		sc.groups = append(sc.groups, sc.items[i:k])
		i = k
	}
}

// load reads the rows of a group.
func (sc *Scan) load(g []item) bool {
	for len(sc.buf) < len(g) {
		sc.buf = append(sc.buf, chunk.Rows{})
	}
	if len(g) == 1 {
		r := g[0].mem
		if r == nil {
			r = &sc.buf[0]
			if err := chunk.Decode(g[0].raw, sc.want, r); err != nil {
				sc.err = sc.damaged(err)
				return false
			}
		}
		if r.Del != nil {
			r = sortRows(r, len(r.Time), false)
		}
		from, to := clip(r.Time, sc.rng)
		slice(&sc.out, r, from, to)
		return true
	}
	src := make([]source, len(g))
	for i := range g {
		r := g[i].mem
		if r == nil {
			r = &sc.buf[i]
			if err := chunk.Decode(g[i].raw, sc.want, r); err != nil {
				sc.err = sc.damaged(err)
				return false
			}
		}
		src[i] = source{rows: r, rank: g[i].rank}
	}
	r := mergeSources(src, false)
	from, to := clip(r.Time, sc.rng)
	slice(&sc.out, r, from, to)
	return true
}

func (sc *Scan) damaged(err error) error {
	return named("series "+tagText(sc.of), errDamaged(err))
}

// Series is the series of the current rows.
func (sc *Scan) Series() *Series { return sc.of }

// Rows are the current rows, ascending, one per time, without deletions; valid
// until the next call of Next.
func (sc *Scan) Rows() *chunk.Rows { return &sc.out }

// Err is the error that ended the scan.
func (sc *Scan) Err() error { return sc.err }

// Close releases the iterator.
func (sc *Scan) Close() {
	if sc.it != nil {
		if err := sc.it.Close(); err != nil && sc.err == nil {
			sc.err = named("scan", err)
		}
		sc.it = nil
	}
	sc.valid, sc.cells, sc.groups = false, nil, nil
}

// Get reads the row of one time; nil when there is none. The rows hold one row.
func (s *Snapshot) Get(ctx context.Context, x *Series, t int64) (*chunk.Rows, error) {
	sc := s.Scan(ctx, x.Table, []*Series{x}, Range{t, t}, nil)
	defer sc.Close()
	if sc.Next() {
		return sc.Rows(), nil
	}
	return nil, sc.Err()
}
