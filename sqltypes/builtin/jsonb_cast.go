package builtin

import (
	"ostraka/sqltypes"
)

// jsonbTo makes the casts from jsonb to a number type: the numeric's cast.
func jsonbTo(typ string, cast func(Datum) (Datum, error)) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) {
		j := sqltypes.JSONOf(args[0])
		if j.Kind() != sqltypes.JSONNumber {
			return fail(notJSON("cannot cast jsonb %s to type %s", j.Kind(), typ))
		}
		return cast(j.Number())
	}
}

func jsonbBool(_ *Call, args []Datum) (Datum, error) {
	j := sqltypes.JSONOf(args[0])
	if j.Kind() != sqltypes.JSONBool {
		kind := j.Kind().String()
		if j.Kind() == sqltypes.JSONNumber {
			kind = "numeric"
		}
		return fail(notJSON("cannot cast jsonb %s to type boolean", kind))
	}
	return boolean(j.Bool())
}

func init() {
	toInt := func(bits int) func(Datum) (Datum, error) {
		return func(d Datum) (Datum, error) {
			v, err := sqltypes.NumericToInt(d, bits)
			return sqltypes.Int(v), err
		}
	}
	toFloat := func(bits int) func(Datum) (Datum, error) {
		return func(d Datum) (Datum, error) {
			v, err := sqltypes.NumericToFloat(d, bits)
			return sqltypes.Float(v), err
		}
	}
	scalarTable{
		"jsonb_bool":    jsonbBool,
		"jsonb_numeric": jsonbTo("numeric", func(d Datum) (Datum, error) { return d, nil }),
		"jsonb_int2":    jsonbTo("smallint", toInt(16)), "jsonb_int4": jsonbTo("integer", toInt(32)), "jsonb_int8": jsonbTo("bigint", toInt(64)),
		"jsonb_float4": jsonbTo("real", toFloat(32)), "jsonb_float8": jsonbTo("double precision", toFloat(64)),
	}.register()
}
