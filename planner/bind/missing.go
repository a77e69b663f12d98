package bind

import (
	"unicode/utf8"

	"ostraka/sqltypes/pgerror"
)

// maxFuzzyDistance is how far a suggested column name may be from the one written.
const maxFuzzyDistance = 3

// columnMissing is errorMissingColumn with its hints.
func (s *scope) columnMissing(table, name string, loc int32) {
	b := s.b
	var err *pgerror.Error
	if table != "" {
		err = b.errAt(loc, pgerror.UndefinedColumn, "column %s.%s does not exist", table, name)
	} else {
		err = b.errAt(loc, pgerror.UndefinedColumn, `column "%s" does not exist`, name)
	}
	m := s.fuzzyColumn(table, name)
	switch {
	case m.first == nil:
	case m.exact:
		err.WithHint(`There is a column named "%s" in table "%s", but it cannot be referenced from this part of the query.`, name, m.first.alias)
	case m.second != nil:
		err.WithHint(`Perhaps you meant to reference the column "%s.%s" or the column "%s.%s".`,
			m.first.alias, m.first.colName(m.firstCol), m.second.alias, m.second.colName(m.secondCol))
	default:
		err.WithHint(`Perhaps you meant to reference the column "%s.%s".`, m.first.alias, m.first.colName(m.firstCol))
	}
	panic(err)
}

type fuzzyMatch struct {
	distance            int
	first, second       *nsItem
	firstCol, secondCol int
	exact               bool
}

// fuzzyColumn is searchRangeTableForCol.
func (s *scope) fuzzyColumn(table, name string) fuzzyMatch {
	m := fuzzyMatch{distance: maxFuzzyDistance + 1}
	for p := s; p != nil; p = p.parent {
		for _, it := range p.all {
			if it.rel < 0 {
				continue // joins have no columns of their own
			}
			penalty := 0
			if table != "" {
				penalty = levenshtein(table, it.alias)
				if penalty > maxFuzzyDistance+1 {
					penalty = maxFuzzyDistance + 1
				}
			}
			for i, n := 0, it.numCols(); i < n; i++ {
				actual := it.colName(i)
				if actual == name && penalty == 0 {
					return fuzzyMatch{first: it, exact: true}
				}
				m.offer(penalty, it, i, actual, name)
			}
		}
	}
	return m
}

func (m *fuzzyMatch) offer(penalty int, it *nsItem, col int, actual, match string) {
	if penalty > m.distance {
		return
	}
	d := levenshtein(actual, match)
	if d > len(match)/2 {
		return
	}
	d += penalty
	switch {
	case d < m.distance:
		m.distance, m.first, m.firstCol, m.second = d, it, col, nil
	case d == m.distance:
		if m.second != nil {
			// Three equally good ones are no help; only a better one may follow.
			m.first, m.second, m.distance = nil, nil, d-1
		} else if m.first != nil {
			m.second, m.secondCol = it, col
		} else if d <= maxFuzzyDistance {
			m.first, m.firstCol = it, col
		}
	}
}

func levenshtein(a, b string) int {
	ra, rb := []rune(a), []rune(b)
	if !utf8.ValidString(a) || !utf8.ValidString(b) {
		return len(a) + len(b)
	}
	prev := make([]int, len(rb)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range ra {
		cur := make([]int, len(rb)+1)
		cur[0] = i + 1
		for j := range rb {
			c := prev[j]
			if ra[i] != rb[j] {
				c++
			}
			cur[j+1] = min(c, prev[j+1]+1, cur[j]+1)
		}
		prev = cur
	}
	return prev[len(rb)]
}

// tableMissing is errorMissingRTE.
func (s *scope) tableMissing(schema, name string, loc int32) {
	b := s.b
	// Is it there, but not visible from here, or under an alias?
	var found *nsItem
	visible := false
	for p := s; p != nil && found == nil; p = p.parent {
		for _, it := range p.all {
			if it.alias == name && (schema == "" || !it.aliased) {
				found = it
				break
			}
			if r := it.rte(); r != nil && it.aliased && relName(it) == name {
				found = it
				break
			}
		}
		if found != nil {
			for _, it := range p.ns {
				if it == found && it.relVis && (!it.latOnly || p.lateral) {
					visible = true
				}
			}
		}
	}
	if found == nil {
		b.fail(loc, pgerror.UndefinedTable, `missing FROM-clause entry for table "%s"`, name)
	}
	err := b.errAt(loc, pgerror.UndefinedTable, `invalid reference to FROM-clause entry for table "%s"`, name)
	if visible && found.alias != name {
		err.WithHint(`Perhaps you meant to reference the table alias "%s".`, found.alias)
	} else {
		err.WithHint(`There is an entry for table "%s", but it cannot be referenced from this part of the query.`, found.alias)
	}
	panic(err)
}

func relName(it *nsItem) string {
	r := it.rte()
	switch {
	case r.Rel != nil:
		return r.Rel.Name
	case r.Virtual != nil:
		return r.Virtual.Rel.Name
	case r.CTE != nil:
		return r.CTE.Name
	case r.ViewOID != 0 && it.s.b.cat.Relation(r.ViewOID) != nil:
		return it.s.b.cat.Relation(r.ViewOID).Name
	}
	return ""
}
