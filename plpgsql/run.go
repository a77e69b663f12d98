package plpgsql

import (
	"errors"
	"strconv"

	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

func itoa(n int) string { return strconv.Itoa(n) }

// flow is how a statement ended.
type flow uint8

const (
	goesOn flow = iota
	exits
	continues
	returns
)

// jump is where control goes after a statement: EXIT and CONTINUE may name a label.
type jump struct {
	flow
	label string
}

// Call runs the function. emit receives the rows of a function that returns a set.
// fields, when not nil, are the columns that the caller wants of a function that
// returns record; types are those of the arguments, nil: as declared. atomic: it may not end the transaction.
func (f *Function) Call(h Host, args []sqltypes.Datum, types []sqltypes.ColumnType, fields []sqltypes.Field, atomic bool, emit func(row []sqltypes.Datum) error) (Result, error) {
	fr := &frame{h: h, f: f, vars: make([]variable, len(f.data)), emit: emit, atomic: atomic, cols: fields, argTypes: types}
	res, err := fr.call(args)
	if err != nil {
		return res, fr.context(err)
	}
	return res, nil
}

func (fr *frame) call(args []sqltypes.Datum) (res Result, err error) {
	f := fr.f
	for i := range fr.vars {
		fr.vars[i].val = sqltypes.Null
		fr.vars[i].typ = f.data[i].typ
	}
	fr.setFound(false)
	fr.phase = "while storing call arguments into local variables"
	for i, n := range f.args {
		if i >= len(args) {
			break
		}
		typ := f.data[n].typ
		if typ.OID == sqltypes.OIDRecord && i < len(fr.argTypes) {
			typ = fr.argTypes[i]
		}
		if err := fr.assign(target{datum: n}, args[i], typ); err != nil {
			return res, err
		}
	}
	if err := fr.setTrigger(); err != nil {
		return res, err
	}
	fr.phase = "during function entry"
	j, err := fr.block(f.body)
	if err != nil {
		return res, err
	}
	fr.phase, fr.current = "", nil
	switch j.flow {
	case exits:
		return res, pgerror.New(pgerror.SyntaxError, "EXIT cannot be used outside a loop, unless it has a label")
	case continues:
		return res, pgerror.New(pgerror.SyntaxError, "CONTINUE cannot be used outside a loop")
	}
	fr.phase = "while casting return value to function's return type"
	return fr.result()
}

// result is the value of the call.
func (fr *frame) result() (res Result, err error) {
	f := fr.f
	res.Value = sqltypes.Null
	switch {
	case f.Kind == 't':
		if !fr.returned {
			return res, fr.noReturn("trigger procedure")
		}
		return fr.triggerResult()
	case f.RetSet || f.Kind == 'd':
		return res, nil
	case f.Kind == 'p':
		for _, n := range f.outs {
			v, _, err := fr.get(n, "")
			if err != nil {
				return res, err
			}
			res.Outs = append(res.Outs, v)
		}
		return res, nil
	case len(f.outs) > 0:
		if len(f.outs) == 1 {
			res.Value, _, err = fr.get(f.outs[0], "")
			return res, err
		}
		r, err := fr.outRecord()
		if err != nil {
			return res, err
		}
		res.Value = fr.datum(r)
		return res, nil
	case f.Ret.OID == sqltypes.OIDVoid:
		res.Value = sqltypes.Text("")
		return res, nil
	case !fr.returned:
		return res, fr.noReturn("function")
	}
	res.Value = fr.ret
	return res, nil
}

func (fr *frame) noReturn(kind string) error {
	fr.phase = ""
	return pgerror.New(pgerror.SREFunctionExecutedNoReturnStatement, "control reached end of %s without RETURN", kind)
}

// outRecord is the row of the output parameters.
func (fr *frame) outRecord() (*record, error) {
	r := &record{}
	for _, n := range fr.f.outs {
		d := fr.f.data[n]
		v, typ, err := fr.get(n, "")
		if err != nil {
			if d.record {
				v, typ = sqltypes.Null, d.typ
			} else {
				return nil, err
			}
		}
		r.names, r.types, r.vals = append(r.names, d.name), append(r.types, typ), append(r.vals, v)
	}
	return r, nil
}

// list runs statements one after the other.
func (fr *frame) list(list []stmt) (jump, error) {
	for _, s := range list {
		if j, err := fr.run(s); err != nil || j.flow != goesOn {
			return j, err
		}
	}
	return jump{}, nil
}

// checkEvery is how many statements run between two looks at cancellation.
const checkEvery = 64

func (fr *frame) run(s stmt) (jump, error) {
	saved := fr.current
	fr.current, fr.phase = s, ""
	if fr.steps++; fr.steps%checkEvery == 0 {
		if err := fr.h.Cancelled(); err != nil {
			return jump{}, err
		}
	}
	j, err := fr.exec(s)
	if err == nil {
		fr.current = saved
	}
	return j, err
}

func (fr *frame) exec(s stmt) (jump, error) {
	switch s := s.(type) {
	case *assignStmt:
		return jump{}, fr.assignment(s)
	case *ifStmt:
		for i, c := range s.conds {
			ok, err := fr.boolean(c)
			if err != nil {
				return jump{}, err
			}
			if ok {
				return fr.list(s.bodies[i])
			}
		}
		return fr.list(s.orElse)
	case *block:
		return fr.block(s)
	case *caseStmt:
		return fr.caseOf(s)
	case *loopStmt:
		return fr.loop(s)
	case *forInt:
		return fr.forInt(s)
	case *forRows:
		return fr.forRows(s)
	case *forEach:
		return fr.forEach(s)
	case *exitStmt:
		if s.cond != nil {
			if ok, err := fr.boolean(s.cond); err != nil || !ok {
				return jump{}, err
			}
		}
		if s.continues {
			return jump{continues, s.label}, nil
		}
		return jump{exits, s.label}, nil
	case *returnStmt:
		return jump{flow: returns}, fr.returnValue(s)
	case *returnNext:
		return jump{}, fr.returnNext(s)
	case *returnQuery:
		return jump{}, fr.returnQuery(s)
	case *raiseStmt:
		return jump{}, fr.raise(s)
	case *assertStmt:
		return jump{}, fr.assertion(s)
	case *sqlStmt:
		return jump{}, fr.sql(s)
	case *performStmt:
		out, err := fr.h.Execute(s.query, fr.names(s.query), 0, nil)
		if err != nil {
			return jump{}, inStatement(err, s.query.Source)
		}
		fr.rowCount = out.Rows
		fr.setFound(out.Rows > 0)
		return jump{}, nil
	case *executeStmt:
		return jump{}, fr.dynamic(s)
	case *diagStmt:
		return jump{}, fr.diagnostics(s)
	case *openStmt:
		return jump{}, fr.open(s)
	case *fetchStmt:
		return jump{}, fr.fetch(s)
	case *closeStmt:
		v := fr.vars[s.cursor].val
		if v.Null {
			return jump{}, pgerror.New(pgerror.NullValueNotAllowed, "cursor variable \"%s\" is null", fr.f.data[s.cursor].name)
		}
		return jump{}, fr.h.CloseCursor(v.S)
	case *nullStmt:
		return jump{}, nil
	case *endTxnStmt:
		if fr.atomic {
			return jump{}, pgerror.New(pgerror.InvalidTransactionTermination, "invalid transaction termination")
		}
		return jump{}, fr.h.EndTransaction(s.commit, s.chain)
	}
	return jump{}, pgerror.NotSupported("this statement of PL/pgSQL")
}

func (fr *frame) assignment(s *assignStmt) error {
	val, typ, err := fr.eval(s.expr)
	if err != nil {
		return err
	}
	if s.from >= 0 && s.target.field == "" && fr.f.data[s.target.datum].record {
		r, err := fr.record(s.from)
		if err != nil {
			return err
		}
		return fr.setRecord(s.target.datum, fr.f.data[s.target.datum], r)
	}
	return fr.assign(s.target, val, typ)
}

func (fr *frame) caseOf(s *caseStmt) (jump, error) {
	if s.operand != nil {
		v, typ, err := fr.eval(s.operand)
		if err != nil {
			return jump{}, err
		}
		fr.vars[s.tmp].val, fr.vars[s.tmp].typ = v, typ
	}
	for i, c := range s.conds {
		ok, err := fr.boolean(c)
		if err != nil {
			return jump{}, err
		}
		if ok {
			return fr.list(s.bodies[i])
		}
	}
	if !s.hasElse {
		return jump{}, pgerror.New(pgerror.CaseNotFound, "case not found").WithHint("CASE statement is missing ELSE part.")
	}
	return fr.list(s.orElse)
}

// after tells what a loop does with how its body ended: stop it, and what the loop
// itself answers.
func after(j jump, label string) (stop bool, out jump) {
	mine := j.label == "" || j.label == label
	switch j.flow {
	case goesOn:
		return false, jump{}
	case continues:
		if mine {
			return false, jump{}
		}
	case exits:
		if mine {
			return true, jump{}
		}
	}
	return true, j
}

func (fr *frame) loop(s *loopStmt) (jump, error) {
	for {
		if fr.steps++; fr.steps%checkEvery == 0 {
			if err := fr.h.Cancelled(); err != nil {
				return jump{}, err
			}
		}
		if s.cond != nil {
			if ok, err := fr.boolean(s.cond); err != nil || !ok {
				return jump{}, err
			}
		}
		j, err := fr.list(s.body)
		if err != nil {
			return j, err
		}
		if stop, out := after(j, s.label); stop {
			return out, nil
		}
		fr.current = s
	}
}

func (fr *frame) forInt(s *forInt) (jump, error) {
	bound := func(q *Query, what string) (int64, error) {
		n, null, err := fr.integer(q)
		if err == nil && null {
			err = pgerror.New(pgerror.NullValueNotAllowed, "%s of FOR loop cannot be null", what)
		}
		return n, err
	}
	at, err := bound(s.lower, "lower bound")
	if err != nil {
		return jump{}, err
	}
	end, err := bound(s.upper, "upper bound")
	if err != nil {
		return jump{}, err
	}
	step := int64(1)
	if s.by != nil {
		if step, err = bound(s.by, "BY value"); err != nil {
			return jump{}, err
		}
		if step <= 0 {
			return jump{}, pgerror.New(pgerror.InvalidParameterValue, "BY value of FOR loop must be greater than zero")
		}
	}
	found := false
	out := jump{}
	for !s.reverse && at <= end || s.reverse && at >= end {
		found = true
		fr.vars[s.v].val = sqltypes.Int(at)
		j, err := fr.list(s.body)
		if err != nil {
			return j, err
		}
		var stop bool
		if stop, out = after(j, s.label); stop {
			break
		}
		fr.current = s
		if fr.steps++; fr.steps%checkEvery == 0 {
			if err := fr.h.Cancelled(); err != nil {
				return jump{}, err
			}
		}
		if s.reverse {
			at -= step
		} else {
			at += step
		}
		if at > 1<<31-1 || at < -1<<31 {
			break
		}
	}
	fr.setFound(found)
	return out, nil
}

// forRows is FOR over the rows of a query, of EXECUTE or of a cursor.
func (fr *frame) forRows(s *forRows) (jump, error) {
	out, found := jump{}, false
	row := func(cols []planner.Column, row []sqltypes.Datum) error {
		found = true
		if err := fr.store(&s.into, cols, row, false); err != nil {
			return err
		}
		j, err := fr.list(s.body)
		if err != nil {
			return err
		}
		var stop bool
		if stop, out = after(j, s.label); stop {
			return ErrStop
		}
		fr.current = s
		return nil
	}
	var o Outcome
	var err error
	switch {
	case s.cursor >= 0 && s.query == nil && s.text == nil:
		err = fr.forCursor(s, row)
	case s.query != nil:
		o, err = fr.h.Buffered(func(rows RowFunc) (Outcome, error) {
			o, err := fr.h.Execute(s.query, fr.names(s.query), 0, rows)
			if err == nil && o.Columns == nil {
				err = pgerror.New(pgerror.SyntaxError, "cannot open %s query as cursor", o.Tag)
			}
			return o, inStatement(err, s.query.Source)
		}, row)
	default:
		var text string
		var vals []sqltypes.Datum
		var types []sqltypes.OID
		if text, err = fr.queryText(s.text); err != nil {
			return jump{}, err
		}
		if vals, types, err = fr.arguments(s.using); err != nil {
			return jump{}, err
		}
		o, err = fr.h.Buffered(func(rows RowFunc) (Outcome, error) {
			o, err := fr.h.Dynamic(text, vals, types, 0, rows)
			return o, inStatement(err, text)
		}, row)
	}
	if err != nil && !errors.Is(err, ErrStop) {
		return jump{}, err
	}
	if !found {
		if err := fr.storeNulls(&s.into, o.Columns); err != nil {
			return jump{}, err
		}
	}
	fr.setFound(found)
	return out, nil
}

// queryText is the text of EXECUTE.
func (fr *frame) queryText(q *Query) (string, error) {
	s, null, err := fr.text(q)
	if err == nil && null {
		err = pgerror.New(pgerror.NullValueNotAllowed, "query string argument of EXECUTE is null")
	}
	return s, err
}

func (fr *frame) forEach(s *forEach) (jump, error) {
	d, typ, err := fr.eval(s.array)
	if err != nil {
		return jump{}, err
	}
	if d.Null {
		return jump{}, pgerror.New(pgerror.NullValueNotAllowed, "FOREACH expression must not be null")
	}
	t := fr.h.Type(typ.OID)
	for t != nil && t.TypType == 'd' && t.Base != nil {
		t = t.Base
	}
	if t == nil || !t.IsArray {
		return jump{}, pgerror.New(pgerror.DatatypeMismatch, "FOREACH expression must yield an array, not type %s", sqltypes.FormatType(typ.OID, -1))
	}
	items, itemType, err := cutArray(d, t, s.slice)
	if err != nil {
		return jump{}, err
	}
	if s.slice == 0 && s.into.record < 0 && len(s.into.list) == 1 {
		if vt := fr.h.Type(fr.f.data[s.into.list[0].datum].typ.OID); s.into.list[0].field == "" && vt != nil && vt.IsArray {
			return jump{}, pgerror.New(pgerror.DatatypeMismatch, "FOREACH loop variable must not be of an array type")
		}
	}
	if s.slice > 0 {
		ok := s.into.record < 0 && len(s.into.list) == 1
		if ok && s.into.list[0].field == "" {
			vt := fr.h.Type(fr.f.data[s.into.list[0].datum].typ.OID)
			ok = vt != nil && vt.IsArray
		}
		if !ok {
			return jump{}, pgerror.New(pgerror.DatatypeMismatch, "FOREACH ... SLICE loop variable must be of an array type")
		}
	}
	found := false
	out := jump{}
	for _, item := range items {
		found = true
		if s.into.record < 0 && len(s.into.list) == 1 {
			err = fr.assign(s.into.list[0], item, sqltypes.ColumnType{OID: itemType, TypMod: -1})
		} else if s.into.record >= 0 {
			err = fr.assignRecord(s.into.record, item, sqltypes.ColumnType{OID: itemType, TypMod: -1})
		} else {
			err = fr.spread(&s.into, item, itemType)
		}
		if err != nil {
			return jump{}, err
		}
		j, err := fr.list(s.body)
		if err != nil {
			return j, err
		}
		var stop bool
		if stop, out = after(j, s.label); stop {
			break
		}
		fr.current = s
	}
	fr.setFound(found)
	return out, nil
}
