package bind

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// columnOnly is transformColumnRef: x, t.x, s.t.x, db.s.t.x, and t.* as a row.
func (s *scope) columnOnly(c *pg.ColumnRef) expr.Expr {
	b := s.b
	loc := c.Location
	switch s.kind {
	case kindColumnDefault:
		b.fail(loc, pgerror.FeatureNotSupported, "cannot use column reference in DEFAULT expression")
	}
	n := len(c.Fields)
	if c.Fields[n-1].GetAStar() != nil && n == 1 {
		b.fail(loc, pgerror.SyntaxError, "cannot use bare * here") // the grammar lets it through only in lists
	}
	switch n {
	case 1:
		name := strOf(c.Fields[0])
		if e := s.lookupColumn(name, false, loc); e != nil {
			s.freezeRef(c, e)
			return e
		}
		if s.domainValue != nil && name == "value" {
			return &expr.CaseValue{T: tt(*s.domainValue)}
		}
		for i, a := range b.argNames {
			if a == name && name != "" {
				return s.paramRef(&pg.ParamRef{Number: int32(i + 1), Location: loc})
			}
		}
		if it, lv := s.lookupTable("", name, loc); it != nil {
			s.readAll(it)
			return it.wholeRow(lv)
		}
		s.columnMissing("", name, loc)
	case 2, 3, 4:
		schema := ""
		if n >= 3 {
			schema = strOf(c.Fields[n-3])
		}
		if n == 4 {
			b.checkCatalogName(strOf(c.Fields[0]), fieldsString(c.Fields), loc)
		}
		table := strOf(c.Fields[n-2])
		it, lv := s.lookupTable(schema, table, loc)
		if it == nil {
			s.tableMissing(schema, table, loc)
		}
		if c.Fields[n-1].GetAStar() != nil {
			s.readAll(it)
			return it.wholeRow(lv)
		}
		name := strOf(c.Fields[n-1])
		if e := it.column(name, lv, loc); e != nil {
			it.markColumn(e)
			s.freezeRef(c, e)
			return e
		}
		// Perhaps a function of the row.
		if e := s.callOrColumn(nil, c.Fields[n-1:], []expr.Expr{it.wholeRow(lv)}, nil, nil, s.lastSRF, loc); e != nil {
			s.readAll(it)
			return e
		}
		s.columnMissing(table, name, loc)
	}
	b.fail(loc, pgerror.SyntaxError, "improper qualified name (too many dotted names): %s", fieldsString(c.Fields))
	return nil
}

func (it *nsItem) markColumn(e expr.Expr) { it.s.markRead(e) }

func (s *scope) readAll(it *nsItem) {
	if r := it.rte(); r != nil && (r.Kind == planner.RTERelation || r.Kind == planner.RTEVirtual || r.ViewOID != 0) {
		r.RequiredPrivs = addPriv(r.RequiredPrivs, 'r')
	}
}

// field describes one field of a row value.
type field struct {
	name string
	typ  sqltypes.ColumnType
}

// recordFields lists the fields of a composite or record expression; nil when
// they cannot be known.
func (s *scope) recordFields(e expr.Expr) []field {
	b := s.b
	if t := b.composite(typeOf(e)); t != nil {
		out := make([]field, len(t.Fields))
		for i, f := range t.Fields {
			out[i] = field{f.Name, f.ColumnType}
		}
		return out
	}
	if typeOf(e) != sqltypes.OIDRecord {
		return nil
	}
	switch x := e.(type) {
	case *expr.Param:
		return b.varFields[x]
	case *expr.RowCtor:
		out := make([]field, len(x.Fields))
		for i, f := range x.Fields {
			name := "f" + itoa(i+1)
			if i < len(x.Names) {
				name = x.Names[i]
			}
			out[i] = field{name, f.Type()}
		}
		return out
	case *expr.Call:
		return b.outFields(x.Proc, x.Args)
	case *planner.Var:
		if x.Col == -1 {
			if it := s.wholeRowItem(x); it != nil {
				out := make([]field, it.numCols())
				for i := range out {
					out[i] = field{it.colName(i), it.colType(i)}
				}
				return out
			}
			return nil
		}
		// A column of a subquery: look at what it is there.
		p := s
		for i := 0; i < x.Level && p != nil; i++ {
			p = p.parent
		}
		if p == nil || x.Rel < 0 || x.Rel >= len(p.q.Range) || x.Col < 0 {
			return nil
		}
		r := p.q.Range[x.Rel]
		switch {
		case r.Sub != nil:
			return b.queryRecordFields(r.Sub, x.Col)
		case r.CTE != nil && r.CTE.Query != nil:
			return b.queryRecordFields(r.CTE.Query, x.Col)
		}
	case *planner.SubLink:
		if x.Kind == expr.SubScalar {
			return b.queryRecordFields(x.Sub, 0)
		}
	}
	return nil
}

