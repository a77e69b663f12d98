package docstore

import (
	"errors"

	"ostraka/sqltypes"
)

// Window operators that calculate along the field that a partition is sorted by:
// $linearFill, $derivative, $integral and $expMovingAvg.

// curve compiles their arguments.
func (f *windowField) curve(arg, window JSON) error {
	f.needSort = true
	input := arg
	if f.op != "$linearFill" {
		if arg.Kind() != sqltypes.JSONObject {
			return invalid("%s needs an object with input", f.op)
		}
		input = JSON{}
		for _, p := range arg.Pairs() {
			switch {
			case p.Key == "input":
				input = p.Value
			case p.Key == "unit" && f.op != "$expMovingAvg":
				unit, err := unitOf(f.op, p.Value)
				if err != nil {
					return err
				}
				length, ok := unitLength[unit]
				if !ok {
					return invalid("unit %s of %s has no fixed length", unit, f.op)
				}
				f.per = length.Milliseconds()
			case (p.Key == "N" || p.Key == "alpha") && f.op == "$expMovingAvg" && f.alpha.IsZero():
				if err := f.weight(p.Key, p.Value); err != nil {
					return err
				}
			default:
				return invalid("unknown argument %q of %s", p.Key, f.op)
			}
		}
		if input.IsZero() {
			return invalid("%s needs input", f.op)
		}
	}
	var err error
	if f.arg, err = compileExpr(input, nil); err != nil {
		return err
	}
	if f.op == "$derivative" || f.op == "$integral" {
		return f.window(window)
	}
	if f.op == "$expMovingAvg" && f.alpha.IsZero() {
		return invalid("$expMovingAvg needs N or alpha")
	}
	if !window.IsZero() {
		return invalid("%s takes no window", f.op)
	}
	return nil
}

// weight is how much of $expMovingAvg the newest value makes up.
func (f *windowField) weight(name string, v JSON) error {
	if name == "alpha" {
		if v.Kind() != sqltypes.JSONNumber || sqltypes.NumericSign(v.Number()) <= 0 || sqltypes.NumericCmp(v.Number(), sqltypes.NumericInt(1)) >= 0 {
			return invalid("alpha of $expMovingAvg must be between 0 and 1")
		}
		f.alpha = v
		return nil
	}
	n, err := wholeNumber("N of $expMovingAvg", v)
	if err != nil {
		return err
	}
	if n < 1 {
		return invalid("N of $expMovingAvg must be positive")
	}
	a, err := sqltypes.NumericDiv(sqltypes.NumericInt(2), sqltypes.NumericInt(n+1))
	f.alpha = sqltypes.JSONNumberOf(a)
	return err
}

// axis is where a document stands: the sort's field, a number or a date in ms.
func (w *windowFields) axis(op string, doc JSON) (sqltypes.Datum, bool, error) {
	if len(w.sort.fields) != 1 {
		return sqltypes.Datum{}, false, invalid("%s needs sortBy of one field", op)
	}
	v, _ := w.sort.fields[0].path.sortValue(doc, false)
	if t, ok := DateOf(v); ok {
		return sqltypes.NumericInt(t.UnixMilli()), true, nil
	}
	if v.IsZero() || v.Kind() != sqltypes.JSONNumber {
		return sqltypes.Datum{}, false, invalid("%s needs numbers or dates to sort by, not %s", op, shown(v))
	}
	return v.Number(), false, nil
}

// number is the number of a value, not ok when it is null or missing.
func (f *windowField) number(v JSON) (sqltypes.Datum, bool, error) {
	if isNull(v) {
		return sqltypes.Datum{}, false, nil
	}
	if v.Kind() != sqltypes.JSONNumber {
		return sqltypes.Datum{}, false, invalid("%s needs numbers, not %s", f.op, shown(v))
	}
	return v.Number(), true, nil
}

// calc strings decimal operations together; the first error stays.
type calc struct{ err error }

func (c *calc) do(f func(a, b sqltypes.Datum) (sqltypes.Datum, error), a, b sqltypes.Datum) sqltypes.Datum {
	if c.err != nil {
		return sqltypes.NumericInt(0)
	}
	var out sqltypes.Datum
	out, c.err = f(a, b)
	return out
}

