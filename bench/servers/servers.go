// Package servers starts the systems that the benchmarks compare, side by side on
// one machine, and measures the CPU time that their processes use: Ostraka nodes,
// a PostgreSQL 15 and PostgreSQL standbys. fsync is on everywhere.
package servers

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a running system.
type Server struct {
	Name string
	Port int // PostgreSQL port of the node that clients use
	User string
	// roots are the processes whose CPU time counts, with their children.
	roots []int
	stop  func()
}

// DSN connects to a database of the server.
func (s *Server) DSN(db string) string {
	return fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", s.User, s.Port, db)
}

// Close stops the server.
func (s *Server) Close() { s.stop() }

// FreePort finds a free TCP port on loopback.
func FreePort() int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// pgBin finds PostgreSQL's server programs.
func pgBin() (string, error) {
	if d := os.Getenv("PGBIN"); d != "" {
		return d, nil
	}
	if found, _ := filepath.Glob("/usr/lib/postgresql/15/bin/postgres"); len(found) > 0 {
		return filepath.Dir(found[0]), nil
	}
	p, err := exec.LookPath("postgres")
	return filepath.Dir(p), err
}

// asPostgres runs a command as the user postgres when we are root, who may not run it.
func asPostgres(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	if os.Getuid() == 0 {
		if u, err := user.Lookup("postgres"); err == nil {
			uid, _ := strconv.Atoi(u.Uid)
			gid, _ := strconv.Atoi(u.Gid)
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
			cmd.Dir = "/"
		}
	}
	return cmd
}

const pgConf = `
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 200
shared_buffers = 1GB
max_wal_size = 4GB
checkpoint_timeout = 30min
wal_level = replica
max_wal_senders = 10
hot_standby = on
timezone = 'UTC'
`

