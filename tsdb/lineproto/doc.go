// Package lineproto reads the InfluxDB line protocol:
//
//	measurement[,tag=value…] field=value[,field=value…] [timestamp]
//
// It knows the text only, no tables. Its words for what is wrong with a line are
// InfluxDB's. A Parser and the Points it fills belong to one goroutine; a Point's
// slices alias the input.
//
// Reference: InfluxDB 1.8 documentation, "InfluxDB line protocol reference".
package lineproto
