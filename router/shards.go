package router

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"ostraka/docstore"
	"ostraka/shardrouter"
	"ostraka/shardrouter/chunk"
	"ostraka/sqltypes/pgerror"
)

// defaultChunks is the number of chunks of a map that is not given.
const defaultChunks = 256

// maxChunks bounds it.
const maxChunks = 1 << 16

// sharding is what a router before plain servers knows about them.
type sharding struct {
	route   *shardrouter.Plain
	servers []*server
	names   []string
	chunks  []int32 // chunk → shard id
	// requests that each server was asked by document commands.
	requests []atomic.Int64

	mu    sync.Mutex
	pools map[poolKey]*poolSet // guarded by mu
}

// mapFile is the file of the option map.
type mapFile struct {
	Chunks    *int              `json:"chunks"`
	Map       []json.RawMessage `json:"map"` // positions in shards, or host:port
	Shards    []string          `json:"shards"`
	ShardKeys map[string]string `json:"shard-keys"`
}

// readMap reads a map file strictly.
func readMap(path string) (*mapFile, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("map: %w", err)
	}
	var m mapFile
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil {
		return nil, fmt.Errorf("map: %s: %w", path, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("map: %s: more than one value", path)
	}
	return &m, nil
}

// sharding makes what Config says about shards, nil when it says nothing. The map
// file wins over the other options.
func (c *Config) sharding() (*sharding, error) {
	if !c.sharded() {
		return nil, nil
	}
	dsns, keys, n := c.Shards, c.ShardKeys, c.Chunks
	var list []json.RawMessage
	if c.Map != "" {
		m, err := readMap(c.Map)
		if err != nil {
			return nil, err
		}
		if m.Shards != nil {
			dsns = m.Shards
		}
		if m.ShardKeys != nil {
			keys = nil
			for coll, path := range m.ShardKeys {
				keys = append(keys, coll+":"+path)
			}
			slices.Sort(keys)
		}
		if list = m.Map; m.Chunks != nil {
			n = *m.Chunks
		} else if list != nil {
			n = len(list)
		}
	}
	sh := &sharding{route: &shardrouter.Plain{Keys: map[string]*chunk.Key{}, Timeout: c.RequestTimeout}, pools: map[poolKey]*poolSet{}}
	if len(dsns) == 0 {
		return nil, errors.New("shards: no server is given")
	}
	for _, dsn := range dsns {
		cfg, err := pgconn.ParseConfig(dsn)
		if err != nil {
			return nil, fmt.Errorf("shards: %w", err)
		}
		s := newServer(cfg)
		if slices.Contains(sh.names, s.name) {
			return nil, fmt.Errorf("shards: %s is given twice", s.name)
		}
		sh.servers, sh.names = append(sh.servers, s), append(sh.names, s.name)
	}
	sh.requests = make([]atomic.Int64, len(sh.servers))
	for _, k := range keys {
		coll, path, ok := strings.Cut(k, ":")
		if !ok || coll == "" {
			return nil, fmt.Errorf("shard-keys: %q is not collection:path", k)
		}
		if _, twice := sh.route.Keys[coll]; twice {
			return nil, fmt.Errorf("shard-keys: %q is given twice", coll)
		}
		key, err := chunk.ParseKey(path)
		if err != nil {
			return nil, fmt.Errorf("shard-keys: %s: %w", coll, err)
		}
		sh.route.Keys[coll] = key
	}
	if len(sh.route.Keys) == 0 {
		return nil, errors.New("shard-keys: no collection is given")
	}
	if n <= 0 || n > maxChunks {
		return nil, fmt.Errorf("chunks: %d is not a number of chunks (1 to %d)", n, maxChunks)
	}
	return sh, sh.setMap(n, list)
}

// setMap reads the map; without one chunks are dealt out in turn.
func (sh *sharding) setMap(n int, list []json.RawMessage) error {
	if list == nil {
		for c := range n {
			sh.chunks = append(sh.chunks, shardrouter.HomePlain+int32(c%len(sh.servers)))
		}
		return nil
	}
	if len(list) != n {
		return fmt.Errorf("map: %d entries for %d chunks", len(list), n)
	}
	for c, raw := range list {
		at := -1
		var name string
		if json.Unmarshal(raw, &at) != nil && json.Unmarshal(raw, &name) == nil {
			at = slices.Index(sh.names, name)
		}
		if at < 0 || at >= len(sh.servers) {
			return fmt.Errorf("map: chunk %d names the unknown shard %s", c, raw)
		}
		sh.chunks = append(sh.chunks, shardrouter.HomePlain+int32(at))
	}
	return nil
}

