package router

import (
	"bytes"
	"encoding/binary"
	"errors"

	"ostraka/router/loop"
)

// Bounds of what a lane handles, in bytes: longer messages are the goroutine's.
const (
	maxLaneMessage = 24 << 10
	keepCap        = 8 << 10 // of buffers that are kept while they are empty
)

// errFrame is a length that no message can have.
var errFrame = errors.New("router: the server sent a message of an impossible length")

// fromServer passes on what the running request's server has sent.
func (ln *lane) fromServer() {
	u, l := ln.u, ln.track.loop
	buf := l.Buffer()
	n := copy(buf, ln.part)
	m, err := u.sock.Recv(buf[n:])
	if err == loop.ErrWouldBlock {
		return
	}
	if err != nil {
		ln.leave(forServer, err)
		return
	}
	ln.part, ln.since = ln.part[:0], l.Now()
	data := buf[:n+m]
	end, next, err := ln.scan(data)
	if end > 0 && !ln.deliver(data[:end]) {
		return
	}
	rest := data[end:]
	switch next {
	case scanMore:
		ln.part = append(ln.part, rest...)
		if u.sock.Readable() && len(ln.toClient) == 0 && !ln.queued {
			ln.queued = true // others first
			l.Again(ln.onAgain)
		}
	case scanDone:
		u.sock.Unread(rest)
		ln.finish()
	case scanElsewhere:
		u.sock.Unread(rest)
		ln.leave(forAnswer, nil)
	case scanLost:
		ln.leave(forServer, err)
	}
}

// what follows a scan.
type scanned byte

const (
	scanMore      scanned = iota
	scanDone              // the request is answered
	scanElsewhere         // what comes next is the goroutine's
	scanLost              // the server ends the session: err
)

// scan finds how much of data is whole frames for the client, and takes note of them.
func (ln *lane) scan(data []byte) (end int, next scanned, err error) {
	for len(data)-end >= 5 {
		kind, n := data[end], int(binary.BigEndian.Uint32(data[end+1:]))
		if n < 4 || n > 1<<30 {
			return end, scanLost, errFrame
		}
		if n > maxLaneMessage {
			return end, scanElsewhere, nil
		}
		if len(data)-end < 1+n {
			return end, scanMore, nil
		}
		body := data[end+5 : end+1+n]
		switch kind {
		case 'D':
		case 'Z':
			if len(body) != 1 {
				return end, scanLost, errFrame
			}
			ln.res.status = body[0]
			return end + 1 + n, scanDone, nil
		case 'E':
			if bytes.Contains(body, []byte("VFATAL\x00")) || bytes.Contains(body, []byte("VPANIC\x00")) {
				return end, scanLost, errors.New(text(body))
			}
			ln.res.failed, ln.answered = true, len(ln.expect)
			ln.s.r.stats.errors.Add(1)
		case 'G', 'W':
			return end, scanElsewhere, nil
		case 'C':
			ln.res.tag = tagOf(body)
			ln.note()
		case '1', '2', '3', 'T', 'n', 'I', 's':
			ln.note()
		}
		end += 1 + n
	}
	return end, scanMore, nil
}

// note takes note that the next message was answered.
func (ln *lane) note() {
	if ln.answered < len(ln.expect) {
		if m := &ln.expect[ln.answered]; m.kind == 'P' || m.kind == 'c' {
			ln.s.answered(ln.u, *m)
		}
		ln.answered++
	}
}

// deliver sends frames to the client and keeps what it does not take; false: the
// client is gone.
func (ln *lane) deliver(p []byte) bool {
	n, err := ln.client.Send(p)
	if err == nil {
		return true
	}
	if err == loop.ErrWouldBlock {
		ln.toClient = append(ln.toClient[:0], p[n:]...)
		return true
	}
	ln.leave(forClient, err)
	return false
}

// flushClient sends what the client had no room for; false: there is still some.
func (ln *lane) flushClient() bool {
	n, err := ln.client.Send(ln.toClient)
	if err != nil && err != loop.ErrWouldBlock {
		if ln.toClient = nil; ln.u == nil {
			ln.leave(forInput, nil) // where the same is found
		} else {
			ln.leave(forClient, err)
		}
		return false
	}
	left := copy(ln.toClient, ln.toClient[n:])
	if ln.toClient = ln.toClient[:left]; left > 0 {
		return false
	}
	if cap(ln.toClient) > keepCap {
		ln.toClient = nil
	}
	if ln.u != nil && ln.u.sock.Readable() {
		ln.fromServer()
		return ln.riding && len(ln.toClient) == 0
	}
	return true
}

// flushServer sends the rest of a request; false: there is still some.
func (ln *lane) flushServer() bool {
	n, err := ln.u.sock.Send(ln.toServer)
	if err != nil && err != loop.ErrWouldBlock {
		ln.leave(forServer, err)
		return false
	}
	left := copy(ln.toServer, ln.toServer[n:])
	if ln.toServer = ln.toServer[:left]; left == 0 && cap(ln.toServer) > keepCap {
		ln.toServer = nil
	}
	if n > 0 {
		ln.since = ln.track.loop.Now()
	}
	return left == 0
}

// finish ends a request that was answered, and begins the next one.
func (ln *lane) finish() {
	u, sc, s := ln.u, ln.sc, ln.s
	ln.u, ln.sc = nil, nil
	u.Answered(ln.since)
	ln.served++
	if cap(ln.part) > keepCap {
		ln.part = nil
	}
	if err := s.after(u, sc, ln.res); err != nil {
		ln.leave(forEnd, err)
		return
	}
	if len(ln.toClient) == 0 {
		ln.next()
	}
}
