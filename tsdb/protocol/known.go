package protocol

import (
	"sync"
	"sync/atomic"

	"ostraka/sqltypes"
	"ostraka/tsdb/store"
)

// knownSeries finds series by the bytes that requests name them with, which spares
// taking those apart again. Clients name their series in the same order every time:
// each entry remembers which one came after it.
type knownSeries struct {
	mu    sync.RWMutex
	byKey map[knownKey]*known // guarded by mu
	bytes int                 // guarded by mu
}

// knownKey is a series in requests of one kind to one database (line protocol) or
// table (remote write).
type knownKey struct {
	scope knownScope
	text  string
}

// knownScope is a database's OID, and a table's for remote write.
type knownScope struct{ database, table sqltypes.OID }

// known is a series that was met before. It is only good as long as its target is
// its table's.
type known struct {
	key    knownKey
	target *target
	series *store.Series
	next   atomic.Pointer[known]
}

const (
	// maxKnownBytes of texts are kept; past it all are forgotten.
	maxKnownBytes = 256 << 20
	knownOverhead = 200
)

// find returns the series that text names, nil when it is not known. after is the
// one before it in the request, or nil.
func (k *knownSeries) find(scope knownScope, text []byte, after *known) *known {
	if after != nil {
		if n := after.next.Load(); n != nil && n.key.text == string(text) && n.key.scope == scope {
			return n
		}
	}
	k.mu.RLock()
	e := k.byKey[knownKey{scope, string(text)}]
	k.mu.RUnlock()
	if e != nil && after != nil {
		after.next.Store(e)
	}
	return e
}

// remember enters a series of target t.
func (k *knownSeries) remember(scope knownScope, text []byte, t *target, s *store.Series) *known {
	e := &known{key: knownKey{scope, string(text)}, target: t, series: s}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.bytes > maxKnownBytes {
		k.byKey, k.bytes = nil, 0
	}
	if k.byKey == nil {
		k.byKey = map[knownKey]*known{}
	}
	k.byKey[e.key] = e
	k.bytes += len(text) + knownOverhead
	return e
}
