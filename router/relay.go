package router

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"

	"ostraka/sqltypes/pgerror"
)

// result is how a request was answered.
type result struct {
	status byte   // of ReadyForQuery; 0: there was none
	failed bool   // an ErrorResponse was relayed
	copied bool   // a COPY from the client took the place of the Sync
	tag    string // the last command tag, when it is COMMIT or ROLLBACK
	err    error  // the connection is lost
}

// relay passes frames of u to the client: up to ReadyForQuery when synced, else
// until every message of expect has been answered or an error ends the pipeline. res
// is what came of the answer before.
func (s *session) relay(u *upstream, expect []sent, synced bool, res result) result {
	for {
		if !synced && len(expect) == 0 {
			return res
		}
		kind, body, err := u.Receive(context.Background())
		if err != nil {
			res.err = err
			return res
		}
		switch kind {
		case 'E':
			if bytes.Contains(body, []byte("VFATAL\x00")) || bytes.Contains(body, []byte("VPANIC\x00")) {
				res.err = errors.New(text(body))
				return res
			}
			res.failed, expect, s.failed = true, nil, true
			s.r.stats.errors.Add(1)
		case 'C':
			res.tag = tagOf(body)
		}
		if kind != 'Z' || !s.mute {
			s.out.Raw(kind, body)
		}
		if s.out.Err() != nil {
			res.err = &clientGone{s.out.Err()}
			return res
		}
		switch kind {
		case 'Z':
			res.status = body[0]
			return res
		case 'G':
			if err := s.copyIn(u); err != nil {
				res.err = err
				return res
			}
			if expect != nil {
				synced, res.copied = false, true // the server has skipped the Sync in COPY
				expect = expect[:min(1, len(expect))]
			}
		case '1', '2', '3', 'T', 'n', 'C', 'I', 's':
			if len(expect) > 0 {
				s.answered(u, expect[0])
				expect = expect[1:]
			}
		}
	}
}

// clientGone is an error of the client's side: the server has done nothing wrong.
type clientGone struct{ err error }

func (e *clientGone) Error() string { return e.err.Error() }

// tagOf keeps the tags that end a block.
func tagOf(body []byte) string {
	switch {
	case bytes.Equal(body, []byte("COMMIT\x00")):
		return "COMMIT"
	case bytes.Equal(body, []byte("ROLLBACK\x00")):
		return "ROLLBACK"
	}
	return ""
}

// text is the message of an ErrorResponse.
func text(body []byte) string {
	for _, field := range bytes.Split(body, []byte{0}) {
		if len(field) > 0 && field[0] == 'M' {
			return string(field[1:])
		}
	}
	return "the server ended the session"
}

// copyIn passes the client's COPY data on until it ends.
func (s *session) copyIn(u *upstream) error {
	s.out.Flush()
	_ = s.in.SetDeadline(0, nil) // the client is not idle
	for {
		kind, body, err := s.in.Next()
		if err != nil {
			return &clientGone{err}
		}
		switch kind {
		case 'd', 'c', 'f':
			if err := u.Send(kind, body); err != nil {
				return err
			}
		case 'H', 'S': // ignored within COPY
			continue
		default:
			return &clientGone{pgerror.New(pgerror.ProtocolViolation, "unexpected message type 0x%02X during COPY from stdin", kind)}
		}
		if kind != 'd' {
			return u.Flush()
		}
	}
}

// tunnel joins the client and the primary for good: notifications may arrive at
// any time. Nothing is decided and nothing times out any more.
func (s *session) tunnel(u *upstream) error {
	u.SetTimeout(0)
	ended := make(chan error, 1)
	go func() {
		for {
			kind, body, err := u.Receive(context.Background())
			if err == nil {
				s.out.Raw(kind, body)
				if !u.Buffered() {
					s.out.Flush()
				}
				err = s.out.Err()
			}
			if err != nil {
				ended <- err
				s.in.Wake()
				return
			}
		}
	}()
	s.in.OnWake = func() error { return net.ErrClosed }
	for {
		kind, body, err := s.in.Next()
		if err == nil {
			err = u.Send(kind, body)
		}
		if err == nil && !s.in.Buffered() {
			err = u.Flush()
		}
		if err == nil && kind != 'X' {
			continue
		}
		u.Abort()
		<-ended
		if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
			return nil
		}
		return err
	}
}
