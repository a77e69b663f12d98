package builtin

import (
	"math"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// rowsOf yields values that are all at hand, as rows of one column.
type rowsOf struct {
	values []Datum
	row    [1]Datum
	next   int
}

func (r *rowsOf) Next() ([]Datum, bool, error) {
	if r.next >= len(r.values) {
		return nil, false, nil
	}
	r.row[0] = r.values[r.next]
	r.next++
	return r.row[:], true, nil
}

func oneColumn(values []Datum) (sqltypes.RowSource, error) { return &rowsOf{values: values}, nil }

// tableOf yields rows that are all at hand.
type tableOf struct {
	rows  [][]Datum
	next  int
	types []*sqltypes.Type // of the columns, where only the call tells
}

// RowTypes are the types of the columns; nil: the function's declaration has them.
func (t *tableOf) RowTypes() []*sqltypes.Type { return t.types }

func (t *tableOf) Next() ([]Datum, bool, error) {
	if t.next >= len(t.rows) {
		return nil, false, nil
	}
	t.next++
	return t.rows[t.next-1], true, nil
}

// intSeries is generate_series of integers; it stops before it would overflow.
type intSeries struct {
	next, stop, step int64
	done             bool
	max, min         int64
	row              [1]Datum
}

func (s *intSeries) Next() ([]Datum, bool, error) {
	if s.done || s.step > 0 && s.next > s.stop || s.step < 0 && s.next < s.stop {
		return nil, false, nil
	}
	s.row[0] = sqltypes.Int(s.next)
	if s.step > 0 && s.next > s.max-s.step || s.step < 0 && s.next < s.min-s.step {
		s.done = true
	} else {
		s.next += s.step
	}
	return s.row[:], true, nil
}

func zeroStep() *pgerror.Error {
	return pgerror.New(pgerror.InvalidParameterValue, "step size cannot equal zero")
}

func (w intWidth) series(_ *Call, args []Datum) (sqltypes.RowSource, error) {
	s := &intSeries{next: args[0].I, stop: args[1].I, step: 1, max: w.max, min: w.min}
	if len(args) > 2 {
		if s.step = args[2].I; s.step == 0 {
			return nil, zeroStep()
		}
	}
	return s, nil
}

// numericSeries is generate_series of numerics.
type numericSeries struct {
	next, stop, step Datum
	row              [1]Datum
}

func (s *numericSeries) Next() ([]Datum, bool, error) {
	order := sqltypes.NumericCmp(s.next, s.stop)
	if sign := sqltypes.NumericSign(s.step); sign > 0 && order > 0 || sign < 0 && order < 0 {
		return nil, false, nil
	}
	s.row[0] = s.next
	next, err := sqltypes.NumericAdd(s.next, s.step)
	if err != nil {
		return nil, false, err
	}
	s.next = next
	return s.row[:], true, nil
}

func numericSeriesOf(_ *Call, args []Datum) (sqltypes.RowSource, error) {
	s := &numericSeries{next: args[0], stop: args[1], step: sqltypes.NumericInt(1)}
	if len(args) > 2 {
		s.step = args[2]
	}
	for i, what := range []string{"start", "stop", "step size"} {
		d := [3]Datum{s.next, s.stop, s.step}[i]
		if what == "step size" && sqltypes.NumericIsFinite(d) && sqltypes.NumericSign(d) == 0 {
			return nil, zeroStep()
		}
		verb := "value cannot be"
		if what == "step size" {
			verb = "cannot be"
		}
		if sqltypes.NumericIsNaN(d) {
			return nil, pgerror.New(pgerror.InvalidParameterValue, "%s %s NaN", what, verb)
		}
		if sqltypes.NumericIsInf(d) {
			return nil, pgerror.New(pgerror.InvalidParameterValue, "%s %s infinity", what, verb)
		}
	}
	return s, nil
}

// subscripts is generate_subscripts(array, dimension, reverse).
func subscripts(_ *Call, args []Datum) (sqltypes.RowSource, error) {
	a, dim := sqltypes.OpenArray(args[0]), args[1].I
	if dim <= 0 || dim > int64(a.NDim()) {
		return oneColumn(nil)
	}
	d := a.Dim(int(dim - 1))
	from, to := int64(d.Lower), int64(d.Lower)+int64(d.Len)-1
	s := &intSeries{next: from, stop: to, step: 1, max: math.MaxInt64, min: math.MinInt64}
	if len(args) > 2 && args[2].Bool() {
		s.next, s.stop, s.step = to, from, -1
	}
	return s, nil
}

func unnest(_ *Call, args []Datum) (sqltypes.RowSource, error) {
	return oneColumn(sqltypes.OpenArray(args[0]).Elements())
}

func textToTable(_ *Call, args []Datum) (sqltypes.RowSource, error) {
	if args[0].Null {
		return oneColumn(nil)
	}
	return oneColumn(splitText(args))
}

func init() {
	setTable{
		"generate_series_int4": width4.series, "generate_series_step_int4": width4.series,
		"generate_series_int8": width8.series, "generate_series_step_int8": width8.series,
		"generate_series_numeric": numericSeriesOf, "generate_series_step_numeric": numericSeriesOf,
		"generate_subscripts": subscripts, "generate_subscripts_nodir": subscripts,
		"array_unnest": unnest, "text_to_table": textToTable, "text_to_table_null": textToTable,
	}.register()
}
