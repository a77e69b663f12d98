package catalog

import "ostraka/sqltypes"

// KeyCond is a condition on one column of a partition key: Op is '=' (one of
// Values), '<', 'l' (at most), '>', 'g' (at least), '!' (not Values[0]), 'n' IS
// NULL or 'N' IS NOT NULL. But for 'n' NULL does not fulfil it.
type KeyCond struct {
	Key    int
	Op     byte
	Values []sqltypes.Datum
}

// Keep tells which partitions can have rows that fulfil all conditions.
func (p *Partitions) Keep(conds []KeyCond) []bool {
	keep := make([]bool, len(p.Parts))
	for _, c := range conds {
		if c.Op == 'n' || c.Op == 'N' {
			continue
		}
		some := false
		for _, v := range c.Values {
			some = some || !v.Null
		}
		if !some {
			return keep
		}
	}
	switch p.Rel.Partitioning.Strategy {
	case 'l':
		p.keepList(conds, keep)
	case 'h':
		p.keepHash(conds, keep)
	default:
		p.keepRanges(conds, keep)
	}
	return keep
}

func (p *Partitions) holds(c *KeyCond, v sqltypes.Datum) bool {
	switch c.Op {
	case 'n':
		return v.Null
	case 'N':
		return !v.Null
	}
	if v.Null {
		return false
	}
	if c.Op == '=' {
		for _, w := range c.Values {
			if !w.Null && p.compare(c.Key, v, w) == 0 {
				return true
			}
		}
		return false
	}
	d := p.compare(c.Key, v, c.Values[0])
	switch c.Op {
	case '<':
		return d < 0
	case 'l':
		return d <= 0
	case '>':
		return d > 0
	case 'g':
		return d >= 0
	}
	return d != 0
}

func (p *Partitions) keepList(conds []KeyCond, keep []bool) {
	all := func(v sqltypes.Datum) bool {
		for i := range conds {
			if !p.holds(&conds[i], v) {
				return false
			}
		}
		return true
	}
	for _, l := range p.list {
		if !keep[l.part] && all(l.v) {
			keep[l.part] = true
		}
	}
	if p.null >= 0 && all(sqltypes.Null) {
		keep[p.null] = true
	}
	if p.Default < 0 {
		return
	}
	// The default partition has what is not listed.
	keep[p.Default] = true
	for i := range conds {
		c := &conds[i]
		switch {
		case c.Op == 'n' && p.null >= 0:
			keep[p.Default] = false
		case c.Op == '=':
			listed := true
			for _, v := range c.Values {
				if !v.Null {
					_, ok := p.FindList(v)
					listed = listed && ok
				}
			}
			if listed {
				keep[p.Default] = false
			}
		}
	}
}

// maxHashed bounds the keys that are tried for hash partitions.
const maxHashed = 1000

func (p *Partitions) keepHash(conds []KeyCond, keep []bool) {
	all := func() {
		for i := range keep {
			keep[i] = true
		}
	}
	values := make([][]sqltypes.Datum, len(p.types))
	n := 1
	for k := range values {
		for i := range conds {
			if conds[i].Key != k {
				continue
			}
			if conds[i].Op == '=' {
				values[k] = conds[i].Values
			} else if conds[i].Op == 'n' {
				values[k] = []sqltypes.Datum{sqltypes.Null}
			}
		}
		if n *= len(values[k]); n == 0 || n > maxHashed {
			all()
			return
		}
	}
	key := make([]sqltypes.Datum, len(values))
	var try func(k int)
	try = func(k int) {
		if k == len(values) {
			if at := p.Find(key); at >= 0 {
				keep[at] = true
			}
			return
		}
		for _, v := range values[k] {
			key[k] = v
			try(k + 1)
		}
	}
	try(0)
}

// keyRange is the conditions on the leading columns of a range key: equalities, then
// at most one range.
type keyRange struct {
	lower, upper       []sqltypes.Datum
	lowerInc, upperInc bool
}

func (p *Partitions) keepRanges(conds []KeyCond, keep []bool) {
	strict := make([]bool, len(p.types))
	for i := range conds {
		switch conds[i].Op {
		case 'n':
			if p.Default >= 0 {
				keep[p.Default] = true
			}
			return
		}
		strict[conds[i].Key] = true
	}
	covered := true
	for _, s := range strict {
		covered = covered && s
	}
	any := -1
	for i := range conds {
		if conds[i].Op == '=' && len(conds[i].Values) > 1 && any < 0 {
			any = i
		}
	}
	if any < 0 {
		covered = p.keepRange(conds, keep) && covered
	} else {
		one := append([]KeyCond(nil), conds...)
		for _, v := range conds[any].Values {
			if v.Null {
				continue
			}
			one[any] = KeyCond{conds[any].Key, '=', []sqltypes.Datum{v}}
			covered = p.keepRange(one, keep) && covered
		}
	}
	if p.Default >= 0 {
		keep[p.Default] = !covered
	}
}

// keepRange marks the partitions for conditions without lists; covered: between them
// they have all keys that fulfil the conditions.
func (p *Partitions) keepRange(conds []KeyCond, keep []bool) (covered bool) {
	q := keyRange{lowerInc: true, upperInc: true}
	for k := range p.types {
		var eq *KeyCond
		var lo, hi *KeyCond
		for i := range conds {
			c := &conds[i]
			if c.Key != k || len(c.Values) == 0 || c.Values[0].Null {
				continue
			}
			switch c.Op {
			case '=':
				eq = c
			case '>', 'g':
				if lo == nil || p.compare(k, c.Values[0], lo.Values[0]) > 0 || p.compare(k, c.Values[0], lo.Values[0]) == 0 && c.Op == '>' {
					lo = c
				}
			case '<', 'l':
				if hi == nil || p.compare(k, c.Values[0], hi.Values[0]) < 0 || p.compare(k, c.Values[0], hi.Values[0]) == 0 && c.Op == '<' {
					hi = c
				}
			}
		}
		if eq != nil {
			q.lower, q.upper = append(q.lower, eq.Values[0]), append(q.upper, eq.Values[0])
			continue
		}
		if lo != nil {
			q.lower, q.lowerInc = append(q.lower, lo.Values[0]), lo.Op == 'g'
		}
		if hi != nil {
			q.upper, q.upperInc = append(q.upper, hi.Values[0]), hi.Op == 'l'
		}
		break
	}
	prefix := func(b []RangeBound, v []sqltypes.Datum) int { return p.compareRow(b[:min(len(v), len(b))], v) }
	var last *rangePart
	covered = true
	for i := range p.ranges {
		r := &p.ranges[i]
		if n := len(q.lower); n > 0 {
			if d := prefix(r.upper, q.lower); d < 0 || d == 0 && (n == len(p.types) || !q.lowerInc) {
				continue
			}
		}
		if len(q.upper) > 0 {
			if d := prefix(r.lower, q.upper); d > 0 || d == 0 && !q.upperInc {
				break
			}
		}
		keep[r.part] = true
		if last == nil {
			// Does it begin where the conditions do?
			if n := len(q.lower); n == 0 {
				covered = r.lower[0].Kind < 0
			} else if d := prefix(r.lower, q.lower); d > 0 || d == 0 && n < len(p.types) {
				covered = false
			}
		} else if p.compareBounds(last.upper, r.lower) != 0 {
			covered = false
		}
		last = r
	}
	if last == nil {
		return false
	}
	if n := len(q.upper); n == 0 {
		return covered && last.upper[0].Kind > 0
	} else if d := prefix(last.upper, q.upper); d < 0 || d == 0 && (q.upperInc || n < len(p.types)) {
		return false
	}
	return covered
}
