// Package chunk is the algebra of sharding: from a shard key to its chunk, and
// from one chunk map to a better one. It knows no network and keeps no state.
//
// A key's chunk is the IEEE crc32 of its canonical text modulo the number of
// chunks (catalog.HashVersion 1). Canonical text is bare: a number without
// superfluous zeros and exponent, true, false, null, a date in UTC, a string as it
// is. So 5, 5.0 and "5" share a chunk; a missing key is null. Only scalars are keys.
package chunk

import (
	"hash/crc32"
	"strconv"
	"strings"
	"time"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// maxPlain bounds the digits of a number's canonical text; beyond it the text
// has an exponent.
const maxPlain = 4096

// Canonical is the text of a key that is hashed; a zero JSON is a missing key.
// Objects other than dates and arrays are refused (22023).
func Canonical(v sqltypes.JSON) (string, error) {
	if v.IsZero() {
		return "null", nil
	}
	switch v.Kind() {
	case sqltypes.JSONNull:
		return "null", nil
	case sqltypes.JSONBool:
		return strconv.FormatBool(v.Bool()), nil
	case sqltypes.JSONString:
		return v.Str(), nil
	case sqltypes.JSONNumber:
		return number(sqltypes.NumericString(sqltypes.NumericTrimScale(v.Number()))), nil
	case sqltypes.JSONObject:
		if t, ok := dateOf(v); ok {
			return t.UTC().Format(time.RFC3339Nano), nil
		}
		return "", notScalar("an object")
	}
	return "", notScalar("an array")
}

func notScalar(what string) error {
	return pgerror.New(pgerror.InvalidParameterValue, "a shard key must be a scalar, not %s", what)
}

func number(s string) string {
	if s == "-0" {
		return "0"
	}
	if len(s) > maxPlain { // huge exponents: the digits that count and their number
		t := strings.TrimRight(s, "0")
		return t + "e" + strconv.Itoa(len(s)-len(t))
	}
	return s
}

// Of is the chunk of a key's canonical text.
func Of(canonical string, chunks int) int {
	return int(crc32.ChecksumIEEE([]byte(canonical)) % uint32(chunks))
}

// OfValue is the chunk of a key.
func OfValue(v sqltypes.JSON, chunks int) (int, error) {
	s, err := Canonical(v)
	if err != nil {
		return 0, err
	}
	return Of(s, chunks), nil
}

// Key is a compiled shard key: the path of a field.
type Key struct {
	Path  string
	parts []string
}

// ParseKey compiles a path such as "region" or "address.city". Parts that could
// be positions in an array are refused.
func ParseKey(path string) (*Key, error) {
	k := &Key{Path: path, parts: strings.Split(path, ".")}
	for _, p := range k.parts {
		if p == "" || p[0] == '$' || strings.Trim(p, "0123456789") == "" {
			return nil, pgerror.New(pgerror.InvalidParameterValue, "%q cannot be a shard key", path)
		}
	}
	return k, nil
}

// Of is the key of a document, zero when it has none. A key inside an array, or
// that is one, is refused: a filter could not be routed to it.
func (k *Key) Of(doc sqltypes.JSON) (sqltypes.JSON, error) {
	v := doc
	for _, p := range k.parts {
		switch v.Kind() {
		case sqltypes.JSONArray:
			return sqltypes.JSON{}, pgerror.New(pgerror.InvalidParameterValue, "the shard key %q is inside of an array", k.Path)
		case sqltypes.JSONObject:
		default:
			return sqltypes.JSON{}, nil
		}
		var ok bool
		if v, ok = v.Lookup(p); !ok {
			return sqltypes.JSON{}, nil
		}
	}
	return v, nil
}

// Chunk is the chunk of a document.
func (k *Key) Chunk(doc sqltypes.JSON, chunks int) (int, error) {
	v, err := k.Of(doc)
	if err != nil {
		return 0, err
	}
	return OfValue(v, chunks)
}
