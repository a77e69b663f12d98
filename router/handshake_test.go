package router

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// certificate writes a self-signed one for 127.0.0.1.
func certificate(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

// TestTLS: clients may encrypt, with their password bound to the certificate, and
// the router ends their sessions when it closes.
func TestTLS(t *testing.T) {
	nodes := dsns(t)
	cert, key := certificate(t)
	path := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(path, []byte("postgres:secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfig()
	cfg.Listen, cfg.Primary, cfg.TLSCert, cfg.TLSKey, cfg.AuthFile = "127.0.0.1:0", nodes[0], cert, key, path
	r, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	c := connect(t, "postgres://postgres:secret@"+r.Addr()+"/postgres?sslmode=verify-full&sslrootcert="+cert, pgx.QueryExecModeExec)
	if v := value[int](t, c, "SELECT 1"); v != 1 {
		t.Error(v)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Exec(ctx, "SELECT 1"); err == nil {
		t.Error("the session outlives the router")
	}
}

// TestFlush: a pipeline may ask for answers before its Sync; it stays where it
// began, and one that would have to change the server is refused.
func TestFlush(t *testing.T) {
	nodes := dsns(t)
	c := connect(t, start(t, func(c *Config) { c.Primary, c.Replicas = nodes[0], nodes[1:2] }), pgx.QueryExecModeExec)
	exec(t, c, "CREATE TABLE flushed (id int)")
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	run := func(first, second string) error {
		p := c.PgConn().StartPipeline(ctx)
		p.SendQueryParams(first, nil, nil, nil, nil)
		p.SendFlushRequest()
		if err := p.Flush(); err != nil {
			t.Fatal(err)
		}
		if _, err := p.GetResults(); err != nil {
			t.Fatal(err)
		}
		p.SendQueryParams(second, nil, nil, nil, nil)
		if err := p.Sync(); err != nil {
			t.Fatal(err)
		}
		_, err := p.GetResults()
		if cerr := p.Close(); err == nil {
			err = cerr
		}
		return err
	}
	if err := run("SELECT 1", "SELECT 2"); err != nil {
		t.Error(err)
	}
	if err := run("INSERT INTO flushed VALUES (1)", "SELECT 2"); err != nil {
		t.Error(err)
	}
	err := run("SELECT 1", "INSERT INTO flushed VALUES (2)")
	if code(err) != "0A000" || !strings.Contains(err.Error(), "Flush") {
		t.Error(err)
	}
	if n := value[int](t, c, "SELECT count(*)::int FROM flushed"); n != 1 {
		t.Errorf("%d rows", n)
	}
}
