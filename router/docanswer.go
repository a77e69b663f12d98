package router

import (
	"encoding/binary"
	"fmt"

	"ostraka/docstore"
	"ostraka/pgfront/wire"
	"ostraka/shardrouter"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// column of an answer that the router makes itself.
type column struct {
	name string
	typ  *sqltypes.Type
}

// columns of a direct answer.
func (d *documents) columns() []column {
	if d.utility {
		return []column{{"QUERY PLAN", sqltypes.TypeByOID(sqltypes.OIDText)}}
	}
	cols, _ := d.calls[0].fn.Columns()
	out := make([]column, len(cols))
	for i, c := range cols {
		out[i] = column{d.names[i], sqltypes.TypeByOID(c.Type)}
	}
	return out
}

// describe writes RowDescription.
func (s *session) describe(cols []column, formats []int16) {
	s.out.Begin('T')
	s.out.Int16(int16(len(cols)))
	for i, c := range cols {
		s.out.String(c.name)
		s.out.Int32(0)
		s.out.Int16(0)
		s.out.Uint32(uint32(c.typ.OID))
		s.out.Int16(c.typ.Len)
		s.out.Int32(-1)
		s.out.Int16(formatOf(formats, i))
	}
	s.out.End()
}

// formatOf: no formats mean text, one is for all columns.
func formatOf(formats []int16, i int) int16 {
	switch {
	case len(formats) == 0:
		return 0
	case len(formats) == 1:
		return formats[0]
	case i < len(formats):
		return formats[i]
	}
	return 0
}

// row writes a DataRow.
func (s *session) row(cols []column, formats []int16, vals []sqltypes.Datum) error {
	s.out.Begin('D')
	buf := binary.BigEndian.AppendUint16(s.out.Buf(), uint16(len(cols)))
	for i, c := range cols {
		if vals[i].Null {
			buf = append(buf, 0xff, 0xff, 0xff, 0xff)
			continue
		}
		at := len(buf)
		buf = append(buf, 0, 0, 0, 0)
		if formatOf(formats, i) == 1 {
			buf = c.typ.Send(nil, buf, vals[i])
		} else {
			buf = c.typ.Out(nil, buf, vals[i])
		}
		binary.BigEndian.PutUint32(buf[at:], uint32(len(buf)-at-4))
	}
	s.out.SetBuf(buf)
	if s.out.FrameLen() > wire.MaxLength {
		s.out.Abort()
		return pgerror.New(pgerror.ProgramLimitExceeded, "a row is longer than %d bytes", wire.MaxLength)
	}
	s.out.End()
	if s.out.Pending() > 64<<10 {
		s.out.Flush()
	}
	return s.out.Err()
}

// rowsOf reads an answer as rows.
type rowsOf struct {
	call *docCall
	res  docstore.Result
	done bool
	end  func(error) error
}

func (r *rowsOf) next() ([]sqltypes.Datum, bool, error) {
	if r.done {
		return nil, false, nil
	}
	if !r.call.set {
		r.done = true
		v, err := r.call.fn.Answer(&r.res)
		return []sqltypes.Datum{v}, true, err
	}
	if r.res.Docs == nil {
		r.done = true
		return nil, false, nil
	}
	doc, ok, err := r.res.Docs.Next()
	if err != nil || !ok {
		r.done = true
		return nil, false, err
	}
	return r.call.fn.Row(doc), true, nil
}

// close ends the command; err is how it has gone so far.
func (r *rowsOf) close(err error) error {
	if r.res.Docs != nil {
		r.res.Docs.Close()
		r.res.Docs = nil
	}
	if r.end != nil {
		err = r.end(err)
		r.end = nil
	}
	return err
}

// maxAnswer bounds what is put into a larger statement in the place of a call, in bytes.
const maxAnswer = 64 << 20

// literal reads an answer whole, as SQL text: JSON of rows, or the value.
func (r *rowsOf) literal() (text string, null bool, err error) {
	cols, scalar := r.call.fn.Columns()
	if !r.call.set {
		v, _, err := r.next()
		if err != nil || v[0].Null {
			return "", true, r.close(err)
		}
		return string(sqltypes.TypeByOID(cols[0].Type).Out(nil, nil, v[0])), false, r.close(nil)
	}
	buf := []byte{'['}
	for {
		v, ok, err := r.next()
		if err != nil {
			return "", false, r.close(err)
		}
		if !ok {
			return string(append(buf, ']')), false, r.close(nil)
		}
		if len(buf) > 1 {
			buf = append(buf, ',')
		}
		if scalar {
			buf = appendJSON(buf, cols[0], v[0])
		} else {
			buf = append(buf, '{')
			for i, c := range cols {
				if i > 0 {
					buf = append(buf, ',')
				}
				buf = fmt.Appendf(buf, "%q:", c.Name)
				buf = appendJSON(buf, c, v[i])
			}
			buf = append(buf, '}')
		}
		if len(buf) > maxAnswer {
			return "", false, r.close(pgerror.New(pgerror.ProgramLimitExceeded, "the documents of doc.%s() inside of a larger statement exceed %d bytes", r.call.fn.Name(), maxAnswer).
				WithHint("Call the function alone, or make the filter narrower."))
		}
	}
}

func appendJSON(buf []byte, c shardrouter.Param, v sqltypes.Datum) []byte {
	switch {
	case v.Null:
		return append(buf, "null"...)
	case c.Type == sqltypes.OIDText:
		v = sqltypes.JSONStringOf(v.S).Datum()
		return sqltypes.TypeByOID(sqltypes.OIDJsonb).Out(nil, buf, v)
	}
	return sqltypes.TypeByOID(c.Type).Out(nil, buf, v)
}
