//go:build !linux || 386 || s390x

package loop

import (
	"log/slog"
	"net"
	"time"
)

// Config of a Loop.
type Config struct {
	Dedicated bool
	Every     time.Duration
	Tick      func(now time.Time)
	Logger    *slog.Logger
}

// Loop does not exist here.
type Loop struct{}

// New answers ErrUnsupported.
func New(Config) (*Loop, error) { return nil, ErrUnsupported }

// The methods of a loop that is never there.
func (*Loop) Post(func())                   {}
func (*Loop) Again(func())                  {}
func (*Loop) Now() time.Time                { return time.Time{} }
func (*Loop) Buffer() []byte                { return nil }
func (*Loop) Close()                        {}
func (*Loop) Adopt(net.Conn) (*Sock, error) { return nil, ErrUnsupported }

// Sock does not exist here.
type Sock struct{ net.Conn }

// The methods of a socket that is never there.
func (*Sock) Attach(Handler) bool      { return false }
func (*Sock) Detach()                  {}
func (*Sock) Readable() bool           { return false }
func (*Sock) Quiet() bool              { return false }
func (*Sock) Recv([]byte) (int, error) { return 0, ErrUnsupported }
func (*Sock) Send([]byte) (int, error) { return 0, ErrUnsupported }
func (*Sock) Unread([]byte)            {}
func (*Sock) Ahead() []byte            { return nil }
func (*Sock) Loop() *Loop              { return nil }
