// Package syscat serves the system catalogue: the relations of pg_catalog and
// information_schema, and the functions over them (pg_get_indexdef,
// pg_table_is_visible …).
//
// Names, OIDs and columns are PostgreSQL 15's (facts/relations.tsv). Base
// relations are filled from the catalogue snapshot of the query and cached per
// snapshot, with an index per column that a query compares for equality; what
// PostgreSQL defines as views are views here too, with definitions of our own
// (views.go). A relation that has neither rows nor a definition is refused by
// name when it is read; one that is empty because Ostraka has no such objects
// (policies …) says so in empty.go.
package syscat
