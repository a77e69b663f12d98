package sqltypes

import "strings"

// CompareJSON is jsonb's btree order: object > array > boolean > number > string
// > null, containers by size first. At the top a scalar counts as an array of
// one element, so that an empty array is below every scalar (PostgreSQL's
// historical accident, kept).
func CompareJSON(a, b JSON) int {
	ka, kb := a.Kind(), b.Kind()
	switch {
	case ka == JSONArray && kb < JSONArray:
		if n := a.Len(); n != 1 {
			return cmpInt(n, 1)
		}
		return 1
	case kb == JSONArray && ka < JSONArray:
		return -CompareJSON(b, a)
	}
	return compareJSON(a, b)
}

func compareJSON(a, b JSON) int {
	ka, kb := a.Kind(), b.Kind()
	if ka != kb {
		return cmpInt(int(ka), int(kb))
	}
	switch ka {
	case JSONString:
		return strings.Compare(a.Str(), b.Str())
	case JSONNumber:
		return NumericCmp(a.Number(), b.Number())
	case JSONBool:
		return cmpInt(int(a.s[0]), int(b.s[0]))
	case JSONArray:
		n := a.Len()
		if c := cmpInt(n, b.Len()); c != 0 {
			return c
		}
		for i := 0; i < n; i++ {
			if c := compareJSON(a.Index(i), b.Index(i)); c != 0 {
				return c
			}
		}
	case JSONObject:
		n := a.Len()
		if c := cmpInt(n, b.Len()); c != 0 {
			return c
		}
		for i := 0; i < n; i++ {
			if c := strings.Compare(a.Key(i), b.Key(i)); c != 0 {
				return c
			}
			if c := compareJSON(a.Value(i), b.Value(i)); c != 0 {
				return c
			}
		}
	}
	return 0
}

// HashJSON agrees with CompareJSON.
func HashJSON(j JSON) uint64 {
	h := uint64(j.Kind()) + 1
	switch j.Kind() {
	case JSONString:
		return hashCombine(h, HashString(j.Str()))
	case JSONNumber:
		return hashCombine(h, NumericHash(j.Number()))
	case JSONBool:
		return hashCombine(h, uint64(j.s[0]))
	case JSONArray:
		for i, n := 0, j.Len(); i < n; i++ {
			h = hashCombine(h, HashJSON(j.Index(i)))
		}
	case JSONObject:
		for i, n := 0, j.Len(); i < n; i++ {
			h = hashCombine(hashCombine(h, HashString(j.Key(i))), HashJSON(j.Value(i)))
		}
	}
	return h
}

// JSONContains is a @> b.
func JSONContains(a, b JSON) bool {
	ka, kb := a.Kind(), b.Kind()
	if ka == JSONArray && kb < JSONArray {
		return arrayHasScalar(a, b) // an array contains a bare scalar, at the top only
	}
	if ka != kb {
		return false
	}
	return jsonContains(a, b)
}

func jsonContains(a, b JSON) bool {
	if a.Kind() != b.Kind() {
		return false
	}
	switch a.Kind() {
	case JSONObject:
		if a.Len() < b.Len() {
			return false
		}
		for i, n := 0, b.Len(); i < n; i++ {
			v, ok := a.Lookup(b.Key(i))
			if !ok || !jsonContains(v, b.Value(i)) {
				return false
			}
		}
		return true
	case JSONArray:
		for i, n := 0, b.Len(); i < n; i++ {
			want := b.Index(i)
			if !want.IsContainer() {
				if !arrayHasScalar(a, want) {
					return false
				}
				continue
			}
			found := false
			for k, m := 0, a.Len(); k < m && !found; k++ {
				found = jsonContains(a.Index(k), want)
			}
			if !found {
				return false
			}
		}
		return true
	}
	return compareJSON(a, b) == 0
}

func arrayHasScalar(a, v JSON) bool {
	for i, n := 0, a.Len(); i < n; i++ {
		if e := a.Index(i); e.Kind() == v.Kind() && compareJSON(e, v) == 0 {
			return true
		}
	}
	return false
}

// JSONExists is j ? key: a key of the object, or a string of the array, or the string itself.
func JSONExists(j JSON, key string) bool {
	switch j.Kind() {
	case JSONObject:
		return j.find(key) >= 0
	case JSONArray:
		return arrayHasScalar(j, JSONStringOf(key))
	case JSONString:
		return j.Str() == key
	}
	return false
}
