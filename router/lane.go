package router

import (
	"errors"
	"net"
	"os"
	"runtime"
	"time"

	"ostraka/pgfront/gate"
	"ostraka/router/loop"
)

// A session waits on an event loop, where what is ordinary is served at once: a
// request that is whole, whose meaning is known from an earlier one, and whose server
// is at hand goes out of the loop's buffer to the server, and the frames of the answer
// go back in the same way. Whatever needs more — a look at a new text, another
// server, COPY, an error of the router's own, TLS — is the session's goroutine's, which
// takes over between two frames and comes back when the session is at rest.

// track is a loop and the sessions on it.
type track struct {
	loop  *loop.Loop
	lanes map[*lane]struct{} // of the loop's thread
}

// startTracks starts the loops; none where there is no epoll.
func (r *Router) startTracks() error {
	n := r.cfg.loops()
	if r.cfg.Dedicated {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + n)
	}
	for range n {
		t := &track{lanes: map[*lane]struct{}{}}
		l, err := loop.New(loop.Config{Dedicated: r.cfg.Dedicated, Every: r.cfg.tick(), Tick: t.tick, Logger: r.log})
		if errors.Is(err, loop.ErrUnsupported) {
			return nil
		}
		if err != nil {
			return err
		}
		t.loop = l
		r.tracks = append(r.tracks, t)
	}
	return nil
}

// track chooses a session's loop, nil: none.
func (r *Router) track() *track {
	if len(r.tracks) == 0 {
		return nil
	}
	return r.tracks[r.nextTrack.Add(1)%uint64(len(r.tracks))]
}

// tick ends what takes too long.
func (t *track) tick(now time.Time) {
	for ln := range t.lanes {
		ln.overdue(now)
	}
}

// lane is a session's part on its loop. Its fields belong to the loop's thread from
// boarding until leave, and to the session's goroutine otherwise.
type lane struct {
	s      *session
	track  *track
	client *loop.Sock
	riding bool
	// off tells the goroutine why it has the session again.
	off chan departure

	in       []byte // arrived from the client and not sent on
	toServer []byte // not yet taken by the server
	toClient []byte // not yet taken by the client
	part     []byte // of the server's: the beginning of a frame

	// The running request; u is nil between requests.
	u        *upstream
	sc       *script
	extended bool
	expect   []sent // messages not yet answered, of the extended protocol
	answered int    // of expect
	res      result

	since  time.Time // of the last progress
	served int       // requests since boarding
	rest   int       // requests to serve elsewhere before boarding again
	pause  int

	needs  []need // statements that a pipeline uses
	parses []int  // positions of Parse in expect
	memo   struct {
		text string
		sc   *script
	}
	key     []byte
	onAgain func()
	queued  bool
}

// departure is why a session leaves its loop.
type departure struct {
	why why
	err error
}

type why byte

const (
	forInput  why = iota // what the client sends needs the goroutine
	forAnswer            // the answer of the running request does
	forServer            // the running request's server is lost: err
	forClient            // the client is, within a request: err
	forEnd               // the session ends: err
)

// newLane puts the client's connection on the session's loop; nil: it cannot be.
func (s *session) newLane(g *gate.Conn) *lane {
	ln := &lane{s: s, track: s.track, off: make(chan departure, 1)}
	ln.onAgain = func() {
		defer ln.recovered()
		ln.queued = false
		if ln.riding && ln.u != nil && len(ln.toClient) == 0 {
			ln.fromServer()
		}
	}
	if err := g.Replace(ln.adopt); err != nil {
		return nil
	}
	return ln
}

func (ln *lane) adopt(c net.Conn) (net.Conn, error) {
	k, err := ln.track.loop.Adopt(c)
	if err != nil {
		return nil, err
	}
	ln.client = k
	return k, nil
}

// atRest reports that the session is between requests with nothing buffered anywhere.
func (s *session) atRest() bool {
	p := &s.pipe
	if len(p.msgs) > 0 || p.on != nil || p.skip || p.piecewise || p.ran != nil || s.mute || s.out.Pending() > 0 || s.in.Buffered() {
		return false
	}
	if len(s.portals) > 0 || s.doc.part != nil || s.doc.lost != nil || s.doc.hidden {
		return false
	}
	for _, u := range []*upstream{s.primary, s.replica} {
		if u != nil && (u.sock == nil || u.Buffered()) {
			return false
		}
	}
	return true
}

// ride leaves the session to its loop until it has to go on here. A *pgerror.Error
// and other errors end the session, nil: the next message is to be read.
func (s *session) ride() error {
	ln := s.lane
	if ln.pause > 0 {
		ln.pause--
		return nil
	}
	ln.served = 0
	ln.track.loop.Post(ln.boarded)
	d := <-ln.off
	s.r.stats.looped.Add(int64(ln.served))
	if ln.served == 0 { // what this session does is not for the loop: spare it the way
		ln.rest = min(2*ln.rest+1, 32)
		ln.pause = ln.rest
	} else {
		ln.rest = 0
	}
	return s.alight(d)
}

