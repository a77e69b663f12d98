// Package builtin owns the implementations of PostgreSQL's built-in functions,
// operators, casts, set-returning functions and aggregates: one file per
// family, each a table from the function's key (pg_proc.prosrc, or the
// signature of an aggregate or SQL-language function) to a Go function, which
// the file's init registers with package sqltypes. It is imported for that effect.
//
// Promises: results, error texts and SQLSTATEs are PostgreSQL 15's; a strict
// function never sees NULL, since its caller checks; no function panics on any
// argument, keeps state outside its Call, or allocates without a bound
// (results above 1 GB are refused as PostgreSQL does).
//
// What needs the catalogue (pg_get_viewdef, nextval, has_table_privilege …) is
// registered by the layer that owns it, not here.
package builtin

import (
	"strings"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

type (
	// Datum and the others are package sqltypes' types under short names: the
	// tables of this package mention them hundreds of times.
	Datum = sqltypes.Datum
	Call  = sqltypes.Call

	scalarTable map[string]sqltypes.ScalarFunc
	setTable    map[string]sqltypes.SetFunc
)

var null = sqltypes.Null

func (t scalarTable) register() {
	for src, fn := range t {
		sqltypes.RegisterScalar(src, fn)
	}
}

func (t setTable) register() {
	for src, fn := range t {
		sqltypes.RegisterSet(src, fn)
	}
}

// maxAlloc is MaxAllocSize: no value is larger.
const maxAlloc = 0x3fffffff

func integer(v int64) (Datum, error)       { return sqltypes.Int(v), nil }
func boolean(v bool) (Datum, error)        { return sqltypes.Bool(v), nil }
func float(v float64) (Datum, error)       { return sqltypes.Float(v), nil }
func text(v string) (Datum, error)         { return sqltypes.Text(v), nil }
func isNull() (Datum, error)               { return null, nil }
func fail(e *pgerror.Error) (Datum, error) { return null, e }

// first returns its argument: casts between types of one representation.
func first(_ *Call, args []Datum) (Datum, error) { return args[0], nil }

// compareOps registers the six comparisons of a type. In pattern, * stands for
// eq, ne, lt, le, gt, ge ("int4*", "text_*"); exceptions gives other names for some ("eq": "texteq").
func compareOps(pattern string, compare func(a, b Datum) int, exceptions map[string]string) {
	compareOpsOf(pattern, func(*Call) func(a, b Datum) int { return compare }, exceptions)
}

// argOrder is the order of the type of a call's first argument, for the
// comparisons of polymorphic types (arrays, enums, ranges, records).
func argOrder(c *Call) func(a, b Datum) int {
	if order, ok := c.Cache.(func(a, b Datum) int); ok {
		return order
	}
	order := func(a, b Datum) int { return strings.Compare(a.S, b.S) }
	if t := sqltypes.LookupType(c.Env, c.ArgTypes[0].OID); t != nil && t.Compare != nil {
		order = t.Compare
	}
	c.Cache = order
	return order
}

// comparePolymorphic registers comparisons, btree support and the transition
// functions of max and min (named with the pattern's * replaced) of a polymorphic type.
func comparePolymorphic(pattern, cmpName string) {
	compareOpsOf(pattern, argOrder, nil)
	scalarTable{
		cmpName: func(c *Call, a []Datum) (Datum, error) { return compareProc(argOrder(c))(c, a) },
		strings.Replace(pattern, "*", "larger", 1):  func(c *Call, a []Datum) (Datum, error) { return larger(argOrder(c))(c, a) },
		strings.Replace(pattern, "*", "smaller", 1): func(c *Call, a []Datum) (Datum, error) { return smaller(argOrder(c))(c, a) },
	}.register()
}

func compareOpsOf(pattern string, order func(*Call) func(a, b Datum) int, exceptions map[string]string) {
	for op, test := range map[string]func(int) bool{
		"eq": func(c int) bool { return c == 0 },
		"ne": func(c int) bool { return c != 0 },
		"lt": func(c int) bool { return c < 0 },
		"le": func(c int) bool { return c <= 0 },
		"gt": func(c int) bool { return c > 0 },
		"ge": func(c int) bool { return c >= 0 },
	} {
		name := strings.Replace(pattern, "*", op, 1)
		if other, ok := exceptions[op]; ok {
			name = other
		}
		sqltypes.RegisterScalar(name, func(c *Call, args []Datum) (Datum, error) {
			return boolean(test(order(c)(args[0], args[1])))
		})
	}
}

// compareProc makes a btree support function of an order.
func compareProc(compare func(a, b Datum) int) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) { return integer(int64(compare(args[0], args[1]))) }
}

// larger and smaller make the transition functions of max and min.
func larger(compare func(a, b Datum) int) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) {
		if compare(args[0], args[1]) > 0 {
			return args[0], nil
		}
		return args[1], nil
	}
}

func smaller(compare func(a, b Datum) int) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) {
		if compare(args[0], args[1]) < 0 {
			return args[0], nil
		}
		return args[1], nil
	}
}
