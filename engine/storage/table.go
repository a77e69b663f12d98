package storage

import (
	"encoding/binary"
	"sync/atomic"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// MaxKey bounds an encoded key, in bytes.
const MaxKey = 1 << 16

// Table is a relation as the store sees it: codecs compiled from one version of
// its descriptor.
type Table struct {
	Rel *catalog.Relation
	// Prefix of the rows' keys.
	Prefix []byte
	// Key is the clustered key, nil when rows have a hidden row id.
	Key *Index
	// Indexes are the others, in the descriptor's order.
	Indexes []*Index
	// Usage counts what is done with the table; nil until the shard knows.
	Usage atomic.Pointer[Usage]

	layouts []*layout
	attrs   []attr // by attribute number - 1
}

type attr struct {
	typ     *sqltypes.Type // nil: dropped
	class   byte
	missing sqltypes.Datum
	scale   int32 // numeric: declared scale, -1 unknown
}

// Index is one key of a table.
type Index struct {
	Ix *catalog.Index
	// Prefix of the entries' keys (of the rows, when Clustered).
	Prefix    []byte
	Clustered bool
	cols      []keyCol
}

// TableOf compiles the relation once per version of its descriptor.
func TableOf(cat *catalog.Catalog, rel *catalog.Relation) (*Table, error) {
	v, err := rel.Physical(func(rel *catalog.Relation) (any, error) { return newTable(rel, cat.Type) })
	if err != nil {
		return nil, err
	}
	return v.(*Table), nil
}

func newTable(rel *catalog.Relation, typ func(sqltypes.OID) *sqltypes.Type) (*Table, error) {
	t := &Table{Rel: rel, Prefix: AppendDataPrefix(nil, rel.StorageID), attrs: make([]attr, len(rel.Columns))}
	for i, c := range rel.Columns {
		a := &t.attrs[i]
		a.missing = sqltypes.Null
		if c.Dropped {
			continue
		}
		a.typ = typ(c.Type.OID)
		if a.typ == nil {
			return nil, pgerror.New(pgerror.UndefinedObject, "type with OID %d does not exist", c.Type.OID)
		}
		a.class = catalog.ClassOf(a.typ)
		a.scale = -1
		if a.class == catalog.ClassNumeric && c.Type.TypMod >= 4 {
			a.scale = int32((c.Type.TypMod-4)&0x7ff^0x400) - 0x400
		}
		if c.HasMissing {
			a.missing = c.Missing
		}
	}
	for i := range rel.Layouts {
		l, err := newLayout(uint16(i), &rel.Layouts[i])
		if err != nil {
			return nil, err
		}
		t.layouts = append(t.layouts, l)
	}
	for _, ix := range rel.Indexes {
		if !ix.Stored() {
			continue
		}
		x, err := t.newIndex(ix, typ)
		if err != nil {
			return nil, err
		}
		if ix.Clustered {
			t.Key = x
		} else {
			t.Indexes = append(t.Indexes, x)
		}
	}
	return t, nil
}

func (t *Table) newIndex(ix *catalog.Index, typ func(sqltypes.OID) *sqltypes.Type) (*Index, error) {
	x := &Index{Ix: ix, Clustered: ix.Clustered, Prefix: t.Prefix}
	if !ix.Clustered {
		x.Prefix = AppendDataPrefix(nil, ix.StorageID)
	}
	for _, k := range ix.Keys {
		c := keyCol{attr: k.Attr, desc: k.Desc, nullsFirst: k.NullsFirst}
		oid := k.Type.OID
		if oid == 0 && k.Attr > 0 && int(k.Attr) <= len(t.Rel.Columns) {
			oid = t.Rel.Columns[k.Attr-1].Type.OID
		}
		if c.typ = typ(oid); c.typ == nil {
			return nil, pgerror.New(pgerror.UndefinedObject, "type with OID %d does not exist", oid)
		}
		var err error
		if c.class, c.elem, err = keyClassOf(c.typ); err != nil {
			return nil, err
		}
		x.cols = append(x.cols, c)
	}
	return x, nil
}

// IndexOf finds the codec of ix (by OID), nil for the table's own key. It
// answers nil when the table has no such index or no key.
func (t *Table) IndexOf(ix *catalog.Index) *Index {
	if ix == nil || ix.Clustered {
		return t.Key
	}
	for _, x := range t.Indexes {
		if x.Ix.OID == ix.OID {
			return x
		}
	}
	return nil
}

// NumCols is the number of columns of the key.
func (x *Index) NumCols() int { return len(x.cols) }

// Type is the type of key column i.
func (x *Index) Type(i int) *sqltypes.Type { return x.cols[i].typ }

// Plain reports whether the key consists of attributes only and the index has no predicate.
func (x *Index) Plain() bool {
	if x.Ix.Predicate != "" {
		return false
	}
	for i := range x.cols {
		if x.cols[i].attr == 0 {
			return false
		}
	}
	return true
}

// KeyOfRow picks the key values out of a row; only for Plain keys.
func (x *Index) KeyOfRow(dst, row []sqltypes.Datum) []sqltypes.Datum {
	for i := range x.cols {
		dst = append(dst, row[x.cols[i].attr-1])
	}
	return dst
}

// AppendKey appends the prefix and the encoding of leading key values.
func (x *Index) AppendKey(dst []byte, vals []sqltypes.Datum) []byte {
	dst = append(dst, x.Prefix...)
	for i := range vals {
		dst = x.cols[i].append(dst, vals[i])
	}
	return dst
}

// AppendKeyOfRow is AppendKey of KeyOfRow.
func (x *Index) AppendKeyOfRow(dst []byte, row []sqltypes.Datum) []byte {
	dst = append(dst, x.Prefix...)
	for i := range x.cols {
		dst = x.cols[i].append(dst, row[x.cols[i].attr-1])
	}
	return dst
}

// Exclusive reports whether two rows cannot have these key values: the index is
// unique at once, and none of them is NULL unless NULLs count as equal.
func (x *Index) Exclusive(vals []sqltypes.Datum) bool {
	return x.Ix.UniqueAtOnce() && x.comparable(vals)
}

// Checked reports whether the rows with these key values are counted later: the
// index is unique, but only when its constraint is checked.
func (x *Index) Checked(vals []sqltypes.Datum) bool {
	return x.Ix.Unique && x.Ix.Deferrable && x.comparable(vals)
}

// comparable reports whether a key counts as equal to itself.
func (x *Index) comparable(vals []sqltypes.Datum) bool {
	if x.Ix.NullsNotDistinct {
		return true
	}
	for i := range vals {
		if vals[i].Null {
			return false
		}
	}
	return true
}

// Values of index entries: where the row's key (without the table's prefix) is.
const (
	entryInKey   = 0 // the last n bytes of the entry's key; uvarint n follows
	entryInValue = 1 // it follows
)

// AppendEntry appends the key and value of the index entry of a row. rowKey is
// the row's whole key.
func (t *Table) AppendEntry(x *Index, key, val []byte, vals []sqltypes.Datum, rowKey []byte) (k, v []byte) {
	suffix := rowKey[len(t.Prefix):]
	key = x.AppendKey(key, vals)
	if x.Exclusive(vals) {
		return key, append(append(val, entryInValue), suffix...)
	}
	return append(key, suffix...), binary.AppendUvarint(append(val, entryInKey), uint64(len(suffix)))
}

// RowKeyOfEntry appends the key of the row that an index entry points to.
func (t *Table) RowKeyOfEntry(dst, key, val []byte) ([]byte, error) {
	if len(val) == 0 {
		return nil, errCorrupt("index entry without value")
	}
	dst = append(dst, t.Prefix...)
	switch val[0] {
	case entryInValue:
		return append(dst, val[1:]...), nil
	case entryInKey:
		n, w := binary.Uvarint(val[1:])
		if w <= 0 || n > uint64(len(key)) {
			return nil, errCorrupt("index entry with a bad row key length")
		}
		return append(dst, key[len(key)-int(n):]...), nil
	}
	return nil, errCorrupt("index entry of unknown kind")
}

// AppendHiddenKey appends the key of the row with that hidden row id.
func (t *Table) AppendHiddenKey(dst []byte, id uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, t.Prefix...), id)
}

