package node

import (
	"errors"
	"fmt"
	"math"
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
	// Rebuild sets a member's state and log aside and takes them anew from the members that Join names.
	Rebuild bool
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
	ColumnBytes    int64 // columns that large scans leave in memory
	HugePages      bool  // ask the kernel to back large memory with huge pages
	PatientMonitor bool  // start the process anew with a runtime monitor that backs off
	WorkMem        int64 // bytes; default of the setting work_mem
	TempDir        string

	Heartbeat time.Duration // Raft heartbeat time-out; the same on all nodes
	// ReadLease lets a leader answer linearizable reads from what a majority has
	// confirmed a moment ago; else each asks a majority.
	ReadLease bool
	// MaxTransaction is the largest transaction, bytes of effects.
	MaxTransaction int64
	// DiskReserve is how much of the data directory's file system must be free for
	// the node to accept writes, bytes, but at most a twentieth of it; 0: no check.
	DiskReserve int64
	// ShutdownTimeout is how long open sessions may take to end their statement.
	ShutdownTimeout time.Duration
	// FaultInjection opens the control call that injects network faults; for tests.
	FaultInjection bool
	// faults is a matrix shared by nodes of one process (tests).
	faults *transport.Faults
	// disk measures the file system of the data directory (tests); nil: the system does.
	disk func() (storage.DiskUsage, error)

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
		MaxConnections: 1000, CacheBytes: 1 << 30, ColumnBytes: 512 << 20, HugePages: true, PatientMonitor: true, WorkMem: 4 << 20,
		Heartbeat: 500 * time.Millisecond, ReadLease: true, MaxTransaction: 4 << 30, DiskReserve: 64 << 20, ShutdownTimeout: 10 * time.Second,
	}
}

// Option is one setting of Config by its name in flags ("data-dir"), in the
// config file (the same) and in the environment (OSTRAKA_DATA_DIR).
type Option struct {
	Name string
	Help string
	// Value points into the Config: *string, *[]string, *bool, *int, *int64 (a number of bytes), *time.Duration.
	Value any
	// Hidden options are for tests; help does not show them.
	Hidden bool
}

// Options lists every option of c in the order of documentation.
func (c *Config) Options() []Option {
	return []Option{
		{Name: "data-dir", Help: "directory of all data; created when absent", Value: &c.DataDir},
		{Name: "listen", Help: "address of the PostgreSQL protocol", Value: &c.Listen},
		{Name: "http", Help: "address of /health, /ready and /metrics; empty turns it off", Value: &c.HTTP},
		{Name: "node-id", Help: "this node's number in the cluster", Value: &c.NodeID},
		{Name: "raft-addr", Help: "address of the port that nodes replicate over", Value: &c.RaftAddr},
		{Name: "raft-advertise", Help: "replication address that other nodes use for this one (default: --raft-addr)", Value: &c.RaftAdvertise},
		{Name: "peer-addr", Help: "PostgreSQL address that other nodes use for this one (default: --listen)", Value: &c.PeerAddr},
		{Name: "join", Help: "replication addresses (--raft-addr) of members of the cluster to join", Value: &c.Join},
		{Name: "rebuild", Help: "set this node's damaged state aside and take it anew from the members that --join names", Value: &c.Rebuild},
		{Name: "no-init", Help: "leave a node without data inert until raft_init() or until it is added", Value: &c.NoInit},
		{Name: "secret-file", Help: "file with the cluster's join secret (default: cluster.secret in the data directory)", Value: &c.SecretFile},
		{Name: "superuser", Help: "name of the superuser that a new data directory gets", Value: &c.Superuser},
		{Name: "superuser-password-file", Help: "file with the password of that superuser", Value: &c.SuperuserPasswordFile},
		{Name: "insecure", Help: "allow connections without password on addresses other than loopback", Value: &c.Insecure},
		{Name: "tls-cert", Help: "file with the server's certificate chain (PEM)", Value: &c.TLSCert},
		{Name: "tls-key", Help: "file with its private key (PEM)", Value: &c.TLSKey},
		{Name: "tls-client-ca", Help: "file with the CA of client certificates (PEM)", Value: &c.TLSClientCA},
		{Name: "log-level", Help: "debug, info, warn or error", Value: &c.LogLevel},
		{Name: "log-format", Help: "text or json", Value: &c.LogFormat},
		{Name: "max-connections", Help: "client connections at most", Value: &c.MaxConnections},
		{Name: "cache-bytes", Help: "size of the block cache of the storage", Value: &c.CacheBytes},
		{Name: "column-cache-bytes", Help: "size of the columns of tables that large scans leave in memory (0: none)", Value: &c.ColumnBytes},
		{Name: "huge-pages", Help: "ask the kernel to back large memory with huge pages, where it leaves that to programs", Value: &c.HugePages},
		{Name: "patient-monitor", Help: "start the process anew, once, with a runtime whose monitor thread backs off (Linux)", Value: &c.PatientMonitor},
		{Name: "work-mem", Help: "default of the parameter work_mem", Value: &c.WorkMem},
		{Name: "temp-dir", Help: "directory of spill files (default: tmp in the data directory)", Value: &c.TempDir},
		{Name: "heartbeat", Help: "replication heartbeat time-out, the same on all nodes", Value: &c.Heartbeat},
		{Name: "read-lease", Help: "answer linearizable reads within a lease; off: ask a majority each time, for virtual machines that can be stopped or moved while they run", Value: &c.ReadLease},
		{Name: "max-transaction", Help: "size of the largest transaction", Value: &c.MaxTransaction},
		{Name: "disk-reserve", Help: "free space below which a node refuses writes (0: no check)", Value: &c.DiskReserve},
		{Name: "shutdown-timeout", Help: "how long running statements may go on at shutdown", Value: &c.ShutdownTimeout},
		{Name: "fault-injection", Help: "let superusers inject network faults between nodes (tests only)", Value: &c.FaultInjection, Hidden: true},
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
	if c.WorkMem < 64<<10 || c.WorkMem > math.MaxInt32<<10 {
		bad("work-mem: %d is not between 65536 and %d bytes", c.WorkMem, int64(math.MaxInt32)<<10)
	}
	if c.MaxConnections < 1 {
		bad("max-connections: %d is not positive", c.MaxConnections)
	}
	if c.Heartbeat < 20*time.Millisecond {
		bad("heartbeat: %v is below 20ms", c.Heartbeat)
	}
	if c.DiskReserve < 0 {
		bad("disk-reserve: %d is negative", c.DiskReserve)
	}
	if c.Rebuild && len(c.Join) == 0 {
		bad("rebuild: --join must name another member of the cluster")
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
