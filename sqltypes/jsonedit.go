package sqltypes

import (
	"math"
	"strconv"
	"strings"

	"ostraka/sqltypes/pgerror"
)

// pathIndex reads a path step as an array index, as strtoint does.
func pathIndex(step string) (int, bool) {
	t := strings.TrimLeft(step, spaces)
	v, err := strconv.ParseInt(t, 10, 32)
	if err != nil || t == "" {
		return 0, false
	}
	return int(v), true
}

// Elem is j -> i: element i of an array, from the end when i < 0.
func (j JSON) Elem(i int) (JSON, bool) {
	if j.Kind() != JSONArray {
		return JSON{}, false
	}
	n := j.Len()
	if i < 0 {
		i += n
	}
	if i < 0 || i >= n {
		return JSON{}, false
	}
	return j.Index(i), true
}

// Path is j #> path.
func (j JSON) Path(path []string) (JSON, bool) {
	for _, step := range path {
		var ok bool
		switch j.Kind() {
		case JSONObject:
			j, ok = j.Lookup(step)
		case JSONArray:
			i, isInt := pathIndex(step)
			if !isInt {
				return JSON{}, false
			}
			j, ok = j.Elem(i)
		}
		if !ok {
			return JSON{}, false
		}
	}
	return j, true
}

// JSONConcat is a || b: objects merge, everything else is joined as arrays.
func JSONConcat(a, b JSON) (JSON, error) {
	ka, kb := a.Kind(), b.Kind()
	if ka == JSONObject && kb == JSONObject {
		return JSONObjectOf(append(a.Pairs(), b.Pairs()...)), nil
	}
	list := func(j JSON) []JSON {
		if j.Kind() == JSONArray {
			return j.Elems()
		}
		return []JSON{j}
	}
	return JSONArrayOf(append(list(a), list(b)...)), nil
}

func jsonParam(format string, args ...any) error {
	return pgerror.New(pgerror.InvalidParameterValue, format, args...)
}

// JSONDeleteKey is j - key (also for text[]): members of that key, or strings equal to it.
func JSONDeleteKey(j JSON, keys ...string) (JSON, error) {
	drop := func(s string) bool {
		for _, k := range keys {
			if k == s {
				return true
			}
		}
		return false
	}
	switch j.Kind() {
	case JSONObject:
		var kept []JSONPair
		for _, p := range j.Pairs() {
			if !drop(p.Key) {
				kept = append(kept, p)
			}
		}
		return JSONObjectOf(kept), nil
	case JSONArray:
		var kept []JSON
		for _, e := range j.Elems() {
			if e.Kind() != JSONString || !drop(e.Str()) {
				kept = append(kept, e)
			}
		}
		return JSONArrayOf(kept), nil
	}
	return JSON{}, jsonParam("cannot delete from scalar")
}

// JSONDeleteIndex is j - i.
func JSONDeleteIndex(j JSON, i int) (JSON, error) {
	switch j.Kind() {
	case JSONObject:
		return JSON{}, jsonParam("cannot delete from object using integer index")
	case JSONArray:
		elems := j.Elems()
		if i < 0 {
			i += len(elems)
		}
		if i < 0 || i >= len(elems) {
			return j, nil
		}
		return JSONArrayOf(append(elems[:i], elems[i+1:]...)), nil
	}
	return JSON{}, jsonParam("cannot delete from scalar")
}

// JSONStripNulls is jsonb_strip_nulls: members of objects that are null go, at all depths.
func JSONStripNulls(j JSON) JSON {
	switch j.Kind() {
	case JSONObject:
		var kept []JSONPair
		for _, p := range j.Pairs() {
			if p.Value.Kind() != JSONNull {
				kept = append(kept, JSONPair{p.Key, JSONStripNulls(p.Value)})
			}
		}
		return JSONObjectOf(kept)
	case JSONArray:
		elems := j.Elems()
		for i := range elems {
			elems[i] = JSONStripNulls(elems[i])
		}
		return JSONArrayOf(elems)
	}
	return j
}

