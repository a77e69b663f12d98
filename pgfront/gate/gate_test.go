package gate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

func packet(code uint32, rest string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(8+len(rest)))
	return append(binary.BigEndian.AppendUint32(b, code), rest...)
}

// open sends data through a gate and returns what the handshake reads, what the client gets, and the handshake's error.
func open(t *testing.T, cfg Config, data []byte) (handshake, client []byte, err error) {
	t.Helper()
	inner, lerr := net.Listen("tcp", "127.0.0.1:0")
	if lerr != nil {
		t.Fatal(lerr)
	}
	g := Wrap(inner, cfg)
	defer g.Close()
	c, derr := net.Dial("tcp", inner.Addr().String())
	if derr != nil {
		t.Fatal(derr)
	}
	defer c.Close()
	s, aerr := g.Accept()
	if aerr != nil {
		t.Fatal(aerr)
	}
	defer s.Close()
	if _, err := c.Write(data); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 20000)
	n, err := s.Read(buf)
	_ = s.Close()
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
	client, _ = io.ReadAll(c)
	return buf[:n], client, err
}

func TestPrelude(t *testing.T) {
	start := packet(3<<16, "user\x00joe\x00\x00")
	many := bytes.Repeat(packet(codeGSSENC, ""), 50)
	for _, c := range []struct {
		name, client string
		data         []byte
		pass         []byte // nil: refused
	}{
		{"startup", "", start, start},
		{"ssl without tls", "N", append(packet(codeSSL, ""), start...), start},
		{"gssenc", "N", append(packet(codeGSSENC, ""), start...), start},
		{"gssenc and ssl", "NN", append(append(packet(codeGSSENC, ""), packet(codeSSL, "")...), start...), start},
		{"ssl then cancel", "N", append(packet(codeSSL, ""), packet(codeCancel, "12345678")...), packet(codeCancel, "12345678")},
		{"many gssenc", "N", many, nil},
		{"protocol 2", "EFATAL:  unsupported frontend protocol 2.0: server supports 3.0 to 3.0\n\x00", packet(2<<16, ""), nil},
		{"tiny length", "", []byte{0, 0, 0, 4, 0, 0, 0, 0}, nil},
		{"huge length", "", []byte{0x7f, 0xff, 0xff, 0xff, 0, 3, 0, 0}, nil},
		{"garbage", "", []byte("GET / HTTP/1.1\r\n\r\n"), nil},
		{"tls without tls", "", []byte{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc}, nil},
		{"short cancel", "", packet(codeCancel, "123"), nil},
	} {
		got, client, err := open(t, Config{}, c.data)
		if c.pass == nil {
			if err == nil {
				t.Errorf("%s: let through", c.name)
			}
		} else if err != nil || !bytes.Equal(got, c.pass) {
			t.Errorf("%s: handshake read %q, %v", c.name, got, err)
		}
		if c.name == "many gssenc" {
			if len(client) > 300 {
				t.Errorf("%s: %d bytes of answers", c.name, len(client))
			}
			continue
		}
		if string(client) != c.client {
			t.Errorf("%s: client got %q, want %q", c.name, client, c.client)
		}
	}
	for _, bad := range []string{"user\x00joe\x00", "user\x00joe", "user\x00joe\x00\x00x", "user\x00\x00\x00\x00"} {
		if _, client, err := open(t, Config{}, packet(3<<16, bad)); bad != "user\x00\x00\x00\x00" && (err == nil || !bytes.Contains(client, []byte("08P01"))) {
			t.Errorf("%q: %v, client got %q", bad, err, client)
		}
	}
}

func TestLimitAndDeadline(t *testing.T) {
	_, client, err := open(t, Config{MaxConnections: 1, MaxUnauthenticated: -1}, packet(3<<16, "user\x00joe\x00\x00"))
	if err != nil {
		t.Fatalf("the first connection: %v %q", err, client)
	}
	start := time.Now()
	_, _, err = open(t, Config{AuthTimeout: 20 * time.Millisecond}, []byte{0, 0})
	var ne net.Error
	if !errors.As(err, &ne) || !ne.Timeout() || time.Since(start) > 5*time.Second {
		t.Fatalf("no timeout: %v", err)
	}
}

// flaky fails a few times before it accepts.
type flaky struct {
	net.Listener
	left int
}

func (f *flaky) Accept() (net.Conn, error) {
	if f.left > 0 {
		f.left--
		return nil, errors.New("accept: too many open files")
	}
	return f.Listener.Accept()
}

func TestAcceptRetries(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := Wrap(&flaky{inner, 3}, Config{})
	go func() {
		if c, err := net.Dial("tcp", inner.Addr().String()); err == nil {
			defer c.Close()
			_, _ = io.ReadAll(c)
		}
	}()
	c, err := g.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	_ = g.Close()
	if _, err := g.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Fatalf("after close: %v", err)
	}
}
