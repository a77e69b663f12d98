package plpgsql

import (
	"strings"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// block reads a block whose first keyword, DECLARE or BEGIN, is t. The END's label is
// read, its semicolon is not.
func (p *parser) block(t token, label string) (b *block, err error) {
	if p.depth++; p.depth > maxNesting {
		return nil, pgerror.New(pgerror.StatementTooComplex, "stack depth limit exceeded")
	}
	defer func() { p.depth-- }()
	b = &block{line: line(p.lexer.line(t.start)), label: label}
	defer p.enter(label, false)()
	if t.is("declare") {
		if b.vars, err = p.declarations(); err != nil {
			return nil, err
		}
		if t, err = p.next(); err != nil {
			return nil, err
		}
		b.line = line(p.lexer.line(t.start))
	}
	if !t.is("begin") {
		return nil, p.syntaxError(t)
	}
	var end token
	if b.body, end, err = p.statements("end", "exception"); err != nil {
		return nil, err
	}
	if end.is("exception") {
		if err := p.handlers(b); err != nil {
			return nil, err
		}
		if err := p.expect("end"); err != nil {
			return nil, err
		}
	}
	return b, p.endLabel(label)
}

// declarations reads up to BEGIN, which is not consumed.
func (p *parser) declarations() (vars []int, err error) {
	for {
		t, err := p.peek(0)
		if err != nil {
			return nil, err
		}
		switch {
		case t.is("begin"):
			return vars, nil
		case t.is("declare"):
			_, _ = p.next()
			continue
		case t.is("<<"):
			return nil, p.errorAt(t, pgerror.SyntaxError, "block label must be placed before DECLARE, not after")
		case !t.name() || t.kind == tokWord && reserved[t.val]:
			_, _ = p.next()
			return nil, p.syntaxError(t)
		}
		_, _ = p.next()
		n, err := p.declaration(t)
		if err != nil {
			return nil, err
		}
		if n >= 0 {
			vars = append(vars, n)
		}
	}
}

// reserved are the words that cannot name variables.
var reserved = map[string]bool{"all": true, "begin": true, "by": true, "case": true, "declare": true, "else": true, "end": true, "execute": true,
	"for": true, "foreach": true, "from": true, "if": true, "in": true, "into": true, "loop": true, "not": true, "null": true, "or": true,
	"strict": true, "then": true, "to": true, "using": true, "when": true, "while": true}

// declaration reads one variable, cursor or alias; -1 for an alias.
func (p *parser) declaration(name token) (int, error) {
	dup := func() error {
		if it, _ := p.ns.lookup(true, name.val); it != nil {
			return p.errorAt(name, pgerror.SyntaxError, "duplicate declaration at or near \"%s\"", p.src[name.start:name.end])
		}
		return nil
	}
	t, err := p.peek(0)
	if err != nil {
		return 0, err
	}
	next, err := p.peek(1)
	if err != nil {
		return 0, err
	}
	switch {
	case t.is("alias") && next.is("for"):
		_, _ = p.next()
		_, _ = p.next()
		names, first, err := p.dotted()
		if err != nil {
			return 0, err
		}
		it, used := p.ns.lookup(false, names...)
		if it == nil || used != len(names) {
			return 0, p.errorAt(first, pgerror.UndefinedObject, "variable \"%s\" does not exist", strings.Join(names, "."))
		}
		if err := dup(); err != nil {
			return 0, err
		}
		p.addName(name.val, it.datum)
		return -1, p.expect(";")
	case t.is("cursor") || t.is("scroll") && next.is("cursor") || t.is("no") && next.is("scroll"):
		if err := dup(); err != nil {
			return 0, err
		}
		return p.cursorDeclaration(name)
	}
	fixed, err := p.accept("constant")
	if err != nil {
		return 0, err
	}
	first, err := p.peek(0)
	if err != nil {
		return 0, err
	}
	text, end, err := p.typeText()
	if err != nil {
		return 0, err
	}
	typ, err := p.datatype(text, first)
	if err != nil {
		return 0, err
	}
	if err := dup(); err != nil {
		return 0, err
	}
	n := p.declare(name.val, typ, p.lexer.line(name.start))
	d := p.f.data[n]
	d.fixed = fixed
	if end.is("collate") {
		if _, err := p.next(); err != nil {
			return 0, err
		}
		if end, err = p.next(); err != nil {
			return 0, err
		}
	}
	if end.is("not") {
		if err := p.expect("null"); err != nil {
			return 0, err
		}
		d.notNull = true
		if end, err = p.next(); err != nil {
			return 0, err
		}
	}
	switch {
	case end.is(";"):
	case end.is("default") || end.is(":=") || end.is("="):
		if d.init, _, err = p.expression(";"); err != nil {
			return 0, err
		}
	default:
		return 0, p.syntaxError(end)
	}
	if d.notNull && d.init == nil {
		return 0, p.errorAt(name, pgerror.NullValueNotAllowed, "variable \"%s\" must have a default value, since it's declared NOT NULL", d.name)
	}
	p.addName(name.val, n)
	return n, nil
}

// typeText reads a type up to what may follow it.
func (p *parser) typeText() (string, token, error) {
	first, last, depth := -1, 0, 0
	for {
		t, err := p.next()
		if err != nil {
			return "", t, err
		}
		ends := t.is(";") || t.is(":=") || t.is("=") || t.is("default") || t.is("not") || t.is("collate") || t.is(",") || t.is(")") || t.kind == tokEOF
		if depth == 0 && ends {
			if first < 0 {
				return "", t, p.errorAt(t, pgerror.SyntaxError, "missing data type declaration at or near \"%s\"", p.src[t.start:t.end])
			}
			return p.src[first:last], t, nil
		}
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		case t.kind == tokEOF:
			return "", t, p.errorAt(t, pgerror.SyntaxError, "incomplete data type declaration")
		}
		if first < 0 {
			first = t.start
		}
		last = t.end
	}
}

