package router

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"crypto/tls"

	"ostraka/pgfront/gate"
	"ostraka/pgfront/wire"
	"ostraka/sqltypes/pgerror"
)

// Router is a running front end.
type Router struct {
	cfg      Config
	log      *slog.Logger
	tls      *tls.Config
	users    users // nil without auth file
	primary  *server
	replicas []*server
	turn     atomic.Uint64 // round robin over the replicas
	sharding *sharding     // nil in read/write splitting
	stats    stats

	tracks    []*track // empty: every session is a goroutine's alone
	nextTrack atomic.Uint64

	listener *gate.Listener
	done     chan struct{} // closed when accepting has ended
	clients  sync.WaitGroup

	mu       sync.Mutex
	sessions map[int32]*session // guarded by mu; by the pid that the client knows
}

// Start checks the configuration and begins to serve. No server needs to be up.
func Start(cfg Config) (*Router, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	r := &Router{cfg: cfg, log: cfg.Logger, done: make(chan struct{}), sessions: map[int32]*session{}}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if r.sharding, err = cfg.sharding(); err != nil {
		return nil, err
	}
	if r.sharding != nil {
		r.primary = r.sharding.servers[0]
	} else if r.primary, r.replicas, err = cfg.servers(); err != nil {
		return nil, err
	}
	if r.tls, err = cfg.tlsConfig(); err != nil {
		return nil, err
	}
	if cfg.AuthFile != "" {
		if r.users, err = readUsers(cfg.AuthFile); err != nil {
			return nil, err
		}
	}
	l, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, err
	}
	if err := r.startTracks(); err != nil {
		_ = l.Close()
		return nil, err
	}
	r.listener = gate.Wrap(l, gate.Config{TLS: r.tls, MaxConnections: cfg.MaxConnections, Logger: r.log})
	go r.accept()
	go r.logStats()
	return r, nil
}

// Addr is the address that clients connect to.
func (r *Router) Addr() string { return r.listener.Addr().String() }

func (r *Router) accept() {
	defer close(r.done)
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				r.log.Error("accept_ended", "error", err)
			}
			return
		}
		r.clients.Add(1)
		go func() {
			defer r.clients.Done()
			defer conn.Close()
			defer func() {
				if p := recover(); p != nil {
					r.log.Error("session_panic", "panic", p)
				}
			}()
			r.client(conn.(*gate.Conn))
		}()
	}
}

// Wait serves until ctx ends, then closes.
func (r *Router) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-r.done:
	}
	return r.Close()
}

// closeTime is how long Close lets sessions tell their clients that they end.
const closeTime = time.Second

// Close stops accepting, ends every session (what runs is cut off) and waits for them.
func (r *Router) Close() error {
	err := r.listener.Close()
	<-r.done
	r.mu.Lock()
	for _, s := range r.sessions {
		s.end()
	}
	r.mu.Unlock()
	r.listener.CloseUnauthenticated()
	told := time.AfterFunc(closeTime, r.listener.CloseConns)
	r.clients.Wait()
	told.Stop()
	for _, t := range r.tracks {
		t.loop.Close()
	}
	if r.sharding != nil {
		r.sharding.closePools()
	}
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	return err
}

// register gives a session the numbers by which its client can cancel.
func (r *Router) register(s *session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		pid := rand.Int32N(1<<31-1) + 1
		if _, taken := r.sessions[pid]; !taken {
			s.pid, s.secret = pid, int32(rand.Uint32())
			r.sessions[pid] = s
			return
		}
	}
}

func (r *Router) unregister(s *session) {
	r.mu.Lock()
	delete(r.sessions, s.pid)
	r.mu.Unlock()
}

// cancel passes a cancel request on to the server that works for the session.
func (r *Router) cancel(pid, secret int32) {
	r.mu.Lock()
	s := r.sessions[pid]
	r.mu.Unlock()
	if s != nil && s.secret == secret {
		if c := s.doc.cancel.Load(); c != nil {
			(*c)(errCanceled)
		} else if u := s.active.Load(); u != nil {
			u.Cancel()
		}
	}
}

// fatal tells a client why its connection ends.
func fatal(out *wire.Out, e *pgerror.Error) {
	f := *e
	f.Severity = "FATAL"
	out.ErrorResponse(&f)
	out.Flush()
}
