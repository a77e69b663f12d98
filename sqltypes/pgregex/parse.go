package pgregex

import (
	"strings"
)

const (
	maxRepeat  = 255
	maxNesting = 500
)

// parser reads a pattern in one of the dialects.
type parser struct {
	src    []rune
	at     int
	flags  Flags
	loc    locale
	caps   []*node // what each closed pair of parentheses holds, by number; nil while open
	depth  int
	inLook int // inside look-around parentheses do not capture
}

// parse reads a whole pattern into a tree; parenthesis 0 is not part of it.
func parse(pattern string, flags Flags, loc locale) (*node, *parser, error) {
	p := &parser{flags: flags, loc: loc, caps: make([]*node, 1)}
	if flags.syntax == advanced {
		if rest, ok := strings.CutPrefix(pattern, "***"); ok {
			switch {
			case strings.HasPrefix(rest, "="):
				p.flags.syntax = literal
			case !strings.HasPrefix(rest, ":"):
				return nil, nil, errRepeat
			}
			pattern = rest[1:]
		}
	}
	p.src = []rune(pattern)
	if p.flags.syntax == advanced && strings.HasPrefix(pattern, "(?") && len(p.src) > 2 && asciiLetter(p.src[2]) {
		p.at = 2
		for p.more() && asciiLetter(p.src[p.at]) {
			if !p.flags.set(p.src[p.at]) {
				return nil, nil, errOption
			}
			p.at++
		}
		if !p.eat(')') {
			return nil, nil, errOption
		}
	}
	if p.flags.syntax == literal {
		n := &node{op: opLump}
		for ; p.more(); p.at++ {
			n.subs = append(n.subs, p.char(p.src[p.at]))
		}
		return n, p, nil
	}
	n, err := p.alternation(false)
	if err != nil {
		return nil, nil, err
	}
	if p.more() {
		return nil, nil, errParen
	}
	return n, p, nil
}

func asciiLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

func (p *parser) more() bool { return p.at < len(p.src) }

func (p *parser) eat(r rune) bool {
	if p.more() && p.src[p.at] == r {
		p.at++
		return true
	}
	return false
}

func (p *parser) see(s string) bool {
	for i, r := range []rune(s) {
		if p.at+i >= len(p.src) || p.src[p.at+i] != r {
			return false
		}
	}
	return true
}

// skip passes white space and comments in the expanded syntax, and (?#…) comments.
func (p *parser) skip() error {
	for {
		if p.flags.expanded {
			for p.more() && strings.ContainsRune(" \t\n\r\f\v", p.src[p.at]) {
				p.at++
			}
			if p.more() && p.src[p.at] == '#' {
				for p.more() && p.src[p.at] != '\n' {
					p.at++
				}
				continue
			}
		}
		if p.flags.syntax != advanced || !p.see("(?#") {
			return nil
		}
		for p.more() && p.src[p.at] != ')' {
			p.at++
		}
		if !p.eat(')') {
			return errParen
		}
	}
}

// atEnd reports the end of a branch.
func (p *parser) atEnd(inParen bool) bool {
	switch {
	case !p.more():
		return true
	case p.flags.syntax == basic:
		return inParen && p.see(`\)`)
	}
	return p.src[p.at] == '|' || p.src[p.at] == ')' && (inParen || p.flags.syntax == advanced)
}

// char is a single character, in both cases when case does not matter.
func (p *parser) char(r rune) *node {
	set := oneChar(r)
	if p.flags.fold {
		set = p.loc.fold(set)
	}
	return &node{op: opSet, set: set}
}

func (p *parser) alternation(inParen bool) (*node, error) {
	if p.depth++; p.depth > maxNesting {
		return nil, errTooLarge
	}
	defer func() { p.depth-- }()
	first, err := p.branch(inParen)
	if err != nil {
		return nil, err
	}
	if p.flags.syntax == basic || !p.more() || p.src[p.at] != '|' {
		return first, nil
	}
	alt := &node{op: opAlt, subs: []*node{first}}
	alt.flags = longer | (longer | first.flags).up()
	for p.eat('|') {
		b, err := p.branch(inParen)
		if err != nil {
			return nil, err
		}
		alt.subs = append(alt.subs, b)
		alt.flags |= (alt.flags | b.flags).up()
	}
	if !alt.flags.messy() {
		return &node{op: opLump, flags: alt.flags, subs: []*node{alt}}, nil
	}
	return alt, nil
}

