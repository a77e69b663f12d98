package exec

import (
	"cmp"
	"math"
	"strings"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// sortOrder compares values of one sort key, NULLs and direction included.
type sortOrder struct {
	x          *Execution
	typ        *sqltypes.Type
	class      keyClass
	desc       bool
	nullsFirst bool
	lt         *ltFunc // USING operator
}

// keyClass tells keys that have a fast comparison and an order-preserving prefix.
type keyClass uint8

const (
	keyOther keyClass = iota
	keyInt
	keyFloat
	keyNumeric
	keyBytes
	keyPadded // character(n): trailing blanks do not count
)

// classOf tells how values of a type may be compared without asking the type.
func classOf(t *sqltypes.Type) keyClass {
	switch t.OID {
	case sqltypes.OIDBool, sqltypes.OIDInt2, sqltypes.OIDInt4, sqltypes.OIDInt8, sqltypes.OIDOid, sqltypes.OIDDate,
		sqltypes.OIDTime, sqltypes.OIDTimestamp, sqltypes.OIDTimestamptz, sqltypes.OIDMoney:
		if t.Kind == sqltypes.KInt {
			return keyInt
		}
	case sqltypes.OIDFloat4, sqltypes.OIDFloat8:
		return keyFloat
	case sqltypes.OIDNumeric:
		return keyNumeric
	case sqltypes.OIDText, sqltypes.OIDVarchar, sqltypes.OIDBytea, sqltypes.OIDUuid, sqltypes.OIDName:
		return keyBytes
	case sqltypes.OIDBpchar:
		return keyPadded
	}
	return keyOther
}

// ltFunc is a less-than function used as an order.
type ltFunc struct {
	x    *Execution
	call sqltypes.Call
	args [2]sqltypes.Datum
	err  error
}

func (f *ltFunc) less(a, b sqltypes.Datum) bool {
	f.args[0], f.args[1] = a, b
	f.call.Env = f.x.env
	d, err := f.call.Proc.Fn(&f.call, f.args[:])
	if err != nil && f.err == nil {
		f.err = err
	}
	return d.True()
}

func (x *Execution) newSortOrder(k planner.SortKey) (*sortOrder, error) {
	ct := k.Expr.Type()
	t := x.typ(ct.OID)
	o := &sortOrder{x: x, typ: t, desc: k.Desc, nullsFirst: k.NullsFirst}
	if k.Lt != nil {
		if k.Lt.Fn == nil {
			return nil, pgerror.NotSupported("function %s", k.Lt.Name)
		}
		o.lt = &ltFunc{x: x, call: sqltypes.Call{Proc: k.Lt, ArgTypes: []sqltypes.ColumnType{ct, ct}, RetType: sqltypes.ColumnType{OID: k.Lt.RetType, TypMod: -1}, Collation: ct.Collation}}
		return o, nil
	}
	if t == nil || t.Compare == nil {
		name := "unknown"
		if t != nil {
			name = sqltypes.FormatType(t.OID, -1)
		}
		return nil, pgerror.New(pgerror.UndefinedFunction, "could not identify an ordering operator for type %s", name).
			WithHint("Use an explicit ordering operator or modify the query.")
	}
	o.class = classOf(t)
	return o, nil
}

// compare orders value i of a against value j of b.
func (o *sortOrder) compare(a *expr.Vec, i int, b *expr.Vec, j int) int {
	an, bn := a.Null.Get(i), b.Null.Get(j)
	if an || bn {
		if an && bn {
			return 0
		}
		if an == o.nullsFirst {
			return -1
		}
		return 1
	}
	c := o.values(a, i, b, j)
	if o.desc {
		return -c
	}
	return c
}

func (o *sortOrder) values(a *expr.Vec, i int, b *expr.Vec, j int) int {
	switch o.class {
	case keyInt:
		return cmp.Compare(a.I64[i], b.I64[j])
	case keyFloat:
		return o.typ.Compare(sqltypes.Float(a.F64[i]), sqltypes.Float(b.F64[j]))
	case keyNumeric:
		if !a.Wide && !b.Wide && a.Scale == b.Scale {
			return cmp.Compare(a.I64[i], b.I64[j])
		}
	case keyBytes:
		return strings.Compare(a.Str[i], b.Str[j])
	}
	x, y := a.Datum(i), b.Datum(j)
	if o.lt != nil {
		switch {
		case o.lt.less(x, y):
			return -1
		case o.lt.less(y, x):
			return 1
		}
		return 0
	}
	return o.typ.Compare(x, y)
}

// prefix maps a value to an integer so that a smaller integer never belongs to a
// later value. Equal prefixes say nothing.
func (o *sortOrder) prefix(v *expr.Vec, i int) uint64 {
	if v.Null.Get(i) {
		if o.nullsFirst {
			return 0
		}
		return math.MaxUint64
	}
	var p uint64
	switch o.class {
	case keyInt:
		p = uint64(v.I64[i]) ^ 1<<63
	case keyNumeric:
		if v.Wide {
			return 1 << 63
		}
		p = uint64(v.I64[i]) ^ 1<<63
	case keyFloat:
		f := v.F64[i]
		if f != f {
			p = math.MaxUint64
			break
		}
		bits := math.Float64bits(f)
		if f == 0 { // -0 sorts like 0
			bits = 0
		}
		if bits>>63 != 0 {
			p = ^bits
		} else {
			p = bits | 1<<63
		}
	case keyBytes:
		s := v.Str[i]
		if len(s) >= 8 {
			p = uint64(s[0])<<56 | uint64(s[1])<<48 | uint64(s[2])<<40 | uint64(s[3])<<32 | uint64(s[4])<<24 | uint64(s[5])<<16 | uint64(s[6])<<8 | uint64(s[7])
		} else {
			for k := range len(s) {
				p |= uint64(s[k]) << (56 - 8*k)
			}
		}
	default:
		return 1 << 63
	}
	if o.desc {
		p = ^p
	}
	return p
}

// keyEval computes the key vectors of a batch: plain columns are taken as they are.
type keyEval struct {
	x     *Execution
	progs []*expr.Program
	cols  []int
	vecs  []*expr.Vec
}

func (x *Execution) newKeyEval(es []expr.Expr) (*keyEval, error) {
	k := &keyEval{x: x, progs: make([]*expr.Program, len(es)), cols: make([]int, len(es)), vecs: make([]*expr.Vec, len(es))}
	for i, e := range es {
		k.cols[i] = -1
		if c, ok := e.(*expr.Col); ok {
			k.cols[i] = c.Idx
			continue
		}
		var err error
		if k.progs[i], err = x.compile(e); err != nil {
			return nil, err
		}
	}
	return k, nil
}

func (k *keyEval) eval(b *batch) ([]*expr.Vec, error) {
	for i := range k.vecs {
		if c := k.cols[i]; c >= 0 && b.Cols[c] != nil {
			k.vecs[i] = b.Cols[c]
			continue
		}
		v, err := k.progs[i].Eval(&b.Batch, &k.x.params, k.x.env)
		if err != nil {
			return nil, err
		}
		k.vecs[i] = v
	}
	return k.vecs, nil
}

func sortExprs(keys []planner.SortKey) []expr.Expr {
	out := make([]expr.Expr, len(keys))
	for i, k := range keys {
		out[i] = k.Expr
	}
	return out
}

func (x *Execution) newSortOrders(keys []planner.SortKey) ([]*sortOrder, error) {
	out := make([]*sortOrder, len(keys))
	for i, k := range keys {
		var err error
		if out[i], err = x.newSortOrder(k); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// rowComparer compares rows of successive batches by sort keys.
type rowComparer struct {
	orders []*sortOrder
	eval   *keyEval
	kinds  []sqltypes.Kind
	cur    []*expr.Vec
}

func (x *Execution) newRowComparer(keys []planner.SortKey) (*rowComparer, error) {
	orders, err := x.newSortOrders(keys)
	if err != nil {
		return nil, err
	}
	es := sortExprs(keys)
	eval, err := x.newKeyEval(es)
	return &rowComparer{orders: orders, eval: eval, kinds: x.exprKinds(es)}, err
}

// load evaluates the keys of a batch.
func (r *rowComparer) load(b *batch) (err error) {
	r.cur, err = r.eval.eval(b)
	return err
}

// keep copies the keys of a row of the loaded batch.
func (r *rowComparer) keep(row uint16) *store {
	s := newStore(r.kinds, nil)
	s.append(r.cur, []uint16{row})
	return s
}

// compareKept orders a kept row against a row of the loaded batch.
func (r *rowComparer) compareKept(s *store, row uint16) int {
	for k, o := range r.orders {
		if c := o.compare(s.cols[k], 0, r.cur[k], int(row)); c != 0 {
			return c
		}
	}
	return 0
}
