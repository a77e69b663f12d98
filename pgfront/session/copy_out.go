package session

import (
	"bufio"
	"io"

	"ostraka/expr"
	"ostraka/pgfront/copyio"
	"ostraka/pgfront/wire"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// writeRows sends the portal's rows in the COPY format, to the client or to a file.
func (c *copier) writeRows(po *portal) (int64, error) {
	s := c.s
	env := s.env // text forms as the session has them, but dates and floats exact
	binary := c.opts.Format == copyio.Binary
	types := make([]*sqltypes.Type, len(po.cols))
	for i, col := range po.cols {
		t := sqltypes.LookupType(&env, col.Type.OID)
		if t == nil || binary && t.Send == nil || !binary && t.Out == nil {
			return 0, pgerror.New(pgerror.UndefinedFunction, "no output function available for type %s", sqltypes.FormatType(col.Type.OID, -1))
		}
		types[i] = t
	}
	w := copyio.NewWriter(&c.opts, len(po.cols))
	var file io.Writer
	if c.path != "" {
		f, err := c.openFile(true)
		if err != nil {
			return 0, err
		}
		defer f.Close()
		bw := bufio.NewWriterSize(f, 64<<10)
		defer bw.Flush()
		file = bw
	} else {
		s.out.CopyResponse('H', binary, len(po.cols))
	}
	var buf []byte
	// send appends what build makes to the client's stream (in place) or to the file.
	send := func(build func([]byte) ([]byte, error)) error {
		if file != nil {
			b, err := build(buf[:0])
			buf = b
			if err == nil {
				_, err = file.Write(b)
			}
			return err
		}
		s.out.Begin('d')
		b, err := build(s.out.Buf())
		s.out.SetBuf(b)
		if err != nil {
			s.out.Abort()
			return err
		}
		s.out.End()
		return s.out.Err()
	}
	if binary || c.opts.Header != copyio.NoHeader {
		if err := send(func(b []byte) ([]byte, error) { return w.Header(b, c.names()), nil }); err != nil {
			return 0, err
		}
	}
	n, _, err := po.forward(0, func(batch *expr.Batch, row int) error {
		return send(func(b []byte) ([]byte, error) {
			for i, t := range types {
				b = w.Start(b, i)
				d := batch.Cols[i].Datum(row)
				if d.Null {
					b = w.Null(b)
					continue
				}
				at := len(b)
				if binary {
					b = t.Send(&env, b, d)
				} else {
					b = t.Out(&env, b, d)
					if c.encoding == wire.Latin1 {
						var err error
						if b, err = c.encoding.EncodeFrom(b, at); err != nil {
							return b, err
						}
					}
				}
				b = w.Value(b, at, i)
			}
			return w.EndRow(b), nil
		})
	})
	if err != nil {
		return 0, err
	}
	if binary {
		if err := send(func(b []byte) ([]byte, error) { return w.Trailer(b), nil }); err != nil {
			return 0, err
		}
	}
	if file == nil {
		s.out.CopyDone()
	}
	return n, nil
}
