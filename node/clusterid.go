package node

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
)

// clusterID is the cluster that the data directory belongs to, kept in its file
// cluster.id: made by raft_init, adopted by a new node from the first member that
// calls it. Nodes tell it to each other whenever they connect, so a node with data
// of another cluster is refused by name instead of mixing two histories.
type clusterID struct {
	dir  *dataDir
	keep func() error // keeps the join secret: whoever calls has proved that it is the cluster's
	mu   sync.Mutex
	id   string // guarded by mu
}

func openClusterID(dir *dataDir, keep func() error) (*clusterID, error) {
	b, err := os.ReadFile(dir.path("cluster.id"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	return &clusterID{dir: dir, keep: keep, id: strings.TrimSpace(string(b))}, nil
}

// ID implements transport.Cluster.
func (c *clusterID) ID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.id
}

// Adopt implements transport.Cluster.
func (c *clusterID) Adopt(id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.id != "" {
		if c.id != id {
			return fmt.Errorf("this node has data of cluster %s, not of %s", c.id, id)
		}
		return nil
	}
	if err := c.keep(); err != nil {
		return err
	}
	if err := c.dir.write("cluster.id", id); err != nil {
		return err
	}
	c.id = id
	return nil
}

// found makes the id of a new cluster.
func (c *clusterID) found() error {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return err
	}
	return c.Adopt(hex.EncodeToString(b[:]))
}
