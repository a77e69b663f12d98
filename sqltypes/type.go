package sqltypes

// Type is one data type: a row of pg_type plus what the engine does with its
// values. Built-in types live in one table (types_gen.go for the facts, a file
// per family for the behaviour); user types (enums, domains, composites, ranges)
// are made from these by the catalogue. A Type is immutable.
type Type struct {
	OID       OID
	Name      string // pg_type.typname: "int4"
	Namespace OID    // pg_catalog = 11
	Len       int16  // typlen: bytes, -1 varlena, -2 cstring
	ByVal     bool
	TypType   byte // b base, c composite, d domain, e enum, p pseudo, r range, m multirange
	Category  byte // typcategory: N, S, D, B …
	Preferred bool // typispreferred
	Delim     byte
	RelID     OID // composite: its pg_class row
	Elem      OID // typelem: element type of an array (or of name, point …)
	Array     OID // typarray
	BaseType  OID // domain
	TypMod    int32
	Collation OID
	Kind      Kind
	IsArray   bool // a true array (typsubscript = array_subscript_handler and Len == -1)
	Align     byte // typalign: c, s, i, d
	Storage   byte // typstorage: p, e, m, x
	Input     OID  // typinput

	// What the type is made of; nil or empty when it is not of that sort. Packed
	// values (pack.go) describe themselves, so these serve names and codecs.
	ElemType *Type      // arrays, int2vector, oidvector
	Base     *Type      // domain: the type it is over (perhaps a domain)
	Enum     *EnumInfo  // enum
	Fields   []Field    // named composite, in attribute order, dropped ones left out
	Range    *RangeInfo // range and multirange

	// In parses text. typmod is -1 or the column's modifier (length, precision);
	// In enforces it as an explicit cast of a literal would (input function).
	In func(env *Env, s string, typmod int32) (Datum, error)
	// Out appends the text form of a non-null value.
	Out func(env *Env, dst []byte, d Datum) []byte
	// Recv decodes the binary wire form; b is only valid during the call.
	Recv func(env *Env, b []byte, typmod int32) (Datum, error)
	// Send appends the binary wire form of a non-null value (without its length).
	Send func(env *Env, dst []byte, d Datum) []byte
	// Compare is the default btree order (NULLs are the caller's affair); nil when
	// the type has none (json, point).
	Compare func(a, b Datum) int
	// Hash is consistent with Compare == 0; nil when the type has no equality.
	Hash func(d Datum) uint64
}

// PseudoTypes and others that code refers to by name. The full list of OIDs is in oids_gen.go.
const (
	InvalidOID OID = 0
)

// ColumnType is a type with its modifier and collation, as a column or an expression has them.
type ColumnType struct {
	OID       OID
	TypMod    int32 // -1: none
	Collation OID
}
