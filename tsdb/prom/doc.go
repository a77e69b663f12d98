// Package prom shows time-series tables as Prometheus metrics and evaluates PromQL
// over them with Prometheus's own engine.
//
// # Metrics
//
// A table of the schema public is one metric per numeric or boolean field, named
// table_field, or table alone for a field named value; tables of other schemas are
// schema:table_field. The tags are the labels, a NULL or empty tag is no label.
// Characters that metric and label names cannot have become underscores.
//
// A table whose tags are __name__ and labels (text) and that has a field value, as
// remote write makes them, holds many metrics: __name__ is the metric, labels a
// JSON object with the other labels. A combination of labels is unknown before it
// is written, and a table's tags are fixed; that is why they are one tag.
//
// Samples have the time of their row in milliseconds, rounded down; of several
// rows in one millisecond the last counts. Integers become float64.
//
// # What it does not do
//
// It reads this node's rows only. It writes nothing and knows no HTTP.
//
// A Source is safe for concurrent use.
package prom
