package pgregex

import "slices"

// instOp is the sort of an instruction of a nondeterministic automaton.
type instOp uint8

const (
	iSet    instOp = iota // a character of sets[arg], then the next instruction
	iSplit                // x or y
	iJump                 // x
	iAssert               // assertion arg holds, then the next
	iLook                 // looks[arg] holds, then the next
	iMatch
)

type inst struct {
	op   instOp
	arg  int32
	x, y int32
}

// maxInsts bounds an automaton: nested repetitions multiply.
const maxInsts = 20000

// nfa is the automaton of one node (Thompson's construction).
type nfa struct {
	insts     []inst
	sets      []charset
	looks     []*look
	hasAssert bool
}

// look is one look-around constraint.
type look struct {
	ahead, negate bool
	prog          *dfa // of the expression; behind: with any text before it
}

// searchAny is the instruction that passes over text before a match.
const searchAny = 1

// compile builds the automaton of n; search puts "any text" before it.
func compile(n *node, search bool, re *Regexp) (*nfa, error) {
	a := &nfa{}
	if search {
		// 0: split 3, 1; 1: any; 2: jump 0
		a.insts = append(a.insts, inst{op: iSplit, x: 3, y: 1}, inst{op: iSet, arg: int32(a.addSet(charset{{0, maxChar}}))}, inst{op: iJump, x: 0})
	}
	if err := a.add(n, re); err != nil {
		return nil, err
	}
	a.insts = append(a.insts, inst{op: iMatch})
	return a, nil
}

// addSet gives equal sets one number.
func (a *nfa) addSet(s charset) int {
	for i, have := range a.sets {
		if slices.Equal(have, s) {
			return i
		}
	}
	a.sets = append(a.sets, s)
	return len(a.sets) - 1
}

func (a *nfa) emit(i inst) int {
	a.insts = append(a.insts, i)
	return len(a.insts) - 1
}

func (a *nfa) here() int32 { return int32(len(a.insts)) }

func (a *nfa) add(n *node, re *Regexp) error {
	if len(a.insts) > maxInsts {
		return errTooLarge
	}
	switch n.op {
	case opEmpty:
	case opSet:
		a.emit(inst{op: iSet, arg: int32(a.addSet(n.set))})
	case opAssert:
		a.hasAssert = true
		a.emit(inst{op: iAssert, arg: int32(n.assert)})
	case opLook:
		if n.prog == nil {
			prog, err := newDFA(n.subs[0], !n.ahead, re)
			if err != nil {
				return err
			}
			n.prog = prog
		}
		a.looks = append(a.looks, &look{ahead: n.ahead, negate: n.negate, prog: n.prog})
		a.emit(inst{op: iLook, arg: int32(len(a.looks) - 1)})
	case opCat, opLump, opCapture, opBackref:
		// A back-reference matches at least what its parentheses can; dissection checks the rest.
		for _, s := range n.subs {
			if err := a.add(s, re); err != nil {
				return err
			}
		}
	case opAlt:
		var ends []int
		for i, s := range n.subs {
			split := -1
			if i < len(n.subs)-1 {
				split = a.emit(inst{op: iSplit})
				a.insts[split].x = a.here()
			}
			if err := a.add(s, re); err != nil {
				return err
			}
			if split >= 0 {
				ends = append(ends, a.emit(inst{op: iJump}))
				a.insts[split].y = a.here()
			}
		}
		for _, e := range ends {
			a.insts[e].x = a.here()
		}
	case opRepeat:
		return a.addRepeat(n, re)
	}
	return nil
}

func (a *nfa) addRepeat(n *node, re *Regexp) error {
	for range n.min {
		if err := a.add(n.subs[0], re); err != nil {
			return err
		}
	}
	if n.max < 0 {
		split := a.emit(inst{op: iSplit})
		a.insts[split].x = a.here()
		if err := a.add(n.subs[0], re); err != nil {
			return err
		}
		a.emit(inst{op: iJump, x: int32(split)})
		a.insts[split].y = a.here()
		return nil
	}
	var splits []int
	for range n.max - n.min {
		split := a.emit(inst{op: iSplit})
		a.insts[split].x = a.here()
		splits = append(splits, split)
		if err := a.add(n.subs[0], re); err != nil {
			return err
		}
	}
	for _, s := range splits {
		a.insts[s].y = a.here()
	}
	return nil
}
