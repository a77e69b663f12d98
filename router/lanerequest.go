package router

import (
	"bytes"
	"encoding/binary"

	"ostraka/router/loop"
)

// need is a prepared statement that a pipeline uses.
type need struct {
	st    *statement
	named bool
}

// next begins the next request, which may be here already.
func (ln *lane) next() {
	if len(ln.in) > 0 {
		ln.requests(ln.in)
	}
	ln.fromClient()
}

// fromClient takes what the client has sent, as far as requests can be begun.
func (ln *lane) fromClient() {
	for ln.riding && ln.u == nil && len(ln.toClient) == 0 && ln.client.Readable() {
		l := ln.track.loop
		buf := l.Buffer()
		n := copy(buf, ln.in)
		m, err := ln.client.Recv(buf[n:])
		if err == loop.ErrWouldBlock {
			return
		}
		if err != nil {
			ln.leave(forInput, nil) // the goroutine finds the same
			return
		}
		ln.since = l.Now()
		ln.requests(buf[:n+m])
	}
}

// requests begins the first request in data, and keeps what comes behind it.
func (ln *lane) requests(data []byte) {
	n, sc := ln.request(data)
	var u *upstream
	if n > 0 {
		u = ln.choose(sc)
	}
	if n < 0 || n > 0 && u == nil {
		ln.in = append(ln.in[:0], data...)
		ln.leave(forInput, nil)
		return
	}
	if n == 0 {
		ln.in = append(ln.in[:0], data...)
		return
	}
	s := ln.s
	s.r.stats.requests.Add(1)
	if u.replica {
		s.r.stats.replica.Add(1)
	} else {
		s.r.stats.primary.Add(1)
	}
	if s.active.Load() != u {
		s.active.Store(u)
	}
	if !ln.extended {
		if u.unnamed = nil; len(s.stmts) > 0 {
			delete(s.stmts, "")
		}
	}
	ln.u, ln.sc, ln.res, ln.answered = u, sc, result{}, 0
	sent, err := u.sock.Send(data[:n])
	if err == loop.ErrWouldBlock {
		ln.toServer = append(ln.toServer[:0], data[sent:n]...)
	}
	ln.in = append(ln.in[:0], data[n:]...)
	if err != nil && err != loop.ErrWouldBlock {
		ln.leave(forServer, err)
	}
}

// request looks at the request at the beginning of data: its length and what it does.
// 0: more of it has to come; -1: it is the goroutine's.
func (ln *lane) request(data []byte) (int, *script) {
	n := message(data)
	if n <= 0 {
		return n, nil
	}
	switch data[0] {
	case 'Q':
		ln.extended, ln.expect = false, ln.expect[:0]
		sql, _, _ := bytes.Cut(data[5:n], []byte{0})
		if sc := ln.script(sql); sc != nil {
			return n, sc
		}
	case 'P', 'B', 'D', 'E', 'C':
		ln.extended = true
		return ln.pipeline(data)
	}
	return -1, nil
}

// message is the length of the message at the beginning of data, 0 when it is not
// whole, -1 when it is too long.
func message(data []byte) int {
	if len(data) < 5 {
		return 0
	}
	n := int(binary.BigEndian.Uint32(data[1:]))
	switch {
	case n < 4 || n > maxLaneMessage:
		return -1
	case len(data) < 1+n:
		return 0
	}
	return 1 + n
}

// script is what a text means, when that is known and the loop's business; nil else.
func (ln *lane) script(sql []byte) *script {
	sc := ln.memo.sc
	if sc == nil || string(sql) != ln.memo.text {
		if sc = known(sql, &ln.key); sc == nil {
			return nil
		}
		if len(sql) <= maxMemo {
			ln.memo.text, ln.memo.sc = string(sql), sc
		}
	}
	if sc.bare {
		return sc
	}
	if sc.listen || len(sc.executes) > 0 || ln.s.r.sharding != nil && (len(sc.parts) > 0 || len(sc.txn) > 0 || ln.s.concerned(sc)) {
		return nil
	}
	return sc
}

// maxMemo bounds the text that a lane remembers, in bytes.
const maxMemo = 256

// Scripts of pipelines that do nothing but read or write.
var (
	bareRead  = &script{read: true, bare: true}
	bareWrite = &script{bare: true}
)

