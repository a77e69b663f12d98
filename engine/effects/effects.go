// Package effects owns the format of what the engine proposes to the commit log:
// the effects of one transaction (docs/formats/effects.md).
//
// An entry is a version byte, the transaction's xid and a list of operations.
// Writers build it, Readers take it apart without copying. Decoding checks every
// length; it never trusts a count to allocate by.
package effects

import (
	"encoding/binary"
	"errors"
	"fmt"

	"ostraka/engine/storage"
	"ostraka/sqltypes"
)

// Version is the first byte of an entry.
const Version = 1

// Op is the kind of an operation.
type Op byte

const (
	OpPut         Op = iota + 1 // Key, Value
	OpDelete                    // Key
	OpDeleteRange               // Key (inclusive) to Value (exclusive)
	OpCounter                   // Counter, N: the counter becomes at least N
	OpSequence                  // N: storage id; Value: a storage.SequenceState; the later one wins
	OpDescriptor                // Key: catalog.Change.Key, Value: descriptor, empty drops
	OpNotify                    // DB, PID, Key: channel, Value: payload; not state
	OpGuard                     // Key must have Value (N 1) or be absent (N 0), else the entry is refused
	OpStage                     // N: chunk number, Value: operations kept aside for the entry's xid
	OpUseStaged                 // N: that many chunks of the entry's xid are part of the entry, in order, here
	OpDropStaged                // N: xid whose chunks are dropped, 0 all
	OpPutPart                   // Key, Value: a piece of a value too large for one chunk; the next OpPut of Key ends it
	OpToken                     // Key: a client's name for the entry's transaction
)

// ErrMalformed says that bytes are not an entry.
var ErrMalformed = errors.New("effects: malformed entry")

// Writer builds an entry.
type Writer struct{ b []byte }

// NewWriter starts an entry in buf's memory.
func NewWriter(buf []byte, xid uint64) *Writer {
	w := &Writer{}
	w.Start(buf, xid)
	return w
}

// Start starts an entry.
func (w *Writer) Start(buf []byte, xid uint64) {
	w.b = binary.AppendUvarint(append(buf[:0], Version), xid)
}

// StartChunk starts the content of an OpStage: operations without a header.
func (w *Writer) StartChunk(buf []byte) { w.b = buf[:0] }

// Bytes is the entry so far.
func (w *Writer) Bytes() []byte { return w.b }

// Len is its length in bytes.
func (w *Writer) Len() int { return len(w.b) }

func (w *Writer) bytes(p []byte) {
	w.b = binary.AppendUvarint(w.b, uint64(len(p)))
	w.b = append(w.b, p...)
}

func (w *Writer) str(p string) {
	w.b = binary.AppendUvarint(w.b, uint64(len(p)))
	w.b = append(w.b, p...)
}

func (w *Writer) Put(key string, val []byte) {
	w.b = append(w.b, byte(OpPut))
	w.str(key)
	w.bytes(val)
}

func (w *Writer) Delete(key string) {
	w.b = append(w.b, byte(OpDelete))
	w.str(key)
}

func (w *Writer) DeleteRange(lo, hi []byte) {
	w.b = append(w.b, byte(OpDeleteRange))
	w.bytes(lo)
	w.bytes(hi)
}

func (w *Writer) Counter(c storage.Counter, n uint64) {
	w.b = append(w.b, byte(OpCounter), byte(c))
	w.b = binary.AppendUvarint(w.b, n)
}

func (w *Writer) Sequence(storageID uint64, s storage.SequenceState) {
	w.b = append(w.b, byte(OpSequence))
	w.b = binary.AppendUvarint(w.b, storageID)
	w.bytes(storage.AppendSequence(nil, s))
}

func (w *Writer) Descriptor(key, desc []byte) {
	w.b = append(w.b, byte(OpDescriptor))
	w.bytes(key)
	w.bytes(desc)
}

func (w *Writer) Notify(db sqltypes.OID, pid int32, channel, payload string) {
	w.b = append(w.b, byte(OpNotify))
	w.b = binary.BigEndian.AppendUint32(w.b, uint32(db))
	w.b = binary.BigEndian.AppendUint32(w.b, uint32(pid))
	w.str(channel)
	w.str(payload)
}

// GuardValue refuses the entry unless key has the value; GuardAbsent unless key is absent.
func (w *Writer) GuardValue(key, val []byte) {
	w.b = append(w.b, byte(OpGuard), 1)
	w.bytes(key)
	w.bytes(val)
}

