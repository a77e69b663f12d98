package plpgsql

import (
	"errors"
	"strings"

	"ostraka/expr"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// store puts a row into what INTO or FOR names: columns that lack become NULL,
// those that are too many are left out.
func (fr *frame) store(in *into, cols []planner.Column, row []sqltypes.Datum, null bool) error {
	if in.record >= 0 {
		r := &record{null: null}
		for i, c := range cols {
			r.names, r.types = append(r.names, c.Name), append(r.types, c.Type)
			if null {
				r.vals = append(r.vals, sqltypes.Null)
			} else {
				r.vals = append(r.vals, keep(row[i]))
			}
		}
		d := fr.f.data[in.record]
		if null && d.notNull {
			return pgerror.New(pgerror.NullValueNotAllowed, "null value cannot be assigned to variable \"%s\" declared NOT NULL", d.name)
		}
		if d.typ.OID != sqltypes.OIDRecord && len(cols) == 1 && !null && cols[0].Type.OID == d.typ.OID {
			return fr.assignRecord(in.record, keep(row[0]), d.typ) // one column that is the row
		}
		if d.typ.OID != sqltypes.OIDRecord && !null {
			if t := fr.baseType(d.typ.OID); t != nil {
				if err := fr.sameCount(len(cols), len(t.Fields)); err != nil {
					return err
				}
			}
		}
		return fr.setRecord(in.record, d, r)
	}
	if !null {
		if err := fr.sameCount(len(cols), len(in.list)); err != nil {
			return err
		}
	}
	for i, t := range in.list {
		val, typ := sqltypes.Null, sqltypes.ColumnType{OID: sqltypes.OIDUnknown, TypMod: -1}
		if !null && i < len(cols) {
			val, typ = keep(row[i]), cols[i].Type
		}
		if err := fr.assign(t, val, typ); err != nil {
			return err
		}
	}
	return nil
}

// extra reports whether plpgsql.extra_errors asks for a check.
func (fr *frame) extra(check string) bool {
	v, ok := fr.h.Setting("plpgsql.extra_errors")
	return ok && v != "" && v != "none" && (v == "all" || strings.Contains(v, check))
}

// sameCount is the check strict_multi_assignment.
func (fr *frame) sameCount(have, want int) error {
	if have == want || !fr.extra("strict_multi_assignment") {
		return nil
	}
	return pgerror.New(pgerror.DatatypeMismatch, "number of source and target fields in assignment does not match").
		WithDetail("strict_multi_assignment check of extra_errors is active.").
		WithHint("Make sure the query returns the exact list of columns.")
}

func (fr *frame) storeNulls(in *into, cols []planner.Column) error {
	return fr.store(in, cols, nil, true)
}

// spread puts the fields of a composite value into a list of variables.
func (fr *frame) spread(in *into, val sqltypes.Datum, typ sqltypes.OID) error {
	t := fr.h.Type(typ)
	if t == nil || t.TypType != 'c' && typ != sqltypes.OIDRecord {
		return pgerror.New(pgerror.DatatypeMismatch, "cannot assign non-composite value to a row variable")
	}
	var cols []planner.Column
	for _, f := range t.Fields {
		cols = append(cols, planner.Column{Name: f.Name, Type: f.ColumnType})
	}
	return fr.store(in, cols, expr.RecordFields(val, len(cols)), val.Null)
}

// keep copies what a value shares with the batch that it came in.
func keep(d sqltypes.Datum) sqltypes.Datum {
	if d.S != "" {
		d.S = string([]byte(d.S))
	}
	return d
}

// intoRows runs a statement for INTO: the first row is stored.
func (fr *frame) intoRows(in *into, changes bool, run func(limit int64, rows RowFunc) (Outcome, error)) (Outcome, error) {
	limit := int64(1)
	if in.strict || changes || fr.extra("too_many_rows") {
		limit = 2
	}
	var cols []planner.Column
	var first []sqltypes.Datum
	n := 0
	o, err := run(limit, func(c []planner.Column, row []sqltypes.Datum) error {
		if n++; n == 1 {
			cols = c
			first = make([]sqltypes.Datum, len(row))
			for i, d := range row {
				first[i] = keep(d)
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, ErrStop) {
		return o, err
	}
	if o.Columns == nil {
		return o, pgerror.New(pgerror.SyntaxError, "INTO used with a command that cannot return data")
	}
	switch {
	case n == 0 && in.strict:
		return o, pgerror.New(pgerror.NoDataFound, "query returned no rows")
	case n > 1 && (in.strict || changes || fr.extra("too_many_rows")):
		return o, pgerror.New(pgerror.TooManyRows, "query returned more than one row").
			WithHint("Make sure the query returns a single row, or use LIMIT 1.")
	case n == 0:
		return o, fr.storeNulls(in, o.Columns)
	}
	return o, fr.store(in, cols, first, false)
}

func (fr *frame) sql(s *sqlStmt) error {
	q := s.query
	if s.kind == 'c' || s.kind == 'd' {
		return fr.callProcedure(s)
	}
	if s.into == nil {
		o, err := fr.h.Execute(q, fr.names(q), 0, nil)
		if err != nil {
			return inStatement(err, q.Source)
		}
		if o.Columns != nil {
			e := pgerror.New(pgerror.SyntaxError, "query has no destination for result data")
			if o.Tag == "SELECT" {
				e = e.WithHint("If you want to discard the results of a SELECT, use PERFORM instead.")
			}
			return e
		}
		fr.rowCount = o.Rows
		if s.mod || changesRows(o.Tag) {
			fr.setFound(o.Rows > 0)
		}
		return nil
	}
	o, err := fr.intoRows(s.into, s.mod, func(limit int64, rows RowFunc) (Outcome, error) {
		o, err := fr.h.Execute(q, fr.names(q), limit, rows)
		return o, inStatement(err, q.Source)
	})
	if err != nil {
		return err
	}
	fr.rowCount = o.Rows
	fr.setFound(o.Rows > 0)
	return nil
}

func changesRows(tag string) bool {
	switch tag {
	case "INSERT", "UPDATE", "DELETE", "MERGE":
		return true
	}
	return false
}

// callProcedure is CALL: output arguments are variables that get the values.
func (fr *frame) callProcedure(s *sqlStmt) error {
	q := s.query
	var vals []sqltypes.Datum
	var cols []planner.Column
	o, err := fr.h.CallProcedure(q, fr.names(q), fr.atomic, func(c []planner.Column, row []sqltypes.Datum) error {
		cols = c
		for _, d := range row {
			vals = append(vals, keep(d))
		}
		return nil
	})
	if err != nil {
		return inStatement(err, q.Source)
	}
	if len(o.Outs) == 0 || vals == nil {
		return nil
	}
	args, err := fr.f.callArguments(q)
	if err != nil {
		return err
	}
	for i, out := range o.Outs {
		found := false
		for k, a := range args {
			if a.name == "" && k == out.Place || a.name != "" && a.name == out.Name {
				found = true
				if a.target == nil {
					return pgerror.New(pgerror.SyntaxError, "procedure parameter \"%s\" is an output parameter but corresponding argument is not writable", out.Name)
				}
				if err := fr.assign(*a.target, vals[i], cols[i].Type); err != nil {
					return err
				}
			}
		}
		if !found {
			return pgerror.New(pgerror.SyntaxError, "procedure parameter \"%s\" is an output parameter but corresponding argument is not writable", out.Name)
		}
	}
	return nil
}

// callArgument is an argument of CALL: the name before =>, and the variable that it is.
type callArgument struct {
	name   string
	target *target
}

// callArguments takes the arguments of a CALL apart.
func (f *Function) callArguments(q *Query) (out []callArgument, err error) {
	p := &parser{lexer: lexer{src: q.Text + ";"}, f: f, ns: q.ns}
	for {
		t, err := p.next()
		if err != nil || t.kind == tokEOF {
			return nil, err
		}
		if t.is("(") {
			break
		}
	}
	for {
		var a callArgument
		name, err := p.peek(0)
		if err != nil {
			return nil, err
		}
		op, err := p.peek(1)
		if err != nil {
			return nil, err
		}
		if after, err := p.peek(2); err != nil {
			return nil, err
		} else if name.name() && (op.is(":=") || op.is("=") && after.is(">")) {
			a.name = name.val
			_, _ = p.next()
			_, _ = p.next()
			if op.is("=") {
				_, _ = p.next()
			}
		}
		text, end, err := p.until(",", ")")
		if err != nil {
			return nil, err
		}
		sub := &parser{lexer: lexer{src: text}, f: f, ns: q.ns}
		if names, first, err := sub.dotted(); err == nil {
			if rest, err := sub.next(); err == nil && rest.kind == tokEOF {
				tg, more, err := sub.resolve(names, first)
				if pgerror.Is(err, pgerror.ErrorInAssignment) {
					return nil, err
				}
				if err == nil && len(more) == 0 {
					a.target = &tg
				}
			}
		}
		out = append(out, a)
		if end.is(")") {
			return out, nil
		}
	}
}

func (fr *frame) dynamic(s *executeStmt) error {
	text, err := fr.queryText(s.text)
	if err != nil {
		return err
	}
	vals, types, err := fr.arguments(s.using)
	if err != nil {
		return err
	}
	if s.into == nil {
		o, err := fr.h.Dynamic(text, vals, types, 0, nil)
		if err != nil {
			return inStatement(err, text)
		}
		fr.rowCount = o.Rows
		return nil
	}
	o, err := fr.intoRows(s.into, false, func(limit int64, rows RowFunc) (Outcome, error) {
		o, err := fr.h.Dynamic(text, vals, types, limit, rows)
		return o, inStatement(err, text)
	})
	fr.rowCount = o.Rows
	return err
}

// open opens a cursor.
func (fr *frame) open(s *openStmt) error {
	v := &fr.vars[s.cursor]
	name := ""
	if !v.val.Null {
		name = v.val.S
	}
	d := fr.f.data[s.cursor]
	var err error
	switch {
	case d.cursor != nil:
		name, err = fr.openBound(s.cursor, s.args)
	case s.query != nil:
		name, err = fr.h.Open(name, s.query, fr.names(s.query), s.scroll)
		err = inStatement(err, s.query.Source)
	default:
		var text string
		var vals []sqltypes.Datum
		var types []sqltypes.OID
		if text, err = fr.queryText(s.text); err != nil {
			return err
		}
		if vals, types, err = fr.arguments(s.using); err != nil {
			return err
		}
		name, err = fr.h.OpenDynamic(name, text, vals, types, s.scroll)
		err = inStatement(err, text)
	}
	if err != nil {
		return err
	}
	v.val = sqltypes.Text(name)
	return nil
}

// openBound opens the query of a cursor variable with arguments.
func (fr *frame) openBound(n int, args []*Query) (string, error) {
	d := fr.f.data[n]
	name := ""
	if !fr.vars[n].val.Null {
		name = fr.vars[n].val.S
	}
	for i, q := range args {
		val, typ, err := fr.eval(q)
		if err != nil {
			return "", err
		}
		if err := fr.assign(target{datum: d.cursor.args[i]}, val, typ); err != nil {
			return "", err
		}
	}
	q := d.cursor.query
	return fr.h.Open(name, q, fr.names(q), d.cursor.scroll)
}

// forCursor runs a loop over a bound cursor.
func (fr *frame) forCursor(s *forRows, row RowFunc) error {
	v := &fr.vars[s.cursor]
	unnamed := v.val.Null
	name, err := fr.openBound(s.cursor, s.args)
	if err != nil {
		return err
	}
	v.val = sqltypes.Text(name)
	fr.h.Pin(name, true)
	defer fr.h.Pin(name, false)
	for {
		var cols []planner.Column
		var vals []sqltypes.Datum
		n, err := fr.h.Fetch(name, "next", 1, false, false, func(c []planner.Column, r []sqltypes.Datum) error {
			cols = c
			for _, d := range r {
				vals = append(vals, keep(d))
			}
			return nil
		})
		if err == nil && n > 0 {
			err = row(cols, vals)
		}
		if err != nil && !errors.Is(err, ErrStop) {
			return err
		}
		if err != nil || n == 0 {
			break
		}
	}
	if unnamed {
		v.val = sqltypes.Null
	}
	return fr.h.CloseCursor(name)
}

func (fr *frame) fetch(s *fetchStmt) error {
	v := fr.vars[s.cursor].val
	if v.Null {
		return pgerror.New(pgerror.NullValueNotAllowed, "cursor variable \"%s\" is null", fr.f.data[s.cursor].name)
	}
	count := int64(1)
	if s.count != nil {
		n, null, err := fr.integer(s.count)
		if err != nil {
			return err
		}
		if null {
			return pgerror.New(pgerror.NullValueNotAllowed, "relative or absolute cursor position is null")
		}
		count = n
	}
	var cols []planner.Column
	var last []sqltypes.Datum
	n, err := fr.h.Fetch(v.S, s.dir, count, s.all, s.move, func(c []planner.Column, row []sqltypes.Datum) error {
		cols = c
		last = last[:0]
		for _, d := range row {
			last = append(last, keep(d))
		}
		return nil
	})
	if err != nil {
		return err
	}
	fr.rowCount = n
	fr.setFound(n > 0)
	if s.move {
		return nil
	}
	if cols == nil || n == 0 {
		return fr.storeNulls(s.into, cols)
	}
	return fr.store(s.into, cols, last, false)
}