func (b *binder) queryRecordFields(q *planner.Query, col int) []field {
	for q.SetOp != nil {
		q = q.SetOp.Left
	}
	if col >= len(q.Targets) {
		return nil
	}
	inner := &scope{b: b, q: q}
	for i, r := range q.Range {
		inner.all = append(inner.all, &nsItem{s: inner, rel: i, alias: r.Alias})
	}
	return inner.recordFields(q.Targets[col].Expr)
}

// outFields are the fields of a function's OUT, INOUT and TABLE parameters.
func (b *binder) outFields(p *sqltypes.Proc, args []expr.Expr) []field {
	if p == nil || p.ArgModes == nil {
		return nil
	}
	var out []field
	all := append([]sqltypes.OID(nil), p.AllArgTypes...)
	var outs []sqltypes.OID
	for i, m := range p.ArgModes {
		if m == 'o' || m == 'b' || m == 't' {
			outs = append(outs, all[i])
		}
	}
	if len(outs) == 0 {
		return nil
	}
	actual := make([]sqltypes.OID, len(args))
	for i, a := range args {
		actual[i] = typeOf(a)
	}
	k := 0
	for i, m := range p.ArgModes {
		if m != 'o' && m != 'b' && m != 't' {
			continue
		}
		t := outs[k]
		if isPoly(t) && len(actual) == len(p.ArgTypes) {
			t = b.resolveGeneric(actual, append([]sqltypes.OID(nil), p.ArgTypes...), t)
		}
		name := ""
		if i < len(p.ArgNames) {
			name = p.ArgNames[i]
		}
		k++
		if name == "" {
			name = "column" + itoa(k)
		}
		out = append(out, field{name, b.columnType(t)})
	}
	return out
}

// projectColumn is ParseComplexProjection: field of a row value; nil if there is none.
func (s *scope) projectColumn(name string, e expr.Expr, loc int32) expr.Expr {
	if v, ok := e.(*planner.Var); ok && v.Col == -1 {
		if it := s.wholeRowItem(v); it != nil {
			if c := it.column(name, v.Level, loc); c != nil {
				it.markColumn(c)
				return c
			}
			return nil
		}
	}
	for i, f := range s.recordFields(e) {
		if f.name == name {
			if r, ok := e.(*expr.RowCtor); ok {
				return r.Fields[i]
			}
			return &expr.Field{T: tt(f.typ), Arg: e, Num: i}
		}
	}
	return nil
}

// indirection is transformIndirection: subscripts and field selection.
func (s *scope) indirection(x *pg.A_Indirection) expr.Expr {
	b := s.b
	loc := exprLoc(x.Arg)
	last := s.lastSRF
	e := s.expr(x.Arg)
	var subs []*pg.A_Indices
	flush := func() {
		if len(subs) > 0 {
			e = s.subscript(e, subs, nil, noTypMod, loc)
			subs = nil
		}
	}
	for _, n := range x.Indirection {
		switch i := n.Node.(type) {
		case *pg.Node_AIndices:
			subs = append(subs, i.AIndices)
		case *pg.Node_AStar:
			b.fail(loc, pgerror.FeatureNotSupported, "row expansion via \"*\" is not supported here")
		default:
			flush()
			r := s.callOrColumn(nil, []*pg.Node{n}, []expr.Expr{e}, nil, nil, last, loc)
			if r == nil {
				s.unknownAttribute(e, strOf(n), loc)
			}
			e = r
		}
	}
	flush()
	return e
}

// unknownAttribute is unknown_attribute.
func (s *scope) unknownAttribute(e expr.Expr, name string, loc int32) {
	b := s.b
	if v, ok := e.(*planner.Var); ok && v.Col == -1 {
		if it := s.wholeRowItem(v); it != nil {
			b.fail(loc, pgerror.UndefinedColumn, "column %s.%s does not exist", it.alias, name)
		}
	}
	switch {
	case typeOf(e) == sqltypes.OIDRecord:
		b.fail(loc, pgerror.UndefinedColumn, `could not identify column "%s" in record data type`, name)
	case b.isComplex(typeOf(e)):
		b.fail(loc, pgerror.UndefinedColumn, `column "%s" not found in data type %s`, name, b.typeName(typeOf(e)))
	}
	b.fail(loc, pgerror.WrongObjectType, "column notation .%s applied to type %s, which is not a composite type", name, b.typeName(typeOf(e)))
}

