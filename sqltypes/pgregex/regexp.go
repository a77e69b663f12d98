package pgregex

import (
	"context"
	"unicode/utf8"

	"ostraka/sqltypes/pgerror"
)

// Regexp is a compiled expression.
type Regexp struct {
	loc    locale
	tree   *node
	caps   int // number of parentheses
	flags  Flags
	whole  *dfa
	search *dfa
}

// Compile reads an expression; unicode says whether letters are Unicode's or
// only ASCII's (collation "C"). Errors: 2201B.
func Compile(pattern string, flags Flags, unicode bool) (*Regexp, error) {
	re := &Regexp{loc: locale{unicode}}
	tree, p, err := parse(pattern, flags, re.loc)
	if err != nil {
		return nil, err
	}
	re.tree, re.caps, re.flags = tree, len(p.caps)-1, p.flags
	if re.whole, err = newDFA(tree, false, re); err != nil {
		return nil, err
	}
	if re.search, err = newDFA(tree, true, re); err != nil {
		return nil, err
	}
	return re, nil
}

// NumCaptures is the number of capturing parentheses.
func (re *Regexp) NumCaptures() int { return re.caps }

// matcher is one search.
type matcher struct {
	ctx   context.Context
	re    *Regexp
	text  string
	loc   []int // start and end of the whole and of each capture, -1 when unset
	steps int
	next  int // when to look for cancellation
	tries int // of dissection
}

// maxDissect bounds the steps of taking a match apart.
const maxDissect = 2_000_000

// maxSteps bounds one search; it is some ten seconds.
const maxSteps = 1 << 31

// count counts a step and looks for cancellation now and then.
func (m *matcher) count() error {
	if m.steps++; m.steps < m.next {
		return nil
	}
	m.next = m.steps + 1<<16
	if m.steps > maxSteps {
		return errComplexText
	}
	if m.ctx != nil && m.ctx.Err() != nil {
		return pgerror.Wrap(m.ctx.Err(), pgerror.QueryCanceled, "canceling statement due to user request")
	}
	return nil
}

// Match reports whether the expression matches anywhere in text.
func (re *Regexp) Match(ctx context.Context, text string) (bool, error) {
	if re.tree.flags&backrefs != 0 {
		loc, err := re.Find(ctx, text, 0)
		return loc != nil, err
	}
	m := &matcher{ctx: ctx, re: re, text: text}
	end, err := re.search.shortest(m, 0, 0, len(text))
	return end >= 0, err
}

// Find returns the first match that starts at byte offset from or later: the
// offsets of start and end of the whole and of each capture (-1: not set), or
// nil when there is none.
func (re *Regexp) Find(ctx context.Context, text string, from int) ([]int, error) {
	m := &matcher{ctx: ctx, re: re, text: text}
	first, last, err := m.startRange(from)
	if err != nil || last < 0 {
		return nil, err
	}
	for start := first; start <= last; {
		loc, err := m.matchAt(start)
		if err != nil || loc != nil {
			return loc, err
		}
		if start == len(text) {
			break
		}
		_, width := utf8.DecodeRuneInString(text[start:])
		start += width
	}
	return nil, nil
}

// startRange narrows where a first match can begin: from the last place at which
// the search automaton had nothing under way, to the first end of a match (with
// back-references: to the end of the text).
func (m *matcher) startRange(from int) (first, last int, err error) {
	d := m.re.search
	si := d.start(d.propsBefore(m.text, from))
	first = from
	for at := from; ; {
		if d.states[si].prev&propRest != 0 {
			first = at
		}
		color, width := d.charAt(m.text, at)
		next, matched, err := d.step(m, si, color, at)
		if err != nil {
			return 0, 0, err
		}
		if matched {
			if m.re.tree.flags&backrefs != 0 {
				return first, len(m.text), nil
			}
			return first, at, nil
		}
		if width == 0 {
			return 0, -1, nil
		}
		if err := m.count(); err != nil {
			return 0, 0, err
		}
		si = next
		at += width
	}
}

// matchAt matches from one place, with the length that the expression prefers.
func (m *matcher) matchAt(start int) ([]int, error) {
	re := m.re
	m.loc = make([]int, 2*(re.caps+1))
	least, limit := start, len(m.text)
	for {
		var end int
		var err error
		if re.tree.flags&shorter != 0 {
			end, err = re.whole.shortest(m, start, least, limit)
		} else {
			end, err = re.whole.longest(m, start, limit)
		}
		if err != nil || end < 0 {
			return nil, err
		}
		for i := range m.loc {
			m.loc[i] = -1
		}
		ok := true
		if re.tree.flags&(captures|backrefs) != 0 {
			if ok, err = m.dissect(re.tree, start, end); err != nil {
				return nil, err
			}
		}
		if ok {
			m.loc[0], m.loc[1] = start, end
			return m.loc, nil
		}
		// Only back-references can refuse what the automaton took: try the next length.
		if re.tree.flags&shorter != 0 {
			if end == len(m.text) {
				return nil, nil
			}
			_, width := utf8.DecodeRuneInString(m.text[end:])
			least = end + width
			continue
		}
		if end == start {
			return nil, nil
		}
		limit = m.before(end)
	}
}

// before is the place one character earlier.
func (m *matcher) before(at int) int {
	_, width := utf8.DecodeLastRuneInString(m.text[:at])
	return at - width
}

// look evaluates a look-around constraint at a place.
func (m *matcher) look(l *look, at int) (bool, error) {
	var end int
	var err error
	if l.ahead {
		end, err = l.prog.shortest(m, at, at, len(m.text))
	} else {
		end, err = l.prog.shortest(m, 0, at, at)
		if end != at {
			end = -1
		}
	}
	return (end >= 0) != l.negate, err
}
