package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"ostraka/engine/colcache"
	"ostraka/engine/shard"
	"ostraka/engine/storage"
	"ostraka/raft"
	"ostraka/raft/transport"
	"ostraka/shardrouter"
	"ostraka/tsdb"
	"ostraka/tsdb/prom"
	"ostraka/tsdb/store"
)

// Knobs that tests set smaller: how many entries the log keeps although the state
// no longer needs them (0: the log's default), and how often the state is flushed.
var (
	trailingEntries uint64
	flushInterval   time.Duration
)

// homeShard is the group that holds SQL tables, the catalogue and roles.
const homeShard = 0

// Node is one running process. Its methods are safe for concurrent use.
type Node struct {
	cfg     Config
	log     *slog.Logger
	dir     *dataDir
	cache   *storage.Cache
	columns *colcache.Budget

	host     *raft.Host
	group    *raft.Group
	shard    *shard.Shard
	front    *front
	http     *httpServer
	peers    *directory
	ident    *clusterID
	started  time.Time
	settings map[string]string // set before the PostgreSQL port opens
	secret   []byte            // the cluster's join secret; set before the raft port opens
	audit    *auditLog

	frozen frozenStates
	disk   diskGuard

	// seriesStore has the rows of time-series tables of this node, series joins it to the shard.
	seriesStore *store.Store
	series      *tsdb.DB
	metrics     *prom.Source // PromQL over series
	jobs        seriesJobs
	holders     seriesHolders

	// faults is nil unless network faults can be injected.
	faults *transport.Faults

	// Replicas of other shards, by id. What follows them belongs to runGroups.
	groupsMu sync.Mutex
	groups   map[int32]*hosted // guarded by groupsMu
	kick     chan struct{}     // buffered 1: look at the list of shards now
	swept    bool
	warned   map[int32]string
	joining  atomic.Bool // a membership is being changed

	restored chan struct{} // buffered 1: the home shard's state was replaced

	cluster *shardCluster
	router  *shardrouter.Sharded
	mover   *shardrouter.Mover
	manage  chan struct{} // buffered 1: runManager has something to do
	moved   time.Time     // when chunks were seen moving last; runManager's

	stop   context.CancelFunc
	ctx    context.Context // ends when the node stops; background work runs under it
	wg     sync.WaitGroup
	failed chan error // the first error the node cannot survive
	once   sync.Once
	closed error
}

// Start opens the data directory and starts every part, in the order in which
// they depend on each other. It returns when clients can connect; a node that
// joins or waits for raft_init() may not be ready to answer them yet (see Ready).
func Start(ctx context.Context, cfg Config) (_ *Node, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	n := &Node{cfg: cfg, log: newLogger(os.Stderr, cfg), started: cfg.now(), failed: make(chan error, 1),
		groups: map[int32]*hosted{}, kick: make(chan struct{}, 1), restored: make(chan struct{}, 1), manage: make(chan struct{}, 1), warned: map[int32]string{}}
	n.cluster = newShardCluster(n)
	n.mover = &shardrouter.Mover{Cluster: n.cluster, Databases: n.databases, Log: n.log}
	n.router = &shardrouter.Sharded{Cluster: n.cluster, Mover: n.mover, Kick: n.kickManager}
	n.ctx, n.stop = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	if cfg.SuperuserPasswordFile != "" {
		if _, err := os.Stat(cfg.SuperuserPasswordFile); err != nil {
			return nil, fmt.Errorf("superuser-password-file: %w", err)
		}
	}
	if n.dir, err = openDataDir(cfg.DataDir, cfg.NodeID); err != nil {
		return nil, err
	}
	if n.ident, err = openClusterID(n.dir, n.keepSecret); err != nil {
		return nil, err
	}
	if n.audit, err = openAuditLog(n.dir.path("audit.log")); err != nil {
		return nil, err
	}
	if err := n.disk.open(n); err != nil {
		return nil, err
	}
	if cfg.Rebuild {
		if err := n.openHost(); err != nil {
			return nil, err
		}
		if err := n.rebuild(ctx); err != nil {
			return nil, fmt.Errorf("rebuild: %w", err)
		}
	}
	if err := n.openStorage(); err != nil {
		return nil, storage.ReadError(err)
	}
	n.disk.look() // before anybody can write
	if err := n.openRaft(); err != nil {
		return nil, err
	}
	if n.front, err = startFront(n); err != nil {
		return nil, err
	}
	if cfg.HTTP != "" {
		if n.http, err = startHTTP(n); err != nil {
			return nil, err
		}
	}
	n.wg.Add(8)
	go n.runLost()
	go n.runSeries()
	go n.every(rollupTick, n.followPolicies)
	go n.every(holdersInterval, n.askHolders)
	go n.every(expiryInterval, n.expire)
	go n.runGroups()
	go n.disk.run()
	go n.runManager()
	return n, n.enter(ctx)
}

