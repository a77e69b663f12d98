package pgregex

import "strings"

func (p *parser) assertNode(a assertion) *node { return &node{op: opAssert, assert: a} }

// atom reads one atom or constraint; first: it starts a branch, where the basic
// syntax takes * literally and ^ as an anchor.
func (p *parser) atom(first bool) (n *node, isConstraint bool, err error) {
	c := p.src[p.at]
	if p.flags.syntax == basic {
		return p.basicAtom(first)
	}
	p.at++
	switch c {
	case '^':
		if p.flags.lineAnchors {
			return p.assertNode(beginLine), true, nil
		}
		return p.assertNode(beginText), true, nil
	case '$':
		if p.flags.lineAnchors {
			return p.assertNode(endLine), true, nil
		}
		return p.assertNode(endText), true, nil
	case '(':
		return p.paren()
	case ')':
		if p.flags.syntax == advanced {
			return nil, false, errParen
		}
	case '*', '+', '?':
		return nil, false, errRepeat
	case '{':
		if p.digitAt(p.at) {
			return nil, false, errRepeat
		}
		if p.flags.syntax == extended {
			return nil, false, errRepeat
		}
	case '.':
		return p.anyChar(), false, nil
	case '[':
		return p.bracketAtom()
	case '\\':
		if !p.more() {
			return nil, false, errEscape
		}
		if p.flags.syntax == extended {
			p.at++
			return p.char(p.src[p.at-1]), false, nil
		}
		return p.escape()
	}
	return p.char(c), false, nil
}

func (p *parser) anyChar() *node {
	all := charset{{0, maxChar}}
	if p.flags.lineDots {
		all = all.without('\n')
	}
	return &node{op: opSet, set: all}
}

func (p *parser) bracketAtom() (*node, bool, error) {
	if p.see("[:<:]]") {
		p.at += 6
		return p.assertNode(wordBegin), true, nil
	}
	if p.see("[:>:]]") {
		p.at += 6
		return p.assertNode(wordEnd), true, nil
	}
	n, err := p.bracket()
	return n, false, err
}

// paren reads what follows an opening parenthesis.
func (p *parser) paren() (*node, bool, error) {
	if p.flags.syntax == advanced && p.eat('?') {
		for _, look := range []struct {
			mark          string
			ahead, negate bool
		}{{"=", true, false}, {"!", true, true}, {"<=", false, false}, {"<!", false, true}} {
			if !p.see(look.mark) {
				continue
			}
			p.at += len(look.mark)
			p.inLook++
			sub, err := p.alternation(true)
			p.inLook--
			if err != nil {
				return nil, false, err
			}
			if !p.eat(')') {
				return nil, false, errParen
			}
			return &node{op: opLook, ahead: look.ahead, negate: look.negate, subs: []*node{sub}}, true, nil
		}
		if !p.eat(':') {
			return nil, false, errRepeat
		}
		sub, err := p.alternation(true)
		if err != nil {
			return nil, false, err
		}
		if !p.eat(')') {
			return nil, false, errParen
		}
		return sub, false, nil
	}
	if p.inLook > 0 {
		sub, err := p.alternation(true)
		if err == nil && !p.eat(')') {
			err = errParen
		}
		return sub, false, err
	}
	number := len(p.caps)
	p.caps = append(p.caps, nil)
	sub, err := p.alternation(true)
	if err != nil {
		return nil, false, err
	}
	if p.flags.syntax == basic && !p.eat('\\') || !p.eat(')') {
		return nil, false, errParen
	}
	n := &node{op: opCapture, n: number, subs: []*node{sub}, flags: sub.flags | captures}
	p.caps[number] = n
	return n, false, nil
}

