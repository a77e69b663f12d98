package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"ostraka/engine/commitlog"
	"ostraka/engine/shard"
	"ostraka/raft"
	"ostraka/sqltypes/pgerror"
)

// Comparing the replicas of the home shard at one position: the leader proposes
// nothing for the moment in which every member keeps a snapshot of that position;
// then each computes a checksum of its snapshot. A member that cannot be asked is
// named, never counted as equal.

// checksumCall asks a member to keep its state at a position, or for its checksum.
type checksumCall struct {
	Name     string             `json:"name"` // of the comparison
	Position commitlog.Position `json:"position"`
}

// nodeChecksum is one member's answer.
type nodeChecksum struct {
	Node     string `json:"node"`
	Position string `json:"position,omitempty"`
	Checksum string `json:"checksum,omitempty"`
	Records  int64  `json:"records,omitempty"`
	Error    string `json:"error,omitempty"`
}

// comparison is the answer of ostraka_checksum().
type comparison struct {
	// Equal: all members answered, and with the same state.
	Equal bool           `json:"equal"`
	Nodes []nodeChecksum `json:"nodes"`
}

// frozenStates are kept for comparisons that are under way.
type frozenStates struct {
	mu sync.Mutex
	m  map[string]*shard.Frozen // guarded by mu
}

const (
	// freezeTimeout bounds how long writers wait for the snapshots.
	freezeTimeout = 3 * time.Second
	// checksumTimeout bounds how long a snapshot is kept and computed.
	checksumTimeout = 10 * time.Minute
	// maxFrozen bounds comparisons at a time.
	maxFrozen = 4
)

// freeze answers the first half of a comparison on a member.
func (n *Node) freeze(ctx context.Context, q checksumCall) (nodeChecksum, error) {
	f, err := n.shard.Freeze(ctx, q.Position)
	if err != nil {
		return nodeChecksum{}, err
	}
	n.frozen.mu.Lock()
	defer n.frozen.mu.Unlock()
	if len(n.frozen.m) >= maxFrozen || n.ctx.Err() != nil || n.frozen.m[q.Name] != nil {
		f.Close()
		return nodeChecksum{}, errors.New("too many comparisons are under way")
	}
	if n.frozen.m == nil {
		n.frozen.m = map[string]*shard.Frozen{}
	}
	n.frozen.m[q.Name] = f
	n.wg.Add(1)
	go func() { // whoever asked may be gone
		defer n.wg.Done()
		t := time.NewTimer(checksumTimeout)
		defer t.Stop()
		select {
		case <-t.C:
		case <-n.ctx.Done():
		}
		if f := n.frozen.take(q.Name); f != nil {
			f.Close()
		}
	}()
	return nodeChecksum{Node: n.cfg.NodeID, Position: f.Position.String()}, nil
}

func (s *frozenStates) take(name string) *shard.Frozen {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.m[name]
	delete(s.m, name)
	return f
}

// checksum answers the second half; what was frozen is released.
func (n *Node) checksum(ctx context.Context, q checksumCall) (nodeChecksum, error) {
	f := n.frozen.take(q.Name)
	if f == nil {
		return nodeChecksum{}, fmt.Errorf("node %s keeps no state for comparison %s", n.cfg.NodeID, q.Name)
	}
	defer f.Close()
	sum, records, err := f.Checksum(ctx)
	return nodeChecksum{Node: n.cfg.NodeID, Position: f.Position.String(), Checksum: sum, Records: records}, err
}

func (n *Node) serveChecksum(ctx context.Context, op string, body json.RawMessage) (any, error) {
	var q checksumCall
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, err
	}
	if op == "freeze" {
		return n.freeze(ctx, q)
	}
	return n.checksum(ctx, q)
}

// compareReplicas is ostraka_checksum(), on the leader. An epoch or a membership
// may be appended meanwhile without being proposed here; then it is tried again.
func (n *Node) compareReplicas(ctx context.Context) (c comparison, err error) {
	ctx, cancel := context.WithTimeout(ctx, checksumTimeout)
	defer cancel()
	for try := range 5 {
		q := checksumCall{Name: fmt.Sprintf("%s-%d-%d", n.cfg.NodeID, time.Now().UnixNano(), try)}
		var kept []nodeChecksum
		err = n.shard.Quiet(func() error {
			ctx, cancel := context.WithTimeout(ctx, freezeTimeout)
			defer cancel()
			pos, err := n.group.ReadBarrier(ctx)
			if err != nil {
				return pgerror.Wrap(err, pgerror.CannotConnectNow, "no majority of the nodes answers")
			}
			q.Position = pos
			kept = n.askMembers(ctx, "freeze", q, nil)
			return nil
		})
		if err != nil {
			return c, err
		}
		c.Nodes = n.askMembers(ctx, "checksum", q, kept)
		same := true
		for _, k := range kept {
			same = same && (k.Error != "" || k.Position == kept[0].Position || kept[0].Error != "")
		}
		if same {
			break
		}
	}
	c.Equal = true
	for _, x := range c.Nodes {
		c.Equal = c.Equal && x.Error == "" && x.Checksum == c.Nodes[0].Checksum && x.Position == c.Nodes[0].Position
	}
	return c, nil
}

// askMembers makes a call to every member, this one included, in the order of
// their ids. Those that failed before are not asked again.
func (n *Node) askMembers(ctx context.Context, op string, q checksumCall, before []nodeChecksum) []nodeChecksum {
	members := n.group.Metrics().Members
	slices.SortFunc(members, func(a, b raft.Member) int { return strings.Compare(a.ID, b.ID) })
	failed := map[string]nodeChecksum{}
	for _, b := range before {
		if b.Error != "" {
			failed[b.Node] = b
		}
	}
	out := make([]nodeChecksum, len(members))
	var wg sync.WaitGroup
	for i, m := range members {
		if b, ok := failed[m.ID]; ok {
			out[i] = b
			continue
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			var err error
			if m.ID == n.cfg.NodeID && op == "freeze" {
				out[i], err = n.freeze(ctx, q)
			} else if m.ID == n.cfg.NodeID {
				out[i], err = n.checksum(ctx, q)
			} else {
				err = n.host.Call(ctx, m.ID, m.Addr, op, q, &out[i])
			}
			if err != nil {
				out[i] = nodeChecksum{Node: m.ID, Error: err.Error()}
			}
		}()
	}
	wg.Wait()
	return out
}
