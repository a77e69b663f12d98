package protocol

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
	"ostraka/tsdb/lineproto"
	"ostraka/tsdb/store"
)

func validText(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }

// lineWriter puts lines into one batch.
type lineWriter struct {
	s     *Server
	c     caller
	batch *store.Batch
	snap  *store.Snapshot
	now   int64
	bad   *rejected
	valid bool // all of the text is valid
	fresh int  // series that were not known
	held  []*target
	tags  []store.Tag
	vals  []sqltypes.Datum
}

// close frees what completing rows took; the batch must have been written.
func (w *lineWriter) close() {
	for _, t := range w.held {
		t.merge.Unlock()
	}
	if w.snap != nil {
		w.snap.Close()
	}
}

type rowKey struct {
	s *store.Series
	t int64
}

// write puts the lines of one table. InfluxDB adds fields to a point that is there
// already, whereas a row replaces the row: lines without all fields are completed
// first.
func (w *lineWriter) write(ctx context.Context, m *measurement, points []lineproto.Point) error {
	t := m.t
	partial := false
	for _, i := range m.points {
		partial = partial || len(points[i].Fields) < t.fields
	}
	var rows map[rowKey][]sqltypes.Datum
	if partial {
		t.merge.Lock()
		w.held = append(w.held, t)
		if w.snap == nil {
			w.snap = w.s.cfg.DB.Store().Snapshot()
		}
		rows = map[rowKey][]sqltypes.Datum{}
	}
	if cap(w.vals) < t.fields {
		w.vals = make([]sqltypes.Datum, t.fields)
	}
	for n, i := range m.points {
		if n&1023 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		p := &points[i]
		at := w.now
		if p.Timed {
			at = p.Time
		}
		key := rowKey{t: t.time(at)}
		why := ""
		if key.s, why = w.series(t, p); why != "" {
			w.bad.add(p.Line, "%s", why)
			continue
		}
		vals := w.vals[:t.fields]
		for k := range vals {
			vals[k] = sqltypes.Null
		}
		if why := w.fields(m, p, vals); why != "" {
			w.bad.add(p.Line, "%s", why)
			continue
		}
		if key.s == nil {
			var err error
			if key.s, err = w.newSeries(t, p); tooManySeries(err) {
				w.bad.add(p.Line, "%s", err.Error())
				continue
			} else if err != nil {
				return err
			}
		}
		if partial {
			if err := w.complete(ctx, key, rows, vals); err != nil {
				return err
			}
			rows[key] = slices.Clone(vals)
		}
		w.batch.Put(key.s, key.t, vals)
	}
	return nil
}

// series finds the line's series: nil, and its tags in w.tags, when the server has
// not met it.
func (w *lineWriter) series(t *target, p *lineproto.Point) (*store.Series, string) {
	if k := w.s.known.find(knownScope{database: w.c.database.OID}, p.Series, nil); k != nil && k.target == t {
		return k.series, ""
	}
	w.tags = w.tags[:0]
	for range t.tags {
		w.tags = append(w.tags, store.Tag{Null: true})
	}
	for _, tag := range p.Tags {
		c, there := t.cols[string(tag.Key)]
		if !there || c.tag < 0 {
			return nil, fmt.Sprintf("%q is not a tag of table %q; the tags of a table are those of its first lines", tag.Key, t.rel.Name)
		}
		v := string(tag.Value)
		switch c.typ {
		case sqltypes.OIDText, sqltypes.OIDVarchar:
			if !w.valid && !validText(tag.Value) {
				return nil, fmt.Sprintf("tag %q is not valid UTF-8", tag.Key)
			}
		case sqltypes.OIDInt2, sqltypes.OIDInt4, sqltypes.OIDInt8:
			n, err := strconv.ParseInt(v, 10, map[sqltypes.OID]int{sqltypes.OIDInt2: 16, sqltypes.OIDInt4: 32, sqltypes.OIDInt8: 64}[c.typ])
			if err != nil {
				return nil, fmt.Sprintf("tag %q is an integer in table %q, not %q", tag.Key, t.rel.Name, v)
			}
			v = strconv.FormatInt(n, 10)
		case sqltypes.OIDBool:
			b, err := strconv.ParseBool(strings.ToLower(v))
			if err != nil {
				return nil, fmt.Sprintf("tag %q is a boolean in table %q, not %q", tag.Key, t.rel.Name, v)
			}
			v = "0"
			if b {
				v = "1"
			}
		default:
			return nil, fmt.Sprintf("tag %q is of type %s in table %q", tag.Key, sqltypes.FormatType(c.typ, -1), t.rel.Name)
		}
		w.tags[c.tag] = store.Tag{Value: v}
	}
	return nil, ""
}

