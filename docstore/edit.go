package docstore

import (
	"slices"
	"strings"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// change is what an update does to the value at a path; old is zero when the
// field is missing. A zero JSON as the answer removes the field (an element of an
// array becomes null).
type change func(old JSON) (JSON, error)

// maxPadding bounds how far behind an array's end an element can be set.
const maxPadding = 1 << 16

// edit applies f at a path. create makes what is missing on the way; without it
// a missing way leaves the document as it is.
func edit(j JSON, p *Path, i int, create bool, f change) (JSON, error) {
	part, last := p.parts[i], i == len(p.parts)-1
	switch {
	case j.Kind() == sqltypes.JSONArray:
		return editArray(j, p, i, create, f)
	case j.Kind() != sqltypes.JSONObject:
		if !create {
			return j, nil
		}
		return JSON{}, invalid("cannot create field %q in a value of type %s (path %q)", part, kindName(j), p.Text)
	case strings.HasPrefix(part, "$"):
		return JSON{}, badPositional(part, p)
	}
	old, ok := j.Lookup(part)
	if !ok && !last && !create {
		return j, nil
	}
	var v JSON
	var err error
	switch {
	case last:
		v, err = f(old)
	case !ok:
		v, err = edit(sqltypes.JSONObjectOf(nil), p, i+1, create, f)
	default:
		v, err = edit(old, p, i+1, create, f)
	}
	if err != nil {
		return JSON{}, err
	}
	if ok && v.Datum().S == old.Datum().S || !ok && v.IsZero() {
		return j, nil
	}
	pairs := j.Pairs()
	at := slices.IndexFunc(pairs, func(p sqltypes.JSONPair) bool { return p.Key == part })
	switch {
	case v.IsZero():
		pairs = slices.Delete(pairs, at, at+1)
	case at < 0:
		pairs = append(pairs, sqltypes.JSONPair{Key: part, Value: v})
	default:
		pairs[at].Value = v
	}
	return sqltypes.JSONObjectOf(pairs), nil
}

func badPositional(part string, p *Path) error {
	if part == "$[]" || p.elements != nil {
		return invalid("the path %q must lead to an array for %s", p.Text, part)
	}
	return pgerror.NotSupported("the positional operator %s in path %q", part, p.Text)
}

func editArray(j JSON, p *Path, i int, create bool, f change) (JSON, error) {
	part, last := p.parts[i], i == len(p.parts)-1
	one := func(e JSON) (JSON, error) {
		if !last {
			return edit(e, p, i+1, create, f)
		}
		v, err := f(e)
		if err == nil && v.IsZero() {
			v = sqltypes.JSONNullValue
		}
		return v, err
	}
	elems := j.Elems()
	switch x := p.index[i]; {
	case part == "$[]":
		for k := range elems {
			var err error
			if elems[k], err = one(elems[k]); err != nil {
				return JSON{}, err
			}
		}
		return sqltypes.JSONArrayOf(elems), nil
	case p.elements != nil && p.elements[i] != nil:
		for k := range elems {
			if !p.elements[i].match(elems[k]) {
				continue
			}
			var err error
			if elems[k], err = one(elems[k]); err != nil {
				return JSON{}, err
			}
		}
		return sqltypes.JSONArrayOf(elems), nil
	case strings.HasPrefix(part, "$"):
		return JSON{}, badPositional(part, p)
	case x < 0:
		if !create {
			return j, nil
		}
		return JSON{}, invalid("cannot create field %q in an array (path %q)", part, p.Text)
	case x < len(elems):
		v, err := one(elems[x])
		if err != nil {
			return JSON{}, err
		}
		elems[x] = v
		return sqltypes.JSONArrayOf(elems), nil
	case !create:
		return j, nil
	case x > len(elems)+maxPadding:
		return JSON{}, invalid("path %q is more than %d elements behind the end of the array", p.Text, maxPadding)
	default:
		var v JSON
		var err error
		if last {
			v, err = f(JSON{})
		} else {
			v, err = edit(sqltypes.JSONObjectOf(nil), p, i+1, create, f)
		}
		if err != nil || v.IsZero() {
			return j, err
		}
		for len(elems) < x {
			elems = append(elems, sqltypes.JSONNullValue)
		}
		return sqltypes.JSONArrayOf(append(elems, v)), nil
	}
}

// setPath sets the value at a path, making what is missing on the way.
func setPath(doc JSON, p *Path, v JSON) (JSON, error) {
	return edit(doc, p, 0, true, func(JSON) (JSON, error) { return v, nil })
}

// unsetPath removes the value at a path.
func unsetPath(doc JSON, p *Path) (JSON, error) {
	return edit(doc, p, 0, false, func(JSON) (JSON, error) { return JSON{}, nil })
}
