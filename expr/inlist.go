package expr

import (
	"strings"

	"ostraka/sqltypes"
)

// inList is x = ANY (array) or x <> ALL (array) where the array is the same for all
// rows: its elements are taken out once, to be compared with or looked up.
type inList struct {
	found, missing sqltypes.Datum
	trim           bool // blanks at the end do not count (bpchar)
	ints           bool // values are compared as integers, else as bytes

	array   string // whose elements these are
	opened  bool
	empty   bool
	hasNull bool
	few     []sqltypes.Datum
	intSet  map[int64]struct{}
	strSet  map[string]struct{}
}

// manyElements is from where a set is faster than a loop (PostgreSQL's choice too).
const manyElements = 9

// inList is nil when e is not of that kind.
func (c *compiler) inList(e *ArrayOp, args []node) node {
	if _, ok := args[1].(constant); !ok || e.Op != "=" && e.Op != "<>" || (e.Op == "=") == e.All {
		return nil
	}
	arrType, t := c.types.Find(e.Array.Type().OID), c.types.Find(e.Left.Type().OID)
	if arrType == nil || t == nil || t.Compare == nil || len(e.Proc.ArgTypes) != 2 || e.Proc.Lang != langInternal || !e.Proc.Strict || e.Proc.ArgTypes[0] != e.Proc.ArgTypes[1] {
		return nil
	}
	l := &inList{found: sqltypes.Bool(true), missing: sqltypes.Bool(false)}
	if e.All {
		l.found, l.missing = l.missing, l.found
	}
	switch t.Kind {
	case sqltypes.KInt:
		l.ints = true
	case sqltypes.KBytes:
		switch e.Proc.Src {
		case "texteq", "textne", "uuid_eq", "uuid_ne":
		case "bpchareq", "bpcharne":
			l.trim = true
		default:
			return nil
		}
	default:
		return nil
	}
	return newMap(sqltypes.KInt, false, args, l.test)
}

func (l *inList) test(_ *state, a []sqltypes.Datum) (sqltypes.Datum, error) {
	x, arr := a[0], a[1]
	if arr.Null {
		return sqltypes.Null, nil
	}
	if !l.opened || l.array != arr.S {
		l.open(arr)
	}
	switch {
	case l.empty:
		return l.missing, nil
	case x.Null:
		return sqltypes.Null, nil
	case l.has(x):
		return l.found, nil
	case l.hasNull:
		return sqltypes.Null, nil
	}
	return l.missing, nil
}

func (l *inList) has(x sqltypes.Datum) bool {
	if l.ints {
		if l.intSet != nil {
			_, ok := l.intSet[x.I]
			return ok
		}
		for i := range l.few {
			if l.few[i].I == x.I {
				return true
			}
		}
		return false
	}
	s := l.bytes(x)
	if l.strSet != nil {
		_, ok := l.strSet[s]
		return ok
	}
	for i := range l.few {
		if l.few[i].S == s {
			return true
		}
	}
	return false
}

// bytes is what of a value counts.
func (l *inList) bytes(x sqltypes.Datum) string {
	if l.trim {
		return strings.TrimRight(x.S, " ")
	}
	return x.S
}

// open takes the elements out of an array.
func (l *inList) open(d sqltypes.Datum) {
	arr := sqltypes.OpenArray(d)
	l.array, l.opened, l.empty, l.hasNull = d.S, true, arr.Len() == 0, false
	l.few, l.intSet, l.strSet = l.few[:0], nil, nil
	if arr.Len() >= manyElements {
		if l.ints {
			l.intSet = make(map[int64]struct{}, arr.Len())
		} else {
			l.strSet = make(map[string]struct{}, arr.Len())
		}
	}
	for i := range arr.Len() {
		if arr.IsNull(i) {
			l.hasNull = true
			continue
		}
		x := arr.At(i)
		switch {
		case l.intSet != nil:
			l.intSet[x.I] = struct{}{}
		case l.strSet != nil:
			l.strSet[l.bytes(x)] = struct{}{}
		default:
			if !l.ints {
				x.S = l.bytes(x)
			}
			l.few = append(l.few, x)
		}
	}
}
