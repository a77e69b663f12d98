package protocol

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/tsdb/lineproto"
)

// writeV1 is InfluxDB 1's POST /write?db=&precision=.
func (s *Server) writeV1(ctx context.Context, c caller, w http.ResponseWriter, r *http.Request) error {
	name := r.URL.Query().Get("precision")
	unit, ok := lineproto.Precision(name)
	if !ok {
		return badRequest(fmt.Sprintf("invalid precision %q (use n, u, ms, s, m or h)", name))
	}
	return s.writeLines(ctx, c, w, r, unit)
}

// writeV2 is InfluxDB 2's POST /api/v2/write?bucket=&precision=.
func (s *Server) writeV2(ctx context.Context, c caller, w http.ResponseWriter, r *http.Request) error {
	name := r.URL.Query().Get("precision")
	unit, ok := lineproto.Precision(name)
	if !ok || unit > lineproto.Second {
		return badRequest(fmt.Sprintf("invalid precision %q; valid precision units are ns, us, ms, and s", name))
	}
	return s.writeLines(ctx, c, w, r, unit)
}

func (s *Server) writeLines(ctx context.Context, c caller, w http.ResponseWriter, r *http.Request, unit int64) error {
	ctx, done, err := s.writer(ctx)
	if err != nil {
		return err
	}
	defer done()
	body, release, err := s.body(r)
	if err != nil {
		return err
	}
	defer release()
	if err := s.Lines(ctx, c, body, unit, syncCommit(r)); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func syncCommit(r *http.Request) bool { return r.URL.Query().Get("synchronous_commit") != "off" }

// rejected counts lines that are not written and keeps the first reasons.
type rejected struct {
	n       int
	reasons []string
}

const shownReasons = 10

func (r *rejected) add(line int, format string, args ...any) {
	r.n++
	if len(r.reasons) < shownReasons {
		r.reasons = append(r.reasons, fmt.Sprintf("line %d: ", line)+fmt.Sprintf(format, args...))
	}
}

// measurement is the lines of one table.
type measurement struct {
	name   string
	points []int
	t      *target
}

// Lines writes line protocol whose times count units of so many nanoseconds. Lines
// that are not written are named in the error; the others are written all the same.
func (s *Server) Lines(ctx context.Context, c caller, body []byte, unit int64, sync bool) error {
	now := s.cfg.Now().UnixNano()
	now -= now % unit
	batch := s.cfg.DB.Store().NewBatch()
	defer batch.Release()
	if done, err := s.plainLines(ctx, c, body, unit, now, batch, sync); done {
		return err
	}
	batch.Reset()
	var bad rejected
	points, unparsed := parse(body, unit)
	bad.reasons = append(bad.reasons, unparsed.reasons...)
	bad.n = unparsed.n
	var list []*measurement
	byName := map[string]*measurement{}
	for i := range points {
		p := &points[i]
		m := byName[string(p.Measurement)]
		if m == nil {
			m = &measurement{name: string(p.Measurement)}
			byName[m.name] = m
			list = append(list, m)
		}
		m.points = append(m.points, i)
	}
	if len(list) == 0 {
		if bad.n > 0 {
			return badRequest(strings.Join(bad.reasons, "\n"))
		}
		return nil
	}
	for _, m := range list {
		if err := s.prepare(ctx, c, m, points, &bad); err != nil {
			return err
		}
	}
	// An order for the locks that completing rows takes.
	slices.SortFunc(list, func(a, b *measurement) int { return strings.Compare(a.name, b.name) })
	lw := lineWriter{s: s, c: c, batch: batch, now: now, bad: &bad, valid: validText(body)}
	defer lw.close()
	var rels []*catalog.Relation
	for _, m := range list {
		if m.t == nil {
			continue
		}
		if err := lw.write(ctx, m, points); err != nil {
			return err
		}
		rels = append(rels, m.t.rel)
	}
	if err := s.cfg.DB.WriteRows(ctx, lw.batch, sync, rels...); err != nil {
		return err
	}
	if bad.n > 0 {
		return badRequest(fmt.Sprintf("partial write: %s dropped=%d", strings.Join(bad.reasons, "\n"), bad.n))
	}
	return nil
}

// parse reads all lines; slices for tags and fields are cut from large ones.
func parse(body []byte, unit int64) (points []lineproto.Point, bad rejected) {
	const block, most = 4096, 64
	var tags []lineproto.Tag
	var fields []lineproto.Field
	r := lineproto.NewParser(body, unit)
	for {
		if cap(tags)-len(tags) < most {
			tags = make([]lineproto.Tag, 0, block)
		}
		if cap(fields)-len(fields) < most {
			fields = make([]lineproto.Field, 0, block)
		}
		p := lineproto.Point{Tags: tags[len(tags):len(tags):cap(tags)], Fields: fields[len(fields):len(fields):cap(fields)]}
		more, err := r.Next(&p)
		if !more {
			return points, bad
		}
		if err != nil {
			bad.n++
			if len(bad.reasons) < shownReasons {
				bad.reasons = append(bad.reasons, err.Error())
			}
			continue
		}
		tags = tags[:min(len(tags)+len(p.Tags), cap(tags))]
		fields = fields[:min(len(fields)+len(p.Fields), cap(fields))]
		points = append(points, p)
	}
}

// prepare finds the measurement's table, makes it, or adds the fields that it lacks.
func (s *Server) prepare(ctx context.Context, c caller, m *measurement, points []lineproto.Point, bad *rejected) error {
	rel, err := s.find(c, m.name)
	if err != nil {
		return err
	}
	if rel == nil {
		sql, ok := createTable(m, points, bad)
		if !ok {
			return nil
		}
		if rel, err = s.define(ctx, c, sql, m.name, func(*catalog.Relation) bool { return true }); err != nil {
			return err
		}
	}
	if m.t, err = s.target(rel); err != nil {
		return err
	}
	var missing []lineproto.Field
	for _, i := range m.points {
		for _, f := range points[i].Fields {
			if _, there := m.t.cols[string(f.Key)]; !there && nameFault(string(f.Key)) == "" && !isTag(&points[i], f.Key) &&
				!slices.ContainsFunc(missing, func(g lineproto.Field) bool { return string(g.Key) == string(f.Key) }) {
				missing = append(missing, f)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	var adds []string
	for _, f := range missing {
		adds = append(adds, "ADD COLUMN IF NOT EXISTS "+quote(string(f.Key))+" "+sqlType(f.Kind))
	}
	rel, err = s.define(ctx, c, "ALTER TABLE public."+quote(m.name)+" "+strings.Join(adds, ", "), m.name, func(rel *catalog.Relation) bool {
		return !slices.ContainsFunc(missing, func(f lineproto.Field) bool {
			return !slices.ContainsFunc(rel.Columns, func(col *catalog.Column) bool { return !col.Dropped && col.Name == string(f.Key) })
		})
	})
	if err != nil {
		return err
	}
	m.t, err = s.target(rel)
	return err
}

func isTag(p *lineproto.Point, key []byte) bool {
	return slices.ContainsFunc(p.Tags, func(t lineproto.Tag) bool { return string(t.Key) == string(key) })
}

// createTable is the definition of a table for the lines of a measurement; false
// when it cannot have one, and its lines are rejected.
func createTable(m *measurement, points []lineproto.Point, bad *rejected) (string, bool) {
	if why := nameFault(m.name); why != "" {
		for _, i := range m.points {
			bad.add(points[i].Line, "measurement %q %s", m.name, why)
		}
		return "", false
	}
	var tags, cols []string
	seen := map[string]bool{"time": true}
	for _, i := range m.points {
		for _, t := range points[i].Tags {
			if k := string(t.Key); !seen[k] && nameFault(k) == "" && !strings.ContainsAny(k, `,"`) && strings.TrimSpace(k) == k {
				seen[k] = true
				tags = append(tags, k)
			}
		}
	}
	slices.Sort(tags)
	for _, t := range tags {
		cols = append(cols, quote(t)+" text")
	}
	for _, i := range m.points {
		for _, f := range points[i].Fields {
			if k := string(f.Key); !seen[k] && nameFault(k) == "" {
				seen[k] = true
				cols = append(cols, quote(k)+" "+sqlType(f.Kind))
			}
		}
	}
	list := strings.ReplaceAll(strings.Join(tags, ","), "'", "''")
	return "CREATE TABLE IF NOT EXISTS public." + quote(m.name) + ` ("time" timestamptz NOT NULL` + prefixed(cols) + ") WITH (timeseries, time_column = 'time', tags = '" + list + "')", true
}

func prefixed(cols []string) string {
	if len(cols) == 0 {
		return ""
	}
	return ", " + strings.Join(cols, ", ")
}

// maxName is the longest identifier.
const maxName = 63

// nameFault says why a name cannot be an identifier.
func nameFault(name string) string {
	switch {
	case len(name) > maxName:
		return fmt.Sprintf("is longer than %d bytes", maxName)
	case !validText([]byte(name)):
		return "is not valid UTF-8"
	}
	return ""
}

func sqlType(k lineproto.Kind) string {
	switch k {
	case lineproto.Float:
		return "float8"
	case lineproto.Int, lineproto.Uint:
		return "int8"
	case lineproto.Bool:
		return "bool"
	}
	return "text"
}

// datum is a field's value for a column; false when the types differ.
func datum(f *lineproto.Field, typ sqltypes.OID) (d sqltypes.Datum, ok bool) {
	switch typ {
	case sqltypes.OIDFloat8:
		return sqltypes.Float(f.F), f.Kind == lineproto.Float
	case sqltypes.OIDFloat4:
		return sqltypes.Float(float64(float32(f.F))), f.Kind == lineproto.Float && !math.IsInf(float64(float32(f.F)), 0)
	case sqltypes.OIDBool:
		return sqltypes.Int(f.I), f.Kind == lineproto.Bool
	case sqltypes.OIDText, sqltypes.OIDVarchar:
		return sqltypes.Text(string(f.S)), f.Kind == lineproto.String
	}
	whole := f.Kind == lineproto.Int || f.Kind == lineproto.Uint
	switch typ {
	case sqltypes.OIDInt8:
		return sqltypes.Int(f.I), whole
	case sqltypes.OIDInt4:
		return sqltypes.Int(f.I), whole && f.I == int64(int32(f.I))
	case sqltypes.OIDInt2:
		return sqltypes.Int(f.I), whole && f.I == int64(int16(f.I))
	}
	return d, false
}