// pipeline looks at messages up to Sync; as judge does, of which it is the short form.
func (ln *lane) pipeline(data []byte) (int, *script) {
	end := 0
	for {
		n := message(data[end:])
		if n == 0 && len(data) > maxLaneMessage {
			n = -1
		}
		if n <= 0 {
			return n, nil
		}
		end += n
		kind := data[end-n]
		if kind == 'S' {
			break
		}
		switch kind {
		case 'P', 'B', 'D', 'E', 'C':
		default:
			return -1, nil
		}
	}
	ln.expect, ln.needs, ln.parses = ln.expect[:0], ln.needs[:0], ln.parses[:0]
	s, sc, read := ln.s, (*script)(nil), true
	for at := 0; ; {
		kind, body := data[at], data[at+5:]
		n := int(binary.BigEndian.Uint32(data[at+1:]))
		body = body[:n-4]
		at += 1 + n
		if kind == 'S' {
			break
		}
		m := sent{kind: kind}
		var used *script
		switch kind {
		case 'P':
			name, sql, _ := bytes.Cut(body, []byte{0})
			sql, _, _ = bytes.Cut(sql, []byte{0})
			if len(ln.parses) == maxParses {
				return -1, nil
			}
			if m.script = ln.script(sql); m.script == nil {
				return -1, nil
			}
			st := s.stmts[string(name)]
			switch {
			case len(name) > 0 && st != nil:
				return -1, nil // the server refuses it
			case st != nil && bytes.Equal(st.parse, body):
				m.stmt = st
			default:
				m.name, m.body = string(name), append([]byte(nil), body...)
			}
			ln.parses = append(ln.parses, len(ln.expect))
			read = read && m.script.read
		case 'B':
			_, rest, _ := bytes.Cut(body, []byte{0})
			name, _, _ := bytes.Cut(rest, []byte{0})
			if used = ln.prepared(name); used == nil {
				return -1, nil
			}
			read = read && used.read
			switch {
			case sc == nil || sc == used:
				sc = used
			case sc.bare && used.bare:
				sc = bareRead
			default:
				sc = joined(sc, used)
			}
		case 'D', 'C':
			if len(body) == 0 || body[0] != 'S' {
				break
			}
			name, _, _ := bytes.Cut(body[1:], []byte{0})
			if kind == 'C' {
				m.kind, m.name = 'c', string(name)
				break
			}
			m.kind = 'd'
			if used = ln.prepared(name); used == nil {
				return -1, nil
			}
			read = read && used.read
		}
		ln.expect = append(ln.expect, m)
	}
	switch {
	case len(ln.expect) == 0:
		return -1, nil
	case sc == nil || sc.bare:
		if sc = bareRead; !read {
			sc = bareWrite
		}
	case sc.read != read:
		c := *sc
		c.read = read
		sc = &c
	}
	return end, sc
}

// maxParses bounds how many Parse messages of a pipeline are looked through.
const maxParses = 16

// prepared finds what a statement of that name is, nil: the goroutine is asked.
func (ln *lane) prepared(name []byte) *script {
	for i := len(ln.parses) - 1; i >= 0; i-- {
		m := &ln.expect[ln.parses[i]]
		if m.stmt != nil && len(name) == 0 || m.stmt == nil && m.name == string(name) {
			return m.script
		}
	}
	st := ln.s.stmts[string(name)]
	if st == nil || len(st.script.executes) > 0 || st.script.listen || !st.script.bare && ln.s.r.sharding != nil {
		return nil
	}
	ln.needs = append(ln.needs, need{st, len(name) > 0})
	return st.script
}

// choose is acquire where nothing is to be done for it; nil: something is.
func (ln *lane) choose(sc *script) *upstream {
	s := ln.s
	u := s.block
	switch {
	case u != nil:
	case sc.read && !s.pinned && len(s.r.replicas) > 0:
		if u = s.replica; u == nil || s.behind || s.position != "" && u.position != s.position || !s.current(u) {
			return nil
		}
	default:
		if u = s.primary; u == nil || !s.current(u) {
			return nil
		}
	}
	if !u.riding || !u.sock.Quiet() || u.Canceling() {
		return nil
	}
	if ln.extended && s.status != 'E' {
		for _, n := range ln.needs {
			if n.st.on[side(u)] != u || !n.named && u.unnamed != n.st {
				return nil
			}
		}
	}
	return u
}

// current reports that u has all that the session has set and closed.
func (s *session) current(u *upstream) bool {
	return len(u.closes) == 0 && (len(s.settings) == 0 || u.settings >= s.settings[len(s.settings)-1].seq)
}
