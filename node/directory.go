package node

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// directory remembers other nodes' PostgreSQL addresses, which they tell over
// the Raft port. Safe for concurrent use.
type directory struct {
	n  *Node
	mu sync.Mutex
	m  map[string]entry // by node id; guarded by mu
}

type entry struct {
	sql  string
	when time.Time
}

// addressLife is how long an answer is trusted; a dead address is asked again at once.
const addressLife = time.Minute

func newDirectory(n *Node) *directory { return &directory{n: n, m: map[string]entry{}} }

// sqlAddr returns a member's PostgreSQL address.
func (d *directory) sqlAddr(ctx context.Context, id string) (string, error) {
	if id == d.n.cfg.NodeID {
		return d.n.advertised(), nil
	}
	d.mu.Lock()
	e, ok := d.m[id]
	d.mu.Unlock()
	if ok && time.Since(e.when) < addressLife {
		return e.sql, nil
	}
	mem, ok := member(d.n.group.Metrics(), id)
	if !ok {
		return "", fmt.Errorf("node %s is not a member of the cluster", id)
	}
	var info nodeInfo
	if err := d.n.host.Call(ctx, id, mem.Addr, "info", struct{}{}, &info); err != nil {
		return "", err
	}
	d.mu.Lock()
	d.m[id] = entry{info.SQL, time.Now()}
	d.mu.Unlock()
	return info.SQL, nil
}

// forget drops an address that did not answer.
func (d *directory) forget(id string) {
	d.mu.Lock()
	delete(d.m, id)
	d.mu.Unlock()
}
