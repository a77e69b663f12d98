package sqltypes

import "strings"

// Access to json, the text type: values are slices of the text as it was
// written. The functions expect text that ValidateJSON accepted.

const jsonSpace = " \t\n\r"

// JSONTextKind is the kind of a JSON text.
func JSONTextKind(s string) JSONKind {
	s = strings.TrimLeft(s, jsonSpace)
	if s == "" {
		return JSONNull
	}
	switch s[0] {
	case '{':
		return JSONObject
	case '[':
		return JSONArray
	case '"':
		return JSONString
	case 't', 'f':
		return JSONBool
	case 'n':
		return JSONNull
	}
	return JSONNumber
}

// JSONTextEach calls visit for each member of an object (key unescaped) or array
// (key empty), in order. Error: 22P05 for a key that is no text.
func JSONTextEach(s string, visit func(key, raw string)) error {
	l := newJSONLexer(s, true)
	if err := l.next(); err != nil {
		return err
	}
	return l.skipValue(0, visit)
}

// JSONTextField is the value of a key of an object, the last one if it occurs
// more than once; JSONTextElem an array's element, from the end when i < 0.
func JSONTextField(s, key string) (raw string, ok bool, err error) {
	if JSONTextKind(s) != JSONObject {
		return "", false, nil
	}
	err = JSONTextEach(s, func(k, v string) {
		if k == key {
			raw, ok = v, true
		}
	})
	return raw, ok, err
}

func JSONTextElem(s string, i int) (raw string, ok bool, err error) {
	if JSONTextKind(s) != JSONArray {
		return "", false, nil
	}
	var all []string
	err = JSONTextEach(s, func(_, v string) { all = append(all, v) })
	if i < 0 {
		i += len(all)
	}
	if err != nil || i < 0 || i >= len(all) {
		return "", false, err
	}
	return all[i], true, nil
}

// JSONTextPath follows a path of keys and array indexes.
func JSONTextPath(s string, path []string) (raw string, ok bool, err error) {
	raw, ok = strings.Trim(s, jsonSpace), true
	for _, step := range path {
		switch JSONTextKind(raw) {
		case JSONObject:
			raw, ok, err = JSONTextField(raw, step)
		case JSONArray:
			i, isInt := pathIndex(step)
			if !isInt {
				return "", false, nil
			}
			raw, ok, err = JSONTextElem(raw, i)
		default:
			return "", false, nil
		}
		if !ok || err != nil {
			return "", false, err
		}
	}
	return raw, true, nil
}

// JSONTextAsText is a JSON text as ->> gives it: strings unescaped, null as SQL NULL.
func JSONTextAsText(raw string) (Datum, error) {
	switch JSONTextKind(raw) {
	case JSONNull:
		return Null, nil
	case JSONString:
		l := newJSONLexer(raw, true)
		if err := l.next(); err != nil {
			return Null, err
		}
		return Text(l.str), nil
	}
	return Text(raw), nil
}
