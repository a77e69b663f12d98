// Package protocol serves the protocols that time-series tools speak over HTTP:
// writing by the InfluxDB line protocol (/write, /api/v2/write) and by Prometheus
// remote write (/api/v1/write), reading by Prometheus remote read (/api/v1/read)
// and by the Prometheus HTTP API (/api/v1/query, query_range, series, labels …).
//
// What is written are rows of time-series tables, made when they are not there;
// what is read are their fields as metrics (package prom). A request is one commit:
// its rows are durable together when it is answered with success, unless it was
// sent with synchronous_commit=off.
//
// Everything has a bound (Limits) and ends with its request. A request acts for
// one role in one database and needs the privileges that SQL would ask for. Who it
// acts for is for the caller to say (Config.Authenticate).
//
// A Server is safe for concurrent use.
package protocol