// datatype resolves a declared type: name%TYPE, table%ROWTYPE or an ordinary one.
func (p *parser) datatype(text string, first token) (sqltypes.ColumnType, error) {
	l := lexer{src: text}
	var names []string
	for {
		t, err := l.next()
		if err != nil {
			return sqltypes.ColumnType{}, err
		}
		if !t.name() {
			break
		}
		names = append(names, t.val)
		sep, err := l.next()
		if err != nil {
			return sqltypes.ColumnType{}, err
		}
		if sep.is("%") {
			kind, err := l.next()
			if err != nil {
				return sqltypes.ColumnType{}, err
			}
			switch kind.val {
			case "type":
				if it, used := p.ns.lookup(false, names...); it != nil && (used == len(names) || used == len(names)-1) {
					d := p.f.data[it.datum]
					if used == len(names) {
						return d.typ, nil
					}
					if t := p.types.Type(d.typ.OID); t != nil {
						for _, f := range t.Fields {
							if f.Name == names[used] {
								return f.ColumnType, nil
							}
						}
					}
				}
				return p.types.ColumnType(names)
			case "rowtype":
				return p.types.RowType(names)
			}
			return sqltypes.ColumnType{}, p.errorAt(first, pgerror.SyntaxError, "syntax error at or near \"%%\"")
		}
		if !sep.is(".") {
			break
		}
	}
	if strings.EqualFold(strings.TrimSpace(text), "record") {
		return sqltypes.ColumnType{OID: sqltypes.OIDRecord, TypMod: -1}, nil
	}
	typ, err := p.types.TypeName(text)
	if err != nil {
		return typ, err
	}
	if t := p.types.Type(typ.OID); t != nil && t.TypType == 'p' && typ.OID != sqltypes.OIDRecord {
		return typ, pgerror.New(pgerror.FeatureNotSupported, "variable \"%s\" has pseudo-type %s", "", sqltypes.FormatType(typ.OID, -1))
	}
	return typ, nil
}

// dotted reads a.b.c.
func (p *parser) dotted() (names []string, first token, err error) {
	for {
		t, err := p.next()
		if err != nil {
			return nil, t, err
		}
		if len(names) == 0 {
			first = t
		}
		if !t.name() && !(len(names) == 0 && t.kind == tokParam) {
			return nil, t, p.syntaxError(t)
		}
		names = append(names, t.val)
		if ok, err := p.accept("."); err != nil || !ok {
			return names, first, err
		}
	}
}

