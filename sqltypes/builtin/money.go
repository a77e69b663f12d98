package builtin

import (
	"math"

	"ostraka/sqltypes"
)

func moneyOutOfRange() (Datum, error) { return null, sqltypes.MoneyOutOfRange() }

// roundMoney turns a computed number of cents into money.
func roundMoney(f float64) (Datum, error) {
	f = math.RoundToEven(f)
	if math.IsNaN(f) || f < -math.MaxInt64-1 || f >= math.MaxInt64 {
		return moneyOutOfRange()
	}
	return integer(int64(f))
}

func moneyTimesFloat(money, factor int) sqltypes.ScalarFunc {
	return func(_ *Call, args []Datum) (Datum, error) {
		product, err := double.mul(nil, []Datum{sqltypes.Float(float64(args[money].I)), args[factor]})
		if err != nil {
			return null, err
		}
		return roundMoney(product.Float())
	}
}

func moneyByFloat(_ *Call, args []Datum) (Datum, error) {
	ratio, err := double.div(nil, []Datum{sqltypes.Float(float64(args[0].I)), args[1]})
	if err != nil {
		return null, err
	}
	return roundMoney(ratio.Float())
}

// moneyToNumeric is exact, with two decimals.
func moneyToNumeric(_ *Call, args []Datum) (Datum, error) {
	return sqltypes.NumericScaled(args[0].I, 2), nil
}

func numericToMoney(_ *Call, args []Datum) (Datum, error) {
	cents, err := sqltypes.NumericMul(args[0], sqltypes.NumericInt(100))
	if err != nil {
		return null, err
	}
	v, err := sqltypes.NumericToInt(cents, 64)
	return sqltypes.Int(v), err
}

func intToMoney(_ *Call, args []Datum) (Datum, error) {
	v, ok := mulInt64(args[0].I, 100)
	if !ok {
		return fail(width8.outOfRange())
	}
	return integer(v)
}

func moneyRatio(_ *Call, args []Datum) (Datum, error) {
	if args[1].I == 0 {
		return fail(divisionByZero())
	}
	return float(float64(args[0].I) / float64(args[1].I))
}

// widthMoney is money as an integer type of cents.
var widthMoney = intWidth{math.MinInt64, math.MaxInt64, "money"}

func init() {
	scalarTable{
		"cash_pl": widthMoney.add, "cash_mi": widthMoney.sub,
		"cash_mul_flt4": moneyTimesFloat(0, 1), "cash_mul_flt8": moneyTimesFloat(0, 1),
		"flt4_mul_cash": moneyTimesFloat(1, 0), "flt8_mul_cash": moneyTimesFloat(1, 0),
		"cash_div_flt4": moneyByFloat, "cash_div_flt8": moneyByFloat,
		"cash_mul_int2": widthMoney.mul, "cash_mul_int4": widthMoney.mul, "cash_mul_int8": widthMoney.mul,
		"int2_mul_cash": widthMoney.mul, "int4_mul_cash": widthMoney.mul, "int8_mul_cash": widthMoney.mul,
		"cash_div_int2": widthMoney.div, "cash_div_int4": widthMoney.div, "cash_div_int8": widthMoney.div, "cash_div_cash": moneyRatio,
		"cash_numeric": moneyToNumeric, "numeric_cash": numericToMoney, "int4_cash": intToMoney, "int8_cash": intToMoney,
	}.register()
}
