package docstore

import (
	"strings"
	"unicode/utf8"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func init() {
	reg := func(name string, min, max int, f exprFunc) { exprOps[name] = exprOp{min, max, f} }
	reg("$concat", 0, -1, func(_ *exprEnv, a []JSON) (JSON, error) {
		var b strings.Builder
		if anyNull(a) {
			return sqltypes.JSONNullValue, nil
		}
		var size sizeLimit
		for _, v := range a {
			if v.Kind() != sqltypes.JSONString {
				return JSON{}, invalid("$concat only takes strings, not %s", kindName(v))
			}
			if err := size.add(v); err != nil {
				return JSON{}, err
			}
			b.WriteString(v.Str())
		}
		return sqltypes.JSONStringOf(b.String()), nil
	})
	text := func(name string, f func(s string) JSON) {
		reg(name, 1, 1, func(_ *exprEnv, a []JSON) (JSON, error) {
			s, err := plainText(name, a[0])
			return f(s), err
		})
	}
	text("$toLower", func(s string) JSON { return sqltypes.JSONStringOf(strings.ToLower(s)) })
	text("$toUpper", func(s string) JSON { return sqltypes.JSONStringOf(strings.ToUpper(s)) })
	length := func(name string, f func(s string) int) {
		reg(name, 1, 1, func(_ *exprEnv, a []JSON) (JSON, error) {
			if isNull(a[0]) || a[0].Kind() != sqltypes.JSONString {
				return JSON{}, invalid("%s needs a string, not %s", name, kindName(a[0]))
			}
			return intJSON(int64(f(a[0].Str()))), nil
		})
	}
	length("$strLenCP", utf8.RuneCountInString)
	length("$strLenBytes", func(s string) int { return len(s) })
	reg("$substrCP", 3, 3, substr)
	reg("$substr", 3, 3, substr)
	reg("$substrBytes", 3, 3, substr)
	reg("$split", 2, 2, func(_ *exprEnv, a []JSON) (JSON, error) {
		if anyNull(a) {
			return sqltypes.JSONNullValue, nil
		}
		if a[0].Kind() != sqltypes.JSONString || a[1].Kind() != sqltypes.JSONString || a[1].Str() == "" {
			return JSON{}, invalid("$split needs a string and a separator")
		}
		var out []JSON
		for _, s := range strings.Split(a[0].Str(), a[1].Str()) {
			out = append(out, sqltypes.JSONStringOf(s))
		}
		return sqltypes.JSONArrayOf(out), nil
	})
	reg("$strcasecmp", 2, 2, func(_ *exprEnv, a []JSON) (JSON, error) {
		x, err := plainText("$strcasecmp", a[0])
		if err != nil {
			return JSON{}, err
		}
		y, err := plainText("$strcasecmp", a[1])
		return intJSON(int64(strings.Compare(strings.ToUpper(x), strings.ToUpper(y)))), err
	})
	reg("$indexOfCP", 2, 4, func(_ *exprEnv, a []JSON) (JSON, error) {
		if isNull(a[0]) {
			return sqltypes.JSONNullValue, nil
		}
		if isNull(a[1]) || a[0].Kind() != sqltypes.JSONString || a[1].Kind() != sqltypes.JSONString {
			return JSON{}, invalid("$indexOfCP needs strings")
		}
		r := []rune(a[0].Str())
		from, to := 0, len(r)
		for i, p := range []*int{&from, &to} {
			if len(a) > 2+i {
				n, err := wholeNumber("an index of $indexOfCP", a[2+i])
				if err != nil || n < 0 {
					return JSON{}, invalid("an index of $indexOfCP must be a whole number, not negative")
				}
				*p = int(min(n, int64(len(r))))
			}
		}
		if from > to {
			return intJSON(-1), nil
		}
		part := string(r[from:to])
		i := strings.Index(part, a[1].Str())
		if i < 0 {
			return intJSON(-1), nil
		}
		return intJSON(int64(from + utf8.RuneCountInString(part[:i]))), nil
	})
	for name, to := range map[string]string{"$toString": "string", "$toInt": "int", "$toLong": "long", "$toDouble": "double", "$toDecimal": "decimal", "$toBool": "bool"} {
		reg(name, 1, 1, func(_ *exprEnv, a []JSON) (JSON, error) { return convertTo(a[0], to) })
	}
	reg("$type", 1, 1, func(_ *exprEnv, a []JSON) (JSON, error) {
		if a[0].IsZero() {
			return sqltypes.JSONStringOf("missing"), nil
		}
		return sqltypes.JSONStringOf(TypeName(a[0])), nil
	})
	reg("$isNumber", 1, 1, func(_ *exprEnv, a []JSON) (JSON, error) {
		return sqltypes.JSONBoolOf(!a[0].IsZero() && a[0].Kind() == sqltypes.JSONNumber), nil
	})
}

// plainText is an argument as text: null is empty, numbers and dates print.
func plainText(op string, v JSON) (string, error) {
	switch ClassOf(v) {
	case ClassNull:
		return "", nil
	case ClassString:
		return v.Str(), nil
	case ClassNumber:
		return v.String(), nil
	case ClassDate:
		t, _ := DateOf(v)
		return FormatDate(t), nil
	}
	return "", invalid("%s cannot use a value of type %s as a string", op, TypeName(v))
}

// substr counts in characters, for all three spellings.
func substr(_ *exprEnv, a []JSON) (JSON, error) {
	s, err := plainText("$substr", a[0])
	if err != nil {
		return JSON{}, err
	}
	from, err := wholeNumber("the start of $substr", a[1])
	if err != nil {
		return JSON{}, err
	}
	n, err := wholeNumber("the length of $substr", a[2])
	if err != nil {
		return JSON{}, err
	}
	if from < 0 {
		return JSON{}, invalid("the start of $substr must not be negative")
	}
	r := []rune(s)
	size := int64(len(r))
	from = min(from, size)
	if n < 0 || n > size-from {
		n = size - from
	}
	return sqltypes.JSONStringOf(string(r[from : from+n])), nil
}

func compileTrim(arg JSON, vars []string, op string, left, right bool) (expression, error) {
	return compileNamed(arg, vars, op, []string{"input", "chars"}, 1, func(_ *exprEnv, a []JSON) (JSON, error) {
		if isNull(a[0]) {
			return sqltypes.JSONNullValue, nil
		}
		cut := " \t\n\v\f\r\x00\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
		if !a[1].IsZero() {
			if a[1].Kind() != sqltypes.JSONString {
				return JSON{}, invalid("the chars of %s must be a string", op)
			}
			cut = a[1].Str()
		}
		if a[0].Kind() != sqltypes.JSONString {
			return JSON{}, invalid("%s needs a string, not %s", op, kindName(a[0]))
		}
		s := a[0].Str()
		if left {
			s = strings.TrimLeft(s, cut)
		}
		if right {
			s = strings.TrimRight(s, cut)
		}
		return sqltypes.JSONStringOf(s), nil
	})
}

func regexArgs(a []JSON) (s string, find func(string) []int, null bool, err error) {
	if isNull(a[0]) || isNull(a[1]) {
		return "", nil, true, nil
	}
	if a[0].Kind() != sqltypes.JSONString || a[1].Kind() != sqltypes.JSONString {
		return "", nil, false, invalid("input and regex must be strings")
	}
	opts := ""
	if !isNull(a[2]) && a[2].Kind() == sqltypes.JSONString {
		opts = a[2].Str()
	}
	re, err := compileRegex(a[1].Str(), opts)
	if err != nil {
		return "", nil, false, err
	}
	return a[0].Str(), re.FindStringSubmatchIndex, false, nil
}

func regexMatch(_ *exprEnv, a []JSON) (JSON, error) {
	s, find, null, err := regexArgs(a)
	if err != nil || null {
		return sqltypes.JSONBoolOf(false), err
	}
	return sqltypes.JSONBoolOf(find(s) != nil), nil
}

func regexFind(_ *exprEnv, a []JSON) (JSON, error) {
	s, find, null, err := regexArgs(a)
	if err != nil || null {
		return sqltypes.JSONNullValue, err
	}
	m := find(s)
	if m == nil {
		return sqltypes.JSONNullValue, nil
	}
	return foundText(s, 0, m), nil
}

// foundText describes a match in s[at:].
func foundText(s string, at int, m []int) JSON {
	var caps []JSON
	for i := 2; i+1 < len(m); i += 2 {
		if m[i] < 0 {
			caps = append(caps, sqltypes.JSONNullValue)
			continue
		}
		caps = append(caps, sqltypes.JSONStringOf(s[at+m[i]:at+m[i+1]]))
	}
	return sqltypes.JSONObjectOf([]sqltypes.JSONPair{{Key: "match", Value: sqltypes.JSONStringOf(s[at+m[0] : at+m[1]])},
		{Key: "idx", Value: intJSON(int64(utf8.RuneCountInString(s[:at+m[0]])))}, {Key: "captures", Value: sqltypes.JSONArrayOf(caps)}})
}

func replaceText(n int) exprFunc {
	return func(_ *exprEnv, a []JSON) (JSON, error) {
		if anyNull(a) {
			return sqltypes.JSONNullValue, nil
		}
		for _, v := range a {
			if v.Kind() != sqltypes.JSONString {
				return JSON{}, invalid("input, find and replacement must be strings")
			}
		}
		return sqltypes.JSONStringOf(strings.Replace(a[0].Str(), a[1].Str(), a[2].Str(), n)), nil
	}
}

func convert(_ *exprEnv, a []JSON) (JSON, error) {
	if isNull(a[0]) {
		return orNull(a[3]), nil
	}
	if isNull(a[1]) {
		return sqltypes.JSONNullValue, nil
	}
	if a[1].Kind() != sqltypes.JSONString {
		return JSON{}, invalid("the type of $convert must be a string")
	}
	v, err := convertTo(a[0], a[1].Str())
	if err != nil && !a[2].IsZero() && pgerror.CodeOf(err) != pgerror.FeatureNotSupported {
		return a[2], nil
	}
	return v, err
}

// convertTo converts a value to a type by name; null stays null.
func convertTo(v JSON, to string) (JSON, error) {
	if isNull(v) {
		return sqltypes.JSONNullValue, nil
	}
	c := ClassOf(v)
	fail := func() (JSON, error) {
		return JSON{}, invalid("cannot convert %s to %s", shown(v), to)
	}
	switch to {
	case "string":
		if c == ClassBool {
			return sqltypes.JSONStringOf(v.String()), nil
		}
		if c == ClassArray || c == ClassObject {
			return fail()
		}
		s, err := plainText("$toString", v)
		return sqltypes.JSONStringOf(s), err
	case "bool":
		return sqltypes.JSONBoolOf(truthy(v)), nil
	case "date":
		switch c {
		case ClassDate:
			return v, nil
		case ClassNumber:
			return shiftDate(sqltypes.JSONObjectOf([]sqltypes.JSONPair{{Key: dateKey, Value: intJSON(0)}}), v.Number())
		case ClassString:
			if t, ok := ParseDate(v.Str()); ok {
				return MakeDate(t), nil
			}
		}
		return fail()
	case "int", "long", "double", "decimal":
		var d sqltypes.Datum
		switch c {
		case ClassNumber:
			d = v.Number()
		case ClassBool:
			d = sqltypes.NumericInt(0)
			if v.Bool() {
				d = sqltypes.NumericInt(1)
			}
		case ClassString:
			var err error
			if d, err = sqltypes.ParseNumeric(v.Str()); err != nil || !sqltypes.NumericIsFinite(d) {
				return fail()
			}
			if (to == "int" || to == "long") && !sqltypes.NumericIsInteger(d) {
				return fail()
			}
		case ClassDate:
			t, _ := DateOf(v)
			d = sqltypes.NumericInt(t.UnixMilli())
		default:
			return fail()
		}
		if to == "int" || to == "long" {
			bits := 64
			if to == "int" {
				bits = 32
			}
			d, err := sqltypes.NumericTrunc(d, 0)
			if err != nil {
				return JSON{}, err
			}
			n, err := sqltypes.NumericToInt(d, bits)
			if err != nil {
				return fail()
			}
			return intJSON(n), nil
		}
		return sqltypes.JSONNumberOf(d), nil
	}
	return JSON{}, pgerror.NotSupported("conversion to type %q", to)
}
