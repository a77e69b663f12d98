package catalog

import (
	"slices"

	"ostraka/sqltypes"
)

// The physical classes of attributes in a row (docs/formats/rows.md).
const (
	ClassInt1     = '1' // KInt, 1 byte, signed
	ClassInt2     = '2'
	ClassInt4     = '4'
	ClassInt8     = '8'
	ClassUint4    = 'u' // oid, xid, cid and the reg types
	ClassFloat4   = 'f'
	ClassFloat8   = 'F'
	ClassNumeric  = 'n' // int64 and a scale byte; large ones in the variable part
	ClassInterval = 'i' // µs, months, days
	ClassTimeTZ   = 'z' // µs, zone
	ClassVar      = 'v' // bytes in the variable part
)

// ClassOf is the physical class of a type's values.
func ClassOf(t *sqltypes.Type) byte {
	for t.Base != nil {
		t = t.Base
	}
	switch t.Kind {
	case sqltypes.KInt:
		switch t.Len {
		case 1:
			return ClassInt1
		case 2:
			return ClassInt2
		case 4:
			if t.OID == oidDate || t.OID == oidInt4 {
				return ClassInt4
			}
			return ClassUint4
		}
		return ClassInt8
	case sqltypes.KFloat:
		if t.Len == 4 {
			return ClassFloat4
		}
		return ClassFloat8
	case sqltypes.KNumeric:
		return ClassNumeric
	case sqltypes.KDatum:
		if t.OID == oidTimeTZ {
			return ClassTimeTZ
		}
		return ClassInterval
	}
	return ClassVar
}

const (
	oidInt4   OID = 23
	oidDate   OID = 1082
	oidTimeTZ OID = 1266
)

// WithLayouts returns rel with Layouts continued from prev, the relation's
// descriptor before (nil if it is new): a layout is added when the columns that
// exist, or their physical classes, are no longer those of the newest one.
// Rows of another storage id were never written under prev's layouts.
func WithLayouts(rel, prev *Relation, typ func(OID) *sqltypes.Type) (*Relation, error) {
	r := *rel
	r.phys = new(physical)
	r.Layouts = nil
	if prev != nil && prev.StorageID == rel.StorageID {
		r.Layouts = prev.Layouts
	}
	if len(r.Columns) == 0 || (r.Kind != KindTable && r.Kind != KindMatView && r.Kind != KindCollection) {
		return &r, nil
	}
	var l Layout
	for i, c := range r.Columns {
		if c.Dropped {
			continue
		}
		t := typ(c.Type.OID)
		if t == nil {
			return nil, errUnknownType(c.Type.OID)
		}
		l.Attrs = append(l.Attrs, int16(i+1))
		l.Classes = append(l.Classes, ClassOf(t))
	}
	// Fixed-width attributes in order of width would save nothing: offsets are
	// constants either way. So the order is that of the columns.
	if n := len(r.Layouts); n == 0 || !slices.Equal(r.Layouts[n-1].Attrs, l.Attrs) || string(r.Layouts[n-1].Classes) != string(l.Classes) {
		r.Layouts = append(r.Layouts[:n:n], l)
	}
	return &r, nil
}
