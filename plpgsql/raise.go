package plpgsql

import (
	"strings"

	"ostraka/sqltypes/pgerror"
)

var raiseLevels = map[string]string{"exception": "ERROR", "warning": "WARNING", "notice": "NOTICE", "info": "INFO", "log": "LOG", "debug": "DEBUG"}

// raiseOptions are the names that USING accepts.
var raiseOptions = map[string]bool{"errcode": true, "message": true, "detail": true, "hint": true, "column": true, "constraint": true,
	"datatype": true, "table": true, "schema": true}

func (p *parser) raise(ln line) (stmt, error) {
	s := &raiseStmt{line: ln, level: "ERROR"}
	t, err := p.next()
	if err != nil {
		return nil, err
	}
	if t.is(";") {
		return s, nil
	}
	if level, ok := raiseLevels[t.val]; ok && t.kind == tokWord {
		s.level = level
		if t, err = p.next(); err != nil {
			return nil, err
		}
		if t.is(";") {
			return nil, p.syntaxError(t)
		}
	}
	switch {
	case t.kind == tokString:
		s.format, s.hasText = t.val, true
		if t, err = p.next(); err != nil {
			return nil, err
		}
		for t.is(",") {
			var q *Query
			if q, t, err = p.expression(",", "using", ";"); err != nil {
				return nil, err
			}
			s.params = append(s.params, q)
		}
		want := strings.Count(strings.ReplaceAll(s.format, "%%", ""), "%")
		switch {
		case want < len(s.params):
			return nil, pgerror.New(pgerror.SyntaxError, "too many parameters specified for RAISE")
		case want > len(s.params):
			return nil, pgerror.New(pgerror.SyntaxError, "too few parameters specified for RAISE")
		}
	case t.is("using"):
	case t.is("sqlstate"):
		if s.code, err = p.sqlstate(); err != nil {
			return nil, err
		}
		s.cond = string(s.code)
		if t, err = p.next(); err != nil {
			return nil, err
		}
	case t.name():
		codes, ok := conditions[t.val]
		if !ok {
			return nil, pgerror.New(pgerror.UndefinedObject, "unrecognized exception condition \"%s\"", t.val)
		}
		s.cond, s.code = t.val, codes[0]
		if t, err = p.next(); err != nil {
			return nil, err
		}
	default:
		return nil, p.syntaxError(t)
	}
	if t.is("using") {
		for !t.is(";") {
			name, err := p.next()
			if err != nil {
				return nil, err
			}
			if !name.name() || !raiseOptions[name.val] {
				return nil, p.errorAt(name, pgerror.SyntaxError, "unrecognized RAISE statement option at or near \"%s\"", p.src[name.start:name.end])
			}
			op, err := p.next()
			if err != nil {
				return nil, err
			}
			if !op.is("=") && !op.is(":=") {
				return nil, p.syntaxError(op)
			}
			var q *Query
			if q, t, err = p.expression(",", ";"); err != nil {
				return nil, err
			}
			s.options = append(s.options, raiseOption{name.val, q})
		}
	}
	if !t.is(";") {
		return nil, p.syntaxError(t)
	}
	return s, nil
}

// sql reads an SQL statement that begins with t, and takes INTO out of it.
func (p *parser) sql(t token, ln line) (stmt, error) {
	s := &sqlStmt{line: ln, kind: 's'}
	switch t.val {
	case "call":
		s.kind = 'c'
	case "do":
		s.kind = 'd'
	case "insert", "update", "delete", "merge":
		s.mod = t.kind == tokWord
	}
	prev, last := t, t.end
	cutFrom, cutTo := -1, -1
	depth := 0
	for {
		n, err := p.next()
		if err != nil {
			return nil, err
		}
		if n.is(";") && depth == 0 {
			break
		}
		if n.kind == tokEOF {
			return nil, p.errorAt(n, pgerror.SyntaxError, "unexpected end of function definition")
		}
		switch {
		case n.is("(") || n.is("["):
			depth++
		case n.is(")") || n.is("]"):
			depth--
		}
		if n.is("into") && depth == 0 && n.kind == tokWord && !prev.is("insert") && !prev.is("merge") && !t.is("import") && !t.is("create") {
			if s.into != nil {
				return nil, p.errorAt(n, pgerror.SyntaxError, "INTO specified more than once")
			}
			cutFrom = n.start
			in, err := p.targets()
			if err != nil {
				return nil, err
			}
			s.into = &in
			nx, err := p.peek(0)
			if err != nil {
				return nil, err
			}
			cutTo = nx.start
			prev = n
			continue
		}
		prev, last = n, n.end
	}
	text := p.src[t.start:last]
	if cutFrom >= 0 {
		tail := ""
		if cutTo < last {
			tail = p.src[cutTo:last]
		}
		text = p.src[t.start:cutFrom] + strings.Repeat(" ", max(cutTo-cutFrom, 1)) + tail
	}
	text = strings.TrimRight(text, " \t\r\n\f\v")
	s.query = p.query(text, text, false)
	return s, nil
}
