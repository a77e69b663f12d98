package tsdb

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"ostraka/engine/catalog"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
	"ostraka/tsdb/chunk"
	"ostraka/tsdb/store"
)

// Relation is a time-series table as SQL sees it, mapped to its table in the store.
type Relation struct {
	Rel   *catalog.Relation
	Spec  *catalog.TimeSeries
	spec  store.TableSpec
	kinds []sqltypes.Kind
	tagAt []int // by attribute - 1: place among the tags, -1
	// packed, by attribute - 1: values are stored as texts that pack makes.
	packed []bool
}

// relation describes a time-series relation for the store.
func relation(rel *catalog.Relation) (*Relation, error) {
	ts := rel.TimeSeriesSpec()
	if ts == nil {
		return nil, fmt.Errorf("tsdb: relation %s is no time series", rel.Name)
	}
	r := &Relation{Rel: rel, Spec: ts, tagAt: make([]int, len(rel.Columns)), kinds: make([]sqltypes.Kind, len(rel.Columns)),
		packed: make([]bool, len(rel.Columns))}
	for i := range r.tagAt {
		r.tagAt[i] = -1
	}
	for i, a := range ts.Tags {
		r.tagAt[a-1] = i
	}
	r.spec = store.TableSpec{ID: rel.StorageID, Tags: len(ts.Tags), Window: ts.Window}
	for i, c := range rel.Columns {
		if c.Dropped {
			continue
		}
		kind, ok := KindOf(c.Type.OID)
		if !ok {
			return nil, pgerror.NotSupported(fmt.Sprintf("type %s in a time-series table", sqltypes.FormatType(c.Type.OID, -1)))
		}
		r.kinds[i] = sqltypes.KInt
		switch kind {
		case chunk.Float:
			r.kinds[i] = sqltypes.KFloat
		case chunk.Text:
			r.kinds[i] = sqltypes.KBytes
			if t := sqltypes.TypeByOID(c.Type.OID); t.Kind != sqltypes.KBytes {
				r.kinds[i], r.packed[i] = t.Kind, true
			}
		}
		if c.Num != ts.Time && r.tagAt[i] < 0 {
			r.spec.Fields = append(r.spec.Fields, store.Field{ID: c.Num, Kind: kind})
		}
	}
	return r, nil
}

// KindOf is how values of a type are stored; false for types that time series
// cannot hold.
func KindOf(oid sqltypes.OID) (chunk.Kind, bool) {
	switch oid {
	case sqltypes.OIDFloat8, sqltypes.OIDFloat4:
		return chunk.Float, true
	case sqltypes.OIDInt2, sqltypes.OIDInt4, sqltypes.OIDInt8, sqltypes.OIDBool, sqltypes.OIDTimestamptz, sqltypes.OIDTimestamp, sqltypes.OIDDate:
		return chunk.Int, true
	case sqltypes.OIDText, sqltypes.OIDVarchar, sqltypes.OIDUuid, sqltypes.OIDJsonb, sqltypes.OIDJson, sqltypes.OIDBytea:
		return chunk.Text, true
	}
	if t := sqltypes.TypeByOID(oid); t != nil {
		switch {
		case t.IsArray, t.Kind == sqltypes.KNumeric, t.Kind == sqltypes.KDatum:
			return chunk.Text, true
		case oid == sqltypes.OIDTime:
			return chunk.Int, true
		}
	}
	return 0, false
}

// pack is a value that takes more than one field of a Datum as a text.
func pack(d sqltypes.Datum) sqltypes.Datum {
	b := binary.AppendVarint(make([]byte, 0, 16+len(d.S)), d.I)
	b = append(binary.AppendVarint(b, int64(d.Aux)), d.S...)
	return sqltypes.Datum{S: string(b)}
}

// unpack is the inverse of pack.
func unpack(s string) sqltypes.Datum {
	b := []byte(s)
	i, k := binary.Varint(b)
	aux, n := binary.Varint(b[max(k, 0):])
	if k <= 0 || n <= 0 {
		return sqltypes.Null
	}
	return sqltypes.Datum{I: i, Aux: int32(aux), S: s[k+n:]}
}

// field is a value as the store has it, datumOf the inverse.
func (r *Relation) field(attr int16, d sqltypes.Datum) sqltypes.Datum {
	if !d.Null && r.packed[attr-1] {
		return pack(d)
	}
	return d
}

func (r *Relation) datumOf(attr int16, d sqltypes.Datum) sqltypes.Datum {
	if !d.Null && int(attr) <= len(r.packed) && r.packed[attr-1] {
		return unpack(d.S)
	}
	return d
}

// TagType reports whether a column of the type may be a tag.
func TagType(oid sqltypes.OID) bool {
	switch oid {
	case sqltypes.OIDText, sqltypes.OIDVarchar, sqltypes.OIDUuid, sqltypes.OIDInt2, sqltypes.OIDInt4, sqltypes.OIDInt8, sqltypes.OIDBool:
		return true
	}
	return false
}

// tag is a value as a series' tag.
func (r *Relation) tag(attr int16, d sqltypes.Datum) store.Tag {
	if d.Null {
		return store.Tag{Null: true}
	}
	if r.kinds[attr-1] == sqltypes.KBytes {
		return store.Tag{Value: d.S}
	}
	return store.Tag{Value: strconv.FormatInt(d.I, 10)}
}

// datum is the inverse of tag.
func (r *Relation) datum(attr int16, t store.Tag) sqltypes.Datum {
	if t.Null {
		return sqltypes.Null
	}
	if r.kinds[attr-1] == sqltypes.KBytes {
		return sqltypes.Text(t.Value)
	}
	v, _ := strconv.ParseInt(t.Value, 10, 64)
	return sqltypes.Int(v)
}

// tags are a row's tags; the row has a Datum per attribute.
func (r *Relation) tags(dst []store.Tag, row []sqltypes.Datum) []store.Tag {
	for _, a := range r.Spec.Tags {
		dst = append(dst, r.tag(a, row[a-1]))
	}
	return dst
}

// refKey names a row by series and time.
func refKey(sid uint32, t int64) string {
	var b [12]byte
	binary.BigEndian.PutUint32(b[:], sid)
	binary.BigEndian.PutUint64(b[4:], uint64(t))
	return string(b[:])
}

func parseRef(k string) (sid uint32, t int64, ok bool) {
	if len(k) != 12 {
		return 0, 0, false
	}
	return binary.BigEndian.Uint32([]byte(k)), int64(binary.BigEndian.Uint64([]byte(k[4:]))), true
}

// checkTime refuses a time that no row can have.
func (r *Relation) checkTime(d sqltypes.Datum) error {
	c := r.Rel.Columns[r.Spec.Time-1]
	if d.Null {
		return pgerror.New(pgerror.NotNullViolation, "null value in column \"%s\" of relation \"%s\" violates not-null constraint", c.Name, r.Rel.Name).WithColumn(c.Name)
	}
	if d.I == 1<<63-1 || d.I == -1<<63 {
		return pgerror.New(pgerror.DatetimeFieldOverflow, "time \"infinity\" cannot be stored in time-series table \"%s\"", r.Rel.Name)
	}
	return nil
}
