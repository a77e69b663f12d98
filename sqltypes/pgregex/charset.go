package pgregex

import (
	"slices"
	"sort"
	"sync"
	"unicode"
)

// charset is a set of characters as sorted, disjoint, non-adjacent ranges.
type charset []charRange

type charRange struct{ lo, hi rune }

const maxChar = unicode.MaxRune

func oneChar(r rune) charset { return charset{{r, r}} }

// normal sorts and merges ranges.
func (s charset) normal() charset {
	if len(s) < 2 {
		return s
	}
	sort.Slice(s, func(i, j int) bool { return s[i].lo < s[j].lo })
	out := s[:1]
	for _, r := range s[1:] {
		if last := &out[len(out)-1]; r.lo <= last.hi+1 {
			last.hi = max(last.hi, r.hi)
		} else {
			out = append(out, r)
		}
	}
	return out
}

// complement of a normal set.
func (s charset) complement() charset {
	var out charset
	next := rune(0)
	for _, r := range s {
		if r.lo > next {
			out = append(out, charRange{next, r.lo - 1})
		}
		next = r.hi + 1
	}
	if next <= maxChar {
		out = append(out, charRange{next, maxChar})
	}
	return out
}

func (s charset) without(r rune) charset {
	return append(s.complement(), charRange{r, r}).normal().complement()
}

func (s charset) has(r rune) bool {
	i := sort.Search(len(s), func(i int) bool { return s[i].hi >= r })
	return i < len(s) && s[i].lo <= r
}

// locale says which characters are letters and how they fold: the collation's
// part in regular expressions.
type locale struct{ unicode bool }

func (l locale) variants(r rune) []rune {
	if !l.unicode {
		switch {
		case r >= 'a' && r <= 'z':
			return []rune{r, r - 32}
		case r >= 'A' && r <= 'Z':
			return []rune{r, r + 32}
		}
		return nil
	}
	lo, up := unicode.ToLower(r), unicode.ToUpper(r)
	if lo == up {
		return nil
	}
	return []rune{r, lo, up}
}

// fold adds the other case of every letter.
func (l locale) fold(s charset) charset {
	out := slices.Clone(s)
	for _, r := range s {
		hi := r.hi
		if !l.unicode {
			hi = min(hi, 'z')
		}
		for c := r.lo; c <= hi; c++ {
			for _, v := range l.variants(c) {
				out = append(out, charRange{v, v})
			}
		}
	}
	return out.normal()
}

// classes caches the sets of classes, which are never changed.
var classes sync.Map // classKey → charset

type classKey struct {
	locale
	name string
}

// class is the set of a [:name:], or nil when there is no such class.
func (l locale) class(name string) charset {
	key := classKey{l, name}
	if s, ok := classes.Load(key); ok {
		return s.(charset)
	}
	s := l.makeClass(name)
	if s != nil {
		classes.Store(key, s)
	}
	return s
}

func (l locale) makeClass(name string) charset {
	ascii := map[string]charset{
		"alpha": {{'A', 'Z'}, {'a', 'z'}}, "digit": {{'0', '9'}}, "alnum": {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}},
		"upper": {{'A', 'Z'}}, "lower": {{'a', 'z'}}, "space": {{9, 13}, {' ', ' '}}, "blank": {{9, 9}, {' ', ' '}},
		"punct": {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}, "cntrl": {{0, 31}, {127, 127}},
		"print": {{' ', '~'}}, "graph": {{'!', '~'}}, "xdigit": {{'0', '9'}, {'A', 'F'}, {'a', 'f'}},
		"ascii": {{0, 127}}, "word": {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}},
	}[name]
	if ascii == nil || !l.unicode {
		return slices.Clone(ascii)
	}
	var tables []*unicode.RangeTable
	switch name {
	case "alpha":
		tables = []*unicode.RangeTable{unicode.L}
	case "digit":
		tables = []*unicode.RangeTable{unicode.Nd}
	case "alnum", "word":
		tables = []*unicode.RangeTable{unicode.L, unicode.Nd}
	case "upper":
		tables = []*unicode.RangeTable{unicode.Lu, unicode.Lt}
	case "lower":
		tables = []*unicode.RangeTable{unicode.Ll}
	case "space":
		tables = []*unicode.RangeTable{unicode.White_Space}
	case "punct":
		tables = []*unicode.RangeTable{unicode.P, unicode.S}
	case "graph":
		tables = []*unicode.RangeTable{unicode.L, unicode.M, unicode.N, unicode.P, unicode.S}
	case "print":
		tables = []*unicode.RangeTable{unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Zs}
	}
	out := slices.Clone(ascii)
	for _, t := range tables {
		for _, r := range t.R16 {
			for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
				if c >= 0x80 {
					out = append(out, charRange{c, c})
				}
			}
		}
		for _, r := range t.R32 {
			if r.Stride == 1 {
				out = append(out, charRange{rune(r.Lo), rune(r.Hi)})
				continue
			}
			for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
				out = append(out, charRange{c, c})
			}
		}
	}
	return out.normal()
}
