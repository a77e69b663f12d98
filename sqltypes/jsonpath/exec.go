package jsonpath

import (
	"context"
	"errors"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// evaluator runs one path over one value.
type evaluator struct {
	ctx     context.Context
	vars    sqltypes.JSON // an object, or the zero JSON
	root    value
	lax     bool
	ignore  bool // structural errors are ignored (lax mode, below .**)
	current value
	size    int // of the innermost array that is subscripted, -1 outside
	ids     int64
	zone    *Zone // nil: comparisons may not need one
	steps   int
}

// found collects results; nil asks only whether there is one.
type found struct{ items []value }

func (f *found) add(j value) { f.items = append(f.items, j) }

// hard marks errors that silent mode and predicates do not swallow.
type hard struct{ error }

func (h hard) Unwrap() error { return h.error }

func isHard(err error) bool {
	var h hard
	return errors.As(err, &h)
}

func jsonError(code pgerror.Code, format string, args ...any) error {
	return pgerror.New(code, format, args...)
}

// maxSteps bounds one evaluation.
const maxSteps = 50_000_000

func (x *evaluator) step() error {
	if x.steps++; x.steps&0xFFF != 0 {
		return nil
	}
	if x.steps > maxSteps {
		return hard{pgerror.New(pgerror.StatementTooComplex, "jsonpath evaluation takes too many steps")}
	}
	if x.ctx != nil && x.ctx.Err() != nil {
		return hard{pgerror.Wrap(x.ctx.Err(), pgerror.QueryCanceled, "canceling statement due to user request")}
	}
	return nil
}

// follow applies what comes after n to a result of n.
func (x *evaluator) follow(n *node, j value, out *found) (bool, error) {
	if n.next != nil {
		return x.item(n.next, j, out, x.lax)
	}
	if out != nil {
		out.add(j)
	}
	return true, nil
}

// item evaluates n over j: whether it gave something. unwrap: an array stands for its elements.
func (x *evaluator) item(n *node, j value, out *found, unwrap bool) (bool, error) {
	if err := x.step(); err != nil {
		return false, err
	}
	switch n.kind {
	case kNull, kString, kNumber, kBool, kVariable:
		if n.next == nil && out == nil && n.kind != kVariable {
			return true, nil
		}
		v, err := x.literal(n)
		if err != nil {
			return false, err
		}
		return x.follow(n, of(v), out)
	case kRoot:
		return x.follow(n, x.root, out)
	case kCurrent:
		return x.follow(n, x.current, out)
	case kLast:
		if x.size < 0 {
			return false, hard{pgerror.New(pgerror.InternalError, "evaluating jsonpath LAST outside of array subscript")}
		}
		return x.follow(n, number(int64(x.size-1)), out)
	case kAnd, kOr, kNot, kIsUnknown, kExists, kEqual, kNotEqual, kLess, kGreater, kLessEqual, kGreaterEqual, kStartsWith, kLikeRegex:
		t, err := x.predicate(n, j)
		if err != nil {
			return false, err
		}
		if n.next == nil && out == nil {
			return true, nil
		}
		switch t {
		case isTrue, isFalse:
			return x.follow(n, of(sqltypes.JSONBoolOf(t == isTrue)), out)
		}
		return x.follow(n, of(jsonNull), out)
	case kAdd, kSub, kMul, kDiv, kMod:
		return x.arithmetic(n, j, out)
	case kPlus, kMinus:
		return x.sign(n, j, out)
	case kKey, kAnyKey, kFilter, kType, kSize, kAbs, kFloor, kCeiling, kDouble, kKeyValue, kDatetime, kAnyArray, kIndex, kAny:
		return x.accessor(n, j, out, unwrap)
	}
	return false, hard{pgerror.New(pgerror.InternalError, "unknown jsonpath item")}
}

func (x *evaluator) literal(n *node) (sqltypes.JSON, error) {
	switch n.kind {
	case kString:
		return sqltypes.JSONStringOf(n.text), nil
	case kNumber:
		return sqltypes.JSONNumberOf(n.number), nil
	case kBool:
		return sqltypes.JSONBoolOf(n.truth), nil
	case kVariable:
		if !x.vars.IsZero() {
			if v, ok := x.vars.Lookup(n.text); ok {
				return v, nil
			}
		}
		return jsonNull, hard{pgerror.New(pgerror.UndefinedObject, "could not find jsonpath variable \"%s\"", n.text)}
	}
	return jsonNull, nil
}

var jsonNull = func() sqltypes.JSON {
	j, err := sqltypes.ParseJSONB("null")
	if err != nil {
		panic(err)
	}
	return j
}()

func number(v int64) value { return of(sqltypes.JSONNumberOf(sqltypes.NumericInt(v))) }

// unwrapped evaluates n over each element of an array.
func (x *evaluator) unwrapped(n *node, j value, out *found) (bool, error) {
	some := false
	for i := range j.Len() {
		ok, err := x.item(n, of(j.Index(i)), out, false)
		if err != nil {
			return false, err
		}
		if some = some || ok; ok && out == nil {
			return true, nil
		}
	}
	return some, nil
}

// values evaluates n and, in lax mode with unwrap, takes arrays apart.
func (x *evaluator) values(n *node, j value, unwrap bool) ([]value, error) {
	var seq found
	if _, err := x.item(n, j, &seq, x.lax); err != nil {
		return nil, err
	}
	if !unwrap || !x.lax {
		return seq.items, nil
	}
	var out []value
	for _, v := range seq.items {
		if v.Kind() == sqltypes.JSONArray {
			for i := range v.Len() {
				out = append(out, of(v.Index(i)))
			}
		} else {
			out = append(out, v)
		}
	}
	return out, nil
}
