package router

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// frame makes a message.
func frame(kind byte, body string) string {
	return string(binary.BigEndian.AppendUint32([]byte{kind}, uint32(4+len(body)))) + body
}

// raw is a client that speaks in bytes.
type raw struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

func dialRaw(t *testing.T, r *Router) raw {
	t.Helper()
	c, err := net.Dial("tcp", r.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	params := "\x00\x03\x00\x00user\x00postgres\x00database\x00postgres\x00\x00"
	x := raw{t, c, bufio.NewReader(c)}
	x.send(string(binary.BigEndian.AppendUint32(nil, uint32(4+len(params)))) + params)
	x.until('Z')
	return x
}

func (x raw) send(s string) {
	x.t.Helper()
	if _, err := io.WriteString(x, s); err != nil {
		x.t.Fatal(err)
	}
}

// next reads a message.
func (x raw) next() (byte, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(x.in, head[:]); err != nil {
		return 0, nil, err
	}
	body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
	_, err := io.ReadFull(x.in, body)
	return head[0], body, err
}

// until reads up to a message of a kind and returns the kinds and the first DataRow's value.
func (x raw) until(want byte) (kinds, value string) {
	x.t.Helper()
	for {
		kind, body, err := x.next()
		if err != nil {
			x.t.Fatalf("after %d frames, %.40q (%q): %v", len(kinds), kinds, value, err)
		}
		if kind == 'E' {
			value = string(body)
		}
		if kind == 'D' && value == "" && len(body) > 6 {
			value = string(body[6:])
		}
		if kind != 'S' && kind != 'N' {
			kinds += string(kind)
		}
		if kind == want {
			return kinds, value
		}
	}
}

// query asks twice, so that the second time the loop can serve it.
func (x raw) query(sql string) (kinds, value string) {
	x.t.Helper()
	x.send(frame('Q', sql+"\x00"))
	x.until('Z')
	x.send(frame('Q', sql+"\x00"))
	return x.until('Z')
}

// extended is a statement in the extended protocol.
func extended(name, sql string) string {
	return frame('P', name+"\x00"+sql+"\x00\x00\x00") + frame('B', "\x00"+name+"\x00\x00\x00\x00\x00\x00\x00") + frame('D', "P\x00") +
		frame('E', "\x00\x00\x00\x00\x00") + frame('S', "")
}

// TestLane: ordinary requests are served on the loop, in every protocol and however
// the bytes arrive, and what is not ordinary goes through the goroutine in between.
func TestLane(t *testing.T) {
	nodes := dsns(t)
	for _, dedicated := range []bool{false, true} {
		procs := runtime.GOMAXPROCS(0)
		r := launch(t, func(c *Config) { c.Primary, c.Loops, c.Dedicated = nodes[0], 2, dedicated })
		t.Cleanup(func() { runtime.GOMAXPROCS(procs) })
		t.Run(fmt.Sprint("dedicated=", dedicated), func(t *testing.T) {
			x := dialRaw(t, r)
			x.query("SELECT 'warm'")
			was := r.stats.looped.Load()
			const n = 50
			for i := range n {
				x.send(frame('Q', fmt.Sprintf("SELECT 'v%d'\x00", i)))
				if kinds, v := x.until('Z'); kinds != "TDCZ" || v != fmt.Sprintf("v%d", i) {
					t.Fatalf("%s %q", kinds, v)
				}
			}
			x.send(extended("", "SELECT 'unnamed'"))
			x.until('Z')
			for range n {
				x.send(extended("", "SELECT 'unnamed'"))
				if kinds, v := x.until('Z'); kinds != "12TDCZ" || v != "unnamed" {
					t.Fatalf("%s %q", kinds, v)
				}
			}
			x.send(frame('P', "p\x00SELECT $1::text\x00\x00\x00") + frame('S', ""))
			x.until('Z')
			for i := range n {
				arg := strings.Repeat("x", i)
				bind := "\x00p\x00\x00\x00\x00\x01" + string(binary.BigEndian.AppendUint32(nil, uint32(len(arg)))) + arg + "\x00\x00"
				x.send(frame('B', bind) + frame('E', "\x00\x00\x00\x00\x00") + frame('S', ""))
				if kinds, v := x.until('Z'); kinds != "2DCZ" || v != arg {
					t.Fatalf("%s %q", kinds, v)
				}
			}
			x.send(frame('Q', "LISTEN nothing\x00")) // leaves the loop, which is when requests are counted
			x.until('Z')
			if got := r.stats.looped.Load() - was; got < 3*n {
				t.Errorf("%d of %d requests on the loop", got, 3*n)
			}
		})
		t.Run(fmt.Sprint("bytes, dedicated=", dedicated), func(t *testing.T) {
			x := dialRaw(t, r)
			x.query("SELECT 'warm'")
			var all strings.Builder
			want := 0
			rnd := rand.New(rand.NewPCG(1, 2))
			for i := range 300 {
				switch rnd.IntN(6) {
				case 0:
					all.WriteString(extended("", "SELECT 'e'"))
				case 1:
					all.WriteString(frame('Q', "SELECT 1/0\x00"))
				case 2:
					all.WriteString(frame('Q', "SELECT repeat('y', 40000)\x00")) // an answer for the goroutine
				case 3:
					all.WriteString(frame('Q', "SELECT '"+strings.Repeat("z", 30000)+"'\x00")) // such a request
				case 4:
					all.WriteString(frame('Q', "BEGIN; SELECT 3; COMMIT\x00"))
				default:
					all.WriteString(frame('Q', fmt.Sprintf("SELECT %d\x00", i)))
				}
				want++
			}
			go func() {
				s := all.String()
				for len(s) > 0 { // in pieces, some of one byte
					n := min(len(s), []int{1, 3, 100, 70000}[rnd.IntN(4)])
					if _, err := io.WriteString(x, s[:n]); err != nil {
						return
					}
					s = s[n:]
				}
			}()
			for range want {
				x.until('Z')
			}
		})
		t.Run(fmt.Sprint("copy, dedicated=", dedicated), func(t *testing.T) {
			x := dialRaw(t, r)
			x.query("DROP TABLE IF EXISTS lane_copy")
			x.send(frame('Q', "CREATE TABLE lane_copy (a int)\x00"))
			x.until('Z')
			for i := range 4 {
				in := frame('Q', "COPY lane_copy FROM STDIN\x00")
				if i%2 == 1 {
					in = frame('P', "\x00COPY lane_copy FROM STDIN\x00\x00\x00") + frame('B', "\x00\x00\x00\x00\x00\x00\x00\x00") + frame('E', "\x00\x00\x00\x00\x00") + frame('S', "")
				}
				x.send(in)
				x.until('G')
				x.send(frame('d', "1\n2\n") + frame('c', ""))
				if i%2 == 1 {
					x.send(frame('S', ""))
				}
				x.until('Z')
			}
			if _, v := x.query("SELECT count(*) FROM lane_copy"); v != "8" {
				t.Errorf("%s rows", v)
			}
			x.query("SELECT 1/0")
			x.send(frame('Q', "BEGIN\x00"))
			x.until('Z')
			x.send(frame('Q', "SELECT 1/0\x00"))
			x.until('Z')
			x.send(frame('Q', "SELECT 1\x00"))
			if kinds, _ := x.until('Z'); kinds != "EZ" {
				t.Errorf("in a failed block: %s", kinds)
			}
		})
	}
}

// TestLaneClients: many clients at once, each of which gets its own answers.
func TestLaneClients(t *testing.T) {
	nodes := dsns(t)
	dsn := start(t, func(c *Config) { c.Primary, c.Replicas, c.Loops = nodes[0], nodes[1:], 2 })
	var wg sync.WaitGroup
	for i := range 40 {
		mode := []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec, pgx.QueryExecModeCacheStatement}[i%3]
		c := connect(t, dsn, mode)
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := range 50 {
				want, got := fmt.Sprintf("%d of %d", j, i), ""
				if err := c.QueryRow(context.Background(), "SELECT $1::text", want).Scan(&got); err != nil || got != want {
					t.Errorf("%q: %q, %v", want, got, err)
					return
				}
			}
		}()
	}
	wg.Wait()
}

