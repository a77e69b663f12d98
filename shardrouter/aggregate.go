package shardrouter

import (
	"ostraka/docstore"
	"ostraka/sqltypes/pgerror"
)

func (q *query) aggregate() (docstore.Result, error) {
	return docstore.Result{}, pgerror.NotSupported("doc.aggregate() on a sharded collection")
}

func (q *query) ddl() (docstore.Result, error) {
	return docstore.Result{}, pgerror.NotSupported("doc.%s() on a sharded collection", q.cmd.Op)
}
