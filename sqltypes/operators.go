package sqltypes

import (
	"sync"
)

// Operator is a row of pg_operator.
type Operator struct {
	OID                 OID
	Name                string
	Kind                byte // b infix, l prefix
	Left, Right, Result OID  // Left is 0 for a prefix operator
	Proc                *Proc
	Commutator, Negator OID
	CanHash, CanMerge   bool
	Restrict, Join      string // names of the selectivity estimators ("eqsel"), empty if none
}

var operators struct {
	once   sync.Once
	all    []*Operator
	byOID  map[OID]*Operator
	byName map[string][]*Operator
}

// OperatorByOID returns a built-in operator, or nil.
func OperatorByOID(oid OID) *Operator {
	loadOperators()
	return operators.byOID[oid]
}

// OperatorsByName returns the operators of a name, infix and prefix; the slice
// is shared and must not be changed.
func OperatorsByName(name string) []*Operator {
	loadOperators()
	return operators.byName[name]
}

// AllOperators returns every operator in OID order; the slice is shared.
func AllOperators() []*Operator {
	loadOperators()
	return operators.all
}

// FindOperator returns the operator with exactly these operand types (left 0:
// prefix), or nil.
func FindOperator(name string, left, right OID) *Operator {
	for _, op := range OperatorsByName(name) {
		if op.Left == left && op.Right == right {
			return op
		}
	}
	return nil
}

// EqualityOperator returns the operator = of exactly these types, or, for two
// values of one type, the one of its default btree class; nil if there is none.
func EqualityOperator(left, right OID) *Operator {
	if op := FindOperator("=", left, right); op != nil {
		return op
	}
	if left == right {
		if _, eq, _, ok := SortOperators(left); ok {
			return eq
		}
	}
	return nil
}

func loadOperators() {
	operators.once.Do(func() {
		operators.byOID = make(map[OID]*Operator, 800)
		operators.byName = make(map[string][]*Operator, 200)
		eachFact(operatorFacts, func(l *factLine) {
			op := &Operator{OID: l.oid(), Name: l.str()}
			flags := l.str()
			op.Kind, op.CanHash, op.CanMerge = flags[0], flags[1] == '1', flags[2] == '1'
			op.Left, op.Right, op.Result = l.oid(), l.oid(), l.oid()
			op.Proc = ProcByOID(l.oid())
			op.Commutator, op.Negator = l.oid(), l.oid()
			op.Restrict, op.Join = l.str(), l.str()
			operators.all = append(operators.all, op)
			operators.byOID[op.OID] = op
			operators.byName[op.Name] = append(operators.byName[op.Name], op)
		})
	})
}
