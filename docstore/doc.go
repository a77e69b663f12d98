// Package docstore keeps document collections inside one engine transaction:
// filters, update operators, the aggregation pipeline, indexes. It knows no
// shards: Run executes one Command on one transaction or view, and what a
// scatter-gather above needs to merge answers (the order of values, sort
// comparators, the splitting of pipelines) is exported.
//
// A document is a jsonb object (sqltypes.JSON), read in place without decoding.
// A collection is a relation of kind KindCollection with two columns: the key,
// an order-preserving encoding of _id, and the document; so that rows, locks,
// snapshots and unique checks are the engine's own, and documents and tables
// change in one transaction.
//
// Values have one total order, BSON's (Compare): null < numbers < strings <
// objects < arrays < booleans < dates. It is the order of sorts, of index keys
// and of merges. A date is an object {"$date": "2024-05-01T00:00:00Z"} (or
// milliseconds since 1970); missing fields count as null where the order is
// asked.
//
// A Command and a Result belong to one goroutine.
package docstore
