package plpgsql

import (
	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// resultFields are the columns of a composite result: of the output parameters, the
// row type, or what the caller says; nil: one value, or not known.
func (fr *frame) resultFields() []sqltypes.Field {
	f := fr.f
	if len(f.outs) > 1 || len(f.outs) == 1 && f.RetSet && f.Args[len(f.Args)-1].Mode == 't' && f.Ret.OID == sqltypes.OIDRecord {
		var out []sqltypes.Field
		for _, n := range f.outs {
			d := f.data[n]
			out = append(out, sqltypes.Field{Name: d.name, ColumnType: d.typ})
		}
		return out
	}
	if f.Ret.OID == sqltypes.OIDRecord {
		return fr.cols
	}
	if t := fr.baseType(f.Ret.OID); t != nil && t.TypType == 'c' {
		return t.Fields
	}
	return nil
}

func (fr *frame) baseType(oid sqltypes.OID) *sqltypes.Type {
	t := fr.h.Type(oid)
	for t != nil && t.TypType == 'd' && t.Base != nil {
		t = t.Base
	}
	return t
}

func (fr *frame) isRow(oid sqltypes.OID) bool {
	t := fr.baseType(oid)
	return oid == sqltypes.OIDRecord || t != nil && t.TypType == 'c'
}

// returnValue is RETURN.
func (fr *frame) returnValue(s *returnStmt) error {
	fr.returned, fr.ret, fr.retRow = true, sqltypes.Null, nil
	if s.expr == nil {
		return nil
	}
	f := fr.f
	if s.v >= 0 {
		r := fr.vars[s.v].rec
		if r == nil {
			var err error
			if r, err = fr.record(s.v); err != nil && f.Kind != 't' {
				r = nil
			}
		}
		if f.Kind == 't' {
			if r != nil && !r.null {
				fr.retRow = r
			}
			return nil
		}
		if !fr.isRow(f.Ret.OID) {
			val, typ, err := fr.get(s.v, "")
			if err == nil {
				fr.ret, err = fr.coerce(val, typ, f.Ret)
			}
			return err
		}
		if r == nil || r.null {
			return nil
		}
		out, err := fr.asResult(r)
		if err == nil {
			fr.ret, err = fr.checked(fr.datum(out), f.Ret)
		}
		return err
	}
	val, typ, err := fr.eval(s.expr)
	if err != nil {
		return err
	}
	if f.Kind == 't' {
		return fr.returnRow(val, typ)
	}
	if !fr.isRow(f.Ret.OID) {
		fr.ret, err = fr.coerce(val, typ, f.Ret)
		return err
	}
	if val.Null {
		return nil
	}
	r, err := fr.opened(val, typ)
	if err != nil {
		return err
	}
	if r, err = fr.asResult(r); err != nil {
		return err
	}
	fr.ret, err = fr.checked(fr.datum(r), f.Ret)
	return err
}

// opened takes a composite value apart.
func (fr *frame) opened(val sqltypes.Datum, typ sqltypes.ColumnType) (*record, error) {
	if !fr.isRow(typ.OID) {
		return nil, pgerror.New(pgerror.DatatypeMismatch, "cannot return non-composite value from function returning composite type")
	}
	r := &record{}
	if typ.OID == sqltypes.OIDRecord {
		v := sqltypes.OpenRecord(val)
		for i := 0; i < v.Len(); i++ {
			r.names = append(r.names, "f"+itoa(i+1))
			r.types = append(r.types, sqltypes.ColumnType{OID: v.TypeOID(i), TypMod: -1})
			r.vals = append(r.vals, v.At(i))
		}
		return r, nil
	}
	r.typ = typ.OID
	t := fr.baseType(typ.OID)
	vals := expr.RecordFields(val, len(t.Fields))
	for i, f := range t.Fields {
		r.names, r.types, r.vals = append(r.names, f.Name), append(r.types, f.ColumnType), append(r.vals, vals[i])
	}
	return r, nil
}

// asResult converts a row to the function's result, column by column.
func (fr *frame) asResult(r *record) (*record, error) {
	fields := fr.resultFields()
	if fields == nil || r.typ != 0 && r.typ == fr.f.Ret.OID {
		return r, nil
	}
	types := make([]sqltypes.ColumnType, len(r.types))
	copy(types, r.types)
	if err := fr.matches(types, fields, "returned record type does not match expected record type"); err != nil {
		return nil, err
	}
	out := &record{}
	for i, f := range fields {
		v, err := fr.coerce(r.vals[i], r.types[i], f.ColumnType)
		if err != nil {
			return nil, err
		}
		out.names, out.types, out.vals = append(out.names, f.Name), append(out.types, f.ColumnType), append(out.vals, v)
	}
	return out, nil
}

// matches tests that columns are those of the result.
func (fr *frame) matches(have []sqltypes.ColumnType, want []sqltypes.Field, message string) error {
	if len(have) != len(want) {
		return pgerror.New(pgerror.DatatypeMismatch, "%s", message).
			WithDetail("Number of returned columns (%d) does not match expected column count (%d).", len(have), len(want))
	}
	for i := range have {
		if have[i].OID == want[i].OID || have[i].OID == sqltypes.OIDUnknown && want[i].OID == sqltypes.OIDText {
			continue
		}
		return pgerror.New(pgerror.DatatypeMismatch, "%s", message).
			WithDetail("Returned type %s does not match expected type %s in column %d.", fr.typeName(have[i]), fr.typeName(want[i].ColumnType), i+1)
	}
	return nil
}

func (fr *frame) typeName(t sqltypes.ColumnType) string { return sqltypes.FormatType(t.OID, t.TypMod) }

func (fr *frame) returnNext(s *returnNext) error {
	f := fr.f
	if len(f.outs) > 0 {
		r, err := fr.outRecord()
		if err != nil {
			return err
		}
		return fr.emit(r.vals)
	}
	if s.v >= 0 {
		if !fr.isRow(f.Ret.OID) {
			return pgerror.New(pgerror.DatatypeMismatch, "wrong result type supplied in RETURN NEXT")
		}
		r, err := fr.record(s.v)
		if err != nil {
			return err
		}
		if r, err = fr.asResult(r); err != nil {
			return err
		}
		return fr.emit(r.vals)
	}
	val, typ, err := fr.eval(s.expr)
	if err != nil {
		return err
	}
	if !fr.isRow(f.Ret.OID) {
		if val, err = fr.coerce(val, typ, f.Ret); err != nil {
			return err
		}
		return fr.emit([]sqltypes.Datum{val})
	}
	if val.Null {
		n := len(fr.resultFields())
		row := make([]sqltypes.Datum, n)
		for i := range row {
			row[i] = sqltypes.Null
		}
		return fr.emit(row)
	}
	r, err := fr.opened(val, typ)
	if err != nil {
		return err
	}
	if r, err = fr.asResult(r); err != nil {
		return err
	}
	return fr.emit(r.vals)
}

// returnQuery is RETURN QUERY.
func (fr *frame) returnQuery(s *returnQuery) error {
	fields := fr.resultFields()
	if fields == nil {
		typ := fr.f.Ret
		if len(fr.f.outs) == 1 {
			typ = fr.f.data[fr.f.outs[0]].typ
		}
		if typ.OID != sqltypes.OIDRecord {
			fields = []sqltypes.Field{{ColumnType: typ}}
		}
	}
	checked := false
	var n int64
	check := func(cols []planner.Column) error {
		if checked || fields == nil {
			return nil
		}
		checked = true
		types := make([]sqltypes.ColumnType, len(cols))
		for i, c := range cols {
			types[i] = c.Type
		}
		return fr.matches(types, fields, "structure of query does not match function result type")
	}
	rows := func(cols []planner.Column, row []sqltypes.Datum) error {
		if err := check(cols); err != nil {
			return err
		}
		n++
		for i := range row {
			if fields != nil && fields[i].TypMod >= 0 && cols[i].Type.TypMod != fields[i].TypMod {
				var err error
				if row[i], err = fr.coerce(row[i], cols[i].Type, fields[i].ColumnType); err != nil {
					return err
				}
			}
		}
		return fr.emit(row)
	}
	var o Outcome
	var err error
	source := ""
	if s.query != nil {
		source = s.query.Source
		o, err = fr.h.Execute(s.query, fr.names(s.query), 0, rows)
	} else {
		var vals []sqltypes.Datum
		var types []sqltypes.OID
		if source, err = fr.queryText(s.text); err != nil {
			return err
		}
		if vals, types, err = fr.arguments(s.using); err != nil {
			return err
		}
		o, err = fr.h.Dynamic(source, vals, types, 0, rows)
	}
	if err != nil {
		return inStatement(err, source)
	}
	if o.Columns == nil {
		return pgerror.New(pgerror.SyntaxError, "query is not a SELECT")
	}
	if err := check(o.Columns); err != nil {
		return err
	}
	fr.rowCount = n
	fr.setFound(n > 0)
	return nil
}
