package catalog

import (
	"cmp"
	"slices"
	"sync"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// FirstUserOID is the first OID that is not a built-in object's.
const FirstUserOID OID = 16384

func builtinType(oid OID) *sqltypes.Type {
	if oid < FirstUserOID {
		return sqltypes.TypeByOID(oid)
	}
	return nil
}

func errUnknownType(oid OID) error {
	return pgerror.New(pgerror.UndefinedObject, "type with OID %d does not exist", oid)
}

// typeCache holds the runtime types made from the user types of a snapshot. It
// is shared by the snapshots between which no type and no relation changed.
type typeCache struct{ m sync.Map } // OID → *sqltypes.Type

func (tc *typeCache) get(c *Catalog, oid OID) *sqltypes.Type {
	if tc == nil {
		return nil
	}
	if t, ok := tc.m.Load(oid); ok {
		return t.(*sqltypes.Type)
	}
	u := c.UserType(oid)
	if u == nil || u.Kind == 'm' {
		u = c.rangeOf(oid) // a multirange is made with its range
	}
	if u == nil {
		return nil
	}
	t, multi := buildType(c, u)
	if t == nil {
		return nil
	}
	got, _ := tc.m.LoadOrStore(u.OID, t)
	if multi != nil {
		m, _ := tc.m.LoadOrStore(multi.OID, multi)
		if oid == multi.OID {
			return m.(*sqltypes.Type)
		}
	}
	return got.(*sqltypes.Type)
}

// rangeOf finds the range type whose multirange has the OID.
func (c *Catalog) rangeOf(multi OID) *UserType {
	var found *UserType
	c.types.byOID.all(func(u *UserType) bool {
		if u.Kind == 'r' && u.Multirange == multi {
			found = u
		}
		return found == nil
	})
	return found
}

// buildType makes the runtime type of a user type (and a range's multirange); nil
// when something it is made of does not exist.
func buildType(c *Catalog, u *UserType) (t, multi *sqltypes.Type) {
	id := sqltypes.TypeIdentity{OID: u.OID, Name: u.Name, Namespace: u.Schema, Array: u.ArrayOID, RelID: u.Relation, Collation: u.Base.Collation}
	switch u.Kind {
	case 'e':
		labels := make([]sqltypes.EnumLabel, len(u.Labels))
		for i, l := range u.Labels {
			labels[i] = sqltypes.EnumLabel{OID: l.OID, Sort: l.Order, Name: l.Label}
		}
		slices.SortStableFunc(labels, func(a, b sqltypes.EnumLabel) int { return cmp.Compare(a.Sort, b.Sort) })
		return sqltypes.NewEnumType(id, labels), nil
	case 'd':
		if base := c.Type(u.Base.OID); base != nil {
			return sqltypes.NewDomainType(id, base, u.Base.TypMod), nil
		}
	case 'a':
		if elem := c.Type(u.Subtype); elem != nil {
			return sqltypes.NewArrayType(id, elem), nil
		}
	case 'c':
		rel := c.Relation(u.Relation)
		if rel == nil {
			return nil, nil
		}
		fields := make([]sqltypes.Field, 0, len(rel.Columns))
		for _, col := range rel.Columns {
			if col.Dropped {
				continue
			}
			ft := c.Type(col.Type.OID)
			if ft == nil {
				return nil, nil
			}
			fields = append(fields, sqltypes.Field{Name: col.Name, Type: ft, ColumnType: col.Type})
		}
		return sqltypes.NewCompositeType(id, fields), nil
	case 'r':
		if sub := c.Type(u.Subtype); sub != nil {
			mid := sqltypes.TypeIdentity{OID: u.Multirange, Namespace: u.Schema}
			if m := c.UserType(u.Multirange); m != nil {
				mid.Name, mid.Array = m.Name, m.ArrayOID
			}
			return sqltypes.NewRangeTypes(id, mid, sub)
		}
	}
	return nil, nil
}
