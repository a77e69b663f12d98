package builtin

import (
	"ostraka/sqltypes"
)

type (
	// Aggregate and AggState are package sqltypes' under short names.
	Aggregate = sqltypes.Aggregate
	AggState  = sqltypes.AggState

	// aggTable maps signatures to what makes the state of a group.
	aggTable map[string]func(c *Call) AggState
)

// register installs the table; SkipNull comes from the catalogue.
func (t aggTable) register() {
	for signature, newState := range t {
		sqltypes.RegisterAggregate(signature, Aggregate{New: newState})
	}
}

// registerSkipNull installs aggregates that, whatever PostgreSQL's transition
// function does itself, ignore rows with a NULL argument.
func (t aggTable) registerSkipNull() {
	for signature, newState := range t {
		sqltypes.RegisterAggregate(signature, Aggregate{New: newState, SkipNull: true})
	}
}

// counter is count(*) and count(x).
type counter struct{ n int64 }

func (s *counter) Step(*Call, []Datum) error           { s.n++; return nil }
func (s *counter) Final(*Call, []Datum) (Datum, error) { return integer(s.n) }

// extreme is min and max by the argument type's order.
type extreme struct {
	best    Datum
	some    bool
	compare func(a, b Datum) int
	sign    int // 1 max, -1 min
	least   int // 1: of equal values the first one stays
}

func (s *extreme) Step(_ *Call, args []Datum) error {
	// Of equal values the last one stays, as with PostgreSQL's transition functions.
	if !s.some || s.compare(args[0], s.best)*s.sign >= s.least {
		s.best, s.some = args[0], true
	}
	return nil
}

func (s *extreme) Final(*Call, []Datum) (Datum, error) {
	if !s.some {
		return isNull()
	}
	return s.best, nil
}

func newExtreme(sign int) func(*Call) AggState {
	return func(c *Call) AggState {
		s := &extreme{compare: argOrder(c), sign: sign}
		if c.ArgTypes[0].OID == sqltypes.OIDBpchar {
			s.least = 1
		}
		return s
	}
}

// folded is an aggregate that folds a binary function over its non-null
// values: the first is the initial state, no value gives NULL.
type folded struct {
	value Datum
	some  bool
	fn    sqltypes.ScalarFunc
}

func (s *folded) Step(c *Call, args []Datum) error {
	if !s.some {
		s.value, s.some = args[0], true
		return nil
	}
	v, err := s.fn(c, []Datum{s.value, args[0]})
	s.value = v
	return err
}

func (s *folded) Final(*Call, []Datum) (Datum, error) {
	if !s.some {
		return isNull()
	}
	return s.value, nil
}

func fold(fn sqltypes.ScalarFunc) func(*Call) AggState {
	return func(*Call) AggState { return &folded{fn: fn} }
}

func init() {
	count := func(*Call) AggState { return &counter{} }
	aggTable{"count()": count, "count(any)": count, "regr_count(float8,float8)": count}.register()
	for _, t := range []string{
		"int8", "int4", "int2", "oid", "float4", "float8", "date", "time", "timetz", "money", "timestamp", "timestamptz",
		"interval", "text", "numeric", "anyarray", "bpchar", "tid", "inet", "pg_lsn", "xid8", "anyenum",
	} {
		aggTable{"max(" + t + ")": newExtreme(1), "min(" + t + ")": newExtreme(-1)}.registerSkipNull()
	}
	and := func(_ *Call, a []Datum) (Datum, error) { return boolean(a[0].Bool() && a[1].Bool()) }
	or := func(_ *Call, a []Datum) (Datum, error) { return boolean(a[0].Bool() || a[1].Bool()) }
	aggTable{"bool_and(bool)": fold(and), "every(bool)": fold(and), "bool_or(bool)": fold(or)}.registerSkipNull()
	for _, t := range []string{"int2", "int4", "int8"} {
		aggTable{"bit_and(" + t + ")": fold(bitAnd), "bit_or(" + t + ")": fold(bitOr), "bit_xor(" + t + ")": fold(bitXor)}.registerSkipNull()
	}
}
