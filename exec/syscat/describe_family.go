package syscat

import (
	"fmt"
	"strconv"

	"ostraka/sqltypes"
)

// Catalogues of what operator families are made of.
const (
	classAmOp   sqltypes.OID = 2602
	classAmProc sqltypes.OID = 2603
)

// amOpWords describes an operator's place in a family.
func (l *lookup) amOpWords(o sqltypes.OID) (w objectWords, ok bool) {
	for _, m := range sqltypes.AllAmOps() {
		if m.OID == o {
			op, _ := l.operatorWords(m.Operator)
			return l.memberWords("operator", m.Strategy, m.Family, m.Left, m.Right, trimKind(op.description, "operator ")), true
		}
	}
	return w, false
}

// amProcWords describes a support function of a family.
func (l *lookup) amProcWords(o sqltypes.OID) (w objectWords, ok bool) {
	for _, m := range sqltypes.AllAmProcs() {
		if m.OID == o {
			p, _ := l.procWords(m.Proc)
			return l.memberWords("function", m.Num, m.Family, m.Left, m.Right, trimKind(p.description, "function ")), true
		}
	}
	return w, false
}

func trimKind(description, kind string) string { return description[len(kind):] }

// memberWords describes number n of a family for two types; what is what stands there.
func (l *lookup) memberWords(kind string, n int, family, left, right sqltypes.OID, what string) objectWords {
	f, _ := l.words(2753, family, 0) // pg_opfamily
	short := func(t sqltypes.OID) string { return l.typeName(t, sqltypes.NoTypMod) }
	args := []string{l.qualifiedType(left), l.qualifiedType(right)}
	return objectWords{
		kind:        kind + " of access method",
		description: fmt.Sprintf("%s %d (%s, %s) of %s: %s", kind, n, short(left), short(right), f.description, what),
		identity:    fmt.Sprintf("%s %d (%s, %s) of %s", kind, n, args[0], args[1], f.identity),
		names:       append(append([]string(nil), f.names...), strconv.Itoa(n)),
		args:        args,
	}
}
