package pgregex

// bracket reads a bracket expression after its [.
func (p *parser) bracket() (*node, error) {
	negate := p.eat('^')
	var set charset
	for first := true; ; first = false {
		if !p.more() {
			return nil, errBracket
		}
		if p.src[p.at] == ']' && !first {
			p.at++
			break
		}
		part, lo, isChar, err := p.bracketItem(first)
		if err != nil {
			return nil, err
		}
		if p.more() && p.src[p.at] == '-' && p.at+1 < len(p.src) && p.src[p.at+1] != ']' {
			if !isChar {
				return nil, errRange
			}
			p.at++
			_, hi, isChar, err := p.bracketItem(true)
			if err != nil {
				return nil, err
			}
			if !isChar || hi < lo {
				return nil, errRange
			}
			part = charset{{lo, hi}}
		}
		set = append(set, part...)
	}
	set = set.normal()
	if p.flags.fold {
		set = p.loc.fold(set)
	}
	if negate {
		set = set.complement()
		if p.flags.lineDots {
			set = set.without('\n')
		}
	}
	return &node{op: opSet, set: set}, nil
}

// bracketItem reads one character, collating element or class. A - is itself
// only as the first or last item, or as the end of a range.
func (p *parser) bracketItem(first bool) (set charset, r rune, isChar bool, err error) {
	c := p.src[p.at]
	switch {
	case c == '[' && p.at+1 < len(p.src) && (p.src[p.at+1] == ':' || p.src[p.at+1] == '.' || p.src[p.at+1] == '='):
		return p.named(p.src[p.at+1])
	case c == '\\' && p.flags.syntax == advanced:
		p.at++
		if !p.more() {
			return nil, 0, false, errEscape
		}
		switch e := p.src[p.at]; e {
		case 'd', 's', 'w', 'D', 'S', 'W':
			p.at++
			return p.classEscape(e), 0, false, nil
		}
		if r, err = p.charEscape(); err != nil {
			return nil, 0, false, err
		}
		return oneChar(r), r, true, nil
	case c == '-' && !first && !(p.at+1 < len(p.src) && p.src[p.at+1] == ']'):
		return nil, 0, false, errRange
	}
	p.at++
	return oneChar(c), c, true, nil
}

// named reads [:class:], [.element.] or [=equivalent=].
func (p *parser) named(kind rune) (set charset, r rune, isChar bool, err error) {
	p.at += 2
	start := p.at
	for p.at+1 < len(p.src) && !(p.src[p.at] == kind && p.src[p.at+1] == ']') {
		p.at++
	}
	if p.at+1 >= len(p.src) {
		return nil, 0, false, errBracket
	}
	name := p.src[start:p.at]
	p.at += 2
	if kind == ':' {
		class := string(name)
		if p.flags.fold && (class == "upper" || class == "lower") {
			class = "alpha"
		}
		if set = p.loc.class(class); set == nil {
			return nil, 0, false, errClass
		}
		return set, 0, false, nil
	}
	if len(name) != 1 {
		code, ok := collatingNames[string(name)]
		if !ok {
			return nil, 0, false, errCollate
		}
		return oneChar(code), code, true, nil
	}
	return oneChar(name[0]), name[0], kind == '.', nil
}

// collatingNames are the POSIX names of characters that patterns use.
var collatingNames = map[string]rune{
	"NUL": 0, "alert": 7, "backspace": 8, "tab": 9, "newline": 10, "vertical-tab": 11, "form-feed": 12, "carriage-return": 13,
	"space": ' ', "exclamation-mark": '!', "quotation-mark": '"', "number-sign": '#', "dollar-sign": '$', "percent-sign": '%',
	"ampersand": '&', "apostrophe": '\'', "left-parenthesis": '(', "right-parenthesis": ')', "asterisk": '*', "plus-sign": '+',
	"comma": ',', "hyphen": '-', "hyphen-minus": '-', "period": '.', "full-stop": '.', "slash": '/', "solidus": '/',
	"zero": '0', "one": '1', "two": '2', "three": '3', "four": '4', "five": '5', "six": '6', "seven": '7', "eight": '8', "nine": '9',
	"colon": ':', "semicolon": ';', "less-than-sign": '<', "equals-sign": '=', "greater-than-sign": '>', "question-mark": '?',
	"commercial-at": '@', "left-square-bracket": '[', "backslash": '\\', "reverse-solidus": '\\', "right-square-bracket": ']',
	"circumflex": '^', "underscore": '_', "low-line": '_', "grave-accent": '`', "left-brace": '{', "vertical-line": '|',
	"right-brace": '}', "tilde": '~', "DEL": 127,
}