// subscript applies [i], [l:u] to a container, or, with assign, builds the new
// container. assignTyp's modifier applies to the element assigned.
func (s *scope) subscript(e expr.Expr, subs []*pg.A_Indices, assign *assignSource, typmod int32, loc int32) expr.Expr {
	b := s.b
	ct, mod := b.baseTypeMod(typeOf(e), typmodOf(e))
	if assign != nil {
		mod = typmod
	}
	t := b.typ(ct)
	if ct == sqltypes.OIDInt2vector || ct == sqltypes.OIDOidvector {
		// Read as arrays of int2 and oid.
	} else if t == nil || !(t.IsArray || ct == sqltypes.OIDJsonb || isFixedSubscript(ct)) {
		b.fail(loc, pgerror.DatatypeMismatch, "cannot subscript type %s because it does not support subscripting", b.typeName(typeOf(e)))
	}
	if typeOf(e) != ct {
		e = &expr.Relabel{T: tt(s.keepCollation(e, b.columnTypeMod(ct, mod))), Arg: e, Coercion: 'i'}
	}
	out := &expr.Subscript{Arg: e}
	for _, i := range subs {
		out.IsSlice = out.IsSlice || i.IsSlice
	}
	if ct == sqltypes.OIDJsonb {
		return s.jsonbSubscript(out, subs, assign, loc)
	}
	index := func(n *pg.Node) expr.Expr {
		x := s.expr(n)
		r := s.coerceToTarget(x, sqltypes.OIDInt4, noTypMod, assignment, exprLoc(n))
		if r == nil {
			b.fail(exprLoc(n), pgerror.DatatypeMismatch, "array subscript must have type integer")
		}
		return r
	}
	for _, i := range subs {
		var lo, up expr.Expr
		switch {
		case out.IsSlice && i.IsSlice:
			if i.Lidx != nil {
				lo = index(i.Lidx)
			}
			if i.Uidx != nil {
				up = index(i.Uidx)
			}
		case out.IsSlice:
			// a[2:3][4] means a[2:3][1:4].
			lo = s.intConst(1)
			up = index(i.Uidx)
		default:
			up = index(i.Uidx)
		}
		if out.IsSlice {
			out.Lower = append(out.Lower, lo)
		}
		out.Upper = append(out.Upper, up)
	}
	if len(out.Upper) > sqltypes.MaxArrayDims {
		b.fail(-1, pgerror.ProgramLimitExceeded, "number of array dimensions (%d) exceeds the maximum allowed (%d)", len(out.Upper), sqltypes.MaxArrayDims)
	}
	elem := t.Elem
	if out.IsSlice {
		out.Typ = s.keepCollation(e, b.columnTypeMod(ct, mod))
	} else {
		out.Typ = s.keepCollation(e, b.columnTypeMod(elem, mod))
	}
	if assign != nil {
		need := elem
		if out.IsSlice {
			need = ct
		}
		out.Assign = assign.value(s, need, mod)
		out.Typ = s.keepCollation(e, b.columnTypeMod(ct, mod))
	}
	return out
}

func isFixedSubscript(t sqltypes.OID) bool {
	switch t {
	case sqltypes.OIDName, sqltypes.OIDPoint, sqltypes.OIDLseg, sqltypes.OIDBox, sqltypes.OIDLine:
		return true
	}
	return false
}

func (s *scope) jsonbSubscript(out *expr.Subscript, subs []*pg.A_Indices, assign *assignSource, loc int32) expr.Expr {
	b := s.b
	out.Typ = b.columnType(sqltypes.OIDJsonb)
	for _, i := range subs {
		if i.IsSlice {
			n := i.Uidx
			if n == nil {
				n = i.Lidx
			}
			b.fail(exprLoc(n), pgerror.DatatypeMismatch, "jsonb subscript does not support slices")
		}
		x := s.expr(i.Uidx)
		t := typeOf(x)
		target := oidUnknown
		switch {
		case isUnknown(t):
			target = sqltypes.OIDText
		default:
			for _, want := range []sqltypes.OID{sqltypes.OIDInt4, sqltypes.OIDText} {
				if b.canCoerce1(t, want, implicit) {
					if !isUnknown(target) {
						panic(b.errAt(exprLoc(i.Uidx), pgerror.DatatypeMismatch, "subscript type %s is not supported", b.typeName(t)).
							WithHint("jsonb subscript must be coercible to only one type, integer or text."))
					}
					target = want
				}
			}
			if isUnknown(target) {
				panic(b.errAt(exprLoc(i.Uidx), pgerror.DatatypeMismatch, "subscript type %s is not supported", b.typeName(t)).
					WithHint("jsonb subscript must be coercible to either integer or text."))
			}
		}
		out.Upper = append(out.Upper, s.coerce(x, target, noTypMod, implicit, exprLoc(i.Uidx)))
	}
	if assign != nil {
		out.Assign = assign.value(s, sqltypes.OIDJsonb, noTypMod)
	}
	return out
}
