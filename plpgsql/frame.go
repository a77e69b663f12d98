package plpgsql

import (
	"errors"
	"slices"

	"ostraka/expr"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// ErrStop is what a RowFunc answers when it wants no more rows.
var ErrStop = errors.New("plpgsql: enough rows")

// variable is a variable's value: of a record, the record.
type variable struct {
	val sqltypes.Datum
	typ sqltypes.ColumnType
	rec *record
}

// record is the value of a record variable.
type record struct {
	typ   sqltypes.OID // a composite type, 0: anonymous
	names []string
	types []sqltypes.ColumnType
	vals  []sqltypes.Datum
	null  bool
}

// frame is one call of a function.
type frame struct {
	h    Host
	f    *Function
	vars []variable
	emit func(row []sqltypes.Datum) error

	ret      sqltypes.Datum
	returned bool
	retRow   *record // of a trigger
	rowCount int64
	// handling is the error that the innermost exception handler works on.
	handling *pgerror.Error
	atomic   bool // no COMMIT or ROLLBACK: called by a query, or inside a subtransaction
	cols     []sqltypes.Field
	argTypes []sqltypes.ColumnType
	steps    int
	current  stmt
	phase    string // what CONTEXT says instead of a statement
	trig     *TriggerCall
}

func (fr *frame) names(q *Query) Names { return Names{fr, q} }

// typeOf is a scalar variable's type now.
func (fr *frame) typeOf(n int) (sqltypes.ColumnType, bool) {
	d := fr.f.data[n]
	if d.varies {
		return fr.vars[n].typ, true
	}
	return d.typ, false
}

// record is the value of a record variable; an error if its shape is not known yet.
func (fr *frame) record(n int) (*record, error) {
	v := &fr.vars[n]
	if v.rec != nil {
		return v.rec, nil
	}
	d := fr.f.data[n]
	if d.typ.OID == sqltypes.OIDRecord {
		return nil, pgerror.New(pgerror.ObjectNotInPrerequisiteState, "record \"%s\" is not assigned yet", d.name).
			WithDetail("The tuple structure of a not-yet-assigned record is indeterminate.")
	}
	r, err := fr.emptyRecord(d.typ.OID)
	v.rec = r
	return r, err
}

// emptyRecord is the NULL of a composite type.
func (fr *frame) emptyRecord(oid sqltypes.OID) (*record, error) {
	r := &record{typ: oid, null: true}
	t := fr.h.Type(oid)
	for t != nil && t.TypType == 'd' && t.Base != nil {
		t = t.Base
	}
	if t == nil {
		return nil, pgerror.New(pgerror.UndefinedObject, "type with OID %d does not exist", oid)
	}
	for _, f := range t.Fields {
		r.names, r.types, r.vals = append(r.names, f.Name), append(r.types, f.ColumnType), append(r.vals, sqltypes.Null)
	}
	return r, nil
}

// datum is the record as one value.
func (fr *frame) datum(r *record) sqltypes.Datum {
	if r == nil || r.null {
		return sqltypes.Null
	}
	types := make([]*sqltypes.Type, len(r.vals))
	for i, t := range r.types {
		if types[i] = fr.h.Type(t.OID); types[i] == nil {
			types[i] = sqltypes.TypeByOID(sqltypes.OIDText)
		}
	}
	return sqltypes.MakeRecord(types, r.vals)
}

// get reads a variable or a field of one.
func (fr *frame) get(n int, field string) (sqltypes.Datum, sqltypes.ColumnType, error) {
	d := fr.f.data[n]
	if !d.record {
		typ, _ := fr.typeOf(n)
		return fr.vars[n].val, typ, nil
	}
	if field == "" && fr.vars[n].rec == nil && d.typ.OID == sqltypes.OIDRecord {
		return sqltypes.Null, d.typ, nil
	}
	r, err := fr.record(n)
	if err != nil {
		return sqltypes.Null, sqltypes.ColumnType{}, err
	}
	if field == "" {
		typ := sqltypes.ColumnType{OID: sqltypes.OIDRecord, TypMod: -1}
		if r.typ != 0 {
			typ.OID = r.typ
		}
		return fr.datum(r), typ, nil
	}
	i := slices.Index(r.names, field)
	if i < 0 {
		return sqltypes.Null, sqltypes.ColumnType{}, pgerror.New(pgerror.UndefinedColumn, "record \"%s\" has no field \"%s\"", d.name, field)
	}
	return r.vals[i], r.types[i], nil
}

// assign stores a value of a type into a variable or field.
func (fr *frame) assign(t target, val sqltypes.Datum, typ sqltypes.ColumnType) error {
	d := fr.f.data[t.datum]
	switch {
	case !d.record:
		want, varies := fr.typeOf(t.datum)
		if !varies {
			var err error
			if val, err = fr.coerce(val, typ, want); err != nil {
				return err
			}
		}
		if val.Null && d.notNull {
			return pgerror.New(pgerror.NullValueNotAllowed, "null value cannot be assigned to variable \"%s\" declared NOT NULL", d.name)
		}
		fr.vars[t.datum].val = val
		return nil
	case t.field != "":
		r, err := fr.record(t.datum)
		if err != nil {
			return err
		}
		i := slices.Index(r.names, t.field)
		if i < 0 {
			return pgerror.New(pgerror.UndefinedColumn, "record \"%s\" has no field \"%s\"", d.name, t.field)
		}
		if val, err = fr.coerce(val, typ, r.types[i]); err != nil {
			return err
		}
		cp := *r
		cp.vals = slices.Clone(r.vals)
		cp.vals[i], cp.null = val, false
		if err := fr.checkRecord(d, &cp); err != nil {
			return err
		}
		fr.vars[t.datum].rec = &cp
		return nil
	}
	return fr.assignRecord(t.datum, val, typ)
}

// assignRecord stores a composite value into a record variable.
func (fr *frame) assignRecord(n int, val sqltypes.Datum, typ sqltypes.ColumnType) error {
	d := fr.f.data[n]
	t := fr.h.Type(typ.OID)
	for t != nil && t.TypType == 'd' && t.Base != nil {
		t = t.Base
	}
	composite := typ.OID == sqltypes.OIDRecord || t != nil && t.TypType == 'c'
	if val.Null {
		if !composite && typ.OID != sqltypes.OIDUnknown && typ.OID != sqltypes.OIDText {
			return pgerror.New(pgerror.DatatypeMismatch, "cannot assign non-composite value to a record variable")
		}
		return fr.setNull(n, typ)
	}
	if !composite {
		return pgerror.New(pgerror.DatatypeMismatch, "cannot assign non-composite value to a record variable")
	}
	r := &record{}
	vals := sqltypes.OpenRecord(val)
	if t != nil && t.TypType == 'c' {
		r.typ = typ.OID
		vs := expr.RecordFields(val, len(t.Fields))
		for i, f := range t.Fields {
			r.names, r.types, r.vals = append(r.names, f.Name), append(r.types, f.ColumnType), append(r.vals, vs[i])
		}
	} else {
		for i := 0; i < vals.Len(); i++ {
			r.names = append(r.names, "f"+itoa(i+1))
			r.types = append(r.types, sqltypes.ColumnType{OID: vals.TypeOID(i), TypMod: -1})
			r.vals = append(r.vals, vals.At(i))
		}
	}
	return fr.setRecord(n, d, r)
}

// setNull makes a record variable NULL.
func (fr *frame) setNull(n int, typ sqltypes.ColumnType) error {
	d := fr.f.data[n]
	if d.notNull {
		return pgerror.New(pgerror.NullValueNotAllowed, "null value cannot be assigned to variable \"%s\" declared NOT NULL", d.name)
	}
	if d.typ.OID != sqltypes.OIDRecord {
		r, err := fr.emptyRecord(d.typ.OID)
		fr.vars[n].rec = r
		return err
	}
	if t := fr.h.Type(typ.OID); t != nil && t.TypType == 'c' {
		r, err := fr.emptyRecord(typ.OID)
		fr.vars[n].rec = r
		return err
	}
	if old := fr.vars[n].rec; old != nil {
		cp := *old
		cp.vals = make([]sqltypes.Datum, len(old.vals))
		for i := range cp.vals {
			cp.vals[i] = sqltypes.Null
		}
		cp.null = true
		fr.vars[n].rec = &cp
	}
	return nil
}

// setRecord stores a row into a record variable; one of a composite type takes its
// columns by place.
func (fr *frame) setRecord(n int, d *datum, r *record) error {
	if d.typ.OID == sqltypes.OIDRecord || r.typ == d.typ.OID {
		fr.vars[n].rec = r
		return nil
	}
	out, err := fr.emptyRecord(d.typ.OID)
	if err != nil {
		return err
	}
	out.null = r.null
	for i := range out.vals {
		if i >= len(r.vals) {
			break
		}
		if out.vals[i], err = fr.coerce(r.vals[i], r.types[i], out.types[i]); err != nil {
			return err
		}
	}
	if err := fr.checkRecord(d, out); err != nil {
		return err
	}
	fr.vars[n].rec = out
	return nil
}

func (fr *frame) coerce(val sqltypes.Datum, from, to sqltypes.ColumnType) (sqltypes.Datum, error) {
	if from.OID == to.OID && (to.TypMod < 0 || to.TypMod == from.TypMod) {
		return val, nil
	}
	if to.OID != sqltypes.OIDRecord && !val.Null && fr.isRow(from.OID) && fr.isRow(to.OID) {
		r, err := fr.opened(val, from)
		if err != nil {
			return val, err
		}
		out, err := fr.emptyRecord(to.OID)
		if err != nil {
			return val, err
		}
		for i := range out.vals {
			if i < len(r.vals) {
				if out.vals[i], err = fr.coerce(r.vals[i], r.types[i], out.types[i]); err != nil {
					return val, err
				}
			}
		}
		out.null = false
		return fr.checked(fr.datum(out), to)
	}
	if !val.Null && fr.isRow(from.OID) && !fr.isRow(to.OID) {
		return fr.h.Coerce(sqltypes.Text(fr.output(val, from)), textType, to)
	}
	return fr.h.Coerce(val, from, to)
}

// checked tests a composite value against the domain over its type.
func (fr *frame) checked(val sqltypes.Datum, typ sqltypes.ColumnType) (sqltypes.Datum, error) {
	t := fr.h.Type(typ.OID)
	if t == nil || t.TypType != 'd' {
		return val, nil
	}
	for t.TypType == 'd' && t.Base != nil {
		t = t.Base
	}
	return fr.h.Coerce(val, sqltypes.ColumnType{OID: t.OID, TypMod: -1}, typ)
}

// checkRecord tests a record variable of a domain.
func (fr *frame) checkRecord(d *datum, r *record) error {
	t := fr.h.Type(d.typ.OID)
	if t == nil || t.TypType != 'd' {
		return nil
	}
	_, err := fr.checked(fr.datum(r), d.typ)
	return err
}

// eval computes an expression.
func (fr *frame) eval(q *Query) (sqltypes.Datum, sqltypes.ColumnType, error) {
	return fr.h.Evaluate(q, fr.names(q))
}

// boolean computes a condition.
func (fr *frame) boolean(q *Query) (bool, error) {
	d, typ, err := fr.eval(q)
	if err != nil {
		return false, err
	}
	if typ.OID != sqltypes.OIDBool {
		if d, err = fr.coerce(d, typ, sqltypes.ColumnType{OID: sqltypes.OIDBool, TypMod: -1}); err != nil {
			return false, err
		}
	}
	return d.True(), nil
}

// integer computes an integer; null tells NULL.
func (fr *frame) integer(q *Query) (n int64, null bool, err error) {
	d, typ, err := fr.eval(q)
	if err != nil {
		return 0, false, err
	}
	d, err = fr.coerce(d, typ, sqltypes.ColumnType{OID: sqltypes.OIDInt4, TypMod: -1})
	return d.I, d.Null, err
}

var textType = sqltypes.ColumnType{OID: sqltypes.OIDText, TypMod: -1}

// text computes an expression and converts its value to text as the type's output does.
func (fr *frame) text(q *Query) (s string, null bool, err error) {
	d, typ, err := fr.eval(q)
	if err != nil || d.Null {
		return "", d.Null, err
	}
	return fr.output(d, typ), false, nil
}

func (fr *frame) output(d sqltypes.Datum, typ sqltypes.ColumnType) string {
	t := fr.h.Type(typ.OID)
	if t == nil || t.Out == nil {
		return d.S
	}
	return string(t.Out(fr.h.Env(), nil, d))
}

// arguments computes the values of USING.
func (fr *frame) arguments(list []*Query) (vals []sqltypes.Datum, types []sqltypes.OID, err error) {
	for _, q := range list {
		d, typ, err := fr.eval(q)
		if err != nil {
			return nil, nil, err
		}
		vals, types = append(vals, d), append(types, typ.OID)
	}
	return vals, types, nil
}

func (fr *frame) setFound(b bool) { fr.vars[fr.f.found].val = sqltypes.Bool(b) }
