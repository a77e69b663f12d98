package bind

import (
	"ostraka/sqltypes"
)

// candidate is a function or operator that a call may mean, with its argument
// types after VARIADIC expansion, defaults and reordering of named arguments.
type candidate struct {
	proc     *sqltypes.Proc
	op       *sqltypes.Operator
	args     []sqltypes.OID
	pathPos  int
	variadic int   // number of expanded VARIADIC elements, 0: not expanded
	defaults int   // arguments to be filled in
	argnums  []int // position of each given argument (named notation); nil: in order
	// ambiguous: another function fits just as well.
	ambiguous bool
}

// matchTypes is func_match_argtypes: candidates whose arguments can be had by
// implicit coercion.
func (b *binder) matchTypes(actual []sqltypes.OID, cands []*candidate) []*candidate {
	var out []*candidate
	for _, c := range cands {
		if b.canCoerce(actual, c.args[:len(actual)], implicit) {
			out = append(out, c)
		}
	}
	return out
}

// selectCandidate is func_select_candidate: the best of several that all match, or nil.
func (b *binder) selectCandidate(actual []sqltypes.OID, cands []*candidate) *candidate {
	n := len(actual)
	base := make([]sqltypes.OID, n)
	unknowns := 0
	for i, t := range actual {
		if isUnknown(t) {
			base[i] = oidUnknown
			unknowns++
		} else {
			base[i] = b.baseType(t)
		}
	}
	// Keep those with the most exact matches.
	cands = keepBest(cands, func(c *candidate) int {
		k := 0
		for i := range base {
			if base[i] != oidUnknown && c.args[i] == base[i] {
				k++
			}
		}
		return k
	})
	if len(cands) == 1 {
		return cands[0]
	}
	// Then those with the most exact or preferred-type matches.
	cats := make([]byte, n)
	for i := range base {
		cats[i], _ = b.category(base[i])
		if base[i] == oidUnknown {
			cats[i] = 'X'
		}
	}
	cands = keepBest(cands, func(c *candidate) int {
		k := 0
		for i := range base {
			if base[i] != oidUnknown && (c.args[i] == base[i] || b.preferredFor(cats[i], c.args[i])) {
				k++
			}
		}
		return k
	})
	if len(cands) == 1 {
		return cands[0]
	}
	if unknowns == 0 {
		return nil
	}
	// Guess the category of each unknown from what the candidates accept there.
	resolved := false
	slotCat := make([]byte, n)
	slotPref := make([]bool, n)
	ok := true
	for i := range base {
		if base[i] != oidUnknown {
			continue
		}
		resolved = true
		have := false
		for _, c := range cands {
			ct := c.args[i]
			cat, pref := b.category(ct)
			switch {
			case !have:
				slotCat[i], slotPref[i], have = cat, pref, true
			case cat == slotCat[i]:
				slotPref[i] = slotPref[i] || pref
			case cat == 'S':
				// Strings win: unknown literals look like them.
				slotCat[i], slotPref[i] = cat, pref
			default:
				if slotCat[i] != 'S' {
					ok = false
				}
			}
		}
	}
	// The strings rule may override an earlier clash, so look again per slot.
	ok = true
	for i := range base {
		if base[i] != oidUnknown {
			continue
		}
		ok = ok && b.slotResolvable(i, cands, slotCat[i])
	}
	if resolved && ok {
		var kept []*candidate
		for _, c := range cands {
			keep := true
			for i := range base {
				if base[i] != oidUnknown {
					continue
				}
				cat, pref := b.category(c.args[i])
				if cat != slotCat[i] || slotPref[i] && !pref {
					keep = false
				}
			}
			if keep {
				kept = append(kept, c)
			}
		}
		if len(kept) > 0 {
			cands = kept
		}
		if len(cands) == 1 {
			return cands[0]
		}
	}
	// Last: if all known arguments have one type, assume the unknowns have it too.
	if unknowns < n {
		known := oidUnknown
		for _, t := range base {
			if t == oidUnknown {
				continue
			}
			if known == oidUnknown {
				known = t
			} else if known != t {
				known = oidUnknown
				break
			}
		}
		if known != oidUnknown {
			all := make([]sqltypes.OID, n)
			for i := range all {
				all[i] = known
			}
			var last *candidate
			k := 0
			for _, c := range cands {
				if b.canCoerce(all, c.args[:n], implicit) {
					last = c
					if k++; k > 1 {
						break
					}
				}
			}
			if k == 1 {
				return last
			}
		}
	}
	return nil
}

// slotResolvable: all candidates accept one category there, or some accept strings.
func (b *binder) slotResolvable(i int, cands []*candidate, cat byte) bool {
	if cat == 'S' {
		return true
	}
	for _, c := range cands {
		if k, _ := b.category(c.args[i]); k != cat {
			return false
		}
	}
	return true
}

func (b *binder) preferredFor(cat byte, t sqltypes.OID) bool {
	c, p := b.category(t)
	return c == cat && p
}

// keepBest keeps the candidates with the highest score, all when it is 0.
func keepBest(cands []*candidate, score func(*candidate) int) []*candidate {
	best := 0
	var out []*candidate
	for _, c := range cands {
		k := score(c)
		switch {
		case k > best:
			best, out = k, append(out[:0:0], c)
		case k == best:
			out = append(out, c)
		}
	}
	return out
}
