package jsonpath

import (
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func (x *evaluator) arithmetic(n *node, j value, out *found) (bool, error) {
	operand := func(side string, arg *node) (sqltypes.Datum, error) {
		vs, err := x.values(arg, j, true)
		if err != nil {
			return sqltypes.Null, err
		}
		if len(vs) != 1 || vs[0].Kind() != sqltypes.JSONNumber {
			return sqltypes.Null, jsonError(pgerror.SingletonSqlJsonItemRequired, "%s operand of jsonpath operator %s is not a single numeric value", side, opNames[n.kind])
		}
		return vs[0].Number(), nil
	}
	a, err := operand("left", n.left)
	if err != nil {
		return false, err
	}
	b, err := operand("right", n.right)
	if err != nil {
		return false, err
	}
	op := map[kind]func(a, b sqltypes.Datum) (sqltypes.Datum, error){
		kAdd: sqltypes.NumericAdd, kSub: sqltypes.NumericSub, kMul: sqltypes.NumericMul, kDiv: sqltypes.NumericDiv, kMod: sqltypes.NumericMod,
	}[n.kind]
	d, err := op(a, b)
	if err != nil {
		return false, err
	}
	if n.next == nil && out == nil {
		return true, nil
	}
	return x.follow(n, of(sqltypes.JSONNumberOf(d)), out)
}

// sign is unary + and -, applied to every value of the operand.
func (x *evaluator) sign(n *node, j value, out *found) (bool, error) {
	vs, err := x.values(n.left, j, true)
	if err != nil {
		return false, err
	}
	some := false
	for _, v := range vs {
		if v.Kind() != sqltypes.JSONNumber {
			if out == nil && n.next == nil {
				continue
			}
			return false, jsonError(pgerror.SqlJsonNumberNotFound, "operand of unary jsonpath operator %s is not a numeric value", opNames[n.kind])
		}
		if out == nil && n.next == nil {
			return true, nil
		}
		d := v.Number()
		if n.kind == kMinus {
			d = sqltypes.NumericNeg(d)
		}
		ok, err := x.follow(n, of(sqltypes.JSONNumberOf(d)), out)
		if err != nil {
			return false, err
		}
		if some = some || ok; ok && out == nil {
			return true, nil
		}
	}
	return some, nil
}
