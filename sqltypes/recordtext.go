package sqltypes

import (
	"encoding/binary"
	"strings"

	"ostraka/sqltypes/pgerror"
)

func appendRecord(env *Env, dst []byte, fields []Field, d Datum) []byte {
	r := OpenRecord(d)
	dst = append(dst, '(')
	var scratch []byte
	for i := 0; i < r.n; i++ {
		if i > 0 {
			dst = append(dst, ',')
		}
		v := r.At(i)
		if v.Null {
			continue
		}
		if t := fieldType(env, fields, i, r.TypeOID(i)); t != nil {
			scratch = t.Out(env, scratch[:0], v)
		} else {
			scratch = append(scratch[:0], v.S...)
		}
		dst = appendRecordItem(dst, scratch)
	}
	return append(dst, ')')
}

func appendRecordItem(dst, item []byte) []byte {
	quote := len(item) == 0
	for _, c := range item {
		if c == '"' || c == '\\' || c == '(' || c == ')' || c == ',' || isSpace(c) {
			quote = true
			break
		}
	}
	if !quote {
		return append(dst, item...)
	}
	dst = append(dst, '"')
	for _, c := range item {
		if c == '"' || c == '\\' {
			dst = append(dst, c)
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}

// parseRecord is record_in.
func parseRecord(env *Env, s string, fields []Field) (Datum, error) {
	bad := func(detail string) (Datum, error) {
		return Null, pgerror.New(pgerror.InvalidTextRepresentation, "malformed record literal: \"%s\"", s).WithDetail("%s", detail)
	}
	t := strings.TrimLeft(s, spaces)
	if t == "" || t[0] != '(' {
		return bad("Missing left parenthesis.")
	}
	t = t[1:]
	values := make([]Datum, len(fields))
	types := make([]*Type, len(fields))
	for i, f := range fields {
		if i > 0 {
			if t == "" || t[0] != ',' {
				return bad("Too few columns.")
			}
			t = t[1:]
		}
		types[i] = f.Type
		if t != "" && (t[0] == ',' || t[0] == ')') {
			values[i] = Null
			if err := f.Type.InNull(env); err != nil {
				return Null, err
			}
			continue
		}
		var b strings.Builder
		quoted := false
		for {
			if t == "" {
				return bad("Unexpected end of input.")
			}
			c := t[0]
			if !quoted && (c == ',' || c == ')') {
				break
			}
			t = t[1:]
			switch c {
			case '\\':
				if t == "" {
					return bad("Unexpected end of input.")
				}
				b.WriteByte(t[0])
				t = t[1:]
			case '"':
				if !quoted {
					quoted = true
				} else if t != "" && t[0] == '"' {
					b.WriteByte('"')
					t = t[1:]
				} else {
					quoted = false
				}
			default:
				b.WriteByte(c)
			}
		}
		v, err := f.Type.In(env, b.String(), f.TypMod)
		if err != nil {
			return Null, err
		}
		values[i] = v
	}
	if t == "" || t[0] != ')' {
		if t == "" {
			return bad("Unexpected end of input.")
		}
		return bad("Too many columns.")
	}
	if strings.Trim(t[1:], spaces) != "" {
		return bad("Junk after right parenthesis.")
	}
	return MakeRecord(types, values), nil
}

func sendRecord(env *Env, dst []byte, fields []Field, d Datum) []byte {
	r := OpenRecord(d)
	be := binary.BigEndian
	dst = be.AppendUint32(dst, uint32(r.n))
	for i := 0; i < r.n; i++ {
		oid := r.TypeOID(i)
		dst = be.AppendUint32(dst, uint32(oid))
		v := r.At(i)
		if v.Null {
			dst = be.AppendUint32(dst, 0xFFFFFFFF)
			continue
		}
		at := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		if t := fieldType(env, fields, i, oid); t != nil {
			dst = t.Send(env, dst, v)
		} else {
			dst = append(dst, v.S...)
		}
		be.PutUint32(dst[at:], uint32(len(dst)-at-4))
	}
	return dst
}

func recvRecord(env *Env, b []byte, fields []Field) (Datum, error) {
	r := &wireReader{b: b}
	n := int(r.i32())
	if r.short {
		return Null, r.done()
	}
	if n != len(fields) {
		return Null, pgerror.New(pgerror.DatatypeMismatch, "wrong number of columns: %d, expected %d", n, len(fields))
	}
	values := make([]Datum, n)
	types := make([]*Type, n)
	for i, f := range fields {
		oid, size := OID(r.i32()), r.i32()
		if r.short {
			return Null, r.done()
		}
		if oid != f.Type.OID {
			return Null, pgerror.New(pgerror.DatatypeMismatch,
				"binary data has type %d (%s) instead of expected %d (%s) in record column %d",
				oid, TypeSQLName(oid, sessionNamer(env)), f.Type.OID, TypeSQLName(f.Type.OID, sessionNamer(env)), i+1)
		}
		types[i] = f.Type
		if size == -1 {
			values[i] = Null
			if err := f.Type.InNull(env); err != nil {
				return Null, err
			}
			continue
		}
		data := r.bytes(int(size))
		if r.short {
			return Null, r.done()
		}
		v, err := f.Type.Recv(env, data, f.TypMod)
		if err != nil {
			return Null, err
		}
		values[i] = v
	}
	if err := r.done(); err != nil {
		return Null, err
	}
	return MakeRecord(types, values), nil
}
