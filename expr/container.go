package expr

import (
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// arrayCtor compiles ARRAY[…].
func (c *compiler) arrayCtor(e *ArrayCtor) (node, error) {
	args, err := c.list(e.Elems)
	if err != nil {
		return nil, err
	}
	elem := c.types.Find(e.Elem)
	if elem == nil {
		return nil, pgerror.NotSupported("array of type %s", typeName(elem, e.Elem))
	}
	fn := func(_ *state, a []sqltypes.Datum) (sqltypes.Datum, error) {
		return sqltypes.MakeVector(elem, a), nil
	}
	if e.Multi {
		fn = func(_ *state, a []sqltypes.Datum) (sqltypes.Datum, error) { return NestArrays(elem, a) }
	}
	n := newMap(sqltypes.KBytes, false, args, fn)
	n.steady = true
	for _, a := range args {
		if _, ok := a.(constant); !ok {
			return n, nil
		}
	}
	return constMap{n}, nil
}

// NestArrays makes an array one dimension higher of arrays of equal dimensions.
func NestArrays(elem *sqltypes.Type, arrays []sqltypes.Datum) (sqltypes.Datum, error) {
	var dims []sqltypes.ArrayDim
	var elems []sqltypes.Datum
	empty := 0
	for i, d := range arrays {
		if d.Null {
			empty++
			continue
		}
		a := sqltypes.OpenArray(d)
		if a.NDim() == 0 {
			empty++
			continue
		}
		if dims == nil && i == empty {
			dims = a.Dims()
		} else if !sameDims(dims, a.Dims()) {
			return sqltypes.Null, dimsMismatch()
		}
		elems = append(elems, a.Elements()...)
	}
	if empty > 0 {
		if empty < len(arrays) {
			return sqltypes.Null, dimsMismatch()
		}
		return sqltypes.MakeArray(elem, nil, nil), nil
	}
	all := append([]sqltypes.ArrayDim{{Len: int32(len(arrays)), Lower: 1}}, dims...)
	if err := sqltypes.CheckArraySize(all); err != nil {
		return sqltypes.Null, err
	}
	return sqltypes.MakeArray(elem, all, elems), nil
}

func dimsMismatch() error {
	return pgerror.New(pgerror.ArraySubscriptError, "multidimensional arrays must have array expressions with matching dimensions")
}

func sameDims(a, b []sqltypes.ArrayDim) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// arrayCoerce converts each element.
func (c *compiler) arrayCoerce(e *ArrayCoerce) (node, error) {
	arg, err := c.compile(e.Arg)
	if err != nil {
		return nil, err
	}
	conv, err := c.compile(e.Elem)
	if err != nil {
		return nil, err
	}
	elem := c.types.Find(e.Elem.Type().OID)
	if elem == nil {
		return nil, pgerror.NotSupported("array of type %s", typeName(elem, e.Elem.Type().OID))
	}
	return newMap(sqltypes.KBytes, true, []node{arg}, func(s *state, a []sqltypes.Datum) (sqltypes.Datum, error) {
		arr := sqltypes.OpenArray(a[0])
		elems := arr.Elements()
		saved := s.caseDatum
		defer func() { s.caseDatum = saved }()
		for i := range elems {
			s.caseDatum = elems[i]
			var err error
			if elems[i], err = conv.row(s, nil); err != nil {
				return sqltypes.Null, err
			}
		}
		return sqltypes.MakeArray(elem, arr.Dims(), elems), nil
	}), nil
}

// arrayOp compiles x op ANY/ALL (array).
func (c *compiler) arrayOp(e *ArrayOp) (node, error) {
	args, err := c.list([]Expr{e.Left, e.Array})
	if err != nil {
		return nil, err
	}
	if n := c.inList(e, args); n != nil {
		return n, nil
	}
	elemType := sqltypes.ColumnType{TypMod: -1}
	if t := c.types.Find(e.Array.Type().OID); t != nil {
		elemType.OID = t.Elem
	}
	op := pairFunc(e.Proc, [2]sqltypes.ColumnType{e.Left.Type(), elemType}, e.Typ, e.Collation)
	decides := int64(1)
	if e.All {
		decides = 0
	}
	return newMap(sqltypes.KInt, false, args, func(s *state, a []sqltypes.Datum) (sqltypes.Datum, error) {
		if a[1].Null {
			return sqltypes.Null, nil
		}
		left := a[0]
		arr := sqltypes.OpenArray(a[1])
		res := sqltypes.Datum{I: 1 - decides}
		if arr.Len() > 0 && left.Null && e.Proc.Strict {
			return sqltypes.Null, nil
		}
		for i := range arr.Len() {
			d, err := op(s, left, arr.At(i))
			if err != nil {
				return d, err
			}
			if d.Null {
				res = sqltypes.Null
			} else if d.I == decides {
				return d, nil
			}
		}
		return res, nil
	}), nil
}

// coerceDomain checks a domain's constraints.
func (c *compiler) coerceDomain(e *CoerceDomain) (node, error) {
	arg, err := c.compile(e.Arg)
	if err != nil {
		return nil, err
	}
	conds := make([]node, len(e.Checks))
	for i, k := range e.Checks {
		if conds[i], err = c.compile(k.Cond); err != nil {
			return nil, err
		}
	}
	return newMap(c.kind(e), false, []node{arg}, func(s *state, a []sqltypes.Datum) (sqltypes.Datum, error) {
		v := a[0]
		if v.Null && e.NotNull {
			return v, pgerror.New(pgerror.NotNullViolation, "domain %s does not allow null values", e.Domain).WithDataType("", e.Domain)
		}
		saved := s.caseDatum
		defer func() { s.caseDatum = saved }()
		for i, k := range e.Checks {
			s.caseDatum = v
			d, err := conds[i].row(s, nil)
			if err != nil {
				return v, err
			}
			if !d.Null && d.I == 0 {
				return v, pgerror.New(pgerror.CheckViolation, "value for domain %s violates check constraint \"%s\"", e.Domain, k.Name).
					WithDataType("", e.Domain).WithConstraint(k.Name)
			}
		}
		return v, nil
	}), nil
}

// nullTest compiles IS [NOT] NULL.
func (c *compiler) nullTest(e *NullTest) (node, error) {
	arg, err := c.compile(e.Arg)
	if err != nil {
		return nil, err
	}
	if !e.Row {
		return &nullTestNode{arg: arg, not: e.IsNot}, nil
	}
	if r, ok := e.Arg.(*RowCtor); ok {
		fields, err := c.list(r.Fields)
		if err != nil {
			return nil, err
		}
		return newMap(sqltypes.KInt, false, fields, func(_ *state, a []sqltypes.Datum) (sqltypes.Datum, error) {
			for _, d := range a {
				if d.Null == e.IsNot {
					return sqltypes.Bool(false), nil
				}
			}
			return sqltypes.Bool(true), nil
		}), nil
	}
	return newMap(sqltypes.KInt, false, []node{arg}, func(_ *state, a []sqltypes.Datum) (sqltypes.Datum, error) {
		if a[0].Null {
			return sqltypes.Bool(!e.IsNot), nil
		}
		for _, d := range recordFields(a[0]) {
			if d.Null == e.IsNot {
				return sqltypes.Bool(false), nil
			}
		}
		return sqltypes.Bool(true), nil
	}), nil
}

// subPlan compiles a subquery that runs for every row.
func (c *compiler) subPlan(e *SubPlan) (node, error) {
	args, err := c.list(e.Args)
	if err != nil {
		return nil, err
	}
	nargs := len(args)
	var testCols []int
	if e.Test != nil {
		width := 0
		seen := map[int]bool{}
		Walk(e.Test, func(x Expr) bool {
			if col, ok := x.(*Col); ok && !seen[col.Idx] {
				seen[col.Idx] = true
				testCols = append(testCols, col.Idx)
				args = append(args, &colNode{idx: col.Idx, kind: c.kind(col)})
				width = max(width, col.Idx+1)
			}
			return true
		})
	}
	width := 0
	for _, i := range testCols {
		width = max(width, i+1)
	}
	return newMap(c.kind(e), false, args, func(s *state, a []sqltypes.Datum) (sqltypes.Datum, error) {
		if s.params.Runner == nil {
			return sqltypes.Null, pgerror.NotSupported("subquery in this place")
		}
		for i, id := range e.ParamIDs {
			if i < nargs {
				s.params.Exec[id] = a[i]
			}
		}
		if width > 0 {
			row := make([]sqltypes.Datum, width)
			for i, col := range testCols {
				row[col] = a[nargs+i]
			}
			saved := s.params.Row
			s.params.Row = row
			defer func() { s.params.Row = saved }()
		}
		return s.params.Runner.RunSubPlan(e, s.params, s.env)
	}), nil
}
