package pgregex

import (
	"ostraka/sqltypes/pgerror"
)

// syntax is the dialect of a pattern.
type syntax uint8

const (
	advanced syntax = iota
	extended
	basic
	literal
)

// Flags are the options of a match, as the letters of the flags argument and of
// embedded (?…) options set them.
type Flags struct {
	syntax      syntax
	fold        bool // i
	lineAnchors bool // n, w: ^ and $ match at line ends
	lineDots    bool // n, p: . and [^…] never match a newline
	expanded    bool // x
	Global      bool // g
}

// ParseFlags reads a flags argument. Error: 22023.
func ParseFlags(s string) (Flags, error) {
	var f Flags
	for _, r := range s {
		if r == 'g' {
			f.Global = true
			continue
		}
		if !f.set(r) {
			return f, pgerror.New(pgerror.InvalidParameterValue, "invalid regular expression option: \"%c\"", r)
		}
	}
	return f, nil
}

// Fold returns the flags with case-insensitive matching, as ~* has it.
func (f Flags) Fold() Flags {
	f.fold = true
	return f
}

// set applies one option letter; false: there is none such.
func (f *Flags) set(r rune) bool {
	switch r {
	case 'b':
		f.syntax = basic
	case 'c':
		f.fold = false
	case 'e':
		f.syntax = extended
	case 'i':
		f.fold = true
	case 'm', 'n':
		f.lineAnchors, f.lineDots = true, true
	case 'p':
		f.lineAnchors, f.lineDots = false, true
	case 'q':
		f.syntax = literal
	case 's':
		f.lineAnchors, f.lineDots = false, false
	case 't':
		f.expanded = false
	case 'w':
		f.lineAnchors, f.lineDots = true, false
	case 'x':
		f.expanded = true
	default:
		return false
	}
	return true
}

func invalid(what string) error {
	return pgerror.New(pgerror.InvalidRegularExpression, "invalid regular expression: %s", what)
}

// The messages of an invalid expression.
var (
	errParen    = invalid("parentheses () not balanced")
	errBracket  = invalid("brackets [] not balanced")
	errBrace    = invalid("braces {} not balanced")
	errCount    = invalid("invalid repetition count(s)")
	errRange    = invalid("invalid character range")
	errRepeat   = invalid("quantifier operand invalid")
	errClass    = invalid("invalid character class")
	errCollate  = invalid("invalid collating element")
	errEscape   = invalid("invalid escape \\ sequence")
	errBackref  = invalid("invalid backreference number")
	errOption   = invalid("invalid embedded option")
	errTooLarge = invalid("regular expression is too complex")
)
