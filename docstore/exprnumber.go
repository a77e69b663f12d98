package docstore

import (
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func init() {
	reg := func(name string, min, max int, f exprFunc) { exprOps[name] = exprOp{min, max, f} }
	one := func(name string, f func(d sqltypes.Datum) (sqltypes.Datum, error)) {
		reg(name, 1, 1, func(_ *exprEnv, a []JSON) (JSON, error) {
			if isNull(a[0]) {
				return sqltypes.JSONNullValue, nil
			}
			d, err := number(name, a[0])
			if err == nil {
				d, err = f(d)
			}
			return sqltypes.JSONNumberOf(d), err
		})
	}
	two := func(name string, f func(a, b sqltypes.Datum) (sqltypes.Datum, error)) {
		reg(name, 2, 2, func(_ *exprEnv, a []JSON) (JSON, error) {
			if anyNull(a) {
				return sqltypes.JSONNullValue, nil
			}
			x, err := number(name, a[0])
			if err != nil {
				return JSON{}, err
			}
			y, err := number(name, a[1])
			if err != nil {
				return JSON{}, err
			}
			d, err := f(x, y)
			return sqltypes.JSONNumberOf(d), err
		})
	}
	reg("$add", 0, -1, addNumbers)
	reg("$multiply", 0, -1, func(_ *exprEnv, a []JSON) (JSON, error) {
		out := sqltypes.NumericInt(1)
		if anyNull(a) {
			return sqltypes.JSONNullValue, nil
		}
		for _, v := range a {
			d, err := number("$multiply", v)
			if err == nil {
				out, err = sqltypes.NumericMul(out, d)
			}
			if err != nil {
				return JSON{}, err
			}
		}
		return sqltypes.JSONNumberOf(out), nil
	})
	reg("$subtract", 2, 2, subtract)
	two("$divide", func(a, b sqltypes.Datum) (sqltypes.Datum, error) {
		if sqltypes.NumericSign(b) == 0 {
			return b, pgerror.New(pgerror.DivisionByZero, "division by zero")
		}
		d, err := sqltypes.NumericDiv(a, b)
		return sqltypes.NumericTrimScale(d), err
	})
	two("$mod", sqltypes.NumericMod)
	two("$pow", func(a, b sqltypes.Datum) (sqltypes.Datum, error) {
		d, err := sqltypes.NumericPower(a, b)
		return sqltypes.NumericTrimScale(d), err
	})
	two("$log", func(a, b sqltypes.Datum) (sqltypes.Datum, error) { return sqltypes.NumericLog(b, a) })
	one("$abs", func(d sqltypes.Datum) (sqltypes.Datum, error) { return sqltypes.NumericAbs(d), nil })
	one("$ceil", sqltypes.NumericCeil)
	one("$floor", sqltypes.NumericFloor)
	one("$sqrt", func(d sqltypes.Datum) (sqltypes.Datum, error) {
		d, err := sqltypes.NumericSqrt(d)
		return sqltypes.NumericTrimScale(d), err
	})
	one("$exp", sqltypes.NumericExp)
	one("$ln", sqltypes.NumericLn)
	one("$log10", func(d sqltypes.Datum) (sqltypes.Datum, error) { return sqltypes.NumericLog(sqltypes.NumericInt(10), d) })
	scaled := func(name string, f func(sqltypes.Datum, int) (sqltypes.Datum, error)) {
		reg(name, 1, 2, func(_ *exprEnv, a []JSON) (JSON, error) {
			if anyNull(a) {
				return sqltypes.JSONNullValue, nil
			}
			d, err := number(name, a[0])
			if err != nil {
				return JSON{}, err
			}
			scale := int64(0)
			if len(a) > 1 {
				if scale, err = wholeNumber("the place of "+name, a[1]); err != nil {
					return JSON{}, err
				}
			}
			d, err = f(d, int(min(max(scale, -20), 100)))
			return sqltypes.JSONNumberOf(sqltypes.NumericTrimScale(d)), err
		})
	}
	scaled("$round", roundHalfEven)
	scaled("$trunc", sqltypes.NumericTrunc)

	compare := func(name string, f func(c int) JSON) {
		reg(name, 2, 2, func(_ *exprEnv, a []JSON) (JSON, error) { return f(compareMissing(a[0], a[1])), nil })
	}
	is := func(f func(c int) bool) func(int) JSON {
		return func(c int) JSON { return sqltypes.JSONBoolOf(f(c)) }
	}
	compare("$eq", is(func(c int) bool { return c == 0 }))
	compare("$ne", is(func(c int) bool { return c != 0 }))
	compare("$gt", is(func(c int) bool { return c > 0 }))
	compare("$gte", is(func(c int) bool { return c >= 0 }))
	compare("$lt", is(func(c int) bool { return c < 0 }))
	compare("$lte", is(func(c int) bool { return c <= 0 }))
	compare("$cmp", func(c int) JSON { return intJSON(int64(min(max(c, -1), 1))) })
	reg("$not", 1, 1, func(_ *exprEnv, a []JSON) (JSON, error) { return sqltypes.JSONBoolOf(!truthy(a[0])), nil })
}

// compareMissing is Compare with missing values below null.
func compareMissing(a, b JSON) int {
	switch {
	case a.IsZero() && b.IsZero():
		return 0
	case a.IsZero():
		return -1
	case b.IsZero():
		return 1
	}
	return Compare(a, b)
}

func number(op string, v JSON) (sqltypes.Datum, error) {
	if v.IsZero() || v.Kind() != sqltypes.JSONNumber {
		return sqltypes.Null, invalid("%s only takes numbers, not %s", op, kindName(v))
	}
	return v.Number(), nil
}

// roundHalfEven rounds halves to the even neighbour, as $round does.
func roundHalfEven(d sqltypes.Datum, scale int) (sqltypes.Datum, error) {
	down, err := sqltypes.NumericTrunc(d, scale)
	if err != nil {
		return d, err
	}
	up, err := sqltypes.NumericRound(d, scale)
	if err != nil || sqltypes.NumericCmp(up, down) == 0 {
		return up, err
	}
	rest, err := sqltypes.NumericSub(d, down)
	if err != nil {
		return d, err
	}
	gap, err := sqltypes.NumericSub(up, d)
	if err != nil || sqltypes.NumericCmp(sqltypes.NumericAbs(rest), sqltypes.NumericAbs(gap)) != 0 {
		return up, err
	}
	// A tie: the one whose last digit is even.
	unit, err := sqltypes.NumericSub(up, down)
	if err != nil {
		return d, err
	}
	two, err := sqltypes.NumericMul(unit, sqltypes.NumericInt(2))
	if err != nil {
		return d, err
	}
	m, err := sqltypes.NumericMod(down, two)
	if err != nil || sqltypes.NumericSign(m) != 0 {
		return up, err
	}
	return down, nil
}

// addNumbers is $add: numbers, or one date and milliseconds.
func addNumbers(_ *exprEnv, a []JSON) (JSON, error) {
	if anyNull(a) {
		return sqltypes.JSONNullValue, nil
	}
	sum := sqltypes.NumericInt(0)
	var date JSON
	for _, v := range a {
		if ClassOf(v) == ClassDate {
			if !date.IsZero() {
				return JSON{}, invalid("only one date allowed in $add")
			}
			date = v
			continue
		}
		d, err := number("$add", v)
		if err == nil {
			sum, err = sqltypes.NumericAdd(sum, d)
		}
		if err != nil {
			return JSON{}, err
		}
	}
	if date.IsZero() {
		return sqltypes.JSONNumberOf(sum), nil
	}
	return shiftDate(date, sum)
}

func subtract(_ *exprEnv, a []JSON) (JSON, error) {
	if anyNull(a) {
		return sqltypes.JSONNullValue, nil
	}
	if x, ok := DateOf(a[0]); ok {
		if y, ok := DateOf(a[1]); ok {
			return intJSON(x.Sub(y).Milliseconds()), nil
		}
		d, err := number("$subtract", a[1])
		if err != nil {
			return JSON{}, err
		}
		return shiftDate(a[0], sqltypes.NumericNeg(d))
	}
	x, err := number("$subtract", a[0])
	if err != nil {
		return JSON{}, err
	}
	y, err := number("$subtract", a[1])
	if err != nil {
		return JSON{}, err
	}
	d, err := sqltypes.NumericSub(x, y)
	return sqltypes.JSONNumberOf(d), err
}