// linearFill fills what is null between two numbers.
func (w *windowFields) linearFill(f *windowField, docs, args, vals []JSON) error {
	before := -1
	for i := range docs {
		vals[i] = sqltypes.JSONNullValue
		y1, ok, err := f.number(args[i])
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		vals[i] = args[i]
		if before >= 0 && before < i-1 {
			x0, _, err := w.axis(f.op, docs[before])
			if err != nil {
				return err
			}
			x1, _, err := w.axis(f.op, docs[i])
			if err != nil {
				return err
			}
			if sqltypes.NumericCmp(x0, x1) == 0 {
				return invalid("$linearFill needs different values to sort by")
			}
			var c calc
			y0 := args[before].Number()
			rise, run := c.do(sqltypes.NumericSub, y1, y0), c.do(sqltypes.NumericSub, x1, x0)
			for k := before + 1; k < i; k++ {
				x, _, err := w.axis(f.op, docs[k])
				if err != nil {
					return err
				}
				part := c.do(sqltypes.NumericDiv, c.do(sqltypes.NumericMul, rise, c.do(sqltypes.NumericSub, x, x0)), run)
				vals[k] = sqltypes.JSONNumberOf(sqltypes.NumericTrimScale(c.do(sqltypes.NumericAdd, y0, part)))
			}
			if c.err != nil {
				return c.err
			}
		}
		before = i
	}
	return nil
}

func (f *windowField) movingAverage(args, vals []JSON) error {
	a := f.alpha.Number()
	var avg sqltypes.Datum
	begun := false
	for i, v := range args {
		x, ok, err := f.number(v)
		if err != nil {
			return err
		}
		switch {
		case !ok:
			vals[i] = sqltypes.JSONNullValue
			continue
		case !begun:
			avg, begun = x, true
		default:
			var c calc
			rest := c.do(sqltypes.NumericSub, sqltypes.NumericInt(1), a)
			avg = c.do(sqltypes.NumericAdd, c.do(sqltypes.NumericMul, x, a), c.do(sqltypes.NumericMul, avg, rest))
			if c.err == nil {
				avg, c.err = sqltypes.NumericRound(avg, 16)
			}
			if c.err != nil {
				return c.err
			}
		}
		vals[i] = sqltypes.JSONNumberOf(sqltypes.NumericTrimScale(avg))
	}
	return nil
}

// slopes are $derivative, rise over run between the ends of each window, and $integral,
// the area below the line through its points.
func (w *windowFields) slopes(env *exprEnv, f *windowField, docs, args, vals []JSON) error {
	xs := make([]sqltypes.Datum, len(docs))
	for i, d := range docs {
		x, date, err := w.axis(f.op, d)
		if err != nil {
			return err
		}
		switch {
		case date && f.per == 0 && f.op == "$derivative", !date && f.per != 0:
			return invalid("%s has a unit if, and only if, dates are sorted by", f.op)
		case f.per != 0:
			if x, err = sqltypes.NumericDiv(x, sqltypes.NumericInt(f.per)); err != nil {
				return err
			}
		}
		xs[i] = x
	}
	from, to := 0, 0
	for i := range docs {
		err := env.canceled()
		if err == nil {
			from, to, err = w.bounds(f, docs, i, from, to)
		}
		if err != nil {
			return err
		}
		var c calc
		vals[i] = sqltypes.JSONNullValue
		if f.op == "$integral" {
			sum, before := sqltypes.NumericInt(0), -1
			for k := from; k < to; k++ {
				y, ok, err := f.number(args[k])
				if err != nil {
					return err
				}
				if !ok {
					continue
				}
				if before >= 0 {
					width := c.do(sqltypes.NumericSub, xs[k], xs[before])
					both := c.do(sqltypes.NumericAdd, y, args[before].Number())
					sum = c.do(sqltypes.NumericAdd, sum, c.do(sqltypes.NumericDiv, c.do(sqltypes.NumericMul, width, both), sqltypes.NumericInt(2)))
				}
				before = k
			}
			if before >= 0 {
				vals[i] = sqltypes.JSONNumberOf(sqltypes.NumericTrimScale(sum))
			}
		} else if to-from > 1 {
			y0, ok, err := f.number(args[from])
			y1, ok1, err1 := f.number(args[to-1])
			if err = errors.Join(err, err1); err != nil {
				return err
			}
			run := c.do(sqltypes.NumericSub, xs[to-1], xs[from])
			if ok && ok1 && sqltypes.NumericSign(run) != 0 {
				vals[i] = sqltypes.JSONNumberOf(sqltypes.NumericTrimScale(c.do(sqltypes.NumericDiv, c.do(sqltypes.NumericSub, y1, y0), run)))
			}
		}
		if c.err != nil {
			return c.err
		}
	}
	return nil
}
