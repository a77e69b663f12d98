//go:build linux && !386 && !s390x

package loop

import (
	"errors"
	"log/slog"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// holdFor is how long a dedicated loop waits while it keeps its processor. Waiting so
// spares the scheduler's work of taking a processor away and finding one again; a
// wait that is longer is made in the ordinary way.
const holdFor = 10 * time.Millisecond

// maxEvents of one wait.
const maxEvents = 128

// Config of a Loop.
type Config struct {
	// Dedicated: the loop keeps one of the scheduler's processors while it waits for a
	// short time. There must be one more than the program needs otherwise.
	Dedicated bool
	// Every is how often Tick is called on the loop's thread; 0: never.
	Every  time.Duration
	Tick   func(now time.Time)
	Logger *slog.Logger
}

// Loop is a running event loop.
type Loop struct {
	cfg  Config
	ep   int
	wake int // eventfd
	done chan struct{}

	mu     sync.Mutex
	slots  []slot   // guarded by mu
	free   []int32  // guarded by mu; unused slots
	inbox  []func() // guarded by mu
	closed bool     // guarded by mu

	// Of the loop's thread.
	now    time.Time
	events [maxEvents]unix.EpollEvent
	socks  [maxEvents]*Sock
	posted []func()
	again  []func()
	spare  []func()
	buf    []byte
}

// slot is where an event finds its socket; generation tells a later user of the slot
// from the one that an old event is for.
type slot struct {
	k          *Sock
	generation int32
}

// bufferSize is that of the buffer that all sockets of a loop share.
const bufferSize = 64 << 10

// New starts a loop.
func New(cfg Config) (*Loop, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		_ = unix.Close(ep)
		return nil, err
	}
	l := &Loop{cfg: cfg, ep: ep, wake: wake, done: make(chan struct{}), buf: make([]byte, bufferSize), now: time.Now()}
	if err := unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, wake, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: -1}); err != nil {
		_, _ = unix.Close(ep), unix.Close(wake)
		return nil, err
	}
	go l.run()
	return l, nil
}

// Post makes f run on the loop's thread; after Close it is dropped.
func (l *Loop) Post(f func()) {
	l.mu.Lock()
	closed, first := l.closed, len(l.inbox) == 0
	if !closed {
		l.inbox = append(l.inbox, f)
	}
	if first && !closed {
		l.signal()
	}
	l.mu.Unlock()
}

// Again makes f run after what is ready now, before the loop waits. Of the loop's thread.
func (l *Loop) Again(f func()) { l.again = append(l.again, f) }

// Now is when the loop last woke up. Of the loop's thread.
func (l *Loop) Now() time.Time { return l.now }

// Buffer is a scratch buffer of the loop's thread.
func (l *Loop) Buffer() []byte { return l.buf }

// Close ends the loop. Its sockets are to be closed before.
func (l *Loop) Close() {
	l.mu.Lock()
	was := l.closed
	l.closed = true
	if !was {
		l.signal()
	}
	l.mu.Unlock()
	<-l.done
}

// signal wakes the loop up; mu is held, so that the loop is not closed under it.
func (l *Loop) signal() {
	one := [8]byte{0: 1}
	_, _, _ = syscall.RawSyscall(unix.SYS_WRITE, uintptr(l.wake), uintptr(unsafe.Pointer(&one)), 8)
}

func (l *Loop) run() {
	defer close(l.done)
	idle := false
	var next time.Time
	if l.cfg.Every > 0 {
		next = l.now.Add(l.cfg.Every)
	}
	for {
		n := l.wait(&idle, next)
		l.now = time.Now()
		l.mu.Lock()
		for i := range n {
			e := &l.events[i]
			if l.socks[i] = nil; e.Fd < 0 {
				continue // the eventfd, edge-triggered: it is never read
			} else if s := l.slots[e.Fd]; s.generation == e.Pad {
				l.socks[i] = s.k
			}
		}
		l.posted, l.inbox = l.inbox, l.posted[:0]
		closed := l.closed
		if closed {
			_, _ = unix.Close(l.ep), unix.Close(l.wake)
		}
		l.mu.Unlock()
		if closed {
			return
		}
		for i := range n {
			if k := l.socks[i]; k != nil {
				k.event(l.events[i].Events)
				l.socks[i] = nil
			}
		}
		for i, f := range l.posted {
			f()
			l.posted[i] = nil
		}
		l.again, l.spare = l.spare[:0], l.again
		for i, f := range l.spare {
			f()
			l.spare[i] = nil
		}
		if l.cfg.Every > 0 && !l.now.Before(next) {
			next = l.now.Add(l.cfg.Every)
			l.cfg.Tick(l.now)
		}
	}
}

// wait waits for events, at most until next.
func (l *Loop) wait(idle *bool, next time.Time) int {
	for {
		ms := -1
		if !next.IsZero() {
			ms = max(0, int(next.Sub(l.now)/time.Millisecond)+1)
		}
		if len(l.again) > 0 {
			ms = 0
		}
		var n uintptr
		var errno syscall.Errno
		if hold := int(holdFor / time.Millisecond); ms == 0 || l.cfg.Dedicated && !*idle {
			if ms < 0 || ms > hold {
				ms = hold
			}
			n, _, errno = syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(l.ep), uintptr(unsafe.Pointer(&l.events)), maxEvents, uintptr(ms), 0, 0)
		} else {
			n, _, errno = syscall.Syscall6(unix.SYS_EPOLL_PWAIT, uintptr(l.ep), uintptr(unsafe.Pointer(&l.events)), maxEvents, uintptr(ms), 0, 0)
		}
		if errno == unix.EINTR {
			continue // the scheduler wanted this goroutine to stop for a moment
		}
		if errno != 0 {
			l.cfg.Logger.Error("epoll_failed", "error", error(errno))
			time.Sleep(time.Second)
			return 0
		}
		*idle = n == 0
		return int(n)
	}
}

// register finds a slot for k and makes the kernel watch it.
func (l *Loop) register(k *Sock) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errors.New("loop: closed")
	}
	var at int32
	if n := len(l.free); n > 0 {
		at, l.free = l.free[n-1], l.free[:n-1]
	} else {
		at = int32(len(l.slots))
		l.slots = append(l.slots, slot{})
	}
	l.slots[at].k = k
	k.slot = at
	e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET, Fd: at, Pad: l.slots[at].generation}
	if err := unix.EpollCtl(l.ep, unix.EPOLL_CTL_ADD, k.fd, &e); err != nil {
		l.forget(at)
		return err
	}
	return nil
}

// forget frees a slot; mu is held.
func (l *Loop) forget(at int32) {
	l.slots[at].k = nil
	l.slots[at].generation++
	l.free = append(l.free, at)
}
