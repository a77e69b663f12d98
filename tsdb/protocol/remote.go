package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/tsdb/prom"
	"ostraka/tsdb/store"
)

// defaultTable is where remote write puts its samples unless the parameter table
// says otherwise.
const defaultTable = "prometheus"

// remoteWrite is Prometheus remote write 1.0.
func (s *Server) remoteWrite(ctx context.Context, c caller, w http.ResponseWriter, r *http.Request) error {
	if ct := r.Header.Get("Content-Type"); strings.Contains(ct, "io.prometheus.write.v2") {
		return &httpError{http.StatusUnsupportedMediaType, "remote write 2.0 is not supported; send prometheus.WriteRequest"}
	}
	ctx, done, err := s.writer(ctx)
	if err != nil {
		return err
	}
	defer done()
	msg, release, err := s.snappyBody(r, s.cfg.Limits.MaxBody)
	if err != nil {
		return err
	}
	defer release()
	name := r.URL.Query().Get("table")
	if name == "" {
		name = defaultTable
	}
	if why := nameFault(name); why != "" {
		return badRequest(fmt.Sprintf("table %q %s", name, why))
	}
	t, err := s.wideTable(ctx, c, name)
	if err != nil {
		return err
	}
	rw := remoteWriter{s: s, t: t, scope: knownScope{c.database.OID, t.rel.OID}, at: t.cols[prom.ValueColumn].at, batch: s.cfg.DB.Store().NewBatch(), vals: make([]sqltypes.Datum, t.fields)}
	defer rw.batch.Release()
	for i := range rw.vals {
		rw.vals[i] = sqltypes.Null
	}
	if err := decodeWrite(msg, func(msg []byte) error { return rw.add(ctx, msg) }); err != nil {
		if statusOf(err) == http.StatusUnprocessableEntity {
			return badRequest(err.Error())
		}
		return err
	}
	if err := s.cfg.DB.WriteRows(ctx, rw.batch, syncCommit(r), t.rel); err != nil {
		return err
	}
	if rw.bad.n > 0 {
		return badRequest(fmt.Sprintf("partial write: %s dropped=%d", strings.Join(rw.bad.reasons, "\n"), rw.bad.n))
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// wideTable finds or makes a table that holds many metrics.
func (s *Server) wideTable(ctx context.Context, c caller, name string) (*target, error) {
	rel, err := s.find(c, name)
	if err != nil {
		return nil, err
	}
	if rel == nil {
		sql := "CREATE TABLE IF NOT EXISTS public." + quote(name) + ` ("time" timestamptz NOT NULL, "` + prom.NameColumn + `" text, "` + prom.LabelsColumn +
			`" text, "` + prom.ValueColumn + `" float8) WITH (timeseries, time_column = 'time', tags = '` + prom.NameColumn + `,` + prom.LabelsColumn + `')`
		if rel, err = s.define(ctx, c, sql, name, func(*catalog.Relation) bool { return true }); err != nil {
			return nil, err
		}
	}
	if !prom.Wide(rel) {
		return nil, badRequest(fmt.Sprintf("table %q does not have the tags %s and %s of a table for remote write", name, prom.NameColumn, prom.LabelsColumn))
	}
	t, err := s.target(rel)
	if err != nil {
		return nil, err
	}
	if v, ok := t.cols[prom.ValueColumn]; !ok || v.at < 0 || v.typ != sqltypes.OIDFloat8 {
		return nil, badRequest(fmt.Sprintf("table %q has no field %s of type double precision", name, prom.ValueColumn))
	}
	return t, nil
}

// remoteWriter puts series into one batch.
type remoteWriter struct {
	s     *Server
	t     *target
	scope knownScope
	at    int
	batch *store.Batch
	vals  []sqltypes.Datum
	x     wireSeries
	last  *known
	fresh int
	full  bool // a series was refused, for there are too many
	n     int
	bad   rejected
}

func (w *remoteWriter) add(ctx context.Context, msg []byte) error {
	w.n++
	if w.n&1023 == 0 && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	labels, plain := w.x.plain(msg)
	if plain {
		if k := w.s.known.find(w.scope, labels, w.last); k != nil && k.target == w.t {
			w.last = k
			return w.put(k.series)
		}
	}
	if err := w.x.decode(msg); err != nil {
		return err
	}
	if w.x.histograms > 0 {
		if w.bad.n == 0 {
			w.bad.reasons = append(w.bad.reasons, "native histograms are not supported")
		}
		w.bad.n += w.x.histograms
	}
	if len(w.x.samples) == 0 {
		return nil
	}
	tags, err := wideTags(w.x.labels)
	if err != nil {
		return err
	}
	series, err := w.s.newSeries(w.t, tags, &w.fresh)
	if tooManySeries(err) {
		if !w.full {
			w.full = true
			w.bad.reasons = append(w.bad.reasons, err.Error())
		}
		w.bad.n += len(w.x.samples)
		return nil
	}
	if err != nil {
		return err
	}
	if plain {
		w.last = w.s.known.remember(w.scope, labels, w.t, series)
	}
	return w.put(series)
}

// put writes the samples of the series that was decoded last.
func (w *remoteWriter) put(series *store.Series) error {
	for _, p := range w.x.samples {
		if p.t > math.MaxInt64/1_000_000 || p.t < math.MinInt64/1_000_000 {
			return badRequest(fmt.Sprintf("timestamp %d is out of range", p.t))
		}
		w.vals[w.at] = sqltypes.Float(p.v)
		w.batch.Put(series, w.t.time(p.t*1_000_000), w.vals)
	}
	return nil
}

// wideTags are a series' labels as the tags __name__ and labels.
func wideTags(list []wireLabel) ([]store.Tag, error) {
	m := make(map[string]string, len(list))
	for _, l := range list {
		if !validText(l.name) || !validText(l.value) {
			return nil, badRequest("label name or value is not valid UTF-8")
		}
		if len(l.name) == 0 {
			return nil, badRequest("label name is empty")
		}
		if _, twice := m[string(l.name)]; twice {
			return nil, badRequest(fmt.Sprintf("label name %q is not unique", l.name))
		}
		m[string(l.name)] = string(l.value)
	}
	name := m[prom.NameColumn]
	if name == "" {
		return nil, badRequest("a series without a metric name (label __name__)")
	}
	delete(m, prom.NameColumn)
	for k, v := range m {
		if v == "" { // as no label
			delete(m, k)
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(m); err != nil { // keys sorted: one text for one set
		return nil, err
	}
	return []store.Tag{{Value: name}, {Value: strings.TrimSuffix(b.String(), "\n")}}, nil
}

const maxReadRequest = 1 << 20

// remoteRead is Prometheus remote read, answered with samples.
func (s *Server) remoteRead(ctx context.Context, c caller, w http.ResponseWriter, r *http.Request) error {
	msg, release, err := s.snappyBody(r, maxReadRequest)
	if err != nil {
		return err
	}
	defer release()
	var req prompb.ReadRequest
	if err := req.Unmarshal(msg); err != nil {
		return badRequest(err.Error())
	}
	out, err := s.cfg.Source.Read(ctx, c.reader(s), &req)
	if err != nil {
		return err
	}
	b, err := out.Marshal()
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.Header().Set("Content-Encoding", "snappy")
	_, _ = w.Write(snappy.Encode(nil, b)) // the client is gone when it fails
	return nil
}
