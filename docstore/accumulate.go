package docstore

import (
	"slices"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// accSpec is one accumulator of a $group.
type accSpec struct {
	name string // of the output field
	op   string
	arg  expression
	n    int64     // $firstN and its like
	sort *Sort     // $top and its like
	p    []float64 // $percentile
	one  bool      // $median: a number instead of a list
}

// accumulator gathers one field of one group. Its state can be sent to another
// node and merged there (state, merge), exactly.
type accumulator interface {
	add(v JSON) error
	// state is everything final needs, as a value.
	state() (JSON, error)
	// merge adds the state of another accumulator of the same specification.
	merge(state JSON) error
	final() (JSON, error)
}

// ordered reports accumulators whose answer depends on the order of documents.
func (s *accSpec) ordered() bool {
	switch s.op {
	case "$first", "$last", "$push", "$mergeObjects", "$firstN", "$lastN":
		return true
	}
	return false
}

func newAccumulator(s *accSpec) accumulator {
	switch s.op {
	case "$sum", "$avg", "$count":
		return &sumAcc{spec: s}
	case "$min", "$max":
		return &extremeAcc{max: s.op == "$max"}
	case "$stdDevPop", "$stdDevSamp":
		return &deviationAcc{sample: s.op == "$stdDevSamp", sum: sqltypes.NumericInt(0), squares: sqltypes.NumericInt(0)}
	case "$addToSet":
		return &setAcc{set: newValueSet()}
	case "$median", "$percentile":
		return &percentileAcc{spec: s}
	case "$minN", "$maxN", "$top", "$bottom", "$topN", "$bottomN":
		return &rankAcc{spec: s}
	}
	return &listAcc{spec: s}
}

// parseAccumulator reads {"$sum": …}.
func parseAccumulator(name string, j JSON) (*accSpec, error) {
	if j.Kind() != sqltypes.JSONObject || j.Len() != 1 {
		return nil, invalid("the field %q must be an accumulator such as {\"$sum\": 1}", name)
	}
	s := &accSpec{name: name, op: j.Key(0)}
	arg := j.Value(0)
	member := func(key string) (expression, error) {
		v, ok := arg.Lookup(key)
		if !ok {
			return nil, invalid("%s needs %s", s.op, key)
		}
		return compileExpr(v, nil)
	}
	var err error
	switch s.op {
	case "$sum", "$avg", "$min", "$max", "$first", "$last", "$push", "$addToSet", "$stdDevPop", "$stdDevSamp", "$mergeObjects":
		s.arg, err = compileExpr(arg, nil)
	case "$count":
		if arg.Kind() != sqltypes.JSONObject || arg.Len() != 0 {
			return nil, invalid("$count takes no arguments: {\"$count\": {}}")
		}
		s.arg = constExpr{intJSON(1)}
	case "$firstN", "$lastN", "$minN", "$maxN":
		if s.arg, err = member("input"); err != nil {
			return nil, err
		}
		err = s.limit(arg)
	case "$top", "$bottom", "$topN", "$bottomN":
		if s.n = 1; s.op == "$topN" || s.op == "$bottomN" {
			if err := s.limit(arg); err != nil {
				return nil, err
			}
		}
		by, _ := arg.Lookup("sortBy")
		if s.sort, err = CompileSort(by); err != nil {
			return nil, err
		}
		if s.sort == nil {
			return nil, invalid("%s needs sortBy", s.op)
		}
		s.arg, err = member("output")
	case "$median", "$percentile":
		if s.arg, err = member("input"); err != nil {
			return nil, err
		}
		s.one, s.p = s.op == "$median", []float64{0.5}
		if s.one {
			break
		}
		ps, _ := arg.Lookup("p")
		if ps.IsZero() || ps.Kind() != sqltypes.JSONArray || ps.Len() == 0 {
			return nil, invalid("$percentile needs p, an array of numbers from 0 to 1")
		}
		s.p = nil
		for _, v := range ps.Elems() {
			f := -1.0
			if v.Kind() == sqltypes.JSONNumber {
				f, _ = sqltypes.NumericToFloat(v.Number(), 64)
			}
			if f < 0 || f > 1 {
				return nil, invalid("$percentile needs p, an array of numbers from 0 to 1")
			}
			s.p = append(s.p, f)
		}
	default:
		return nil, pgerror.NotSupported("accumulator %s", s.op)
	}
	return s, err
}

func (s *accSpec) limit(arg JSON) error {
	v, _ := arg.Lookup("n")
	if v.IsZero() {
		return invalid("%s needs n", s.op)
	}
	n, err := wholeNumber("n of "+s.op, v)
	if err == nil && n <= 0 {
		err = invalid("n of %s must be positive", s.op)
	}
	s.n = n
	return err
}

// sumAcc is $sum, $avg and $count: other values than numbers do not count.
type sumAcc struct {
	spec *accSpec
	sum  sqltypes.NumericSum
	n    int64
}

func (a *sumAcc) add(v JSON) error {
	if !v.IsZero() && v.Kind() == sqltypes.JSONNumber {
		a.sum.Add(v.Number())
		a.n++
	}
	return nil
}

func (a *sumAcc) total() (sqltypes.Datum, error) {
	if a.n == 0 {
		return sqltypes.NumericInt(0), nil
	}
	return a.sum.Sum()
}

func (a *sumAcc) state() (JSON, error) {
	d, err := a.total()
	return sqltypes.JSONArrayOf([]JSON{sqltypes.JSONNumberOf(d), intJSON(a.n)}), err
}

func (a *sumAcc) merge(s JSON) error {
	n, err := sqltypes.NumericToInt64(s.Index(1).Number())
	if n > 0 {
		a.sum.Add(s.Index(0).Number())
		a.n += n
	}
	return err
}

func (a *sumAcc) final() (JSON, error) {
	d, err := a.total()
	if err != nil || a.spec.op != "$avg" {
		return sqltypes.JSONNumberOf(d), err
	}
	if a.n == 0 {
		return sqltypes.JSONNullValue, nil
	}
	d, err = sqltypes.NumericDiv(d, sqltypes.NumericInt(a.n))
	return sqltypes.JSONNumberOf(sqltypes.NumericTrimScale(d)), err
}

// extremeAcc is $min and $max: null and missing do not count.
type extremeAcc struct {
	max bool
	v   JSON
}

func (a *extremeAcc) add(v JSON) error {
	if isNull(v) {
		return nil
	}
	if a.v.IsZero() || Compare(v, a.v) > 0 == a.max && !Equal(v, a.v) {
		a.v = v
	}
	return nil
}

func (a *extremeAcc) state() (JSON, error) { return orNull(a.v), nil }
func (a *extremeAcc) merge(s JSON) error   { return a.add(s) }
func (a *extremeAcc) final() (JSON, error) { return orNull(a.v), nil }

// deviationAcc is $stdDevPop and $stdDevSamp, from exact sums.
type deviationAcc struct {
	sample       bool
	n            int64
	sum, squares sqltypes.Datum
}

func (a *deviationAcc) add(v JSON) error {
	if v.IsZero() || v.Kind() != sqltypes.JSONNumber {
		return nil
	}
	d := v.Number()
	sq, err := sqltypes.NumericMul(d, d)
	if err != nil {
		return err
	}
	return a.plus(1, d, sq)
}

func (a *deviationAcc) plus(n int64, sum, squares sqltypes.Datum) (err error) {
	a.n += n
	if a.sum, err = sqltypes.NumericAdd(a.sum, sum); err == nil {
		a.squares, err = sqltypes.NumericAdd(a.squares, squares)
	}
	return err
}

func (a *deviationAcc) state() (JSON, error) {
	return sqltypes.JSONArrayOf([]JSON{intJSON(a.n), sqltypes.JSONNumberOf(a.sum), sqltypes.JSONNumberOf(a.squares)}), nil
}

func (a *deviationAcc) merge(s JSON) error {
	n, err := sqltypes.NumericToInt64(s.Index(0).Number())
	if err != nil {
		return err
	}
	return a.plus(n, s.Index(1).Number(), s.Index(2).Number())
}

func (a *deviationAcc) final() (JSON, error) {
	div := a.n
	if a.sample {
		div--
	}
	if div <= 0 {
		return sqltypes.JSONNullValue, nil
	}
	// (n·Σx² − (Σx)²) / (n·div)
	n := sqltypes.NumericInt(a.n)
	x, err := sqltypes.NumericMul(n, a.squares)
	if err != nil {
		return JSON{}, err
	}
	y, err := sqltypes.NumericMul(a.sum, a.sum)
	if err == nil {
		x, err = sqltypes.NumericSub(x, y)
	}
	if err != nil {
		return JSON{}, err
	}
	if y, err = sqltypes.NumericMul(n, sqltypes.NumericInt(div)); err == nil {
		x, err = sqltypes.NumericDiv(x, y)
	}
	if err == nil {
		x, err = sqltypes.NumericSqrt(x)
	}
	return sqltypes.JSONNumberOf(sqltypes.NumericTrimScale(x)), err
}

// setAcc is $addToSet; the answer is in the order of values.
type setAcc struct{ set *valueSet }

func (a *setAcc) add(v JSON) error {
	if v.IsZero() {
		return nil
	}
	return a.set.add(v)
}

func (a *setAcc) state() (JSON, error) { return a.final() }

func (a *setAcc) merge(s JSON) error {
	for _, v := range s.Elems() {
		if err := a.set.add(v); err != nil {
			return err
		}
	}
	return nil
}

func (a *setAcc) final() (JSON, error) { return sqltypes.JSONArrayOf(a.set.sorted()), nil }

// listAcc is $push, $first, $last, their N forms and $mergeObjects.
type listAcc struct {
	spec  *accSpec
	list  []JSON
	bytes int
}

func (a *listAcc) add(v JSON) error {
	switch a.spec.op {
	case "$push":
		if v.IsZero() {
			return nil
		}
	case "$mergeObjects":
		if isNull(v) {
			return nil
		}
		if v.Kind() != sqltypes.JSONObject {
			return invalid("$mergeObjects needs objects, not %s", kindName(v))
		}
	case "$first":
		if len(a.list) > 0 {
			return nil
		}
	case "$firstN":
		if int64(len(a.list)) >= a.spec.n {
			return nil
		}
	case "$last":
		a.list = a.list[:0]
	case "$lastN":
		if int64(len(a.list)) >= a.spec.n {
			a.list = slices.Delete(a.list, 0, 1)
		}
	}
	v = orNull(v)
	if a.bytes += len(v.Datum().S) + 24; a.bytes > maxMemory {
		return errMemory("group")
	}
	a.list = append(a.list, v)
	return nil
}

func (a *listAcc) state() (JSON, error) { return sqltypes.JSONArrayOf(a.list), nil }

func (a *listAcc) merge(s JSON) error {
	for _, v := range s.Elems() {
		if err := a.add(v); err != nil {
			return err
		}
	}
	return nil
}

func (a *listAcc) final() (JSON, error) {
	switch a.spec.op {
	case "$first", "$last":
		if len(a.list) == 0 {
			return sqltypes.JSONNullValue, nil
		}
		return a.list[0], nil
	case "$mergeObjects":
		var pairs []sqltypes.JSONPair
		for _, o := range a.list {
			pairs = append(pairs, o.Pairs()...)
		}
		return sqltypes.JSONObjectOf(pairs), nil
	}
	return sqltypes.JSONArrayOf(a.list), nil
}

// rankAcc is $minN, $maxN and $top, $bottom with their N forms: values with the
// key they are ranked by.
type rankAcc struct {
	spec *accSpec
	list []keyed
}

func (a *rankAcc) add(v JSON) error {
	if isNull(v) {
		return nil
	}
	return a.rank(string(AppendKey(nil, v)), v)
}

func (a *rankAcc) rank(key string, v JSON) error {
	a.list = append(a.list, keyed{key: key, doc: orNull(v)})
	if int64(len(a.list)) > 2*a.spec.n+64 {
		a.cut()
	}
	if len(a.list) > 1<<22 {
		return errMemory("group")
	}
	return nil
}

func (a *rankAcc) cut() {
	last := a.spec.op == "$maxN" || a.spec.op == "$bottom" || a.spec.op == "$bottomN"
	slices.SortStableFunc(a.list, func(x, y keyed) int {
		c := 0
		switch {
		case x.key < y.key:
			c = -1
		case x.key > y.key:
			c = 1
		}
		if last {
			return -c
		}
		return c
	})
	if int64(len(a.list)) > a.spec.n {
		a.list = a.list[:a.spec.n]
	}
}

func (a *rankAcc) state() (JSON, error) {
	a.cut()
	out := make([]JSON, len(a.list))
	for i, k := range a.list {
		out[i] = sqltypes.JSONArrayOf([]JSON{hexJSON(k.key), k.doc})
	}
	return sqltypes.JSONArrayOf(out), nil
}

func (a *rankAcc) merge(s JSON) error {
	for _, e := range s.Elems() {
		key, err := unhexJSON(e.Index(0))
		if err != nil {
			return err
		}
		if err := a.rank(key, e.Index(1)); err != nil {
			return err
		}
	}
	return nil
}

func (a *rankAcc) final() (JSON, error) {
	a.cut()
	if a.spec.op == "$top" || a.spec.op == "$bottom" {
		if len(a.list) == 0 {
			return sqltypes.JSONNullValue, nil
		}
		return a.list[0].doc, nil
	}
	if a.spec.op == "$bottomN" {
		slices.Reverse(a.list) // the last ones, in the order of the sort
	}
	out := make([]JSON, len(a.list))
	for i, k := range a.list {
		out[i] = k.doc
	}
	return sqltypes.JSONArrayOf(out), nil
}

// percentileAcc is $median and $percentile, exact: the value at rank ⌈p·n⌉.
type percentileAcc struct {
	spec *accSpec
	list []sqltypes.Datum
}

func (a *percentileAcc) add(v JSON) error {
	if v.IsZero() || v.Kind() != sqltypes.JSONNumber {
		return nil
	}
	if len(a.list) > maxMemory/32 {
		return errMemory("group")
	}
	a.list = append(a.list, v.Number())
	return nil
}

func (a *percentileAcc) state() (JSON, error) {
	out := make([]JSON, len(a.list))
	for i, d := range a.list {
		out[i] = sqltypes.JSONNumberOf(d)
	}
	return sqltypes.JSONArrayOf(out), nil
}

func (a *percentileAcc) merge(s JSON) error {
	for _, v := range s.Elems() {
		if err := a.add(v); err != nil {
			return err
		}
	}
	return nil
}

func (a *percentileAcc) final() (JSON, error) {
	slices.SortFunc(a.list, sqltypes.NumericCmp)
	out := make([]JSON, len(a.spec.p))
	for i, p := range a.spec.p {
		out[i] = sqltypes.JSONNullValue
		if n := len(a.list); n > 0 {
			at := int(p * float64(n))
			if float64(at) == p*float64(n) {
				at--
			}
			out[i] = sqltypes.JSONNumberOf(a.list[max(0, min(at, n-1))])
		}
	}
	if a.spec.one {
		return out[0], nil
	}
	return sqltypes.JSONArrayOf(out), nil
}
