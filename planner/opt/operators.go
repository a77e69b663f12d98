package opt

import (
	"sync"

	"ostraka/expr"
	"ostraka/sqltypes"
)

var operatorTable struct {
	once   sync.Once
	byProc map[sqltypes.OID][]*sqltypes.Operator
}

// operatorOfProc finds the operator that a function implements (by name where
// several share it), or nil.
func operatorOfProc(p *sqltypes.Proc, name string) *sqltypes.Operator {
	t := &operatorTable
	t.once.Do(func() {
		t.byProc = map[sqltypes.OID][]*sqltypes.Operator{}
		for _, op := range sqltypes.AllOperators() {
			if op.Proc != nil {
				t.byProc[op.Proc.OID] = append(t.byProc[op.Proc.OID], op)
			}
		}
	})
	ops := t.byProc[p.OID]
	for _, op := range ops {
		if name == "" || op.Name == name {
			return op
		}
	}
	return nil
}

// binaryOp is a condition of the form left op right.
type binaryOp struct {
	op          *sqltypes.Operator
	call        *expr.Call
	left, right expr.Expr
}

// asBinary recognises an infix boolean operator call.
func asBinary(e expr.Expr) (binaryOp, bool) {
	c, ok := e.(*expr.Call)
	if !ok || c.Op == "" || len(c.Args) != 2 {
		return binaryOp{}, false
	}
	op := operatorOfProc(c.Proc, c.Op)
	if op == nil || op.Result != oidBool {
		return binaryOp{}, false
	}
	return binaryOp{op: op, call: c, left: c.Args[0], right: c.Args[1]}, true
}

// commute returns the call with its sides exchanged, or false when the operator has no commutator.
func (b binaryOp) commute() (binaryOp, bool) {
	op := sqltypes.OperatorByOID(b.op.Commutator)
	if op == nil || op.Proc == nil {
		return b, false
	}
	c := *b.call
	c.Proc, c.Op, c.Args = op.Proc, op.Name, []expr.Expr{b.right, b.left}
	return binaryOp{op: op, call: &c, left: b.right, right: b.left}, true
}

// btreeStrategy is the operator's strategy in a btree family (0: not a member);
// with family 0 the first family it belongs to counts.
func btreeStrategy(op *sqltypes.Operator, family sqltypes.OID) (strategy int, fam sqltypes.OID) {
	for _, a := range sqltypes.OperatorFamilies(op.OID) {
		if a.Method == sqltypes.AMBtree && a.Purpose == 's' && (family == 0 || a.Family == family) {
			return a.Strategy, a.Family
		}
	}
	return 0, 0
}

// equalityOf makes left = right with the family's operator for the two types; nil if there is none.
func equalityOf(family sqltypes.OID, left, right expr.Expr, collation sqltypes.OID) *expr.Call {
	l, r := opType(left), opType(right)
	op := sqltypes.FamilyOperator(family, l, r, sqltypes.BtreeEqual)
	if op == nil && l == r {
		// Arrays, enums, ranges, records: the family of a pseudo-type.
		for _, general := range []sqltypes.OID{2277, 3500, 3831, 4537, 2249} {
			if op == nil {
				op = sqltypes.FamilyOperator(family, general, general, sqltypes.BtreeEqual)
			}
		}
	}
	if op == nil || op.Proc == nil {
		return nil
	}
	return &expr.Call{T: expr.T{Typ: boolType}, Proc: op.Proc, Args: []expr.Expr{left, right}, Collation: collation, Op: op.Name}
}

// opType is the type under which operators know e: varchar's are text's.
func opType(e expr.Expr) sqltypes.OID {
	t := e.Type().OID
	if t == oidVarchar {
		return oidText
	}
	return t
}

// sameRepresentation reports that values of the two types are equal exactly when
// their Datums compare equal under one type, so that hash tables and index keys
// may mix them.
func sameRepresentation(a, b sqltypes.OID) bool {
	return a == b || repClass(a) != 0 && repClass(a) == repClass(b)
}

func repClass(t sqltypes.OID) int {
	switch t {
	case 20, 21, 23:
		return 1
	case 700, 701:
		return 2
	case 25, 1043, 19:
		return 3
	case 26, 24, 2202, 2203, 2204, 2205, 2206, 3734, 3769, 4089, 4096, 4191:
		return 4
	}
	return 0
}

// hashable reports that an equality may be decided by a hash table of its operands' values.
func (p *planning) hashable(b binaryOp) bool {
	l, r := b.left.Type().OID, b.right.Type().OID
	if !b.op.CanHash || !sameRepresentation(l, r) {
		return false
	}
	if repClass(l) == 1 && repClass(r) == 1 {
		return true
	}
	t := p.typ(l)
	return t != nil && t.Hash != nil
}

func (p *planning) typ(oid sqltypes.OID) *sqltypes.Type {
	if t := sqltypes.TypeByOID(oid); t != nil {
		return t
	}
	if p.ctx.Catalog != nil {
		return p.ctx.Catalog.Type(oid)
	}
	return nil
}
