package docstore

import (
	"encoding/binary"

	"ostraka/engine/storage"
	"ostraka/sqltypes"
)

// Index keys: a value's class, then what orders it within the class, so that
// bytes.Compare of two keys is Compare of the values (docs/formats/documents.md).
const (
	keyEnd    = 0x00 // ends objects and arrays: below every class
	keyMarker = 0x02 // not a value: a document has several keys in this index
)

// AppendKey appends the key of a value; a zero JSON is null.
func AppendKey(dst []byte, j JSON) []byte {
	c := ClassOf(j)
	return appendKeyBody(append(dst, byte(c)), c, j)
}

func appendKeyBody(dst []byte, c Class, j JSON) []byte {
	switch c {
	case ClassNumber:
		return storage.AppendKeyNumeric(dst, j.Number())
	case ClassString:
		return storage.AppendKeyText(dst, j.Str())
	case ClassBool:
		if j.Bool() {
			return append(dst, 1)
		}
		return append(dst, 0)
	case ClassDate:
		t, _ := DateOf(j)
		dst = binary.BigEndian.AppendUint64(dst, uint64(t.Unix())^1<<63)
		return binary.BigEndian.AppendUint32(dst, uint32(t.Nanosecond()))
	case ClassArray:
		for i, n := 0, j.Len(); i < n; i++ {
			dst = AppendKey(dst, j.Index(i))
		}
		return append(dst, keyEnd)
	case ClassObject:
		for i, n := 0, j.Len(); i < n; i++ {
			v := j.Value(i)
			cv := ClassOf(v)
			dst = storage.AppendKeyText(append(dst, byte(cv)), j.Key(i))
			dst = appendKeyBody(dst, cv, v)
		}
		return append(dst, keyEnd)
	}
	return dst
}

// keyDatum is a value's key as a column of an index.
func keyDatum(j JSON) sqltypes.Datum { return sqltypes.Bytes(AppendKey(nil, j)) }

// classBounds are the keys below and above all values of a class.
func classBounds(c Class) (lo, hi sqltypes.Datum) {
	return sqltypes.Bytes([]byte{byte(c)}), sqltypes.Bytes([]byte{byte(c) + 1})
}