// jsonEdit says what setPath does at the end of the path.
type jsonEdit uint8

const (
	editCreate jsonEdit = 1 << iota
	editDelete
	editReplace
	editInsertBefore
	editInsertAfter
	editFillGaps   // subscript assignment: arrays grow with nulls
	editConsistent // subscript assignment: a negative index out of range is an error
)

// JSONSet is jsonb_set; path steps that are NULL are an error (22004).
func JSONSet(j JSON, path []Datum, v JSON, create bool) (JSON, error) {
	if j.Kind() < JSONArray {
		return JSON{}, jsonParam("cannot set path in scalar")
	}
	if j.Len() == 0 && !create {
		return j, nil
	}
	op := editReplace
	if create {
		op = editCreate
	}
	return editAt(j, path, v, op)
}

// JSONInsert is jsonb_insert.
func JSONInsert(j JSON, path []Datum, v JSON, after bool) (JSON, error) {
	if j.Kind() < JSONArray {
		return JSON{}, jsonParam("cannot set path in scalar")
	}
	op := editInsertBefore
	if after {
		op = editInsertAfter
	}
	return editAt(j, path, v, op)
}

// JSONDeletePath is j #- path.
func JSONDeletePath(j JSON, path []Datum) (JSON, error) {
	if j.Kind() < JSONArray {
		return JSON{}, jsonParam("cannot delete path in scalar")
	}
	if j.Len() == 0 {
		return j, nil
	}
	return editAt(j, path, JSON{}, editDelete)
}

// JSONAssign is the assignment j[path] = v of subscripting.
func JSONAssign(j JSON, path []Datum, v JSON) (JSON, error) {
	if j.Kind() < JSONArray {
		return JSON{}, pgerror.New(pgerror.InvalidParameterValue, "cannot replace existing key").
			WithDetail("The path assumes key is a composite object, but it is a scalar value.")
	}
	return editAt(j, path, v, editCreate|editFillGaps|editConsistent)
}

func editAt(j JSON, path []Datum, v JSON, op jsonEdit) (JSON, error) {
	if len(path) == 0 {
		return j, nil
	}
	return setPath(j, path, 0, v, op)
}

func setPath(j JSON, path []Datum, level int, v JSON, op jsonEdit) (JSON, error) {
	if level < len(path) && path[level].Null {
		return JSON{}, pgerror.New(pgerror.NullValueNotAllowed, "path element at position %d is null", level+1)
	}
	switch j.Kind() {
	case JSONObject:
		return setInObject(j, path, level, v, op)
	case JSONArray:
		return setInArray(j, path, level, v, op)
	}
	if op&editFillGaps != 0 && level < len(path) {
		return JSON{}, pgerror.New(pgerror.InvalidParameterValue, "cannot replace existing key").
			WithDetail("The path assumes key is a composite object, but it is a scalar value.")
	}
	return j, nil
}

const jsonCreates = editCreate | editInsertBefore | editInsertAfter

func setInObject(j JSON, path []Datum, level int, v JSON, op jsonEdit) (JSON, error) {
	key, last := path[level].S, level == len(path)-1
	pairs := j.Pairs()
	i := j.find(key)
	if i < 0 {
		if last && op&jsonCreates != 0 {
			return JSONObjectOf(append(pairs, JSONPair{key, v})), nil
		}
		if !last && op&editFillGaps != 0 {
			sub, err := fillPath(path, level+1, v)
			if err != nil {
				return JSON{}, err
			}
			return JSONObjectOf(append(pairs, JSONPair{key, sub})), nil
		}
		return j, nil
	}
	if last {
		if op&(editInsertBefore|editInsertAfter) != 0 {
			return JSON{}, pgerror.New(pgerror.InvalidParameterValue, "cannot replace existing key").
				WithHint("Try using the function jsonb_set to replace key value.")
		}
		if op&editDelete != 0 {
			return JSONObjectOf(append(pairs[:i], pairs[i+1:]...)), nil
		}
		pairs[i].Value = v
		return JSONObjectOf(pairs), nil
	}
	sub, err := setPath(pairs[i].Value, path, level+1, v, op)
	if err != nil {
		return JSON{}, err
	}
	pairs[i].Value = sub
	return JSONObjectOf(pairs), nil
}