func (w *Writer) GuardAbsent(key []byte) {
	w.b = append(w.b, byte(OpGuard), 0)
	w.bytes(key)
	w.bytes(nil)
}

func (w *Writer) Stage(chunk uint32, ops []byte) {
	w.b = append(w.b, byte(OpStage))
	w.b = binary.AppendUvarint(w.b, uint64(chunk))
	w.bytes(ops)
}

func (w *Writer) UseStaged(chunks uint32) {
	w.b = append(w.b, byte(OpUseStaged))
	w.b = binary.AppendUvarint(w.b, uint64(chunks))
}

func (w *Writer) DropStaged(xid uint64) {
	w.b = append(w.b, byte(OpDropStaged))
	w.b = binary.AppendUvarint(w.b, xid)
}

// PutPart adds a piece of key's value; Put with the last piece ends it.
func (w *Writer) PutPart(key string, part []byte) {
	w.b = append(w.b, byte(OpPutPart))
	w.str(key)
	w.bytes(part)
}

// Token names the transaction.
func (w *Writer) Token(token string) {
	w.b = append(w.b, byte(OpToken))
	w.str(token)
}

// Operation is one decoded operation; its slices alias the entry.
type Operation struct {
	Op         Op
	Key, Value []byte
	N          uint64
	Counter    storage.Counter
	DB         sqltypes.OID
	PID        int32
}

// Reader takes an entry apart.
type Reader struct {
	Xid uint64
	b   []byte
}

// NewReader reads the header.
func NewReader(entry []byte) (Reader, error) {
	if len(entry) < 2 {
		return Reader{}, fmt.Errorf("%w: %d bytes", ErrMalformed, len(entry))
	}
	if entry[0] != Version {
		return Reader{}, fmt.Errorf("effects: entry of version %d, this program reads version %d", entry[0], Version)
	}
	xid, n := binary.Uvarint(entry[1:])
	if n <= 0 {
		return Reader{}, fmt.Errorf("%w: xid", ErrMalformed)
	}
	return Reader{Xid: xid, b: entry[1+n:]}, nil
}

// NewChunkReader reads the content of an OpStage.
func NewChunkReader(ops []byte) Reader { return Reader{b: ops} }

// Next decodes the next operation into o; ok is false at the end.
func (r *Reader) Next(o *Operation) (ok bool, err error) {
	if len(r.b) == 0 {
		return false, nil
	}
	*o = Operation{Op: Op(r.b[0])}
	r.b = r.b[1:]
	switch o.Op {
	case OpPut, OpPutPart, OpDeleteRange, OpDescriptor:
		ok = r.bytes(&o.Key) && r.bytes(&o.Value)
	case OpDelete, OpToken:
		ok = r.bytes(&o.Key)
	case OpCounter:
		if ok = len(r.b) > 0; ok {
			o.Counter = storage.Counter(r.b[0])
			r.b = r.b[1:]
			ok = r.uvarint(&o.N)
		}
	case OpSequence, OpStage:
		ok = r.uvarint(&o.N) && r.bytes(&o.Value)
	case OpNotify:
		if ok = len(r.b) >= 8; ok {
			o.DB = sqltypes.OID(binary.BigEndian.Uint32(r.b))
			o.PID = int32(binary.BigEndian.Uint32(r.b[4:]))
			r.b = r.b[8:]
			ok = r.bytes(&o.Key) && r.bytes(&o.Value)
		}
	case OpGuard:
		if ok = len(r.b) > 0 && r.b[0] <= 1; ok {
			o.N = uint64(r.b[0])
			r.b = r.b[1:]
			ok = r.bytes(&o.Key) && r.bytes(&o.Value)
		}
	case OpUseStaged, OpDropStaged:
		ok = r.uvarint(&o.N)
	}
	if !ok {
		return false, fmt.Errorf("%w: operation %d", ErrMalformed, o.Op)
	}
	return true, nil
}

func (r *Reader) uvarint(v *uint64) bool {
	x, n := binary.Uvarint(r.b)
	if n <= 0 {
		return false
	}
	*v, r.b = x, r.b[n:]
	return true
}

func (r *Reader) bytes(p *[]byte) bool {
	var n uint64
	if !r.uvarint(&n) || n > uint64(len(r.b)) {
		return false
	}
	*p, r.b = r.b[:n:n], r.b[n:]
	return true
}
