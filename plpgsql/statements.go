package plpgsql

import (
	"strconv"
	"strings"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// statements reads statements up to one of the ends, which is consumed.
func (p *parser) statements(ends ...string) (list []stmt, end token, err error) {
	if p.depth++; p.depth > maxNesting {
		return nil, end, pgerror.New(pgerror.StatementTooComplex, "stack depth limit exceeded")
	}
	defer func() { p.depth-- }()
	for {
		t, err := p.next()
		if err != nil {
			return nil, t, err
		}
		for _, e := range ends {
			if t.is(e) && t.kind == tokWord {
				return list, t, nil
			}
		}
		s, err := p.statement(t)
		if err != nil {
			return nil, t, err
		}
		list = append(list, s)
	}
}

func (p *parser) statement(t token) (stmt, error) {
	label := ""
	if t.is("<<") {
		p.push(t)
		var err error
		if label, err = p.label(); err != nil {
			return nil, err
		}
		if t, err = p.next(); err != nil {
			return nil, err
		}
		switch t.val {
		case "declare", "begin", "loop", "while", "for", "foreach":
		default:
			return nil, p.syntaxError(t)
		}
	}
	ln := line(p.lexer.line(t.start))
	if !t.name() && t.kind != tokParam {
		return nil, p.syntaxError(t)
	}
	if s, err := p.assignment(t, ln); s != nil || err != nil {
		return s, err
	}
	if t.kind == tokWord {
		switch t.val {
		case "declare", "begin":
			b, err := p.block(t, label)
			if err != nil {
				return nil, err
			}
			return b, p.expect(";")
		case "if":
			return p.ifStatement(ln)
		case "case":
			return p.caseStatement(ln)
		case "loop", "while", "for", "foreach":
			return p.loop(t, label, ln)
		case "exit", "continue":
			return p.exit(t, ln)
		case "return":
			return p.returning(ln)
		case "raise":
			return p.raise(ln)
		case "assert":
			return p.assert(ln)
		case "perform":
			text, _, err := p.until(";")
			if err != nil {
				return nil, err
			}
			return &performStmt{ln, p.query("SELECT "+text, "SELECT "+text, false)}, nil
		case "execute":
			return p.execute(ln)
		case "get":
			return p.diagnostics(ln)
		case "open":
			return p.open(ln)
		case "fetch", "move":
			return p.fetch(t, ln)
		case "close":
			n, err := p.cursorVariable()
			if err != nil {
				return nil, err
			}
			return &closeStmt{ln, n}, p.expect(";")
		case "null":
			return &nullStmt{ln}, p.expect(";")
		case "commit", "rollback":
			return p.endTransaction(t, ln)
		case "end", "elsif", "elseif", "else", "when", "then", "exception":
			return nil, p.syntaxError(t)
		}
	}
	return p.sql(t, ln)
}

// assignment reads target := expression; nil if the statement is none.
func (p *parser) assignment(t token, ln line) (stmt, error) {
	next, err := p.peek(0)
	if err != nil {
		return nil, err
	}
	switch {
	case next.is(":=") || next.is("=") || next.is("["):
	case next.is("."):
		// a.b := …: a statement never begins like this otherwise.
	default:
		return nil, nil
	}
	names := []string{t.val}
	start := t.start
	for {
		if ok, err := p.accept("."); err != nil {
			return nil, err
		} else if !ok {
			break
		}
		f, err := p.next()
		if err != nil {
			return nil, err
		}
		if !f.name() {
			return nil, p.syntaxError(f)
		}
		names = append(names, f.val)
	}
	tg, rest, err := p.resolve(names, t)
	if err != nil {
		return nil, err
	}
	s := &assignStmt{line: ln, from: -1}
	s.target = tg
	op, err := p.peek(0)
	if err != nil {
		return nil, err
	}
	if !op.is("[") && len(rest) == 0 {
		if op, _ = p.next(); !op.is(":=") && !op.is("=") {
			return nil, p.syntaxError(op)
		}
		s.from = p.soleVariable()
		s.expr, _, err = p.expression(";")
		return s, err
	}
	// Something inside of the variable: UPDATE knows how to write that.
	var path strings.Builder
	for _, f := range rest {
		path.WriteString("." + sqltypes.QuoteIdent(f))
	}
	lhs, _, err := p.until(":=", "=")
	if err != nil {
		return nil, err
	}
	rhs, end, err := p.until(";")
	if err != nil {
		return nil, err
	}
	if rhs == "" {
		return nil, p.syntaxError(end)
	}
	whole := tg.name
	s.expr = p.query("UPDATE x SET "+sqltypes.QuoteIdent(whole)+path.String()+lhs+" = ("+rhs+")", strings.TrimSpace(p.src[start:end.start]), true)
	s.expr.Path, s.path = true, true
	s.expr.target = tg
	return s, nil
}

// resolve finds the variable or field that is assigned to; rest are names beyond it.
func (p *parser) resolve(names []string, t token) (tg target, rest []string, err error) {
	it, used := p.ns.lookup(false, names...)
	if it == nil {
		return tg, nil, p.errorAt(t, pgerror.SyntaxError, "\"%s\" is not a known variable", strings.Join(names, "."))
	}
	d := p.f.data[it.datum]
	if d.fixed {
		return tg, nil, pgerror.New(pgerror.ErrorInAssignment, "variable \"%s\" is declared CONSTANT", d.name)
	}
	rest = names[used:]
	tg = target{datum: it.datum, name: names[used-1]}
	if d.record && len(rest) > 0 {
		tg.field, tg.name, rest = rest[0], rest[0], rest[1:]
	}
	return tg, rest, nil
}

// targets reads what INTO names: one record, or a list of scalar variables.
func (p *parser) targets() (in into, err error) {
	in.record = -1
	if in.strict, err = p.accept("strict"); err != nil {
		return in, err
	}
	for {
		names, first, err := p.dotted()
		if err != nil {
			return in, err
		}
		it, _ := p.ns.lookup(false, names...)
		if it == nil {
			return in, p.errorAt(first, pgerror.SyntaxError, "\"%s\" is not a known variable", strings.Join(names, "."))
		}
		tg, rest, err := p.resolve(names, first)
		if err != nil {
			return in, err
		}
		if len(rest) > 0 {
			return in, p.errorAt(first, pgerror.SyntaxError, "\"%s\" is not a known variable", strings.Join(names, "."))
		}
		d := p.f.data[tg.datum]
		if d.record && tg.field == "" {
			if len(in.list) > 0 {
				return in, p.errorAt(first, pgerror.SyntaxError, "\"%s\" is not a scalar variable", strings.Join(names, "."))
			}
			in.record = tg.datum
			if ok, err := p.accept(","); err != nil || ok {
				if err == nil {
					err = p.errorAt(first, pgerror.SyntaxError, "record variable cannot be part of multiple-item INTO list")
				}
				return in, err
			}
			return in, nil
		}
		in.list = append(in.list, tg)
		if ok, err := p.accept(","); err != nil || !ok {
			return in, err
		}
	}
}

func (p *parser) ifStatement(ln line) (stmt, error) {
	s := &ifStmt{line: ln}
	for {
		cond, _, err := p.expression("then")
		if err != nil {
			return nil, err
		}
		body, end, err := p.statements("elsif", "elseif", "else", "end")
		if err != nil {
			return nil, err
		}
		s.conds, s.bodies = append(s.conds, cond), append(s.bodies, body)
		switch end.val {
		case "else":
			if s.orElse, _, err = p.statements("end"); err != nil {
				return nil, err
			}
			return s, p.expect("if", ";")
		case "end":
			return s, p.expect("if", ";")
		}
	}
}

func (p *parser) caseStatement(ln line) (stmt, error) {
	s := &caseStmt{line: ln, tmp: -1}
	text, _, err := p.until("when")
	if err != nil {
		return nil, err
	}
	saved := p.ns
	name := ""
	if text != "" {
		s.operand = p.query("SELECT "+text, text, true)
		p.cases++
		name = "__Case__Variable_" + strconv.Itoa(len(p.f.data)) + "__"
		s.tmp = p.variable(name, sqltypes.ColumnType{OID: sqltypes.OIDInt4, TypMod: -1}, 0)
		p.f.data[s.tmp].varies = true
	}
	for {
		text, end, err := p.until("then")
		if err != nil {
			return nil, err
		}
		if text == "" {
			return nil, p.syntaxError(end)
		}
		if name != "" {
			s.conds = append(s.conds, p.query("SELECT \""+name+"\" IN ("+text+")", "\""+name+"\" IN ("+text+")", true))
		} else {
			s.conds = append(s.conds, p.query("SELECT "+text, text, true))
		}
		body, end, err := p.statements("when", "else", "end")
		if err != nil {
			return nil, err
		}
		s.bodies = append(s.bodies, body)
		if end.is("when") {
			continue
		}
		if end.is("else") {
			s.hasElse = true
			if s.orElse, _, err = p.statements("end"); err != nil {
				return nil, err
			}
		}
		p.ns = saved
		return s, p.expect("case", ";")
	}
}

func (p *parser) exit(t token, ln line) (stmt, error) {
	s := &exitStmt{line: ln, continues: t.is("continue")}
	word := strings.ToUpper(t.val)
	next, err := p.next()
	if err != nil {
		return nil, err
	}
	if next.name() && !next.is("when") {
		s.label = next.val
		l := p.ns.labelOf(s.label)
		switch {
		case l == nil:
			return nil, p.errorAt(next, pgerror.SyntaxError, "there is no label \"%s\" attached to any block or loop enclosing this statement", s.label)
		case s.continues && !l.loop:
			return nil, p.errorAt(next, pgerror.SyntaxError, "block label \"%s\" cannot be used in CONTINUE", s.label)
		}
		if next, err = p.next(); err != nil {
			return nil, err
		}
	} else if !p.ns.inLoop() {
		hint := "EXIT cannot be used outside a loop, unless it has a label"
		if s.continues {
			hint = "CONTINUE cannot be used outside a loop"
		}
		_ = word
		return nil, p.errorAt(t, pgerror.SyntaxError, "%s", hint)
	}
	switch {
	case next.is(";"):
		return s, nil
	case next.is("when"):
		s.cond, _, err = p.expression(";")
		return s, err
	}
	return nil, p.syntaxError(next)
}

func (p *parser) returning(ln line) (stmt, error) {
	t, err := p.peek(0)
	if err != nil {
		return nil, err
	}
	f := p.f
	switch {
	case t.is("next"):
		_, _ = p.next()
		return p.returnNext(t, ln)
	case t.is("query"):
		_, _ = p.next()
		if !f.RetSet {
			return nil, p.errorAt(t, pgerror.DatatypeMismatch, "cannot use RETURN QUERY in a non-SETOF function")
		}
		s := &returnQuery{line: ln}
		if ok, err := p.accept("execute"); err != nil {
			return nil, err
		} else if ok {
			var end token
			if s.text, end, err = p.expression("using", ";"); err != nil {
				return nil, err
			}
			s.using, err = p.using(end, ";")
			return s, err
		}
		text, _, err := p.until(";")
		if err != nil {
			return nil, err
		}
		s.query = p.query(text, text, false)
		return s, nil
	}
	s := &returnStmt{line: ln, v: -1}
	none := func(code pgerror.Code, format string, args ...any) (stmt, error) {
		if t.is(";") {
			_, _ = p.next()
			return s, nil
		}
		return nil, p.errorAt(t, code, format, args...)
	}
	switch {
	case f.RetSet:
		if t.is(";") {
			return none("", "")
		}
		return nil, p.errorAt(t, pgerror.DatatypeMismatch, "RETURN cannot have a parameter in function returning set").WithHint("Use RETURN NEXT or RETURN QUERY.")
	case f.Ret.OID == sqltypes.OIDVoid:
		if f.Kind == 'p' {
			return none(pgerror.SyntaxError, "RETURN cannot have a parameter in a procedure")
		}
		return none(pgerror.DatatypeMismatch, "RETURN cannot have a parameter in function returning void")
	case len(f.outs) > 0:
		return none(pgerror.DatatypeMismatch, "RETURN cannot have a parameter in function with OUT parameters")
	}
	if t.is(";") {
		return nil, p.errorAt(t, pgerror.SyntaxError, "missing expression at or near \";\"")
	}
	s.v = p.soleVariable()
	s.expr, _, err = p.expression(";")
	return s, err
}

// soleVariable looks ahead: the number of the record that is all of the expression, else -1.
func (p *parser) soleVariable() int {
	t, err := p.peek(0)
	if err != nil || !t.name() {
		return -1
	}
	if end, err := p.peek(1); err != nil || !end.is(";") {
		return -1
	}
	if it, _ := p.ns.lookup(false, t.val); it != nil && it.kind == 'r' {
		return it.datum
	}
	return -1
}

func (p *parser) returnNext(t token, ln line) (stmt, error) {
	f := p.f
	if !f.RetSet {
		return nil, p.errorAt(t, pgerror.DatatypeMismatch, "cannot use RETURN NEXT in a non-SETOF function")
	}
	s := &returnNext{line: ln, v: -1}
	next, err := p.peek(0)
	if err != nil {
		return nil, err
	}
	if len(f.outs) > 0 {
		if !next.is(";") {
			return nil, p.errorAt(next, pgerror.DatatypeMismatch, "RETURN NEXT cannot have a parameter in function with OUT parameters")
		}
		_, err = p.next()
		return s, err
	}
	s.v = p.soleVariable()
	s.expr, _, err = p.expression(";")
	return s, err
}

// using reads the expressions of USING when end says that they follow.
func (p *parser) using(end token, ends ...string) (list []*Query, err error) {
	for end.is("using") || end.is(",") {
		var q *Query
		if q, end, err = p.expression(append([]string{","}, ends...)...); err != nil {
			return nil, err
		}
		list = append(list, q)
	}
	return list, nil
}

func (p *parser) assert(ln line) (stmt, error) {
	s := &assertStmt{line: ln}
	cond, end, err := p.expression(",", ";")
	if err != nil {
		return nil, err
	}
	s.cond = cond
	if end.is(",") {
		s.message, _, err = p.expression(";")
	}
	return s, err
}

func (p *parser) execute(ln line) (stmt, error) {
	s := &executeStmt{line: ln}
	text, end, err := p.expression("into", "using", ";")
	if err != nil {
		return nil, err
	}
	s.text = text
	for !end.is(";") {
		switch {
		case end.is("into"):
			if s.into != nil {
				return nil, p.syntaxError(end)
			}
			in, err := p.targets()
			if err != nil {
				return nil, err
			}
			s.into = &in
			if end, err = p.next(); err != nil {
				return nil, err
			}
		case end.is("using"):
			if s.using != nil {
				return nil, p.syntaxError(end)
			}
			for end.is("using") || end.is(",") {
				var q *Query
				if q, end, err = p.expression(",", "into", ";"); err != nil {
					return nil, err
				}
				s.using = append(s.using, q)
			}
		default:
			return nil, p.syntaxError(end)
		}
	}
	return s, nil
}

func (p *parser) endTransaction(t token, ln line) (stmt, error) {
	s := &endTxnStmt{line: ln, commit: t.is("commit")}
	for {
		n, err := p.next()
		if err != nil {
			return nil, err
		}
		switch {
		case n.is(";"):
			return s, nil
		case n.is("and"):
			no, err := p.accept("no")
			if err != nil {
				return nil, err
			}
			if err := p.expect("chain"); err != nil {
				return nil, err
			}
			s.chain = !no
		default:
			return nil, p.syntaxError(n)
		}
	}
}

// diagItems are the items of GET DIAGNOSTICS; true: of GET STACKED DIAGNOSTICS.
var diagItems = map[string]bool{"row_count": false, "pg_context": false, "pg_routine_oid": false, "returned_sqlstate": true, "column_name": true,
	"constraint_name": true, "pg_datatype_name": true, "message_text": true, "table_name": true, "schema_name": true,
	"pg_exception_detail": true, "pg_exception_hint": true, "pg_exception_context": true}

func (p *parser) diagnostics(ln line) (stmt, error) {
	s := &diagStmt{line: ln}
	t, err := p.next()
	if err != nil {
		return nil, err
	}
	if t.is("current") || t.is("stacked") {
		s.stacked = t.is("stacked")
		if t, err = p.next(); err != nil {
			return nil, err
		}
	}
	if !t.is("diagnostics") {
		return nil, p.syntaxError(t)
	}
	for {
		names, first, err := p.dotted()
		if err != nil {
			return nil, err
		}
		tg, rest, err := p.resolve(names, first)
		if err != nil {
			return nil, err
		}
		if d := p.f.data[tg.datum]; len(rest) > 0 || d.record && tg.field == "" {
			return nil, p.errorAt(first, pgerror.SyntaxError, "\"%s\" is not a scalar variable", strings.Join(names, "."))
		}
		op, err := p.next()
		if err != nil {
			return nil, err
		}
		if !op.is(":=") && !op.is("=") {
			return nil, p.syntaxError(op)
		}
		kind, err := p.next()
		if err != nil {
			return nil, err
		}
		ofStacked, ok := diagItems[kind.val]
		if !ok {
			return nil, p.errorAt(kind, pgerror.SyntaxError, "unrecognized GET DIAGNOSTICS item at or near \"%s\"", p.src[kind.start:kind.end])
		}
		if ofStacked != s.stacked {
			where := "GET CURRENT DIAGNOSTICS"
			if s.stacked {
				where = "GET STACKED DIAGNOSTICS"
			}
			return nil, p.errorAt(kind, pgerror.SyntaxError, "diagnostics item %s is not allowed in %s", strings.ToUpper(kind.val), where)
		}
		s.items = append(s.items, diagItem{kind.val, tg})
		end, err := p.next()
		if err != nil {
			return nil, err
		}
		if end.is(";") {
			return s, nil
		}
		if !end.is(",") {
			return nil, p.syntaxError(end)
		}
	}
}
