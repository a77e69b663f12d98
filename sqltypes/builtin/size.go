package builtin

import (
	"strings"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// sizeUnits are the steps of pg_size_pretty: a size below the limit is shown in
// the unit; the division is one bit short before a unit that rounds.
var sizeUnits = []struct {
	name  string
	limit int64
	round bool
	bits  int
}{
	{"bytes", 10 * 1024, false, 0}, {"kB", 20*1024 - 1, true, 10}, {"MB", 20*1024 - 1, true, 20},
	{"GB", 20*1024 - 1, true, 30}, {"TB", 20*1024 - 1, true, 40}, {"PB", 20*1024 - 1, true, 50},
}

func prettySize(size Datum) (Datum, error) {
	for i, u := range sizeUnits {
		if i == len(sizeUnits)-1 || sqltypes.NumericCmp(sqltypes.NumericAbs(size), sqltypes.NumericInt(u.limit)) < 0 {
			if u.round {
				one := sqltypes.NumericInt(1)
				if sqltypes.NumericSign(size) < 0 {
					one = sqltypes.NumericInt(-1)
				}
				sum, err := sqltypes.NumericAdd(size, one)
				if err != nil {
					return null, err
				}
				if size, err = sqltypes.NumericDivTrunc(sum, sqltypes.NumericInt(2)); err != nil {
					return null, err
				}
			}
			return text(sqltypes.NumericString(size) + " " + u.name)
		}
		next := sizeUnits[i+1]
		bits := next.bits - u.bits
		if next.round {
			bits--
		}
		if u.round {
			bits++
		}
		var err error
		if size, err = sqltypes.NumericDivTrunc(size, sqltypes.NumericInt(1<<bits)); err != nil {
			return null, err
		}
	}
	return isNull()
}

// sizeBytes is pg_size_bytes: a number and a unit.
func sizeBytes(_ *Call, args []Datum) (Datum, error) {
	s := args[0].S
	bad := func() *pgerror.Error { return pgerror.New(pgerror.InvalidParameterValue, "invalid size: \"%s\"", s) }
	rest := strings.TrimLeft(s, " \t\n\v\f\r")
	at, digits := 0, false
	skipDigits := func() {
		for at < len(rest) && rest[at] >= '0' && rest[at] <= '9' {
			at++
			digits = true
		}
	}
	if at < len(rest) && (rest[at] == '-' || rest[at] == '+') {
		at++
	}
	skipDigits()
	if at < len(rest) && rest[at] == '.' {
		at++
		skipDigits()
	}
	if !digits {
		return fail(bad())
	}
	if at < len(rest) && (rest[at] == 'e' || rest[at] == 'E') {
		exp := at + 1
		if exp < len(rest) && (rest[exp] == '-' || rest[exp] == '+') {
			exp++
		}
		if exp < len(rest) && rest[exp] >= '0' && rest[exp] <= '9' {
			at = exp
			skipDigits()
		}
	}
	n, err := sqltypes.ParseNumeric(rest[:at])
	if err != nil {
		return null, err
	}
	unit := strings.Trim(rest[at:], " \t\n\v\f\r")
	factor := int64(1)
	switch strings.ToLower(unit) {
	case "", "b", "bytes":
	case "kb":
		factor = 1 << 10
	case "mb":
		factor = 1 << 20
	case "gb":
		factor = 1 << 30
	case "tb":
		factor = 1 << 40
	case "pb":
		factor = 1 << 50
	default:
		return fail(bad().WithDetail("Invalid size unit: \"%s\".", unit).
			WithHint("Valid units are \"bytes\", \"B\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\"."))
	}
	if n, err = sqltypes.NumericMul(n, sqltypes.NumericInt(factor)); err != nil {
		return null, err
	}
	v, err := sqltypes.NumericToInt(n, 64)
	return sqltypes.Int(v), err
}

// columnSize is about what PostgreSQL would store a value in, without compression
// and out-of-line storage. How this server stores rows is another matter.
func columnSize(c *Call, t *sqltypes.Type, d Datum) int64 {
	for t.Base != nil {
		t = t.Base
	}
	switch {
	case t.Len > 0:
		return int64(t.Len)
	case t.OID == sqltypes.OIDNumeric:
		return int64(len(t.Send(c.Env, nil, d))) - 2
	case t.IsArray:
		a := sqltypes.OpenArray(d)
		n := int64(16 + 8*len(a.Dims()))
		for _, e := range a.Elements() {
			if !e.Null {
				size := columnSize(c, t.ElemType, e)
				if t.ElemType.Len <= 0 {
					size = (size + 3) &^ 3
				}
				n += size
			}
		}
		return n
	case t.Send != nil:
		return 4 + int64(len(t.Send(c.Env, nil, d)))
	}
	return 4 + int64(len(d.S))
}

func init() {
	sqltypes.RegisterScalar("pg_column_size", func(c *Call, a []Datum) (Datum, error) {
		t, err := elemType(c, c.ArgTypes[0].OID)
		if err != nil {
			return null, err
		}
		return sqltypes.Int(columnSize(c, t, a[0])), nil
	})
	scalarTable{
		"pg_size_pretty":         func(_ *Call, a []Datum) (Datum, error) { return prettySize(sqltypes.NumericInt(a[0].I)) },
		"pg_size_pretty_numeric": func(_ *Call, a []Datum) (Datum, error) { return prettySize(a[0]) },
		"pg_size_bytes":          sizeBytes,
	}.register()
}