// Postgres starts a PostgreSQL 15 in dir with standbys physical replicas of which
// any one must confirm a commit (0: none).
func Postgres(dir string, standbys int) (*Server, error) {
	bin, err := pgBin()
	if err != nil {
		return nil, err
	}
	primary := filepath.Join(dir, "pg")
	port := FreePort()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	_ = os.Chmod(dir, 0o777)
	if out, err := asPostgres(filepath.Join(bin, "initdb"), "-D", primary, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	if err := appendFile(filepath.Join(primary, "postgresql.conf"), pgConf); err != nil {
		return nil, err
	}
	s := &Server{Name: "postgresql", Port: port, User: "postgres"}
	var dirs []string
	s.stop = func() {
		for _, d := range dirs {
			_ = asPostgres(filepath.Join(bin, "pg_ctl"), "-D", d, "-m", "immediate", "-w", "stop").Run()
		}
	}
	start := func(d string, port int) error {
		out, err := asPostgres(filepath.Join(bin, "pg_ctl"), "-D", d, "-o", fmt.Sprintf("-p %d", port), "-l", d+".log", "-w", "start").CombinedOutput()
		if err != nil {
			return fmt.Errorf("pg_ctl start: %w\n%s", err, out)
		}
		dirs = append([]string{d}, dirs...)
		b, err := os.ReadFile(filepath.Join(d, "postmaster.pid"))
		if err != nil {
			return err
		}
		pid, err := strconv.Atoi(strings.SplitN(string(b), "\n", 2)[0])
		s.roots = append(s.roots, pid)
		return err
	}
	if err := start(primary, port); err != nil {
		return nil, err
	}
	for i := range standbys {
		d := filepath.Join(dir, fmt.Sprintf("standby%d", i+1))
		out, err := asPostgres(filepath.Join(bin, "pg_basebackup"), "-h", "127.0.0.1", "-p", strconv.Itoa(port), "-U", "postgres", "-D", d, "-R",
			"-X", "stream").CombinedOutput()
		if err != nil {
			s.Close()
			return nil, fmt.Errorf("pg_basebackup: %w\n%s", err, out)
		}
		auto := fmt.Sprintf("primary_conninfo = 'host=127.0.0.1 port=%d user=postgres application_name=s%d'\n", port, i+1)
		if err := appendFile(filepath.Join(d, "postgresql.auto.conf"), auto); err != nil {
			return nil, err
		}
		if err := start(d, FreePort()); err != nil {
			s.Close()
			return nil, err
		}
	}
	if standbys > 0 {
		names := make([]string, standbys)
		for i := range names {
			names[i] = fmt.Sprintf("s%d", i+1)
		}
		err := run(s.DSN("postgres"), "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 ("+strings.Join(names, ", ")+")'", "SELECT pg_reload_conf()")
		if err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// Ostraka starts nodes processes of the program and waits until all are voters.
// Clients use the first node, which leads.
func Ostraka(program, dir string, nodes int, extra ...string) (*Server, error) {
	s := &Server{Name: "ostraka", User: "postgres"}
	var procs []*exec.Cmd
	s.stop = func() {
		for _, p := range procs {
			_ = p.Process.Signal(syscall.SIGTERM)
		}
		for _, p := range procs {
			_ = p.Wait()
		}
	}
	raft0 := ""
	for i := range nodes {
		id := strconv.Itoa(i + 1)
		d := filepath.Join(dir, "node-"+id)
		port, raftAddr := FreePort(), fmt.Sprintf("127.0.0.1:%d", FreePort())
		args := append([]string{"start", "--data-dir", d, "--node-id", id, "--listen", fmt.Sprintf("127.0.0.1:%d", port), "--raft-addr", raftAddr,
			"--http", "", "--log-level", "warn"}, extra...)
		if i > 0 {
			args = append(args, "--join", raft0, "--secret-file", filepath.Join(dir, "node-1", "cluster.secret"))
		} else {
			raft0, s.Port = raftAddr, port
		}
		cmd := exec.Command(program, args...)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			s.Close()
			return nil, err
		}
		procs = append(procs, cmd)
		s.roots = append(s.roots, cmd.Process.Pid)
		if i == 0 {
			if err := waitFor(s.DSN("postgres"), "SELECT 1"); err != nil {
				s.Close()
				return nil, err
			}
		}
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		n, err := count(s.DSN("postgres"), "SELECT count(*) FROM ostraka.members WHERE suffrage = 'voter'")
		if err == nil && n == nodes {
			return s, nil
		}
		if time.Now().After(deadline) {
			s.Close()
			return nil, fmt.Errorf("ostraka: %d of %d nodes are voters after a minute (%v)", n, nodes, err)
		}
	}
}

func waitFor(dsn, sql string) error {
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if err = run(dsn, sql); err == nil {
			return nil
		}
	}
	return err
}

func run(dsn string, sql ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	for _, q := range sql {
		if _, err := c.Exec(ctx, q, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
	}
	return nil
}

func count(dsn, sql string) (n int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return 0, err
	}
	defer c.Close(ctx)
	return n, c.QueryRow(ctx, sql).Scan(&n)
}

func appendFile(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err
}

// CPU is the CPU time (user and system) that the server's processes have used,
// ended children included.
func (s *Server) CPU() time.Duration {
	parents := map[int][]int{}
	stats := map[int][4]int64{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		b, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		rest := string(b[strings.LastIndexByte(string(b), ')')+2:])
		f := strings.Fields(rest)
		ppid, _ := strconv.Atoi(f[1])
		parents[ppid] = append(parents[ppid], pid)
		var v [4]int64
		for i := range v {
			v[i], _ = strconv.ParseInt(f[11+i], 10, 64)
		}
		stats[pid] = v
	}
	var ticks int64
	for _, root := range s.roots {
		v := stats[root]
		ticks += v[0] + v[1] + v[2] + v[3]
		for _, child := range parents[root] {
			c := stats[child]
			ticks += c[0] + c[1]
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// Process is any server program that speaks PostgreSQL's protocol on a port; it is
// started and waited for.
func Process(name string, port int, cmd *exec.Cmd) (*Server, error) {
	s := &Server{Name: name, Port: port, User: "postgres"}
	cmd.Stderr = os.Stderr
	if err := s.start(cmd); err != nil {
		return nil, err
	}
	if err := waitFor(s.DSN("postgres"), "SELECT 1"); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// start starts the one program that the server is.
func (s *Server) start(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	s.roots = []int{cmd.Process.Pid}
	s.stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}
	return nil
}

// AsPostgres runs a program that refuses to run as root.
func AsPostgres(name string, args ...string) *exec.Cmd { return asPostgres(name, args...) }
