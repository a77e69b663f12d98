package jsonpath

import (
	"strconv"

	"ostraka/sqltypes"
)

// String is the normalized form that the type's output function gives.
func (p *Path) String() string {
	var dst []byte
	if !p.lax {
		dst = append(dst, "strict "...)
	}
	return string(p.root.print(dst, false, true))
}

// print appends an item and what follows it; inKey: after a dot; brackets: put
// an operator between parentheses.
func (n *node) print(dst []byte, inKey, brackets bool) []byte {
	open := func() {
		if brackets {
			dst = append(dst, '(')
		}
	}
	end := func() {
		if brackets {
			dst = append(dst, ')')
		}
	}
	arg := func(a *node) {
		dst = a.print(dst, false, a.kind.priority() <= n.kind.priority())
	}
	switch n.kind {
	case kNull:
		dst = append(dst, "null"...)
	case kString:
		dst = sqltypes.AppendJSONString(dst, n.text)
	case kNumber:
		if n.next != nil {
			dst = append(dst, '(')
		}
		dst = sqltypes.AppendNumeric(dst, n.number)
		if n.next != nil {
			dst = append(dst, ')')
		}
	case kBool:
		dst = strconv.AppendBool(dst, n.truth)
	case kAnd, kOr, kEqual, kNotEqual, kLess, kGreater, kLessEqual, kGreaterEqual, kStartsWith, kAdd, kSub, kMul, kDiv, kMod:
		open()
		arg(n.left)
		dst = append(append(append(dst, ' '), opNames[n.kind]...), ' ')
		arg(n.right)
		end()
	case kLikeRegex:
		open()
		arg(n.left)
		dst = sqltypes.AppendJSONString(append(dst, " like_regex "...), n.text)
		if n.flags != "" {
			dst = append(append(append(dst, ` flag "`...), n.flags...), '"')
		}
		end()
	case kPlus, kMinus:
		open()
		dst = append(dst, opNames[n.kind]...)
		arg(n.left)
		end()
	case kFilter:
		dst = append(n.left.print(append(dst, "?("...), false, false), ')')
	case kNot:
		dst = append(n.left.print(append(dst, "!("...), false, false), ')')
	case kIsUnknown:
		dst = append(n.left.print(append(dst, '('), false, false), ") is unknown"...)
	case kExists:
		dst = append(n.left.print(append(dst, "exists ("...), false, false), ')')
	case kCurrent:
		dst = append(dst, '@')
	case kRoot:
		dst = append(dst, '$')
	case kLast:
		dst = append(dst, "last"...)
	case kVariable:
		dst = sqltypes.AppendJSONString(append(dst, '$'), n.text)
	case kKey:
		if inKey {
			dst = append(dst, '.')
		}
		dst = sqltypes.AppendJSONString(dst, n.text)
	case kAnyKey:
		if inKey {
			dst = append(dst, '.')
		}
		dst = append(dst, '*')
	case kAnyArray:
		dst = append(dst, "[*]"...)
	case kAny:
		dst = n.printLevels(dst, inKey)
	case kIndex:
		dst = append(dst, '[')
		for i, s := range n.subs {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = s.from.print(dst, false, false)
			if s.to != nil {
				dst = s.to.print(append(dst, " to "...), false, false)
			}
		}
		dst = append(dst, ']')
	default:
		dst = append(append(append(dst, '.'), opNames[n.kind]...), '(')
		if n.flags != "" {
			dst = sqltypes.AppendJSONString(dst, n.text)
		}
		dst = append(dst, ')')
	}
	if n.next != nil {
		dst = n.next.print(dst, true, true)
	}
	return dst
}

func (n *node) printLevels(dst []byte, inKey bool) []byte {
	if inKey {
		dst = append(dst, '.')
	}
	level := func(v uint32) {
		if v == anyLast {
			dst = append(dst, "last"...)
		} else {
			dst = strconv.AppendUint(dst, uint64(v), 10)
		}
	}
	dst = append(dst, "**"...)
	switch {
	case n.first == 0 && n.last == anyLast:
	case n.first == n.last:
		dst = append(dst, '{')
		level(n.first)
		dst = append(dst, '}')
	default:
		dst = append(dst, '{')
		level(n.first)
		dst = append(dst, " to "...)
		level(n.last)
		dst = append(dst, '}')
	}
	return dst
}
