package exec

import (
	"strings"

	"ostraka/expr"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// hashKeys hashes and compares rows of key vectors by SQL equality.
type hashKeys struct {
	types   []*sqltypes.Type
	classes []keyClass
	// single: one key of class keyInt, which tables store themselves.
	single bool
}

func (x *Execution) newHashKeys(types []sqltypes.ColumnType) (*hashKeys, error) {
	h := &hashKeys{}
	for _, ct := range types {
		t := x.typ(ct.OID)
		if t == nil || t.Hash == nil {
			name := "unknown"
			if t != nil {
				name = sqltypes.FormatType(t.OID, -1)
			}
			return nil, pgerror.New(pgerror.UndefinedFunction, "could not identify an equality operator for type %s", name)
		}
		h.types = append(h.types, t)
		h.classes = append(h.classes, classOf(t))
	}
	h.single = len(h.types) == 1 && h.classes[0] == keyInt
	return h, nil
}

const nullHash = 0x9AE16A3B2F90404F

// hash computes, for each k, the hash of row sel[k] into out[k].
func (h *hashKeys) hash(keys []*expr.Vec, sel []uint16, out []uint64) {
	if len(keys) == 0 {
		clear(out[:len(sel)])
	}
	for c, v := range keys {
		for k, i := range sel {
			e := uint64(nullHash)
			if !v.Null.Get(int(i)) {
				switch h.classes[c] {
				case keyInt:
					e = sqltypes.HashInt(v.I64[i])
				case keyBytes:
					e = sqltypes.HashString(v.Str[i])
				case keyPadded:
					e = sqltypes.HashString(strings.TrimRight(v.Str[i], " "))
				default:
					e = h.types[c].Hash(v.Datum(int(i)))
				}
			}
			if c == 0 {
				out[k] = e
			} else {
				out[k] = (out[k]<<7 | out[k]>>57) ^ e*0x9E3779B97F4A7C15
			}
		}
	}
}

// equal compares row i of a with row j of b; NULLs are equal to each other.
func (h *hashKeys) equal(a []*expr.Vec, i int, b []*expr.Vec, j int) bool {
	for c := range h.types {
		x, y := a[c], b[c]
		xn, yn := x.Null.Get(i), y.Null.Get(j)
		if xn || yn {
			if xn != yn {
				return false
			}
			continue
		}
		switch h.classes[c] {
		case keyInt:
			if x.I64[i] != y.I64[j] {
				return false
			}
		case keyBytes:
			if x.Str[i] != y.Str[j] {
				return false
			}
		case keyPadded:
			if x.Str[i] != y.Str[j] && strings.TrimRight(x.Str[i], " ") != strings.TrimRight(y.Str[j], " ") {
				return false
			}
		default:
			t := h.types[c]
			if h.classes[c] == keyNumeric && !x.Wide && !y.Wide && x.Scale == y.Scale {
				if x.I64[i] != y.I64[j] {
					return false
				}
				continue
			}
			dx, dy := x.Datum(i), y.Datum(j)
			if t.Compare != nil && t.Compare(dx, dy) != 0 || t.Compare == nil && dx != dy {
				return false
			}
		}
	}
	return true
}

// anyNull reports whether a key of row i is NULL.
func anyNull(keys []*expr.Vec, i int) bool {
	for _, v := range keys {
		if v.Null.Get(i) {
			return true
		}
	}
	return false
}

// tableSize is the number of slots for n entries: a power of two, at most half full.
func tableSize(n int) int {
	s := 16
	for s < 2*n {
		s *= 2
	}
	return s
}
