package router

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Config is what a router is started with.
type Config struct {
	Listen   string   // host:port of the PostgreSQL protocol
	Primary  string   // DSN of the server that writes
	Replicas []string // DSNs of the servers that read; none: everything goes to the primary

	// AuthFile has a line "user:password" per user; see users.go. Without it only
	// clients of this machine are let in, as who they say they are.
	AuthFile string
	// Insecure lets clients of other machines in without AuthFile.
	Insecure                     bool
	TLSCert, TLSKey, TLSClientCA string

	// RequestTimeout is how long a server may stay silent within a request; 0: no limit.
	RequestTimeout time.Duration
	// ReplicaLag is how long after a write reads stay on a primary that has no
	// ostraka.position to wait for.
	ReplicaLag     time.Duration
	MaxConnections int

	// Documents over plain servers; refused by name until that part is there.
	Shards    []string
	ShardKeys []string
	Chunks    int
	Map       string

	Logger *slog.Logger // nil: none
}

// DefaultConfig listens on loopback.
func DefaultConfig() Config {
	return Config{Listen: "127.0.0.1:6433", RequestTimeout: 30 * time.Second, ReplicaLag: 5 * time.Second, MaxConnections: 1000}
}

// Option is one setting: Value points into a Config.
type Option struct {
	Name, Help string
	Value      any
}

// Options lists the settings of c.
func (c *Config) Options() []Option {
	return []Option{
		{"listen", "address of the PostgreSQL protocol", &c.Listen},
		{"primary", "DSN of the primary: host, port, TLS; user and password count only for that user", &c.Primary},
		{"replicas", "DSNs of the replicas that answer what only reads", &c.Replicas},
		{"auth-file", "file of user:password lines (mode 0600)", &c.AuthFile},
		{"insecure", "let clients of other machines in without a password", &c.Insecure},
		{"tls-cert", "file with the certificate chain (PEM)", &c.TLSCert},
		{"tls-key", "file with its key (PEM)", &c.TLSKey},
		{"tls-client-ca", "file with the authorities of client certificates (PEM)", &c.TLSClientCA},
		{"request-timeout", "how long a server may stay silent within a request; 0: no limit", &c.RequestTimeout},
		{"replica-lag", "how long reads stay on a primary without ostraka.position after a write", &c.ReplicaLag},
		{"max-connections", "clients at once", &c.MaxConnections},
		{"shards", "DSNs of plain servers that hold documents (not supported yet)", &c.Shards},
		{"shard-keys", "collection:path of sharded collections (not supported yet)", &c.ShardKeys},
		{"chunks", "number of chunks of the map (not supported yet)", &c.Chunks},
		{"map", "file with the chunk map (not supported yet)", &c.Map},
	}
}

// check reports everything that is wrong with c at once.
func (c *Config) check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(c.Shards) > 0 || len(c.ShardKeys) > 0 || c.Chunks != 0 || c.Map != "" {
		bad("shards, shard-keys, chunks, map: documents over plain servers are not supported yet; a cluster shards them itself (shard_create)")
	}
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		bad("listen: %w", err)
	}
	if c.Primary == "" {
		bad("primary: no server is given")
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		bad("tls-cert and tls-key: give both or neither")
	}
	if c.TLSClientCA != "" && c.TLSCert == "" {
		bad("tls-client-ca: needs tls-cert")
	}
	if c.RequestTimeout < 0 {
		bad("request-timeout: must not be negative")
	}
	if c.ReplicaLag < 0 {
		bad("replica-lag: must not be negative")
	}
	if c.MaxConnections <= 0 {
		bad("max-connections: must be positive")
	}
	if ip := net.ParseIP(host); err == nil && host != "localhost" && (ip == nil || !ip.IsLoopback()) && c.AuthFile == "" && !c.Insecure {
		bad("listen: %s is reachable from other machines: give auth-file, or insecure", c.Listen)
	}
	return errors.Join(errs...)
}

// servers parses the DSNs.
func (c *Config) servers() (primary *server, replicas []*server, err error) {
	parse := func(option, dsn string) (*server, error) {
		cfg, err := pgconn.ParseConfig(dsn)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", option, err)
		}
		return newServer(cfg), nil
	}
	if primary, err = parse("primary", c.Primary); err != nil {
		return nil, nil, err
	}
	for _, dsn := range c.Replicas {
		s, err := parse("replicas", dsn)
		if err != nil {
			return nil, nil, err
		}
		replicas = append(replicas, s)
	}
	return primary, replicas, nil
}

// tlsConfig loads the certificate, nil when none is configured.
func (c *Config) tlsConfig() (*tls.Config, error) {
	if c.TLSCert == "" {
		return nil, nil
	}
	cert, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("tls-cert, tls-key: %w", err)
	}
	out := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	if c.TLSClientCA != "" {
		pem, err := os.ReadFile(c.TLSClientCA)
		if err != nil {
			return nil, fmt.Errorf("tls-client-ca: %w", err)
		}
		out.ClientCAs = x509.NewCertPool()
		if !out.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls-client-ca: %s has no certificate", c.TLSClientCA)
		}
		out.ClientAuth = tls.VerifyClientCertIfGiven
	}
	return out, nil
}
