package sqltypes

import (
	"encoding/binary"

	"ostraka/sqltypes/pgerror"
)

// Constructors of user types. The catalogue calls them when it reads its rows;
// the result is immutable, a changed type (ALTER TYPE) is built anew.

// EnumInfo is what an enum type consists of.
type EnumInfo struct {
	Labels []EnumLabel // in enum order
	byOID  map[OID]int // → place in Labels
	byName map[string]int
}

// EnumLabel is one row of pg_enum.
type EnumLabel struct {
	OID  OID
	Sort float32
	Name string
}

// Index is the place of a label in enum order, by its OID (the value of a Datum) or by name; -1 when absent.
func (e *EnumInfo) Index(oid OID) int {
	if i, ok := e.byOID[oid]; ok {
		return i
	}
	return -1
}

func (e *EnumInfo) IndexOf(label string) int {
	if i, ok := e.byName[label]; ok {
		return i
	}
	return -1
}

// Field is one attribute of a composite.
type Field struct {
	Name string
	Type *Type
	ColumnType
}

// TypeIdentity is what every user type needs to have: its names and numbers.
type TypeIdentity struct {
	OID       OID
	Name      string
	Namespace OID
	Array     OID // typarray, 0 if it has none
	RelID     OID // composites
	Collation OID
}

func (id TypeIdentity) base(typtype, category byte, length int16) *Type {
	return &Type{
		OID: id.OID, Name: id.Name, Namespace: id.Namespace, Len: length, ByVal: length > 0, TypType: typtype,
		Category: category, Delim: ',', RelID: id.RelID, Array: id.Array, TypMod: -1, Collation: id.Collation,
		Align: 'i', Storage: 'x',
	}
}

// NewEnumType builds an enum. Its values are Int(label OID); the order is that of labels.
func NewEnumType(id TypeIdentity, labels []EnumLabel) *Type {
	t := id.base('e', 'E', 4)
	t.Storage = 'p'
	info := &EnumInfo{Labels: labels, byOID: make(map[OID]int, len(labels)), byName: make(map[string]int, len(labels))}
	for i, l := range labels {
		info.byOID[l.OID], info.byName[l.Name] = i, i
	}
	t.Enum, t.Kind = info, KInt
	name := QuoteIdent(id.Name)
	t.In = func(_ *Env, s string, _ int32) (Datum, error) {
		i, ok := info.byName[s]
		if !ok {
			return Null, pgerror.New(pgerror.InvalidTextRepresentation, "invalid input value for enum %s: \"%s\"", name, s)
		}
		return Int(int64(labels[i].OID)), nil
	}
	t.Out = func(_ *Env, dst []byte, d Datum) []byte {
		if i, ok := info.byOID[OID(d.I)]; ok {
			return append(dst, labels[i].Name...)
		}
		return dst
	}
	t.Recv = func(env *Env, b []byte, _ int32) (Datum, error) { return t.In(env, string(b), -1) }
	t.Send = t.Out
	t.Compare = func(a, b Datum) int {
		if a.I == b.I {
			return 0
		}
		return cmpInt(info.Index(OID(a.I)), info.Index(OID(b.I)))
	}
	t.Hash = hashI
	return t
}

// DomainChecker is a SessionEnv that knows the constraints of domains.
type DomainChecker interface {
	// CheckDomain tests a value of the base type, 23502 or 23514.
	CheckDomain(domain OID, d Datum) error
}

// CheckDomain tests a value of a domain by the environment's session, if it has one.
func CheckDomain(env *Env, t *Type, d Datum) error {
	if env == nil {
		return nil
	}
	if c, ok := env.Session.(DomainChecker); ok {
		return c.CheckDomain(t.OID, d)
	}
	return nil
}

// InNull tells whether NULL may be a value of the type: domains can refuse it.
func (t *Type) InNull(env *Env) error {
	if t.Base == nil {
		return nil
	}
	return CheckDomain(env, t, Null)
}

