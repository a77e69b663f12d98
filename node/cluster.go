package node

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"ostraka/engine"
	"ostraka/engine/catalog"
	"ostraka/peer"
	"ostraka/shardrouter"
	"ostraka/sqltypes"
	"ostraka/sqltypes/pgerror"
)

// shardCluster is shardrouter.Cluster over the node.
type shardCluster struct {
	n  *Node
	mu sync.Mutex
	// Pools of sessions by shard; guarded by mu.
	pools map[int32]*pool
}

// pool is a SessionPool with the node it leads to.
type pool struct {
	*shardrouter.SessionPool
	mu     sync.Mutex
	leader string // guarded by mu; "" unknown
}

var _ shardrouter.Cluster = (*shardCluster)(nil)

func newShardCluster(n *Node) *shardCluster { return &shardCluster{n: n, pools: map[int32]*pool{}} }

func (c *shardCluster) Shards() *catalog.Shards { return c.n.shards() }

// Refresh waits for a newer map: a replica of shard 0 catches up with its leader,
// and a switch that is under way takes some milliseconds.
func (c *shardCluster) Refresh(ctx context.Context, version uint64) {
	ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for c.Shards().Version <= version {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (c *shardCluster) Home(db sqltypes.OID) shardrouter.EngineBackend {
	return shardrouter.EngineBackend{Engine: c.n.shard, Home: true, DB: db}
}

// Replica implements shardrouter.Cluster. One that its group has removed stands still.
func (c *shardCluster) Replica(id int32) engine.Engine {
	if h := c.n.hostedShard(id); h != nil && !h.group.Removed() {
		return h.shard
	}
	return nil
}

func (c *shardCluster) ChangeShards(ctx context.Context, f func(*catalog.Shards) error) (*catalog.Shards, error) {
	return c.n.changeShards(ctx, f)
}

// Backend implements shardrouter.Cluster: the engine when this node leads the
// shard, else sessions on the node that does.
func (c *shardCluster) Backend(id int32, _ bool) (shardrouter.Backend, error) {
	s := c.Shards().Shard(id)
	if s == nil {
		return nil, pgerror.New(pgerror.UndefinedObject, "shard %d does not exist", id)
	}
	if h := c.n.hostedShard(id); h != nil && h.group.Leadership().IsLeader {
		return shardrouter.EngineBackend{Engine: h.shard}, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pools[id]
	if p == nil {
		p = &pool{}
		p.SessionPool = shardrouter.NewSessionPool(func(ctx context.Context) (*pgconn.PgConn, error) { return c.dial(ctx, id, p) }, p.forget)
		c.pools[id] = p
	}
	if h := c.n.hostedShard(id); h != nil {
		p.led(h.group.Leadership().LeaderID)
	}
	return p, nil
}

func (p *pool) forget() {
	p.mu.Lock()
	p.leader = ""
	p.mu.Unlock()
}

// led notes who leads; sessions on another node are closed.
func (p *pool) led(leader string) {
	p.mu.Lock()
	was := p.leader
	if leader != "" {
		p.leader = leader
	}
	p.mu.Unlock()
	if leader != "" && was != "" && was != leader {
		p.Forget()
	}
}

// dial opens a session on the node that leads the shard.
func (c *shardCluster) dial(ctx context.Context, id int32, p *pool) (*pgconn.PgConn, error) {
	s := c.Shards().Shard(id)
	if s == nil {
		return nil, pgerror.New(pgerror.UndefinedObject, "shard %d does not exist", id)
	}
	if s.DSN != "" {
		return pgconn.Connect(ctx, s.DSN)
	}
	var last error
	for ctx.Err() == nil {
		p.mu.Lock()
		leader := p.leader
		p.mu.Unlock()
		if leader == "" {
			leader = c.n.shardLeader(ctx, s)
		}
		if leader != "" {
			conn, err := c.connect(ctx, leader, s)
			if err == nil {
				p.led(leader)
				return conn, nil
			}
			last = err
			c.n.peers.forget(leader)
			p.forget()
		} else {
			last = fmt.Errorf("no leader of shard %q is known", s.Name)
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	if last == nil {
		last = ctx.Err()
	}
	return nil, last
}

func (c *shardCluster) connect(ctx context.Context, node string, s *catalog.Shard) (*pgconn.PgConn, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	addr, err := c.n.peers.sqlAddr(ctx, node)
	if err != nil {
		return nil, err
	}
	return peer.Connect(ctx, peer.Options{Addr: addr, User: c.n.cfg.Superuser, Database: "postgres", App: "shard", Node: c.n.cfg.NodeID,
		Shard: strconv.Itoa(int(s.ID)), Secret: c.n.secret, Now: c.n.cfg.now(), Dial: c.n.dialLeader(node, func() bool {
			return c.n.shardLeader(c.n.ctx, s) == node
		})})
}

func (c *shardCluster) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.pools {
		p.Close()
	}
}

// strange asks a server which cluster it belongs to and refuses one of this cluster,
// or one that has shards itself: who owns a chunk would be said in two places.
func (n *Node) strange(ctx context.Context, dsn string) (cluster string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	p := shardrouter.NewSessionPool(func(ctx context.Context) (*pgconn.PgConn, error) { return pgconn.Connect(ctx, dsn) }, func() {})
	defer p.Close()
	res, err := p.Run(ctx, &shardrouter.Request{Kind: shardrouter.KindOwned, Now: time.Now()})
	if err != nil {
		return "", pgerror.Wrap(err, pgerror.SqlclientUnableToEstablishSqlconnection, "the server cannot be attached as a shard").WithDetail("%s", err.Error())
	}
	if id, ok := res.Value.Lookup("cluster"); ok {
		cluster = id.Str()
	}
	if shards, ok := res.Value.Lookup("shards"); ok && shards.Len() > 0 {
		return "", pgerror.New(pgerror.ObjectNotInPrerequisiteState, "the server has shards of its own and cannot be attached as one")
	}
	switch cluster {
	case "":
		return "", pgerror.New(pgerror.ObjectNotInPrerequisiteState, "the server does not tell which cluster it belongs to")
	case n.ident.ID():
		return "", pgerror.New(pgerror.InvalidParameterValue, "the server belongs to this cluster").
			WithHint("Use shard_create() to make a shard on nodes of this cluster.")
	}
	return cluster, nil
}

// known refuses a cluster that is a shard already.
func known(list *catalog.Shards, cluster, name string) error {
	for _, s := range list.Shards {
		if s.Cluster == cluster && s.Name != name {
			return pgerror.New(pgerror.DuplicateObject, "the server is attached already, as shard %q", s.Name)
		}
	}
	return nil
}

// disown makes a server a shard that owns nothing.
func disown(ctx context.Context, dsn string, list *catalog.Shards) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	p := shardrouter.NewSessionPool(func(ctx context.Context) (*pgconn.PgConn, error) { return pgconn.Connect(ctx, dsn) }, func() {})
	defer p.Close()
	req := &shardrouter.Request{Version: list.Mover, Chunks: catalog.AllChunks(len(list.Map)), Count: len(list.Map), Now: time.Now()}
	for _, req.Kind = range []shardrouter.Kind{shardrouter.KindTell, shardrouter.KindGive} {
		if _, err := p.Run(ctx, req); err != nil {
			return pgerror.Wrap(err, pgerror.SqlclientUnableToEstablishSqlconnection, "the server cannot be attached as a shard").WithDetail("%s", err.Error())
		}
	}
	return nil
}
