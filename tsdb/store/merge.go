package store

import (
	"slices"
	"sort"

	"ostraka/tsdb/chunk"
)

// sortRows orders rows by time and keeps the last of each time. With deletes the
// marks of deletion stay, else the rows they mark go.
func sortRows(r *chunk.Rows, n int, deletes bool) *chunk.Rows {
	at := make([]int32, n)
	for i := range at {
		at[i] = int32(i)
	}
	slices.SortStableFunc(at, func(a, b int32) int {
		switch ta, tb := r.Time[a], r.Time[b]; {
		case ta < tb:
			return -1
		case ta > tb:
			return 1
		}
		return 0
	})
	keep := at[:0]
	for i, p := range at {
		if i+1 < len(at) && r.Time[at[i+1]] == r.Time[p] {
			continue
		}
		keep = append(keep, p)
	}
	if !deletes && r.Del != nil {
		keep = slices.DeleteFunc(keep, func(p int32) bool { return r.Del[p] })
	}
	var out chunk.Rows
	gather(&out, r, keep)
	if !deletes {
		out.Del = nil
	}
	return &out
}

// gather makes out the rows at of r.
func gather(out, r *chunk.Rows, at []int32) {
	out.Time = pick(out.Time, r.Time, at)
	if r.Del != nil {
		out.Del = pick(out.Del, r.Del, at)
	} else {
		out.Del = nil
	}
	cols := out.Cols[:cap(out.Cols)]
	out.Cols = out.Cols[:0]
	for i := range r.Cols {
		c := &r.Cols[i]
		var o chunk.Column
		if i < len(cols) {
			o = cols[i]
		}
		o.ID, o.Kind = c.ID, c.Kind
		switch c.Kind {
		case chunk.Float:
			o.F64 = pick(o.F64, c.F64, at)
		case chunk.Int:
			o.I64 = pick(o.I64, c.I64, at)
		default:
			o.Str = pick(o.Str, c.Str, at)
		}
		if c.Null != nil {
			o.Null = pick(o.Null, c.Null, at)
		} else {
			o.Null = nil
		}
		out.Cols = append(out.Cols, o)
	}
}

func pick[T any](dst, src []T, at []int32) []T {
	if cap(dst) < len(at) {
		dst = make([]T, len(at))
	}
	dst = dst[:len(at)]
	for i, p := range at {
		dst[i] = src[p]
	}
	return dst
}

// slice makes out rows [from, to) of r without copying values.
func slice(out, r *chunk.Rows, from, to int) {
	out.Time = r.Time[from:to]
	out.Del = nil
	if r.Del != nil {
		out.Del = r.Del[from:to]
	}
	out.Cols = append(out.Cols[:0], r.Cols...)
	for i := range out.Cols {
		c := &out.Cols[i]
		switch c.Kind {
		case chunk.Float:
			c.F64 = c.F64[from:to]
		case chunk.Int:
			c.I64 = c.I64[from:to]
		default:
			c.Str = c.Str[from:to]
		}
		if c.Null != nil {
			c.Null = c.Null[from:to]
		}
	}
}

// clip is the part [from, to) of ascending times that lies in the range.
func clip(t []int64, r Range) (from, to int) {
	n := len(t)
	if n == 0 || t[0] >= r.Lo && t[n-1] <= r.Hi {
		return 0, n
	}
	from = sort.Search(n, func(i int) bool { return t[i] >= r.Lo })
	to = sort.Search(n, func(i int) bool { return t[i] > r.Hi })
	return from, max(from, to)
}

// source is one ascending list of rows; higher ranks win.
type source struct {
	rows *chunk.Rows
	rank uint64
	at   int
}

// mergeSources merges sources into one ascending list: of rows of one time the
// one with the highest rank stays. With deletes marks of deletion stay.
func mergeSources(src []source, deletes bool) *chunk.Rows {
	out := &chunk.Rows{}
	total := 0
	hasDel := false
	for i := range src {
		total += len(src[i].rows.Time)
		hasDel = hasDel || src[i].rows.Del != nil
		for k := range src[i].rows.Cols {
			c := &src[i].rows.Cols[k]
			if !slices.ContainsFunc(out.Cols, func(o chunk.Column) bool { return o.ID == c.ID }) {
				out.Cols = append(out.Cols, chunk.Column{ID: c.ID, Kind: c.Kind})
			}
		}
	}
	// pos[s][k]: the column of source s that is out's k-th.
	pos := make([][]int, len(src))
	for i := range src {
		pos[i] = make([]int, len(out.Cols))
		for k := range out.Cols {
			pos[i][k] = slices.IndexFunc(src[i].rows.Cols, func(c chunk.Column) bool { return c.ID == out.Cols[k].ID })
		}
	}
	for k := range out.Cols {
		c := &out.Cols[k]
		c.Null = make([]bool, 0, total)
		switch c.Kind {
		case chunk.Float:
			c.F64 = make([]float64, 0, total)
		case chunk.Int:
			c.I64 = make([]int64, 0, total)
		default:
			c.Str = make([]string, 0, total)
		}
	}
	out.Time = make([]int64, 0, total)
	if hasDel && deletes {
		out.Del = make([]bool, 0, total)
	}
	for {
		best := -1
		for i := range src {
			s := &src[i]
			if s.at >= len(s.rows.Time) {
				continue
			}
			if best < 0 {
				best = i
				continue
			}
			t, b := s.rows.Time[s.at], src[best].rows.Time[src[best].at]
			if t < b || t == b && s.rank > src[best].rank {
				best = i
			}
		}
		if best < 0 {
			break
		}
		s := &src[best]
		t, row := s.rows.Time[s.at], s.at
		for i := range src {
			if o := &src[i]; o.at < len(o.rows.Time) && o.rows.Time[o.at] == t {
				o.at++
			}
		}
		del := s.rows.Del != nil && s.rows.Del[row]
		if del && !deletes {
			continue
		}
		out.Time = append(out.Time, t)
		if out.Del != nil {
			out.Del = append(out.Del, del)
		}
		for k := range out.Cols {
			appendValue(&out.Cols[k], s.rows, pos[best][k], row)
		}
	}
	for k := range out.Cols {
		if c := &out.Cols[k]; !slices.Contains(c.Null, true) {
			c.Null = nil
		}
	}
	return out
}

func appendValue(o *chunk.Column, r *chunk.Rows, col, row int) {
	null := col < 0 || r.Cols[col].Null != nil && r.Cols[col].Null[row]
	o.Null = append(o.Null, null)
	switch o.Kind {
	case chunk.Float:
		v := 0.0
		if !null {
			v = r.Cols[col].F64[row]
		}
		o.F64 = append(o.F64, v)
	case chunk.Int:
		v := int64(0)
		if !null {
			v = r.Cols[col].I64[row]
		}
		o.I64 = append(o.I64, v)
	default:
		v := ""
		if !null {
			v = r.Cols[col].Str[row]
		}
		o.Str = append(o.Str, v)
	}
}
