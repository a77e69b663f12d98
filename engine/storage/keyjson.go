package storage

import "ostraka/sqltypes"

// keyJSONEmpty is the tag of an empty array at the top, which sorts below every
// scalar there; other tags are the kind's number above it.
const keyJSONEmpty = 0x02

// appendKeyJSON orders as sqltypes.CompareJSON: kind, then size, then members.
func appendKeyJSON(dst []byte, j sqltypes.JSON) []byte {
	if j.Kind() == sqltypes.JSONArray && j.Len() == 0 {
		return append(dst, keyJSONEmpty)
	}
	return appendKeyJSONMember(dst, j)
}

func appendKeyJSONMember(dst []byte, j sqltypes.JSON) []byte {
	dst = append(dst, keyJSONEmpty+1+byte(j.Kind()))
	switch j.Kind() {
	case sqltypes.JSONString:
		return appendKeyBytes(dst, j.Str())
	case sqltypes.JSONNumber:
		return appendKeyNumeric(dst, j.Number())
	case sqltypes.JSONBool:
		if j.Bool() {
			return append(dst, 1)
		}
		return append(dst, 0)
	case sqltypes.JSONArray:
		n := j.Len()
		dst = appendKeyInt(dst, int64(n))
		for i := range n {
			dst = appendKeyJSONMember(dst, j.Index(i))
		}
	case sqltypes.JSONObject:
		n := j.Len()
		dst = appendKeyInt(dst, int64(n))
		for i := range n {
			dst = appendKeyBytes(dst, j.Key(i))
			dst = appendKeyJSONMember(dst, j.Value(i))
		}
	}
	return dst
}

// AppendKeyNumeric and AppendKeyText are the encodings of a number and of text
// for keys that others compose: self-delimiting, ordered as the values.
func AppendKeyNumeric(dst []byte, d sqltypes.Datum) []byte { return appendKeyNumeric(dst, d) }
func AppendKeyText(dst []byte, s string) []byte            { return appendKeyBytes(dst, s) }
