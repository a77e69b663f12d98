package sqltypes

import "strings"

// sqlNames are the types whose SQL spelling is not their typname.
var sqlNames = map[OID]string{
	OIDBit: "bit", OIDBool: "boolean", OIDBpchar: "character", OIDFloat4: "real", OIDFloat8: "double precision",
	OIDInt2: "smallint", OIDInt4: "integer", OIDInt8: "bigint", OIDNumeric: "numeric", OIDInterval: "interval",
	OIDTime: "time without time zone", OIDTimetz: "time with time zone",
	OIDTimestamp: "timestamp without time zone", OIDTimestamptz: "timestamp with time zone",
	OIDVarbit: "bit varying", OIDVarchar: "character varying", OIDChar: `"char"`,
}

// FormatType is format_type(oid, typmod) for built-in types: "integer",
// "character varying(10)", "timestamp(3) without time zone", "integer[]".
// An unknown OID is "???", as PostgreSQL has it, and 0 is "-".
func FormatType(oid OID, typmod int32) string {
	return FormatTypeWith(oid, typmod, nil)
}

// TypeSQLName is the spelling without any modifier, as error messages have it
// (format_type_be): "character" where FormatType says "bpchar".
func TypeSQLName(oid OID, namer TypeNamer) string {
	switch oid {
	case OIDBpchar, OIDBit:
		return sqlNames[oid]
	case OIDBpcharArray, OIDBitArray:
		return sqlNames[TypeByOID(oid).Elem] + "[]"
	}
	return FormatTypeWith(oid, -1, namer)
}

// TypeNamer finds a user type and says how its name is to be written: quoted,
// and qualified when it is not visible. nil means there is no such type.
type TypeNamer func(oid OID) (t *Type, qualifiedName string)

// FormatTypeWith is FormatType with user types found through namer.
// A typmod of NoTypMod asks for the name alone, as format_type does when its second
// argument is NULL: "character" instead of "bpchar".
func FormatTypeWith(oid OID, typmod int32, namer TypeNamer) string {
	if oid == 0 {
		return "-"
	}
	t, name := TypeByOID(oid), ""
	if t == nil && namer != nil {
		t, name = namer(oid)
	}
	if t == nil {
		return "???"
	}
	// Only true arrays are spelled with []: int2vector keeps its name.
	if t.IsArray && t.Elem != 0 && t.Storage != 'p' {
		return FormatTypeWith(t.Elem, typmod, namer) + "[]"
	}
	if name != "" {
		return name + TypModOut(oid, typmod)
	}
	switch oid {
	case OIDTime, OIDTimetz, OIDTimestamp, OIDTimestamptz:
		if typmod >= 0 {
			base := "timestamp"
			if oid == OIDTime || oid == OIDTimetz {
				base = "time"
			}
			return base + TypModOut(oid, typmod)
		}
	case OIDBpchar:
		// "character" would mean character(1).
		if typmod < 0 && typmod != NoTypMod {
			return "bpchar"
		}
	case OIDBit:
		if typmod < 0 && typmod != NoTypMod {
			return `"bit"`
		}
	}
	if s, ok := sqlNames[oid]; ok {
		return s + TypModOut(oid, typmod)
	}
	return QuoteIdent(t.Name) + TypModOut(oid, typmod)
}

// QuoteLiteral writes a text as a literal of SQL.
func QuoteLiteral(s string) string {
	q := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.Contains(s, `\`) {
		return "E" + strings.ReplaceAll(q, `\`, `\\`)
	}
	return q
}

// QuoteIdent writes a name as SQL needs it: between double quotes unless it is
// lower-case letters, digits and underscores and no reserved word.
func QuoteIdent(s string) string {
	plain := s != ""
	for i := 0; i < len(s) && plain; i++ {
		c := s[i]
		plain = c >= 'a' && c <= 'z' || c == '_' || i > 0 && isDigit(c)
	}
	if plain && !quotedKeywords[s] {
		return s
	}
	b := make([]byte, 0, len(s)+2)
	b = append(b, '"')
	for i := 0; i < len(s); i++ {
		if s[i] == '"' {
			b = append(b, '"')
		}
		b = append(b, s[i])
	}
	return string(append(b, '"'))
}

// NoTypMod is the modifier of a type that is spoken of without one.
const NoTypMod int32 = -2