// basicAtom reads an atom of the basic syntax.
func (p *parser) basicAtom(first bool) (*node, bool, error) {
	c := p.src[p.at]
	p.at++
	switch c {
	case '*':
		if !first {
			return nil, false, errRepeat
		}
	case '^':
		if first {
			return p.assertNode(beginText), true, nil
		}
	case '$':
		if p.atEnd(true) {
			return p.assertNode(endText), true, nil
		}
	case '.':
		return p.anyChar(), false, nil
	case '[':
		return p.bracketAtom()
	case '\\':
		if !p.more() {
			return nil, false, errEscape
		}
		e := p.src[p.at]
		p.at++
		switch {
		case e == '(':
			return p.paren()
		case e == ')':
			return nil, false, errParen
		case e == '<':
			return p.assertNode(wordBegin), true, nil
		case e == '>':
			return p.assertNode(wordEnd), true, nil
		case e >= '1' && e <= '9':
			n, err := p.backref(int(e - '0'))
			return n, false, err
		}
		return p.char(e), false, nil
	}
	return p.char(c), false, nil
}

func (p *parser) backref(number int) (*node, error) {
	if number >= len(p.caps) || p.caps[number] == nil {
		return nil, errBackref
	}
	if p.inLook > 0 {
		return nil, errBackref
	}
	return &node{op: opBackref, n: number, flags: backrefs, subs: []*node{p.caps[number]}}, nil
}

// escape reads an escape of the advanced syntax outside brackets; the backslash
// has been read.
func (p *parser) escape() (*node, bool, error) {
	c := p.src[p.at]
	switch c {
	case 'A':
		p.at++
		return p.assertNode(beginText), true, nil
	case 'Z':
		p.at++
		return p.assertNode(endText), true, nil
	case 'm':
		p.at++
		return p.assertNode(wordBegin), true, nil
	case 'M':
		p.at++
		return p.assertNode(wordEnd), true, nil
	case 'y':
		p.at++
		return p.assertNode(wordEdge), true, nil
	case 'Y':
		p.at++
		return p.assertNode(wordInside), true, nil
	case 'd', 's', 'w', 'D', 'S', 'W':
		p.at++
		return &node{op: opSet, set: p.classEscape(c)}, false, nil
	}
	if c >= '1' && c <= '9' {
		start := p.at
		n := 0
		for p.digitAt(p.at) && n < 1000 {
			n = n*10 + int(p.src[p.at]-'0')
			p.at++
		}
		if p.at == start+1 || n < len(p.caps) {
			node, err := p.backref(n)
			return node, false, err
		}
		p.at = start // it is octal
	}
	r, err := p.charEscape()
	if err != nil {
		return nil, false, err
	}
	return p.char(r), false, nil
}

// classEscape is \d, \s, \w and their complements.
func (p *parser) classEscape(c rune) charset {
	name := map[rune]string{'d': "digit", 's': "space", 'w': "word", 'D': "digit", 'S': "space", 'W': "word"}[c]
	set := p.loc.class(name)
	if c < 'a' {
		return set.complement()
	}
	return set
}

// charEscape reads an escape that stands for one character.
func (p *parser) charEscape() (rune, error) {
	c := p.src[p.at]
	p.at++
	if i := strings.IndexRune("abefnrtvB", c); i >= 0 {
		return []rune("\a\b\x1b\f\n\r\t\v\\")[i], nil
	}
	switch {
	case c == 'c':
		if !p.more() {
			return 0, errEscape
		}
		p.at++
		return p.src[p.at-1] & 0x1f, nil
	case c == 'u':
		return p.digits(16, 4, 4)
	case c == 'U':
		return p.digits(16, 8, 8)
	case c == 'x':
		return p.digits(16, 1, 255)
	case c >= '0' && c <= '9':
		p.at--
		if c == '8' || c == '9' {
			return 0, errEscape
		}
		return p.digits(8, 1, 3)
	case asciiLetter(c):
		return 0, errEscape
	}
	return c, nil
}

// digits reads least to most digits of a base.
func (p *parser) digits(base, least, most int) (rune, error) {
	v, n := 0, 0
	for p.more() && n < most {
		d := strings.IndexRune("0123456789abcdef", p.src[p.at]|0x20)
		if p.src[p.at] < 'A' {
			d = strings.IndexRune("0123456789", p.src[p.at])
		}
		if d < 0 || d >= base {
			break
		}
		if v = v*base + d; v > maxChar {
			return 0, errEscape
		}
		p.at++
		n++
	}
	if n < least {
		return 0, errEscape
	}
	return rune(v), nil
}
