package jsonpath

import (
	"strconv"
	"strings"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
	"ostraka/sqltypes/pgregex"
)

const maxDepth = 1000

type parser struct {
	lex     lexer
	tok     token
	depth   int
	inIndex int // inside […], where last is allowed
	inside  int // inside a filter, where @ is allowed
}

// Parse reads a path. Errors: 42601, 22P02, 2201B, 0A000.
func Parse(s string) (*Path, error) {
	p := &parser{lex: lexer{src: s}}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.tok.kind == "" {
		return nil, pgerror.New(pgerror.InvalidTextRepresentation, "invalid input syntax for type %s: \"%s\"", "jsonpath", s)
	}
	path := &Path{lax: true}
	if p.isWord("strict") || p.isWord("lax") {
		path.lax = p.isWord("lax")
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
	n, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.tok.kind != "" {
		return nil, p.unexpected()
	}
	path.root = n
	return path, nil
}

func (p *parser) advance() (err error) {
	p.tok, err = p.lex.next()
	return err
}

// unexpected is the syntax error at the current token.
func (p *parser) unexpected() error {
	if p.tok.kind == "" {
		return syntaxError("")
	}
	return syntaxError(p.lex.src[p.tok.at:p.lex.at])
}

func (p *parser) isWord(w string) bool {
	return p.tok.kind == "id" && strings.EqualFold(p.tok.value, w)
}

// accept passes over a token of that kind.
func (p *parser) accept(kind string) (bool, error) {
	if p.tok.kind != kind {
		return false, nil
	}
	return true, p.advance()
}

func (p *parser) expect(kind string) error {
	ok, err := p.accept(kind)
	if err == nil && !ok {
		err = p.unexpected()
	}
	return err
}

func (p *parser) expectWord(w string) error {
	if !p.isWord(w) {
		return p.unexpected()
	}
	return p.advance()
}

// binary reads a left-associative level of operators.
func (p *parser) binary(ops map[string]kind, operand func() (*node, error)) (*node, error) {
	left, err := operand()
	if err != nil {
		return nil, err
	}
	for {
		k, ok := ops[p.tok.kind]
		if !ok {
			return left, nil
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
		right, err := operand()
		if err != nil {
			return nil, err
		}
		left = &node{kind: k, left: left, right: right}
	}
}

func (p *parser) or() (*node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, pgerror.New(pgerror.StatementTooComplex, "stack depth limit exceeded")
	}
	defer func() { p.depth-- }()
	return p.binary(map[string]kind{"||": kOr}, p.and)
}

func (p *parser) and() (*node, error) { return p.binary(map[string]kind{"&&": kAnd}, p.comparison) }

var comparisons = map[string]kind{"==": kEqual, "!=": kNotEqual, "<": kLess, ">": kGreater, "<=": kLessEqual, ">=": kGreaterEqual}

func (p *parser) comparison() (*node, error) {
	left, err := p.sum()
	if err != nil {
		return nil, err
	}
	if k, ok := comparisons[p.tok.kind]; ok {
		if err := p.advance(); err != nil {
			return nil, err
		}
		right, err := p.sum()
		return &node{kind: k, left: left, right: right}, err
	}
	switch {
	case p.isWord("starts"):
		if err := p.advance(); err != nil {
			return nil, err
		}
		if err := p.expectWord("with"); err != nil {
			return nil, err
		}
		if p.tok.kind != "str" && p.tok.kind != "var" {
			return nil, p.unexpected()
		}
		right, err := p.primary()
		return &node{kind: kStartsWith, left: left, right: right}, err
	case p.isWord("like_regex"):
		return p.likeRegex(left)
	}
	return left, nil
}

func (p *parser) likeRegex(left *node) (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	n := &node{kind: kLikeRegex, left: left, text: p.tok.value}
	if err := p.expect("str"); err != nil {
		return nil, err
	}
	if p.isWord("flag") {
		if err := p.advance(); err != nil {
			return nil, err
		}
		flags := p.tok.value
		if err := p.expect("str"); err != nil {
			return nil, err
		}
		for _, f := range "ismxq" { // in the order they are printed
			if strings.ContainsRune(flags, f) {
				n.flags += string(f)
			}
		}
		for _, f := range flags {
			if !strings.ContainsRune("ismxq", f) {
				return nil, pgerror.New(pgerror.SyntaxError, "invalid input syntax for type %s", "jsonpath").
					WithDetail("Unrecognized flag character \"%c\" in LIKE_REGEX predicate.", f)
			}
		}
	}
	_, err := n.regexp()
	return n, err
}

// regexp compiles the pattern of like_regex: XQuery's flags in PostgreSQL's terms.
func (n *node) regexp() (*pgregex.Regexp, error) {
	has := func(f string) bool { return strings.Contains(n.flags, f) }
	flags := ""
	if has("i") {
		flags += "i"
	}
	switch {
	case has("q"):
		flags += "q"
		if has("x") || has("s") || has("m") {
			flags = strings.ReplaceAll(flags, "x", "")
		}
	case has("x"):
		return nil, pgerror.New(pgerror.FeatureNotSupported, "XQuery \"x\" flag (expanded regular expressions) is not implemented")
	case has("m") && !has("s"):
		flags += "n"
	case has("m"):
		flags += "w"
	case !has("s"):
		flags += "p"
	}
	f, err := pgregex.ParseFlags(flags)
	if err != nil {
		return nil, err
	}
	return pgregex.Compile(n.text, f, true)
}

func (p *parser) sum() (*node, error) {
	return p.binary(map[string]kind{"+": kAdd, "-": kSub}, p.product)
}

func (p *parser) product() (*node, error) {
	return p.binary(map[string]kind{"*": kMul, "/": kDiv, "%": kMod}, p.unary)
}

func (p *parser) unary() (*node, error) {
	k := map[string]kind{"+": kPlus, "-": kMinus}[p.tok.kind]
	if k == 0 {
		return p.path()
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	arg, err := p.unary()
	if err != nil {
		return nil, err
	}
	// A sign before a bare number is part of it.
	if arg.kind == kNumber && arg.next == nil {
		if k == kMinus {
			arg.number = sqltypes.NumericNeg(arg.number)
		}
		return arg, nil
	}
	return &node{kind: k, left: arg}, nil
}

// path reads a primary with its accessors.
func (p *parser) path() (*node, error) {
	n, err := p.primary()
	if err != nil {
		return nil, err
	}
	last := n
	for last.next != nil {
		last = last.next
	}
	for {
		a, err := p.accessor()
		if err != nil {
			return nil, err
		}
		if a == nil {
			return n, nil
		}
		last.next = a
		last = a
	}
}

func (p *parser) primary() (*node, error) {
	t := p.tok
	switch t.kind {
	case "$":
		return &node{kind: kRoot}, p.advance()
	case "@":
		if p.inside == 0 {
			return nil, pgerror.New(pgerror.SyntaxError, "@ is not allowed in root expressions")
		}
		return &node{kind: kCurrent}, p.advance()
	case "var":
		return &node{kind: kVariable, text: t.value}, p.advance()
	case "str":
		return &node{kind: kString, text: t.value}, p.advance()
	case "num":
		d, err := sqltypes.ParseNumeric(t.value)
		if err != nil {
			return nil, err
		}
		return &node{kind: kNumber, number: d}, p.advance()
	case "!":
		return p.not()
	case "(":
		return p.parenthesized()
	case "id":
		switch strings.ToLower(t.value) {
		case "last":
			if p.inIndex == 0 {
				return nil, pgerror.New(pgerror.SyntaxError, "LAST is allowed only in array subscripts")
			}
			return &node{kind: kLast}, p.advance()
		case "exists":
			return p.exists()
		}
		switch t.value {
		case "true", "false":
			return &node{kind: kBool, truth: t.value == "true"}, p.advance()
		case "null":
			return &node{kind: kNull}, p.advance()
		}
	}
	return nil, p.unexpected()
}

func (p *parser) not() (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	var arg *node
	var err error
	if p.isWord("exists") {
		arg, err = p.exists()
	} else {
		if err := p.expect("("); err != nil {
			return nil, err
		}
		if arg, err = p.or(); err == nil {
			err = p.expect(")")
		}
	}
	return &node{kind: kNot, left: arg}, err
}

func (p *parser) exists() (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	if err := p.expect("("); err != nil {
		return nil, err
	}
	arg, err := p.or()
	if err == nil {
		err = p.expect(")")
	}
	return &node{kind: kExists, left: arg}, err
}

func (p *parser) parenthesized() (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	n, err := p.or()
	if err != nil {
		return nil, err
	}
	if err := p.expect(")"); err != nil {
		return nil, err
	}
	if p.isWord("is") {
		if err := p.advance(); err != nil {
			return nil, err
		}
		return &node{kind: kIsUnknown, left: n}, p.expectWord("unknown")
	}
	return n, nil
}

// accessor reads one accessor, or nothing.
func (p *parser) accessor() (*node, error) {
	switch p.tok.kind {
	case ".":
		if err := p.advance(); err != nil {
			return nil, err
		}
		return p.member()
	case "[":
		return p.index()
	case "?":
		if err := p.advance(); err != nil {
			return nil, err
		}
		if err := p.expect("("); err != nil {
			return nil, err
		}
		p.inside++
		cond, err := p.or()
		p.inside--
		if err == nil {
			err = p.expect(")")
		}
		return &node{kind: kFilter, left: cond}, err
	}
	return nil, nil
}

var methods = map[string]kind{
	"type": kType, "size": kSize, "abs": kAbs, "floor": kFloor, "ceiling": kCeiling, "double": kDouble, "keyvalue": kKeyValue, "datetime": kDatetime,
}

// member reads what follows a dot.
func (p *parser) member() (*node, error) {
	t := p.tok
	switch t.kind {
	case "*":
		return &node{kind: kAnyKey}, p.advance()
	case "**":
		return p.anyLevels()
	case "str":
		return &node{kind: kKey, text: t.value}, p.advance()
	case "id":
		if err := p.advance(); err != nil {
			return nil, err
		}
		k, isMethod := methods[strings.ToLower(t.value)]
		if !isMethod || p.tok.kind != "(" {
			return &node{kind: kKey, text: t.value}, nil
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
		n := &node{kind: k}
		if k == kDatetime && p.tok.kind == "str" {
			n.text, n.flags = p.tok.value, "template"
			if err := p.advance(); err != nil {
				return nil, err
			}
		}
		return n, p.expect(")")
	}
	return nil, p.unexpected()
}

// anyLevels reads .** with its optional {n}, {n to m}, {last}.
func (p *parser) anyLevels() (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	n := &node{kind: kAny, first: 0, last: anyLast}
	if ok, err := p.accept("{"); !ok || err != nil {
		return n, err
	}
	level := func() (uint32, error) {
		if p.isWord("last") {
			return anyLast, p.advance()
		}
		v, err := strconv.ParseUint(p.tok.value, 10, 32)
		if p.tok.kind != "num" || err != nil {
			return 0, p.unexpected()
		}
		return uint32(v), p.advance()
	}
	var err error
	if n.first, err = level(); err != nil {
		return nil, err
	}
	n.last = n.first
	if p.isWord("to") {
		if err := p.advance(); err != nil {
			return nil, err
		}
		if n.last, err = level(); err != nil {
			return nil, err
		}
	}
	return n, p.expect("}")
}

func (p *parser) index() (*node, error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.tok.kind == "*" {
		if err := p.advance(); err != nil {
			return nil, err
		}
		return &node{kind: kAnyArray}, p.expect("]")
	}
	p.inIndex++
	defer func() { p.inIndex-- }()
	n := &node{kind: kIndex}
	for {
		var s subscript
		var err error
		if s.from, err = p.sum(); err != nil {
			return nil, err
		}
		if p.isWord("to") {
			if err := p.advance(); err != nil {
				return nil, err
			}
			if s.to, err = p.sum(); err != nil {
				return nil, err
			}
		}
		n.subs = append(n.subs, s)
		if ok, err := p.accept(","); err != nil {
			return nil, err
		} else if !ok {
			return n, p.expect("]")
		}
	}
}
