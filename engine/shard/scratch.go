package shard

import (
	"sync"

	"ostraka/sqltypes"
)

// scratch is room for the keys of one row while it is being written.
type scratch struct {
	key  [128]byte
	vals [8]sqltypes.Datum
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func takeScratch() *scratch { return scratches.Get().(*scratch) }

func (w *scratch) release() {
	clear(w.vals[:]) // keeps no strings alive
	scratches.Put(w)
}
