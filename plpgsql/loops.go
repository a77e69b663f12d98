package plpgsql

import (
	"strings"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// body reads the statements of a loop up to END LOOP label;.
func (p *parser) body(label string) ([]stmt, error) {
	list, _, err := p.statements("end")
	if err != nil {
		return nil, err
	}
	if err := p.expect("loop"); err != nil {
		return nil, err
	}
	if err := p.endLabel(label); err != nil {
		return nil, err
	}
	return list, p.expect(";")
}

func (p *parser) loop(t token, label string, ln line) (s stmt, err error) {
	defer p.enter(label, true)()
	switch t.val {
	case "loop":
		l := &loopStmt{line: ln, label: label}
		l.body, err = p.body(label)
		return l, err
	case "while":
		l := &loopStmt{line: ln, label: label}
		if l.cond, _, err = p.expression("loop"); err != nil {
			return nil, err
		}
		l.body, err = p.body(label)
		return l, err
	case "foreach":
		return p.forEach(label, ln)
	}
	return p.forLoop(label, ln)
}

// loopTarget is the list of variables of FOR; unknown names are left to the caller.
func (p *parser) loopTarget() (in into, known bool, name string, first token, err error) {
	in.record = -1
	known = true
	for {
		names, tok, err := p.dotted()
		if err != nil {
			return in, false, "", tok, err
		}
		if len(in.list) == 0 && name == "" {
			first, name = tok, names[0]
			if len(names) > 1 {
				name = ""
			}
		}
		it, _ := p.ns.lookup(false, names...)
		if it == nil {
			known = false
		} else {
			tg, _, rerr := p.resolve(names, tok)
			if rerr != nil {
				known = false // an integer loop makes its own variable
			} else if p.f.data[tg.datum].record && tg.field == "" {
				in.record = tg.datum
			} else {
				in.list = append(in.list, tg)
			}
		}
		ok, err := p.accept(",")
		if err != nil || !ok {
			return in, known, name, first, err
		}
		name = ""
	}
}

func (p *parser) forLoop(label string, ln line) (stmt, error) {
	in, known, name, first, err := p.loopTarget()
	if err != nil {
		return nil, err
	}
	if err := p.expect("in"); err != nil {
		return nil, err
	}
	needKnown := func() error {
		if known {
			return nil
		}
		return p.errorAt(first, pgerror.SyntaxError, "loop variable of loop over rows must be a record variable or list of scalar variables")
	}
	t, err := p.peek(0)
	if err != nil {
		return nil, err
	}
	if t.is("execute") {
		_, _ = p.next()
		if err := needKnown(); err != nil {
			return nil, err
		}
		s := &forRows{line: ln, label: label, into: in, cursor: -1}
		var end token
		if s.text, end, err = p.expression("using", "loop"); err != nil {
			return nil, err
		}
		if s.using, err = p.using(end, "loop"); err != nil {
			return nil, err
		}
		s.body, err = p.body(label)
		return s, err
	}
	if t.name() {
		if it, used := p.ns.lookup(false, t.val); it != nil && used == 1 && p.f.data[it.datum].typ.OID == sqltypes.OIDRefcursor {
			return p.forCursor(label, ln, it.datum, name, first)
		}
	}
	reverse, err := p.accept("reverse")
	if err != nil {
		return nil, err
	}
	text, end, err := p.until("..", "loop")
	if err != nil {
		return nil, err
	}
	if text == "" {
		return nil, p.syntaxError(end)
	}
	if end.is("loop") {
		if reverse {
			return nil, p.errorAt(first, pgerror.SyntaxError, "cannot specify REVERSE in query FOR loop")
		}
		if err := needKnown(); err != nil {
			return nil, err
		}
		s := &forRows{line: ln, label: label, into: in, cursor: -1, query: p.query(text, text, false)}
		s.body, err = p.body(label)
		return s, err
	}
	if name == "" || len(in.list) > 1 {
		return nil, p.errorAt(first, pgerror.SyntaxError, "integer FOR loop must have only one target variable")
	}
	s := &forInt{line: ln, label: label, reverse: reverse, lower: p.query("SELECT "+text, text, true)}
	if s.upper, end, err = p.expression("by", "loop"); err != nil {
		return nil, err
	}
	if end.is("by") {
		if s.by, _, err = p.expression("loop"); err != nil {
			return nil, err
		}
	}
	s.v = p.variable(name, sqltypes.ColumnType{OID: sqltypes.OIDInt4, TypMod: -1}, int(ln))
	s.body, err = p.body(label)
	return s, err
}

// forCursor is FOR rec IN cursor (args) LOOP.
func (p *parser) forCursor(label string, ln line, cursor int, name string, first token) (stmt, error) {
	_, _ = p.next()
	s := &forRows{line: ln, label: label, cursor: cursor}
	if name == "" {
		return nil, p.errorAt(first, pgerror.SyntaxError, "cursor FOR loop must have only one target variable")
	}
	c := p.f.data[cursor].cursor
	if c == nil {
		return nil, p.errorAt(first, pgerror.SyntaxError, "cursor FOR loop must use a bound cursor variable")
	}
	var err error
	if s.args, err = p.cursorArgs(cursor); err != nil {
		return nil, err
	}
	if err := p.expect("loop"); err != nil {
		return nil, err
	}
	s.into = into{record: p.variable(name, sqltypes.ColumnType{OID: sqltypes.OIDRecord, TypMod: -1}, int(ln))}
	s.body, err = p.body(label)
	return s, err
}

// cursorArgs reads (value, name := value …) for a bound cursor, in the order of its
// arguments.
func (p *parser) cursorArgs(cursor int) ([]*Query, error) {
	d := p.f.data[cursor]
	t, err := p.peek(0)
	if err != nil {
		return nil, err
	}
	if d.cursor == nil || len(d.cursor.args) == 0 {
		if t.is("(") {
			return nil, p.errorAt(t, pgerror.SyntaxError, "cursor \"%s\" has no arguments", d.name)
		}
		return nil, nil
	}
	if !t.is("(") {
		return nil, p.errorAt(t, pgerror.SyntaxError, "cursor \"%s\" has arguments", d.name)
	}
	_, _ = p.next()
	args := make([]*Query, len(d.cursor.args))
	for i := 0; ; i++ {
		if i >= len(args) {
			return nil, p.errorAt(t, pgerror.SyntaxError, "too many arguments for cursor \"%s\"", d.name)
		}
		at := i
		name, err := p.peek(0)
		if err != nil {
			return nil, err
		}
		op, err := p.peek(1)
		if err != nil {
			return nil, err
		}
		if name.name() && op.is(":=") {
			_, _ = p.next()
			_, _ = p.next()
			at = -1
			for k, a := range d.cursor.args {
				if p.f.data[a].name == name.val {
					at = k
				}
			}
			if at < 0 {
				return nil, p.errorAt(name, pgerror.SyntaxError, "cursor \"%s\" has no argument named \"%s\"", d.name, name.val)
			}
		}
		if args[at] != nil {
			return nil, p.errorAt(name, pgerror.SyntaxError, "value for parameter \"%s\" of cursor \"%s\" specified more than once", p.f.data[d.cursor.args[at]].name, d.name)
		}
		q, end, err := p.expression(",", ")")
		if err != nil {
			return nil, err
		}
		args[at] = q
		if end.is(")") {
			if i+1 < len(args) {
				return nil, p.errorAt(end, pgerror.SyntaxError, "not enough arguments for cursor \"%s\"", d.name)
			}
			return args, nil
		}
	}
}

func (p *parser) forEach(label string, ln line) (stmt, error) {
	s := &forEach{line: ln, label: label}
	in, known, _, first, err := p.loopTarget()
	if err != nil {
		return nil, err
	}
	if !known {
		return nil, p.errorAt(first, pgerror.SyntaxError, "loop variable of FOREACH must be a known variable or list of variables")
	}
	s.into = in
	if ok, err := p.accept("slice"); err != nil {
		return nil, err
	} else if ok {
		n, err := p.next()
		if err != nil {
			return nil, err
		}
		if n.kind != tokNumber {
			return nil, p.syntaxError(n)
		}
		for _, c := range n.val {
			if c < '0' || c > '9' || s.slice > 100 {
				return nil, p.syntaxError(n)
			}
			s.slice = s.slice*10 + int(c-'0')
		}
	}
	if err := p.expect("in", "array"); err != nil {
		return nil, err
	}
	if s.array, _, err = p.expression("loop"); err != nil {
		return nil, err
	}
	s.body, err = p.body(label)
	return s, err
}

// cursorVariable reads the name of a variable that holds a cursor's name.
func (p *parser) cursorVariable() (int, error) {
	names, first, err := p.dotted()
	if err != nil {
		return 0, err
	}
	it, used := p.ns.lookup(false, names...)
	if it == nil {
		return 0, p.errorAt(first, pgerror.SyntaxError, "\"%s\" is not a known variable", strings.Join(names, "."))
	}
	if used != len(names) || it.kind != 'v' {
		return 0, p.errorAt(first, pgerror.DatatypeMismatch, "cursor variable must be a simple variable")
	}
	if p.f.data[it.datum].typ.OID != sqltypes.OIDRefcursor {
		return 0, p.errorAt(first, pgerror.DatatypeMismatch, "variable \"%s\" must be of type cursor or refcursor", it.name)
	}
	return it.datum, nil
}

func (p *parser) open(ln line) (stmt, error) {
	n, err := p.cursorVariable()
	if err != nil {
		return nil, err
	}
	s := &openStmt{line: ln, cursor: n}
	if c := p.f.data[n].cursor; c != nil {
		s.scroll = c.scroll
		if s.args, err = p.cursorArgs(n); err != nil {
			return nil, err
		}
		return s, p.expect(";")
	}
	for {
		t, err := p.next()
		if err != nil {
			return nil, err
		}
		switch {
		case t.is("no"):
			s.scroll = -1
			if err := p.expect("scroll"); err != nil {
				return nil, err
			}
			continue
		case t.is("scroll"):
			s.scroll = 1
			continue
		case !t.is("for"):
			return nil, p.errorAt(t, pgerror.SyntaxError, "syntax error at or near \"%s\", expected \"FOR\"", p.src[t.start:t.end])
		}
		break
	}
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

func (p *parser) fetch(t token, ln line) (stmt, error) {
	s := &fetchStmt{line: ln, move: t.is("move"), dir: "next"}
	counted := func(dir string) error {
		s.dir = dir
		q, _, err := p.expression("from", "in")
		s.count = q
		return err
	}
	skipFrom := func() error {
		n, err := p.peek(0)
		if err == nil && (n.is("from") || n.is("in")) {
			_, err = p.next()
		}
		return err
	}
	next, err := p.peek(0)
	if err != nil {
		return nil, err
	}
	after, err := p.peek(1)
	if err != nil {
		return nil, err
	}
	isVar := false
	if it, _ := p.ns.lookup(false, next.val); next.name() && it != nil && (after.is("into") || after.is(";")) {
		isVar = true
	}
	switch {
	case isVar:
	case next.is("next") || next.is("prior") || next.is("first") || next.is("last"):
		_, _ = p.next()
		s.dir = next.val
		err = skipFrom()
	case next.is("absolute") || next.is("relative"):
		_, _ = p.next()
		err = counted(next.val)
	case next.is("all"):
		_, _ = p.next()
		s.dir, s.all = "forward", true
		err = skipFrom()
	case next.is("forward") || next.is("backward"):
		_, _ = p.next()
		s.dir = next.val
		switch {
		case after.is("all"):
			_, _ = p.next()
			s.all = true
			err = skipFrom()
		case after.is("from") || after.is("in"):
			err = skipFrom()
		default:
			if it, _ := p.ns.lookup(false, after.val); after.name() && it != nil && it.kind == 'v' && p.f.data[it.datum].typ.OID == sqltypes.OIDRefcursor {
				break
			}
			err = counted(next.val)
		}
	case next.is("from") || next.is("in"):
		err = skipFrom()
	default:
		if it, _ := p.ns.lookup(false, next.val); it == nil {
			err = counted("forward")
		}
	}
	if err != nil {
		return nil, err
	}
	if !s.move && s.all {
		return nil, p.errorAt(t, pgerror.FeatureNotSupported, "FETCH statement cannot return multiple rows")
	}
	if s.cursor, err = p.cursorVariable(); err != nil {
		return nil, err
	}
	if s.move {
		return s, p.expect(";")
	}
	if err := p.expect("into"); err != nil {
		return nil, err
	}
	in, err := p.targets()
	if err != nil {
		return nil, err
	}
	s.into = &in
	return s, p.expect(";")
}
