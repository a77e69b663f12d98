package pgregex

import (
	"strings"
	"unicode/utf8"

	"ostraka/sqltypes/pgerror"
)

// maxIterations bounds the depth of dissecting a repetition.
const maxIterations = 100_000

var errComplexText = pgerror.New(pgerror.StatementTooComplex, "regular expression is too complex for this text")

// automaton is the node's own, built when first needed.
func (m *matcher) automaton(n *node) (*dfa, error) {
	if n.prog == nil {
		d, err := newDFA(n, false, m.re)
		if err != nil {
			return nil, err
		}
		n.prog = d
	}
	return n.prog, nil
}

// dissect takes apart what n matched from start to end, which its automaton has
// accepted, and sets the captures. false: back-references do not agree.
func (m *matcher) dissect(n *node, start, end int) (bool, error) {
	if m.tries++; m.tries > maxDissect {
		return false, errComplexText
	}
	switch n.op {
	case opCapture:
		ok, err := m.dissect(n.subs[0], start, end)
		if ok {
			m.loc[2*n.n], m.loc[2*n.n+1] = start, end
		}
		return ok, err
	case opCat:
		return m.dissectCat(n, start, end)
	case opAlt:
		for _, s := range n.subs {
			d, err := m.automaton(s)
			if err != nil {
				return false, err
			}
			ok, err := d.spans(m, start, end)
			if ok && err == nil {
				ok, err = m.dissect(s, start, end)
			}
			if ok || err != nil {
				return ok, err
			}
		}
		return false, nil
	case opBackref:
		return m.sameAsCapture(n.n, start, end), nil
	case opRepeat:
		return m.dissectRepeat(n, start, end)
	}
	return true, nil
}

func (m *matcher) sameAsCapture(number, start, end int) bool {
	from, to := m.loc[2*number], m.loc[2*number+1]
	if from < 0 {
		return false
	}
	a, b := m.text[from:to], m.text[start:end]
	if a == b || !m.re.flags.fold {
		return a == b
	}
	return strings.EqualFold(a, b) && (m.re.loc.unicode || len(a) == len(b))
}

// unset clears the captures inside n before another try.
func (m *matcher) unset(n *node) {
	if n.op == opCapture {
		m.loc[2*n.n], m.loc[2*n.n+1] = -1, -1
	}
	if n.op == opBackref || n.flags&captures == 0 {
		return
	}
	for _, s := range n.subs {
		m.unset(s)
	}
}

// dissectCat finds where the left part ends: the longest or, by its preference,
// shortest way that lets the right part match the rest.
func (m *matcher) dissectCat(n *node, start, end int) (bool, error) {
	left, right := n.subs[0], n.subs[1]
	d, err := m.automaton(left)
	if err != nil {
		return false, err
	}
	r, err := m.automaton(right)
	if err != nil {
		return false, err
	}
	least, limit := start, end
	for {
		var mid int
		if left.flags&shorter != 0 {
			mid, err = d.shortest(m, start, least, end)
		} else {
			mid, err = d.longest(m, start, limit)
		}
		if err != nil || mid < 0 {
			return false, err
		}
		ok, err := r.spans(m, mid, end)
		if err != nil {
			return false, err
		}
		if ok {
			if ok, err = m.dissect(left, start, mid); ok && err == nil {
				ok, err = m.dissect(right, mid, end)
			}
			if ok || err != nil {
				return ok, err
			}
			m.unset(left)
			m.unset(right)
		}
		if m.tries++; m.tries > maxDissect {
			return false, errComplexText
		}
		if left.flags&shorter != 0 {
			if mid == end {
				return false, nil
			}
			_, width := utf8.DecodeRuneInString(m.text[mid:])
			least = mid + width
			continue
		}
		if mid == start {
			return false, nil
		}
		limit = m.before(mid)
	}
}

// dissectRepeat splits start…end into iterations of the repeated node, each as
// long (or short) as possible, going back when the rest does not fit. Empty
// iterations are only used to reach the minimum.
func (m *matcher) dissectRepeat(n *node, start, end int) (bool, error) {
	if n.min == 0 && start == end {
		return true, nil
	}
	atom := n.subs[0]
	d, err := m.automaton(atom)
	if err != nil {
		return false, err
	}
	least := max(n.min, 1)
	most := utf8.RuneCountInString(m.text[start:end])
	if n.max >= 0 && most > n.max {
		most = n.max
	}
	most = max(most, least)
	prefersShort := n.flags&shorter != 0
	var try func(k, from int) (bool, error)
	try = func(k, from int) (bool, error) {
		if k > maxIterations {
			return false, errComplexText
		}
		floor, limit := from, end
		for {
			var to int
			var err error
			if k == most { // the last one must reach the end
				floor = end
			}
			if prefersShort {
				to, err = d.shortest(m, from, floor, end)
			} else {
				to, err = d.longest(m, from, limit)
			}
			if err != nil || to < 0 || k == most && to != end {
				return false, err
			}
			usable := to > from || k < least && least-k >= utf8.RuneCountInString(m.text[to:end])
			if to == end && k >= least || to == end && to == from && usable || to < end && usable && k < most {
				m.unset(atom)
				ok, err := m.dissect(atom, from, to)
				if ok && err == nil && !(to == end && k >= least) {
					ok, err = try(k+1, to)
					if ok || err != nil {
						return ok, err
					}
				} else if ok || err != nil {
					return ok, err
				}
				m.unset(atom)
			}
			if m.tries++; m.tries > maxDissect {
				return false, errComplexText
			}
			if prefersShort {
				if to == end {
					return false, nil
				}
				_, width := utf8.DecodeRuneInString(m.text[to:])
				floor = to + width
				continue
			}
			if to == from {
				return false, nil
			}
			limit = m.before(to)
		}
	}
	return try(1, start)
}
