package plpgsql

import (
	"errors"
	"strings"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// block runs a block: its declarations, its statements and, if one fails, the handler
// for the error, after what the statements did has been undone.
func (fr *frame) block(b *block) (jump, error) {
	if b.line > 0 && fr.phase == "" {
		fr.current = b
	}
	for _, n := range b.vars {
		if err := fr.initialise(n); err != nil {
			fr.phase = "during statement block local variable initialization"
			fr.current = b
			return jump{}, err
		}
	}
	var j jump
	var err error
	if b.hasHandler {
		j, err = fr.guarded(b)
	} else {
		j, err = fr.list(b.body)
	}
	if err == nil && j.flow == exits && j.label != "" && j.label == b.label {
		j = jump{}
	}
	return j, err
}

// initialise gives a variable its value at the start of its block.
func (fr *frame) initialise(n int) error {
	d := fr.f.data[n]
	v := &fr.vars[n]
	v.val, v.rec = sqltypes.Null, nil
	if d.init == nil {
		if d.cursor != nil {
			v.val = sqltypes.Text(d.name)
			return nil
		}
		if d.record {
			return nil
		}
		if t := fr.h.Type(d.typ.OID); t != nil && t.TypType == 'd' {
			// The domain may refuse NULL.
			val, err := fr.h.Coerce(sqltypes.Null, sqltypes.ColumnType{OID: sqltypes.OIDText, TypMod: -1}, d.typ)
			v.val = val
			return err
		}
		return nil
	}
	val, typ, err := fr.eval(d.init)
	if err != nil {
		return err
	}
	return fr.assign(target{datum: n}, val, typ)
}

// guarded runs the statements of a block that has handlers in a subtransaction.
func (fr *frame) guarded(b *block) (jump, error) {
	sp, err := fr.h.Begin()
	if err != nil {
		return jump{}, err
	}
	atomic := fr.atomic
	fr.atomic = true
	j, err := fr.list(b.body)
	fr.atomic = atomic
	if err == nil {
		return j, fr.h.Release(sp)
	}
	var e *pgerror.Error
	if !errors.As(err, &e) {
		e = pgerror.Wrap(err, pgerror.CodeOf(err), "%s", err.Error())
	}
	h := b.handlerFor(e)
	if h == nil || !catchable(e) || fr.h.Cancelled() != nil {
		if rerr := fr.h.RollbackTo(sp); rerr == nil {
			_ = fr.h.Release(sp)
		}
		return jump{}, err
	}
	c := *(fr.context(e).(*pgerror.Error))
	if err := fr.h.RollbackTo(sp); err != nil {
		return jump{}, err
	}
	if err := fr.h.Release(sp); err != nil {
		return jump{}, err
	}
	fr.vars[b.sqlstate].val = sqltypes.Text(string(c.Code))
	fr.vars[b.sqlerrm].val = sqltypes.Text(c.Message)
	handling := fr.handling
	fr.handling = &c
	j, err = fr.list(h.body)
	fr.handling = handling
	return j, err
}

// catchable: an error that ends the transaction cannot be handled inside of it.
func catchable(e *pgerror.Error) bool {
	return e.Severity != "FATAL" && e.Severity != "PANIC" && !strings.HasPrefix(string(e.Code), "40")
}

func (b *block) handlerFor(e *pgerror.Error) *handler {
	for _, h := range b.handlers {
		for _, c := range h.conds {
			if c.matches(e.Code) {
				return h
			}
		}
	}
	return nil
}

func (c condition) matches(code pgerror.Code) bool {
	if c.others {
		return code != pgerror.QueryCanceled && code != pgerror.AssertFailure
	}
	for _, want := range c.codes {
		if want == code || strings.HasSuffix(string(want), "000") && want[:2] == code[:2] {
			return true
		}
	}
	return false
}

// context adds the function's line to an error's CONTEXT.
func (fr *frame) context(err error) error {
	if errors.Is(err, ErrStop) {
		return err
	}
	var e *pgerror.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	if c.Where != "" {
		c.Where += "\n"
	}
	c.Where += fr.where()
	return &c
}

func (fr *frame) where() string {
	s := "PL/pgSQL function " + fr.f.Signature
	switch {
	case fr.phase != "" && fr.current == nil:
		return s + " " + fr.phase
	case fr.phase != "":
		return s + " line " + itoa(fr.current.at()) + " " + fr.phase
	case fr.current != nil:
		return s + " line " + itoa(fr.current.at()) + " at " + fr.current.what()
	}
	return s
}

// inStatement adds the SQL statement that failed to an error's CONTEXT.
func inStatement(err error, text string) error {
	var e *pgerror.Error
	if err == nil || errors.Is(err, ErrStop) || !errors.As(err, &e) || e.InternalQuery == text && e.Where == "" {
		return err // the place in the text says it
	}
	c := *e
	if c.Where != "" {
		c.Where += "\n"
	}
	c.Where += "SQL statement \"" + text + "\""
	return &c
}

func (fr *frame) raise(s *raiseStmt) error {
	if s.level == "ERROR" && !s.hasText && s.cond == "" && len(s.options) == 0 {
		if fr.handling == nil {
			return pgerror.New(pgerror.StackedDiagnosticsAccessedWithoutActiveHandler, "RAISE without parameters cannot be used outside an exception handler")
		}
		c := *fr.handling
		c.Where = strings.TrimSuffix(strings.TrimSuffix(c.Where, lastLine(c.Where)), "\n")
		return &c
	}
	e := &pgerror.Error{Severity: s.level, Code: s.code}
	hasMessage := false
	if s.hasText {
		text, err := fr.format(s)
		if err != nil {
			return err
		}
		e.Message, hasMessage = text, true
	}
	seen := map[string]bool{}
	for _, o := range s.options {
		val, null, err := fr.text(o.expr)
		if err != nil {
			return err
		}
		if null {
			return pgerror.New(pgerror.NullValueNotAllowed, "RAISE statement option cannot be null")
		}
		if seen[o.name] || o.name == "message" && s.hasText || o.name == "errcode" && s.code != "" {
			return pgerror.New(pgerror.SyntaxError, "RAISE option already specified: %s", strings.ToUpper(o.name))
		}
		seen[o.name] = true
		switch o.name {
		case "errcode":
			if codes, ok := conditions[val]; ok {
				e.Code = codes[0]
			} else if len(val) == 5 && strings.Trim(val, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
				e.Code = pgerror.Code(val)
			} else {
				return pgerror.New(pgerror.UndefinedObject, "unrecognized exception condition \"%s\"", val)
			}
		case "message":
			e.Message, hasMessage = val, true
		case "detail":
			e.Detail = val
		case "hint":
			e.Hint = val
		case "column":
			e.Column = val
		case "constraint":
			e.Constraint = val
		case "datatype":
			e.DataType = val
		case "table":
			e.Table = val
		case "schema":
			e.Schema = val
		}
	}
	if e.Code == "" {
		e.Code = map[string]pgerror.Code{"ERROR": pgerror.RaiseException, "WARNING": pgerror.Warning}[s.level]
		if e.Code == "" {
			e.Code = pgerror.SuccessfulCompletion
		}
	}
	if !hasMessage {
		if e.Message = s.cond; e.Message == "" {
			e.Message = string(e.Code)
		}
	}
	if s.level == "ERROR" {
		return e
	}
	e.Where = fr.where()
	fr.h.Notice(e)
	return nil
}

func lastLine(s string) string { return s[strings.LastIndexByte(s, '\n')+1:] }

// format puts RAISE's values into its text.
func (fr *frame) format(s *raiseStmt) (string, error) {
	var b strings.Builder
	n := 0
	for i := 0; i < len(s.format); i++ {
		switch {
		case s.format[i] != '%':
			b.WriteByte(s.format[i])
		case i+1 < len(s.format) && s.format[i+1] == '%':
			b.WriteByte('%')
			i++
		default:
			text, null, err := fr.text(s.params[n])
			if err != nil {
				return "", err
			}
			if null {
				text = "<NULL>"
			}
			b.WriteString(text)
			n++
		}
	}
	return b.String(), nil
}

func (fr *frame) assertion(s *assertStmt) error {
	if v, ok := fr.h.Setting("plpgsql.check_asserts"); ok && v == "off" {
		return nil
	}
	ok, err := fr.boolean(s.cond)
	if err != nil || ok {
		return err
	}
	text := "assertion failed"
	if s.message != nil {
		m, null, err := fr.text(s.message)
		if err != nil {
			return err
		}
		if !null {
			text = m
		}
	}
	return pgerror.New(pgerror.AssertFailure, "%s", text)
}

func (fr *frame) diagnostics(s *diagStmt) error {
	e := fr.handling
	if s.stacked && e == nil {
		return pgerror.New(pgerror.StackedDiagnosticsAccessedWithoutActiveHandler, "GET STACKED DIAGNOSTICS cannot be used outside an exception handler")
	}
	for _, it := range s.items {
		var val sqltypes.Datum
		typ := textType
		switch it.kind {
		case "row_count":
			val, typ = sqltypes.Int(fr.rowCount), sqltypes.ColumnType{OID: sqltypes.OIDInt8, TypMod: -1}
		case "pg_context":
			val = sqltypes.Text(fr.where())
		case "returned_sqlstate":
			val = sqltypes.Text(string(e.Code))
		case "message_text":
			val = sqltypes.Text(e.Message)
		case "pg_exception_detail":
			val = sqltypes.Text(e.Detail)
		case "pg_exception_hint":
			val = sqltypes.Text(e.Hint)
		case "pg_exception_context":
			val = sqltypes.Text(e.Where)
		case "column_name":
			val = sqltypes.Text(e.Column)
		case "constraint_name":
			val = sqltypes.Text(e.Constraint)
		case "pg_datatype_name":
			val = sqltypes.Text(e.DataType)
		case "table_name":
			val = sqltypes.Text(e.Table)
		case "schema_name":
			val = sqltypes.Text(e.Schema)
		default:
			return pgerror.NotSupported("GET DIAGNOSTICS %s", strings.ToUpper(it.kind))
		}
		if err := fr.assign(it.target, val, typ); err != nil {
			return err
		}
	}
	return nil
}
