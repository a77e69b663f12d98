package docstore

import (
	"encoding/binary"
	"strconv"
	"strings"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// ChunkOf makes the function that tells the chunk, below count, of documents with a
// shard key; documents for which it fails are in none.
type ChunkOf func(key string, count int) (func(doc JSON) (int, error), error)

// Chunks is how documents with a shard key fall into chunks. Package shardrouter sets
// it at start; while it is nil collections have no chunk index.
var Chunks ChunkOf

// chunkIndex has the documents of a collection with a shard key by chunk, then by _id:
// what moves chunks reads no others. It is made with the collection, is no index of
// queries, and nobody drops it.
type chunkIndex struct {
	ix    *catalog.Index
	count int
	of    func(doc JSON) (int, error)
}

const (
	chunkIndexName = "_chunk_"
	chunksOption   = "chunks="
)

// chunkDescriptor is the chunk index of a new collection.
func chunkDescriptor(rel *catalog.Relation, oid sqltypes.OID, storage uint64) *catalog.Index {
	bytea := sqltypes.ColumnType{OID: sqltypes.OIDBytea, TypMod: -1}
	return &catalog.Index{OID: oid, Name: rel.Name + "." + chunkIndexName, Schema: rel.Schema, Owner: rel.Owner, Method: "btree", StorageID: storage,
		Ready: true, Options: []string{chunksOption + strconv.Itoa(catalog.DefaultChunks)},
		Keys: []catalog.IndexKey{{Expr: "chunk", Type: bytea}, {Expr: "_id", Type: bytea}}}
}

// openChunkIndex reads such a descriptor; nil when it is another index.
func (c *Collection) openChunkIndex(ix *catalog.Index) (*chunkIndex, error) {
	for _, o := range ix.Options {
		text, ok := strings.CutPrefix(o, chunksOption)
		if !ok {
			continue
		}
		x := &chunkIndex{ix: ix}
		key, _ := c.Option("shard_key")
		var err error
		if x.count, err = strconv.Atoi(text); err != nil || x.count < 1 || Chunks == nil {
			return nil, pgerror.New(pgerror.DataCorrupted, "the chunk index of collection %q has the option %q", c.Rel.Name, o)
		}
		x.of, err = Chunks(key, x.count)
		return x, err
	}
	return nil, nil
}

func chunkDatum(chunk int) sqltypes.Datum {
	return sqltypes.Bytes(binary.BigEndian.AppendUint32(nil, uint32(chunk)))
}

func (x *chunkIndex) keys(row []sqltypes.Datum) [][]sqltypes.Datum {
	chunk, err := x.of(sqltypes.JSONOf(row[attrDoc-1]))
	if err != nil {
		return nil
	}
	return [][]sqltypes.Datum{{chunkDatum(chunk), row[attrKey-1]}}
}

// spans are the entries of chunks, ascending, behind the document with the key in the
// first of them (null: from its first).
func (x *chunkIndex) spans(chunks []int, after sqltypes.Datum) []engine.Span {
	out := make([]engine.Span, 0, len(chunks))
	for i, c := range chunks {
		d := []sqltypes.Datum{chunkDatum(c)}
		sp := engine.Span{Lo: d, Hi: d, LoInc: true, HiInc: true}
		if i == 0 && !after.Null {
			sp.Lo, sp.LoInc = []sqltypes.Datum{d[0], after}, false
		}
		out = append(out, sp)
	}
	return out
}
