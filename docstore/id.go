package docstore

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"sync/atomic"
	"time"

	"ostraka/sqltypes"
)

// process makes ids of different processes different; counter those of one.
var (
	process = func() (b [5]byte) {
		_, _ = rand.Read(b[:]) // never fails
		return b
	}()
	counter = func() *atomic.Uint32 {
		var b [4]byte
		_, _ = rand.Read(b[:])
		c := new(atomic.Uint32)
		c.Store(binary.BigEndian.Uint32(b[:]))
		return c
	}()
)

// NewObjectID makes a sortable id of 24 hexadecimal digits, as an ObjectId
// prints: seconds, 5 random bytes of the process, a counter. It is unique by
// construction, whichever shard makes it.
func NewObjectID(now time.Time) JSON {
	var b [12]byte
	binary.BigEndian.PutUint32(b[:], uint32(now.Unix()))
	copy(b[4:], process[:])
	c := counter.Add(1)
	b[9], b[10], b[11] = byte(c>>16), byte(c>>8), byte(c)
	return sqltypes.JSONStringOf(hex.EncodeToString(b[:]))
}
