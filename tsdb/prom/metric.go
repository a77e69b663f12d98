package prom

import (
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/tsdb"
	"ostraka/tsdb/chunk"
	"ostraka/tsdb/store"
)

// metricName is the label that holds a metric's name.
const metricName = "__name__"

// Columns of a table that holds many metrics.
const (
	NameColumn   = metricName
	LabelsColumn = "labels"
	ValueColumn  = "value"
)

// metric is a field of a table.
type metric struct {
	rel    *catalog.Relation
	field  int16
	kind   chunk.Kind
	name   string   // "": in the tag
	labels []string // by place among the tags
	bools  []bool   // tags that are booleans
	nameAt int      // place of the tag with the name, -1
	jsonAt int      // place of the tag with the labels, -1
	clock  clock
}

// Wide reports a table that holds many metrics, named by a tag.
func Wide(rel *catalog.Relation) bool {
	ts := rel.TimeSeriesSpec()
	if ts == nil || len(ts.Tags) != 2 {
		return false
	}
	text := func(i int, name string) bool {
		c := rel.Columns[ts.Tags[i]-1]
		return c.Name == name && (c.Type.OID == sqltypes.OIDText || c.Type.OID == sqltypes.OIDVarchar)
	}
	return text(0, NameColumn) && text(1, LabelsColumn)
}

// metricsOf are the metrics of a catalogue's time-series tables.
func metricsOf(cat *catalog.Catalog) []*metric {
	var out []*metric
	cat.AllRelations(func(rel *catalog.Relation) bool {
		if ts := rel.TimeSeriesSpec(); ts != nil && rel.Schema != catalog.SchemaOstraka {
			out = append(out, relationMetrics(cat, rel, ts)...)
		}
		return true
	})
	return out
}

func relationMetrics(cat *catalog.Catalog, rel *catalog.Relation, ts *catalog.TimeSeries) []*metric {
	base := metric{rel: rel, nameAt: -1, jsonAt: -1, clock: clockOf(rel, ts)}
	tag := map[int16]bool{ts.Time: true}
	for _, a := range ts.Tags {
		c := rel.Columns[a-1]
		tag[a] = true
		base.labels = append(base.labels, sanitize(c.Name, false))
		base.bools = append(base.bools, c.Type.OID == sqltypes.OIDBool)
	}
	wide := Wide(rel)
	if wide {
		base.nameAt, base.jsonAt = 0, 1
	}
	prefix := ""
	if s := cat.Schema(rel.Schema); s != nil && s.Name != "public" {
		prefix = s.Name + ":"
	}
	var out []*metric
	for _, c := range rel.Columns {
		if c.Dropped || tag[c.Num] || !numeric(c.Type.OID) || wide && c.Name != ValueColumn {
			continue
		}
		m := base
		m.field = c.Num
		m.kind, _ = tsdb.KindOf(c.Type.OID)
		if !wide {
			name := rel.Name + "_" + c.Name
			if c.Name == ValueColumn {
				name = rel.Name
			}
			m.name = sanitize(prefix+name, true)
		}
		out = append(out, &m)
	}
	return out
}

func numeric(oid sqltypes.OID) bool {
	switch oid {
	case sqltypes.OIDFloat8, sqltypes.OIDFloat4, sqltypes.OIDInt2, sqltypes.OIDInt4, sqltypes.OIDInt8, sqltypes.OIDBool:
		return true
	}
	return false
}

// sanitize makes a name of letters, digits, underscores and, in metrics, colons.
func sanitize(name string, colon bool) string {
	ok := func(r rune) bool {
		return r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || colon && r == ':'
	}
	name = strings.Map(func(r rune) rune {
		if ok(r) {
			return r
		}
		return '_'
	}, name)
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		return "_" + name
	}
	return name
}

// value is a tag as a label's value; "" is no label.
func (m *metric) value(i int, t store.Tag) string {
	switch {
	case t.Null:
		return ""
	case m.bools[i] && t.Value == "1":
		return "true"
	case m.bools[i]:
		return "false"
	}
	return t.Value
}

// lset are the labels of a series.
func (m *metric) lset(src *Source, s *store.Series, b *labels.ScratchBuilder) labels.Labels {
	b.Reset()
	if m.jsonAt >= 0 {
		b.Add(metricName, s.Tags[m.nameAt].Value)
		src.wideLabels(s.Tags[m.jsonAt].Value).Range(func(l labels.Label) { b.Add(l.Name, l.Value) })
	} else {
		b.Add(metricName, m.name)
		for i, name := range m.labels {
			if v := m.value(i, s.Tags[i]); v != "" {
				b.Add(name, v)
			}
		}
	}
	b.Sort()
	return b.Labels()
}

// matchers translates label matchers to conditions on tags; false when no series
// of the metric can match.
func (m *metric) matchers(src *Source, ms []*labels.Matcher) ([]store.Matcher, bool) {
	var out []store.Matcher
	var inJSON []*labels.Matcher
	for _, x := range ms {
		at := -1
		switch {
		case x.Name == metricName && m.nameAt < 0:
			if !x.Matches(m.name) {
				return nil, false
			}
			continue
		case x.Name == metricName:
			at = m.nameAt
		case m.jsonAt >= 0:
			inJSON = append(inJSON, x)
			continue
		default:
			for i, name := range m.labels {
				if name == x.Name {
					at = i
				}
			}
		}
		if at < 0 {
			if !x.Matches("") {
				return nil, false
			}
			continue
		}
		out = append(out, m.condition(at, x))
	}
	if len(inJSON) > 0 {
		out = append(out, store.Matcher{Tag: m.jsonAt, Func: func(t store.Tag) bool {
			ls := src.wideLabels(t.Value)
			for _, x := range inJSON {
				if !x.Matches(ls.Get(x.Name)) {
					return false
				}
			}
			return true
		}})
	}
	return out, true
}

// condition is one matcher on one tag, as a list of values where it is one.
func (m *metric) condition(at int, x *labels.Matcher) store.Matcher {
	var values []string
	switch {
	case m.bools[at]:
	case x.Type == labels.MatchEqual && x.Value != "":
		values = []string{x.Value}
	case x.Type == labels.MatchRegexp:
		values = x.SetMatches()
		for _, v := range values {
			if v == "" {
				values = nil
				break
			}
		}
	}
	if values != nil {
		return store.Matcher{Tag: at, Values: values}
	}
	return store.Matcher{Tag: at, Func: func(t store.Tag) bool { return x.Matches(m.value(at, t)) }}
}