// HiddenID is the hidden row id in a row's key, 0 if it is not one.
func (t *Table) HiddenID(key []byte) uint64 {
	if len(key) != len(t.Prefix)+8 {
		return 0
	}
	return binary.BigEndian.Uint64(key[len(t.Prefix):])
}

// CheckKey refuses keys that are too long.
func (x *Index) CheckKey(key []byte) error {
	if len(key) <= MaxKey {
		return nil
	}
	return pgerror.New(pgerror.ProgramLimitExceeded, "index row size %d exceeds maximum %d for index %q", len(key), MaxKey, x.Ix.Name).
		WithHint("Values larger than 1/3 of a buffer page cannot be indexed.\nConsider a function index of an MD5 hash of the value, or use full text indexing.")
}

// Corruptions counts values that could not be decoded.
var Corruptions atomic.Int64

func errCorrupt(format string, args ...any) error {
	Corruptions.Add(1)
	return pgerror.New(pgerror.DataCorrupted, "stored data is corrupt: "+format, args...)
}

// SameKey reports whether two rows have the same values in the key's attributes;
// only for Plain keys. It may answer false for values that are equal as keys.
func (x *Index) SameKey(a, b []sqltypes.Datum) bool {
	for i := range x.cols {
		if n := x.cols[i].attr - 1; a[n] != b[n] {
			return false
		}
	}
	return true
}