// TestLaneFailures: a session on its loop notices what goes wrong, as one in its goroutine does.
func TestLaneFailures(t *testing.T) {
	nodes := dsns(t)
	p, target := newProxy(t, nodes[0])
	const sleep = "SELECT pg_sleep(20)"
	r := launch(t, func(c *Config) { c.Primary, c.RequestTimeout = target, 5*time.Second })
	t.Run("cancel", func(t *testing.T) {
		dsn := "postgres://postgres@" + r.Addr() + "/postgres?sslmode=disable"
		c := connect(t, dsn, pgx.QueryExecModeSimpleProtocol)
		for range 2 {
			ended := make(chan error, 1)
			go func() {
				_, err := c.Exec(context.Background(), sleep)
				ended <- err
			}()
			for done := false; !done; {
				_ = c.PgConn().CancelRequest(context.Background())
				select {
				case err := <-ended:
					if code(err) != "57014" {
						t.Error(err)
					}
					done = true
				case <-time.After(50 * time.Millisecond):
				}
			}
		}
		value[string](t, c, "SELECT 'goes on'")
	})
	t.Run("slow reader", func(t *testing.T) {
		x := dialRaw(t, r)
		x.query("SELECT 1")
		const sql = "SELECT repeat('r', 1000) FROM generate_series(1, 12000)"
		x.query("EXPLAIN " + sql)
		x.send(frame('Q', sql+"\x00"))
		if kinds, _ := x.until('Z'); len(kinds) != 12003 {
			t.Fatalf("%d frames", len(kinds))
		}
		x.send(frame('Q', sql+"\x00"))
		<-time.After(200 * time.Millisecond) // the client does not read: buffers are full by now
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		for _, track := range r.tracks {
			seen := make(chan int)
			track.loop.Post(func() {
				n := 0
				for ln := range track.lanes {
					n = max(n, len(ln.toClient)+len(ln.part)+len(ln.in))
				}
				seen <- n
			})
			if n := <-seen; n > 128<<10 {
				t.Errorf("%d bytes buffered for a slow reader", n)
			}
		}
		if kinds, _ := x.until('Z'); len(kinds) != 12003 {
			t.Errorf("%d frames", len(kinds))
		}
	})
	t.Run("cut", func(t *testing.T) {
		x := dialRaw(t, r)
		x.query("SELECT 1")
		x.send(frame('Q', sleep+"\x00"))
		awaitRequests(t, r)
		p.cut()
		kind, body, err := x.next()
		if err != nil || kind != 'E' || !bytes.Contains(body, []byte("C08006")) {
			t.Errorf("%c %q %v", kind, body, err)
		}
		x.until('Z')
		recoverRaw(t, x)
	})
	t.Run("silence", func(t *testing.T) {
		x := dialRaw(t, r)
		x.query("SELECT 1")
		p.hole.Store(true)
		x.send(frame('Q', "SELECT 1\x00"))
		kind, body, err := x.next()
		p.hole.Store(false)
		if err != nil || kind != 'E' || !bytes.Contains(body, []byte("C57014")) {
			t.Errorf("%c %q %v", kind, body, err)
		}
		x.until('Z')
		recoverRaw(t, x)
	})
	t.Run("garbage", func(t *testing.T) {
		r := launch(t, func(c *Config) { c.Primary = nodes[0] })
		for _, bad := range []string{"GET / HTTP/1.1\r\n\r\n", "Q\x00\x00\x00\x00", "Q\x7f\xff\xff\xff", "P\x00\x00\x00\x01", "\x00\x00\x00\x00\x04", "S\x7f\xff\xff\xff",
			frame('B', "no end") + frame('S', ""), frame('P', "") + frame('S', ""), frame('D', "") + frame('S', ""), frame('Q', "SELECT 1"), frame('E', "") + frame('S', ""),
			frame('C', "S") + frame('S', ""), frame('B', "") + frame('S', "")} {
			x := dialRaw(t, r)
			x.query("SELECT 1")
			x.send(bad)
			_ = x.Conn.(*net.TCPConn).CloseWrite()
			_ = x.SetReadDeadline(time.Now().Add(10 * time.Second))
			if _, err := io.Copy(io.Discard, x.in); err != nil && !strings.Contains(err.Error(), "reset") {
				t.Errorf("%q: %v", bad, err)
			}
		}
		dialRaw(t, r).query("SELECT 1")
	})
	t.Run("close", func(t *testing.T) {
		other := launch(t, func(c *Config) { c.Primary = nodes[0] })
		idle, busy := dialRaw(t, other), dialRaw(t, other)
		idle.query("SELECT 1")
		busy.query("SELECT 1")
		busy.send(frame('Q', sleep+"\x00"))
		awaitRequests(t, other)
		_ = other.Close()
		for _, x := range []raw{idle, busy} {
			last := ""
			for {
				kind, body, err := x.next()
				if err != nil {
					break
				}
				if kind == 'E' {
					last = string(body)
				}
			}
			if !strings.Contains(last, "C57P01") {
				t.Errorf("the last error is %q", last)
			}
		}
	})
	t.Run("idle", func(t *testing.T) {
		x := dialRaw(t, launch(t, func(c *Config) { c.Primary, c.IdleTimeout = nodes[0], time.Second }))
		x.query("SELECT 1")
		x.query("SELECT 1")
		if kind, body, err := x.next(); err != nil || !bytes.Contains(body, []byte("C57P05")) {
			t.Errorf("%c %q %v", kind, body, err)
		}
	})
}

// awaitRequests waits until the last request of a session has gone to its server.
func awaitRequests(t *testing.T, r *Router) {
	t.Helper()
	for was := int64(-1); ; {
		now := r.stats.primary.Load()
		if now == was {
			return
		}
		was = now
		<-time.After(100 * time.Millisecond)
	}
}

// recoverRaw asks until there is an answer.
func recoverRaw(t *testing.T, x raw) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		x.send(frame('Q', "SELECT 'back'\x00"))
		if _, v := x.until('Z'); v == "back" {
			return
		}
		<-time.After(50 * time.Millisecond)
	}
	t.Fatal("the server is not used again")
}