func setInArray(j JSON, path []Datum, level int, v JSON, op jsonEdit) (JSON, error) {
	last := level == len(path)-1
	elems := j.Elems()
	n := len(elems)
	idx, isInt := pathIndex(path[level].S)
	if !isInt {
		return JSON{}, pgerror.New(pgerror.InvalidTextRepresentation,
			"path element at position %d is not an integer: \"%s\"", level+1, path[level].S)
	}
	if idx < 0 {
		if -idx > n {
			if op&editConsistent != 0 {
				return JSON{}, pgerror.New(pgerror.InvalidParameterValue,
					"path element at position %d is out of range: %d", level+1, idx)
			}
			idx = math.MinInt32
		} else {
			idx += n
		}
	}
	if idx > n && op&editFillGaps == 0 {
		idx = n
	}
	switch {
	case idx == math.MinInt32 || n == 0 && op&editFillGaps == 0:
		// Before the first element, or the array is empty.
		if last && op&jsonCreates != 0 {
			return JSONArrayOf(append([]JSON{v}, elems...)), nil
		}
		return j, nil
	case idx >= n:
		if last && op&jsonCreates != 0 {
			if op&editFillGaps != 0 && idx > n {
				if idx > 1<<20 {
					return JSON{}, pgerror.New(pgerror.ProgramLimitExceeded, "array size exceeds the maximum allowed (%d)", 1<<20)
				}
				for len(elems) < idx {
					elems = append(elems, JSONNullValue)
				}
			}
			return JSONArrayOf(append(elems, v)), nil
		}
		if !last && op&editFillGaps != 0 {
			if idx > 1<<20 {
				return JSON{}, pgerror.New(pgerror.ProgramLimitExceeded, "array size exceeds the maximum allowed (%d)", 1<<20)
			}
			for len(elems) < idx {
				elems = append(elems, JSONNullValue)
			}
			sub, err := fillPath(path, level+1, v)
			if err != nil {
				return JSON{}, err
			}
			return JSONArrayOf(append(elems, sub)), nil
		}
		return j, nil
	}
	if !last {
		sub, err := setPath(elems[idx], path, level+1, v, op)
		if err != nil {
			return JSON{}, err
		}
		elems[idx] = sub
		return JSONArrayOf(elems), nil
	}
	switch {
	case op&editDelete != 0:
		elems = append(elems[:idx], elems[idx+1:]...)
	case op&editInsertBefore != 0:
		elems = append(elems[:idx], append([]JSON{v}, elems[idx:]...)...)
	case op&editInsertAfter != 0:
		elems = append(elems[:idx+1], append([]JSON{v}, elems[idx+1:]...)...)
	default:
		elems[idx] = v
	}
	return JSONArrayOf(elems), nil
}

// fillPath builds what the rest of a path leads to: objects for keys, arrays
// with nulls in front for indexes.
func fillPath(path []Datum, level int, v JSON) (JSON, error) {
	if level == len(path) {
		return v, nil
	}
	if path[level].Null {
		return JSON{}, pgerror.New(pgerror.NullValueNotAllowed, "path element at position %d is null", level+1)
	}
	sub, err := fillPath(path, level+1, v)
	if err != nil {
		return JSON{}, err
	}
	i, isInt := pathIndex(path[level].S)
	if !isInt {
		return JSONObjectOf([]JSONPair{{path[level].S, sub}}), nil
	}
	if i < 0 || i > 1<<20 {
		return JSON{}, pgerror.New(pgerror.InvalidParameterValue, "path element at position %d is out of range: %d", level+1, i)
	}
	elems := make([]JSON, i+1)
	for k := range elems {
		elems[k] = JSONNullValue
	}
	elems[i] = sub
	return JSONArrayOf(elems), nil
}
