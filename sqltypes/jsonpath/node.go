package jsonpath

import (
	"ostraka/sqltypes"
)

// kind is what an item of a path is.
type kind uint8

const (
	kNull kind = iota
	kString
	kNumber
	kBool
	kAnd
	kOr
	kNot
	kIsUnknown
	kExists
	kEqual
	kNotEqual
	kLess
	kGreater
	kLessEqual
	kGreaterEqual
	kStartsWith
	kLikeRegex
	kAdd
	kSub
	kMul
	kDiv
	kMod
	kPlus
	kMinus
	kRoot
	kCurrent
	kVariable
	kLast
	kKey
	kAnyKey
	kAnyArray
	kAny // .**
	kIndex
	kFilter
	kType
	kSize
	kAbs
	kFloor
	kCeiling
	kDouble
	kKeyValue
	kDatetime
)

var opNames = map[kind]string{
	kAnd: "&&", kOr: "||", kEqual: "==", kNotEqual: "!=", kLess: "<", kGreater: ">", kLessEqual: "<=", kGreaterEqual: ">=",
	kAdd: "+", kSub: "-", kMul: "*", kDiv: "/", kMod: "%", kPlus: "+", kMinus: "-", kStartsWith: "starts with",
	kType: "type", kSize: "size", kAbs: "abs", kFloor: "floor", kCeiling: "ceiling", kDouble: "double", kKeyValue: "keyvalue", kDatetime: "datetime",
}

// node is one item; next is what is applied to its result.
type node struct {
	kind        kind
	next        *node
	left, right *node
	text        string         // string, key, variable, pattern
	flags       string         // of like_regex
	number      sqltypes.Datum // numeric
	truth       bool
	subs        []subscript // kIndex
	first, last uint32      // kAny: levels; anyLast for "last"
}

// subscript is one entry of […]; to is nil for a single index.
type subscript struct{ from, to *node }

const anyLast = ^uint32(0)

// Path is a parsed path.
type Path struct {
	root *node
	lax  bool
}

// priority is the binding strength of an operator, as the printer needs it.
func (k kind) priority() int {
	switch k {
	case kOr:
		return 0
	case kAnd:
		return 1
	case kEqual, kNotEqual, kLess, kGreater, kLessEqual, kGreaterEqual, kStartsWith:
		return 2
	case kAdd, kSub:
		return 3
	case kMul, kDiv, kMod:
		return 4
	case kPlus, kMinus:
		return 5
	}
	return 6
}
