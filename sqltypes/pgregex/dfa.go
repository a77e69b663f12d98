package pgregex

import (
	"slices"
	"sort"
	"unicode/utf8"
)

// dfa runs an nfa with states made on demand. Its transitions are by color: an
// equivalence class of characters that no set of the automaton tells apart.
type dfa struct {
	*nfa
	loc    locale
	search bool   // any text may come before
	bounds []rune // first characters of the colors, ascending from 0
	ascii  [128]uint16
	props  []uint8  // of each color
	inSet  [][]bool // set, color

	states []*state
	index  map[string]int32
	size   int      // of all states
	mark   []uint32 // visit marks of instructions
	gen    uint32
	stack  []int32
	key    []byte
}

// state is a set of instructions and what the character before the place was.
type state struct {
	pcs  []int32
	prev uint8
	next []int32 // by color, the last for the end of the text: target<<1 | matched, or -1
}

// Properties of the characters next to a place.
const (
	propWord uint8 = 1 << iota
	propNewline
	propEdge // no character: begin or end of the text
	propRest // search automata: the last character began or continued no match
)

// maxStates bounds the cache of one automaton; past it the cache starts anew.
const (
	maxStates = 1000
	maxCells  = 1 << 20 // instructions and transitions of all states together
)

func newDFA(n *node, search bool, re *Regexp) (*dfa, error) {
	a, err := compile(n, search, re)
	if err != nil {
		return nil, err
	}
	d := &dfa{nfa: a, search: search, loc: re.loc, mark: make([]uint32, len(a.insts))}
	d.color()
	d.reset()
	return d, nil
}

func (d *dfa) color() {
	cuts := map[rune]bool{0: true}
	cut := func(s charset) {
		for _, r := range s {
			cuts[r.lo] = true
			if r.hi < maxChar {
				cuts[r.hi+1] = true
			}
		}
	}
	for _, s := range d.sets {
		cut(s)
	}
	word := d.loc.class("word")
	if d.hasAssert {
		cut(word)
		cut(oneChar('\n'))
	}
	for r := range cuts {
		d.bounds = append(d.bounds, r)
	}
	slices.Sort(d.bounds)
	d.props = make([]uint8, len(d.bounds))
	for c, r := range d.bounds {
		if d.hasAssert && word.has(r) {
			d.props[c] |= propWord
		}
		if r == '\n' {
			d.props[c] |= propNewline
		}
	}
	for r := range d.ascii {
		d.ascii[r] = uint16(d.colorOf(rune(r)))
	}
	d.inSet = make([][]bool, len(d.sets))
	for i, s := range d.sets {
		d.inSet[i] = make([]bool, len(d.bounds))
		for c, r := range d.bounds {
			d.inSet[i][c] = s.has(r)
		}
	}
}

func (d *dfa) colorOf(r rune) int {
	return sort.Search(len(d.bounds), func(i int) bool { return d.bounds[i] > r }) - 1
}

func (d *dfa) reset() {
	d.states = d.states[:0]
	d.index = map[string]int32{}
	d.size = 0
}

// stateOf returns the number of the state with these instructions.
func (d *dfa) stateOf(pcs []int32, prev uint8) int32 {
	if !d.hasAssert {
		prev &= propRest
	}
	d.key = d.key[:0]
	for _, pc := range pcs {
		d.key = append(d.key, byte(pc), byte(pc>>8), byte(pc>>16))
	}
	d.key = append(d.key, prev)
	if i, ok := d.index[string(d.key)]; ok {
		return i
	}
	s := &state{pcs: slices.Clone(pcs), prev: prev, next: make([]int32, len(d.bounds)+1)}
	for i := range s.next {
		s.next[i] = -1
	}
	d.states = append(d.states, s)
	i := int32(len(d.states) - 1)
	d.index[string(d.key)] = i
	return i
}

// follow adds pc and what it reaches without a character to set; assertions and
// look-around are passed when holds says so, and kept otherwise.
func (d *dfa) follow(set []int32, pc int32, holds func(*inst) bool) []int32 {
	d.stack = append(d.stack[:0], pc)
	for len(d.stack) > 0 {
		pc := d.stack[len(d.stack)-1]
		d.stack = d.stack[:len(d.stack)-1]
		if d.mark[pc] == d.gen {
			continue
		}
		d.mark[pc] = d.gen
		switch in := &d.insts[pc]; in.op {
		case iSplit:
			d.stack = append(d.stack, in.y, in.x)
		case iJump:
			d.stack = append(d.stack, in.x)
		case iAssert, iLook:
			if holds == nil {
				set = append(set, pc)
			} else if holds(in) {
				d.stack = append(d.stack, pc+1)
			}
		default:
			set = append(set, pc)
		}
	}
	return set
}