// branch reads quantified atoms. Neighbours without captures and with one
// preference become one lump; a messy one splits the branch in two.
func (p *parser) branch(inParen bool) (*node, error) {
	var lump *node
	for first := true; ; first = false {
		if err := p.skip(); err != nil {
			return nil, err
		}
		if p.atEnd(inParen) {
			break
		}
		atom, isConstraint, err := p.atom(first)
		if err != nil {
			return nil, err
		}
		lo, hi, prefer := 1, 1, flag(0)
		if !isConstraint {
			if lo, hi, prefer, err = p.quantifier(); err != nil {
				return nil, err
			}
		}
		if lo == 0 && hi == 0 {
			atom = &node{op: opEmpty}
			lo, hi = 1, 1
		}
		if lump == nil {
			lump = &node{op: opLump}
		}
		f := lump.flags | prefer | atom.flags
		if atom.op != opCapture && atom.op != opBackref && !f.up().messy() {
			lump.subs = append(lump.subs, repeat(atom, lo, hi))
			lump.flags = f
			continue
		}
		messy := quantified(atom, lo, hi, prefer)
		if err := p.skip(); err != nil {
			return nil, err
		}
		if !p.atEnd(inParen) {
			rest, err := p.branch(inParen)
			if err != nil {
				return nil, err
			}
			messy = concatenate(messy, rest)
		}
		if len(lump.subs) == 0 {
			return messy, nil
		}
		return concatenate(lump, messy), nil
	}
	if lump == nil {
		return &node{op: opLump}, nil
	}
	return lump, nil
}

func repeat(atom *node, lo, hi int) *node {
	if lo == 1 && hi == 1 {
		return atom
	}
	return &node{op: opRepeat, subs: []*node{atom}, min: lo, max: hi, flags: atom.flags}
}

// quantified is a messy atom with its quantifier.
func quantified(atom *node, lo, hi int, prefer flag) *node {
	own := atom.flags & (longer | shorter | mixed)
	switch {
	case lo == 1 && hi == 1 && (prefer == 0 || own == 0 || prefer == own):
		return atom
	case atom.flags&(captures|backrefs) == 0 && atom.op != opBackref:
		return &node{op: opLump, flags: combine(prefer, atom.flags), subs: []*node{repeat(atom, lo, hi)}}
	case lo > 0 && atom.flags&backrefs == 0 && atom.op != opBackref:
		// x{m,n} is x{m-1,n-1}x: only the last iteration's captures count.
		if hi > 0 {
			hi--
		}
		f := combine(prefer, atom.flags)
		head := &node{op: opLump, flags: f.preference(), subs: []*node{repeat(atom, lo-1, hi)}}
		if lo == 1 && hi == 0 {
			head.subs = nil
		}
		return &node{op: opCat, flags: f, subs: []*node{head, atom}}
	}
	return &node{op: opRepeat, flags: combine(prefer, atom.flags), subs: []*node{atom}, min: lo, max: hi}
}

// quantifier reads an optional quantifier; prefer is 0 when there is none or it is {m}.
func (p *parser) quantifier() (lo, hi int, prefer flag, err error) {
	if err = p.skip(); err != nil {
		return
	}
	lo, hi = 1, 1
	if !p.more() {
		return
	}
	switch c := p.src[p.at]; {
	case c == '*':
		lo, hi, prefer = 0, -1, longer
	case c == '+' && p.flags.syntax != basic:
		lo, hi, prefer = 1, -1, longer
	case c == '?' && p.flags.syntax != basic:
		lo, hi, prefer = 0, 1, longer
	case c == '{' && p.flags.syntax != basic && p.digitAt(p.at+1), p.flags.syntax == basic && p.see(`\{`):
		if p.flags.syntax == basic {
			p.at++
		}
		p.at++
		return p.bound()
	case c == '{' && p.flags.syntax == extended:
		return 0, 0, 0, errCount
	default:
		return
	}
	p.at++
	if p.flags.syntax == advanced && p.eat('?') {
		prefer = shorter
	}
	return
}

func (p *parser) digitAt(i int) bool { return i < len(p.src) && p.src[i] >= '0' && p.src[i] <= '9' }

func (p *parser) number() (int, error) {
	n := 0
	for p.digitAt(p.at) {
		n = n*10 + int(p.src[p.at]-'0')
		if p.at++; n > maxRepeat {
			return 0, errCount
		}
	}
	return n, nil
}

// bound reads m}, m,} or m,n} after the opening brace.
func (p *parser) bound() (lo, hi int, prefer flag, err error) {
	if lo, err = p.number(); err != nil {
		return
	}
	hi = lo
	if p.eat(',') {
		hi, prefer = -1, longer
		if p.digitAt(p.at) {
			if hi, err = p.number(); err != nil {
				return
			}
			if hi < lo {
				return 0, 0, 0, errCount
			}
		}
	}
	if p.flags.syntax == basic && !p.eat('\\') || !p.eat('}') {
		if p.more() {
			return 0, 0, 0, errCount
		}
		return 0, 0, 0, errBrace
	}
	if p.flags.syntax == advanced && p.eat('?') && prefer != 0 {
		prefer = shorter
	}
	return
}
