package docstore

import (
	"context"
	"time"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
)

// JSON is a document or a value inside one.
type JSON = sqltypes.JSON

// Op is what a Command does.
type Op uint8

const (
	OpInsert Op = iota + 1
	OpFind
	OpFindOne
	OpCount
	OpDistinct
	OpUpdate    // every match
	OpUpdateOne // the first match, with Upsert maybe a new document
	OpReplaceOne
	OpFindAndUpdate
	OpDelete
	OpDeleteOne
	OpAggregate
	OpCreateCollection
	OpDropCollection
	OpListCollections
	OpCreateIndex
	OpListIndexes
	OpDropIndex
	OpTextSearch
	OpVectorSearch
	OpFindForUpdate
	OpWatch
	OpStats
	OpCompact
	OpExplain // the plan of a find
	OpExpire  // delete what TTL indexes say is over
	OpRecordChanges
)

var opNames = [...]string{"", "insert", "find", "find_one", "count", "distinct", "update", "update_one", "replace_one", "find_one_and_update",
	"delete", "delete_one", "aggregate", "create_collection", "drop_collection", "list_collections", "create_index", "list_indexes", "drop_index",
	"text_search", "vector_search", "find_for_update", "watch", "stats", "compact", "explain", "expire", "record_changes"}

// String is the name of the doc function.
func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return "unknown"
}

// Writes reports that the command changes replicated state or takes locks; an
// aggregate does when its pipeline ends with $out or $merge (PipelineWrites).
func (o Op) Writes() bool {
	switch o {
	case OpInsert, OpUpdate, OpUpdateOne, OpReplaceOne, OpFindAndUpdate, OpDelete, OpDeleteOne, OpCreateCollection,
		OpDropCollection, OpCreateIndex, OpDropIndex, OpFindForUpdate, OpCompact, OpExpire, OpRecordChanges:
		return true
	}
	return false
}

// DDL reports a command that changes the catalogue: it goes to every shard.
func (o Op) DDL() bool {
	switch o {
	case OpCreateCollection, OpDropCollection, OpCreateIndex, OpDropIndex, OpRecordChanges:
		return true
	}
	return false
}

// Command is one request to one collection. JSON fields that are zero were not
// given.
type Command struct {
	Op         Op
	Collection string
	Filter     JSON
	// Update holds update operators, or the replacement of OpReplaceOne.
	Update JSON
	// ArrayFilters say which elements $[name] in a path of the update means.
	ArrayFilters JSON
	// Docs are the documents of OpInsert.
	Docs     []JSON
	Pipeline JSON // array of stages
	Sort     JSON // {"a": 1, "b": -1} or [["a", 1], ["b", -1]]
	Skip     int64
	// Take is how many documents at most; negative: all.
	Take       int64
	Projection JSON
	Field      string // OpDistinct
	Upsert     bool
	// ReturnNew: OpFindAndUpdate answers the document as it is afterwards.
	ReturnNew bool
	// Name is an index or, in OpWatch, the place behind which changes are wanted: "" the
	// end, PlaceOfAll the beginning of all.
	Name string
	// Index is the index of OpCreateIndex.
	Index *IndexSpec
	// Options of OpCreateCollection and others, by name.
	Options JSON
	// Search is what OpTextSearch looks for.
	Search string
	// Vector search: the field, the vector and the metric (cosine, euclidean, dot).
	Vector JSON
	Metric string
	// Wait bounds OpWatch.
	Wait time.Duration
	// Lock policy of OpFindForUpdate.
	LockWait engine.WaitPolicy
	// KeepKey, when not empty, is the path of a field that updates must not change: a
	// router places documents by it.
	KeepKey string
	// Accept, when not nil, says whether a stored document belongs to the request
	// at all: a shard hides documents of chunks that it does not own.
	Accept func(doc JSON) bool
}

// Counts are what a write did.
type Counts struct {
	Inserted, Matched, Modified, Upserted, Deleted int64
}

// Add sums two counts.
func (c *Counts) Add(o Counts) {
	c.Inserted += o.Inserted
	c.Matched += o.Matched
	c.Modified += o.Modified
	c.Upserted += o.Upserted
	c.Deleted += o.Deleted
}

// Result is the answer to a Command: a stream of documents (find, aggregate,
// distinct, lists), or one value (find_one, count, insert), and counts.
type Result struct {
	// Docs is nil when the command answers with a value. Whoever gets it closes it.
	Docs Cursor
	// Value is the zero JSON when there is none (find_one without a match).
	Value JSON
	Counts
	// IDs are the _id values of inserted or upserted documents, in input order.
	IDs []JSON
}

// Cursor streams documents. What it returned stays valid.
type Cursor interface {
	Next() (doc JSON, ok bool, err error)
	Close()
}

// State is what a Command runs on: one statement of a transaction, or a view.
type State struct {
	// View is what is read. It is Txn when there is one.
	View engine.View
	// Txn is nil in a read-only state.
	Txn engine.Txn
	// Now is the statement's time: $currentDate, generated ids, expiry.
	Now time.Time
	// Owner is the role that owns collections which are created.
	Owner sqltypes.OID
	// May says whether the session's role may read or write a collection; nil: it may.
	May func(rel *catalog.Relation, write bool) bool
	// Fetch, when not nil, reads other collections for $lookup and $unionWith
	// (OpFind or OpAggregate) wherever they are.
	Fetch func(ctx context.Context, cmd *Command) (Result, error)
	// NewID makes the _id of a document that has none; nil: NewObjectID.
	NewID func() JSON
	// Feeds has the changes that OpWatch reads; nil: it is refused.
	Feeds engine.Engine
	// MapVersion is kept with recorded changes: the version of the chunk map that the
	// shard knows; 0: none.
	MapVersion uint64
	// Wrote, when not nil, is told every document that is written or deleted, as it
	// was (zero: a new one) and as it is (zero: deleted), in the same transaction.
	Wrote func(ctx context.Context, collection string, was, is JSON) error
}
