package session

import (
	"io"
	"ostraka/planner"

	"ostraka/pgfront/copyio"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// from copies rows in: the parsed input is the source of an INSERT.
func (c *copier) from() (string, error) {
	s := c.s
	src := &copySource{c: c}
	defer src.close()
	need := planner.Permission{Rel: c.rel, Priv: 'a'}
	for _, col := range c.columns {
		need.Attrs = append(need.Attrs, col.Num)
	}
	if err := planner.Permitted(s.catalog(), s.role.OID, s.role.Super, []planner.Permission{need}); err != nil {
		return "", err
	}
	for _, col := range c.columns {
		t := sqltypes.LookupType(&s.env, col.Type.OID)
		binary := c.opts.Format == copyio.Binary
		if t == nil || binary && t.Recv == nil || !binary && t.In == nil {
			return "", pgerror.New(pgerror.UndefinedFunction, "no input function available for type %s", sqltypes.FormatType(col.Type.OID, -1))
		}
		src.types = append(src.types, t)
		src.row = append(src.row, sqltypes.Null)
	}
	ins, err := s.startInsert(c.rel, c.columns, c.stmt.WhereClause, c.p, src)
	if err != nil {
		return "", err
	}
	if c.path != "" {
		f, err := c.openFile(false)
		if err != nil {
			return "", err
		}
		src.file = f
		buf := make([]byte, 64<<10)
		src.next = func() ([]byte, error) {
			n, err := f.Read(buf)
			if n > 0 {
				return buf[:n], nil
			}
			if err == io.EOF {
				return nil, nil
			}
			return nil, err
		}
	} else {
		s.out.CopyResponse('G', c.opts.Format == copyio.Binary, len(c.columns))
		s.out.Flush()
		src.next = s.copyData
	}
	src.reader = copyio.NewReader(&c.opts, c.names(), src.next, c.encoding.Decode)
	n, err := ins.run()
	if err != nil {
		return "", src.where(err)
	}
	if err := src.drain(); err != nil {
		return "", err
	}
	return sprintf("COPY %d", n), nil
}

// copyData returns the next CopyData message's content, nil at CopyDone.
func (s *Session) copyData() ([]byte, error) {
	for {
		kind, body, err := s.in.Next()
		if err != nil {
			if _, ok := err.(*pgerror.Error); !ok {
				err = fatal(pgerror.Wrap(err, pgerror.ConnectionFailure, "unexpected EOF on client connection during COPY from stdin"))
			}
			return nil, err
		}
		if s.ctx.fired.Load() {
			return nil, errContextCanceled
		}
		switch kind {
		case 'd':
			if len(body) == 0 {
				continue
			}
			return body, nil
		case 'c':
			return nil, nil
		case 'f':
			text := body
			for i, b := range body {
				if b == 0 {
					text = body[:i]
					break
				}
			}
			return nil, pgerror.New(pgerror.QueryCanceled, "COPY from stdin failed: %s", text)
		case 'H', 'S': // ignored, as PostgreSQL does
		default:
			return nil, fatal(pgerror.New(pgerror.ProtocolViolation, "unexpected message type 0x%02X during COPY from stdin", kind))
		}
	}
}

// copySource is the input as rows of values.
type copySource struct {
	c      *copier
	types  []*sqltypes.Type
	reader copyio.Reader
	next   func() ([]byte, error)
	file   io.Closer
	row    []sqltypes.Datum
	rows   int64
	ended  bool
	failed error // an error of the input itself, context included
}

// Next implements sqltypes.RowSource.
func (r *copySource) Next() ([]sqltypes.Datum, bool, error) {
	if r.failed != nil {
		return nil, false, r.failed
	}
	fields, ok, err := r.reader.Row()
	if err != nil {
		return r.fail(err, -1)
	}
	if !ok {
		r.ended = true
		return nil, false, nil
	}
	r.rows++
	env := &r.c.s.env
	for i, f := range fields {
		switch {
		case f.Null:
			r.row[i] = sqltypes.Null
			if err := r.types[i].InNull(env); err != nil {
				return r.fail(err, i)
			}
		case f.Raw != nil:
			if r.row[i], err = r.types[i].Recv(env, f.Raw, r.c.columns[i].Type.TypMod); err != nil {
				return r.fail(err, i)
			}
		default:
			if r.row[i], err = r.types[i].In(env, f.Text, r.c.columns[i].Type.TypMod); err != nil {
				return r.fail(err, i)
			}
		}
	}
	return r.row, true, nil
}

func (r *copySource) fail(err error, column int) ([]sqltypes.Datum, bool, error) {
	r.failed = err
	if e, ok := err.(*pgerror.Error); ok && e.Severity != "FATAL" && e.Where == "" {
		w := *e
		w.Where = "COPY " + r.c.rel.Name + r.reader.Where(column)
		if r.c.opts.Format == copyio.Binary && r.rows == 0 && column < 0 && e.Code == pgerror.BadCopyFileFormat {
			w.Where = ""
		}
		r.failed = &w
	}
	return nil, false, r.failed
}

// where adds the context of errors that come from writing the rows. The line is
// known when rows are written one by one, or only one was read.
func (r *copySource) where(err error) error {
	e, ok := err.(*pgerror.Error)
	if !ok || r.failed != nil || e.Where != "" {
		return err
	}
	w := *e
	w.Where = "COPY " + r.c.rel.Name
	if r.rows == 1 || r.c.s.deps.Copier != nil && !r.ended {
		w.Where += sprintf(", line %d", r.reader.Line())
	}
	return &w
}

// drain reads to CopyDone after the end-of-copy marker.
func (r *copySource) drain() error {
	if !r.ended {
		for {
			b, err := r.next()
			if err != nil {
				_, _, err = r.fail(err, -1)
				return err
			}
			if b == nil {
				break
			}
		}
	}
	return nil
}

func (r *copySource) close() {
	if r.file != nil {
		_ = r.file.Close()
	}
}
