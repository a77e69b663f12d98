package transport

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newMux(t *testing.T, cfg MuxConfig) *Mux {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.HandshakeTimeout == 0 {
		cfg.HandshakeTimeout = 2 * time.Second
	}
	m, err := NewMux(ln, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// clusterTLS makes a CA and a configuration for one node.
func clusterTLS(t *testing.T) *tls.Config {
	t.Helper()
	newCert := func(tmpl, parent *x509.Certificate, signer *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if signer == nil {
			parent, signer = tmpl, key
		}
		der, err := x509.CreateCertificate(rand.Reader, tmpl, parent, &key.PublicKey, signer)
		if err != nil {
			t.Fatal(err)
		}
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		return cert, key
	}
	ca, caKey := newCert(&x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil, nil)
	node, nodeKey := newCert(&x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "node"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, ca, caKey)
	pool := x509.NewCertPool()
	pool.AddCert(ca)
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{node.Raw}, PrivateKey: nodeKey}},
		RootCAs:      pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}
}

type fixedCluster struct{ id string }

func (c *fixedCluster) ID() string { return c.id }
func (c *fixedCluster) Adopt(id string) error {
	c.id = id
	return nil
}

func TestHandshake(t *testing.T) {
	ca, otherCA := clusterTLS(t), clusterTLS(t)
	tests := []struct {
		name         string
		accept, dial MuxConfig
		want         string // part of the dialler's error, "" for success
		wantErr      error
		group        uint32
	}{
		{name: "open", want: ""},
		{name: "secret", accept: MuxConfig{Secret: []byte("s")}, dial: MuxConfig{Secret: []byte("s")}},
		{name: "wrong secret", accept: MuxConfig{Secret: []byte("s")}, dial: MuxConfig{Secret: []byte("t")}, wantErr: ErrHandshake, want: "does not know the join secret"},
		{name: "no secret", accept: MuxConfig{Secret: []byte("s")}, wantErr: ErrHandshake, want: "one side has a join secret"},
		{name: "secret not asked for", dial: MuxConfig{Secret: []byte("s")}, wantErr: ErrHandshake, want: "one side has a join secret"},
		{name: "tls", accept: MuxConfig{TLS: ca, Secret: []byte("s")}, dial: MuxConfig{TLS: ca, Secret: []byte("s")}},
		{name: "wrong ca", accept: MuxConfig{TLS: ca}, dial: MuxConfig{TLS: otherCA}, want: "certificate"},
		{name: "plain to tls", accept: MuxConfig{TLS: ca}, want: "handshake failed"},
		{name: "same cluster", accept: MuxConfig{Cluster: &fixedCluster{id: "a"}}, dial: MuxConfig{Cluster: &fixedCluster{id: "a"}, Secret: nil}},
		{name: "no cluster yet", accept: MuxConfig{Cluster: &fixedCluster{}, Secret: []byte("s")}, dial: MuxConfig{Cluster: &fixedCluster{id: "a"}, Secret: []byte("s")}},
		{name: "new node calls", accept: MuxConfig{Cluster: &fixedCluster{id: "a"}}, dial: MuxConfig{Cluster: &fixedCluster{}}},
		{name: "other cluster", accept: MuxConfig{Cluster: &fixedCluster{id: "a"}}, dial: MuxConfig{Cluster: &fixedCluster{id: "b"}}, wantErr: ErrForeign, want: `the peer has data of cluster "a", this node of "b"`},
		{name: "unknown group", group: 9, wantErr: ErrNoGroup, want: "does not host"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.accept.NodeID, tt.dial.NodeID = "1", "2"
			a, d := newMux(t, tt.accept), newMux(t, tt.dial)
			l, err := a.Layer(0)
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					io.Copy(c, c)
					c.Close()
				}
			}()
			dl, err := d.Layer(tt.group)
			if err != nil {
				t.Fatal(err)
			}
			c, err := dl.Dial(hraft.ServerAddress(a.Addr()), time.Second)
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				fmt.Fprint(c, "hello")
				b := make([]byte, 5)
				if _, err := io.ReadFull(c, b); err != nil || string(b) != "hello" {
					t.Errorf("echo %q, %v", b, err)
				}
				return
			}
			if err == nil {
				c.Close()
				t.Fatal("dial succeeded")
			}
			if !strings.Contains(err.Error(), tt.want) || tt.wantErr != nil && !errors.Is(err, tt.wantErr) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestGarbageOnPort: the port survives what is not a peer.
func TestGarbageOnPort(t *testing.T) {
	a := newMux(t, MuxConfig{NodeID: "1", Secret: []byte("s"), HandshakeTimeout: 300 * time.Millisecond})
	if _, err := a.Layer(0); err != nil {
		t.Fatal(err)
	}
	for _, garbage := range []string{"", "\x00", "GET / HTTP/1.1\r\n\r\n", "\x00\x00\x00\x08\x04\xd2\x16\x2f", "OSRF\x01\x01\x00\x00\x00\x00\x01\xff", strings.Repeat("x", 1<<16)} {
		c, err := net.Dial("tcp", a.Addr())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, garbage)
		c.SetReadDeadline(time.Now().Add(5 * time.Second))
		if n, err := io.Copy(io.Discard, c); n > 100 || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%.20q: %d bytes, %v", garbage, n, err)
		}
		c.Close()
	}
}