// NewDomainType builds a domain over base with its typmod. What comes in as text or
// binary is checked by the session; of other values the planner takes care.
func NewDomainType(id TypeIdentity, base *Type, typmod int32) *Type {
	t := id.base('d', base.Category, base.Len)
	t.ByVal, t.Align, t.Storage, t.Delim = base.ByVal, base.Align, base.Storage, base.Delim
	t.BaseType, t.Base, t.TypMod = base.OID, base, typmod
	if t.Collation == 0 {
		t.Collation = base.Collation
	}
	t.Kind = base.Kind
	t.In = func(env *Env, s string, _ int32) (Datum, error) {
		d, err := base.In(env, s, -1)
		if err == nil && typmod >= 0 {
			d, err = ApplyTypMod(base, d, typmod, false)
		}
		if err != nil {
			return d, err
		}
		return d, CheckDomain(env, t, d)
	}
	t.Recv = func(env *Env, b []byte, _ int32) (Datum, error) {
		d, err := base.Recv(env, b, typmod)
		if err != nil {
			return d, err
		}
		return d, CheckDomain(env, t, d)
	}
	t.Out, t.Send, t.Compare, t.Hash = base.Out, base.Send, base.Compare, base.Hash
	// What can be subscripted or taken apart stays so.
	t.ElemType, t.Enum, t.Fields, t.Range = base.ElemType, base.Enum, base.Fields, base.Range
	return t
}

// NewCompositeType builds a named row type.
func NewCompositeType(id TypeIdentity, fields []Field) *Type {
	t := id.base('c', 'C', -1)
	if fields == nil {
		fields = []Field{}
	}
	installRecord(t, fields)
	return t
}

// NewArrayType builds the array type of a user type.
func NewArrayType(id TypeIdentity, elem *Type) *Type {
	t := id.base('b', 'A', -1)
	t.Delim, t.Elem, t.Collation = elem.Delim, elem.OID, elem.Collation
	installArray(t, elem)
	return t
}

// NewRangeTypes builds a range type and its multirange.
func NewRangeTypes(rangeID, multiID TypeIdentity, subtype *Type) (rng, multi *Type) {
	rng, multi = rangeID.base('r', 'R', -1), multiID.base('m', 'R', -1)
	installRange(rng, subtype, multi)
	return rng, multi
}

// ApplyTypMod enforces a modifier on a value of type t (the length coercion cast):
// explicit as a cast does (cutting), else as an assignment does. Errors: 22001,
// 22003, 22026.
func ApplyTypMod(t *Type, d Datum, typmod int32, explicit bool) (Datum, error) {
	if typmod < 0 || d.Null {
		return d, nil
	}
	for t.Base != nil {
		t = t.Base
	}
	switch t.OID {
	case OIDVarchar:
		s, err := VarcharLength(d.S, typmod, explicit)
		return Text(s), err
	case OIDBpchar:
		s, err := BpcharLength(d.S, typmod, explicit)
		return Text(s), err
	case OIDNumeric:
		return ApplyNumericTypMod(d, typmod)
	case OIDBit:
		return BitLength(d, typmod, explicit)
	case OIDVarbit:
		return VarbitLength(d, typmod, explicit)
	case OIDTimestamp, OIDTimestamptz:
		return Int(RoundTimestamp(d.I, typmod)), nil
	case OIDTime:
		return Int(RoundTime(d.I, typmod)), nil
	case OIDTimetz:
		d.I = RoundTime(d.I, typmod)
		return d, nil
	case OIDInterval:
		return MakeInterval(AdjustInterval(IntervalOf(d), typmod)), nil
	}
	if t.IsArray && t.ElemType != nil && t.Len == -1 && HasTypMod(t.ElemType) {
		a := OpenArray(d)
		elems := a.Elements()
		for i := range elems {
			var err error
			if elems[i], err = ApplyTypMod(t.ElemType, elems[i], typmod, explicit); err != nil {
				return Null, err
			}
		}
		return MakeArray(t.ElemType, a.Dims(), elems), nil
	}
	return d, nil
}

// HasTypMod reports a type that takes modifiers.
func HasTypMod(t *Type) bool {
	switch t.OID {
	case OIDVarchar, OIDBpchar, OIDNumeric, OIDBit, OIDVarbit, OIDTimestamp, OIDTimestamptz, OIDTime, OIDTimetz, OIDInterval:
		return true
	}
	return false
}

// appendUint32 is a shorthand of the encoders of this package.
func appendUint32(dst []byte, v uint32) []byte { return binary.BigEndian.AppendUint32(dst, v) }
