package docstore

import (
	"slices"

	"ostraka/sqltypes"
)

func init() {
	reg := func(name string, min, max int, f exprFunc) { exprOps[name] = exprOp{min, max, f} }
	// list registers an operator whose first argument is an array; null gives null.
	list := func(name string, min, max int, f func(l []JSON, a []JSON) (JSON, error)) {
		reg(name, min, max, func(_ *exprEnv, a []JSON) (JSON, error) {
			if isNull(a[0]) {
				return sqltypes.JSONNullValue, nil
			}
			if a[0].Kind() != sqltypes.JSONArray {
				return JSON{}, invalid("%s needs an array, not %s", name, kindName(a[0]))
			}
			return f(a[0].Elems(), a)
		})
	}
	reg("$size", 1, 1, func(_ *exprEnv, a []JSON) (JSON, error) {
		if isNull(a[0]) || a[0].Kind() != sqltypes.JSONArray {
			return JSON{}, invalid("$size needs an array, not %s", kindName(a[0]))
		}
		return intJSON(int64(a[0].Len())), nil
	})
	reg("$isArray", 1, 1, func(_ *exprEnv, a []JSON) (JSON, error) {
		return sqltypes.JSONBoolOf(!a[0].IsZero() && a[0].Kind() == sqltypes.JSONArray), nil
	})
	list("$arrayElemAt", 2, 2, func(l []JSON, a []JSON) (JSON, error) {
		if isNull(a[1]) {
			return sqltypes.JSONNullValue, nil
		}
		n, err := wholeNumber("the index of $arrayElemAt", a[1])
		if err != nil {
			return JSON{}, err
		}
		if n < 0 {
			n += int64(len(l))
		}
		if n < 0 || n >= int64(len(l)) {
			return JSON{}, nil
		}
		return l[n], nil
	})
	list("$first", 1, 1, func(l []JSON, _ []JSON) (JSON, error) {
		if len(l) == 0 {
			return JSON{}, nil
		}
		return l[0], nil
	})
	list("$last", 1, 1, func(l []JSON, _ []JSON) (JSON, error) {
		if len(l) == 0 {
			return JSON{}, nil
		}
		return l[len(l)-1], nil
	})
	list("$reverseArray", 1, 1, func(l []JSON, _ []JSON) (JSON, error) {
		slices.Reverse(l)
		return sqltypes.JSONArrayOf(l), nil
	})
	list("$slice", 2, 3, func(l []JSON, a []JSON) (JSON, error) {
		if anyNull(a) {
			return sqltypes.JSONNullValue, nil
		}
		size := int64(len(l))
		n, err := wholeNumber("$slice", a[1])
		if err != nil {
			return JSON{}, err
		}
		from, count := int64(0), n
		if len(a) == 3 {
			if from = n; from < 0 {
				from = max(0, size+from)
			}
			if count, err = wholeNumber("$slice", a[2]); err != nil {
				return JSON{}, err
			}
			if count <= 0 {
				return JSON{}, invalid("the third argument of $slice must be positive")
			}
		} else if n < 0 {
			from, count = max(0, size+n), size
		}
		from = min(from, size)
		return sqltypes.JSONArrayOf(l[from:min(size, from+min(count, size))]), nil
	})
	reg("$in", 2, 2, func(_ *exprEnv, a []JSON) (JSON, error) {
		if isNull(a[1]) || a[1].Kind() != sqltypes.JSONArray {
			return JSON{}, invalid("$in needs an array as its second argument, not %s", kindName(a[1]))
		}
		return sqltypes.JSONBoolOf(slices.ContainsFunc(a[1].Elems(), func(v JSON) bool { return Equal(v, a[0]) })), nil
	})
	list("$indexOfArray", 2, 4, func(l []JSON, a []JSON) (JSON, error) {
		from, to := int64(0), int64(len(l))
		for i, p := range []*int64{&from, &to} {
			if len(a) > 2+i {
				n, err := wholeNumber("an index of $indexOfArray", a[2+i])
				if err != nil || n < 0 {
					return JSON{}, invalid("an index of $indexOfArray must be a whole number, not negative")
				}
				*p = min(n, int64(len(l)))
			}
		}
		for i := from; i < to; i++ {
			if Equal(l[i], a[1]) {
				return intJSON(i), nil
			}
		}
		return intJSON(-1), nil
	})
	reg("$concatArrays", 0, -1, func(_ *exprEnv, a []JSON) (JSON, error) {
		if anyNull(a) {
			return sqltypes.JSONNullValue, nil
		}
		var out []JSON
		var size sizeLimit
		for _, v := range a {
			if v.Kind() != sqltypes.JSONArray {
				return JSON{}, invalid("$concatArrays only takes arrays, not %s", kindName(v))
			}
			if err := size.add(v); err != nil {
				return JSON{}, err
			}
			out = append(out, v.Elems()...)
		}
		return sqltypes.JSONArrayOf(out), nil
	})
	reg("$range", 2, 3, func(_ *exprEnv, a []JSON) (JSON, error) {
		n := [3]int64{0, 0, 1}
		for i, v := range a {
			var err error
			if n[i], err = wholeNumber("$range", v); err != nil {
				return JSON{}, err
			}
		}
		if n[2] == 0 {
			return JSON{}, invalid("$range needs a step other than 0")
		}
		if (n[1]-n[0])/n[2] > 1<<20 {
			return JSON{}, errMemory("range")
		}
		var out []JSON
		for i := n[0]; n[2] > 0 && i < n[1] || n[2] < 0 && i > n[1]; i += n[2] {
			out = append(out, intJSON(i))
		}
		return sqltypes.JSONArrayOf(out), nil
	})
	sets := func(name string, min, max int, f func(sets []*valueSet) JSON) {
		reg(name, min, max, func(_ *exprEnv, a []JSON) (JSON, error) {
			if anyNull(a) {
				return sqltypes.JSONNullValue, nil
			}
			list := make([]*valueSet, len(a))
			for i, v := range a {
				if v.Kind() != sqltypes.JSONArray {
					return JSON{}, invalid("%s only takes arrays, not %s", name, kindName(v))
				}
				list[i] = newValueSet()
				for _, e := range v.Elems() {
					if err := list[i].add(e); err != nil {
						return JSON{}, err
					}
				}
			}
			return f(list), nil
		})
	}
	keep := func(s *valueSet, f func(key string) bool) JSON {
		out := newValueSet()
		for k, v := range s.m {
			if f(k) {
				out.m[k] = v
			}
		}
		return sqltypes.JSONArrayOf(out.sorted())
	}
	sets("$setUnion", 0, -1, func(s []*valueSet) JSON {
		all := newValueSet()
		for _, x := range s {
			for k, v := range x.m {
				all.m[k] = v
			}
		}
		return sqltypes.JSONArrayOf(all.sorted())
	})
	sets("$setIntersection", 1, -1, func(s []*valueSet) JSON {
		return keep(s[0], func(k string) bool {
			return !slices.ContainsFunc(s[1:], func(x *valueSet) bool { _, ok := x.m[k]; return !ok })
		})
	})
	sets("$setDifference", 2, 2, func(s []*valueSet) JSON {
		return keep(s[0], func(k string) bool { _, ok := s[1].m[k]; return !ok })
	})
	sets("$setIsSubset", 2, 2, func(s []*valueSet) JSON {
		for k := range s[0].m {
			if _, ok := s[1].m[k]; !ok {
				return sqltypes.JSONBoolOf(false)
			}
		}
		return sqltypes.JSONBoolOf(true)
	})
	sets("$setEquals", 2, -1, func(s []*valueSet) JSON {
		for _, x := range s[1:] {
			if len(x.m) != len(s[0].m) {
				return sqltypes.JSONBoolOf(false)
			}
			for k := range x.m {
				if _, ok := s[0].m[k]; !ok {
					return sqltypes.JSONBoolOf(false)
				}
			}
		}
		return sqltypes.JSONBoolOf(true)
	})
	each := func(name string, want bool) {
		reg(name, 1, 1, func(_ *exprEnv, a []JSON) (JSON, error) {
			if isNull(a[0]) || a[0].Kind() != sqltypes.JSONArray {
				return JSON{}, invalid("%s needs an array, not %s", name, kindName(a[0]))
			}
			for _, e := range a[0].Elems() {
				if truthy(e) != want {
					return sqltypes.JSONBoolOf(!want), nil
				}
			}
			return sqltypes.JSONBoolOf(want), nil
		})
	}
	each("$allElementsTrue", true)
	each("$anyElementTrue", false)
	list("$arrayToObject", 1, 1, func(l []JSON, _ []JSON) (JSON, error) {
		var pairs []sqltypes.JSONPair
		for _, e := range l {
			var k, v JSON
			switch {
			case e.Kind() == sqltypes.JSONArray && e.Len() == 2:
				k, v = e.Index(0), e.Index(1)
			case e.Kind() == sqltypes.JSONObject:
				k, _ = e.Lookup("k")
				v, _ = e.Lookup("v")
			}
			if k.IsZero() || v.IsZero() || k.Kind() != sqltypes.JSONString {
				return JSON{}, invalid("$arrayToObject needs [key, value] or {k, v} elements")
			}
			pairs = append(pairs, sqltypes.JSONPair{Key: k.Str(), Value: v})
		}
		return sqltypes.JSONObjectOf(pairs), nil
	})
	reg("$objectToArray", 1, 1, func(_ *exprEnv, a []JSON) (JSON, error) {
		if isNull(a[0]) {
			return sqltypes.JSONNullValue, nil
		}
		if a[0].Kind() != sqltypes.JSONObject {
			return JSON{}, invalid("$objectToArray needs an object, not %s", kindName(a[0]))
		}
		var out []JSON
		for _, p := range a[0].Pairs() {
			out = append(out, sqltypes.JSONObjectOf([]sqltypes.JSONPair{{Key: "k", Value: sqltypes.JSONStringOf(p.Key)}, {Key: "v", Value: p.Value}}))
		}
		return sqltypes.JSONArrayOf(out), nil
	})
	reg("$mergeObjects", 0, -1, func(_ *exprEnv, a []JSON) (JSON, error) {
		var pairs []sqltypes.JSONPair
		for _, v := range a {
			if isNull(v) {
				continue
			}
			if v.Kind() != sqltypes.JSONObject {
				return JSON{}, invalid("$mergeObjects needs objects, not %s", kindName(v))
			}
			pairs = append(pairs, v.Pairs()...)
		}
		return sqltypes.JSONObjectOf(pairs), nil
	})
	// Accumulators as expressions: over an array, or over their arguments.
	for _, name := range []string{"$sum", "$avg", "$min", "$max", "$stdDevPop", "$stdDevSamp"} {
		reg(name, 1, -1, func(_ *exprEnv, a []JSON) (JSON, error) {
			vals := a
			if len(a) == 1 && !isNull(a[0]) && a[0].Kind() == sqltypes.JSONArray {
				vals = a[0].Elems()
			}
			s := newAccumulator(&accSpec{op: name})
			for _, v := range vals {
				if err := s.add(v); err != nil {
					return JSON{}, err
				}
			}
			return s.final()
		})
	}
}

// sortArray is $sortArray by 1, -1 or fields.
func sortArray(by JSON) (exprFunc, error) {
	order := func(a, b JSON) int { return Compare(a, b) }
	if by.Kind() == sqltypes.JSONNumber {
		n, err := wholeNumber("sortBy", by)
		if err != nil || n != 1 && n != -1 {
			return nil, invalid("sortBy must be 1, -1 or fields")
		}
		order = func(a, b JSON) int { return Compare(a, b) * int(n) }
	} else {
		s, err := CompileSort(by)
		if err != nil || s == nil {
			return nil, invalid("sortBy must be 1, -1 or fields")
		}
		order = s.Compare
	}
	return func(_ *exprEnv, a []JSON) (JSON, error) {
		if isNull(a[0]) {
			return sqltypes.JSONNullValue, nil
		}
		if a[0].Kind() != sqltypes.JSONArray {
			return JSON{}, invalid("the input of $sortArray must be an array")
		}
		l := a[0].Elems()
		slices.SortStableFunc(l, order)
		return sqltypes.JSONArrayOf(l), nil
	}, nil
}