func TestControl(t *testing.T) {
	a, b := newMux(t, MuxConfig{NodeID: "1", Secret: []byte("s")}), newMux(t, MuxConfig{NodeID: "2", Secret: []byte("s")})
	f := NewFaults(1)
	started := make(chan struct{}, 10)
	ca := NewControl(a, f, func(ctx context.Context, c Call) (any, error) {
		switch c.Op {
		case "echo":
			return c.From + " " + string(c.Body), nil
		case "fail":
			return nil, &RemoteError{Code: "code", Text: "text"}
		case "wait":
			started <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return nil, errors.New("plain")
	})
	defer ca.Close()
	cb := NewControl(b, f, nil)
	defer cb.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for range 10 {
		var out string
		if err := cb.Call(ctx, "1", a.Addr(), "echo", 3, "x", &out); err != nil || out != `2 "x"` {
			t.Fatalf("%q, %v", out, err)
		}
	}
	var re *RemoteError
	if err := cb.Call(ctx, "1", a.Addr(), "fail", 0, nil, nil); !errors.As(err, &re) || re.Code != "code" {
		t.Errorf("%v", err)
	}
	if err := cb.Call(ctx, "1", a.Addr(), "other", 0, nil, nil); !errors.As(err, &re) || re.Text != "plain" {
		t.Errorf("%v", err)
	}
	if err := cb.Call(ctx, "3", a.Addr(), "echo", 0, nil, nil); !errors.As(err, &re) || re.Code != "wrong_node" {
		t.Errorf("%v", err)
	}
	short, cancel2 := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel2()
	if err := cb.Call(short, "1", a.Addr(), "wait", 0, nil, nil); err == nil {
		t.Error("a call outlived its deadline")
	}
	<-started
	f.Set(Edge{"2", "1", Rule{DropReplies: true}})
	short, cancel3 := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel3()
	if err := cb.Call(short, "1", a.Addr(), "wait", 0, nil, nil); !errors.Is(err, ErrInjected) {
		t.Errorf("%v", err)
	}
	<-started // it got there
	f.Set(Edge{"2", "1", Rule{DropRequests: true}})
	short, cancel4 := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel4()
	if err := cb.Call(short, "1", a.Addr(), "wait", 0, nil, nil); !errors.Is(err, ErrInjected) {
		t.Errorf("%v", err)
	}
	select {
	case <-started:
		t.Error("a dropped request arrived")
	default:
	}
}

func TestQuorumSent(t *testing.T) {
	p := NewPeers()
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	p.replied("2", 5, at(10), true, 7, 7)
	p.replied("3", 5, at(20), true, 9, 9)
	p.replied("4", 4, at(30), true, 9, 9)  // an older term
	p.replied("5", 5, at(40), false, 0, 9) // not acknowledged
	p.replied("3", 5, at(15), true, 8, 9)  // a late reply
	tests := []struct {
		voters []string
		want   int
		ok     bool
	}{
		{[]string{"1"}, 100, true},
		{[]string{"1", "2"}, 10, true},
		{[]string{"1", "2", "3"}, 20, true},
		{[]string{"1", "2", "3", "4"}, 10, true},
		{[]string{"1", "2", "3", "4", "5"}, 10, true},
		{[]string{"1", "4", "5"}, 0, false},
		{[]string{"2", "3", "4"}, 10, true}, // not a voter itself
		{[]string{"4"}, 0, false},
	}
	for _, tt := range tests {
		got, ok := p.QuorumSent(5, "1", tt.voters, at(100))
		if ok != tt.ok || ok && !got.Equal(at(tt.want)) {
			t.Errorf("%v: %v, %v; want %d, %v", tt.voters, got.Unix(), ok, tt.want, tt.ok)
		}
	}
	if got := p.Progress("3", 5).Match; got != 9 {
		t.Errorf("match %d", got)
	}
	if got := p.Progress("4", 5).Match; got != 0 {
		t.Errorf("match of an older term counts: %d", got)
	}
}

func TestTermBehindID(t *testing.T) {
	id, term, ok := splitTerm(joinTerm([]byte("12"), 1<<40+3))
	if string(id) != "12" || term != 1<<40+3 || !ok {
		t.Error(string(id), term, ok)
	}
	if _, _, ok := splitTerm([]byte("12")); ok {
		t.Error("an id without a term has one")
	}
}

func FuzzAcceptHandshake(f *testing.F) {
	f.Add([]byte("OSRF\x01\x01\x00\x00\x00\x00\x00\x011" + strings.Repeat("n", 32)))
	f.Add([]byte("OSRF\x02"))
	f.Fuzz(func(t *testing.T, in []byte) {
		client, server := net.Pipe()
		go func() {
			client.SetDeadline(time.Now().Add(time.Second))
			client.Write(in)
			io.Copy(io.Discard, client)
		}()
		server.SetDeadline(time.Now().Add(20 * time.Millisecond))
		acceptHandshake(server, nil, "", func(byte, uint32) bool { return true })
		server.Close()
		client.Close()
	})
}
