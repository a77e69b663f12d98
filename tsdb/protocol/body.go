package protocol

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/golang/snappy"
)

// bodies are buffers of requests that are done with. Nothing that outlives a request
// may alias its body.
var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

const keptBody = 4 << 20 // larger buffers are not kept

// body reads a request's body, unpacked when it is gzip's. done ends its use.
func (s *Server) body(r *http.Request) (b []byte, done func(), err error) {
	buf := bodies.Get().(*bytes.Buffer)
	done = func() {
		if buf.Cap() <= keptBody {
			buf.Reset()
			bodies.Put(buf)
		}
	}
	if err := s.fill(buf, r); err != nil {
		done()
		return nil, nil, err
	}
	return buf.Bytes(), done, nil
}

func (s *Server) fill(buf *bytes.Buffer, r *http.Request) error {
	in := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			return bodyError(err)
		}
		defer z.Close()
		in = z
	} else if n := r.ContentLength; n > 0 && n <= s.cfg.Limits.MaxBody {
		buf.Grow(int(min(n, keptBody)) + bytes.MinRead)
	}
	if _, err := buf.ReadFrom(io.LimitReader(in, s.cfg.Limits.MaxBody+1)); err != nil {
		return bodyError(err)
	}
	if int64(buf.Len()) > s.cfg.Limits.MaxBody {
		return errTooLarge
	}
	return nil
}

// snappyBody reads a body in snappy's block format. done ends its use.
func (s *Server) snappyBody(r *http.Request, most int64) (b []byte, done func(), err error) {
	in, end, err := s.body(r)
	if err != nil {
		return nil, nil, err
	}
	defer end()
	n, err := snappy.DecodedLen(in)
	if err != nil {
		return nil, nil, badRequest("body is not in snappy format")
	}
	if int64(n) > most {
		return nil, nil, errTooLarge
	}
	if n/maxSnappyRatio > len(in) {
		return nil, nil, badRequest("body is not in snappy format")
	}
	buf := bodies.Get().(*bytes.Buffer)
	buf.Grow(n)
	out, err := snappy.Decode(buf.AvailableBuffer()[:n], in)
	if err != nil {
		return nil, nil, badRequest("body is not in snappy format")
	}
	return out, func() {
		if buf.Cap() <= keptBody {
			bodies.Put(buf)
		}
	}, nil
}

// maxSnappyRatio is more than what snappy can shrink anything by: a copy of 64 bytes
// takes three.
const maxSnappyRatio = 64

var errTooLarge = &httpError{http.StatusRequestEntityTooLarge, "request entity too large"}

func bodyError(err error) error {
	var big *http.MaxBytesError
	if errors.As(err, &big) {
		return errTooLarge
	}
	return &httpError{http.StatusBadRequest, fmt.Sprintf("error reading body: %v", err)}
}
