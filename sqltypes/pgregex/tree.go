package pgregex

// op is the sort of a tree node.
type op uint8

const (
	opEmpty op = iota
	opSet
	opAssert
	opLook
	opBackref
	opCat
	opAlt
	opRepeat
	opCapture
	opLump // a part without captures: one automaton, never taken apart
)

// flag bits of a node, named as in Spencer's code.
type flag uint8

const (
	longer  flag = 1 << iota // prefers long matches
	shorter                  // prefers short ones
	mixed                    // both preferences occur inside
	captures
	backrefs
)

// node is a node of the expression's tree.
type node struct {
	op     op
	flags  flag
	set    charset
	assert assertion
	ahead  bool // opLook: ahead or behind
	negate bool // opLook
	subs   []*node
	min    int
	max    int // opRepeat; -1: no bound
	n      int // opCapture, opBackref: number of the parentheses

	prog *dfa // built on first use
}

// assertion is a zero-width condition on the characters around a place.
type assertion uint8

const (
	beginText assertion = iota
	endText
	beginLine
	endLine
	wordBegin
	wordEnd
	wordEdge
	wordInside // not at a word edge
)

func (f flag) preference() flag { return f & (longer | shorter) }

// up is what of a child's flags its parent inherits.
func (f flag) up() flag {
	out := f &^ (longer | shorter)
	if f.preference() == longer|shorter {
		out |= mixed
	}
	return out
}

func (f flag) messy() bool { return f&(mixed|captures|backrefs) != 0 }

// combine joins the flags of two neighbours; the first one's preference wins.
func combine(a, b flag) flag {
	p := a.preference()
	if p == 0 {
		p = b.preference()
	}
	return (a | b).up() | p
}

func concatenate(a, b *node) *node {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	return &node{op: opCat, flags: combine(a.flags, b.flags), subs: []*node{a, b}}
}
