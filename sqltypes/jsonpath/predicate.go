package jsonpath

import (
	"strings"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// truth is the three-valued result of a predicate.
type truth uint8

const (
	isFalse truth = iota
	isTrue
	isUnknown
)

func truthOf(v bool) truth {
	if v {
		return isTrue
	}
	return isFalse
}

// nested evaluates a predicate with j as @.
func (x *evaluator) nested(n *node, j value) (truth, error) {
	saved := x.current
	x.current = j
	t, err := x.predicate(n, j)
	x.current = saved
	return t, err
}

// predicate evaluates a condition; only hard errors come out of it.
func (x *evaluator) predicate(n *node, j value) (truth, error) {
	if err := x.step(); err != nil {
		return isUnknown, err
	}
	switch n.kind {
	case kAnd:
		l, err := x.predicate(n.left, j)
		if err != nil || l == isFalse {
			return l, err
		}
		r, err := x.predicate(n.right, j)
		if r == isTrue {
			r = l
		}
		return r, err
	case kOr:
		l, err := x.predicate(n.left, j)
		if err != nil || l == isTrue {
			return l, err
		}
		r, err := x.predicate(n.right, j)
		if r == isFalse {
			r = l
		}
		return r, err
	case kNot:
		t, err := x.predicate(n.left, j)
		switch t {
		case isTrue:
			t = isFalse
		case isFalse:
			t = isTrue
		}
		return t, err
	case kIsUnknown:
		t, err := x.predicate(n.left, j)
		return truthOf(t == isUnknown), err
	case kExists:
		return x.exists(n.left, j)
	case kStartsWith:
		return x.pairs(n.left, n.right, j, false, func(a, b value) (truth, error) {
			if a.Kind() != sqltypes.JSONString || b.Kind() != sqltypes.JSONString {
				return isUnknown, nil
			}
			return truthOf(strings.HasPrefix(a.Str(), b.Str())), nil
		})
	case kLikeRegex:
		re, err := n.regexp()
		if err != nil {
			return isUnknown, hard{err}
		}
		return x.pairs(n.left, nil, j, false, func(a, _ value) (truth, error) {
			if a.Kind() != sqltypes.JSONString {
				return isUnknown, nil
			}
			ok, err := re.Match(x.ctx, a.Str())
			if err != nil {
				return isUnknown, hard{err}
			}
			return truthOf(ok), nil
		})
	case kEqual, kNotEqual, kLess, kGreater, kLessEqual, kGreaterEqual:
		return x.pairs(n.left, n.right, j, true, func(a, b value) (truth, error) { return x.compare(n.kind, a, b) })
	}
	return isUnknown, hard{pgerror.New(pgerror.InternalError, "invalid boolean jsonpath item type: %d", n.kind)}
}

func (x *evaluator) exists(n *node, j value) (truth, error) {
	var ok bool
	var err error
	if x.lax {
		ok, err = x.item(n, j, nil, true)
	} else { // strict: an error anywhere counts
		var all found
		_, err = x.item(n, j, &all, false)
		ok = len(all.items) > 0
	}
	if err != nil {
		return isUnknown, hardOnly(err)
	}
	return truthOf(ok), nil
}

// hardOnly keeps an error that predicates do not swallow.
func hardOnly(err error) error {
	if isHard(err) {
		return err
	}
	return nil
}

// pairs tests every pair of the operands' values: true if one is, unless strict
// mode meets an unknown.
func (x *evaluator) pairs(left, right *node, j value, unwrapRight bool, test func(a, b value) (truth, error)) (truth, error) {
	as, err := x.values(left, j, true)
	if err != nil {
		return isUnknown, hardOnly(err)
	}
	bs := []value{{}}
	if right != nil {
		if bs, err = x.values(right, j, unwrapRight); err != nil {
			return isUnknown, hardOnly(err)
		}
	}
	some, failed := false, false
	for _, a := range as {
		for _, b := range bs {
			t, err := test(a, b)
			if err != nil {
				return isUnknown, err
			}
			switch t {
			case isUnknown:
				if !x.lax {
					return isUnknown, nil
				}
				failed = true
			case isTrue:
				if x.lax {
					return isTrue, nil
				}
				some = true
			}
		}
	}
	switch {
	case some:
		return isTrue, nil
	case failed:
		return isUnknown, nil
	}
	return isFalse, nil
}

func (x *evaluator) compare(op kind, a, b value) (truth, error) {
	if a.Kind() != b.Kind() {
		if a.Kind() == sqltypes.JSONNull || b.Kind() == sqltypes.JSONNull {
			return truthOf(op == kNotEqual), nil
		}
		return isUnknown, nil
	}
	switch {
	case a.when != nil:
		return x.compareDates(op, a, b)
	case a.IsContainer():
		return isUnknown, nil
	}
	return ordered(op, sqltypes.CompareJSON(a.JSON, b.JSON)), nil
}

// ordered is the truth of a comparison whose operands are in that order.
func ordered(op kind, c int) truth {
	switch op {
	case kEqual:
		return truthOf(c == 0)
	case kNotEqual:
		return truthOf(c != 0)
	case kLess:
		return truthOf(c < 0)
	case kGreater:
		return truthOf(c > 0)
	case kLessEqual:
		return truthOf(c <= 0)
	}
	return truthOf(c >= 0)
}
