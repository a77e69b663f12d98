package storage

import (
	"encoding/binary"
	"math/bits"
)

// The first byte of a key says what the key is of.
const (
	tagSystem = 0x01 // system records; the second byte says which
	tagStaged = 0x08 // chunks of transactions that are not committed yet
	tagFeed   = 0x0c // + storage id, place: additions to a relation's feed
	tagData   = 0x10 // + number of bytes of the storage id: rows and index entries
)

// System records.
const (
	sysApplied    = 'a' // position, term and membership of the newest applied entry
	sysDescriptor = 'c' // + catalog.Change.Key
	sysFormat     = 'f' // format version of the database
	sysMax        = 'm' // + counter: a number that only grows
	sysSequence   = 's' // + storage id: state of a sequence
	sysOutcome    = 't' // + block number: which transaction ids of the block have committed
	sysToken      = 'u' // + a client's name for its transaction: the id under which it committed
	sysTokenAge   = 'v' // + transaction id: that name
)

// Counter names a replicated number that only grows.
type Counter byte

const (
	// CounterXid: no transaction id above it was handed out.
	CounterXid Counter = 'x'
	// CounterOID and CounterStorage are the highest ones in use.
	CounterOID     Counter = 'o'
	CounterStorage Counter = 's'
	// CounterOutcome is the first transaction id whose outcome was recorded.
	CounterOutcome Counter = 't'
)

var (
	appliedKey = []byte{tagSystem, sysApplied}
	formatKey  = []byte{tagSystem, sysFormat}
)

// AppliedKey is where the applied record is kept.
func AppliedKey() []byte { return append([]byte(nil), appliedKey...) }

// CounterKey is where a counter is kept.
func CounterKey(c Counter) []byte { return []byte{tagSystem, sysMax, byte(c)} }

// DescriptorKey is where a descriptor is kept; key is catalog.Change.Key.
func DescriptorKey(key []byte) []byte {
	return append([]byte{tagSystem, sysDescriptor}, key...)
}

// SequenceKey is where the state of the sequence with that storage id is kept.
func SequenceKey(storageID uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{tagSystem, sysSequence}, storageID)
}

// OutcomeKey is where the outcomes of a block of transaction ids are kept.
func OutcomeKey(block uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{tagSystem, sysOutcome}, block)
}

// TokenKey is where the transaction id is kept that committed under a client's name.
func TokenKey(token []byte) []byte { return append([]byte{tagSystem, sysToken}, token...) }

// TokenAgeKey finds names by transaction id.
func TokenAgeKey(xid uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{tagSystem, sysTokenAge}, xid)
}

// StagedKey is the place of one chunk of a large transaction.
func StagedKey(xid uint64, chunk uint32) []byte {
	k := binary.BigEndian.AppendUint64([]byte{tagStaged}, xid)
	return binary.BigEndian.AppendUint32(k, chunk)
}

// StagedRange is the range of all chunks of a transaction, of every one for xid 0.
func StagedRange(xid uint64) (lo, hi []byte) {
	if xid == 0 {
		return []byte{tagStaged}, []byte{tagStaged + 1}
	}
	lo = binary.BigEndian.AppendUint64([]byte{tagStaged}, xid)
	return lo, PrefixEnd(append([]byte(nil), lo...))
}

// feedKeyLen: the tag, a storage id, a place of 24 bytes.
const feedKeyLen = 1 + 8 + 24

// FeedKey is where an addition to the feed of a relation is kept. Until the entry
// is applied its place has zeros but for the number seq of the addition.
func FeedKey(storageID, epoch, index uint64, ordinal, seq uint32) []byte {
	k := make([]byte, 1, feedKeyLen)
	k[0] = tagFeed
	k = binary.BigEndian.AppendUint64(k, storageID)
	k = binary.BigEndian.AppendUint64(k, epoch)
	k = binary.BigEndian.AppendUint64(k, index)
	k = binary.BigEndian.AppendUint32(k, ordinal)
	return binary.BigEndian.AppendUint32(k, seq)
}

// IsFeedKey tells keys of additions to feeds.
func IsFeedKey(key []byte) bool { return len(key) == feedKeyLen && key[0] == tagFeed }

// StampFeedKey puts the place of the entry that is applied into the key.
func StampFeedKey(key []byte, epoch, index uint64, ordinal uint32) []byte {
	k := append(make([]byte, 0, feedKeyLen), key[:9]...)
	k = binary.BigEndian.AppendUint64(k, epoch)
	k = binary.BigEndian.AppendUint64(k, index)
	k = binary.BigEndian.AppendUint32(k, ordinal)
	return append(k, key[29:]...)
}

// FeedPlace reads the place in a feed's key.
func FeedPlace(key []byte) (epoch, index uint64, ordinal, seq uint32, ok bool) {
	if !IsFeedKey(key) {
		return 0, 0, 0, 0, false
	}
	b := binary.BigEndian
	return b.Uint64(key[9:]), b.Uint64(key[17:]), b.Uint32(key[25:]), b.Uint32(key[29:]), true
}

// FeedRange is the key range of a feed.
func FeedRange(storageID uint64) (lo, hi []byte) {
	lo = binary.BigEndian.AppendUint64([]byte{tagFeed}, storageID)
	return lo, PrefixEnd(append([]byte(nil), lo...))
}

// AppendDataPrefix appends the prefix of everything under a storage id. Prefixes
// sort as the ids do.
func AppendDataPrefix(dst []byte, storageID uint64) []byte {
	n := (bits.Len64(storageID) + 7) / 8
	dst = append(dst, tagData+byte(n))
	for i := n - 1; i >= 0; i-- {
		dst = append(dst, byte(storageID>>(8*i)))
	}
	return dst
}

// DataRange is the key range of everything under a storage id.
func DataRange(storageID uint64) (lo, hi []byte) {
	lo = AppendDataPrefix(nil, storageID)
	return lo, PrefixEnd(append([]byte(nil), lo...))
}

// SplitData splits a data key into its storage id and the rest.
func SplitData(key []byte) (storageID uint64, rest []byte, ok bool) {
	if len(key) == 0 || key[0] < tagData || key[0] > tagData+8 {
		return 0, nil, false
	}
	n := int(key[0] - tagData)
	if len(key) < 1+n {
		return 0, nil, false
	}
	for _, b := range key[1 : 1+n] {
		storageID = storageID<<8 | uint64(b)
	}
	return storageID, key[1+n:], true
}

// PrefixEnd turns a prefix, in place, into the smallest key above all keys that
// have it; nil when there is none.
func PrefixEnd(p []byte) []byte {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i] != 0xff {
			p[i]++
			return p[:i+1]
		}
	}
	return nil
}
