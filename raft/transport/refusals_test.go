package transport

import (
	"bytes"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"
)

// TestRefusalsAreBounded: who calls the port a thousand times writes a few lines into
// the log, and what was left out is counted.
func TestRefusalsAreBounded(t *testing.T) {
	var out bytes.Buffer
	now := time.Now()
	r := newRefusals(slog.New(slog.NewTextHandler(&out, nil)), func() time.Time { return now })
	lines := func() int { return strings.Count(out.String(), "\n") }
	for range 1000 {
		r.note("refused")
	}
	if n := lines(); n != refusalBurst {
		t.Errorf("%d lines of a thousand refusals", n)
	}
	out.Reset()
	for range 25 {
		now = now.Add(refusalEvery / 5)
		r.note("refused")
	}
	if n := lines(); n != 5 {
		t.Errorf("%d lines in five intervals", n)
	}
	if first, _, _ := strings.Cut(out.String(), "\n"); !strings.Contains(first, "not_logged=984") {
		t.Errorf("left out: %s", first)
	}
	out.Reset()
	now = now.Add(time.Hour)
	for range 1000 {
		r.note("refused")
	}
	if n := lines(); n != refusalBurst {
		t.Errorf("%d lines after an hour", n)
	}
}

// TestRefusalsOnPort: garbage at a port does not fill the log.
func TestRefusalsOnPort(t *testing.T) {
	var out bytes.Buffer
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewMux(ln, MuxConfig{NodeID: "1", Logger: slog.New(slog.NewTextHandler(&out, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 * refusalBurst {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
		_, _ = c.Read(make([]byte, 1)) // until it is refused
		_ = c.Close()
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "refused a connection"); n < refusalBurst || n > refusalBurst+10 {
		t.Errorf("%d lines of %d refusals", n, 5*refusalBurst)
	}
}
