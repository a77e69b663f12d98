package node

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"ostraka/engine/storage"
	"ostraka/raft/transport"
)

// Config is what a node is started with. Every field is settable as a flag, as
// an OSTRAKA_… environment variable and as a key of the config file, in that
// precedence; Options lists them.
type Config struct {
	DataDir string // where everything is kept; created when absent
	Listen  string // host:port of the PostgreSQL protocol
	HTTP    string // host:port of /health, /ready, /metrics; "" none

	NodeID   string // decimal number; "1" by default
	RaftAddr string // host:port of the Raft port; loopback and a free port by default
	// RaftAdvertise is the replication address that other nodes use for this one; RaftAddr by default.
	RaftAdvertise string
	// PeerAddr is the PostgreSQL address that other nodes use for this one; Listen by default.
	PeerAddr string
	// Join lists replication addresses (RaftAddr) of members of the cluster to join; empty: a
	// node without data starts a cluster of its own unless NoInit.
	Join []string
	// NoInit leaves a node without data inert until raft_init() or until it is added.
	NoInit bool
	// SecretFile holds the cluster's join secret; DataDir/cluster.secret by default.
	SecretFile string

	Superuser string // name of the first superuser, made when the data directory is
	// SuperuserPasswordFile, when given, holds its password.
	SuperuserPasswordFile string
	// Insecure allows trust authentication and unprotected cluster ports on
	// addresses other than loopback.
	Insecure bool

	TLSCert, TLSKey, TLSClientCA string

	LogLevel  string // debug, info, warn, error
	LogFormat string // text, json

	MaxConnections int
	CacheBytes     int64 // block cache of the storage
	WorkMem        int64 // bytes; default of the setting work_mem
	TempDir        string

	Heartbeat time.Duration // Raft heartbeat time-out; the same on all nodes
	// MaxTransaction is the largest transaction, bytes of effects.
	MaxTransaction int64
	// ShutdownTimeout is how long open sessions may take to end their statement.
	ShutdownTimeout time.Duration
	// FaultInjection opens the control call that injects network faults; for tests.
	FaultInjection bool
	// faults is a matrix shared by nodes of one process (tests).
	faults *transport.Faults

	// FS is the file system of the databases, Now the wall clock of sessions and of
	// what nodes sign for each other; nil: the machine's. No options, for simulations.
	FS  storage.FS
	Now func() time.Time
}

// now reads the node's wall clock.
func (c *Config) now() time.Time {
	if c.Now != nil {
		return c.Now()
	}
	return time.Now()
}

// DefaultConfig is a single node on loopback.
func DefaultConfig() Config {
	return Config{
		DataDir: "ostraka-data", Listen: "127.0.0.1:5433", HTTP: "127.0.0.1:8433",
		NodeID: "1", RaftAddr: "127.0.0.1:5434", Superuser: "postgres",
		LogLevel: "info", LogFormat: "text",
		MaxConnections: 1000, CacheBytes: 1 << 30, WorkMem: 64 << 20,
		Heartbeat: 500 * time.Millisecond, MaxTransaction: 4 << 30, ShutdownTimeout: 10 * time.Second,
	}
}

// Option is one setting of Config by its name in flags ("data-dir"), in the
// config file (the same) and in the environment (OSTRAKA_DATA_DIR).
type Option struct {
	Name string
	Help string
	// Value points into the Config: *string, *[]string, *bool, *int, *int64, *time.Duration.
	Value any
}

// Options lists every option of c in the order of documentation.
func (c *Config) Options() []Option {
	return []Option{
		{"data-dir", "directory of all data; created when absent", &c.DataDir},
		{"listen", "address of the PostgreSQL protocol", &c.Listen},
		{"http", "address of /health, /ready and /metrics; empty turns it off", &c.HTTP},
		{"node-id", "this node's number in the cluster", &c.NodeID},
		{"raft-addr", "address of the port that nodes replicate over", &c.RaftAddr},
		{"raft-advertise", "replication address that other nodes use for this one (default: --raft-addr)", &c.RaftAdvertise},
		{"peer-addr", "PostgreSQL address that other nodes use for this one (default: --listen)", &c.PeerAddr},
		{"join", "replication addresses (--raft-addr) of members of the cluster to join", &c.Join},
		{"no-init", "leave a node without data inert until raft_init() or until it is added", &c.NoInit},
		{"secret-file", "file with the cluster's join secret (default: cluster.secret in the data directory)", &c.SecretFile},
		{"superuser", "name of the superuser that a new data directory gets", &c.Superuser},
		{"superuser-password-file", "file with the password of that superuser", &c.SuperuserPasswordFile},
		{"insecure", "allow connections without password on addresses other than loopback", &c.Insecure},
		{"tls-cert", "file with the server's certificate chain (PEM)", &c.TLSCert},
		{"tls-key", "file with its private key (PEM)", &c.TLSKey},
		{"tls-client-ca", "file with the CA of client certificates (PEM)", &c.TLSClientCA},
		{"log-level", "debug, info, warn or error", &c.LogLevel},
		{"log-format", "text or json", &c.LogFormat},
		{"max-connections", "client connections at most", &c.MaxConnections},
		{"cache-bytes", "block cache of the storage, bytes", &c.CacheBytes},
		{"work-mem", "default of work_mem, bytes per query", &c.WorkMem},
		{"temp-dir", "directory of spill files (default: tmp in the data directory)", &c.TempDir},
		{"heartbeat", "replication heartbeat time-out, the same on all nodes", &c.Heartbeat},
		{"max-transaction", "largest transaction, bytes", &c.MaxTransaction},
		{"shutdown-timeout", "how long running statements may go on at shutdown", &c.ShutdownTimeout},
		{"fault-injection", "let superusers inject network faults between nodes (tests only)", &c.FaultInjection},
	}
}

// Env is the name of the option's environment variable.
func (o Option) Env() string {
	return "OSTRAKA_" + strings.ToUpper(strings.ReplaceAll(o.Name, "-", "_"))
}

// Validate refuses a configuration that cannot work or would be unsafe; the error
// names the option.
func (c *Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.DataDir == "" {
		bad("data-dir: must not be empty")
	}
	for _, a := range []struct{ name, addr string }{{"listen", c.Listen}, {"raft-addr", c.RaftAddr}, {"http", c.HTTP}} {
		if a.addr == "" && a.name == "http" {
			continue
		}
		if _, _, err := net.SplitHostPort(a.addr); err != nil {
			bad("%s: %q is not host:port", a.name, a.addr)
		}
	}
	if c.NodeID == "" || strings.Trim(c.NodeID, "0123456789") != "" {
		bad("node-id: %q is not a decimal number", c.NodeID)
	}
	switch c.LogLevel {
	case "debug", "info", "warn", "error":
	default:
		bad("log-level: %q is not one of debug, info, warn, error", c.LogLevel)
	}
	if c.LogFormat != "text" && c.LogFormat != "json" {
		bad("log-format: %q is not one of text, json", c.LogFormat)
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		bad("tls-cert and tls-key: give both or neither")
	}
	if c.MaxConnections < 1 {
		bad("max-connections: %d is not positive", c.MaxConnections)
	}
	if c.Heartbeat < 20*time.Millisecond {
		bad("heartbeat: %v is below 20ms", c.Heartbeat)
	}
	if c.NoInit && len(c.Join) > 0 {
		bad("no-init and join: give only one of them")
	}
	return errors.Join(errs...)
}

// isLoopback reports whether an address is reachable from this machine only.
func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
