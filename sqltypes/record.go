package sqltypes

import (
	"encoding/binary"

	"ostraka/sqltypes/pgerror"
)

// Record reads a composite value. The payload is the number of fields (u32),
// for each its type's OID (u32), a byte (pack code, 0x80 for NULL) and the end
// of its value in the data (u32), then the data. So a record says what it holds
// even where its row type is anonymous.
type Record struct {
	s string
	n int
}

const recordEntry = 9

// OpenRecord views d, which must be a non-null record or named composite.
func OpenRecord(d Datum) Record {
	if len(d.S) < 4 {
		return Record{}
	}
	return Record{d.S, int(be32(d.S))}
}

// Len is the number of fields, TypeOID the type of field i, At its value.
func (r Record) Len() int { return r.n }

func (r Record) TypeOID(i int) OID { return OID(be32(r.s[4+recordEntry*i:])) }

func (r Record) At(i int) Datum {
	at := 4 + recordEntry*i
	code := r.s[at+4]
	if code&0x80 != 0 {
		return Null
	}
	from, to := uint32(0), be32(r.s[at+5:])
	if i > 0 {
		from = be32(r.s[at+5-recordEntry:])
	}
	data := r.s[4+recordEntry*r.n:]
	return readPacked(packCode(code), data[from:to])
}

// Values returns all fields.
func (r Record) Values() []Datum {
	out := make([]Datum, r.n)
	for i := range out {
		out[i] = r.At(i)
	}
	return out
}

// MakeRecord builds a composite from its fields' types and values.
func MakeRecord(types []*Type, values []Datum) Datum {
	n := len(values)
	b := make([]byte, 4+recordEntry*n, 4+recordEntry*n+16*n)
	binary.BigEndian.PutUint32(b, uint32(n))
	start := len(b)
	for i, v := range values {
		at := 4 + recordEntry*i
		binary.BigEndian.PutUint32(b[at:], uint32(types[i].OID))
		code := packCodeOf(types[i])
		b[at+4] = byte(code)
		if v.Null {
			b[at+4] |= 0x80
		} else {
			b = appendPacked(b, code, v)
		}
		binary.BigEndian.PutUint32(b[at+5:], uint32(len(b)-start))
	}
	return Bytes(b)
}

// CompareRecords is record_cmp: field by field, NULL above all values. Errors:
// 42804 when the records are of different shapes, 42883 when a type has no order.
func CompareRecords(env *Env, x, y Datum) (int, error) {
	a, b := OpenRecord(x), OpenRecord(y)
	for i := 0; i < min(a.n, b.n); i++ {
		ta, tb := a.TypeOID(i), b.TypeOID(i)
		if ta != tb {
			return 0, pgerror.New(pgerror.DatatypeMismatch, "cannot compare dissimilar column types %s and %s at record column %d",
				TypeSQLName(ta, sessionNamer(env)), TypeSQLName(tb, sessionNamer(env)), i+1)
		}
		va, vb := a.At(i), b.At(i)
		if va.Null || vb.Null {
			switch {
			case va.Null && vb.Null:
				continue
			case va.Null:
				return 1, nil
			}
			return -1, nil
		}
		t := LookupType(env, ta)
		if t == nil || t.Compare == nil {
			return 0, pgerror.New(pgerror.UndefinedFunction, "could not identify a comparison function for type %s", TypeSQLName(ta, sessionNamer(env)))
		}
		if c := t.Compare(va, vb); c != 0 {
			return c, nil
		}
	}
	if a.n != b.n {
		return 0, pgerror.New(pgerror.DatatypeMismatch, "cannot compare record types with different numbers of columns")
	}
	return 0, nil
}

// sessionNamer names user types by their bare name.
func sessionNamer(env *Env) TypeNamer {
	return func(oid OID) (*Type, string) {
		if t := LookupType(env, oid); t != nil {
			return t, QuoteIdent(t.Name)
		}
		return nil, ""
	}
}

// fieldType finds the type of a field: given by the row type, or by its OID.
func fieldType(env *Env, fields []Field, i int, oid OID) *Type {
	if i < len(fields) && fields[i].Type != nil && fields[i].Type.OID == oid {
		return fields[i].Type
	}
	return LookupType(env, oid)
}

func compareRecord(fields []Field) func(a, b Datum) int {
	return func(x, y Datum) int {
		a, b := OpenRecord(x), OpenRecord(y)
		for i := 0; i < min(a.n, b.n); i++ {
			va, vb := a.At(i), b.At(i)
			if va.Null || vb.Null {
				if va.Null != vb.Null {
					if va.Null {
						return 1
					}
					return -1
				}
				continue
			}
			ta, tb := a.TypeOID(i), b.TypeOID(i)
			if ta != tb {
				return cmpInt(int(ta), int(tb))
			}
			c := 0
			if t := fieldType(nil, fields, i, ta); t != nil && t.Compare != nil {
				c = t.Compare(va, vb)
			} else {
				c = comparePacked(va, vb)
			}
			if c != 0 {
				return c
			}
		}
		return cmpInt(a.n, b.n)
	}
}

// comparePacked orders values of a type that is not known here.
func comparePacked(a, b Datum) int {
	if c := cmpInt64(a.I, b.I); c != 0 {
		return c
	}
	return compareS(a, b)
}

func hashRecord(fields []Field) func(Datum) uint64 {
	return func(d Datum) uint64 {
		r := OpenRecord(d)
		h := uint64(0)
		for i := 0; i < r.n; i++ {
			v, e := r.At(i), uint64(0)
			if !v.Null {
				if t := fieldType(nil, fields, i, r.TypeOID(i)); t != nil && t.Hash != nil {
					e = t.Hash(v)
				} else {
					e = HashInt(v.I) ^ HashString(v.S)
				}
			}
			h = hashCombine(h, e)
		}
		return h
	}
}

// installRecord gives t the behaviour of a composite with these fields, or with
// nil of an anonymous record, which has no text input.
func installRecord(t *Type, fields []Field) {
	t.Kind, t.Fields = KBytes, fields
	t.Out = func(env *Env, dst []byte, d Datum) []byte { return appendRecord(env, dst, fields, d) }
	t.Send = func(env *Env, dst []byte, d Datum) []byte { return sendRecord(env, dst, fields, d) }
	t.Compare, t.Hash = compareRecord(fields), hashRecord(fields)
	if fields == nil {
		t.In = func(*Env, string, int32) (Datum, error) {
			return Null, pgerror.New(pgerror.FeatureNotSupported, "input of anonymous composite types is not implemented")
		}
		t.Recv = func(*Env, []byte, int32) (Datum, error) {
			return Null, pgerror.New(pgerror.FeatureNotSupported, "input of anonymous composite types is not implemented")
		}
		return
	}
	t.In = func(env *Env, s string, _ int32) (Datum, error) { return parseRecord(env, s, fields) }
	t.Recv = func(env *Env, b []byte, _ int32) (Datum, error) { return recvRecord(env, b, fields) }
}
