package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Node is one node: its place, and its process while it has one.
type Node struct {
	ID  string
	Dir string
	SQL string // where clients connect; not disturbed

	c        *Cluster
	raft     string // where its process listens
	raftName string // where the others find it, through Links
	sqlName  string
	lns      []net.Listener

	mu   sync.Mutex
	proc *process // guarded by mu
}

// process is one life of a node.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   chan Stat
	done  chan struct{} // closed when it has ended
	tell  chan struct{} // whoever has put something in may give commands
	told  int64         // commands given; owned by who may give them
	// meant is set before it is ended on purpose.
	meant bool // guarded by Node.mu
}

// Stat is what a node's process tells about its own faults.
type Stat struct {
	SlowSyncs  int64 `json:"slow_syncs"`  // syncs of the disk that were delayed
	ClockReads int64 `json:"clock_reads"` // readings of a clock that had jumped
	Lost       int64 `json:"lost"`        // bytes not synced at the moment
	Commands   int64 `json:"commands"`    // commands served, this one too
}

// DSN is how clients connect.
func (n *Node) DSN() string {
	return "postgres://postgres@" + n.SQL + "/postgres?sslmode=disable&connect_timeout=3"
}

// Connect opens a session.
func (n *Node) Connect(ctx context.Context) (*pgx.Conn, error) { return pgx.Connect(ctx, n.DSN()) }

// Query returns one value from the node.
func Query[T any](ctx context.Context, n *Node, sql string, args ...any) (v T, err error) {
	conn, err := n.Connect(ctx)
	if err != nil {
		return v, err
	}
	defer conn.Close(ctx)
	return v, conn.QueryRow(ctx, sql, args...).Scan(&v)
}

// Exec runs one statement on the node.
func Exec(ctx context.Context, n *Node, sql string) error {
	conn, err := n.Connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return err
}

// Start starts the node's process and waits until clients can connect.
func (n *Node) Start(ctx context.Context) error {
	n.mu.Lock()
	if n.proc != nil {
		n.mu.Unlock()
		return fmt.Errorf("node %s runs already", n.ID)
	}
	p, err := n.launch()
	n.proc = p
	n.mu.Unlock()
	if err != nil {
		return err
	}
	return wait(ctx, "node "+n.ID+" to answer", func(ctx context.Context) error {
		select {
		case <-p.done:
			return errEnded
		default:
		}
		_, err := Query[int](ctx, n, "SELECT 1")
		return err
	})
}

var errEnded = errors.New("its process has ended")

func (n *Node) launch() (*process, error) {
	cfg := map[string]string{
		"DATA_DIR": filepath.Join(n.Dir, "data"), "NODE_ID": n.ID, "LISTEN": n.SQL, "PEER_ADDR": n.sqlName,
		"RAFT_ADDR": n.raft, "RAFT_ADVERTISE": n.raftName, "HTTP": "", "LOG_LEVEL": "warn", "CACHE_BYTES": "33554432",
		"HEARTBEAT": n.c.opts.Heartbeat.String(), "SHUTDOWN_TIMEOUT": "3s",
	}
	if first := n.c.Nodes[0]; n != first {
		cfg["JOIN"] = first.raftName
		cfg["SECRET_FILE"] = filepath.Join(first.Dir, "data", "cluster.secret")
	}
	cmd := exec.Command(n.c.opts.Command[0], n.c.opts.Command[1:]...)
	cmd.Env = append(os.Environ(), n.c.opts.Env...)
	for k, v := range cfg {
		cmd.Env = append(cmd.Env, "OSTRAKA_"+k+"="+v)
	}
	log, err := os.OpenFile(n.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stderr = log
	p := &process{cmd: cmd, out: make(chan Stat, 16), done: make(chan struct{}), tell: make(chan struct{}, 1)}
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("node %s: %w", n.ID, err)
	}
	go func() {
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			var s Stat
			if json.Unmarshal(lines.Bytes(), &s) == nil {
				select {
				case p.out <- s:
				default:
				}
			}
		}
		err := cmd.Wait()
		close(p.done)
		n.mu.Lock()
		meant := p.meant
		n.mu.Unlock()
		if !meant {
			n.c.crashed(n, err)
		}
	}()
	return p, nil
}

func (n *Node) logFile() string { return filepath.Join(n.Dir, "log.txt") }

// LogTail is the end of what the node has logged.
func (n *Node) LogTail() string {
	data, err := os.ReadFile(n.logFile())
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(lines[max(0, len(lines)-12):], "\n")
}

// Running reports whether the node has a process.
func (n *Node) Running() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.proc != nil
}

// end sends a last signal and waits for the end; it reports whether there was a process.
func (n *Node) end(sig syscall.Signal, limit time.Duration) bool {
	n.mu.Lock()
	p := n.proc
	if p != nil {
		p.meant = true
	}
	n.proc = nil
	n.mu.Unlock()
	if p == nil {
		return false
	}
	alive := true
	select {
	case <-p.done:
		alive = false
	default:
	}
	_ = p.cmd.Process.Signal(sig)
	select {
	case <-p.done:
	case <-time.After(limit):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
	_ = p.stdin.Close()
	return alive
}

// Kill is kill -9: what the node had not synced is lost.
func (n *Node) Kill() bool { return n.end(syscall.SIGKILL, time.Minute) }

// Stop asks the node to end, and kills it if it does not within limit.
func (n *Node) Stop(limit time.Duration) bool { return n.end(syscall.SIGTERM, limit) }

// Pause stops the process (SIGSTOP); it reports whether the kernel says so.
func (n *Node) Pause() bool { return n.signal(syscall.SIGSTOP) && n.state() == "T" }

// Resume lets a paused process go on.
func (n *Node) Resume() bool { return n.signal(syscall.SIGCONT) }

func (n *Node) signal(sig syscall.Signal) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.proc != nil && n.proc.cmd.Process.Signal(sig) == nil
}

// state is the process's state in /proc once it is stopped, or what it is after ten seconds.
func (n *Node) state() string {
	n.mu.Lock()
	p := n.proc
	n.mu.Unlock()
	if p == nil {
		return ""
	}
	state := ""
	for range 1000 {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
		if err != nil {
			return ""
		}
		_, rest, _ := strings.Cut(string(data), ") ")
		if state, _, _ = strings.Cut(rest, " "); state == "T" {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return state
}

// Tell gives the process's own faults a command (see package nodeproc) and returns
// its counters.
func (n *Node) Tell(ctx context.Context, command string) (Stat, error) {
	n.mu.Lock()
	p := n.proc
	n.mu.Unlock()
	if p == nil {
		return Stat{}, fmt.Errorf("node %s does not run", n.ID)
	}
	select {
	case p.tell <- struct{}{}:
		defer func() { <-p.tell }()
	case <-ctx.Done():
		return Stat{}, ctx.Err()
	}
	if _, err := io.WriteString(p.stdin, command+"\n"); err != nil {
		return Stat{}, err
	}
	p.told++
	for {
		select {
		case s := <-p.out:
			if s.Commands == p.told { // not a late answer to one that was given up
				return s, nil
			}
		case <-p.done:
			return Stat{}, errEnded
		case <-ctx.Done():
			return Stat{}, ctx.Err()
		}
	}
}
