package jsonpath

import (
	"math"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func (x *evaluator) accessor(n *node, j value, out *found, unwrap bool) (bool, error) {
	isArray := j.Kind() == sqltypes.JSONArray
	if unwrap && isArray {
		switch n.kind {
		case kKey, kAnyKey, kFilter, kAbs, kFloor, kCeiling, kDouble, kKeyValue, kDatetime:
			return x.unwrapped(n, j, out)
		}
	}
	switch n.kind {
	case kKey:
		if j.Kind() == sqltypes.JSONObject {
			if v, ok := j.Lookup(n.text); ok {
				return x.follow(n, of(v), out)
			}
			if x.ignore {
				return false, nil
			}
			return false, jsonError(pgerror.SqlJsonMemberNotFound, "JSON object does not contain key \"%s\"", n.text)
		}
		return x.structural(pgerror.SqlJsonMemberNotFound, "jsonpath member accessor can only be applied to an object")
	case kAnyKey:
		if j.Kind() != sqltypes.JSONObject {
			return x.structural(pgerror.SqlJsonObjectNotFound, "jsonpath wildcard member accessor can only be applied to an object")
		}
		return x.descend(n.next, j, out, 1, 1, 1, false)
	case kAnyArray:
		switch {
		case isArray:
			return x.descend(n.next, j, out, 1, 1, 1, false)
		case x.lax:
			return x.follow(n, j, out)
		}
		return x.structural(pgerror.SqlJsonArrayNotFound, "jsonpath wildcard array accessor can only be applied to an array")
	case kAny:
		return x.anyLevels(n, j, out)
	case kIndex:
		return x.index(n, j, out)
	case kFilter:
		t, err := x.nested(n.left, j)
		if err != nil || t != isTrue {
			return false, err
		}
		return x.follow(n, j, out)
	case kType:
		return x.follow(n, of(sqltypes.JSONStringOf(j.typeName())), out)
	case kSize:
		size := 1
		if isArray {
			size = j.Len()
		} else if !x.lax {
			if x.ignore {
				return x.follow(n, number(1), out)
			}
			return false, jsonError(pgerror.SqlJsonArrayNotFound, "jsonpath item method .%s() can only be applied to an array", "size")
		}
		return x.follow(n, number(int64(size)), out)
	case kAbs, kFloor, kCeiling:
		return x.numericMethod(n, j, out)
	case kDouble:
		return x.double(n, j, out)
	case kKeyValue:
		return x.keyValue(n, j, out)
	}
	return x.datetime(n, j, out)
}

// structural is an error of shape, which lax mode ignores.
func (x *evaluator) structural(code pgerror.Code, message string) (bool, error) {
	if x.ignore {
		return false, nil
	}
	return false, jsonError(code, "%s", message)
}

// descend evaluates next (nil: the result itself) over what lies first to last
// levels below j.
func (x *evaluator) descend(next *node, j value, out *found, level, first, last uint32, ignore bool) (bool, error) {
	if level > last {
		return false, nil
	}
	if err := x.step(); err != nil {
		return false, err
	}
	some := false
	for i := range j.Len() {
		var v value
		if j.Kind() == sqltypes.JSONObject {
			v = of(j.Value(i))
		} else {
			v = of(j.Index(i))
		}
		if level >= first || first == anyLast && last == anyLast && !v.IsContainer() {
			switch {
			case next != nil:
				saved := x.ignore
				x.ignore = x.ignore || ignore
				ok, err := x.item(next, v, out, x.lax)
				x.ignore = saved
				if err != nil {
					return false, err
				}
				some = some || ok
			case out != nil:
				out.add(v)
				some = true
			default:
				return true, nil
			}
			if some && out == nil {
				return true, nil
			}
		}
		if level < last && v.IsContainer() {
			ok, err := x.descend(next, v, out, level+1, first, last, ignore)
			if err != nil {
				return false, err
			}
			if some = some || ok; some && out == nil {
				return true, nil
			}
		}
	}
	return some, nil
}

func (x *evaluator) anyLevels(n *node, j value, out *found) (bool, error) {
	some := false
	if n.first == 0 {
		saved := x.ignore
		x.ignore = true
		ok, err := x.follow(n, j, out)
		x.ignore = saved
		if err != nil || ok && out == nil {
			return ok, err
		}
		some = ok
	}
	if j.IsContainer() {
		ok, err := x.descend(n.next, j, out, 1, n.first, n.last, true)
		if err != nil {
			return false, err
		}
		some = some || ok
	}
	return some, nil
}

func (x *evaluator) index(n *node, j value, out *found) (bool, error) {
	isArray := j.Kind() == sqltypes.JSONArray
	if !isArray && !x.lax {
		return x.structural(pgerror.SqlJsonArrayNotFound, "jsonpath array accessor can only be applied to an array")
	}
	size := 1
	if isArray {
		size = j.Len()
	}
	saved := x.size
	defer func() { x.size = saved }()
	some := false
	for _, s := range n.subs {
		x.size = size
		from, err := x.subscript(s.from, j)
		if err != nil {
			return false, err
		}
		to := from
		if s.to != nil {
			if to, err = x.subscript(s.to, j); err != nil {
				return false, err
			}
		}
		if !x.ignore && (from < 0 || from > to || to >= size) {
			return false, jsonError(pgerror.InvalidSqlJsonSubscript, "jsonpath array subscript is out of bounds")
		}
		for i := max(from, 0); i <= min(to, size-1); i++ {
			v := j
			if isArray {
				v = of(j.Index(i))
			}
			if n.next == nil && out == nil {
				return true, nil
			}
			ok, err := x.follow(n, v, out)
			if err != nil {
				return false, err
			}
			if some = some || ok; ok && out == nil {
				return true, nil
			}
		}
	}
	return some, nil
}

func (x *evaluator) subscript(n *node, j value) (int, error) {
	var seq found
	if _, err := x.item(n, j, &seq, x.lax); err != nil {
		return 0, err
	}
	if len(seq.items) != 1 || seq.items[0].Kind() != sqltypes.JSONNumber {
		return 0, jsonError(pgerror.InvalidSqlJsonSubscript, "jsonpath array subscript is not a single numeric value")
	}
	whole, err := sqltypes.NumericTrunc(seq.items[0].Number(), 0)
	if err != nil {
		return 0, err
	}
	v, err := sqltypes.NumericToInt(whole, 64)
	if err != nil || v < math.MinInt32 || v > math.MaxInt32 {
		return 0, jsonError(pgerror.InvalidSqlJsonSubscript, "jsonpath array subscript is out of integer range")
	}
	return int(v), nil
}

func (x *evaluator) numericMethod(n *node, j value, out *found) (bool, error) {
	if j.Kind() != sqltypes.JSONNumber {
		return false, jsonError(pgerror.NonNumericSqlJsonItem, "jsonpath item method .%s() can only be applied to a numeric value", opNames[n.kind])
	}
	d := j.Number()
	var err error
	switch n.kind {
	case kAbs:
		d = sqltypes.NumericAbs(d)
	case kFloor:
		d, err = sqltypes.NumericFloor(d)
	default:
		d, err = sqltypes.NumericCeil(d)
	}
	if err != nil || n.next == nil && out == nil {
		return true, err
	}
	return x.follow(n, of(sqltypes.JSONNumberOf(d)), out)
}

func (x *evaluator) double(n *node, j value, out *found) (bool, error) {
	bad := func(what string) (bool, error) {
		return false, jsonError(pgerror.NonNumericSqlJsonItem, "%s argument of jsonpath item method .double() is out of range for type double precision", what)
	}
	switch j.Kind() {
	case sqltypes.JSONNumber:
		if f, err := sqltypes.NumericToFloat(j.Number(), 64); err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return bad("numeric")
		}
		return x.follow(n, j, out)
	case sqltypes.JSONString:
		f, err := sqltypes.ParseFloat(j.Str(), 64, "double precision")
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return false, jsonError(pgerror.NonNumericSqlJsonItem, "string argument of jsonpath item method .double() is not a valid representation of a double precision number")
		}
		d, err := sqltypes.NumericFromFloat(f, 64)
		if err != nil {
			return false, err
		}
		return x.follow(n, of(sqltypes.JSONNumberOf(d)), out)
	}
	return false, jsonError(pgerror.NonNumericSqlJsonItem, "jsonpath item method .double() can only be applied to a string or numeric value")
}

// keyValue is .keyvalue(): the id tells the pairs of one object from those of another.
func (x *evaluator) keyValue(n *node, j value, out *found) (bool, error) {
	if j.Kind() != sqltypes.JSONObject {
		return false, jsonError(pgerror.SqlJsonObjectNotFound, "jsonpath item method .keyvalue() can only be applied to an object")
	}
	id := x.ids
	x.ids++
	some := false
	for i := range j.Len() {
		v := of(sqltypes.JSONObjectOf([]sqltypes.JSONPair{
			{Key: "key", Value: sqltypes.JSONStringOf(j.Key(i))}, {Key: "value", Value: j.Value(i)}, {Key: "id", Value: number(id).JSON},
		}))
		ok, err := x.follow(n, v, out)
		if err != nil {
			return false, err
		}
		if some = some || ok; ok && out == nil {
			return true, nil
		}
	}
	return some, nil
}