func (c *Config) sharded() bool {
	return len(c.Shards) > 0 || len(c.ShardKeys) > 0 || c.Map != ""
}

// poolKey is whose sessions a pool has: servers check the rights of the user.
type poolKey struct{ user, database string }

// poolSet are the pools of one user on all servers.
type poolSet struct {
	shardrouter.Topology
	mu    sync.Mutex
	pools []*shardrouter.SessionPool // guarded by mu
	used  int                        // client sessions; guarded by sharding.mu
	last  time.Time                  // since when it is unused; guarded by sharding.mu
}

// maxUnused is how many users' pools are kept while they have no session.
const maxUnused = 64

// enter gives a client session its user's pools.
func (r *Router) enter(id identity) *poolSet {
	sh, key := r.sharding, poolKey{id.user, id.database}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	p := sh.pools[key]
	if p == nil {
		p = &poolSet{}
		p.Topology = shardrouter.NewPlainTopology(sh.names, sh.chunks, func(shard int32) shardrouter.Backend { return r.openPool(p, id, shard) })
		sh.pools[key] = p
	}
	p.used++
	return p
}

// leave gives them back; the pools that have been unused longest are closed.
func (r *Router) leave(p *poolSet) {
	sh := r.sharding
	sh.mu.Lock()
	defer sh.mu.Unlock()
	p.used--
	p.last = time.Now()
	unused := 0
	var oldest poolKey
	for k, x := range sh.pools {
		if x.used > 0 {
			continue
		}
		if unused++; unused == 1 || x.last.Before(sh.pools[oldest].last) {
			oldest = k
		}
	}
	if unused > maxUnused {
		sh.pools[oldest].close()
		delete(sh.pools, oldest)
	}
}

func (p *poolSet) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.pools {
		x.Close()
	}
}

// closePools closes every idle session.
func (sh *sharding) closePools() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, p := range sh.pools {
		p.close()
	}
}

// openPool makes a user's pool of sessions on one server.
func (r *Router) openPool(set *poolSet, id identity, shard int32) shardrouter.Backend {
	i := int(shard - shardrouter.HomePlain)
	if i < 0 || i >= len(r.sharding.servers) {
		return nil
	}
	srv := r.sharding.servers[i]
	p := shardrouter.NewSessionPoolOf(r.cfg.PoolSize, func(ctx context.Context) (*pgconn.PgConn, error) { return r.dialShard(ctx, srv, id) }, func() {})
	set.mu.Lock()
	set.pools = append(set.pools, p)
	set.mu.Unlock()
	return &counted{p, &r.sharding.requests[i]}
}

// dialShard opens a pooled session. A server that does not answer is left alone for a while.
func (r *Router) dialShard(ctx context.Context, srv *server, id identity) (*pgconn.PgConn, error) {
	if err := srv.alone(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.cfg.ConnectTimeout)
	defer cancel()
	cfg := srv.config(id)
	cfg.RuntimeParams = map[string]string{"application_name": "ostraka router"}
	c, err := pgconn.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, srv.refused(err)
	}
	srv.works()
	return c, nil
}

// counted counts what a server is asked.
type counted struct {
	shardrouter.Backend
	n *atomic.Int64
}

func (c *counted) Run(ctx context.Context, req *shardrouter.Request) (docstore.Result, error) {
	c.n.Add(1)
	return c.Backend.Run(ctx, req)
}

func (c *counted) Begin(ctx context.Context, o shardrouter.TxnOptions) (shardrouter.Transaction, error) {
	c.n.Add(1)
	return c.Backend.Begin(ctx, o)
}

// alone is an error while the server is left alone.
func (s *server) alone() error {
	if d := s.wait(time.Now()); d > 0 {
		return pgerror.New(pgerror.SqlclientUnableToEstablishSqlconnection, "server %s does not answer; it is tried again in %v", s.name, d.Round(time.Millisecond))
	}
	return nil
}

// config is how to connect as a user.
func (s *server) config(id identity) *pgconn.Config {
	cfg := s.cfg.Copy()
	if id.password != "" || id.user != cfg.User {
		cfg.Password = id.password // the DSN's password is its user's only
	}
	cfg.User, cfg.Database = id.user, id.database
	return cfg
}

// refused makes the client's error of a connection that was not made.
func (s *server) refused(err error) error {
	var pe *pgconn.PgError
	if errors.As(err, &pe) && pe.Code != "57P03" && pe.Code != "53300" {
		return pgerror.New(pgerror.Code(pe.Code), "%s", pe.Message) // the server works and says no
	}
	s.failed(time.Now())
	return pgerror.Wrap(err, pgerror.SqlclientUnableToEstablishSqlconnection, "server %s cannot be reached", s.name)
}
