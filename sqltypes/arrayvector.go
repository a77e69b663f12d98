package sqltypes

import (
	"strings"

	"ostraka/sqltypes/pgerror"
)

// installVector gives int2vector and oidvector their text form, "1 2 3". Their
// payload is that of an array with lower bound 0.
func installVector(t *Type, elem *Type) {
	installArray(t, elem)
	t.In = func(env *Env, s string, _ int32) (Datum, error) {
		fields := strings.FieldsFunc(s, func(r rune) bool { return r < 0x80 && isSpace(byte(r)) })
		elems := make([]Datum, len(fields))
		for i, f := range fields {
			d, err := elem.In(env, f, -1)
			if err != nil {
				return Null, err
			}
			elems[i] = d
		}
		return makeVector0(elem, elems), nil
	}
	t.Out = func(env *Env, dst []byte, d Datum) []byte {
		a := OpenArray(d)
		for i := 0; i < a.Len(); i++ {
			if i > 0 {
				dst = append(dst, ' ')
			}
			dst = elem.Out(env, dst, a.At(i))
		}
		return dst
	}
	if t.OID == OIDOidvector {
		// The shorter one first.
		t.Compare = func(a, b Datum) int {
			if c := cmpInt(OpenArray(a).Len(), OpenArray(b).Len()); c != 0 {
				return c
			}
			return compareArrays(elem, a, b)
		}
	}
	name := t.Name
	t.Recv = func(env *Env, b []byte, typmod int32) (Datum, error) {
		d, err := recvArray(env, elem, b, -1)
		if err != nil {
			return Null, err
		}
		a := OpenArray(d)
		if a.NDim() > 1 || a.NDim() == 1 && a.Dim(0).Lower != 0 || a.HasNulls() {
			return Null, pgerror.New(pgerror.InvalidBinaryRepresentation, "invalid %s data", name)
		}
		return d, nil
	}
}

func makeVector0(elem *Type, elems []Datum) Datum {
	return MakeArray(elem, []ArrayDim{{Len: int32(len(elems)), Lower: 0}}, elems)
}

// Int2Vector and OIDVector build catalogue values.
func Int2Vector(v []int16) Datum {
	ds := make([]Datum, len(v))
	for i := range v {
		ds[i] = Int(int64(v[i]))
	}
	return makeVector0(TypeByOID(OIDInt2), ds)
}

func OIDVector(v []OID) Datum {
	ds := make([]Datum, len(v))
	for i := range v {
		ds[i] = Int(int64(v[i]))
	}
	return makeVector0(TypeByOID(OIDOid), ds)
}
