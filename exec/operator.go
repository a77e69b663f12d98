package exec

import (
	"ostraka/engine"
	"ostraka/expr"
	"ostraka/sqltypes"
)

// operator is one running plan node.
type operator interface {
	// open starts the operator, or restarts it from the beginning.
	open() error
	// next returns the next batch with at least one row, nil at the end. The batch
	// is valid until the next call of next or open.
	next() (*batch, error)
	// close frees what the operator holds; it may be opened again afterwards.
	close()
}

// batch is what operators hand upward: visible columns and, for each row
// reference that travels (RefSlot), a vector of keys and one of writers.
type batch struct {
	expr.Batch
	refs []*expr.Vec // refVecs per slot: key, xid, seq
}

// refVecs is the number of vectors that carry one row reference.
const refVecs = 3

// built is an operator with what its parent needs to know.
type built struct {
	op    operator
	kinds []sqltypes.Kind // of the columns
	slots []int           // RefSlots that travel, in order of the batch's refs
}

// slot finds the position of a RefSlot's vectors in batch.refs, -1 if it is not there.
func (b built) slot(s int) int {
	for i, x := range b.slots {
		if x == s {
			return refVecs * i
		}
	}
	return -1
}

// ref reads the reference of a row; false when the row has none (outer join).
func (b *batch) ref(at, row int) (engine.RowRef, bool) {
	k := b.refs[at]
	if k.Null.Get(row) {
		return engine.RowRef{}, false
	}
	return engine.RowRef{Key: k.Str[row], Xid: uint64(b.refs[at+1].I64[row]), Seq: uint32(b.refs[at+2].I64[row])}, true
}

// refKinds are the representations of n slots' vectors.
func refKinds(slots int) []sqltypes.Kind {
	out := make([]sqltypes.Kind, 0, refVecs*slots)
	for range slots {
		out = append(out, sqltypes.KBytes, sqltypes.KInt, sqltypes.KInt)
	}
	return out
}

// need is the set of output columns a parent uses; nil: all.
type need []bool

func (n need) has(i int) bool { return n == nil || i < len(n) && n[i] }

func (n need) add(es ...expr.Expr) {
	for _, e := range es {
		expr.Walk(e, func(x expr.Expr) bool {
			if c, ok := x.(*expr.Col); ok && c.Idx < len(n) {
				n[c.Idx] = true
			}
			return true
		})
	}
}

// copy returns n as a set of width columns, all of them when n is nil, to be added to.
func (n need) copy(width int) need {
	out := make(need, width)
	for i := range out {
		out[i] = n.has(i)
	}
	return out
}