func (d *dfa) start(prev uint8) int32 {
	d.gen++
	pcs := d.follow(nil, 0, nil)
	slices.Sort(pcs)
	return d.stateOf(pcs, prev|propRest)
}

func holds(a assertion, prev, next uint8) bool {
	w, x := prev&propWord != 0, next&propWord != 0
	switch a {
	case beginText:
		return prev&propEdge != 0
	case endText:
		return next&propEdge != 0
	case beginLine:
		return prev&(propEdge|propNewline) != 0
	case endLine:
		return next&(propEdge|propNewline) != 0
	case wordBegin:
		return !w && x
	case wordEnd:
		return w && !x
	case wordEdge:
		return w != x
	}
	return w == x
}

// step leaves state si at place at of m's text over a character of color c (or
// len(bounds): the end); matched: the automaton accepts at this place.
func (d *dfa) step(m *matcher, si int32, c, at int) (next int32, matched bool, err error) {
	s := d.states[si]
	if t := s.next[c]; t >= 0 {
		return t >> 1, t&1 != 0, nil
	}
	nextProps := propEdge
	if c < len(d.bounds) {
		nextProps = d.props[c]
	}
	closed := s.pcs
	if d.hasAssert || len(d.looks) > 0 {
		d.gen++
		closed = nil
		for _, pc := range s.pcs {
			closed = d.follow(closed, pc, func(in *inst) bool {
				if in.op == iAssert {
					return holds(assertion(in.arg), s.prev, nextProps)
				}
				stack := d.stack
				d.stack = nil
				ok, e := m.look(d.looks[in.arg], at)
				d.stack = stack
				if e != nil {
					err = e
				}
				return ok
			})
		}
		if err != nil {
			return 0, false, err
		}
	}
	m.steps += len(closed)
	d.gen++
	var to []int32
	before := propRest
	for _, pc := range closed {
		switch in := &d.insts[pc]; {
		case in.op == iMatch:
			matched = true
		case in.op == iSet && c < len(d.bounds) && d.inSet[in.arg][c]:
			to = d.follow(to, pc+1, nil)
			if !d.search || pc != searchAny {
				before = 0
			}
		}
	}
	slices.Sort(to)
	d.size += len(to) + len(d.bounds)
	if len(d.states) >= maxStates || d.size > maxCells {
		d.reset()
		next = d.stateOf(to, nextProps|before)
		return next, matched, nil
	}
	next = d.stateOf(to, nextProps|before)
	if len(d.looks) == 0 {
		t := next << 1
		if matched {
			t |= 1
		}
		s.next[c] = t
	}
	return next, matched, nil
}

// charAt is the color and width of the character at a place of the text.
func (d *dfa) charAt(s string, at int) (color, width int) {
	if at >= len(s) {
		return len(d.bounds), 0
	}
	if c := s[at]; c < utf8.RuneSelf {
		return int(d.ascii[c]), 1
	}
	r, width := utf8.DecodeRuneInString(s[at:])
	return d.colorOf(r), width
}

// propsBefore are the properties of the character before a place.
func (d *dfa) propsBefore(s string, at int) uint8 {
	if at == 0 {
		return propEdge
	}
	r, _ := utf8.DecodeLastRuneInString(s[:at])
	return d.props[d.colorOf(r)]
}

// run matches from start and calls hit with every place where the automaton
// accepts, ascending, until hit says to stop or the limit is passed.
func (d *dfa) run(m *matcher, start, limit int, hit func(at int) (stop bool)) error {
	si := d.start(d.propsBefore(m.text, start))
	for at := start; ; {
		color, width := d.charAt(m.text, at)
		next, matched, err := d.step(m, si, color, at)
		if err != nil {
			return err
		}
		if matched && hit(at) || at >= limit || width == 0 || len(d.states[next].pcs) == 0 {
			return nil
		}
		if err := m.count(); err != nil {
			return err
		}
		si = next
		at += width
	}
}

// longest is the largest end ≤ limit of a match from start, or -1; shortest the
// smallest end ≥ least.
func (d *dfa) longest(m *matcher, start, limit int) (int, error) {
	end := -1
	err := d.run(m, start, limit, func(at int) bool { end = at; return false })
	return end, err
}

func (d *dfa) shortest(m *matcher, start, least, limit int) (int, error) {
	end := -1
	err := d.run(m, start, limit, func(at int) bool {
		if at >= least {
			end = at
			return true
		}
		return false
	})
	return end, err
}

// spans reports whether the automaton matches exactly from start to end.
func (d *dfa) spans(m *matcher, start, end int) (bool, error) {
	at, err := d.shortest(m, start, end, end)
	return at == end, err
}
