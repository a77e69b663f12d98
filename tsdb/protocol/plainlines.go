package protocol

import (
	"bytes"
	"context"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/tsdb/lineproto"
	"ostraka/tsdb/store"
)

// plainWriter writes a request in one pass over its text: each line is plain, of a
// series that was met before, and has all fields of its table. That is what most
// requests of a program are like after its first ones.
type plainWriter struct {
	s    *Server
	c    caller
	rels []*catalog.Relation
	// tables are those that lines were of; table is that of the line before.
	tables map[*target]*plainTable
	table  *plainTable
}

type plainTable struct {
	*target
	vals   []sqltypes.Datum
	layout []layoutField
}

// layoutField is a field as lines of the table had it last at this place.
type layoutField struct {
	key []byte
	col column
}

// plainLines writes body if all of it is as plainWriter needs it; otherwise it
// returns false and has written nothing. now is the time of lines without one.
func (s *Server) plainLines(ctx context.Context, c caller, body []byte, unit, now int64, batch *store.Batch, sync bool) (bool, error) {
	w := plainWriter{s: s, c: c, tables: map[*target]*plainTable{}}
	r := lineproto.NewPlain(body, unit)
	var last *known
	for n := 0; ; n++ {
		if n&1023 == 1023 && ctx.Err() != nil {
			return true, context.Cause(ctx)
		}
		text, ok := r.Series()
		if !ok {
			return false, nil
		}
		if text == nil {
			break
		}
		k := s.known.find(knownScope{database: c.database.OID}, text, last)
		if k == nil {
			return false, nil
		}
		last = k
		if (w.table == nil || k.target != w.table.target) && !w.enter(k.target) {
			return false, nil
		}
		if !w.table.fields(&r) {
			return false, nil
		}
		at, timed, ok := r.Time()
		if !ok {
			return false, nil
		}
		if !timed {
			at = now
		}
		batch.Put(k.series, w.table.time(at), w.table.vals)
	}
	return true, s.cfg.DB.WriteRows(ctx, batch, sync, w.rels...)
}

// enter makes t the table of the lines that follow, if the caller may write to it
// and it has not been altered.
func (w *plainWriter) enter(t *target) bool {
	if w.table = w.tables[t]; w.table != nil {
		return true
	}
	rel, err := w.s.find(w.c, t.rel.Name)
	if err != nil || rel != t.rel {
		return false
	}
	w.table = &plainTable{target: t, vals: make([]sqltypes.Datum, t.fields), layout: make([]layoutField, t.fields)}
	w.tables[t] = w.table
	w.rels = append(w.rels, rel)
	return true
}

// fields reads a line's fields into vals; false unless they are those of the table.
func (w *plainTable) fields(r *lineproto.Plain) bool {
	for i := range w.vals {
		w.vals[i].Null = true
	}
	var f lineproto.Field
	for i := 0; ; i++ {
		if i == len(w.vals) {
			return false
		}
		last, ok := r.Field(&f)
		if !ok {
			return false
		}
		l := &w.layout[i]
		if !bytes.Equal(l.key, f.Key) {
			c, there := w.cols[string(f.Key)]
			if !there || c.at < 0 {
				return false
			}
			l.key, l.col = f.Key, c
		}
		v := &w.vals[l.col.at]
		if !v.Null || f.Kind == lineproto.String && !validText(f.S) {
			return false
		}
		if *v, ok = datum(&f, l.col.typ); !ok {
			return false
		}
		if last {
			return i+1 == len(w.vals)
		}
	}
}