// alight goes on where the loop has left off.
func (s *session) alight(d departure) error {
	ln := s.lane
	u, sc := ln.u, ln.sc
	ln.u, ln.sc = nil, nil
	if len(ln.toClient) > 0 {
		s.out.Bytes(ln.toClient)
		s.out.Flush()
		ln.toClient = ln.toClient[:0]
	}
	switch d.why {
	case forInput:
		return nil
	case forEnd:
		return d.err
	case forServer:
		ln.toServer = ln.toServer[:0]
		return s.lost(u, d.err, sc, true)
	case forClient:
		return s.lost(u, &clientGone{d.err}, sc, true)
	}
	if len(ln.toServer) > 0 {
		_, err := u.sock.Write(ln.toServer)
		if ln.toServer = ln.toServer[:0]; err != nil {
			return s.lost(u, err, sc, true)
		}
	}
	if !ln.extended {
		return s.called(u, sc, s.relay(u, nil, true, ln.res))
	}
	s.pipe.reset()
	return s.exchanged(u, sc, true, s.relay(u, ln.expect[ln.answered:], true, ln.res))
}

// boarded takes the session over, on the loop's thread.
func (ln *lane) boarded() {
	defer ln.recovered()
	s := ln.s
	if s.in.Woken() || !ln.client.Attach(ln) {
		ln.off <- departure{}
		return
	}
	ln.riding, ln.since = true, ln.track.loop.Now()
	ln.track.lanes[ln] = struct{}{}
	for _, u := range []*upstream{s.primary, s.replica} {
		if u == nil {
			continue
		}
		if u.riding = u.sock.Attach(ln); !u.riding {
			ln.leave(forInput, nil)
			return
		}
		_ = u.sock.Quiet()
	}
	ln.fromClient()
}

// leave gives the session back to its goroutine.
func (ln *lane) leave(w why, err error) {
	s := ln.s
	ln.client.Unread(ln.in)
	if ln.in = ln.in[:0]; cap(ln.in) > keepCap {
		ln.in = nil
	}
	if len(ln.part) > 0 && ln.u != nil {
		ln.u.sock.Unread(ln.part)
	}
	ln.part = ln.part[:0]
	ln.riding = false
	delete(ln.track.lanes, ln)
	ln.client.Detach()
	for _, u := range []*upstream{s.primary, s.replica} {
		if u != nil && u.riding {
			u.suspect = u != ln.u && !u.sock.Quiet()
			u.riding = false
			u.sock.Detach()
		}
	}
	ln.off <- departure{w, err}
}

// Panicked implements loop.Handler: the session ends.
func (ln *lane) Panicked(v any) {
	ln.s.r.log.Error("session_panic", "panic", v)
	if ln.riding {
		ln.leave(forEnd, errors.New("router: panic"))
	}
}

// recovered is deferred by what the loop calls otherwise.
func (ln *lane) recovered() {
	if v := recover(); v != nil {
		ln.Panicked(v)
	}
}

// Ready implements loop.Handler.
func (ln *lane) Ready(k *loop.Sock) {
	if k == ln.client {
		if len(ln.toClient) > 0 && !ln.flushClient() {
			return
		}
		if ln.u == nil {
			ln.next()
		}
		return
	}
	if u := ln.u; u != nil && u.sock == k {
		if len(ln.toServer) > 0 && !ln.flushServer() {
			return
		}
		if len(ln.toClient) == 0 && k.Readable() {
			ln.fromServer()
		}
	}
}

// overdue ends a request whose server is silent, and a client that says nothing.
func (ln *lane) overdue(now time.Time) {
	defer ln.recovered()
	cfg := &ln.s.r.cfg
	switch silent := now.Sub(ln.since); {
	case len(ln.toClient) > 0:
		ln.since = now // it is the client that takes its time
	case ln.u != nil && cfg.RequestTimeout > 0 && silent > cfg.RequestTimeout:
		ln.leave(forServer, os.ErrDeadlineExceeded)
	case ln.u == nil && cfg.IdleTimeout > 0 && silent > cfg.IdleTimeout:
		ln.leave(forEnd, errIdle)
	}
}

// wake makes a session that waits here for its client go on in its goroutine. Safe
// from any goroutine.
func (ln *lane) wake() {
	ln.track.loop.Post(func() {
		defer ln.recovered()
		if ln.riding && ln.u == nil {
			ln.leave(forInput, nil)
		}
	})
}
