package plpgsql

import (
	"slices"
	"strconv"
	"strings"

	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// Types resolves the types that declarations name.
type Types interface {
	// TypeName resolves a type as it is written.
	TypeName(text string) (sqltypes.ColumnType, error)
	// ColumnType is the type of table.column (or schema.table.column).
	ColumnType(names []string) (sqltypes.ColumnType, error)
	// RowType is the type of a table's rows.
	RowType(names []string) (sqltypes.ColumnType, error)
	// Type looks a type up.
	Type(oid sqltypes.OID) *sqltypes.Type
}

// Arg is a parameter of a function: its mode (i, o, b, v, t) and its actual type.
type Arg struct {
	Name string
	Mode byte
	Type sqltypes.ColumnType
}

// Header is what a function's definition says outside of its body.
type Header struct {
	Name string
	// Signature names the function in CONTEXT: "f(integer)", "inline_code_block".
	Signature string
	Args      []Arg
	Ret       sqltypes.ColumnType
	RetSet    bool
	Kind      byte // f function, p procedure, d DO, t trigger
	ReadOnly  bool // declared STABLE or IMMUTABLE
}

// Function is a parsed function.
type Function struct {
	Header
	// Queries are all pieces of SQL in the body.
	Queries []*Query

	data     []*datum
	rowTypes map[int]*sqltypes.Type // of record variables
	args     []int                  // variables of the input parameters
	outs     []int                  // of the output parameters, those of TABLE too
	found    int
	trigger  triggerVars
	when     *Query // of a condition
	body     *block
	conflict byte
	strict   bool // print_strict_params
}

// Stale reports whether a row type of one of the variables has gone or changed.
func (f *Function) Stale(types Types) bool {
	for i, d := range f.data {
		if d.record && d.typ.OID != sqltypes.OIDRecord && types.Type(d.typ.OID) != f.rowTypes[i] {
			return true
		}
	}
	return false
}

// maxNesting bounds blocks and expressions inside each other.
const maxNesting = 500

type parser struct {
	lexer
	f     *Function
	types Types
	ns    *nsItem
	depth int
	cases int
}

// Parse reads a function's body. Errors have their place in it (InternalPosition).
func Parse(src string, h Header, types Types) (*Function, error) {
	p := &parser{lexer: lexer{src: src}, f: &Function{Header: h, conflict: 'e'}, types: types}
	p.ns = &nsItem{kind: 'l', name: h.Name}
	if err := p.parameters(); err != nil {
		return nil, err
	}
	p.f.found = p.variable("found", sqltypes.ColumnType{OID: sqltypes.OIDBool, TypMod: -1}, 0)
	p.triggerVariables()
	if err := p.options(); err != nil {
		return nil, err
	}
	label, err := p.label()
	if err != nil {
		return nil, err
	}
	t, err := p.next()
	if err != nil {
		return nil, err
	}
	if !t.is("declare") && !t.is("begin") {
		return nil, p.syntaxError(t)
	}
	p.f.body, err = p.block(t, label)
	if err != nil {
		return nil, err
	}
	if t, err = p.next(); err == nil && t.is(";") {
		t, err = p.next()
	}
	if err == nil && t.kind != tokEOF {
		err = p.syntaxError(t)
	}
	return p.f, err
}

// parameters makes the variables of the parameters.
func (p *parser) parameters() error {
	for i, a := range p.f.Args {
		name := "$" + strconv.Itoa(i+1)
		n := p.declare(a.Name, a.Type, 0)
		if a.Name == "" {
			p.f.data[n].name = name
		}
		p.addName(name, n)
		if a.Name != "" {
			if it, _ := p.ns.lookup(true, a.Name); it != nil {
				return pgerror.New(pgerror.InvalidFunctionDefinition, "parameter name \"%s\" used more than once", a.Name)
			}
			p.addName(a.Name, n)
		}
		if a.Mode == 'i' || a.Mode == 'b' || a.Mode == 'v' {
			p.f.args = append(p.f.args, n)
		}
		if a.Mode == 'o' || a.Mode == 'b' || a.Mode == 't' {
			p.f.outs = append(p.f.outs, n)
		}
	}
	return nil
}

// options are the lines that begin with #.
func (p *parser) options() error {
	for {
		t, err := p.peek(0)
		if err != nil || !t.is("#") {
			return err
		}
		_, _ = p.next()
		name, err := p.next()
		if err != nil {
			return err
		}
		val, err := p.next()
		if err != nil {
			return err
		}
		switch name.val {
		case "variable_conflict":
			c, ok := map[string]byte{"error": 'e', "use_variable": 'v', "use_column": 'c'}[val.val]
			if !ok {
				return p.syntaxError(val)
			}
			p.f.conflict = c
		case "print_strict_params":
			p.f.strict = val.val == "on"
		case "option":
		default:
			return p.syntaxError(name)
		}
	}
}

// declare makes a variable that has no name yet.
func (p *parser) declare(name string, typ sqltypes.ColumnType, ln int) int {
	d := &datum{name: name, typ: typ, line: ln}
	d.record = p.isRecord(typ.OID)
	p.f.data = append(p.f.data, d)
	if d.record && typ.OID != sqltypes.OIDRecord {
		if p.f.rowTypes == nil {
			p.f.rowTypes = map[int]*sqltypes.Type{}
		}
		p.f.rowTypes[len(p.f.data)-1] = p.types.Type(typ.OID)
	}
	return len(p.f.data) - 1
}

func (p *parser) isRecord(oid sqltypes.OID) bool {
	if oid == sqltypes.OIDRecord {
		return true
	}
	t := p.types.Type(oid)
	for t != nil && t.TypType == 'd' && t.Base != nil {
		t = t.Base
	}
	return t != nil && t.TypType == 'c'
}

func (p *parser) addName(name string, n int) {
	kind := byte('v')
	if p.f.data[n].record {
		kind = 'r'
	}
	p.ns = &nsItem{kind: kind, name: name, datum: n, prev: p.ns}
}

// variable makes a variable with a name.
func (p *parser) variable(name string, typ sqltypes.ColumnType, ln int) int {
	n := p.declare(name, typ, ln)
	p.addName(name, n)
	return n
}

// enter begins a level of names and returns what ends it.
func (p *parser) enter(label string, loop bool) (leave func()) {
	saved := p.ns
	p.ns = &nsItem{kind: 'l', name: label, loop: loop, prev: p.ns}
	return func() { p.ns = saved }
}

// query registers a piece of SQL.
func (p *parser) query(text, source string, isExpr bool) *Query {
	q := &Query{Text: text, Source: source, Expr: isExpr, ns: p.ns, fn: p.f}
	p.f.Queries = append(p.f.Queries, q)
	return q
}

// until reads tokens up to one of the ends, outside of parentheses, and returns the
// text between. The end is consumed.
func (p *parser) until(ends ...string) (text string, end token, err error) {
	first := -1
	last := 0
	depth := 0
	for {
		t, err := p.next()
		if err != nil {
			return "", t, err
		}
		if depth == 0 && (t.kind == tokWord || t.kind == tokSymbol) && slices.Contains(ends, t.val) {
			if first < 0 {
				return "", t, nil
			}
			return p.src[first:last], t, nil
		}
		switch {
		case t.is("(") || t.is("["):
			depth++
		case t.is(")") || t.is("]"):
			if depth--; depth < 0 {
				return "", t, p.errorAt(t, pgerror.SyntaxError, "mismatched parentheses at or near \"%s\"", t.val)
			}
		case t.kind == tokEOF || t.is(";"):
			if depth > 0 {
				return "", t, p.errorAt(t, pgerror.SyntaxError, "mismatched parentheses at or near \"%s\"", t.val)
			}
			want := slices.DeleteFunc(slices.Clone(ends), func(s string) bool { return s == "," })
			name := strings.ToUpper(want[len(want)-1])
			what := "expression"
			if first < 0 {
				what = "expression"
			}
			return "", t, p.errorAt(t, pgerror.SyntaxError, "missing \"%s\" at end of SQL %s", name, what)
		}
		if first < 0 {
			first = t.start
		}
		last = t.end
	}
}

// expression reads an expression up to one of the ends.
func (p *parser) expression(ends ...string) (*Query, token, error) {
	text, end, err := p.until(ends...)
	if err != nil {
		return nil, end, err
	}
	if text == "" {
		return nil, end, p.errorAt(end, pgerror.SyntaxError, "missing expression at or near \"%s\"", p.src[end.start:end.end])
	}
	return p.query("SELECT "+text, text, true), end, nil
}

// expect consumes a keyword or symbol.
func (p *parser) expect(words ...string) error {
	for _, w := range words {
		t, err := p.next()
		if err != nil {
			return err
		}
		if !t.is(w) {
			return p.syntaxError(t)
		}
	}
	return nil
}

// accept consumes the next token if it is the keyword or symbol.
func (p *parser) accept(word string) (bool, error) {
	t, err := p.peek(0)
	if err != nil || !t.is(word) {
		return false, err
	}
	_, err = p.next()
	return true, err
}

// label reads <<label>>; "" if there is none.
func (p *parser) label() (string, error) {
	if ok, err := p.accept("<<"); err != nil || !ok {
		return "", err
	}
	t, err := p.next()
	if err != nil {
		return "", err
	}
	if !t.name() {
		return "", p.syntaxError(t)
	}
	return t.val, p.expect(">>")
}

// endLabel checks the label after END.
func (p *parser) endLabel(label string) error {
	t, err := p.peek(0)
	if err != nil || !t.name() {
		return err
	}
	_, _ = p.next()
	if label == "" {
		return p.errorAt(t, pgerror.SyntaxError, "end label \"%s\" specified for unlabeled block", t.val)
	}
	if t.val != label {
		return p.errorAt(t, pgerror.SyntaxError, "end label \"%s\" differs from block's label \"%s\"", t.val, label)
	}
	return nil
}