func (n *Node) openStorage() (err error) {
	n.cache = storage.NewCache(n.cfg.CacheBytes)
	n.columns = colcache.NewBudget(n.cfg.ColumnBytes)
	n.shard, err = shard.Open(shard.Options{Dir: n.dir.path("shard-0"), FS: n.cfg.FS, Now: n.cfg.Now, Cache: n.cache, Columns: n.columns, Rows: homeRows, Logger: n.log, Superuser: n.cfg.Superuser,
		MaxTxnBytes: n.cfg.MaxTransaction, FlushInterval: flushInterval, Fatal: n.fatal, Damaged: n.damaged, Restored: n.noteRestored})
	if err != nil {
		return err
	}
	n.seriesStore, err = store.Open(store.Options{Dir: n.dir.path("timeseries"), FS: n.cfg.FS, Cache: n.cache, Logger: n.log, Fatal: n.fatal})
	if err != nil {
		return fmt.Errorf("time series: %w", err)
	}
	n.series = tsdb.New(n.shard, n.seriesStore, tsdb.Options{Logger: n.log, Node: n.cfg.NodeID, Refused: n.shard.Refused, Holders: n.holders.of, Remotes: n.seriesRemotes,
		Elsewhere: func() bool { return n.group != nil && len(n.group.Metrics().Members) > 1 }})
	n.metrics = newMetricsSource(n)
	return nil
}

// openHost opens the log and the port that nodes call each other on.
func (n *Node) openHost() (err error) {
	if err := n.openSecret(); err != nil {
		return err
	}
	if n.faults = n.cfg.faults; n.faults == nil && n.cfg.FaultInjection {
		n.faults = transport.NewFaults(uint64(time.Now().UnixNano()))
	}
	n.host, err = raft.OpenHost(raft.HostConfig{NodeID: n.cfg.NodeID, Dir: n.dir.path("log"), FS: n.cfg.FS, ListenAddr: n.cfg.RaftAddr, Advertise: n.cfg.RaftAdvertise, Secret: n.secret, Cluster: n.ident,
		Timers: raft.Timers{Heartbeat: n.cfg.Heartbeat}, NoReadLease: !n.cfg.ReadLease, Logger: n.log, Fatal: n.fatal, Faults: n.faults, Serve: n.serveCall})
	return err
}

func (n *Node) openRaft() (err error) {
	if n.host == nil {
		if err := n.openHost(); err != nil {
			return err
		}
	}
	n.peers = newDirectory(n)
	n.group, err = n.host.OpenGroup(raft.GroupConfig{ID: homeShard, Applier: n.shard.Applier(), TrailingEntries: trailingEntries})
	if err != nil {
		return err
	}
	if n.cfg.NoInit && len(n.group.Metrics().Members) == 0 {
		n.shard.ServeInert()
	}
	n.shard.AttachLog(n.group)
	return nil
}

// fatal stops the process's node on an error that it cannot survive.
func (n *Node) fatal(err error) {
	select {
	case n.failed <- err:
	default:
	}
	n.stop()
}

// Wait blocks until ctx ends, then shuts down, or until the node fails.
func (n *Node) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return n.Close()
	case err := <-n.failed:
		n.log.Error("the node stops", "error", err)
		return errors.Join(err, n.closeWithin(min(n.cfg.ShutdownTimeout, failedStop)))
	}
}

// failedStop is how long a node that failed has to come to rest: others take over
// sooner, and a supervisor can start it anew.
const failedStop = 2 * time.Second

// closeWithin is Close for a node that failed: a store that cannot write (a full
// disk) may never come to rest, and the process must end all the same. What was
// acknowledged is in the log.
func (n *Node) closeWithin(limit time.Duration) error {
	done := make(chan error, 1)
	go func() { done <- n.Close() }()
	select {
	case err := <-done:
		return err
	case <-time.After(limit):
		return fmt.Errorf("the node did not come to rest within %v", limit)
	}
}

