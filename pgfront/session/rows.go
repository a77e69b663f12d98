package session

import (
	"encoding/binary"
	"math"
	"strconv"

	"ostraka/expr"
	"ostraka/pgfront/wire"
	"ostraka/planner"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// rowFunc receives one physical row of a batch.
type rowFunc func(b *expr.Batch, i int) error

// encKind picks the way a column is encoded.
type encKind uint8

const (
	encGenericText encKind = iota
	encGenericBinary
	encIntText
	encBoolText
	encString // text types in both formats: the payload itself
	encInt2
	encInt4
	encInt8
	encBoolBinary
	encFloat4
	encFloat8
)

type columnEncoder struct {
	kind encKind
	typ  *sqltypes.Type
}

// rowEncoder appends DataRow frames of one result's columns in the formats asked for.
type rowEncoder struct {
	cols []columnEncoder
	env  *sqltypes.Env
	enc  wire.Encoding
}

// newRowEncoder takes one format for every column (0 text, 1 binary).
func newRowEncoder(env *sqltypes.Env, enc wire.Encoding, cols []planner.Column, formats []int16) (*rowEncoder, error) {
	e := &rowEncoder{env: env, enc: enc, cols: make([]columnEncoder, len(cols))}
	for i, c := range cols {
		t := sqltypes.LookupType(env, c.Type.OID)
		if t == nil {
			return nil, pgerror.New(pgerror.InternalError, "cache lookup failed for type %d", c.Type.OID)
		}
		binary := formatOf(formats, i) == 1
		ce := columnEncoder{typ: t}
		switch t.OID {
		case sqltypes.OIDBool:
			ce.kind = pick(binary, encBoolText, encBoolBinary)
		case sqltypes.OIDInt2:
			ce.kind = pick(binary, encIntText, encInt2)
		case sqltypes.OIDInt4:
			ce.kind = pick(binary, encIntText, encInt4)
		case sqltypes.OIDInt8:
			ce.kind = pick(binary, encIntText, encInt8)
		case sqltypes.OIDFloat4:
			ce.kind = pick(binary, encGenericText, encFloat4)
		case sqltypes.OIDFloat8:
			ce.kind = pick(binary, encGenericText, encFloat8)
		case sqltypes.OIDText, sqltypes.OIDVarchar, sqltypes.OIDName:
			ce.kind = encString
		default:
			ce.kind = pick(binary, encGenericText, encGenericBinary)
			if binary && t.Send == nil {
				return nil, pgerror.New(pgerror.UndefinedFunction, "no binary output function available for type %s", sqltypes.FormatType(t.OID, -1))
			}
			if !binary && t.Out == nil {
				return nil, pgerror.NotSupported("output of type %s", sqltypes.FormatType(t.OID, -1))
			}
		}
		e.cols[i] = ce
	}
	return e, nil
}

func pick(binary bool, text, bin encKind) encKind {
	if binary {
		return bin
	}
	return text
}

// formatOf applies PostgreSQL's rule: no formats mean text, one is for all columns.
func formatOf(formats []int16, i int) int16 {
	switch len(formats) {
	case 0:
		return 0
	case 1:
		return formats[0]
	}
	return formats[i]
}

// maxRow is the largest DataRow in bytes.
const maxRow = wire.MaxLength

// batchRow appends row i of b.
func (e *rowEncoder) batchRow(out *wire.Out, b *expr.Batch, i int) error {
	out.Begin('D')
	buf := binary.BigEndian.AppendUint16(out.Buf(), uint16(len(e.cols)))
	for c := range e.cols {
		ce := &e.cols[c]
		v := b.Cols[c]
		if v.Null.Get(i) {
			buf = append(buf, 0xff, 0xff, 0xff, 0xff)
			continue
		}
		at := len(buf)
		buf = append(buf, 0, 0, 0, 0)
		if v.Kind == sqltypes.KInt && ce.kind >= encIntText && ce.kind != encString {
			buf = ce.appendInt(buf, v.I64[i])
		} else if v.Kind == sqltypes.KBytes && ce.kind == encString {
			buf = append(buf, v.Str[i]...)
		} else if d := v.Datum(i); d.Null {
			binary.BigEndian.PutUint32(buf[at:], math.MaxUint32)
			continue
		} else {
			buf = ce.append(e.env, buf, d)
		}
		var err error
		if buf, err = e.finish(ce, buf, at); err != nil {
			out.SetBuf(buf)
			out.Abort()
			return err
		}
	}
	out.SetBuf(buf)
	if out.FrameLen() > maxRow {
		out.Abort()
		return pgerror.New(pgerror.ProgramLimitExceeded, "row of %d bytes is too large for the protocol", len(buf))
	}
	out.End()
	return nil
}

// datumRow appends a row given as values.
func (e *rowEncoder) datumRow(out *wire.Out, row []sqltypes.Datum) error {
	out.Begin('D')
	buf := binary.BigEndian.AppendUint16(out.Buf(), uint16(len(e.cols)))
	for c := range e.cols {
		ce := &e.cols[c]
		d := row[c]
		if d.Null {
			buf = append(buf, 0xff, 0xff, 0xff, 0xff)
			continue
		}
		at := len(buf)
		buf = ce.append(e.env, append(buf, 0, 0, 0, 0), d)
		var err error
		if buf, err = e.finish(ce, buf, at); err != nil {
			out.SetBuf(buf)
			out.Abort()
			return err
		}
	}
	out.SetBuf(buf)
	out.End()
	return nil
}

// finish converts the value that starts at at+4 to the client's encoding and writes its length.
func (e *rowEncoder) finish(ce *columnEncoder, buf []byte, at int) ([]byte, error) {
	if e.enc == wire.Latin1 && (ce.kind == encString || ce.kind == encGenericText) {
		var err error
		if buf, err = e.enc.EncodeFrom(buf, at+4); err != nil {
			return buf, err
		}
	}
	binary.BigEndian.PutUint32(buf[at:], uint32(len(buf)-at-4))
	return buf, nil
}

func (ce *columnEncoder) appendInt(buf []byte, v int64) []byte {
	switch ce.kind {
	case encIntText:
		return strconv.AppendInt(buf, v, 10)
	case encBoolText:
		if v != 0 {
			return append(buf, 't')
		}
		return append(buf, 'f')
	case encInt2:
		return binary.BigEndian.AppendUint16(buf, uint16(v))
	case encInt4:
		return binary.BigEndian.AppendUint32(buf, uint32(v))
	case encBoolBinary:
		return append(buf, byte(v&1))
	}
	return binary.BigEndian.AppendUint64(buf, uint64(v))
}

func (ce *columnEncoder) append(env *sqltypes.Env, buf []byte, d sqltypes.Datum) []byte {
	switch ce.kind {
	case encGenericText:
		return ce.typ.Out(env, buf, d)
	case encGenericBinary:
		return ce.typ.Send(env, buf, d)
	case encString:
		return append(buf, d.S...)
	case encFloat4:
		return binary.BigEndian.AppendUint32(buf, math.Float32bits(float32(d.Float())))
	case encFloat8:
		return binary.BigEndian.AppendUint64(buf, uint64(d.I))
	}
	return ce.appendInt(buf, d.I)
}

// rowDescription writes RowDescription.
func (s *Session) rowDescription(cols []planner.Column, formats []int16) {
	s.out.Begin('T')
	s.out.Int16(int16(len(cols)))
	for i, c := range cols {
		s.clientString(c.Name)
		s.out.Uint32(uint32(c.TableOID))
		s.out.Int16(c.Attr)
		oid, size, mod := c.Type.OID, int16(-1), c.Type.TypMod
		if t := sqltypes.LookupType(&s.env, oid); t != nil {
			for t.TypType == 'd' && t.Base != nil { // clients are told a domain's base type
				oid, mod, t = t.Base.OID, t.TypMod, t.Base
			}
			size = t.Len
		}
		s.out.Uint32(uint32(oid))
		s.out.Int16(size)
		s.out.Int32(mod)
		s.out.Int16(formatOf(formats, i))
	}
	s.out.End()
}

// clientString appends a string in the client's encoding; what it lacks becomes "?".
func (s *Session) clientString(v string) {
	if s.conf.encoding != wire.Latin1 {
		s.out.String(v)
		return
	}
	b := make([]byte, 0, len(v)+1)
	for _, r := range v {
		if r > 0xff {
			r = '?'
		}
		b = append(b, byte(r))
	}
	s.out.Bytes(append(b, 0))
}
