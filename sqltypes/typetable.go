package sqltypes

import (
	"ostraka/sqltypes/pgerror"
)

// typeFact is one row of pg_type as types_gen.go lists it.
type typeFact struct {
	oid            OID
	name           string
	len            int16
	byVal          bool
	typType        byte
	category       byte
	preferred      bool
	delim          byte
	align, storage byte
	relID          OID
	elem           OID
	array          OID
	collation      OID
	inputOID       OID
	input          string
	isArray        bool
	rngSubtype     OID
	rngMulti       OID // of a range: its multirange
	rngOf          OID // of a multirange: its range
}

// NamespaceCatalog is the OID of schema pg_catalog.
const NamespaceCatalog OID = 11

// builtinTypes is filled by buildTypes during package initialisation and never
// changes afterwards. It has no initialiser, so that codecs may look types up.
var builtinTypes struct {
	byOID  []*Type // indexed by OID
	byName map[string]*Type
	all    []*Type
}

func init() { buildTypes() }

// TypeByOID returns the built-in type, or nil. User types are known to the
// catalogue (SessionEnv.Type), not here.
func TypeByOID(oid OID) *Type {
	if builtinTypes.byOID == nil {
		buildTypes()
	}
	if int(oid) < len(builtinTypes.byOID) {
		return builtinTypes.byOID[oid]
	}
	return nil
}

// TypeByName returns the built-in type with that pg_type.typname ("int4",
// "_text"), or nil. SQL spellings ("integer") are the parser's.
func TypeByName(name string) *Type {
	if builtinTypes.byOID == nil {
		buildTypes()
	}
	return builtinTypes.byName[name]
}

// BuiltinTypes lists every built-in type by OID. The slice must not be changed.
func BuiltinTypes() []*Type {
	if builtinTypes.byOID == nil {
		buildTypes()
	}
	return builtinTypes.all
}

// LookupType finds a built-in or, through the session, a user type; nil if there is none.
func LookupType(env *Env, oid OID) *Type {
	if t := TypeByOID(oid); t != nil {
		return t
	}
	if env != nil && env.Session != nil {
		return env.Session.Type(oid)
	}
	return nil
}

func buildTypes() {
	if builtinTypes.byOID != nil {
		return
	}
	maxOID := typeFacts[len(typeFacts)-1].oid
	byOID := make([]*Type, maxOID+1)
	byName := make(map[string]*Type, len(typeFacts))
	all := make([]*Type, 0, len(typeFacts))
	for i := range typeFacts {
		f := &typeFacts[i]
		t := &Type{
			OID: f.oid, Name: f.name, Namespace: NamespaceCatalog, Len: f.len, ByVal: f.byVal,
			TypType: f.typType, Category: f.category, Preferred: f.preferred, Delim: f.delim,
			RelID: f.relID, Elem: f.elem, Array: f.array, TypMod: -1, Collation: f.collation,
			IsArray: f.isArray, Align: f.align, Storage: f.storage, Input: f.inputOID, Kind: KBytes,
		}
		byOID[f.oid], byName[f.name] = t, t
		all = append(all, t)
	}
	builtinTypes.byOID, builtinTypes.byName, builtinTypes.all = byOID, byName, all
	codecs := scalarCodecs()
	for i := range typeFacts {
		f := &typeFacts[i]
		t := all[i]
		if c, ok := codecs[f.input]; ok {
			c.install(t)
			continue
		}
		refuse(t)
	}
	// Those that are made of others come once the others are complete.
	for i := range typeFacts {
		f := &typeFacts[i]
		t := all[i]
		switch {
		case t.TypType == 'r':
			installRange(t, byOID[f.rngSubtype], byOID[f.rngMulti])
		case t.OID == OIDRecord:
			installRecord(t, nil)
		case f.isArray && f.name == "int2vector", f.isArray && f.name == "oidvector":
			installVector(t, byOID[f.elem])
		}
	}
	for i := range typeFacts {
		if f := &typeFacts[i]; f.isArray && all[i].ElemType == nil {
			installArray(all[i], byOID[f.elem])
		}
	}
}

// codec is the behaviour of one scalar type.
type codec struct {
	kind    Kind
	in      func(env *Env, s string, typmod int32) (Datum, error)
	out     func(env *Env, dst []byte, d Datum) []byte
	recv    func(env *Env, b []byte, typmod int32) (Datum, error)
	send    func(env *Env, dst []byte, d Datum) []byte
	compare func(a, b Datum) int
	hash    func(d Datum) uint64
}

func (c codec) install(t *Type) {
	t.Kind, t.In, t.Out, t.Recv, t.Send, t.Compare, t.Hash = c.kind, c.in, c.out, c.recv, c.send, c.compare, c.hash
}

// refuse makes every use of a type that is only known by name an 0A000.
func refuse(t *Type) {
	name := t.Name
	if t.TypType == 'p' {
		t.In = func(*Env, string, int32) (Datum, error) {
			return Null, pgerror.New(pgerror.FeatureNotSupported, "cannot accept a value of type %s", name)
		}
		t.Recv = func(*Env, []byte, int32) (Datum, error) {
			return Null, pgerror.New(pgerror.FeatureNotSupported, "cannot accept a value of type %s", name)
		}
	} else {
		t.In = func(*Env, string, int32) (Datum, error) {
			return Null, pgerror.NotSupported("input of type %s", name)
		}
		t.Recv = func(*Env, []byte, int32) (Datum, error) {
			return Null, pgerror.NotSupported("binary input of type %s", name)
		}
	}
	// Without input there are no values; what a layer makes itself is text in S.
	t.Out = func(_ *Env, dst []byte, d Datum) []byte { return append(dst, d.S...) }
	t.Send = t.Out
}
