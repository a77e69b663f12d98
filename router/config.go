package router

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
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
	// ConnectTimeout bounds the opening of a session on a server.
	ConnectTimeout time.Duration
	// IdleTimeout ends client sessions that say nothing for so long; 0: no limit.
	IdleTimeout time.Duration
	// StatsInterval is how often what was done is logged; 0: never.
	StatsInterval time.Duration

	// Shards are the DSNs of plain servers over which collections are spread; the
	// first one has everything else. They take the place of Primary and Replicas.
	Shards []string
	// ShardKeys are "collection:path"; Chunks and Map, a file, say which server has what.
	ShardKeys []string
	Chunks    int
	Map       string
	// Loops is the number of event loops, each of which serves its sessions with one
	// thread; 0: one for every four processors, at most 8.
	Loops int
	// Dedicated gives each loop a processor of Go's scheduler for itself, which makes a
	// statement cheaper: for a program that is nothing but a router.
	Dedicated bool

	// PoolSize bounds the sessions for documents per server and user.
	PoolSize int

	Logger *slog.Logger // nil: none
}

// DefaultConfig listens on loopback.
func DefaultConfig() Config {
	return Config{Listen: "127.0.0.1:6433", RequestTimeout: 30 * time.Second, ReplicaLag: 5 * time.Second, MaxConnections: 1000,
		ConnectTimeout: 5 * time.Second, StatsInterval: time.Minute, Chunks: defaultChunks, PoolSize: 10}
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
		{"connect-timeout", "how long the opening of a session on a server may take", &c.ConnectTimeout},
		{"idle-timeout", "end clients that say nothing for so long; 0: no limit", &c.IdleTimeout},
		{"loops", "event loops, each a thread; 0: one for every four processors", &c.Loops},
		{"stats-interval", "how often to log what was done; 0: never", &c.StatsInterval},
		{"shards", "DSNs of plain servers that share collections; the first has everything else", &c.Shards},
		{"shard-keys", "collection:path of the collections that are shared", &c.ShardKeys},
		{"chunks", "number of chunks, dealt out to the shards in turn", &c.Chunks},
		{"map", "JSON file with chunks, map, shards, shard-keys; wins over those options", &c.Map},
		{"shard-pool-size", "sessions for documents per server and user", &c.PoolSize},
	}
}

// check reports everything that is wrong with c at once.
func (c *Config) check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		bad("listen: %w", err)
	}
	switch {
	case c.sharded() && (c.Primary != "" || len(c.Replicas) > 0):
		bad("shards: cannot be combined with primary and replicas")
	case !c.sharded() && c.Primary == "":
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
	if c.ConnectTimeout <= 0 {
		bad("connect-timeout: must be positive")
	}
	if c.IdleTimeout < 0 {
		bad("idle-timeout: must not be negative")
	}
	if c.StatsInterval < 0 {
		bad("stats-interval: must not be negative")
	}
	if c.PoolSize <= 0 {
		bad("shard-pool-size: must be positive")
	}
	if c.Loops < 0 || c.Loops > 64 {
		bad("loops: must be between 0 and 64")
	}
	if c.MaxConnections <= 0 {
		bad("max-connections: must be positive")
	}
	if ip := net.ParseIP(host); err == nil && host != "localhost" && (ip == nil || !ip.IsLoopback()) && c.AuthFile == "" && !c.Insecure {
		bad("listen: %s is reachable from other machines: give auth-file, or insecure", c.Listen)
	}
	return errors.Join(errs...)
}

// dialTimeout bounds the opening of a session on a server.
func (c *Config) dialTimeout() time.Duration {
	if c.RequestTimeout > 0 {
		return min(c.RequestTimeout, c.ConnectTimeout)
	}
	return c.ConnectTimeout
}

// loops is the number of event loops.
func (c *Config) loops() int {
	if c.Loops > 0 {
		return c.Loops
	}
	return min((runtime.NumCPU()+3)/4, 8)
}

// tick is how often a loop looks at time-outs.
func (c *Config) tick() time.Duration {
	d := time.Duration(0)
	for _, t := range []time.Duration{c.RequestTimeout, c.IdleTimeout} {
		if t > 0 && (d == 0 || t < d) {
			d = t
		}
	}
	if d == 0 {
		return 0
	}
	return min(max(d/8, 10*time.Millisecond), time.Second)
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
