package node

import "ostraka/shardrouter"

// ClusterID is the identity of the node's cluster, ShardNames are its shards besides shard 0.
func (n *Node) ClusterID() string { return n.ident.ID() }

func (n *Node) ShardNames() []string {
	var out []string
	for _, s := range n.shards().Shards {
		out = append(out, s.Name)
	}
	return out
}

// DocRouter executes the commands of the doc functions.
func (n *Node) DocRouter() shardrouter.Router { return n.router }
