package catalog

import (
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
	if u == nil {
		return nil
	}
	t := buildType(c, u)
	if t == nil {
		return nil
	}
	got, _ := tc.m.LoadOrStore(oid, t)
	return got.(*sqltypes.Type)
}

// buildType makes the runtime type of a user type, nil when it is of a sort that
// sqltypes cannot make.
func buildType(c *Catalog, u *UserType) *sqltypes.Type {
	switch u.Kind {
	case 'd':
		base := c.Type(u.Base.OID)
		if base == nil {
			return nil
		}
		t := *base
		t.OID, t.Name, t.Namespace, t.Array = u.OID, u.Name, u.Schema, u.ArrayOID
		t.TypType, t.Preferred, t.Base, t.BaseType, t.TypMod = 'd', false, base, base.OID, u.Base.TypMod
		t.Elem, t.ElemType, t.IsArray, t.Enum, t.Fields, t.Range = 0, nil, false, nil, nil, nil
		if u.Base.Collation != 0 {
			t.Collation = u.Base.Collation
		}
		return &t
	}
	return nil
}