// Close ends sessions (57P01), hands over leadership, and closes every part in
// reverse order. It is idempotent.
func (n *Node) Close() error {
	n.once.Do(func() { n.closed = n.close() })
	return n.closed
}

func (n *Node) close() error {
	var errs []error
	if n.http != nil {
		errs = append(errs, n.http.close())
	}
	if n.front != nil {
		errs = append(errs, n.front.close(n.cfg.ShutdownTimeout))
	}
	n.stop()
	n.wg.Wait()
	n.cluster.close()
	errs = append(errs, n.closeGroups())
	if n.group != nil {
		handOver(n.log, n.group)
	}
	if n.host != nil {
		errs = append(errs, n.host.Close())
	}
	if n.seriesStore != nil {
		errs = append(errs, n.seriesStore.Close())
	}
	if n.shard != nil {
		errs = append(errs, n.shard.Close())
	}
	if n.cache != nil {
		n.cache.Unref()
	}
	if n.audit != nil {
		errs = append(errs, n.audit.close())
	}
	if n.dir != nil {
		errs = append(errs, n.dir.lock.Close())
	}
	return errors.Join(errs...)
}

// handOver gives leadership to another voter, so that writers wait as little as possible.
func handOver(log *slog.Logger, g *raft.Group) {
	if m := g.Metrics(); m.State != "Leader" || voters(m) < 2 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := g.TransferLeadership(ctx, ""); err != nil {
		log.Info("leadership was not handed over", "error", err)
	}
}

func voters(m raft.Metrics) int {
	count := 0
	for _, x := range m.Members {
		if x.Voter {
			count++
		}
	}
	return count
}

// Ready reports whether the node can answer statements: it is a member, knows a
// leader, and its replica has caught up with what it knows to be committed.
func (n *Node) Ready() error {
	m := n.group.Metrics()
	switch {
	case len(m.Members) == 0:
		return errors.New("not a member of a cluster: call raft_init() or add this node to one")
	case n.group.Removed():
		return errNotMember
	case m.Leader == "":
		return errors.New("no leader is known")
	case m.Leader == m.NodeID && !m.Ready:
		return errors.New("the leader is catching up")
	case m.Applied+1 < m.Commit:
		return fmt.Errorf("catching up: applied %d of %d", m.Applied, m.Commit)
	}
	if n.shard.Catalog(postgresDB) == nil {
		return errors.New("the catalogue has not arrived yet")
	}
	return nil
}

// SyncTime is how long a sync of the commit log usually takes, 0 if there was none since
// it was last asked.
func (n *Node) SyncTime() time.Duration { return n.host.SyncTime() }

// DSN is a connection string for this node's superuser, from this machine when the
// node listens on all addresses.
func (n *Node) DSN() string {
	addr := n.front.addr()
	if host, port, err := net.SplitHostPort(addr); err == nil && net.ParseIP(host).IsUnspecified() {
		addr = net.JoinHostPort("127.0.0.1", port)
	}
	return fmt.Sprintf("postgres://%s@%s/postgres?sslmode=prefer", n.cfg.Superuser, addr)
}

// ID is the node's id.
func (n *Node) ID() string { return n.cfg.NodeID }

// RaftAddr is the address that peers use.
func (n *Node) RaftAddr() string { return n.host.Addr() }

// advertised is the PostgreSQL address that peers use.
func (n *Node) advertised() string {
	if n.cfg.PeerAddr != "" {
		return n.cfg.PeerAddr
	}
	return n.front.addr()
}

// WaitReady waits until the node is ready, however long that takes, or has failed.
func (n *Node) WaitReady(ctx context.Context) error { return n.readyWithin(ctx, 200*time.Millisecond) }

// waitReady is WaitReady for a node that will be ready soon.
func (n *Node) waitReady(ctx context.Context) error { return n.readyWithin(ctx, 10*time.Millisecond) }

// readyWithin waits until the node is ready; it notices within so long.
func (n *Node) readyWithin(ctx context.Context, every time.Duration) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		err := n.Ready()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (%w)", ctx.Err(), err)
		case f := <-n.failed:
			n.failed <- f
			return f
		case <-tick.C:
		}
	}
}
