package docstore

import (
	"context"
	"strings"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// windowField is one output of $setWindowFields.
type windowField struct {
	path *Path
	op   string
	acc  *accSpec   // an accumulator over the window
	arg  expression // $shift, $locf
	by   int64      // $shift
	def  expression // $shift
	// The window in documents around the current one; lo and hi unbounded are said
	// apart. all: the whole partition.
	lo, hi       int64
	noLo, noHi   bool
	needSort     bool
	rangeLo      sqltypes.Datum // with ranged: by the value of the sort's field
	rangeHi      sqltypes.Datum
	ranged, date bool
	unit         int64 // of a range of dates, ms
	per          int64 // $derivative, $integral: what a date is counted in, ms; 0: numbers
	alpha        JSON  // $expMovingAvg
}

// windowFields is $setWindowFields.
type windowFields struct {
	by     expression // nil: one partition
	sort   *Sort
	fields []*windowField
}

func makeWindowFields(arg JSON, _ int) (stage, error) {
	if arg.Kind() != sqltypes.JSONObject {
		return nil, invalid("$setWindowFields needs an object")
	}
	w := &windowFields{}
	output := JSON{}
	for _, p := range arg.Pairs() {
		var err error
		switch p.Key {
		case "partitionBy":
			w.by, err = compileExpr(p.Value, nil)
		case "sortBy":
			w.sort, err = CompileSort(p.Value)
		case "output":
			output = p.Value
		default:
			err = pgerror.NotSupported("argument %q of $setWindowFields", p.Key)
		}
		if err != nil {
			return nil, err
		}
	}
	if output.IsZero() || output.Kind() != sqltypes.JSONObject || output.Len() == 0 {
		return nil, invalid("$setWindowFields needs output")
	}
	for _, p := range output.Pairs() {
		f, err := compileWindowField(p.Key, p.Value)
		if err != nil {
			return nil, err
		}
		if w.sort == nil && f.needSort {
			return nil, invalid("%s in $setWindowFields needs sortBy", f.op)
		}
		if f.ranged && (w.sort == nil || len(w.sort.fields) != 1 || w.sort.fields[0].desc) {
			return nil, invalid("a window by range needs sortBy of one field, ascending")
		}
		w.fields = append(w.fields, f)
	}
	return gathered(w.run), nil
}

func compileWindowField(name string, j JSON) (*windowField, error) {
	if j.Kind() != sqltypes.JSONObject {
		return nil, invalid("the output field %q must be a window operator", name)
	}
	f := &windowField{noLo: true, noHi: true}
	var err error
	if f.path, err = ParsePath(name); err != nil {
		return nil, err
	}
	var arg, window JSON
	for _, p := range j.Pairs() {
		switch {
		case p.Key == "window":
			window = p.Value
		case f.op != "":
			return nil, invalid("the output field %q has two operators", name)
		default:
			f.op, arg = p.Key, p.Value
		}
	}
	switch f.op {
	case "$rank", "$denseRank", "$documentNumber":
		f.needSort = true
		if arg.Kind() != sqltypes.JSONObject || arg.Len() != 0 {
			return nil, invalid("%s takes no arguments", f.op)
		}
	case "$shift":
		f.needSort = true
		out, ok := arg.Lookup("output")
		by, ok2 := arg.Lookup("by")
		if !ok || !ok2 {
			return nil, invalid("$shift needs output and by")
		}
		if f.by, err = wholeNumber("by of $shift", by); err == nil {
			f.arg, err = compileExpr(out, nil)
		}
		if d, ok := arg.Lookup("default"); ok && err == nil {
			f.def, err = compileExpr(d, nil)
		}
	case "$locf":
		f.needSort = true
		f.arg, err = compileExpr(arg, nil)
	case "$linearFill", "$derivative", "$integral", "$expMovingAvg":
		return f, f.curve(arg, window)
	case "$covariancePop", "$covarianceSamp":
		return nil, pgerror.NotSupported("%s in $setWindowFields", f.op)
	default:
		if !strings.HasPrefix(f.op, "$") {
			return nil, invalid("the output field %q must be a window operator", name)
		}
		if f.acc, err = parseAccumulator(name, obj(f.op, arg)); err == nil {
			err = f.window(window)
		}
		return f, err
	}
	if err == nil && !window.IsZero() {
		err = invalid("%s takes no window", f.op)
	}
	return f, err
}

// window reads {"documents": [lo, hi]} or {"range": [lo, hi], "unit": …}.
func (f *windowField) window(w JSON) error {
	if w.IsZero() {
		return nil
	}
	var ends JSON
	for _, p := range w.Pairs() {
		switch p.Key {
		case "documents":
			ends = p.Value
		case "range":
			ends, f.ranged = p.Value, true
		case "unit":
			unit, err := unitOf("a window", p.Value)
			if err != nil {
				return err
			}
			length, ok := unitLength[unit]
			if !ok {
				return pgerror.NotSupported("unit %s of a window", unit)
			}
			f.date, f.unit = true, length.Milliseconds()
		default:
			return pgerror.NotSupported("argument %q of a window", p.Key)
		}
	}
	if ends.IsZero() || ends.Kind() != sqltypes.JSONArray || ends.Len() != 2 {
		return invalid("a window has two ends")
	}
	if f.needSort = true; f.date && !f.ranged {
		return invalid("the unit of a window is for a range")
	}
	end := func(v JSON, unbounded *bool, n *int64, d *sqltypes.Datum) (err error) {
		if *unbounded = false; v.Kind() == sqltypes.JSONString {
			switch v.Str() {
			case "unbounded":
				*unbounded = true
				return nil
			case "current":
				*n, *d = 0, sqltypes.NumericInt(0)
				return nil
			}
		}
		if v.Kind() != sqltypes.JSONNumber {
			return invalid(`an end of a window is a number, "current" or "unbounded"`)
		}
		if !f.ranged {
			*n, err = wholeNumber("an end of a window", v)
			return err
		}
		if *d = v.Number(); f.date {
			*d, err = sqltypes.NumericMul(*d, sqltypes.NumericInt(f.unit))
		}
		return err
	}
	if err := end(ends.Index(0), &f.noLo, &f.lo, &f.rangeLo); err != nil {
		return err
	}
	return end(ends.Index(1), &f.noHi, &f.hi, &f.rangeHi)
}

func (w *windowFields) run(ctx context.Context, r *runner, in Cursor) ([]JSON, error) {
	docs, err := collect(ctx, in)
	if err != nil {
		return nil, err
	}
	env := &exprEnv{now: r.st.Now, ctx: ctx}
	order := topN{sort: &Sort{}, limit: -1}
	parts := make([]string, len(docs))
	for i, d := range docs {
		var key []byte
		if w.by != nil {
			env.root, env.current = d, d
			v, err := w.by.eval(env)
			if err != nil {
				return nil, err
			}
			key = AppendKey(nil, v)
		}
		parts[i] = string(key)
		if w.sort != nil {
			key = append(key, w.sort.SortKey(d)...)
		}
		order.list = append(order.list, keyed{string(key), d, i})
	}
	list := order.sorted()
	out := make([]JSON, 0, len(list))
	for at := 0; at < len(list); {
		end := at + 1
		for end < len(list) && parts[list[end].ref] == parts[list[at].ref] {
			end++
		}
		part := make([]JSON, end-at)
		for i := range part {
			part[i] = list[at+i].doc
		}
		if part, err = w.partition(env, part); err != nil {
			return nil, err
		}
		out = append(out, part...)
		at = end
	}
	return out, nil
}

// partition computes the fields of sorted documents.
func (w *windowFields) partition(env *exprEnv, docs []JSON) ([]JSON, error) {
	out := append([]JSON(nil), docs...)
	for _, f := range w.fields {
		vals, err := w.values(env, f, docs)
		if err != nil {
			return nil, err
		}
		for i, v := range vals {
			out[i] = addField(out[i], f.path, 0, v)
		}
	}
	return out, nil
}

func (w *windowFields) values(env *exprEnv, f *windowField, docs []JSON) ([]JSON, error) {
	n := len(docs)
	vals := make([]JSON, n)
	args := make([]JSON, n)
	arg := f.arg
	if f.acc != nil {
		arg = f.acc.arg
	}
	for i, d := range docs {
		if arg == nil {
			break
		}
		env.root, env.current = d, d
		var err error
		if args[i], err = arg.eval(env); err != nil {
			return nil, err
		}
	}
	switch f.op {
	case "$documentNumber":
		for i := range vals {
			vals[i] = intJSON(int64(i + 1))
		}
		return vals, nil
	case "$rank", "$denseRank":
		rank, dense := 0, 0
		for i := range vals {
			if i == 0 || w.differ(docs[i-1], docs[i]) {
				rank, dense = i+1, dense+1
			}
			if vals[i] = intJSON(int64(rank)); f.op == "$denseRank" {
				vals[i] = intJSON(int64(dense))
			}
		}
		return vals, nil
	case "$shift":
		for i := range vals {
			if at := int64(i) + f.by; at >= 0 && at < int64(n) {
				vals[i] = orNull(args[at])
				continue
			}
			if vals[i] = sqltypes.JSONNullValue; f.def != nil {
				env.root, env.current = docs[i], docs[i]
				v, err := f.def.eval(env)
				if err != nil {
					return nil, err
				}
				vals[i] = orNull(v)
			}
		}
		return vals, nil
	case "$locf":
		last := sqltypes.JSONNullValue
		for i := range vals {
			if !isNull(args[i]) {
				last = args[i]
			}
			vals[i] = last
		}
		return vals, nil
	}
	switch f.op {
	case "$linearFill":
		return vals, w.linearFill(f, docs, args, vals)
	case "$expMovingAvg":
		return vals, f.movingAverage(args, vals)
	case "$derivative", "$integral":
		return vals, w.slopes(env, f, docs, args, vals)
	}
	var acc accumulator
	lo, hi := -1, -1 // of acc
	from, to := 0, 0
	for i := range vals {
		err := env.canceled()
		if err == nil {
			from, to, err = w.bounds(f, docs, i, from, to)
		}
		if err != nil {
			return nil, err
		}
		// A window that only grows is continued.
		if acc == nil || from != lo || to < hi {
			acc, lo, hi = newAccumulator(f.acc), from, from
		}
		for ; hi < to; hi++ {
			if r, ok := acc.(*rankAcc); ok && f.acc.sort != nil {
				err = r.rank(string(f.acc.sort.SortKey(docs[hi])), args[hi])
			} else {
				err = acc.add(args[hi])
			}
			if err != nil {
				return nil, err
			}
		}
		if vals[i], err = acc.final(); err != nil {
			return nil, err
		}
	}
	return vals, nil
}

// differ compares by the sort's fields only.
func (w *windowFields) differ(a, b JSON) bool {
	for i := range w.sort.fields {
		f := &w.sort.fields[i]
		x, cx := f.path.sortValue(a, f.desc)
		y, cy := f.path.sortValue(b, f.desc)
		if cx != cy || compareSame(cx, x, y) != 0 {
			return true
		}
	}
	return false
}

// bounds are the documents [from, to) of a window; those of the window before are given.
func (w *windowFields) bounds(f *windowField, docs []JSON, i, from, to int) (int, int, error) {
	n := len(docs)
	if !f.ranged {
		from, to = 0, n
		if !f.noLo {
			from = int(min(max(0, int64(i)+f.lo), int64(n)))
		}
		if !f.noHi {
			to = int(min(max(0, int64(i)+f.hi+1), int64(n)))
		}
		return from, max(from, to), nil
	}
	at := func(d JSON) (sqltypes.Datum, error) {
		v, _ := w.sort.fields[0].path.sortValue(d, false)
		if f.date {
			t, ok := DateOf(v)
			if !ok {
				return sqltypes.Datum{}, invalid("a window by range of time needs dates to sort by, not %s", shown(v))
			}
			return sqltypes.NumericInt(t.UnixMilli()), nil
		}
		if v.IsZero() || v.Kind() != sqltypes.JSONNumber {
			return sqltypes.Datum{}, invalid("a window by range needs numbers to sort by, not %s", shown(v))
		}
		return v.Number(), nil
	}
	mid, err := at(docs[i])
	if err != nil {
		return 0, 0, err
	}
	inside := func(k int) (below, above bool, err error) {
		v, err := at(docs[k])
		if err != nil {
			return false, false, err
		}
		d, err := sqltypes.NumericSub(v, mid)
		if err != nil {
			return false, false, err
		}
		return !f.noLo && sqltypes.NumericCmp(d, f.rangeLo) < 0, !f.noHi && sqltypes.NumericCmp(d, f.rangeHi) > 0, nil
	}
	for ; from < n; from++ {
		if below, _, err := inside(from); err != nil || !below {
			if err != nil {
				return 0, 0, err
			}
			break
		}
	}
	for to = max(from, to); to < n; to++ {
		if _, above, err := inside(to); err != nil || above {
			if err != nil {
				return 0, 0, err
			}
			break
		}
	}
	return from, to, nil
}
