package catalog

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
)

// descriptorVersion is the first byte of an encoded descriptor. Fields may be
// added under it (JSON keeps them apart by name); a change of meaning needs a new one.
const descriptorVersion = 1

// MaxDescriptor bounds an encoded descriptor, in bytes.
const MaxDescriptor = 64 << 20

// Key is the change's place among the descriptors of its database and kind.
func (c *Change) Key() []byte {
	k := binary.BigEndian.AppendUint32(nil, uint32(c.DB))
	k = append(k, byte(c.Kind))
	k = binary.BigEndian.AppendUint32(k, uint32(c.OID))
	if c.Kind == ObjDefaultACL {
		k = binary.BigEndian.AppendUint32(k, uint32(c.Schema))
		k = append(k, c.ObjType)
	}
	return k
}

// EncodeDescriptor returns the stored form of the descriptor, nil when the change drops it.
func (c *Change) EncodeDescriptor() ([]byte, error) {
	if c.Desc == nil {
		return nil, nil
	}
	b, err := json.Marshal(c.Desc)
	if err != nil {
		return nil, fmt.Errorf("catalog: encoding descriptor %d of kind %d: %w", c.OID, c.Kind, err)
	}
	return append([]byte{descriptorVersion}, b...), nil
}

// DecodeChange is the inverse of Key and EncodeDescriptor; an empty desc drops.
func DecodeChange(key, desc []byte) (Change, error) {
	var c Change
	if len(key) < 9 {
		return c, fmt.Errorf("catalog: descriptor key of %d bytes", len(key))
	}
	c.DB = OID(binary.BigEndian.Uint32(key))
	c.Kind = ObjectKind(key[4])
	c.OID = OID(binary.BigEndian.Uint32(key[5:]))
	rest := key[9:]
	if c.Kind == ObjDefaultACL {
		if len(rest) != 5 {
			return c, fmt.Errorf("catalog: default ACL key of %d bytes", len(key))
		}
		c.Schema, c.ObjType = OID(binary.BigEndian.Uint32(rest)), rest[4]
	} else if len(rest) != 0 {
		return c, fmt.Errorf("catalog: descriptor key of %d bytes", len(key))
	}
	if len(desc) == 0 {
		return c, nil
	}
	if len(desc) > MaxDescriptor {
		return c, fmt.Errorf("catalog: descriptor of %d bytes", len(desc))
	}
	if desc[0] != descriptorVersion {
		return c, fmt.Errorf("catalog: descriptor version %d is not known", desc[0])
	}
	var err error
	switch c.Kind {
	case ObjDatabase:
		c.Desc, err = decode[Database](desc)
	case ObjRole:
		c.Desc, err = decode[Role](desc)
	case ObjSchema:
		c.Desc, err = decode[Schema](desc)
	case ObjType:
		c.Desc, err = decode[UserType](desc)
	case ObjRelation:
		c.Desc, err = decode[Relation](desc)
	case ObjFunction:
		c.Desc, err = decode[Function](desc)
	case ObjOperator:
		c.Desc, err = decode[Operator](desc)
	case ObjCast:
		c.Desc, err = decode[Cast](desc)
	case ObjPublication:
		c.Desc, err = decode[Publication](desc)
	case ObjSubscription:
		c.Desc, err = decode[Subscription](desc)
	case ObjDefaultACL:
		c.Desc, err = decode[DefaultACL](desc)
	case ObjStats:
		c.Desc, err = decode[TableStats](desc)
	case ObjShards:
		c.Desc, err = decode[Shards](desc)
	case ObjOwned:
		c.Desc, err = decode[Owned](desc)
	default:
		err = fmt.Errorf("catalog: descriptor kind %d is not known", c.Kind)
	}
	if err != nil {
		return Change{}, fmt.Errorf("catalog: decoding descriptor %d: %w", c.OID, err)
	}
	return c, nil
}

func decode[T any](desc []byte) (*T, error) {
	d := new(T)
	if err := json.Unmarshal(desc[1:], d); err != nil {
		return nil, err
	}
	return d, nil
}