// newSeries finds or makes the series of w.tags.
func (w *lineWriter) newSeries(t *target, p *lineproto.Point) (*store.Series, error) {
	x, err := w.s.newSeries(t, w.tags, &w.fresh)
	if err == nil {
		w.s.known.remember(knownScope{database: w.c.database.OID}, p.Series, t, x)
	}
	return x, err
}

func (s *Server) newSeries(t *target, tags []store.Tag, fresh *int) (*store.Series, error) {
	x := t.table.Find(tags)
	if x == nil {
		if *fresh++; *fresh > s.cfg.Limits.MaxSeries {
			return nil, pgerror.New(pgerror.ConfigurationLimitExceeded, "more than %d new series in one request", s.cfg.Limits.MaxSeries)
		}
		var err error
		if x, err = s.cfg.DB.Store().Series(t.table, tags); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// tooManySeries: the limit is about new series; what is known is written all the same.
func tooManySeries(err error) bool { return pgerror.Is(err, pgerror.ConfigurationLimitExceeded) }

// fields puts the line's values where the table has them.
func (w *lineWriter) fields(m *measurement, p *lineproto.Point, vals []sqltypes.Datum) string {
	for i := range p.Fields {
		f := &p.Fields[i]
		c, there := m.t.cols[string(f.Key)]
		switch {
		case there && (c.time || c.tag >= 0):
			return fmt.Sprintf("input field %q on measurement %q is the time or a tag of the table", f.Key, m.name)
		case !there || c.at < 0:
			why := nameFault(string(f.Key))
			if why == "" {
				why = "is not a column of the table"
			}
			return fmt.Sprintf("input field %q on measurement %q %s", f.Key, m.name, why)
		case !vals[c.at].Null:
			return fmt.Sprintf("input field %q on measurement %q is given twice", f.Key, m.name)
		case f.Kind == lineproto.String && !w.valid && !validText(f.S):
			return fmt.Sprintf("input field %q on measurement %q is not valid UTF-8", f.Key, m.name)
		}
		d, ok := datum(f, c.typ)
		if !ok {
			return fmt.Sprintf("field type conflict: input field %q on measurement %q is type %s, already exists as type %s", f.Key, m.name, f.Kind, influxType(c.typ))
		}
		vals[c.at] = d
	}
	return ""
}

// influxType is InfluxDB's name of a column's type, or SQL's where it has none.
func influxType(typ sqltypes.OID) string {
	switch typ {
	case sqltypes.OIDFloat8:
		return "float"
	case sqltypes.OIDInt8:
		return "integer"
	case sqltypes.OIDBool:
		return "boolean"
	case sqltypes.OIDText:
		return "string"
	}
	return sqltypes.FormatType(typ, -1)
}

// complete takes fields that the line does not have from an earlier line of the
// request or from the row that is there.
func (w *lineWriter) complete(ctx context.Context, key rowKey, rows map[rowKey][]sqltypes.Datum, vals []sqltypes.Datum) error {
	old, mine := rows[key]
	if !mine {
		if !slices.ContainsFunc(vals, func(d sqltypes.Datum) bool { return d.Null }) {
			return nil
		}
		found, err := w.snap.Get(ctx, key.s, key.t)
		if err != nil || found == nil {
			return err
		}
		old = make([]sqltypes.Datum, len(vals))
		for i, f := range key.s.Table.Fields() {
			if i < len(old) {
				old[i] = fieldOf(found, f.ID)
			}
		}
	}
	for i := range vals {
		if vals[i].Null {
			vals[i] = old[i]
		}
	}
	return nil
}
