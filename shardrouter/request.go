package shardrouter

import (
	"time"

	"ostraka/docstore"
	"ostraka/engine/catalog"
)

// Request is what a front end asks of one shard.
type Request struct {
	Kind Kind
	// Version of the chunk map that the request was routed by.
	Version uint64
	// Chunks are those the request is about: the shard must own them all, and shows
	// no document of another one.
	Chunks catalog.ChunkSet
	// Count is the number of chunks of the cluster.
	Count int
	// Key is the path of the collection's shard key.
	Key string
	// Cmd is the command of KindCommand; the other kinds use its Collection, Docs,
	// Take and Filter as they say.
	Cmd *docstore.Command
	// Now is the statement's time at the front end.
	Now time.Time
}

// Kind of a request.
type Kind uint8

const (
	// KindCommand executes a command on the shard's part of a collection.
	KindCommand Kind = iota + 1
	// KindDDL executes a command that changes a collection's descriptor.
	KindDDL
	// KindTell gives the shard the chunks it owns (all of them) and the version.
	KindTell
	// KindRecord begins to record changes of documents in Chunks; KindForget ends it.
	KindRecord
	KindForget
	// KindTake adds Chunks to those the shard owns, KindGive removes them.
	KindTake
	KindGive
	// KindCopy reads some documents of Chunks behind the place Cmd.Docs[0] (from the
	// beginning without), whoever owns them. The answer also has the place that was
	// reached, in Value, zero at the end (docstore.ReadFrom).
	KindCopy
	// KindChanged reads up to Cmd.Take recorded changes: objects with r (the record),
	// c (collection), k (shard key), i (_id) and d (the document as it is now; absent when it is gone).
	KindChanged
	// KindSettle forgets the recorded changes Cmd.Docs.
	KindSettle
	// KindPut writes Cmd.Docs as they are; KindRemove deletes the documents with
	// the _id values Cmd.Docs.
	KindPut
	KindRemove
	// KindClean deletes some documents of Chunks behind the place Cmd.Docs[0]; the answer
	// says how many, and the place that was reached.
	KindClean
	// KindOwned describes what the shard owns.
	KindOwned
	// KindPlain executes a command as the doc function would that a client calls: with
	// the rights of the session's user, wherever the server keeps its documents. Key is
	// the path of a field that updates must not change, if any.
	KindPlain
)

// Writes reports a request that needs a transaction on the shard's leader.
func (r *Request) Writes() (bool, error) {
	switch r.Kind {
	case KindCommand, KindPlain:
		if r.Cmd == nil {
			return false, errMalformed
		}
		return Writes(r.Cmd)
	case KindCopy, KindChanged, KindOwned:
		return false, nil
	}
	return true, nil
}