// cursorDeclaration reads [NO] SCROLL CURSOR (args) FOR query.
func (p *parser) cursorDeclaration(name token) (int, error) {
	c := &cursorDecl{}
	for {
		t, err := p.next()
		if err != nil {
			return 0, err
		}
		if t.is("cursor") {
			break
		}
		c.scroll = 1
		if t.is("no") {
			c.scroll = -1
			if err := p.expect("scroll"); err != nil {
				return 0, err
			}
		}
	}
	leave := p.enter("", false)
	t, err := p.next()
	if err != nil {
		return 0, err
	}
	if t.is("(") {
		for {
			arg, err := p.next()
			if err != nil {
				return 0, err
			}
			if !arg.name() {
				return 0, p.syntaxError(arg)
			}
			first, err := p.peek(0)
			if err != nil {
				return 0, err
			}
			text, end, err := p.typeText()
			if err != nil {
				return 0, err
			}
			typ, err := p.datatype(text, first)
			if err != nil {
				return 0, err
			}
			c.args = append(c.args, p.variable(arg.val, typ, p.lexer.line(arg.start)))
			if end.is(")") {
				break
			}
			if !end.is(",") {
				return 0, p.syntaxError(end)
			}
		}
		if t, err = p.next(); err != nil {
			return 0, err
		}
	}
	if !t.is("for") && !t.is("is") {
		return 0, p.syntaxError(t)
	}
	text, _, err := p.until(";")
	if err != nil {
		return 0, err
	}
	c.query = p.query(text, text, false)
	leave()
	n := p.variable(name.val, sqltypes.ColumnType{OID: sqltypes.OIDRefcursor, TypMod: -1}, p.lexer.line(name.start))
	p.f.data[n].cursor = c
	return n, nil
}

// handlers reads the WHEN clauses of a block, up to END, which is not consumed.
func (p *parser) handlers(b *block) error {
	b.hasHandler = true
	text := sqltypes.ColumnType{OID: sqltypes.OIDText, TypMod: -1}
	b.sqlstate = p.variable("sqlstate", text, 0)
	b.sqlerrm = p.variable("sqlerrm", text, 0)
	p.f.data[b.sqlstate].fixed, p.f.data[b.sqlerrm].fixed = true, true
	for {
		t, err := p.peek(0)
		if err != nil {
			return err
		}
		if !t.is("when") {
			if len(b.handlers) == 0 {
				return p.syntaxError(t)
			}
			return nil
		}
		_, _ = p.next()
		h := &handler{line: p.lexer.line(t.start)}
		for {
			c, err := p.condition()
			if err != nil {
				return err
			}
			h.conds = append(h.conds, c)
			t, err := p.next()
			if err != nil {
				return err
			}
			if t.is("then") {
				break
			}
			if !t.is("or") {
				return p.syntaxError(t)
			}
		}
		body, end, err := p.statements("when", "end")
		if err != nil {
			return err
		}
		p.push(end)
		h.body = body
		b.handlers = append(b.handlers, h)
	}
}

// condition reads one condition of an exception handler.
func (p *parser) condition() (condition, error) {
	t, err := p.next()
	if err != nil {
		return condition{}, err
	}
	switch {
	case t.is("others"):
		return condition{others: true}, nil
	case t.is("sqlstate"):
		code, err := p.sqlstate()
		return condition{codes: []pgerror.Code{code}}, err
	case t.name():
		codes, ok := conditions[t.val]
		if !ok {
			return condition{}, pgerror.New(pgerror.UndefinedObject, "unrecognized exception condition \"%s\"", t.val)
		}
		return condition{codes: codes}, nil
	}
	return condition{}, p.syntaxError(t)
}

// sqlstate reads the five characters of a SQLSTATE as a string constant.
func (p *parser) sqlstate() (pgerror.Code, error) {
	t, err := p.next()
	if err != nil {
		return "", err
	}
	if t.kind != tokString {
		return "", p.syntaxError(t)
	}
	if len(t.val) != 5 || strings.Trim(t.val, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return "", p.errorAt(t, pgerror.SyntaxError, "invalid SQLSTATE code at or near \"%s\"", p.src[t.start:t.end])
	}
	return pgerror.Code(t.val), nil
}
