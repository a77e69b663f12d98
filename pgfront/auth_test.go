package pgfront

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/engine/catalog/scram"
	"ostraka/pgfront/auth"
)

func certificate(t testing.TB) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// addRole creates a login role with a password.
func addRole(t testing.TB, eng engine.Engine, name, stored string, login bool) {
	t.Helper()
	ctx := context.Background()
	tx, err := eng.Begin(ctx, engine.TxnOptions{Database: catalog.PostgresDB})
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.StartStatement(ctx); err != nil {
		t.Fatal(err)
	}
	oid, err := tx.Schema().NewOID(ctx)
	if err != nil {
		t.Fatal(err)
	}
	tx.Schema().PutRole(&catalog.Role{OID: oid, Name: name, Login: login, Inherit: true, ConnLimit: -1, Password: stored})
	if _, err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestPasswords(t *testing.T) {
	method := auth.SCRAM
	var eng engine.Engine
	_, dsn := startFake(t, func(c *Config) {
		eng = c.Deps.Engine
		c.Policy = func(auth.Client) auth.Method { return method }
		c.TLS = &tls.Config{Certificates: []tls.Certificate{certificate(t)}}
	})
	v, err := scram.Make("sesame")
	if err != nil {
		t.Fatal(err)
	}
	addRole(t, eng, "joe", v.String(), true)
	addRole(t, eng, "old", scram.MD5("old", "sesame"), true)
	addRole(t, eng, "nologin", v.String(), false)
	addRole(t, eng, "nopass", "", true)
	try := func(user, password, sslmode, extra string) string {
		d := strings.Replace(strings.Replace(dsn, "postgres@", user+":"+password+"@", 1), "sslmode=disable", "sslmode="+sslmode+extra, 1)
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		c, err := pgconn.Connect(ctx, d)
		if err != nil {
			for _, code := range []string{"28P01", "28000", "3D000"} {
				if strings.Contains(err.Error(), code) {
					return code
				}
			}
			return err.Error()
		}
		defer c.Close(ctx)
		if _, err := c.Exec(ctx, "SELECT 1").ReadAll(); err != nil {
			return err.Error()
		}
		return "ok"
	}
	for _, c := range []struct {
		method                        auth.Method
		user, password, sslmode, want string
	}{
		{auth.SCRAM, "joe", "sesame", "disable", "ok"},
		{auth.SCRAM, "joe", "wrong", "disable", "28P01"},
		{auth.SCRAM, "nobody", "sesame", "disable", "28P01"},
		{auth.SCRAM, "nopass", "sesame", "disable", "28P01"},
		{auth.SCRAM, "nologin", "sesame", "disable", "28000"},
		{auth.SCRAM, "joe", "sesame", "require", "ok"},
		{auth.MD5, "old", "sesame", "disable", "ok"},
		{auth.MD5, "old", "wrong", "disable", "28P01"},
		{auth.MD5, "joe", "sesame", "disable", "ok"},
		{auth.Password, "joe", "sesame", "disable", "ok"},
		{auth.Password, "old", "sesame", "require", "ok"},
		{auth.Password, "joe", "wrong", "disable", "28P01"},
		{auth.Reject, "joe", "sesame", "disable", "28000"},
		{auth.Trust, "nobody", "", "disable", "28000"},
	} {
		method = c.method
		if got := try(c.user, c.password, c.sslmode, ""); got != c.want {
			t.Errorf("%v %s/%s %s: %s, want %s", c.method, c.user, c.password, c.sslmode, got, c.want)
		}
	}
	method = auth.SCRAM
	if got := try("joe", "sesame", "require", "&channel_binding=require"); got != "ok" {
		t.Error("channel binding:", got)
	}
	if got := try("joe", "sesame", "require", "&sslnegotiation=direct"); got != "ok" {
		t.Error("direct TLS:", got)
	}
	if psql, err := exec.LookPath("psql"); err == nil {
		d := strings.Replace(strings.Replace(dsn, "postgres@", "joe:sesame@", 1), "sslmode=disable", "sslmode=require&channel_binding=require", 1)
		if out, err := exec.Command(psql, "-XAt", d, "-c", "SELECT 7").CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "7" {
			t.Errorf("psql with channel binding: %s %v", out, err)
		}
	}
}
