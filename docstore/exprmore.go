package docstore

import (
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func init() {
	named := func(op string, names []string, need int, f exprFunc) {
		exprForms[op] = func(arg JSON, vars []string) (expression, error) { return compileNamed(arg, vars, op, names, need, f) }
	}
	exprForms["$zip"] = compileZip
	named("$regexFindAll", []string{"input", "regex", "options"}, 2, regexFindAll)
	named("$dateToParts", []string{"date"}, 1, dateToParts)
	named("$dateFromParts", []string{"year", "month", "day", "hour", "minute", "second", "millisecond"}, 1, dateFromParts)
	named("$setField", []string{"field", "input", "value"}, 3, setField)
	named("$unsetField", []string{"field", "input"}, 2, func(env *exprEnv, a []JSON) (JSON, error) { return setField(env, append(a, JSON{})) })
	for _, op := range []string{"$firstN", "$lastN", "$minN", "$maxN"} {
		named(op, []string{"n", "input"}, 2, someOf(op))
	}
	for name, f := range map[string]func(float64) float64{"$sin": math.Sin, "$cos": math.Cos, "$tan": math.Tan, "$asin": math.Asin, "$acos": math.Acos, "$atan": math.Atan,
		"$sinh": math.Sinh, "$cosh": math.Cosh, "$tanh": math.Tanh,
		"$degreesToRadians": func(x float64) float64 { return x * math.Pi / 180 }, "$radiansToDegrees": func(x float64) float64 { return x * 180 / math.Pi }} {
		exprOps[name] = exprOp{1, 1, realFunc(name, func(x []float64) float64 { return f(x[0]) })}
	}
	exprOps["$atan2"] = exprOp{2, 2, realFunc("$atan2", func(x []float64) float64 { return math.Atan2(x[0], x[1]) })}
	exprOps["$rand"] = exprOp{0, 0, func(*exprEnv, []JSON) (JSON, error) { return JSON{}, pgerror.NotSupported("expression operator $rand") }}
}

// realFunc is a function of real numbers; null stays null.
func realFunc(name string, f func([]float64) float64) exprFunc {
	return func(_ *exprEnv, a []JSON) (JSON, error) {
		if anyNull(a) {
			return sqltypes.JSONNullValue, nil
		}
		x := make([]float64, len(a))
		for i, v := range a {
			d, err := number(name, v)
			if err != nil {
				return JSON{}, err
			}
			if x[i], err = sqltypes.NumericToFloat(d, 64); err != nil {
				return JSON{}, err
			}
		}
		y := f(x)
		if math.IsNaN(y) || math.IsInf(y, 0) {
			return JSON{}, pgerror.New(pgerror.NumericValueOutOfRange, "the argument of %s is out of range", name)
		}
		return sqltypes.ParseJSONB(strconv.FormatFloat(y, 'f', -1, 64))
	}
}

// compileZip is $zip.
func compileZip(arg JSON, vars []string) (expression, error) {
	inputs, _ := arg.Lookup("inputs")
	if inputs.IsZero() || inputs.Kind() != sqltypes.JSONArray || inputs.Len() == 0 {
		return nil, invalid("$zip needs inputs, an array of arrays")
	}
	longest, defaults := false, JSON{}
	for _, p := range arg.Pairs() {
		switch p.Key {
		case "inputs":
		case "useLongestLength":
			longest = truthy(p.Value)
		case "defaults":
			defaults = p.Value
		default:
			return nil, pgerror.NotSupported("argument %q of $zip", p.Key)
		}
	}
	if !defaults.IsZero() && (!longest || defaults.Kind() != sqltypes.JSONArray || defaults.Len() != inputs.Len()) {
		return nil, invalid("the defaults of $zip are an array as long as inputs, with useLongestLength")
	}
	args, err := compileList(inputs.Elems(), vars)
	if err != nil {
		return nil, err
	}
	if !defaults.IsZero() {
		more, err := compileList(defaults.Elems(), vars)
		if err != nil {
			return nil, err
		}
		args = append(args, more...)
	}
	n := inputs.Len()
	return &callExpr{name: "$zip", args: args, f: func(_ *exprEnv, a []JSON) (JSON, error) {
		size := -1
		for _, v := range a[:n] {
			if isNull(v) {
				return sqltypes.JSONNullValue, nil
			}
			if v.Kind() != sqltypes.JSONArray {
				return JSON{}, invalid("$zip needs arrays, not %s", kindName(v))
			}
			if size < 0 || longest && v.Len() > size || !longest && v.Len() < size {
				size = v.Len()
			}
		}
		out := make([]JSON, size)
		for i := range out {
			row := make([]JSON, n)
			for k := range row {
				switch {
				case i < a[k].Len():
					row[k] = a[k].Index(i)
				case len(a) > n:
					row[k] = orNull(a[n+k])
				default:
					row[k] = sqltypes.JSONNullValue
				}
			}
			out[i] = sqltypes.JSONArrayOf(row)
		}
		return sqltypes.JSONArrayOf(out), nil
	}}, nil
}

func regexFindAll(env *exprEnv, a []JSON) (JSON, error) {
	s, find, null, err := regexArgs(a)
	if err != nil {
		return JSON{}, err
	}
	out := []JSON{}
	for at := 0; !null && at <= len(s); {
		m := find(s[at:])
		if m == nil {
			break
		}
		if err := env.canceled(); err != nil {
			return JSON{}, err
		}
		out = append(out, foundText(s, at, m))
		if at += m[1]; m[0] == m[1] {
			_, size := utf8.DecodeRuneInString(s[at:])
			at += max(1, size)
		}
	}
	return sqltypes.JSONArrayOf(out), nil
}

func dateToParts(_ *exprEnv, a []JSON) (JSON, error) {
	if isNull(a[0]) {
		return sqltypes.JSONNullValue, nil
	}
	t, err := dateArg("$dateToParts", a[0])
	if err != nil {
		return JSON{}, err
	}
	pairs := []sqltypes.JSONPair{}
	for _, p := range []struct {
		name string
		n    int
	}{{"year", t.Year()}, {"month", int(t.Month())}, {"day", t.Day()}, {"hour", t.Hour()}, {"minute", t.Minute()}, {"second", t.Second()}, {"millisecond", t.Nanosecond() / 1e6}} {
		pairs = append(pairs, sqltypes.JSONPair{Key: p.name, Value: intJSON(int64(p.n))})
	}
	return sqltypes.JSONObjectOf(pairs), nil
}

func dateFromParts(_ *exprEnv, a []JSON) (JSON, error) {
	n := [7]int64{0, 1, 1}
	for i, v := range a {
		if v.IsZero() {
			continue
		}
		if isNull(v) {
			return sqltypes.JSONNullValue, nil
		}
		var err error
		if n[i], err = wholeNumber("a part of $dateFromParts", v); err != nil {
			return JSON{}, err
		}
		if n[i] > 1<<31 || n[i] < -1<<31 {
			return JSON{}, pgerror.New(pgerror.DatetimeFieldOverflow, "date out of range")
		}
	}
	return dateInRange(time.Date(int(n[0]), time.Month(n[1]), int(n[2]), int(n[3]), int(n[4]), int(n[5]), 0, time.UTC).Add(time.Duration(n[6]) * time.Millisecond))
}

// setField is $setField, without a value $unsetField.
func setField(_ *exprEnv, a []JSON) (JSON, error) {
	if isNull(a[1]) {
		return sqltypes.JSONNullValue, nil
	}
	if a[0].IsZero() || a[0].Kind() != sqltypes.JSONString || a[1].Kind() != sqltypes.JSONObject {
		return JSON{}, invalid("$setField needs the name of a field and an object")
	}
	pairs := slices.DeleteFunc(a[1].Pairs(), func(p sqltypes.JSONPair) bool { return p.Key == a[0].Str() })
	if !a[2].IsZero() {
		pairs = append(pairs, sqltypes.JSONPair{Key: a[0].Str(), Value: a[2]})
	}
	return sqltypes.JSONObjectOf(pairs), nil
}

// someOf is $firstN, $lastN, $minN or $maxN of an array.
func someOf(op string) exprFunc {
	return func(_ *exprEnv, a []JSON) (JSON, error) {
		if isNull(a[1]) {
			return sqltypes.JSONNullValue, nil
		}
		n, err := wholeNumber("n of "+op, a[0])
		if err != nil {
			return JSON{}, err
		}
		if n <= 0 || a[1].Kind() != sqltypes.JSONArray {
			return JSON{}, invalid("%s needs a positive n and an array", op)
		}
		list := a[1].Elems()
		if op == "$minN" || op == "$maxN" {
			list = slices.DeleteFunc(list, isNull)
			slices.SortStableFunc(list, func(x, y JSON) int {
				if op == "$maxN" {
					return Compare(y, x)
				}
				return Compare(x, y)
			})
		}
		k := int(min(n, int64(len(list))))
		if op == "$lastN" {
			return sqltypes.JSONArrayOf(list[len(list)-k:]), nil
		}
		return sqltypes.JSONArrayOf(list[:k]), nil
	}
}
